/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line goes out in one piece and never waits: a reader that is too slow costs lines, which are
 * counted and told with the next line that gets through, but it never stops a reactor.
 */
#include "daemon/base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE_SIZE = 1024,
	LOG_BURST = 10,   /* lines of one call site ... */
	LOG_WINDOW_S = 10 /* ... in this time */
};

#define SYSLOG_FACILITY_DAEMON 24

static const struct {
	const char *name;
	int priority; /* of syslog(3) */
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", 3 },
	[LOG_LEVEL_WARN] = { "warn", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

static const char *const subsystems[LOG_SUBSYSTEMS] = {
	[LOG_BASE] = "base",   [LOG_DAEMON] = "daemon",   [LOG_CONFIG] = "config",
	[LOG_ADMIN] = "admin", [LOG_SCSI] = "scsi",       [LOG_ISCSI] = "iscsi",
	[LOG_TCP] = "tcp",     [LOG_BACKING] = "backing",
};

unsigned char log_levels[LOG_SUBSYSTEMS] = {
	[0 ... LOG_SUBSYSTEMS - 1] = LOG_LEVEL_INFO,
};

/* Set by log_open at start, before there is a second thread; the counter is anybody's. */
static enum log_target log_target = LOG_TO_STDERR;
static int log_fd = STDERR_FILENO;
static atomic_uint log_lost;

/* The syslog daemon's socket, or -1. */
static int syslog_connect(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void log_open(enum log_target target, enum log_level level)
{
	int fd = STDERR_FILENO;

	if (log_fd != STDERR_FILENO)
		close(log_fd);
	if (target == LOG_TO_SYSLOG) {
		fd = syslog_connect();
		if (fd < 0) { /* no syslog here: stderr serves */
			fd = STDERR_FILENO;
			target = LOG_TO_STDERR;
		}
	}
	log_fd = fd;
	log_target = target;
	log_set_level(LOG_SUBSYSTEMS, level);
}

void log_set_level(enum log_subsystem s, enum log_level level)
{
	for (unsigned i = 0; i < LOG_SUBSYSTEMS; i++)
		if (s == LOG_SUBSYSTEMS || s == i)
			__atomic_store_n(&log_levels[i], (unsigned char)level, __ATOMIC_RELAXED);
}

enum log_level log_get_level(enum log_subsystem s)
{
	return __atomic_load_n(&log_levels[s], __ATOMIC_RELAXED);
}

int log_level_parse(const char *name, enum log_level *ret)
{
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!strcasecmp(name, levels[i].name)) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

int log_subsystem_parse(const char *name, enum log_subsystem *ret)
{
	for (unsigned i = 0; i < LOG_SUBSYSTEMS; i++) {
		if (!strcasecmp(name, subsystems[i])) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *log_level_name(enum log_level level)
{
	return levels[level].name;
}

/* True if the line is out; false if it would have had to wait, or nobody reads. */
static bool emit(const char *line, size_t length)
{
	struct pollfd pfd = { .fd = log_fd, .events = POLLOUT };
	ssize_t n = send(log_fd, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK) {
		/* A pipe that polls writable takes a line of this size without waiting. */
		if (poll(&pfd, 1, 0) != 1 || !(pfd.revents & POLLOUT))
			return false;
		n = write(log_fd, line, length);
	}
	return n >= 0;
}

/* What comes before the text: who reads the line decides. */
static size_t put_prefix(char *line, size_t size, enum log_subsystem s, enum log_level level)
{
	struct timespec ts;
	struct tm tm;
	char when[32] = "";
	int n;

	switch (log_target) {
	case LOG_TO_JOURNAL_STREAM: /* sd-daemon(3) */
		n = snprintf(line, size, "<%d>%s: ", levels[level].priority, subsystems[s]);
		break;
	case LOG_TO_SYSLOG:
		clock_gettime(CLOCK_REALTIME, &ts);
		if (localtime_r(&ts.tv_sec, &tm))
			strftime(when, sizeof(when), "%b %e %T", &tm);
		n = snprintf(line, size, "<%d>%s hawserd[%d]: %s: ",
			     SYSLOG_FACILITY_DAEMON | levels[level].priority, when, (int)getpid(),
			     subsystems[s]);
		break;
	case LOG_TO_STDERR:
	default:
		clock_gettime(CLOCK_REALTIME, &ts);
		if (localtime_r(&ts.tv_sec, &tm))
			strftime(when, sizeof(when), "%F %T", &tm);
		n = snprintf(line, size, "%s.%03d %s %s: ", when, (int)(ts.tv_nsec / 1000000),
			     levels[level].name, subsystems[s]);
		break;
	}
	return n < 0 ? 0 : (size_t)n;
}

/* One line stays one line, and a terminal's control characters do nothing. */
static void make_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* text has LINE_SIZE bytes; what does not fit behind the prefix is cut. */
static bool write_line(enum log_subsystem s, enum log_level level, char *text)
{
	char line[LINE_SIZE];
	size_t at = put_prefix(line, sizeof(line), s, level);
	size_t room = sizeof(line) - at - 1, n = strlen(text);

	make_plain(text);
	if (n > room) {
		memcpy(text + room - 3, "...", 3);
		n = room;
	}
	memcpy(line + at, text, n);
	at += n;
	if (log_target != LOG_TO_SYSLOG)
		line[at++] = '\n';
	return emit(line, at);
}

/* Tells how many lines were lost; false if that is lost as well. */
static bool write_lost(unsigned lost)
{
	char text[LINE_SIZE];

	snprintf(text, sizeof(text), "%u log lines lost because nobody read them in time", lost);
	return write_line(LOG_BASE, LOG_LEVEL_WARN, text);
}

void log_write(enum log_subsystem s, enum log_level level, const char *format, ...)
{
	int saved = errno; /* logging is no reason to lose what the caller still looks at */
	unsigned lost = atomic_exchange_explicit(&log_lost, 0, memory_order_relaxed);
	char text[LINE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (lost && !write_lost(lost))
		lost++;
	else
		lost = write_line(s, level, text) ? 0 : 1;
	if (lost)
		atomic_fetch_add_explicit(&log_lost, lost, memory_order_relaxed);
	errno = saved;
}

/*
 * Call sites are shared by all threads, hence the atomic operations. Two threads that open a new
 * window at once may let a line or two more pass; the counts stay whole.
 */
bool log_limit_pass(struct log_limit *l, unsigned *ret_suppressed)
{
	struct timespec ts;
	unsigned long begun = __atomic_load_n(&l->window_s, __ATOMIC_RELAXED), now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (unsigned long)ts.tv_sec + 1; /* 0 stands for a window that never began */
	*ret_suppressed = 0;
	if ((!begun || now - begun >= LOG_WINDOW_S) &&
	    __atomic_compare_exchange_n(&l->window_s, &begun, now, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
		__atomic_store_n(&l->used, 1, __ATOMIC_RELAXED);
		*ret_suppressed = __atomic_exchange_n(&l->suppressed, 0, __ATOMIC_RELAXED);
		return true;
	}
	if (__atomic_fetch_add(&l->used, 1, __ATOMIC_RELAXED) < LOG_BURST)
		return true;
	__atomic_fetch_add(&l->suppressed, 1, __ATOMIC_RELAXED);
	return false;
}
