/* SPDX-License-Identifier: BSD-2-Clause */
/* COMPARE AND WRITE, ORWRITE, WRITE ATOMIC: what they do, and who waits for whom. */
#include "tests/unit/scsi/compound_fixture.h"

/* COMPARE AND WRITE of n blocks; data: what shall be there is n blocks behind what must be. */
static struct fake_task *compare_write(struct it_nexus *nexus, uint64_t lba, uint32_t blocks,
				       const uint8_t *instances)
{
	struct fake_task *f;
	uint8_t cdb[16];

	fx_rw(cdb, 0x89, lba, blocks);
	f = fx_task(nexus, cdb, 16);
	fake_task_out(f, instances, 2 * blocks * FX_BLOCK);
	return f;
}

static void turns(void)
{
	for (int i = 0; i < 8; i++)
		fx_turn();
}

START_TEST(compare_equal)
{
	static const uint32_t lengths[] = { 1, 2, 127, 128 };

	COVERS("SB-016 SB-018 fault-Q02");
	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
		fill_medium(1);
		for (int i = 0; i < 4; i++) {
			size_t n = FX_AT(lengths[i]);

			memcpy(data, fx_store->bytes + FX_AT(5), n);
			fx_pattern(data + n, n, 100 + (unsigned)i);
			fx_expect(compare_write(&fx_nexus[0], 5, lengths[i], data), 0, 0);
			/* Who has lost the answer and tries again has not got it twice. */
			fx_expect(compare_write(&fx_nexus[0], 5, lengths[i], data),
				  SENSE_MISCOMPARE, 0x1d00);
			ck_assert_mem_eq(fx_store->bytes + FX_AT(5), data + n, n);
			others_untouched(5, lengths[i]);
			ck_assert_uint_eq(fx_store->durable, (unsigned)i + 1);
		}
		fx_expect(compare_write(&fx_nexus[0], MEDIUM, 0, data), 0, 0);
		ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 4);
		ck_assert_uint_eq(atomic_load(&nexus_find(&fx_nexus[0], 0)->gate), 0);
		fx_teardown();
	}
}
END_TEST

START_TEST(compare_different)
{
	static const size_t bytes[] = { 0, 511, 512, FX_AT(64) + 3, FX_AT(128) - 1 };

	COVERS("SB-018 SS-006 fault-E08");
	fx_setup(FX_FILE);
	fill_medium(1);
	for (int i = 0; i < 5; i++) {
		struct fake_task *f = compare_write(&fx_nexus[0], 5, 128, data);

		memcpy(data, fx_store->bytes + FX_AT(5), FX_AT(128));
		fx_pattern(data + FX_AT(128), FX_AT(128), 9);
		data[bytes[i]] ^= 0x40;
		data[FX_AT(128) - 1] ^= 0x40; /* the first difference counts */
		if (i == 4)
			data[FX_AT(128) - 1] ^= 0x60;
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.key, SENSE_MISCOMPARE);
		ck_assert_uint_eq(f->sense.asc_ascq, 0x1d00);
		ck_assert(f->sense.info_valid && f->sense.info == bytes[i]);
		fake_task_free(f);
	}
	others_untouched(0, 0);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
	fx_teardown();
}
END_TEST

/* Neither half a list of instances nor one too many. */
START_TEST(compare_wrong_length)
{
	static const uint32_t edtl[] = { 0, 1, 512, 1023, 1025, 1536, 2048 };

	COVERS("SB-019");
	fx_setup(FX_FILE);
	fill_medium(1);
	memcpy(data, fx_store->bytes, FX_BLOCK);
	for (int i = 0; i < 7; i++)
		fx_expect(cmd_out(0x89, 0, 0, 1, edtl[i]), SENSE_ILLEGAL_REQUEST, 0x2400);
	fx_expect(cmd(0x89, 0, 0, 1), SENSE_ILLEGAL_REQUEST, 0x2400); /* no W flag */
	fx_expect(cmd_out(0x89, 0, 0, 0, 512), SENSE_ILLEGAL_REQUEST, 0x2400);
	others_untouched(0, 0);
	fx_teardown();
}
END_TEST

