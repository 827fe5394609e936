/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of a session are lost in the midst of writes, by a seed (HAWSER_FUZZ_SEED), and
 * others come in their place. What was answered GOOD is on the medium then, of what was not no more
 * than its beginning; and the session goes on.
 */
#include "tests/protocol/mcs.h"

#include <poll.h>

#define CONNS  4u
#define SLOTS  64u /* of SLOT blocks each, one pattern a slot */
#define SLOT   8u
#define BYTES  (SLOT * 512u)
#define FIRST  2048u /* LBA */
#define ROUNDS 30u

static struct {
	struct mcs m;
	uint32_t random, serial;
	uint32_t old[SLOTS], new[SLOTS]; /* patterns; equal: known */
	struct {
		uint32_t itt;
		unsigned slot;
		bool open;
	} write[CONNS];
	unsigned victim;
	bool event, plugged; /* the loss has been told; no number is missing */
} w;

static uint8_t block[BYTES], got[BYTES];

static uint32_t next_random(uint32_t below)
{
	w.random = w.random * 1664525u + 1013904223u;
	return (w.random >> 8) % below;
}

static void answer_ping(struct ini *i, const struct ini_pdu *p)
{
	struct bhs_nop h;

	ini_nop(i, &h, true);
	i->itt--;
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	put_be32(h.ttt, be32_of(p, bhs_nop, ttt));
	put_be32(h.sn1, w.m.last->cmdsn);
	ini_send(i, (uint8_t *)&h, NULL, 0);
}

/* Where the target waits for a number that went with the connection, a ping takes that. */
static void plug(void)
{
	uint32_t next = w.m.last->cmdsn;
	struct ini *i = mcs_on(&w.m, 0);
	struct bhs_nop h;

	w.plugged = i->exp_cmdsn == next;
	if (w.plugged)
		return;
	i->cmdsn = i->exp_cmdsn;
	ini_nop(i, &h, false);
	i->cmdsn = next;
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
}

/* How far the target is: asked at once, for it may have been told of what we do not know. */
static void ask(void)
{
	struct ini *i = mcs_on(&w.m, 0);
	struct bhs_nop h;

	ini_nop(i, &h, true);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
}

static void take_status(unsigned k, const struct ini_pdu *p)
{
	unsigned slot = w.write[k].slot;

	ck_assert_uint_eq(be32_of(p, bhs_scsi_response, itt), w.write[k].itt);
	ck_assert_msg(!p->bhs[3] || sense_of(p) == 0x06477f, "status %02x sense %06x", p->bhs[3],
		      sense_of(p));
	if (p->bhs[3])
		w.new[slot] = w.old[slot];
	else
		w.old[slot] = w.new[slot];
	w.write[k].open = false;
}

static void take(unsigned k)
{
	const struct ini_pdu *p = await_pdu(w.m.c[k], 1000);

	ck_assert_msg(p != NULL, "connection %u: half a PDU", k);
	switch (p->bhs[0] & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_NOP_IN:
		if (be32_of(p, bhs_nop, itt) == ISCSI_TAG_RESERVED)
			answer_ping(w.m.c[k], p);
		else
			plug();
		break;
	case ISCSI_OP_ASYNC:
		ck_assert_uint_eq(get_be16(bhs_of(p, bhs_async)->parameter1), w.victim);
		w.event = true;
		ask();
		break;
	case ISCSI_OP_SCSI_RESPONSE:
		take_status(k, p);
		break;
	default:
		ck_abort_msg("opcode %02x", p->bhs[0]);
	}
}

static bool is_over(void)
{
	bool open = false;

	for (unsigned k = 0; k < CONNS; k++)
		open |= k != w.victim && w.write[k].open;
	return w.event && w.plugged && !open;
}

static void settle(void)
{
	int64_t end = clock_ms() + patience(10000);

	while (!is_over()) {
		struct pollfd p[CONNS];

		for (unsigned k = 0; k < CONNS; k++)
			p[k] = (struct pollfd){ .fd = w.m.c[k]->fd, .events = POLLIN };
		poll(p, CONNS, 100);
		for (unsigned k = 0; k < CONNS; k++)
			if (p[k].revents)
				take(k);
		ck_assert_msg(clock_ms() < end, "event %d plugged %d", w.event, w.plugged);
	}
}

