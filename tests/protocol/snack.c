/* SPDX-License-Identifier: BSD-2-Clause */
/* ErrorRecoveryLevel 1: SNACK, and what is kept for it (RFC 7143 11.16). */
#include "tests/protocol/snack.h"

/* The next PDU is Data-In number n of the READ, and brings what is there. */
static const struct ini_pdu *data_in(struct ini *i, uint32_t itt, uint32_t n)
{
	const struct ini_pdu *p = expect(i, ISCSI_OP_DATA_IN);
	const struct bhs_data_in *d = bhs_of(p, bhs_data_in);

	ck_assert_uint_eq(get_be32(d->itt), itt);
	ck_assert_uint_eq(get_be32(d->datasn), n);
	ck_assert_uint_eq(get_be32(d->buffer_offset), n * 1024);
	ck_assert_uint_eq(p->length, 1024);
	ck_assert_uint_eq(!!(d->flags & ISCSI_FINAL), n % 8 == 7);
	ck_assert_uint_eq(d->flags & ISCSI_DATA_IN_STATUS, 0);
	ck_assert(!memcmp(p->data, content + (size_t)n * 1024, 1024));
	return p;
}

static uint32_t start_read(struct ini *i)
{
	struct bhs_scsi_command h;
	struct ini_scsi c;

	rw10(&c, READ10, LUN_RAM, BLOCK, BLOCKS, content);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, BYTES, c.cdb, c.cdb_length);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	return get_be32(h.itt);
}

/* A READ to its status, of which the target has not heard yet; the TTT of A=1. */
static uint32_t read_all(struct ini *i, uint32_t *ret_ttt)
{
	uint32_t itt = start_read(i);

	for (uint32_t n = 0; n < PIECES; n++) {
		const struct bhs_data_in *d = bhs_of(data_in(i, itt, n), bhs_data_in);
		bool asks = d->flags & ISCSI_DATA_IN_ACK;

		ck_assert_uint_eq(asks, n == 7); /* at the end of a sequence, not at the last */
		if (asks && ret_ttt)
			*ret_ttt = get_be32(d->ttt);
	}
	withhold(i);
	expect_status(i, itt, 0);
	return itt;
}

/* And when it is acknowledged nothing of it can be had any more. */
static void acknowledge(struct ini *i, uint32_t itt)
{
	i->withholds = false;
	ping(i);
	send_snack(i, &(struct snack){ .type = SNACK_DATA_R2T, .itt = itt, .runlength = 1 });
	expect_reject(i, REJECT_PROTOCOL_ERROR);
}

static const struct run {
	uint32_t begrun, runlength, first, end;
} runs[] = {
	{ 1, 1, 1, 2 },  { 3, 4, 3, 7 },    { 6, 4, 6, 10 },  { 5, 0, 5, 16 },
	{ 0, 0, 0, 16 }, { 15, 1, 15, 16 }, { 0, 16, 0, 16 }, { 15, 0, 15, 16 },
};

START_TEST(data_again)
{
	COVERS("P-152 P-166 P-084 P-085 E-066 U-031 U-032 U-090 U-091 U-092 E-010");
	struct ini *i = level_1(LEVEL_1("1024"));
	const struct run *r = &runs[_i];
	uint32_t itt = read_all(i, NULL);

	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, r->begrun, r->runlength });
	for (uint32_t n = r->first; n < r->end; n++) {
		const struct bhs_data_in *d = bhs_of(data_in(i, itt, n), bhs_data_in);

		ck_assert_uint_eq(!!(d->flags & ISCSI_DATA_IN_ACK), n == 7);
	}
	expect_nothing(i);
	acknowledge(i, itt);
}
END_TEST

/* Asked for while the rest is still on its way: all of it comes, and one status. */
START_TEST(data_again_at_once)
{
	COVERS("P-152 U-031");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t itt = start_read(i), seen[PIECES] = { 0 }, n = 0;
	const struct ini_pdu *p;

	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 0, 0 });
	for (;;) {
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert(p != NULL);
		if (p->bhs[0] != ISCSI_OP_DATA_IN)
			break;
		n = be32_of(p, bhs_data_in, datasn);
		ck_assert(n < PIECES && !memcmp(p->data, content + (size_t)n * 1024, 1024));
		seen[n]++;
	}
	/* Nothing had been sent yet, or some of it. */
	if (p->bhs[0] == ISCSI_OP_REJECT)
		ck_assert_uint_eq(p->bhs[2], REJECT_PROTOCOL_ERROR);
	else
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_SCSI_RESPONSE);
	while ((p = await_pdu(i, 200)))
		if (p->bhs[0] == ISCSI_OP_DATA_IN)
			seen[be32_of(p, bhs_data_in, datasn)]++;
	for (n = 0; n < PIECES; n++)
		ck_assert_uint_ge(seen[n], 1);
	still_works(i);
}
END_TEST

