/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/wheel.c"

#include "tests/unit/unit.h"

#define DAY_MS ((uint64_t)24 * 3600 * 1000)

static struct wheel w;

static void add(struct reactor_timer *t, uint64_t due_ms)
{
	reactor_timer_init(t, NULL);
	t->due_ms = due_ms;
	wheel_add(&w, t);
}

/* Advances as a reactor does: from one step that wheel_next names to the next. Returns the moment
 * at which t came out, and checks that none comes out early or out of order. */
static uint64_t run_until(struct reactor_timer *t)
{
	for (;;) {
		uint64_t at = wheel_next(&w), last = 0;
		struct list due, *n;
		bool found = false;

		ck_assert(at != WHEEL_NEVER);
		ck_assert_uint_ge(at, w.now);
		list_init(&due);
		wheel_advance(&w, at, &due);
		while ((n = list_pop(&due))) {
			struct reactor_timer *out = list_entry(n, struct reactor_timer, node);

			ck_assert_uint_le(out->due_ms, at);
			ck_assert_uint_ge(out->due_ms, last);
			last = out->due_ms;
			found |= out == t;
		}
		if (found)
			return at;
	}
}

START_TEST(every_distance_is_exact)
{
	static const uint64_t delays[] = { 1,      2,        63,     64,           65,
					   127,    128,      4095,   4096,         262143,
					   262144, 16777217, DAY_MS, 400 * DAY_MS, 36500 * DAY_MS };
	static const uint64_t starts[] = { 0, 1, 63, 64, 4095, 1234567, 30 * DAY_MS + 77 };
	struct reactor_timer t;

	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
			wheel_init(&w, starts[s]);
			add(&t, starts[s] + delays[i]);
			ck_assert_uint_eq(run_until(&t), starts[s] + delays[i]);
			ck_assert_uint_eq(wheel_next(&w), WHEEL_NEVER);
		}
	}
}
END_TEST

START_TEST(the_past_is_due_at_once)
{
	struct reactor_timer t, u;

	wheel_init(&w, 1000);
	add(&t, 5);
	add(&u, 1000);
	ck_assert_uint_eq(wheel_next(&w), 1000);
	ck_assert_uint_eq(run_until(&t), 1000);
	ck_assert(list_empty(&u.node)); /* came out with it */
}
END_TEST

START_TEST(the_end_of_time_is_not_passed)
{
	struct reactor_timer t, u;

	wheel_init(&w, 1000);
	add(&t, UINT64_MAX);
	ck_assert_uint_lt(t.due_ms, UINT64_MAX);
	add(&u, 2000);
	ck_assert_uint_eq(run_until(&u), 2000);
	ck_assert(!list_empty(&t.node));
	list_del(&t.node);
	ck_assert_uint_eq(wheel_next(&w), WHEEL_NEVER);
}
END_TEST

START_TEST(disarmed_timers_leave_no_step)
{
	struct reactor_timer t, u;

	wheel_init(&w, 0);
	add(&t, 10);
	add(&u, 5000);
	list_del(&t.node);
	ck_assert_uint_gt(wheel_next(&w), 10);
	ck_assert_uint_eq(run_until(&u), 5000);
}
END_TEST

/* A jump over everything brings all of them out, in order. */
START_TEST(one_jump_brings_all_in_order)
{
	enum { N = 20000 };
	static struct reactor_timer timers[N];
	struct list due, *n;
	uint64_t last = 0;
	unsigned seed = 7, count = 0;

	wheel_init(&w, 123456);
	for (int i = 0; i < N; i++)
		add(&timers[i], 123456 + (uint64_t)rand_r(&seed) % 10000000);
	list_init(&due);
	wheel_advance(&w, 123456 + 10000000, &due);
	while ((n = list_pop(&due))) {
		struct reactor_timer *t = list_entry(n, struct reactor_timer, node);

		ck_assert_uint_ge(t->due_ms, last);
		last = t->due_ms;
		count++;
	}
	ck_assert_uint_eq(count, N);
	ck_assert_uint_eq(wheel_next(&w), WHEEL_NEVER);
}
END_TEST

/* Steps of random length; timers are re-armed from where they came out; none is lost or early. */
START_TEST(random_steps)
{
	enum { N = 500 };
	static struct reactor_timer timers[N];
	unsigned seed = 99, fired = 0;
	uint64_t now = 777;

	wheel_init(&w, now);
	for (int i = 0; i < N; i++)
		add(&timers[i], now + (uint64_t)rand_r(&seed) % 100000);
	for (int step = 0; step < 20000; step++) {
		struct list due, *n;

		now += (uint64_t)rand_r(&seed) % 300;
		list_init(&due);
		wheel_advance(&w, now, &due);
		while ((n = list_pop(&due))) {
			struct reactor_timer *t = list_entry(n, struct reactor_timer, node);

			ck_assert_uint_le(t->due_ms, now);
			t->due_ms = now + (uint64_t)rand_r(&seed) % 100000;
			wheel_add(&w, t);
			fired++;
		}
		for (int i = 0; step % 100 == 0 && i < N; i++) {
			ck_assert(!list_empty(&timers[i].node));
			ck_assert_uint_ge(timers[i].due_ms, now); /* else it should be out */
		}
	}
	ck_assert_uint_gt(fired, 10000);
}
END_TEST

UNIT_MAIN("base/wheel", every_distance_is_exact, the_past_is_due_at_once,
	  the_end_of_time_is_not_passed, disarmed_timers_leave_no_step,
	  one_jump_brings_all_in_order, random_steps)
