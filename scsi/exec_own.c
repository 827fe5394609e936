/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of our own: the application client of SPC-4 5.17 that a copy manager is. They go the way
 * of every other task from the gate on, so that whatever stops, orders or forbids those does it to
 * these as well.
 *
 * Threads: the session's reactor. Ownership: as in exec.h.
 */
#include "scsi/exec_internal.h"

static bool in_range(const struct scsi_task *t)
{
	const struct lu_geometry *g = &t->lu->geo;
	uint64_t size = atomic_load(&g->blocks) * g->block_size;

	return t->plan.offset <= size && t->plan.length <= size - t->plan.offset;
}

/* False: it has ended. */
static bool may_run(struct scsi_task *t, uint32_t gate)
{
	if (!exec_gate_pass(t, gate & ~(uint32_t)GATE_UA))
		return false;
	if (t->op->flags & OP_CHANGES && exec_request(t).read_only) {
		exec_fail(t, sense_write_protected());
		return false;
	}
	if ((gate & GATE_NOT_READY || !t->itl->queue) && !exec_medium_ready(t))
		return false;
	if (!in_range(t)) {
		exec_fail(t, sense_lba_out_of_range());
		return false;
	}
	return true;
}

void scsi_submit_own(struct scsi_task *t, const struct scsi_own *own)
{
	struct itl *itl = nexus_find(t->nexus, t->lun);
	uint32_t gate = itl ? atomic_load(&itl->gate) : 0;

	t->attribute = ATTR_OWN;
	exec_begin(t);
	t->op = own->op;
	if (own->data)
		arena_buf_move(&t->buf, own->data);
	if (!itl || gate & GATE_LEAVING || itl->lu != own->lu) {
		exec_fail(t, sense_lun_not_supported());
		return;
	}
	order_join_own(t, itl);
	t->plan = own->plan;
	if (!may_run(t, gate))
		return;
	if (t->plan.kind == PLAN_READ) {
		t->data_in_length = (uint32_t)t->plan.length;
		exec_take(t, t->plan.length);
		return;
	}
	t->collected = own->data;
	exec_enable(t);
}
