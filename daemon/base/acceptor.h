/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A listening socket on a reactor: accepts, some in a turn, and rests for a moment when the process
 * is out of descriptors or memory. Who connects stays in the queue then, and the socket, which is
 * level-triggered, would wake the reactor without end.
 *
 * Threads: the reactor's. Ownership: embedded by its user, who sets the functions; the socket is
 * the acceptor's from acceptor_start until acceptor_stop.
 */
#ifndef HAWSER_BASE_ACCEPTOR_H
#define HAWSER_BASE_ACCEPTOR_H

#include "daemon/base/reactor.h"

struct sockaddr_storage;

struct acceptor {
	struct reactor *reactor;
	struct reactor_fd rfd; /* fd -1: not started */
	struct reactor_timer pause;
	/* A socket, not blocking, which is the user's now. It may stop the acceptor. */
	void (*taken)(struct acceptor *a, int fd, const struct sockaddr_storage *peer);
	/* It rests, for a line in the log. */
	void (*starved)(struct acceptor *a, int error);
};

/* Before the first use. */
void acceptor_init(struct acceptor *a);
/* fd listens and does not block. 0, or a negative errno: it is still the caller's. */
int acceptor_start(struct acceptor *a, struct reactor *r, int fd);
void acceptor_stop(struct acceptor *a); /* may not have been started */

#endif
