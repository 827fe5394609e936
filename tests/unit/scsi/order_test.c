/* SPDX-License-Identifier: BSD-2-Clause */
/* The task set of a nexus: SIMPLE, ORDERED, HEAD OF QUEUE (SAM-5 8). */
#include "tests/unit/scsi/exec_fixture.h"

static uint8_t data[1 << 20];

static struct fake_task *start(struct it_nexus *n, uint64_t lba, unsigned write, uint8_t attribute)
{
	struct fake_task *f = write ? fx_write(n, lba, 8, data) : fx_read(n, lba, 8);

	f->t.attribute = attribute;
	scsi_submit(&f->t);
	return f;
}

START_TEST(ordered_waits_and_blocks)
{
	COVERS("SA-004");
	struct it_nexus *n = &fx_nexus[0];

	for (unsigned write = 0; write < 2; write++) {
		struct fake_task *before[2], *ordered, *after[2], *foreign;

		fx_setup(0);
		fx_store->hold = true;
		before[0] = start(n, 0, true, ATTR_SIMPLE);
		before[1] = start(n, 8, false, ATTR_UNTAGGED);
		ordered = start(n, 16, write, ATTR_ORDERED);
		after[0] = start(n, 24, write, ATTR_SIMPLE);
		after[1] = start(n, 32, !write, ATTR_SIMPLE);
		foreign = start(&fx_nexus[1], 40, true, ATTR_SIMPLE); /* a set of its own */
		ck_assert_uint_eq(fx_store->n_held, 3);
		ck_assert_uint_eq(ordered->t.state, TASK_BLOCKED);
		ck_assert_uint_eq(ordered->asked, write); /* data is fetched all the same */
		fake_store_let_one(fx_store, 0);
		fx_turn();
		ck_assert_uint_eq(ordered->t.state, TASK_BLOCKED);
		fake_store_let(fx_store);
		ck_assert(before[1]->ended && foreign->ended);
		fx_turn();
		ck_assert_uint_eq(fx_store->n_held, 1);
		ck_assert_uint_eq(ordered->t.state, TASK_IO);
		ck_assert_uint_eq(after[0]->t.state, TASK_BLOCKED);
		fake_store_let(fx_store);
		ck_assert(ordered->ended && !after[0]->ended);
		fx_turn();
		ck_assert_uint_eq(fx_store->n_held, 2);
		fake_store_let(fx_store);
		ck_assert(after[0]->ended && after[1]->ended);
		ck_assert_uint_eq(atomic_load(&nexus_find(n, 0)->gate), 0);
		for (int i = 0; i < 2; i++) {
			fake_task_free(before[i]);
			fake_task_free(after[i]);
		}
		fake_task_free(ordered);
		fake_task_free(foreign);
		fx_teardown();
	}
}
END_TEST

/* Alone it runs at once. */
START_TEST(ordered_alone)
{
	COVERS("SA-004");
	struct fake_task *a, *b;

	fx_setup(0);
	fx_store->hold = true;
	a = start(&fx_nexus[0], 0, true, ATTR_ORDERED);
	b = start(&fx_nexus[0], 0, true, ATTR_ORDERED);
	ck_assert(a->t.state == TASK_IO && b->t.state == TASK_BLOCKED);
	fake_store_let(fx_store);
	fx_turn();
	ck_assert(a->ended && b->t.state == TASK_IO);
	fake_store_let(fx_store);
	ck_assert(b->ended);
	fake_task_free(a);
	fake_task_free(b);
	fx_teardown();
}
END_TEST

START_TEST(head_of_queue)
{
	COVERS("SA-005");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *first, *ordered, *head, *late;

	fx_setup(0);
	fx_store->hold = true;
	first = start(n, 0, true, ATTR_SIMPLE);
	ordered = start(n, 8, true, ATTR_ORDERED);
	head = start(n, 16, true, ATTR_HEAD_OF_QUEUE);
	late = start(n, 24, true, ATTR_SIMPLE);
	ck_assert_uint_eq(head->t.state, TASK_IO);
	ck_assert_uint_eq(late->t.state, TASK_BLOCKED);
	fake_store_let_one(fx_store, 0);
	fx_turn();
	ck_assert(first->ended);
	ck_assert_uint_eq(ordered->t.state, TASK_BLOCKED); /* the head is not through yet */
	fake_store_let(fx_store);
	fx_turn();
	ck_assert(head->ended);
	ck_assert_uint_eq(ordered->t.state, TASK_IO);
	ck_assert_uint_eq(late->t.state, TASK_BLOCKED);
	fake_store_let(fx_store);
	fx_turn();
	fake_store_let(fx_store);
	ck_assert(late->ended && ordered->order < late->order);
	fake_task_free(first);
	fake_task_free(ordered);
	fake_task_free(head);
	fake_task_free(late);
	fx_teardown();
}
END_TEST

