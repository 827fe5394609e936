/* SPDX-License-Identifier: BSD-2-Clause */
/* Task management that reaches more than one task, and the functions themselves. */
#include "tests/protocol/protocol.h"

static uint8_t data[65536];

static const struct function {
	const char *name;
	uint8_t function;
	uint16_t lun;
	uint8_t response;
} functions[] = {
	{ "ABORT TASK SET", ISCSI_TMF_ABORT_TASK_SET, LUN_RAM, ISCSI_TMF_RSP_COMPLETE },
	{ "CLEAR TASK SET", ISCSI_TMF_CLEAR_TASK_SET, LUN_RAM, ISCSI_TMF_RSP_COMPLETE },
	{ "LU RESET", ISCSI_TMF_LU_RESET, LUN_FLAT, ISCSI_TMF_RSP_COMPLETE },
	{ "ABORT TASK SET, no LUN", ISCSI_TMF_ABORT_TASK_SET, LUN_NOWHERE, ISCSI_TMF_RSP_NO_LUN },
	{ "CLEAR TASK SET, no LUN", ISCSI_TMF_CLEAR_TASK_SET, LUN_NOWHERE, ISCSI_TMF_RSP_NO_LUN },
	{ "LU RESET, no LUN", ISCSI_TMF_LU_RESET, LUN_NOWHERE, ISCSI_TMF_RSP_NO_LUN },
	{ "CLEAR ACA", ISCSI_TMF_CLEAR_ACA, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "TASK REASSIGN", ISCSI_TMF_TASK_REASSIGN, LUN_RAM, ISCSI_TMF_RSP_NO_REASSIGN },
	{ "QUERY TASK", 9, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "QUERY TASK SET", 10, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "I_T NEXUS RESET", 11, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "QUERY ASYNCHRONOUS EVENT", 12, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "0", 0, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "13", 13, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "63", 63, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "127", 127, LUN_RAM, ISCSI_TMF_RSP_NOT_SUPPORTED },
	{ "ABORT TASK of nothing", ISCSI_TMF_ABORT_TASK, LUN_RAM, ISCSI_TMF_RSP_NO_TASK },
};

/* Immediate, and in order. */
START_TEST(answers)
{
	COVERS("P-004 P-115 P-116 P-117 P-119 P-126 P-124 E-012 E-040 E-065 F-001 F-003");
	const struct function *f = &functions[_i];
	struct ini *i = session(T_MAIN);
	struct bhs_tmf_request h;
	const struct ini_pdu *p;

	tmf(i, f->function, f->lun, f->response);
	ini_tmf(i, &h, f->function, f->lun);
	h.opcode = ISCSI_OP_TMF_REQUEST;
	i->cmdsn++;
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_TMF_RESPONSE);
	ck_assert_msg(p->bhs[2] == f->response, "%s in order: response %u", f->name, p->bhs[2]);
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	ready(i, LUN_RAM);
}
END_TEST

START_TEST(with_data)
{
	COVERS("P-125");
	struct ini *i = session(T_MAIN);
	struct bhs_tmf_request h;

	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	ck_assert(!ini_send(i, (uint8_t *)&h, "data", 4));
	if (!expect_reject_or_close(i, REJECT_INVALID_PDU_FIELD))
		still_works(i);
}
END_TEST

/* Tasks that wait: for the store, and for data. */
static uint32_t start_slow_read(struct ini *i, uint64_t lun, uint32_t lba)
{
	struct bhs_scsi_command h;
	struct ini_scsi c;

	rw10(&c, READ10, lun, lba, 1, NULL);
	ini_command(i, &h, lun, ISCSI_CMD_READ, 512, c.cdb, 10);
	start(i, &h);
	return get_be32(h.itt);
}

static struct ini *solicited(const char *target)
{
	return session_keys(target, USUAL("65536", "Yes", "No"));
}

