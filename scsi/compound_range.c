/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compound commands and the ranges of the LU. One that must be alone on its blocks holds a range
 * from its first read to its last write. The others wait for such a range piece by piece, so that
 * a long UNMAP or WRITE SAME keeps an exclusive command waiting for a piece, not for all of it;
 * they are atomic block by block, as SBC has it, and no more.
 *
 * What a range is held with never waits for memory, and memory may wait for a range: so there is no
 * circle.
 */
#include "scsi/compound_internal.h"
#include "scsi/media.h"

static void granted(struct lu_range *r)
{
	compound_pump(container_of(r, struct compound, range));
}

/* False: nothing is in the way. */
static bool enter(struct compound *c, enum lu_range_kind kind, uint64_t offset, uint64_t length)
{
	c->range = (struct lu_range){
		.offset = offset,
		.length = length,
		.kind = (uint8_t)kind,
		.reactor = (uint8_t)c->t->home->index,
		.run = granted,
	};
	c->ranged = lu_range_enter(c->t->lu, &c->range);
	return c->ranged;
}

static bool touches_blocks(const struct compound *c)
{
	enum backing_kind kind = c->ios[0].io.kind;

	return kind != BACKING_FLUSH && kind != BACKING_EXTENTS;
}

/* Does a detached write overlap one of the pieces? Then none of them goes out. */
static enum compound_step check_pieces(struct compound *c)
{
	for (unsigned i = 0; i < c->in_flight; i++) {
		const struct backing_io *io = &c->ios[i].io;

		if (!lu_range_busy(c->t->lu, io->offset, io->length))
			continue;
		c->in_flight = 0;
		return STEP_BUSY;
	}
	return STEP_IO;
}

enum compound_step compound_range_ask(struct compound *c)
{
	const struct scsi_task *t = c->t;

	uint32_t gate = atomic_load(&t->itl->gate);

	if (!(gate & GATE_RANGE) || c->exclusive || !touches_blocks(c))
		return STEP_IO;
	if (gate & GATE_NOT_READY && media_state(atomic_load(&t->lu->not_ready))) {
		c->in_flight = 0;
		c->sense = media_not_ready(t->lu);
		return STEP_FAIL;
	}
	c->held = enter(c, RANGE_SHARED, t->io.offset, t->io.length);
	return c->held ? STEP_WAIT : check_pieces(c);
}

enum compound_step compound_range_released(struct compound *c)
{
	c->held = false;
	return check_pieces(c);
}

enum compound_step compound_range_lock(struct compound *c)
{
	const struct scsi_plan *p = &c->t->plan;

	c->exclusive = true;
	return enter(c, RANGE_EXCLUSIVE, p->offset, p->length) ? STEP_WAIT : STEP_NEXT;
}

enum compound_step compound_range_locked(struct compound *c)
{
	struct scsi_task *t = c->t;

	/* What came while it waited forbids it, as it does what waits elsewhere. */
	if (exec_held_up(t, atomic_load(&t->itl->gate)))
		return STEP_STATUS;
	return lu_range_busy(t->lu, c->range.offset, c->range.length) ? STEP_BUSY : STEP_NEXT;
}

void compound_range_leave(struct compound *c)
{
	if (c->ranged)
		lu_range_leave(c->t->lu, &c->range);
	c->ranged = false;
}

void compound_range_ended(struct compound *c)
{
	const struct scsi_task *t = c->t;

	if (t->state == TASK_DETACHED || c->exclusive)
		return;
	compound_range_leave(c);
	if (atomic_load(&t->itl->gate) & GATE_RANGE)
		lu_range_poke(t->lu, t->home->reactor);
}

void compound_detached(struct scsi_task *t)
{
	compound_range_leave(t->priv);
}

bool compound_under_way(const struct scsi_task *t, const struct lu_range *r)
{
	const struct compound *c = t->priv;

	return c && c->in_flight && !c->held && !c->ranged && touches_blocks(c) &&
	       t->io.offset < r->offset + r->length && r->offset < t->io.offset + t->io.length;
}