START_TEST(compare_unmapped)
{
	COVERS("SB-018");
	fx_setup(FX_FILE);
	memset(data, 0, FX_BLOCK);
	memset(data + FX_BLOCK, 0x77, FX_BLOCK);
	fx_expect(compare_write(&fx_nexus[0], 100, 1, data), 0, 0);
	ck_assert_mem_eq(fx_store->bytes + FX_AT(100), data + FX_BLOCK, FX_BLOCK);
	fx_teardown();
}
END_TEST

/* Errors of the store: of the read nothing is written, of the write GOOD is not said. */
START_TEST(compare_store_fails)
{
	static const struct {
		enum backing_kind kind;
		uint16_t asc;
	} rows[] = { { BACKING_READ, 0x1100 }, { BACKING_WRITE, 0x0c00 } };

	COVERS("SB-044");
	for (int i = 0; i < 2; i++) {
		fx_setup(FX_FILE);
		fill_medium(1);
		memcpy(data, fx_store->bytes, FX_BLOCK);
		fx_store->error = -EIO;
		fx_store->error_kind = rows[i].kind;
		fx_expect(compare_write(&fx_nexus[0], 0, 1, data), SENSE_MEDIUM_ERROR, rows[i].asc);
		others_untouched(0, 0);
		fx_store->error = 0;
		fx_expect(compare_write(&fx_nexus[0], 0, 1, data), 0, 0);
		fx_teardown();
	}
}
END_TEST

/* n bytes from lba on: what was there, and data. */
static void ck_ored(uint64_t lba, size_t n)
{
	size_t right = 0;

	while (right < n &&
	       fx_store->bytes[FX_AT(lba) + right] == (before[FX_AT(lba) + right] | data[right]))
		right++;
	ck_assert_uint_eq(right, n);
}

START_TEST(or_write)
{
	static const uint32_t lengths[] = { 1, 5001, 8192 };

	COVERS("SB-020 OP-058");
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < 3; i++) {
			size_t n = FX_AT(lengths[i]);

			fx_setup(fx_stores[s]);
			fill_medium(1);
			fx_pattern(data, n, 77);
			fx_expect(cmd_out(0x8b, 0, 7, lengths[i], (uint32_t)n), 0, 0);
			ck_ored(7, n);
			others_untouched(7, lengths[i]);
			ck_assert_uint_le(fx_store->longest, COMPOUND_PIECE);
			fx_teardown();
		}
}
END_TEST

/* The arena has nothing left: the reserve does, for one after the other. */
START_TEST(or_write_without_memory)
{
	struct fake_task *holder, *f[2];

	COVERS("SB-020");
	fx_setup_arena(FX_FILE, 1 << 20);
	fill_medium(1);
	fx_pattern(data, FX_AT(400), 77);
	fx_store->hold = true;
	for (int i = 0; i < 2; i++) {
		f[i] = cmd_out(0x8b, 0, 400 * (uint64_t)i, 400, FX_AT(400));
		f[i]->hold_data = true;
		scsi_submit(&f[i]->t);
	}
	holder = fx_read(&fx_nexus[1], 0, 2048 - 800);
	scsi_submit(&holder->t);
	for (int i = 0; i < 2; i++)
		fake_task_deliver(f[i]);
	fx_store->hold = false;
	turns();
	for (int i = 0; i < 2; i++) {
		fx_run(f[i]);
		ck_assert_uint_eq(f[i]->status, SCSI_GOOD);
		fake_task_free(f[i]);
	}
	ck_ored(0, FX_AT(400));
	ck_ored(400, FX_AT(400));
	others_untouched(0, 800);
	fake_store_let(fx_store);
	fx_run(holder);
	fake_task_free(holder);
	fx_teardown();
}
END_TEST

