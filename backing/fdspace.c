/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/fdstore.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A store whose space was reserved keeps it: no PUNCH in its chains. A device that promises zeros
 * after trimming must keep that promise when the kernel finds out that the device lied. */
static const enum fd_way ways_none[] = { FD_WAY_NONE };
static const enum fd_way ways_punch[] = { FD_WAY_PUNCH, FD_WAY_NONE };
static const enum fd_way ways_discard[] = { FD_WAY_DISCARD, FD_WAY_NONE };
static const enum fd_way ways_trim_zero[] = { FD_WAY_PUNCH, FD_WAY_ZERO_RANGE, FD_WAY_WRITE,
					      FD_WAY_NONE };
static const enum fd_way ways_keep[] = { FD_WAY_ZERO_RANGE, FD_WAY_WRITE, FD_WAY_NONE };
static const enum fd_way ways_keep_thin[] = { FD_WAY_ZERO_RANGE, FD_WAY_PUNCH, FD_WAY_WRITE,
					      FD_WAY_NONE };

static void set_chain(struct fd_store *s, enum fd_purpose purpose, const enum fd_way *ways)
{
	s->chains[purpose].ways = ways;
	atomic_store(&s->chains[purpose].at, 0);
}

void fd_space_setup(struct fd_store *s, bool can_punch, bool can_discard)
{
	bool thin = s->device || !s->preallocated;

	if (can_punch && s->device)
		set_chain(s, FD_TRIM, ways_trim_zero);
	else if (can_punch && thin)
		set_chain(s, FD_TRIM, ways_punch);
	else if (can_discard)
		set_chain(s, FD_TRIM, ways_discard);
	else
		set_chain(s, FD_TRIM, ways_none);
	set_chain(s, FD_ZERO_TRIM, can_punch && thin ? ways_trim_zero : ways_keep);
	set_chain(s, FD_ZERO_KEEP, can_punch && thin && !s->device ? ways_keep_thin : ways_keep);
	if (s->chains[FD_TRIM].ways[0] != FD_WAY_NONE) {
		s->b.info.flags |= BACKING_CAN_TRIM;
		if (s->chains[FD_TRIM].ways[0] == FD_WAY_PUNCH)
			s->b.info.flags |= BACKING_TRIM_ZEROES;
	}
}

static enum fd_purpose purpose(const struct backing_io *io)
{
	if (io->kind == BACKING_TRIM)
		return FD_TRIM;
	return io->may_trim ? FD_ZERO_TRIM : FD_ZERO_KEEP;
}

enum fd_way fd_way_now(struct fd_store *s, const struct backing_io *io)
{
	struct fd_chain *c = &s->chains[purpose(io)];

	return c->ways[atomic_load_explicit(&c->at, memory_order_relaxed)];
}

/* Several threads may find out at once: the chain moves only from the way that failed. */
bool fd_way_next(struct fd_store *s, const struct backing_io *io, enum fd_way way)
{
	struct fd_chain *c = &s->chains[purpose(io)];
	unsigned at = atomic_load(&c->at);

	if (c->ways[at] == way && way != FD_WAY_NONE)
		atomic_compare_exchange_strong(&c->at, &at, at + 1);
	return c->ways[atomic_load(&c->at)] != FD_WAY_NONE;
}

bool fd_way_missing(int error)
{
	return error == -EOPNOTSUPP || error == -ENOSYS || error == -ENODEV || error == -ENOTTY;
}

int fd_way_mode(enum fd_way way)
{
	return way == FD_WAY_PUNCH ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
				   : FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
}

