/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection goes to another reactor: nothing of the stream is lost, and it ends once. */
#include "tests/unit/tcp/support.h"

static struct reactor *other, *set[2];
static uint8_t wire[4096];

static struct tcp_conn *tcp(void)
{
	return tcp_conn_of(rig.conn);
}

static void turn_other(void)
{
	for (unsigned n = 0; n < 3; n++)
		reactor_turn(other, 0);
}

/* The placing knows one connection, here. */
static void setup(void)
{
	rig_start();
	rig.conn->state = CONN_IN_LOGIN;
	ck_assert_int_eq(reactor_create(1, "other", &other), 0);
	ck_assert_int_eq(tcp_reactor_start(other), 0);
	set[0] = rig.r;
	set[1] = other;
	portal_set_reactors(set, 2);
	ck_assert_ptr_eq(portal_place(), rig.r);
}

static void teardown(void)
{
	if (rig.conn)
		rig.conn->dm->terminate(rig.conn, false);
	turn();
	turn_other();
	ck_assert_uint_eq(rig.n_down, 1);
	/* None here and none there, so this one comes first. */
	ck_assert_ptr_eq(portal_place(), rig.r);
	ck_assert_ptr_eq(portal_place(), other);
	tcp_reactor_stop(other);
	reactor_destroy(other);
	close(rig.fd);
	tcp_reactor_stop(rig.r);
	reactor_destroy(rig.r);
}

static size_t request(uint8_t *to, uint32_t itt)
{
	uint8_t bhs[48] = { ISCSI_OP_LOGIN_REQUEST | ISCSI_IMMEDIATE };

	put_be32(bhs + 16, itt);
	return build(to, bhs, NULL, 0, "InitiatorName=x", 15);
}

/* The next request is cut at every byte that may come along with the one that moves. */
START_TEST(stream_goes_on)
{
	for (size_t cut = 0; cut < 48; cut++) {
		bool back = cut % 2;
		size_t n = request(wire, 1);
		size_t all = n + request(wire + n, 2);

		rig.n_rx = rig.n_headers = rig.n_left = rig.n_arrived = 0;
		rig.move_to = back ? rig.r : other;
		ck_assert_int_eq((int)write(rig.fd, wire, n + cut), (int)(n + cut));
		reactor_turn(back ? other : rig.r, 0);
		ck_assert_uint_eq(rig.n_left, 1);
		ck_assert_uint_eq(rig.n_arrived, 0);
		ck_assert_int_eq((int)write(rig.fd, wire + n + cut, all - n - cut),
				 (int)(all - n - cut));
		reactor_turn(back ? other : rig.r, 0); /* nothing is read here any more */
		ck_assert_uint_eq(rig.n_rx, 1);
		for (unsigned k = 0; k < 3; k++)
			reactor_turn(back ? rig.r : other, 0);
		ck_assert_uint_eq(rig.n_arrived, 1);
		ck_assert_uint_eq(rig.n_rx, 2);
		ck_assert_uint_eq(get_be32(rig.rx[1].bhs + 16), 2);
		ck_assert_uint_eq(rig.rx[1].length, 15);
	}
	ck_assert_uint_eq(rig.n_down, 0);
}
END_TEST

/* The placing counts it where it is, and answers go out from there. */
START_TEST(counted_and_sends)
{
	struct iscsi_pdu pdu = { .bhs = { ISCSI_OP_LOGIN_RESPONSE }, .takes_statsn = true };
	size_t n = request(wire, 1);

	rig.move_to = other;
	feed(wire, n);
	turn_other();
	ck_assert_ptr_eq(portal_place(), rig.r);
	portal_unplace(rig.r);
	list_init(&pdu.node);
	rig.conn->dm->send_control(rig.conn, &pdu);
	turn();
	ck_assert_uint_eq(rig.n_sent, 0);
	turn_other();
	ck_assert_uint_eq(rig.n_sent, 1);
	ck_assert_int_eq((int)read(rig.fd, wire, sizeof(wire)), 48);
	ck_assert_uint_eq(wire[0], ISCSI_OP_LOGIN_RESPONSE);
}
END_TEST

/* The peer goes: with the request, while nobody looks, and behind. */
START_TEST(peer_goes)
{
	size_t n = request(wire, 1);

	rig.move_to = other;
	if (_i == 0) {
		ck_assert_int_eq((int)write(rig.fd, wire, n), (int)n);
		shutdown(rig.fd, SHUT_WR);
	} else {
		feed(wire, n);
	}
	turn();
	if (_i == 1)
		shutdown(rig.fd, SHUT_WR);
	turn_other();
	if (_i == 2)
		shutdown(rig.fd, SHUT_WR);
	turn_other();
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_int_eq(rig.why, 0);
}
END_TEST

/* The layer above ends it in the same turn, in order or not: it stays. */
START_TEST(ended_here)
{
	size_t n = request(wire, 1);

	rig.conn->dm->move(rig.conn, other);
	rig.conn->dm->terminate(rig.conn, _i);
	turn();
	turn_other();
	ck_assert_uint_eq(rig.n_left, 0);
	ck_assert_uint_eq(rig.n_down, _i ? 0 : 1);
	if (_i) { /* our side has ended, the peer's end is awaited here */
		ck_assert_int_eq((int)read(rig.fd, wire, n), 0);
		shutdown(rig.fd, SHUT_WR);
		turn();
		ck_assert_uint_eq(rig.n_down, 1);
	}
}
END_TEST

/* An earlier answer has not been taken: this peer does not wait for answers. */
START_TEST(answer_not_taken)
{
	struct iscsi_pdu pdu = { .bhs = { ISCSI_OP_LOGIN_RESPONSE } };

	list_init(&pdu.node);
	tcp()->blocked = true;
	rig.conn->dm->send_control(rig.conn, &pdu);
	rig.conn->dm->move(rig.conn, other);
	turn();
	turn_other();
	ck_assert_uint_eq(rig.n_left, 0);
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_int_eq(rig.why, -EPROTO);
	ck_assert_uint_eq(rig.n_sent, 1);
}
END_TEST

/* There is no transport any more where it comes to. */
START_TEST(nobody_there)
{
	size_t n = request(wire, 1);

	rig.move_to = other;
	feed(wire, n);
	tcp_reactor_stop(other);
	turn_other();
	ck_assert_uint_eq(rig.n_arrived, 0);
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_int_eq(rig.why, -ESHUTDOWN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp/tcp_move");
	SRunner *runner = srunner_create(suite);
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, stream_goes_on);
	tcase_add_test(c, counted_and_sends);
	tcase_add_loop_test(c, peer_goes, 0, 3);
	tcase_add_loop_test(c, ended_here, 0, 2);
	tcase_add_test(c, answer_not_taken);
	tcase_add_test(c, nobody_there);
	suite_add_tcase(suite, c);
	return unit_end(runner);
}
