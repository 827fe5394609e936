/* SPDX-License-Identifier: BSD-2-Clause */
/* WRITE SAME (SBC-3 5.45): a pattern by hand, zeros by the store. */
#include "scsi/compound_internal.h"
#include "scsi/iov.h"

#define BLOCK_MAX 4096u

static void fill_with_pattern(struct compound *c)
{
	const struct scsi_task *t = c->t;
	uint8_t block[BLOCK_MAX];
	unsigned n;
	const struct iovec *iov = compound_scratch_iov(c, &n);

	iov_copy_out(t->buf.iov, t->buf.n, 0, block, t->lu->geo.block_size);
	iov_fill(iov, n, c->piece, block, t->lu->geo.block_size);
	c->filled = true;
}

/* Called again when the former piece has been written. */
static enum compound_step pattern_step(struct compound *c)
{
	const struct scsi_plan *p = &c->t->plan;
	const struct iovec *iov;
	unsigned n;

	c->done += c->piece;
	c->piece = 0;
	if (c->done == p->length)
		return STEP_GOOD;
	if (!compound_scratch(c, p->length - c->done))
		return STEP_WAIT;
	if (!c->filled)
		fill_with_pattern(c);
	iov = compound_scratch_iov(c, &n);
	compound_io(c, BACKING_WRITE, p->offset + c->done, c->piece, iov, n);
	return STEP_IO;
}

static void count_write(struct compound *c)
{
	exec_count(c->t, writes, 1);
	exec_count(c->t, write_bytes, c->t->plan.length);
}

static enum compound_step zero_next(struct compound *c)
{
	const struct scsi_plan *p = &c->t->plan;

	c->done += c->piece;
	if (c->done == p->length)
		return STEP_GOOD;
	c->piece = compound_span(c, p->offset + c->done, p->length - c->done);
	compound_io(c, BACKING_ZERO, p->offset + c->done, c->piece, NULL, 0);
	return STEP_IO;
}

enum compound_step zero_step(struct compound *c)
{
	count_write(c);
	c->step = zero_next;
	return STEP_NEXT;
}

/* Blocks that read as zeros afterwards need no data moved; with UNMAP=1 they may be given back. */
enum compound_step write_same_step(struct compound *c)
{
	const struct scsi_task *t = c->t;

	if (iov_is_zero(t->buf.iov, t->buf.n, t->lu->geo.block_size)) {
		c->step = zero_step;
		return STEP_NEXT;
	}
	count_write(c);
	c->step = pattern_step;
	return STEP_NEXT;
}
