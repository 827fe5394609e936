/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/media.h"

#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/exec_internal.h"
#include "scsi/iov.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEDIA_ZERO   (64u << 20) /* bytes zeroed by one I/O */
#define MEDIA_BUFFER 1048576u    /* bytes of pattern written by one I/O */
#define BLOCK_MAX    4096u

#define SANITIZE_IMMED  0x80
#define SANITIZE_AUSE   0x20
#define SANITIZE_ACTION 0x1f
#define FORMAT_IMMED    0x02

enum sanitize_action { SANITIZE_OVERWRITE = 0x01, SANITIZE_EXIT_FAILURE = 0x1f };

/* The parameter list of OVERWRITE, SBC-3 5.28.2. */
struct overwrite_list {
	uint8_t flags, reserved, length[2]; /* INVERT, TEST, OVERWRITE COUNT; of the pattern */
};
_Static_assert(sizeof(struct overwrite_list) == 4, "SBC-3 5.28.2");

struct media_op {
	struct scsi_lu *lu;
	struct scsi_home *home;
	struct backing_queue *queue;
	struct scsi_task *t; /* answered at the end; NULL: it has been (IMMED) */
	int failure;         /* the state that an error leaves */
	bool unrestricted;   /* AUSE: a host may take it back after a failure */
	bool may_trim;
	unsigned passes, pass; /* OVERWRITE */
	bool invert;
	uint32_t pattern_length;
	uint8_t *buffer; /* of the pattern; NULL: zeros by the store */
	struct iovec iov;
	uint64_t size, done;
	struct lu_range range; /* all of it */
	struct reactor_timer timer;
	struct backing_io io;
};

struct scsi_sense media_not_ready(const struct scsi_lu *lu)
{
	int state = atomic_load(&lu->not_ready);
	struct scsi_sense sense = sense_not_ready(state);

	if (media_state(state) && !media_failed(state)) {
		sense.progress_valid = true;
		sense.progress = atomic_load(&lu->media_progress);
	}
	return sense;
}

/* Gives back everything and leaves the LU in a state. */
static void media_end(struct media_op *op, int state)
{
	struct scsi_task *t = op->t;
	struct scsi_sense sense = sense_not_ready(state);
	struct scsi_lu *lu = op->lu;

	reactor_timer_disarm(&op->timer);
	lu_set_not_ready(lu, (enum lu_not_ready)state);
	lu_range_leave(lu, &op->range);
	lu_queue_put(lu, op->home->reactor);
	free(op->buffer);
	free(op);
	if (t)
		scsi_action_done(t, state == LU_READY ? NULL : &sense);
	lu_unref(lu);
}

static void step(struct media_op *op);

static void io_done(struct backing_io *io)
{
	struct media_op *op = container_of(io, struct media_op, io);

	if (io->result < 0) {
		exec_count(op, errors, 1);
		media_end(op, op->failure);
		return;
	}
	op->done += io->length;
	reactor_timer_arm(op->home->reactor, &op->timer, 0); /* others have their turn */
}

static void timer_fired(struct reactor_timer *timer)
{
	step(container_of(timer, struct media_op, timer));
}

/* It begins anew in each logical block. */
static void fill_pattern(struct media_op *op)
{
	uint32_t block = op->lu->geo.block_size;

	for (uint32_t at = op->pattern_length; at < MEDIA_BUFFER; at++)
		op->buffer[at] = op->buffer[at % block % op->pattern_length];
}

/* With INVERT the passes alternate (SBC-3 5.28.2). */
static void next_pass(struct media_op *op)
{
	op->done = 0;
	op->pass++;
	if (!op->buffer || !op->invert)
		return;
	for (uint32_t at = 0; at < MEDIA_BUFFER; at++)
		op->buffer[at] = (uint8_t)~op->buffer[at];
}

static void submit(struct media_op *op, enum backing_kind kind, uint64_t length)
{
	op->iov = (struct iovec){ .iov_base = op->buffer, .iov_len = length };
	op->io = (struct backing_io){
		.kind = kind,
		.may_trim = op->may_trim,
		.offset = kind == BACKING_FLUSH ? 0 : op->done,
		.length = kind == BACKING_FLUSH ? 0 : length,
		.iov = kind == BACKING_WRITE ? &op->iov : NULL,
		.iovcnt = kind == BACKING_WRITE,
		.done = io_done,
	};
	backing_submit(op->queue, &op->io);
}

