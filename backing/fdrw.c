/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/fdstore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	IOV_PIECE = 64, /* entries of one call: keeps the copy on the stack small */
	BOUNCE_ALIGN = 4096,
};

unsigned fd_iov_rest(const struct backing_io *io, uint64_t moved, struct iovec *to, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < io->iovcnt && n < max; i++) {
		size_t len = io->iov[i].iov_len;

		if (moved >= len) {
			moved -= len;
			continue;
		}
		to[n].iov_base = (char *)io->iov[i].iov_base + moved;
		to[n++].iov_len = len - moved;
		moved = 0;
	}
	return n;
}

bool fd_misaligned(const struct fd_store *s, const struct backing_io *io)
{
	uintptr_t bits = 0, sizes = 0;

	if (!s->direct)
		return false;
	for (unsigned i = 0; i < io->iovcnt; i++) {
		bits |= (uintptr_t)io->iov[i].iov_base;
		sizes |= io->iov[i].iov_len;
	}
	return (bits & (s->memory_unit - 1)) || (sizes & (s->b.info.logical_block - 1));
}

/* One call; returns bytes or a negative errno. */
static ssize_t move(struct fd_store *s, struct backing_io *io, const struct iovec *iov, unsigned n,
		    int flags)
{
	off_t at = (off_t)(io->offset + fd_state(io)->moved);
	ssize_t got;

	if (io->kind == BACKING_WRITE && io->durable)
		flags |= RWF_DSYNC;
	do
		got = io->kind == BACKING_WRITE ? pwritev2(s->fd, iov, (int)n, at, flags)
						: preadv2(s->fd, iov, (int)n, at, flags);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int fd_rw(struct fd_store *s, struct backing_io *io, int flags)
{
	struct fd_state *state = fd_state(io);
	struct iovec rest[IOV_PIECE];

	while (state->moved < io->length) {
		const struct iovec *iov = rest;
		unsigned n;
		ssize_t got;

		if (!state->moved && io->iovcnt <= IOV_PIECE) {
			iov = io->iov;
			n = io->iovcnt;
		} else {
			n = fd_iov_rest(io, state->moved, rest, IOV_PIECE);
		}
		got = move(s, io, iov, n, flags);
		if (got < 0)
			return (int)got;
		if (got == 0) /* the file has become shorter behind our back */
			return -EIO;
		state->moved += (uint64_t)got;
	}
	return 0;
}

static void copy_out(const struct backing_io *io, const char *from)
{
	for (unsigned i = 0; i < io->iovcnt; i++) {
		memcpy(io->iov[i].iov_base, from, io->iov[i].iov_len);
		from += io->iov[i].iov_len;
	}
}

static void copy_in(const struct backing_io *io, char *to)
{
	for (unsigned i = 0; i < io->iovcnt; i++) {
		memcpy(to, io->iov[i].iov_base, io->iov[i].iov_len);
		to += io->iov[i].iov_len;
	}
}

int fd_rw_bounce(struct fd_store *s, struct backing_io *io)
{
	struct fd_state *state = fd_state(io);
	void *bounce = NULL;
	int rc = 0;

	if (posix_memalign(&bounce, BOUNCE_ALIGN, io->length))
		return -ENOMEM;
	if (io->kind == BACKING_WRITE)
		copy_in(io, bounce);
	while (!rc && state->moved < io->length) {
		struct iovec iov = { (char *)bounce + state->moved, io->length - state->moved };
		ssize_t got = move(s, io, &iov, 1, 0);

		if (got <= 0)
			rc = got < 0 ? (int)got : -EIO;
		else
			state->moved += (uint64_t)got;
	}
	if (!rc && io->kind == BACKING_READ)
		copy_out(io, bounce);
	free(bounce);
	return rc;
}
