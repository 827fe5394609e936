/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/engine.h"

#include "daemon/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Best first, as measured by tests/bench/engine_bench.c. */
static const struct fd_engine *const engines[] = {
#if HAWSER_WITH_URING
	&uring_engine,
#endif
#if HAWSER_WITH_AIO
	&aio_engine,
#endif
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

void engine_inline(struct fd_queue *q, struct backing_io *io)
{
	list_add_tail(&q->host->inline_ios, &io->node);
	reactor_defer(q->q.reactor, REACTOR_STAGE_SUBMIT, &q->host->inline_job);
}

/* An engine that a reactor cannot start is done without: the other one serves its queues. */
static void start_engines(struct engine_host *h)
{
	int rc;

#if HAWSER_WITH_URING
	if (backing_have_uring(&(const char *){ NULL })) {
		rc = uring_start(h, &h->uring);
		if (rc < 0)
			log_warn(LOG_BACKING, "io_uring: %s; reactor %u uses libaio", strerror(-rc),
				 reactor_index(h->reactor));
	}
#endif
#if HAWSER_WITH_AIO
	rc = aio_start(h, &h->aio);
	if (rc < 0)
		log_warn(LOG_BACKING, "libaio: %s; raise fs.aio-max-nr; reactor %u uses threads",
			 strerror(-rc), reactor_index(h->reactor));
#endif
}

int backing_reactor_start(struct reactor *r, struct arena *arena)
{
	struct engine_host *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->reactor = r;
	h->arena = arena;
	list_init(&h->inline_ios);
	reactor_job_init(&h->inline_job, run_inline);
	start_engines(h);
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
