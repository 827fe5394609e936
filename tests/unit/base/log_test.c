/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/log.c"

#include "tests/unit/unit.h"

#include <fcntl.h>

/* Lines go into a pipe of our own instead of stderr. */
static int reading;

static void capture(enum log_target target)
{
	int pipe_fds[2];

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_ge(dup2(pipe_fds[1], STDERR_FILENO), 0);
	close(pipe_fds[1]);
	reading = pipe_fds[0];
	log_open(target, LOG_LEVEL_INFO);
}

/* All that was written since the last call. */
static const char *captured(void)
{
	static char text[8192];
	ssize_t n = read(reading, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(levels_by_subsystem)
{
	capture(LOG_TO_JOURNAL_STREAM);
	log_debug(LOG_TCP, "not shown");
	ck_assert_str_eq(captured(), "");
	log_info(LOG_TCP, "shown %d", 7);
	ck_assert_str_eq(captured(), "<6>tcp: shown 7\n");
	log_set_level(LOG_TCP, LOG_LEVEL_DEBUG);
	log_debug(LOG_TCP, "now");
	log_debug(LOG_SCSI, "still not");
	ck_assert_str_eq(captured(), "<7>tcp: now\n");
	log_set_level(LOG_SUBSYSTEMS, LOG_LEVEL_ERROR);
	log_warn(LOG_TCP, "no");
	log_error(LOG_CONFIG, "yes");
	ck_assert_str_eq(captured(), "<3>config: yes\n");
	ck_assert_int_eq(log_get_level(LOG_TCP), LOG_LEVEL_ERROR);
}
END_TEST

START_TEST(names_are_parsed)
{
	enum log_level level = 99;
	enum log_subsystem subsystem = 99;

	ck_assert_int_eq(log_level_parse("Warn", &level), 0);
	ck_assert_int_eq(level, LOG_LEVEL_WARN);
	ck_assert_int_eq(log_level_parse("loud", &level), -EINVAL);
	ck_assert_int_eq(log_subsystem_parse("backing", &subsystem), 0);
	ck_assert_int_eq(subsystem, LOG_BACKING);
	ck_assert_int_eq(log_subsystem_parse("", &subsystem), -EINVAL);
	for (unsigned i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
		ck_assert_int_eq(log_level_parse(log_level_name(i), &level), 0);
		ck_assert_uint_eq(level, i);
	}
}
END_TEST

/* Whatever is put into it, a line stays one line. */
START_TEST(a_line_is_one_line)
{
	capture(LOG_TO_JOURNAL_STREAM);
	log_info(LOG_ISCSI, "a\nb\x1b[2Jc%s", "\r\t");
	ck_assert_str_eq(captured(), "<6>iscsi: a?b?[2Jc??\n");
}
END_TEST

START_TEST(long_lines_are_cut)
{
	char longer[3000];
	const char *line;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	capture(LOG_TO_JOURNAL_STREAM);
	log_info(LOG_ISCSI, "%s", longer);
	line = captured();
	ck_assert_uint_le(strlen(line), LINE_SIZE);
	ck_assert_str_eq(line + strlen(line) - 5, "x...\n");
	log_info(LOG_ISCSI, "next");
	ck_assert_str_eq(captured(), "<6>iscsi: next\n");
}
END_TEST

START_TEST(stderr_lines_carry_the_time)
{
	const char *line;

	capture(LOG_TO_STDERR);
	log_warn(LOG_DAEMON, "hello");
	line = captured();
	ck_assert_uint_gt(strlen(line), 23);
	ck_assert_int_eq(line[4], '-');
	ck_assert_str_eq(line + 23, " warn daemon: hello\n");
}
END_TEST

/* Nobody reads: the caller goes on, and the number of lost lines is told when somebody does. */
START_TEST(a_slow_reader_costs_lines_not_time)
{
	unsigned written = 0;

	capture(LOG_TO_JOURNAL_STREAM);
	/* Blocking from here on: a write that waits would hang the test. */
	ck_assert_int_ge(fcntl(STDERR_FILENO, F_SETFL, 0), 0);
	while (atomic_load(&log_lost) < 50 && written < 100000) {
		log_info(LOG_TCP, "%0100d", 1);
		written++;
	}
	ck_assert_uint_lt(written, 100000);
	while (*captured())
		;
	log_info(LOG_TCP, "again");
	ck_assert_ptr_nonnull(strstr(captured(), "log lines lost"));
	ck_assert_uint_eq(atomic_load(&log_lost), 0);
}
END_TEST

START_TEST(what_a_peer_provokes_is_limited)
{
	struct log_limit limit = { 0 };
	unsigned dropped = 99;

	for (int i = 0; i < LOG_BURST; i++) {
		ck_assert(log_limit_pass(&limit, &dropped));
		ck_assert_uint_eq(dropped, 0);
	}
	for (int i = 0; i < 1000; i++)
		ck_assert(!log_limit_pass(&limit, &dropped));
	limit.window_s -= LOG_WINDOW_S; /* the window is over */
	ck_assert(log_limit_pass(&limit, &dropped));
	ck_assert_uint_eq(dropped, 1000);
	ck_assert(log_limit_pass(&limit, &dropped));
	ck_assert_uint_eq(dropped, 0);
}
END_TEST

START_TEST(a_flood_is_a_few_lines)
{
	const char *text;
	unsigned lines = 0;

	capture(LOG_TO_JOURNAL_STREAM);
	for (int i = 0; i < 500; i++)
		log_peer(LOG_ISCSI, LOG_LEVEL_WARN, "peer sent nonsense %d", i);
	for (text = captured(); (text = strchr(text, '\n')); text++)
		lines++;
	ck_assert_uint_eq(lines, LOG_BURST);
}
END_TEST

START_TEST(errno_survives)
{
	capture(LOG_TO_STDERR);
	errno = EXDEV;
	log_info(LOG_TCP, "x");
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

UNIT_MAIN("base/log", levels_by_subsystem, names_are_parsed, a_line_is_one_line, long_lines_are_cut,
	  stderr_lines_carry_the_time, a_slow_reader_costs_lines_not_time,
	  what_a_peer_provokes_is_limited, a_flood_is_a_few_lines, errno_survives)
