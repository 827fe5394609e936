/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, groups 1 to 4, 6 and 16.4: numbers, allegiance, repeated commands
 * (full text). */
#include "tests/protocol/unh.h"

static uint8_t data[65536];

/* Ten writes of 1024 bytes; the seventh may be replaced by something else. */
static void ten_writes(struct ini *i, void seventh(struct ini *i))
{
	for (unsigned n = 0; n < 10; n++) {
		if (n == 6 && seventh)
			seventh(i);
		else
			unh_write(i, UNH_BLOCK + 2 * n, 2, data);
	}
}

START_TEST(max_cmdsn)
{
	COVERS("U-001 P-026");
	struct ini *i = unh_session(SOLICITED_1024);

	ten_writes(i, NULL);
	/* of every PDU so far */
	ck_assert_msg(!i->violations, "%s", i->violation);
	ck_assert_int_ge(sna_diff(i->max_cmdsn, i->exp_cmdsn - 1), 0);
}
END_TEST

static void beyond_the_window(struct ini *i)
{
	uint32_t next = i->cmdsn;

	ping(i);
	i->cmdsn = i->max_cmdsn + 1;
	start_write(i, LUN_RAM, UNH_BLOCK + 12, 2, true, NULL, 0);
	i->cmdsn = next;
	expect_nothing(i);
	ck_assert_uint_eq(i->exp_cmdsn, next);
}

START_TEST(cmdsn_outside_the_window)
{
	COVERS("U-002 P-023");
	struct ini *i = unh_session(SOLICITED_1024);

	ten_writes(i, beyond_the_window);
	expect_nothing(i);
}
END_TEST

/* The CmdSN of the sixth once more, with a new ITT. */
static void cmdsn_of_the_sixth(struct ini *i)
{
	i->cmdsn--;
	start_write(i, LUN_RAM, UNH_BLOCK + 12, 2, true, NULL, 0);
	expect_nothing(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
}

START_TEST(duplicate_cmdsn)
{
	COVERS("U-003 P-024");
	struct ini *i = unh_session(SOLICITED_1024);
	const struct ini_pdu *r2t;

	ten_writes(i, cmdsn_of_the_sixth);
	/* while the one before is still open */
	start_write(i, LUN_RAM, UNH_BLOCK, 2, true, NULL, 0);
	r2t = expect(i, ISCSI_OP_R2T);
	cmdsn_of_the_sixth(i);
	ck_assert(!ini_answer_r2t(i, r2t, data, 0));
	expect_status(i, be32_of(r2t, bhs_r2t, itt), 0);
	expect_nothing(i);
}
END_TEST

START_TEST(status_numbers)
{
	COVERS("U-004 L-047 P-037 P-038");
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN, .keys = SOLICITED_1024, .security = true };
	struct ini_pdu last;
	uint32_t statsn;

	ck_assert_int_eq(ini_login(i, &l, &last), 0);
	statsn = get_be32(last.bhs + 24);
	ini_pdu_free(&last);
	ck_assert_uint_eq(i->exp_statsn, statsn + 1);
	unh_prep(i);
	statsn = i->exp_statsn;
	for (unsigned n = 0; n < 10; n++) {
		uint32_t itt = start_write(i, LUN_RAM, UNH_BLOCK + 2 * n, 2, true, NULL, 0);
		const struct ini_pdu *r2t = expect(i, ISCSI_OP_R2T);
		const struct bhs_scsi_response *r;

		ck_assert_uint_eq(be32_of(r2t, bhs_r2t, statsn), statsn + n);
		ck_assert(!ini_answer_r2t(i, r2t, data, 0));
		r = expect_status(i, itt, 0);
		ck_assert_uint_eq(get_be32(r->statsn), statsn + n);
	}
}
END_TEST

/* Three commands at once, each with a series of its own. */
START_TEST(datasn)
{
	COVERS("U-005 P-077");
	struct ini *i = unh_session("MaxRecvDataSegmentLength=1024");
	uint32_t itt[3], next[3] = { 0 };
	unsigned open = 3;

	for (unsigned n = 0; n < 3; n++)
		itt[n] = unh_start_read(i, LUN_RAM, UNH_BLOCK + 16 * n, 16);
	while (open) {
		const struct bhs_data_in *d = bhs_of(expect(i, ISCSI_OP_DATA_IN), bhs_data_in);
		unsigned n = 0;

		while (n < 3 && itt[n] != get_be32(d->itt))
			n++;
		ck_assert_uint_lt(n, 3);
		ck_assert_uint_eq(get_be32(d->datasn), next[n]++);
		open -= (d->flags & ISCSI_DATA_IN_STATUS) != 0;
	}
	for (unsigned n = 0; n < 3; n++)
		ck_assert_uint_eq(next[n], 8);
}
END_TEST

