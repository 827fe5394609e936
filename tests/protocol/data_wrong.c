/* SPDX-License-Identifier: BSD-2-Clause */
/* Data-Out PDUs that are wrong: what they bring upon their command, and that nobody's data moves.
 */
#include "tests/protocol/unh.h"

#define INCORRECT_AMOUNT 0x0b0c0d
#define CRC_ERROR        0x0b4705

static uint8_t data[65536];

/* One PDU of a solicited sequence of 8192 bytes that is wrong. */
static const struct wrong {
	const char *name;
	struct data_out d; /* added to what is right */
	bool second;       /* a good one of 4096 bytes goes before */
} wrong[] = {
	{ "DataSN 5 first", { .datasn = 5, .length = 4096 }, false },
	{ "DataSN left out", { .datasn = 1, .length = 4096 }, true },
	{ "DataSN again", { .datasn = (uint32_t)-1, .length = 4096 }, true },
	{ "offset too high", { .offset = 512, .length = 4096 }, false },
	{ "offset too low", { .offset = (uint32_t)-512, .length = 4096 }, true },
	{ "offset beyond all", { .offset = 1 << 20, .length = 4096 }, false },
	{ "offset 2^32 - 512", { .offset = (uint32_t)-512, .length = 4096 }, false },
	{ "too long", { .length = 8704 }, false },
	{ "too long, second", { .length = 4608, .final = true }, true },
	{ "F too early", { .length = 4096, .final = true }, false },
	{ "F without data", { .length = 0, .final = true }, false },
};

/* Rejected; when its sequence has ended the command ends with a sense, and nothing of it was
 * written. */
START_TEST(wrong_data_out)
{
	COVERS("P-060 P-097 P-098 P-099 P-100 P-101 P-159 P-161 E-004 E-008 E-018 P-071 fault-A13");
	const struct wrong *w = &wrong[_i];
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 4096, .data = data };
	static uint8_t before[8192];
	const struct ini_pdu *p;
	struct ini_scsi c;

	ready(i, LUN_FILE);
	fill(before, sizeof(before), 3);
	rw10(&c, WRITE10, LUN_FILE, 700, 16, before);
	run_good(i, &c);
	fill(data, 16384, 4);
	d.itt = start_write(i, LUN_FILE, 700, 16, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	if (w->second) {
		send_data_out(i, &d);
		d.datasn++;
		d.offset += 4096;
	}
	d.datasn += w->d.datasn;
	d.offset += w->d.offset;
	d.length = w->d.length;
	d.final = w->d.final;
	send_data_out(i, &d);
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_msg(p->bhs[2] == REJECT_PROTOCOL_ERROR || p->bhs[2] == REJECT_INVALID_PDU_FIELD,
		      "%s: Reject %02x", w->name, p->bhs[2]);
	if (!w->d.final) { /* no status before F (7.8) */
		d.length = 0;
		send_data_out(i, &d);
		expect_nothing(i);
		d.final = true;
		send_data_out(i, &d);
	}
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	ck_assert_msg(sense_of(p) == CRC_ERROR || sense_of(p) == INCORRECT_AMOUNT, "%s: sense %06x",
		      w->name, sense_of(p));
	/* The rest of it comes late, and does no harm. */
	d.final = true;
	send_data_out(i, &d);
	expect_nothing(i);
	expect_content(i, LUN_FILE, 700, 16, before);
}
END_TEST

/* One PDU of an unsolicited burst of 8192 bytes, 4096 with the command, that is wrong. */
static const struct wrong wrong_unsolicited[] = {
	{ "DataSN 1 first", { .datasn = 1, .length = 4096 }, false },
	{ "offset too high", { .offset = 512, .length = 3584 }, false },
	{ "offset 0", { .offset = (uint32_t)-4096, .length = 4096 }, false },
	{ "beyond FirstBurstLength", { .length = 8192 }, false },
	{ "beyond FirstBurstLength, in two", { .length = 4096 }, true },
	{ "too short", { .length = 512 }, true },
};

START_TEST(wrong_unsolicited_data)
{
	COVERS("T-077 P-052 P-071 P-097 P-098 P-101 P-159 P-161");
	const struct wrong *w = &wrong_unsolicited[_i];
	struct ini *i = session_keys(T_MAIN, USUAL("8192", "No", "Yes"));
	struct data_out d = { .ttt = ISCSI_TAG_RESERVED, .data = data };
	static uint8_t before[32768];
	const struct ini_pdu *p;
	struct ini_scsi c;

	ready(i, LUN_FILE);
	fill(before, sizeof(before), 23);
	rw10(&c, WRITE10, LUN_FILE, 900, 64, before);
	run_good(i, &c);
	fill(data, 32768, 24);
	d.itt = start_write(i, LUN_FILE, 900, 64, false, data, 4096);
	d.offset = 4096;
	if (w->second) {
		d.length = 1024;
		send_data_out(i, &d);
		d.datasn++;
		d.offset += 1024;
	}
	d.datasn += w->d.datasn;
	d.offset += w->d.offset;
	d.length = w->d.length;
	d.final = true;
	send_data_out(i, &d);
	/* Perhaps R2Ts, perhaps a Reject; the command ends with a sense. */
	do {
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert_msg(p != NULL, "%s: no answer", w->name);
		if (p->bhs[0] == ISCSI_OP_R2T)
			ck_assert(!ini_answer_r2t(i, p, data, 0));
	} while (p->bhs[0] == ISCSI_OP_R2T || p->bhs[0] == ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[0], ISCSI_OP_SCSI_RESPONSE);
	ck_assert_msg(sense_of(p) == CRC_ERROR || sense_of(p) == INCORRECT_AMOUNT, "%s: sense %06x",
		      w->name, sense_of(p));
	expect_content(i, LUN_FILE, 900, 64, before);
	still_works(i);
}
END_TEST

