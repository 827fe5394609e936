/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCSI Commands on the real SCSI layer: data in and out, residuals, flags that contradict each
 * other, what is refused and with which reason.
 */
#include "transport/iscsi/ffp_scsi.c"

#include "tests/unit/iscsi/ffp_fixture.h"
#include "tests/unit/unit.h"

#define R ISCSI_CMD_READ
#define W ISCSI_CMD_WRITE

static struct rig rig;
static uint8_t cdb[16];
static uint8_t block[64 * RIG_BLOCK];

static void fill(uint8_t seed)
{
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(seed + i * 7 + i / 251);
}

static void check_residual(const struct fake_pdu *p, uint8_t flag, uint32_t count)
{
	ck_assert_uint_eq(p->bhs[1] & (ISCSI_RSP_OVERFLOW | ISCSI_RSP_UNDERFLOW), flag);
	ck_assert_uint_eq(rig_residual(p), count);
}

START_TEST(write_and_read_back)
{
	struct fake_initiator i;
	struct fake_pdu *p;
	uint32_t statsn;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "ImmediateData=Yes\nInitialR2T=Yes\n");
	fill(1);
	rig_write10(cdb, 8, 2);
	p = rig_command(&i,
			&(struct rig_command){
			    .cdb = cdb, .flags = W, .edtl = 1024, .data = block, .length = 1024 });
	check_residual(p, 0, 0);
	statsn = rig_statsn(p);
	ck_assert_uint_eq(rig_itt(p), i.itt);
	check_good(p);
	ck_assert_mem_eq(rig.store[0]->bytes + 8 * RIG_BLOCK, block, 1024);

	rig_read10(cdb, 8, 2);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 1024 });
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	ck_assert_uint_eq(p->bhs[1], ISCSI_FINAL | ISCSI_DATA_IN_STATUS);
	ck_assert_uint_eq(p->bhs[3], 0);
	ck_assert_uint_eq(p->length, 1024);
	ck_assert_mem_eq(p->data, block, 1024);
	ck_assert_uint_eq(rig_statsn(p), statsn + 1);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn); /* acknowledged before it is answered */
	free(p);
	ck_assert_ptr_null(fake_next(i.fc));
	rig_stop(&rig);
}
END_TEST

START_TEST(residuals)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 8);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 2048 });
	ck_assert_uint_eq(p->length, 2048);
	check_residual(p, ISCSI_RSP_OVERFLOW, 2048);
	free(p);
	rig_read10(cdb, 0, 1);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 2048 });
	ck_assert_uint_eq(p->length, 512);
	check_residual(p, ISCSI_RSP_UNDERFLOW, 1536);
	free(p);
	/* Neither R nor W: nothing moves, and the initiator learns what there was. */
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb });
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	check_residual(p, ISCSI_RSP_OVERFLOW, 512);
	check_good(p);
	rig_write10(cdb, 0, 1);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = W });
	check_residual(p, ISCSI_RSP_OVERFLOW, 512);
	check_good(p);
	ck_assert(list_empty(&i.fc->wants));
	/* More than the CDB takes: the surplus is dropped. */
	fill(5);
	p = rig_command(&i,
			&(struct rig_command){
			    .cdb = cdb, .flags = W, .edtl = 1024, .data = block, .length = 1024 });
	check_residual(p, ISCSI_RSP_UNDERFLOW, 512);
	check_good(p);
	ck_assert_mem_eq(rig.store[0]->bytes, block, 512);
	ck_assert_uint_eq(rig.store[0]->bytes[512], 0);
	rig_stop(&rig);
}
END_TEST

/* clang-format off */
static const struct {
	const char *what;
	uint8_t flags;
	bool no_final;
	uint32_t edtl, length;
	uint8_t reason;
} bad_headers[] = {
	{ "attribute 5", R | 5, false, 512, 0, REJECT_PROTOCOL_ERROR },
	{ "attribute 7", R | 7, false, 512, 0, REJECT_PROTOCOL_ERROR },
	{ "neither F nor W", R, true, 512, 0, REJECT_INVALID_PDU_FIELD },
	{ "length without R or W", 0, false, 512, 0, REJECT_INVALID_PDU_FIELD },
	{ "data for a read", R, false, 512, 512, REJECT_INVALID_PDU_FIELD },
	{ "more data than expected", W, false, 512, 1024, REJECT_INVALID_PDU_FIELD },
	{ "both ways without AHS", R | W, false, 512, 0, REJECT_INVALID_PDU_FIELD },
};
/* clang-format on */

