/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An initiator that sends requests and does not read the answers: so many may wait for it, the next
 * ends its connection, whatever it was the answer to. Nothing of it stays, others do not notice.
 */
#include "tests/unit/iscsi/ffp_fixture.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/ffp.h"

#define PDUS_MAX   1024u
#define BYTES_MAX  (2u << 20)
#define ECHO       8192u /* MaxRecvDataSegmentLength of who declares none */
#define IMMEDIATE  0x40
#define NO_TASK_AT 0x5555u

static struct rig rig;
static struct fake_initiator other;

static void start(void)
{
	rig_start(&rig, NULL);
	other = rig_login_isid(&rig, 9, NULL);
}

/* Nothing is left of the connections but that of `other`. */
static void stop(void)
{
	fake_turn(&rig.net, 4);
	ck_assert_uint_eq(iscsi_reactor_count(rig.net.reactor), 1);
	check_quiet(&other);
	ck_assert_uint_eq(pool_in_use(other.fc->c->ir->pdus), 0);
	ck_assert_uint_eq(pool_in_use(other.fc->c->ir->tasks), 0);
	rig_stop(&rig);
}

/* A session that has as many answers to read as may wait. */
static struct fake_initiator full(void)
{
	struct fake_initiator i = rig_login(&rig, NULL);

	i.fc->hold = true;
	for (unsigned n = 0; n < PDUS_MAX; n++)
		ck_assert_ptr_null(rig_ping(&i, 0x1000 + n, NULL, 0));
	ck_assert_uint_eq(i.fc->c->pdus_out, PDUS_MAX);
	ck_assert(!i.fc->closing);
	return i;
}

/* Requests that are answered, or rejected, at once. */
static const struct {
	uint8_t opcode, flags, byte2;
	bool refers; /* to a task that is not there */
	uint32_t length;
} requests[] = {
	{ ISCSI_OP_NOP_OUT | IMMEDIATE, 0x80, 0, false, 0 },
	{ ISCSI_OP_NOP_OUT, 0x80, 0, false, 16 },
	{ ISCSI_OP_TMF_REQUEST | IMMEDIATE, 0x80 | ISCSI_TMF_ABORT_TASK, 0, true, 0 },
	{ ISCSI_OP_TMF_REQUEST | IMMEDIATE, 0x80 | ISCSI_TMF_LU_RESET, 0, false, 0 },
	{ ISCSI_OP_TMF_REQUEST, 0x80 | 0x7f, 0, false, 0 },
	{ ISCSI_OP_TEXT_REQUEST | IMMEDIATE, 0x80, 0, false, 0 },
	{ ISCSI_OP_TEXT_REQUEST, 0xc0, 0, false, 4 },
	{ ISCSI_OP_LOGOUT_REQUEST | IMMEDIATE, 0x80 | LOGOUT_CLOSE_SESSION, 0, false, 0 },
	{ ISCSI_OP_LOGOUT_REQUEST | IMMEDIATE, 0x80 | LOGOUT_CLOSE_CONNECTION, 0, true, 0 },
	{ ISCSI_OP_LOGOUT_REQUEST, 0x80 | LOGOUT_RECOVERY, 0, true, 0 },
	{ ISCSI_OP_SNACK | IMMEDIATE, 0x80 | 1, 0, false, 0 },
	{ 0x1e | IMMEDIATE, 0x80, 0, false, 0 }, /* not offered */
	{ ISCSI_OP_SCSI_COMMAND, 0x80, 0, false, 0 },
	{ ISCSI_OP_SCSI_COMMAND | IMMEDIATE, 0x80, 0, false, 0 },
};

START_TEST(too_many_answers)
{
	for (size_t k = 0; k < sizeof(requests) / sizeof(requests[0]); k++) {
		struct fake_initiator i;
		uint8_t bhs[48] = { requests[k].opcode, requests[k].flags, requests[k].byte2 };
		static const char text[] = "X-a=";
		struct bhs *h = (void *)bhs;
		int err;

		start();
		i = full();
		put_be32(h->itt, 0x99);
		put_be32(bhs + 20, requests[k].refers ? NO_TASK_AT : ISCSI_TAG_RESERVED);
		err = rig_feed(&i, bhs, requests[k].length > 4 ? (const void *)&rig : text,
			       requests[k].length);
		for (unsigned n = 0; n < 8 && !err && !i.fc->closing; n++)
			fake_turn(&rig.net, 1);
		ck_assert_msg(err < 0 || i.fc->closing, "request %zu: the connection stays", k);
		ck_assert(fake_closed(i.fc));
		stop();
	}
}
END_TEST

