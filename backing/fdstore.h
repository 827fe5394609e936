/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `file` and `block` have in common: a descriptor, the ways in which space is given back and
 * zeroed, the engine that carries reads and writes, and the offload queue for what blocks.
 *
 * Threads: a store's fields are fixed after open except the atomic ones. A queue and the state in
 * io->engine belong to the queue's reactor; while an offload job runs, io belongs to its thread.
 */
#ifndef HAWSER_BACKING_FDSTORE_H
#define HAWSER_BACKING_FDSTORE_H

#include "backing/backing.h"
#include "backing/offload.h"

#include <pthread.h>
#include <stdatomic.h>
#if HAWSER_WITH_AIO
#include <libaio.h>
#endif

struct fd_queue;
struct fd_disk;
struct engine_host;

/* How a range is trimmed or zeroed; each purpose has a chain of ways, best first, and steps down
 * for good when the file system or device says that it has no such operation. */
enum fd_way {
	FD_WAY_NONE, /* end of a chain */
	FD_WAY_PUNCH,
	FD_WAY_ZERO_RANGE,
	FD_WAY_DISCARD, /* BLKDISCARD: no promise about the content */
	FD_WAY_WRITE,   /* write zeros */
};

enum fd_purpose { FD_TRIM, FD_ZERO_KEEP, FD_ZERO_TRIM, FD_PURPOSES };

struct fd_chain {
	const enum fd_way *ways;
	atomic_uint at;
};

/* An I/O engine. */
struct fd_engine {
	const char *name;
	bool (*usable)(const char **ret_why); /* why: static text */
	void (*submit)(struct fd_queue *q, struct backing_io *io);
	void (*queue_open)(struct fd_queue *q);
	void (*queue_close)(struct fd_queue *q);
};

struct fd_store {
	struct backing b;
	int fd;
	bool device;
	bool direct;        /* O_DIRECT */
	bool memory;        /* tmpfs: I/O is copying and never blocks */
	bool local;         /* a call with RWF_NOWAIT, or to io_uring, waits for no server */
	bool preallocated;  /* or a device: writes do not allocate */
	atomic_bool nowait; /* RWF_NOWAIT is understood: I/O need not block the caller */
	atomic_int lost;    /* negative errno: a write-back has failed, see fdsync.c */
	pthread_mutex_t flush_lock; /* the three below, see fdsync.c */
	bool flushing;
	struct list flush_next;  /* backing_io.node: came while one was under way */
	struct list flush_group; /* those that share the one under way */
	uint32_t block_size;     /* of the LU, bytes */
	uint32_t memory_unit;    /* alignment of buffers for direct I/O, bytes */
	const struct fd_engine *engine;
	struct fd_chain chains[FD_PURPOSES];
	struct offload_queue *offload;
	struct fd_disk *disk; /* NULL: none, memory */
	char *path;           /* for messages */
};

struct fd_queue {
	struct backing_queue q;
	struct fd_store *store;
	const struct fd_engine *engine; /* the store's, or the other where a reactor lacks it */
	struct engine_host *host;
	struct list waiting;       /* uring: over the queue's share of the ring */
	unsigned in_kernel, share; /* uring: ios of this queue now, and at most */
	int file_index;            /* uring: registered file, -1 if none */
};

/* The state of an io while it is here; lies over io->engine. */
struct fd_state {
	union {
		struct offload_job job;
#if HAWSER_WITH_AIO
		struct iocb iocb;
#endif
	};
	uint64_t moved;   /* bytes that are done */
	uint8_t pending;  /* uring: pieces in the kernel */
	uint8_t admitted; /* admit.c */
	uint8_t stage;    /* uring: enum uring_stage */
	uint8_t way;      /* enum fd_way of the piece in flight */
	int32_t error;    /* first one */
} __attribute__((may_alias));

_Static_assert(sizeof(struct fd_state) <= sizeof(((struct backing_io *)0)->engine), "scratch");

static inline struct fd_state *fd_state(struct backing_io *io)
{
	return (struct fd_state *)(void *)io->engine;
}

static inline struct backing_io *fd_state_io(struct fd_state *s)
{
	return (struct backing_io *)(void *)((char *)s - offsetof(struct backing_io, engine));
}

static inline struct fd_queue *fd_queue_of(struct backing_io *io)
{
	return container_of(io->queue, struct fd_queue, q);
}

