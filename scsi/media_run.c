/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/media.h"

#include "scsi/exec_internal.h"
#include "scsi/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEDIA_ZERO   (64u << 20) /* bytes zeroed by one I/O */
#define MEDIA_BUFFER 1048576u    /* bytes of pattern written by one I/O */
#define BLOCK_MAX    4096u

#define MEDIA_FAILED (LU_IN(LU_FORMAT_FAILED) | LU_IN(LU_SANITIZE_FAILED))
#define MEDIA_RUNS   (LU_IN(LU_FORMATTING) | LU_IN(LU_SANITIZING))

struct media_op {
	struct scsi_lu *lu;
	struct scsi_home *home;
	struct backing_queue *queue;
	struct scsi_task *t; /* answered at the end; NULL: it has been (IMMED), or is long gone */
	bool immed;
	struct kept_media media;
	struct kept_op keep;
	int before, after; /* states: if it cannot begin; in the end */
	bool may_trim;
	unsigned passes, pass;
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

/* What an error leaves. */
static int failure_of(const struct media_op *op)
{
	return op->media.state == LU_FORMATTING ? LU_FORMAT_FAILED : LU_SANITIZE_FAILED;
}

static void media_free(struct media_op *op)
{
	lu_queue_put(op->lu, op->home->reactor);
	free(op->buffer);
	free(op);
}

/* Gives back everything and leaves the LU in its last state. */
static void leave(struct media_op *op)
{
	struct scsi_task *t = op->t;
	struct scsi_sense sense = sense_not_ready(op->after);
	struct scsi_lu *lu = op->lu;
	bool good = op->after == LU_READY;

	reactor_timer_disarm(&op->timer);
	lu_change_state(lu, MEDIA_RUNS, (enum lu_not_ready)op->after);
	lu_range_leave(lu, &op->range);
	media_free(op);
	if (t)
		scsi_action_done(t, good ? NULL : &sense);
	lu_unref(lu);
}

static void edit_end(struct kept_op *k, struct lu_kept *kept)
{
	const struct media_op *op = container_of(k, struct media_op, keep);

	if (op->after == LU_READY)
		memset(&kept->media, 0, sizeof(kept->media));
	else
		kept->media.state = (uint8_t)op->after;
}

/* A restart would begin anew with it: it is not ready as long as it is not written that it is. */
static void end_kept(struct kept_op *k)
{
	struct media_op *op = container_of(k, struct media_op, keep);

	if (k->result)
		op->after = failure_of(op);
	leave(op);
}

static void keep(struct media_op *op, void (*edit)(struct kept_op *, struct lu_kept *),
		 void (*done)(struct kept_op *))
{
	op->keep.lu = op->lu;
	op->keep.reactor = op->home->reactor;
	op->keep.edit = edit;
	op->keep.done = done;
	lu_keep(&op->keep);
}

static void media_end(struct media_op *op, int state)
{
	op->after = state;
	keep(op, edit_end, end_kept);
}

static void step(struct media_op *op);

static void io_done(struct backing_io *io)
{
	struct media_op *op = container_of(io, struct media_op, io);

	if (io->result < 0) {
		exec_count(op, errors, 1);
		media_end(op, failure_of(op));
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

	for (uint32_t at = 0; at < MEDIA_BUFFER; at++)
		op->buffer[at] = op->media.pattern[at % block % op->media.pattern_length];
}

/* With INVERT the passes alternate (SBC-3 5.28.2). */
static void next_pass(struct media_op *op)
{
	op->done = 0;
	op->pass++;
	if (!op->buffer || !op->media.invert)
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
		op->after = failure_of(op); /* what is kept says that it has not ended */
		leave(op);
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

/* NULL: no memory. */
static struct media_op *media_create(struct scsi_lu *lu, struct scsi_home *home,
				     const struct kept_media *media)
{
	struct media_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->media = *media;
	if (media->passes)
		op->buffer = aligned_alloc(BLOCK_MAX, MEDIA_BUFFER);
	if ((media->passes && !op->buffer) || lu_queue_get(lu, home->reactor, &op->queue) < 0) {
		free(op->buffer);
		free(op);
		return NULL;
	}
	op->lu = lu;
	op->home = home;
	op->may_trim = media->state == LU_SANITIZING || lu->geo.thin;
	op->passes = media->passes ? media->passes : 1;
	op->size = atomic_load(&lu->geo.blocks) * lu->geo.block_size;
	if (op->buffer)
		fill_pattern(op);
	reactor_timer_init(&op->timer, timer_fired);
	op->range = (struct lu_range){ .length = op->size,
				       .kind = RANGE_EXCLUSIVE,
				       .reactor = (uint8_t)home->index,
				       .run = granted };
	return op;
}

/* From ready, or from what has failed, to under way; false: another one was faster. */
static bool take_lu(struct media_op *op)
{
	struct scsi_lu *lu = op->lu;
	unsigned from = LU_IN(LU_READY) | MEDIA_FAILED;

	op->before = atomic_load(&lu->not_ready);
	if (!lu_change_state(lu, from & LU_IN(op->before), (enum lu_not_ready)op->media.state))
		return false;
	atomic_store(&lu->media_progress, 0);
	atomic_store(&lu->media_unrestricted, op->media.unrestricted != 0);
	return true;
}

static void edit_begin(struct kept_op *k, struct lu_kept *kept)
{
	memcpy(&kept->media, &container_of(k, struct media_op, keep)->media, sizeof(kept->media));
}

static void start(struct media_op *op)
{
	(void)lu_range_enter(op->lu, &op->range);
}

/* From here on it happens. */
static void begun(struct kept_op *k)
{
	struct media_op *op = container_of(k, struct media_op, keep);
	struct scsi_task *t = op->t;
	struct scsi_lu *lu = op->lu;
	struct scsi_sense sense = kept_failure(k->result);

	if (k->result) {
		lu_change_state(lu, MEDIA_RUNS, (enum lu_not_ready)op->before);
		media_free(op);
		scsi_action_done(t, &sense);
		lu_unref(lu);
		return;
	}
	if (op->immed)
		op->t = NULL;
	start(op);
	if (!op->t)
		scsi_action_done(t, NULL);
}

/* The LU answers NOT READY from here on; with IMMED that is the moment to say GOOD, when it stands
 * on disk. */
void media_begin(struct scsi_task *t, const struct kept_media *media, bool immed)
{
	struct media_op *op = media_create(t->lu, t->home, media);
	struct scsi_sense sense = sense_from_errno(-ENOMEM, true);

	if (!op) {
		scsi_action_done(t, &sense);
		return;
	}
	if (!take_lu(op)) {
		sense = media_not_ready(t->lu);
		media_free(op);
		scsi_action_done(t, &sense);
		return;
	}
	lu_ref(t->lu);
	op->t = t;
	op->immed = immed;
	keep(op, edit_begin, begun);
}

struct resumption {
	struct reactor_msg msg;
	struct scsi_lu *lu;
	struct reactor *reactor;
};

static void resume(struct reactor_msg *msg)
{
	struct resumption *r = container_of(msg, struct resumption, msg);
	struct lu_poke *poke = &r->lu->pokes[reactor_index(r->reactor)];
	struct kept_media media;
	struct media_op *op;

	pthread_mutex_lock(&r->lu->lock);
	if (!poke->reactor) /* perhaps no nexus will ever be here */
		poke->reactor = r->reactor;
	memcpy(&media, &r->lu->kept.media, sizeof(media));
	pthread_mutex_unlock(&r->lu->lock);
	op = media_create(r->lu, scsi_home(r->reactor), &media);
	if (op)
		start(op); /* with the reference of r */
	else
		lu_unref(r->lu);
	free(r);
}

void media_resume(struct scsi_lu *lu, struct reactor *reactor)
{
	struct resumption *r;

	if (!(LU_IN(atomic_load(&lu->not_ready)) & MEDIA_RUNS))
		return;
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	r->lu = lu;
	r->reactor = reactor;
	r->msg.run = resume;
	lu_ref(lu);
	reactor_send(reactor, &r->msg);
}

/* EXIT FAILURE MODE while it is written down. */
struct exit_op {
	struct kept_op keep;
	struct scsi_task *t;
};

static void edit_exit(struct kept_op *k, struct lu_kept *kept)
{
	(void)k;
	if (kept->media.state == LU_SANITIZE_FAILED)
		memset(&kept->media, 0, sizeof(kept->media));
}

static void exited(struct kept_op *k)
{
	struct exit_op *x = container_of(k, struct exit_op, keep);
	struct scsi_sense sense = kept_failure(k->result);

	if (!k->result)
		lu_change_state(k->lu, LU_IN(LU_SANITIZE_FAILED), LU_READY);
	scsi_action_done(x->t, k->result ? &sense : NULL);
	free(x);
}

void media_exit_failure(struct scsi_task *t)
{
	struct scsi_sense sense = sense_invalid_field_bit(1, 4);
	struct exit_op *x;

	if (atomic_load(&t->lu->not_ready) != LU_SANITIZE_FAILED) {
		scsi_action_done(t, NULL);
		return;
	}
	if (!atomic_load(&t->lu->media_unrestricted)) {
		scsi_action_done(t, &sense);
		return;
	}
	x = calloc(1, sizeof(*x));
	if (!x) {
		sense = sense_from_errno(-ENOMEM, true);
		scsi_action_done(t, &sense);
		return;
	}
	x->t = t;
	x->keep.lu = t->lu;
	x->keep.reactor = t->home->reactor;
	x->keep.edit = edit_exit;
	x->keep.done = exited;
	lu_keep(&x->keep);
}
