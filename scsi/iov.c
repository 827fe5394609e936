/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/iov.h"

#include <stdint.h>
#include <string.h>

/* Where one stands in a vector. */
struct place {
	const struct iovec *iov, *end;
	size_t at; /* in *iov */
};

static struct place place_of(const struct iovec *iov, unsigned n, size_t offset)
{
	struct place p = { .iov = iov, .end = iov + n };

	while (p.iov < p.end && offset >= p.iov->iov_len)
		offset -= (p.iov++)->iov_len;
	p.at = offset;
	return p;
}

/* The bytes from here on that lie in one piece, at most len; moves past them. */
static uint8_t *place_take(struct place *p, size_t *len)
{
	uint8_t *bytes = NULL;
	size_t left;

	while (p->iov < p->end && p->at == p->iov->iov_len) {
		p->iov++;
		p->at = 0;
	}
	left = p->iov < p->end ? p->iov->iov_len - p->at : 0;
	if (*len > left)
		*len = left;
	if (left)
		bytes = (uint8_t *)p->iov->iov_base + p->at;
	p->at += *len;
	return bytes;
}

void iov_copy_in(const struct iovec *iov, unsigned n, size_t offset, const void *from, size_t len)
{
	struct place p = place_of(iov, n, offset);
	const uint8_t *src = from;

	while (len) {
		size_t piece = len;
		uint8_t *to = place_take(&p, &piece);

		if (!piece)
			return;
		memcpy(to, src, piece);
		src += piece;
		len -= piece;
	}
}

void iov_copy_out(const struct iovec *iov, unsigned n, size_t offset, void *to, size_t len)
{
	struct place p = place_of(iov, n, offset);
	uint8_t *dst = to;

	while (len) {
		size_t piece = len;
		const uint8_t *from = place_take(&p, &piece);

		if (!piece)
			return;
		memcpy(dst, from, piece);
		dst += piece;
		len -= piece;
	}
}

void iov_fill(const struct iovec *iov, unsigned n, size_t len, const void *pattern, size_t period)
{
	const uint8_t *bytes = pattern;
	struct place p = place_of(iov, n, 0);
	size_t at = 0; /* in the pattern */

	while (len) {
		size_t piece = len < period - at ? len : period - at;
		uint8_t *to = place_take(&p, &piece);

		if (!piece)
			return;
		memcpy(to, bytes + at, piece);
		at = (at + piece) % period;
		len -= piece;
	}
}

unsigned iov_slice(const struct iovec *iov, unsigned n, size_t offset, size_t len,
		   struct iovec *out)
{
	struct place p = place_of(iov, n, offset);
	unsigned entries = 0;

	while (len) {
		size_t piece = len;
		uint8_t *at = place_take(&p, &piece);

		if (!piece)
			break;
		out[entries++] = (struct iovec){ .iov_base = at, .iov_len = piece };
		len -= piece;
	}
	return entries;
}

void iov_or(const struct iovec *iov, unsigned n, const struct iovec *from, unsigned n_from,
	    size_t offset, size_t len)
{
	struct place to = place_of(iov, n, 0), src = place_of(from, n_from, offset);

	while (len) {
		size_t piece = len, rest;
		uint8_t *at = place_take(&to, &piece);

		if (!piece)
			return;
		len -= piece;
		for (rest = piece; rest;) {
			size_t step = rest;
			const uint8_t *bits = place_take(&src, &step);

			if (!step)
				return;
			for (size_t i = 0; i < step; i++)
				at[i] |= bits[i];
			at += step;
			rest -= step;
		}
	}
}

/* All bytes equal the first one, which is zero: memcmp with itself, one byte on. */
static bool is_zero(const uint8_t *p, size_t len)
{
	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

bool iov_is_zero(const struct iovec *iov, unsigned n, size_t len)
{
	struct place p = place_of(iov, n, 0);

	while (len) {
		size_t piece = len;
		const uint8_t *bytes = place_take(&p, &piece);

		if (!piece || !is_zero(bytes, piece))
			return false;
		len -= piece;
	}
	return true;
}

static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t i = 0;

	if (!memcmp(a, b, len))
		return len;
	while (a[i] == b[i])
		i++;
	return i;
}

size_t iov_mismatch(const struct iovec *a, unsigned na, const struct iovec *b, unsigned nb,
		    size_t b_offset, size_t len)
{
	struct place pa = place_of(a, na, 0), pb = place_of(b, nb, b_offset);
	size_t done = 0;

	while (done < len) {
		size_t piece = len - done, rest, at;
		const uint8_t *bytes_a = place_take(&pa, &piece);

		if (!piece)
			return done;
		for (rest = piece; rest;) {
			size_t step = rest;
			const uint8_t *bytes_b = place_take(&pb, &step);

			if (!step)
				return done;
			at = first_difference(bytes_a, bytes_b, step);
			done += at;
			if (at < step)
				return done;
			bytes_a += step;
			rest -= step;
		}
	}
	return len;
}
