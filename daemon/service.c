/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service manager, by libsystemd's sd-daemon; see service.h.
 */
#include "daemon/service.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if HAWSER_WITH_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#define SOCKETS_MAX 64

struct service {
	unsigned n_sockets;
	int sockets[SOCKETS_MAX];
	struct daemon *daemon;
	uint64_t watchdog_ms; /* interval of feeding; 0: not wanted */
	struct reactor_timer timer;
	struct reactor_broadcast ping;
	bool pinging; /* the last ping has not been answered by all */
};

static void notify(const char *text)
{
#if HAWSER_WITH_SYSTEMD
	sd_notify(0, text);
#else
	(void)text;
#endif
}

static int inherited(void)
{
#if HAWSER_WITH_SYSTEMD
	return sd_listen_fds(1);
#else
	return 0;
#endif
}

int service_create(struct service **ret)
{
	struct service *s = calloc(1, sizeof(*s));
	int n;

	if (!s)
		return -ENOMEM;
	n = inherited();
	for (int i = 0; i < n; i++) {
		int fd = 3 + i; /* SD_LISTEN_FDS_START */

		if (i < SOCKETS_MAX)
			s->sockets[s->n_sockets++] = fd;
		else
			close(fd);
	}
#if HAWSER_WITH_SYSTEMD
	uint64_t usec = 0;

	if (sd_watchdog_enabled(1, &usec) > 0)
		s->watchdog_ms = usec / 2000 ? usec / 2000 : 1;
#endif
	*ret = s;
	return 0;
}

void service_destroy(struct service *s)
{
	if (!s)
		return;
	service_unwatch(s);
	service_close_rest(s);
	free(s);
}

void service_raise_limits(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	if (!getrlimit(RLIMIT_MEMLOCK, &r) && r.rlim_cur != RLIM_INFINITY) {
		struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

		/* Only with the privilege; else as far as the hard limit goes. */
		if (setrlimit(RLIMIT_MEMLOCK, &all)) {
			r.rlim_cur = r.rlim_max;
			setrlimit(RLIMIT_MEMLOCK, &r);
		}
	}
}

bool service_stderr_is_journal(void)
{
	const char *env = getenv("JOURNAL_STREAM"); // NOLINT(concurrency-mt-unsafe): before threads
	char text[64];
	struct stat st;

	if (!env || fstat(STDERR_FILENO, &st))
		return false;
	/* "device:inode" of the stream that the manager has made for us */
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return !strcmp(env, text);
}

/* Same family and address, and the same port unless any will do. */
static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *want)
{
	const struct sockaddr_in *x4 = (const void *)a, *y4 = (const void *)want;
	const struct sockaddr_in6 *x6 = (const void *)a, *y6 = (const void *)want;

	if (a->ss_family != want->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return x4->sin_addr.s_addr == y4->sin_addr.s_addr &&
		       (!y4->sin_port || x4->sin_port == y4->sin_port);
	if (a->ss_family == AF_INET6)
		return !memcmp(&x6->sin6_addr, &y6->sin6_addr, sizeof(x6->sin6_addr)) &&
		       (!y6->sin6_port || x6->sin6_port == y6->sin6_port);
	return a->ss_family == AF_UNIX;
}

static bool is_listening_stream(int fd)
{
	int type = 0, listening = 0;
	socklen_t n = sizeof(type), m = sizeof(listening);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) && type == SOCK_STREAM &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &m) && listening;
}

int service_take_socket(struct service *s, const struct sockaddr_storage *address)
{
	for (unsigned i = 0; i < s->n_sockets; i++) {
		struct sockaddr_storage have = { 0 };
		socklen_t length = sizeof(have);
		int fd = s->sockets[i];

		if (fd < 0 || getsockname(fd, (struct sockaddr *)&have, &length) ||
		    !same_address(&have, address) || !is_listening_stream(fd))
			continue;
		s->sockets[i] = -1;
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		return fd;
	}
	return -1;
}

int service_take_admin_socket(struct service *s)
{
	struct sockaddr_storage unix_socket = { .ss_family = AF_UNIX };

	return service_take_socket(s, &unix_socket);
}

void service_close_rest(struct service *s)
{
	for (unsigned i = 0; i < s->n_sockets; i++) {
		if (s->sockets[i] < 0)
			continue;
		log_warn(LOG_DAEMON,
			 "inherited descriptor %d is no listening socket of a configured portal; "
			 "closed",
			 s->sockets[i]);
		close(s->sockets[i]);
		s->sockets[i] = -1;
	}
}

void service_ready(struct service *s)
{
	(void)s;
	notify("READY=1");
}

void service_reloading(struct service *s)
{
	struct timespec now;
	char text[100];

	(void)s;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	notify(text);
}

void service_stopping(struct service *s)
{
	(void)s;
	notify("STOPPING=1\nSTATUS=stopping");
}

void service_status(struct service *s, const char *format, ...)
{
	char text[300] = "STATUS=";
	va_list args;

	(void)s;
	va_start(args, format);
	vsnprintf(text + 7, sizeof(text) - 7, format, args);
	va_end(args);
	notify(text);
}

static void ping_each(struct reactor_broadcast *b, struct reactor *r)
{
	(void)r;
	reactor_broadcast_ack(b);
}

static void ping_done(struct reactor_broadcast *b)
{
	struct service *s = list_entry(b, struct service, ping);

	s->pinging = false;
	notify("WATCHDOG=1");
}

static void watch(struct reactor_timer *t)
{
	struct service *s = list_entry(t, struct service, timer);
	struct daemon *d = s->daemon;

	reactor_timer_arm(d->control, &s->timer, s->watchdog_ms / 2 ? s->watchdog_ms / 2 : 1);
	/* A reactor that hangs keeps the last ping open: the watchdog starves, as it should. */
	if (s->pinging)
		return;
	s->pinging = true;
	s->ping = (struct reactor_broadcast){ .each = ping_each,
					      .done = ping_done,
					      .reply_to = d->control };
	if (reactor_broadcast(d->set, d->n_io, &s->ping))
		s->pinging = false;
}

void service_watch(struct service *s, struct daemon *d)
{
	if (!s->watchdog_ms)
		return;
	s->daemon = d;
	reactor_timer_init(&s->timer, watch);
	watch(&s->timer);
}

void service_unwatch(struct service *s)
{
	if (s->daemon)
		reactor_timer_disarm(&s->timer);
	s->daemon = NULL;
}
