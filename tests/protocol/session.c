/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions: the end of one by another, by failure, and what is left of it. */
#include "tests/protocol/protocol.h"

#include <sys/socket.h>

static uint8_t data[65536];

/* Logs in with the ISID of another session. */
static struct ini *replace(const struct ini *old, const char *keys)
{
	struct ini *i = connect_to(server.port);

	memcpy(i->isid, old->isid, 6);
	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN, .keys = keys }), 0);
	return i;
}

/* Old tasks end without a word, none of them writes any more, and the new session is told. */
START_TEST(reinstatement)
{
	COVERS("L-015 S-003 S-005 S-007 S-042 S-030 fault-D14");
	struct ini *old = session_keys(T_MAIN, USUAL("65536", "Yes", "No")), *new;
	struct data_out d = { .length = 512, .data = data, .final = true };
	static uint8_t before[512];
	struct ini_scsi c;

	ready(old, LUN_RAM);
	ready(old, LUN_FAULT);
	fill(before, 512, 91);
	rw10(&c, WRITE10, LUN_RAM, 80, 1, before);
	run_good(old, &c);
	d.itt = start_write(old, LUN_RAM, 80, 1, true, NULL, 0);
	d.ttt = be32_of(expect(old, ISCSI_OP_R2T), bhs_r2t, ttt);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, data);
	ck_assert(!ini_scsi_start(old, &c));
	new = replace(old, NULL);
	ck_assert_uint_ne(new->tsih, old->tsih);
	fill(data, 512, 92);
	send_data_out(old, &d);
	expect_close(old);
	cdb_of(&c, "00 00 00 00 00 00");
	ck_assert(!ini_scsi(new, &c));
	ck_assert_uint_eq(ini_sense(&c), 0x062907); /* I_T nexus loss */
	ready(new, LUN_RAM);
	expect_content(new, LUN_RAM, 80, 1, before);
	expect_nothing(new);
}
END_TEST

/* A write of the old session that its store still has: it never lands upon the new one's. */
START_TEST(old_write_never_wins)
{
	COVERS("S-006 S-042");
	struct ini *old = session(T_MAIN), *new;
	static uint8_t ours[512];
	struct ini_scsi c;
	int64_t end;

	ready(old, LUN_FAULT);
	fill(data, 512, 93);
	fill(ours, 512, 94);
	start_write(old, LUN_FAULT, FAULT_SLOW + 50, 1, true, data, 512);
	ping(old);
	new = replace(old, NULL);
	ready(new, LUN_FAULT);
	do {
		rw10(&c, WRITE10, LUN_FAULT, FAULT_SLOW + 50, 1, ours);
		ck_assert(!ini_scsi(new, &c));
		ck_assert_msg(c.status == 0 || c.status == 8, "status %02x", c.status);
	} while (c.status);
	end = clock_ms() + 2 * SLOW_MS;
	while (clock_ms() < end)
		expect_content(new, LUN_FAULT, FAULT_SLOW + 50, 1, ours);
}
END_TEST

START_TEST(failed_reinstatement)
{
	COVERS("S-008 L-068");
	static const char *const texts[] = {
		NAMES(T_MAIN) "\nMaxBurstLength=4096\nMaxBurstLength=4096",
		NAMES(T_MAIN) "\nAuthMethod=None",
		NAMES(T_MAIN) "\nFoo",
	};
	struct ini *old = session_as(BASE "test", T_MAIN), *i;

	ready(old, LUN_RAM);
	for (unsigned n = 0; n < 3; n++) {
		i = connect_to(server.port);
		memcpy(i->isid, old->isid, 6);
		ck_assert_int_eq(login_status(login_step(i, OP_TO_FULL, texts[n])) >> 8, 2);
		expect_close(i);
	}
	/* One that gives up halfway. */
	i = connect_to(server.port);
	memcpy(i->isid, old->isid, 6);
	login_step(i, OP_STEP, NAMES(T_MAIN));
	ini_close(i);
	ready(old, LUN_RAM);
}
END_TEST

/* Again and again, at once: the last one has it. */
START_TEST(storm)
{
	COVERS("S-003 S-030");
	struct ini *i = session(T_MAIN);

	for (unsigned n = 0; n < 40; n++) {
		struct ini *next = replace(i, NULL);

		if (n % 4 == 0)
			ready(next, LUN_RAM);
		i = next;
	}
	ready(i, LUN_RAM);
}
END_TEST

