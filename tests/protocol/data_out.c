/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of writes: immediate, unsolicited, solicited. */
#include "tests/protocol/protocol.h"

#define INCORRECT_AMOUNT 0x0b0c0d
#define UNEXPECTED       0x0b0c0c

static uint8_t data[1 << 20];

static const struct limits {
	const char *name, *keys;
	uint32_t blocks, min_r2ts, max_r2ts;
} limits[] = {
	{ "usual", USUAL("65536", "No", "Yes"), 2048, 4, 4 },
	{ "nothing unasked", USUAL("65536", "Yes", "No"), 64, 1, 1 },
	{ "immediate only", USUAL("65536", "Yes", "Yes"), 512, 1, 1 },
	{ "unsolicited only", USUAL("65536", "No", "No"), 512, 1, 1 },
	{ "small bursts",
	  "InitialR2T=No\nImmediateData=Yes\nFirstBurstLength=4096\nMaxBurstLength=4096", 256, 31,
	  31 },
	{ "smallest", "InitialR2T=Yes\nImmediateData=No\nMaxBurstLength=512", 64, 64, 64 },
	{ "odd lengths",
	  "InitialR2T=No\nImmediateData=Yes\nFirstBurstLength=5001\nMaxBurstLength=7003", 100, 7,
	  7 },
	{ "four R2Ts at once",
	  "InitialR2T=Yes\nImmediateData=No\nMaxBurstLength=4096\nMaxOutstandingR2T=4", 256, 32,
	  32 },
	{ "all immediate", USUAL("65536", "Yes", "Yes"), 16, 0, 0 },
	{ "Linux",
	  "InitialR2T=No\nImmediateData=Yes\nFirstBurstLength=262144\nMaxBurstLength=16776192\n"
	  "MaxRecvDataSegmentLength=262144",
	  2048, 1, 1 },
};

START_TEST(within_limits)
{
	COVERS("P-037 P-038 P-050 P-053 P-089 P-090 P-091 P-092 P-093 P-095 T-068 T-069 T-070 "
	       "T-075 T-076 T-083");
	const struct limits *l = &limits[_i];
	struct ini *i = session_keys(T_MAIN, l->keys);
	struct ini_scsi c;

	ready(i, LUN_RAM);
	fill(data, sizeof(data), (uint32_t)_i);
	rw10(&c, WRITE10, LUN_RAM, 10000, (uint16_t)l->blocks, data);
	run_good(i, &c);
	ck_assert_msg(!(c.flags & 6) && !c.residual, "%s: residual", l->name);
	ck_assert_msg(c.n_r2t >= l->min_r2ts && c.n_r2t <= l->max_r2ts, "%s: %u R2Ts", l->name,
		      c.n_r2t);
	expect_content(i, LUN_RAM, 10000, (uint16_t)l->blocks, data);
}
END_TEST

/* As ESXi writes: 34 blocks, 8192 bytes with the command, 9216 behind it. */
START_TEST(esx_write)
{
	COVERS("T-070 P-050 P-064");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "No", "Yes"));
	const struct bhs_scsi_response *r;
	uint32_t itt;

	ready(i, LUN_RAM);
	fill(data, 34 * 512, 34);
	itt = start_write(i, LUN_RAM, 300, 34, false, data, 8192);
	send_data_out(i, &(struct data_out){ .itt = itt,
					     .ttt = ISCSI_TAG_RESERVED,
					     .offset = 8192,
					     .length = 9216,
					     .data = data + 8192,
					     .final = true });
	r = expect_status(i, itt, 0);
	ck_assert_uint_eq(r->flags, ISCSI_FINAL);
	ck_assert_uint_eq(get_be32(r->residual), 0);
	expect_content(i, LUN_RAM, 300, 34, data);
}
END_TEST

/* An answer to an R2T in PDUs of 512 bytes, as iPXE does; with a LUN of zeros and of nonsense, as
 * Windows does; with empty PDUs between. */
START_TEST(odd_but_right)
{
	COVERS("P-087 P-103");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	const struct ini_pdu *r2t;
	struct data_out d = { 0 };

	ready(i, LUN_FLAT);
	fill(data, 16 * 512, 21);
	d.itt = start_write(i, LUN_FLAT, 40, 16, true, NULL, 0);
	r2t = expect(i, ISCSI_OP_R2T);
	ck_assert_uint_eq(be32_of(r2t, bhs_r2t, desired_length), 16 * 512);
	d.ttt = be32_of(r2t, bhs_r2t, ttt);
	for (unsigned n = 0; n < 16; n++) {
		d.length = 0;
		d.final = false;
		send_data_out(i, &d);
		d.datasn++;
		d.length = 512;
		d.data = data + d.offset;
		d.lun_field = n % 2 ? 0 : 0x7777000000000000;
		d.final = n == 15;
		send_data_out(i, &d);
		d.datasn++;
		d.offset += 512;
	}
	expect_status(i, d.itt, 0);
	expect_content(i, LUN_FLAT, 40, 16, data);
}
END_TEST

