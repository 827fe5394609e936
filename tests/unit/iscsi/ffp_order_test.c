/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CmdSN order: requests ahead of their turn, numbers that are given up, and what the
 * initiator is told.
 */
#include "transport/iscsi/ffp_order.c"

#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

#define R ISCSI_CMD_READ
#define W ISCSI_CMD_WRITE

static struct rig rig;
static uint8_t cdb[16];
static uint8_t block[8192];

static struct rig_command numbered(uint32_t cmdsn)
{
	return (struct rig_command){
		.cdb = cdb, .flags = R, .edtl = 512, .keep_cmdsn = true, .cmdsn = cmdsn
	};
}

static void expect_data(struct fake_initiator *i, uint32_t itt)
{
	struct fake_pdu *p = fake_next(i->fc);

	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	ck_assert_uint_eq(rig_itt(p), itt);
	free(p);
}

static void nop(struct fake_initiator *i, uint32_t itt, uint32_t cmdsn, const void *data,
		uint32_t length)
{
	struct bhs_nop h = { .opcode = ISCSI_OP_NOP_OUT, .flags = ISCSI_FINAL };
	uint8_t bytes[48];

	put_be32(h.itt, itt);
	put_be32(h.ttt, ISCSI_TAG_RESERVED);
	put_be32(h.sn1, cmdsn);
	memcpy(bytes, &h, 48);
	ck_assert_int_eq(fake_feed(i->fc, bytes, data, length), 0);
}

/* Later ones first: each waits, and they run in order. */
START_TEST(ahead)
{
	struct fake_initiator i;
	struct rig_command q;
	struct fake_pdu *p;
	uint32_t first;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	first = i.cmdsn;
	q = numbered(first + 2);
	q.itt = 0x203;
	ck_assert_ptr_null(rig_command(&i, &q));
	nop(&i, 0x202, first + 1, "abc", 3);
	ck_assert_ptr_null(fake_next(i.fc));
	p = rig_ping(&i, 0x300, NULL, 0);
	ck_assert_uint_eq(rig_exp_cmdsn(p), first); /* no hole */
	free(p);
	q = numbered(first + 2); /* the number again, under another tag: ignored */
	q.itt = 0x204;
	ck_assert_ptr_null(rig_command(&i, &q));
	q = numbered(first);
	q.itt = 0x201;
	ck_assert_int_eq(rig_send(&i, &q), 0);
	/* The fake shows a Data-In at once and control PDUs at the end of the turn. */
	expect_data(&i, 0x201);
	expect_data(&i, 0x203);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_itt(p), 0x202);
	ck_assert_uint_eq(p->length, 3);
	ck_assert_mem_eq(p->data, "abc", 3);
	ck_assert_uint_eq(rig_exp_cmdsn(p), first + 3);
	free(p);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_uint_eq(i.fc->c->session->n_parked, 0);
	rig_stop(&rig);
}
END_TEST

/* A write ahead of its turn, with all kinds of data. */
START_TEST(ahead_with_data)
{
	struct fake_initiator i;
	struct rig_command q;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\nFirstBurstLength=8192\n");
	memset(block, 0x5a, sizeof(block));
	rig_write10(cdb, 0, 16);
	q = numbered(i.cmdsn + 1);
	q.flags = W;
	q.edtl = 8192;
	q.data = block;
	q.length = 8192;
	ck_assert_ptr_null(rig_command(&i, &q));
	nop(&i, 0x300, i.cmdsn, NULL, 0);
	fake_turn(&rig.net, 2);
	ck_assert_mem_eq(rig.store[0]->bytes, block, 8192);
	free(fake_next(i.fc));
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(p->bhs[3], 0);
	free(p);
	i.cmdsn += 2;
	/* Unsolicited Data-Out for one that waits finds no place: TASK SET FULL in its turn. */
	q.cmdsn = i.cmdsn + 1;
	q.no_final = true;
	q.length = 512;
	ck_assert_ptr_null(rig_command(&i, &q));
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt,
							      .offset = 512,
							      .data = block,
							      .length = 7680,
							      .final = true }),
			 0);
	ck_assert_ptr_null(fake_next(i.fc));
	nop(&i, 0x301, i.cmdsn, NULL, 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	free(p);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(p->bhs[3], SCSI_TASK_SET_FULL);
	free(p);
	ck_assert_uint_eq(i.fc->c->session->parked_bytes, 0);
	rig_stop(&rig);
}
END_TEST

/* Outside of the window: no answer, no harm. */
START_TEST(outside)
{
	struct fake_initiator i;
	struct rig_command q;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	q = numbered(i.fc->c->session->max_cmdsn + 1);
	ck_assert_ptr_null(rig_command(&i, &q));
	q = numbered(i.cmdsn - 1);
	ck_assert_ptr_null(rig_command(&i, &q));
	q = numbered(i.cmdsn - 100000);
	ck_assert_ptr_null(rig_command(&i, &q));
	q = numbered(i.cmdsn);
	ck_assert_int_eq(rig_send(&i, &q), 0);
	expect_data(&i, i.itt);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_READ], 1);
	rig_stop(&rig);
}
END_TEST

