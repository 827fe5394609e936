/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions of several connections: CmdSN and ITT are the session's, so whoever uses a connection
 * asks for it by `on`, which brings them along.
 */
#ifndef HAWSER_TESTS_PROTOCOL_MCS_H
#define HAWSER_TESTS_PROTOCOL_MCS_H

#include "tests/protocol/protocol.h"

#define MCS_MAX      8
#define MCS_RETAIN_S 2 /* DefaultTime2Retain of T_MCS, whose DefaultTime2Wait is 0 */

struct mcs {
	struct ini *c[MCS_MAX + 1]; /* one in place of one that has left */
	unsigned n;
	struct ini *last; /* which has the numbers */
	const char *keys; /* of the leading login */
};

/* keys beside MaxConnections and the times; NULL: InitialR2T=No, ImmediateData=Yes */
void mcs_open(struct mcs *m, unsigned n, const char *keys);
/* The connection, with the session's numbers. What the one used before has heard is acknowledged:
 * some responses wait for that. */
struct ini *mcs_on(struct mcs *m, unsigned k);
/* A new TCP connection logs in as CID k; the status. */
int mcs_join(struct mcs *m, unsigned k);
/* Sends a Logout on connection k; the answer. */
const struct bhs_logout_response *mcs_logout(struct mcs *m, unsigned k, uint8_t reason,
					     uint16_t cid);
/* Closes its socket and waits until the target has seen that, by its event on another. */
void mcs_kill(struct mcs *m, unsigned k, unsigned witness);
/* An asynchronous message of this event. */
const struct bhs_async *mcs_event(struct ini *i, uint8_t event);

#endif