/* How far it is from `at` to the next data, at most `left`; 0 if the file system cannot say. */
static uint64_t hole_at(const struct fd_store *s, uint64_t at, uint64_t left)
{
	off_t data = lseek(s->fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? left : 0;
	return (uint64_t)data - at < left ? (uint64_t)data - at : left;
}

/* Bytes of the next piece. */
static uint64_t piece(const struct fd_store *s, enum fd_way way, uint64_t at, uint64_t left)
{
	uint64_t most = FD_DATA_PIECE, hole, hole_most;

	if (way == FD_WAY_WRITE)
		most = FD_WRITE_PIECE;
	else if (s->device)
		most = way == FD_WAY_ZERO_RANGE ? FD_ALLOC_PIECE : FD_DEVICE_PIECE;
	if (left <= most)
		return left;
	if (way != FD_WAY_WRITE && !s->device) {
		hole_most = way == FD_WAY_PUNCH ? FD_HOLE_PIECE : FD_ALLOC_PIECE;
		hole = hole_at(s, at, left);
		if (hole > most)
			return hole < hole_most ? hole : hole_most;
	}
	/* Pieces end on their own multiple, so that all but the first are aligned. */
	return most - at % most;
}

static int write_zeros(struct fd_store *s, uint64_t offset, uint64_t length)
{
	static _Alignas(4096) char zeros[65536]; /* never written to */
	enum { N = 16 };

	while (length) {
		struct iovec iov[N];
		uint64_t left = length;
		int n = 0;
		ssize_t got;

		for (; n < N && left; n++) {
			iov[n].iov_base = zeros;
			iov[n].iov_len = left < sizeof(zeros) ? left : sizeof(zeros);
			left -= iov[n].iov_len;
		}
		got = pwritev(s->fd, iov, n, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		offset += (uint64_t)got;
		length -= (uint64_t)got;
	}
	return 0;
}

static int apply(struct fd_store *s, enum fd_way way, uint64_t offset, uint64_t length)
{
	uint64_t range[2] = { offset, length };
	int rc;

	if (way == FD_WAY_WRITE)
		return write_zeros(s, offset, length);
	do
		rc = way == FD_WAY_DISCARD
			 ? ioctl(s->fd, BLKDISCARD, range)
			 : fallocate(s->fd, fd_way_mode(way), (off_t)offset, (off_t)length);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

int fd_space_step(struct fd_store *s, struct backing_io *io)
{
	struct fd_state *state = fd_state(io);

	for (;;) {
		enum fd_way way = fd_way_now(s, io);
		uint64_t at = io->offset + state->moved;
		uint64_t n = piece(s, way, at, io->length - state->moved);
		int rc;

		if (way == FD_WAY_NONE)
			return -EOPNOTSUPP;
		rc = apply(s, way, at, n);
		if (!rc)
			state->moved += n;
		if (!fd_way_missing(rc) || !fd_way_next(s, io, way))
			return rc;
	}
}

static void all_allocated(struct backing_io *io)
{
	io->extents[0] = (struct backing_extent){ io->offset, io->length, true };
	io->n_extents = 1;
}

/* The next change of state after `at`, at most `end`. Returns 0 and *ret, or a negative errno. */
static int next_edge(int fd, uint64_t at, uint64_t end, bool in_data, uint64_t *ret)
{
	off_t to = lseek(fd, (off_t)at, in_data ? SEEK_HOLE : SEEK_DATA);

	if (to < 0 && errno != ENXIO) /* ENXIO: no data up to the end of the file */
		return -errno;
	*ret = to < 0 || (uint64_t)to > end ? end : (uint64_t)to;
	return 0;
}

/* The file may change meanwhile; what then makes no sense is called allocated, which is safe. */
static int walk_edges(int fd, struct backing_io *io, bool in_data)
{
	uint64_t at = io->offset, end = io->offset + io->length, edge = at;

	while (at < end && io->n_extents < io->max_extents) {
		int rc = next_edge(fd, at, end, in_data, &edge);

		if (rc < 0)
			return rc;
		if (edge <= at) {
			edge = end;
			in_data = true;
		}
		io->extents[io->n_extents++] = (struct backing_extent){ at, edge - at, in_data };
		at = edge;
		in_data = !in_data;
	}
	return 0;
}

int fd_extents(struct fd_store *s, struct backing_io *io)
{
	uint64_t edge = 0;
	int rc;

	/* A device cannot say; reserved space is allocated whether it was written or not. */
	rc = s->device || s->preallocated
		 ? -EOPNOTSUPP
		 : next_edge(s->fd, io->offset, io->offset + io->length, false, &edge);
	if (rc == -EINVAL || rc == -EOPNOTSUPP) {
		all_allocated(io);
		return 0;
	}
	return rc < 0 ? rc : walk_edges(s->fd, io, edge == io->offset);
}
