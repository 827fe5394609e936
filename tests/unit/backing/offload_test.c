/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads for what blocks: a queue that hangs holds only itself. */
#include "tests/unit/backing/support.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static unsigned inside, most_inside;
static unsigned n_done;

struct job {
	struct offload_job job;
	bool hangs;
	unsigned order;
};

static struct reactor *reactor;

static void enter(void)
{
	pthread_mutex_lock(&lock);
	inside++;
	most_inside = inside > most_inside ? inside : most_inside;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_gate(struct offload_job *job)
{
	struct job *j = container_of(job, struct job, job);

	enter();
	pthread_mutex_lock(&lock);
	while (j->hangs && !gate_open)
		pthread_cond_wait(&changed, &lock);
	inside--;
	pthread_mutex_unlock(&lock);
}

static void count_done(struct offload_job *job)
{
	container_of(job, struct job, job)->order = ++n_done;
}

static void submit(struct offload_queue *q, struct job *j, bool hangs)
{
	j->hangs = hangs;
	j->job.work = wait_gate;
	j->job.done = count_done;
	j->job.reply_to = reactor;
	offload_submit(q, &j->job);
}

static void open_gate(bool open)
{
	pthread_mutex_lock(&lock);
	gate_open = open;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_inside(unsigned n)
{
	pthread_mutex_lock(&lock);
	while (inside < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void wait_done(unsigned n)
{
	while (n_done < n)
		reactor_turn(reactor, 1000);
}

static void begin(unsigned threads)
{
	n_done = inside = most_inside = 0;
	gate_open = false;
	ck_assert_int_eq(offload_start(threads), 0);
	ck_assert_int_eq(reactor_create(0, "test", &reactor), 0);
}

START_TEST(a_hung_queue_holds_only_itself)
{
	enum { HUNG = 20 };
	struct offload_queue *bad[2], *good;
	struct job hung[2][HUNG], j;

	begin(3);
	ck_assert_int_eq(offload_queue_create("bad", 16, &bad[0]), 0);
	ck_assert_int_eq(offload_queue_create("bad too", 16, &bad[1]), 0);
	ck_assert_int_eq(offload_queue_create("good", 4, &good), 0);
	for (int b = 0; b < 2; b++)
		for (int i = 0; i < HUNG; i++)
			submit(bad[b], &hung[b][i], true);
	wait_inside(3); /* all threads there may be hang */
	for (unsigned i = 1; i <= 50; i++) {
		submit(good, &j, false);
		wait_done(i);
	}
	open_gate(true);
	wait_done(50 + 2 * HUNG);
	offload_queue_destroy(bad[0]);
	offload_queue_destroy(bad[1]);
	offload_queue_destroy(good);
	ck_assert(offload_stop(5000));
	reactor_destroy(reactor);
}
END_TEST

START_TEST(width_is_kept)
{
	enum { N = 40, WIDTH = 3 };
	struct offload_queue *q;
	struct job j[N];

	begin(16);
	ck_assert_int_eq(offload_queue_create("q", WIDTH, &q), 0);
	for (int i = 0; i < N; i++)
		submit(q, &j[i], true);
	wait_inside(WIDTH);
	open_gate(true);
	wait_done(N);
	ck_assert_uint_eq(most_inside, WIDTH);
	offload_queue_destroy(q);
	ck_assert(offload_stop(5000));
	reactor_destroy(reactor);
}
END_TEST

START_TEST(width_one_keeps_the_order)
{
	enum { N = 200 };
	struct offload_queue *q;
	struct job j[N];

	begin(8);
	ck_assert_int_eq(offload_queue_create("q", 1, &q), 0);
	for (int i = 0; i < N; i++)
		submit(q, &j[i], false);
	wait_done(N);
	for (unsigned i = 0; i < N; i++)
		ck_assert_uint_eq(j[i].order, i + 1);
	offload_queue_destroy(q);
	ck_assert(offload_stop(5000));
	reactor_destroy(reactor);
}
END_TEST

/* SIGTERM with a hung store must end: stop gives up in time and says so. */
START_TEST(stop_does_not_wait_for_ever)
{
	struct offload_queue *q;
	struct job j;
	uint64_t begin_ms;

	begin(2);
	ck_assert_int_eq(offload_queue_create("q", 1, &q), 0);
	submit(q, &j, true);
	wait_inside(1);
	begin_ms = clock_ms();
	ck_assert(!offload_stop(100));
	ck_assert_uint_lt(clock_ms() - begin_ms, 5000);
	open_gate(true);
	wait_done(1);
	offload_queue_destroy(q);
	ck_assert(offload_stop(5000));
	reactor_destroy(reactor);
}
END_TEST

/* done may give everything back at once. */
struct once {
	struct offload_job job;
	struct offload_queue *q;
};

static void no_work(struct offload_job *job)
{
	(void)job;
}

static void destroy_all(struct offload_job *job)
{
	struct once *o = container_of(job, struct once, job);

	offload_queue_destroy(o->q);
	free(o);
	n_done++;
}

START_TEST(done_may_destroy_the_queue)
{
	begin(4);
	for (unsigned i = 1; i <= 300; i++) {
		struct once *o = calloc(1, sizeof(*o));

		ck_assert_int_eq(offload_queue_create("q", 1, &o->q), 0);
		o->job.work = no_work;
		o->job.done = destroy_all;
		o->job.reply_to = reactor;
		offload_submit(o->q, &o->job);
		wait_done(i);
	}
	ck_assert(offload_stop(5000));
	reactor_destroy(reactor);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("offload");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, a_hung_queue_holds_only_itself);
	tcase_add_test(tc, width_is_kept);
	tcase_add_test(tc, width_one_keeps_the_order);
	tcase_add_test(tc, stop_does_not_wait_for_ever);
	tcase_add_test(tc, done_may_destroy_the_queue);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
