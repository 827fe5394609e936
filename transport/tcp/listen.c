/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listening: the control reactor accepts, the reactor with the fewest connections serves.
 */
#include "transport/tcp/listen.h"
#include "daemon/base/log.h"
#include "daemon/base/reactor.h"
#include "daemon/base/text.h"
#include "transport/portal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ACCEPT_PER_TURN 64
#define PAUSE_MS        200 /* after running out of descriptors */
#define BACKLOG         1024

struct tcp_listener {
	struct reactor_fd rfd;
	struct reactor_timer pause;
	struct portal *portal;
};

/* An accepted socket on its way to its reactor. */
struct arrival {
	struct reactor_msg msg;
	struct reactor *reactor;
	struct portal *portal; /* counted */
	struct sockaddr_storage peer;
	int fd;
};

static void arrive(struct reactor_msg *msg)
{
	struct arrival *a = container_of(msg, struct arrival, msg);

	tcp_conn_begin(a->reactor, a->portal, a->fd, &a->peer);
	portal_unref(a->portal);
	free(a);
}

static void hand_over(struct portal *p, int fd, const struct sockaddr_storage *peer)
{
	struct arrival *a = calloc(1, sizeof(*a));

	if (!a) {
		close(fd);
		return;
	}
	a->msg.run = arrive;
	a->reactor = portal_place();
	a->portal = p;
	a->peer = *peer;
	a->fd = fd;
	portal_ref(p);
	reactor_send(a->reactor, &a->msg);
}

static void resume(struct reactor_timer *timer)
{
	struct tcp_listener *l = container_of(timer, struct tcp_listener, pause);

	reactor_fd_mod(l->portal->control, &l->rfd, EPOLLIN);
}

/* Out of descriptors or memory: a level-triggered socket would spin, so it rests for a moment. */
static void rest(struct tcp_listener *l, int err)
{
	log_peer(LOG_TCP, LOG_LEVEL_ERROR,
		 "portal %s: cannot accept: %s; new connections wait (raise LimitNOFILE?)",
		 l->portal->text, text_errno(err));
	reactor_fd_mod(l->portal->control, &l->rfd, 0);
	reactor_timer_arm(l->portal->control, &l->pause, PAUSE_MS);
}

static void acceptable(struct reactor_fd *rfd, uint32_t events)
{
	struct tcp_listener *l = container_of(rfd, struct tcp_listener, rfd);

	(void)events;
	for (unsigned i = 0; i < ACCEPT_PER_TURN; i++) {
		struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
		socklen_t length = sizeof(peer);
		int fd = accept4(rfd->fd, (struct sockaddr *)&peer, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			hand_over(l->portal, fd, &peer);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			rest(l, errno);
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static int open_socket(const struct portal *p)
{
	int one = 1, err;
	int fd = socket(p->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* "::" and "0.0.0.0" are two portals and must not take each other's port. */
	if (p->address.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (!bind(fd, (const struct sockaddr *)&p->address, p->address_length) &&
	    !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* What the kernel chose for port 0, or what an inherited socket is bound to. */
static void learn_address(struct portal *p, int fd)
{
	socklen_t length = sizeof(p->address);

	if (getsockname(fd, (struct sockaddr *)&p->address, &length))
		return;
	p->address_length = length;
	p->port =
	    ntohs(p->address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&p->address)->sin6_port
						   : ((struct sockaddr_in *)&p->address)->sin_port);
	portal_format(&p->address, p->text, sizeof(p->text));
}

int tcp_listen(struct portal *p)
{
	struct tcp_listener *l = calloc(1, sizeof(*l));
	int fd, err;

	if (!l)
		return -ENOMEM;
	fd = p->inherited_fd >= 0 ? p->inherited_fd : open_socket(p);
	if (fd < 0) {
		free(l);
		return fd;
	}
	learn_address(p, fd);
	l->portal = p;
	l->rfd = (struct reactor_fd){ .fd = fd, .ready = acceptable };
	reactor_timer_init(&l->pause, resume);
	err = reactor_fd_add(p->control, &l->rfd, EPOLLIN);
	if (err) {
		close(fd);
		free(l);
		return err;
	}
	p->inherited_fd = -1;
	p->listener = l;
	return 0;
}

void tcp_unlisten(struct portal *p)
{
	struct tcp_listener *l = p->listener;

	if (!l)
		return;
	p->listener = NULL;
	reactor_timer_disarm(&l->pause);
	reactor_fd_del(p->control, &l->rfd);
	close(l->rfd.fd);
	free(l);
}
