/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `fault` store. An io that no rule touches goes to the lower store as it is and never comes
 * back here. One that is delayed or hangs keeps its state in io->engine, which the lower store
 * does not use yet; only a torn write needs an io of its own.
 */
#include "backing/fault.h"
#include "backing/stores.h"
#include "backing/why.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fault_store {
	struct backing b;
	struct backing *lower;
	atomic_uint holds;    /* the opener's, and one for each message under way */
	pthread_mutex_t lock; /* all below */
	struct fault_rule rules[FAULT_RULES_MAX];
	unsigned n_rules;
	struct list queues;
};

struct fault_queue {
	struct backing_queue q;
	struct backing_queue *lower;
	struct reactor *reactor;
	struct list hung;
	struct list node;         /* store->queues; its lock */
	struct reactor_msg letgo; /* "release what hangs" */
	bool letgo_sent, closed;  /* store->lock */
	struct fault_store *store;
};

/* Lies over io->engine while an io waits here. */
struct fault_state {
	struct reactor_timer timer;
	enum fault_action action;
	int error;
} __attribute__((may_alias));
_Static_assert(sizeof(struct fault_state) <= sizeof(((struct backing_io *)0)->engine), "scratch");

struct torn_io {
	struct backing_io io;
	struct backing_io *upper;
	struct iovec iov[];
};

static struct fault_state *state_of(struct backing_io *io)
{
	return (void *)io->engine;
}

static struct fault_store *store_of(struct backing *b)
{
	return container_of(b, struct fault_store, b);
}

static struct fault_queue *queue_of(struct backing_queue *q)
{
	return container_of(q, struct fault_queue, q);
}

