/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The iSNS client (RFC 4171): keeps what the configured servers know of us equal to what is in
 * force. Told of each published policy; everything else happens by itself on the control reactor.
 *
 * Threads: the control reactor. Ownership: the daemon's.
 */
#ifndef HAWSER_DAEMON_ISNS_ISNS_H
#define HAWSER_DAEMON_ISNS_ISNS_H

#include "config/config.h"

struct iscsi_policy;
struct isns;
struct isns_plan;
struct isns_server;
struct reactor;

/* 0 or -ENOMEM. */
int isns_start(struct reactor *control, struct isns **ret);
/* What is in force. i may be NULL, here and below. */
void isns_update(struct isns *i, const struct iscsi_policy *p, const struct config_daemon *c);
/* Takes everything back, as far as the servers answer. */
void isns_say_goodbye(struct isns *i);
bool isns_is_idle(const struct isns *i); /* no round is on its way */
void isns_stop(struct isns *i);

/* For the administrator. */
struct isns_view {
	const struct isns_plan *plan; /* NULL: none yet */
	uint16_t port;                /* of notices; 0: none */
	uint64_t n_scn, n_esi;
};
void isns_look(const struct isns *i, struct isns_view *ret);
void isns_each(const struct isns *i, void (*each)(const struct isns_server *s, void *arg),
	       void *arg);

#endif
