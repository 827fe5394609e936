/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameter lists of the token commands: every length, lies about lengths, ranges. */
#include "scsi/odx_list.h"
#include "tests/unit/scsi/plan_fixture.h"

enum { POPULATE, WRITE_USING };

static uint8_t list[2048];
static struct odx_list read_;
static const size_t headers[] = { sizeof(struct odx_populate), sizeof(struct odx_write) };

/* A good list of n ranges of 8 blocks, 16 blocks apart; its length. */
static size_t good(int kind, unsigned n)
{
	size_t header = headers[kind], length = header + n * 16u;

	plan_setup();
	memset(list, 0, sizeof(list));
	put_be16(list, (uint16_t)(length - 2));
	put_be16(list + header - 2, (uint16_t)(n * 16));
	for (unsigned i = 0; i < n; i++) {
		put_be64(list + header + i * 16, i * 16);
		put_be32(list + header + i * 16 + 8, 8);
	}
	return length;
}

/* 0, ASC and ASCQ, or for 26h/00h 0x10000 and the field. */
static unsigned result(int kind, size_t length)
{
	/* Exactly as long as it says: nothing is read behind it. */
	uint8_t *copy = malloc(length);
	struct scsi_sense why = { 0 };
	bool ok;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, list, length);
	ok = kind == POPULATE ? odx_read_populate(copy, length, &fx_lu.geo, &read_, &why)
			      : odx_read_write(copy, length, &fx_lu.geo, &read_, &why);
	free(copy);
	if (ok)
		return 0;
	ck_assert_uint_eq(why.key, SENSE_ILLEGAL_REQUEST);
	ck_assert(!why.field_in_cdb);
	return why.field_valid ? 0x10000u | why.field : why.asc_ascq;
}

#define FIELD(byte) (0x10000u | (unsigned)(byte))

START_TEST(truncated)
{
	COVERS("SX-018 SX-021");
	for (int kind = POPULATE; kind <= WRITE_USING; kind++) {
		size_t length = good(kind, 5);

		ck_assert_uint_eq(result(kind, length), 0);
		ck_assert_uint_eq(result(kind, length + 9), 0);
		ck_assert_uint_eq(read_.n, 5);
		ck_assert_uint_eq(read_.bytes, 5 * 8 * 512);
		ck_assert_uint_eq(read_.ranges[4].offset, 4 * 16 * 512);
		for (size_t n = headers[kind]; n < length; n++)
			ck_assert_uint_eq(result(kind, n), 0x1a00);
	}
}
END_TEST

START_TEST(lying_lengths)
{
	COVERS("SX-018");
	for (int kind = POPULATE; kind <= WRITE_USING; kind++) {
		size_t header = headers[kind], length = good(kind, 2);

		for (size_t n = 0; n < header + 16 - 2; n++) {
			put_be16(list, (uint16_t)n);
			ck_assert_uint_eq(result(kind, length), FIELD(0));
		}
		for (size_t n = header + 16 - 2; n < length - 2; n++) { /* less than the ranges */
			put_be16(list, (uint16_t)n);
			ck_assert_uint_eq(result(kind, length), FIELD(header - 2));
		}
		put_be16(list, 0xffff); /* more than there is: what counts is there */
		ck_assert_uint_eq(result(kind, length), 0);
		for (unsigned n = 0; n < 0xffff; n += n < 64 || n > 0xffc0 ? 1 : 61) {
			unsigned expected = n == 16 || n == 32     ? 0
					    : n % 16 || n < 16     ? FIELD(header - 2)
					    : n > 0x10001 - header ? FIELD(header - 2)
								   : 0x1a00;

			put_be16(list + header - 2, (uint16_t)n);
			ck_assert_uint_eq(result(kind, length), expected);
		}
	}
}
END_TEST

START_TEST(ranges)
{
	COVERS("SX-018");
	for (int kind = POPULATE; kind <= WRITE_USING; kind++) {
		size_t header = headers[kind], length = good(kind, 3);
		uint8_t *second = list + header + 16;

		put_be64(second, BLOCKS); /* the end, and beyond it */
		put_be32(second + 8, 0);
		ck_assert_uint_eq(result(kind, length), 0);
		put_be32(second + 8, 1);
		ck_assert_uint_eq(result(kind, length), 0x2100);
		put_be64(second, UINT64_MAX);
		ck_assert_uint_eq(result(kind, length), 0x2100);
		put_be32(second + 8, 0);
		ck_assert_uint_eq(result(kind, length), 0x2100);
		put_be64(second, BLOCKS - 1);
		put_be32(second + 8, 1);
		ck_assert_uint_eq(result(kind, length), 0);
		put_be32(second + 8, UINT32_MAX);
		ck_assert_uint_eq(result(kind, length), 0x2100);

		put_be64(second, 8); /* up to the third, and into it */
		put_be32(second + 8, 24);
		ck_assert_uint_eq(result(kind, length), 0);
		put_be32(second + 8, 25);
		ck_assert_uint_eq(result(kind, length), FIELD(header + 32));
		put_be64(second, 7);
		put_be32(second + 8, 1);
		ck_assert_uint_eq(result(kind, length), FIELD(header + 16));
		put_be64(second, 0);
		put_be32(second + 8, 8);
		ck_assert_uint_eq(result(kind, length), FIELD(header + 16));
		put_be32(second + 8, 0); /* nothing overlaps nothing */
		ck_assert_uint_eq(result(kind, length), 0);
	}
}
END_TEST

