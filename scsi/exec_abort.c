/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stopping a task at any step. What the store or the transport still holds is detached: the task
 * leaves its nexus at once, keeps its buffers, the LU and the LU's queue, and goes when they let
 * go.
 */
#include "scsi/compound.h"
#include "scsi/exec_internal.h"

/* Nobody holds anything of it. */
static bool over(struct scsi_task *t)
{
	if (t->ranged)
		exec_range_leave(t);
	if (t->itl)
		order_leave(t);
	exec_put_buffers(t);
	return true;
}

/* Keeps the LU's queue on this reactor open, if there is one. */
static void hold_queue(struct scsi_task *t)
{
	t->holds_queue = t->lu->queue[t->home->index];
	if (t->holds_queue)
		t->lu->queue_users[t->home->index]++;
}

static bool detach(struct scsi_task *t)
{
	uint64_t offset = t->mapped ? t->plan.offset : t->io.offset;
	uint64_t length = t->mapped ? t->plan.length : t->io.length;

	if (t->lu) {
		lu_ref(t->lu);
		hold_queue(t);
	}
	if (t->itl)
		order_leave(t);
	t->state = TASK_DETACHED;
	t->nexus = NULL;
	list_add_tail(&t->home->detached, &t->node);
	if (!t->ranged)
		list_init(&t->range.node);
	t->ranged = false;
	if (t->lu) {
		t->range.offset = offset;
		t->range.length = length;
		lu_detach_begin(t->lu, &t->range, t->write_io);
	}
	if (t->plan.kind == PLAN_COMPOUND && t->priv)
		compound_detached(t);
	return false;
}

void exec_detached_done(struct scsi_task *t)
{
	struct scsi_lu *lu = t->lu;

	list_del(&t->node);
	exec_put_buffers(t);
	if (lu) {
		lu_detach_end(lu, &t->range, t->write_io);
		if (t->holds_queue)
			lu_queue_put(lu, t->home->reactor);
		lu_unref(lu);
	}
	t->port->detached_done(t);
}

bool scsi_abort(struct scsi_task *t)
{
	t->aborted = true;
	switch ((enum scsi_task_state)t->state) {
	case TASK_NEW:
	case TASK_BLOCKED:
		return over(t);
	case TASK_WAIT_BUFFER:
		arena_unwait(&t->waiter);
		if (t->priv)
			pool_put(t->home->saved, t->priv);
		t->priv = NULL;
		return over(t);
	case TASK_COLLECTING:
	case TASK_SENDING:
		return t->port->release(t) ? over(t) : detach(t);
	case TASK_IO:
		if (t->plan.kind == PLAN_COMPOUND && compound_cancel(t))
			return over(t);
		if (t->plan.kind == PLAN_ACTION && t->plan.cancel && t->plan.cancel(t))
			return over(t);
		return detach(t);
	case TASK_DETACHED:
		return false;
	}
	return false;
}

void scsi_released(struct scsi_task *t)
{
	exec_detached_done(t);
}
