/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What could not be written back is gone. Linux tells it once, to whoever syncs this open file
 * next, and takes the pages for clean: the sync after that succeeds. So a store that has seen it
 * fails every flush from then on, until it is opened anew; else one host hears of the error and
 * another is told GOOD for data that is lost, or the same one when it tries again.
 *
 * For the same reason there is one flush at a time: of two, the one that the kernel told nothing
 * could be answered before the other, which knows. Those that come meanwhile go down together as
 * one, when it has ended, whatever reactors they are of.
 */
#include "backing/fdstore.h"

#include "backing/why.h"
#include "daemon/base/log.h"

#include <errno.h>

/* The call was not carried out, which loses nothing. */
static bool is_harmless(int result)
{
	static const int errors[] = { EINTR,  EAGAIN,     ECANCELED, ENOMEM,
				      EINVAL, EOPNOTSUPP, ENOSYS,    EROFS };

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (result == -errors[i])
			return true;
	return false;
}

/* A durable write may have failed itself, or have found out by its sync what others have lost: it
 * cannot be told apart. Direct I/O leaves nothing of others in the page cache. */
static bool is_loss(const struct fd_store *s, const struct backing_io *io, int result)
{
	if (result >= 0 || is_harmless(result))
		return false;
	if (io->kind == BACKING_FLUSH)
		return true;
	return io->kind != BACKING_READ && io->durable && !s->direct && result == -EIO;
}

int fd_sync_result(struct fd_store *s, const struct backing_io *io, int result)
{
	int none = 0;

	if (is_loss(s, io, result) && atomic_compare_exchange_strong(&s->lost, &none, result))
		log_error(LOG_BACKING,
			  "%s: flush: %s; what was written before may be lost, every flush fails "
			  "from now on; check the storage, then restart hawserd",
			  s->path, error_text(-result));
	if (io->kind == BACKING_FLUSH && !result)
		result = atomic_load(&s->lost);
	return result;
}

/* Lies over io->engine of a flush that is not in an engine. */
struct fd_flush {
	struct reactor_msg msg;
	int result;
} __attribute__((may_alias));
_Static_assert(sizeof(struct fd_flush) <= sizeof(((struct backing_io *)0)->engine), "scratch");

static struct backing_io *io_of(struct reactor_msg *msg)
{
	return (struct backing_io *)(void *)((char *)msg - offsetof(struct backing_io, engine));
}

/* On the reactor of the io. */
static void send_msg(struct backing_io *io, void (*run)(struct reactor_msg *msg), int result)
{
	struct fd_flush *f = (struct fd_flush *)(void *)io->engine;

	f->msg.run = run;
	f->result = result;
	reactor_send(io->queue->reactor, &f->msg);
}

static void shared(struct reactor_msg *msg)
{
	struct backing_io *io = io_of(msg);

	io->result = ((struct fd_flush *)(void *)io->engine)->result;
	io->done(io);
}

static void goes_down(struct reactor_msg *msg)
{
	fd_send_down(io_of(msg));
}

bool fd_flush_begin(struct fd_store *s, struct backing_io *io)
{
	bool now;

	pthread_mutex_lock(&s->flush_lock);
	now = !s->flushing;
	s->flushing = true;
	if (!now)
		list_add_tail(&s->flush_next, &io->node);
	pthread_mutex_unlock(&s->flush_lock);
	return now;
}

void fd_flush_ended(struct fd_store *s, int result)
{
	struct list group, *n;

	list_init(&group);
	pthread_mutex_lock(&s->flush_lock);
	list_splice_tail(&group, &s->flush_group);
	n = list_pop(&s->flush_next);
	list_splice_tail(&s->flush_group, &s->flush_next);
	s->flushing = n;
	pthread_mutex_unlock(&s->flush_lock);
	if (n)
		send_msg(list_entry(n, struct backing_io, node), goes_down, 0);
	while ((n = list_pop(&group)))
		send_msg(list_entry(n, struct backing_io, node), shared, result);
}