/* Fresh TCP connections are placed by load, and an idle one beside every other shifts it; the
 * session stays where it is. By the other address too, and by one stage or two. */
START_TEST(reinstated_wherever_it_lands)
{
	COVERS("L-017 L-041 S-011 S-012");
	struct ini *i = session(T_MAIN);

	ready(i, LUN_RAM);
	for (unsigned n = 0; n < 20; n++) {
		struct ini_login l = { .target = T_MAIN, .keys = "HeaderDigest=None" };
		struct ini *idle = n % 2 ? connect_to(server.port) : NULL;
		struct ini *next =
		    connect_to(n % 5 == 4 && server.port6 ? server.port6 : server.port);
		int status;

		l.security = n % 3 == 2;
		memcpy(next->isid, i->isid, 6);
		next->tsih = i->tsih;
		next->itt = i->itt + 1;
		next->cmdsn = i->cmdsn;
		status = try_login(next, &l);
		ck_assert_msg(!status, "login %u: status %04x", n, (unsigned)status);
		ck_assert_uint_eq(next->tsih, i->tsih);
		expect_close(i);
		ready(next, LUN_RAM);
		expect_nothing(next);
		if (n % 4 == 1)
			ini_close(idle);
		i = next;
	}
}
END_TEST

/* Its session ends at the same time: the login hears that there is none, or was in time. */
START_TEST(reinstated_too_late)
{
	COVERS("L-018");
	struct ini_login l = { .target = T_MAIN, .keys = "HeaderDigest=None" };

	for (unsigned n = 0; n < 20; n++) {
		struct ini *old = session(T_MAIN), *next = connect_to(server.port);
		struct bhs_logout_request o;
		int status;

		memcpy(next->isid, old->isid, 6);
		next->tsih = old->tsih;
		ini_logout(old, &o, LOGOUT_CLOSE_SESSION);
		next->cmdsn = old->cmdsn;
		ck_assert(!ini_send(old, (uint8_t *)&o, NULL, 0));
		status = try_login(next, &l);
		ck_assert_msg(!status || status == LOGIN_NO_SESSION, "login %u: status %04x", n,
			      (unsigned)status);
		expect_close(old);
	}
}
END_TEST

/* Gone without logout, and Time2Retain is 0: nothing is kept. */
START_TEST(lost)
{
	COVERS("T-080 S-013 S-014 S-029 S-032");
	struct ini *i = connect_to(strict.port);
	struct ini_login l = { .target = T_MAIN,
			       .keys = "DefaultTime2Retain=0\nDefaultTime2Wait=0" };
	int64_t end = clock_ms() + patience(2000);
	uint16_t tsih;
	int status;

	ck_assert_int_eq(try_login(i, &l), 0);
	ready(i, LUN_FAULT);
	start_write(i, LUN_FAULT, FAULT_SLOW, 1, true, NULL, 0);
	tsih = i->tsih;
	l.keys = "HeaderDigest=None";
	do { /* it is lost when the target has seen it */
		ini_close(i);
		ck_assert(!ini_reopen(i));
		i->tsih = tsih;
		i->cid = 1;
		status = try_login(i, &l);
	} while (status == LOGIN_TOO_MANY_CONNECTIONS && clock_ms() < end);
	ck_assert_msg(status == LOGIN_NO_SESSION, "status %04x", (unsigned)status);
}
END_TEST

/* A new nexus: one unit attention on each LUN, and none for those who may not report it. */
START_TEST(first_unit_attention)
{
	COVERS("S-007");
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;

	for (unsigned lun = 0; lun < 2; lun++) {
		cdb_of(&c, "12 00 00 00 24 00");
		c.lun = lun;
		c.in = data;
		c.edtl = 36;
		run_good(i, &c);
		cdb_of(&c, "a0 00 00 00 00 00 00 00 00 10 00 00");
		c.lun = lun;
		c.in = data;
		c.edtl = 16;
		run_good(i, &c);
		cdb_of(&c, "00 00 00 00 00 00");
		c.lun = lun;
		ck_assert(!ini_scsi(i, &c));
		ck_assert_uint_eq(ini_sense(&c) >> 8, 0x0629);
		run_good(i, &c);
	}
}
END_TEST

