/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections join a session, leave it, are lost and come back (RFC 7143 6.3, 7.4, 8, 11.14). */
#include "tests/protocol/mcs.h"

static uint8_t data[65536];

static void each_works(struct mcs *m)
{
	for (unsigned k = 0; k < m->n; k++)
		ready(mcs_on(m, k), LUN_RAM);
}

/* As many as were agreed on, wherever they are accepted, and no more. */
START_TEST(as_many_as_agreed)
{
	COVERS("S-001 L-016 L-019 L-041 L-045 T-061 U-134");
	struct mcs m;

	mcs_open(&m, 2 + (unsigned)_i * 2, NULL);
	each_works(&m);
	if (m.n == MCS_MAX) {
		ck_assert_int_eq(mcs_join(&m, 8), LOGIN_TOO_MANY_CONNECTIONS);
		each_works(&m);
		ck_assert_uint_eq(mcs_logout(&m, 3, LOGOUT_CLOSE_CONNECTION, 3)->response, 0);
		m.c[3] = m.c[2];
		mcs_on(&m, 2);
		ck_assert_int_eq(mcs_join(&m, 3), 0);
	}
	each_works(&m);
}
END_TEST

/* One that has logged out and not closed yet leaves its place once, whatever CID comes. */
START_TEST(place_of_one_leaving)
{
	COVERS("L-019 T-061");
	struct mcs m;

	mcs_open(&m, MCS_MAX, NULL);
	each_works(&m);
	ck_assert_uint_eq(mcs_logout(&m, 3, LOGOUT_CLOSE_CONNECTION, 3)->response, 0);
	m.c[3] = m.c[2];
	mcs_on(&m, 2);
	ck_assert_int_eq(mcs_join(&m, MCS_MAX), 0);
	ck_assert_int_eq(mcs_join(&m, 3), LOGIN_TOO_MANY_CONNECTIONS);
	each_works(&m);
}
END_TEST

START_TEST(one_is_agreed)
{
	COVERS("L-019 T-061");
	struct mcs m = { 0 };

	m.last = m.c[0] = session_keys(T_MCS, "MaxConnections=1");
	m.n = 1;
	ck_assert_int_eq(mcs_join(&m, 1), LOGIN_TOO_MANY_CONNECTIONS);
	each_works(&m);
}
END_TEST

/* The own connection ends with its tasks; the other one goes on with its own. */
START_TEST(logout_own)
{
	COVERS("P-131 U-034");
	struct mcs m;
	struct data_out d = { .length = 512, .data = data, .final = true };
	uint32_t lost;

	mcs_open(&m, 2, USUAL("65536", "Yes", "No"));
	each_works(&m);
	fill(data, 512, 7);
	lost = start_write(mcs_on(&m, 0), LUN_RAM, 200, 1, true, NULL, 0);
	ck_assert_uint_eq(be32_of(expect(m.c[0], ISCSI_OP_R2T), bhs_r2t, itt), lost);
	d.itt = start_write(mcs_on(&m, 1), LUN_RAM, 201, 1, true, NULL, 0);
	d.ttt = be32_of(expect(m.c[1], ISCSI_OP_R2T), bhs_r2t, ttt);
	ck_assert_uint_eq(mcs_logout(&m, 0, LOGOUT_CLOSE_CONNECTION, 0)->response, 0);
	expect_close(m.c[0]);
	mcs_on(&m, 1);
	send_data_out(m.c[1], &d);
	expect_status(m.c[1], d.itt, 0);
	ready(m.c[1], LUN_RAM);
	expect_content(m.c[1], LUN_RAM, 201, 1, data);
	expect_nothing(m.c[1]);
}
END_TEST

START_TEST(logout_other)
{
	COVERS("P-132 S-026");
	struct mcs m;
	struct ini_scsi c;

	mcs_open(&m, 3, NULL);
	each_works(&m);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, data);
	ready(mcs_on(&m, 1), LUN_FAULT);
	ck_assert(!ini_scsi_start(mcs_on(&m, 1), &c));
	ping(mcs_on(&m, 1));
	ck_assert_uint_eq(mcs_logout(&m, 0, LOGOUT_CLOSE_CONNECTION, 1)->response, 0);
	expect_close(m.c[1]);
	cdb_of(&c, "00 00 00 00 00 00");
	c.lun = LUN_FAULT;
	run_sense(mcs_on(&m, 2), &c, 0x06477f);
	ready(mcs_on(&m, 0), LUN_RAM);
	ck_assert_uint_eq(mcs_logout(&m, 2, LOGOUT_CLOSE_CONNECTION, 77)->response,
			  LOGOUT_RSP_NO_CID);
	ready(mcs_on(&m, 0), LUN_FAULT);
	ready(mcs_on(&m, 2), LUN_FAULT);
}
END_TEST

