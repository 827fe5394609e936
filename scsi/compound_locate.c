/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a READ has failed: a store says that something of it could not be read, a host wants to
 * know the first block (INFORMATION, SBC-3 4.18), for it may write just that one anew. Halves are
 * read until one block is left, unless that takes long: a disk that tries hard for each of them
 * would try the host's patience.
 */
#include "scsi/compound_internal.h"

enum { PATIENCE_MS = 2000 }; /* since the command came */

static bool in_time(const struct compound *c)
{
	uint64_t now_ns = reactor_now_ms(c->t->home->reactor) * 1000000;

	return now_ns - c->t->started_ns < PATIENCE_MS * 1000000ull;
}

/* c->done bytes are good, what is bad begins before c->at. */
static void look_at_probe(struct compound *c)
{
	if (c->failed)
		c->at = c->done + c->piece;
	else
		c->done += c->piece;
	c->failed = NULL;
	c->piece = 0;
}

/* The error that the READ itself has met, at the place that is known now. */
static enum compound_step found(struct compound *c)
{
	struct backing_io *io = &c->ios[0].io;

	io->kind = BACKING_READ;
	io->offset = c->t->plan.offset + c->done;
	io->length = c->t->lu->geo.block_size;
	io->result = c->t->io.result;
	c->failed = &c->ios[0];
	c->may_fail = false;
	return STEP_NEXT;
}

static enum compound_step probe(struct compound *c)
{
	uint32_t block = c->t->lu->geo.block_size;
	const struct iovec *iov;
	uint64_t half;
	unsigned n;

	look_at_probe(c);
	half = (c->at - c->done) / 2;
	half -= half % block;
	if (!half || !in_time(c))
		return found(c);
	if (!compound_scratch(c, half)) {
		c->piece = 0;
		return STEP_WAIT;
	}
	iov = compound_scratch_iov(c, &n);
	compound_io(c, BACKING_READ, c->t->plan.offset + c->done, c->piece, iov, n);
	return STEP_IO;
}

enum compound_step locate_step(struct compound *c)
{
	c->at = c->t->plan.length;
	c->may_fail = true;
	c->step = probe;
	return STEP_NEXT;
}
