/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Persistent reservations that outlive the process (APTPL): kept in the state for each LU, by its
 * NAA identifier, before the command that changed them is answered.
 *
 * Threads: the control reactor; requests come from any. Ownership: the state owns what is kept.
 */
#ifndef HAWSER_DAEMON_KEEP_H
#define HAWSER_DAEMON_KEEP_H

struct daemon;
struct scsi_lu;

/* Before the first session: reservations are kept from now on. */
void keep_start(struct daemon *d);
/* A new LU gets what has been kept of it. 0 or -ENOMEM. */
int keep_restore(struct daemon *d, struct scsi_lu *lu);

#define KEEP_KEY 33 /* bytes */
/* The key of its reservations in the state. */
void keep_key(const struct scsi_lu *lu, char key[static KEEP_KEY]);

#endif
