/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The io_uring engine: one ring a reactor; what a turn has queued goes down in one enter, which
 * also runs the completions. A ring with DEFER_TASKRUN does not wake an epoll on its own
 * descriptor (seen on 6.18), so an eventfd does, which is switched off while the ring is looked at
 * anyway.
 *
 * An io is in one stage at a time: RUNS (several fixed buffers, one SQE each), REST (one vector or
 * buffer, continued after short transfers), SPACE (fallocate), SYNC.
 */
#if HAWSER_WITH_URING

#include "backing/uring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

/* Preparing. */

void uring_later(struct uring *u)
{
	reactor_defer(u->host->reactor, REACTOR_STAGE_SUBMIT, &u->job);
}

/* Room for n SQEs now? */
static bool has_room(struct uring *u, unsigned n)
{
	return io_uring_sq_space_left(&u->ring) >= n && u->in_kernel + n <= URING_CQ;
}

static struct io_uring_sqe *take_sqe(struct uring *u, struct backing_io *io)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	u->in_kernel++;
	fd_state(io)->pending++;
	return sqe;
}

/* What holds for all verbs; after io_uring_prep_*, which clears the SQE. */
static void finish_sqe(struct io_uring_sqe *sqe, struct backing_io *io)
{
	struct fd_queue *q = fd_queue_of(io);

	if (q->file_index >= 0) {
		sqe->fd = q->file_index;
		sqe->flags |= IOSQE_FIXED_FILE;
	}
	io_uring_sqe_set_data(sqe, io);
}

/* From here to the end of its chunk of the arena; memory outside of that has no end. */
static size_t chunk_left(const struct uring *u, const char *at)
{
	size_t chunk = (size_t)1 << u->chunk_shift;

	if (!u->fixed || at < u->fixed || at >= u->fixed + u->fixed_bytes)
		return SIZE_MAX;
	return chunk - ((size_t)(at - u->fixed) & (chunk - 1));
}

/* The registered buffer that a piece of memory lies in, or -1. */
static int fixed_index(struct uring *u, const char *at, size_t length)
{
	size_t left = chunk_left(u, at), index;

	if (left == SIZE_MAX || length > left)
		return -1;
	index = (size_t)(at - u->fixed) >> u->chunk_shift;
	if (u->chunks[index] == CHUNK_REGISTERED || uring_register_chunk(u, index))
		return (int)index;
	return -1;
}

static void prep_one(struct uring *u, struct backing_io *io, const struct iovec *iov,
		     uint64_t offset)
{
	int fd = fd_queue_of(io)->store->fd, index = fixed_index(u, iov->iov_base, iov->iov_len);
	struct io_uring_sqe *sqe = take_sqe(u, io);
	unsigned n = (unsigned)iov->iov_len;

	if (io->kind == BACKING_READ && index >= 0)
		io_uring_prep_read_fixed(sqe, fd, iov->iov_base, n, offset, index);
	else if (io->kind == BACKING_READ)
		io_uring_prep_read(sqe, fd, iov->iov_base, n, offset);
	else if (index >= 0)
		io_uring_prep_write_fixed(sqe, fd, iov->iov_base, n, offset, index);
	else
		io_uring_prep_write(sqe, fd, iov->iov_base, n, offset);
	if (io->durable && io->kind == BACKING_WRITE)
		sqe->rw_flags = RWF_DSYNC;
	finish_sqe(sqe, io);
}

static void prep_vector(struct uring *u, struct backing_io *io, const struct iovec *iov, unsigned n,
			uint64_t offset)
{
	int fd = fd_queue_of(io)->store->fd;
	struct io_uring_sqe *sqe = take_sqe(u, io);

	if (io->kind == BACKING_READ)
		io_uring_prep_readv(sqe, fd, iov, n, offset);
	else
		io_uring_prep_writev(sqe, fd, iov, n, offset);
	if (io->durable && io->kind == BACKING_WRITE)
		sqe->rw_flags = RWF_DSYNC;
	finish_sqe(sqe, io);
}

/* Adds a piece that lies within one chunk; false: there are max already. */
static bool add_run(const struct uring *u, struct iovec *runs, unsigned *n, unsigned max,
		    struct iovec piece)
{
	if (*n) {
		struct iovec *last = &runs[*n - 1];

		if ((char *)last->iov_base + last->iov_len == piece.iov_base &&
		    chunk_left(u, last->iov_base) >= last->iov_len + piece.iov_len) {
			last->iov_len += piece.iov_len;
			return true;
		}
	}
	if (*n == max)
		return false;
	runs[(*n)++] = piece;
	return true;
}

/* Neighbours in memory become one piece, within a chunk. Returns how many pieces, at most max + 1.
 */
