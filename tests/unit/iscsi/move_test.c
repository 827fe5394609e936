/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A login that names a session of another reactor goes there: what it finds, what it leaves
 * behind, and all that may happen on the way.
 */
#include "tests/unit/iscsi/move.h"

/* A connection at `away` that wants to be one of the session's. */
static struct fake_initiator comer(uint16_t cid)
{
	struct fake_initiator i = fake_initiator(&away);

	i.tsih = first.tsih;
	i.cid = cid;
	i.itt = 500;
	i.cmdsn = 77; /* means nothing */
	return i;
}

static void check_status(struct fake_initiator *i, unsigned status)
{
	struct fake_pdu *p = fake_next(i->fc);

	ck_assert_msg(fake_status(p) == status, "%04x, wanted %04x", fake_status(p), status);
	free(p);
	if (status)
		ck_assert(fake_closed(i->fc));
}

/* The same CID: takes the place of the first connection, with the session's keys. */
START_TEST(reinstates)
{
	struct fake_initiator i = comer(first.cid);
	const struct iscsi_session *s = first.fc->c->session;
	struct fake_pdu *p;

	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL "MaxBurstLength=512\n"), 0);
	ck_assert_uint_eq(iscsi_reactor_count(away.reactor), 1); /* until the end of the turn */
	p = fake_next(i.fc);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(get_be16(p->bhs + 14), first.tsih);
	ck_assert_uint_eq(get_be32(p->bhs + 16), 500);
	ck_assert_uint_eq(get_be32(p->bhs + 28), 1);
	ck_assert_str_eq(fake_value(p, "MaxBurstLength"), "Reject");
	ck_assert_str_eq(fake_value(p, "TargetPortalGroupTag"), "1");
	ck_assert_uint_eq(fake_count(p, "TargetPortalGroupTag"), 1);
	free(p);
	check_left();
	ck_assert(fake_closed(first.fc));
	ck_assert_ptr_eq(i.fc->net, &home);
	ck_assert_ptr_eq(i.fc->c->reactor, home.reactor);
	ck_assert_ptr_eq(i.fc->c->session, s);
	ck_assert_uint_eq(i.fc->c->keys.max_burst_length, 65536);
	ck_assert_uint_eq(s->n_conns, 1);
	ck_assert_uint_eq(layer(&home)->n_conns, 1);
	ck_assert_uint_eq(layer(&home)->n_unauthenticated, 0);
	fake_turn(&home, 2);
	ck_assert_uint_eq(pdus(&home), 0);
}
END_TEST

/* A session that waits for its initiator. */
START_TEST(continues)
{
	struct fake_initiator i;
	uint16_t tsih;

	fake_hang_up(first.fc);
	first = fake_logged_in(&home, FAKE_NORMAL "DefaultTime2Retain=10\n");
	tsih = first.tsih;
	fake_hang_up(first.fc);
	i = comer(0);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL), 0);
	check_status(&i, 0);
	ck_assert_uint_eq(i.fc->c->session->tsih, tsih);
	check_left();
}
END_TEST

/* Another CID: one connection more, and the login goes on over several steps at its new place. */
START_TEST(joins)
{
	struct fake_initiator i = comer(7);
	struct fake_pdu *p;

	p = fake_login(&i, FAKE_C | FAKE_SEC, "InitiatorName=" FAKE_NAME "\nTar");
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	ck_assert_ptr_eq(i.fc->net, &away);
	p = fake_login(&i, FAKE_SEC_OP, "getName=" FAKE_TARGET "\nAuthMethod=None\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_str_eq(fake_value(p, "AuthMethod"), "None");
	ck_assert_uint_eq(p->bhs[1], FAKE_SEC_OP);
	free(p);
	check_left();
	ck_assert_uint_eq(layer(&home)->n_unauthenticated, 1);
	ck_assert(!list_empty(&i.fc->c->timer.node));
	p = fake_login(&i, FAKE_OP_FFP, "HeaderDigest=CRC32C\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_str_eq(fake_value(p, "HeaderDigest"), "CRC32C");
	free(p);
	ck_assert_uint_eq(first.fc->c->session->n_conns, 2);
	ck_assert_ptr_eq(first.fc->c->session, i.fc->c->session);
	ck_assert_uint_eq(layer(&home)->n_unauthenticated, 0);
}
END_TEST

/* The time of a login goes on where it has gone to. */
START_TEST(late)
{
	struct fake_initiator i = comer(7);
	uint64_t due = i.fc->c->timer.due_ms;

	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, FAKE_NORMAL), 0);
	check_status(&i, 0);
	ck_assert_ptr_eq(i.fc->net, &home);
	ck_assert_uint_le(i.fc->c->timer.due_ms, due + 100);
	for (unsigned n = 0; n < 400 && i.fc->c; n++)
		reactor_turn(home.reactor, 10);
	ck_assert_ptr_null(i.fc->c);
	ck_assert_uint_eq(layer(&home)->n_unauthenticated, 0);
	ck_assert_ptr_nonnull(first.fc->c);
}
END_TEST

