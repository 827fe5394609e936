/* SPDX-License-Identifier: BSD-2-Clause */
/* Token commands in the course of time: what they wait for, what stops them, what goes on. */
#include "tests/unit/scsi/odx_fixture.h"

#include "scsi/tmf.h"

static const struct ox_range some[] = { { 100, 8 }, { 5000, 0 }, { 10, 40 }, { 20000, 80 } };
static uint8_t data[FX_AT(64)];

static struct fake_task *begin(struct fake_task *f)
{
	scsi_submit(&f->t);
	ox_turns();
	return f;
}

static void let_all(struct fake_store *s)
{
	s->hold = false;
	fake_store_let(s);
	ox_turns();
}

/* What was on its way to one of the ranges is in the token, or the token is not. */
START_TEST(waits_for_writes)
{
	struct fake_task *write, *elsewhere, *populate;

	COVERS("SX-024");
	ox_setup(FX_FILE);
	fx_pattern(data, sizeof(data), 33);
	fx_store->hold = true;
	elsewhere = begin(fx_write(&fx_nexus[1], 300, 1, data));
	write = begin(fx_write(&fx_nexus[1], 20079, 2, data));
	populate = begin(ox_populate(0, 0, 1, some, 4));
	ck_assert(!populate->ended);
	ox_expect(0, 0, 1, COPY_FOREGROUND, 0);
	ck_assert_uint_gt(get_be32(ox_info + 8), 0);
	fake_store_let_one(fx_store, 0);
	ox_turns();
	ck_assert(elsewhere->ended && !populate->ended);
	let_all(fx_store);
	ck_assert(write->ended && populate->ended && populate->status == SCSI_GOOD);
	ox_receive(0, 0, 1);
	memcpy(ox_token, ox_info + 38, sizeof(ox_token));
	ox_offset = 127;
	fx_expect(ox_write(0, 1, 2, &(struct ox_range){ 0, 1 }, 1), 0, 0);
	ck_assert_mem_eq(cx_store->bytes, data, FX_BLOCK);
	fake_task_free(write);
	fake_task_free(elsewhere);
	fake_task_free(populate);
	cx_teardown();
}
END_TEST

/* A write that has been let go of may still come. */
START_TEST(behind_a_detached_write)
{
	struct fake_task *write;

	ox_setup(FX_FILE);
	fx_store->hold = true;
	write = begin(fx_write(&fx_nexus[1], 100, 1, data));
	fake_task_abort(write);
	fx_expect_status(ox_populate(0, 0, 1, some, 1), SCSI_BUSY);
	ox_expect(0, 0, 1, COPY_ERROR, 0);
	let_all(fx_store);
	fx_expect(ox_populate(0, 0, 1, some, 1), 0, 0);
	fake_task_free(write);
	cx_teardown();
}
END_TEST

/* Data that changes while it is copied is not said to have been copied. */
START_TEST(source_changes)
{
	struct fake_task *copy, *write;

	COVERS("SX-024");
	for (int late = 0; late < 2; late++) { /* before the read has ended, and after it */
		ox_setup(FX_FILE);
		ox_fetch(1, some, 4);
		fx_store->hold = !late;
		cx_store->hold = late;
		copy = begin(ox_write(0, 1, 2, some, 4));
		fx_store->hold = true;
		write = begin(fx_write(&fx_nexus[1], 100, 1, data));
		let_all(fx_store);
		let_all(cx_store);
		ck_assert(copy->ended && write->ended);
		ck_assert_uint_eq(copy->sense.asc_ascq, 0x2306);
		ox_expect(0, 1, 2, COPY_ERROR, 0);
		fake_task_free(copy);
		fake_task_free(write);
		cx_teardown();
	}
}
END_TEST

static unsigned writes(void)
{
	return cx_store->count[BACKING_WRITE];
}

START_TEST(aborted)
{
	struct fake_task *copy;
	unsigned n;

	COVERS("SX-017");
	for (int late = 0; late < 2; late++) { /* while it reads, while it writes */
		ox_setup(FX_FILE);
		ox_fetch(1, some, 4);
		fx_store->hold = !late;
		cx_store->hold = late;
		copy = begin(ox_write(0, 1, 2, some, 4));
		fake_task_abort(copy);
		ck_assert(copy->over);
		n = writes();
		ck_assert((n > 0) == late);
		ox_expect(0, 1, 2, COPY_TERMINATED, 0);
		ck_assert_uint_eq(cx_lu->n_detached_writes, n); /* resets wait for them */
		let_all(fx_store);
		let_all(cx_store);
		ck_assert_uint_eq(writes(), n);
		ck_assert_uint_eq(cx_lu->n_detached_writes, 0);
		fx_expect(ox_write(0, 1, 2, some, 4), 0, 0); /* identifier and token are free */
		fake_task_free(copy);
		cx_teardown();
	}
}
END_TEST

START_TEST(populate_aborted)
{
	struct fake_task *write, *populate;

	COVERS("SX-017");
	ox_setup(FX_FILE);
	fx_store->hold = true;
	write = begin(fx_write(&fx_nexus[1], 20000, 1, data));
	populate = begin(ox_populate(0, 0, 1, some, 4));
	fake_task_abort(populate);
	ck_assert(populate->over);
	ox_expect(0, 0, 1, COPY_TERMINATED, 0);
	let_all(fx_store);
	ck_assert_uint_eq(atomic_load(&fx_nexus[0].itls[0]->gate), 0);
	ck_assert_uint_eq(rod_report(fx_lu, 0, data, 0), 0);
	fake_task_free(write);
	fake_task_free(populate);
	cx_teardown();
}
END_TEST

