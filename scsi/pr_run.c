/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of reservations, one after another for each LU (SPC-4 5.13: no two PERSISTENT RESERVE OUT
 * commands see each other's middle): decide on a copy, keep it on disk where it is to outlive the
 * process, put it in place with gates and unit attentions, wait at the fence, answer.
 *
 * Threads: an operation stays on the reactor it was begun on; its turn comes by message.
 * Ownership: an operation is freed when it has answered. It holds a reference on the LU.
 */
#include "scsi/exec_internal.h"
#include "scsi/nexus_internal.h"
#include "scsi/pr_internal.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pr_op {
	struct list node; /* lu->pr.ops */
	struct reactor_msg turn;
	struct reactor *reactor;
	struct scsi_lu *lu;
	struct scsi_task *task; /* NULL: the administrator's */
	struct pr_request rq;
	struct pr_outcome out;
	struct pr_keep keep;
	struct pr_fence fence;
	struct scsi_lu *heir;                /* PR_HAND_OVER */
	void (*done)(void *arg, int result); /* no task */
	void *arg;
};

static struct {
	void (*keep)(struct pr_keep *k, void *arg);
	void *arg;
} keeper; /* set once, before the first session */

void scsi_set_pr_keeper(void (*keep)(struct pr_keep *k, void *arg), void *arg)
{
	keeper.keep = keep;
	keeper.arg = arg;
}

bool pr_can_keep(void)
{
	return keeper.keep;
}

/* Its task's nexus has let go of it. */
static bool given_up(const struct pr_op *op)
{
	return op->task && op->task->state == TASK_DETACHED;
}

/* The task is gone after this. */
static void answer(struct pr_op *op)
{
	struct scsi_task *t = op->task;

	if (!t)
		op->done(op->arg, op->out.status == SCSI_GOOD ? 0 : -EIO);
	else if (op->out.status != SCSI_CHECK_CONDITION && !given_up(op))
		exec_status(t, op->out.status);
	else
		scsi_action_done(t, op->out.status == SCSI_CHECK_CONDITION ? &op->out.sense : NULL);
}

static void finish(struct pr_op *op)
{
	struct scsi_lu *lu = op->lu;

	pthread_mutex_lock(&lu->lock);
	list_del(&op->node);
	if (!list_empty(&lu->pr.ops)) {
		struct pr_op *next = list_entry(lu->pr.ops.next, struct pr_op, node);

		reactor_send(next->reactor, &next->turn);
	}
	pthread_mutex_unlock(&lu->lock);
	answer(op);
	pr_request_clear(&op->rq);
	pr_table_put(op->out.table);
	free(op);
	lu_unref(lu);
}

static void fenced(struct pr_fence *f, bool in_time)
{
	struct pr_op *op = container_of(f, struct pr_op, fence);

	/* It is so, but a write of a victim still hangs: whoever asked must not rely on it. */
	if (!in_time) {
		op->out.status = SCSI_CHECK_CONDITION;
		op->out.sense = sense_make(SENSE_ABORTED_COMMAND, ASC_INTERNAL_FAILURE);
	}
	finish(op);
}

static void raise_fence(struct pr_op *op)
{
	op->fence.lu = op->lu;
	op->fence.reactor = op->reactor;
	op->fence.abort = op->out.abort;
	op->fence.done = fenced;
	pr_fence(&op->fence);
}

/* Under lu->lock: who hears of it, and whose tasks go. */
static void tell(struct pr_op *op, const struct pr_table *old, struct itl *itl)
{
	bool was = lu_pr_find(old, itl) >= 0, is = lu_pr_find(op->lu->pr.table, itl) >= 0;
	const struct pr_outcome *out = &op->out;

	if (!was || (!strcmp(itl->nexus->initiator_port, op->rq.own.initiator) &&
		     !strcmp(itl->nexus->target_port, op->rq.own.target)))
		return;
	if (is ? out->ua_others : out->ua_removed)
		itl_ua_locked(itl, is ? out->ua_others : out->ua_removed);
	if (!is && out->abort)
		itl->preempted = true;
}

