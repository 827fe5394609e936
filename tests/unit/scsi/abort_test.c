/* SPDX-License-Identifier: BSD-2-Clause */
/* Stopping a task in each state, and what becomes of the I/O that cannot be stopped. */
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

static uint8_t data[1 << 20];

static void tidy(struct fake_task *f)
{
	ck_assert(f->over && !f->ended);
	fake_task_free(f);
}

static unsigned ntasks(unsigned nexus)
{
	return nexus_find(&fx_nexus[nexus], 0)->ntasks;
}

START_TEST(while_blocked)
{
	COVERS("SA-013");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *first, *ordered, *after;

	fx_setup(0);
	fx_store->hold = true;
	first = fx_write(n, 0, 8, data);
	scsi_submit(&first->t);
	ordered = fx_write(n, 8, 8, data);
	ordered->t.attribute = ATTR_ORDERED;
	scsi_submit(&ordered->t);
	after = fx_write(n, 16, 8, data);
	scsi_submit(&after->t);
	ck_assert_uint_eq(ordered->t.state, TASK_BLOCKED);
	fake_task_abort(ordered);
	tidy(ordered);
	fx_turn();
	ck_assert_uint_eq(after->t.state, TASK_IO); /* nothing is in its way any more */
	fake_store_let(fx_store);
	ck_assert(first->ended && after->ended);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 2);
	fake_task_free(first);
	fake_task_free(after);
	fx_teardown();
}
END_TEST

START_TEST(while_waiting_for_a_buffer)
{
	struct fake_task *big, *f;

	fx_setup_arena(0, 1 << 20);
	fx_store->hold = true;
	big = fx_read(&fx_nexus[0], 0, 2048);
	scsi_submit(&big->t);
	f = fx_write(&fx_nexus[0], 0, 8, data);
	scsi_submit(&f->t);
	ck_assert_uint_eq(f->t.state, TASK_WAIT_BUFFER);
	fake_task_abort(f);
	tidy(f);
	ck_assert_uint_eq(ntasks(0), 1);
	fake_store_let(fx_store);
	fake_task_free(big);
	fx_teardown();
}
END_TEST

START_TEST(while_collecting)
{
	COVERS("fault-D01");
	struct fake_task *f;

	for (unsigned keep = 0; keep < 2; keep++) {
		fx_setup(0);
		f = fx_write(&fx_nexus[0], 0, 8, data);
		f->hold_data = true;
		f->keep = keep;
		scsi_submit(&f->t);
		ck_assert_uint_eq(f->t.state, TASK_COLLECTING);
		fake_task_abort(f);
		ck_assert_uint_eq(f->over, !keep);
		ck_assert_uint_eq(ntasks(0), 0);
		if (keep) {
			/* nothing is written any more, so nobody is held back */
			fx_expect(fx_write(&fx_nexus[0], 0, 8, data), 0, 0);
			nexus_destroy(&fx_nexus[0]);
			scsi_released(&f->t);
		}
		tidy(f);
		fx_teardown();
	}
}
END_TEST

