/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/acceptor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_PER_TURN 64 /* others have their turn */
#define PAUSE_MS        200

static void resume(struct reactor_timer *timer)
{
	struct acceptor *a = list_entry(timer, struct acceptor, pause);

	reactor_fd_mod(a->reactor, &a->rfd, EPOLLIN);
}

static void rest(struct acceptor *a, int error)
{
	reactor_fd_mod(a->reactor, &a->rfd, 0);
	reactor_timer_arm(a->reactor, &a->pause, PAUSE_MS);
	a->starved(a, error);
}

static void acceptable(struct reactor_fd *rfd, uint32_t events)
{
	struct acceptor *a = list_entry(rfd, struct acceptor, rfd);

	(void)events;
	for (unsigned i = 0; i < ACCEPT_PER_TURN && rfd->fd >= 0; i++) {
		struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
		socklen_t length = sizeof(peer);
		int fd = accept4(rfd->fd, (struct sockaddr *)&peer, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			a->taken(a, fd, &peer);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			rest(a, errno);
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

void acceptor_init(struct acceptor *a)
{
	a->rfd = (struct reactor_fd){ .fd = -1, .ready = acceptable };
	reactor_timer_init(&a->pause, resume);
}

int acceptor_start(struct acceptor *a, struct reactor *r, int fd)
{
	int err;

	a->reactor = r;
	a->rfd.fd = fd;
	err = reactor_fd_add(r, &a->rfd, EPOLLIN);
	if (err)
		a->rfd.fd = -1;
	return err;
}

void acceptor_stop(struct acceptor *a)
{
	if (a->rfd.fd < 0)
		return;
	reactor_timer_disarm(&a->pause);
	reactor_fd_del(a->reactor, &a->rfd);
	close(a->rfd.fd);
	a->rfd.fd = -1;
}
