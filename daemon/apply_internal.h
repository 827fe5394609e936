/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request on its way through the steps of daemon/apply.c.
 *
 * Threads: the control reactor. Ownership: the run owns what it has made until it is put into the
 * tree.
 */
#ifndef HAWSER_DAEMON_APPLY_INTERNAL_H
#define HAWSER_DAEMON_APPLY_INTERNAL_H

#include "daemon/apply.h"
#include "daemon/daemon.h"
#include "daemon/state.h"
#include "transport/iscsi/conn.h"

struct alua_table;
struct iscsi_target;

/* A logical unit that is new, altered, or to be tried again. */
struct apply_lu {
	struct list node; /* apply_run.lus */
	struct apply_run *run;
	struct config_lu config; /* with its identity settled */
	struct node_lu *have;    /* in the tree: replaced by made, or tried again (retry) */
	struct node_lu *made;
	bool retry;       /* same settings: only the store of have is opened */
	bool after_close; /* its path is held by a store that leaves: opened when that has closed */
	struct store_open *open;
};

struct apply_portal {
	struct list node; /* apply_run.portals */
	struct node_portal *made;
};

struct apply_run {
	struct daemon *daemon;
	struct apply_request *request;
	bool lenient;
	struct list lus, portals;
	unsigned pending;                      /* stores being opened */
	bool switched;                         /* the tree is what the request has made of it */
	void (*closed)(struct apply_run *run); /* after apply_await */
	void (*handed_over)(struct apply_run *run);
	struct iscsi_policy *policy;
	struct state_commit commit;
	unsigned handing_over; /* units that do, and one */
	struct iscsi_publish publish;
	struct reactor_timer timer;      /* limit of the wait for closing stores */
	struct reactor_timer open_timer; /* and for stores that are being opened */
};

/* apply_diff.c: what differs between the tree and request->desired. */
enum apply_result apply_diff(struct apply_run *run);
/* A copy of the settings in which naa and serial are given; a new identity goes into the change.
 * 0, -ENOMEM or -EIO (no random numbers); -ENODATA: it had one and its file is torn. */
int apply_settle_identity(struct apply_request *r, const struct config_lu *l, struct config_lu *to);
/* Notes in the change which LUs have had an open store. 0 or -ENOMEM. */
int apply_note_opened(struct apply_run *run);
bool apply_wants_portal(const struct apply_run *run, const struct node_portal *np);

/* apply_store.c: opens the stores that can be opened now (late: those that had to wait); then
 * apply_opened. */
void apply_open(struct apply_run *run, bool late);
void apply_opened(struct apply_run *run, bool late);

/* apply_wait.c */
/* Somebody in the tree, or who leaves it, has its path open. */
bool apply_path_is_held(const struct apply_run *run, const struct apply_lu *al);
/* At the switch: who leaves already has left before. */
void apply_note_leaving(struct apply_run *run);
/* Waits for stores that leave: those whose path the request wants, and after the switch those that
 * it has let go of. Within a limit; apply_awaited is then one that has not closed, or NULL. */
void apply_await(struct apply_run *run, void (*closed)(struct apply_run *run));
const struct node_store *apply_awaited(const struct apply_run *run);

/* apply_portal.c */
enum apply_result apply_listen(struct apply_run *run);
/* At the end of the start: those whose sockets were there before us. */
enum apply_result apply_listen_inherited(struct apply_run *run);
void apply_unlisten(struct apply_run *run); /* undoes it */

/* apply_policy.c: what the reactors get. NULL: no memory. */
struct iscsi_policy *apply_policy(struct apply_run *run);
/* Gives relative target port identifiers to targets in groups that have none; into the change. */
enum apply_result apply_number_ports(struct apply_run *run);
/* apply_alua.c: the target port groups of a target, by its portal groups. NULL: no memory. */
struct alua_table *apply_alua(const struct apply_request *r, const struct config_target *t,
			      const struct iscsi_target *groups);
/* Forgets what was changed of port groups that are no more; into the change. 0 or -ENOMEM. */
int apply_forget_access(struct apply_request *r);
/* The configuration as it will be; after the switch, as it is. */
const struct config *apply_wanted(const struct apply_run *run);
/* apply_address.c: what initiators are told of portals. 0 or -ENOMEM. */
int apply_addresses(struct apply_run *run, struct iscsi_policy *p);
/* The LU of this name as it will be. */
struct node_lu *apply_find_lu(const struct apply_run *run, const char *name);

/* apply_pr.c: registrations of units that are replaced go to the new objects; then done. */
void apply_hand_over(struct apply_run *run, void (*done)(struct apply_run *run));

/* apply_switch.c: the tree becomes what the run has made. */
void apply_switch(struct apply_run *run);
void apply_discard(struct apply_run *run); /* undoes what can be undone and frees */

#endif
