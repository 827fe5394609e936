/* SPDX-License-Identifier: BSD-2-Clause */
/* Data, residuals, buffers, and what the store answers. */
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

static uint8_t data[1 << 20];

START_TEST(data_goes_through)
{
	COVERS("SA-007 SB-010");
	struct fake_task *f;

	for (unsigned mapped = 0; mapped < 3; mapped++) {
		fx_setup(BACKING_INLINE);
		fx_store->mapping = mapped;
		for (int i = 0; i < FX_NEXUS; i++)
			fx_nexus[i].stable_data = mapped == 2; /* it must not be used then */
		fx_pattern(data, sizeof(data), (unsigned)mapped);
		fx_expect(fx_write(&fx_nexus[0], 3, 200, data), 0, 0);
		ck_assert_mem_eq(fx_store->bytes + FX_AT(3), data, FX_AT(200));
		f = fx_read(&fx_nexus[1], 3, 200);
		scsi_submit(&f->t);
		ck_assert(f->ended); /* in the same call chain */
		ck_assert_uint_eq(f->in_length, FX_AT(200));
		ck_assert_mem_eq(f->in, data, f->in_length);
		fake_task_free(f);
		ck_assert_uint_eq(fx_store->count[BACKING_READ], mapped == 1 ? 0 : 1);
		fx_teardown();
	}
}
END_TEST

/* A store that completes later; two turns. */
START_TEST(data_goes_through_slowly)
{
	COVERS("SA-007");
	struct fake_task *f;

	fx_setup(0);
	fx_pattern(data, sizeof(data), 5);
	fx_store->hold = true;
	f = fx_write(&fx_nexus[0], 0, 2048, data);
	scsi_submit(&f->t);
	fx_turn();
	ck_assert(!f->ended && f->t.state == TASK_IO);
	fake_store_let(fx_store);
	ck_assert(f->ended && f->status == SCSI_GOOD);
	fake_task_free(f);
	f = fx_read(&fx_nexus[0], 1, 2047);
	scsi_submit(&f->t);
	fake_store_let(fx_store);
	ck_assert_mem_eq(f->in, data + FX_BLOCK, FX_AT(2047));
	fake_task_free(f);
	fx_teardown();
}
END_TEST

struct residual {
	uint32_t blocks, edtl; /* the CDB asks for, the initiator expects */
	bool flag;             /* R or W is set */
	uint32_t moves;
	uint64_t data_length; /* what the residual is counted from */
	bool refused;
};

static const struct residual reads[] = {
	{ 1, 512, true, 512, 512, false },    { 1, 0, true, 0, 512, false },
	{ 1, 512, false, 0, 0, false },       { 1, 10000, true, 512, 512, false },
	{ 1, 200, true, 200, 512, false },    { 2, 512, true, 512, 1024, false },
	{ 2, 1000, true, 1000, 1024, false }, { 0, 512, true, 0, 0, false },
	{ 0, 0, false, 0, 0, false },         { 1, 0, false, 0, 512, false },
};

START_TEST(residuals_of_reads)
{
	COVERS("SB-003 SB-006 SG-012 SG-013");
	for (unsigned mapped = 0; mapped < 2; mapped++) {
		fx_setup(BACKING_INLINE);
		fx_store->mapping = mapped;
		fx_pattern(fx_store->bytes, 4096, 1);
		for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
			const struct residual *r = &reads[i];
			struct fake_task *f = fx_read(&fx_nexus[0], 1, r->blocks);

			f->t.edtl = r->edtl;
			f->t.read = r->flag;
			scsi_submit(&f->t);
			ck_assert(f->ended && f->status == SCSI_GOOD);
			ck_assert_uint_eq(f->in_length, r->moves);
			ck_assert_uint_eq(f->data_length, r->data_length);
			if (r->moves)
				ck_assert_mem_eq(f->in, fx_store->bytes + FX_BLOCK, r->moves);
			fake_task_free(f);
		}
		fx_teardown();
	}
}
END_TEST

