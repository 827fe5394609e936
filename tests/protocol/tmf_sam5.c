/* SPDX-License-Identifier: BSD-2-Clause */
/* What iSCSIProtocolLevel=2 brings (RFC 7144): questions about tasks and events, nexus reset. */
#include "tests/protocol/protocol.h"

#define LEVEL(n) USUAL("65536", "Yes", "No") "\niSCSIProtocolLevel=" #n

static uint8_t data[65536];

static struct ini *level2(const char *target)
{
	return session_keys(target, LEVEL(2));
}

/* Sends a function; its response, and *information: its three bytes more. */
static uint8_t ask(struct ini *i, struct bhs_tmf_request *h, uint32_t *information)
{
	const struct ini_pdu *p;

	ck_assert(!ini_send(i, (uint8_t *)h, NULL, 0));
	p = expect(i, ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h->itt));
	*information = get_be24(bhs_of(p, bhs_tmf_response)->information);
	return p->bhs[2];
}

static void query(struct ini *i, uint8_t function, uint64_t lun, uint32_t information)
{
	struct bhs_tmf_request h;
	uint32_t got;
	uint8_t response;

	ini_tmf(i, &h, function, lun);
	response = ask(i, &h, &got);
	ck_assert_msg(response == (information ? 7 : 0) && got == information,
		      "function %u: response %u, information %06x, wanted %06x", function, response,
		      got, information);
}

/* 7: in the task set, 0: not; or another response. */
static void query_task(struct ini *i, uint64_t lun, uint32_t itt, uint32_t ref_cmdsn,
		       uint8_t wanted)
{
	struct bhs_tmf_request h;
	uint32_t information;
	uint8_t response;

	ini_tmf(i, &h, ISCSI_TMF_QUERY_TASK, lun);
	put_be32(h.referenced_tag, itt);
	put_be32(h.ref_cmdsn, ref_cmdsn);
	response = ask(i, &h, &information);
	ck_assert_msg(response == wanted, "QUERY TASK: %u, wanted %u", response, wanted);
	ck_assert_uint_eq(information, 0);
}

static void task_set(struct ini *i, uint64_t lun, uint8_t wanted)
{
	struct bhs_tmf_request h;
	uint32_t information;

	ini_tmf(i, &h, ISCSI_TMF_QUERY_TASK_SET, lun);
	ck_assert_uint_eq(ask(i, &h, &information), wanted);
	ck_assert_uint_eq(information, 0);
}

