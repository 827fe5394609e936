/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at the space of each thin LU from time to time: what its store has allocated, and what is
 * left where that comes from. It feeds log page 0Ch and the soft thresholds (scsi/provision.h).
 *
 * Threads: the control reactor; the calls that may block are jobs on the store's own queue.
 * Ownership: the daemon owns one.
 */
#ifndef HAWSER_DAEMON_SPACE_H
#define HAWSER_DAEMON_SPACE_H

struct daemon;
struct node_lu;
struct space;

/* NULL: no memory; then nobody looks. */
struct space *space_start(struct daemon *d);
void space_stop(struct space *s); /* NULL allowed */
/* Now, for a threshold has changed. Nothing, if a look is under way that does not end. */
void space_look(struct daemon *d, struct node_lu *l);

#endif
