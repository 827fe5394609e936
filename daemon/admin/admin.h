/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Administration: a Unix socket on which JSON-RPC 2.0 requests come in, one object a line. Peer
 * credentials decide who may read and who may change (docs/admin-protocol.md).
 *
 * Threads: the control reactor. Ownership: the daemon owns the object; requests in progress keep
 * their connection alive.
 */
#ifndef HAWSER_DAEMON_ADMIN_ADMIN_H
#define HAWSER_DAEMON_ADMIN_ADMIN_H

struct admin;
struct daemon;

/* Listens. inherited_fd: -1, or the service manager's socket. 0, or a negative errno, logged. */
int admin_start(struct daemon *d, int inherited_fd);
/* Closes every connection and the socket; NULL allowed. No request may be in progress. */
void admin_stop(struct admin *a);
/* The socket's name only, for an abrupt end. NULL allowed. */
void admin_remove_socket(struct admin *a);

#endif
