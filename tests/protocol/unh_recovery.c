/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL error recovery suite at level 0: of its series only the headings are to be had. One PDU
 * of a burst of four is damaged, or does not come: our reading of RFC 7143. */
#include "tests/protocol/unh.h"

#define CRC_ERROR        0x0b4705
#define INCORRECT_AMOUNT 0x0b0c0d
#define PIECE            1024u

static uint8_t data[4 * PIECE], before[4 * PIECE];

static struct ini *with_content(const char *keys)
{
	struct ini *i = unh_session(keys);
	struct ini_scsi c;

	ready(i, LUN_FILE);
	fill(before, sizeof(before), 94);
	fill(data, sizeof(data), 95);
	rw10(&c, WRITE10, LUN_FILE, UNH_BLOCK, 8, before);
	run_good(i, &c);
	return i;
}

/* A write whose four Data-Out PDUs may be sent; unasked for, or as answer to an R2T. */
static struct data_out begin(struct ini *i, bool solicited)
{
	struct data_out d = { .length = PIECE, .ttt = ISCSI_TAG_RESERVED };

	d.itt = start_write(i, LUN_FILE, UNH_BLOCK, 8, solicited, NULL, 0);
	if (solicited)
		d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	return d;
}

static void send_piece(struct ini *i, struct data_out *d, unsigned n)
{
	d->datasn = n;
	d->offset = n * PIECE;
	d->data = data + d->offset;
	d->final = n == 3;
	send_data_out(i, d);
}

#define DIGEST "\nDataDigest=CRC32C"

/* Rows: solicited or not; the first, a middle or the last PDU. Rejected, and the command fails when
 * all its data has come. */
START_TEST(damaged_data_out)
{
	COVERS("U-094 E-003 E-004 E-007 P-072");
	bool solicited = _i >= 3;
	unsigned damaged = _i % 3 == 2 ? 3 : (unsigned)_i % 3;
	struct ini *i = with_content(solicited ? USUAL("65536", "Yes", "No") DIGEST
					       : USUAL("65536", "No", "No") DIGEST);
	struct data_out d = begin(i, solicited);

	for (unsigned n = 0; n < 4; n++) {
		i->corrupt_data_digest = n == damaged;
		send_piece(i, &d, n);
	}
	i->corrupt_data_digest = false;
	expect_reject(i, REJECT_DATA_DIGEST);
	ck_assert(!unh_fails(i, d.itt, CRC_ERROR, CRC_ERROR));
	expect_nothing(i);
	expect_content(i, LUN_FILE, UNH_BLOCK, 8, before);
}
END_TEST

/* Requests other than Data-Out: rejected, as if they had not come, and may come again. */
START_TEST(damaged_request)
{
	COVERS("U-094 E-003 E-006 P-162");
	struct ini *i = with_content(USUAL("65536", "Yes", "Yes") DIGEST);
	struct bhs_scsi_command c;
	struct bhs_nop nop;
	struct bhs_text text;
	struct ini_scsi w;
	uint8_t *h[] = { (uint8_t *)&c, (uint8_t *)&nop, (uint8_t *)&text };
	static const uint8_t answers[] = { ISCSI_OP_SCSI_RESPONSE, ISCSI_OP_NOP_IN,
					   ISCSI_OP_TEXT_RESPONSE };

	rw10(&w, WRITE10, LUN_FILE, UNH_BLOCK, 2, NULL);
	if (_i == 0)
		ini_command(i, &c, LUN_FILE, ISCSI_CMD_WRITE, 1024, w.cdb, 10);
	else if (_i == 1)
		ini_nop(i, &nop, false);
	else
		ini_text(i, &text, false);
	memcpy(data, "FooBar=1", 9);
	i->corrupt_data_digest = true;
	ck_assert(!ini_send(i, h[_i], data, _i == 2 ? 9 : 1024));
	expect_reject(i, REJECT_DATA_DIGEST);
	i->corrupt_data_digest = false;
	ck_assert(!ini_send(i, h[_i], data, _i == 2 ? 9 : 1024));
	expect(i, answers[_i]);
	still_works(i);
}
END_TEST

/* A PDU of the burst is left out: as with a damaged one, or what was asked for is waited for until
 * somebody aborts it. */
START_TEST(lost_data_out)
{
	COVERS("U-095 E-008");
	struct ini *i = with_content(USUAL("65536", "Yes", "No"));
	struct data_out d = begin(i, true);
	struct bhs_tmf_request h;
	unsigned lost = _i == 2 ? 3 : (unsigned)_i;

	for (unsigned n = 0; n < 4; n++) {
		if (n != lost)
			send_piece(i, &d, n);
	}
	if (lost < 3) {
		ck_assert(!unh_fails(i, d.itt, CRC_ERROR, INCORRECT_AMOUNT));
	} else {
		expect_nothing(i);
		ini_tmf(i, &h, ISCSI_TMF_ABORT_TASK, LUN_FILE);
		put_be32(h.referenced_tag, d.itt);
		put_be32(h.ref_cmdsn, i->cmdsn - 1);
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
		ck_assert_uint_eq(expect(i, ISCSI_OP_TMF_RESPONSE)->bhs[2], 0);
	}
	expect_content(i, LUN_FILE, UNH_BLOCK, 8, before);
}
END_TEST

/* A command is left out: those behind it wait until it comes. */
START_TEST(lost_command)
{
	COVERS("U-095 P-021 P-022");
	struct ini *i = unh_session(NULL);
	struct bhs_scsi_command lost;
	struct ini_scsi c;
	uint32_t itt[3];

	cdb_of(&c, "00 00 00 00 00 00");
	ini_command(i, &lost, LUN_RAM, 0, 0, c.cdb, 6);
	for (unsigned n = 0; n < 3; n++)
		itt[n] = unh_start_read(i, LUN_RAM, UNH_BLOCK + n, 1);
	expect_nothing(i);
	ck_assert_uint_eq(i->exp_cmdsn, get_be32(lost.cmdsn));
	start(i, &lost);
	expect_status(i, get_be32(lost.itt), 0);
	for (unsigned n = 0; n < 3; n++)
		ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_DATA_IN), bhs_data_in, itt), itt[n]);
}
END_TEST

void unh_recovery_suite(TCase *c)
{
	add_rows(c, damaged_data_out, 6);
	add_rows(c, damaged_request, 3);
	add_rows(c, lost_data_out, 3);
	add(c, lost_command);
}
