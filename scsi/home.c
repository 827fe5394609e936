/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/home.h"

#include "scsi/copy_internal.h"
#include "scsi/exec_internal.h"
#include "scsi/nexus_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { COMPOUNDS_MAX = 256, SAVED_MAX = 256, FLUSHES_MAX = 64 };

void home_settle(struct scsi_home *home, struct itl *itl)
{
	if (list_empty(&itl->settle_node))
		list_add_tail(&home->settle, &itl->settle_node);
	reactor_defer(home->reactor, REACTOR_STAGE_SUBMIT, &home->settle_job);
}

static void settle(struct reactor_job *job)
{
	struct scsi_home *home = container_of(job, struct scsi_home, settle_job);
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, &home->settle);
	while ((n = list_pop(&now))) {
		struct itl *itl = list_entry(n, struct itl, settle_node);

		/* Blocked tasks are tasks: a leaving itl goes when the last of them has ended. */
		if (itl->ntasks)
			order_unblock(itl);
		else if (atomic_load(&itl->gate) & GATE_LEAVING)
			itl_free(itl);
	}
	compound_serve_scratch(home);
}

static void home_free(struct scsi_home *home)
{
	pool_destroy(home->compounds);
	pool_destroy(home->saved);
	pool_destroy(home->flushes);
	pool_destroy(home->copies);
	free(home->reserve);
	free(home);
}

int scsi_reactor_start(struct reactor *r, struct arena *arena)
{
	struct scsi_home *home = calloc(1, sizeof(*home));

	if (!home)
		return -ENOMEM;
	home->reactor = r;
	home->index = reactor_index(r);
	home->stats = reactor_counters(r);
	home->arena = arena;
	list_init(&home->scratch_waiters);
	list_init(&home->copy_waiters);
	list_init(&home->settle);
	list_init(&home->detached);
	reactor_job_init(&home->settle_job, settle);
	home->reserve = aligned_alloc(4096, HOME_RESERVE);
	if (!home->reserve ||
	    pool_create("compound", compound_size(), 0, COMPOUNDS_MAX, &home->compounds) < 0 ||
	    pool_create("answer", HOME_SAVED, 0, SAVED_MAX, &home->saved) < 0 ||
	    pool_create("flush", sizeof(struct early_flush), 0, FLUSHES_MAX, &home->flushes) < 0 ||
	    pool_create("copy", sizeof(struct scsi_copy), 0, COPIES_MAX, &home->copies) < 0) {
		home_free(home);
		return -ENOMEM;
	}
	reactor_set_slot(r, REACTOR_SCSI, home);
	return 0;
}

void scsi_reactor_stop(struct reactor *r)
{
	struct scsi_home *home = scsi_home(r);

	if (!home)
		return;
	if (!list_empty(&home->detached) || pool_in_use(home->flushes) || pool_in_use(home->copies))
		return; /* a store holds I/O that may still come back: this must stay */
	reactor_job_cancel(&home->settle_job);
	reactor_set_slot(r, REACTOR_SCSI, NULL);
	home_free(home);
}
