/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `null` store: writes vanish, reads are zeros. For measuring what everything above costs.
 */
#include "backing/stores.h"
#include "backing/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The most that a READ may map: larger ones are filled. */
#define NULL_ZEROS ((size_t)16 << 20)

struct null_store {
	struct backing b;
	void *zeros; /* NULL_ZEROS bytes, read-only */
};

static void null_close(struct backing *b)
{
	struct null_store *s = container_of(b, struct null_store, b);

	munmap(s->zeros, NULL_ZEROS);
	free(s);
}

static int null_open(const struct backing_params *p, struct backing **ret, char **ret_why)
{
	struct null_store *s;

	if (!p->size)
		return why(ret_why, -EINVAL, "null store: no size is given");
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->zeros =
	    mmap(NULL, NULL_ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->zeros == MAP_FAILED) {
		free(s);
		return -ENOMEM;
	}
	(void)madvise(s->zeros, NULL_ZEROS, MADV_HUGEPAGE); /* the one huge page of zeros */
	s->b.ops = &null_ops;
	s->b.info = (struct backing_info){
		.size = p->size,
		.logical_block = 1,
		.physical_block = 4096,
		.trim_granularity = 4096,
		.max_trim = p->size,
		.max_zero = p->size,
		.flags = BACKING_INLINE | BACKING_CAN_TRIM | BACKING_TRIM_ZEROES | BACKING_THIN,
		.engine = "memory",
	};
	if (p->read_only)
		s->b.info.flags |= BACKING_READ_ONLY;
	*ret = &s->b;
	return 0;
}

static void null_submit(struct backing_queue *q, struct backing_io *io)
{
	if (io->kind == BACKING_READ)
		for (unsigned i = 0; i < io->iovcnt; i++)
			memset(io->iov[i].iov_base, 0, io->iov[i].iov_len);
	if (io->kind == BACKING_EXTENTS) {
		io->extents[0] = (struct backing_extent){ io->offset, io->length, false };
		io->n_extents = 1;
	}
	backing_end(q, io, 0);
}

static void *null_map(struct backing_queue *q, uint64_t offset, uint64_t length, bool write)
{
	struct null_store *s = container_of(q->backing, struct null_store, b);

	(void)offset;
	return write || length > NULL_ZEROS ? NULL : s->zeros;
}

static int null_allocated(struct backing *b, uint64_t *ret)
{
	(void)b;
	*ret = 0;
	return 0;
}

static int null_resize(struct backing *b, uint64_t size)
{
	if (!size || size > (uint64_t)INT64_MAX)
		return -EINVAL;
	__atomic_store_n(&b->info.size, size, __ATOMIC_RELAXED);
	return 0;
}

const struct backing_ops null_ops = {
	.name = "null",
	.open = null_open,
	.close = null_close,
	.queue_open = memory_queue_open,
	.queue_close = memory_queue_close,
	.submit = null_submit,
	.map = null_map,
	.allocated = null_allocated,
	.resize = null_resize,
};
