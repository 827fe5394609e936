/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a task gives back at its end sets others to work at once; their port may end sessions
 * meanwhile, that of the first task among them.
 */
#include "tests/unit/scsi/exec_fixture.h"

static uint8_t data[1 << 16];

static void end_first_nexus(struct fake_task *f)
{
	(void)f;
	nexus_destroy(&fx_nexus[0]);
}

START_TEST(nexus_ends_while_finishing)
{
	COVERS("fault-N03");
	struct fake_task *f, *g;

	fx_setup_arena(BACKING_INLINE, 1 << 20);
	f = fx_read(&fx_nexus[0], 0, 2048);
	f->hold_finish = true;
	scsi_submit(&f->t);
	g = fx_read(&fx_nexus[1], 0, 8);
	g->on_end = end_first_nexus;
	scsi_submit(&g->t);
	ck_assert(f->ended && !g->ended);
	fake_task_finish(f);
	ck_assert(g->ended && f->over && !f->aborted);
	fake_task_free(f);
	fake_task_free(g);
	fx_teardown();
}
END_TEST

/* The scratch of a VERIFY, at its end and between its pieces. */
START_TEST(nexus_ends_while_scratch_goes_back)
{
	COVERS("fault-N03");
	static const uint32_t lengths[] = { 2048, 3048 };

	for (int i = 0; i < 2; i++) {
		struct fake_task *f, *g;
		uint8_t cdb[16];

		fx_setup_arena(BACKING_INLINE, 2 << 20);
		fx_rw(cdb, 0x8f, 0, lengths[i]);
		f = fx_task(&fx_nexus[0], cdb, 16);
		fx_store->hold = true;
		scsi_submit(&f->t);
		ck_assert_uint_eq(fx_store->n_held, 1);
		g = fx_read(&fx_nexus[1], 0, 3072);
		g->on_end = end_first_nexus;
		scsi_submit(&g->t);
		ck_assert_uint_eq(g->t.state, TASK_WAIT_BUFFER);
		fx_store->hold = false;
		fake_store_let(fx_store);
		ck_assert(g->ended && f->aborted);
		ck_assert(f->over && !f->ended);
		fake_task_free(f);
		fake_task_free(g);
		fx_teardown();
	}
}
END_TEST

/* One that was blocked runs at the end of the turn and ends the nexus of the others that were. */
START_TEST(nexus_ends_while_unblocking)
{
	struct fake_task *first, *ordered[3];

	fx_setup(BACKING_INLINE);
	fx_store->hold = true;
	first = fx_write(&fx_nexus[0], 0, 8, data);
	scsi_submit(&first->t);
	for (int i = 0; i < 3; i++) {
		ordered[i] = fx_write(&fx_nexus[0], 8, 8, data);
		ordered[i]->t.attribute = i ? ATTR_SIMPLE : ATTR_ORDERED;
		scsi_submit(&ordered[i]->t);
	}
	ordered[0]->on_end = end_first_nexus;
	fx_store->hold = false;
	fake_store_let(fx_store);
	fx_turn();
	ck_assert(first->ended && ordered[0]->ended && ordered[0]->over);
	for (int i = 1; i < 3; i++)
		ck_assert(ordered[i]->over && !ordered[i]->ended);
	for (int i = 0; i < 3; i++)
		fake_task_free(ordered[i]);
	fake_task_free(first);
	fx_teardown();
}
END_TEST

/* What waits is not set to work by the buffers of what is stopped before it. */
START_TEST(waiting_tasks_are_stopped_first)
{
	struct fake_task *f, *g[2];

	fx_setup_arena(BACKING_INLINE, 1 << 20);
	f = fx_read(&fx_nexus[0], 0, 2048);
	f->hold_finish = true;
	scsi_submit(&f->t);
	for (int i = 0; i < 2; i++) {
		g[i] = fx_write(&fx_nexus[0], 0, 8, data);
		scsi_submit(&g[i]->t);
		ck_assert_uint_eq(g[i]->t.state, TASK_WAIT_BUFFER);
	}
	nexus_destroy(&fx_nexus[0]);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(!g[i]->asked && g[i]->over && !g[i]->ended);
		fake_task_free(g[i]);
	}
	ck_assert(f->over);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/reentry", nexus_ends_while_finishing, nexus_ends_while_scratch_goes_back,
	  nexus_ends_while_unblocking, waiting_tasks_are_stopped_first)
