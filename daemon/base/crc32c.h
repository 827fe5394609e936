/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC32C (Castagnoli), as iSCSI's header and data digests use it (RFC 7143 13.1): by the CPU's
 * instruction where there is one, else by table; chosen once at first use.
 *
 * A digest in steps: crc = CRC32C_INIT; crc = crc32c_update(crc, ...)...; wire = crc32c_final(crc),
 * stored with crc32c_put (the digest is sent least significant byte first).
 * Threads: any.
 */
#ifndef HAWSER_BASE_CRC32C_H
#define HAWSER_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#define CRC32C_INIT 0xffffffffu

uint32_t crc32c_update(uint32_t crc, const void *bytes, size_t length);

static inline uint32_t crc32c_final(uint32_t crc)
{
	return crc ^ 0xffffffffu;
}

static inline void crc32c_put(uint8_t p[static 4], uint32_t final)
{
	p[0] = (uint8_t) final;
	p[1] = (uint8_t)(final >> 8);
	p[2] = (uint8_t)(final >> 16);
	p[3] = (uint8_t)(final >> 24);
}

static inline uint32_t crc32c_get(const uint8_t p[static 4])
{
	return p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24);
}

#endif
