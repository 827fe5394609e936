/* SPDX-License-Identifier: BSD-2-Clause */
/* ABORT TASK: of tasks that wait, run, are over, or have not come yet. */
#include "tests/protocol/protocol.h"

static uint8_t data[65536];

static void abort_task(struct ini *i, uint64_t lun, uint32_t itt, uint32_t ref_cmdsn,
		       uint8_t response)
{
	struct bhs_tmf_request h;
	const struct ini_pdu *p;

	ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK, lun);
	put_be32(h.referenced_tag, itt);
	put_be32(h.ref_cmdsn, ref_cmdsn);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_TMF_RESPONSE);
	ck_assert_msg(p->bhs[2] == response, "response %u, wanted %u", p->bhs[2], response);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h.itt));
}

/* A write whose data does not come. */
START_TEST(waiting_for_data)
{
	COVERS("P-120 P-104 E-034 E-021 fault-D01");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 512, .data = data, .final = true };
	static uint8_t before[512];
	struct ini_scsi c;
	int64_t begin;

	ready(i, LUN_RAM);
	fill(before, 512, 41);
	rw10(&c, WRITE10, LUN_RAM, 20, 1, before);
	run_good(i, &c);
	d.itt = start_write(i, LUN_RAM, 20, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	begin = clock_ms();
	abort_task(i, LUN_RAM, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	ck_assert_int_lt((int)(clock_ms() - begin), 1000);
	fill(data, 512, 42);
	send_data_out(i, &d);
	expect_nothing(i);
	expect_content(i, LUN_RAM, 20, 1, before);
}
END_TEST

/* The tag of one that was stopped serves another; data for the first comes yet. */
START_TEST(tag_used_again)
{
	COVERS("P-120 P-104 E-034");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 512, .data = data, .final = true };
	static uint8_t right[512];
	uint32_t old;

	ready(i, LUN_RAM);
	fill(data, 512, 43);
	fill(right, 512, 44);
	d.itt = start_write(i, LUN_RAM, 21, 1, true, NULL, 0);
	old = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	abort_task(i, LUN_RAM, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	i->track[d.itt % INI_TRACKS].open = false;
	i->itt = d.itt;
	ck_assert_uint_eq(start_write(i, LUN_RAM, 21, 1, true, NULL, 0), d.itt);
	i->itt += 8;
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	ck_assert_uint_ne(d.ttt, old);
	send_data_out(i,
		      &(struct data_out){
			  .itt = d.itt, .ttt = old, .length = 512, .data = data, .final = true });
	expect_nothing(i);
	d.data = right;
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
	expect_content(i, LUN_RAM, 21, 1, right);
}
END_TEST

/* One whose unsolicited data is still on its way. */
START_TEST(unsolicited_on_its_way)
{
	COVERS("P-104 P-120 E-034");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "No", "Yes"));
	struct data_out d = { .ttt = ISCSI_TAG_RESERVED, .data = data };

	ready(i, LUN_RAM);
	d.itt = start_write(i, LUN_RAM, 20, 64, false, data, 4096);
	abort_task(i, LUN_RAM, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	d.length = 4096;
	for (d.offset = 4096; d.offset < 32768; d.offset += 4096) {
		d.final = d.offset == 28672;
		send_data_out(i, &d);
		d.datasn++;
	}
	expect_nothing(i);
	ready(i, LUN_RAM);
}
END_TEST

/* One whose I/O does not come back: answered all the same, as often as asked. */
START_TEST(stalled)
{
	COVERS("P-120 E-028 fault-D13");
	struct ini *i = session(T_MAIN);
	struct bhs_scsi_command h;
	struct ini_scsi c;
	int64_t begin;

	ready(i, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, NULL);
	ini_command(i, &h, LUN_FAULT, ISCSI_CMD_READ, 512, c.cdb, 10);
	start(i, &h);
	begin = clock_ms();
	for (unsigned n = 0; n < 4; n++)
		abort_task(i, LUN_FAULT, get_be32(h.itt), get_be32(h.cmdsn),
			   ISCSI_TMF_RSP_COMPLETE);
	ck_assert_int_lt((int)(clock_ms() - begin), 2000);
	ck_assert(await_pdu(i, STALL_MS + 300) == NULL); /* and no word of it later */
	still_works(i);
}
END_TEST