/* Refused by Reject, the CmdSN not counted: the next command may use it. */
START_TEST(contradicting_headers)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	for (size_t n = 0; n < sizeof(bad_headers) / sizeof(bad_headers[0]); n++) {
		struct rig_command q = { .cdb = cdb,
					 .flags = bad_headers[n].flags,
					 .no_final = bad_headers[n].no_final,
					 .edtl = bad_headers[n].edtl,
					 .data = block,
					 .length = bad_headers[n].length,
					 .keep_cmdsn = true,
					 .cmdsn = i.cmdsn };

		rig_read10(cdb, 0, 1);
		p = rig_command(&i, &q);
		ck_assert_msg(rig_opcode(p) == ISCSI_OP_REJECT, "%s", bad_headers[n].what);
		ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
		check_rejected(p, bad_headers[n].reason, NULL);
	}
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512 });
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* clang-format off */
static const struct {
	const char *what;
	uint8_t length;
	uint8_t bytes[36];
	bool good;
} segments[] = {
	{ "runs over the end", 4, { 0, 40, 1, 0 }, false },
	{ "length 65535", 4, { 0xff, 0xff, 1, 0 }, false },
	{ "empty extended CDB", 4, { 0, 0, 1, 0 }, false },
	{ "extended CDB of 16", 4, { 0, 1, 1, 0 }, false },
	{ "unknown type", 8, { 0, 5, 0x3f, 0 }, false },
	{ "bidirectional of wrong length", 8, { 0, 4, 2, 0 }, false },
	{ "two extended CDBs", 16, { 0, 5, 1, 0, 1, 2, 3, 4, 0, 5, 1, 0, 1, 2, 3, 4 }, false },
	{ "ends within a header", 8, { 0, 1, 2, 0, 0, 5, 1 }, false },
};
/* clang-format on */

START_TEST(header_segments)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	for (size_t n = 0; n < sizeof(segments) / sizeof(segments[0]); n++) {
		struct rig_command q = { .cdb = cdb,
					 .flags = R,
					 .edtl = 512,
					 .ahs = segments[n].bytes,
					 .ahs_length = segments[n].length,
					 .keep_cmdsn = true,
					 .cmdsn = i.cmdsn };

		p = rig_command(&i, &q);
		ck_assert_msg(rig_opcode(p) == ISCSI_OP_REJECT, "%s", segments[n].what);
		ck_assert_uint_eq(p->length, 48 + segments[n].length);
		ck_assert_mem_eq(p->data + 48, segments[n].bytes, segments[n].length);
		check_rejected(p, REJECT_INVALID_PDU_FIELD, NULL);
	}
	check_quiet(&i);
	rig_stop(&rig);
}
END_TEST

/* A 32 byte CDB reaches the SCSI layer whole; one whose own length differs does not. */
START_TEST(long_cdb)
{
	uint8_t ahs[20] = { 0, 17, ISCSI_AHS_EXTENDED_CDB };
	struct rig_command q = {
		.cdb = cdb, .flags = R, .edtl = 512, .ahs = ahs, .ahs_length = 20
	};
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	memset(cdb, 0, sizeof(cdb));
	cdb[0] = 0x7f;
	cdb[7] = 24;
	put_be16(cdb + 8, 0x0009); /* READ(32), not offered: the SCSI layer says so */
	p = rig_command(&i, &q);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(rig_sense(p) >> 16, 5);
	free(p);
	cdb[7] = 16;
	q.keep_cmdsn = true;
	q.cmdsn = i.cmdsn;
	check_rejected(rig_command(&i, &q), REJECT_INVALID_PDU_FIELD, NULL);
	rig_stop(&rig);
}
END_TEST

/* Bidirectional with its length: no such command is offered. */
START_TEST(bidirectional)
{
	static const uint8_t ahs[8] = { 0, 5, ISCSI_AHS_BIDI_READ_EDTL, 0, 0, 0, 2, 0 };
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	p = rig_command(&i,
			&(struct rig_command){
			    .cdb = cdb, .flags = R | W, .edtl = 512, .ahs = ahs, .ahs_length = 8 });
	ck_assert_uint_eq(rig_sense(p), 0x052000);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* The immediate bit: served, ExpCmdSN stays. */
START_TEST(immediate_command)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	fill(6);
	rig_write10(cdb, 3, 1);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb,
						   .flags = W,
						   .edtl = 512,
						   .data = block,
						   .length = 512,
						   .immediate = true });
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	check_good(p);
	ck_assert_mem_eq(rig.store[0]->bytes + 3 * RIG_BLOCK, block, 512);
	rig_stop(&rig);
}
END_TEST

/* A tag in use: the same command again is ignored, another one is refused. */
START_TEST(tag_in_use)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512 };
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	rig.store[0]->hold = true;
	ck_assert_int_eq(rig_send(&i, &q), 0);
	q.itt = i.itt;
	q.keep_cmdsn = true;
	q.cmdsn = i.cmdsn - 1;
	ck_assert_ptr_null(rig_command(&i, &q));
	q.cmdsn = i.cmdsn;
	check_rejected(rig_command(&i, &q), REJECT_TASK_IN_PROGRESS, NULL);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_READ], 1);
	rig.store[0]->hold = false;
	fake_store_let(rig.store[0]);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	free(p);
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("P-012 P-013 P-014 P-015 P-016 P-017 P-033 P-042 P-043 P-044 P-046 P-048 P-049 "
	     "P-056 P-057 P-062 P-063 P-064 P-065 P-080 E-011 fault-A01 fault-A03");

UNIT_MAIN("iscsi/ffp_scsi", write_and_read_back, residuals, contradicting_headers, header_segments,
	  long_cdb, bidirectional, immediate_command, tag_in_use)
