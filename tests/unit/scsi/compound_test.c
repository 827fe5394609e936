/* SPDX-License-Identifier: BSD-2-Clause */
/* VERIFY, WRITE AND VERIFY, WRITE SAME, UNMAP, GET LBA STATUS: what is on the medium afterwards. */
#include "scsi/compound_internal.h"
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

#define MEDIUM (FX_SIZE / FX_BLOCK)

static uint8_t data[4 << 20], before[FX_SIZE];

static struct fake_task *cmd(uint8_t opcode, uint8_t flags, uint64_t lba, uint32_t blocks)
{
	uint8_t cdb[16];

	fx_rw(cdb, opcode, lba, blocks);
	cdb[1] = flags;
	return fx_task(&fx_nexus[0], cdb, 16);
}

static struct fake_task *cmd_out(uint8_t opcode, uint8_t flags, uint64_t lba, uint32_t blocks,
				 uint32_t length)
{
	struct fake_task *f = cmd(opcode, flags, lba, blocks);

	fake_task_out(f, data, length);
	return f;
}

static void fill_medium(unsigned seed)
{
	fx_pattern(fx_store->bytes, FX_SIZE, seed);
	memcpy(before, fx_store->bytes, FX_SIZE);
	memset(fx_store->allocated, 1, FX_SIZE / FAKE_STORE_UNIT);
}

/* Nothing but these blocks has changed. */
static void others_untouched(uint64_t lba, uint64_t blocks)
{
	ck_assert_mem_eq(fx_store->bytes, before, lba * FX_BLOCK);
	ck_assert_mem_eq(fx_store->bytes + (lba + blocks) * FX_BLOCK,
			 before + (lba + blocks) * FX_BLOCK, FX_SIZE - (lba + blocks) * FX_BLOCK);
}

/* Every kind of store: at once, and later. */
static const unsigned stores[] = { BACKING_INLINE | FX_FILE, FX_FILE };

/* covers: SB-013 SB-041 */
START_TEST(verify_medium)
{
	for (int s = 0; s < 2; s++) {
		fx_setup(stores[s]);
		fill_medium(1);
		fx_expect(cmd(0x8f, 0, 5, 10000), 0, 0);
		ck_assert_uint_eq(fx_store->log[0].kind, BACKING_FLUSH);
		ck_assert_uint_eq(fx_store->longest, COMPOUND_PIECE); /* never all at once */
		fx_expect(cmd(0x8f, 0, MEDIUM, 0), 0, 0);
		fx_expect(cmd(0x8f, 0, MEDIUM - 1, 2), SENSE_ILLEGAL_REQUEST, 0x2100);
		others_untouched(0, 0);
		fx_teardown();
	}
}
END_TEST

/* covers: SB-013 SS-006 */
START_TEST(verify_data)
{
	for (int s = 0; s < 2; s++) {
		struct fake_task *f;

		fx_setup(stores[s]);
		fill_medium(1);
		memcpy(data, fx_store->bytes + 5 * FX_BLOCK, 3000 * FX_BLOCK);
		fx_expect(cmd_out(0x8f, 0x02, 5, 3000, 3000 * FX_BLOCK), 0, 0);
		data[2500 * FX_BLOCK + 17] ^= 1;
		f = cmd_out(0x8f, 0x02, 5, 3000, 3000 * FX_BLOCK);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.key, SENSE_MISCOMPARE);
		ck_assert_uint_eq(f->sense.asc_ascq, 0x1d00);
		ck_assert(f->sense.info_valid && f->sense.info == 2500 * FX_BLOCK + 17);
		fake_task_free(f);
		fx_expect(cmd_out(0x8f, 0x02, 5, 2, FX_BLOCK), SENSE_ILLEGAL_REQUEST, 0x2400);
		others_untouched(0, 0);
		fx_teardown();
	}
}
END_TEST

/* covers: SB-013 */
START_TEST(verify_one_block)
{
	for (int s = 0; s < 2; s++) {
		fx_setup(stores[s]);
		fill_medium(1);
		fx_pattern(data, FX_BLOCK, 99);
		for (int i = 0; i < 5000; i++)
			memcpy(fx_store->bytes + (i + 7) * (int)FX_BLOCK, data, FX_BLOCK);
		fx_expect(cmd_out(0x8f, 0x06, 7, 5000, FX_BLOCK), 0, 0);
		fx_expect(cmd_out(0x8f, 0x06, 6, 5000, FX_BLOCK), SENSE_MISCOMPARE, 0x1d00);
		fx_store->bytes[5006 * FX_BLOCK + 511] ^= 0x80;
		fx_expect(cmd_out(0x8f, 0x06, 7, 5000, FX_BLOCK), SENSE_MISCOMPARE, 0x1d00);
		fx_expect(cmd_out(0x8f, 0x06, 7, 5, 2 * FX_BLOCK), SENSE_ILLEGAL_REQUEST, 0x2400);
		fx_teardown();
	}
}
END_TEST

