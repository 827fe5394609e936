/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offloaded data transfer: POPULATE TOKEN and WRITE USING TOKEN (SBC-3 5.11, 5.46), from the CDB to
 * the operation and from its end to the status.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/iov.h"
#include "scsi/odx_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { ACTION_MASK = 0x1f, ACTION_POPULATE = 0x10 };

static bool populates(const uint8_t *cdb)
{
	return (cdb[1] & ACTION_MASK) == ACTION_POPULATE;
}

struct scsi_plan odx_plan(const struct scsi_request *rq)
{
	uint32_t length = get_be32(rq->cdb + offsetof(struct cdb_token_out, list_length));
	size_t least = populates(rq->cdb) ? sizeof(struct odx_populate) : sizeof(struct odx_write);

	if (!length) /* not an error */
		return plan_good();
	if (length < least || length > SCSI_SMALL_MAX)
		return plan_fail(sense_parameter_list_length());
	return plan_collect(length);
}

struct scsi_plan odx_params(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	struct odx_list l;
	struct scsi_sense why;
	bool populate = populates(rq->cdb);
	bool good = populate ? odx_read_populate(list, n, rq->geo, &l, &why)
			     : odx_read_write(list, n, rq->geo, &l, &why);

	if (!good)
		return plan_fail(why);
	return (struct scsi_plan){ .kind = PLAN_ACTION,
				   .action = populate ? odx_populate : odx_write,
				   .cancel = odx_cancel };
}

const uint8_t *odx_list_of(const struct scsi_task *t)
{
	iov_copy_out(t->buf.iov, t->buf.n, 0, t->home->answer, t->data_out_length);
	return t->home->answer;
}

uint64_t odx_now(const struct odx_op *op)
{
	return reactor_now_ms(op->home->reactor);
}

/* Nothing of it runs any more. */
static void op_free(struct odx_op *op)
{
	if (op->rod)
		rod_put(op->rod, odx_now(op));
	if (op->t)
		op->t->priv = NULL;
	if (op->source)
		lu_unref(op->source);
	free(op);
}

/* The I_T_L nexus goes, with its list. */
static void nexus_goes(struct copy_entry *e)
{
	struct odx_op *op = e->op;

	op->stop(op);
	op_free(op);
}

struct odx_op *odx_begin(struct scsi_task *t, const struct odx_list *list)
{
	uint32_t id = get_be32(t->cdb + offsetof(struct cdb_token_out, list_id));
	struct odx_op *op = calloc(1, sizeof(*op));
	struct scsi_sense why;

	if (!op) {
		why = sense_from_errno(-ENOMEM, false);
		scsi_action_done(t, &why);
		return NULL;
	}
	op->entry = copy_list_begin(t->itl, id, t->cdb[1] & ACTION_MASK, &why);
	if (!op->entry) {
		free(op);
		scsi_action_done(t, &why);
		return NULL;
	}
	op->t = t;
	op->itl = t->itl;
	op->home = t->home;
	op->list = *list;
	op->list.token = NULL;
	op->entry->op = op;
	op->entry->cancel = nexus_goes;
	t->priv = op;
	return op;
}

void odx_go_on(struct odx_op *op)
{
	struct scsi_task *t = op->t;

	if (!(op->list.flags & ODX_IMMED))
		return;
	op->t = NULL;
	op->entry->status = COPY_BACKGROUND;
	t->priv = NULL;
	scsi_action_done(t, NULL);
}

void odx_end(struct odx_op *op, enum copy_status how, enum scsi_status status,
	     const struct scsi_sense *sense)
{
	struct copy_entry *e = op->entry;
	struct scsi_task *t = op->t;

	e->completion = (uint8_t)status;
	if (sense)
		e->sense = *sense;
	copy_list_end(op->itl, e, how);
	op_free(op);
	if (t && status != SCSI_GOOD && !sense)
		exec_status(t, status);
	else if (t)
		scsi_action_done(t, sense);
}

void odx_fail(struct odx_op *op, struct scsi_sense sense)
{
	odx_end(op, COPY_ERROR, SCSI_CHECK_CONDITION, &sense);
}

/* The task has been stopped; what it has done so far can be asked for. */
bool odx_cancel(struct scsi_task *t)
{
	struct odx_op *op = t->priv;

	if (!op)
		return false;
	op->stop(op);
	op->entry->completion = SCSI_TASK_ABORTED;
	copy_list_end(op->itl, op->entry, COPY_TERMINATED);
	op_free(op);
	return true;
}