/* The places where a connection is cut. Each is tried with a FIN and with a reset. */
static void cut(struct ini *i, unsigned place)
{
	struct bhs_login_request l;
	struct bhs_scsi_command h;
	struct bhs_logout_request o;
	struct bhs_tmf_request t;
	struct ini_scsi c;

	if (place == 0)
		return;
	if (place < 3) {
		ini_login_header(i, &l, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
		if (place == 1)
			ini_send_bytes(i, &l, 20);
		else
			login_step(i, OP_STEP, NAMES(T_MAIN));
		return;
	}
	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = place == 3 ? NULL : T_MAIN,
							   .keys = USUAL("65536", "No", "Yes") }),
			 0);
	if (place <= 4)
		return;
	ready(i, LUN_FAULT);
	rw10(&c, place == 5 ? READ10 : WRITE10, LUN_FAULT, FAULT_SLOW, 64, data);
	ini_command(i, &h, LUN_FAULT, place == 5 ? ISCSI_CMD_READ : ISCSI_CMD_WRITE, 32768, c.cdb,
		    10);
	switch (place) {
	case 5: /* running */
		start(i, &h);
		break;
	case 6: /* in the midst of its header */
		ini_send_bytes(i, &h, 30);
		break;
	case 7: /* in the midst of its data */
		put_be24(h.data_segment_length, 8192);
		ini_send_bytes(i, &h, 48);
		ini_send_bytes(i, data, 5000);
		break;
	case 8: /* waits for unsolicited data */
		h.flags &= 0x7f;
		ck_assert(!ini_send(i, (uint8_t *)&h, data, 4096));
		break;
	case 9: /* a write that has been handed on */
		ck_assert(!ini_send(i, (uint8_t *)&h, data, 32768));
		await_pdu(i, 20); /* BUSY, if the one before is still there */
		break;
	case 10: /* a reset that waits for that */
		ck_assert(!ini_send(i, (uint8_t *)&h, data, 32768));
		ini_tmf(i, &t, ISCSI_TMF_LU_RESET, LUN_FAULT);
		ck_assert(!ini_send(i, (uint8_t *)&t, NULL, 0));
		break;
	case 11: /* logged out, the answer not read */
		ini_logout(i, &o, LOGOUT_CLOSE_SESSION);
		ck_assert(!ini_send(i, (uint8_t *)&o, NULL, 0));
		break;
	case 12: /* much data that nobody takes */
		for (unsigned n = 0; n < 60; n++) {
			rw10(&c, READ10, LUN_RAM, 0, 2048, NULL);
			ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, 1 << 20, c.cdb, 10);
			start(i, &h);
		}
		break;
	default: /* ahead of its turn */
		i->cmdsn++;
		put_be32(h.cmdsn, i->cmdsn);
		ck_assert(!ini_send(i, (uint8_t *)&h, data, 32768));
		break;
	}
}

#define PLACES 14

START_TEST(cut_anywhere)
{
	COVERS("S-017 S-022 S-027 S-032 L-089 fault-N03 fault-A05");
	struct linger reset = { .l_onoff = 1 };

	for (unsigned n = 0; n < 6; n++) {
		struct ini *i = connect_to(server.port);

		cut(i, (unsigned)_i);
		if (n % 2)
			setsockopt(i->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		ini_close(i);
	}
	ready(session(T_MAIN), LUN_RAM);
}
END_TEST

/* All tasks of the cut sessions are over: their stores and windows are free again. */
START_TEST(nothing_is_left_behind)
{
	COVERS("S-029 S-005");
	struct ini *i = session(T_MAIN);
	int64_t end = clock_ms() + patience(10000);
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	do {
		rw10(&c, WRITE10, LUN_FAULT, FAULT_SLOW, 64, data);
		ck_assert(!ini_scsi(i, &c));
	} while (c.status == 8 && clock_ms() < end);
	ck_assert_uint_eq(c.status, 0);
}
END_TEST

void session_suite(TCase *c)
{
	add(c, reinstatement);
	add(c, old_write_never_wins);
	add(c, failed_reinstatement);
	add(c, storm);
	add(c, reinstated_wherever_it_lands);
	add(c, reinstated_too_late);
	add(c, lost);
	add(c, first_unit_attention);
	add_rows(c, cut_anywhere, PLACES);
	add(c, nothing_is_left_behind);
}
