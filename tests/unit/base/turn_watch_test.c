/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that sleeps is found, one that computes is not. Debug builds only. */
#include "daemon/base/log.h"
#include "daemon/base/reactor.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

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

/* Something is slow, nothing is lost: no line that calls for an operator. */
START_TEST(is_a_warning)
{
	char text[1000];
	int pipe_fds[2];
	ssize_t n;

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_ge(dup2(pipe_fds[1], STDERR_FILENO), 0);
	log_open(LOG_TO_JOURNAL_STREAM, LOG_LEVEL_INFO);
	stuck_after(blocks);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
#if HAWSER_TURN_WATCH
	ck_assert_msg(!strncmp(text, "<4>base: reactor watched: ", 26), "%s", text);
#else
	ck_assert_str_eq(text, "");
#endif
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
END_TEST

START_TEST(busy_turn)
{
	ck_assert_uint_eq(stuck_after(computes), 0);
}
END_TEST

UNIT_MAIN("base/turn_watch", blocking_call, is_a_warning, busy_turn)
