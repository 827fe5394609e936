/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store in memory whose completions the test turns loose: held I/O stays until fake_store_let.
 * It counts what it was asked for, fails on demand, and knows which 4 KiB it has been given.
 *
 * Threads: queues of several reactors may be used at once as long as nothing is held; hold and
 * fake_store_let are for one. Ownership: fake_store_free, after the last queue has been closed.
 */
#ifndef HAWSER_TESTS_FAKE_STORE_H
#define HAWSER_TESTS_FAKE_STORE_H

#include "backing/backing.h"

#include <pthread.h>

#define FAKE_STORE_UNIT 4096u
#define FAKE_STORE_LOG  64u

struct fake_store {
	struct backing b;
	pthread_mutex_t lock; /* everything below but what the test sets */
	uint8_t *bytes;
	uint8_t *allocated; /* one for each unit */
	bool hold;          /* I/O waits */
	bool mapping;       /* has memory to lend */
	bool no_extents;    /* EXTENTS: -ENOTSUP */
	int error;          /* for I/O of error_kind, or of every kind if that is 0 */
	enum backing_kind error_kind;
	uint64_t error_from; /* and not before this byte */
	struct list held;    /* backing_io.node */
	unsigned n_held, queues;
	unsigned count[BACKING_EXTENTS + 1]; /* by kind */
	unsigned durable, may_trim;          /* I/Os that asked for it */
	uint64_t longest;                    /* bytes of one READ or WRITE */
	unsigned n_log;
	struct {
		enum backing_kind kind;
		uint64_t offset, length;
	} log[FAKE_STORE_LOG];
};

/* flags: enum backing_flags. */
struct fake_store *fake_store_new(uint64_t size, unsigned flags);
void fake_store_free(struct fake_store *s);
/* Completes the held I/Os that are there now, the oldest first. */
void fake_store_let(struct fake_store *s);
/* Completes the oldest of them with a result of the test's choice. */
void fake_store_let_one(struct fake_store *s, int result);

#endif
