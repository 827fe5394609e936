/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Response fences (RFC 7143 4.2.2.3): what waits for which acknowledgement, who is asked for it,
 * and what becomes of it when a connection does not answer or goes.
 */
#include "transport/iscsi/ffp_fence.c"

#include "tests/unit/iscsi/ffp_fixture.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/policy.h"

static struct rig rig;
static struct fake_initiator one, two;
static const uint8_t test_unit_ready[16];

static void several(struct iscsi_policy *p)
{
	p->targets[0].keys.max_connections = 4;
	p->targets[0].keys.default_time2retain = 20;
}

static struct iscsi_session *session(void)
{
	return one.fc->c ? one.fc->c->session : two.fc->c->session;
}

static enum fence_state state(void)
{
	return (enum fence_state)session()->fence.state;
}

/* CmdSN goes on over both. */
static struct fake_initiator *on(struct fake_initiator *i)
{
	struct fake_initiator *other = i == &one ? &two : &one;

	if (sna_diff(other->cmdsn, i->cmdsn) > 0)
		i->cmdsn = other->cmdsn;
	return i;
}

/* A command; its answer, NULL: it waits. */
static struct fake_pdu *command(struct fake_initiator *i)
{
	return rig_command(on(i), &(struct rig_command){ .cdb = test_unit_ready });
}

/* What has been heard here is acknowledged by an answer to a NOP-In, or without being asked. */
static void acknowledge(struct fake_initiator *i, uint32_t ttt)
{
	ck_assert_int_eq(rig_acknowledge(on(i), ttt), 0);
}

/* One session over two connections; all has been acknowledged. */
static void setup(void)
{
	rig_start(&rig, several);
	one = rig_login(&rig, "MaxConnections=2\nDefaultTime2Retain=20\n");
	two = rig_join(&one, 1, NULL);
	acknowledge(&one, ISCSI_TAG_RESERVED);
	acknowledge(&two, ISCSI_TAG_RESERVED);
}

/* The question for an acknowledgement; its tag. */
static uint32_t asked(struct fake_initiator *i)
{
	struct fake_pdu *p = fake_next(i->fc);
	uint32_t ttt;

	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ttt = get_be32(p->bhs + 20);
	ck_assert_uint_ne(ttt, ISCSI_TAG_RESERVED);
	free(p);
	return ttt;
}

static void reset_lu(struct fake_initiator *i)
{
	struct rig_tmf q = { .function = ISCSI_TMF_LU_RESET };

	ck_assert_int_eq(rig_send_tmf(on(i), &q), 0);
	fake_turn(&rig.net, 4);
}

static void check_reset_done(struct fake_initiator *i)
{
	struct fake_pdu *p = fake_next(i->fc);

	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	free(p);
}

static void told_of_reset(struct fake_initiator *i)
{
	struct fake_pdu *p = fake_next(i->fc);

	ck_assert_uint_eq(rig_sense(p), 0x062903);
	free(p);
}

static void check_silent(struct fake_initiator *i)
{
	ck_assert_ptr_null(fake_next(i->fc));
}

/* A status is out on the other connection: the response waits for it, and then others for that. */
START_TEST(before_and_behind)
{
	uint32_t ttt;

	setup();
	check_good(command(&two));
	reset_lu(&one);
	ttt = asked(&two);
	check_silent(&one);
	ck_assert_int_eq(state(), FENCE_BEFORE);
	acknowledge(&two, ttt);
	check_reset_done(&one);
	ck_assert_int_eq(state(), FENCE_BEHIND);
	ck_assert_ptr_null(command(&two)); /* it must not overtake the response */
	ttt = asked(&one);
	acknowledge(&one, ttt);
	told_of_reset(&two);
	ck_assert_int_eq(state(), FENCE_BEHIND); /* which is a fence again */
	acknowledge(&two, ISCSI_TAG_RESERVED);
	ck_assert_int_eq(state(), FENCE_OPEN);
	ck_assert(list_empty(&session()->fence.timer.node));
	check_good(command(&one));
	rig_stop(&rig);
}
END_TEST

/* Nobody is asked if nothing waits behind it, and an acknowledgement by any PDU serves. */
START_TEST(nobody_waits)
{
	setup();
	reset_lu(&one);
	check_reset_done(&one);
	ck_assert_int_eq(state(), FENCE_BEHIND);
	check_silent(&one);
	ck_assert(list_empty(&session()->fence.timer.node));
	acknowledge(&one, ISCSI_TAG_RESERVED);
	ck_assert_int_eq(state(), FENCE_OPEN);
	rig_stop(&rig);
}
END_TEST

/* TCP keeps the order on one connection. */
START_TEST(single_connection)
{
	rig_start(&rig, several);
	one = rig_login(&rig, NULL);
	reset_lu(&one);
	check_reset_done(&one);
	ck_assert_int_eq(state(), FENCE_OPEN);
	rig_stop(&rig);
}
END_TEST

