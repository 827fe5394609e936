/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `ram` store: memory of this process, thin. The whole is one mapping with huge pages, in an
 * address range that leaves room to grow, so that a pointer handed out by map stays good. What is
 * trimmed goes back to the system in whole pages; huge ranges do so on an offload thread.
 */
#include "backing/offload.h"
#include "backing/stores.h"
#include "backing/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RAM_PAGE ((uint64_t)4096)
/* Address space beyond the size, for resize: it costs nothing until it is used. */
#define RAM_ROOM ((uint64_t)1 << 40)
/* Freeing up to this much takes some ten microseconds and is done at once. */
#define RAM_INLINE_TRIM ((uint64_t)1 << 20)
#define RAM_PIECE       ((uint64_t)256 << 20)
#define RAM_ATOMIC      (16u << 20) /* after a crash all is gone: nothing is ever half there */

struct ram_store {
	struct backing b;
	char *bytes;
	uint64_t reserved; /* bytes of address space */
	uint64_t usable;   /* bytes that may be touched; at least the size */
	struct offload_queue *offload;
};

/* Lies over io->engine. */
struct ram_state {
	struct offload_job job;
	uint64_t moved;
} __attribute__((may_alias));
_Static_assert(sizeof(struct ram_state) <= sizeof(((struct backing_io *)0)->engine), "scratch");

static struct ram_store *store_of(struct backing *b)
{
	return container_of(b, struct ram_store, b);
}

static uint64_t page_up(uint64_t n)
{
	return (n + RAM_PAGE - 1) & ~(RAM_PAGE - 1);
}

static void ram_close(struct backing *b)
{
	struct ram_store *s = store_of(b);

	if (s->bytes)
		munmap(s->bytes, s->reserved);
	offload_queue_destroy(s->offload);
	free(s);
}

