/* SPDX-License-Identifier: BSD-2-Clause */
/* ErrorRecoveryLevel 1: data of writes that is lost or damaged, and asked for again (RFC 7143 7.8,
 * 7.9). What is on the medium in the end is what was meant to be. */
#include "tests/protocol/protocol.h"

#define BLOCK  61000u
#define BLOCKS 64u
#define BYTES  (BLOCKS * 512)
#define PIECE  2048u /* a Data-Out PDU */

#define LEVEL_1                                                                                    \
	"ErrorRecoveryLevel=1\nDataDigest=CRC32C\nMaxBurstLength=16384\n"                          \
	"MaxRecvDataSegmentLength=4096\n"

static uint8_t content[BYTES];

enum fate { FINE, LOST, DAMAGED };

static struct ini *level_1(const char *keys)
{
	struct ini *i = session_keys(T_LEVEL_1, keys);

	ck_assert(i->recovery && i->data_digest);
	ready(i, LUN_FILE);
	fill(content, BYTES, 83);
	return i;
}

static uint32_t piece = PIECE; /* of a sequence; each test is a process */

/* Sends [offset, end) as one sequence; piece n has fate n. Returns those damaged. */
static unsigned sequence(struct ini *i, uint32_t itt, uint32_t ttt, uint32_t offset, uint32_t end,
			 const enum fate *fates)
{
	struct data_out d = { .itt = itt, .ttt = ttt, .offset = offset };
	unsigned damaged = 0;

	for (; d.offset < end; d.offset += d.length, d.datasn++) {
		enum fate fate = fates ? fates[d.datasn] : FINE;

		d.length = end - d.offset < piece ? end - d.offset : piece;
		d.final = d.offset + d.length == end;
		d.data = content + d.offset;
		if (fate == LOST && !d.final)
			continue;
		i->corrupt_data_digest = fate != FINE;
		damaged += fate != FINE;
		send_data_out(i, &d);
		i->corrupt_data_digest = false;
	}
	return damaged;
}

struct r2t {
	uint32_t ttt, sn, offset, length;
};

/* The next R2T behind `rejects` Rejects for digests. */
static struct r2t next_r2t(struct ini *i, unsigned rejects)
{
	const struct bhs_r2t *r;

	while (rejects--)
		expect_reject(i, REJECT_DATA_DIGEST);
	r = bhs_of(expect(i, ISCSI_OP_R2T), bhs_r2t);
	return (struct r2t){ get_be32(r->ttt), get_be32(r->r2tsn), get_be32(r->buffer_offset),
			     get_be32(r->desired_length) };
}

static const struct loss {
	const char *name;
	enum fate fates[8];
	uint32_t offset, length; /* of the recovery R2T */
} losses[] = {
	{ "first damaged", { DAMAGED }, 0, PIECE },
	{ "one damaged", { 0, 0, DAMAGED }, 2 * PIECE, PIECE },
	{ "last damaged", { 0, 0, 0, 0, 0, 0, 0, DAMAGED }, 7 * PIECE, PIECE },
	{ "two in a row", { 0, DAMAGED, DAMAGED }, PIECE, 2 * PIECE },
	{ "one lost", { 0, 0, 0, LOST }, 3 * PIECE, PIECE },
	{ "first lost", { LOST, LOST }, 0, 2 * PIECE },
	{ "lost and damaged", { 0, 0, LOST, DAMAGED }, 2 * PIECE, 2 * PIECE },
};

/* One recovery R2T for what is missing, when the sequence has ended, then the others. */
START_TEST(solicited)
{
	COVERS("E-005 E-007 E-008 E-009 P-090 U-081 U-094 U-095");
	const struct loss *l = &losses[_i];
	struct ini *i = level_1(LEVEL_1 "InitialR2T=Yes\nImmediateData=No\n");
	uint32_t itt = start_write(i, LUN_FILE, BLOCK, BLOCKS, true, NULL, 0);
	struct r2t r = next_r2t(i, 0);
	unsigned damaged;

	ck_assert_uint_eq(r.length, 16384);
	damaged = sequence(i, itt, r.ttt, 0, 16384, l->fates);
	r = next_r2t(i, damaged);
	ck_assert_msg(r.offset == l->offset && r.length == l->length && r.sn == 1,
		      "%s: R2T %u for %u at %u", l->name, r.sn, r.length, r.offset);
	sequence(i, itt, r.ttt, r.offset, r.offset + r.length, NULL);
	r = next_r2t(i, 0);
	ck_assert(r.offset == 16384 && r.length == 16384 && r.sn == 2);
	sequence(i, itt, r.ttt, r.offset, r.offset + r.length, NULL);
	expect_status(i, itt, 0);
	expect_content(i, LUN_FILE, BLOCK, BLOCKS, content);
}
END_TEST

