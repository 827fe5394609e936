/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies by tokens (ODX), as Windows sends them: over several sessions, to other LUs, against
 * writers of other sessions, and what must not work.
 */
#include "tests/protocol/protocol.h"

enum { BLOCK = 512, TOKEN = 512, AT_LBA = 20480, TO_LBA = 24576, BLOCKS = 64 };

static uint8_t list[1024], info[1024], token[TOKEN];

/* POPULATE TOKEN (action 10h) or WRITE USING TOKEN (11h) of one range, into c. */
static void token_out(struct ini_scsi *c, uint8_t action, uint64_t lun, uint32_t id, uint64_t lba,
		      uint32_t blocks)
{
	uint32_t header = action == 0x10 ? 16 : 536;

	memset(list, 0, sizeof(list));
	put_be16(list, (uint16_t)(header + 14));
	put_be16(list + header - 2, 16);
	put_be64(list + header, lba);
	put_be32(list + header + 8, blocks);
	if (action == 0x11)
		memcpy(list + 16, token, TOKEN);
	cdb_of(c, "83 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
	c->cdb[1] = action;
	put_be32(c->cdb + 6, id);
	put_be32(c->cdb + 10, header + 16);
	c->lun = lun;
	c->out = list;
	c->edtl = header + 16;
}

/* RECEIVE ROD TOKEN INFORMATION: COPY OPERATION STATUS; with a token it goes into token. */
static uint8_t receive(struct ini *i, uint64_t lun, uint32_t id, uint64_t *ret_blocks)
{
	struct ini_scsi c;

	cdb_of(&c, "84 07 00 00 00 00 00 00 00 00 00 00 04 00 00 00");
	put_be32(c.cdb + 2, id);
	c.lun = lun;
	c.in = info;
	c.edtl = sizeof(info);
	run_good(i, &c);
	ck_assert_uint_eq(get_be32(info) + 4, c.received);
	if (get_be32(info + 32 + info[13]) == TOKEN + 2)
		memcpy(token, info + 38 + info[13], TOKEN);
	*ret_blocks = get_be64(info + 16);
	return info[5];
}

static void populate(struct ini *i, uint64_t lun, uint32_t id, uint64_t lba, uint32_t blocks)
{
	struct ini_scsi c;
	uint64_t count;

	token_out(&c, 0x10, lun, id, lba, blocks);
	run_good(i, &c);
	ck_assert_uint_eq(receive(i, lun, id, &count), 0x01);
	ck_assert_uint_eq(count, blocks);
}

static void write_blocks(struct ini *i, uint64_t lun, uint32_t lba, uint32_t seed, uint8_t *data)
{
	struct ini_scsi c;

	fill(data, (size_t)BLOCKS * BLOCK, seed);
	rw10(&c, WRITE10, lun, lba, BLOCKS, data);
	run_good(i, &c);
}

static const struct {
	uint64_t from, to;
} ways[] = { { LUN_RAM, LUN_FILE }, { LUN_FILE, LUN_RAM }, { LUN_FILE, LUN_FILE } };

/* The host looks at page 8Fh, copies by another session than the token came from, and zeroes. */
START_TEST(as_windows_does)
{
	static uint8_t data[BLOCKS * BLOCK], zeros[BLOCKS * BLOCK];
	const uint64_t from = ways[_i].from, to = ways[_i].to;
	struct ini *a = session(T_MAIN), *b = session(T_MAIN);
	struct ini_scsi c;
	uint64_t count;

	COVERS("SI-020 SX-019 SX-021 SX-022 SX-027");
	ready(a, from);
	ready(b, to);
	cdb_of(&c, "12 01 8f 04 00 00");
	c.lun = from;
	c.in = info;
	c.edtl = sizeof(info);
	run_good(a, &c);
	ck_assert_uint_ge(get_be16(info + 2), 0x24); /* or there is no ODX */
	ck_assert_uint_eq(get_be32(info + 4), 0x20);

	write_blocks(a, from, AT_LBA, 4711, data);
	populate(a, from, 1, AT_LBA, BLOCKS);
	token_out(&c, 0x11, to, 1, TO_LBA, BLOCKS);
	run_good(b, &c);
	ck_assert_uint_eq(receive(b, to, 1, &count), 0x01);
	ck_assert_uint_eq(count, BLOCKS);
	expect_content(b, to, TO_LBA, BLOCKS, data);

	memset(token, 0, sizeof(token));
	memcpy(token, "\xff\xff\x00\x01\x00\x00\x01\xf8", 8);
	token_out(&c, 0x11, to, 2, TO_LBA, BLOCKS);
	run_good(b, &c);
	ck_assert_uint_eq(receive(b, to, 2, &count), 0x01);
	expect_content(b, to, TO_LBA, BLOCKS, zeros);
}
END_TEST

/* Nothing is moved by whoever may not. */
START_TEST(refused)
{
	static uint8_t data[BLOCKS * BLOCK], other[BLOCKS * BLOCK];
	struct ini *a = session(T_MAIN), *stranger = session(T_RESET);
	struct ini_scsi c;

	COVERS("SX-021 SX-023 SX-024 SS-012");
	ready(a, LUN_RAM);
	ready(a, LUN_FILE);
	ready(a, LUN_READ_ONLY);
	ready(stranger, 0);
	write_blocks(a, LUN_RAM, AT_LBA, 1, data);
	write_blocks(stranger, 0, 0, 2, other);
	populate(a, LUN_RAM, 1, AT_LBA, BLOCKS);
	token_out(&c, 0x11, 0, 1, 0, BLOCKS);
	run_sense(stranger, &c, 0x052304);
	expect_content(stranger, 0, 0, BLOCKS, other);
	token_out(&c, 0x11, LUN_READ_ONLY, 1, 0, 1);
	run_sense(a, &c, 0x072700);
	token[400] ^= 1;
	token_out(&c, 0x11, LUN_FILE, 1, TO_LBA, BLOCKS);
	run_sense(a, &c, 0x052305);
	token[400] ^= 1;
	write_blocks(a, LUN_RAM, AT_LBA + BLOCKS, 3, other);
	token_out(&c, 0x11, LUN_FILE, 1, TO_LBA, BLOCKS);
	run_good(a, &c);
	write_blocks(a, LUN_RAM, AT_LBA + BLOCKS - 1, 4, other);
	token_out(&c, 0x11, LUN_FILE, 1, TO_LBA, BLOCKS);
	run_sense(a, &c, 0x052306);
	expect_content(a, LUN_FILE, TO_LBA, BLOCKS, data);
}
END_TEST

/* A copy is stopped as any other command; nothing of it is written after the answer. */
START_TEST(aborted)
{
	static uint8_t data[BLOCKS * BLOCK];
	struct ini *a = session(T_MAIN);
	struct ini_scsi c;
	uint64_t count;

	COVERS("SX-017");
	ready(a, LUN_FAULT);
	ready(a, LUN_FILE);
	populate(a, LUN_FAULT, 1, FAULT_SLOW, BLOCKS);
	write_blocks(a, LUN_FILE, TO_LBA, 5, data);
	token_out(&c, 0x11, LUN_FILE, 2, TO_LBA, BLOCKS);
	ck_assert(!ini_scsi_start(a, &c));
	tmf(a, ISCSI_TMF_ABORT_TASK_SET, LUN_FILE, 0);
	ck_assert_uint_eq(receive(a, LUN_FILE, 2, &count), 0x60);
	ck_assert_uint_eq(count, 0);
	token_out(&c, 0x11, LUN_FILE, 2, TO_LBA + BLOCKS, 1); /* behind what is still read */
	run_good(a, &c);
	expect_content(a, LUN_FILE, TO_LBA, BLOCKS, data);
}
END_TEST

/* All blocks hold the number of the same write; which. */
static uint32_t generation(struct ini *i, uint64_t lun, uint32_t lba)
{
	static uint8_t data[BLOCKS * BLOCK];
	struct ini_scsi c;

	rw10(&c, READ10, lun, lba, BLOCKS, data);
	run_good(i, &c);
	for (unsigned n = 0; n < BLOCKS; n++)
		ck_assert_msg(get_be32(data + (size_t)n * BLOCK) == get_be32(data),
			      "block 0 is of write %u, block %u of write %u", get_be32(data), n,
			      get_be32(data + (size_t)n * BLOCK));
	return get_be32(data);
}

static void write_generation(struct ini *i, struct ini_scsi *c, uint64_t lun, uint32_t n)
{
	static uint8_t data[BLOCKS * BLOCK];

	for (unsigned b = 0; b < BLOCKS; b++)
		put_be32(data + (size_t)b * BLOCK, n);
	rw10(c, WRITE10, lun, AT_LBA, BLOCKS, data);
	ck_assert(!ini_scsi_start(i, c));
}

/*
 * While another session writes all of the source again and again, a copy that is said to be good
 * has the data of one moment: all of one write, none older than what was there when the token was
 * asked for.
 */
START_TEST(one_moment)
{
	const uint64_t from = ways[_i].from, to = ways[_i].to;
	struct ini *a = session(T_MAIN), *b = session(T_MAIN);
	struct ini_scsi c, write;
	uint32_t n = 0, before, got;
	uint64_t count;

	COVERS("SX-024");
	ready(a, from);
	ready(a, to);
	ready(b, from);
	for (unsigned round = 0; round < 80; round++) {
		bool at_first = round % 4 & 1, at_last = round % 4 & 2;

		write_generation(b, &write, from, ++n);
		ck_assert(!ini_scsi_finish(b, &write));
		before = n;
		if (at_first)
			write_generation(b, &write, from, ++n);
		token_out(&c, 0x10, from, 1, AT_LBA, BLOCKS);
		run_good(a, &c);
		if (at_first)
			ck_assert(!ini_scsi_finish(b, &write));
		ck_assert_uint_eq(receive(a, from, 1, &count), 0x01);
		if (at_last)
			write_generation(b, &write, from, ++n);
		token_out(&c, 0x11, to, 2, TO_LBA, BLOCKS);
		ck_assert(!ini_scsi(a, &c));
		if (at_last)
			ck_assert(!ini_scsi_finish(b, &write));
		if (c.status) {
			ck_assert(at_first || at_last);
			ck_assert_uint_eq(ini_sense(&c), 0x052306);
			continue;
		}
		got = generation(a, to, TO_LBA);
		ck_assert_msg(got == before || (at_first && got == before + 1),
			      "write %u instead of %u", got, before);
	}
}
END_TEST

void odx_suite(TCase *c)
{
	add_table(c, as_windows_does, ways);
	add(c, refused);
	add(c, aborted);
	add_table(c, one_moment, ways);
}