/* What is refused, and where. */
START_TEST(refused)
{
	struct fake_initiator i = comer(first.cid);

	/* No such session anywhere. */
	i.isid[5]++;
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL), 0);
	check_status(&i, LOGIN_NO_SESSION);
	ck_assert_ptr_eq(i.fc->net, &away);
	/* Through another portal group. */
	away.portal.tpgt = 2;
	i = comer(first.cid);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL), 0);
	check_status(&i, LOGIN_CANNOT_INCLUDE);
	away.portal.tpgt = 1;
	/* A transport that cannot give a connection away. */
	fake_datamover.move = NULL;
	i = comer(first.cid);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL), 0);
	check_status(&i, LOGIN_CANNOT_INCLUDE);
	ck_assert_ptr_eq(i.fc->net, &away);
	ck_assert_ptr_nonnull(first.fc->c);
	ck_assert_uint_eq(first.fc->c->session->n_conns, 1);
}
END_TEST

/* The session ends while the login is on its way. */
START_TEST(ended_meanwhile)
{
	struct fake_initiator i = comer(first.cid);

	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL), 0);
	fake_turn(&away, 1);
	session_end(first.fc->c->session, "test");
	check_status(&i, LOGIN_NO_SESSION);
	check_left();
}
END_TEST

/* What is published there decides, not what was published here. */
START_TEST(judged_there)
{
	struct fake_initiator i = comer(first.cid);
	struct iscsi_reactor *ir = iscsi_reactor_of(home.reactor);

	ck_assert_int_eq(fake_login_send(&i, FAKE_OP_FFP, FAKE_NORMAL), 0);
	fake_turn(&away, 1);
	policy_unref(ir->policy);
	ir->policy = policy_alloc(0);
	check_status(&i, LOGIN_NOT_FOUND);
}
END_TEST

/* A session whose own login has not ended yet cannot be joined, though its TSIH can be guessed. */
START_TEST(too_early)
{
	struct fake_initiator again = fake_initiator(&away), guess = comer(9);

	ck_assert_int_eq(fake_login_send(&again, FAKE_OP_FFP, FAKE_NORMAL), 0);
	fake_turn(&home, 2); /* the first session has gone, the message is on its way */
	ck_assert_uint_gt(again.fc->c->session->tsih, first.tsih);
	guess.tsih = again.fc->c->session->tsih;
	ck_assert_int_eq(fake_login_send(&guess, FAKE_OP_FFP, FAKE_NORMAL), 0);
	ck_assert_ptr_null(guess.fc->c->session);
	check_status(&guess, LOGIN_NO_SESSION);
	check_status(&again, 0);
}
END_TEST

/* The initiator goes: before the connection leaves, between the reactors, behind. */
START_TEST(dies)
{
	for (unsigned place = 0; place < 3; place++) {
		struct fake_initiator i = comer(7);

		ck_assert_int_eq(fake_login_send(&i, FAKE_OP, FAKE_NORMAL), 0);
		fake_turn(&away, place > 0);
		fake_turn(&home, place > 1);
		ck_assert_ptr_eq(i.fc->net, place ? &home : &away);
		fake_hang_up(i.fc);
		ck_assert_ptr_null(i.fc->c);
		check_left();
		ck_assert_uint_eq(layer(&home)->n_conns, 1);
		ck_assert_uint_eq(layer(&home)->n_unauthenticated, 0);
		fake_turn(&home, 2);
		ck_assert_uint_eq(pdus(&home), 0);
	}
	ck_assert_uint_eq(first.fc->c->session->n_conns, 1);
}
END_TEST

/* Nothing may come before the answer; and one that does not take an earlier one goes nowhere. */
START_TEST(impatient)
{
	struct fake_initiator i = comer(7);

	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, FAKE_NORMAL), 0);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, ""), -EPROTO);
	ck_assert(fake_closed(i.fc));
	ck_assert_ptr_eq(i.fc->net, &away);
	i = comer(7);
	i.fc->hold = true;
	ck_assert_int_eq(fake_login_send(&i, FAKE_C | FAKE_OP, "InitiatorName=" FAKE_NAME "\n"), 0);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, "TargetName=" FAKE_TARGET "\n"), 0);
	ck_assert(fake_closed(i.fc));
	ck_assert_ptr_eq(i.fc->net, &away);
	check_left();
}
END_TEST

/* The target stops: a connection that still comes is closed, as those that are there. */
START_TEST(stops)
{
	struct fake_initiator i = comer(7);

	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, FAKE_NORMAL), 0);
	iscsi_reactor_request_logout(away.reactor, 1); /* before it has left */
	turn_both();
	ck_assert_ptr_null(i.fc->c);
	ck_assert_ptr_eq(i.fc->net, &away);
	i = comer(7);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, FAKE_NORMAL), 0);
	fake_turn(&away, 1);
	iscsi_reactor_request_logout(home.reactor, 1);
	fake_turn(&home, 1);
	ck_assert_ptr_null(i.fc->c);
	ck_assert(list_empty(&i.fc->sent));
	ck_assert_uint_eq(layer(&home)->n_conns, 1);
	/* The layer has even gone. */
	i = comer(7);
	ck_assert_int_eq(fake_login_send(&i, FAKE_OP, FAKE_NORMAL), 0);
	fake_turn(&away, 1);
	fake_hang_up(first.fc);
	iscsi_reactor_stop(home.reactor);
	fake_turn(&home, 2);
	ck_assert_ptr_null(i.fc->c);
}
END_TEST

SUITE_COVERS("L-013 L-016 L-017 L-018 L-041 L-045 L-088 S-004 S-011 S-012");

int main(void)
{
	const TTest *const tests[] = { reinstates, continues,       joins,        late,
				       refused,    ended_meanwhile, judged_there, too_early,
				       dies,       impatient,       stops };

	return run_suite("iscsi/move", tests, sizeof(tests) / sizeof(tests[0]));
}