/* SIMPLE tasks that had not begun wait for a HEAD OF QUEUE task too. */
START_TEST(head_before_those_not_started)
{
	COVERS("SA-004 SA-005");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *slow, *head;

	fx_setup(0);
	slow = fx_write(n, 0, 8, data);
	slow->hold_data = true;
	scsi_submit(&slow->t);
	ck_assert_uint_eq(slow->t.state, TASK_COLLECTING);
	fx_store->hold = true;
	head = start(n, 8, true, ATTR_HEAD_OF_QUEUE);
	fake_task_deliver(slow);
	ck_assert_uint_eq(slow->t.state, TASK_BLOCKED);
	fake_store_let(fx_store);
	fx_turn();
	ck_assert(head->ended && slow->t.state == TASK_IO);
	fake_store_let(fx_store);
	fake_task_free(slow);
	fake_task_free(head);
	fx_teardown();
}
END_TEST

/* A mapping is not written while order matters. */
START_TEST(mapped_writes_keep_order)
{
	COVERS("SA-004 SA-006");
	struct it_nexus *n = &fx_nexus[0];
	static uint8_t old[4096], new[4096];
	struct fake_task *ordered, *after;

	fx_setup(BACKING_INLINE);
	fx_store->mapping = true;
	fx_store->hold = true;
	memset(old, 1, sizeof(old));
	memset(new, 2, sizeof(new));
	ordered = fx_write(n, 0, 8, old);
	ordered->t.attribute = ATTR_ORDERED;
	scsi_submit(&ordered->t);
	after = fx_write(n, 0, 8, new);
	scsi_submit(&after->t);
	ck_assert(!ordered->ended && !after->ended);
	for (int i = 0; i < 4; i++) {
		fake_store_let(fx_store);
		fx_turn();
	}
	ck_assert(ordered->ended && after->ended && ordered->order < after->order);
	ck_assert_uint_eq(fx_store->bytes[100], 2);
	fake_task_free(ordered);
	fake_task_free(after);
	fx_teardown();
}
END_TEST

/* Blocked tasks hold all the memory; what they wait for goes on. */
START_TEST(no_lock_up_without_buffers)
{
	COVERS("SA-004 SA-005");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *f[6];

	fx_setup_arena(0, 1 << 20);
	fx_store->hold = true;
	f[0] = fx_write(n, 0, 64, data);
	f[1] = fx_read(n, 0, 960);
	f[1]->t.attribute = ATTR_ORDERED;
	f[2] = fx_write(n, 64, 1000, data);
	f[3] = fx_write(n, 64, 2000, data);
	f[4] = fx_write(n, 64, 8, data);
	f[4]->t.attribute = ATTR_HEAD_OF_QUEUE;
	f[5] = fx_write(n, 64, 2000, data);
	for (int i = 0; i < 6; i++)
		scsi_submit(&f[i]->t);
	for (int i = 0; i < 40; i++) {
		fake_store_let(fx_store);
		fx_turn();
	}
	for (int i = 0; i < 6; i++) {
		ck_assert(f[i]->ended && f[i]->status == SCSI_GOOD);
		fake_task_free(f[i]);
	}
	fx_teardown();
}
END_TEST

/* One after the other unblocks the next, however many, without a stack for it. */
START_TEST(long_chain)
{
	COVERS("SA-004");
	enum { N = 4000 };
	static struct fake_task *f[N];
	struct it_nexus *n = &fx_nexus[0];

	fx_setup(BACKING_INLINE);
	n->max_tasks = N;
	fx_store->hold = true;
	for (int i = 0; i < N; i++)
		f[i] = start(n, 0, true, ATTR_ORDERED);
	fx_store->hold = false;
	fake_store_let(fx_store);
	for (int i = 0; i < N && !f[N - 1]->ended; i++)
		fx_turn();
	for (int i = 0; i < N; i++)
		ck_assert(f[i]->ended && (!i || f[i - 1]->order < f[i]->order));
	for (int i = 0; i < N; i++)
		fake_task_free(f[i]);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/order", ordered_waits_and_blocks, ordered_alone, head_of_queue,
	  head_before_those_not_started, mapped_writes_keep_order, no_lock_up_without_buffers,
	  long_chain)
