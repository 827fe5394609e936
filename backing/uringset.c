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

/* The arena, in the largest pieces that the kernel takes. */
static void register_arena(struct uring *u)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool warned;
	struct iovec *pieces;
	void *base;
	size_t bytes, n;
	int rc;

	arena_memory(u->host->arena, &base, &bytes);
	n = (bytes + URING_CHUNK - 1) / URING_CHUNK;
	pieces = calloc(n ? n : 1, sizeof(*pieces));
	if (!pieces)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t left = bytes - i * URING_CHUNK;

		pieces[i].iov_base = (char *)base + i * URING_CHUNK;
		pieces[i].iov_len = left < URING_CHUNK ? left : URING_CHUNK;
	}
	rc = io_uring_register_buffers(&u->ring, pieces, (unsigned)n);
	free(pieces);
	if (rc == 0) {
		u->fixed = base;
		u->fixed_bytes = bytes;
		return;
	}
	pthread_mutex_lock(&lock);
	if (!warned)
		log_warn(LOG_BACKING,
			 "io_uring: buffers cannot be registered: %s; plain ones serve, large "
			 "transfers cost more; raise LimitMEMLOCK",
			 error_text(-rc));
	warned = true;
	pthread_mutex_unlock(&lock);
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
		register_arena(u);
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
