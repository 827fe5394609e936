/* SPDX-License-Identifier: BSD-2-Clause */
/* The copy engine: what arrives, what is refused, and who may stop it when. */
#include "tests/unit/scsi/copy_fixture.h"

#include "scsi/tmf.h"

START_TEST(copies)
{
	static const struct {
		uint64_t from, to, blocks;
	} rows[] = {
		{ 0, 0, 1 },
		{ 7, 1000, 1 },
		{ 3, 9, 2047 },
		{ 0, 0, CX_BLOCKS },
		{ CX_BLOCKS - 1, CX_BLOCKS - 1, 1 },
		{ 1, 0, CX_BLOCKS - 1 },
		{ 5, 5, 0 },
		{ CX_BLOCKS, CX_BLOCKS, 0 },
	};

	for (unsigned s = 0; s < 2; s++) {
		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			cx_setup(fx_stores[s], FX_ARENA);
			cx_start(rows[i].from, rows[i].to, rows[i].blocks, false);
			cx_expect_good();
			ck_assert_mem_eq(cx_store->bytes + FX_AT(rows[i].to),
					 fx_store->bytes + FX_AT(rows[i].from),
					 FX_AT(rows[i].blocks));
			cx_others_untouched(rows[i].to, rows[i].blocks);
			cx_teardown();
		}
	}
}
END_TEST

/* Data moved within an LU arrives as it was, whichever way it overlaps itself. */
START_TEST(overlapping)
{
	static const struct {
		uint64_t from, to, blocks;
	} rows[] = {
		{ 0, 1, 9000 },    { 1, 0, 9000 },    { 0, 2048, 9000 },
		{ 2048, 0, 9000 }, { 10, 10, 5000 },  { 0, 8999, 9000 },
		{ 8999, 0, 9000 }, { 0, 9000, 9000 }, { 100, 101, 20000 },
	};
	uint8_t *was = malloc(FX_SIZE);

	for (unsigned s = 0; s < 2; s++) {
		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			cx_setup(fx_stores[s], FX_ARENA);
			for (size_t n = 0; n < FX_SIZE; n += FX_BLOCK)
				put_be32(fx_store->bytes + n, (uint32_t)(n * 2654435761u));
			memcpy(was, fx_store->bytes, FX_SIZE);
			cx_start(rows[i].from, rows[i].to, rows[i].blocks, true);
			cx_expect_good();
			memmove(was + FX_AT(rows[i].to), was + FX_AT(rows[i].from),
				FX_AT(rows[i].blocks));
			ck_assert_mem_eq(fx_store->bytes, was, FX_SIZE);
			cx_teardown();
		}
	}
	free(was);
}
END_TEST

/* A hole is not read, and is a hole where it arrives. */
START_TEST(holes)
{
	for (unsigned s = 0; s < 2; s++) {
		cx_setup(fx_stores[s], FX_ARENA);
		for (unsigned u = 0; u < FX_SIZE / FAKE_STORE_UNIT; u++) {
			if (u % 7 == 0 || u / 512 == 3)
				continue;
			fx_store->allocated[u] = 0;
			memset(fx_store->bytes + u * FAKE_STORE_UNIT, 0, FAKE_STORE_UNIT);
		}
		cx_start(0, 0, CX_BLOCKS, false);
		cx_expect_good();
		ck_assert_mem_eq(cx_store->bytes, fx_store->bytes, FX_SIZE);
		ck_assert_mem_eq(cx_store->allocated, fx_store->allocated,
				 FX_SIZE / FAKE_STORE_UNIT);
		cx_teardown();
	}
}
END_TEST

/* A store that cannot tell, or cannot be asked, is read from end to end. */
START_TEST(holes_unknown)
{
	for (unsigned i = 0; i < 2; i++) {
		cx_setup(FX_FILE, FX_ARENA);
		fx_store->no_extents = i == 0;
		if (i == 1) {
			fx_store->error_kind = BACKING_EXTENTS;
			fx_store->error = -EIO;
		}
		cx_start(0, 1, 5000, false);
		cx_expect_good();
		ck_assert_mem_eq(cx_store->bytes + FX_AT(1), fx_store->bytes, FX_AT(5000));
		cx_teardown();
	}
}
END_TEST

