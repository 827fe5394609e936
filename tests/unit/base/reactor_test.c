/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/reactor.c"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

static struct reactor *make(void)
{
	struct reactor *r = NULL;

	if (reactor_create(0, "test", &r) < 0)
		abort();
	return r;
}

/* Descriptors. */

struct end {
	struct reactor_fd rfd;
	struct reactor *reactor;
	unsigned calls;
	uint32_t events;
	struct end *victim; /* removed and overwritten by ready */
};

static void end_ready(struct reactor_fd *rfd, uint32_t events)
{
	struct end *e = container_of(rfd, struct end, rfd);

	e->calls++;
	e->events = events;
	if (e->victim) {
		reactor_fd_del(e->reactor, &e->victim->rfd);
		memset(&e->victim->rfd, 0xee, sizeof(e->victim->rfd)); /* as if it was freed */
	}
}

/* Two ends of a socket pair; the first is watched. */
static void end_open(struct reactor *r, struct end *e, int pair[static 2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	memset(e, 0, sizeof(*e));
	e->reactor = r;
	e->rfd.fd = pair[0];
	e->rfd.ready = end_ready;
	ck_assert_int_eq(reactor_fd_add(r, &e->rfd, EPOLLIN), 0);
}

START_TEST(descriptors_are_delivered)
{
	struct reactor *r = make();
	struct end e;
	int pair[2];

	end_open(r, &e, pair);
	reactor_turn(r, 0);
	ck_assert_uint_eq(e.calls, 0);
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	reactor_turn(r, -1);
	reactor_turn(r, -1); /* level-triggered: it has not been read */
	ck_assert_uint_eq(e.calls, 2);
	ck_assert_uint_eq(e.events, EPOLLIN);
	ck_assert_int_eq(reactor_fd_mod(r, &e.rfd, EPOLLOUT), 0);
	reactor_turn(r, -1);
	ck_assert_uint_eq(e.events, EPOLLOUT);
	reactor_fd_del(r, &e.rfd);
	reactor_fd_del(r, &e.rfd);
	ck_assert(e.rfd.removed);
	reactor_turn(r, 0);
	ck_assert_uint_eq(e.calls, 3);
	ck_assert_int_eq(reactor_fd_add(r, &e.rfd, EPOLLIN), 0);
	ck_assert(!e.rfd.removed);
	reactor_turn(r, -1);
	ck_assert_uint_eq(e.calls, 4);
	reactor_fd_del(r, &e.rfd);
	close(pair[0]);
	close(pair[1]);
	reactor_destroy(r);
}
END_TEST

START_TEST(errors_of_epoll_are_told)
{
	struct reactor *r = make();
	struct reactor_fd rfd = { .fd = -1, .ready = end_ready };

	ck_assert_int_eq(reactor_fd_add(r, &rfd, EPOLLIN), -EBADF);
	rfd.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* a file cannot be polled */
	ck_assert_int_eq(reactor_fd_add(r, &rfd, EPOLLIN), -EPERM);
	close(rfd.fd);
	reactor_destroy(r);
	reactor_destroy(NULL);
}
END_TEST

/* Both are ready in one turn and each removes the other: exactly one is called. */
START_TEST(removed_in_the_same_turn_is_not_delivered)
{
	struct reactor *r = make();
	struct end a, b;
	int pa[2], pb[2];

	end_open(r, &a, pa);
	end_open(r, &b, pb);
	a.victim = &b;
	b.victim = &a;
	ck_assert_int_eq(write(pa[1], "x", 1), 1);
	ck_assert_int_eq(write(pb[1], "x", 1), 1);
	reactor_turn(r, -1);
	ck_assert_uint_eq(a.calls + b.calls, 1);
	for (int i = 0; i < 2; i++) {
		close(pa[i]);
		close(pb[i]);
	}
	reactor_destroy(r);
}
END_TEST

/* Timers. */

struct alarm {
	struct reactor_timer t;
	struct reactor *reactor;
	unsigned fired;
	uint64_t at_us;
	uint64_t again_ms; /* re-arms itself */
	struct alarm *disarm;
};

static void alarm_fire(struct reactor_timer *t)
{
	struct alarm *a = container_of(t, struct alarm, t);

	a->fired++;
	a->at_us = clock_us();
	if (a->again_ms)
		reactor_timer_arm(a->reactor, t, a->again_ms - 1);
	if (a->disarm)
		reactor_timer_disarm(&a->disarm->t);
}

static void alarm_set(struct reactor *r, struct alarm *a, uint64_t ms)
{
	memset(a, 0, sizeof(*a));
	a->reactor = r;
	reactor_timer_init(&a->t, alarm_fire);
	reactor_timer_arm(r, &a->t, ms);
}

START_TEST(timers_are_late_never_early)
{
	struct reactor *r = make();
	struct alarm a[20];
	uint64_t begin = clock_us();

	for (unsigned i = 0; i < 20; i++)
		alarm_set(r, &a[i], 1 + i * 7 % 20);
	for (unsigned i = 0; i < 20; i++) {
		while (!a[i].fired)
			reactor_turn(r, -1);
		ck_assert_uint_eq(a[i].fired, 1);
		ck_assert_uint_ge(a[i].at_us, begin + 1000ull * (1 + i * 7 % 20));
	}
	reactor_destroy(r);
}
END_TEST

static void slow_job(struct reactor_job *job)
{
	uint64_t end = clock_us() + 5000;

	(void)job;
	while (clock_us() < end)
		;
}

struct slow_arm {
	struct reactor_job job;
	struct alarm *alarm;
	struct reactor *reactor;
	uint64_t armed_us;
};

static void slow_arm(struct reactor_job *job)
{
	struct slow_arm *s = container_of(job, struct slow_arm, job);

	slow_job(job);
	s->armed_us = clock_us();
	reactor_timer_arm(s->reactor, &s->alarm->t, 3);
}

/* The turn's clock is old by then: the delay counts from the call all the same. */
START_TEST(late_in_a_long_turn_is_not_early)
{
	struct reactor *r = make();
	struct alarm a;
	struct slow_arm s = { .alarm = &a, .reactor = r };

	alarm_set(r, &a, 100000);
	reactor_job_init(&s.job, slow_arm);
	reactor_defer(r, REACTOR_STAGE_SUBMIT, &s.job);
	while (!a.fired)
		reactor_turn(r, -1);
	ck_assert_uint_ge(a.at_us, s.armed_us + 3000);
	reactor_destroy(r);
}
END_TEST

START_TEST(disarmed_and_rearmed)
{
	struct reactor *r = make();
	struct alarm a, b, far;

	alarm_set(r, &far, 100000);
	alarm_set(r, &a, 1);
	alarm_set(r, &b, 20000);
	reactor_timer_disarm(&a.t);
	reactor_timer_disarm(&a.t);
	reactor_timer_arm(r, &b.t, 5); /* earlier than it was */
	while (!b.fired)
		reactor_turn(r, -1);
	ck_assert_uint_eq(a.fired, 0);
	ck_assert_uint_eq(far.fired, 0);
	reactor_timer_disarm(&far.t);
	reactor_destroy(r);
}
END_TEST

START_TEST(a_timer_may_disarm_its_neighbour)
{
	struct reactor *r = make();
	struct alarm a, b;

	alarm_set(r, &a, 2);
	alarm_set(r, &b, 2);
	b.t.due_ms = a.t.due_ms;
	list_del(&b.t.node);
	wheel_add(&r->wheel, &b.t); /* surely in the same step */
	a.disarm = &b;
	while (!a.fired)
		reactor_turn(r, -1);
	reactor_turn(r, 2);
	ck_assert_uint_eq(b.fired, 0);
	reactor_destroy(r);
}
END_TEST

/* A timer of no delay that arms itself again: once per turn, and descriptors get their turn. */
START_TEST(a_restless_timer_does_not_hang_the_turn)
{
	struct reactor *r = make();
	struct alarm a;
	struct end e;
	int pair[2];

	end_open(r, &e, pair);
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	alarm_set(r, &a, 0);
	a.again_ms = 1; /* 0 */
	for (int i = 0; i < 3; i++)
		reactor_turn(r, -1);
	ck_assert_uint_eq(a.fired, 3);
	ck_assert_uint_eq(e.calls, 3);
	reactor_fd_del(r, &e.rfd);
	close(pair[0]);
	close(pair[1]);
	reactor_destroy(r);
}
END_TEST

/* Jobs. */

struct job {
	struct reactor_job j;
	struct reactor *reactor;
	char letter;
	struct job *then; /* deferred by this one */
	enum reactor_stage then_stage;
	struct job *cancel;
	unsigned runs;
};

static char trail[64];

static void job_run(struct reactor_job *j)
{
	struct job *job = container_of(j, struct job, j);
	size_t n = strlen(trail);

	job->runs++;
	if (n + 1 < sizeof(trail)) {
		trail[n] = job->letter;
		trail[n + 1] = '\0';
	}
	if (job->then)
		reactor_defer(job->reactor, job->then_stage, &job->then->j);
	if (job->cancel)
		reactor_job_cancel(&job->cancel->j);
}

static struct job job_of(struct reactor *r, char letter)
{
	return (struct job){ .reactor = r, .letter = letter };
}

START_TEST(stages_run_in_order_until_none_is_left)
{
	struct reactor *r = make();
	struct job submit = job_of(r, 'S'), send = job_of(r, 'T'), reap = job_of(r, 'R'),
		   more = job_of(r, 's');

	reactor_job_init(&submit.j, job_run);
	reactor_job_init(&send.j, job_run);
	reactor_job_init(&reap.j, job_run);
	reactor_job_init(&more.j, job_run);
	trail[0] = '\0';
	send.then = &more; /* sending frees a slot: one more I/O */
	send.then_stage = REACTOR_STAGE_SUBMIT;
	reactor_defer(r, REACTOR_STAGE_REAP, &reap.j);
	reactor_defer(r, REACTOR_STAGE_SEND, &send.j);
	reactor_defer(r, REACTOR_STAGE_SUBMIT, &submit.j);
	reactor_defer(r, REACTOR_STAGE_SUBMIT, &submit.j); /* twice is once */
	reactor_turn(r, -1);                               /* does not sleep */
	ck_assert_str_eq(trail, "STRs");
	reactor_turn(r, 0);
	ck_assert_str_eq(trail, "STRs");
	reactor_destroy(r);
}
END_TEST

START_TEST(cancelled_jobs_do_not_run)
{
	struct reactor *r = make();
	struct job a = job_of(r, 'a'), b = job_of(r, 'b'), c = job_of(r, 'c');

	reactor_job_init(&a.j, job_run);
	reactor_job_init(&b.j, job_run);
	reactor_job_init(&c.j, job_run);
	trail[0] = '\0';
	a.cancel = &b; /* in the same batch already */
	reactor_defer(r, REACTOR_STAGE_SEND, &a.j);
	reactor_defer(r, REACTOR_STAGE_SEND, &b.j);
	reactor_defer(r, REACTOR_STAGE_SEND, &c.j);
	reactor_job_cancel(&c.j);
	reactor_job_cancel(&c.j);
	reactor_turn(r, 0);
	ck_assert_str_eq(trail, "a");
	reactor_destroy(r);
}
END_TEST

START_TEST(restless_jobs_do_not_starve_descriptors)
{
	struct reactor *r = make();
	struct job a = job_of(r, 'a');
	struct end e;
	int pair[2];

	end_open(r, &e, pair);
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	reactor_job_init(&a.j, job_run);
	a.then = &a;
	a.then_stage = REACTOR_STAGE_SUBMIT;
	reactor_defer(r, REACTOR_STAGE_SUBMIT, &a.j);
	reactor_turn(r, -1);
	reactor_turn(r, -1);
	ck_assert_uint_eq(e.calls, 2);
	ck_assert_uint_eq(a.runs, 2ull * JOB_ROUNDS);
	a.then = NULL;
	reactor_turn(r, -1); /* what was left over runs, without sleep */
	ck_assert_uint_eq(a.runs, 2ull * JOB_ROUNDS + 1);
	reactor_fd_del(r, &e.rfd);
	close(pair[0]);
	close(pair[1]);
	reactor_destroy(r);
}
END_TEST

/* The rest. */

static struct reactor *stopped_by_signal;

static void on_signal(int signal_number)
{
	(void)signal_number;
	reactor_stop(stopped_by_signal);
}

START_TEST(stops_from_a_signal_handler)
{
	struct reactor *r = make();

	stopped_by_signal = r;
	ck_assert(signal(SIGUSR1, on_signal) != SIG_ERR);
	raise(SIGUSR1); /* before run: run ends at once */
	reactor_run(r);
	ck_assert_uint_ge(r->turns, 1);
	reactor_destroy(r);
}
END_TEST

START_TEST(slots_stats_and_identity)
{
	struct reactor_stats stats;
	struct reactor *r = NULL;
	int object;

	if (reactor_create(7, "a name that is far too long", &r) < 0 || !r)
		abort();
	ck_assert_uint_eq(reactor_index(r), 7);
	ck_assert(reactor_is_current(r));
	ck_assert_ptr_null(reactor_slot(r, REACTOR_ARENA));
	reactor_set_slot(r, REACTOR_ARENA, &object);
	ck_assert_ptr_eq(reactor_slot(r, REACTOR_ARENA), &object);
	reactor_turn(r, 0);
	reactor_turn(r, 2);
	reactor_get_stats(r, &stats);
	ck_assert_uint_eq(stats.turns, 2);
	ck_assert_uint_eq(stats.events, 0);
	stats_add(reactor_counters(r), STAT_READ_BYTES, 4096);
	stats_add(reactor_counters(r), STAT_READ_BYTES, 512);
	ck_assert_uint_eq(stats_get(reactor_counters(r), STAT_READ_BYTES), 4608);
	ck_assert_uint_eq(stats_get(reactor_counters(r), STAT_READS), 0);
	for (unsigned i = 0; i < STATS; i++) {
		ck_assert_ptr_nonnull(stats_name(i));
		ck_assert_ptr_nonnull(stats_help(i));
		for (unsigned n = 0; n < i; n++)
			ck_assert_str_ne(stats_name(i), stats_name(n));
	}
	reactor_destroy(r);
}
END_TEST

UNIT_MAIN("base/reactor", descriptors_are_delivered, errors_of_epoll_are_told,
	  removed_in_the_same_turn_is_not_delivered, timers_are_late_never_early,
	  late_in_a_long_turn_is_not_early, disarmed_and_rearmed, a_timer_may_disarm_its_neighbour,
	  a_restless_timer_does_not_hang_the_turn, stages_run_in_order_until_none_is_left,
	  cancelled_jobs_do_not_run, restless_jobs_do_not_starve_descriptors,
	  stops_from_a_signal_handler, slots_stats_and_identity)
