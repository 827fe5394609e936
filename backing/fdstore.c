/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/fdstore.h"

#include "backing/engine.h"
#include "backing/why.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Blocking calls of one store at a time: enough to keep a disk busy with cold reads, and one huge
 * TRIM does not stop the others. */
#define FD_OFFLOAD_WIDTH 16

int fd_open_path(const struct backing_params *p, int flags, unsigned mode)
{
	int fd;

	if (p->open_path)
		return p->open_path(p->open_arg, p->path, flags | O_CLOEXEC, mode);
	do
		fd = open(p->path, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int find_disk(struct fd_store *s)
{
	struct stat st;

	if (s->memory || !s->local)
		return 0;
	if (fstat(s->fd, &st) < 0)
		return -errno;
	return fd_disk_get(s->device ? st.st_rdev : st.st_dev, &s->disk);
}

static int probe_nowait(struct fd_store *s)
{
	struct iovec iov = { NULL, s->b.info.logical_block };
	ssize_t n;

	if (posix_memalign(&iov.iov_base, 4096, iov.iov_len))
		return -ENOMEM;
	n = preadv2(s->fd, &iov, 1, 0, RWF_NOWAIT);
	atomic_store(&s->nowait, n >= 0 || errno == EAGAIN);
	free(iov.iov_base);
	return 0;
}

/* What does not depend on file or device. */
int fd_store_setup(struct fd_store *s, const struct backing_params *p, char **ret_why)
{
	const char *reason = NULL;
	int rc;

	pthread_mutex_init(&s->flush_lock, NULL);
	list_init(&s->flush_next);
	list_init(&s->flush_group);
	s->engine = engine_find(p->engine, &reason);
	if (!s->engine)
		return why(ret_why, -ENOTSUP, "%s: engine %s: %s", p->path,
			   p->engine ? p->engine : "default", reason);
	if (!s->local)
		s->engine = &threads_engine;
	s->block_size = p->block_size;
	s->path = strdup(p->path);
	if (!s->path)
		return -ENOMEM;
	if (p->block_size < s->b.info.logical_block)
		return why(ret_why, -EINVAL,
			   "%s: cannot do blocks of %u bytes; set the block size to %u", p->path,
			   p->block_size, s->b.info.logical_block);
	if (!s->b.info.size || s->b.info.size % p->block_size)
		return why(ret_why, -EINVAL,
			   "%s: its size, %llu bytes, is not a multiple of the block size, %u; "
			   "change one of them",
			   p->path, (unsigned long long)s->b.info.size, p->block_size);
	rc = s->local ? probe_nowait(s) : 0;
	if (rc < 0)
		return rc;
	s->b.info.engine = s->engine->name;
	rc = find_disk(s);
	if (rc < 0)
		return rc;
	return offload_queue_create(s->path, FD_OFFLOAD_WIDTH, &s->offload);
}

void fd_store_free(struct fd_store *s)
{
	if (!s)
		return;
	offload_queue_destroy(s->offload);
	fd_disk_put(s->disk);
	if (s->fd >= 0) {
		fd_unlock(s->fd);
		close(s->fd);
	}
	pthread_mutex_destroy(&s->flush_lock);
	free(s->path);
	free(s);
}

void fd_store_close(struct backing *b)
{
	fd_store_free(container_of(b, struct fd_store, b));
}

int fd_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret)
{
	struct fd_store *s = container_of(b, struct fd_store, b);
	struct engine_host *h = reactor_slot(r, REACTOR_ENGINE);
	struct fd_queue *q;

	if (!h)
		return -EINVAL; /* backing_reactor_start was not called */
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->store = s;
	q->host = h;
	q->file_index = -1;
	q->share = UINT_MAX;
	list_init(&q->waiting);
	q->engine = engine_for(h, s->engine);
	q->engine->queue_open(q);
	*ret = &q->q;
	return 0;
}

void fd_queue_close(struct backing_queue *bq)
{
	struct fd_queue *q = container_of(bq, struct fd_queue, q);

	q->engine->queue_close(q);
	free(q);
}

void fd_finish(struct backing_io *io, int result)
{
	struct fd_store *s = fd_queue_of(io)->store;

	result = fd_sync_result(s, io, result);
	/* A quota that is used up is a full store to whoever writes: one way to report it. */
	io->result = result == -EDQUOT ? -ENOSPC : result;
	if (io->kind == BACKING_FLUSH)
		fd_flush_ended(s, io->result);
	io->done(io);
}

static bool is_space(const struct backing_io *io)
{
	return io->kind == BACKING_TRIM || io->kind == BACKING_ZERO;
}

/* On an offload thread. */
static void work(struct offload_job *job)
{
	struct fd_state *s = container_of(job, struct fd_state, job);
	struct backing_io *io = fd_state_io(s);
	struct fd_store *store = fd_queue_of(io)->store;
	int rc = 0;

	switch (io->kind) {
	case BACKING_READ:
	case BACKING_WRITE:
		rc = fd_misaligned(store, io) ? fd_rw_bounce(store, io) : fd_rw(store, io, 0);
		break;
	case BACKING_FLUSH:
		rc = fdatasync(store->fd) < 0 ? -errno : 0;
		break;
	case BACKING_TRIM:
	case BACKING_ZERO:
		rc = fd_space_step(store, io);
		if (!rc && s->moved == io->length && io->durable)
			rc = fdatasync(store->fd) < 0 ? -errno : 0;
		break;
	case BACKING_EXTENTS:
		rc = fd_extents(store, io);
		break;
	}
	io->result = rc;
}

/* Each piece of a long TRIM or ZERO queues anew, so that others come in between. */
static void work_done(struct offload_job *job)
{
	struct fd_state *s = container_of(job, struct fd_state, job);
	struct backing_io *io = fd_state_io(s);

	if (!io->result && is_space(io) && s->moved < io->length)
		fd_offload(fd_queue_of(io), io);
	else
		fd_finish(io, io->result);
}

void fd_offload(struct fd_queue *q, struct backing_io *io)
{
	struct fd_state *s = fd_state(io);

	s->job.work = work;
	s->job.done = work_done;
	s->job.reply_to = q->q.reactor;
	offload_submit(q->store->offload, &s->job);
}

void fd_send_down(struct backing_io *io)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_state *s = fd_state(io);
	bool rw = io->kind == BACKING_READ || io->kind == BACKING_WRITE;

	s->moved = 0;
	s->pending = 0;
	s->admitted = 0;
	s->stage = 0;
	s->error = 0;
	if (rw && q->store->memory)
		engine_inline(q, io);
	else if (io->kind == BACKING_EXTENTS || (rw && fd_misaligned(q->store, io)))
		fd_offload(q, io);
	else
		q->engine->submit(q, io);
}

void fd_submit(struct backing_queue *bq, struct backing_io *io)
{
	struct fd_store *s = container_of(bq, struct fd_queue, q)->store;

	if (io->kind != BACKING_FLUSH || fd_flush_begin(s, io))
		fd_send_down(io);
}
