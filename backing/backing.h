/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A backing store: a flat array of bytes somewhere. It knows nothing of SCSI.
 *
 * A store is opened once for the process and has one queue for each reactor that uses it. Stores
 * stack: `fault` and `log` stand in front of any other store.
 *
 * Threads: backing_open and backing_close block and run on an offload thread (or in a test); a
 * queue belongs to the reactor that opened it, and submit, map and completion happen there. No
 * locks are needed above this line.
 * Ownership: the caller owns a backing_io and its buffers until io->done runs; done may free it.
 * done never runs inside backing_submit's caller frame unless BACKING_INLINE is in the store's
 * flags; callers must cope with both.
 */
#ifndef HAWSER_BACKING_BACKING_H
#define HAWSER_BACKING_BACKING_H

#include "daemon/base/list.h"
#include "daemon/base/reactor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct backing;
struct backing_queue;

enum backing_kind {
	BACKING_READ = 1,
	BACKING_WRITE,
	BACKING_FLUSH,   /* everything written before is on stable storage afterwards */
	BACKING_TRIM,    /* give the space back; reads as zeros afterwards where info.trim_zeroes */
	BACKING_ZERO,    /* reads as zeros afterwards; may_trim allows to give the space back */
	BACKING_EXTENTS, /* what is allocated: fills io->extents */
};

/* One run of the map that BACKING_EXTENTS returns. */
struct backing_extent {
	uint64_t offset, length; /* bytes */
	bool allocated;
};

struct backing_io {
	enum backing_kind kind;
	bool durable;            /* WRITE, TRIM, ZERO: on stable storage before done (FUA) */
	bool may_trim;           /* ZERO: space may be given back */
	uint64_t offset, length; /* bytes; already checked against the size of the store */
	const struct iovec *iov; /* READ and WRITE only; sum of lengths == length */
	unsigned iovcnt;
	struct backing_extent *extents; /* EXTENTS: array of max_extents, in order, without gaps, */
	unsigned max_extents;           /* beginning at offset; n_extents is set */
	unsigned n_extents;
	int result; /* set before done: 0, or a negative errno; never short */
	void (*done)(struct backing_io *io);
	/* Scratch of the store and its engine while the io is with them; stores that stack use the
	 * lower store's io of their own pool. */
	struct list node;
	uint64_t engine[10];
	struct backing_queue *queue;
};

enum backing_flags {
	BACKING_INLINE = 1,         /* submit may call done before it returns */
	BACKING_READ_ONLY = 2,      /* opened read-only, by wish or by necessity */
	BACKING_VOLATILE_CACHE = 4, /* writes need a flush to be durable: WCE=1 */
	BACKING_CAN_TRIM = 8,       /* can give space back */
	BACKING_TRIM_ZEROES = 16,   /* trimmed ranges read as zeros, surely (LBPRZ) */
	BACKING_ROTATIONAL = 32,
	BACKING_THIN = 64, /* space is allocated on writing */
};

/* What a store is; read-only after open except what backing_refresh updates (size, allocated). */
struct backing_info {
	uint64_t size;             /* bytes */
	uint32_t logical_block;    /* smallest unit of I/O in bytes: 1 for RAM, 512 or 4096 */
	uint32_t physical_block;   /* what the store likes best, bytes */
	uint32_t trim_granularity; /* bytes; 0 if it cannot trim */
	uint32_t trim_alignment;   /* bytes */
	uint32_t atomic_max; /* bytes of an aligned WRITE that is never torn, by a crash or loss of
				power either; 0: nothing is promised */
	uint64_t max_trim, max_zero; /* bytes per io; the store splits longer ones, so a hint */
	unsigned flags;              /* enum backing_flags */
	const char *engine;          /* "uring", "aio", "offload", "memory": for show */
};

enum backing_cache { BACKING_CACHE_BUFFERED = 1, BACKING_CACHE_DIRECT };

