/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `log` store: see logstore.h for what it records. Records are appended by an offload queue of
 * width 1, which makes their order and their numbers; the caller's buffers are its until then.
 */
#include "backing/logstore.h"
#include "backing/offload.h"
#include "backing/stores.h"
#include "backing/why.h"
#include "daemon/base/crc32c.h"
#include "daemon/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IOS_MAX = 65536 };

struct log_store {
	struct backing b;
	struct backing *lower;
	struct offload_queue *offload;
	int fd;
	uint64_t end;             /* of the recording, bytes; the offload queue's */
	int broken;               /* a record could not be written: negative errno; likewise */
	_Atomic uint64_t records; /* appended so far */
};

struct log_queue {
	struct backing_queue q;
	struct backing_queue *lower;
	struct log_store *store;
	struct pool *ios;
};

/* The io that the lower store gets for one that is recorded. */
struct log_io {
	struct backing_io io;
	struct backing_io *upper;
	struct log_queue *queue;
	struct offload_job job;
	uint64_t covers;
};

static struct log_store *store_of(struct backing *b)
{
	return container_of(b, struct log_store, b);
}

static uint32_t crc_of(const struct backing_io *io)
{
	uint32_t crc = CRC32C_INIT;

	for (unsigned i = 0; i < io->iovcnt; i++)
		crc = crc32c_update(crc, io->iov[i].iov_base, io->iov[i].iov_len);
	return crc32c_final(crc);
}

static int append(struct log_store *s, const void *from, size_t length)
{
	const char *p = from;

	while (length) {
		ssize_t n = pwrite(s->fd, p, length, (off_t)s->end);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		s->end += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

static int append_record(struct log_store *s, const struct log_io *l)
{
	const struct backing_io *io = &l->io;
	uint8_t header[LOGSTORE_HEADER];
	struct logstore_record record = {
		.kind = io->kind,
		.durable = io->durable,
		.may_trim = io->may_trim,
		.failed = io->result < 0,
		.number = atomic_load(&s->records) + 1,
		.offset = io->offset,
		.length = io->length,
		.covers = l->covers,
	};
	bool data = io->kind == BACKING_WRITE;
	int rc;

	logstore_put_record(header, &record, data ? crc_of(io) : 0);
	rc = append(s, header, sizeof(header));
	for (unsigned i = 0; !rc && data && i < io->iovcnt; i++)
		rc = append(s, io->iov[i].iov_base, io->iov[i].iov_len);
	if (!rc)
		atomic_fetch_add(&s->records, 1);
	return rc;
}

/* On the offload thread. After one record is lost no later one may be there. */
static void record(struct offload_job *job)
{
	struct log_io *l = container_of(job, struct log_io, job);
	struct log_store *s = l->queue->store;

	if (!s->broken)
		s->broken = append_record(s, l);
	if (s->broken && !l->io.result)
		l->io.result = s->broken;
}

static void recorded(struct offload_job *job)
{
	struct log_io *l = container_of(job, struct log_io, job);
	struct backing_io *upper = l->upper;

	upper->result = l->io.result;
	pool_put(l->queue->ios, l);
	upper->done(upper);
}

static void lower_done(struct backing_io *io)
{
	struct log_io *l = container_of(io, struct log_io, io);

	l->job.work = record;
	l->job.done = recorded;
	l->job.reply_to = l->queue->q.reactor;
	offload_submit(l->queue->store->offload, &l->job);
}

static void log_submit(struct backing_queue *bq, struct backing_io *io)
{
	struct log_queue *q = container_of(bq, struct log_queue, q);
	struct log_io *l;

	if (io->kind == BACKING_READ || io->kind == BACKING_EXTENTS) {
		backing_submit(q->lower, io);
		return;
	}
	l = pool_get(q->ios);
	if (!l) {
		backing_end(bq, io, -ENOMEM);
		return;
	}
	l->io = *io;
	l->io.done = lower_done;
	l->upper = io;
	l->queue = q;
	l->covers = io->kind == BACKING_FLUSH ? atomic_load(&q->store->records) : 0;
	backing_submit(q->lower, &l->io);
}

static int log_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret)
{
	struct log_queue *q = calloc(1, sizeof(*q));
	int rc;

	if (!q)
		return -ENOMEM;
	q->store = store_of(b);
	rc = pool_create("log", sizeof(struct log_io), 0, IOS_MAX, &q->ios);
	if (!rc)
		rc = backing_queue_open(q->store->lower, r, &q->lower);
	if (rc < 0) {
		pool_destroy(q->ios);
		free(q);
		return rc;
	}
	*ret = &q->q;
	return 0;
}

static void log_queue_close(struct backing_queue *bq)
{
	struct log_queue *q = container_of(bq, struct log_queue, q);

	backing_queue_close(q->lower);
	pool_destroy(q->ios);
	free(q);
}

static void log_free(struct log_store *s)
{
	offload_queue_destroy(s->offload);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static void log_close(struct backing *b)
{
	struct log_store *s = store_of(b);

	backing_close(s->lower);
	log_free(s);
}

static int log_refresh(struct backing *b)
{
	struct backing *lower = store_of(b)->lower;
	int rc = backing_refresh(lower);

	__atomic_store_n(&b->info.size, lower->info.size, __ATOMIC_RELAXED);
	return rc;
}

static int log_allocated(struct backing *b, uint64_t *ret)
{
	return backing_allocated(store_of(b)->lower, ret);
}

static int log_space(struct backing *b, uint64_t *ret_total, uint64_t *ret_free)
{
	return backing_space(store_of(b)->lower, ret_total, ret_free);
}

static const struct backing_ops log_ops = {
	.name = "log",
	.close = log_close,
	.queue_open = log_queue_open,
	.queue_close = log_queue_close,
	.submit = log_submit,
	.refresh = log_refresh,
	.allocated = log_allocated,
	.space = log_space,
};

/* Goes on after the last whole record of a recording that is there. */
static int continue_recording(struct log_store *s, const char *path)
{
	struct logstore_record record_;
	struct logstore_reader *r;
	int rc = logstore_reader_open(path, &r);

	if (rc < 0)
		return rc;
	if (logstore_size(r) != s->b.info.size)
		rc = -ESTALE;
	while (!rc && (rc = logstore_next(r, &record_)) > 0) {
		atomic_store(&s->records, record_.number);
		rc = 0;
	}
	s->end = logstore_position(r);
	logstore_reader_close(r);
	if (!rc && ftruncate(s->fd, (off_t)s->end) < 0)
		rc = -errno;
	return rc;
}

static int begin_recording(struct log_store *s, const char *path)
{
	uint8_t header[LOGSTORE_HEADER];
	off_t size;

	s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return -errno;
	size = lseek(s->fd, 0, SEEK_END);
	if (size < 0)
		return -errno;
	if (size > 0)
		return continue_recording(s, path);
	logstore_put_header(header, s->b.info.size);
	return append(s, header, sizeof(header));
}

int log_store_open(struct backing *lower, const struct backing_params *p, struct backing **ret,
		   char **ret_why)
{
	struct log_store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->b.ops = &log_ops;
	s->b.info = lower->info;
	rc = begin_recording(s, p->log_path);
	if (!rc)
		rc = offload_queue_create("log", 1, &s->offload);
	if (rc < 0) {
		log_free(s);
		return why(ret_why, rc, "%s: cannot record there: %s%s", p->log_path,
			   error_text(-rc),
			   rc == -EPROTO || rc == -ESTALE
			       ? "; it is not a recording of this store, name another file"
			       : "");
	}
	s->lower = lower;
	*ret = &s->b;
	return 0;
}
