/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an LU keeps over a restart, besides reservations (pr.h): saved mode parameters, a FORMAT
 * UNIT or SANITIZE that has not ended, identifying information.
 *
 * It is one value for each LU. Changes come one after another; each is written down by the keeper
 * before it is in force and before the command is answered.
 *
 * Threads: lu->kept is under lu->lock; a change stays on the reactor it was begun on.
 * Ownership: a change is its maker's, who may free it in done; it holds a reference on the LU.
 */
#ifndef HAWSER_SCSI_KEPT_H
#define HAWSER_SCSI_KEPT_H

#include "daemon/base/list.h"
#include "daemon/base/reactor.h"

#include <stdbool.h>
#include <stdint.h>

struct scsi_lu;
struct scsi_sense;

#define KEPT_MODE 16 /* bytes of mode parameters that can be changed, and some to spare */

#define KEPT_PATTERN                                                                               \
	4096 /* bytes of the pattern of SANITIZE OVERWRITE, a logical block at most                \
	      */

/* A FORMAT UNIT or SANITIZE that is under way or has failed; zero: none. */
struct kept_media {
	uint8_t state;        /* enum lu_not_ready, from LU_FORMATTING on */
	uint8_t unrestricted; /* AUSE: a host may take it back after a failure */
	uint8_t passes;       /* OVERWRITE; else 0 */
	uint8_t invert;       /* likewise: between passes */
	uint16_t pattern_length;
	uint8_t pattern[KEPT_PATTERN];
};

/* Identifying information (SPC-4 6.32): so long at most, in bytes. */
#define KEPT_PERIPHERAL  64
#define KEPT_INFORMATION 256
struct kept_information {
	uint16_t length;
	uint8_t bytes[KEPT_INFORMATION]; /* zero behind length */
};

/* Compared by its bytes: made by zeroing or copying as a whole. */
struct lu_kept {
	uint8_t mode[KEPT_MODE]; /* saved values, see mode.h */
	struct kept_media media;
	struct kept_information peripheral, text;
};

struct kept_op {
	struct scsi_lu *lu;
	struct reactor *reactor; /* where it begins, edits and ends */
	/* Its turn has come: makes of what is kept what shall be. It may be called on the stack of
	 * lu_keep. */
	void (*edit)(struct kept_op *op, struct lu_kept *kept);
	void (*done)(struct kept_op *op); /* likewise, if nothing has to be written */
	int result; /* 0, or a negative errno: nothing is changed. -EBUSY: the LU is being replaced
		     */
	/* kept.c, and want for the keeper */
	struct lu_kept want;
	struct list node; /* lu->kept_ops */
	struct reactor_msg msg;
	void *priv; /* the keeper's own */
};

void lu_keep(struct kept_op *op);
/* What a command is told whose change was not written down. */
struct scsi_sense kept_failure(int result);

/* The one that writes changes down: it sets op->result, and calls kept_done on op->reactor. Set
 * once, before the first session; without one all ends with the process. */
void scsi_set_keeper(void (*keep)(struct kept_op *op, void *arg), void *arg);
void kept_done(struct kept_op *op);

/* A new object has this from now on, saved mode parameters in force. Before any nexus has come. */
void lu_kept_restore(struct scsi_lu *lu, const struct lu_kept *kept);
/* Another object, which no nexus has seen yet, takes the place of this one: it gets what is kept
 * when the changes that have begun have ended, and later ones get -EBUSY. */
struct kept_heir {
	struct scsi_lu *from, *to;
	bool other_store; /* it has another medium: what is kept of that does not count */
	struct reactor *reactor;
	void (*done)(void *arg); /* on reactor; not after -ENOMEM */
	void *arg;
};
int lu_kept_hand_over(const struct kept_heir *heir);

#endif