START_TEST(write_atomic)
{
	COVERS("SB-029");
	fx_setup(FX_FILE);
	fx_lu->geo.max_atomic = 8192;
	fill_medium(1);
	fx_pattern(data, FX_AT(4096), 9);
	fx_expect(cmd_out(0x9c, 0, 8, 4096, FX_AT(4096)), 0, 0);
	ck_assert_mem_eq(fx_store->bytes + FX_AT(8), data, FX_AT(4096));
	others_untouched(8, 4096);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 1); /* in one */
	fx_expect(cmd_out(0x9c, 0, 8, 8, FX_AT(7)), SENSE_ILLEGAL_REQUEST, 0x2400);
	fx_teardown();
}
END_TEST

/* I/O that was under way comes first, what comes later waits, in order; others go on. */
START_TEST(waits_in_order)
{
	struct fake_task *old, *caw, *later[3], *other;

	COVERS("SB-017");
	fx_setup(FX_FILE);
	fill_medium(1);
	fx_store->hold = true;
	old = fx_write(&fx_nexus[0], 10, 8, before);
	scsi_submit(&old->t);
	memcpy(data, before + FX_AT(0), FX_BLOCK); /* what `old` puts into block 10 */
	memset(data + FX_BLOCK, 0x11, FX_BLOCK);
	caw = compare_write(&fx_nexus[1], 10, 1, data);
	scsi_submit(&caw->t);
	later[0] = fx_read(&fx_nexus[2], 3, 8);
	later[1] = fx_write(&fx_nexus[0], 10, 1, before);
	later[2] = compare_write(&fx_nexus[2], 10, 1, data);
	for (int i = 0; i < 3; i++)
		scsi_submit(&later[i]->t);
	other = fx_read(&fx_nexus[2], 20, 8);
	scsi_submit(&other->t);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 2); /* old and other */
	ck_assert(later[0]->t.state == TASK_BLOCKED && later[1]->t.state == TASK_BLOCKED);
	fake_store_let(fx_store);
	ck_assert(old->ended && other->ended && !caw->ended);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 1); /* the read of caw */
	fake_store_let(fx_store);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 1); /* its write */
	ck_assert(!caw->ended);
	fake_store_let(fx_store);
	ck_assert(caw->ended && caw->status == SCSI_GOOD);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 2); /* later 0 and 1 */
	ck_assert(!later[2]->ended);
	fake_store_let(fx_store);
	ck_assert(later[0]->ended && later[1]->ended);
	ck_assert_uint_eq(later[0]->in[FX_AT(7)], 0x11);
	fx_store->hold = false;
	turns();
	ck_assert(later[2]->ended && later[2]->status == SCSI_GOOD);
	ck_assert_uint_eq(fx_store->bytes[FX_AT(10)], 0x11);
	ck_assert_uint_eq(atomic_load(&nexus_find(&fx_nexus[0], 0)->gate), 0);
	fake_task_free(old);
	fake_task_free(caw);
	fake_task_free(other);
	for (int i = 0; i < 3; i++)
		fake_task_free(later[i]);
	fx_teardown();
}
END_TEST