/* Of the tasks on one LUN of one nexus none answers any more; all others do. */
START_TEST(abort_task_set)
{
	COVERS("E-042 E-061 E-028 P-104 E-034 T-090"); /* TaskReporting=RFC3720 */
	struct ini *a = solicited(T_MAIN), *b = session(T_MAIN);
	struct data_out d = { .length = 512, .data = data, .final = true };
	static uint8_t before[512];
	struct bhs_tmf_request h;
	uint32_t other, others;
	const struct ini_pdu *p;
	struct ini_scsi c;

	ready(a, LUN_FAULT);
	ready(a, LUN_RAM);
	ready(b, LUN_FAULT);
	fill(before, 512, 31);
	rw10(&c, WRITE10, LUN_FAULT, 10, 1, before);
	run_good(a, &c);
	d.itt = start_write(a, LUN_FAULT, 10, 1, true, NULL, 0);
	d.ttt = be32_of(expect(a, ISCSI_OP_R2T), bhs_r2t, ttt);
	start_slow_read(a, LUN_FAULT, FAULT_SLOW);
	others = start_slow_read(b, LUN_FAULT, FAULT_SLOW);
	other = start_write(a, LUN_RAM, 10, 1, true, NULL, 0);
	expect(a, ISCSI_OP_R2T);
	fill(data, 512, 32);
	ini_tmf(a, &h, ISCSI_TMF_ABORT_TASK_SET, LUN_FAULT);
	ck_assert(!ini_send(a, (uint8_t *)&h, NULL, 0));
	send_data_out(a, &d);
	p = expect(a, ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h.itt));
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	expect_nothing(a);
	/* The task on the other LUN goes on, and the other initiator's. */
	d.itt = other;
	d.ttt++;
	send_data_out(a, &d);
	expect_status(a, other, 0);
	ck_assert_uint_eq(be32_of(expect(b, ISCSI_OP_DATA_IN), bhs_data_in, itt), others);
	expect_content(a, LUN_FAULT, 10, 1, before);
	expect_nothing(a);
}
END_TEST

/* All reach what they must, and say so with a unit attention. */
static const struct reach {
	uint8_t function;
	uint32_t ua_other; /* of the other initiator's next command, 0: none */
	bool ends_own, ends_other, ends_other_lun;
} reaches[] = {
	{ ISCSI_TMF_ABORT_TASK_SET, 0, true, false, false },
	/* There is a task set for each nexus (see below). */
	{ ISCSI_TMF_CLEAR_TASK_SET, 0, true, false, false },
	{ ISCSI_TMF_LU_RESET, 0x062900, true, true, false },
	{ ISCSI_TMF_WARM_RESET, 0x062900, true, true, true },
};

static bool answers_task(struct ini *i, uint32_t itt, int ms)
{
	const struct ini_pdu *p = await_pdu(i, ms);

	if (!p)
		return false;
	ck_assert_uint_eq(get_be32(p->bhs + 16), itt);
	return true;
}