/* The transport still writes into the store's own memory: overlapping commands wait outside. */
START_TEST(while_collecting_into_the_store)
{
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	fx_store->mapping = true;
	f = fx_write(&fx_nexus[0], 8, 8, data);
	f->hold_data = f->keep = true;
	scsi_submit(&f->t);
	ck_assert(f->t.mapped);
	fake_task_abort(f);
	ck_assert(!f->over);
	fx_expect_status(fx_read(&fx_nexus[1], 15, 2), SCSI_BUSY);
	fx_expect(fx_read(&fx_nexus[1], 16, 2), 0, 0);
	nexus_destroy(&fx_nexus[0]);
	scsi_released(&f->t);
	tidy(f);
	fx_expect(fx_read(&fx_nexus[1], 15, 2), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(while_sending)
{
	for (unsigned mapped = 0; mapped < 2; mapped++) {
		for (unsigned keep = 0; keep < 2; keep++) {
			struct fake_task *f;

			fx_setup(BACKING_INLINE);
			fx_store->mapping = mapped;
			f = fx_read(&fx_nexus[0], 8, 8);
			f->hold_finish = true;
			f->keep = keep;
			scsi_submit(&f->t);
			ck_assert(f->ended && f->t.state == TASK_SENDING);
			ck_assert_uint_eq(f->t.mapped, mapped);
			fake_task_abort(f);
			ck_assert_uint_eq(f->over, !keep);
			ck_assert_uint_eq(ntasks(0), 0);
			if (keep) {
				fx_expect(fx_write(&fx_nexus[0], 8, 8, data), 0, 0);
				nexus_destroy(&fx_nexus[0]);
				scsi_released(&f->t);
			}
			fake_task_free(f);
			fx_teardown();
		}
	}
}
END_TEST

/* A write whose status is on its way changes nothing any more. */
START_TEST(written_and_sending)
{
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	f = fx_write(&fx_nexus[0], 8, 8, data);
	f->hold_finish = f->keep = true;
	scsi_submit(&f->t);
	ck_assert(f->ended);
	fake_task_abort(f);
	fx_expect(fx_write(&fx_nexus[0], 8, 8, data), 0, 0);
	scsi_released(&f->t);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* No LU behind it. */
START_TEST(without_a_unit)
{
	static const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 36 };

	for (unsigned keep = 0; keep < 2; keep++) {
		struct fake_task *f;

		fx_setup(0);
		f = fake_task_new(&fx_nexus[0], 9, inquiry, 6);
		fake_task_in(f, 36);
		f->hold_finish = true;
		f->keep = keep;
		scsi_submit(&f->t);
		ck_assert(f->ended);
		fake_task_abort(f);
		ck_assert_uint_eq(f->over, !keep);
		nexus_destroy(&fx_nexus[0]);
		if (keep)
			scsi_released(&f->t);
		fake_task_free(f);
		fx_teardown();
	}
}
END_TEST

START_TEST(write_in_the_store)
{
	COVERS("fault-D03 fault-D16");
	struct it_nexus *a = &fx_nexus[0], *b = &fx_nexus[1];
	struct fake_task *f;

	fx_setup(0);
	fx_store->hold = true;
	f = fx_write(a, 100, 10, data);
	scsi_submit(&f->t);
	ck_assert_uint_eq(f->t.state, TASK_IO);
	fake_task_abort(f);
	ck_assert(f->detached && !f->over);
	ck_assert_uint_eq(ntasks(0), 0);
	fx_store->hold = false;
	/* Its own retry, and every other overlapping command of any nexus. */
	fx_expect_status(fx_write(a, 100, 10, data), SCSI_BUSY);
	fx_expect_status(fx_write(b, 109, 1, data), SCSI_BUSY);
	fx_expect_status(fx_read(b, 90, 11), SCSI_BUSY);
	fx_expect_status(fx_read(&fx_nexus[2], 0, 200), SCSI_BUSY);
	fx_expect(fx_write(b, 110, 1, data), 0, 0);
	fx_expect(fx_read(a, 90, 10), 0, 0);
	ck_assert_uint_eq(fx_lu->n_detached_writes, 1);
	fake_store_let(fx_store);
	tidy(f);
	ck_assert_uint_eq(fx_lu->n_detached_writes, 0);
	fx_expect(fx_write(a, 100, 10, data), 0, 0);
	ck_assert_uint_eq(atomic_load(&nexus_find(a, 0)->gate), 0);
	ck_assert_uint_eq(atomic_load(&nexus_find(b, 0)->gate), 0);
	fx_teardown();
}
END_TEST

/* A detached write that fails, and a read: nobody is told, everything comes back. */
START_TEST(read_in_the_store)
{
	struct fake_task *f, *g;

	fx_setup(0);
	fx_store->hold = true;
	f = fx_read(&fx_nexus[0], 100, 10);
	scsi_submit(&f->t);
	g = fx_write(&fx_nexus[0], 300, 10, data);
	scsi_submit(&g->t);
	fake_task_abort(f);
	fake_task_abort(g);
	fx_store->hold = false;
	fx_expect(fx_write(&fx_nexus[0], 100, 10, data), 0, 0); /* reads hold nobody back */
	fake_store_let_one(fx_store, -EIO);
	fake_store_let_one(fx_store, -EIO);
	tidy(f);
	tidy(g);
	fx_expect(fx_write(&fx_nexus[0], 300, 10, data), 0, 0);
	fx_teardown();
}
END_TEST

/* Two that overlap each other: the range is free when both are back. */
START_TEST(two_detached_writes)
{
	struct fake_task *f[2];

	fx_setup(0);
	fx_store->hold = true;
	for (int i = 0; i < 2; i++) {
		f[i] = fx_write(&fx_nexus[i], 100, 10, data);
		scsi_submit(&f[i]->t);
	}
	fake_task_abort(f[0]);
	fake_task_abort(f[1]);
	fx_store->hold = false;
	fake_store_let_one(fx_store, 0);
	ck_assert(f[0]->over && !f[1]->over);
	fx_expect_status(fx_write(&fx_nexus[2], 100, 10, data), SCSI_BUSY);
	fake_store_let_one(fx_store, 0);
	fx_expect(fx_write(&fx_nexus[2], 100, 10, data), 0, 0);
	tidy(f[0]);
	tidy(f[1]);
	fx_teardown();
}
END_TEST

static unsigned n_idle;

static void idle(struct scsi_lu *lu)
{
	(void)lu;
	n_idle++;
}

/* The session goes, the I/O stays; a new nexus of the LU is held back too. */
START_TEST(outlives_its_nexus)
{
	COVERS("fault-D03");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *f, *g;

	fx_setup(0);
	n_idle = 0;
	fx_lu->idle = idle;
	fx_store->hold = true;
	f = fx_write(n, 100, 10, data);
	scsi_submit(&f->t);
	g = fx_read(n, 0, 10);
	scsi_submit(&g->t);
	nexus_destroy(n);
	ck_assert(f->aborted && f->detached && g->detached);
	fx_store->hold = false;
	ck_assert_int_eq(nexus_init(n, fx_reactor, fx_map, ASC_NEXUS_LOSS), 0);
	fx_expect(fx_tur(n), SENSE_UNIT_ATTENTION, ASC_NEXUS_LOSS);
	fx_expect_status(fx_read(n, 100, 1), SCSI_BUSY);
	fake_store_let_one(fx_store, 0);
	ck_assert_uint_eq(n_idle, 0);
	fake_store_let_one(fx_store, 0);
	ck_assert_uint_eq(n_idle, 1);
	fx_expect(fx_read(n, 100, 1), 0, 0);
	tidy(f);
	tidy(g);
	fx_teardown();
}
END_TEST

/* The last user of the queue and of the LU is a task that hung. */
START_TEST(outlives_everything)
{
	struct fake_task *f;

	fx_setup(0);
	fx_store->hold = true;
	f = fx_write(&fx_nexus[0], 100, 10, data);
	scsi_submit(&f->t);
	for (int i = 0; i < FX_NEXUS; i++)
		nexus_destroy(&fx_nexus[i]);
	lun_map_unref(fx_map);
	fx_map = NULL;
	lu_unref(fx_lu);
	ck_assert(!fx_lu_gone);
	ck_assert_uint_eq(fx_store->queues, 1);
	fake_store_let(fx_store);
	ck_assert(fx_lu_gone);
	ck_assert_uint_eq(fx_store->queues, 0);
	tidy(f);
	scsi_reactor_stop(fx_reactor);
	arena_destroy(fx_arena);
	fake_store_free(fx_store);
	reactor_destroy(fx_reactor);
}
END_TEST

/* Sessions end at any point with all kinds of tasks. */
START_TEST(nexus_ends_at_any_point)
{
	COVERS("fault-N03");
	for (unsigned round = 0; round < 64; round++) {
		struct fake_task *f[8];
		unsigned seed = round * 2654435761u;

		fx_setup_arena(0, 1 << 20);
		fx_store->hold = true;
		for (int i = 0; i < 8; i++) {
			seed = seed * 1103515245u + 12345;
			f[i] = seed & 0x10000 ? fx_write(&fx_nexus[0], (uint64_t)i * 8, 256, data)
					      : fx_read(&fx_nexus[0], (uint64_t)i * 8, 256);
			f[i]->hold_data = seed & 0x20000;
			f[i]->hold_finish = seed & 0x40000;
			f[i]->keep = seed & 0x80000;
			f[i]->t.attribute = (uint8_t)(seed >> 20 & 3);
			scsi_submit(&f[i]->t);
			if (seed & 0x800000)
				fake_store_let(fx_store);
			if (seed & 0x1000000)
				fx_turn();
		}
		nexus_destroy(&fx_nexus[0]);
		fake_store_let(fx_store);
		for (int i = 0; i < 8; i++) {
			if (!f[i]->over && f[i]->keep)
				scsi_released(&f[i]->t);
			ck_assert(f[i]->over);
			fake_task_free(f[i]);
		}
		fx_turn();
		fx_teardown();
	}
}
END_TEST

START_TEST(lun_goes_with_tasks)
{
	COVERS("SN-017 fault-K03");
	struct it_nexus *n = &fx_nexus[0];
	struct scsi_lun_map *empty = lun_map_create(NULL, 0);
	struct fake_task *running, *blocked, *collecting;

	fx_setup(0);
	fx_store->hold = true;
	collecting = fx_write(n, 16, 8, data);
	collecting->hold_data = true;
	scsi_submit(&collecting->t);
	running = fx_write(n, 0, 8, data);
	scsi_submit(&running->t);
	blocked = fx_write(n, 8, 8, data);
	blocked->t.attribute = ATTR_ORDERED;
	scsi_submit(&blocked->t);
	ck_assert_int_eq(nexus_remap(n, empty), 0);
	fx_store->hold = false;
	fx_expect(fx_tur(n), SENSE_ILLEGAL_REQUEST, 0x2500);
	fx_expect(fx_tur(&fx_nexus[1]), 0, 0);
	/* What runs ends cleanly. */
	fake_store_let(fx_store);
	ck_assert(running->ended && running->status == SCSI_GOOD);
	fake_task_deliver(collecting);
	fx_run(collecting);
	ck_assert_uint_eq(collecting->status, SCSI_GOOD);
	fx_run(blocked);
	ck_assert_uint_eq(blocked->status, SCSI_GOOD);
	fx_turn();
	ck_assert(list_empty(&n->leaving));
	fake_task_free(running);
	fake_task_free(blocked);
	fake_task_free(collecting);
	lun_map_unref(empty);
	fx_teardown();
}
END_TEST

/* The session ends while its LUN is still going. */
START_TEST(nexus_ends_while_lun_goes)
{
	struct it_nexus *n = &fx_nexus[0];
	struct scsi_lun_map *empty = lun_map_create(NULL, 0);
	struct fake_task *f;

	fx_setup(0);
	fx_store->hold = true;
	f = fx_write(n, 0, 8, data);
	scsi_submit(&f->t);
	ck_assert_int_eq(nexus_remap(n, empty), 0);
	fx_turn();
	nexus_destroy(n);
	ck_assert(f->detached);
	fake_store_let(fx_store);
	tidy(f);
	lun_map_unref(empty);
	fx_teardown();
}
END_TEST

/* An action that is still going on when its task is stopped. */
static struct scsi_task *acting;

static void slow_action(struct scsi_task *t)
{
	acting = t;
}

START_TEST(while_acting)
{
	struct fake_task *f;

	fx_setup(0);
	f = fx_tur(&fx_nexus[0]);
	scsi_submit(&f->t);
	fake_task_free(f);
	f = fx_write(&fx_nexus[0], 0, 1, data);
	f->hold_data = true;
	scsi_submit(&f->t);
	f->t.plan = (struct scsi_plan){ .kind = PLAN_ACTION, .action = slow_action };
	fake_task_deliver(f);
	ck_assert_ptr_eq(acting, &f->t);
	fake_task_abort(f);
	ck_assert(f->detached);
	nexus_destroy(&fx_nexus[0]);
	scsi_action_done(acting, NULL);
	tidy(f);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/abort", while_blocked, while_waiting_for_a_buffer, while_collecting,
	  while_collecting_into_the_store, while_sending, written_and_sending, without_a_unit,
	  write_in_the_store, read_in_the_store, two_detached_writes, outlives_its_nexus,
	  outlives_everything, nexus_ends_at_any_point, lun_goes_with_tasks,
	  nexus_ends_while_lun_goes, while_acting)
