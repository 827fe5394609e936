/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that sleeps is found, one that computes is not. Debug builds only. */
#include "daemon/base/reactor.h"
#include "tests/unit/unit.h"

#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void blocks(struct reactor_job *job)
{
	struct timespec ts = { .tv_nsec = 30000000 };

	(void)job;
	nanosleep(&ts, NULL);
}

static void computes(struct reactor_job *job)
{
	double end = now() + 0.03;

	(void)job;
	while (now() < end)
		;
}

static uint64_t stuck_after(void (*run)(struct reactor_job *))
{
	struct reactor_job job;
	struct reactor *r;
	uint64_t stuck;

	ck_assert_int_eq(reactor_create(0, "watched", &r), 0);
	reactor_job_init(&job, run);
	reactor_defer(r, REACTOR_STAGE_SUBMIT, &job);
	reactor_turn(r, 0);
	stuck = reactor_stuck_turns(r);
	reactor_destroy(r);
	return stuck;
}

START_TEST(blocking_call)
{
#if HAWSER_TURN_WATCH
	ck_assert_uint_eq(stuck_after(blocks), 1);
#else
	ck_assert_uint_eq(stuck_after(blocks), 0);
#endif
}
END_TEST

START_TEST(busy_turn)
{
	ck_assert_uint_eq(stuck_after(computes), 0);
}
END_TEST

UNIT_MAIN("base/turn_watch", blocking_call, busy_turn)