/* True: something is forbidden now that was not. */
static bool put_in_place(struct pr_op *op)
{
	struct scsi_lu *lu = op->lu;
	const struct pr_table *old;
	struct list *pos;
	bool restricts;

	pthread_mutex_lock(&lu->lock);
	old = lu->pr.table;
	if (op->out.table)
		lu->pr.table = op->out.table;
	op->out.table = NULL;
	if (old != lu->pr.table && (op->out.ua_removed || op->out.ua_others || op->out.abort))
		list_for_each (pos, &lu->itls)
			tell(op, old, list_entry(pos, struct itl, lu_node));
	restricts = lu_pr_set_gates(lu);
	if (old == lu->pr.table)
		old = NULL;
	pthread_mutex_unlock(&lu->lock);
	pr_table_put(old);
	return restricts;
}

static void commit(struct pr_op *op)
{
	if (put_in_place(op) || op->out.abort)
		raise_fence(op);
	else
		finish(op);
}

/* What cannot be kept is not done at all. */
static void kept(struct pr_keep *k)
{
	struct pr_op *op = container_of(k, struct pr_op, keep);

	if (!k->result) {
		commit(op);
		return;
	}
	op->out.status = SCSI_CHECK_CONDITION;
	op->out.sense = sense_make(SENSE_HARDWARE_ERROR, ASC_INTERNAL_FAILURE);
	finish(op);
}

/* SPC-4 5.13.5: APTPL of the last registration decides for all of them. */
static bool must_keep(const struct pr_table *old, const struct pr_table *t)
{
	return keeper.keep && t && (t->aptpl || (old && old->aptpl));
}

static void keep(struct pr_op *op)
{
	op->keep.lu = op->lu;
	op->keep.table = op->out.table->aptpl && op->out.table->n ? op->out.table : NULL;
	op->keep.reactor = op->reactor;
	op->keep.done = kept;
	keeper.keep(&op->keep, keeper.arg);
}

static struct itl *reserved_by(struct scsi_lu *lu)
{
	struct itl *itl;

	pthread_mutex_lock(&lu->lock);
	itl = lu->pr.reserved_by;
	pthread_mutex_unlock(&lu->lock);
	return itl;
}

static void set_reserved(struct pr_op *op, struct itl *itl)
{
	pthread_mutex_lock(&op->lu->lock);
	op->lu->pr.reserved_by = itl;
	pthread_mutex_unlock(&op->lu->lock);
	commit(op);
}

/*
 * RESERVE and RELEASE of SPC-2 5.5, with CRH=1 (SPC-4 5.13.3): to whom a persistent reservation
 * leaves the LU they are GOOD and mean nothing; else they conflict with registrations.
 */
static void run_reserve6(struct pr_op *op, const struct pr_table *now)
{
	int own = pr_find(now, &op->rq.own);
	struct itl *by = reserved_by(op->lu), *itl = op->task->itl;
	bool reserve = op->rq.action == PR_RESERVE6;

	bool passes = pr_is_holder(now, own) ||
		      (own >= 0 && now->type != PR_NONE && pr_registrants(now->type));

	op->out.status = SCSI_GOOD;
	if (!passes && ((now && now->n) || (reserve && by && by != itl)))
		op->out.status = SCSI_RESERVATION_CONFLICT;
	else if (!passes && (reserve || by == itl)) {
		set_reserved(op, reserve ? itl : NULL);
		return;
	}
	finish(op); /* RELEASE by another has nothing to release */
}

static void run_out(struct pr_op *op, const struct pr_table *now)
{
	/* SPC-2 5.5.1: the two kinds of reservation do not mix. */
	if (op->rq.action == PR_ADMIN_CLEAR) {
		lu_release6(op->lu, NULL);
	} else if (reserved_by(op->lu)) {
		op->out.status = SCSI_RESERVATION_CONFLICT;
		finish(op);
		return;
	}
	pr_decide(now, &op->rq, &op->out);
	if (!op->out.table)
		finish(op);
	else if (must_keep(now, op->out.table))
		keep(op);
	else
		commit(op);
}

