/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of commands and the window (RFC 7143 4.2.2.1). */
#include "tests/protocol/protocol.h"

static uint8_t data[65536];

static void read_header(struct ini *i, struct bhs_scsi_command *h, uint64_t lun, uint32_t lba)
{
	struct ini_scsi c;

	rw10(&c, READ10, lun, lba, 1, NULL);
	ini_command(i, h, lun, ISCSI_CMD_READ, 512, c.cdb, 10);
}

static uint32_t answered(struct ini *i)
{
	return be32_of(expect(i, ISCSI_OP_DATA_IN), bhs_data_in, itt);
}

/* Commands in the wrong order, over the end of the numbers too: run in the right one. */
START_TEST(out_of_order)
{
	COVERS("P-021 P-022 P-025 P-032");
	static const uint8_t order[] = { 3, 1, 7, 2, 6, 5, 4, 0 };
	struct ini *i = connect_to(server.port);
	struct bhs_scsi_command h[8];

	i->cmdsn = 0xfffffffa;
	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN }), 0);
	ready(i, LUN_RAM);
	ck_assert_uint_gt(i->cmdsn, 0xfffffff0);
	for (unsigned n = 0; n < 8; n++)
		read_header(i, &h[n], LUN_RAM, n);
	for (unsigned n = 0; n < 7; n++) {
		start(i, &h[order[n]]);
		expect_nothing(i);
		ck_assert_uint_eq(i->exp_cmdsn, get_be32(h[0].cmdsn));
	}
	start(i, &h[0]);
	for (unsigned n = 0; n < 8; n++)
		ck_assert_uint_eq(answered(i), get_be32(h[n].itt));
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
}
END_TEST

/* Writes with their data in the wrong order: the last CmdSN is what stays. */
START_TEST(writes_out_of_order)
{
	COVERS("P-021 P-054");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "No", "Yes"));
	struct bhs_scsi_command h[4];
	static uint8_t blocks[4][4096];
	struct ini_scsi c;

	ready(i, LUN_RAM);
	rw10(&c, WRITE10, LUN_RAM, 60, 8, NULL);
	for (unsigned n = 0; n < 4; n++) {
		fill(blocks[n], 4096, 80 + n);
		ini_command(i, &h[n], LUN_RAM, ISCSI_CMD_WRITE, 4096, c.cdb, 10);
	}
	for (int n = 3; n >= 0; n--)
		ck_assert(!ini_send(i, (uint8_t *)&h[n], blocks[n], 4096));
	for (unsigned n = 0; n < 4; n++)
		expect_status(i, get_be32(h[n].itt), 0);
	expect_content(i, LUN_RAM, 60, 8, blocks[3]);
}
END_TEST

/* One whose unsolicited data does not find it in its turn: run, or told to come again; never
 * wrong. */
START_TEST(unsolicited_ahead_of_its_turn)
{
	COVERS("P-054");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "No", "Yes"));
	struct bhs_nop gap;
	const struct ini_pdu *p;
	uint32_t itt;

	ready(i, LUN_RAM);
	fill(data, 8192, 90);
	ini_nop(i, &gap, false);
	itt = start_write(i, LUN_RAM, 70, 16, false, data, 4096);
	send_data_out(i, &(struct data_out){ .itt = itt,
					     .ttt = ISCSI_TAG_RESERVED,
					     .offset = 4096,
					     .length = 4096,
					     .data = data + 4096,
					     .final = true });
	expect_nothing(i);
	ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	ck_assert_msg(p->bhs[3] == 0 || p->bhs[3] == 0x28, "status %02x", p->bhs[3]);
	if (!p->bhs[3])
		expect_content(i, LUN_RAM, 70, 16, data);
	still_works(i);
}
END_TEST

START_TEST(outside_the_window)
{
	COVERS("P-023 P-024 P-033 fault-D12");
	struct ini *i = session(T_MAIN);
	static const int32_t away[] = { 1, 2, 1000, 0x40000000 };
	struct bhs_scsi_command h;

	ready(i, LUN_RAM);
	for (unsigned n = 0; n < 4; n++) {
		read_header(i, &h, LUN_RAM, 0);
		i->cmdsn--;
		put_be32(h.cmdsn, i->max_cmdsn + (uint32_t)away[n]);
		start(i, &h);
		expect_nothing(i);
		put_be32(h.cmdsn, i->exp_cmdsn - (uint32_t)away[n]);
		start(i, &h);
		expect_nothing(i);
	}
	/* The same command again, when it is over. */
	read_header(i, &h, LUN_RAM, 0);
	start(i, &h);
	answered(i);
	start(i, &h);
	expect_nothing(i);
	ready(i, LUN_RAM);
}
END_TEST

