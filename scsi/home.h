/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the SCSI layer keeps for each reactor: pools, the arena it takes buffers from, room for an
 * answer, and what is left to be done at the end of the turn.
 *
 * Threads: its reactor. Ownership: scsi_reactor_start makes it, scsi_reactor_stop frees it.
 */
#ifndef HAWSER_SCSI_HOME_H
#define HAWSER_SCSI_HOME_H

#include "daemon/base/list.h"
#include "daemon/base/reactor.h"
#include "scsi/task.h"

#define HOME_RESERVE 65536u /* bytes a compound command can count on when the arena has none */
#define HOME_SAVED   4096u  /* longest answer that can wait for a buffer */

struct stats;

struct scsi_home {
	struct reactor *reactor;
	struct stats *stats; /* of the reactor */
	unsigned index;      /* of the reactor */
	struct arena *arena;
	struct pool *compounds; /* struct compound */
	struct pool *saved;     /* HOME_SAVED bytes each: answers that wait for a buffer */
	struct pool *flushes;   /* struct early_flush */
	struct pool *copies;    /* struct scsi_copy */
	size_t copy_bytes;      /* that copies hold of the arena, or are about to take */
	uint8_t *reserve;
	bool reserve_taken;
	struct list scratch_waiters; /* compound.wait_node */
	struct list copy_waiters;    /* scsi_copy.wait_node: for copy_bytes to sink */
	struct list settle;          /* itl.settle_node */
	struct reactor_job settle_job;
	struct list detached;           /* scsi_task.node */
	uint8_t answer[SCSI_SMALL_MAX]; /* where plans write; valid until the next plan */
};

static inline struct scsi_home *scsi_home(const struct reactor *r)
{
	return reactor_slot(r, REACTOR_SCSI);
}

/* Looks at the itl at the end of the turn: starts blocked tasks, frees it if it is leaving. */
void home_settle(struct scsi_home *home, struct itl *itl);

#endif