START_TEST(limits)
{
	const uint32_t most = ROD_BYTES_MAX / 512;

	COVERS("SX-018");
	for (int kind = POPULATE; kind <= WRITE_USING; kind++) {
		size_t header = headers[kind], length = good(kind, ROD_RANGES_MAX);

		ck_assert_uint_eq(result(kind, length), 0);
		ck_assert_uint_eq(read_.n, ROD_RANGES_MAX);
		length = good(kind, ROD_RANGES_MAX + 1);
		ck_assert_uint_eq(result(kind, length), 0x2608);

		length = good(kind, 2);
		put_be64(list + header + 16, 1024);
		put_be32(list + header + 24, most - 8);
		ck_assert_uint_eq(result(kind, length), 0);
		ck_assert_uint_eq(read_.bytes, ROD_BYTES_MAX);
		put_be32(list + header + 24, most - 7);
		ck_assert_uint_eq(result(kind, length), FIELD(header + 24));
	}
}
END_TEST

START_TEST(fields)
{
	static const struct {
		uint32_t asked;
		uint32_t type; /* 0: refused */
	} types[] = {
		{ 0x00010000, ROD_ACCESS_UPON_REFERENCE },
		{ 0x00800000, ROD_CHANGE_VULNERABLE },
		{ 0x00800001, ROD_CHANGE_VULNERABLE },
		{ 0x0080ffff, ROD_CHANGE_VULNERABLE },
		{ 0, 0 },
		{ 0x00800002, 0 },
		{ 0xffff0001, 0 }, /* nobody needs to ask for it */
		{ UINT32_MAX, 0 },
	};
	size_t length = good(POPULATE, 1);

	COVERS("SX-018");
	ck_assert_uint_eq(result(POPULATE, length), 0);
	ck_assert_uint_eq(read_.type, ROD_CHANGE_VULNERABLE);
	ck_assert_uint_eq(read_.timeout_s, ROD_TIMEOUT_S);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		put_be32(list + 8, types[i].asked);
		list[2] = ODX_IMMED; /* without RTV it is not looked at */
		ck_assert_uint_eq(result(POPULATE, length), 0);
		ck_assert_uint_eq(read_.type, ROD_CHANGE_VULNERABLE);
		list[2] = ODX_RTV;
		ck_assert_uint_eq(result(POPULATE, length), types[i].type ? 0 : FIELD(8));
		ck_assert_uint_eq(read_.type, types[i].type);
	}
	length = good(POPULATE, 1);
	put_be32(list + 4, 1);
	ck_assert_uint_eq(result(POPULATE, length), 0);
	ck_assert_uint_eq(read_.timeout_s, 1);
	put_be32(list + 4, ROD_TIMEOUT_MAX_S);
	ck_assert_uint_eq(result(POPULATE, length), 0);
	ck_assert_uint_eq(read_.timeout_s, ROD_TIMEOUT_MAX_S);
	put_be32(list + 4, ROD_TIMEOUT_MAX_S + 1);
	ck_assert_uint_eq(result(POPULATE, length), FIELD(4));

	for (int kind = POPULATE; kind <= WRITE_USING; kind++) {
		length = good(kind, 1);
		for (unsigned bit = 0; bit < 8; bit++) {
			list[2] = (uint8_t)(1 << bit);
			if (kind == POPULATE && list[2] == ODX_RTV)
				put_be32(list + 8, ROD_CHANGE_VULNERABLE);
			ck_assert_uint_eq(result(kind, length), bit < 2 ? 0 : FIELD(2));
		}
	}
}
END_TEST

START_TEST(token_and_offset)
{
	size_t length = good(WRITE_USING, 1);
	struct scsi_sense why;

	put_be64(list + 8, 0x0102030405060708);
	memset(list + 16, 0x5a, ROD_TOKEN_SIZE);
	ck_assert(odx_read_write(list, length, &fx_lu.geo, &read_, &why));
	ck_assert_uint_eq(read_.offset, 0x0102030405060708);
	ck_assert_ptr_eq(read_.token, list + 16);
	ck_assert_uint_eq(odx_write_field(3), 536 + 3 * 16);
}
END_TEST

UNIT_MAIN("scsi/odx_list", truncated, lying_lengths, ranges, limits, fields, token_and_offset)