/* Over the end of the numbers. */
START_TEST(wrap)
{
	struct fake_initiator i;
	struct iscsi_session *s;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	s = i.fc->c->session;
	s->max_cmdsn = 0xfffffffeu + (s->max_cmdsn - s->exp_cmdsn);
	s->exp_cmdsn = i.cmdsn = 0xfffffffeu;
	rig_read10(cdb, 0, 1);
	for (unsigned n = 0; n < 10; n++) {
		struct rig_command q = numbered(i.cmdsn + 1);

		ck_assert_ptr_null(rig_command(&i, &q));
		q = numbered(i.cmdsn);
		ck_assert_int_eq(rig_send(&i, &q), 0);
		expect_data(&i, i.itt);
		expect_data(&i, i.itt - 1);
		i.cmdsn += 2;
	}
	ck_assert_uint_eq(s->exp_cmdsn, 18);
	ck_assert_uint_eq(s->max_cmdsn, 18 + 127);
	rig_stop(&rig);
}
END_TEST

START_TEST(too_many_immediate)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512, .immediate = true };
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	rig.store[0]->hold = true;
	for (unsigned n = 0; n < SESSION_IMMEDIATE_MAX; n++)
		ck_assert_ptr_null(rig_command(&i, &q));
	p = rig_command(&i, &q);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_IMMEDIATE);
	free(p);
	/* A function and a ping always find room. */
	ck_assert_uint_eq(rig_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK_SET }),
			  0);
	p = rig_ping(&i, 0x300, NULL, 0);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	free(p);
	ck_assert_uint_eq(i.fc->c->session->n_immediate, 0);
	rig_stop(&rig);
}
END_TEST

/* ABORT TASK of a command that has not come: it never runs, and its number counts as received. */
START_TEST(given_up)
{
	struct fake_initiator i;
	struct rig_command q;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	i.cmdsn++; /* lost on its way */
	ck_assert_uint_eq(rig_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
							 .task = 0x555,
							 .ref_cmdsn = i.cmdsn - 1 }),
			  ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(i.fc->c->session->exp_cmdsn, i.cmdsn);
	q = numbered(i.cmdsn - 1);
	q.itt = 0x555;
	ck_assert_ptr_null(rig_command(&i, &q));
	ck_assert_uint_eq(rig.store[0]->count[BACKING_READ], 0);
	ck_assert_uint_eq(rig_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
							 .task = 0x556,
							 .ref_cmdsn = i.cmdsn - 1000 }),
			  ISCSI_TMF_RSP_NO_TASK);
	/* Neither received nor announced. */
	ck_assert_uint_eq(rig_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
							 .task = 0x557,
							 .ref_cmdsn = i.cmdsn + 5 }),
			  ISCSI_TMF_RSP_NO_TASK);
	rig_stop(&rig);
}
END_TEST

/* An immediate ABORT TASK SET waits for the commands before it; an ABORT TASK does not. */
START_TEST(immediate_waits)
{
	struct fake_initiator i;
	struct rig_command q;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	rig.store[0]->hold = true;
	i.cmdsn++;
	ck_assert_int_eq(
	    rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK_SET }), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	q = numbered(i.cmdsn); /* behind the function: survives */
	q.itt = 0x402;
	ck_assert_ptr_null(rig_command(&i, &q));
	q = numbered(i.cmdsn - 1);
	q.itt = 0x401;
	p = rig_command(&i, &q);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[2], 0);
	free(p);
	rig.store[0]->hold = false;
	fake_store_let(rig.store[0]);
	expect_data(&i, 0x402);
	ck_assert_ptr_null(fake_next(i.fc));
	rig_stop(&rig);
}
END_TEST

/* ABORT TASK of one that waits for its turn. */
START_TEST(abort_parked)
{
	struct fake_initiator i;
	struct rig_command q;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	q = numbered(i.cmdsn + 1);
	ck_assert_ptr_null(rig_command(&i, &q));
	i.cmdsn += 2;
	ck_assert_uint_eq(rig_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
							 .task = i.itt,
							 .ref_cmdsn = i.cmdsn - 1 }),
			  ISCSI_TMF_RSP_COMPLETE);
	nop(&i, 0x300, i.cmdsn - 2, NULL, 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	free(p);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_uint_eq(rig.store[0]->count[BACKING_READ], 0);
	rig_stop(&rig);
}
END_TEST