/* A long command keeps an exclusive one waiting for a piece, and then waits itself. */
START_TEST(long_commands_yield)
{
	struct fake_task *same, *caw;

	COVERS("SB-017");
	fx_setup(FX_FILE);
	memset(data, 0x42, FX_BLOCK);
	memset(data + FX_BLOCK, 0x43, FX_BLOCK);
	fx_store->hold = true;
	same = cmd_out(0x93, 0, 0, 8192, FX_BLOCK); /* 4 MiB in 4 pieces */
	scsi_submit(&same->t);
	ck_assert_uint_eq(fx_store->n_held, 1);
	fake_store_let(fx_store); /* the second */
	caw = compare_write(&fx_nexus[1], 4095, 1, data);
	scsi_submit(&caw->t);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 1);
	fake_store_let(fx_store); /* the third, where nobody waits, and the read of caw */
	turns();
	ck_assert_uint_eq(fx_store->n_held, 2);
	fx_store->hold = false;
	fake_store_let(fx_store);
	turns();
	ck_assert(caw->ended && caw->status == SCSI_GOOD);
	fx_run(same);
	ck_assert_uint_eq(fx_store->bytes[FX_AT(4095)], 0x43); /* a later piece is not this one */
	ck_assert_uint_eq(fx_store->bytes[FX_AT(8191)], 0x42);
	fake_task_free(same);
	fake_task_free(caw);

	fx_store->hold = true;
	same = cmd_out(0x93, 0, 0, 4096, FX_BLOCK);
	scsi_submit(&same->t);
	caw = cmd_out(0x8b, 0, 2048, 1, FX_BLOCK); /* in the second piece, which has not begun */
	scsi_submit(&caw->t);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 2);
	fake_store_let_one(fx_store, 0);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 1); /* now WRITE SAME waits */
	fx_store->hold = false;
	fake_store_let(fx_store);
	fx_run(caw);
	fx_run(same);
	ck_assert(caw->order < same->order && same->status == SCSI_GOOD);
	fake_task_free(same);
	fake_task_free(caw);
	fx_teardown();
}
END_TEST

/* A READ with FUA is two I/Os: the one that comes second is waited for, and tells its end. */
START_TEST(behind_a_flush)
{
	struct fake_task *read, *caw;

	COVERS("SB-017");
	fx_setup(FX_FILE);
	memset(data, 0, FX_BLOCK);
	memset(data + FX_BLOCK, 0x55, FX_BLOCK);
	fx_store->hold = true;
	read = fx_read(&fx_nexus[0], 0, 1);
	read->cdb[1] = 0x08;
	scsi_submit(&read->t);
	ck_assert_uint_eq(fx_store->n_held, 1); /* the flush */
	caw = compare_write(&fx_nexus[1], 0, 1, data);
	scsi_submit(&caw->t);
	turns();
	fake_store_let(fx_store);
	turns();
	ck_assert_uint_eq(fx_store->n_held, 1); /* the READ, and caw waits */
	ck_assert(!read->ended);
	fx_store->hold = false;
	fake_store_let(fx_store);
	turns();
	ck_assert(read->ended && !read->in[0]);
	ck_assert(caw->ended && caw->status == SCSI_GOOD);
	fake_task_free(read);
	fake_task_free(caw);
	fx_teardown();
}
END_TEST

/* Memory that was lent before is waited for; afterwards none is lent. */
START_TEST(lent_memory)
{
	struct fake_task *write, *read, *caw;

	COVERS("SB-017");
	fx_setup(BACKING_INLINE);
	fx_store->mapping = true;
	memset(data, 0, FX_BLOCK);
	memset(data + FX_BLOCK, 0x55, FX_BLOCK);
	read = fx_read(&fx_nexus[0], 0, 8);
	read->hold_finish = true;
	scsi_submit(&read->t);
	write = fx_write(&fx_nexus[0], 0, 1, data);
	write->hold_data = true;
	scsi_submit(&write->t);
	ck_assert(read->t.mapped && write->t.mapped);
	caw = compare_write(&fx_nexus[1], 0, 1, data);
	scsi_submit(&caw->t);
	turns();
	ck_assert(!caw->ended);
	fake_task_deliver(write);
	turns();
	ck_assert(!caw->ended);
	fake_task_finish(read);
	turns();
	ck_assert(caw->ended && caw->status == SCSI_GOOD);
	fake_task_free(read);
	fake_task_free(write);
	fake_task_free(caw);
	fx_store->hold = true;
	read = fx_read(&fx_nexus[0], 0, 8);
	scsi_submit(&read->t);
	ck_assert(!read->t.mapped && !read->ended);
	fake_store_let(fx_store);
	ck_assert_uint_eq(read->in[0], 0x55);
	fake_task_free(read);
	fx_teardown();
}
END_TEST

