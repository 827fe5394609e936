/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where iSNS servers tell of changes and ask whether we are there (RFC 4171 2.9): a listening
 * socket, few connections with small buffers, each request answered at once.
 *
 * Threads: the control reactor. Ownership: isns.c.
 */
#ifndef HAWSER_DAEMON_ISNS_NOTICE_H
#define HAWSER_DAEMON_ISNS_NOTICE_H

#include "daemon/base/acceptor.h"
#include "daemon/base/reactor.h"
#include "daemon/isns/codec.h"

#include <sys/socket.h>

#define NOTICE_CONNS   8
#define NOTICE_PAYLOAD 8192u

struct isns_notices;

struct isns_notice_conn {
	struct reactor_fd rfd; /* -1: free */
	struct isns_notices *notices;
	struct sockaddr_storage peer;
	uint64_t begun_ms;
	size_t got;
	uint8_t in[ISNS_HEADER_SIZE + NOTICE_PAYLOAD];
};

struct isns_notices {
	struct reactor *reactor;
	struct acceptor acceptor; /* not started: not listening */
	uint16_t port;
	uint64_t n_scn, n_esi;
	void (*removed)(struct isns_notices *n); /* a notice tells of something gone */
	/* Notices of others are not taken: they would have us register again and again. */
	bool (*from_server)(struct isns_notices *n, const struct sockaddr_storage *peer);
	struct isns_notice_conn conns[NOTICE_CONNS];
};

/* At a port that the kernel chooses, of both families. 0 or a negative errno. */
int isns_notices_start(struct isns_notices *n, struct reactor *r);
void isns_notices_stop(struct isns_notices *n);
/* There are other servers: connections of those that are none any more end. */
void isns_notices_review(struct isns_notices *n);

#endif