/* The blocks that the initiator has; the rest of the medium stays as it was. Who has a part of a
 * block, or none because it means to read, is told that nothing was written. */
static const struct residual writes[] = {
	{ 1, 512, true, 512, 512, false },   { 1, 0, true, 0, 512, false },
	{ 1, 512, false, 0, 512, true },     { 1, 0, false, 0, 512, true },
	{ 1, 10000, true, 512, 512, false }, { 1, 200, true, 0, 512, true },
	{ 2, 512, true, 512, 1024, false },  { 2, 1000, true, 0, 1024, true },
	{ 0, 512, true, 0, 0, false },       { 3, 1535, true, 0, 1536, true },
};

START_TEST(residuals_of_writes)
{
	COVERS("SB-003 SB-006 SG-013");
	static uint8_t before[4096];

	for (unsigned mapped = 0; mapped < 2; mapped++) {
		fx_setup(BACKING_INLINE);
		fx_store->mapping = mapped;
		fx_pattern(before, sizeof(before), 77);
		fx_pattern(data, sizeof(data), 3);
		for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
			const struct residual *r = &writes[i];
			struct fake_task *f = fx_write(&fx_nexus[0], 1, r->blocks, data);

			memcpy(fx_store->bytes, before, sizeof(before));
			f->t.edtl = r->edtl;
			f->t.write = r->flag;
			scsi_submit(&f->t);
			ck_assert(f->ended);
			ck_assert_uint_eq(f->status, r->refused ? SCSI_CHECK_CONDITION : SCSI_GOOD);
			if (r->refused)
				ck_assert(f->sense.key == SENSE_ILLEGAL_REQUEST &&
					  f->sense.asc_ascq == 0x0e03);
			ck_assert_uint_eq(f->asked_length, r->moves);
			ck_assert_uint_eq(f->data_length, r->data_length);
			ck_assert_mem_eq(fx_store->bytes, before, FX_BLOCK);
			if (r->moves)
				ck_assert_mem_eq(fx_store->bytes + FX_BLOCK, data, r->moves);
			ck_assert_mem_eq(fx_store->bytes + FX_BLOCK + r->moves,
					 before + FX_BLOCK + r->moves,
					 sizeof(before) - FX_BLOCK - r->moves);
			fake_task_free(f);
		}
		fx_teardown();
	}
}
END_TEST

/* INFORMATION is the first block that cannot be read, wherever it is. */
START_TEST(first_bad_block)
{
	static const struct {
		uint32_t blocks, bad;
	} cases[] = { { 1, 0 }, { 2, 1 }, { 3, 0 }, { 8, 7 }, { 1000, 999 }, { 8192, 5001 } };

	COVERS("SS-005 SB-043");
	for (unsigned i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t bad = 37 + cases[i / 2].bad;
		struct fake_task *f;

		fx_setup(i % 2 ? BACKING_INLINE : 0);
		fx_store->error = -EIO;
		fx_store->error_from = FX_AT(bad);
		f = fx_read(&fx_nexus[0], 37, cases[i / 2].blocks);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.key, SENSE_MEDIUM_ERROR);
		ck_assert_uint_eq(f->sense.asc_ascq, 0x1100);
		ck_assert(f->sense.info_valid && !f->in);
		ck_assert_uint_eq(f->sense.info, bad);
		ck_assert_uint_eq(f->data_length, 0);
		ck_assert_uint_le(fx_store->count[BACKING_READ], 20);
		fake_task_free(f);
		fx_expect(fx_read(&fx_nexus[0], 37 - 8, 8), 0, 0);
		fx_teardown();
	}
}
END_TEST