static const struct snack wrong_data[] = {
	{ SNACK_DATA_R2T, 0, 0, 16, 1 },         { SNACK_DATA_R2T, 0, 0, 15, 2 },
	{ SNACK_DATA_R2T, 0, 0, 255, 1 },        { SNACK_DATA_R2T, 0, 0, 1, 0xffffffff },
	{ SNACK_DATA_R2T, 0, 0, 0xffffffff, 2 }, { SNACK_DATA_R2T, 0, 0, 0, 17 },
};

/* Numbers that were not sent: refused with the next one. */
START_TEST(data_never_sent)
{
	COVERS("P-153 P-160");
	struct ini *i = level_1(LEVEL_1("1024"));
	struct snack s = wrong_data[_i];
	const struct bhs_reject *r;

	s.itt = read_all(i, NULL);
	send_snack(i, &s);
	r = bhs_of(expect(i, ISCSI_OP_REJECT), bhs_reject);
	ck_assert_uint_eq(r->reason, REJECT_PROTOCOL_ERROR);
	ck_assert_uint_eq(get_be32(r->datasn), PIECES);
	still_works(i);
}
END_TEST

/* DataACK: what it acknowledges is not to be had again, the rest is. */
START_TEST(data_ack)
{
	COVERS("P-154 P-153 E-066");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t ttt = ISCSI_TAG_RESERVED, itt = read_all(i, &ttt);

	ck_assert_uint_ne(ttt, ISCSI_TAG_RESERVED);
	send_snack(i, &(struct snack){ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, ttt, 8, 0 });
	expect_nothing(i);
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 7, 1 });
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 0, 0 });
	for (uint32_t n = 8; n < PIECES; n++)
		data_in(i, itt, n);
	expect_nothing(i);
}
END_TEST

START_TEST(wrong_data_ack)
{
	COVERS("P-154 P-156 P-161 U-038");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t ttt = 0, itt = read_all(i, &ttt);
	struct snack s[] = {
		{ SNACK_DATA_ACK, itt, ttt, 8, 0 },
		{ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, ttt + 1, 8, 0 },
		{ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, 0, 8, 0 },
		{ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, ttt, 17, 0 },
		{ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, ttt, 0, 0 },
		{ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, ttt, 8, 1 },
	};
	const struct ini_pdu *p;

	send_snack(i, &s[_i]);
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_INVALID_DATA_ACK);
	ck_assert_uint_eq(p->length, ISCSI_BHS_SIZE);
	/* Nothing was acknowledged by it. */
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 0, 1 });
	data_in(i, itt, 0);
}
END_TEST

static void declare(struct ini *i, const char *bytes)
{
	char text[64];
	struct bhs_text t;
	int n = snprintf(text, sizeof(text), "MaxRecvDataSegmentLength=%s", bytes);

	ini_text(i, &t, true);
	put_be32(t.sn2, ini_ack(i));
	ck_assert(!ini_send(i, (uint8_t *)&t, text, (uint32_t)n + 1));
	expect(i, ISCSI_OP_TEXT_RESPONSE);
}

/* All of it anew that is not acknowledged, in smaller pieces, and the status with the tag. */
START_TEST(r_data)
{
	COVERS("P-155 P-075");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t ttt = 0, itt = read_all(i, &ttt), statsn = i->acked, acked = (uint32_t)_i * 8;
	const struct ini_pdu *p;

	if (acked)
		send_snack(i, &(struct snack){ SNACK_DATA_ACK, ISCSI_TAG_RESERVED, ttt, acked, 0 });
	declare(i, "512");
	i->track[itt % INI_TRACKS].datasn = acked;
	i->track[itt % INI_TRACKS].offset = acked * 1024;
	i->track[itt % INI_TRACKS].burst = 0;
	send_snack(i, &(struct snack){ SNACK_R_DATA, itt, 0x1234, 0, 0 });
	for (uint32_t at = acked * 1024; at < BYTES; at += 512) {
		p = expect(i, ISCSI_OP_DATA_IN);
		ck_assert_uint_eq(p->length, 512);
		ck_assert_uint_eq(be32_of(p, bhs_data_in, datasn),
				  acked + (at - acked * 1024) / 512);
		ck_assert_uint_eq(be32_of(p, bhs_data_in, buffer_offset), at);
		ck_assert(!memcmp(p->data, content + at, 512));
	}
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_scsi_response, snack_tag), 0x1234);
	ck_assert_uint_eq(be32_of(p, bhs_scsi_response, statsn), statsn);
	ck_assert_uint_eq(be32_of(p, bhs_scsi_response, itt), itt);
	still_works(i);
}
END_TEST

