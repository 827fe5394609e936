/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, groups 11, 13 and 14: task management, logout, SNACK (full text). */
#include "tests/protocol/unh.h"

static uint8_t data[4096];

static void send_tmf(struct ini *i, struct bhs_tmf_request *h)
{
	ck_assert(!ini_send(i, (uint8_t *)h, NULL, 0));
}

static void check_tmf(const struct ini_pdu *p, const struct bhs_tmf_request *h, uint8_t response)
{
	ck_assert_uint_eq(p->bhs[0], ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h->itt));
	ck_assert_uint_eq(p->bhs[2], response);
}

static void expect_tmf(struct ini *i, const struct bhs_tmf_request *h, uint8_t response)
{
	check_tmf(expect(i, ISCSI_OP_TMF_RESPONSE), h, response);
}

/* A NOP-Out with the CmdSN that an immediate function before it bore. */
static void nop_in_order(struct ini *i)
{
	struct bhs_nop h;

	ini_nop(i, &h, false);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_NOP_IN), bhs_nop, itt), get_be32(h.itt));
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
}

START_TEST(one_immediate_function_and_command)
{
	COVERS("U-021 P-030 P-104 P-115 P-120");
	struct ini *i = unh_session(SOLICITED);
	struct data_out a = { .length = 512, .data = data, .final = true };
	struct bhs_tmf_request abort;
	struct bhs_scsi_command b;
	const struct ini_pdu *p;
	struct ini_scsi c;
	static uint8_t before[512];
	uint32_t cmdsn;

	fill(before, 512, 20);
	rw10(&c, WRITE10, LUN_RAM, UNH_BLOCK, 1, before);
	run_good(i, &c);
	fill(data, 1024, 21);
	cmdsn = i->cmdsn;
	a.itt = start_write(i, LUN_RAM, UNH_BLOCK, 1, true, NULL, 0);
	a.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	rw10(&c, WRITE10, LUN_RAM, UNH_BLOCK + 1, 1, NULL);
	ini_command(i, &b, LUN_RAM, ISCSI_CMD_WRITE, 512, c.cdb, c.cdb_length);
	b.opcode |= ISCSI_IMMEDIATE;
	i->cmdsn--;
	start(i, &b);
	ini_tmf(i, &abort, ISCSI_TMF_ABORT_TASK, LUN_RAM);
	put_be32(abort.referenced_tag, a.itt);
	put_be32(abort.ref_cmdsn, cmdsn);
	send_tmf(i, &abort);
	/* The response and B's R2T, in either order. */
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert(p != NULL);
	if (p->bhs[0] == ISCSI_OP_R2T) {
		expect_tmf(i, &abort, ISCSI_TMF_RSP_COMPLETE);
	} else {
		check_tmf(p, &abort, ISCSI_TMF_RSP_COMPLETE);
		p = expect(i, ISCSI_OP_R2T);
	}
	ck_assert_uint_eq(be32_of(p, bhs_r2t, itt), get_be32(b.itt));
	send_data_out(i, &a);
	ck_assert(!ini_answer_r2t(i, p, data + 512, 0));
	expect_status(i, get_be32(b.itt), 0);
	expect_nothing(i);
	expect_content(i, LUN_RAM, UNH_BLOCK, 1, before);
	expect_content(i, LUN_RAM, UNH_BLOCK + 1, 1, data + 512);
}
END_TEST

START_TEST(abort_task_set)
{
	COVERS("U-025 P-028 P-115 E-025 E-028 E-042");
	struct ini *i = unh_session(TRY_LEVEL_1);
	struct bhs_tmf_request h;

	ready(i, LUN_FAULT);
	unh_start_read(i, LUN_FAULT, FAULT_SLOW, 1);
	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK_SET, LUN_FAULT);
	send_tmf(i, &h);
	expect_tmf(i, &h, ISCSI_TMF_RSP_COMPLETE);
	nop_in_order(i);
	ck_assert_ptr_null(await_pdu(i, SLOW_MS + 200));
}
END_TEST

START_TEST(abort_of_nothing)
{
	COVERS("U-027 P-115 P-122");
	struct ini *i = unh_session(TRY_LEVEL_1);
	struct bhs_tmf_request h;
	uint32_t itt;

	ready(i, LUN_FAULT);
	itt = unh_start_read(i, LUN_FAULT, FAULT_SLOW, 1);
	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK, LUN_FAULT);
	put_be32(h.referenced_tag, 0x77777);
	put_be32(h.ref_cmdsn, i->max_cmdsn + 100);
	send_tmf(i, &h);
	expect_tmf(i, &h, ISCSI_TMF_RSP_NO_TASK);
	nop_in_order(i);
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_DATA_IN), bhs_data_in, itt), itt);
}
END_TEST

static struct ini *reset_session(void)
{
	struct ini *i = session_keys(T_RESET, TRY_LEVEL_1 "InitialR2T=Yes");

	unh_prep(i);
	ready(i, 1);
	return i;
}

/* Not immediate, with the next CmdSN. LUN 1 is slow from block 2048 on. */
static void reset_with_a_read_running(struct ini *i, uint8_t function)
{
	struct bhs_tmf_request h;

	unh_start_read(i, 1, 2048, 1);
	ini_tmf(i, &h, function, 0);
	h.opcode = ISCSI_OP_TMF_REQUEST;
	put_be32(h.cmdsn, i->cmdsn++);
	send_tmf(i, &h);
	expect_tmf(i, &h, ISCSI_TMF_RSP_COMPLETE);
}

