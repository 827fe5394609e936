/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many connections that have not logged in one address has: nobody shall take the places of
 * all others. An IPv6 address counts by its /64, since one machine may have all of those.
 *
 * Threads: any; counters without a lock. Ownership: none; whoever has entered leaves once.
 */
#ifndef HAWSER_ISCSI_CROWD_H
#define HAWSER_ISCSI_CROWD_H

#include <stdbool.h>
#include <sys/socket.h>

/* False: `limit` of this address are there already (0: no limit), nothing was counted. */
bool crowd_enter(const struct sockaddr_storage *peer, unsigned limit);
void crowd_leave(const struct sockaddr_storage *peer);

#endif