/* Two resets one after the other: one fence each, in their order. */
START_TEST(two_fences)
{
	uint32_t ttt;

	setup();
	check_good(command(&two));
	reset_lu(&one);
	reset_lu(&two);
	ttt = asked(&two);
	check_silent(&one);
	acknowledge(&two, ttt);
	check_reset_done(&one);
	ttt = asked(&one);
	check_silent(&two);
	acknowledge(&one, ttt);
	check_reset_done(&two);
	acknowledge(&two, ISCSI_TAG_RESERVED);
	ck_assert_int_eq(state(), FENCE_OPEN);
	rig_stop(&rig);
}
END_TEST

/* An answer that was on its way when the status went out acknowledges less: it is asked again. */
START_TEST(asked_again)
{
	uint32_t ttt, before;

	setup();
	before = two.exp_statsn;
	check_good(command(&two));
	reset_lu(&one);
	ttt = asked(&two);
	two.fc->c->statsn--; /* as the initiator saw it */
	acknowledge(&two, ttt);
	two.fc->c->statsn++;
	ck_assert_uint_eq(two.exp_statsn, before);
	ttt = asked(&two);
	check_silent(&one);
	acknowledge(&two, ttt);
	check_reset_done(&one);
	rig_stop(&rig);
}
END_TEST

/* One that does not answer is closed, and what waits for it goes on; the others stay. */
START_TEST(silence_before)
{
	setup();
	check_good(command(&two));
	reset_lu(&one);
	asked(&two);
	ck_assert(!list_empty(&session()->fence.timer.node));
	too_late(&session()->fence.timer);
	ck_assert(fake_closed(two.fc));
	check_reset_done(&one);
	ck_assert_ptr_nonnull(one.fc->c);
	rig_stop(&rig);
}
END_TEST

START_TEST(silence_behind)
{
	setup();
	reset_lu(&one);
	check_reset_done(&one);
	ck_assert_ptr_null(command(&two));
	asked(&one);
	too_late(&session()->fence.timer);
	ck_assert(fake_closed(one.fc));
	told_of_reset(&two);
	ck_assert_ptr_nonnull(two.fc->c);
	rig_stop(&rig);
}
END_TEST

/* The connection goes on which the response was to be sent, before or after it was. */
START_TEST(its_connection_goes)
{
	for (unsigned sent = 0; sent < 2; sent++) {
		setup();
		if (!sent)
			check_good(command(&two));
		reset_lu(&one);
		if (sent)
			check_reset_done(&one);
		else
			asked(&two);
		fake_hang_up(one.fc);
		while (list_first(&two.fc->sent))
			free(fake_next(two.fc));
		acknowledge(&two, ISCSI_TAG_RESERVED);
		two.cmdsn = session()->exp_cmdsn;
		free(command(&two));
		free(command(&two));
		ck_assert_int_eq(state(), FENCE_OPEN);
		ck_assert_uint_eq(session()->n_tasks, 0);
		rig_stop(&rig);
	}
}
END_TEST

/* A function waits for the data of a READ that the other connection does not take. The READ is
 * stopped, by no request of this session: with that the wait is over. */
START_TEST(task_is_stopped)
{
	uint8_t cdb[16];
	uint32_t itt;

	setup();
	two.fc->hold = true;
	rig_read10(cdb, 0, 1);
	ck_assert_int_eq(rig_send(on(&two), &(struct rig_command){ .cdb = cdb,
								   .flags = ISCSI_CMD_READ,
								   .edtl = RIG_BLOCK }),
			 0);
	itt = two.itt;
	fake_turn(&rig.net, 2);
	ck_assert_int_eq(
	    rig_send_tmf(on(&one),
			 &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK_SET, .lun = 1 }),
	    0);
	check_silent(&one);
	ck_assert_int_eq(state(), FENCE_BEFORE);
	two.fc->c->exp_statsn = two.fc->c->statsn; /* the fake has stamped the data already */
	ffp_abort(&session_find_task(session(), itt)->scsi);
	check_reset_done(&one);
	rig_stop(&rig);
}
END_TEST

/* The session ends with responses that wait. */
START_TEST(session_ends)
{
	setup();
	check_good(command(&two));
	reset_lu(&one);
	reset_lu(&two);
	ck_assert(iscsi_reactor_drop(rig.net.reactor, session()->id, "a test"));
	ck_assert(fake_closed(one.fc));
	ck_assert(fake_closed(two.fc));
	ck_assert(list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
	rig_stop(&rig);
}
END_TEST

UNIT_MAIN("iscsi/ffp_fence", before_and_behind, nobody_waits, single_connection, two_fences,
	  asked_again, silence_before, silence_behind, its_connection_goes, task_is_stopped,
	  session_ends)