START_TEST(warm_reset)
{
	COVERS("U-028 E-028 E-037");
	struct ini *i = reset_session();

	reset_with_a_read_running(i, ISCSI_TMF_WARM_RESET);
	ck_assert_ptr_null(await_pdu(i, SLOW_MS + 200));
	still_works(i);
	ready(i, 1);
}
END_TEST

START_TEST(cold_reset)
{
	COVERS("U-029 E-038");
	struct ini *i = reset_session(), *second = reset_session();
	struct ini_pdu p;

	reset_with_a_read_running(i, ISCSI_TMF_COLD_RESET);
	ck_assert_int_eq(ini_receive(i, &p, patience(INI_WAIT_MS)), -ENOTCONN);
	expect_close(second);
}
END_TEST

/* Who may only read does not end what others do: response 6, and all goes on. */
START_TEST(reset_not_permitted)
{
	COVERS(_i ? "U-029 E-039" : "U-028 E-039");
	struct ini *reader = session_as(READER, T_RESET), *i = reset_session();
	uint32_t itt;

	ready(reader, 0);
	itt = unh_start_read(i, 1, 2048, 1);
	tmf(reader, _i ? ISCSI_TMF_COLD_RESET : ISCSI_TMF_WARM_RESET, 0,
	    ISCSI_TMF_RSP_NOT_AUTHORIZED);
	still_works(reader);
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_DATA_IN), bhs_data_in, itt), itt);
}
END_TEST

/* Sessions that each wait for the data of a write, as the suite says where there is one connection
 * in each. */
static struct ini *with_write(uint32_t lba, const struct ini_pdu **r2t)
{
	struct ini *i = unh_session(SOLICITED);

	start_write(i, LUN_RAM, lba, 1, true, NULL, 0);
	*r2t = expect(i, ISCSI_OP_R2T);
	return i;
}

static void finish(struct ini *i, const struct ini_pdu *r2t)
{
	ck_assert(!ini_answer_r2t(i, r2t, data, 0));
	expect_status(i, be32_of(r2t, bhs_r2t, itt), 0);
}

static uint8_t logout(struct ini *i, uint8_t reason, uint16_t cid)
{
	struct bhs_logout_request h;
	const struct ini_pdu *p;

	ini_logout(i, &h, reason);
	put_be16(h.cid, cid);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_LOGOUT_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_logout_response, itt), get_be32(h.itt));
	return p->bhs[2];
}

START_TEST(logout_of_the_connection)
{
	COVERS("U-034 P-131");
	const struct ini_pdu *r2t[2];
	struct ini *i[2] = { with_write(UNH_BLOCK, &r2t[0]), with_write(UNH_BLOCK + 1, &r2t[1]) };
	struct ini_pdu p;

	ck_assert_uint_eq(logout(i[0], LOGOUT_CLOSE_CONNECTION, i[0]->cid), LOGOUT_RSP_SUCCESS);
	ck_assert_int_eq(ini_receive(i[0], &p, patience(INI_WAIT_MS)), -ENOTCONN);
	finish(i[1], r2t[1]);
}
END_TEST

START_TEST(logout_of_an_unknown_cid)
{
	COVERS("U-036 P-135");
	const struct ini_pdu *r2t[2];
	struct ini *i[2] = { with_write(UNH_BLOCK, &r2t[0]), with_write(UNH_BLOCK + 1, &r2t[1]) };

	ck_assert_uint_eq(logout(i[0], LOGOUT_CLOSE_CONNECTION, 0x1234), LOGOUT_RSP_NO_CID);
	finish(i[0], r2t[0]);
	finish(i[1], r2t[1]);
}
END_TEST

/* Below level 1: rejected, and the write goes on. */
START_TEST(snack_at_level_0)
{
	COVERS("U-039 P-150 P-156 P-161");
	const struct ini_pdu *r2t, *p;
	struct ini *i = with_write(UNH_BLOCK, &r2t);
	struct bhs h = { .opcode = ISCSI_OP_SNACK, .flags = ISCSI_FINAL };
	uint32_t statsn = i->exp_statsn, exp_cmdsn = i->exp_cmdsn;

	memcpy(h.itt, bhs_of(r2t, bhs_r2t)->itt, 4);
	put_be32(h.word20, ISCSI_TAG_RESERVED);
	put_be32(h.exp_statsn, i->exp_statsn);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_NOT_SUPPORTED);
	ck_assert(p->length >= ISCSI_BHS_SIZE && !memcmp(p->data, &h, ISCSI_BHS_SIZE));
	ck_assert_uint_eq(be32_of(p, bhs_reject, statsn), statsn);
	ck_assert_uint_eq(be32_of(p, bhs_reject, exp_cmdsn), exp_cmdsn);
	ck_assert_uint_eq(i->exp_statsn, statsn + 1);
	finish(i, r2t);
}
END_TEST

void unh_tasks_suite(TCase *c)
{
	add(c, one_immediate_function_and_command);
	add(c, abort_task_set);
	add(c, abort_of_nothing);
	add(c, warm_reset);
	add(c, cold_reset);
	add_rows(c, reset_not_permitted, 2);
	add(c, logout_of_the_connection);
	add(c, logout_of_an_unknown_cid);
	add(c, snack_at_level_0);
}
