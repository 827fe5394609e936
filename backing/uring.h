/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What uring.c (the I/O) and uringset.c (probing, start and stop) share.
 *
 * Threads: a ring belongs to its reactor.
 */
#ifndef HAWSER_BACKING_URING_H
#define HAWSER_BACKING_URING_H

#include "backing/engine.h"

#include <liburing.h>

enum {
	URING_SQ = 256,
	URING_CQ = 4096,            /* and the most that is in the kernel */
	URING_SHARE = 512,          /* of one queue: a store that hangs holds no more; */
	URING_SHARE_SLOW = 128,     /* where each may hold a kernel thread, too */
	URING_WORKERS = 1024,       /* kernel threads for what blocks; made on demand */
	URING_FILES = 256,          /* registered files */
	URING_CHUNK_SHIFT = 22,     /* registered buffers of 4 MiB, */
	URING_CHUNKS = 16384,       /* the most that the kernel takes; beyond, larger ones, */
	URING_CHUNK_SHIFT_MAX = 30, /* each 1 GiB at most */
	URING_RUNS = 8,             /* more fixed pieces than this cost more than one vector */
	URING_ROUNDS = 4,           /* of enter and reap in one run of the job */
	RETRY_MS = 2,
};

enum uring_chunk { CHUNK_NEW, CHUNK_REGISTERED, CHUNK_REFUSED };
enum uring_stage { STAGE_RUNS, STAGE_REST, STAGE_SPACE, STAGE_SYNC };

struct uring {
	struct engine_host *host;
	struct io_uring ring;
	struct reactor_fd event; /* eventfd, edge-triggered: never needs to be read */
	struct reactor_job job;
	struct reactor_timer retry; /* the kernel had no memory for requests */
	struct list backlog;        /* no SQE was free */
	unsigned in_kernel;         /* SQEs, prepared or submitted */
	/* Registered memory is pinned, so that each chunk of the arena is registered when the first
	 * I/O falls into it. */
	char *fixed; /* the arena, NULL: nothing can be registered */
	size_t fixed_bytes;
	unsigned chunk_shift;
	uint8_t *chunks; /* enum uring_chunk for each */
	bool files;      /* a table of registered files is there */
	uint8_t file_used[URING_FILES];
};

/* uringset.c: a new chunk of the arena, at its first use. True if it can be used as a fixed buffer.
 */
bool uring_register_chunk(struct uring *u, size_t index);

/* uring.c */
void uring_submit(struct fd_queue *q, struct backing_io *io);
void uring_run(struct reactor_job *job); /* enters and reaps; stage SUBMIT */
void uring_later(struct uring *u);       /* runs it at the end of this turn */

#endif