/* After such a declaration the pieces as they were cannot be had, and wrong tags are refused. */
START_TEST(r_data_wrong)
{
	COVERS("P-168");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t itt = read_all(i, NULL), statsn = i->acked;
	const struct snack wrong[] = {
		{ SNACK_R_DATA, itt, ISCSI_TAG_RESERVED, 0, 0 },
		{ SNACK_R_DATA, itt, 5, 1, 0 },
		{ SNACK_R_DATA, itt, 5, 0, 1 },
		{ SNACK_R_DATA, itt ^ 0x5555, 5, 0, 0 },
		{ (enum iscsi_snack)4, itt, 0, 0, 0 },
		{ (enum iscsi_snack)15, itt, 0, 0, 0 },
		{ SNACK_DATA_R2T, itt, 5, 0, 1 },
		{ SNACK_STATUS, itt, 0, statsn, 1 },
	};

	send_snack(i, &wrong[_i]);
	ck_assert_uint_eq(bhs_of(expect(i, ISCSI_OP_REJECT), bhs_reject)->statsn[3],
			  (statsn + 1) & 0xff);
	still_works(i);
}
END_TEST

/* The pieces change in the midst of a READ: those before cannot be had as they were, and the
 * command fails. */
static bool is_refused(void)
{
	struct ini *i = level_1("ErrorRecoveryLevel=1\nMaxRecvDataSegmentLength=8192");
	struct bhs_scsi_command h;
	bool rejected = false;
	struct bhs_text t;
	struct ini_scsi c;

	rw10(&c, READ10, LUN_RAM, 0, 32768, content); /* more than fits on the way */
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, 16u << 20, c.cdb, c.cdb_length);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect(i, ISCSI_OP_DATA_IN);
	ini_text(i, &t, true);
	ck_assert(!ini_send(i, (uint8_t *)&t, "MaxRecvDataSegmentLength=4096", 30));
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, get_be32(h.itt), 0, 0, 1 });
	do {
		struct ini_pdu got;

		ck_assert_int_eq(ini_receive(i, &got, patience(INI_WAIT_MS)), 1);
		if (got.bhs[0] == ISCSI_OP_REJECT) {
			ck_assert_uint_eq(got.bhs[2], REJECT_SNACK);
			rejected = true;
		}
		c.status = got.bhs[3];
		c.response = got.bhs[0];
		c.residual = got.bhs[0] == ISCSI_OP_SCSI_RESPONSE ? sense_of(&got) : 0;
		ini_pdu_free(&got);
	} while (c.response != ISCSI_OP_SCSI_RESPONSE);
	if (rejected) {
		ck_assert_uint_eq(c.residual, 0x0b1113);
		still_works(i);
	}
	ini_close(i);
	return rejected;
}

/* A daemon that is slower than this test sends all of it before it looks at the requests, which
 * proves nothing: so once more. */
START_TEST(refused)
{
	COVERS("P-073 P-158");
	bool done = false;

	for (unsigned tries = 0; tries < 20 && !done; tries++)
		done = is_refused();
	ck_assert(done || getenv("HAWSER_TEST_SLOW"));
}
END_TEST

/* SNACKs without end, none of them read for a while: what comes is what was asked for. */
START_TEST(storm)
{
	COVERS("P-152 E-019");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t itt = read_all(i, NULL);
	const struct ini_pdu *p;

	for (uint32_t n = 0; n < 2000; n++)
		send_snack(i, &(struct snack){ n % 3 ? SNACK_DATA_R2T : SNACK_STATUS,
					       n % 3 ? itt : ISCSI_TAG_RESERVED, 0,
					       n % 3 ? n % PIECES : i->acked, 1 });
	while ((p = await_pdu(i, 300))) {
		uint32_t n = be32_of(p, bhs_data_in, datasn);

		if (p->bhs[0] != ISCSI_OP_DATA_IN) {
			ck_assert_uint_eq(p->bhs[0], ISCSI_OP_SCSI_RESPONSE);
			continue;
		}
		ck_assert(n < PIECES && !memcmp(p->data, content + (size_t)n * 1024, 1024));
	}
	acknowledge(i, itt);
	still_works(i);
}
END_TEST

/* A tag that is used again while the status with it is not acknowledged names the new task. */
START_TEST(tag_used_again)
{
	COVERS("P-152");
	struct ini *i = level_1(LEVEL_1("1024"));
	uint32_t itt = read_all(i, NULL);

	i->itt = itt;
	ck_assert_uint_eq(read_all(i, NULL) == itt, 1);
	send_snack(i, &(struct snack){ SNACK_DATA_R2T, itt, 0, 3, 1 });
	data_in(i, itt, 3);
	expect_nothing(i);
}
END_TEST

void snack_suite(TCase *c)
{
	add_table(c, data_again, runs);
	add(c, data_again_at_once);
	add_table(c, data_never_sent, wrong_data);
	add(c, data_ack);
	add_rows(c, wrong_data_ack, 6);
	add_rows(c, r_data, 3);
	add_rows(c, r_data_wrong, 8);
	add(c, refused);
	add(c, storm);
	add(c, tag_used_again);
}