/* Data that was not agreed on. (On a file: what a ram store receives is in place at once.) */
static const struct unexpected {
	const char *name, *keys;
	uint32_t immediate;
	bool final;
	uint32_t unsolicited;
	uint32_t sense; /* 0: GOOD */
	bool asked;     /* it does not wait for what may not come, whatever F says */
} unexpected[] = {
	{ "immediate, not agreed", USUAL("65536", "Yes", "No"), 512, true, 0, UNEXPECTED },
	{ "immediate, not agreed, unsolicited is", USUAL("65536", "No", "No"), 512, true, 0,
	  UNEXPECTED },
	{ "unsolicited, not agreed", USUAL("65536", "Yes", "Yes"), 0, false, 4096, UNEXPECTED,
	  true },
	{ "unsolicited behind immediate, not agreed", USUAL("65536", "Yes", "Yes"), 512, false,
	  3584, UNEXPECTED, true },
	{ "immediate beyond FirstBurstLength", USUAL("1024", "No", "Yes"), 2048, true, 0,
	  UNEXPECTED },
	{ "burst too short", USUAL("65536", "No", "Yes"), 512, false, 1024, INCORRECT_AMOUNT },
	{ "all with the command, F forgotten", USUAL("65536", "No", "Yes"), 4096, false, 0, 0 },
	{ "burst as agreed", USUAL("65536", "No", "Yes"), 512, false, 3584, 0 },
	{ "all unsolicited", USUAL("65536", "No", "No"), 0, false, 4096, 0 },
};

START_TEST(agreed_or_not)
{
	COVERS("T-067 T-068 T-069 T-070 T-077 P-047 P-051 P-052 P-070 P-071 P-060");
	const struct unexpected *u = &unexpected[_i];
	struct ini *i = session_keys(T_MAIN, u->keys);
	static uint8_t before[4096];
	struct ini_scsi c;
	uint32_t itt;

	ready(i, LUN_FILE);
	fill(before, sizeof(before), 1);
	rw10(&c, WRITE10, LUN_FILE, 600, 8, before);
	run_good(i, &c);
	fill(data, 4096, 2);
	itt = start_write(i, LUN_FILE, 600, 8, u->final, data, u->immediate);
	if (u->asked)
		expect(i, ISCSI_OP_R2T);
	else if (!u->final && u->unsolicited)
		expect_nothing(i); /* the answer waits for F */
	if (u->unsolicited)
		send_data_out(i, &(struct data_out){ .itt = itt,
						     .ttt = ISCSI_TAG_RESERVED,
						     .offset = u->immediate,
						     .length = u->unsolicited,
						     .data = data + u->immediate,
						     .final = true });
	if (u->asked)
		expect_reject(i, REJECT_INVALID_PDU_FIELD);
	if (u->sense) {
		const struct ini_pdu *p = expect(i, ISCSI_OP_SCSI_RESPONSE);

		ck_assert_msg(sense_of(p) == u->sense, "%s: sense %06x", u->name, sense_of(p));
	} else {
		expect_status(i, itt, 0);
	}
	expect_content(i, LUN_FILE, 600, 8, u->sense ? before : data);
	still_works(i);
}
END_TEST

/* All that comes unasked although it may not is taken before the command fails; what it was asked
 * for meanwhile comes late, and does no harm. */
START_TEST(not_agreed_in_two)
{
	COVERS("T-068 P-060 P-070 P-104");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d = { .ttt = ISCSI_TAG_RESERVED, .length = 2048, .data = data };
	const struct ini_pdu *r2t, *p;

	ready(i, LUN_FILE);
	d.itt = start_write(i, LUN_FILE, 600, 8, false, NULL, 0);
	r2t = expect(i, ISCSI_OP_R2T);
	send_data_out(i, &d);
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
	expect_nothing(i);
	d.datasn = 1;
	d.offset = 2048;
	d.final = true;
	send_data_out(i, &d);
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(sense_of(p), UNEXPECTED);
	ck_assert(!ini_answer_r2t(i, r2t, data, 0));
	expect_nothing(i);
}
END_TEST

/* A write that must fail, its data still on the way: the answer comes behind the data. */
START_TEST(failing_write_drains)
{
	COVERS("P-060 E-034");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "No", "Yes"));
	uint32_t itt;

	ready(i, LUN_RAM);
	itt = start_write(i, LUN_RAM, RAM_BLOCKS - 1, 64, false, data, 8192);
	for (uint32_t at = 8192; at < 32768; at += 8192) {
		expect_nothing(i);
		send_data_out(i, &(struct data_out){ .itt = itt,
						     .ttt = ISCSI_TAG_RESERVED,
						     .datasn = at / 8192 - 1,
						     .offset = at,
						     .length = 8192,
						     .data = data,
						     .final = at == 32768 - 8192 });
	}
	ck_assert_uint_eq(sense_of(expect(i, ISCSI_OP_SCSI_RESPONSE)), 0x052100);
	still_works(i);
}
END_TEST

