/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena is one mapping, cut into slabs of 1 MiB. A slab is free, or handed out whole, or cut
 * into chunks of 64 KiB or 4 KiB. A length is made of whole slabs, then of one run of 64 KiB
 * chunks, then of one run of 4 KiB chunks: adjacent chunks are one iovec, so a buffer up to 1 MiB
 * is mostly one or two of them (fixed io_uring buffers want it contiguous). Where no run is left
 * the pieces get smaller, down to single chunks.
 *
 * While somebody waits nobody else is served, so what comes back gathers for the first waiter,
 * however large: in the end all of the arena is free and then anything fits.
 */
#include "daemon/base/pool.h"

#include "daemon/base/poison.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLAB_SHIFT   20
#define SLAB_BYTES   ((size_t)1 << SLAB_SHIFT)
#define HUGE_BYTES   ((size_t)2 << 20)
#define PAGE_BYTES   ((size_t)4096)
#define LENGTH_MAX   ((size_t)16 << 20)
#define SLAB_WORDS   4  /* bits of 256 chunks of 4 KiB */
#define SEARCH_SLABS 16 /* slabs looked through for a run before a fresh one is cut */
#define VECTORS_MAX  1024

enum chunk_class { CHUNK_4K, CHUNK_64K, CHUNK_1M, CHUNK_CLASSES };

static const struct {
	unsigned shift;
	unsigned per_slab;
	unsigned longest_run; /* within one word of the bit map */
} classes[CHUNK_CLASSES] = {
	[CHUNK_4K] = { .shift = 12, .per_slab = 256, .longest_run = 64 },
	[CHUNK_64K] = { .shift = 16, .per_slab = 16, .longest_run = 16 },
	[CHUNK_1M] = { .shift = SLAB_SHIFT, .per_slab = 1, .longest_run = 1 },
};

struct slab {
	struct list node; /* arena->free, or arena->partial[class], or none when it is full */
	enum chunk_class class;
	unsigned n_free;
	uint64_t free[SLAB_WORDS]; /* a bit for each free chunk */
};

struct arena {
	uint8_t *base;
	size_t bytes, free_bytes;
	struct slab *slabs;
	struct list free; /* slabs that are not cut; the one used last comes first */
	struct list partial[CHUNK_CLASSES];
	struct list waiters;
	struct pool *vectors; /* iovec arrays of ARENA_IOV_MAX */
	bool serving;
};

/* Maps bytes, aligned to a huge page: the kernel gives those only at their own alignment. */
static uint8_t *map_aligned(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before, after;

	if (p == MAP_FAILED)
		return NULL;
	before = (HUGE_BYTES - (uintptr_t)p % HUGE_BYTES) % HUGE_BYTES;
	after = HUGE_BYTES - before;
	if (before)
		munmap(p, before);
	if (after)
		munmap(p + before + bytes, after);
	(void)madvise(p + before, bytes, MADV_HUGEPAGE); /* an offer: small pages serve as well */
	return p + before;
}

