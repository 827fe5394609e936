/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads for calls that block: open, close, fsync where no engine has it, buffered writes of the
 * aio engine, ioctls, extents. One queue per store keeps a hung store from holding the others:
 * a queue runs at most `width` jobs at once and the pool always has a thread for another queue
 * (threads are started on demand up to a limit, and end after idling).
 *
 * Threads: submit from any reactor; work runs on an offload thread; done runs on the reactor that
 * submitted. Ownership: the caller's job object, embedded, until done runs.
 */
#ifndef HAWSER_BACKING_OFFLOAD_H
#define HAWSER_BACKING_OFFLOAD_H

#include "daemon/base/reactor.h"

struct offload_queue;

struct offload_job {
	void (*work)(struct offload_job *job); /* blocking; offload thread */
	void (*done)(struct offload_job *job); /* on reply_to */
	struct reactor *reply_to;
	struct list node;
	struct offload_queue *queue;
	struct reactor_msg reply;
};

int offload_start(unsigned max_threads);
/* Waits at most timeout_ms for running jobs; false if one still hangs (then leave by _exit). */
bool offload_stop(unsigned timeout_ms);

int offload_queue_create(const char *name, unsigned width, struct offload_queue **ret);
/* No job queued or running; NULL allowed. */
void offload_queue_destroy(struct offload_queue *q);
void offload_submit(struct offload_queue *q, struct offload_job *job);

#endif
