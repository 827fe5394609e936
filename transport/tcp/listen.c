/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listening: the control reactor accepts, the reactor with the fewest connections serves.
 */
#include "transport/tcp/listen.h"
#include "daemon/base/acceptor.h"
#include "daemon/base/log.h"
#include "daemon/base/reactor.h"
#include "daemon/base/text.h"
#include "transport/portal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG         1024
#define KEEP_IDLE_S     30
#define KEEP_INTERVAL_S 10
#define KEEP_COUNT      6
#define USER_TIMEOUT_MS 60000 /* sent and not acknowledged: the peer is gone */

struct tcp_listener {
	struct acceptor acceptor;
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

static void take(struct acceptor *a, int fd, const struct sockaddr_storage *peer)
{
	hand_over(container_of(a, struct tcp_listener, acceptor)->portal, fd, peer);
}

static void starved(struct acceptor *a, int error)
{
	log_peer(LOG_TCP, LOG_LEVEL_ERROR,
		 "portal %s: cannot accept: %s; new connections wait (raise LimitNOFILE?)",
		 container_of(a, struct tcp_listener, acceptor)->portal->text, text_errno(error));
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

/* Of the listening socket: those that are accepted begin with them, at no cost of their own. */
static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS },
	};

	/* Each helps and none is needed: a kernel that refuses one serves all the same. */
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
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
	set_options(fd);
	learn_address(p, fd);
	l->portal = p;
	acceptor_init(&l->acceptor);
	l->acceptor.taken = take;
	l->acceptor.starved = starved;
	err = acceptor_start(&l->acceptor, p->control, fd);
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
	acceptor_stop(&l->acceptor);
	free(l);
}
