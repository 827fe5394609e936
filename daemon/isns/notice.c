/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/isns/notice.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "transport/portal.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void hang_up(struct isns_notice_conn *c)
{
	if (c->rfd.fd < 0)
		return;
	reactor_fd_del(c->notices->reactor, &c->rfd);
	close(c->rfd.fd);
	c->rfd.fd = -1;
}

/* An answer that does not go out at once is not worth a buffer: the server asks again. */
static void answer(struct isns_notice_conn *c, const struct isns_header *h)
{
	uint8_t out[ISNS_HEADER_SIZE + NOTICE_PAYLOAD + 4];
	const uint8_t *payload = c->in + ISNS_HEADER_SIZE;
	struct isns_notices *n = c->notices;
	int length = isns_answer(h, payload, out, sizeof(out));

	if (length < 0 || send(c->rfd.fd, out, (size_t)length, MSG_NOSIGNAL) != length) {
		hang_up(c);
		return;
	}
	if (h->function == ISNS_ESI) {
		n->n_esi++;
		return;
	}
	n->n_scn++;
	if (isns_scn_removes(payload, h->length))
		n->removed(n);
}

/* False: there is no whole request in the buffer. */
static bool take_request(struct isns_notice_conn *c)
{
	struct isns_header h;
	size_t whole;

	if (c->got < ISNS_HEADER_SIZE)
		return false;
	if (isns_parse_header(c->in, &h) || h.length > NOTICE_PAYLOAD) {
		hang_up(c);
		return false;
	}
	whole = ISNS_HEADER_SIZE + h.length;
	if (c->got < whole)
		return false;
	answer(c, &h);
	if (c->rfd.fd < 0)
		return false;
	c->got -= whole;
	memmove(c->in, c->in + whole, c->got);
	return true;
}

static void readable(struct reactor_fd *rfd, uint32_t events)
{
	struct isns_notice_conn *c = list_entry(rfd, struct isns_notice_conn, rfd);
	ssize_t n = recv(rfd->fd, c->in + c->got, sizeof(c->in) - c->got, 0);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->got += (size_t)n;
	while (take_request(c))
		;
}

/* A free place, or that of the oldest. */
static struct isns_notice_conn *place(struct isns_notices *n)
{
	struct isns_notice_conn *oldest = &n->conns[0];

	for (unsigned i = 0; i < NOTICE_CONNS; i++) {
		if (n->conns[i].rfd.fd < 0)
			return &n->conns[i];
		if (n->conns[i].begun_ms < oldest->begun_ms)
			oldest = &n->conns[i];
	}
	hang_up(oldest);
	return oldest;
}

static void take(struct acceptor *a, int fd, const struct sockaddr_storage *peer)
{
	struct isns_notices *n = list_entry(a, struct isns_notices, acceptor);
	struct isns_notice_conn *c;
	char text[64];

	if (!n->from_server(n, peer)) {
		portal_format(peer, text, sizeof(text));
		log_peer(LOG_DAEMON, LOG_LEVEL_WARN,
			 "%s: an iSNS notice is refused: that is no address of isns_servers", text);
		close(fd);
		return;
	}
	c = place(n);
	c->rfd = (struct reactor_fd){ .fd = fd, .ready = readable };
	c->peer = *peer;
	c->begun_ms = reactor_now_ms(n->reactor);
	c->got = 0;
	if (reactor_fd_add(n->reactor, &c->rfd, EPOLLIN)) {
		close(fd);
		c->rfd.fd = -1;
	}
}

static void starved(struct acceptor *a, int error)
{
	(void)a;
	log_peer(LOG_DAEMON, LOG_LEVEL_WARN, "no iSNS notice can be accepted: %s; trying again",
		 text_errno(error));
}

void isns_notices_review(struct isns_notices *n)
{
	for (unsigned i = 0; i < NOTICE_CONNS; i++)
		if (n->acceptor.rfd.fd >= 0 && n->conns[i].rfd.fd >= 0 &&
		    !n->from_server(n, &n->conns[i].peer))
			hang_up(&n->conns[i]);
}

/* A socket of both families; where there is no IPv6, of one. */
static int open_socket(void)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), zero = 0;

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
		if (!bind(fd, (struct sockaddr *)&v6, sizeof(v6)))
			return fd;
		close(fd);
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&v4, sizeof(v4))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int isns_notices_start(struct isns_notices *n, struct reactor *r)
{
	struct sockaddr_in6 a = { 0 }; /* the port is at one place in both families */
	socklen_t length = sizeof(a);
	int fd = open_socket();

	n->reactor = r;
	n->acceptor.taken = take;
	n->acceptor.starved = starved;
	for (unsigned i = 0; i < NOTICE_CONNS; i++) {
		n->conns[i].rfd.fd = -1;
		n->conns[i].notices = n;
	}
	if (fd < 0)
		return -EADDRNOTAVAIL;
	if (listen(fd, NOTICE_CONNS) || getsockname(fd, (struct sockaddr *)&a, &length) ||
	    acceptor_start(&n->acceptor, r, fd)) {
		close(fd);
		return -EADDRNOTAVAIL;
	}
	n->port = ntohs(a.sin6_port);
	return 0;
}

void isns_notices_stop(struct isns_notices *n)
{
	if (n->acceptor.rfd.fd < 0)
		return;
	for (unsigned i = 0; i < NOTICE_CONNS; i++)
		hang_up(&n->conns[i]);
	acceptor_stop(&n->acceptor);
}