/* Stopped while the block is looked for. */
START_TEST(aborted_while_locating)
{
	struct fake_task *f;

	fx_setup(0);
	fx_store->hold = true;
	f = fx_read(&fx_nexus[0], 0, 100);
	scsi_submit(&f->t);
	fake_store_let_one(fx_store, -EIO);
	ck_assert(!f->ended && fx_store->n_held == 1);
	fake_task_abort(f);
	ck_assert(f->detached && !f->over);
	fake_store_let_one(fx_store, -EIO);
	ck_assert(f->over && !f->ended && !fx_store->n_held);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

START_TEST(store_errors)
{
	COVERS("SS-005 SS-010 SS-011 SB-043 SB-044 fault-H06 fault-G08");
	struct fake_task *f;

	fx_setup(0);
	fx_store->error = -EIO;
	f = fx_read(&fx_nexus[0], 37, 4);
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(f->sense.key, SENSE_MEDIUM_ERROR);
	ck_assert_uint_eq(f->sense.asc_ascq, 0x1100);
	ck_assert(f->sense.info_valid && f->sense.info == 37);
	ck_assert(!f->in);
	fake_task_free(f);
	f = fx_write(&fx_nexus[0], 41, 4, data);
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(f->sense.asc_ascq, 0x0c00);
	ck_assert(f->sense.info_valid && f->sense.info == 41);
	fake_task_free(f);
	fx_store->error = -ENOSPC;
	fx_expect(fx_write(&fx_nexus[0], 41, 4, data), SENSE_DATA_PROTECT, 0x2707);
	fx_store->error = 0;
	fx_expect(fx_write(&fx_nexus[0], 41, 4, data), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(shrunk_under_io)
{
	COVERS("SB-037");
	struct fake_task *f;

	fx_setup(0);
	fx_store->hold = true;
	f = fx_read(&fx_nexus[0], FX_SIZE / FX_BLOCK - 1, 1);
	scsi_submit(&f->t);
	fx_store->b.info.size = FX_SIZE / 2;
	fake_store_let_one(fx_store, -EINVAL);
	ck_assert_uint_eq(f->sense.asc_ascq, 0x2100);
	fake_task_free(f);
	lu_resized(fx_lu);
	fx_store->hold = false;
	fx_expect(fx_tur(&fx_nexus[0]), SENSE_UNIT_ATTENTION, ASC_CAPACITY_CHANGED);
	fx_expect(fx_tur(&fx_nexus[1]), SENSE_UNIT_ATTENTION, ASC_CAPACITY_CHANGED);
	fx_expect(fx_tur(&fx_nexus[0]), 0, 0);
	fx_expect(fx_read(&fx_nexus[0], FX_SIZE / FX_BLOCK - 1, 1), SENSE_ILLEGAL_REQUEST, 0x2100);
	fx_teardown();
}
END_TEST

START_TEST(force_unit_access)
{
	COVERS("SB-007");
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_expect(fx_write(&fx_nexus[0], 0, 1, data), 0, 0);
	ck_assert_uint_eq(fx_store->durable, 0);
	f = fx_write(&fx_nexus[0], 0, 1, data);
	f->cdb[1] = 0x08;
	fx_expect(f, 0, 0);
	ck_assert_uint_eq(fx_store->durable, 1);
	/* What lies in the cache is on the medium before it is read. */
	fx_store->n_log = 0;
	f = fx_read(&fx_nexus[0], 0, 1);
	f->cdb[1] = 0x08;
	fx_expect(f, 0, 0);
	ck_assert_uint_eq(fx_store->n_log, 2);
	ck_assert_uint_eq(fx_store->log[0].kind, BACKING_FLUSH);
	ck_assert_uint_eq(fx_store->log[1].kind, BACKING_READ);
	/* and what cannot be put there is not read as if it were */
	fx_store->error = -EIO;
	fx_store->error_kind = BACKING_FLUSH;
	f = fx_read(&fx_nexus[0], 0, 1);
	f->cdb[1] = 0x08;
	fx_expect(f, SENSE_MEDIUM_ERROR, 0x0c00);
	fx_teardown();
}
END_TEST

static struct fake_task *sync_cache(bool immed)
{
	uint8_t cdb[16] = { 0x91, immed ? 0x02 : 0 };

	return fx_task(&fx_nexus[0], cdb, 16);
}

START_TEST(synchronize_cache)
{
	COVERS("SB-022");
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	f = sync_cache(false);
	scsi_submit(&f->t);
	fx_turn();
	ck_assert(!f->ended);
	fake_store_let(fx_store);
	ck_assert(f->ended && f->status == SCSI_GOOD);
	fake_task_free(f);
	f = sync_cache(true);
	scsi_submit(&f->t);
	ck_assert(f->ended && f->status == SCSI_GOOD); /* before the flush has ended */
	ck_assert_uint_eq(fx_store->n_held, 1);
	fake_task_free(f);
	fake_store_let_one(fx_store, -EIO);
	/* The early GOOD was wrong: the next one to ask for safety hears of it, once. */
	fx_store->hold = false;
	fx_expect(sync_cache(false), SENSE_MEDIUM_ERROR, 0x0c00);
	fx_expect(sync_cache(false), 0, 0);
	fx_store->error = -EIO;
	fx_store->error_kind = BACKING_FLUSH;
	fx_expect(sync_cache(false), SENSE_MEDIUM_ERROR, 0x0c00);
	fx_teardown();
}
END_TEST

/* Without a cache the host flushes no more: what lies in it is written when it is switched off. */
START_TEST(cache_is_emptied_when_switched_off)
{
	COVERS("SB-022");
	static const uint8_t cdb[6] = { 0x15, 0x10, 0, 0, 24 };
	uint8_t list[24] = {
		0, 0, 0, 0, 0x08, 0x12, 0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff
	};
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	for (int again = 0; again < 2; again++) { /* the second one changes nothing */
		f = fx_task(&fx_nexus[0], cdb, 6);
		fake_task_out(f, list, sizeof(list));
		scsi_submit(&f->t);
		fx_turn();
		ck_assert(f->ended == again);
		ck_assert_uint_eq(fx_store->n_held, !again);
		fake_store_let(fx_store);
		fx_run(f);
		ck_assert_uint_eq(f->status, SCSI_GOOD);
		ck_assert_uint_eq(fx_store->count[BACKING_FLUSH], 1);
		fake_task_free(f);
	}
	list[6] = 0x04; /* on again: nothing to write */
	f = fx_task(&fx_nexus[0], cdb, 6);
	fake_task_out(f, list, sizeof(list));
	fx_expect(f, 0, 0);
	ck_assert_uint_eq(fx_store->count[BACKING_FLUSH], 1);
	fx_store->hold = false;
	fx_store->error = -EIO;
	fx_store->error_kind = BACKING_FLUSH;
	list[6] = 0;
	f = fx_task(&fx_nexus[0], cdb, 6);
	fake_task_out(f, list, sizeof(list));
	fx_expect(f, SENSE_MEDIUM_ERROR, 0x0c00);
	fx_teardown();
}
END_TEST

/* An early flush keeps LU and queue although its session is gone. */
START_TEST(early_flush_outlives_all)
{
	COVERS("SB-022");
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	f = sync_cache(true);
	scsi_submit(&f->t);
	fake_task_free(f);
	for (int i = 0; i < FX_NEXUS; i++)
		nexus_destroy(&fx_nexus[i]);
	ck_assert_uint_eq(fx_store->queues, 1);
	fake_store_let(fx_store);
	ck_assert_uint_eq(fx_store->queues, 0);
	fx_teardown();
}
END_TEST

/* First come, first served; nothing is asked for before there is room. */
START_TEST(waits_for_buffers)
{
	COVERS("fault-L05");
	struct fake_task *big, *f[3];

	fx_setup_arena(0, 1 << 20);
	fx_store->hold = true;
	big = fx_read(&fx_nexus[0], 0, 2048);
	scsi_submit(&big->t);
	for (int i = 0; i < 3; i++) {
		f[i] = fx_write(&fx_nexus[i], 8, 1, data);
		scsi_submit(&f[i]->t);
		ck_assert(!f[i]->asked && f[i]->t.state == TASK_WAIT_BUFFER);
	}
	ck_assert(scsi_refuse(&f[1]->t, SCSI_TASK_SET_FULL));
	ck_assert(f[1]->ended && f[1]->status == SCSI_TASK_SET_FULL);
	fake_store_let(fx_store);
	ck_assert(big->ended && f[0]->asked && f[2]->asked && !f[1]->asked);
	ck_assert(!scsi_refuse(&f[0]->t, SCSI_BUSY));
	fake_store_let(fx_store);
	ck_assert(f[0]->ended && f[2]->ended);
	fake_task_free(big);
	for (int i = 0; i < 3; i++)
		fake_task_free(f[i]);
	fx_teardown();
}
END_TEST

START_TEST(answer_waits_for_buffer)
{
	COVERS("SI-001 SN-012");
	static const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 36 };
	struct fake_task *big, *at_once, *f[2];

	fx_setup_arena(0, 1 << 20);
	at_once = fx_task(&fx_nexus[0], inquiry, 6);
	fake_task_in(at_once, 36);
	scsi_submit(&at_once->t);
	ck_assert(at_once->ended);
	fx_store->hold = true;
	big = fx_read(&fx_nexus[0], 0, 2048);
	scsi_submit(&big->t);
	for (int i = 0; i < 2; i++) {
		f[i] = fx_task(&fx_nexus[0], inquiry, 6);
		fake_task_in(f[i], 36);
		scsi_submit(&f[i]->t);
		ck_assert(!f[i]->ended);
	}
	memset(fx_nexus[0].home->answer, 0xee, 64); /* as other commands do meanwhile */
	fake_task_abort(f[1]);
	ck_assert(f[1]->over);
	fake_store_let(fx_store);
	ck_assert(f[0]->ended && f[0]->in_length == 36);
	ck_assert_mem_eq(f[0]->in, at_once->in, 36);
	fake_task_free(at_once);
	fake_task_free(big);
	fake_task_free(f[0]);
	fake_task_free(f[1]);
	fx_teardown();
}
END_TEST

/* What can never fit is told so at once. */
START_TEST(larger_than_the_arena)
{
	fx_setup_arena(0, 1 << 20);
	fx_expect_status(fx_read(&fx_nexus[0], 0, 4096), SCSI_BUSY);
	fx_teardown();
}
END_TEST

START_TEST(counters)
{
	struct lu_counters c;

	for (unsigned mapped = 0; mapped < 2; mapped++) {
		fx_setup(FX_FILE);
		fx_store->mapping = mapped;
		fx_expect(fx_write(&fx_nexus[0], 0, 8, data), 0, 0);
		fx_expect(fx_read(&fx_nexus[0], 0, 3), 0, 0);
		fx_expect(fx_read(&fx_nexus[1], 0, 1), 0, 0);
		fx_expect(sync_cache(false), 0, 0);
		lu_get_counters(fx_lu, &c);
		ck_assert_uint_eq(c.writes, 1);
		ck_assert_uint_eq(c.write_bytes, 4096);
		ck_assert_uint_eq(c.reads, 2);
		ck_assert_uint_eq(c.read_bytes, 2048);
		ck_assert_uint_eq(c.flushes, 1);
		ck_assert_uint_eq(c.errors, 0);
		fx_teardown();
	}
}
END_TEST

UNIT_MAIN("scsi/exec_io", data_goes_through, data_goes_through_slowly, residuals_of_reads,
	  residuals_of_writes, first_bad_block, aborted_while_locating, store_errors,
	  shrunk_under_io, force_unit_access, synchronize_cache, cache_is_emptied_when_switched_off,
	  early_flush_outlives_all, waits_for_buffers, answer_waits_for_buffer,
	  larger_than_the_arena, counters)
