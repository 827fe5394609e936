/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One iSNS server: a round of messages over a connection of its own, again after a while, and
 * again when something has changed. Nothing waits for it.
 *
 * Threads: the control reactor. Ownership: isns.c.
 */
#ifndef HAWSER_DAEMON_ISNS_SERVER_H
#define HAWSER_DAEMON_ISNS_SERVER_H

#include "daemon/base/list.h"
#include "daemon/base/reactor.h"
#include "daemon/isns/codec.h"
#include "daemon/isns/plan.h"

#include <sys/socket.h>

enum isns_state { ISNS_IDLE, ISNS_CONNECTING, ISNS_TALKING };

struct isns_server {
	struct list node; /* isns.servers */
	struct reactor *reactor;
	char text[64];
	struct sockaddr_storage address;
	socklen_t address_length;
	/* The plan in force; the server's owner begins a round whenever it replaces it. */
	struct isns_plan *plan;
	struct isns_bytes goodbye; /* of what was told last; borrowed from the owner */
	uint32_t refresh_ms;
	bool leaving; /* the round takes everything back */

	enum isns_state state;
	struct reactor_fd rfd;      /* -1: none */
	struct reactor_timer timer; /* limit of the round, or when the next begins */
	unsigned step;
	size_t sent;
	uint16_t xid;
	uint8_t in[ISNS_HEADER_SIZE + 4]; /* of the answer, and its status */
	size_t got, skip;
	struct isns_header header;

	bool registered;
	uint64_t registered_ms;
	unsigned failures; /* in a row */
	char why[160];     /* of the last one; empty: none */
};

void isns_server_init(struct isns_server *s, struct reactor *r);
/* A new round, whatever was going on. */
void isns_server_begin(struct isns_server *s);
/* Nothing of it goes on; nothing is told. It has left the list. */
void isns_server_free(struct isns_server *s);

#endif
