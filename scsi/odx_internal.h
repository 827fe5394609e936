/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the token commands: odx.c begins and ends an operation, odx_populate.c and
 * odx_write.c carry it out.
 *
 * Threads: the reactor of the nexus. Ownership: an operation belongs to its entry in the list of
 * copies, until odx_end, or until its task is aborted or its nexus goes.
 */
#ifndef HAWSER_SCSI_ODX_INTERNAL_H
#define HAWSER_SCSI_ODX_INTERNAL_H

#include "scsi/copy.h"
#include "scsi/copy_list.h"
#include "scsi/exec_internal.h"
#include "scsi/odx_list.h"

#define ODX_PIECE        (16u << 20) /* bytes copied between two looks at the token */
#define ODX_PIECE_ZEROS  (64u << 20)
#define ODX_PIECE_RANGES 64u
#define ODX_PATIENCE_MS  2000u /* Windows gives a command 4 s; what is left is left for the next */

struct odx_op {
	struct scsi_task *t; /* NULL: its status has gone out (IMMED) */
	struct itl *itl;
	struct scsi_home *home;
	struct copy_entry *entry;
	struct odx_list list; /* its token is not there any more */
	struct rod *rod;      /* pinned; NULL: zeros, or none yet */
	void (*stop)(struct odx_op *op);
	/* POPULATE TOKEN */
	struct lu_range drain; /* of what is under way there */
	bool draining;
	/* WRITE USING TOKEN */
	struct scsi_lu *source; /* referenced; NULL: zeros */
	unsigned from, to; /* ranges of the token and of the list where the next piece begins, */
	uint64_t from_at, to_at; /* and bytes into them */
	uint64_t piece;          /* bytes under way */
	uint64_t until_ms;
	struct copy_job job;
	struct copy_range ranges[ODX_PIECE_RANGES];
};

/* An operation for a task with this list: entered under its identifier. NULL: the task has been
 * told why not. */
struct odx_op *odx_begin(struct scsi_task *t, const struct odx_list *list);
/* With IMMED the task ends here; the operation goes on without it. */
void odx_go_on(struct odx_op *op);
/* Ends it and its task: GOOD, or another status, with *sense if that is CHECK CONDITION. */
void odx_end(struct odx_op *op, enum copy_status how, enum scsi_status status,
	     const struct scsi_sense *sense);
/* CHECK CONDITION. */
void odx_fail(struct odx_op *op, struct scsi_sense sense);

uint64_t odx_now(const struct odx_op *op);

/* The whole of the parameter list, in the reactor's room for answers. */
const uint8_t *odx_list_of(const struct scsi_task *t);

/* Actions of the plans. */
void odx_populate(struct scsi_task *t);
void odx_write(struct scsi_task *t);
bool odx_cancel(struct scsi_task *t);

#endif
