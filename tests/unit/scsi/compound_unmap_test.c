/* SPDX-License-Identifier: BSD-2-Clause */
/* UNMAP and GET LBA STATUS: what is mapped afterwards, and how that is told. */
#include "tests/unit/scsi/compound_fixture.h"

static size_t unmap_list(uint8_t *list, const uint64_t (*d)[2], unsigned n)
{
	size_t length = 8 + 16 * (size_t)n;

	memset(list, 0, length);
	put_be16(list, (uint16_t)(length - 2));
	put_be16(list + 2, (uint16_t)(16 * n));
	for (unsigned i = 0; i < n; i++) {
		put_be64(list + 8 + (size_t)16 * i, d[i][0]);
		put_be32(list + 16 + (size_t)16 * i, (uint32_t)d[i][1]);
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

/* COMPARE AND WRITE of one block, with what is in data. */
static struct fake_task *caw(uint64_t lba)
{
	uint8_t cdb[16] = { 0x89, [13] = 1 };
	struct fake_task *f;

	put_be64(cdb + 2, lba);
	f = fx_task(&fx_nexus[0], cdb, 16);
	fake_task_out(f, data, 2 * FX_BLOCK);
	return f;
}

static bool is_mapped(uint64_t lba)
{
	return fx_store->allocated[FX_AT(lba) / FAKE_STORE_UNIT];
}

START_TEST(unmap_descriptors)
{
	COVERS("SP-004 SP-005 SP-013 SP-014");
	static const uint64_t d[][2] = { { 800, 80 }, { 16, 8 },     { MEDIUM, 0 },
					 { 24, 16 },  { 808, 8 },    { MEDIUM - 8, 8 },
					 { 0, 0 },    { 4096, 8192 } };

	for (int s = 0; s < 2; s++) {
		struct lu_counters c;

		fx_setup(fx_stores[s]);
		fill_medium(1);
		fx_expect(unmap(d, 8), 0, 0);
		for (uint64_t lba = 0; lba < MEDIUM; lba++) {
			bool gone = false;

			for (int i = 0; i < 8; i++)
				gone |= lba >= d[i][0] && lba < d[i][0] + d[i][1];
			ck_assert_uint_eq(is_mapped(lba), !gone);
			if (!gone)
				ck_assert_mem_eq(fx_store->bytes + FX_AT(lba), before + FX_AT(lba),
						 FX_BLOCK);
		}
		ck_assert_uint_eq(fx_store->count[BACKING_TRIM], 6);
		lu_get_counters(fx_lu, &c);
		ck_assert_uint_eq(c.unmaps, 1);
		fx_teardown();
	}
}
END_TEST

START_TEST(unmap_nothing_if_one_is_bad)
{
	COVERS("SP-006");
	static const uint64_t d[][2] = { { 800, 80 }, { MEDIUM - 1, 2 } };

	fx_setup(FX_FILE);
	fill_medium(1);
	fx_expect(unmap(d, 2), SENSE_ILLEGAL_REQUEST, 0x2100);
	ck_assert_uint_eq(fx_store->count[BACKING_TRIM], 0);
	fx_teardown();
}
END_TEST

/* A list of many pages lies in pieces. Parallel, but not all at once. */
START_TEST(unmap_long_list)
{
	COVERS("SP-007");
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

/* Where hosts lock with COMPARE AND WRITE, pieces are short, for they wait for those in flight; but
 * no unit of the store is cut. */
START_TEST(short_pieces_where_hosts_lock)
{
	COVERS("fault-Q02");
	static const struct {
		uint32_t unit, alignment;
		unsigned pieces;
	} rows[] = { { 4096, 0, 4 }, { 4096, 1 << 20, 5 }, { 3 << 20, 0, 6 }, { 8 << 20, 0, 1 } };
	static const uint64_t all[][2] = { { 0, MEDIUM } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_setup(FX_FILE);
		fx_store->b.info.trim_granularity = rows[i].unit;
		fx_store->b.info.trim_alignment = rows[i].alignment;
		fx_expect(unmap(all, 1), 0, 0);
		ck_assert_uint_eq(fx_store->count[BACKING_TRIM], rows[i].alignment ? 2 : 1);
		memset(data, 0, FX_BLOCK * 2);
		fx_expect(caw(5), 0, 0);
		fx_store->n_log = 0;
		fx_store->count[BACKING_TRIM] = 0;
		fx_expect(unmap(all, 1), 0, 0);
		ck_assert_uint_eq(fx_store->count[BACKING_TRIM], rows[i].pieces);
		for (unsigned n = 0; n + 1 < rows[i].pieces; n++) {
			uint64_t end = fx_store->log[n].offset + fx_store->log[n].length;

			ck_assert_uint_le(fx_store->log[n].length, COMPOUND_SHORT);
			ck_assert_uint_eq(end % rows[i].unit, rows[i].alignment % rows[i].unit);
		}
		fx_teardown();
	}
}
END_TEST

/* The first error is the answer, when all that was begun has ended. */
START_TEST(unmap_error)
{
	COVERS("SS-005 fault-G09");
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

/* Detached between and within steps; what was in flight is what is held back. */
START_TEST(abort_compound)
{
	COVERS("fault-D03");
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
	const uint8_t *d = f->in + 8 + (size_t)16 * i;

	ck_assert_uint_ge(f->in_length, 24 + (size_t)16 * i);
	ck_assert_uint_eq(get_be64(d), lba);
	ck_assert_uint_eq(get_be32(d + 8), blocks);
	ck_assert_uint_eq(d[12] & 0x0f, status);
}

START_TEST(get_lba_status)
{
	COVERS("SP-011 SP-012");
	struct fake_task *f;

	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
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

/* More runs than one answer or one question to the store: walking finds them all. */
START_TEST(walk_lba_status)
{
	COVERS("SP-011");
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
			const uint8_t *d = f->in + 8 + (size_t)16 * i;
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
	ck_assert_uint_ge(n, 2 * (size_t)(FX_SIZE / FAKE_STORE_UNIT / 3));
	fx_teardown();
}
END_TEST

/* Mapped or unknown. */
START_TEST(store_cannot_tell)
{
	COVERS("SP-011");
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

UNIT_MAIN("scsi/compound_unmap", unmap_descriptors, unmap_nothing_if_one_is_bad, unmap_long_list,
	  short_pieces_where_hosts_lock, unmap_error, abort_compound, unmap_and_detached_write,
	  get_lba_status, walk_lba_status, store_cannot_tell)
