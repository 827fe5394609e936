/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listening sockets of the TCP datamover, and the hand-over of an accepted socket to its reactor.
 *
 * Threads: tcp_listen, tcp_unlisten on the control reactor; tcp_conn_begin on the I/O reactor.
 */
#ifndef HAWSER_TCP_LISTEN_H
#define HAWSER_TCP_LISTEN_H

#include <sys/socket.h>

struct portal;
struct reactor;

int tcp_listen(struct portal *p); /* 0 or a negative errno; port 0 is filled in */
void tcp_unlisten(struct portal *p);

/* Takes the socket over. */
void tcp_conn_begin(struct reactor *r, struct portal *portal, int fd,
		    const struct sockaddr_storage *peer);

#endif
