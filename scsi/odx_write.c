/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WRITE USING TOKEN: pieces of the token's ranges go to pieces of the list's ranges, by the copy
 * engine. After each of them the token is asked whether what has been read was still its data. The
 * transfer count has whole pieces only, in order.
 *
 * A command that takes long ends GOOD with what it has done: the host goes on from there.
 */
#include "scsi/nexus.h"
#include "scsi/odx_internal.h"
#include "scsi/scsi.h"

#include <string.h>

static void stop(struct odx_op *op)
{
	copy_cancel(&op->job);
}

static void skip_empty(const struct rod_range *ranges, unsigned n, unsigned *at, uint64_t *bytes)
{
	while (*at < n && *bytes == ranges[*at].length) {
		(*at)++;
		*bytes = 0;
	}
}

static bool all_done(struct odx_op *op)
{
	skip_empty(op->list.ranges, op->list.n, &op->to, &op->to_at);
	return op->to == op->list.n;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* One range of the job: as much as the token, the list and the piece have in one run. */
static void add_range(struct odx_op *op, struct copy_range *ret, uint64_t most)
{
	const struct rod_range *to = &op->list.ranges[op->to], *from = NULL;
	uint32_t block = op->itl->lu->geo.block_size;
	uint64_t length = least(most, to->length - op->to_at);

	if (op->rod) {
		skip_empty(op->rod->ranges, op->rod->n, &op->from, &op->from_at);
		from = &op->rod->ranges[op->from]; /* there is one: the token has enough */
		length = least(length, from->length - op->from_at);
	}
	*ret = (struct copy_range){
		.from = from ? (from->offset + op->from_at) / block : 0,
		.to = (to->offset + op->to_at) / block,
		.blocks = length / block,
	};
	op->from_at += length;
	op->to_at += length;
	op->piece += length;
}

static void piece_done(struct copy_job *job);

static int start_piece(struct odx_op *op)
{
	uint64_t most = op->rod ? ODX_PIECE : ODX_PIECE_ZEROS;
	struct it_nexus *nexus = op->itl->nexus;
	unsigned n = 0;

	op->piece = 0;
	while (n < ODX_PIECE_RANGES && op->piece < most && !all_done(op))
		add_range(op, &op->ranges[n++], most - op->piece);
	op->job = (struct copy_job){
		.nexus = nexus,
		.source_lun = op->job.source_lun,
		.destination_lun = op->itl->lun,
		.source = op->source,
		.destination = op->itl->lu,
		.ranges = op->ranges,
		.n_ranges = n,
		.done = piece_done,
	};
	return copy_start(&op->job);
}

static void complete(struct odx_op *op)
{
	if (op->rod && op->list.flags & ODX_DEL_TKN)
		rod_delete(op->rod);
	odx_end(op, COPY_DONE, SCSI_GOOD, NULL);
}

static void next_piece(struct odx_op *op)
{
	bool late = op->t && odx_now(op) >= op->until_ms;

	if (all_done(op))
		complete(op);
	else if (op->entry->blocks && (late || start_piece(op) < 0))
		odx_end(op, COPY_DONE_RESIDUAL, SCSI_GOOD, NULL);
	else if (!op->entry->blocks && start_piece(op) < 0) /* too many copies at once */
		odx_end(op, COPY_ERROR, SCSI_BUSY, NULL);
}

/* SPC-4 5.17.7.4: what the other LU has to say is not about this one. */
static struct scsi_sense source_sense(const struct copy_job *job)
{
	bool gone = job->status == SCSI_CHECK_CONDITION &&
		    job->sense.asc_ascq == sense_lun_not_supported().asc_ascq;

	return sense_make(SENSE_COPY_ABORTED,
			  gone ? ASC_COPY_TARGET_UNREACHABLE : ASC_THIRD_PARTY_FAILURE);
}

static void job_failed(struct odx_op *op)
{
	const struct copy_job *job = &op->job;

	if (job->side == COPY_SOURCE)
		odx_fail(op, source_sense(job));
	else if (job->status == SCSI_CHECK_CONDITION)
		odx_fail(op, job->sense);
	else if (job->status == SCSI_TASK_ABORTED) /* a reset, but not of this task */
		odx_fail(op, sense_make(SENSE_ABORTED_COMMAND, 0x0000));
	else
		odx_end(op, COPY_ERROR, (enum scsi_status)job->status, NULL);
}

static void piece_done(struct copy_job *job)
{
	struct odx_op *op = container_of(job, struct odx_op, job);

	if (job->side != COPY_NEITHER) {
		job_failed(op);
	} else if (op->rod && rod_state(op->rod) != ROD_VALID) {
		odx_fail(op, rod_sense(rod_state(op->rod)));
	} else {
		op->entry->blocks += op->piece / op->itl->lu->geo.block_size;
		op->entry->segments = (uint16_t)(all_done(op) ? op->list.n : op->to);
		op->entry->moves++;
		next_piece(op);
	}
}

static bool overlaps(const struct rod *r, const struct rod_range *to)
{
	for (unsigned i = 0; i < r->n; i++)
		if (to->offset < r->ranges[i].offset + r->ranges[i].length &&
		    r->ranges[i].offset < to->offset + to->length)
			return true;
	return false;
}

/* Does the token have what the list asks for, and is it not what the list overwrites? */
static bool fits(const struct odx_list *l, const struct rod *r, const struct scsi_lu *to,
		 struct scsi_sense *why)
{
	uint64_t block = to->geo.block_size;

	*why = rod_sense(ROD_VALID);
	if (r->block_size != block)
		return false;
	*why = sense_invalid_parameter(offsetof(struct odx_write, offset));
	if (l->offset > r->bytes / block || l->bytes > r->bytes - l->offset * block)
		return false;
	for (unsigned i = 0; i < l->n && r->lu == to; i++) {
		*why = sense_invalid_parameter(odx_write_field(i));
		if (overlaps(r, &l->ranges[i]))
			return false;
	}
	return true;
}

/* To where the data begins within the token. */
static void seek(struct odx_op *op, uint64_t bytes)
{
	while (op->from < op->rod->n && bytes >= op->rod->ranges[op->from].length)
		bytes -= op->rod->ranges[op->from++].length;
	op->from_at = bytes;
}

/* The token of the list, pinned, if this nexus may use it here. */
static struct rod *open_token(const struct scsi_task *t, const struct odx_list *l,
			      struct itl **ret_source, struct scsi_sense *why)
{
	uint64_t now_ms = reactor_now_ms(t->home->reactor);
	struct rod *r = rod_find(l->token, now_ms, why);

	if (!r)
		return NULL;
	*ret_source = rod_source(r, t->nexus);
	if (!*ret_source)
		*why = sense_make(SENSE_ILLEGAL_REQUEST, ASC_TOKEN_UNKNOWN);
	if (*ret_source && fits(l, r, t->lu, why))
		return r;
	rod_put(r, now_ms);
	return NULL;
}

static void write_begin(struct scsi_task *t, const struct odx_list *l, struct rod *r,
			const struct itl *source)
{
	uint64_t now_ms = reactor_now_ms(t->home->reactor);
	struct odx_op *op = odx_begin(t, l); /* or the task is gone */

	if (!op) {
		if (r)
			rod_put(r, now_ms);
		return;
	}
	op->stop = stop;
	op->until_ms = now_ms + ODX_PATIENCE_MS;
	op->rod = r;
	if (r) {
		op->source = source->lu;
		lu_ref(op->source);
		op->job.source_lun = source->lun;
		seek(op, l->offset * r->block_size);
	}
	if (all_done(op)) {
		complete(op);
	} else if (start_piece(op) < 0) {
		odx_end(op, COPY_ERROR, SCSI_BUSY, NULL);
	} else {
		odx_go_on(op);
	}
}

void odx_write(struct scsi_task *t)
{
	struct itl *source = NULL;
	struct rod *r = NULL;
	struct odx_list l;
	struct scsi_sense why;

	if (!odx_read_write(odx_list_of(t), t->data_out_length, &t->lu->geo, &l, &why)) {
		scsi_action_done(t, &why); /* the LU has shrunk meanwhile */
		return;
	}
	if (!rod_is_zero(l.token)) {
		r = open_token(t, &l, &source, &why);
		if (!r) {
			scsi_action_done(t, &why);
			return;
		}
	}
	write_begin(t, &l, r, source);
}
