/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fence over two threads: B writes without pause on a reactor of its own while A reserves and
 * releases. Once A has GOOD, no write of B is told GOOD any more, in whatever state it was.
 */
#include "tests/unit/scsi/pr_fixture.h"

#include "scsi/tmf.h"

#include <pthread.h>

static uint8_t data[1 << 14];

static struct {
	struct reactor *r;
	struct arena *arena;
	struct it_nexus nexus;
	struct reactor_timer tick;
	struct fake_task *f[4];
	_Atomic bool reserved; /* A has been told so */
	_Atomic bool stop;
	_Atomic unsigned written, conflicts, slipped, other;
	pthread_t thread;
} b;

/* Within done: the moment at which B is told. */
static void told(struct fake_task *f)
{
	if (f->t.status == SCSI_RESERVATION_CONFLICT) {
		b.conflicts++;
	} else if (f->t.status != SCSI_GOOD) {
		b.other++;
	} else {
		b.slipped += b.reserved;
		b.written++;
	}
}

/* One step of each of its tasks: a new one, or its data; so there are some in every state. */
static void step(unsigned i)
{
	struct fake_task *f = b.f[i];

	if (f && f->over) {
		fake_task_free(f);
		b.f[i] = f = NULL;
	}
	if (!f && !b.stop) {
		b.f[i] = fx_write(&b.nexus, 64 + 8 * i, 8, data);
		b.f[i]->on_end = told;
		b.f[i]->hold_data = i % 2;
		scsi_submit(&b.f[i]->t);
	} else if (f && f->t.state == TASK_COLLECTING) {
		fake_task_deliver(f);
	}
}

static void ticked(struct reactor_timer *timer)
{
	bool idle = b.stop;

	for (unsigned i = 0; i < 4; i++)
		step(i);
	for (unsigned i = 0; i < 4; i++)
		idle &= !b.f[i];
	if (idle) {
		nexus_destroy(&b.nexus);
		reactor_stop(b.r);
		return;
	}
	reactor_timer_arm(b.r, timer, 0);
}

static void *thread(void *arg)
{
	(void)arg;
	ck_assert_int_eq(scsi_reactor_start(b.r, b.arena), 0);
	b.nexus.max_tasks = 8;
	snprintf(b.nexus.initiator_port, SCSI_PORT_NAME,
		 "iqn.2026-01.org.example:b,i,0x000000000000");
	ck_assert_int_eq(nexus_init(&b.nexus, b.r, fx_map, ASC_POWER_ON), 0);
	fx_take_ua(&b.nexus);
	reactor_timer_init(&b.tick, ticked);
	reactor_timer_arm(b.r, &b.tick, 0);
	reactor_run(b.r);
	scsi_reactor_stop(b.r);
	return NULL;
}

/* One of A's commands, to its end. */
static void a_does(struct fake_task *f)
{
	scsi_submit(&f->t);
	while (!f->ended)
		reactor_turn(fx_reactor, 1);
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	fake_task_free(f);
}

static struct fake_task *change(unsigned round, bool reserve)
{
	uint8_t six[6] = { reserve ? 0x16 : 0x17 };

	if (round % 4 == 3)
		return fx_task(A, six, 6);
	pr_keys(KEY_A, 0, 0);
	return pr_task(A, reserve ? PR_RESERVE : PR_RELEASE, round % 4 == 1 ? 3 : 1, 24);
}

/* Registered only for persistent reservations: RESERVE(6) would conflict. */
static void set_registered(unsigned round, bool registered)
{
	if (round % 4 == 3)
		return;
	pr_keys(0, registered ? KEY_A : 0, 0);
	a_does(pr_task(A, PR_REGISTER_IGNORE, 0, 24));
}

static void storm(bool mapping)
{
	struct reactor *set[2];

	memset(&b, 0, sizeof(b));
	fx_setup(BACKING_INLINE);
	fx_store->mapping = mapping;
	ck_assert_int_eq(reactor_create(1, "b", &b.r), 0);
	ck_assert_int_eq(arena_create(1 << 20, &b.arena), 0);
	set[0] = fx_reactor;
	set[1] = b.r;
	scsi_tmf_set_reactors(set, 2);
	ck_assert_int_eq(pthread_create(&b.thread, NULL, thread, NULL), 0);
	while (!b.written)
		fx_turn();
	for (unsigned round = 0; round < 60 || !b.conflicts; round++) {
		unsigned written;

		set_registered(round, true);
		a_does(change(round, true));
		b.reserved = true;
		for (unsigned k = 0; k < 1 + round % 3; k++)
			reactor_turn(fx_reactor, 1);
		b.reserved = false;
		a_does(change(round, false));
		set_registered(round, false);
		written = b.written;
		while (b.written == written) /* it may write again, and does */
			fx_turn();
	}
	b.stop = true;
	pthread_join(b.thread, NULL);
	ck_assert_uint_eq(b.slipped, 0);
	ck_assert_uint_eq(b.other, 0);
	scsi_tmf_set_reactors(NULL, 0);
	arena_destroy(b.arena);
	reactor_destroy(b.r);
	fx_teardown();
}

START_TEST(no_write_slips_in)
{
	COVERS("SR-014");
	storm(false);
}
END_TEST

START_TEST(nor_into_memory_of_the_store)
{
	COVERS("SR-014");
	storm(true);
}
END_TEST

UNIT_MAIN("scsi/pr_fence", no_write_slips_in, nor_into_memory_of_the_store)