/* The same of data that comes unasked. */
START_TEST(unsolicited)
{
	COVERS("E-005 E-007 E-008");
	const struct loss *l = &losses[_i];
	struct ini *i =
	    level_1(LEVEL_1 "InitialR2T=No\nImmediateData=No\nFirstBurstLength=16384\n");
	uint32_t itt = start_write(i, LUN_FILE, BLOCK, 32, false, NULL, 0);
	unsigned damaged = sequence(i, itt, ISCSI_TAG_RESERVED, 0, 16384, l->fates);
	uint32_t asked = 0;

	while (damaged || asked < l->length) {
		const struct ini_pdu *p = await_pdu(i, patience(INI_WAIT_MS));
		struct bhs_r2t r;

		ck_assert_msg(p != NULL, "%s: nothing comes", l->name);
		if (p->bhs[0] == ISCSI_OP_REJECT) {
			ck_assert_uint_gt(damaged, 0);
			damaged--;
			continue;
		}
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_R2T);
		r = *bhs_of(p, bhs_r2t);
		ck_assert_uint_eq(get_be32(r.buffer_offset), l->offset + asked);
		asked += get_be32(r.desired_length);
		sequence(i, itt, get_be32(r.ttt), get_be32(r.buffer_offset), l->offset + asked,
			 NULL);
	}
	ck_assert_uint_eq(asked, l->length);
	expect_status(i, itt, 0);
	expect_content(i, LUN_FILE, BLOCK, 32, content);
}
END_TEST

/* More gaps in a sequence than are remembered: the command fails. */
START_TEST(too_many)
{
	COVERS("P-072 E-005 E-007");
	struct ini *i = level_1("ErrorRecoveryLevel=1\nDataDigest=CRC32C\nMaxBurstLength=262144\n"
				"InitialR2T=Yes\nImmediateData=No\n");
	static uint8_t before[BYTES];
	enum fate fates[64];
	struct ini_scsi c;
	const struct ini_pdu *p;
	uint32_t itt;

	fill(before, sizeof(before), 6);
	rw10(&c, WRITE10, LUN_FILE, BLOCK, BLOCKS, before);
	run_good(i, &c);
	for (unsigned n = 0; n < 64; n++)
		fates[n] = n % 2 ? FINE : LOST;
	itt = start_write(i, LUN_FILE, BLOCK, BLOCKS, true, NULL, 0);
	piece = 512;
	sequence(i, itt, next_r2t(i, 0).ttt, 0, BYTES, fates);
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(sense_of(p), 0x0b4705);
	expect_content(i, LUN_FILE, BLOCK, BLOCKS, before);
}
END_TEST

/* Always damaged: the target gives up. */
START_TEST(never_right)
{
	COVERS("P-072 E-005 E-007");
	static const enum fate all[8] = { DAMAGED };
	struct ini *i = level_1(LEVEL_1 "InitialR2T=Yes\nImmediateData=No\n");
	static uint8_t before[1024];
	const struct ini_pdu *p;
	struct ini_scsi c;
	uint32_t itt;

	fill(before, sizeof(before), 5);
	rw10(&c, WRITE10, LUN_FILE, BLOCK, 2, before);
	run_good(i, &c);
	itt = start_write(i, LUN_FILE, BLOCK, 2, true, NULL, 0);
	for (int n = 0; n < 64; n++) {
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert(p != NULL);
		if (p->bhs[0] == ISCSI_OP_SCSI_RESPONSE)
			break;
		if (p->bhs[0] == ISCSI_OP_R2T)
			sequence(i, itt, be32_of(p, bhs_r2t, ttt), 0, 1024, all);
	}
	ck_assert_uint_eq(sense_of(p), 0x0b4705);
	expect_content(i, LUN_FILE, BLOCK, 2, before);
}
END_TEST

