/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of the I/O path. A pool hands out objects of one size; an arena hands out aligned data
 * buffers, all or nothing, first come first served. Both belong to one reactor and allocate from
 * the system only at creation (pool: also when it grows by a slab, up to its limit).
 *
 * Threads: the owning reactor only. Ownership: what was taken must be given back before destroy.
 */
#ifndef HAWSER_BASE_POOL_H
#define HAWSER_BASE_POOL_H

#include "daemon/base/list.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct pool;

/* Objects of `size` bytes, aligned to a cache line; grows by slabs up to `limit` objects. */
int pool_create(const char *name, size_t size, unsigned initial, unsigned limit, struct pool **ret);
void pool_destroy(struct pool *p); /* NULL allowed */
void *pool_get(struct pool *p);    /* NULL when the limit is reached; content undefined */
void pool_put(struct pool *p, void *object);
unsigned pool_in_use(const struct pool *p);

/*
 * Buffers come in chunks of 4 KiB, 64 KiB and 1 MiB, each aligned to its size up to 4 KiB at
 * least; the whole arena is one mapping (huge pages where the kernel gives them), so that an
 * engine or a device registers it once.
 */
struct arena;

#define ARENA_IOV_INLINE 4
#define ARENA_IOV_MAX    272 /* enough for 16 MiB in 64 KiB chunks and change */

/* A data buffer: iov[0..n) describe exactly `length` bytes. Zero length: no memory held. */
struct arena_buf {
	struct iovec *iov; /* inl, or from the arena */
	unsigned n;
	size_t length;
	struct iovec inl[ARENA_IOV_INLINE];
};

/* What from holds is held by to, which held nothing; from is empty then. */
static inline void arena_buf_move(struct arena_buf *to, struct arena_buf *from)
{
	*to = *from;
	if (from->iov == from->inl)
		to->iov = to->inl;
	from->iov = from->inl;
	from->n = 0;
	from->length = 0;
}

/* Asked for in arena_wait; ready runs when the buffer is filled in. */
struct arena_waiter {
	struct list node;
	struct arena_buf *buf;
	size_t length;
	void (*ready)(struct arena_waiter *w);
};

int arena_create(size_t bytes, struct arena **ret);
void arena_destroy(struct arena *a); /* NULL allowed */

/* Takes `length` bytes (at most 16 MiB). 0, or -EAGAIN when somebody waits or too little is free.
 */
int arena_get(struct arena *a, size_t length, struct arena_buf *buf);
void arena_wait(struct arena *a, struct arena_waiter *w); /* queues; ready runs from arena_put */
void arena_unwait(struct arena_waiter *w);                /* may be off the queue already */
void arena_put(struct arena *a, struct arena_buf *buf);   /* an empty buffer is allowed */

void arena_memory(const struct arena *a, void **ret_base, size_t *ret_bytes);
size_t arena_free_bytes(const struct arena *a);
/* Who has waited longest; NULL: nobody waits. */
const struct arena_waiter *arena_first_waiter(const struct arena *a);
static inline bool arena_has_waiters(const struct arena *a)
{
	return arena_first_waiter(a) != NULL;
}

#endif