/* A logout in its turn waits for the gap to close. */
START_TEST(logout_waits)
{
	struct bhs_logout_request h = { .opcode = ISCSI_OP_LOGOUT_REQUEST, .reason = 0x80 };
	struct fake_initiator i;
	struct fake_pdu *p;
	uint8_t bytes[48];

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	put_be32(h.itt, 0x601);
	put_be32(h.cmdsn, i.cmdsn + 1);
	memcpy(bytes, &h, 48);
	ck_assert_int_eq(fake_feed(i.fc, bytes, NULL, 0), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	nop(&i, 0x300, i.cmdsn, NULL, 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	free(p);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_LOGOUT_RESPONSE);
	free(p);
	ck_assert(fake_closed(i.fc));
	rig_stop(&rig);
}
END_TEST

/* Every opcode that is not a request, and requests that do not fit where they are sent. */
START_TEST(refused_opcodes)
{
	static const struct {
		uint8_t opcode, reason;
	} rows[] = {
		{ 0x07, REJECT_NOT_SUPPORTED },  { 0x0f, REJECT_NOT_SUPPORTED },
		{ 0x11, REJECT_NOT_SUPPORTED },  { 0x1c, REJECT_NOT_SUPPORTED },
		{ 0x20, REJECT_NOT_SUPPORTED },  { 0x21, REJECT_NOT_SUPPORTED },
		{ 0x3f, REJECT_NOT_SUPPORTED },  { ISCSI_OP_SNACK, REJECT_NOT_SUPPORTED },
		{ 0x03, REJECT_PROTOCOL_ERROR },
	};
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		uint8_t bytes[48] = { rows[n].opcode };
		uint32_t statsn = i.fc->c->statsn;

		ck_assert_int_eq(fake_feed(i.fc, bytes, NULL, 0), 0);
		p = fake_next(i.fc);
		ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
		ck_assert_uint_eq(p->bhs[2], rows[n].reason);
		ck_assert_uint_eq(p->bhs[1], 0x80);
		ck_assert_uint_eq(rig_itt(p), ISCSI_TAG_RESERVED);
		ck_assert_uint_eq(p->length, 48);
		ck_assert_mem_eq(p->data, bytes, 48);
		ck_assert_uint_eq(rig_statsn(p), statsn);
		ck_assert_uint_eq(i.fc->c->statsn, statsn + 1);
		free(p);
	}
	/* The reserved tag names no task. */
	rig_read10(cdb, 0, 1);
	{
		struct rig_command q = numbered(i.cmdsn);

		q.itt = ISCSI_TAG_RESERVED;
		p = rig_command(&i, &q);
		ck_assert_uint_eq(p->bhs[2], REJECT_INVALID_PDU_FIELD);
		free(p);
	}
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = ISCSI_TAG_RESERVED }), 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_INVALID_PDU_FIELD);
	free(p);
	p = rig_ping(&i, 0x300, NULL, 0);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn); /* none of them counted */
	free(p);
	rig_stop(&rig);
}
END_TEST

/* Data that waited, in pieces of one kind, goes into pieces of another, from any place in them. */
START_TEST(from_pieces_to_pieces)
{
	static const size_t into[] = { 3, 500, 1, 700, 2, 818 }, of[] = { 1, 600, 7, 392 };
	struct iovec to[6], pieces[4];
	static uint8_t out[2024];
	struct arena_buf from = { .iov = pieces, .n = 4 };

	for (size_t n = 0; n < sizeof(block); n++)
		block[n] = (uint8_t)(n * 7 + n / 251);
	for (size_t n = 0, at = 0; n < 6; at += into[n++])
		to[n] = (struct iovec){ out + at, into[n] };
	for (size_t n = 0, at = 0; n < 4; at += of[n++])
		pieces[n] = (struct iovec){ block + at, of[n] };
	for (size_t skip = 0; skip <= sizeof(out) - 1000; skip++) {
		memset(out, 0xee, sizeof(out));
		copy_iov(to, 6, skip, &from);
		ck_assert_mem_eq(out + skip, block, 1000);
		ck_assert(!skip || out[skip - 1] == 0xee);
		ck_assert(skip + 1000 == sizeof(out) || out[skip + 1000] == 0xee);
	}
	/* What there is no room for is left. */
	copy_iov(to, 2, 100, &from);
	ck_assert_mem_eq(out + 100, block, 403);
}
END_TEST

/* What waits goes with its connection. */
START_TEST(lost_with_parked)
{
	struct fake_initiator i;
	struct rig_command q;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\n");
	rig_write10(cdb, 0, 8);
	for (unsigned n = 2; n < 20; n++) {
		q = numbered(i.cmdsn + n);
		q.flags = W;
		q.edtl = 4096;
		q.data = block;
		q.length = 4096;
		ck_assert_ptr_null(rig_command(&i, &q));
	}
	ck_assert_uint_eq(i.fc->c->session->n_parked, 18);
	fake_hang_up(i.fc);
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("P-009 P-011 P-021 P-022 P-023 P-024 P-025 P-028 P-029 P-031 P-032 P-036 P-108 "
	     "P-121 P-122 P-138 P-150 P-156 P-158 E-020 E-025 fault-D12");

UNIT_MAIN("iscsi/ffp_order", ahead, ahead_with_data, outside, wrap, too_many_immediate, given_up,
	  immediate_waits, abort_parked, logout_waits, refused_opcodes, from_pieces_to_pieces,
	  lost_with_parked)