/* Makes [0..size) usable. */
static int make_usable(struct ram_store *s, uint64_t size)
{
	size = page_up(size);
	if (size <= s->usable)
		return 0;
	if (size > s->reserved)
		return -ENOMEM;
	if (mprotect(s->bytes + s->usable, size - s->usable, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	(void)madvise(s->bytes, size, MADV_HUGEPAGE); /* advice: slower without */
	s->usable = size;
	return 0;
}

static int reserve(struct ram_store *s, uint64_t size)
{
	void *at = MAP_FAILED;

	/* Address space may be limited: then there is less room to grow, or none. */
	for (uint64_t room = RAM_ROOM;; room /= 16) {
		s->reserved = page_up(size) + page_up(room);
		at = mmap(NULL, s->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
		if (at != MAP_FAILED || !room)
			break;
	}
	if (at == MAP_FAILED)
		return -errno;
	s->bytes = at;
	(void)madvise(s->bytes, s->reserved, MADV_DONTDUMP); /* keeps core files small */
	return make_usable(s, size);
}

static int ram_open(const struct backing_params *p, struct backing **ret, char **ret_why)
{
	struct ram_store *s;
	int rc;

	if (!p->size)
		return why(ret_why, -EINVAL, "ram store: no size is given");
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	rc = reserve(s, p->size);
	if (!rc)
		rc = offload_queue_create("ram", 2, &s->offload);
	if (rc < 0) {
		ram_close(&s->b);
		return why(ret_why, rc, "ram store: %s; make it smaller", error_text(-rc));
	}
	s->b.ops = &ram_ops;
	s->b.info = (struct backing_info){
		.size = p->size,
		.logical_block = 1,
		.physical_block = (uint32_t)RAM_PAGE,
		.trim_granularity = (uint32_t)RAM_PAGE,
		.atomic_max = RAM_ATOMIC,
		.max_trim = RAM_PIECE,
		.max_zero = RAM_PIECE,
		.flags = BACKING_INLINE | BACKING_CAN_TRIM | BACKING_TRIM_ZEROES | BACKING_THIN,
		.engine = "memory",
	};
	if (p->read_only)
		s->b.info.flags |= BACKING_READ_ONLY;
	*ret = &s->b;
	return 0;
}

/* Hosts that write and read a block at one moment get what a disk gives them, either or a mixture:
 * what keeps order among commands is above. So no lock, and tests/lib/tsan.supp names this. */
static void ram_copy(struct ram_store *s, struct backing_io *io)
{
	char *at = s->bytes + io->offset;

	for (unsigned i = 0; i < io->iovcnt; i++) {
		if (io->kind == BACKING_READ)
			memcpy(io->iov[i].iov_base, at, io->iov[i].iov_len);
		else
			memcpy(at, io->iov[i].iov_base, io->iov[i].iov_len);
		at += io->iov[i].iov_len;
	}
}

/* Whole pages go back, the edges are zeroed. */
static void give_back(struct ram_store *s, uint64_t from, uint64_t to)
{
	uint64_t first = page_up(from), last = to & ~(RAM_PAGE - 1);

	if (first >= last) {
		memset(s->bytes + from, 0, to - from);
		return;
	}
	memset(s->bytes + from, 0, first - from);
	memset(s->bytes + last, 0, to - last);
	if (madvise(s->bytes + first, last - first, MADV_DONTNEED) < 0)
		memset(s->bytes + first, 0, last - first); /* locked memory stays */
}

/* One byte a page, of up to RAM_PIECE. */
static int residency(struct ram_store *s, uint64_t at, uint64_t length, unsigned char *vec)
{
	return mincore(s->bytes + at, page_up(length), vec) < 0 ? -errno : 0;
}

/*
 * Who reads what was never written, or given back, makes the kernel map its page of zeros there. It
 * is no memory of ours; neither is a page of zeros that somebody wrote worth more than none.
 */
static __attribute__((no_sanitize("thread"))) bool holds_data(const struct ram_store *s,
							      uint64_t page)
{
	const uint64_t *p = (const void *)(s->bytes + page);
	uint64_t any = 0;

	for (unsigned i = 0; i < RAM_PAGE / sizeof(*p) && !any; i++)
		any = p[i]; /* perhaps while somebody writes: then either is right */
	return any;
}

static void add_run(struct backing_io *io, uint64_t from, uint64_t to, bool allocated)
{
	struct backing_extent *last = io->n_extents ? &io->extents[io->n_extents - 1] : NULL;

	if (last && last->allocated == allocated)
		last->length += to - from;
	else if (io->n_extents < io->max_extents)
		io->extents[io->n_extents++] =
		    (struct backing_extent){ from, to - from, allocated };
}

static bool extents_full(const struct backing_io *io, bool next)
{
	return io->n_extents && io->n_extents == io->max_extents &&
	       io->extents[io->n_extents - 1].allocated != next;
}

static int walk_pages(struct ram_store *s, struct backing_io *io, unsigned char *vec)
{
	uint64_t at = io->offset, end = io->offset + io->length;

	while (at < end) {
		uint64_t base = at & ~(RAM_PAGE - 1);
		uint64_t stop = end - base < RAM_PIECE ? end : base + RAM_PIECE;
		int rc = residency(s, base, stop - base, vec);

		if (rc < 0)
			return rc;
		for (uint64_t page = base; at < stop; page += RAM_PAGE) {
			uint64_t to = page + RAM_PAGE < stop ? page + RAM_PAGE : stop;
			bool there = vec[(page - base) / RAM_PAGE] & 1 && holds_data(s, page);

			if (extents_full(io, there))
				return 0;
			add_run(io, at, to, there);
			at = to;
		}
	}
	return 0;
}

static int extents(struct ram_store *s, struct backing_io *io)
{
	unsigned char *vec;
	int rc;

	if (!io->extents)
		return -EINVAL;
	vec = malloc(RAM_PIECE / RAM_PAGE + 1);
	if (!vec)
		return -ENOMEM;
	rc = walk_pages(s, io, vec);
	free(vec);
	return rc;
}

static void work(struct offload_job *job)
{
	struct ram_state *state = container_of(job, struct ram_state, job);
	struct backing_io *io = (void *)((char *)state - offsetof(struct backing_io, engine));
	struct ram_store *s = store_of(io->queue->backing);
	uint64_t from = io->offset + state->moved, left = io->length - state->moved;
	uint64_t n = left < RAM_PIECE ? left : RAM_PIECE - from % RAM_PAGE;

	if (io->kind == BACKING_EXTENTS) {
		io->result = extents(s, io);
		state->moved = io->length;
		return;
	}
	give_back(s, from, from + n);
	state->moved += n;
}

static void work_done(struct offload_job *job)
{
	struct ram_state *state = container_of(job, struct ram_state, job);
	struct backing_io *io = (void *)((char *)state - offsetof(struct backing_io, engine));

	if (state->moved < io->length)
		offload_submit(store_of(io->queue->backing)->offload, job);
	else
		io->done(io);
}

static void ram_submit(struct backing_queue *q, struct backing_io *io)
{
	struct ram_store *s = store_of(q->backing);
	struct ram_state *state = (void *)io->engine;

	switch (io->kind) {
	case BACKING_READ:
	case BACKING_WRITE:
		ram_copy(s, io);
		break;
	case BACKING_FLUSH:
		break;
	case BACKING_TRIM:
	case BACKING_ZERO:
		if (io->length <= RAM_INLINE_TRIM) {
			give_back(s, io->offset, io->offset + io->length);
			break;
		}
		/* fall through */
	case BACKING_EXTENTS:
		state->moved = 0;
		state->job.work = work;
		state->job.done = work_done;
		state->job.reply_to = q->reactor;
		offload_submit(s->offload, &state->job);
		return;
	}
	backing_end(q, io, 0);
}

static void *ram_map(struct backing_queue *q, uint64_t offset, uint64_t length, bool write)
{
	struct ram_store *s = store_of(q->backing);

	(void)length; /* contiguous whatever it is */
	return write && (s->b.info.flags & BACKING_READ_ONLY) ? NULL : s->bytes + offset;
}

static int ram_allocated(struct backing *b, uint64_t *ret)
{
	struct ram_store *s = store_of(b);
	unsigned char *vec = malloc(RAM_PIECE / RAM_PAGE + 1);
	uint64_t pages = 0, end = s->usable;
	int rc = vec ? 0 : -ENOMEM;

	for (uint64_t at = 0; !rc && at < end; at += RAM_PIECE) {
		uint64_t n = end - at < RAM_PIECE ? end - at : RAM_PIECE;

		rc = residency(s, at, n, vec);
		for (uint64_t i = 0; !rc && i < n / RAM_PAGE; i++)
			pages += vec[i] & 1;
	}
	free(vec);
	if (!rc)
		*ret = pages * RAM_PAGE;
	return rc;
}

static int ram_resize(struct backing *b, uint64_t size)
{
	struct ram_store *s = store_of(b);
	uint64_t old = b->info.size;
	int rc;

	if (!size || size > (uint64_t)INT64_MAX)
		return -EINVAL;
	rc = make_usable(s, size);
	if (rc < 0)
		return rc;
	__atomic_store_n(&b->info.size, size, __ATOMIC_RELAXED);
	if (size < old) /* what is cut off must not come back when it grows again */
		give_back(s, size, old);
	return 0;
}

const struct backing_ops ram_ops = {
	.name = "ram",
	.open = ram_open,
	.close = ram_close,
	.queue_open = memory_queue_open,
	.queue_close = memory_queue_close,
	.submit = ram_submit,
	.map = ram_map,
	.allocated = ram_allocated,
	.resize = ram_resize,
};
