/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens when nothing happens; and how the daemon takes its leave. */
#include "tests/protocol/protocol.h"

#include <signal.h>
#include <unistd.h>

static struct ini *strict_session(void)
{
	struct ini *i = connect_to(strict.port);

	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN }), 0);
	return i;
}

/* Silent, or too slow, before the login is over: closed in time, no sooner. */
START_TEST(login_takes_too_long)
{
	COVERS("L-071 L-072 L-003");
	struct ini *silent = connect_to(strict.port), *half = connect_to(strict.port);
	struct ini *slow = connect_to(strict.port);
	struct bhs_login_request h;
	int64_t begin = clock_ms();
	struct ini_pdu p;

	login_step(half, OP_STEP, NAMES(T_MAIN));
	ini_login_header(slow, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
	for (unsigned n = 0; n < 8; n++) { /* a byte now and then */
		ini_send_bytes(slow, (uint8_t *)&h + n, 1);
		ck_assert_int_eq(ini_receive(half, &p, 150), 0); /* no NOP-In meanwhile */
	}
	ck_assert_int_eq(ini_receive(half, &p, 1000 * LOGIN_LIMIT_S / 2), 0);
	expect_close(silent);
	ck_assert_int_ge((int)(clock_ms() - begin), 1000 * LOGIN_LIMIT_S - 200);
	expect_close(half);
	expect_close(slow);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(1000 * LOGIN_LIMIT_S + 1500));
}
END_TEST

/* Strangers that hold connections open cannot keep others out for longer than that. */
START_TEST(too_many_strangers)
{
	COVERS("L-071 L-089");
	int64_t end = clock_ms() + patience(1000 * LOGIN_LIMIT_S + 2000);
	struct ini *i;
	int rc;

	for (unsigned n = 0; n < 2 * STRICT_UNKNOWN; n++)
		connect_to(strict.port);
	i = connect_to(strict.port);
	while ((rc = ini_login(i, &(struct ini_login){ .target = T_MAIN }, NULL)) != 0) {
		ck_assert_int_lt((int)(clock_ms() - end), 0);
		ini_close(i);
		usleep(50000);
		ck_assert(!ini_reopen(i));
	}
	ck_assert_int_eq(rc, 0);
	still_works(i);
}
END_TEST

/* An idle session is pinged; one that answers stays. */
START_TEST(idle)
{
	COVERS("P-111 P-112 P-038 P-113 P-105");
	struct ini *i = strict_session();
	int64_t end = clock_ms() + 1000 * (NOP_INTERVAL_S + NOP_LIMIT_S + 2);
	unsigned pings = 0;

	while (clock_ms() < end) {
		const struct ini_pdu *p = await_pdu(i, 500);
		struct bhs_nop h;

		if (!p)
			continue;
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_NOP_IN);
		ck_assert_uint_eq(be32_of(p, bhs_nop, itt), ISCSI_TAG_RESERVED);
		ck_assert_uint_ne(be32_of(p, bhs_nop, ttt), ISCSI_TAG_RESERVED);
		ck_assert_uint_eq(get_be32(p->bhs + 24), i->exp_statsn);
		pings++;
		ini_nop(i, &h, true);
		put_be32(h.itt, ISCSI_TAG_RESERVED);
		memcpy(h.ttt, bhs_of(p, bhs_nop)->ttt, 4);
		memcpy(h.lun, bhs_of(p, bhs_nop)->lun, 8);
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	}
	ck_assert_uint_ge(pings, 2);
	still_works(i);
}
END_TEST

/* One that answers no ping, but does something, stays (iPXE); one that is silent does not. */
START_TEST(no_answer)
{
	COVERS("P-113 E-046 fault-D14");
	struct ini *silent = strict_session(), *active = strict_session();
	int64_t begin = clock_ms();
	unsigned n = 0;

	ready(active, 0);
	while (clock_ms() < begin + 1000 * (NOP_INTERVAL_S + NOP_LIMIT_S + 1)) {
		uint8_t block[512];
		struct ini_scsi c;

		rw10(&c, READ10, 0, n++, 1, block);
		run_good(active, &c);
		while (await_pdu(active, 300))
			;
	}
	ck_assert_msg(ini_closed(silent, patience(2000)), "a silent session is still there");
}
END_TEST

START_TEST(discovery_is_left_alone)
{
	COVERS("N-018");
	struct ini *i = connect_to(strict.port);
	struct ini_pdu p;
	int rc;

	ck_assert_int_eq(try_login(i, &(struct ini_login){ 0 }), 0);
	rc = ini_receive(i, &p, 1000 * NOP_INTERVAL_S + 800);
	ck_assert_msg(rc == 0 || rc == -ENOTCONN, "%d, opcode %02x", rc, p.bhs[0]);
}
END_TEST

/* A daemon that is told to stop asks for a logout, and waits for it. */
START_TEST(stop)
{
	COVERS("S-031 P-141 P-142 P-148 P-143 P-149 P-171 E-062");
	struct server own;
	struct ini *polite, *deaf;
	const struct ini_pdu *p;
	struct bhs_logout_request h;
	int64_t begin;

	ck_assert(!server_start(&own, config_strict));
	polite = connect_to(own.port);
	deaf = connect_to(own.port);
	ck_assert_int_eq(try_login(polite, &(struct ini_login){ .target = T_MAIN }), 0);
	ck_assert_int_eq(try_login(deaf, &(struct ini_login){ .target = T_MAIN }), 0);
	ready(polite, 0);
	begin = clock_ms();
	kill(own.pid, SIGTERM);
	p = expect(polite, ISCSI_OP_ASYNC);
	ck_assert_uint_eq(bhs_of(p, bhs_async)->event, ASYNC_LOGOUT_REQUEST);
	ck_assert_uint_ne(get_be16(bhs_of(p, bhs_async)->parameter3), 0);
	ini_logout(polite, &h, LOGOUT_CLOSE_SESSION);
	ck_assert(!ini_send(polite, (uint8_t *)&h, NULL, 0));
	expect(polite, ISCSI_OP_LOGOUT_RESPONSE);
	expect_close(polite);
	expect_close(deaf);
	ck_assert_int_eq(server_stop(&own), 0);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(8000));
}
END_TEST

void time_suite(TCase *c)
{
	add(c, login_takes_too_long);
	add(c, too_many_strangers);
	add(c, idle);
	add(c, no_answer);
	add(c, discovery_is_left_alone);
	add(c, stop);
}
