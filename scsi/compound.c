/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pump. A step submits I/O; when all of it has ended the next step follows, in the same turn
 * if the store completes inline, but only a few times: then the timer continues in the next turn,
 * so that a long command on a fast store leaves room for others.
 *
 * Scratch comes from the arena; when it has none, from the one reserve of the reactor; else the
 * command waits for either. Whoever has scratch needs nothing more to finish its piece, so this
 * never locks up, whatever holds the arena.
 */
#include "scsi/compound_internal.h"
#include "scsi/iov.h"
#include "scsi/rod.h"

#include <string.h>

enum { INLINE_STEPS = 4 };

size_t compound_size(void)
{
	return sizeof(struct compound);
}

static struct scsi_home *home_of(const struct compound *c)
{
	return c->t->home;
}

static void compound_free(struct compound *c)
{
	struct scsi_home *home = home_of(c);

	c->t->priv = NULL;
	compound_range_leave(c);
	list_del(&c->wait_node);
	reactor_timer_disarm(&c->yield);
	compound_scratch_put(c);
	pool_put(home->compounds, c);
}

/*
 * The command is through: frees its state. What is given back sets other tasks going, and their
 * port may stop this one meanwhile; false: then it has ended here.
 */
static bool compound_over(struct compound *c)
{
	struct scsi_task *t = c->t;

	compound_free(c);
	if (t->state != TASK_DETACHED)
		return true;
	exec_detached_done(t);
	return false;
}

void compound_scratch_put(struct compound *c)
{
	struct scsi_home *home = home_of(c);

	if (c->reserve.iov_base) {
		c->reserve.iov_base = NULL;
		home->reserve_taken = false;
	} else if (c->scratch.n) {
		arena_put(home->arena, &c->scratch);
	} else {
		return;
	}
	c->filled = false;
	if (!list_empty(&home->scratch_waiters))
		reactor_defer(home->reactor, REACTOR_STAGE_SUBMIT, &home->settle_job);
}

bool compound_scratch(struct compound *c, uint64_t length)
{
	struct scsi_home *home = home_of(c);
	uint32_t want = length < COMPOUND_PIECE ? (uint32_t)length : COMPOUND_PIECE;

	if (c->keep) { /* never given away while others wait for the range */
		size_t held = c->reserve.iov_base ? HOME_RESERVE : c->scratch.length;

		c->piece = want < held ? want : (uint32_t)held;
		c->reserve.iov_len = c->piece;
		return true;
	}
	if (c->reserve.iov_base && !list_empty(&home->scratch_waiters)) {
		compound_scratch_put(c); /* in turns */
		list_add_tail(&home->scratch_waiters, &c->wait_node);
		return false;
	}
	if (c->reserve.iov_base) {
		c->piece = want < HOME_RESERVE ? want : HOME_RESERVE;
		c->reserve.iov_len = c->piece;
		return true;
	}
	if (c->scratch.n && c->scratch.length == want) {
		c->piece = want;
		return true;
	}
	compound_scratch_put(c);
	if (!arena_get(home->arena, want, &c->scratch)) {
		c->piece = want;
		return true;
	}
	if (!home->reserve_taken) {
		home->reserve_taken = true;
		c->reserve.iov_base = home->reserve;
		return compound_scratch(c, length);
	}
	list_add_tail(&home->scratch_waiters, &c->wait_node);
	return false;
}

const struct iovec *compound_scratch_iov(struct compound *c, unsigned *ret_n)
{
	if (c->reserve.iov_base) {
		*ret_n = 1;
		return &c->reserve;
	}
	if (c->piece < c->scratch.length) {
		*ret_n = iov_slice(c->scratch.iov, c->scratch.n, 0, c->piece, c->slice);
		return c->slice;
	}
	*ret_n = c->scratch.n;
	return c->scratch.iov;
}

/*
 * An exclusive command waits for the pieces in flight: of 1 GiB that would be long enough for a
 * host to take its datastore for lost. As long as the LU has seen none, pieces are long.
 */
static uint32_t longest_span(const struct scsi_lu *lu, uint32_t unit)
{
	uint32_t most = atomic_load(&lu->keeps_memory) ? COMPOUND_SHORT : COMPOUND_SPAN;

	if (unit > most)
		most = COMPOUND_SPAN;
	return unit && unit < most ? most - most % unit : most;
}

uint32_t compound_span(const struct compound *c, uint64_t offset, uint64_t left)
{
	const struct backing_info *info = &c->t->itl->queue->backing->info;
	uint32_t longest = longest_span(c->t->lu, info->trim_granularity);
	uint64_t from = offset + longest - info->trim_alignment % longest;
	uint64_t span = longest - from % longest;

	return (uint32_t)(span < left ? span : left);
}

/* Those that come first try first; who gets nothing queues again. */
void compound_serve_scratch(struct scsi_home *home)
{
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, &home->scratch_waiters);
	while ((n = list_pop(&now)))
		compound_pump(list_entry(n, struct compound, wait_node));
}

static void io_done(struct backing_io *io)
{
	struct compound_io *cio = container_of(io, struct compound_io, io);
	struct compound *c = cio->c;
	struct scsi_task *t = c->t;

	if (io->result < 0 && !c->failed)
		c->failed = cio;
	if (--c->in_flight)
		return;
	compound_range_ended(c);
	if (c->pumping)
		return;
	if (t->state == TASK_DETACHED)
		(void)compound_over(c);
	else
		compound_pump(c);
}