START_TEST(reach)
{
	COVERS("E-036 E-037 E-041 E-042 E-026 E-061 E-033 P-147 fault-D08 fault-Q08");
	const struct reach *r = &reaches[_i];
	struct ini *a = session(T_RESET), *b = session(T_RESET);
	uint32_t own, other, other_lun;
	struct ini_scsi c;
	uint8_t block[512];

	for (unsigned lun = 0; lun < 2; lun++) {
		ready(a, lun);
		ready(b, lun);
	}
	/* Control mode page: TST=001b, all nexuses of the task set are one. */
	cdb_of(&c, "1a 08 0a 00 10 00");
	c.in = data;
	c.edtl = 16;
	run_good(a, &c);
	ck_assert_uint_eq(data[4 + 2] >> 5, 1);
	/* LUN 1 is slow from block 2048 on. */
	own = start_slow_read(a, 1, 2048);
	other = start_slow_read(b, 1, 2048);
	other_lun = start_write(b, 0, 10, 128, false, data, 512);
	tmf(a, r->function, 1, ISCSI_TMF_RSP_COMPLETE);
	ck_assert_msg(r->ends_own != answers_task(a, own, 600), "the task of the nexus itself");
	ck_assert_msg(r->ends_other != answers_task(b, other, 600), "the other nexus' task");
	send_data_out(b, &(struct data_out){ .itt = other_lun,
					     .ttt = ISCSI_TAG_RESERVED,
					     .offset = 512,
					     .length = 65024,
					     .data = data + 512,
					     .final = true });
	ck_assert_msg(r->ends_other_lun != answers_task(b, other_lun, 600), "another LUN's task");
	/* INQUIRY and REPORT LUNS neither report it nor take it away. */
	cdb_of(&c, "12 00 00 00 24 00");
	c.lun = 1;
	c.in = data;
	c.edtl = 36;
	run_good(b, &c);
	cdb_of(&c, "a0 00 00 00 00 00 00 00 00 10 00 00");
	c.in = data;
	c.edtl = 16;
	c.lun = 1;
	run_good(b, &c);
	rw10(&c, READ10, 1, 0, 1, block);
	if (r->ua_other) {
		ck_assert(!ini_scsi(b, &c));
		ck_assert_msg((ini_sense(&c) & 0xffff00) == (r->ua_other & 0xffff00),
			      "function %u: sense %06x", r->function, ini_sense(&c));
		if (r->function == ISCSI_TMF_LU_RESET)
			ck_assert_uint_eq(ini_sense(&c), 0x062903);
		rw10(&c, READ10, 1, 0, 1, block);
	}
	run_good(b, &c);
	rw10(&c, READ10, 0, 0, 1, block);
	ck_assert(!ini_scsi(b, &c));
	ck_assert_msg((c.status == 2) == r->ends_other_lun, "LUN 0: status %02x", c.status);
}
END_TEST

/* A cold reset closes every connection with this target, and no other. */
START_TEST(cold_reset)
{
	COVERS("E-038 S-034");
	struct ini *a = session(T_RESET), *b = session(T_RESET), *c = session(T_MAIN), *d;

	ready(a, 0);
	tmf(a, ISCSI_TMF_COLD_RESET, 0, ISCSI_TMF_RSP_COMPLETE);
	expect_close(a);
	expect_close(b);
	still_works(c);
	d = session(T_RESET);
	ready(d, 0);
}
END_TEST

/* Immediate functions: nothing that comes behind them is reached, and what comes before is waited
 * for. */
START_TEST(in_what_order)
{
	COVERS("P-124 E-025");
	struct ini *i = solicited(T_MAIN);
	struct bhs_tmf_request h;
	struct bhs_nop gap;
	uint32_t itt;

	ready(i, LUN_RAM);
	/* A gap, then an immediate function that must wait for it to close. */
	ini_nop(i, &gap, false);
	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_nothing(i);
	ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_TMF_RESPONSE), bhs_tmf_response, itt),
			  get_be32(h.itt));
	/* One with the CmdSN of a command leaves that one alone. */
	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	itt = start_write(i, LUN_RAM, 10, 1, true, NULL, 0);
	expect(i, ISCSI_OP_R2T);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect(i, ISCSI_OP_TMF_RESPONSE);
	send_data_out(i, &(struct data_out){
			     .itt = itt, .ttt = 0, .length = 512, .data = data, .final = true });
	expect_status(i, itt, 0);
}
END_TEST

START_TEST(tag_in_use)
{
	COVERS("P-012");
	struct ini *i = solicited(T_MAIN);
	struct bhs_tmf_request h;

	ready(i, LUN_RAM);
	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	put_be32(h.itt, start_write(i, LUN_RAM, 10, 1, true, NULL, 0));
	expect(i, ISCSI_OP_R2T);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_reject(i, REJECT_TASK_IN_PROGRESS);
	still_works(i);
}
END_TEST

void tmf_suite(TCase *c)
{
	add_table(c, answers, functions);
	add(c, with_data);
	add(c, abort_task_set);
	add_table(c, reach, reaches);
	add(c, cold_reset);
	add(c, in_what_order);
	add(c, tag_in_use);
}
