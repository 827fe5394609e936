/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READ and WRITE that meet an exclusive range, and what a reactor has under way when one is
 * entered. I/O that meets none is not touched: what a range waits for is marked by another
 * completion function, so the usual one asks nothing.
 */
#include "scsi/compound.h"
#include "scsi/exec_internal.h"

static struct scsi_task *task_of(struct lu_range *r)
{
	return container_of(r, struct scsi_task, range);
}

/* What was in the way has ended. */
static void granted(struct lu_range *r)
{
	struct scsi_task *t = task_of(r);
	uint32_t gate = atomic_load(&t->itl->gate);
	bool stop = exec_held_up(t, gate);

	if (!stop && lu_range_busy(t->lu, r->offset, r->length)) {
		t->status = SCSI_BUSY;
		stop = true;
	}
	if (!stop) {
		exec_touch(t, gate);
		exec_start(t);
		return;
	}
	exec_range_leave(t);
	exec_status(t, t->status);
}

bool exec_range_enter(struct scsi_task *t)
{
	t->range = (struct lu_range){
		.offset = t->plan.offset,
		.length = t->plan.length,
		.kind = RANGE_SHARED,
		.reactor = (uint8_t)t->home->index,
		.run = granted,
	};
	t->ranged = lu_range_enter(t->lu, &t->range);
	return t->ranged;
}

void exec_range_leave(struct scsi_task *t)
{
	t->ranged = false;
	lu_range_leave(t->lu, &t->range);
}

static bool overlaps(const struct lu_range *r, uint64_t offset, uint64_t length)
{
	return offset < r->offset + r->length && r->offset < offset + length;
}

/*
 * Does t move bytes of this range, as one that was let pass before the range came? Memory of the
 * store that has been lent is in use until the transport has it all. One that stands in the list
 * of ranges itself is in order there.
 */
static bool under_way(struct scsi_task *t, const struct lu_range *r)
{
	if (t->plan.kind == PLAN_COMPOUND)
		return t->state == TASK_IO && compound_under_way(t, r);
	if ((t->plan.kind != PLAN_READ && t->plan.kind != PLAN_WRITE) || t->ranged ||
	    !overlaps(r, t->plan.offset, t->plan.length))
		return false;
	if (t->mapped)
		return t->plan.kind == PLAN_READ || t->state == TASK_COLLECTING;
	if (t->state != TASK_IO)
		return false;
	exec_io_watch(t);
	return true;
}

static bool awaited(struct scsi_lu *lu, struct reactor *r, const struct lu_range *range)
{
	struct list *pos, *at;
	bool any = false;

	list_for_each (pos, &lu->itls) {
		struct itl *itl = list_entry(pos, struct itl, lu_node);

		if (itl->nexus->reactor != r)
			continue;
		list_for_each (at, &itl->tasks)
			any |= under_way(list_entry(at, struct scsi_task, node), range);
	}
	return any;
}

void exec_range_look(struct scsi_lu *lu, struct reactor *r)
{
	struct list now, *n;

	list_init(&now);
	lu_range_look(lu, r, awaited, &now);
	while ((n = list_pop(&now))) {
		struct lu_range *range = list_entry(n, struct lu_range, wake_node);

		range->run(range);
	}
}
