/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of a store may be in the kernel. A block device has so many requests (nr_requests);
 * who submits one more sleeps in the kernel, RWF_NOWAIT or not on a file system, until one ends:
 * for ever if the device hangs, and with it the reactor. So all stores of a disk together stay
 * below that number; what is over it waits in its queue, or goes to a thread of its store when
 * nothing of the queue is under way that would wake it.
 */
#include "backing/fdstore.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Where nothing is known: the smallest number of requests that devices in use have is 64. */
enum { REQUESTS_UNKNOWN = 64, REQUESTS_MIN = 4 };
enum { ADMITTED = 1, ADMITTED_ON_DISK }; /* fd_state.admitted */
#define MAX_IO_UNKNOWN ((uint64_t)512 << 10)

struct fd_disk {
	struct list node; /* disks; its lock */
	unsigned long long dev;
	unsigned users;   /* likewise */
	unsigned budget;  /* requests */
	uint64_t max_io;  /* bytes of one request */
	atomic_uint used; /* requests, of all reactors */
};

static pthread_mutex_t disks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list disks = LIST_INIT(disks);

static struct fd_disk *make_disk(unsigned long long dev)
{
	struct fd_disk *d = calloc(1, sizeof(*d));
	uint64_t n;

	if (!d)
		return NULL;
	d->dev = dev;
	if (sysfs_block_u64(dev, "queue/nr_requests", &n) < 0 || !n || n > 65536)
		n = REQUESTS_UNKNOWN;
	/* A quarter is left to the journal, to write-back and to the threads. */
	d->budget = n * 3 / 4 > REQUESTS_MIN ? (unsigned)(n * 3 / 4) : REQUESTS_MIN;
	d->max_io = MAX_IO_UNKNOWN;
	if (!sysfs_block_u64(dev, "queue/max_sectors_kb", &n) && n && n <= UINT32_MAX)
		d->max_io = n * 1024;
	list_add_tail(&disks, &d->node);
	return d;
}

int fd_disk_get(unsigned long long dev, struct fd_disk **ret)
{
	unsigned long long whole = sysfs_whole_disk(dev);
	struct fd_disk *d = NULL;
	struct list *n;

	pthread_mutex_lock(&disks_lock);
	list_for_each (n, &disks)
		if (list_entry(n, struct fd_disk, node)->dev == whole)
			d = list_entry(n, struct fd_disk, node);
	if (!d)
		d = make_disk(whole);
	if (d)
		d->users++;
	pthread_mutex_unlock(&disks_lock);
	if (!d)
		return -ENOMEM;
	*ret = d;
	return 0;
}

void fd_disk_put(struct fd_disk *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&disks_lock);
	if (--d->users == 0) {
		list_del(&d->node);
		free(d);
	}
	pthread_mutex_unlock(&disks_lock);
}

/* Requests that the disk makes of an io. One larger than the budget counts as the whole. */
static unsigned weight(const struct fd_disk *d, const struct backing_io *io)
{
	uint64_t n = (io->length + d->max_io - 1) / d->max_io;

	return n < d->budget ? (unsigned)n : d->budget;
}

/* True if io may go down; it is counted then. */
static bool take(struct fd_queue *q, struct backing_io *io)
{
	struct fd_disk *d = q->store->disk;
	uint8_t how = ADMITTED;

	if (q->in_kernel >= q->share)
		return false;
	if (d && (io->kind == BACKING_READ || io->kind == BACKING_WRITE)) {
		unsigned n = weight(d, io);

		how = ADMITTED_ON_DISK;
		if (atomic_fetch_add_explicit(&d->used, n, memory_order_relaxed) + n > d->budget) {
			atomic_fetch_sub_explicit(&d->used, n, memory_order_relaxed);
			return false;
		}
	}
	q->in_kernel++;
	fd_state(io)->admitted = how;
	return true;
}

bool fd_admit(struct fd_queue *q, struct backing_io *io)
{
	if (list_empty(&q->waiting) && take(q, io))
		return true;
	if (q->in_kernel)
		list_add_tail(&q->waiting, &io->node);
	else /* nothing is under way that would come back for it */
		fd_offload(q, io);
	return false;
}

void fd_leave(struct fd_queue *q, struct backing_io *io)
{
	struct fd_disk *d = q->store->disk;

	if (fd_state(io)->admitted == ADMITTED_ON_DISK)
		atomic_fetch_sub_explicit(&d->used, weight(d, io), memory_order_relaxed);
	fd_state(io)->admitted = 0;
	q->in_kernel--;
}

struct backing_io *fd_next_admitted(struct fd_queue *q)
{
	struct list *n = list_first(&q->waiting);
	struct backing_io *io;

	if (!n)
		return NULL;
	io = list_entry(n, struct backing_io, node);
	if (take(q, io)) {
		list_del(n);
		return io;
	}
	while (!q->in_kernel && (n = list_pop(&q->waiting))) /* as in fd_admit */
		fd_offload(q, list_entry(n, struct backing_io, node));
	return NULL;
}
