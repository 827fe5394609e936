/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The task set of an I_T_L nexus (TST=001b) and the order in it (SAM-5 8.6). A set of SIMPLE tasks
 * only has GATE_ORDERED clear and nothing is ever looked at.
 */
#include "scsi/exec_internal.h"

static bool is_ordering(const struct scsi_task *t)
{
	return t->attribute == ATTR_ORDERED || t->attribute == ATTR_HEAD_OF_QUEUE;
}

bool order_join(struct scsi_task *t, struct itl *itl)
{
	if (itl->ntasks - itl->n_own >= itl->nexus->max_tasks)
		return false;
	t->itl = itl;
	t->lu = itl->lu;
	itl->ntasks++;
	list_add_tail(&itl->tasks, &t->node);
	if (exec_unlikely(is_ordering(t)) && !itl->n_ordered++)
		atomic_fetch_or(&itl->gate, GATE_ORDERED);
	return true;
}

void order_join_own(struct scsi_task *t, struct itl *itl)
{
	t->itl = itl;
	t->lu = itl->lu;
	itl->ntasks++;
	itl->n_own++;
	list_add_tail(&itl->tasks, &t->node);
}

/* What order_join, or order_join_own, counted beside the tasks. */
static void leave_counts(const struct scsi_task *t, struct itl *itl)
{
	if (t->attribute == ATTR_OWN)
		itl->n_own--;
	else if (is_ordering(t) && !--itl->n_ordered)
		atomic_fetch_and(&itl->gate, ~(uint32_t)GATE_ORDERED);
}

void order_leave(struct scsi_task *t)
{
	struct itl *itl = t->itl;

	list_del(&t->node);
	list_del(&t->wait_node);
	t->itl = NULL;
	itl->ntasks--;
	if (exec_unlikely(t->attribute > ATTR_SIMPLE))
		leave_counts(t, itl);
	if (exec_unlikely(!list_empty(&itl->blocked) || !list_empty(&itl->leave_node)))
		home_settle(t->home, itl);
}

/*
 * SIMPLE: after every HEAD OF QUEUE task and every older ORDERED one. ORDERED: after every HEAD OF
 * QUEUE task and all older ones. A HEAD OF QUEUE task never waits; while it lacks buffers it holds
 * nobody back, for those it held back may have the buffers. One of our own runs for a command that
 * has had its turn.
 */
bool order_enabled(const struct scsi_task *t)
{
	struct list *pos;
	bool older = true;

	if (t->attribute == ATTR_HEAD_OF_QUEUE || t->attribute == ATTR_OWN)
		return true;
	list_for_each (pos, &t->itl->tasks) {
		const struct scsi_task *u = list_entry(pos, struct scsi_task, node);

		if (u == t) {
			older = false;
			continue;
		}
		if (u->attribute == ATTR_HEAD_OF_QUEUE && u->started)
			return false;
		if (older && (t->attribute == ATTR_ORDERED || u->attribute == ATTR_ORDERED))
			return false;
	}
	return true;
}

void order_block(struct scsi_task *t)
{
	t->state = TASK_BLOCKED;
	list_add_tail(&t->itl->blocked, &t->wait_node);
}

/* A task that has left may have been what others waited for. */
void order_unblock(struct itl *itl)
{
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, &itl->blocked);
	while ((n = list_pop(&now)))
		exec_enable(list_entry(n, struct scsi_task, wait_node)); /* may block again */
}
