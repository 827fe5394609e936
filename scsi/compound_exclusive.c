/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that are alone on their blocks: COMPARE AND WRITE (SBC-3 5.2), ORWRITE (5.10) and WRITE
 * ATOMIC (SBC-4 5.48). The memory they need is taken first, then the range, then they run.
 */
#include "scsi/compound_internal.h"
#include "scsi/iov.h"

static enum compound_step read_piece(struct compound *c)
{
	const struct scsi_plan *p = &c->t->plan;
	const struct iovec *iov;
	unsigned n;

	(void)compound_scratch(c, p->length - c->done); /* kept: it is there */
	iov = compound_scratch_iov(c, &n);
	compound_io(c, BACKING_READ, p->offset + c->done, c->piece, iov, n);
	return STEP_IO;
}

enum { COMPARE_READ, COMPARE_COMPARE, COMPARE_WRITTEN };

/* The second half of what was sent. It is on the medium before GOOD, for hosts lock with it: a lock
 * that was given must not be forgotten with the cache. */
static enum compound_step write_instance(struct compound *c)
{
	const struct scsi_task *t = c->t;
	const struct scsi_plan *p = &t->plan;
	unsigned n = iov_slice(t->buf.iov, t->buf.n, p->length, p->length, c->slice);

	compound_io(c, BACKING_WRITE, p->offset, p->length, c->slice, n);
	c->ios[0].io.durable = true;
	exec_count_write(t, p->length);
	return STEP_IO;
}

static enum compound_step compare_write_step(struct compound *c)
{
	const struct scsi_task *t = c->t;
	const struct iovec *iov;
	size_t at;
	unsigned n;

	switch (c->phase) {
	case COMPARE_READ:
		c->phase = COMPARE_COMPARE;
		return read_piece(c);
	case COMPARE_COMPARE:
		iov = compound_scratch_iov(c, &n);
		at = iov_mismatch(iov, n, t->buf.iov, t->buf.n, c->done, c->piece);
		if (at < c->piece) {
			c->sense = sense_miscompare(c->done + at);
			return STEP_FAIL;
		}
		c->done += c->piece;
		c->phase = COMPARE_READ;
		if (c->done < t->plan.length)
			return STEP_NEXT;
		c->phase = COMPARE_WRITTEN;
		return write_instance(c);
	default:
		return STEP_GOOD;
	}
}

enum { OR_READ, OR_WRITE, OR_WRITTEN };

static enum compound_step or_write_step(struct compound *c)
{
	const struct scsi_task *t = c->t;
	const struct iovec *iov;
	unsigned n;

	switch (c->phase) {
	case OR_READ:
		c->phase = OR_WRITE;
		return read_piece(c);
	case OR_WRITE:
		iov = compound_scratch_iov(c, &n);
		iov_or(iov, n, t->buf.iov, t->buf.n, c->done, c->piece);
		compound_io(c, BACKING_WRITE, t->plan.offset + c->done, c->piece, iov, n);
		c->phase = OR_WRITTEN;
		return STEP_IO;
	default:
		c->done += c->piece;
		c->phase = OR_READ;
		if (c->done < t->plan.length)
			return STEP_NEXT;
		exec_count_write(t, t->plan.length);
		return STEP_GOOD;
	}
}

/* One I/O: a store that offers atomic writes does not tear it. */
static enum compound_step write_atomic_step(struct compound *c)
{
	const struct scsi_task *t = c->t;

	if (c->phase++) {
		exec_count_write(t, t->plan.length);
		return STEP_GOOD;
	}
	compound_io(c, BACKING_WRITE, t->plan.offset, t->plan.length, t->buf.iov, t->buf.n);
	return STEP_IO;
}

static const struct {
	bool scratch; /* reads what is there */
	enum compound_step (*step)(struct compound *c);
} exclusive[] = {
	[COMPOUND_COMPARE_WRITE] = { true, compare_write_step },
	[COMPOUND_OR_WRITE] = { true, or_write_step },
	[COMPOUND_WRITE_ATOMIC] = { false, write_atomic_step },
};

enum { EXCLUSIVE_MEMORY, EXCLUSIVE_GRANTED };

enum compound_step exclusive_step(struct compound *c)
{
	const struct scsi_plan *p = &c->t->plan;

	if (c->phase == EXCLUSIVE_MEMORY) {
		if (exclusive[p->compound].scratch && !compound_scratch(c, p->length))
			return STEP_WAIT;
		c->keep = true;
		c->phase = EXCLUSIVE_GRANTED;
		return compound_range_lock(c);
	}
	c->phase = 0;
	c->step = exclusive[p->compound].step;
	return compound_range_locked(c);
}