/*
 * Pieces of TRIM and ZERO. While ext4 frees or converts extents it holds the file's lock, and reads
 * of other hosts wait: 8 MiB of data took 4 ms, 256 MiB 90 ms, fragmented ones seconds. Where there
 * is a hole nothing is freed, and 16 TiB must not take minutes.
 */
#define FD_DATA_PIECE   ((uint64_t)8 << 20)
#define FD_HOLE_PIECE   ((uint64_t)1 << 30)
#define FD_ALLOC_PIECE  ((uint64_t)64 << 20)  /* ZERO_RANGE over a hole reserves space */
#define FD_DEVICE_PIECE ((uint64_t)256 << 20) /* devices have no such lock */
#define FD_WRITE_PIECE  ((uint64_t)4 << 20)   /* where zeros have to be written */

/* fdstore.c */
int fd_store_setup(struct fd_store *s, const struct backing_params *p, char **ret_why);
void fd_store_free(struct fd_store *s); /* closes; NULL and half-built allowed */
int fd_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret);
void fd_queue_close(struct backing_queue *q);
void fd_submit(struct backing_queue *q, struct backing_io *io);
void fd_store_close(struct backing *b);
void fd_finish(struct backing_io *io, int result); /* runs done */
void fd_offload(struct fd_queue *q, struct backing_io *io);
void fd_send_down(struct backing_io *io); /* to the engine, or whoever does it */
int fd_open_path(const struct backing_params *p, int flags, unsigned mode); /* fd or -errno */

/* fdsync.c: what an io that has ended with result is to report. */
int fd_sync_result(struct fd_store *s, const struct backing_io *io, int result);
/* May this flush go down? Else it waits and is submitted, or ended, with others later. */
bool fd_flush_begin(struct fd_store *s, struct backing_io *io);
/* A flush that went down has ended so; before its own done. */
void fd_flush_ended(struct fd_store *s, int result);

/* admit.c */
/* The disk that a device number belongs to. */
int fd_disk_get(unsigned long long dev, struct fd_disk **ret);
void fd_disk_put(struct fd_disk *d); /* NULL allowed */
/* True: io may go down now. Else it waits, or a thread has it. */
bool fd_admit(struct fd_queue *q, struct backing_io *io);
/* io has come back; before it ends or goes on. */
void fd_leave(struct fd_queue *q, struct backing_io *io);
/* After fd_leave: one that may go down now, or NULL. Call until NULL. */
struct backing_io *fd_next_admitted(struct fd_queue *q);

/* fdspace.c */
void fd_space_setup(struct fd_store *s, bool can_punch, bool can_discard);
enum fd_way fd_way_now(struct fd_store *s, const struct backing_io *io);
/* `way` is not there: step down. False if that was the last one. */
bool fd_way_next(struct fd_store *s, const struct backing_io *io, enum fd_way way);
bool fd_way_missing(int error); /* errno values that say "no such operation" */
int fd_way_mode(enum fd_way way);
/* One piece, blocking. Adds to fd_state(io)->moved. */
int fd_space_step(struct fd_store *s, struct backing_io *io);
int fd_extents(struct fd_store *s, struct backing_io *io);

/* fdrw.c: blocking reads and writes, also used inline where they do not block */
/* Goes on from fd_state(io)->moved with RWF_* flags until done, error or, with RWF_NOWAIT,
 * -EAGAIN. */
int fd_rw(struct fd_store *s, struct backing_io *io, int flags);
/* As fd_rw, for buffers that direct I/O does not take: through a bounce buffer. */
int fd_rw_bounce(struct fd_store *s, struct backing_io *io);
bool fd_misaligned(const struct fd_store *s, const struct backing_io *io);
/* The rest of io->iov from `moved` on: up to max entries. Returns how many. */
unsigned fd_iov_rest(const struct backing_io *io, uint64_t moved, struct iovec *to, unsigned max);

/* fdlock.c */
/* Takes QEMU's locks for a reader or a writer. 0, -EBUSY, or 0 where locks do not exist. */
int fd_lock(int fd, bool read_only);
/* Before close: a ring may keep the open file description, and with it the locks, a while longer.
 */
void fd_unlock(int fd);

/* sysfs.c */
/* A number from /sys/dev/block/MAJ:MIN/NAME or, for a partition, its disk. 0 or -errno. */
int sysfs_block_u64(unsigned long long dev, const char *name, uint64_t *ret);
/* The disk that a partition is on; else dev itself. */
unsigned long long sysfs_whole_disk(unsigned long long dev);

#endif