static unsigned join(const struct uring *u, const struct backing_io *io, struct iovec *runs,
		     unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < io->iovcnt; i++) {
		char *at = io->iov[i].iov_base;
		size_t left = io->iov[i].iov_len;

		while (left) {
			size_t here = chunk_left(u, at) < left ? chunk_left(u, at) : left;

			if (!add_run(u, runs, &n, max, (struct iovec){ at, here }))
				return max + 1;
			at += here;
			left -= here;
		}
	}
	return n;
}

static bool all_fixed(struct uring *u, const struct iovec *runs, unsigned n)
{
	while (n--)
		if (fixed_index(u, runs[n].iov_base, runs[n].iov_len) < 0)
			return false;
	return true;
}

/* True if io is on its way. */
static bool start_runs(struct uring *u, struct backing_io *io)
{
	struct iovec runs[URING_RUNS];
	uint64_t offset = io->offset;
	unsigned n;

	if (io->iovcnt == 1 && io->iov->iov_len <= chunk_left(u, io->iov->iov_base)) {
		fd_state(io)->stage = STAGE_REST;
		prep_one(u, io, io->iov, offset);
		return true;
	}
	n = join(u, io, runs, URING_RUNS);
	if (n != 1 && (n > URING_RUNS || !all_fixed(u, runs, n))) {
		fd_state(io)->stage = STAGE_REST;
		prep_vector(u, io, io->iov, io->iovcnt, offset);
		return true;
	}
	if (!has_room(u, n))
		return false;
	if (n == 1)
		fd_state(io)->stage = STAGE_REST;
	for (unsigned i = 0; i < n; i++) {
		prep_one(u, io, &runs[i], offset);
		offset += runs[i].iov_len;
	}
	return true;
}

/* From `moved` on: the rest of the entry it falls into, or all entries that follow. */
static void start_rest(struct uring *u, struct backing_io *io)
{
	uint64_t moved = fd_state(io)->moved, at = 0;
	unsigned i = 0;

	while (at + io->iov[i].iov_len <= moved)
		at += io->iov[i++].iov_len;
	if (at == moved) {
		prep_vector(u, io, io->iov + i, io->iovcnt - i, io->offset + moved);
	} else {
		struct iovec one = { (char *)io->iov[i].iov_base + (moved - at),
				     io->iov[i].iov_len - (moved - at) };

		prep_one(u, io, &one, io->offset + moved);
	}
}

static void start_space(struct uring *u, struct backing_io *io)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_state *s = fd_state(io);
	struct io_uring_sqe *sqe = take_sqe(u, io);

	io_uring_prep_fallocate(sqe, q->store->fd, fd_way_mode(s->way), (off_t)io->offset,
				(off_t)io->length);
	finish_sqe(sqe, io);
}

static void start_sync(struct uring *u, struct backing_io *io)
{
	struct io_uring_sqe *sqe = take_sqe(u, io);

	io_uring_prep_fsync(sqe, fd_queue_of(io)->store->fd, IORING_FSYNC_DATASYNC);
	finish_sqe(sqe, io);
}

/* Puts what the io's stage asks for into the ring; false: no room. */
static bool start(struct uring *u, struct backing_io *io)
{
	if (!has_room(u, 1))
		return false;
	switch ((enum uring_stage)fd_state(io)->stage) {
	case STAGE_RUNS:
		return start_runs(u, io);
	case STAGE_REST:
		start_rest(u, io);
		return true;
	case STAGE_SPACE:
		start_space(u, io);
		return true;
	case STAGE_SYNC:
		start_sync(u, io);
		return true;
	}
	return true;
}

/* First come, first served, within the ring. */
static void go(struct uring *u, struct backing_io *io)
{
	if (!list_empty(&u->backlog) || !start(u, io))
		list_add_tail(&u->backlog, &io->node);
	uring_later(u);
}

static void start_or_wait(struct uring *u, struct backing_io *io)
{
	if (fd_admit(fd_queue_of(io), io))
		go(u, io);
}

/* A short TRIM or ZERO by fallocate where that is the way, else on a thread, which cuts pieces. */
static void choose_way(struct uring *u, struct backing_io *io)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_state *s = fd_state(io);
	enum fd_way way = fd_way_now(q->store, io);

	if ((way != FD_WAY_PUNCH && way != FD_WAY_ZERO_RANGE) || io->length > FD_DATA_PIECE) {
		fd_offload(q, io);
		return;
	}
	s->stage = STAGE_SPACE;
	s->way = (uint8_t)way;
	start_or_wait(u, io);
}