/* covers: SB-015 */
START_TEST(write_and_verify)
{
	for (int s = 0; s < 2; s++) {
		for (uint8_t bytchk = 0; bytchk < 4; bytchk += 2) {
			fx_setup(stores[s]);
			fill_medium(1);
			fx_pattern(data, sizeof(data), 50);
			fx_expect(cmd_out(0x8e, bytchk, 9, 3000, 3000 * FX_BLOCK), 0, 0);
			ck_assert_mem_eq(fx_store->bytes + 9 * FX_BLOCK, data, 3000 * FX_BLOCK);
			others_untouched(9, 3000);
			ck_assert_uint_eq(fx_store->durable, 1);
			ck_assert_uint_ge(fx_store->count[BACKING_READ], 2);
			fx_teardown();
		}
	}
}
END_TEST

/* A medium that does not keep what it is given. covers: SB-015 */
START_TEST(write_and_verify_finds_fault)
{
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	f = cmd_out(0x8e, 0x02, 9, 8, 8 * FX_BLOCK);
	scsi_submit(&f->t);
	fake_store_let_one(fx_store, 0);
	fx_store->bytes[9 * FX_BLOCK + 1000] ^= 1;
	fake_store_let(fx_store);
	fx_run(f);
	ck_assert_uint_eq(f->sense.key, SENSE_MISCOMPARE);
	ck_assert_uint_eq(f->sense.info, 1000);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* What is written are the whole blocks that came. covers: SB-006 fault-E02 */
START_TEST(write_and_verify_short)
{
	static const struct {
		uint32_t edtl, moves;
	} rows[] = { { 0, 0 },      { 200, 0 },     { 512, 512 },
		     { 1000, 512 }, { 1024, 1024 }, { 9999, 1024 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_task *f;

		fx_setup(FX_FILE | BACKING_INLINE);
		fill_medium(1);
		fx_pattern(data, 4096, 7);
		f = cmd_out(0x8e, 0x02, 3, 2, rows[i].edtl);
		scsi_submit(&f->t);
		ck_assert(f->ended && f->status == SCSI_GOOD);
		ck_assert_uint_eq(f->data_length, 1024);
		ck_assert_mem_eq(fx_store->bytes + 3 * FX_BLOCK, data, rows[i].moves);
		others_untouched(3, rows[i].moves / FX_BLOCK);
		fake_task_free(f);
		fx_teardown();
	}
}
END_TEST

/* covers: SB-023 fault-E12 */
START_TEST(write_same_pattern)
{
	for (int s = 0; s < 2; s++) {
		fx_setup(stores[s]);
		fill_medium(1);
		fx_pattern(data, FX_BLOCK, 200);
		fx_expect(cmd_out(0x93, 0, 11, 5001, FX_BLOCK), 0, 0);
		for (unsigned i = 0; i < 5001; i++)
			ck_assert_mem_eq(fx_store->bytes + (11 + i) * FX_BLOCK, data, FX_BLOCK);
		others_untouched(11, 5001);
		ck_assert_uint_eq(fx_store->longest, COMPOUND_PIECE);
		ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 0);
		fx_teardown();
	}
}
END_TEST

/* Zeros go to the store as such; with UNMAP the space may go. covers: SB-024 SB-025 */
START_TEST(write_same_zeros)
{
	static const struct {
		uint8_t flags;
		bool data;
	} rows[] = { { 0, true }, { 0x08, true }, { 0x01, false }, { 0x09, false } };
	unsigned wrong;

	memset(data, 0, FX_BLOCK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_setup(stores[i % 2]);
		fill_medium(1);
		fx_expect(cmd_out(0x93, rows[i].flags, 8, 4000, rows[i].data ? FX_BLOCK : 0), 0, 0);
		wrong = 0; /* counted: a check tells its place to the parent each time */
		for (unsigned b = 8 * FX_BLOCK; b < 4008 * FX_BLOCK; b++)
			wrong += fx_store->bytes[b] != 0;
		ck_assert_uint_eq(wrong, 0);
		others_untouched(8, 4000);
		ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
		ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 1);
		ck_assert_uint_eq(fx_store->may_trim, (rows[i].flags & 0x08) != 0);
		fx_teardown();
	}
}
END_TEST