/* A write on each connection; that of the victim is cut off somewhere. */
static void begin_write(unsigned k, size_t cut)
{
	unsigned slot = next_random(SLOTS / CONNS) * CONNS + k;
	uint8_t pdu[ISCSI_BHS_SIZE + BYTES];
	struct bhs_scsi_command h;
	struct ini *i = mcs_on(&w.m, k);
	struct ini_scsi c;

	w.new[slot] = w.serial++;
	fill(block, BYTES, w.new[slot]);
	rw10(&c, WRITE10, LUN_RAM, FIRST + slot * SLOT, SLOT, NULL);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_WRITE, BYTES, c.cdb, 10);
	w.write[k].itt = get_be32(h.itt);
	w.write[k].slot = slot;
	w.write[k].open = true;
	if (k != w.victim) {
		ck_assert(!ini_send(i, (uint8_t *)&h, block, BYTES));
		return;
	}
	put_be24(h.data_segment_length, BYTES);
	memcpy(pdu, &h, ISCSI_BHS_SIZE);
	memcpy(pdu + ISCSI_BHS_SIZE, block, BYTES);
	ini_send_bytes(i, pdu, cut < sizeof(pdu) ? cut : sizeof(pdu));
	i->full_feature = false; /* nothing is sent behind it */
}

static void read_slot(unsigned slot)
{
	struct ini_scsi c;

	rw10(&c, READ10, LUN_RAM, FIRST + slot * SLOT, SLOT, got);
	run_good(mcs_on(&w.m, slot % CONNS), &c);
}

static void write_slot(unsigned slot)
{
	struct ini_scsi c;

	w.old[slot] = w.new[slot] = w.serial++;
	fill(block, BYTES, w.new[slot]);
	rw10(&c, WRITE10, LUN_RAM, FIRST + slot * SLOT, SLOT, block);
	run_good(mcs_on(&w.m, slot % CONNS), &c);
}

/* What was cut off: nothing of it, or its beginning (this store takes data where it belongs), and
 * never anything else. It is then written anew. */
static void judge_victim(void)
{
	unsigned slot = w.write[w.victim].slot;
	size_t same = 0;

	read_slot(slot);
	fill(block, BYTES, w.new[slot]);
	while (same < BYTES && got[same] == block[same])
		same++;
	fill(block, BYTES, w.old[slot]);
	ck_assert_msg(!memcmp(got + same, block + same, BYTES - same),
		      "slot %u: behind byte %zu neither %u nor %u", slot, same, w.old[slot],
		      w.new[slot]);
	write_slot(slot);
}

static void verify(void)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		read_slot(slot);
		fill(block, BYTES, w.old[slot]);
		ck_assert_msg(!memcmp(block, got, BYTES), "slot %u is not %u", slot, w.old[slot]);
	}
}

START_TEST(kills)
{
	COVERS("S-009 S-020 S-033 P-021");
	const char *seed = getenv("HAWSER_FUZZ_SEED");

	memset(&w, 0, sizeof(w));
	w.random = (seed ? (uint32_t)strtoul(seed, NULL, 0) : 4711u) + (uint32_t)_i;
	w.serial = 1;
	mcs_open(&w.m, CONNS, _i ? "HeaderDigest=CRC32C\n" USUAL("65536", "No", "Yes") : NULL);
	for (unsigned k = 0; k < CONNS; k++)
		ready(mcs_on(&w.m, k), LUN_RAM);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		write_slot(slot);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t cut = next_random(3) ? next_random(BYTES + 100) : next_random(60);

		w.victim = 1 + next_random(CONNS - 1);
		w.event = w.plugged = false;
		for (unsigned k = 0; k < CONNS; k++)
			begin_write(k, cut);
		mcs_on(&w.m, 0);
		ini_close(w.m.c[w.victim]);
		settle();
		ck_assert_int_eq(mcs_join(&w.m, w.victim), 0);
		ready(mcs_on(&w.m, 0), LUN_RAM);
		judge_victim();
		if (round % 5 == 4)
			verify();
	}
}
END_TEST

void mcs_loss_suite(TCase *c)
{
	add_rows(c, kills, 2);
}