START_TEST(zeros)
{
	static const uint8_t none[FX_AT(3000)];

	cx_setup(FX_FILE, FX_ARENA);
	cx_range = (struct copy_range){ 0, 10, 3000 };
	cx_job = (struct copy_job){ .nexus = &fx_nexus[0],
				    .destination_lun = 1,
				    .destination = cx_lu,
				    .ranges = &cx_range,
				    .n_ranges = 1,
				    .done = cx_ended };
	ck_assert_int_eq(copy_start(&cx_job), 0);
	cx_expect_good();
	ck_assert_mem_eq(cx_store->bytes + FX_AT(10), none, sizeof(none));
	cx_others_untouched(10, 3000);
	ck_assert_uint_eq(cx_store->count[BACKING_WRITE], 0);
	cx_teardown();
}
END_TEST

/* One range after the other, and within one LU what a range has written is there for the next. */
START_TEST(ranges_in_order)
{
	static const struct copy_range ranges[] = {
		{ 0, 4096, 4096 }, { 1, 1, 0 }, { 4096, 8192, 4096 }, { 8192, 12288, 4000 }
	};

	for (unsigned s = 0; s < 2; s++) {
		cx_setup(fx_stores[s], FX_ARENA);
		memset(fx_store->allocated + 512, 0, 1024); /* holes where the second begins */
		memset(fx_store->bytes + FX_AT(4096), 0, FX_AT(8192));
		cx_job = (struct copy_job){ .nexus = &fx_nexus[0],
					    .source = fx_lu,
					    .destination = fx_lu,
					    .ranges = ranges,
					    .n_ranges = 4,
					    .done = cx_ended };
		cx_done = 0;
		ck_assert_int_eq(copy_start(&cx_job), 0);
		cx_finish();
		ck_assert_uint_eq(cx_job.side, COPY_NEITHER);
		for (unsigned i = 1; i < 4; i++)
			ck_assert_mem_eq(fx_store->bytes + FX_AT(4096 * i), fx_store->bytes,
					 FX_AT(i == 3 ? 4000 : 4096));
		cx_teardown();
	}
}
END_TEST

/* With an arena that is full or tiny it waits, and gets through. */
START_TEST(little_memory)
{
	cx_setup(FX_FILE, 1u << 20);
	cx_start(0, 0, CX_BLOCKS, false);
	cx_expect_good();
	ck_assert_mem_eq(cx_store->bytes, fx_store->bytes, FX_SIZE);
	ck_assert_uint_le(fx_store->longest, 65536);
	cx_teardown();
}
END_TEST

/* Several at once share a quarter of the memory, and all of them end. */
START_TEST(fair)
{
	struct copy_job jobs[8];
	struct copy_range ranges[8];

	cx_setup(FX_FILE, FX_ARENA);
	for (unsigned i = 0; i < 8; i++) {
		ranges[i] = (struct copy_range){ i * 4096, i * 4096, 4096 };
		jobs[i] = (struct copy_job){ .nexus = &fx_nexus[i % FX_NEXUS],
					     .source = fx_lu,
					     .destination_lun = 1,
					     .destination = cx_lu,
					     .ranges = &ranges[i],
					     .n_ranges = 1,
					     .done = cx_ended };
		ck_assert_int_eq(copy_start(&jobs[i]), 0);
	}
	for (unsigned turn = 0; turn < 10000 && cx_done < 8; turn++) {
		ck_assert_uint_le(scsi_home(fx_reactor)->copy_bytes, FX_ARENA / 4);
		fx_turn();
	}
	ck_assert_uint_eq(cx_done, 8);
	ck_assert_mem_eq(cx_store->bytes, fx_store->bytes, FX_SIZE);
	cx_teardown();
}
END_TEST

