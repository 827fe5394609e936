/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines of one reactor: its io_uring, its libaio context, and the list of reads and writes
 * that are done inline because they cannot block.
 *
 * Threads: the reactor's own.
 */
#ifndef HAWSER_BACKING_ENGINE_H
#define HAWSER_BACKING_ENGINE_H

#include "backing/fdstore.h"
#include "daemon/base/pool.h"

struct uring;
struct aio;

struct engine_host {
	struct reactor *reactor;
	struct arena *arena; /* NULL allowed */
	struct uring *uring; /* NULL: not here */
	struct aio *aio;
	struct list inline_ios;
	struct reactor_job inline_job;
};

/* By name, NULL is the default. NULL and *ret_why (static) if it cannot be used. */
const struct fd_engine *engine_find(const char *name, const char **ret_why);

/* The wanted engine, or the next best where this reactor could not start it. */
const struct fd_engine *engine_for(const struct engine_host *h, const struct fd_engine *wanted);

/* Does io at the end of this turn by preadv2 or pwritev2 on this thread; what would block goes to
 * the offload threads. */
void engine_inline(struct fd_queue *q, struct backing_io *io);

extern const struct fd_engine threads_engine;
#if HAWSER_WITH_URING
extern const struct fd_engine uring_engine;
int uring_start(struct engine_host *h, struct uring **ret);
void uring_stop(struct uring *u); /* NULL allowed */
#endif
#if HAWSER_WITH_AIO
extern const struct fd_engine aio_engine;
int aio_start(struct engine_host *h, struct aio **ret);
void aio_stop(struct aio *a); /* NULL allowed */
#endif

#endif