START_TEST(no_such_task)
{
	COVERS("P-102 P-159 fault-A13");
	static const struct data_out rows[] = {
		{ .itt = 0x777777, .ttt = ISCSI_TAG_RESERVED, .length = 512, .final = true },
		{ .itt = 0x777777, .ttt = 0x70000000, .length = 512, .final = true },
		{ .itt = ISCSI_TAG_RESERVED, .ttt = ISCSI_TAG_RESERVED, .length = 512 },
	};
	struct ini *i = session(T_MAIN);
	struct data_out d = rows[_i];
	const struct ini_pdu *p;

	ready(i, LUN_RAM);
	d.data = data;
	send_data_out(i, &d);
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_msg(p->bhs[2] == REJECT_INVALID_PDU_FIELD || p->bhs[2] == REJECT_PROTOCOL_ERROR,
		      "Reject %02x", p->bhs[2]);
	still_works(i);
}
END_TEST

/* The answer to an R2T under the tag of no task: rejected, and nothing has happened; the right one
 * follows. */
START_TEST(nobodys_data)
{
	COVERS("P-102 P-156 P-161 U-037");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 512, .data = data, .final = true };
	const struct ini_pdu *p;
	uint32_t itt;

	ready(i, LUN_RAM);
	fill(data, 512, 7);
	itt = start_write(i, LUN_RAM, 810, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	d.itt = 0x777777;
	send_data_out(i, &d);
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_INVALID_PDU_FIELD);
	ck_assert_uint_eq(p->length, 48);
	ck_assert_uint_eq(p->data[0], ISCSI_OP_DATA_OUT);
	d.itt = itt;
	send_data_out(i, &d);
	expect_status(i, itt, 0);
	expect_content(i, LUN_RAM, 810, 1, data);
}
END_TEST

/* The right task, and a tag that nobody gave out; then the right tag with another task in it. The
 * LUN is left to the tag: Windows sends 0. */
START_TEST(not_of_this_transfer)
{
	COVERS("P-019 P-102 P-161");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 512, .data = data, .final = true };
	const struct ini_pdu *r2t[2];
	unsigned hit = _i ? 1 : 0; /* the task that the PDU names */

	ready(i, LUN_RAM);
	fill(data, 512, 8);
	for (unsigned n = 0; n < 2; n++) {
		start_write(i, LUN_RAM, 820 + n, 1, true, NULL, 0);
		r2t[n] = expect(i, ISCSI_OP_R2T);
	}
	d.itt = be32_of(r2t[hit], bhs_r2t, itt);
	d.ttt = _i ? be32_of(r2t[0], bhs_r2t, ttt) : 0x10000000 + be32_of(r2t[0], bhs_r2t, ttt);
	send_data_out(i, &d);
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
	/* What the right tag asked for comes still; that command fails, the other one does not. */
	ck_assert(!ini_answer_r2t(i, r2t[hit], data, 0));
	ck_assert(!unh_fails(i, d.itt, 0x0b0c0d, 0x0b0c0d));
	ck_assert(!ini_answer_r2t(i, r2t[!hit], data, 0));
	expect_status(i, be32_of(r2t[!hit], bhs_r2t, itt), 0);
}
END_TEST

/* A good task with another TTT, and the data of a task that has ended. */
START_TEST(wrong_or_stale_tag)
{
	COVERS("P-102 P-104");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .length = 512, .data = data, .final = true };
	static uint8_t other[512];

	ready(i, LUN_RAM);
	fill(data, 512, 5);
	d.itt = start_write(i, LUN_RAM, 800, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
	fill(other, 512, 6);
	d.data = other;
	send_data_out(i, &d); /* late: dropped, or rejected */
	while (await_pdu(i, 100))
		;
	expect_content(i, LUN_RAM, 800, 1, data);
}
END_TEST

void data_wrong_suite(TCase *c)
{
	add_table(c, wrong_data_out, wrong);
	add_table(c, wrong_unsolicited_data, wrong_unsolicited);
	add_rows(c, no_such_task, 3);
	add(c, nobodys_data);
	add_rows(c, not_of_this_transfer, 2);
	add(c, wrong_or_stale_tag);
}