START_TEST(failures)
{
	static const struct {
		bool source;
		int error;
		uint8_t key;
		uint16_t asc;
	} rows[] = {
		{ true, -EIO, SENSE_MEDIUM_ERROR, 0x1100 },
		{ false, -EIO, SENSE_MEDIUM_ERROR, 0x0c00 },
		{ false, -ENOSPC, SENSE_DATA_PROTECT, 0x2707 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_store *s;

		cx_setup(FX_FILE, FX_ARENA);
		s = rows[i].source ? fx_store : cx_store;
		s->error = rows[i].error;
		s->error_kind = rows[i].source ? BACKING_READ : BACKING_WRITE;
		s->error_from = FX_AT(9000);
		cx_start(0, 0, 16384, false);
		cx_expect_failure(rows[i].source ? COPY_SOURCE : COPY_DESTINATION, rows[i].key,
				  rows[i].asc);
		ck_assert(cx_job.bytes >= FX_AT(2048) && cx_job.bytes < FX_AT(16384));
		cx_others_untouched(0, 16384);
		cx_teardown();
	}
}
END_TEST

static void expect_nothing_written(void)
{
	cx_others_untouched(0, 0);
	ck_assert_uint_eq(cx_store->count[BACKING_WRITE] + cx_store->count[BACKING_ZERO], 0);
}

START_TEST(refused)
{
	COVERS("SR-005");
	/* The nexus has the destination read-only; the source may be. */
	cx_setup(FX_FILE, FX_ARENA);
	cx_remap(true, true);
	cx_start(0, 0, 100, false);
	cx_expect_failure(COPY_DESTINATION, SENSE_DATA_PROTECT, 0x2700);
	expect_nothing_written();
	cx_teardown();

	/* Not mapped. */
	cx_setup(FX_FILE, FX_ARENA);
	cx_remap(false, false);
	cx_start(0, 0, 100, false);
	cx_expect_failure(COPY_DESTINATION, SENSE_ILLEGAL_REQUEST, 0x2500);
	expect_nothing_written();
	cx_teardown();

	/* Beyond the end of either. */
	cx_setup(FX_FILE, FX_ARENA);
	cx_start(CX_BLOCKS - 9, 0, 10, false);
	cx_expect_failure(COPY_SOURCE, SENSE_ILLEGAL_REQUEST, 0x2100);
	cx_start(0, CX_BLOCKS - 9, 10, false);
	cx_expect_failure(COPY_DESTINATION, SENSE_ILLEGAL_REQUEST, 0x2100);
	expect_nothing_written();
	cx_teardown();

	/* Stopped units. */
	for (unsigned i = 0; i < 2; i++) {
		cx_setup(FX_FILE, FX_ARENA);
		lu_change_state(i ? cx_lu : fx_lu, ~0u, LU_STOPPED);
		cx_start(0, 0, 10, false);
		cx_expect_failure(i ? COPY_DESTINATION : COPY_SOURCE, SENSE_NOT_READY, 0x0402);
		expect_nothing_written();
		cx_teardown();
	}
}
END_TEST

/* RESERVE(6) by another nexus on either side. */
START_TEST(reserved)
{
	static const uint8_t reserve[6] = { 0x16 };

	COVERS("SR-005");
	for (unsigned lun = 0; lun < 2; lun++) {
		struct fake_task *f;

		cx_setup(FX_FILE, FX_ARENA);
		f = fake_task_new(&fx_nexus[1], lun, reserve, 6);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->status, SCSI_GOOD);
		fake_task_free(f);
		cx_start(0, 0, 10, false);
		cx_expect_failure(lun ? COPY_DESTINATION : COPY_SOURCE, SCSI_RESERVATION_CONFLICT,
				  0);
		expect_nothing_written();
		cx_teardown();
	}
}
END_TEST

START_TEST(different_blocks)
{
	struct lu_params p = { .block_size = 4096 };
	struct scsi_lu *lu;
	const char *why;

	cx_setup(FX_FILE, FX_ARENA);
	ck_assert_int_eq(lu_create(&p, &cx_store->b, &lu, &why), 0);
	cx_job = (struct copy_job){
		.nexus = &fx_nexus[0], .source = fx_lu, .destination = lu, .done = cx_ended
	};
	ck_assert_int_eq(copy_start(&cx_job), -EINVAL);
	lu_unref(lu);
	cx_teardown();
}
END_TEST

/* Cancelled at every step: nothing begins any more, and done is not called. */
START_TEST(cancelled)
{
	for (unsigned s = 0; s < 4; s++) {
		for (unsigned at = 0; at < 8; at++) {
			unsigned writes;

			cx_setup(FX_FILE, FX_ARENA);
			fx_store->hold = s & 1;
			cx_store->hold = s & 2;
			cx_start(0, 0, CX_BLOCKS, false);
			for (unsigned i = 0; i < at; i++) {
				fx_turn();
				if (i & 1 && fx_store->n_held)
					fake_store_let_one(fx_store, 0);
			}
			copy_cancel(&cx_job);
			ck_assert_ptr_null(cx_job.copy);
			copy_cancel(&cx_job);
			writes = cx_store->count[BACKING_WRITE];
			fake_store_let(fx_store);
			fake_store_let(cx_store);
			for (unsigned i = 0; i < 20; i++)
				fx_turn();
			ck_assert(!cx_done);
			ck_assert_uint_eq(cx_store->count[BACKING_WRITE], writes);
			cx_teardown();
		}
	}
}
END_TEST

