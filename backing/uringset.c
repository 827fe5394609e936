/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The io_uring engine's ring: is there io_uring, with what flags, what is registered with it.
 */
#if HAWSER_WITH_URING

#include "backing/uring.h"

#include "backing/why.h"
#include "daemon/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Is it there, and has it the verbs? */

static struct {
	pthread_once_t once;
	bool usable;
	const char *why;
} probed = { .once = PTHREAD_ONCE_INIT };

static const int verbs[] = { IORING_OP_READV,       IORING_OP_WRITEV,   IORING_OP_READ_FIXED,
			     IORING_OP_WRITE_FIXED, IORING_OP_READ,     IORING_OP_WRITE,
			     IORING_OP_FSYNC,       IORING_OP_FALLOCATE };

static void probe_once(void)
{
	struct io_uring ring;
	struct io_uring_probe *p;
	int rc = io_uring_queue_init(4, &ring, 0);

	if (rc < 0) {
		probed.why = rc == -EPERM    ? "the kernel forbids io_uring here "
					       "(kernel.io_uring_disabled, or seccomp)"
			     : rc == -ENOSYS ? "the kernel has no io_uring"
			     : rc == -ENOMEM ? "io_uring gets no memory (RLIMIT_MEMLOCK)"
					     : "io_uring cannot be set up";
		return;
	}
	p = io_uring_get_probe_ring(&ring);
	probed.usable = p != NULL;
	for (size_t i = 0; p && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		probed.usable = probed.usable && io_uring_opcode_supported(p, verbs[i]);
	if (!probed.usable)
		probed.why = "the kernel's io_uring is too old (5.6 is needed)";
	io_uring_free_probe(p);
	io_uring_queue_exit(&ring);
}

static bool uring_usable(const char **ret_why)
{
	pthread_once(&probed.once, probe_once);
	if (!probed.usable)
		*ret_why = probed.why;
	return probed.usable;
}

static void event_ready(struct reactor_fd *rfd, uint32_t events)
{
	(void)events;
	uring_later(container_of(rfd, struct uring, event));
}

static void retry(struct reactor_timer *t)
{
	uring_later(container_of(t, struct uring, retry));
}

/* Starting and stopping. */

static int init_ring(struct io_uring *ring)
{
	static const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		0,
	};
	int rc = -EINVAL;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && rc == -EINVAL; i++) {
		struct io_uring_params p = { .flags = flags[i] | IORING_SETUP_CQSIZE,
					     .cq_entries = URING_CQ };

		rc = io_uring_queue_init_params(URING_SQ, ring, &p);
	}
	return rc;
}

static void say_refused(int rc)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool warned;

	pthread_mutex_lock(&lock);
	if (!warned)
		log_warn(LOG_BACKING,
			 "io_uring: buffers cannot be registered: %s; plain ones serve, large "
			 "transfers cost more; raise LimitMEMLOCK",
			 error_text(-rc));
	warned = true;
	pthread_mutex_unlock(&lock);
}

bool uring_register_chunk(struct uring *u, size_t index)
{
	size_t from = index << u->chunk_shift, chunk = (size_t)1 << u->chunk_shift;
	struct iovec piece = { u->fixed + from, chunk };
	__u64 tag = 0;
	int rc;

	if (u->chunks[index] != CHUNK_NEW)
		return u->chunks[index] == CHUNK_REGISTERED;
	if (piece.iov_len > u->fixed_bytes - from)
		piece.iov_len = u->fixed_bytes - from;
	rc = io_uring_register_buffers_update_tag(&u->ring, (unsigned)index, &piece, &tag, 1);
	u->chunks[index] = rc == 1 ? CHUNK_REGISTERED : CHUNK_REFUSED;
	if (rc != 1)
		say_refused(rc < 0 ? rc : -EIO);
	return rc == 1;
}

