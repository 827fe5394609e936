/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an iSNS server shall know of us, as the messages that tell it: one network entity with its
 * portals, the targets that can be logged in to, and which of them is at which portal.
 *
 * Threads: none of its own. Ownership: isns_plan_free frees everything.
 */
#ifndef HAWSER_DAEMON_ISNS_PLAN_H
#define HAWSER_DAEMON_ISNS_PLAN_H

#include <stddef.h>
#include <stdint.h>

struct iscsi_policy;

struct isns_bytes {
	uint8_t *bytes;
	size_t length;
};

/* Sent one after the other, each after the answer to the last. */
struct isns_plan {
	unsigned n;
	struct isns_bytes *messages; /* the first replaces what is there */
	struct isns_bytes goodbye;   /* takes everything back; of no length: nothing was told */
	unsigned n_targets, n_portals;
};

struct isns_identity {
	const char *entity; /* unique among all that register */
	uint16_t port;      /* where notices are heard */
	uint32_t period_s;  /* the server forgets us after that */
	uint32_t esi_s;     /* it asks whether we are there; 0: it shall not */
};

/* 0 or -ENOMEM. */
int isns_plan_make(const struct iscsi_policy *p, const struct isns_identity *id,
		   struct isns_plan **ret);
void isns_plan_free(struct isns_plan *plan); /* NULL allowed */

#endif
