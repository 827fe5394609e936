/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, groups 7, 16 and 19: data against what was agreed (full text). */
#include "tests/protocol/unh.h"

#define TOO_MUCH_UNASKED 0x0b0c0c
#define INCORRECT_AMOUNT 0x0b0c0d

static uint8_t data[65536], before[65536];

/* What lies there now must lie there still when a write has failed. */
static struct ini *with_content(const char *keys)
{
	struct ini *i = unh_session(keys);
	struct ini_scsi c;

	fill(before, 4096, 7);
	fill(data, 4096, 8);
	rw10(&c, WRITE10, LUN_RAM, UNH_BLOCK, 8, before);
	run_good(i, &c);
	return i;
}

/* A connection that was closed for it is as good; ours stays. `kept`: the first block that nothing
 * may have been written to. */
static void must_fail(struct ini *i, uint32_t itt, uint32_t sense, uint32_t kept)
{
	ck_assert_msg(!unh_fails(i, itt, sense, sense), "closed");
	expect_content(i, LUN_RAM, UNH_BLOCK + kept, (uint16_t)(8 - kept), before + 512 * kept);
}

START_TEST(more_than_the_r2t_asked_for)
{
	COVERS("U-009 P-071 P-101");
	struct ini *i =
	    with_content(SOLICITED TRY_LEVEL_1 "MaxBurstLength=512\nFirstBurstLength=512");
	struct data_out d = { .length = 1024, .data = data, .final = true };

	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 4, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	send_data_out(i, &d);
	must_fail(i, d.itt, INCORRECT_AMOUNT, 1);
}
END_TEST

/* In one PDU, and in two. */
START_TEST(unasked_above_first_burst)
{
	COVERS("U-010 T-077 P-052 P-071");
	struct ini *i =
	    with_content("ImmediateData=No\nInitialR2T=No\nFirstBurstLength=512\n" TRY_LEVEL_1);
	struct data_out d = { .length = 1024, .data = data, .ttt = ISCSI_TAG_RESERVED };

	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 4, false, NULL, 0);
	if (_i) {
		d.length = 512;
		send_data_out(i, &d);
		d.datasn++;
		d.offset = 512;
	}
	d.final = true;
	send_data_out(i, &d);
	must_fail(i, d.itt, INCORRECT_AMOUNT, 1);
}
END_TEST

START_TEST(empty_data_out)
{
	COVERS("U-016 P-087");
	struct ini *i = unh_session(SOLICITED);
	struct data_out d = { 0 };

	fill(data, 1024, 16);
	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 2, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	send_data_out(i, &d);
	d.datasn = 1;
	d.length = 1024;
	d.data = data;
	d.final = true;
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
	expect_content(i, LUN_RAM, UNH_BLOCK, 2, data);
}
END_TEST

START_TEST(r2t_tags)
{
	COVERS("U-011 P-089 P-093");
	struct ini *i = unh_session("InitialR2T=No\nImmediateData=No\n" TRY_LEVEL_1);
	struct bhs_scsi_command h;
	const struct bhs_r2t *r;
	struct ini_scsi c;

	ready(i, LUN_4K);
	rw10(&c, WRITE10, LUN_4K, 100, 2, NULL);
	ini_command(i, &h, LUN_4K, ISCSI_CMD_WRITE, c.edtl, c.cdb, c.cdb_length);
	start(i, &h);
	r = bhs_of(expect(i, ISCSI_OP_R2T), bhs_r2t);
	ck_assert_uint_ne(get_be32(r->ttt), ISCSI_TAG_RESERVED);
	ck_assert_mem_eq(r->lun, h.lun, 8);
}
END_TEST

START_TEST(r2t_fields)
{
	COVERS("U-020 P-038 P-089 P-090 P-091 P-093 P-095");
	struct ini *i = unh_session(SOLICITED "MaxRecvDataSegmentLength=1024\nMaxBurstLength=512\n"
					      "FirstBurstLength=512\nDataSequenceInOrder=Yes");
	uint32_t at = 0;

	i->itt = 0xa2a2a2a2;
	start_write(i, LUN_RAM, UNH_BLOCK, 8, true, NULL, 0);
	for (uint32_t n = 0; n < 8; n++) {
		const struct ini_pdu *p = expect(i, ISCSI_OP_R2T);
		const struct bhs_r2t *r = bhs_of(p, bhs_r2t);
		uint32_t length = get_be32(r->desired_length);

		ck_assert_uint_eq(get_be32(r->itt), 0xa2a2a2a2);
		ck_assert_uint_ne(get_be32(r->ttt), ISCSI_TAG_RESERVED);
		ck_assert_uint_eq(get_be32(r->r2tsn), n);
		ck_assert_uint_eq(get_be32(r->statsn), i->exp_statsn);
		ck_assert_uint_eq(get_be32(r->buffer_offset), at);
		ck_assert(length >= 1 && length <= 512);
		ck_assert_uint_eq(r->ahs_words, 0);
		ck_assert_uint_eq(p->length, 0);
		at += length;
		ck_assert(!ini_answer_r2t(i, p, data, 0));
	}
	expect_status(i, 0xa2a2a2a2, 0);
}
END_TEST

static const struct residual {
	const char *id;
	const char *cdb;
	uint32_t edtl, presented;
	uint8_t flag;
} residuals[] = {
	{ "U-048 P-057 P-063 P-066", "12 00 00 10 00 00", 4096, 0, ISCSI_RSP_UNDERFLOW },
	{ "U-049 P-057 P-062", "12 00 00 00 24 00", 4, 36, ISCSI_RSP_OVERFLOW },
	{ "U-082 P-044 P-062", "25 00 00 00 00 00 00 00 00 00", 0, 8, ISCSI_RSP_OVERFLOW },
};