void compound_io(struct compound *c, enum backing_kind kind, uint64_t offset, uint64_t length,
		 const struct iovec *iov, unsigned n)
{
	struct compound_io *cio = &c->ios[c->in_flight];
	struct scsi_task *t = c->t;
	uint64_t end = offset + length;

	cio->c = c;
	cio->io.kind = kind;
	cio->io.durable = exec_durable(t) && kind != BACKING_READ;
	cio->io.may_trim = t->plan.may_trim;
	cio->io.offset = offset;
	cio->io.length = length;
	cio->io.iov = iov;
	cio->io.iovcnt = n;
	cio->io.extents = c->extents;
	cio->io.max_extents = COMPOUND_EXTENTS;
	cio->io.n_extents = 0;
	cio->io.result = 0;
	cio->io.done = io_done;
	t->write_io = kind == BACKING_WRITE || kind == BACKING_TRIM || kind == BACKING_ZERO;
	/* What is in flight, from the first byte to the last: for detaching. */
	if (!c->in_flight) {
		t->io.offset = offset;
		t->io.length = length;
	} else {
		uint64_t last = t->io.offset + t->io.length;

		if (offset < t->io.offset)
			t->io.offset = offset;
		t->io.length = (end > last ? end : last) - t->io.offset;
	}
	c->in_flight++;
}

/* Tokens of what changes now are void. */
static void touch(const struct compound *c)
{
	const struct scsi_task *t = c->t;

	if (!t->write_io || !(atomic_load(&t->itl->gate) & GATE_TOKEN))
		return;
	for (unsigned i = 0; i < c->in_flight; i++)
		rod_touch(t->lu, c->ios[i].io.offset, c->ios[i].io.length,
			  reactor_now_ms(t->home->reactor));
}

/* Hands to the store what the step has prepared. */
static void submit_prepared(struct compound *c)
{
	unsigned n = c->in_flight;

	touch(c);
	for (unsigned i = 0; i < n; i++)
		backing_submit(c->t->itl->queue, &c->ios[i].io);
}

static void end(struct compound *c, enum compound_step step)
{
	struct scsi_task *t = c->t;
	struct scsi_sense sense = c->sense;

	if (!compound_over(c))
		return;
	switch (step) {
	case STEP_FAIL:
		exec_fail(t, sense);
		return;
	case STEP_BUSY:
		exec_status(t, SCSI_BUSY);
		return;
	case STEP_STATUS:
		exec_status(t, t->status);
		return;
	case STEP_ANSWER:
		exec_answer(t);
		return;
	default:
		exec_status(t, SCSI_GOOD);
		return;
	}
}

static void end_failed(struct compound *c)
{
	struct scsi_task *t = c->t;
	struct backing_io io = c->failed->io;

	if (compound_over(c))
		exec_io_failed(t, &io);
}

static enum compound_step next_step(struct compound *c)
{
	enum compound_step step;

	if (c->held)
		return compound_range_released(c);
	step = c->step(c);
	if (step != STEP_IO || c->t->state == TASK_DETACHED)
		return step;
	return compound_range_ask(c);
}

void compound_pump(struct compound *c)
{
	enum compound_step step = STEP_IO;
	struct scsi_task *t = c->t;
	unsigned steps = 0;

	c->pumping = true;
	while (step == STEP_IO || step == STEP_NEXT) {
		if (c->failed && !c->may_fail) {
			end_failed(c);
			return;
		}
		if (step == STEP_IO && steps++ == INLINE_STEPS) {
			reactor_timer_arm(home_of(c)->reactor, &c->yield, 0);
			break;
		}
		step = next_step(c);
		if (t->state == TASK_DETACHED) { /* as in compound_over */
			(void)compound_over(c);
			return;
		}
		if (step == STEP_IO)
			submit_prepared(c);
		if (c->in_flight || step == STEP_WAIT)
			break;
	}
	c->pumping = false;
	if (step > STEP_NEXT)
		end(c, step);
}

static void yielded(struct reactor_timer *timer)
{
	compound_pump(container_of(timer, struct compound, yield));
}

static enum compound_step (*const first_steps[])(struct compound *c) = {
	[COMPOUND_VERIFY_MEDIUM] = verify_step,
	[COMPOUND_VERIFY_DATA] = verify_step,
	[COMPOUND_VERIFY_BLOCK] = verify_step,
	[COMPOUND_WRITE_VERIFY] = write_verify_step,
	[COMPOUND_WRITE_SAME] = write_same_step,
	[COMPOUND_ZERO] = zero_step,
	[COMPOUND_UNMAP] = unmap_step,
	[COMPOUND_LBA_STATUS] = lba_status_step,
	[COMPOUND_COMPARE_WRITE] = exclusive_step,
	[COMPOUND_OR_WRITE] = exclusive_step,
	[COMPOUND_WRITE_ATOMIC] = exclusive_step,
	[COMPOUND_LOCATE] = locate_step,
};

void compound_start(struct scsi_task *t)
{
	struct compound *c = pool_get(t->home->compounds);

	if (!c) {
		exec_status(t, SCSI_BUSY);
		return;
	}
	c->t = t;
	c->step = first_steps[t->plan.compound];
	c->phase = 0;
	c->done = c->at = 0;
	c->piece = 0;
	c->pumping = c->filled = c->may_fail = false;
	c->keep = c->exclusive = c->ranged = c->held = false;
	c->in_flight = 0;
	c->failed = NULL;
	c->scratch.iov = c->scratch.inl;
	c->scratch.n = 0;
	c->scratch.length = 0;
	c->reserve.iov_base = NULL;
	list_init(&c->wait_node);
	reactor_timer_init(&c->yield, yielded);
	t->priv = c;
	t->state = TASK_IO;
	compound_pump(c);
}

bool compound_cancel(struct scsi_task *t)
{
	struct compound *c = t->priv;

	if (!c || (c->in_flight && !c->held) || c->pumping)
		return false;
	compound_free(c);
	return true;
}
