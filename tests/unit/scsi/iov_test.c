/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes in vectors, against the same bytes in one piece. */
#include "scsi/iov.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <string.h>

#define BYTES 300

/* The same bytes cut in different ways; empty pieces too. */
static const unsigned char cuts[][8] = { { 255, 45 },
					 { 1, 2, 0, 4, 100, 193 },
					 { 0, 150, 0, 150 },
					 { 64, 64, 64, 64, 44 },
					 { 200, 1, 1, 1, 97 } };
#define N_CUTS (sizeof(cuts) / sizeof(cuts[0]))

static unsigned cut(uint8_t *bytes, size_t way, struct iovec iov[8])
{
	size_t at = 0;
	unsigned n = 0;

	while (at < BYTES) {
		iov[n].iov_base = bytes + at;
		iov[n].iov_len = cuts[way][n];
		at += cuts[way][n++];
	}
	return n;
}

START_TEST(copies)
{
	uint8_t bytes[BYTES], flat[BYTES], out[BYTES];
	struct iovec iov[8];

	for (size_t w = 0; w < N_CUTS; w++) {
		unsigned n = cut(bytes, w, iov);

		for (size_t i = 0; i < BYTES; i++)
			bytes[i] = flat[i] = (uint8_t)(i * 3);
		for (size_t from = 0; from < BYTES; from += 7) {
			for (size_t len = 0; from + len <= BYTES; len += 23) {
				memset(out, 0xee, sizeof(out));
				iov_copy_out(iov, n, from, out, len);
				ck_assert_mem_eq(out, flat + from, len);
				ck_assert(len == BYTES || out[len] == 0xee);
				memset(out, (int)len, len);
				memset(flat + from, (int)len, len);
				iov_copy_in(iov, n, from, out, len);
				ck_assert_mem_eq(bytes, flat, BYTES);
			}
		}
	}
}
END_TEST

START_TEST(fills)
{
	uint8_t bytes[BYTES], pattern[13];
	struct iovec iov[8];

	for (int i = 0; i < 13; i++)
		pattern[i] = (uint8_t)(i + 1);
	for (size_t w = 0; w < N_CUTS; w++) {
		memset(bytes, 0, sizeof(bytes));
		iov_fill(iov, cut(bytes, w, iov), 290, pattern, sizeof(pattern));
		for (size_t i = 0; i < BYTES; i++)
			ck_assert_uint_eq(bytes[i], i < 290 ? i % 13 + 1 : 0);
	}
}
END_TEST

START_TEST(zeros)
{
	uint8_t bytes[BYTES] = { 0 };
	struct iovec iov[8];

	for (size_t w = 0; w < N_CUTS; w++) {
		unsigned n = cut(bytes, w, iov);

		ck_assert(iov_is_zero(iov, n, BYTES) && iov_is_zero(iov, n, 0));
		for (size_t i = 0; i < BYTES; i++) {
			bytes[i] = 1;
			ck_assert(!iov_is_zero(iov, n, BYTES));
			ck_assert(iov_is_zero(iov, n, i));
			bytes[i] = 0;
		}
	}
}
END_TEST

START_TEST(mismatches)
{
	COVERS("SS-006");
	uint8_t a[BYTES], b[BYTES];
	struct iovec ia[8], ib[8];

	for (size_t w = 0; w < N_CUTS * N_CUTS; w++) {
		unsigned na, nb;

		for (size_t i = 0; i < BYTES; i++)
			b[i] = (uint8_t)(i * 5);
		for (size_t i = 0; i < BYTES; i++)
			a[i] = i < BYTES - 50 ? b[i + 50] : 0;
		na = cut(a, w % N_CUTS, ia);
		nb = cut(b, w / N_CUTS, ib);
		ck_assert_uint_eq(iov_mismatch(ia, na, ib, nb, 50, 250), 250);
		for (size_t i = 0; i < 250; i++) {
			a[i] ^= 0x40;
			ck_assert_uint_eq(iov_mismatch(ia, na, ib, nb, 50, 250), i);
			ck_assert_uint_eq(iov_mismatch(ia, na, ib, nb, 50, i), i);
			a[i] ^= 0x40;
		}
	}
}
END_TEST

UNIT_MAIN("scsi/iov", copies, fills, zeros, mismatches)
