/* SPDX-License-Identifier: BSD-2-Clause */
/* VERIFY and WRITE AND VERIFY (SBC-3 5.34, 5.44). */
#include "scsi/compound_internal.h"
#include "scsi/iov.h"

enum { VERIFY_FLUSH, VERIFY_READ, VERIFY_COMPARE };

#define BYTCHK 0x02 /* byte 1 of WRITE AND VERIFY (10), (12) and (16) */

/* The piece read with the same bytes of what was sent. */
static bool same_data(struct compound *c)
{
	const struct arena_buf *sent = &c->t->buf;
	unsigned n;
	const struct iovec *iov = compound_scratch_iov(c, &n);
	size_t at = iov_mismatch(iov, n, sent->iov, sent->n, c->done, c->piece);

	if (at == c->piece)
		return true;
	c->sense = sense_miscompare(c->done + at);
	return false;
}

/* Each block of the piece with the one block that was sent. */
static bool same_block(struct compound *c)
{
	const struct arena_buf *sent = &c->t->buf;
	uint32_t block = c->t->lu->geo.block_size;
	unsigned n;
	const struct iovec *iov = compound_scratch_iov(c, &n);

	for (uint32_t i = 0; i < c->piece; i += block) {
		size_t at = iov_mismatch(sent->iov, sent->n, iov, n, i, block);

		if (at < block) {
			c->sense = sense_miscompare(at);
			return false;
		}
	}
	return true;
}

static bool piece_is_right(struct compound *c)
{
	switch (c->t->plan.compound) {
	case COMPOUND_VERIFY_DATA:
		return same_data(c);
	case COMPOUND_VERIFY_BLOCK:
		return same_block(c);
	case COMPOUND_WRITE_VERIFY:
		return !(c->t->cdb[1] & BYTCHK) || same_data(c);
	default:
		return true; /* that it could be read is all that was asked */
	}
}

static enum compound_step read_piece(struct compound *c)
{
	const struct scsi_plan *p = &c->t->plan;
	const struct iovec *iov;
	unsigned n;

	if (c->done == p->length)
		return STEP_GOOD;
	if (!compound_scratch(c, p->length - c->done))
		return STEP_WAIT;
	iov = compound_scratch_iov(c, &n);
	compound_io(c, BACKING_READ, p->offset + c->done, c->piece, iov, n);
	c->phase = VERIFY_COMPARE;
	return STEP_IO;
}

/* What is verified is the medium: cached writes go there first. */
enum compound_step verify_step(struct compound *c)
{
	switch (c->phase) {
	case VERIFY_FLUSH:
		c->phase = VERIFY_READ;
		if (!(c->t->itl->queue->backing->info.flags & BACKING_VOLATILE_CACHE))
			return STEP_NEXT;
		compound_io(c, BACKING_FLUSH, 0, 0, NULL, 0);
		return STEP_IO;
	case VERIFY_READ:
		return read_piece(c);
	default:
		if (!piece_is_right(c))
			return STEP_FAIL;
		c->done += c->piece;
		c->phase = VERIFY_READ;
		return STEP_NEXT;
	}
}

enum compound_step write_verify_step(struct compound *c)
{
	struct scsi_task *t = c->t;

	compound_io(c, BACKING_WRITE, t->plan.offset, t->plan.length, t->buf.iov, t->buf.n);
	c->ios[0].io.durable = true;
	exec_count_write(t, t->plan.length);
	c->step = verify_step;
	c->phase = VERIFY_READ;
	return STEP_IO;
}