START_TEST(logout_unknown)
{
	COVERS("P-135 U-036");
	struct data_out d = { .length = 512, .data = data, .final = true };
	struct mcs m;

	mcs_open(&m, 2, USUAL("65536", "Yes", "No"));
	each_works(&m);
	for (unsigned k = 0; k < 2; k++)
		start_write(mcs_on(&m, k), LUN_RAM, 210 + k, 1, true, NULL, 0);
	for (unsigned k = 0; k < 2; k++) {
		const struct ini_pdu *r2t = expect(m.c[k], ISCSI_OP_R2T);

		if (!k)
			ck_assert_uint_eq(mcs_logout(&m, 0, LOGOUT_CLOSE_CONNECTION, 77)->response,
					  LOGOUT_RSP_NO_CID);
		d.itt = be32_of(r2t, bhs_r2t, itt);
		d.ttt = be32_of(r2t, bhs_r2t, ttt);
		send_data_out(m.c[k], &d);
		expect_status(m.c[k], d.itt, 0);
	}
}
END_TEST

START_TEST(logout_session)
{
	COVERS("P-130 S-013 S-018 U-035");
	struct ini *other = session(T_MCS);
	struct mcs m;

	mcs_open(&m, 4, USUAL("65536", "Yes", "No"));
	each_works(&m);
	for (unsigned k = 0; k < 4; k++)
		start_write(mcs_on(&m, k), LUN_RAM, 220 + k, 1, true, NULL, 0);
	for (unsigned k = 0; k < 4; k++)
		expect(m.c[k], ISCSI_OP_R2T);
	ck_assert_uint_eq(mcs_logout(&m, 2, LOGOUT_CLOSE_SESSION, 0)->response, 0);
	for (unsigned k = 0; k < 4; k++) {
		struct ini_pdu p;

		ck_assert_int_eq(ini_receive(m.c[k], &p, patience(INI_WAIT_MS)), -ENOTCONN);
	}
	ck_assert_int_eq(mcs_join(&m, 0), LOGIN_NO_SESSION);
	ready(other, LUN_RAM);
}
END_TEST

/* All one by one: with the last the session is over. */
START_TEST(logout_all)
{
	COVERS("S-013");
	struct mcs m;

	mcs_open(&m, 4, NULL);
	for (unsigned k = 0; k < 4; k++)
		ck_assert_uint_eq(mcs_logout(&m, k, LOGOUT_CLOSE_CONNECTION, (uint16_t)k)->response,
				  0);
	ck_assert_int_eq(mcs_join(&m, 0), LOGIN_NO_SESSION);
}
END_TEST

/* There is no recovery at level 0, but the connection goes. */
START_TEST(logout_recovery)
{
	COVERS("P-133");
	struct mcs m;

	mcs_open(&m, 3, NULL);
	each_works(&m);
	ck_assert_uint_eq(mcs_logout(&m, 0, LOGOUT_RECOVERY, 1)->response, LOGOUT_RSP_NO_RECOVERY);
	expect_close(m.c[1]);
	ck_assert_uint_eq(mcs_logout(&m, 2, LOGOUT_RECOVERY, 2)->response, LOGOUT_RSP_NO_RECOVERY);
	expect_close(m.c[2]);
	ready(mcs_on(&m, 0), LUN_RAM);
}
END_TEST

/* A lost connection is told on another, and can be logged out for a while. */
START_TEST(lost_and_cleaned)
{
	COVERS("S-019 E-023");
	struct mcs m;

	mcs_open(&m, 3, NULL);
	each_works(&m);
	mcs_kill(&m, 1, 0);
	ck_assert_uint_eq(mcs_logout(&m, 2, LOGOUT_CLOSE_CONNECTION, 1)->response, 0);
	ck_assert_uint_eq(mcs_logout(&m, 2, LOGOUT_CLOSE_CONNECTION, 1)->response,
			  LOGOUT_RSP_NO_CID);
	mcs_kill(&m, 2, 0);
	ck_assert_int_eq(mcs_join(&m, 2), 0);
	mcs_kill(&m, 2, 0);
	ck_assert_uint_eq(mcs_logout(&m, 0, LOGOUT_RECOVERY, 2)->response, LOGOUT_RSP_NO_RECOVERY);
	ready(mcs_on(&m, 0), LUN_RAM);
}
END_TEST