static void show_progress(struct media_op *op)
{
	uint64_t whole = op->size / 65535 + 1;
	uint64_t units = (op->done / whole + op->pass * (op->size / whole)) / op->passes;

	atomic_store(&op->lu->media_progress, (uint16_t)(units < 65535 ? units : 65535));
}

/* Nobody else refers to the LU: it has been removed, or the process ends. */
static bool is_left(const struct media_op *op)
{
	unsigned own = op->t && op->t->state == TASK_DETACHED ? 2 : 1;

	return atomic_load(&op->lu->refs) == own;
}

/* The next piece; each pass ends with a flush, or the passes would meet in the cache. */
static void step(struct media_op *op)
{
	uint64_t left = op->size - op->done;
	uint64_t most = op->buffer ? MEDIA_BUFFER : MEDIA_ZERO;

	show_progress(op);
	if (is_left(op)) {
		media_end(op, op->failure);
	} else if (left) {
		submit(op, op->buffer ? BACKING_WRITE : BACKING_ZERO, left < most ? left : most);
	} else if (op->io.kind != BACKING_FLUSH) {
		submit(op, BACKING_FLUSH, 0);
	} else if (op->pass + 1 < op->passes) {
		next_pass(op);
		step(op);
	} else {
		media_end(op, LU_READY);
	}
}

/* What was under way on any reactor has ended. */
static void granted(struct lu_range *r)
{
	step(container_of(r, struct media_op, range));
}

/* False: another one was faster. */
static bool take_lu(struct scsi_lu *lu, int state)
{
	int now = atomic_load(&lu->not_ready);

	do {
		if (now != LU_READY && !media_failed(now))
			return false;
	} while (!atomic_compare_exchange_weak(&lu->not_ready, &now, state));
	atomic_store(&lu->media_progress, 0);
	lu_set_not_ready(lu, (enum lu_not_ready)state);
	return true;
}

static struct media_op *media_create(struct scsi_task *t, bool buffer)
{
	struct media_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	if (buffer)
		op->buffer = aligned_alloc(BLOCK_MAX, MEDIA_BUFFER);
	if ((buffer && !op->buffer) || lu_queue_get(t->lu, t->home->reactor, &op->queue) < 0) {
		free(op->buffer);
		free(op);
		return NULL;
	}
	op->lu = t->lu;
	op->home = t->home;
	op->t = t;
	op->passes = 1;
	op->size = atomic_load(&t->lu->geo.blocks) * t->lu->geo.block_size;
	reactor_timer_init(&op->timer, timer_fired);
	op->range = (struct lu_range){ .length = op->size,
				       .kind = RANGE_EXCLUSIVE,
				       .reactor = (uint8_t)t->home->index,
				       .run = granted };
	return op;
}

/* The LU answers NOT READY from here on; with IMMED that is the moment to say GOOD. */
static void media_start(struct media_op *op, int state, int failure, bool immed)
{
	struct scsi_task *t = op->t;
	struct scsi_lu *lu = op->lu;

	if (!take_lu(lu, state)) {
		struct scsi_sense sense = media_not_ready(lu);

		lu_queue_put(lu, op->home->reactor);
		free(op->buffer);
		free(op);
		scsi_action_done(t, &sense);
		return;
	}
	op->failure = failure;
	atomic_store(&lu->media_unrestricted, op->unrestricted);
	lu_ref(lu);
	if (immed)
		op->t = NULL;
	(void)lu_range_enter(lu, &op->range);
	if (immed)
		scsi_action_done(t, NULL);
}

static void no_memory(struct scsi_task *t)
{
	struct scsi_sense sense = sense_from_errno(-ENOMEM, true);

	scsi_action_done(t, &sense);
}

static void format_action(struct scsi_task *t)
{
	struct media_op *op = media_create(t, false);

	if (!op) {
		no_memory(t);
		return;
	}
	op->may_trim = t->lu->geo.thin;
	media_start(op, LU_FORMATTING, LU_FORMAT_FAILED, t->plan.immed);
}

static void sanitize_start(struct media_op *op)
{
	struct scsi_task *t = op->t;

	op->unrestricted = t->cdb[1] & SANITIZE_AUSE;
	media_start(op, LU_SANITIZING, LU_SANITIZE_FAILED, t->plan.immed);
}

static void erase_action(struct scsi_task *t)
{
	struct media_op *op = media_create(t, false);

	if (!op) {
		no_memory(t);
		return;
	}
	op->may_trim = true;
	sanitize_start(op);
}