START_TEST(tasks)
{
	COVERS("F-002 F-009 F-012 F-017");
	struct ini *i = level2(T_MAIN);
	struct data_out d = { .length = 512, .data = data, .final = true };

	ready(i, LUN_RAM);
	task_set(i, LUN_RAM, ISCSI_TMF_RSP_COMPLETE);
	d.itt = start_write(i, LUN_RAM, 60, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	query_task(i, LUN_RAM, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_SUCCEEDED);
	query_task(i, LUN_FLAT, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	query_task(i, LUN_NOWHERE, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_NO_LUN);
	task_set(i, LUN_RAM, ISCSI_TMF_RSP_SUCCEEDED);
	task_set(i, LUN_FLAT, ISCSI_TMF_RSP_COMPLETE);
	task_set(i, LUN_NOWHERE, ISCSI_TMF_RSP_NO_LUN);
	send_data_out(i, &d); /* asking has stopped nothing */
	expect_status(i, d.itt, 0);
	query_task(i, LUN_RAM, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	task_set(i, LUN_RAM, ISCSI_TMF_RSP_COMPLETE);
}
END_TEST

/* Waiting for an earlier CmdSN; and announced, but not here: "not in the task set" stays true, so
 * its number counts as received (RFC 7144 6.3.3, RFC 7143 11.6.1 b). One that no command can bear
 * says nothing. */
START_TEST(tasks_to_come)
{
	COVERS("F-009 F-011");
	struct ini *i = level2(T_MAIN);
	struct bhs_tmf_request t;
	struct bhs_nop gap;
	uint32_t itt, information;
	struct absent a;

	ready(i, LUN_RAM);
	ini_nop(i, &gap, false);
	itt = start_write(i, LUN_RAM, 62, 1, true, NULL, 0);
	query_task(i, LUN_RAM, itt, i->cmdsn - 1, ISCSI_TMF_RSP_SUCCEEDED);
	ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	expect(i, ISCSI_OP_R2T);
	query_task(i, LUN_RAM, 0x5555, i->cmdsn, ISCSI_TMF_RSP_COMPLETE);
	query_task(i, LUN_RAM, 0x5555, i->max_cmdsn + 1, ISCSI_TMF_RSP_COMPLETE);
	query_task(i, LUN_RAM, 0x5555, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	absent_write(i, 61, &a);
	absent_function(i, &a, ISCSI_TMF_QUERY_TASK, &t);
	ck_assert_uint_eq(ask(i, &t, &information), ISCSI_TMF_RSP_COMPLETE);
	absent_is_never_run(i, &a);
}
END_TEST

START_TEST(task_that_is_a_function)
{
	COVERS("F-010");
	struct ini *i = level2(T_RESET);
	struct bhs_tmf_request reset;
	const struct ini_pdu *p;

	/* A reset that has to wait for a write to end. */
	ready(i, 1);
	start_write(i, 1, 2048, 1, true, NULL, 0);
	send_data_out(i, &(struct data_out){ .itt = i->itt - 1,
					     .ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt),
					     .length = 512,
					     .data = data,
					     .final = true });
	ini_tmf(i, &reset, ISCSI_TMF_LU_RESET, 1);
	ck_assert(!ini_send(i, (uint8_t *)&reset, NULL, 0));
	query_task(i, 1, get_be32(reset.itt), i->cmdsn, ISCSI_TMF_RSP_REJECTED);
	p = expect(i, ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(reset.itt));
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
}
END_TEST

/* What is pending is told as often as asked, and is not taken away. */
START_TEST(events)
{
	COVERS("F-013 F-017");
	struct ini *i = level2(T_RESET), *other = level2(T_RESET);
	struct bhs_tmf_request h;
	uint32_t information;
	struct ini_scsi c;

	ready(i, 0);
	ready(other, 0);
	query(i, ISCSI_TMF_QUERY_ASYNC_EVENT, 0, 0);
	tmf(other, ISCSI_TMF_LU_RESET, 0, ISCSI_TMF_RSP_COMPLETE);
	query(i, ISCSI_TMF_QUERY_ASYNC_EVENT, 0, 0x162903); /* one, UNIT ATTENTION */
	query(i, ISCSI_TMF_QUERY_ASYNC_EVENT, 0, 0x162903);
	cdb_of(&c, "00 00 00 00 00 00");
	run_sense(i, &c, 0x062903);
	query(i, ISCSI_TMF_QUERY_ASYNC_EVENT, 0, 0);
	ini_tmf(i, &h, ISCSI_TMF_QUERY_ASYNC_EVENT, LUN_NOWHERE);
	ck_assert_uint_eq(ask(i, &h, &information), ISCSI_TMF_RSP_NO_LUN);
}
END_TEST

/* The session ends with its tasks, though it would be retained; nobody else notices. */
START_TEST(nexus_reset)
{
	COVERS("F-014 F-015 F-016 SA-018");
	struct ini *i = session_keys(T_RESET, LEVEL(2) "\nDefaultTime2Retain=60"), *again;
	struct data_out d = { .length = 512, .data = data, .final = true };
	struct ini *other = level2(T_RESET);
	struct bhs_login_request login;
	struct bhs_tmf_request h;
	struct bhs_nop gap;
	struct ini_scsi c;

	ready(i, 1);
	ready(other, 1);
	d.itt = start_write(i, 1, 8, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	/* It waits for what was sent before it (RFC 7143 4.2.3.3 via RFC 7144 6.5). */
	ini_nop(i, &gap, false);
	ini_tmf(i, &h, ISCSI_TMF_NEXUS_RESET, 0);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_nothing(i);
	ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	send_data_out(i, &d);
	ck_assert_uint_eq(expect(i, ISCSI_OP_TMF_RESPONSE)->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	expect_close(i);
	cdb_of(&c, "00 00 00 00 00 00");
	c.lun = 1;
	run_good(other, &c); /* no unit attention */
	/* The old session cannot be continued; a new one begins anew. */
	again = connect_to(server.port);
	memcpy(again->isid, i->isid, 6);
	again->tsih = i->tsih;
	ini_login_header(again, &login, 1, 3, true);
	ck_assert(!ini_send(again, (uint8_t *)&login, data,
			    ini_pairs(NAMES(T_RESET), data, sizeof(data))));
	ck_assert_int_eq(login_status(expect(again, ISCSI_OP_LOGIN_RESPONSE)), 0x020a);
	again = level2(T_RESET);
	run_sense(again, &c, 0x062900);
}
END_TEST

/* Told by level; what the level does not have is refused and does nothing. */
static const struct by_level {
	const char *keys;
	uint16_t version;
	uint8_t functions[2];
} levels[] = {
	{ LEVEL(0), 0x0960, { 0xda, 0 } },
	{ LEVEL(1), 0x0961, { 0xda, 0 } },
	{ LEVEL(2), 0x0962, { 0xde, 7 } },
	{ USUAL("65536", "Yes", "No"), 0x0961, { 0xda, 0 } },
};

START_TEST(by_level)
{
	COVERS("F-001 F-003 F-004 F-019 SI-007 SO-007 SA-013");
	const struct by_level *l = &levels[_i];
	struct ini *i = session_keys(T_MAIN, l->keys);
	uint8_t answer[96];
	struct ini_scsi c;

	ready(i, LUN_RAM);
	cdb_of(&c, "12 00 00 00 60 00");
	c.in = answer;
	c.edtl = 96;
	run_good(i, &c);
	ck_assert_uint_eq(get_be16(answer + 58), 0x00a0);
	ck_assert_uint_eq(get_be16(answer + 60), l->version);
	cdb_of(&c, "a3 0d 00 00 00 00 00 00 00 04 00 00");
	c.in = answer;
	c.edtl = 4;
	run_good(i, &c);
	ck_assert_mem_eq(answer, l->functions, 2);
	for (int f = ISCSI_TMF_QUERY_TASK_SET; f <= ISCSI_TMF_QUERY_ASYNC_EVENT; f++)
		if (f != ISCSI_TMF_NEXUS_RESET || !l->functions[1])
			tmf(i, (uint8_t)f, LUN_RAM,
			    l->functions[1] ? ISCSI_TMF_RSP_COMPLETE : ISCSI_TMF_RSP_NOT_SUPPORTED);
	still_works(i);
}
END_TEST

/* PRI says nothing here, whatever the level. */
START_TEST(priority)
{
	COVERS("F-005 F-007");
	struct ini *i = session_keys(T_MAIN, _i ? LEVEL(2) : LEVEL(1));
	struct bhs_scsi_command h;
	struct ini_scsi c;

	ready(i, LUN_RAM);
	cdb_of(&c, "00 00 00 00 00 00");
	for (unsigned pri = 0; pri < 16; pri++) {
		ini_command(i, &h, LUN_RAM, 0, 0, c.cdb, 6);
		h.reserved[0] = (uint8_t)(pri << 4);
		start(i, &h);
		expect_status(i, get_be32(h.itt), 0); /* and a Status Qualifier of 0 */
	}
}
END_TEST

void tmf_sam5_suite(TCase *c)
{
	add(c, tasks);
	add(c, tasks_to_come);
	add(c, task_that_is_a_function);
	add(c, events);
	add(c, nexus_reset);
	add_table(c, by_level, levels);
	add_rows(c, priority, 2);
}
