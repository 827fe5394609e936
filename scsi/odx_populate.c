/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * POPULATE TOKEN: the token is made first, so that whatever is written from now on revokes it; then
 * what was written before is waited for, range by range, on all reactors. What comes out of it
 * stands for the data of one moment, or is void already.
 */
#include "scsi/odx_internal.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <string.h>

static void populated(struct odx_op *op)
{
	struct copy_entry *e = op->entry;

	e->blocks = op->rod->bytes / op->rod->block_size;
	e->segments = (uint16_t)op->rod->n;
	e->has_token = true;
	memcpy(e->token, op->rod->token, sizeof(e->token));
	odx_end(op, COPY_DONE, SCSI_GOOD, NULL);
}

static void stop(struct odx_op *op)
{
	if (op->draining)
		lu_range_leave(op->itl->lu, &op->drain);
	rod_delete(op->rod);
}

static void drained(struct lu_range *range);

/* False: no range is left. */
static bool drain_next(struct odx_op *op)
{
	while (op->from < op->rod->n && !op->rod->ranges[op->from].length)
		op->from++;
	if (op->from == op->rod->n)
		return false;
	op->drain = (struct lu_range){
		.offset = op->rod->ranges[op->from].offset,
		.length = op->rod->ranges[op->from].length,
		.kind = RANGE_EXCLUSIVE,
		.reactor = (uint8_t)op->home->index,
		.run = drained,
	};
	op->from++;
	op->draining = true;
	(void)lu_range_enter(op->itl->lu, &op->drain); /* an exclusive one always waits */
	return true;
}

/* Nothing is under way there; it needs not stay so. A write that its nexus has let go of may come
 * at any time. */
static void drained(struct lu_range *range)
{
	struct odx_op *op = container_of(range, struct odx_op, drain);
	bool busy = lu_range_busy(op->itl->lu, range->offset, range->length);

	op->draining = false;
	lu_range_leave(op->itl->lu, range);
	if (busy) {
		rod_delete(op->rod);
		odx_end(op, COPY_ERROR, SCSI_BUSY, NULL);
	} else if (!drain_next(op)) {
		populated(op);
	}
}

static struct scsi_sense sense_of(int rc)
{
	if (rc == -ENOSPC)
		return sense_make(SENSE_ILLEGAL_REQUEST, ASC_NO_ROOM_FOR_TOKEN);
	return sense_from_errno(rc == -EIO ? -EREMOTEIO : rc, false);
}

void odx_populate(struct scsi_task *t)
{
	struct odx_list l;
	struct scsi_sense why;
	struct odx_op *op;
	struct rod_params p;
	int rc;

	if (!odx_read_populate(odx_list_of(t), t->data_out_length, &t->lu->geo, &l, &why)) {
		scsi_action_done(t, &why); /* the LU has shrunk meanwhile */
		return;
	}
	op = odx_begin(t, &l);
	if (!op)
		return;
	op->stop = stop;
	p = (struct rod_params){
		.itl = t->itl,
		.type = l.type,
		.timeout_s = l.timeout_s,
		.now_ms = odx_now(op),
		.n = l.n,
		.ranges = l.ranges,
	};
	rc = rod_create(&p, &op->rod);
	if (rc < 0)
		odx_fail(op, sense_of(rc));
	else if (l.type == ROD_ACCESS_UPON_REFERENCE || !drain_next(op))
		populated(op);
	else
		odx_go_on(op);
}
