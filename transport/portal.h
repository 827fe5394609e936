/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Portals: an address, a port and a transport where initiators connect, grouped by target portal
 * group tag; and the placing of new connections on reactors.
 *
 * Threads: the control reactor, but for refs and the immutable fields, which any thread reads.
 * Ownership: counted; the daemon's tree, and each connection for as long as it lives.
 */
#ifndef HAWSER_TRANSPORT_PORTAL_H
#define HAWSER_TRANSPORT_PORTAL_H

#include "daemon/base/reactor.h"
#include "transport/datamover.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>

struct iscsi_host;

struct portal {
	_Atomic unsigned refs;
	const struct datamover_ops *dm;
	struct sockaddr_storage address;
	socklen_t address_length;
	char text[64]; /* "0.0.0.0:3260", for people */
	uint16_t port;
	uint16_t tpgt;
	struct reactor *control;
	int inherited_fd; /* listening socket from the service manager or a predecessor; -1 */
	void *listener;   /* of the transport */
};

/* address is numeric IPv4 or IPv6, brackets allowed. 0, -EINVAL or -ENOMEM; one reference. */
int portal_create(const struct datamover_ops *dm, const char *address, uint16_t port, uint16_t tpgt,
		  struct reactor *control, struct portal **ret);
int portal_listen(struct portal *p); /* port 0: chosen by the kernel, p->port and text updated */
void portal_unlisten(struct portal *p);
void portal_ref(struct portal *p);
void portal_unref(struct portal *p);

/* The I/O reactors among which connections are spread; set once at start. */
void portal_set_reactors(struct reactor *const *set, unsigned n);
/* What portal_set_reactors was given; *ret_n is 0 before that. */
struct reactor *const *portal_reactors(unsigned *ret_n);
/* The reactor for a new connection: the one with the fewest. Counts it. */
struct reactor *portal_place(void);
void portal_unplace(const struct reactor *r);
/* A connection goes from one to another. */
void portal_move(const struct reactor *from, const struct reactor *to);

/* "192.0.2.1:3260", "[::1]:3260". */
void portal_format(const struct sockaddr_storage *a, char *buf, size_t size);

#endif
