/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One block under commands of several sessions on two reactors at once: their answers and what is
 * there afterwards must be those of some order of them, one after the other (linearizability).
 * Each round sends one command in each session before any answer is read, so that all are
 * concurrent; a search over the orders then looks for one that explains them.
 */
#include "tests/protocol/protocol.h"

enum { SESSIONS = 6, ROUNDS = 150, BLOCK = 512, WORDS = BLOCK / 8 };

enum verb { COMPARE_AND_WRITE, OR_WRITE, WRITE, WRITE_SAME, UNMAP, VERBS };

/* A block is one word, repeated: what is torn has two. */
struct op {
	enum verb verb;
	uint64_t expected, value;
	bool done; /* COMPARE AND WRITE: it was equal */
	struct ini_scsi c;
	uint8_t out[2 * BLOCK];
};

static void put_block(uint8_t *to, uint64_t word)
{
	for (unsigned i = 0; i < WORDS; i++)
		put_be64(to + (size_t)8 * i, word);
}

/* Commands for the first of eight blocks, which are one unit of the store. */
static void build(struct op *op, uint64_t lun, uint32_t lba)
{
	static const struct {
		const char *cdb;
		uint32_t edtl;
	} rows[VERBS] = {
		[COMPARE_AND_WRITE] = { "89 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00",
					2 * BLOCK },
		[OR_WRITE] = { "8b 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00", BLOCK },
		[WRITE] = { "8a 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00", BLOCK },
		[WRITE_SAME] = { "93 00 00 00 00 00 00 00 00 00 00 00 00 08 00 00", BLOCK },
		[UNMAP] = { "42 00 00 00 00 00 00 00 18 00", 24 },
	};
	static const uint8_t unmap_head[8] = { 0, 22, 0, 16 };

	cdb_of(&op->c, rows[op->verb].cdb);
	op->c.lun = lun;
	op->c.out = op->out;
	op->c.edtl = rows[op->verb].edtl;
	if (op->verb == UNMAP) {
		memset(op->out, 0, sizeof(op->out));
		memcpy(op->out, unmap_head, sizeof(unmap_head));
		put_be64(op->out + 8, lba);
		put_be32(op->out + 16, 8);
		return;
	}
	put_be64(op->c.cdb + 2, lba);
	put_block(op->out, op->verb == COMPARE_AND_WRITE ? op->expected : op->value);
	put_block(op->out + BLOCK, op->value);
}

/* What the block holds after op if it held `word`; false: op would have been answered otherwise. */
static bool apply(const struct op *op, uint64_t *word)
{
	switch (op->verb) {
	case COMPARE_AND_WRITE:
		if (op->done != (*word == op->expected))
			return false;
		if (op->done)
			*word = op->value;
		return true;
	case OR_WRITE:
		*word |= op->value;
		return true;
	case UNMAP:
		*word = 0;
		return true;
	default:
		*word = op->value;
		return true;
	}
}

/* Is there an order of those that are left that leads from `word` to `end`? */
static bool explained(const struct op *ops, unsigned left, uint64_t word, uint64_t end)
{
	if (!left)
		return word == end;
	for (unsigned i = 0; i < SESSIONS; i++) {
		uint64_t next = word;

		if (left & 1u << i && apply(&ops[i], &next) &&
		    explained(ops, left & ~(1u << i), next, end))
			return true;
	}
	return false;
}

static uint64_t read_block(struct ini *i, uint64_t lun, uint32_t lba)
{
	uint8_t block[BLOCK];
	struct ini_scsi c;

	rw10(&c, READ10, lun, lba, 1, block);
	run_good(i, &c);
	for (unsigned n = 1; n < WORDS; n++)
		ck_assert_msg(!memcmp(block, block + (size_t)8 * n, 8), "a block is torn");
	return get_be64(block);
}