static void overwrite_action(struct scsi_task *t)
{
	struct media_op *op = media_create(t, true);
	struct overwrite_list list;

	if (!op) {
		no_memory(t);
		return;
	}
	iov_copy_out(t->buf.iov, t->buf.n, 0, &list, sizeof(list));
	op->pattern_length = get_be16(list.length);
	op->passes = list.flags & 0x1f;
	op->invert = list.flags & 0x80;
	iov_copy_out(t->buf.iov, t->buf.n, sizeof(list), op->buffer, op->pattern_length);
	fill_pattern(op);
	sanitize_start(op);
}

/* SBC-3 5.28.4: leaves what has failed as it is, where the host that began has allowed it. */
static void exit_action(struct scsi_task *t)
{
	struct scsi_lu *lu = t->lu;
	struct scsi_sense sense = sense_invalid_field_bit(1, 4);
	int state = LU_SANITIZE_FAILED;

	if (atomic_load(&lu->not_ready) != state) {
		scsi_action_done(t, NULL);
		return;
	}
	if (!atomic_load(&lu->media_unrestricted)) {
		scsi_action_done(t, &sense);
		return;
	}
	lu_set_not_ready(lu, LU_READY);
	scsi_action_done(t, NULL);
}

static struct scsi_plan media_plan(void (*action)(struct scsi_task *t), bool immed)
{
	return (struct scsi_plan){ .kind = PLAN_ACTION, .immed = immed, .action = action };
}

struct scsi_plan media_plan_sanitize(const struct scsi_request *rq)
{
	const uint16_t field = offsetof(struct cdb_sanitize, length);
	uint8_t flags = rq->cdb[1], action = flags & SANITIZE_ACTION;
	uint16_t length = get_be16(rq->cdb + field);

	if (action == SANITIZE_OVERWRITE) {
		if (length <= sizeof(struct overwrite_list) ||
		    length > sizeof(struct overwrite_list) + rq->geo->block_size)
			return plan_fail(sense_invalid_field(field));
		return plan_collect(length);
	}
	if (length)
		return plan_fail(sense_invalid_field(field));
	if (action == SANITIZE_EXIT_FAILURE)
		return media_plan(exit_action, false);
	return media_plan(erase_action, flags & SANITIZE_IMMED);
}

/* INVALID FIELD IN CDB also for the list: it is what hosts look for (iscsi-test-cu). */
struct scsi_plan media_params_overwrite(const struct scsi_request *rq, const uint8_t *list,
					size_t n)
{
	const struct overwrite_list *l = (const void *)list;
	uint16_t pattern = get_be16(l->length);

	if (!(l->flags & 0x1f) || l->flags & 0x60 || l->reserved || !pattern ||
	    pattern > n - sizeof(*l))
		return plan_fail(sense_make(SENSE_ILLEGAL_REQUEST, 0x2400));
	return media_plan(overwrite_action, rq->cdb[1] & SANITIZE_IMMED);
}

#define FORMAT_LONGLIST 0x20
#define FORMAT_FMTDATA  0x10
#define FORMAT_FOV      0x80
#define FORMAT_OPTIONS  0x79 /* DPRY, DCRT, STPF, IP, and what only vendors know */

/* Without a list, or with a header only: no defects are given, and zeros are the only pattern. */
struct scsi_plan media_plan_format(const struct scsi_request *rq)
{
	uint8_t flags = rq->cdb[1];

	if (!(flags & FORMAT_FMTDATA)) {
		if (flags) /* LONGLIST, CMPLST and a format of what is not there */
			return plan_fail(
			    sense_invalid_field_bit(1, (uint8_t)(31 - __builtin_clz(flags))));
		return media_plan(format_action, false);
	}
	return plan_collect(flags & FORMAT_LONGLIST ? 8 : 4);
}

struct scsi_plan media_params_format(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	(void)rq;
	if (list[0] & 0x07) /* PROTECTION FIELD USAGE */
		return plan_fail(sense_invalid_parameter_bit(0, 2));
	/* DPRY, DCRT, STPF and IP need FOV (SBC-3 5.4.2.2); IP brings a pattern, which is refused.
	 */
	if (list[1] & 0x08 || (list[1] & FORMAT_OPTIONS && !(list[1] & FORMAT_FOV)))
		return plan_fail(sense_invalid_parameter(1));
	if (n == 8 && list[3]) /* P_I_INFORMATION, PROTECTION INTERVAL EXPONENT */
		return plan_fail(sense_invalid_parameter(3));
	if (n == 8 ? get_be32(list + 4) : get_be16(list + 2)) /* DEFECT LIST LENGTH */
		return plan_fail(sense_invalid_parameter(n == 8 ? 4 : 2));
	return media_plan(format_action, list[1] & FORMAT_IMMED);
}