/* The last PDU does not come: after a while the target asks for it. */
START_TEST(end_lost)
{
	COVERS("E-005 U-095");
	struct ini *i = level_1(LEVEL_1 "InitialR2T=Yes\nImmediateData=No\n");
	uint32_t itt = start_write(i, LUN_FILE, BLOCK, 8, true, NULL, 0);
	struct data_out d = {
		.itt = itt, .ttt = next_r2t(i, 0).ttt, .length = PIECE, .data = content
	};
	const struct ini_pdu *p;

	send_data_out(i, &d);
	p = await_pdu(i, patience(20000));
	ck_assert(p && p->bhs[0] == ISCSI_OP_R2T);
	ck_assert_uint_eq(be32_of(p, bhs_r2t, buffer_offset), PIECE);
	sequence(i, itt, be32_of(p, bhs_r2t, ttt), PIECE, 4096, NULL);
	expect_status(i, itt, 0);
	expect_content(i, LUN_FILE, BLOCK, 8, content);
}
END_TEST

/* A retry of a command in progress is no second command. */
START_TEST(retry)
{
	COVERS("E-011 P-033 U-083");
	struct ini *i = level_1(LEVEL_1 "InitialR2T=Yes\nImmediateData=No\n");
	struct bhs_scsi_command h;
	struct ini_scsi c;
	struct r2t r;

	rw10(&c, WRITE10, LUN_FILE, BLOCK, 32, NULL);
	ini_command(i, &h, LUN_FILE, ISCSI_CMD_WRITE, 16384, c.cdb, c.cdb_length);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	r = next_r2t(i, 0);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_nothing(i);
	sequence(i, get_be32(h.itt), r.ttt, 0, 16384, NULL);
	expect_status(i, get_be32(h.itt), 0);
	/* It is over, and its status not acknowledged: still none. */
	put_be32(h.exp_statsn, i->exp_statsn - 1);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect_nothing(i);
	expect_content(i, LUN_FILE, BLOCK, 32, content);
}
END_TEST

/* Immediate data that is damaged: the command is as if it had not come. */
START_TEST(retry_after_digest_error)
{
	COVERS("U-084 E-006 P-162");
	struct ini *i = level_1(LEVEL_1 "InitialR2T=Yes\nImmediateData=Yes\n");
	struct bhs_scsi_command h;
	struct ini_scsi c;

	rw10(&c, WRITE10, LUN_FILE, BLOCK, 4, NULL);
	ini_command(i, &h, LUN_FILE, ISCSI_CMD_WRITE, 2048, c.cdb, c.cdb_length);
	i->corrupt_data_digest = true;
	ck_assert(!ini_send(i, (uint8_t *)&h, content, 2048));
	i->corrupt_data_digest = false;
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_REJECT), bhs_reject, exp_cmdsn),
			  get_be32(h.cmdsn));
	ck_assert(!ini_send(i, (uint8_t *)&h, content, 2048));
	expect_status(i, get_be32(h.itt), 0);
	expect_content(i, LUN_FILE, BLOCK, 4, content);
}
END_TEST

static uint32_t state;

static uint32_t rnd(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

/* One write, a quarter of its data lost or damaged at random. */
static void random_write(struct ini *i)
{
	uint32_t itt = start_write(i, LUN_FILE, BLOCK, BLOCKS, true, NULL, 0);
	const struct ini_pdu *p;

	for (;;) {
		enum fate fates[8];

		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert_msg(p != NULL, "state %u: nothing comes", state);
		if (p->bhs[0] == ISCSI_OP_SCSI_RESPONSE)
			break;
		for (unsigned n = 0; n < 8; n++)
			fates[n] = rnd(4) ? FINE : rnd(2) ? LOST : DAMAGED;
		if (p->bhs[0] == ISCSI_OP_R2T)
			sequence(i, itt, be32_of(p, bhs_r2t, ttt),
				 be32_of(p, bhs_r2t, buffer_offset),
				 be32_of(p, bhs_r2t, buffer_offset) +
				     be32_of(p, bhs_r2t, desired_length),
				 fates);
	}
	ck_assert_uint_eq(p->bhs[3], 0);
}

START_TEST(random_loss)
{
	COVERS("E-005 E-007 E-008 E-009");
	struct ini *i = level_1(LEVEL_1 "InitialR2T=Yes\nImmediateData=No\n");

	state = 0x5eed + (uint32_t)_i;
	for (uint32_t n = 0; n < 25; n++) {
		fill(content, BYTES, 1000 * (uint32_t)_i + n);
		random_write(i);
		expect_content(i, LUN_FILE, BLOCK, BLOCKS, content);
	}
}
END_TEST

void lost_suite(TCase *c)
{
	add_table(c, solicited, losses);
	add_table(c, unsolicited, losses);
	add(c, too_many);
	add(c, never_right);
	add(c, end_lost);
	add(c, retry);
	add(c, retry_after_digest_error);
	add_rows(c, random_loss, 4);
}