/* Two with one CmdSN, ahead of their turn. */
START_TEST(twice_ahead)
{
	COVERS("P-024");
	struct ini *i = session(T_MAIN);
	struct bhs_scsi_command gap, h, twin;

	ready(i, LUN_RAM);
	read_header(i, &gap, LUN_RAM, 0);
	read_header(i, &h, LUN_RAM, 1);
	twin = h;
	put_be32(twin.itt, i->itt++);
	start(i, &h);
	start(i, &h);
	start(i, &twin);
	expect_nothing(i);
	start(i, &gap);
	ck_assert_uint_eq(answered(i), get_be32(gap.itt));
	ck_assert_uint_eq(answered(i), get_be32(h.itt));
	expect_nothing(i);
}
END_TEST

/* The last of the window's commands closes it; others get in without a CmdSN. */
START_TEST(closed_window)
{
	COVERS("P-026 P-027 P-029 P-030 P-034 P-031");
	struct ini *i = connect_to(strict.port);
	struct bhs_scsi_command h;
	unsigned n = 0, done = 0;

	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN }), 0);
	ready(i, LUN_FAULT);
	ping(i);
	while (sna_diff(i->cmdsn, i->max_cmdsn) <= 0) {
		read_header(i, &h, LUN_FAULT, FAULT_SLOW + n++);
		start(i, &h);
	}
	ck_assert_uint_eq(n, STRICT_WINDOW);
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->max_cmdsn + 1);
	tmf(i, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM, ISCSI_TMF_RSP_COMPLETE);
	read_header(i, &h, LUN_FAULT, 0); /* beyond: ignored */
	i->cmdsn--;
	start(i, &h);
	while (done < n) {
		answered(i);
		done++;
	}
	ping(i);
	/* All of it was used: it has doubled. */
	ck_assert_uint_eq(i->max_cmdsn, i->exp_cmdsn + 2 * STRICT_WINDOW - 1);
	ready(i, LUN_FAULT);
}
END_TEST

/* Room that comes without a PDU of this session is told by a NOP-In. */
START_TEST(told_of_room)
{
	COVERS("P-035 P-112 P-038");
	struct ini *i = connect_to(strict.port), *other = connect_to(strict.port);
	struct ini_login l = { .target = T_MAIN, .keys = USUAL("65536", "Yes", "No") };
	const struct ini_pdu *p;
	unsigned n = 0;

	ck_assert_int_eq(try_login(i, &l), 0);
	ck_assert_int_eq(try_login(other, &l), 0);
	ready(i, LUN_RAM);
	ping(i);
	while (sna_diff(i->cmdsn, i->max_cmdsn) <= 0)
		start_write(i, LUN_RAM, n++, 1, true, NULL, 0);
	while (n--)
		expect(i, ISCSI_OP_R2T);
	ck_assert_uint_eq(i->exp_cmdsn, i->max_cmdsn + 1);
	tmf(other, ISCSI_TMF_LU_RESET, LUN_RAM, ISCSI_TMF_RSP_COMPLETE);
	while (i->exp_cmdsn == i->max_cmdsn + 1) {
		p = expect(i, ISCSI_OP_NOP_IN);
		ck_assert_uint_eq(be32_of(p, bhs_nop, itt), ISCSI_TAG_RESERVED);
	}
	ck_assert_uint_eq(i->max_cmdsn, i->exp_cmdsn + 2 * STRICT_WINDOW - 1);
	ready(i, LUN_RAM);
}
END_TEST

/* 300 commands as fast as the window lets them: all answered. */
START_TEST(many)
{
	COVERS("P-034");
	struct ini *i = session(T_MAIN);
	unsigned sent = 0, done = 0;
	struct bhs_scsi_command h;

	ready(i, LUN_RAM);
	ck_assert_uint_ge(i->max_cmdsn - i->exp_cmdsn + 1, 128);
	while (done < 300) {
		while (sent < 300 && sna_diff(i->cmdsn, i->max_cmdsn) <= 0) {
			read_header(i, &h, LUN_RAM, sent++);
			start(i, &h);
		}
		answered(i);
		done++;
	}
	expect_nothing(i);
}
END_TEST

void cmdsn_suite(TCase *c)
{
	add(c, out_of_order);
	add(c, writes_out_of_order);
	add(c, unsolicited_ahead_of_its_turn);
	add(c, outside_the_window);
	add(c, twice_ahead);
	add(c, closed_window);
	add(c, told_of_room);
	add(c, many);
}
