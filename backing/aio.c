/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libaio engine: one context a reactor, all of a turn submitted in one call, completions by
 * an eventfd. io_submit blocks for buffered files and where a file system allocates, so only
 * direct I/O goes that way: as it is on devices and on files with their space reserved, with
 * RWF_NOWAIT on sparse files, where -EAGAIN sends it to the offload threads. Page-cached reads are
 * done inline by preadv2(RWF_NOWAIT); all else, and every file system that does not know
 * RWF_NOWAIT, whose io_submit may wait for a server, is for the offload threads.
 */
#include "backing/engine.h"

#if HAWSER_WITH_AIO

#include "daemon/base/list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* A store that hangs holds its share of the context, no more. */
enum { AIO_DEPTH = 2048, AIO_SHARE = 512, AIO_BATCH = 128 };

struct aio {
	struct engine_host *host;
	io_context_t context;
	struct reactor_fd ready; /* eventfd, edge-triggered: never needs to be read */
	struct list todo;        /* prepared, not submitted */
	unsigned in_kernel;
	struct reactor_job job;
};

static bool aio_usable(const char **ret_why)
{
	(void)ret_why;
	return true; /* without a context the offload threads serve */
}

static struct backing_io *io_of(struct iocb *iocb)
{
	return fd_state_io(container_of(iocb, struct fd_state, iocb));
}

static void push(struct aio *a, struct backing_io *io)
{
	list_add_tail(&a->todo, &io->node);
	reactor_defer(a->host->reactor, REACTOR_STAGE_SUBMIT, &a->job);
}

static void prepare(struct aio *a, struct backing_io *io)
{
	struct fd_store *s = fd_queue_of(io)->store;
	struct iocb *iocb = &fd_state(io)->iocb;
	int flags = s->preallocated ? 0 : RWF_NOWAIT;

	if (io->kind == BACKING_READ) {
		io_prep_preadv2(iocb, s->fd, io->iov, (int)io->iovcnt, (long long)io->offset,
				flags);
	} else {
		flags |= io->durable ? RWF_DSYNC : 0;
		io_prep_pwritev2(iocb, s->fd, io->iov, (int)io->iovcnt, (long long)io->offset,
				 flags);
	}
	io_set_eventfd(iocb, a->ready.fd);
	push(a, io);
}

static void submit(struct fd_queue *q, struct backing_io *io)
{
	struct fd_store *s = q->store;
	bool rw = io->kind == BACKING_READ || io->kind == BACKING_WRITE;
	bool nowait = atomic_load_explicit(&s->nowait, memory_order_relaxed);

	if (rw && s->direct && nowait && q->host->aio) {
		if (fd_admit(q, io))
			prepare(q->host->aio, io);
	} else if (io->kind == BACKING_READ && !s->direct && nowait) {
		engine_inline(q, io);
	} else {
		fd_offload(q, io);
	}
}

/* res: bytes or a negative errno. The rest of a short transfer is for a thread: it is rare. */
static void complete(struct aio *a, struct backing_io *io, long res)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_state *s = fd_state(io);
	struct backing_io *next;

	fd_leave(q, io);
	while ((next = fd_next_admitted(q))) /* before done runs, which may close the queue */
		prepare(a, next);
	s->moved = res > 0 ? (uint64_t)res : 0;
	if (s->moved == io->length)
		fd_finish(io, 0);
	else if (res > 0 || res == -EAGAIN || res == -EOPNOTSUPP || res == -EINTR)
		fd_offload(fd_queue_of(io), io);
	else
		fd_finish(io, res < 0 ? (int)res : -EIO);
}

/* True if there is room again. */
static bool reap(struct aio *a)
{
	struct io_event events[AIO_BATCH];
	struct timespec now = { 0 };
	bool any = false;
	int n = AIO_BATCH;

	while (a->in_kernel && n == AIO_BATCH) {
		n = io_getevents(a->context, 0, AIO_BATCH, events, &now);
		for (int i = 0; i < n; i++) {
			a->in_kernel--;
			complete(a, io_of(events[i].obj), (long)events[i].res);
			any = true;
		}
	}
	return any;
}

/* Takes up to AIO_BATCH from the list. */
static unsigned gather(struct aio *a, struct iocb **batch)
{
	struct list *node;
	unsigned n = 0, room = AIO_DEPTH - a->in_kernel;

	list_for_each (node, &a->todo) {
		if (n == AIO_BATCH || n == room)
			break;
		batch[n++] = &fd_state(list_entry(node, struct backing_io, node))->iocb;
	}
	return n;
}

static void unlink_first(struct aio *a, unsigned n)
{
	while (n--)
		(void)list_pop(&a->todo);
}

/*
 * The kernel took none: the first one is at fault, or the context is full. In the second case
 * completions will come and with them room; when there are none to come a thread takes the io.
 */
static bool refused(struct aio *a, int rc)
{
	struct list *n = list_first(&a->todo);

	if (rc == -EAGAIN && a->in_kernel)
		return false;
	if (rc == -EINTR)
		return true;
	list_del(n);
	complete(a, list_entry(n, struct backing_io, node), rc);
	return true;
}

static void submit_all(struct aio *a)
{
	struct iocb *batch[AIO_BATCH];
	unsigned n;

	while ((n = gather(a, batch)) > 0) {
		int rc = io_submit(a->context, (long)n, batch);

		if (rc > 0) {
			a->in_kernel += (unsigned)rc;
			unlink_first(a, (unsigned)rc);
		} else if (!refused(a, rc ? rc : -EAGAIN)) {
			return;
		}
	}
}

static void run(struct reactor_job *job)
{
	struct aio *a = container_of(job, struct aio, job);

	submit_all(a);
	if (reap(a) && !list_empty(&a->todo))
		reactor_defer(a->host->reactor, REACTOR_STAGE_SUBMIT, &a->job);
}

static void ready(struct reactor_fd *rfd, uint32_t events)
{
	struct aio *a = container_of(rfd, struct aio, ready);

	(void)events;
	reactor_defer(a->host->reactor, REACTOR_STAGE_SUBMIT, &a->job);
}

int aio_start(struct engine_host *h, struct aio **ret)
{
	struct aio *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->host = h;
	list_init(&a->todo);
	reactor_job_init(&a->job, run);
	a->ready.ready = ready;
	a->ready.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = a->ready.fd < 0 ? -errno : io_setup(AIO_DEPTH, &a->context);
	if (!rc)
		rc = reactor_fd_add(h->reactor, &a->ready, EPOLLIN | EPOLLET);
	if (rc < 0) {
		a->ready.removed = true;
		aio_stop(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void aio_stop(struct aio *a)
{
	if (!a)
		return;
	reactor_job_cancel(&a->job);
	reactor_fd_del(a->host->reactor, &a->ready);
	if (a->context)
		io_destroy(a->context);
	if (a->ready.fd >= 0)
		close(a->ready.fd);
	free(a);
}

static void queue_open(struct fd_queue *q)
{
	q->share = AIO_SHARE;
}

static void queue_close(struct fd_queue *q)
{
	(void)q; /* nothing is kept by queue */
}

const struct fd_engine aio_engine = {
	.name = "aio",
	.usable = aio_usable,
	.submit = submit,
	.queue_open = queue_open,
	.queue_close = queue_close,
};

#endif