/* A new connection with a CID in use takes its place; the tasks of the old one are over. */
START_TEST(reinstated_in_use)
{
	COVERS("L-017 S-009 S-011 S-012");
	struct mcs m;
	struct ini_scsi c;
	struct ini *old;

	mcs_open(&m, 3, NULL);
	each_works(&m);
	ready(mcs_on(&m, 1), LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, data);
	ck_assert(!ini_scsi_start(mcs_on(&m, 1), &c));
	ping(mcs_on(&m, 1));
	old = m.c[1];
	ck_assert_int_eq(mcs_join(&m, 1), 0);
	expect_close(old);
	cdb_of(&c, "00 00 00 00 00 00");
	c.lun = LUN_FAULT;
	run_sense(mcs_on(&m, 1), &c, 0x06477f);
	ready(mcs_on(&m, 1), LUN_RAM);
	ready(mcs_on(&m, 2), LUN_RAM);
	expect_nothing(mcs_on(&m, 0));
}
END_TEST

/* All connections lost: the session waits, and goes on with its keys, numbers and nexus. */
START_TEST(continued)
{
	COVERS("S-014 S-015 S-021 S-023 S-024 T-080");
	int64_t end;
	struct mcs m;
	int status;

	mcs_open(&m, 2, NULL);
	each_works(&m);
	mcs_kill(&m, 1, 0);
	ini_close(m.c[0]);
	for (unsigned k = 0; k < MCS_MAX; k++) /* with the MaxConnections of before */
		ck_assert_int_eq(mcs_join(&m, k), 0);
	for (unsigned k = 0; k < MCS_MAX; k++) {
		struct ini_scsi c;

		cdb_of(&c, "00 00 00 00 00 00");
		run_good(mcs_on(&m, k), &c); /* no unit attention: it is the same nexus */
	}
	for (unsigned k = 0; k < MCS_MAX; k++)
		ini_close(m.c[k]);
	end = clock_ms() + patience(MCS_RETAIN_S * 1000 + 2000);
	do { /* a login in time keeps it once more */
		status = LOGIN_NO_SESSION;
		usleep(MCS_RETAIN_S * 1000000 + 300000);
		status = mcs_join(&m, 0);
		if (!status)
			ini_close(m.c[0]);
	} while (!status && clock_ms() < end);
	ck_assert_int_eq(status, LOGIN_NO_SESSION);
}
END_TEST

/* Its tags and its connections do not survive a session that another replaces. */
START_TEST(session_reinstated)
{
	COVERS("S-003 S-005 S-042");
	struct ini *next;
	struct mcs m;

	mcs_open(&m, 4, NULL);
	each_works(&m);
	next = connect_to(server.port);
	memcpy(next->isid, m.c[0]->isid, sizeof(next->isid));
	ck_assert_int_eq(try_login(next, &(struct ini_login){ .target = T_MCS }), 0);
	for (unsigned k = 0; k < 4; k++)
		expect_close(m.c[k]);
	ready(next, LUN_RAM);
	ck_assert_int_eq(mcs_join(&m, 0), LOGIN_NO_SESSION);
}
END_TEST

/* A discovery session has one connection whatever is offered. */
START_TEST(discovery_has_one)
{
	COVERS("N-039");
	struct ini *i = connect_to(server.port), *more = connect_to(server.port);
	int status;

	ck_assert_int_eq(try_login(i, &(struct ini_login){ .keys = "MaxConnections=8" }), 0);
	memcpy(more->isid, i->isid, sizeof(i->isid));
	more->tsih = i->tsih;
	more->cid = 1;
	status = try_login(more, &(struct ini_login){ .keys = "HeaderDigest=None" });
	ck_assert_msg(status >> 8 == 2, "status %04x", (unsigned)status);
}
END_TEST

void mcs_login_suite(TCase *c)
{
	add_rows(c, as_many_as_agreed, 4);
	add(c, place_of_one_leaving);
	add(c, one_is_agreed);
	add(c, logout_own);
	add(c, logout_other);
	add(c, logout_unknown);
	add(c, logout_session);
	add(c, logout_all);
	add(c, logout_recovery);
	add(c, lost_and_cleaned);
	add(c, reinstated_in_use);
	add(c, continued);
	add(c, session_reinstated);
	add(c, discovery_has_one);
}
