/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/backing.h"

#include "backing/stores.h"
#include "backing/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct backing_ops *const backing_types[] = {
	&file_ops, &block_ops, &ram_ops, &null_ops, NULL,
};

static const struct backing_ops *find_type(const char *name)
{
	for (const struct backing_ops *const *t = backing_types; name && *t; t++)
		if (strcmp((*t)->name, name) == 0)
			return *t;
	return NULL;
}

/* What every store needs of its parameters. */
static int check_params(const struct backing_params *p, char **ret_why)
{
	uint32_t bs = p->block_size;

	if (bs < 512 || bs > 65536 || (bs & (bs - 1)))
		return why(ret_why, -EINVAL,
			   "block size %u: must be a power of two from 512 to 65536", bs);
	if (p->size > (uint64_t)INT64_MAX)
		return why(ret_why, -EFBIG, "size %llu: must be below 8 EiB",
			   (unsigned long long)p->size);
	if (p->size % bs)
		return why(ret_why, -EINVAL, "size %llu: must be a multiple of the block size, %u",
			   (unsigned long long)p->size, bs);
	return 0;
}

int backing_open(const struct backing_params *p, struct backing **ret, char **ret_why)
{
	const struct backing_ops *type = find_type(p->type);
	struct backing *b = NULL;
	char *ignored = NULL;
	int rc;

	if (!ret_why)
		ret_why = &ignored;
	*ret_why = NULL;
	rc = check_params(p, ret_why);
	if (!rc && !type)
		rc = why(ret_why, -EINVAL, "store type %s: there is no such type",
			 p->type ? p->type : "(none)");
	if (!rc && type)
		rc = type->open(p, &b, ret_why);
	if (!rc && p->log_path)
		rc = log_store_open(b, p, &b, ret_why);
	if (!rc && p->fault_spec)
		rc = fault_store_open(b, p, &b, ret_why);
	if (rc < 0) {
		backing_close(b);
		free(ignored);
		return rc;
	}
	*ret = b;
	return 0;
}

void backing_close(struct backing *b)
{
	if (b)
		b->ops->close(b);
}

/* Runs what backing_end has put off. */
static void run_ended(struct reactor_job *job)
{
	struct backing_queue *q = container_of(job, struct backing_queue, end_job);
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, &q->ended);
	while ((n = list_pop(&now))) {
		struct backing_io *io = list_entry(n, struct backing_io, node);

		io->done(io); /* the last one may close the queue: nothing of it is used after */
	}
}

int backing_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret)
{
	struct backing_queue *q = NULL;
	int rc = b->ops->queue_open(b, r, &q);

	if (rc < 0)
		return rc;
	q->ops = b->ops;
	q->backing = b;
	q->reactor = r;
	list_init(&q->ended);
	reactor_job_init(&q->end_job, run_ended);
	*ret = q;
	return 0;
}

void backing_queue_close(struct backing_queue *q)
{
	if (!q)
		return;
	reactor_job_cancel(&q->end_job);
	q->ops->queue_close(q);
}

void backing_end(struct backing_queue *q, struct backing_io *io, int result)
{
	io->result = result;
	if (q->backing->info.flags & BACKING_INLINE) {
		io->done(io);
		return;
	}
	list_add_tail(&q->ended, &io->node);
	reactor_defer(q->reactor, REACTOR_STAGE_SUBMIT, &q->end_job);
}

static bool range_fits(const struct backing_io *io, const struct backing_info *info)
{
	uint64_t size = __atomic_load_n(&info->size, __ATOMIC_RELAXED);

	return io->offset <= size && io->length <= size - io->offset;
}

static bool iov_fits(const struct backing_io *io)
{
	uint64_t left = io->length;

	for (unsigned i = 0; i < io->iovcnt; i++) {
		if (io->iov[i].iov_len > left)
			return false;
		left -= io->iov[i].iov_len;
	}
	return left == 0;
}

/* 0: to be done; 1: nothing to do; or a negative errno. */
static int check_io(const struct backing_io *io, const struct backing_info *info)
{
	uint64_t unit = info->logical_block - 1;

	switch (io->kind) {
	case BACKING_FLUSH:
		return 0;
	case BACKING_EXTENTS:
		return range_fits(io, info) && io->length && io->extents && io->max_extents
			   ? 0
			   : -EINVAL;
	case BACKING_WRITE:
	case BACKING_TRIM:
	case BACKING_ZERO:
		if (info->flags & BACKING_READ_ONLY)
			return -EROFS;
		break;
	case BACKING_READ:
		break;
	default:
		return -EINVAL;
	}
	if (!range_fits(io, info) || ((io->offset | io->length) & unit))
		return -EINVAL;
	if ((io->kind == BACKING_READ || io->kind == BACKING_WRITE) && !iov_fits(io))
		return -EINVAL;
	if (io->kind == BACKING_TRIM && !(info->flags & BACKING_CAN_TRIM))
		return -EOPNOTSUPP;
	return io->length ? 0 : 1;
}

void backing_submit(struct backing_queue *q, struct backing_io *io)
{
	int rc = check_io(io, &q->backing->info);

	io->queue = q;
	io->n_extents = 0;
	io->result = 0;
	list_init(&io->node);
	if (rc)
		backing_end(q, io, rc < 0 ? rc : 0);
	else
		q->ops->submit(q, io);
}

int backing_refresh(struct backing *b)
{
	return b->ops->refresh ? b->ops->refresh(b) : -ENOTSUP;
}

int backing_allocated(struct backing *b, uint64_t *ret)
{
	return b->ops->allocated ? b->ops->allocated(b, ret) : -ENOTSUP;
}

int backing_space(struct backing *b, uint64_t *ret_total, uint64_t *ret_free)
{
	return b->ops->space ? b->ops->space(b, ret_total, ret_free) : -ENOTSUP;
}

int backing_resize(struct backing *b, uint64_t size)
{
	return b->ops->resize ? b->ops->resize(b, size) : -ENOTSUP;
}

int backing_control(struct backing *b, const char *text)
{
	return b->ops->control ? b->ops->control(b, text) : -ENOTSUP;
}