START_TEST(in_background)
{
	struct fake_task *f, *second;

	COVERS("SX-029");
	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	ox_flags = ODX_IMMED;
	fx_store->hold = true;
	f = begin(ox_write(0, 1, 2, some, 4));
	ck_assert(f->ended && f->status == SCSI_GOOD);
	ox_expect(0, 1, 2, COPY_BACKGROUND, 0);
	second = begin(ox_write(0, 1, 2, some, 4)); /* the same identifier */
	ck_assert_uint_eq(second->sense.key, SENSE_ILLEGAL_REQUEST);
	ck_assert_uint_eq(second->sense.asc_ascq, 0x0016);
	let_all(fx_store);
	ox_expect(0, 1, 2, COPY_DONE, 128);
	ck_assert_mem_eq(cx_store->bytes + FX_AT(100), fx_store->bytes + FX_AT(100), FX_AT(8));

	/* Its nexus goes: it stops, and nobody is left to ask. */
	fx_store->hold = true;
	second = (fake_task_free(second), begin(ox_write(0, 1, 3, some, 4)));
	ck_assert(second->ended);
	nexus_destroy(&fx_nexus[0]);
	let_all(fx_store);
	ck_assert_uint_eq(rod_report(fx_lu, 0, data, 0), 1);
	ck_assert_int_eq(nexus_init(&fx_nexus[0], fx_reactor, fx_map, ASC_POWER_ON), 0);
	fx_take_ua(&fx_nexus[0]);
	fake_task_free(f);
	fake_task_free(second);
	cx_teardown();
}
END_TEST

START_TEST(populate_in_background)
{
	struct fake_task *write, *f;

	ox_setup(FX_FILE);
	ox_flags = ODX_IMMED;
	for (int gone = 0; gone < 2; gone++) {
		fx_store->hold = true;
		write = begin(fx_write(&fx_nexus[1], 20000, 1, data));
		f = begin(ox_populate(0, 0, 1, some, 4));
		ck_assert(f->ended && f->status == SCSI_GOOD);
		ox_expect(0, 0, 1, COPY_BACKGROUND, 0);
		if (gone)
			nexus_destroy(&fx_nexus[0]);
		let_all(fx_store);
		if (!gone)
			ox_expect(0, 0, 1, COPY_DONE, 128);
		ck_assert_uint_eq(rod_report(fx_lu, 0, data, 0), !gone);
		fake_task_free(write);
		fake_task_free(f);
	}
	ck_assert_int_eq(nexus_init(&fx_nexus[0], fx_reactor, fx_map, ASC_POWER_ON), 0);
	cx_teardown();
}
END_TEST

/* A copy whose LUN goes away meanwhile: of the source, of the destination. */
START_TEST(luns_go)
{
	struct fake_task *f;
	struct scsi_lun_entry e = { .lun = 1, .lu = NULL };
	struct scsi_lun_map *map;

	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	e.lu = cx_lu;
	map = lun_map_create(&e, 1);
	cx_store->hold = true;
	f = begin(ox_write(0, 1, 2, some, 4));
	ck_assert_int_eq(nexus_remap(&fx_nexus[0], map), 0);
	let_all(cx_store);
	ck_assert(f->ended);
	fake_task_free(f);
	lun_map_unref(map);
	map = lun_map_create(NULL, 0);
	ox_flags = ODX_IMMED;
	fx_store->hold = true;
	f = begin(ox_write(1, 1, 2, some, 4));
	ck_assert_int_eq(nexus_remap(&fx_nexus[1], map), 0);
	let_all(fx_store);
	ck_assert(f->ended && !fx_nexus[1].n_itls);
	ck_assert(list_empty(&fx_nexus[1].leaving));
	fake_task_free(f);
	lun_map_unref(map);
	cx_teardown();
}
END_TEST

/* Windows gives a command four seconds: what is done by then is told, and the host goes on. */
START_TEST(takes_long)
{
	struct ox_range from[ROD_RANGES_MAX], to[ROD_RANGES_MAX];
	struct fake_task *f;
	struct odx_op *op;

	COVERS("SC-003");
	ox_setup(FX_FILE);
	for (unsigned i = 0; i < ROD_RANGES_MAX; i++) {
		from[i] = (struct ox_range){ 3 + i * 5, 2 };
		to[i] = (struct ox_range){ 9000 - i * 7, i == 63 ? 1 : 2 };
	}
	ox_fetch(1, from, ROD_RANGES_MAX);
	ox_offset = 1;
	ox_flags = ODX_DEL_TKN; /* not before it is done */
	fx_store->hold = true;
	f = ox_write(0, 1, 2, to, ROD_RANGES_MAX);
	begin(f);
	op = f->t.priv;
	ck_assert_ptr_nonnull(op);
	op->until_ms = 0;
	let_all(fx_store);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	ox_expect(0, 1, 2, COPY_DONE_RESIDUAL, ODX_PIECE_RANGES);
	ck_assert_uint_eq(get_be16(ox_info + 24), ODX_PIECE_RANGES / 2);
	ox_offset += ODX_PIECE_RANGES;
	fx_expect(ox_write(0, 1, 2, to + 32, 32), 0, 0);
	for (unsigned i = 0; i < 127; i++)
		ck_assert_mem_eq(cx_store->bytes + FX_AT(to[i / 2].lba + i % 2),
				 fx_store->bytes + FX_AT(from[(i + 1) / 2].lba + (i + 1) % 2),
				 FX_BLOCK);
	fake_task_free(f);
	cx_teardown();
}
END_TEST

UNIT_MAIN("scsi/odx_late", waits_for_writes, behind_a_detached_write, source_changes, aborted,
	  populate_aborted, in_background, populate_in_background, luns_go, takes_long)