/* Before Linux 5.19 there is no empty table: the whole arena, in the largest pieces. */
static int register_all(struct uring *u)
{
	size_t chunk = (size_t)1 << URING_CHUNK_SHIFT_MAX, n = (u->fixed_bytes + chunk - 1) / chunk;
	struct iovec *pieces = calloc(n, sizeof(*pieces));
	int rc;

	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t left = u->fixed_bytes - i * chunk;

		pieces[i].iov_base = u->fixed + i * chunk;
		pieces[i].iov_len = left < chunk ? left : chunk;
	}
	rc = io_uring_register_buffers(&u->ring, pieces, (unsigned)n);
	free(pieces);
	u->chunk_shift = URING_CHUNK_SHIFT_MAX;
	memset(u->chunks, CHUNK_REGISTERED, n);
	return rc;
}

static void prepare_arena(struct uring *u)
{
	void *base;
	size_t n;
	int rc;

	arena_memory(u->host->arena, &base, &u->fixed_bytes);
	u->fixed = base;
	u->chunk_shift = URING_CHUNK_SHIFT;
	while (u->chunk_shift < URING_CHUNK_SHIFT_MAX &&
	       (u->fixed_bytes - 1) >> u->chunk_shift >= URING_CHUNKS)
		u->chunk_shift++;
	n = ((u->fixed_bytes - 1) >> u->chunk_shift) + 1;
	u->chunks = calloc(n, 1);
	rc = u->chunks ? io_uring_register_buffers_sparse(&u->ring, (unsigned)n) : -ENOMEM;
	if (rc == -EINVAL)
		rc = register_all(u);
	if (!rc)
		return;
	u->fixed = NULL;
	say_refused(rc);
}

int uring_start(struct engine_host *h, struct uring **ret)
{
	struct uring *u = calloc(1, sizeof(*u));
	unsigned workers[2] = { URING_WORKERS, 0 };
	int rc;

	if (!u)
		return -ENOMEM;
	u->host = h;
	list_init(&u->backlog);
	reactor_job_init(&u->job, uring_run);
	reactor_timer_init(&u->retry, retry);
	u->event.ready = event_ready;
	u->event.removed = true;
	u->event.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = u->event.fd < 0 ? -errno : init_ring(&u->ring);
	if (rc < 0)
		goto fail;
	rc = io_uring_register_eventfd(&u->ring, u->event.fd);
	if (!rc)
		rc = reactor_fd_add(h->reactor, &u->event, EPOLLIN | EPOLLET);
	if (rc < 0) {
		io_uring_queue_exit(&u->ring);
		goto fail;
	}
	/* All of these may fail: they only make things cheaper. */
	(void)io_uring_register_ring_fd(&u->ring);
	(void)io_uring_register_iowq_max_workers(&u->ring, workers);
	u->files = io_uring_register_files_sparse(&u->ring, URING_FILES) == 0;
	if (h->arena)
		prepare_arena(u);
	*ret = u;
	return 0;
fail:
	if (u->event.fd >= 0)
		close(u->event.fd);
	free(u);
	return rc;
}

void uring_stop(struct uring *u)
{
	if (!u)
		return;
	reactor_job_cancel(&u->job);
	reactor_timer_disarm(&u->retry);
	reactor_fd_del(u->host->reactor, &u->event);
	io_uring_queue_exit(&u->ring);
	close(u->event.fd);
	free(u->chunks);
	free(u);
}

static void uring_queue_open(struct fd_queue *q)
{
	struct uring *u = q->host->uring;

	q->share = q->store->direct && q->store->nowait ? URING_SHARE : URING_SHARE_SLOW;
	for (int i = 0; u->files && i < URING_FILES; i++) {
		if (u->file_used[i])
			continue;
		if (io_uring_register_files_update(&u->ring, (unsigned)i, &q->store->fd, 1) == 1) {
			u->file_used[i] = 1;
			q->file_index = i;
		}
		return;
	}
}

static void uring_queue_close(struct fd_queue *q)
{
	struct uring *u = q->host->uring;
	int none = -1;

	if (q->file_index < 0)
		return;
	(void)io_uring_register_files_update(&u->ring, (unsigned)q->file_index, &none, 1);
	u->file_used[q->file_index] = 0;
}

const struct fd_engine uring_engine = {
	.name = "uring",
	.usable = uring_usable,
	.submit = uring_submit,
	.queue_open = uring_queue_open,
	.queue_close = uring_queue_close,
};

#endif
