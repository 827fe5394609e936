/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/copy_internal.h"

#include "scsi/home.h"
#include "scsi/nexus.h"

#include <errno.h>
#include <string.h>

enum { INLINE_PIECES = 4 }; /* begun in one go; then others have their turn */

/* A quarter of the buffers is for copies, the rest for initiators. */
static size_t budget(const struct scsi_home *home)
{
	size_t bytes;
	void *base;

	arena_memory(home->arena, &base, &bytes);
	return bytes / 4;
}

static const struct copy_range *range_now(const struct scsi_copy *c)
{
	return &c->job->ranges[c->range];
}

static uint64_t bytes_of(const struct scsi_copy *c, uint64_t blocks)
{
	return blocks * c->destination->geo.block_size;
}

static bool all_begun(const struct scsi_copy *c)
{
	return c->range == c->job->n_ranges;
}

/* Does data of the range lie where data of it goes? */
static bool overlaps(const struct copy_range *r)
{
	uint64_t distance = r->from < r->to ? r->to - r->from : r->from - r->to;

	return distance < r->blocks;
}

static void fail(struct scsi_copy *c, enum copy_side side, unsigned range, enum scsi_status status,
		 struct scsi_sense sense)
{
	struct copy_job *job = c->job;

	if (!job || c->failed)
		return;
	c->failed = true;
	job->side = side;
	job->range = range;
	job->status = (uint8_t)status;
	job->sense = sense;
}

static bool within(const struct scsi_lu *lu, uint64_t lba, uint64_t blocks)
{
	uint64_t there = atomic_load(&lu->geo.blocks);

	return lba <= there && blocks <= there - lba;
}

/* Not half of a range is copied that does not fit. */
static void check_range(struct scsi_copy *c)
{
	const struct copy_range *r = range_now(c);
	enum copy_side side = COPY_NEITHER;

	if (c->source && !within(c->source, r->from, r->blocks))
		side = COPY_SOURCE;
	else if (!within(c->destination, r->to, r->blocks))
		side = COPY_DESTINATION;
	if (side)
		fail(c, side, c->range, SCSI_CHECK_CONDITION, sense_lba_out_of_range());
}

/* A range begins: in which way. What is read must not have been written before. */
static void begin_range(struct scsi_copy *c)
{
	const struct copy_range *r = range_now(c);
	bool same = c->source == c->destination;

	c->at = 0;
	c->alone = same && overlaps(r);
	c->backwards = c->alone && r->from < r->to;
	if (same)
		c->map.n = 0; /* the range before may have filled holes */
	check_range(c);
}

/* Past what has been handed out, and ranges of no blocks. */
static void advance(struct scsi_copy *c, uint64_t length)
{
	c->at += length;
	while (!all_begun(c) && c->at == bytes_of(c, range_now(c)->blocks)) {
		c->range++;
		c->at = 0;
		if (!all_begun(c))
			begin_range(c);
	}
}

/* From the pool of bytes, in turns with the other copies of the reactor. */
static bool may_take(struct scsi_copy *c, uint32_t length)
{
	struct scsi_home *home = c->home;
	const struct list *first = list_first(&home->copy_waiters);

	if ((!first || first == &c->wait_node) &&
	    (!home->copy_bytes || home->copy_bytes + length <= budget(home))) {
		list_del(&c->wait_node);
		return true;
	}
	if (list_empty(&c->wait_node))
		list_add_tail(&home->copy_waiters, &c->wait_node);
	return false;
}

static bool lu_has_room(const struct scsi_copy *c, uint32_t length)
{
	return !c->in_flight || (atomic_load(&c->source->copy_bytes) + length <= COPY_LU_MAX &&
				 atomic_load(&c->destination->copy_bytes) + length <= COPY_LU_MAX);
}

static void account(struct scsi_copy *c, const struct copy_piece *p, bool begins)
{
	uint64_t n = p->kind == COPY_READ_WRITE ? p->length : 0;

	if (!n)
		return;
	if (!begins)
		n = -n; /* modulo 2^64, as the sums are */
	c->home->copy_bytes += n;
	atomic_fetch_add(&c->source->copy_bytes, n);
	atomic_fetch_add(&c->destination->copy_bytes, n);
}

/* Who waits for bytes has another look. */
static void serve_waiters(struct scsi_home *home)
{
	struct list *first = list_first(&home->copy_waiters);

	if (first)
		copy_pump_later(list_entry(first, struct scsi_copy, wait_node));
}

/* Must the source be asked where its holes are? Backwards they are copied as data. */
static bool wants_map(const struct scsi_copy *c)
{
	return c->source && c->source->geo.thin && !c->backwards;
}

static uint32_t at_most(uint64_t left, uint32_t most)
{
	return left < most ? (uint32_t)left : most;
}

/* What comes next, as a piece with kind, place and length; false: not now. */
static bool next_piece(struct scsi_copy *c, struct copy_piece *p)
{
	const struct copy_range *r = range_now(c);
	uint64_t left = bytes_of(c, r->blocks) - c->at, at = c->at, end;
	uint64_t from = bytes_of(c, r->from), to = bytes_of(c, r->to);
	bool hole = !c->source;

	p->range = c->range;
	p->kind = COPY_ZERO;
	if (wants_map(c)) {
		if (!copy_map_find(&c->map, from + at, &end, &hole)) {
			p->kind = COPY_MAP;
			p->length = at_most(left, UINT32_MAX);
			p->from = from + at;
			return true;
		}
		if (left > end - from - at)
			left = end - from - at;
	}
	p->length = at_most(left, COPY_ZEROS);
	if (!hole) {
		p->kind = COPY_READ_WRITE;
		p->length = at_most(left, c->piece_max);
		if (!lu_has_room(c, p->length) || !may_take(c, p->length))
			return false;
	}
	if (c->backwards)
		at = bytes_of(c, r->blocks) - at - p->length;
	p->from = from + at;
	p->to = to + at;
	return true;
}