/* Stopped while it waits, while it reads, while it writes. */
START_TEST(aborted)
{
	struct fake_task *old, *caw, *after;

	COVERS("SB-017 fault-D03");
	for (int let = 0; let < 3; let++) {
		fx_setup(FX_FILE);
		memset(data, 0, FX_BLOCK);
		memset(data + FX_BLOCK, 0x55, FX_BLOCK);
		fx_store->hold = true;
		old = fx_read(&fx_nexus[0], 0, 8);
		scsi_submit(&old->t);
		caw = compare_write(&fx_nexus[1], 0, 1, data);
		scsi_submit(&caw->t);
		for (int i = 0; i < let; i++) {
			turns();
			fake_store_let(fx_store);
			turns();
		}
		after = fx_read(&fx_nexus[2], 0, 1);
		scsi_submit(&after->t);
		ck_assert(!caw->ended && after->t.state == TASK_BLOCKED);
		fake_task_abort(caw);
		ck_assert(caw->over == !let);
		turns();
		if (let == 2) {
			ck_assert(after->ended && after->status == SCSI_BUSY);
		} else {
			ck_assert(!after->ended && after->t.state == TASK_IO);
		}
		fake_store_let(fx_store);
		turns();
		ck_assert(old->ended && caw->over && !caw->ended && after->ended);
		ck_assert_uint_eq(fx_store->bytes[0], let == 2 ? 0x55 : 0);
		ck_assert_uint_eq(atomic_load(&nexus_find(&fx_nexus[0], 0)->gate), 0);
		fake_task_free(old);
		fake_task_free(caw);
		fake_task_free(after);
		fx_teardown();
	}
}
END_TEST

/* What it waits for is stopped in the store, and those behind it are stopped while they wait. */
START_TEST(victims_of_others)
{
	struct fake_task *old, *caw, *after, *last;

	COVERS("SB-017 fault-D03");
	for (int write = 0; write < 2; write++) {
		fx_setup(FX_FILE);
		memset(data, 0, 2 * FX_BLOCK);
		fx_store->hold = true;
		old = write ? fx_write(&fx_nexus[0], 0, 1, data) : fx_read(&fx_nexus[0], 0, 1);
		scsi_submit(&old->t);
		caw = compare_write(&fx_nexus[1], 0, 1, data);
		scsi_submit(&caw->t);
		after = fx_write(&fx_nexus[2], 0, 1, data);
		scsi_submit(&after->t);
		last = cmd_out(0x93, 1, 0, 8, 0);
		scsi_submit(&last->t);
		turns();
		fake_task_abort(last);
		fake_task_abort(after);
		ck_assert(last->over && after->over);
		fake_task_abort(old);
		turns();
		/* A detached write makes BUSY, a detached read is nobody's business. */
		ck_assert(caw->ended == write);
		fake_store_let(fx_store);
		turns();
		fake_store_let(fx_store);
		turns();
		ck_assert(caw->ended && caw->status == (write ? SCSI_BUSY : SCSI_GOOD));
		ck_assert_uint_eq(atomic_load(&nexus_find(&fx_nexus[1], 0)->gate), 0);
		fake_task_free(old);
		fake_task_free(caw);
		fake_task_free(after);
		fake_task_free(last);
		fx_teardown();
	}
}
END_TEST

UNIT_MAIN("scsi/exclusive", compare_equal, compare_different, compare_wrong_length,
	  compare_unmapped, compare_store_fails, or_write, or_write_without_memory, write_atomic,
	  waits_in_order, long_commands_yield, behind_a_flush, lent_memory, aborted,
	  victims_of_others)