/* Other tests have been there. */
static void clear_block(struct ini *i, uint64_t lun, uint32_t lba)
{
	uint8_t block[BLOCK] = { 0 };
	struct ini_scsi c;

	rw10(&c, WRITE10, lun, lba, 1, block);
	run_good(i, &c);
}

static void finish(struct ini *i, struct op *op)
{
	ck_assert(!ini_scsi_finish(i, &op->c));
	op->done = !op->c.status;
	ck_assert_msg(op->done || (op->verb == COMPARE_AND_WRITE && ini_sense(&op->c) == 0x0e1d00),
		      "opcode %02x: status %02x sense %06x", op->c.cdb[0], op->c.status,
		      ini_sense(&op->c));
}

static uint32_t seed = 1;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Expects what is there, or what another of the round writes. */
static void choose(struct op *ops, unsigned n_verbs, uint64_t word)
{
	for (unsigned i = 0; i < SESSIONS; i++) {
		ops[i].verb = i < 2 ? COMPARE_AND_WRITE : (enum verb)draw(n_verbs);
		ops[i].value = (uint64_t)draw(1u << 24) << 32 | draw(1u << 24);
	}
	for (unsigned i = 0; i < SESSIONS; i++)
		ops[i].expected = draw(2) ? word : ops[draw(SESSIONS)].value;
}

static const struct {
	uint64_t lun;
	unsigned verbs; /* whole blocks are what a file promises, and ram only to those that wait */
} media[] = { { LUN_FILE, VERBS }, { LUN_RAM, OR_WRITE + 1 } };

START_TEST(one_after_the_other)
{
	const uint64_t lun = media[_i].lun;
	static struct op ops[SESSIONS];
	struct ini *i[SESSIONS];
	uint64_t word, end;

	COVERS("SB-017 SB-020 SB-036 SP-016 fault-E10");
	for (unsigned s = 0; s < SESSIONS; s++) {
		i[s] = session(T_MAIN);
		ready(i[s], lun);
	}
	clear_block(i[0], lun, 4096);
	word = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		choose(ops, media[_i].verbs, word);
		for (unsigned s = 0; s < SESSIONS; s++)
			build(&ops[s], lun, 4096);
		for (unsigned s = 0; s < SESSIONS; s++)
			ck_assert(!ini_scsi_start(i[s], &ops[s].c));
		for (unsigned s = 0; s < SESSIONS; s++)
			finish(i[s], &ops[s]);
		end = read_block(i[round % SESSIONS], lun, 4096);
		ck_assert_msg(explained(ops, (1u << SESSIONS) - 1, word, end),
			      "round %u: no order of the commands leads from %lx to %lx", round,
			      (unsigned long)word, (unsigned long)end);
		word = end;
	}
}
END_TEST

/* Every session adds one with COMPARE AND WRITE, as a cluster's members do: none is lost. */
START_TEST(counter)
{
	static struct op ops[SESSIONS];
	struct ini *i[SESSIONS];
	uint64_t won = 0;

	COVERS("SB-017 fault-E09");
	for (unsigned s = 0; s < SESSIONS; s++) {
		i[s] = session(T_MAIN);
		ready(i[s], LUN_FILE);
	}
	clear_block(i[0], LUN_FILE, 8192);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned s = 0; s < SESSIONS; s++) {
			ops[s].verb = COMPARE_AND_WRITE;
			ops[s].expected = won;
			ops[s].value = won + 1;
			build(&ops[s], LUN_FILE, 8192);
			ck_assert(!ini_scsi_start(i[s], &ops[s].c));
		}
		for (unsigned s = 0; s < SESSIONS; s++) {
			finish(i[s], &ops[s]);
			won += ops[s].done;
		}
		ck_assert_uint_eq(won, round + 1);
	}
	ck_assert_uint_eq(read_block(i[1], LUN_FILE, 8192), won);
}
END_TEST

void atomic_suite(TCase *c)
{
	add_table(c, one_after_the_other, media);
	add(c, counter);
}
