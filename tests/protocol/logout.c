/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/protocol/protocol.h"

static uint8_t data[4096];

static const struct ini_pdu *logout(struct ini *i, uint8_t reason, uint16_t cid)
{
	struct bhs_logout_request h;
	const struct ini_pdu *p;

	ini_logout(i, &h, reason);
	put_be16(h.cid, cid);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_LOGOUT_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_logout_response, itt), get_be32(h.itt));
	return p;
}

/* The connection is closed, and nothing comes before that. */
static void expect_end(struct ini *i)
{
	struct ini_pdu p;
	int rc = ini_receive(i, &p, patience(INI_WAIT_MS));

	ck_assert_msg(rc == -ENOTCONN, "%d behind the Logout Response", rc);
}

static const struct reason {
	const char *name;
	uint8_t reason;
	uint16_t cid;
	uint8_t response;
	bool stays;
} reasons[] = {
	{ "session", LOGOUT_CLOSE_SESSION, 0, LOGOUT_RSP_SUCCESS, false },
	{ "session, CID of no meaning", LOGOUT_CLOSE_SESSION, 77, LOGOUT_RSP_SUCCESS, false },
	{ "connection", LOGOUT_CLOSE_CONNECTION, 0, LOGOUT_RSP_SUCCESS, false },
	{ "no such connection", LOGOUT_CLOSE_CONNECTION, 77, LOGOUT_RSP_NO_CID, true },
	{ "recovery", LOGOUT_RECOVERY, 0, LOGOUT_RSP_NO_RECOVERY, false },
	{ "recovery of no connection", LOGOUT_RECOVERY, 77, LOGOUT_RSP_NO_CID, true },
};

START_TEST(reason)
{
	COVERS("P-130 P-131 P-133 P-135 P-137 P-139 S-013");
	const struct reason *r = &reasons[_i];
	struct ini *i = session_keys(T_MAIN, "DefaultTime2Wait=7\nDefaultTime2Retain=0");
	struct ini *again = connect_to(server.port);
	const struct bhs_logout_response *h;

	h = bhs_of(logout(i, r->reason, r->cid), bhs_logout_response);
	ck_assert_msg(h->response == r->response, "%s: response %u", r->name, h->response);
	if (r->stays) {
		ready(i, LUN_RAM);
		return;
	}
	ck_assert_uint_eq(get_be16(h->time2wait), 7);
	ck_assert_uint_eq(get_be16(h->time2retain), 0);
	expect_end(i);
	if (r->reason == LOGOUT_RECOVERY)
		return;
	/* The session has gone. */
	memcpy(again->isid, i->isid, 6);
	again->tsih = i->tsih;
	ck_assert_int_eq(
	    try_login(again, &(struct ini_login){ .target = T_MAIN, .keys = "HeaderDigest=None" }),
	    LOGIN_NO_SESSION);
}
END_TEST

START_TEST(reserved_reasons)
{
	COVERS("P-136 P-004 E-018");
	static const uint8_t values[] = { 3, 5, 64, 127 };
	struct ini *i = session(T_MAIN);
	struct bhs_logout_request h;

	for (unsigned n = 0; n < sizeof(values); n++) {
		ini_logout(i, &h, values[n]);
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
		expect_reject(i, REJECT_PROTOCOL_ERROR);
	}
	still_works(i);
}
END_TEST

/* Tasks of the connection are gone: none answers, none writes any more. */
START_TEST(with_tasks)
{
	COVERS("P-130 P-131 fault-D16 S-005");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No")), *j = session(T_MAIN);
	struct data_out d = { .length = 512, .data = data, .final = true };
	static uint8_t before[512];
	struct ini_scsi c;
	int64_t begin;

	ready(i, LUN_FAULT);
	ready(j, LUN_FAULT);
	fill(before, 512, 71);
	rw10(&c, WRITE10, LUN_FAULT, 20, 1, before);
	run_good(i, &c);
	d.itt = start_write(i, LUN_FAULT, 20, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, data);
	ck_assert(!ini_scsi_start(i, &c));
	begin = clock_ms();
	ck_assert_uint_eq(logout(i, LOGOUT_CLOSE_SESSION, 0)->bhs[2], LOGOUT_RSP_SUCCESS);
	ck_assert_int_lt((int)(clock_ms() - begin), 1000);
	fill(data, 512, 72);
	send_data_out(i, &d);
	ck_assert(ini_closed(i, patience(INI_WAIT_MS)));
	expect_content(j, LUN_FAULT, 20, 1, before);
}
END_TEST

/* In order, it waits for what comes before it. */
START_TEST(waits_for_its_turn)
{
	COVERS("P-138 P-021");
	struct ini *i = session(T_MAIN);
	struct bhs_logout_request h;
	struct bhs_nop gap;

	ini_nop(i, &gap, false);
	ini_logout(i, &h, LOGOUT_CLOSE_SESSION);
	h.opcode = ISCSI_OP_LOGOUT_REQUEST;
	put_be32(h.cmdsn, i->cmdsn++);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_nothing(i);
	ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	expect(i, ISCSI_OP_LOGOUT_RESPONSE);
	expect_end(i);
}
END_TEST

START_TEST(malformed)
{
	COVERS("P-011 P-125");
	struct ini *i = session(T_MAIN);
	struct bhs_logout_request h;

	ini_logout(i, &h, LOGOUT_CLOSE_SESSION);
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
	ini_logout(i, &h, LOGOUT_CLOSE_SESSION);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 4));
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
	still_works(i);
}
END_TEST

START_TEST(of_a_discovery_session)
{
	COVERS("N-017 fault-N03");
	struct ini *i = discovery();

	ck_assert_uint_eq(logout(i, LOGOUT_CLOSE_SESSION, 0)->bhs[2], LOGOUT_RSP_SUCCESS);
	expect_end(i);
}
END_TEST

void logout_suite(TCase *c)
{
	add_table(c, reason, reasons);
	add(c, reserved_reasons);
	add(c, with_tasks);
	add(c, waits_for_its_turn);
	add(c, malformed);
	add(c, of_a_discovery_session);
}