/* A stalled write lets go of its session; what overlaps it is busy until it has ended. */
START_TEST(stalled_write)
{
	COVERS("P-120");
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;
	uint32_t itt;

	ready(i, LUN_FAULT);
	itt = start_write(i, LUN_FAULT, FAULT_STALL + 8, 1, true, data, 512);
	abort_task(i, LUN_FAULT, itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	rw10(&c, WRITE10, LUN_FAULT, FAULT_STALL + 8, 1, data);
	ck_assert(!ini_scsi(i, &c));
	ck_assert_uint_eq(c.status, 8);
	rw10(&c, WRITE10, LUN_FAULT, 0, 1, data);
	run_good(i, &c);
}
END_TEST

START_TEST(over_or_elsewhere)
{
	COVERS("P-122 E-021 P-123");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 512, .data = data, .final = true };
	struct ini_scsi c;

	ready(i, LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 1, data);
	run_good(i, &c);
	abort_task(i, LUN_RAM, c.itt, i->cmdsn - 1, ISCSI_TMF_RSP_NO_TASK);
	abort_task(i, LUN_RAM, 0x5555, i->cmdsn - 1000, ISCSI_TMF_RSP_NO_TASK);
	abort_task(i, LUN_RAM, 0x5555, i->max_cmdsn + 1, ISCSI_TMF_RSP_NO_TASK);
	/* With another LUN it is another task. */
	d.itt = start_write(i, LUN_RAM, 20, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	abort_task(i, LUN_FLAT, d.itt, i->cmdsn - 1, ISCSI_TMF_RSP_NO_TASK);
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
}
END_TEST

/* A slow command's status and its abort cross on the wire: complete, for ESXi's sake. */
START_TEST(over_after_long)
{
	COVERS("fault-D13");
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, data);
	run_good(i, &c);
	abort_task(i, LUN_FAULT, c.itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
}
END_TEST

/* The function overtakes its command, which then must not be run. */
START_TEST(not_there_yet)
{
	COVERS("P-121 E-020");
	struct ini *i = session(T_MAIN);
	struct bhs_tmf_request t;
	struct absent a;

	ready(i, LUN_RAM);
	absent_write(i, 30, &a);
	absent_function(i, &a, ISCSI_TMF_ABORT_TASK, &t);
	ck_assert(!ini_send(i, (uint8_t *)&t, NULL, 0));
	ck_assert_uint_eq(expect(i, ISCSI_OP_TMF_RESPONSE)->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	absent_is_never_run(i, &a);
}
END_TEST

/* A command that waits for an earlier CmdSN. */
START_TEST(waiting_for_its_turn)
{
	COVERS("P-120 P-121 P-021");
	struct ini *i = session(T_MAIN);
	struct bhs_nop gap;
	static uint8_t before[512];
	struct ini_scsi c;
	uint32_t itt;

	ready(i, LUN_RAM);
	fill(before, 512, 61);
	rw10(&c, WRITE10, LUN_RAM, 40, 1, before);
	run_good(i, &c);
	ini_nop(i, &gap, false);
	fill(data, 512, 62);
	itt = start_write(i, LUN_RAM, 40, 1, true, data, 512);
	expect_nothing(i);
	abort_task(i, LUN_RAM, itt, i->cmdsn - 1, ISCSI_TMF_RSP_COMPLETE);
	ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	expect_nothing(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	expect_content(i, LUN_RAM, 40, 1, before);
}
END_TEST

START_TEST(of_a_function)
{
	COVERS("P-118 F-010");
	struct ini *i = session(T_RESET);
	struct bhs_tmf_request reset;
	uint32_t itt;
	const struct ini_pdu *p;

	/* A reset that has to wait for a write of one second to end. */
	ready(i, 1);
	itt = start_write(i, 1, 2048, 1, true, data, 512);
	ini_tmf(i, &reset, ISCSI_TMF_LU_RESET, 1);
	ck_assert(!ini_send(i, (uint8_t *)&reset, NULL, 0));
	abort_task(i, 1, get_be32(reset.itt), i->cmdsn, ISCSI_TMF_RSP_REJECTED);
	p = expect(i, ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(reset.itt));
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_ne(itt, 0);
	expect_nothing(i);
}
END_TEST

START_TEST(of_an_immediate_command)
{
	COVERS("P-163");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct bhs_scsi_command h;
	struct ini_scsi c;

	ready(i, LUN_RAM);
	rw10(&c, WRITE10, LUN_RAM, 50, 1, NULL);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_WRITE, 512, c.cdb, 10);
	i->cmdsn--;
	h.opcode |= ISCSI_IMMEDIATE;
	start(i, &h);
	expect(i, ISCSI_OP_R2T);
	abort_task(i, LUN_RAM, get_be32(h.itt), i->cmdsn, ISCSI_TMF_RSP_COMPLETE);
	expect_nothing(i);
}
END_TEST

void abort_suite(TCase *c)
{
	add(c, waiting_for_data);
	add(c, tag_used_again);
	add(c, unsolicited_on_its_way);
	add(c, stalled);
	add(c, stalled_write);
	add(c, over_or_elsewhere);
	add(c, over_after_long);
	add(c, not_there_yet);
	add(c, waiting_for_its_turn);
	add(c, of_a_function);
	add(c, of_an_immediate_command);
}
