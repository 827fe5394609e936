/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounded reader and writer over a byte array with a sticky error: every field of variable length
 * goes through one. After a read or write past the end the cursor is broken, yields zeros and
 * writes nothing; the caller checks once, at the end.
 *
 * Threads: none of its own. Ownership: borrows the bytes.
 */
#ifndef HAWSER_BASE_CURSOR_H
#define HAWSER_BASE_CURSOR_H

#include "daemon/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

struct reader {
	const uint8_t *p;
	size_t left; /* bytes not read yet */
	bool broken; /* something was asked for that is not there */
};

struct writer {
	uint8_t *base, *p;
	size_t left;
	bool broken;
};

static inline struct reader reader_on(const void *bytes, size_t length)
{
	return (struct reader){ .p = bytes, .left = length };
}

/* Takes n bytes, or returns NULL and breaks the cursor. */
static inline const uint8_t *reader_take(struct reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->broken || n > r->left) {
		r->broken = true;
		r->left = 0;
		return NULL;
	}
	r->p += n;
	r->left -= n;
	return p;
}

static inline uint8_t reader_u8(struct reader *r)
{
	const uint8_t *p = reader_take(r, 1);

	return p ? *p : 0;
}

static inline uint16_t reader_be16(struct reader *r)
{
	const uint8_t *p = reader_take(r, 2);

	return p ? get_be16(p) : 0;
}

static inline uint32_t reader_be32(struct reader *r)
{
	const uint8_t *p = reader_take(r, 4);

	return p ? get_be32(p) : 0;
}

static inline uint64_t reader_be64(struct reader *r)
{
	const uint8_t *p = reader_take(r, 8);

	return p ? get_be64(p) : 0;
}

static inline struct writer writer_on(void *bytes, size_t size)
{
	return (struct writer){ .base = bytes, .p = bytes, .left = size };
}

static inline size_t writer_length(const struct writer *w)
{
	return (size_t)(w->p - w->base);
}

/* Room for n bytes to be filled by the caller, or NULL. */
static inline uint8_t *writer_room(struct writer *w, size_t n)
{
	uint8_t *p = w->p;

	if (w->broken || n > w->left) {
		w->broken = true;
		w->left = 0;
		return NULL;
	}
	w->p += n;
	w->left -= n;
	return p;
}

static inline void writer_bytes(struct writer *w, const void *bytes, size_t n)
{
	uint8_t *p = writer_room(w, n);

	if (p && n)
		memcpy(p, bytes, n);
}

static inline void writer_zeros(struct writer *w, size_t n)
{
	uint8_t *p = writer_room(w, n);

	if (p && n)
		memset(p, 0, n);
}

static inline void writer_u8(struct writer *w, uint8_t v)
{
	writer_bytes(w, &v, 1);
}

static inline void writer_be16(struct writer *w, uint16_t v)
{
	uint8_t *p = writer_room(w, 2);

	if (p)
		put_be16(p, v);
}

static inline void writer_be32(struct writer *w, uint32_t v)
{
	uint8_t *p = writer_room(w, 4);

	if (p)
		put_be32(p, v);
}

static inline void writer_be64(struct writer *w, uint64_t v)
{
	uint8_t *p = writer_room(w, 8);

	if (p)
		put_be64(p, v);
}

#endif
