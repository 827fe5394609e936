/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live tree: what is in force now. Logical units with their stores, portals that listen, and
 * the configuration from which they were made. Changed by daemon/apply*.c only.
 *
 * Threads: the control reactor. Ownership: the tree owns its objects; an LU that has left the tree
 * lives on until the last nexus and detached task have let go of it, then its store is closed by
 * an offload job.
 */
#ifndef HAWSER_DAEMON_NODE_H
#define HAWSER_DAEMON_NODE_H

#include "backing/offload.h"
#include "config/config.h"
#include "daemon/base/list.h"
#include "daemon/base/reactor.h"
#include "scsi/lu.h"

struct daemon;
struct node;
struct portal;

/* An open store and the offload queue of its blocking calls. */
struct node_store {
	struct list node; /* node.stores, as long as it is open */
	struct node *tree;
	struct backing *backing;
	struct offload_queue *queue;
	char name[64];                   /* of the LU */
	char *path;                      /* NULL: has none */
	bool looked_at;                  /* by space.c */
	bool busy;                       /* a refresh runs: closing waits for it */
	bool leaving;                    /* its LU has left the tree */
	bool left_before;                /* the request in progress (apply_wait.c) */
	bool released;                   /* and nobody uses that any more: closes when not busy */
	struct reactor_msg released_msg; /* from whichever thread let go of the LU last */
	struct offload_job job;
};

struct node_lu {
	struct list node; /* node.lus */
	struct config_lu config;
	struct scsi_lu *lu;       /* never NULL in the tree */
	struct node_store *store; /* NULL: out of service */
	char *why;                /* out of service: the reason, for people */
};

struct node_portal {
	struct list node; /* node.portals */
	struct config_portal config;
	struct portal *portal; /* NULL: not yet */
	bool listening;
};

struct node {
	struct daemon *daemon;
	struct config *config; /* in force; never NULL after boot */
	struct list lus, portals, stores;
	unsigned n_stores;  /* open, those of leaving LUs included */
	unsigned n_leaving; /* of them leaving */
	/* Told when a leaving store has been closed. */
	void (*store_closed)(struct node *n);
};

void node_init(struct node *n, struct daemon *d);
struct node_lu *node_find_lu(const struct node *n, const char *name);
/* One portal, whatever is told of it: it goes on listening when only that changes. */
bool node_portal_is(const struct config_portal *a, const struct config_portal *b);
struct node_portal *node_find_portal(const struct node *n, const struct config_portal *p);

/* Opening a store: parameters are copied, done runs on the control reactor with store or why. */
struct store_open {
	struct offload_job job;
	struct offload_queue *queue;
	struct config_lu config;
	struct node *node;
	int result;
	struct backing *backing;
	char *why;
	void (*done)(struct store_open *o);
	void *arg;
};
int store_open_begin(struct node *n, const struct config_lu *l, void (*done)(struct store_open *),
		     void *arg, struct store_open **ret);
/* Makes a node_store of an open store; closes it when that fails. */
int store_open_take(struct store_open *o, struct node_store **ret);
void store_open_free(struct store_open *o); /* closes what was not taken */

/* Its LU leaves the tree: the store will close when the LU's last user has let go. */
void store_begin_leaving(struct node_store *s);
/* The LU of this store was never made: closes the store by a job. */
void store_leave(struct node_store *s);
/* A job of somebody else on its queue (busy) has ended. */
void store_idle(struct node_store *s);
/* For scsi_lu.destroyed: any thread. arg: the node_store, or NULL. */
void store_lu_destroyed(struct scsi_lu *lu, void *arg);

/* What the SCSI layer wants to know, from settings whose identity is settled. */
void node_lu_params(const struct config_lu *l, struct lu_params *ret);
/* An LU object from settings, on a store or without one. 0, or a negative errno and *ret_why
 * (malloc'ed). */
int node_lu_create(struct node *n, const struct config_lu *l, struct node_store *store, char *why,
		   struct node_lu **ret, char **ret_why);
/* It has got its store: goes on with a FORMAT UNIT or SANITIZE that was interrupted. */
void node_lu_resume(struct node *n, struct node_lu *l);
/* Drops the tree's reference; the store follows when nobody uses the LU any more. */
void node_lu_free(struct node_lu *l);

int node_portal_listen(struct node_portal *p);
void node_portal_unlisten(struct node_portal *p); /* may be called twice */
void node_portal_free(struct node_portal *p);

#endif
