/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A piece of a copy: a READ of the source and a WRITE of what it has brought, or zeros. Each is a
 * task whose port is here. A task that somebody else stops (a reset, the fence of a reservation)
 * fails the job in the next turn: whoever stops it walks over the tasks, and may be about to stop
 * the command for which we copy.
 */
#include "scsi/compound.h"
#include "scsi/copy_internal.h"
#include "scsi/home.h"
#include "scsi/opcodes.h"

#define MAP_ANSWER (8u + 16u * COPY_RUNS) /* GET LBA STATUS */

static const uint8_t no_cdb[16];

/* SPC-4 5.17: the source is read, the destination is written. */
static const struct scsi_op op_read = { .name = "copy: read",
					.access = ACCESS_READ,
					.flags = OP_MEDIUM };
static const struct scsi_op op_write = { .name = "copy: write",
					 .access = ACCESS_WRITE,
					 .flags = OP_MEDIUM | OP_CHANGES };

static const struct scsi_port_ops port;

static bool is_source(const struct scsi_task *t)
{
	return t->read;
}

static struct copy_piece *piece_of(struct scsi_task *t)
{
	return is_source(t) ? container_of(t, struct copy_piece, source)
			    : container_of(t, struct copy_piece, destination);
}

static void set_busy(struct copy_piece *p, const struct scsi_task *t, bool busy)
{
	bool *is = is_source(t) ? &p->reads : &p->writes;

	if (*is == busy)
		return;
	*is = busy;
	if (busy)
		p->copy->users++;
	else
		p->copy->users--;
}

/* Gives the task to the executor. */
static void submit(struct copy_piece *p, struct scsi_task *t, const struct scsi_plan *plan,
		   struct arena_buf *data)
{
	struct scsi_copy *c = p->copy;
	bool source = t == &p->source;
	struct scsi_own own = {
		.op = source ? &op_read : &op_write,
		.lu = source ? c->source : c->destination,
		.plan = *plan,
		.data = data,
	};

	t->port = &port;
	t->nexus = c->nexus;
	t->lun = source ? c->job->source_lun : c->job->destination_lun;
	t->cdb = no_cdb;
	t->cdb_length = sizeof(no_cdb);
	t->read = source;
	t->write = !source;
	t->edtl = p->kind == COPY_MAP ? MAP_ANSWER : p->length;
	set_busy(p, t, true);
	scsi_submit_own(t, &own);
}

/* The executor has let go of a task that has ended. */
static void finish(struct copy_piece *p, struct scsi_task *t)
{
	set_busy(p, t, false);
	scsi_finish(t);
}

static void write_what_was_read(struct copy_piece *p)
{
	struct scsi_plan plan = {
		.kind = PLAN_WRITE, .offset = p->to, .length = p->length, .data_length = p->length
	};
	struct arena_buf data;

	arena_buf_move(&data, &p->source.buf);
	finish(p, &p->source);
	if (p->copy->job)
		submit(p, &p->destination, &plan, &data);
	else
		arena_put(p->copy->home->arena, &data);
}

/* Data of the source: what is to be written, or its map. */
static void data_in(struct scsi_task *t)
{
	struct copy_piece *p = piece_of(t);
	struct scsi_copy *c = p->copy;

	copy_hold(c);
	if (p->kind == COPY_MAP) {
		copy_map_take(&c->map, t, p->from, p->from + p->length);
		finish(p, t);
		copy_piece_over(p, true);
	} else {
		write_what_was_read(p);
	}
	copy_pump(c);
	copy_drop(c);
}

/* Status alone. */
static void done(struct scsi_task *t)
{
	struct copy_piece *p = piece_of(t);
	struct scsi_copy *c = p->copy;
	bool good = t->status == SCSI_GOOD;

	copy_hold(c);
	if (p->kind == COPY_MAP) /* the READ that comes next will tell what is wrong */
		copy_map_unknown(&c->map, p->from, p->from + p->length);
	else if (!good)
		copy_failed(p, t, t->status);
	finish(p, t);
	copy_piece_over(p, good);
	copy_pump(c);
	copy_drop(c);
}

static void detached_done(struct scsi_task *t)
{
	struct copy_piece *p = piece_of(t);
	struct scsi_copy *c = p->copy;

	copy_hold(c);
	set_busy(p, t, false);
	copy_drop(c);
}

/* Whatever is handed to this port is taken within the call. */
static bool release(struct scsi_task *t)
{
	(void)t;
	return true;
}

static void stop(struct copy_piece *p, struct scsi_task *t)
{
	if (scsi_abort(t))
		set_busy(p, t, false);
}

static void stopped(struct scsi_task *t)
{
	struct copy_piece *p = piece_of(t);
	struct scsi_copy *c = p->copy;

	copy_hold(c);
	copy_failed(p, t, SCSI_TASK_ABORTED);
	stop(p, t);
	copy_piece_over(p, false);
	copy_pump_later(c);
	copy_drop(c);
}

static const struct scsi_port_ops port = {
	.data_in = data_in,
	.done = done,
	.detached_done = detached_done,
	.release = release,
	.abort = stopped,
};

void copy_piece_start(struct copy_piece *p)
{
	struct scsi_plan read = { .kind = PLAN_READ, .offset = p->from, .length = p->length };
	struct scsi_plan map = { .kind = PLAN_COMPOUND,
				 .compound = COMPOUND_LBA_STATUS,
				 .offset = p->from,
				 .data_length = MAP_ANSWER };
	struct scsi_plan zero = { .kind = PLAN_COMPOUND,
				  .compound = COMPOUND_ZERO,
				  .may_trim = p->copy->destination->geo.thin,
				  .offset = p->to,
				  .length = p->length };

	switch (p->kind) {
	case COPY_READ_WRITE:
		submit(p, &p->source, &read, NULL);
		return;
	case COPY_MAP:
		submit(p, &p->source, &map, NULL);
		return;
	case COPY_ZERO:
		submit(p, &p->destination, &zero, NULL);
		return;
	}
}

void copy_piece_cancel(struct copy_piece *p)
{
	if (p->writes)
		stop(p, &p->destination);
	if (p->reads)
		stop(p, &p->source);
}