static struct copy_piece *free_piece(struct scsi_copy *c)
{
	for (unsigned i = 0; i < COPY_ABREAST; i++)
		if (!c->pieces[i].in_flight && !c->pieces[i].reads && !c->pieces[i].writes)
			return &c->pieces[i];
	return NULL;
}

/* Is anything to be begun now? */
static bool may_begin(const struct scsi_copy *c)
{
	bool first = !c->at && c->range;

	if (!c->job || c->failed || c->mapping || all_begun(c))
		return false;
	return !c->in_flight || !(c->alone || (first && c->source == c->destination));
}

static bool begin_piece(struct scsi_copy *c)
{
	struct copy_piece *p = may_begin(c) ? free_piece(c) : NULL;

	if (!p || !next_piece(c, p))
		return false;
	p->copy = c;
	p->in_flight = true;
	c->in_flight++;
	account(c, p, true);
	if (p->kind == COPY_MAP)
		c->mapping = true;
	else
		advance(c, p->length);
	copy_piece_start(p);
	return true;
}

void copy_failed(struct copy_piece *p, const struct scsi_task *t, enum scsi_status status)
{
	fail(p->copy, t == &p->source ? COPY_SOURCE : COPY_DESTINATION, p->range, status, t->sense);
}

void copy_piece_over(struct copy_piece *p, bool good)
{
	struct scsi_copy *c = p->copy;

	if (!p->in_flight)
		return;
	p->in_flight = false;
	c->in_flight--;
	if (p->kind == COPY_MAP)
		c->mapping = false;
	account(c, p, false);
	if (good && c->job)
		c->job->bytes += p->kind == COPY_MAP ? 0 : p->length;
	serve_waiters(c->home);
}

void copy_hold(struct scsi_copy *c)
{
	c->held++;
}

/* Frees what nobody needs any more. */
void copy_drop(struct scsi_copy *c)
{
	if (--c->held || c->job || c->users)
		return;
	reactor_timer_disarm(&c->resume);
	if (c->source)
		lu_unref(c->source);
	lu_unref(c->destination);
	pool_put(c->home->copies, c);
}

/* The job and the copy part. */
static struct copy_job *let_go(struct scsi_copy *c)
{
	struct copy_job *job = c->job;

	c->job = NULL;
	job->copy = NULL;
	list_del(&c->node);
	list_del(&c->wait_node);
	reactor_timer_disarm(&c->resume);
	serve_waiters(c->home);
	return job;
}

void copy_pump(struct scsi_copy *c)
{
	unsigned n = 0;

	if (c->pumping || !c->job)
		return;
	copy_hold(c);
	c->pumping = true;
	while (n < INLINE_PIECES && begin_piece(c))
		n++;
	c->pumping = false;
	if (n == INLINE_PIECES)
		copy_pump_later(c);
	if (c->job && !c->in_flight && (c->failed || all_begun(c))) {
		struct copy_job *job = let_go(c);

		job->done(job);
	}
	copy_drop(c);
}

void copy_pump_later(struct scsi_copy *c)
{
	if (c->job)
		reactor_timer_arm(c->home->reactor, &c->resume, 0);
}

static void resumed(struct reactor_timer *timer)
{
	copy_pump(container_of(timer, struct scsi_copy, resume));
}

static void copy_init(struct scsi_copy *c, struct copy_job *job)
{
	struct scsi_home *home = job->nexus->home;
	size_t share = budget(home) / COPY_ABREAST;

	memset(c, 0, offsetof(struct scsi_copy, pieces));
	for (unsigned i = 0; i < COPY_ABREAST; i++)
		c->pieces[i].in_flight = c->pieces[i].reads = c->pieces[i].writes = false;
	c->job = job;
	c->nexus = job->nexus;
	c->home = home;
	c->source = job->source;
	c->destination = job->destination;
	c->piece_max = share < COPY_PIECE ? HOME_RESERVE : COPY_PIECE;
	lu_ref(c->destination);
	if (c->source)
		lu_ref(c->source);
	list_init(&c->wait_node);
	list_add_tail(&job->nexus->copies, &c->node);
	reactor_timer_init(&c->resume, resumed);
}

int copy_start(struct copy_job *job)
{
	struct scsi_copy *c;

	job->copy = NULL;
	job->bytes = 0;
	job->side = COPY_NEITHER;
	job->range = 0;
	job->status = SCSI_GOOD;
	if (job->source && job->source->geo.block_size != job->destination->geo.block_size)
		return -EINVAL;
	c = pool_get(job->nexus->home->copies);
	if (!c)
		return -EAGAIN;
	copy_init(c, job);
	job->copy = c;
	if (!all_begun(c)) {
		begin_range(c);
		advance(c, 0);
	}
	copy_pump_later(c);
	return 0;
}

void copy_cancel(struct copy_job *job)
{
	struct scsi_copy *c = job->copy;

	if (!c)
		return;
	copy_hold(c);
	(void)let_go(c);
	for (unsigned i = 0; i < COPY_ABREAST; i++) {
		struct copy_piece *p = &c->pieces[i];

		copy_piece_cancel(p);
		copy_piece_over(p, false);
	}
	copy_drop(c);
}

void copy_nexus_gone(struct it_nexus *n)
{
	struct list *first;

	while ((first = list_first(&n->copies)))
		copy_cancel(list_entry(first, struct scsi_copy, node)->job);
}