/* What a long answer takes counts by its bytes; short ones still go. */
START_TEST(too_many_bytes)
{
	static const uint8_t data[ECHO];
	struct fake_initiator i;
	size_t held;

	start();
	i = rig_login(&rig, NULL);
	i.fc->hold = true;
	for (unsigned n = 0; n < BYTES_MAX / ECHO; n++)
		ck_assert_ptr_null(rig_ping(&i, 0x1000 + n, data, ECHO));
	held = i.fc->c->pdu_bytes;
	ck_assert_uint_eq(held, BYTES_MAX);
	ck_assert_ptr_null(rig_ping(&i, 0x2000, NULL, 0));
	ck_assert(!i.fc->closing);
	ck_assert_uint_eq(i.fc->c->pdu_bytes, held);
	ck_assert_ptr_null(rig_ping(&i, 0x2001, data, ECHO));
	ck_assert(i.fc->closing);
	ck_assert(fake_closed(i.fc));
	stop();
}
END_TEST

/* What has been read makes room. */
START_TEST(read_at_last)
{
	struct fake_initiator i;

	start();
	i = full();
	i.fc->hold = false;
	reactor_defer(rig.net.reactor, REACTOR_STAGE_SEND, &i.fc->flush);
	for (unsigned n = 0; n < PDUS_MAX; n++) {
		struct fake_pdu *p = fake_next(i.fc);

		ck_assert_uint_eq(rig_itt(p), 0x1000 + n);
		free(p);
	}
	ck_assert_uint_eq(i.fc->c->pdus_out, 0);
	check_quiet(&i);
	fake_hang_up(i.fc);
	stop();
}
END_TEST

/* Damaged data is answered by a Reject; a command goes with it. */
START_TEST(damaged)
{
	static const uint8_t opcodes[] = { ISCSI_OP_NOP_OUT, ISCSI_OP_SCSI_COMMAND,
					   ISCSI_OP_TEXT_REQUEST };

	for (size_t k = 0; k < sizeof(opcodes); k++) {
		struct fake_initiator i;
		uint8_t bhs[48] = { opcodes[k], 0x80 };
		struct bhs_scsi_command *h = (void *)bhs;
		uint8_t data[512] = { 0 };

		start();
		i = full();
		put_be32(h->itt, 0x99);
		put_be32(h->cmdsn, i.cmdsn);
		if (opcodes[k] == ISCSI_OP_SCSI_COMMAND) {
			h->flags |= ISCSI_CMD_WRITE;
			put_be32(h->edtl, sizeof(data));
			rig_write10(h->cdb, 0, 1);
		} else {
			put_be32(h->edtl, ISCSI_TAG_RESERVED);
		}
		ck_assert_int_lt(rig_feed_damaged(&i, bhs, data, sizeof(data)), 0);
		fake_hang_up(i.fc);
		stop();
	}
}
END_TEST

/* What the target says by itself: a ping, and that it parts. */
START_TEST(nothing_can_be_told)
{
	struct fake_initiator i;

	start();
	i = full();
	ck_assert(!ffp_nop_in(i.fc->c, ISCSI_TAG_RESERVED));
	ck_assert(!ffp_ping(i.fc->c));
	ck_assert_uint_eq(i.fc->c->ping_ttt, ISCSI_TAG_RESERVED); /* none is waited for */
	iscsi_reactor_request_logout(rig.net.reactor, 5);
	ck_assert(i.fc->closing);
	ck_assert(!i.fc->graceful);
	ck_assert(!other.fc->closing);
	ck_assert_uint_eq(other.fc->c->state, CONN_LOGOUT_REQUESTED);
	ck_assert(fake_closed(i.fc));
	free(fake_next(other.fc));
	stop();
}
END_TEST

UNIT_MAIN("iscsi/ffp_unread", too_many_answers, too_many_bytes, read_at_last, damaged,
	  nothing_can_be_told)
