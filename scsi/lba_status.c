/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET LBA STATUS (SBC-3 5.5): the store's extents as runs of blocks. A block is deallocated only
 * if all of it is; the first run begins at the LBA asked for; runs of one kind are one descriptor.
 */
#include "daemon/base/bytes.h"
#include "scsi/compound_internal.h"

#include <errno.h>
#include <string.h>

enum { HEADER = 8, DESCRIPTOR = 16, MAPPED = 0, DEALLOCATED = 1 };

/* The answer as it grows. */
struct runs {
	uint8_t *out;
	unsigned n, max;
	uint64_t at;     /* the next LBA */
	uint64_t blocks; /* of the last run */
	int kind;        /* of the last run */
	bool full;
};

/* What lies between the blocks told so far and `to` is of a kind. */
static void runs_add(struct runs *r, uint64_t to, int kind)
{
	while (r->at < to && !r->full) {
		uint64_t n = to - r->at, room;
		uint8_t *d;

		if (!r->n || r->kind != kind || r->blocks == UINT32_MAX) {
			if (r->n == r->max) {
				r->full = true;
				return;
			}
			d = r->out + HEADER + (size_t)DESCRIPTOR * r->n++;
			memset(d, 0, DESCRIPTOR);
			put_be64(d, r->at);
			d[12] = (uint8_t)kind;
			r->kind = kind;
			r->blocks = 0;
		}
		room = UINT32_MAX - r->blocks;
		if (n > room)
			n = room;
		r->blocks += n;
		r->at += n;
		put_be32(r->out + HEADER + (size_t)DESCRIPTOR * (r->n - 1) + 8,
			 (uint32_t)r->blocks);
	}
}

static void runs_of_extents(struct runs *r, const struct backing_io *io, uint64_t block)
{
	for (unsigned i = 0; i < io->n_extents; i++) {
		const struct backing_extent *e = &io->extents[i];
		uint64_t end = e->offset + e->length;

		if (e->allocated) {
			runs_add(r, (end + block - 1) / block, MAPPED);
		} else {
			runs_add(r, (e->offset + block - 1) / block, MAPPED);
			runs_add(r, end / block, DEALLOCATED);
		}
	}
}

static enum compound_step answer(struct compound *c, const struct backing_io *io)
{
	struct scsi_task *t = c->t;
	uint64_t blocks = atomic_load(&t->lu->geo.blocks);
	uint32_t allocation = t->plan.data_length;
	struct runs r = { .out = t->home->answer, .at = t->plan.offset / t->lu->geo.block_size };

	r.max = 2 * COMPOUND_EXTENTS;
	if (allocation < HEADER + DESCRIPTOR)
		r.max = 1;
	else if ((allocation - HEADER) / DESCRIPTOR < r.max)
		r.max = (allocation - HEADER) / DESCRIPTOR;
	if (io)
		runs_of_extents(&r, io, t->lu->geo.block_size);
	if (!r.n) /* the store cannot tell: mapped or unknown */
		runs_add(&r, blocks, MAPPED);
	memset(r.out, 0, HEADER);
	put_be32(r.out, HEADER - 4 + r.n * DESCRIPTOR);
	t->plan = plan_answer(HEADER + r.n * DESCRIPTOR, allocation);
	return STEP_ANSWER;
}

static enum compound_step extents_step(struct compound *c)
{
	const struct backing_io *io = &c->ios[0].io;

	if (!c->failed)
		return answer(c, io);
	if (io->result == -ENOTSUP || io->result == -ENOSYS || io->result == -ENOTTY)
		return answer(c, NULL);
	c->may_fail = false;
	return STEP_NEXT;
}

enum compound_step lba_status_step(struct compound *c)
{
	struct scsi_task *t = c->t;
	const struct lu_geometry *g = &t->lu->geo;
	uint64_t size = atomic_load(&g->blocks) * g->block_size;

	if (!g->thin || t->plan.offset >= size)
		return answer(c, NULL);
	c->may_fail = true;
	c->step = extents_step;
	compound_io(c, BACKING_EXTENTS, t->plan.offset, size - t->plan.offset, NULL, 0);
	return STEP_IO;
}
