/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the live tree equal to a struct config: the one path for boot, reload and every
 * administrative change. A request is refused whole with a reason, or carried out whole.
 *
 * Steps of one request, each of which may wait, none of which blocks: prepare the desired
 * configuration, check it, open new stores, listen at new portals, commit the state files,
 * publish to the reactors, let go of what has left.
 *
 * Threads: the control reactor. Ownership: the request is the caller's until done runs.
 */
#ifndef HAWSER_DAEMON_APPLY_H
#define HAWSER_DAEMON_APPLY_H

#include "config/config.h"
#include "daemon/base/list.h"
#include "daemon/base/reactor.h"

struct apply_run;
struct daemon;
struct state_change;

#define APPLY_QUEUE_MAX 64

enum apply_result { APPLY_DONE, APPLY_INVALID, APPLY_CONFLICT, APPLY_NOT_FOUND, APPLY_FAILED };

struct apply_request {
	struct list node;
	/* When its turn comes: edits `desired`, a copy of the configuration in force, and notes in
	 * `change` what the state files must say. Not APPLY_DONE: refused, `why` says it. */
	enum apply_result (*prepare)(struct apply_request *r);
	void (*done)(struct apply_request *r); /* may free it */
	bool boot;            /* portals listen last; failures of stores leave LUs out of service */
	bool lenient;         /* reload: failures of stores leave LUs out of service */
	bool retry;           /* try again to open the stores that are out of service */
	const char *retry_lu; /* only this one; NULL: all */
	/* SET TARGET PORT GROUPS: the target and the I_T_L nexus that is not told; NULL: is not. */
	const char *alua_target;
	uint64_t alua_nexus, alua_lun;
	struct daemon *daemon;
	struct config *desired;
	struct state_change *change;
	/* Set before done. */
	enum apply_result result;
	char why[768];
	char unclosed[64];  /* LU whose store was let go of and has not closed yet; "": none */
	unsigned n_changes; /* objects that were added, removed or altered */
};

struct apply {
	struct list queue; /* apply_request.node */
	unsigned n_queued;
	struct apply_run *run;  /* the request in progress */
	unsigned open_wait_ms;  /* that a store is given to open */
	unsigned close_wait_ms; /* and to close */
	bool closed;            /* the process is ending: everything is refused */
	uint64_t generation;
};

void apply_init(struct apply *a);
/* Queues it; refused at once when too many wait. */
void apply_submit(struct daemon *d, struct apply_request *r);
/* Sets why and returns result. */
enum apply_result apply_refuse(struct apply_request *r, enum apply_result result,
			       const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
