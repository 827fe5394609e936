/* SPDX-License-Identifier: BSD-2-Clause */
/* Page 8Fh: its frame, and that it says what the commands do. */
#include "daemon/base/bytes.h"
#include "scsi/rod.h"
#include "scsi/vpd.h"
#include "tests/unit/scsi/plan_fixture.h"

/* The descriptor of a type, its header included; fails where one is not whole. */
static const uint8_t *descriptor(uint16_t type, size_t *ret_length)
{
	size_t end = 4u + get_be16(fx_answer + 2), at = 4;
	const uint8_t *found = NULL;
	int last = -1;

	while (at < end) {
		ck_assert_uint_le(4, end - at);
		ck_assert_int_gt(get_be16(fx_answer + at), last);
		last = get_be16(fx_answer + at);
		ck_assert_uint_eq(get_be16(fx_answer + at + 2) % 4, 0);
		if (last == type) {
			found = fx_answer + at;
			*ret_length = 4u + get_be16(found + 2);
		}
		at += 4u + get_be16(fx_answer + at + 2);
	}
	ck_assert_uint_eq(at, end);
	ck_assert_ptr_nonnull(found);
	return found;
}

static void page(uint32_t block_size)
{
	plan_setup();
	fx_lu.geo.block_size = block_size;
	memset(fx_answer, 0xa5, 4096);
	ck_assert_uint_gt(vpd_page(&fx_rq, 0x8f, fx_answer), 4);
	ck_assert_uint_eq(fx_answer[1], 0x8f);
}

START_TEST(limits)
{
	static const uint32_t blocks[] = { 512, 4096 };
	const uint8_t *d;
	size_t n;

	COVERS("SX-027 SC-003");
	for (int i = 0; i < 2; i++) {
		page(blocks[i]);
		d = descriptor(0x0000, &n);
		ck_assert_ptr_eq(d, fx_answer + 4); /* Windows wants it first */
		ck_assert_uint_eq(n, 36);
		ck_assert_uint_eq(get_be16(d + 10), ROD_RANGES_MAX);
		ck_assert_uint_eq(get_be32(d + 12), ROD_TIMEOUT_MAX_S);
		ck_assert_uint_eq(get_be32(d + 16), ROD_TIMEOUT_S);
		ck_assert_uint_eq(get_be64(d + 20) * blocks[i], ROD_BYTES_MAX);
		ck_assert_uint_eq(get_be64(d + 28) * blocks[i], 64u << 20);
		d = descriptor(0x8001, &n);
		ck_assert_uint_eq(n, 36);
		ck_assert_uint_gt(get_be32(d + 4), 0);
		ck_assert_uint_eq(1u << d[16], blocks[i]);
	}
}
END_TEST

/* Each command that is there, and none that is not. */
START_TEST(commands)
{
	const uint8_t *d;
	unsigned listed = 0, offered = 0, rows;
	const struct scsi_op *op;
	size_t n;

	COVERS("SX-027");
	page(512);
	d = descriptor(0x0001, &n);
	for (size_t at = 5; at < 5u + d[4]; at += 2u + d[at + 1]) {
		ck_assert_uint_le(at + 2 + d[at + 1], 5u + d[4]);
		for (unsigned i = 0; i < d[at + 1]; i++, listed++) {
			uint8_t cdb[16] = { d[at], d[at + 2 + i] };
			struct scsi_request rq = fx_rq;
			struct scsi_sense why;

			rq.cdb = cdb;
			ck_assert_ptr_nonnull(scsi_op_lookup(&rq, &why));
		}
	}
	for (op = scsi_op_table(&rows); rows; rows--, op++)
		offered += op->opcode == 0x83 || op->opcode == 0x84;
	ck_assert_uint_eq(listed, offered);
}
END_TEST

START_TEST(tokens)
{
	const uint8_t *d;
	size_t n;

	COVERS("SX-027");
	page(512);
	d = descriptor(0x0106, &n);
	ck_assert_uint_eq(n, 4 + 44 + 48);
	ck_assert_uint_eq(d[4], 0); /* no remote tokens */
	ck_assert_uint_eq(get_be32(d + 24), ROD_TIMEOUT_MAX_S);
	ck_assert_uint_eq(get_be16(d + 46), 48);
	ck_assert_uint_eq(get_be32(d + 48), 44);
	ck_assert_uint_eq(get_be64(d + 56), ROD_BYTES_MAX);
	d = descriptor(0x0108, &n);
	ck_assert_uint_eq(n, 8 + 3 * 64);
	ck_assert_uint_eq(get_be16(d + 6), 3 * 64);
	ck_assert_uint_eq(get_be32(d + 8), ROD_CHANGE_VULNERABLE);
	ck_assert_uint_eq(d[12], 3);
	ck_assert_uint_eq(get_be32(d + 8 + 2 * 64), ROD_BLOCK_ZERO);
	ck_assert_uint_eq(d[12 + 2 * 64], 2); /* nobody creates it */
}
END_TEST

UNIT_MAIN("scsi/vpd_copy", limits, commands, tokens)