START_TEST(r2tsn)
{
	COVERS("U-006 P-090");
	struct ini *i = unh_session(SOLICITED "MaxBurstLength=512\nFirstBurstLength=512");
	uint32_t itt[3], next[3] = { 0 };
	unsigned open = 3;

	for (unsigned n = 0; n < 3; n++)
		itt[n] = start_write(i, LUN_RAM, UNH_BLOCK + 16 * n, 4, true, NULL, 0);
	while (open) {
		const struct ini_pdu *p = await_pdu(i, patience(INI_WAIT_MS));
		unsigned n = 0;

		ck_assert(p != NULL);
		while (n < 3 && itt[n] != get_be32(p->bhs + 16))
			n++;
		ck_assert_uint_lt(n, 3);
		if (p->bhs[0] == ISCSI_OP_R2T) {
			ck_assert_uint_eq(be32_of(p, bhs_r2t, r2tsn), next[n]++);
			ck_assert(!ini_answer_r2t(i, p, data, 0));
			continue;
		}
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_SCSI_RESPONSE);
		ck_assert_uint_eq(p->bhs[3], 0);
		ck_assert_uint_eq(next[n], 4);
		open--;
	}
}
END_TEST

/* Two sessions, as the suite says where there is one connection in each. */
START_TEST(allegiance)
{
	COVERS("U-008 P-020");
	struct ini *i[2] = { unh_session(SOLICITED_1024), unh_session(SOLICITED_1024) };
	uint32_t wr[2], rd[2];

	for (unsigned n = 0; n < 2; n++) {
		i[n]->itt += 0x1000 * (n + 1);
		wr[n] = start_write(i[n], LUN_RAM, UNH_BLOCK + 8 * n, 2, true, NULL, 0);
		rd[n] = unh_start_read(i[n], LUN_RAM, UNH_BLOCK + 16, 4);
	}
	for (unsigned n = 2; n--;) {
		const struct ini_pdu *p;
		bool done[2] = { false, false };

		while (!done[0] || !done[1]) {
			p = await_pdu(i[n], patience(INI_WAIT_MS));
			ck_assert(p != NULL);
			if (p->bhs[0] == ISCSI_OP_DATA_IN) {
				ck_assert_uint_eq(get_be32(p->bhs + 16), rd[n]);
				done[0] |= (p->bhs[1] & ISCSI_DATA_IN_STATUS) != 0;
				continue;
			}
			ck_assert_uint_eq(get_be32(p->bhs + 16), wr[n]);
			done[1] = p->bhs[0] == ISCSI_OP_SCSI_RESPONSE;
			if (!done[1])
				ck_assert(!ini_answer_r2t(i[n], p, data, 0));
		}
		expect_nothing(i[n]);
	}
}
END_TEST

/* The identical command once more while its write is in progress: behind some of the data, and
 * right behind the R2T. */
START_TEST(retry_of_a_write)
{
	COVERS(_i ? "U-058 E-011 P-024 P-033" : "U-057 E-011 P-024 P-033");
	struct ini *i = unh_session(SOLICITED);
	struct bhs_scsi_command h;
	struct data_out d = { .length = 1024, .data = data };
	struct ini_scsi c;

	fill(data, 2048, 57 + (uint32_t)_i);
	rw10(&c, WRITE10, LUN_RAM, UNH_BLOCK, 4, NULL);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_WRITE, c.edtl, c.cdb, c.cdb_length);
	start(i, &h);
	d.itt = get_be32(h.itt);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	if (_i)
		start(i, &h);
	send_data_out(i, &d);
	if (!_i)
		start(i, &h);
	d.datasn++;
	d.offset = 1024;
	d.data += 1024;
	d.final = true;
	send_data_out(i, &d);
	expect_status(i, d.itt, 0);
	expect_nothing(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	expect_content(i, LUN_RAM, UNH_BLOCK, 4, data);
}
END_TEST

/* The first of four Data-Out PDUs goes under the next ITT: no status before the last one, and not
 * GOOD then. */
START_TEST(no_status_before_the_last_data_out)
{
	COVERS("U-059 P-060 P-102 P-156 E-008");
	struct ini *i = unh_session(SOLICITED);
	struct data_out d = { .length = 512, .data = data };
	struct ini_pdu p;
	int rc;

	d.itt = start_write(i, LUN_RAM, UNH_BLOCK, 4, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	d.itt++;
	send_data_out(i, &d);
	d.itt--;
	for (unsigned n = 0; n < 2; n++) {
		send_data_out(i, &d);
		d.datasn++;
		d.offset += 512;
		d.data += 512;
	}
	while ((rc = ini_receive(i, &p, 100)) == 1) {
		ck_assert_uint_eq(p.bhs[0], ISCSI_OP_REJECT);
		ck_assert_uint_eq(p.bhs[2], REJECT_INVALID_PDU_FIELD);
		ini_pdu_free(&p);
	}
	ck_assert_int_eq(rc, 0);
	d.final = true;
	send_data_out(i, &d);
	ck_assert(!unh_fails(i, d.itt, 0x0b0c0d, 0x0b4705));
}
END_TEST

void unh_numbers_suite(TCase *c)
{
	add(c, max_cmdsn);
	add(c, cmdsn_outside_the_window);
	add(c, duplicate_cmdsn);
	add(c, status_numbers);
	add(c, datasn);
	add(c, r2tsn);
	add(c, allegiance);
	add_rows(c, retry_of_a_write, 2);
	add(c, no_status_before_the_last_data_out);
}