/* The nexus goes with the store still busy. */
START_TEST(nexus_lost)
{
	COVERS("SX-017");
	for (unsigned which = 0; which < 2; which++) {
		struct fake_store *busy;

		cx_setup(FX_FILE, FX_ARENA);
		busy = which ? cx_store : fx_store;
		busy->hold = true;
		cx_start(0, 0, CX_BLOCKS, false);
		for (unsigned i = 0; i < 6; i++) {
			fx_turn();
			if (!which && busy->n_held && i < 4)
				fake_store_let_one(busy, 0); /* the map */
		}
		ck_assert_uint_gt(busy->n_held, 0);
		nexus_destroy(&fx_nexus[0]);
		ck_assert_ptr_null(cx_job.copy);
		busy->hold = false;
		fake_store_let(busy);
		for (unsigned i = 0; i < 20; i++)
			fx_turn();
		ck_assert(!cx_done);
		cx_teardown();
	}
}
END_TEST

static void reset_done(struct scsi_tmf *tmf)
{
	(void)tmf;
}

/* A LU RESET of one side, by anybody, fails the job. */
START_TEST(reset)
{
	COVERS("SX-017");
	for (uint64_t lun = 0; lun < 2; lun++) {
		struct scsi_tmf tmf = { .nexus = &fx_nexus[1],
					.function = TMF_LU_RESET,
					.lun = lun,
					.done = reset_done };
		struct fake_store *busy;

		cx_setup(FX_FILE, FX_ARENA);
		busy = lun ? cx_store : fx_store;
		cx_start(0, 0, CX_BLOCKS, false);
		for (unsigned i = 0; i < 3; i++)
			fx_turn();
		busy->hold = true;
		for (unsigned i = 0; i < 4; i++)
			fx_turn();
		ck_assert_uint_gt(busy->n_held, 0);
		scsi_tmf(&tmf);
		cx_expect_failure(lun ? COPY_DESTINATION : COPY_SOURCE, SCSI_TASK_ABORTED, 0);
		busy->hold = false;
		fake_store_let(busy);
		for (unsigned i = 0; i < 20; i++)
			fx_turn();
		ck_assert_int_eq(tmf.response, TMF_COMPLETE);
		cx_teardown();
	}
}
END_TEST

/* The LU goes while it is copied to: the job fails at its next command. */
START_TEST(lu_removed)
{
	cx_setup(FX_FILE, FX_ARENA);
	cx_start(0, 0, CX_BLOCKS, false);
	for (unsigned i = 0; i < 4; i++)
		fx_turn();
	ck_assert_uint_gt(cx_store->count[BACKING_WRITE], 0);
	ck_assert(!cx_done);
	cx_remap(false, false);
	cx_expect_failure(COPY_DESTINATION, SENSE_ILLEGAL_REQUEST, 0x2500);
	ck_assert_uint_lt(cx_job.bytes, FX_SIZE);
	cx_teardown();
}
END_TEST

/* Copies stand in no order: an ORDERED command waits for none to begin, nor they for it. */
START_TEST(beside_the_task_set)
{
	struct fake_task *ordered, *full[8];

	cx_setup(FX_FILE, FX_ARENA);
	fx_store->hold = true;
	ordered = fx_read(&fx_nexus[0], 0, 1);
	ordered->t.attribute = ATTR_ORDERED;
	scsi_submit(&ordered->t);
	for (int i = 0; i < 7; i++) {
		full[i] = fx_read(&fx_nexus[0], 0, 1);
		scsi_submit(&full[i]->t);
	}
	fx_store->hold = false;
	cx_start(0, 0, 4096, false);
	cx_expect_good(); /* with a task set that is full, and an ORDERED command in it */
	ck_assert(!ordered->ended);
	fake_store_let(fx_store);
	for (int i = 0; i < 7; i++) {
		fx_run(full[i]);
		fake_task_free(full[i]);
	}
	fake_task_free(ordered);
	cx_teardown();
}
END_TEST

/* A unit attention stays for the initiator. */
START_TEST(unit_attention_is_kept)
{
	uint16_t ua;

	cx_setup(FX_FILE, FX_ARENA);
	lu_ua_all(cx_lu, ASC_CAPACITY_CHANGED, NULL);
	cx_start(0, 0, 10, false);
	cx_expect_good();
	ck_assert(itl_ua_take(nexus_find(&fx_nexus[0], 1), &ua));
	ck_assert_uint_eq(ua, ASC_CAPACITY_CHANGED);
	cx_teardown();
}
END_TEST

UNIT_MAIN("scsi/copy", copies, overlapping, holes, holes_unknown, zeros, ranges_in_order,
	  little_memory, fair, failures, refused, reserved, different_blocks, cancelled, nexus_lost,
	  reset, lu_removed, beside_the_task_set, unit_attention_is_kept)
