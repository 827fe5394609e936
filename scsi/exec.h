/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executor: takes a task through gate, plan, data-out, backing I/O, data-in and status, and
 * stops it at any step. All waiting of the SCSI layer is here (and in compound.c).
 *
 * Threads: the session's reactor for every call.
 */
#ifndef HAWSER_SCSI_EXEC_H
#define HAWSER_SCSI_EXEC_H

#include "scsi/task.h"

struct reactor;
struct arena;
struct arena_buf;
struct scsi_op;

/* Once per reactor, on its thread (slot REACTOR_SCSI): pools for compound commands. */
int scsi_reactor_start(struct reactor *r, struct arena *arena);
/* No nexus is left. Where a store still holds I/O nothing is freed: the process is ending. */
void scsi_reactor_stop(struct reactor *r);

/* Begins a task whose port part is filled; it may be over when this returns. */
void scsi_submit(struct scsi_task *t);

/* A command that an initiator did not send. */
struct scsi_own {
	const struct scsi_op *op; /* its reservation class and OP_MEDIUM, OP_CHANGES */
	const struct scsi_lu *lu; /* what must be behind the LUN, or it ends with 5/25/00 */
	struct scsi_plan plan;    /* READ, WRITE or COMPOUND; offset and length are checked */
	struct arena_buf *data;   /* of WRITE: taken over, empty afterwards; else NULL */
};

/*
 * Begins a task on behalf of a nexus, as a copy manager does for the initiator that asked it. Port
 * part as for scsi_submit; the attribute becomes ATTR_OWN. It meets reservations, write protection,
 * ranges and resets as a command of that initiator would; it waits for no other task of the set
 * and none for it, is not counted as one, and leaves unit attentions alone. data_out is not called.
 */
void scsi_submit_own(struct scsi_task *t, const struct scsi_own *own);

/* The data asked for by data_out is in t->buf. */
void scsi_data_received(struct scsi_task *t);

/* The port could not get the data whole (digest error, connection trouble): the task ends with
 * this sense through done. */
void scsi_data_failed(struct scsi_task *t, struct scsi_sense sense);

/* After data_in or done: the port is finished with the task; buffers go back. The port then frees
 * the memory. */
void scsi_finish(struct scsi_task *t);

/* The port has let go of an aborted task whose release, called from scsi_abort, returned false: not
 * for a task that was detached because of its I/O, which ends by itself. */
void scsi_released(struct scsi_task *t);

/* Ends a PLAN_ACTION: GOOD, or CHECK CONDITION with *sense (not NULL). Its reactor. */
void scsi_action_done(struct scsi_task *t, const struct scsi_sense *sense);
/* As scsi_action_done with GOOD, but what is cached goes to the medium first. */
void scsi_action_flush(struct scsi_task *t);

/* Data is coming and there is no room for it: a task that waits for buffers ends with this status
 * (TASK SET FULL or BUSY) through done. False if it no longer waits. */
bool scsi_refuse(struct scsi_task *t, enum scsi_status status);

/*
 * Stops a submitted task without status; no port call will be made for it any more except release
 * and detached_done. Returns true when the task is over (the port frees it), false when it has been
 * detached or waits for release: then detached_done follows and frees it. In neither case is
 * scsi_finish called.
 */
bool scsi_abort(struct scsi_task *t);

#endif
