/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/fake_store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct fake_store *store_of(struct backing_queue *q)
{
	return container_of(q->backing, struct fake_store, b);
}

static int queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret)
{
	struct backing_queue *q = calloc(1, sizeof(*q));

	(void)r;
	if (!q)
		return -ENOMEM;
	__atomic_fetch_add(&container_of(b, struct fake_store, b)->queues, 1, __ATOMIC_SEQ_CST);
	*ret = q;
	return 0;
}

static void queue_close(struct backing_queue *q)
{
	__atomic_fetch_sub(&store_of(q)->queues, 1, __ATOMIC_SEQ_CST);
	free(q);
}

static void mark(struct fake_store *s, const struct backing_io *io, uint8_t value)
{
	for (uint64_t u = io->offset / FAKE_STORE_UNIT;
	     u * FAKE_STORE_UNIT < io->offset + io->length; u++) {
		bool whole = u * FAKE_STORE_UNIT >= io->offset &&
			     (u + 1) * FAKE_STORE_UNIT <= io->offset + io->length;

		if (value || whole)
			s->allocated[u] = value;
	}
}

static void extents(struct fake_store *s, struct backing_io *io)
{
	uint64_t at = io->offset, end = io->offset + io->length;

	while (at < end && io->n_extents < io->max_extents) {
		struct backing_extent *e = &io->extents[io->n_extents++];

		e->offset = at;
		e->allocated = s->allocated[at / FAKE_STORE_UNIT];
		while (at < end && (bool)s->allocated[at / FAKE_STORE_UNIT] == e->allocated)
			at = (at / FAKE_STORE_UNIT + 1) * FAKE_STORE_UNIT;
		e->length = (at < end ? at : end) - e->offset;
	}
}

static void move(struct fake_store *s, const struct backing_io *io)
{
	uint8_t *at = s->bytes + io->offset;

	for (unsigned i = 0; i < io->iovcnt; i++) {
		if (io->kind == BACKING_READ)
			memcpy(io->iov[i].iov_base, at, io->iov[i].iov_len);
		else
			memcpy(at, io->iov[i].iov_base, io->iov[i].iov_len);
		at += io->iov[i].iov_len;
	}
}

static int carry_out(struct fake_store *s, struct backing_io *io)
{
	if (s->error && (!s->error_kind || s->error_kind == io->kind) &&
	    (io->kind == BACKING_FLUSH || io->offset + io->length > s->error_from))
		return s->error;
	switch (io->kind) {
	case BACKING_WRITE:
		mark(s, io, 1);
		move(s, io);
		return 0;
	case BACKING_READ:
		move(s, io);
		return 0;
	case BACKING_TRIM:
	case BACKING_ZERO:
		memset(s->bytes + io->offset, 0, io->length);
		mark(s, io, io->kind == BACKING_ZERO && !io->may_trim);
		return 0;
	case BACKING_EXTENTS:
		if (s->no_extents)
			return -ENOTSUP;
		extents(s, io);
		return 0;
	default:
		return 0;
	}
}

static void submit(struct backing_queue *q, struct backing_io *io)
{
	struct fake_store *s = store_of(q);
	int result = 0;

	pthread_mutex_lock(&s->lock);
	s->count[io->kind]++;
	s->durable += io->durable;
	s->may_trim += io->may_trim;
	if (io->iovcnt && io->length > s->longest)
		s->longest = io->length;
	if (s->n_log < FAKE_STORE_LOG) {
		s->log[s->n_log].kind = io->kind;
		s->log[s->n_log].offset = io->offset;
		s->log[s->n_log++].length = io->length;
	}
	if (s->hold) {
		s->n_held++;
		list_add_tail(&s->held, &io->node);
	} else {
		result = carry_out(s, io);
	}
	pthread_mutex_unlock(&s->lock);
	if (!s->hold)
		backing_end(q, io, result);
}

static void *map(struct backing_queue *q, uint64_t offset, uint64_t length, bool write)
{
	struct fake_store *s = store_of(q);

	(void)length;
	(void)write;
	return s->mapping ? s->bytes + offset : NULL;
}

static const struct backing_ops fake_ops = {
	.name = "fake",
	.queue_open = queue_open,
	.queue_close = queue_close,
	.submit = submit,
	.map = map,
};

struct fake_store *fake_store_new(uint64_t size, unsigned flags)
{
	struct fake_store *s = calloc(1, sizeof(*s));

	assert(s);
	s->bytes = calloc(1, size);
	s->allocated = calloc(1, size / FAKE_STORE_UNIT + 1);
	assert(s->bytes && s->allocated);
	list_init(&s->held);
	pthread_mutex_init(&s->lock, NULL);
	s->b.ops = &fake_ops;
	s->b.info = (struct backing_info){ .size = size,
					   .logical_block = 512,
					   .physical_block = FAKE_STORE_UNIT,
					   .trim_granularity = FAKE_STORE_UNIT,
					   .flags = flags,
					   .engine = "fake" };
	return s;
}

void fake_store_free(struct fake_store *s)
{
	assert(!s->queues && !s->n_held);
	pthread_mutex_destroy(&s->lock);
	free(s->bytes);
	free(s->allocated);
	free(s);
}

static void let(struct fake_store *s, struct backing_io *io, int result)
{
	s->n_held--;
	io->result = result < 0 ? result : carry_out(s, io);
	io->done(io);
}

void fake_store_let(struct fake_store *s)
{
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, &s->held);
	while ((n = list_pop(&now)))
		let(s, list_entry(n, struct backing_io, node), 0);
}

void fake_store_let_one(struct fake_store *s, int result)
{
	struct list *n = list_pop(&s->held);

	assert(n);
	let(s, list_entry(n, struct backing_io, node), result);
}
