/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Big-endian words on byte arrays: the only way this tree reads and writes a wire format. Each
 * function touches exactly the bytes that its name says; alignment never matters.
 *
 * Threads: pure functions. Ownership: none.
 */
#ifndef HAWSER_BASE_BYTES_H
#define HAWSER_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t get_be16(const uint8_t p[static 2])
{
	return (uint16_t)((p[0] << 8) | p[1]);
}

static inline uint32_t get_be24(const uint8_t p[static 3])
{
	return ((uint32_t)p[0] << 16) | ((uint32_t)p[1] << 8) | p[2];
}

static inline uint32_t get_be32(const uint8_t p[static 4])
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t get_be48(const uint8_t p[static 6])
{
	return ((uint64_t)get_be16(p) << 32) | get_be32(p + 2);
}

static inline uint64_t get_be64(const uint8_t p[static 8])
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void put_be16(uint8_t p[static 2], uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put_be24(uint8_t p[static 3], uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline void put_be32(uint8_t p[static 4], uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be48(uint8_t p[static 6], uint64_t v)
{
	put_be16(p, (uint16_t)(v >> 32));
	put_be32(p + 2, (uint32_t)v);
}

static inline void put_be64(uint8_t p[static 8], uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the swaps above assume little endian");

#endif