/* Nothing else is under way. Another object of the unit has the table from here on. */
static void hand_over(struct pr_op *op)
{
	pthread_mutex_lock(&op->lu->lock);
	op->lu->pr.handed_over = true;
	pthread_mutex_unlock(&op->lu->lock);
	lu_pr_restore(op->heir, lu_pr_get(op->lu));
	finish(op);
}

static bool is_handed_over(struct scsi_lu *lu)
{
	bool is;

	pthread_mutex_lock(&lu->lock);
	is = lu->pr.handed_over;
	pthread_mutex_unlock(&lu->lock);
	return is;
}

static void run(struct pr_op *op)
{
	const struct pr_table *now;

	if (given_up(op)) { /* aborted before its turn: nothing happens */
		finish(op);
		return;
	}
	if (op->rq.action == PR_HAND_OVER) {
		hand_over(op);
		return;
	}
	if (is_handed_over(op->lu)) { /* the nexus is about to see the new object */
		op->out.status = SCSI_BUSY;
		finish(op);
		return;
	}
	now = lu_pr_get(op->lu);
	if (op->rq.action == PR_RESERVE6 || op->rq.action == PR_RELEASE6)
		run_reserve6(op, now);
	else
		run_out(op, now);
	pr_table_put(now);
}

static void turn(struct reactor_msg *msg)
{
	run(container_of(msg, struct pr_op, turn));
}

static void begin(struct pr_op *op, struct scsi_lu *lu, struct reactor *reactor)
{
	bool first;

	op->lu = lu;
	op->reactor = reactor;
	op->turn.run = turn;
	list_init(&op->node);
	lu_ref(lu);
	pthread_mutex_lock(&lu->lock);
	first = list_empty(&lu->pr.ops);
	list_add_tail(&lu->pr.ops, &op->node);
	pthread_mutex_unlock(&lu->lock);
	if (first)
		run(op);
}

void pr_run_task(struct scsi_task *t, struct pr_request *rq)
{
	struct pr_op *op = calloc(1, sizeof(*op));

	if (!op) {
		pr_request_clear(rq);
		exec_fail(t, sense_from_errno(-ENOMEM, false));
		return;
	}
	op->task = t;
	op->rq = *rq;
	begin(op, t->lu, t->home->reactor);
}

/* An operation that no task waits for. */
static int run_own(struct pr_op settings, struct scsi_lu *lu, struct reactor *reactor)
{
	struct pr_op *op = calloc(1, sizeof(*op));

	if (!op)
		return -ENOMEM;
	*op = settings;
	begin(op, lu, reactor);
	return 0;
}

int lu_pr_clear(struct scsi_lu *lu, struct reactor *reactor, void (*done)(void *arg, int result),
		void *arg)
{
	return run_own((struct pr_op){ .rq.action = PR_ADMIN_CLEAR, .done = done, .arg = arg }, lu,
		       reactor);
}

int lu_pr_hand_over(struct scsi_lu *from, struct scsi_lu *to, struct reactor *reactor,
		    void (*done)(void *arg, int result), void *arg)
{
	return run_own(
	    (struct pr_op){ .rq.action = PR_HAND_OVER, .heir = to, .done = done, .arg = arg }, from,
	    reactor);
}

/* PLAN_ACTION of RESERVE and RELEASE. */
static void reserve6(struct scsi_task *t)
{
	const struct it_nexus *n = t->nexus;
	struct pr_request rq = { 0 };

	rq.action = t->cdb[0] & 0x01 ? PR_RELEASE6 : PR_RESERVE6; /* 16h, 56h; 17h, 57h */
	(void)pr_nexus_set(&rq.own, n->initiator_port, n->target_port, n->relative_port);
	pr_run_task(t, &rq);
}

struct scsi_plan pr_plan_reserve(const struct scsi_request *rq)
{
	(void)rq;
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = reserve6 };
}
