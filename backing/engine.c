/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/engine.h"

#include "backing/why.h"
#include "daemon/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Where neither engine is: page-cached reads inline, all else on threads. */
static void threads_submit(struct fd_queue *q, struct backing_io *io)
{
	struct fd_store *s = q->store;

	if (io->kind == BACKING_READ && !s->direct &&
	    atomic_load_explicit(&s->nowait, memory_order_relaxed))
		engine_inline(q, io);
	else
		fd_offload(q, io);
}

static bool threads_usable(const char **ret_why)
{
	(void)ret_why;
	return true;
}

static void threads_queue(struct fd_queue *q)
{
	(void)q; /* nothing is kept by queue */
}

const struct fd_engine threads_engine = {
	.name = "offload",
	.usable = threads_usable,
	.submit = threads_submit,
	.queue_open = threads_queue,
	.queue_close = threads_queue,
};

/* Best first, as measured by tests/bench/engine_bench.c. */
static const struct fd_engine *const engines[] = {
#if HAWSER_WITH_URING
	&uring_engine,
#endif
#if HAWSER_WITH_AIO
	&aio_engine,
#endif
	&threads_engine,
	NULL,
};

const struct fd_engine *engine_find(const char *name, const char **ret_why)
{
	const char *reason = "there is no engine of that name in this build";

	for (unsigned i = 0; engines[i]; i++) {
		if (name && strcmp(engines[i]->name, name) != 0)
			continue;
		if (engines[i]->usable(&reason))
			return engines[i];
	}
	*ret_why = reason;
	return NULL;
}

bool backing_have_uring(const char **ret_why)
{
#if HAWSER_WITH_URING
	return uring_engine.usable(ret_why);
#else
	*ret_why = "built without io_uring";
	return false;
#endif
}

static void inline_one(struct backing_io *io)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_store *s = q->store;
	int rc = fd_rw(s, io, s->memory ? 0 : RWF_NOWAIT);

	if (rc == -EOPNOTSUPP && !s->memory) {
		atomic_store_explicit(&s->nowait, false, memory_order_relaxed);
		rc = -EAGAIN;
	}
	if (rc == -EAGAIN)
		fd_offload(q, io);
	else
		fd_finish(io, rc);
}

static void run_inline(struct reactor_job *job)
{
	struct engine_host *h = container_of(job, struct engine_host, inline_job);
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, &h->inline_ios);
	while ((n = list_pop(&now)))
		inline_one(list_entry(n, struct backing_io, node));
}

const struct fd_engine *engine_for(const struct engine_host *h, const struct fd_engine *wanted)
{
#if HAWSER_WITH_AIO
	const struct fd_engine *next = &aio_engine;
#else
	const struct fd_engine *next = &threads_engine;
#endif

#if HAWSER_WITH_URING
	if (wanted == &uring_engine && !h->uring)
		return next;
#endif
	(void)next;
	(void)h;
	return wanted;
}

void engine_inline(struct fd_queue *q, struct backing_io *io)
{
	list_add_tail(&q->host->inline_ios, &io->node);
	reactor_defer(q->q.reactor, REACTOR_STAGE_SUBMIT, &q->host->inline_job);
}

/* An engine that a reactor cannot start is done without: the next one serves its queues. */
#if HAWSER_WITH_URING
static void start_uring(struct engine_host *h)
{
	const char *reason;
	int rc;

	if (!backing_have_uring(&reason))
		return; /* the daemon says so, once */
	rc = uring_start(h, &h->uring);
	if (rc < 0)
		log_warn(LOG_BACKING, "io_uring: %s; reactor %u does without it", error_text(-rc),
			 reactor_index(h->reactor));
}
#endif

#if HAWSER_WITH_AIO
static void start_aio(struct engine_host *h)
{
	int rc = aio_start(h, &h->aio);

	if (rc < 0)
		log_warn(LOG_BACKING, "libaio: %s; raise fs.aio-max-nr; reactor %u uses threads",
			 error_text(-rc), reactor_index(h->reactor));
}
#endif

int backing_reactor_start(struct reactor *r, struct arena *arena)
{
	struct engine_host *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->reactor = r;
	h->arena = arena;
	list_init(&h->inline_ios);
	reactor_job_init(&h->inline_job, run_inline);
#if HAWSER_WITH_URING
	start_uring(h);
#endif
#if HAWSER_WITH_AIO
	start_aio(h);
#endif
	reactor_set_slot(r, REACTOR_ENGINE, h);
	return 0;
}

void backing_reactor_stop(struct reactor *r)
{
	struct engine_host *h = reactor_slot(r, REACTOR_ENGINE);

	if (!h)
		return;
	reactor_set_slot(r, REACTOR_ENGINE, NULL);
	reactor_job_cancel(&h->inline_job);
#if HAWSER_WITH_URING
	uring_stop(h->uring);
#endif
#if HAWSER_WITH_AIO
	aio_stop(h->aio);
#endif
	free(h);
}
