/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What outlives the process of what commands have changed: persistent reservations (APTPL; keep.c)
 * and the rest (keep_unit.c). It is kept in the state for each LU, by its NAA identifier, before
 * the command that changed it is answered.
 *
 * Threads: the control reactor; requests come from any. Ownership: the state owns what is kept.
 */
#ifndef HAWSER_DAEMON_KEEP_H
#define HAWSER_DAEMON_KEEP_H

#include "daemon/state.h"

struct daemon;
struct scsi_lu;

/* Before the first session: all is kept from now on. */
void keep_start(struct daemon *d);
void keep_unit_start(struct daemon *d);
/* A new LU gets what has been kept of it. 0 or -ENOMEM. */
int keep_restore(struct daemon *d, struct scsi_lu *lu);
/* path: of its store, NULL: none. */
void keep_unit_restore(struct daemon *d, struct scsi_lu *lu, const char *path);

/* Something to be kept of an LU, which lives until it is answered. */
struct keep_request {
	enum state_kind kind;
	const struct scsi_lu *lu;
	const char *what; /* for the log: "a change" */
	void *request;    /* of those below */
	/* Puts it into the change. 0 or -ENOMEM. */
	int (*fill)(struct daemon *d, struct state_change *ch, const void *request);
	/* Once, perhaps within keep_begin: 0 or a negative errno, with which nothing is kept. */
	void (*answer)(void *request, int result);
};
void keep_begin(struct daemon *d, const struct keep_request *rq);

#define KEEP_KEY 33 /* bytes */
/* The key of what is kept of it in the state. */
void keep_key(const struct scsi_lu *lu, char key[static KEEP_KEY]);
/* Has it been deleted meanwhile, so that nothing of it may be kept? */
bool keep_orphan(struct daemon *d, const struct scsi_lu *lu);
/* It has, and this was written all the same: it goes. */
void keep_drop(struct daemon *d, enum state_kind kind, const struct scsi_lu *lu);

#endif