/* Two commands' data, one PDU of each in turn. */
START_TEST(interleaved)
{
	COVERS("P-096");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	struct data_out d[2] = { 0 };
	static uint8_t two[2][8192];

	ready(i, LUN_RAM);
	for (unsigned n = 0; n < 2; n++) {
		fill(two[n], 8192, 50 + n);
		d[n].itt = start_write(i, LUN_RAM, 900 + 16 * n, 16, true, NULL, 0);
	}
	for (unsigned n = 0; n < 2; n++) {
		const struct ini_pdu *r2t = expect(i, ISCSI_OP_R2T);
		unsigned of = be32_of(r2t, bhs_r2t, itt) == d[1].itt;

		d[of].ttt = be32_of(r2t, bhs_r2t, ttt);
	}
	ck_assert_uint_ne(d[0].ttt, d[1].ttt);
	for (unsigned n = 0; n < 16; n++) {
		struct data_out *one = &d[n % 2];

		one->data = two[n % 2] + one->offset;
		one->length = 1024;
		one->final = one->offset == 7168;
		send_data_out(i, one);
		one->datasn++;
		one->offset += 1024;
	}
	expect(i, ISCSI_OP_SCSI_RESPONSE);
	expect(i, ISCSI_OP_SCSI_RESPONSE);
	for (unsigned n = 0; n < 2; n++)
		expect_content(i, LUN_RAM, 900 + 16 * n, 16, two[n]);
}
END_TEST

/* No more R2Ts at once than agreed, and a new one as soon as one is answered. */
START_TEST(outstanding_r2ts)
{
	COVERS("P-094 T-081");
	static const unsigned limit[] = { 1, 3, 8 };
	struct ini *i;
	const struct ini_pdu *r2t[8] = { 0 };
	unsigned have = 0, answered = 0;
	char keys[128];
	uint32_t itt;

	snprintf(keys, sizeof(keys),
		 "InitialR2T=Yes\nImmediateData=No\nMaxBurstLength=4096\nMaxOutstandingR2T=%u",
		 limit[_i]);
	i = session_keys(T_MAIN, keys);
	ready(i, LUN_RAM);
	fill(data, 65536, 9);
	itt = start_write(i, LUN_RAM, 1000, 128, true, NULL, 0);
	while (answered < 16) {
		unsigned want = 16 - answered < limit[_i] ? 16 - answered : limit[_i];

		for (; have < want; have++)
			r2t[have] = expect(i, ISCSI_OP_R2T);
		expect_nothing(i);
		ck_assert(!ini_answer_r2t(i, r2t[0], data, 0));
		memmove(r2t, r2t + 1, --have * sizeof(r2t[0]));
		answered++;
	}
	expect_status(i, itt, 0);
	expect_content(i, LUN_RAM, 1000, 128, data);
}
END_TEST

/* Large writes and small ones in a full queue: each R2T comes soon. */
START_TEST(r2ts_in_a_full_queue)
{
	COVERS("fault-A14");
	struct ini *i = session_keys(T_MAIN, "InitialR2T=No\nImmediateData=Yes\n"
					     "FirstBurstLength=131072\nMaxBurstLength=1048576\n"
					     "MaxRecvDataSegmentLength=262144");
	unsigned sent = 0, done = 0, open = 0;
	int64_t begin = clock_ms(), last = begin, worst = 0;

	ready(i, LUN_RAM);
	fill(data, sizeof(data), 14);
	while (done < 240) {
		const struct ini_pdu *p;

		while (open < 60 && sent < 240) {
			uint32_t blocks = sent % 3 ? 8 : 2048;
			uint32_t now = blocks * 512 < 131072 ? blocks * 512 : 131072;

			start_write(i, LUN_RAM, sent * 16, (uint16_t)blocks, true, data, now);
			sent++;
			open++;
		}
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert(p != NULL);
		worst = clock_ms() - last > worst ? clock_ms() - last : worst;
		last = clock_ms();
		if (p->bhs[0] == ISCSI_OP_R2T) {
			ck_assert(!ini_answer_r2t(i, p, data, 0));
		} else {
			ck_assert_uint_eq(p->bhs[0], ISCSI_OP_SCSI_RESPONSE);
			ck_assert_msg(p->bhs[3] == 0 || p->bhs[3] == 0x28, "status %02x",
				      p->bhs[3]);
			done++;
			open--;
		}
	}
	ck_assert_int_lt((int)worst, patience(5000));
}
END_TEST

void data_out_suite(TCase *c)
{
	add_table(c, within_limits, limits);
	add(c, esx_write);
	add(c, odd_but_right);
	add_table(c, agreed_or_not, unexpected);
	add(c, not_agreed_in_two);
	add(c, failing_write_drains);
	add(c, interleaved);
	add_rows(c, outstanding_r2ts, 3);
	add(c, r2ts_in_a_full_queue);
}
