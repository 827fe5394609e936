/* SPDX-License-Identifier: BSD-2-Clause */
/* ErrorRecoveryLevel 1: SNACK for statuses and R2Ts, and statuses that nobody acknowledges. */
#include "tests/protocol/snack.h"

/* A status not heard of, and one that was. */
START_TEST(status_again)
{
	COVERS("P-151 P-075 P-153 P-040 U-093 E-066");
	struct ini *i = level_1(LEVEL_1("65536"));
	struct bhs_scsi_response first;
	struct ini_scsi c;
	const struct ini_pdu *p;
	uint32_t statsn;

	cdb_of(&c, "ff 00 00 00 00 00");
	withhold(i);
	ck_assert(!ini_scsi_start(i, &c));
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	first = *bhs_of(p, bhs_scsi_response);
	statsn = get_be32(first.statsn);
	for (int all = 0; all < 2; all++) {
		const struct bhs_scsi_response *r;

		send_snack(i, &(struct snack){ SNACK_STATUS, ISCSI_TAG_RESERVED, 0,
					       all ? 0 : statsn, all ? 0 : 1 });
		p = expect(i, ISCSI_OP_SCSI_RESPONSE);
		r = bhs_of(p, bhs_scsi_response);
		ck_assert(!memcmp(r, &first, 28) && !memcmp(r->exp_datasn, first.exp_datasn, 12));
		ck_assert_uint_eq(sense_of(p), 0x052000);
	}
	i->withholds = false;
	ping(i);
	ping(i); /* by which the answer to the one before is acknowledged */
	send_snack(i, &(struct snack){ SNACK_STATUS, ISCSI_TAG_RESERVED, 0, 0, 0 });
	expect_nothing(i);
	send_snack(i, &(struct snack){ SNACK_STATUS, ISCSI_TAG_RESERVED, 0, statsn, 1 });
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	send_snack(i, &(struct snack){ SNACK_STATUS, ISCSI_TAG_RESERVED, 0, i->exp_statsn + 9, 1 });
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	still_works(i);
}
END_TEST

/* Each kind of response has its number, and comes again with it. */
START_TEST(all_responses_again)
{
	COVERS("P-151 P-166");
	struct ini *i = level_1(LEVEL_1("65536"));
	uint32_t from = i->exp_statsn;
	struct bhs_nop h;

	withhold(i);
	for (int n = 0; n < 3; n++) {
		ini_nop(i, &h, true);
		ck_assert(!ini_send(i, (uint8_t *)&h, "data", (uint32_t)n));
		expect(i, ISCSI_OP_NOP_IN);
	}
	send_snack(i, &(struct snack){ SNACK_STATUS, ISCSI_TAG_RESERVED, 0, 0, 0 });
	for (uint32_t n = 0; n < 3; n++) {
		const struct ini_pdu *p = expect(i, ISCSI_OP_NOP_IN);

		ck_assert_uint_eq(p->length, n);
		ck_assert_uint_eq(get_be32(p->bhs + 24), from + n);
	}
	still_works(i);
}
END_TEST

START_TEST(r2t_again)
{
	COVERS("P-152 P-153 P-160 P-167 U-030 U-033 U-089 T-084");
	struct ini *i =
	    level_1(LEVEL_1("65536") "InitialR2T=Yes\nImmediateData=No\nMaxOutstandingR2T=8");
	uint32_t itt = start_write(i, LUN_RAM, BLOCK, BLOCKS, true, NULL, 0);
	struct bhs_r2t first = *bhs_of(expect(i, ISCSI_OP_R2T), bhs_r2t);
	struct data_out d = { .itt = itt,
			      .ttt = get_be32(first.ttt),
			      .length = 8192,
			      .data = content,
			      .final = true };
	const struct ini_pdu *p;

	ck_assert_uint_eq(i->max_r2t, 1);
	for (uint32_t run = 0; run < 2; run++) {
		send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 0, run });
		p = expect(i, ISCSI_OP_R2T);
		ck_assert(!memcmp(p->bhs, &first, sizeof(first)));
	}
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 255, 1 });
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_PROTOCOL_ERROR);
	ck_assert_uint_eq(be32_of(p, bhs_reject, datasn), 1);
	send_data_out(i, &d);
	p = expect(i, ISCSI_OP_R2T);
	ck_assert_uint_eq(be32_of(p, bhs_r2t, r2tsn), 1);
	/* The first has been answered. */
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 0, 1 });
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	d.ttt = be32_of(p, bhs_r2t, ttt);
	d.offset = 8192;
	d.data = content + 8192;
	send_data_out(i, &d);
	expect_status(i, itt, 0);
	expect_content(i, LUN_RAM, BLOCK, BLOCKS, content);
}
END_TEST

/* An initiator that acknowledges nothing is asked, and then closed; nobody else notices. */
START_TEST(never_acknowledged)
{
	COVERS("E-022 E-066");
	struct ini *i = level_1(LEVEL_1("1024"));
	bool asked = false;
	struct ini_pdu p;
	int rc = 1, n = 0;

	withhold(i);
	while (rc == 1) {
		struct bhs_nop h;

		ini_nop(i, &h, true);
		if (ini_send(i, (uint8_t *)&h, "x", 1))
			break;
		do {
			rc = ini_receive(i, &p, patience(INI_WAIT_MS));
			if (rc != 1)
				break;
			asked |= get_be32(p.bhs + 16) == ISCSI_TAG_RESERVED;
			ini_pdu_free(&p);
		} while (get_be32(p.bhs + 16) == ISCSI_TAG_RESERVED);
		ck_assert_msg(++n < 20000, "it is still open");
	}
	ck_assert(asked);
}
END_TEST

void snack_status_suite(TCase *c)
{
	add(c, status_again);
	add(c, all_responses_again);
	add(c, r2t_again);
	add(c, never_acknowledged);
}