static void drop(struct fault_store *s)
{
	if (atomic_fetch_sub(&s->holds, 1) != 1)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void torn_done(struct backing_io *io)
{
	struct torn_io *t = container_of(io, struct torn_io, io);
	struct backing_io *upper = t->upper;

	upper->result = -EIO;
	free(t);
	upper->done(upper);
}

/* The first half, in whole sectors, reaches the store; the caller hears of an error. */
static void tear(struct fault_queue *q, struct backing_io *io)
{
	uint64_t left = io->length / 2 / 512 * 512;
	struct torn_io *t = calloc(1, sizeof(*t) + io->iovcnt * sizeof(t->iov[0]));
	unsigned n = 0;

	if (!t || !left) {
		free(t);
		backing_end(&q->q, io, -EIO);
		return;
	}
	t->upper = io;
	t->io.kind = BACKING_WRITE;
	t->io.offset = io->offset;
	t->io.length = left;
	t->io.iov = t->iov;
	t->io.done = torn_done;
	for (; left; n++) {
		t->iov[n] = io->iov[n];
		if (t->iov[n].iov_len > left)
			t->iov[n].iov_len = left;
		left -= t->iov[n].iov_len;
	}
	t->io.iovcnt = n;
	backing_submit(q->lower, &t->io);
}

static void act(struct fault_queue *q, struct backing_io *io, enum fault_action action, int error)
{
	switch (action) {
	case FAULT_ERROR:
		backing_end(&q->q, io, error);
		return;
	case FAULT_TORN:
		tear(q, io);
		return;
	case FAULT_HANG:
		list_add_tail(&q->hung, &io->node);
		return;
	case FAULT_NONE:
	case FAULT_DELAY:
	case FAULT_RELEASE:
	case FAULT_CLEAR:
		break;
	}
	backing_submit(q->lower, io);
}

static void delay_over(struct reactor_timer *timer)
{
	struct fault_state *s = container_of(timer, struct fault_state, timer);
	struct backing_io *io = (void *)((char *)s - offsetof(struct backing_io, engine));

	act(queue_of(io->queue), io, s->action, s->error);
}

static void fault_submit(struct backing_queue *bq, struct backing_io *io)
{
	struct fault_queue *q = queue_of(bq);
	struct fault_store *store = q->store;
	struct fault_rule rule;
	uint32_t ms;

	pthread_mutex_lock(&store->lock);
	rule = fault_decide(store->rules, store->n_rules, io, &ms);
	pthread_mutex_unlock(&store->lock);
	if (!ms) {
		act(q, io, rule.action, rule.error);
		return;
	}
	state_of(io)->action = rule.action;
	state_of(io)->error = rule.error;
	reactor_timer_init(&state_of(io)->timer, delay_over);
	reactor_timer_arm(q->reactor, &state_of(io)->timer, ms);
}

/* On the queue's reactor. */
static void let_go(struct reactor_msg *msg)
{
	struct fault_queue *q = container_of(msg, struct fault_queue, letgo);
	struct fault_store *s = q->store;
	struct list now, *n;
	bool closed;

	pthread_mutex_lock(&s->lock);
	q->letgo_sent = false;
	closed = q->closed;
	pthread_mutex_unlock(&s->lock);
	drop(s);
	if (closed) {
		free(q);
		return;
	}
	list_init(&now);
	list_splice_tail(&now, &q->hung);
	while ((n = list_pop(&now)))
		backing_submit(q->lower, list_entry(n, struct backing_io, node));
}

/* lock held */
static void release_all(struct fault_store *s)
{
	struct list *n;
	unsigned kept = 0;

	for (unsigned i = 0; i < s->n_rules; i++)
		if (s->rules[i].action != FAULT_HANG)
			s->rules[kept++] = s->rules[i];
	s->n_rules = kept;
	list_for_each (n, &s->queues) {
		struct fault_queue *q = list_entry(n, struct fault_queue, node);

		if (!q->letgo_sent) {
			q->letgo_sent = true;
			atomic_fetch_add(&s->holds, 1);
			q->letgo.run = let_go;
			reactor_send(q->reactor, &q->letgo);
		}
	}
}

/* lock held; rules were parsed */
static int add_rules(struct fault_store *s, const struct fault_rule *rules, unsigned n)
{
	if (n > FAULT_RULES_MAX - s->n_rules && rules[0].action != FAULT_CLEAR)
		return -E2BIG;
	for (unsigned i = 0; i < n; i++) {
		if (rules[i].action == FAULT_CLEAR)
			s->n_rules = 0;
		else if (rules[i].action == FAULT_RELEASE)
			release_all(s);
		else
			s->rules[s->n_rules++] = rules[i];
	}
	return 0;
}

static int fault_control(struct backing *b, const char *text)
{
	struct fault_store *s = store_of(b);
	struct fault_rule rules[FAULT_RULES_MAX];
	int n = fault_spec_parse(text, rules, FAULT_RULES_MAX), rc;

	if (n < 0)
		return n;
	pthread_mutex_lock(&s->lock);
	rc = add_rules(s, rules, (unsigned)n);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void fault_close(struct backing *b)
{
	struct fault_store *s = store_of(b);

	backing_close(s->lower);
	drop(s);
}

static int fault_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret)
{
	struct fault_queue *q = calloc(1, sizeof(*q));
	int rc;

	if (!q)
		return -ENOMEM;
	q->store = store_of(b);
	q->reactor = r;
	list_init(&q->hung);
	rc = backing_queue_open(q->store->lower, r, &q->lower);
	if (rc < 0) {
		free(q);
		return rc;
	}
	pthread_mutex_lock(&q->store->lock);
	list_add_tail(&q->store->queues, &q->node);
	pthread_mutex_unlock(&q->store->lock);
	*ret = &q->q;
	return 0;
}

static void fault_queue_close(struct backing_queue *bq)
{
	struct fault_queue *q = queue_of(bq);
	bool sent;

	pthread_mutex_lock(&q->store->lock);
	list_del(&q->node);
	q->closed = true;
	sent = q->letgo_sent;
	pthread_mutex_unlock(&q->store->lock);
	backing_queue_close(q->lower);
	if (!sent) /* else the message that is under way frees it */
		free(q);
}

static int fault_refresh(struct backing *b)
{
	struct backing *lower = store_of(b)->lower;
	int rc = backing_refresh(lower);

	__atomic_store_n(&b->info.size, lower->info.size, __ATOMIC_RELAXED);
	return rc;
}

static int fault_allocated(struct backing *b, uint64_t *ret)
{
	return backing_allocated(store_of(b)->lower, ret);
}

static int fault_space(struct backing *b, uint64_t *ret_total, uint64_t *ret_free)
{
	return backing_space(store_of(b)->lower, ret_total, ret_free);
}

static int fault_resize(struct backing *b, uint64_t size)
{
	struct backing *lower = store_of(b)->lower;
	int rc = backing_resize(lower, size);

	__atomic_store_n(&b->info.size, lower->info.size, __ATOMIC_RELAXED);
	return rc;
}

static const struct backing_ops fault_ops = {
	.name = "fault",
	.close = fault_close,
	.queue_open = fault_queue_open,
	.queue_close = fault_queue_close,
	.submit = fault_submit,
	.refresh = fault_refresh,
	.allocated = fault_allocated,
	.space = fault_space,
	.resize = fault_resize,
	.control = fault_control,
};

int fault_store_open(struct backing *lower, const struct backing_params *p, struct backing **ret,
		     char **ret_why)
{
	struct fault_store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->b.ops = &fault_ops;
	s->b.info = lower->info;
	list_init(&s->queues);
	atomic_store(&s->holds, 1);
	pthread_mutex_init(&s->lock, NULL);
	rc = fault_control(&s->b, p->fault_spec);
	if (rc < 0) {
		drop(s);
		return why(ret_why, rc, "fault rules \"%s\": not understood; see fault.h",
			   p->fault_spec);
	}
	s->lower = lower;
	*ret = &s->b;
	return 0;
}