/* One zero byte less is a pattern. covers: SB-025 */
START_TEST(write_same_almost_zero)
{
	fx_setup(FX_FILE);
	fill_medium(1);
	memset(data, 0, FX_BLOCK);
	data[FX_BLOCK - 1] = 1;
	fx_expect(cmd_out(0x93, 0x08, 8, 100, FX_BLOCK), 0, 0);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_mem_eq(fx_store->bytes + (8 + i) * FX_BLOCK, data, FX_BLOCK);
	ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 0);
	fx_teardown();
}
END_TEST

/* covers: SB-028 SG-011 */
START_TEST(write_same_wrong_data)
{
	static const uint32_t lengths[] = { 0, 1, FX_BLOCK - 1, FX_BLOCK + 1, 2 * FX_BLOCK };

	fx_setup(FX_FILE | BACKING_INLINE);
	fill_medium(1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		fx_expect(cmd_out(0x93, 0, 8, 2, lengths[i]), SENSE_ILLEGAL_REQUEST, 0x2400);
	others_untouched(0, 0);
	fx_teardown();
}
END_TEST

static size_t unmap_list(uint8_t *list, const uint64_t (*d)[2], unsigned n)
{
	size_t length = 8 + 16 * (size_t)n;

	memset(list, 0, length);
	put_be16(list, (uint16_t)(length - 2));
	put_be16(list + 2, (uint16_t)(16 * n));
	for (unsigned i = 0; i < n; i++) {
		put_be64(list + 8 + 16 * i, d[i][0]);
		put_be32(list + 16 + 16 * i, (uint32_t)d[i][1]);
	}
	return length;
}

static struct fake_task *unmap(const uint64_t (*d)[2], unsigned n)
{
	size_t length = unmap_list(data, d, n);
	uint8_t cdb[10] = { 0x42, 0, 0, 0, 0, 0, 0, (uint8_t)(length >> 8), (uint8_t)length };
	struct fake_task *f = fx_task(&fx_nexus[0], cdb, 10);

	fake_task_out(f, data, (uint32_t)length);
	return f;
}

static bool is_mapped(uint64_t lba)
{
	return fx_store->allocated[lba * FX_BLOCK / FAKE_STORE_UNIT];
}

/* covers: SP-004 SP-005 SP-013 SP-014 */
START_TEST(unmap_descriptors)
{
	static const uint64_t d[][2] = { { 800, 80 }, { 16, 8 },     { MEDIUM, 0 },
					 { 24, 16 },  { 808, 8 },    { MEDIUM - 8, 8 },
					 { 0, 0 },    { 4096, 8192 } };

	for (int s = 0; s < 2; s++) {
		struct lu_counters c;

		fx_setup(stores[s]);
		fill_medium(1);
		fx_expect(unmap(d, 8), 0, 0);
		for (uint64_t lba = 0; lba < MEDIUM; lba++) {
			bool gone = false;

			for (int i = 0; i < 8; i++)
				gone |= lba >= d[i][0] && lba < d[i][0] + d[i][1];
			ck_assert_uint_eq(is_mapped(lba), !gone);
			if (!gone)
				ck_assert_mem_eq(fx_store->bytes + lba * FX_BLOCK,
						 before + lba * FX_BLOCK, FX_BLOCK);
		}
		ck_assert_uint_eq(fx_store->count[BACKING_TRIM], 6);
		lu_get_counters(fx_lu, &c);
		ck_assert_uint_eq(c.unmaps, 1);
		fx_teardown();
	}
}
END_TEST

/* covers: SP-006 */
START_TEST(unmap_nothing_if_one_is_bad)
{
	static const uint64_t d[][2] = { { 800, 80 }, { MEDIUM - 1, 2 } };

	fx_setup(FX_FILE);
	fill_medium(1);
	fx_expect(unmap(d, 2), SENSE_ILLEGAL_REQUEST, 0x2100);
	ck_assert_uint_eq(fx_store->count[BACKING_TRIM], 0);
	fx_teardown();
}
END_TEST

/* A list of many pages lies in pieces. Parallel, but not all at once. covers: SP-007 */
START_TEST(unmap_long_list)
{
	static uint64_t d[256][2];
	struct fake_task *f;
	unsigned most = 0;

	for (unsigned i = 0; i < 256; i++) {
		d[i][0] = 16 * (uint64_t)i;
		d[i][1] = 8;
	}
	fx_setup(FX_FILE);
	fill_medium(1);
	fx_store->hold = true;
	f = unmap(d, 256);
	scsi_submit(&f->t);
	while (!f->ended) {
		if (fx_store->n_held > most)
			most = fx_store->n_held;
		fake_store_let(fx_store);
		fx_turn();
	}
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	ck_assert_uint_eq(most, COMPOUND_ABREAST);
	for (unsigned i = 0; i < 256; i++)
		ck_assert(!is_mapped(16 * (uint64_t)i) && is_mapped(16 * (uint64_t)i + 8));
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* The first error is the answer, when all that was begun has ended. covers: SS-005 fault-G09 */
START_TEST(unmap_error)
{
	static const uint64_t d[][2] = { { 8, 8 }, { 80, 8 }, { 800, 8 } };
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	f = unmap(d, 3);
	scsi_submit(&f->t);
	fake_store_let_one(fx_store, 0);
	fake_store_let_one(fx_store, -EIO);
	ck_assert(!f->ended);
	fake_store_let_one(fx_store, 0);
	ck_assert(f->ended);
	ck_assert_uint_eq(f->sense.key, SENSE_MEDIUM_ERROR);
	ck_assert(f->sense.info_valid && f->sense.info == 80);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* Between the steps of a long command the reactor does other things. covers: fault-G10 */
START_TEST(long_commands_yield)
{
	struct fake_task *slow, *quick;

	fx_setup(FX_FILE | BACKING_INLINE);
	fx_pattern(data, FX_BLOCK, 1);
	slow = cmd_out(0x93, 0, 0, MEDIUM - 8, FX_BLOCK);
	scsi_submit(&slow->t);
	ck_assert(!slow->ended);
	quick = fx_read(&fx_nexus[0], MEDIUM - 1, 1);
	scsi_submit(&quick->t);
	ck_assert(quick->ended && !slow->ended);
	fx_run(slow);
	fake_task_free(slow);
	fake_task_free(quick);
	fx_teardown();
}
END_TEST

/* covers: SS-005 */
START_TEST(errors_name_the_piece)
{
	static const struct {
		uint8_t opcode, flags;
		uint32_t length;
		enum backing_kind kind;
		uint16_t asc;
	} rows[] = { { 0x8f, 0, 0, BACKING_READ, 0x1100 },
		     { 0x93, 0, FX_BLOCK, BACKING_WRITE, 0x0c00 } };
	struct fake_task *f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_setup(FX_FILE);
		fx_pattern(data, FX_BLOCK, 3);
		fx_store->error = -EIO;
		fx_store->error_kind = rows[i].kind;
		fx_store->error_from = 10 * FX_BLOCK + COMPOUND_PIECE;
		f = cmd_out(rows[i].opcode, rows[i].flags, 10, 5000, rows[i].length);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.asc_ascq, rows[i].asc);
		ck_assert_uint_eq(f->sense.info, 10 + COMPOUND_PIECE / FX_BLOCK);
		fake_task_free(f);
		fx_teardown();
	}
}
END_TEST

/* The arena has nothing left: they share the reserve, in turns, and all get through. */
START_TEST(without_scratch)
{
	struct fake_task *big, *f[3];

	fx_setup_arena(FX_FILE, 1 << 20);
	fill_medium(1);
	fx_pattern(data, FX_BLOCK, 3);
	fx_store->hold = true;
	f[0] = cmd_out(0x93, 0, 0, 1000, FX_BLOCK);
	f[0]->hold_data = true;
	scsi_submit(&f[0]->t);
	big = fx_read(&fx_nexus[0], 0, 2040);
	scsi_submit(&big->t);
	f[1] = cmd(0x8f, 0, 2000, 1000);
	f[2] = cmd(0x8f, 0, 5000, 1000);
	scsi_submit(&f[1]->t);
	scsi_submit(&f[2]->t);
	fake_task_deliver(f[0]);
	ck_assert_uint_eq(big->t.state, TASK_IO);
	/* The store keeps the big read back and lets everything else go. */
	for (int i = 0; i < 400 && !(f[0]->ended && f[1]->ended && f[2]->ended); i++) {
		struct list *keep = NULL, *n;

		n = list_first(&fx_store->held);
		if (n && list_entry(n, struct backing_io, node) == &big->t.io) {
			keep = list_pop(&fx_store->held);
			fx_store->n_held--;
		}
		fake_store_let(fx_store);
		if (keep) {
			list_add_head(&fx_store->held, keep);
			fx_store->n_held++;
		}
		fx_turn();
	}
	ck_assert(!big->ended);
	for (int i = 0; i < 3; i++) {
		ck_assert(f[i]->ended && f[i]->status == SCSI_GOOD);
		fake_task_free(f[i]);
	}
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_mem_eq(fx_store->bytes + i * FX_BLOCK, data, FX_BLOCK);
	others_untouched(0, 1000);
	fake_store_let(fx_store);
	fake_task_free(big);
	fx_teardown();
}
END_TEST

/* Detached between and within steps; what was in flight is what is held back. covers: fault-D03 */
START_TEST(abort_compound)
{
	static const uint64_t d[][2] = { { 8, 8 }, { 80, 8 }, { 800, 8 } };
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	fx_pattern(data, FX_BLOCK, 3);
	f = cmd_out(0x93, 0, 0, 8192, FX_BLOCK);
	scsi_submit(&f->t);
	fake_store_let(fx_store); /* the second MiB is in flight */
	fake_task_abort(f);
	ck_assert(f->detached);
	fx_store->hold = false;
	fx_expect(fx_write(&fx_nexus[1], 2047, 1, before), 0, 0);
	fx_expect_status(fx_write(&fx_nexus[1], 2048, 1, before), SCSI_BUSY);
	fx_expect_status(fx_write(&fx_nexus[1], 4095, 1, before), SCSI_BUSY);
	fx_expect(fx_write(&fx_nexus[1], 4096, 1, before), 0, 0);
	fx_expect_status(unmap(d, 3), SCSI_GOOD);
	fake_store_let(fx_store);
	ck_assert(f->over && !f->ended);
	fx_expect(fx_write(&fx_nexus[1], 2048, 1, before), 0, 0);
	ck_assert_uint_eq(fx_store->n_held, 0); /* no third */
	fake_task_free(f);

	fx_store->hold = true;
	f = unmap(d, 3);
	scsi_submit(&f->t);
	ck_assert_uint_eq(fx_store->n_held, 3);
	nexus_destroy(&fx_nexus[0]);
	fx_store->hold = false;
	fx_expect_status(fx_write(&fx_nexus[1], 800, 1, before), SCSI_BUSY);
	fake_store_let_one(fx_store, 0);
	fake_store_let_one(fx_store, 0);
	ck_assert(!f->over);
	fake_store_let_one(fx_store, -EIO);
	ck_assert(f->over);
	fake_task_free(f);
	fx_expect(fx_write(&fx_nexus[1], 800, 1, before), 0, 0);
	fx_teardown();
}
END_TEST

/* Between two steps nothing is in flight: it is over at once. */
START_TEST(abort_while_yielding)
{
	struct fake_task *f;

	fx_setup(FX_FILE | BACKING_INLINE);
	fx_pattern(data, FX_BLOCK, 3);
	f = cmd_out(0x93, 0, 0, 30000, FX_BLOCK);
	scsi_submit(&f->t);
	fx_turn();
	ck_assert(!f->ended);
	fake_task_abort(f);
	ck_assert(f->over);
	fake_task_free(f);
	fx_turn();
	fx_teardown();
}
END_TEST

/* UNMAP looks at each of its ranges. */
START_TEST(unmap_and_detached_write)
{
	static const uint64_t around[][2] = { { 8, 8 }, { 800, 8 } },
			      hit[][2] = { { 8, 8 }, { 80, 8 } };
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	f = fx_write(&fx_nexus[1], 85, 10, before);
	scsi_submit(&f->t);
	fake_task_abort(f);
	fx_store->hold = false;
	fx_expect(unmap(around, 2), 0, 0);
	fx_expect_status(unmap(hit, 2), SCSI_BUSY);
	fx_expect_status(cmd(0x8f, 0, 0, 100), SCSI_BUSY);
	fx_expect_status(cmd_out(0x93, 0x01, 0, 100, 0), SCSI_BUSY);
	fake_store_let(fx_store);
	fx_expect(unmap(hit, 2), 0, 0);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

static struct fake_task *lba_status(uint64_t lba, uint32_t allocation)
{
	struct fake_task *f = cmd(0x9e, 0x12, lba, allocation);

	fake_task_in(f, allocation);
	scsi_submit(&f->t);
	fx_run(f);
	return f;
}

static void expect_run(const struct fake_task *f, unsigned i, uint64_t lba, uint32_t blocks,
		       unsigned status)
{
	const uint8_t *d = f->in + 8 + 16 * i;

	ck_assert_uint_ge(f->in_length, 24 + 16 * i);
	ck_assert_uint_eq(get_be64(d), lba);
	ck_assert_uint_eq(get_be32(d + 8), blocks);
	ck_assert_uint_eq(d[12] & 0x0f, status);
}

/* covers: SP-011 SP-012 */
START_TEST(get_lba_status)
{
	struct fake_task *f;

	for (int s = 0; s < 2; s++) {
		fx_setup(stores[s]);
		memset(fx_store->allocated, 0, FX_SIZE / FAKE_STORE_UNIT);
		memset(fx_store->allocated + 10, 1, 5); /* LBA 80 to 119 */
		f = lba_status(0, 1000);
		ck_assert_uint_eq(get_be32(f->in), 4 + 3 * 16);
		expect_run(f, 0, 0, 80, 1);
		expect_run(f, 1, 80, 40, 0);
		expect_run(f, 2, 120, MEDIUM - 120, 1);
		fake_task_free(f);
		f = lba_status(33, 1000); /* not the beginning of the hole */
		expect_run(f, 0, 33, 47, 1);
		fake_task_free(f);
		f = lba_status(119, 40);
		ck_assert_uint_eq(f->in_length, 40);
		ck_assert_uint_eq(get_be32(f->in), 4 + 2 * 16);
		expect_run(f, 0, 119, 1, 0);
		expect_run(f, 1, 120, MEDIUM - 120, 1);
		fake_task_free(f);
		for (uint32_t allocation = 1; allocation < 24; allocation++) {
			f = lba_status(MEDIUM - 1, allocation);
			ck_assert_uint_eq(f->status, SCSI_GOOD);
			ck_assert_uint_eq(f->in_length, allocation);
			if (allocation >= 4)
				ck_assert_uint_eq(get_be32(f->in), 20);
			fake_task_free(f);
		}
		f = lba_status(0, 0);
		ck_assert(f->status == SCSI_GOOD && !f->in);
		fake_task_free(f);
		fx_teardown();
	}
}
END_TEST

/* More runs than one answer or one question to the store: walking finds them all. covers: SP-011 */
START_TEST(walk_lba_status)
{
	uint64_t lba = 0;
	unsigned n = 0;

	fx_setup(FX_FILE);
	for (unsigned u = 0; u < FX_SIZE / FAKE_STORE_UNIT; u++)
		fx_store->allocated[u] = u % 3 == 0;
	while (lba < MEDIUM) {
		struct fake_task *f = lba_status(lba, 8 + 16 * 50);
		unsigned runs = (get_be32(f->in) - 4) / 16;

		ck_assert_uint_ge(runs, 1);
		for (unsigned i = 0; i < runs; i++) {
			const uint8_t *d = f->in + 8 + 16 * i;
			uint32_t blocks = get_be32(d + 8);

			ck_assert_uint_eq(get_be64(d), lba);
			ck_assert_uint_gt(blocks, 0);
			for (uint32_t b = 0; b < blocks; b++)
				ck_assert_uint_eq(is_mapped(lba + b), d[12] == 0);
			lba += blocks;
			n++;
		}
		fake_task_free(f);
	}
	ck_assert_uint_eq(lba, MEDIUM);
	ck_assert_uint_ge(n, FX_SIZE / FAKE_STORE_UNIT / 3 * 2);
	fx_teardown();
}
END_TEST

/* Mapped or unknown. covers: SP-011 */
START_TEST(store_cannot_tell)
{
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->no_extents = true;
	f = lba_status(7, 100);
	ck_assert_uint_eq(get_be32(f->in), 20);
	expect_run(f, 0, 7, MEDIUM - 7, 0);
	fake_task_free(f);
	fx_store->no_extents = false;
	fx_store->error = -EIO;
	f = lba_status(7, 100);
	ck_assert_uint_eq(f->sense.key, SENSE_MEDIUM_ERROR);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/compound", verify_medium, verify_data, verify_one_block, write_and_verify,
	  write_and_verify_finds_fault, write_and_verify_short, write_same_pattern,
	  write_same_zeros, write_same_almost_zero, write_same_wrong_data, unmap_descriptors,
	  unmap_nothing_if_one_is_bad, unmap_long_list, unmap_error, long_commands_yield,
	  errors_name_the_piece, without_scratch, abort_compound, abort_while_yielding,
	  unmap_and_detached_write, get_lba_status, walk_lba_status, store_cannot_tell)