int arena_create(size_t bytes, struct arena **ret)
{
	struct arena *a;
	size_t n;

	if (!bytes || bytes > SIZE_MAX / 4)
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	n = (bytes + SLAB_BYTES - 1) >> SLAB_SHIFT;
	a->bytes = a->free_bytes = n << SLAB_SHIFT;
	list_init(&a->free);
	list_init(&a->waiters);
	for (int i = 0; i < CHUNK_CLASSES; i++)
		list_init(&a->partial[i]);
	a->slabs = calloc(n, sizeof(*a->slabs));
	a->base = map_aligned(a->bytes);
	if (!a->slabs || !a->base ||
	    pool_create("iovec", ARENA_IOV_MAX * sizeof(struct iovec), 0, VECTORS_MAX,
			&a->vectors) < 0) {
		arena_destroy(a);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		list_add_tail(&a->free, &a->slabs[i].node);
	base_poison(a->base, a->bytes);
	*ret = a;
	return 0;
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	assert(a->free_bytes == a->bytes);
	pool_destroy(a->vectors);
	if (a->base) {
		base_unpoison(a->base, a->bytes);
		munmap(a->base, a->bytes);
	}
	free(a->slabs);
	free(a);
}

void arena_memory(const struct arena *a, void **ret_base, size_t *ret_bytes)
{
	*ret_base = a->base;
	*ret_bytes = a->bytes;
}

size_t arena_free_bytes(const struct arena *a)
{
	return a->free_bytes;
}

const struct arena_waiter *arena_first_waiter(const struct arena *a)
{
	if (list_empty(&a->waiters))
		return NULL;
	return list_entry(a->waiters.next, struct arena_waiter, node);
}

static uint8_t *slab_address(const struct arena *a, const struct slab *s)
{
	return a->base + ((size_t)(s - a->slabs) << SLAB_SHIFT);
}

/* A free slab cut into chunks of a class, or NULL. */
static struct slab *slab_cut(struct arena *a, enum chunk_class class)
{
	struct list *n = list_pop(&a->free);
	struct slab *s;
	unsigned left;

	if (!n)
		return NULL;
	s = list_entry(n, struct slab, node);
	s->class = class;
	s->n_free = left = classes[class].per_slab;
	for (int i = 0; i < SLAB_WORDS; i++) {
		s->free[i] = left >= 64 ? UINT64_MAX : ((uint64_t)1 << left) - 1;
		left -= left >= 64 ? 64 : left;
	}
	list_add_head(&a->partial[class], &s->node);
	return s;
}

/* The bits at which n set bits in a row begin. */
static uint64_t runs_of(uint64_t bits, unsigned n)
{
	for (unsigned have = 1; have < n && bits;) {
		unsigned step = have < n - have ? have : n - have;

		bits &= bits >> step;
		have += step;
	}
	return bits;
}

/* Takes n chunks in a row out of a slab and returns them, or NULL. */
static uint8_t *slab_take(struct arena *a, struct slab *s, unsigned n)
{
	uint64_t mask = n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;

	if (s->n_free < n)
		return NULL;
	for (unsigned i = 0; i < SLAB_WORDS; i++) {
		uint64_t runs = runs_of(s->free[i], n);
		unsigned at;

		if (!runs)
			continue;
		at = (unsigned)__builtin_ctzll(runs);
		s->free[i] &= ~(mask << at);
		s->n_free -= n;
		if (!s->n_free)
			list_del(&s->node);
		a->free_bytes -= (size_t)n << classes[s->class].shift;
		return slab_address(a, s) + ((size_t)(i * 64 + at) << classes[s->class].shift);
	}
	return NULL;
}

/* n chunks in a row from the slabs in use, else from a fresh one, or NULL. */
static uint8_t *take_run(struct arena *a, enum chunk_class class, unsigned n)
{
	unsigned looked = 0;
	struct list *pos;
	struct slab *s;
	uint8_t *p;

	list_for_each (pos, &a->partial[class]) {
		p = slab_take(a, list_entry(pos, struct slab, node), n);
		if (p)
			return p; /* before pos, perhaps unlinked now, is used again */
		if (++looked == SEARCH_SLABS)
			break;
	}
	s = slab_cut(a, class);
	return s ? slab_take(a, s, n) : NULL;
}

/* Gives chunks back, from anywhere in one slab. */
static void slab_give(struct arena *a, struct slab *s, size_t offset, size_t length)
{
	unsigned shift = classes[s->class].shift;
	unsigned at = (unsigned)(offset >> shift);
	unsigned n = (unsigned)((length + ((size_t)1 << shift) - 1) >> shift);

	base_poison(slab_address(a, s) + offset, (size_t)n << shift);
	a->free_bytes += (size_t)n << shift;
	if (!s->n_free)
		list_add_head(&a->partial[s->class], &s->node);
	s->n_free += n;
	for (unsigned i = at; i < at + n; i++) {
		assert(!(s->free[i / 64] & (uint64_t)1 << i % 64)); /* else given back twice */
		s->free[i / 64] |= (uint64_t)1 << i % 64;
	}
	if (s->n_free == classes[s->class].per_slab) {
		list_del(&s->node);
		list_add_head(&a->free, &s->node);
	}
}

/*
 * Gives back what lies between two addresses; pieces that happened to touch are one iovec. From
 * the end on, so that the slab of the lowest address is the first to be taken again and large
 * buffers stay in one piece.
 */
static void give_range(struct arena *a, const struct iovec *iov)
{
	size_t offset = (size_t)((uint8_t *)iov->iov_base - a->base), left = iov->iov_len;

	assert(offset < a->bytes && left <= a->bytes - offset);
	while (left) {
		size_t slab = (offset + left - 1) >> SLAB_SHIFT, begin = slab << SLAB_SHIFT;
		size_t n = begin > offset ? offset + left - begin : left;

		left -= n;
		slab_give(a, &a->slabs[slab], offset + left - begin, n);
	}
}

static void give_all(struct arena *a, struct arena_buf *buf)
{
	for (unsigned i = buf->n; i > 0; i--)
		give_range(a, &buf->iov[i - 1]);
	if (buf->n && buf->iov != buf->inl)
		pool_put(a->vectors, buf->iov);
	buf->iov = buf->inl;
	buf->n = 0;
	buf->length = 0;
}

/* Adds a piece of memory to the buffer's vector. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the vector is for writing. */
static int append(struct arena *a, struct arena_buf *buf, uint8_t *p, size_t length)
{
	if (buf->n) {
		struct iovec *last = &buf->iov[buf->n - 1];

		if ((uint8_t *)last->iov_base + last->iov_len == p) {
			last->iov_len += length;
			return 0;
		}
	}
	if (buf->n == ARENA_IOV_MAX)
		return -EAGAIN;
	if (buf->n == ARENA_IOV_INLINE) {
		struct iovec *vector = pool_get(a->vectors);

		if (!vector)
			return -EAGAIN;
		memcpy(vector, buf->inl, sizeof(buf->inl));
		buf->iov = vector;
	}
	buf->iov[buf->n++] = (struct iovec){ .iov_base = p, .iov_len = length };
	return 0;
}

static int take_and_append(struct arena *a, enum chunk_class class, unsigned n, size_t length,
			   struct arena_buf *buf)
{
	uint8_t *p = take_run(a, class, n);
	int rc;

	if (!p)
		return -ENOBUFS;
	rc = append(a, buf, p, length);
	if (rc < 0)
		give_range(a, &(struct iovec){ p, length });
	return rc;
}

/*
 * Takes n chunks of a class, in runs as long as there are; smaller chunks where there is none.
 * Where even pages are gone while a chunk of 64 KiB is left, it serves as up to 16 pages; the
 * chunk is held whole, and nothing else can follow in the buffer then.
 */
static int take(struct arena *a, enum chunk_class class, unsigned n, struct arena_buf *buf)
{
	unsigned run = classes[class].longest_run;

	while (n) {
		int rc;

		if (run > n)
			run = n;
		rc = take_and_append(a, class, run, (size_t)run << classes[class].shift, buf);
		if (!rc)
			n -= run;
		else if (rc != -ENOBUFS)
			return rc;
		else if (run > 1)
			run /= 2;
		else if (class != CHUNK_4K)
			return take(a, class - 1, n * 16, buf); /* 1 MiB: 16 of 64 KiB: 16 of 4 */
		else if (n <= 16)
			return take_and_append(a, CHUNK_64K, 1, n * PAGE_BYTES, buf) ? -EAGAIN : 0;
		else
			return -EAGAIN;
	}
	return 0;
}

/* What is held is whole chunks; what is described is exactly length bytes. */
static void trim_to(struct arena_buf *buf, size_t pages, size_t length)
{
	buf->iov[buf->n - 1].iov_len -= pages * PAGE_BYTES - length;
	buf->length = length;
	for (unsigned i = 0; i < buf->n; i++)
		base_unpoison(buf->iov[i].iov_base, buf->iov[i].iov_len);
}

static int fill(struct arena *a, size_t length, struct arena_buf *buf)
{
	size_t pages = (length + PAGE_BYTES - 1) / PAGE_BYTES;
	int rc;

	buf->iov = buf->inl;
	buf->n = 0;
	buf->length = 0;
	if (!length)
		return 0;
	if (pages * PAGE_BYTES > a->free_bytes)
		return -EAGAIN;
	rc = take(a, CHUNK_1M, (unsigned)(pages / 256), buf);
	if (!rc)
		rc = take(a, CHUNK_64K, (unsigned)(pages % 256 / 16), buf);
	if (!rc)
		rc = take(a, CHUNK_4K, (unsigned)(pages % 16), buf);
	if (rc < 0) {
		give_all(a, buf);
		return rc;
	}
	trim_to(buf, pages, length);
	return 0;
}

int arena_get(struct arena *a, size_t length, struct arena_buf *buf)
{
	if (length > LENGTH_MAX || length > a->bytes)
		return -EMSGSIZE;
	if (length && !list_empty(&a->waiters))
		return -EAGAIN;
	return fill(a, length, buf);
}

void arena_wait(struct arena *a, struct arena_waiter *w)
{
	assert(w->length <= LENGTH_MAX && w->length <= a->bytes);
	list_add_tail(&a->waiters, &w->node);
}

void arena_unwait(struct arena_waiter *w)
{
	if (w->node.next)
		list_del(&w->node);
}

/* First come, first served; ready may give back, take or wait again, which does not nest. */
static void serve(struct arena *a)
{
	struct list *first;

	if (a->serving)
		return;
	a->serving = true;
	while ((first = list_first(&a->waiters))) {
		struct arena_waiter *w = list_entry(first, struct arena_waiter, node);

		if (fill(a, w->length, w->buf) < 0)
			break;
		list_del(&w->node);
		w->ready(w);
	}
	a->serving = false;
}

void arena_put(struct arena *a, struct arena_buf *buf)
{
	if (!buf->n)
		return;
	give_all(a, buf);
	serve(a);
}