/* What it takes to open one; plain data, strings borrowed during the call. */
struct backing_params {
	const char *type; /* "file", "block", "ram", "null" */
	const char *path; /* file, block */
	uint64_t size;    /* bytes; file: created or grown to it if create; ram, null: size */
	bool create;      /* file: make it if it is not there */
	bool preallocate; /* file: reserve the space */
	bool read_only;
	bool force; /* block: even if it is mounted or in use */
	enum backing_cache cache;
	const char *engine;  /* NULL: the default; "uring", "aio" */
	uint32_t block_size; /* logical block of the LU: the store refuses what it cannot do */
	/* Opens a path for the store with O_* flags, returns a descriptor or a negative errno;
	 * NULL: open(2). The privileged helper's hook. */
	int (*open_path)(void *arg, const char *path, int flags, unsigned mode);
	void *open_arg;
	const char *log_path;   /* not NULL: a `log` store in front, recording to this file */
	const char *fault_spec; /* not NULL: a `fault` store in front of all; see fault.h */
};

struct backing_ops {
	const char *name;
	/* All params checked by the store. On failure *ret_why (static or strdup'ed text for the
	 * operator: object, fact, remedy) is set and freed by the caller. */
	int (*open)(const struct backing_params *p, struct backing **ret, char **ret_why);
	void (*close)(struct backing *b);
	int (*queue_open)(struct backing *b, struct reactor *r, struct backing_queue **ret);
	void (*queue_close)(struct backing_queue *q);
	void (*submit)(struct backing_queue *q, struct backing_io *io);
	/* Optional. The store's own memory for a range, NULL if it has none there: READ data is
	 * sent from it and WRITE data received into it, without a backing_io. */
	void *(*map)(struct backing_queue *q, uint64_t offset, uint64_t length, bool write);
	/* Optional. Re-reads what can change (size). Blocking; offload thread. */
	int (*refresh)(struct backing *b);
	/* Optional. Bytes really allocated. Blocking; offload thread. -ENOTSUP if unknown. */
	int (*allocated)(struct backing *b, uint64_t *ret);
	/* Optional. Bytes of what the store takes its space from, and those that are free there.
	 * Blocking; offload thread. */
	int (*space)(struct backing *b, uint64_t *ret_total, uint64_t *ret_free);
	/* Optional. Changes the size. Blocking. */
	int (*resize)(struct backing *b, uint64_t size);
	/* Optional (fault): changes the behaviour at run time; text as fault_spec. */
	int (*control)(struct backing *b, const char *text);
};

/* First member of every store. */
struct backing {
	const struct backing_ops *ops;
	struct backing_info info;
};

/* First member of every queue. The store fills ops and backing, backing_queue_open the rest. */
struct backing_queue {
	const struct backing_ops *ops;
	struct backing *backing;
	struct reactor *reactor;
	struct list ended; /* ios that ended before they reached the kernel */
	struct reactor_job end_job;
};

extern const struct backing_ops *const backing_types[]; /* ends with NULL */

/* Opens a store, stacked as params ask. 0 and *ret, or a negative errno and *ret_why (malloc'ed).
 */
int backing_open(const struct backing_params *p, struct backing **ret, char **ret_why);
/* Frees a store with no open queue. NULL is allowed. */
void backing_close(struct backing *b);

int backing_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret);
void backing_queue_close(struct backing_queue *q); /* no io outstanding; NULL allowed */

/* Range and shape are checked (-EINVAL by done); zero-length READ/WRITE/TRIM/ZERO end at once. */
void backing_submit(struct backing_queue *q, struct backing_io *io);

/* For stores: ends io with result at the end of this turn, or at once if the store is
 * BACKING_INLINE. */
void backing_end(struct backing_queue *q, struct backing_io *io, int result);

static inline void *backing_map(struct backing_queue *q, uint64_t offset, uint64_t length,
				bool write)
{
	return q->ops->map ? q->ops->map(q, offset, length, write) : NULL;
}

/* For stores and for callers of the blocking members, whatever the store has of them:
 * -ENOTSUP where it has none. Offload thread. */
int backing_refresh(struct backing *b);
int backing_allocated(struct backing *b, uint64_t *ret);
int backing_space(struct backing *b, uint64_t *ret_total, uint64_t *ret_free);
int backing_resize(struct backing *b, uint64_t size);
int backing_control(struct backing *b, const char *text);

/* Start-up and end of the engines on one reactor; REACTOR_ENGINE slot. The arena, when given, is
 * registered with io_uring. Called on the reactor's thread before its first queue. */
struct arena;
int backing_reactor_start(struct reactor *r, struct arena *arena);
void backing_reactor_stop(struct reactor *r);
/* True and says so when io_uring can be used here (probed once); why is static text if not. */
bool backing_have_uring(const char **ret_why);

#endif