void uring_submit(struct fd_queue *q, struct backing_io *io)
{
	struct uring *u = q->host->uring;

	switch (io->kind) {
	case BACKING_TRIM:
	case BACKING_ZERO:
		choose_way(u, io);
		return;
	case BACKING_FLUSH:
		fd_state(io)->stage = STAGE_SYNC;
		break;
	case BACKING_READ:
	case BACKING_WRITE:
	case BACKING_EXTENTS: /* never comes here */
		fd_state(io)->stage = STAGE_RUNS;
		break;
	}
	start_or_wait(u, io);
}

/* Completions. */

static void rw_complete(struct uring *u, struct backing_io *io)
{
	struct fd_state *s = fd_state(io);

	if (s->error == -EAGAIN || s->error == -EINTR || s->error == -ECANCELED) {
		/* The kernel would not wait for it: a thread will. Runs end in any order, so
		 * nothing of them is known to be a beginning. */
		if (s->stage == STAGE_RUNS)
			s->moved = 0;
		fd_offload(fd_queue_of(io), io);
	} else if (s->error) {
		fd_finish(io, s->error);
	} else if (s->moved == io->length) {
		fd_finish(io, 0);
	} else { /* short */
		if (s->stage == STAGE_RUNS)
			s->moved = 0;
		s->stage = STAGE_REST;
		start_or_wait(u, io);
	}
}

static void space_complete(struct uring *u, struct backing_io *io)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_state *s = fd_state(io);
	int rc = s->error;

	s->error = 0;
	if (fd_way_missing(rc) && fd_way_next(q->store, io, s->way)) {
		choose_way(u, io);
	} else if (rc == -EINTR || rc == -EAGAIN || rc == -ECANCELED) {
		fd_offload(q, io);
	} else if (rc < 0) {
		fd_finish(io, rc);
	} else if (io->durable) {
		s->stage = STAGE_SYNC;
		start_or_wait(u, io);
	} else {
		fd_finish(io, 0);
	}
}

static void complete(struct uring *u, struct backing_io *io, int res)
{
	struct fd_queue *q = fd_queue_of(io);
	struct fd_state *s = fd_state(io);
	bool rw = s->stage == STAGE_RUNS || s->stage == STAGE_REST;
	struct backing_io *next;

	u->in_kernel--;
	s->pending--;
	if (rw && res == 0)
		res = -EIO; /* the file has become shorter behind our back */
	if (res < 0 && (!s->error || s->error == -EAGAIN))
		s->error = res;
	if (rw && res > 0)
		s->moved += (uint64_t)res;
	if (s->pending)
		return;
	fd_leave(q, io);
	while ((next = fd_next_admitted(q))) /* before done runs, which may close the queue */
		go(u, next);
	if (rw)
		rw_complete(u, io);
	else if (s->stage == STAGE_SPACE)
		space_complete(u, io);
	else
		fd_finish(io, s->error);
}

static void reap(struct uring *u)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
		struct backing_io *io = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&u->ring, cqe);
		complete(u, io, res);
	}
}

static void start_backlog(struct uring *u)
{
	struct list *n;

	while ((n = list_first(&u->backlog))) {
		if (!start(u, list_entry(n, struct backing_io, node)))
			return;
		list_del(n);
	}
}

/* Completions wait to be run, or are there? */
static bool has_news(struct uring *u)
{
	return io_uring_cq_ready(&u->ring) ||
	       (__atomic_load_n(u->ring.sq.kflags, __ATOMIC_RELAXED) &
		(IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW));
}

/* One enter: what is queued goes down, completions come up. False: try again later. */
static bool enter(struct uring *u)
{
	int rc = io_uring_submit_and_get_events(&u->ring);

	if (rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM) {
		reactor_timer_arm(u->host->reactor, &u->retry, RETRY_MS);
		return false;
	}
	return true;
}

void uring_run(struct reactor_job *job)
{
	struct uring *u = container_of(job, struct uring, job);
	bool ok = true;

	(void)io_uring_cq_eventfd_toggle(&u->ring, false);
	for (int round = 0; ok && round < URING_ROUNDS; round++) {
		start_backlog(u);
		if (io_uring_sq_ready(&u->ring) || has_news(u))
			ok = enter(u);
		reap(u);
		if (!io_uring_sq_ready(&u->ring) && list_empty(&u->backlog))
			break;
	}
	(void)io_uring_cq_eventfd_toggle(&u->ring, true);
	/* What came between the last look and the switch has made no event. */
	__sync_synchronize();
	if (ok && (io_uring_sq_ready(&u->ring) || has_news(u) ||
		   (!list_empty(&u->backlog) && has_room(u, URING_RUNS))))
		uring_later(u);
}

#endif
