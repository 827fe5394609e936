/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/isns/server.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ROUND_MS     10000 /* for each step of a round */
#define RETRY_MIN_MS 2000
#define RETRY_MAX_MS 60000
#define READS_MAX    32 /* in one turn: others have theirs, and the time limit */

static void hang_up(struct isns_server *s)
{
	if (s->rfd.fd >= 0) {
		reactor_fd_del(s->reactor, &s->rfd);
		close(s->rfd.fd);
	}
	s->rfd.fd = -1;
	s->state = ISNS_IDLE;
	reactor_timer_disarm(&s->timer);
}

static __attribute__((format(printf, 2, 3))) void fail(struct isns_server *s, const char *format,
						       ...)
{
	uint64_t delay = (uint64_t)RETRY_MIN_MS << (s->failures < 5 ? s->failures : 5);
	char before[sizeof(s->why)];
	va_list args;

	memcpy(before, s->why, sizeof(before));
	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, above */
	vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
	hang_up(s);
	s->failures++;
	if (strcmp(before, s->why) != 0)
		log_warn(LOG_DAEMON, "iSNS server %s: %s; trying again", s->text, s->why);
	if (!s->leaving)
		reactor_timer_arm(s->reactor, &s->timer,
				  delay < RETRY_MAX_MS ? delay : RETRY_MAX_MS);
}

/* The message of this step; of no length: the round is over. */
static struct isns_bytes current(const struct isns_server *s)
{
	struct isns_bytes none = { 0 };

	if (s->leaving || !s->plan->n)
		return s->step == 0 && s->registered ? s->goodbye : none;
	return s->step < s->plan->n ? s->plan->messages[s->step] : none;
}

static void round_over(struct isns_server *s)
{
	bool was = s->registered;

	hang_up(s);
	s->registered = !s->leaving && s->plan->n;
	s->failures = 0;
	s->why[0] = '\0';
	if (s->registered != was)
		log_info(LOG_DAEMON, "iSNS server %s: %s", s->text,
			 s->registered ? "targets and portals are registered"
				       : "everything has been taken back");
	s->registered_ms = reactor_now_ms(s->reactor);
	if (s->registered)
		reactor_timer_arm(s->reactor, &s->timer, s->refresh_ms);
}

static void begin_step(struct isns_server *s)
{
	struct isns_bytes m = current(s);

	if (!m.length) {
		round_over(s);
		return;
	}
	isns_set_xid(m.bytes, ++s->xid);
	s->sent = s->got = s->skip = 0;
	reactor_timer_arm(s->reactor, &s->timer, ROUND_MS);
	reactor_fd_mod(s->reactor, &s->rfd, EPOLLIN | EPOLLOUT);
}

/* True: all of it is out. */
static bool send_more(struct isns_server *s)
{
	struct isns_bytes m = current(s);

	while (s->sent < m.length) {
		ssize_t n = send(s->rfd.fd, m.bytes + s->sent, m.length - s->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			fail(s, "sending failed: %s", text_errno(errno));
		if (n < 0)
			return false;
		s->sent += (size_t)n;
	}
	reactor_fd_mod(s->reactor, &s->rfd, EPOLLIN);
	return true;
}

/* One PDU of an answer is there as far as it matters: its status is in the first of them. */
static void answered(struct isns_server *s)
{
	uint16_t function = s->header.function & (uint16_t)~ISNS_ANSWER;
	uint32_t status = get_be32(s->in + ISNS_HEADER_SIZE);
	bool first = s->header.sequence == 0;

	/* Without notices it goes as well. */
	if (first && status && function != ISNS_SCN_REGISTER) {
		fail(s, "it refused function %u with status %u", function, status);
		return;
	}
	s->got = 0;
	if (!(s->header.flags & ISNS_LAST))
		return;
	s->step++;
	begin_step(s);
}

/* The header has come. False: failed. */
static bool take_header(struct isns_server *s)
{
	struct isns_bytes m = current(s);

	if (isns_parse_header(s->in, &s->header) || !m.length || s->sent < m.length ||
	    s->header.function != (get_be16(m.bytes + 2) | ISNS_ANSWER) ||
	    s->header.xid != s->xid || s->header.length < 4) {
		fail(s, "its answer is none");
		return false;
	}
	s->skip = s->header.length - 4u;
	return true;
}

/* What follows the status is of no interest: it is what we have sent. */
static void receive(struct isns_server *s)
{
	uint8_t rest[4096];

	for (unsigned n_reads = 0; n_reads < READS_MAX && s->state == ISNS_TALKING; n_reads++) {
		size_t whole = s->got < ISNS_HEADER_SIZE ? ISNS_HEADER_SIZE : sizeof(s->in);
		bool skipping = s->got == sizeof(s->in);
		size_t want =
		    skipping ? (s->skip < sizeof(rest) ? s->skip : sizeof(rest)) : whole - s->got;
		ssize_t n = want ? recv(s->rfd.fd, skipping ? rest : s->in + s->got, want, 0) : 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0 || (!n && want)) {
			fail(s, n ? "receiving failed: %s" : "it hung up%s",
			     n ? text_errno(errno) : "");
			return;
		}
		if (skipping)
			s->skip -= (size_t)n;
		else
			s->got += (size_t)n;
		if (!skipping && s->got == ISNS_HEADER_SIZE && !take_header(s))
			return;
		if (s->got == sizeof(s->in) && !s->skip)
			answered(s);
	}
}

static void connected(struct isns_server *s)
{
	socklen_t n = sizeof(int);
	int error = 0;

	if (getsockopt(s->rfd.fd, SOL_SOCKET, SO_ERROR, &error, &n) || error) {
		fail(s, "cannot be reached: %s", text_errno(error));
		return;
	}
	s->state = ISNS_TALKING;
	begin_step(s);
}

static void ready(struct reactor_fd *rfd, uint32_t events)
{
	struct isns_server *s = list_entry(rfd, struct isns_server, rfd);

	if (s->state == ISNS_CONNECTING) {
		connected(s);
		return;
	}
	if (s->state == ISNS_TALKING && s->sent < current(s).length && !send_more(s))
		return;
	if (events & ~(uint32_t)EPOLLOUT)
		receive(s);
}

static void timer_fired(struct reactor_timer *timer)
{
	struct isns_server *s = list_entry(timer, struct isns_server, timer);

	if (s->state == ISNS_IDLE)
		isns_server_begin(s);
	else
		fail(s, "it does not answer");
}

void isns_server_init(struct isns_server *s, struct reactor *r)
{
	s->reactor = r;
	s->rfd.fd = -1;
	s->rfd.ready = ready;
	reactor_timer_init(&s->timer, timer_fired);
}

void isns_server_begin(struct isns_server *s)
{
	int fd;

	hang_up(s);
	s->step = 0;
	if (!current(s).length) {
		s->registered = false;
		return;
	}
	fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		fail(s, "no socket: %s", text_errno(errno));
		return;
	}
	s->rfd.fd = fd;
	if (reactor_fd_add(s->reactor, &s->rfd, EPOLLOUT)) {
		close(fd);
		s->rfd.fd = -1;
		fail(s, "no memory");
		return;
	}
	s->state = ISNS_CONNECTING;
	reactor_timer_arm(s->reactor, &s->timer, ROUND_MS);
	if (connect(fd, (const struct sockaddr *)&s->address, s->address_length) &&
	    errno != EINPROGRESS)
		fail(s, "cannot be reached: %s", text_errno(errno));
}

void isns_server_free(struct isns_server *s)
{
	hang_up(s);
	free(s);
}