START_TEST(residual)
{
	const struct residual *r = &residuals[_i];
	COVERS(r->id);
	struct ini *i = unh_session(SOLICITED_1024);
	struct ini_scsi c;

	cdb_of(&c, r->cdb);
	c.edtl = r->edtl;
	c.in = data;
	run_good(i, &c);
	ck_assert_uint_eq(c.flags & (ISCSI_RSP_UNDERFLOW | ISCSI_RSP_OVERFLOW), r->flag);
	if (r->flag == ISCSI_RSP_UNDERFLOW) {
		ck_assert_uint_ge(c.received, 36);
		ck_assert_uint_eq(c.residual, r->edtl - c.received);
	} else {
		ck_assert_uint_eq(c.received, r->edtl);
		ck_assert_uint_eq(c.residual, r->presented - r->edtl);
	}
	if (!r->edtl)
		ck_assert_uint_eq(c.n_data_in, 0);
}
END_TEST

#define SMALL_IMMEDIATE "ImmediateData=Yes\nInitialR2T=Yes\nFirstBurstLength=512"

/* The suite clears F although nothing unasked may follow, RFC 7143 11.3.1 wants it set: either way
 * the rest is asked for. */
START_TEST(immediate_then_r2t)
{
	COVERS("U-050 T-069 P-050 P-053 P-055");
	struct ini *i = unh_session(SMALL_IMMEDIATE);
	struct data_out d = { .length = 512, .offset = 512, .data = data + 512, .final = true };
	const struct ini_pdu *p;

	fill(data, 1024, 50 + (uint32_t)_i);
	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 2, _i, data, 512);
	p = expect(i, ISCSI_OP_R2T);
	ck_assert_uint_eq(be32_of(p, bhs_r2t, buffer_offset), 512);
	ck_assert_uint_eq(be32_of(p, bhs_r2t, desired_length), 512);
	d.ttt = be32_of(p, bhs_r2t, ttt);
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
	expect_content(i, LUN_RAM, UNH_BLOCK, 2, data);
}
END_TEST

START_TEST(immediate_above_first_burst)
{
	COVERS("U-051 T-077 P-070");
	struct ini *i = with_content(SMALL_IMMEDIATE);

	must_fail(i, start_write(i, LUN_RAM, UNH_BLOCK, 2, _i, data, 1024), TOO_MUCH_UNASKED, 0);
}
END_TEST

START_TEST(solicited_only)
{
	COVERS("U-052 P-053");
	struct ini *i = unh_session(SOLICITED);
	struct data_out d = { .length = 1024, .data = data, .final = true };

	fill(data, 1024, 52);
	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 2, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
	expect_content(i, LUN_RAM, UNH_BLOCK, 2, data);
}
END_TEST

START_TEST(immediate_not_agreed)
{
	COVERS("U-053 T-067 P-070");
	struct ini *i = with_content(SOLICITED);

	must_fail(i, start_write(i, LUN_RAM, UNH_BLOCK, 2, true, data, 1024), TOO_MUCH_UNASKED, 0);
}
END_TEST

START_TEST(unsolicited_as_agreed)
{
	COVERS("U-054 T-068 P-050 P-103");
	struct ini *i = unh_session("FirstBurstLength=1024\nImmediateData=No\nInitialR2T=No");
	struct data_out d = {
		.length = 1024, .data = data, .final = true, .ttt = ISCSI_TAG_RESERVED
	};

	fill(data, 1024, 54);
	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 2, false, NULL, 0);
	send_data_out(i, &d);
	expect_status(i, d.itt, 0); /* no R2T before it */
	expect_content(i, LUN_RAM, UNH_BLOCK, 2, data);
}
END_TEST

/* As the suite has it, and as RFC 7143 11.4.7.2 words it: EDTL above FirstBurstLength. */
START_TEST(too_little_unasked)
{
	COVERS("U-055 P-052 P-071");
	struct ini *i = with_content(_i ? "InitialR2T=No\nImmediateData=No\nFirstBurstLength=1024"
					: "InitialR2T=No\nDataSequenceInOrder=Yes");
	struct data_out d = {
		.length = 512, .data = data, .final = true, .ttt = ISCSI_TAG_RESERVED
	};

	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, _i ? 4 : 2, false, NULL, 0);
	send_data_out(i, &d);
	must_fail(i, d.itt, INCORRECT_AMOUNT, 1);
}
END_TEST

START_TEST(unknown_operation_code)
{
	COVERS("U-056 SG-001 P-068");
	struct ini *i = unh_session("InitialR2T=No\nDataSequenceInOrder=Yes");
	struct ini_scsi c;

	cdb_of(&c, "ff 00 00 00 00 00 00 00 00 00");
	run_sense(i, &c, 0x052000);
	still_works(i);
}
END_TEST

void unh_data_suite(TCase *c)
{
	add(c, more_than_the_r2t_asked_for);
	add_rows(c, unasked_above_first_burst, 2);
	add(c, r2t_tags);
	add(c, empty_data_out);
	add(c, r2t_fields);
	add_table(c, residual, residuals);
	add_rows(c, immediate_then_r2t, 2);
	add_rows(c, immediate_above_first_burst, 2);
	add(c, solicited_only);
	add(c, immediate_not_agreed);
	add(c, unsolicited_as_agreed);
	add_rows(c, too_little_unasked, 2);
	add(c, unknown_operation_code);
}
