/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A logical unit: identity, geometry, mode values, its store and that store's queue on each
 * reactor; and the LUN map, which says under which number an I_T nexus sees which LU.
 *
 * Threads: created and destroyed on the control reactor; geometry is read by every reactor and
 * changed by lu_resized and lu_attach only (atomic stores, then UA); what lu->lock guards is
 * marked. Ownership: the daemon's node tree owns LUs by reference count; LUN maps hold references.
 */
#ifndef HAWSER_SCSI_LU_H
#define HAWSER_SCSI_LU_H

#include "backing/backing.h"
#include "daemon/base/list.h"
#include "daemon/base/reactor.h"
#include "scsi/kept.h"

#include <pthread.h>
#include <stdatomic.h>

#define LU_REACTORS_MAX 64

enum lu_not_ready {
	LU_READY,
	LU_NO_STORE,
	LU_STOPPED,
	LU_EJECTED,
	LU_FORMATTING, /* from here on: see media.h */
	LU_SANITIZING,
	LU_FORMAT_FAILED,
	LU_SANITIZE_FAILED,
};

/* What the plans see. Atomic is what a store brings with it (lu_attach): other reactors may be
 * looking, at INQUIRY data for example; each value is stored once, and is whole. */
struct lu_geometry {
	_Atomic uint64_t blocks; /* logical blocks; the one value that changes in use */
	uint32_t block_size;     /* bytes, 512 or 4096 */
	uint32_t max_blocks;     /* VPD B0h MAXIMUM TRANSFER LENGTH */
	uint64_t max_write_same; /* logical blocks */
	uint32_t max_compare_write;
	_Atomic uint32_t max_atomic; /* 0: no WRITE ATOMIC */
	bool removable;
	_Atomic uint8_t physical_exponent;  /* physical block = logical << exponent */
	_Atomic uint32_t unmap_granularity; /* logical blocks; 0: no UNMAP */
	_Atomic uint32_t unmap_alignment;
	_Atomic uint64_t max_unmap_blocks; /* per command, B0h */
	_Atomic uint32_t max_unmap_descriptors;
	_Atomic uint64_t used_threshold, available_threshold; /* bytes, 0: none; provision.h */
	_Atomic bool thin, zeroes_after_unmap, write_cache, rotational, read_only;
};

struct lu_identity {
	uint8_t naa[16]; /* NAA type 6 */
	char serial[33]; /* VPD 80h */
	char vendor[9], product[17], revision[5];
	char name[64]; /* the administrator's name of the LU */
};

/* What a range stands for. */
enum lu_range_kind {
	RANGE_DETACHED,  /* a write that its nexus has let go of: who overlaps gets BUSY */
	RANGE_SHARED,    /* I/O that had to wait for an exclusive range, until it has ended */
	RANGE_EXCLUSIVE, /* COMPARE AND WRITE and the like: alone on its blocks */
};

/*
 * Blocks of an LU that are spoken for. Ranges stand in order of arrival: an exclusive one waits for
 * each earlier one that overlaps and for I/O that was under way on any reactor when it came; a
 * shared one waits for earlier exclusive ones. I/O that meets none never gets here.
 */
struct lu_range {
	struct list node; /* lu->ranges; all under lu->lock but run */
	uint64_t offset, length;
	uint8_t kind; /* enum lu_range_kind */
	bool granted;
	uint8_t reactor;       /* index: where run is called */
	uint64_t unanswered;   /* EXCLUSIVE: reactors, by index, with I/O from before it */
	struct list wake_node; /* on its way to run; its reactor */
	void (*run)(struct lu_range *r); /* it has been granted; its reactor */
};

/* Makes a reactor look at the ranges of an LU: once for any number of causes. */
struct lu_poke {
	struct reactor_msg msg;
	struct reactor *reactor; /* NULL: no nexus of the LU was ever there; under lu->lock */
	struct scsi_lu *lu;
	_Atomic bool sent;
};

/* Told when the last detached write of an LU has ended; msg runs on reactor. */
struct lu_waiter {
	struct list node; /* lu->waiters, under lu->lock; off it: msg has been sent */
	struct reactor *reactor;
	struct reactor_msg msg;
};

struct itl;
struct pr_table;

/* Reservations (pr.h). */
struct lu_pr {
	const struct pr_table *table; /* NULL: nobody has ever registered */
	struct itl *reserved_by;      /* RESERVE(6), RESERVE(10) */
	struct list ops;              /* pr_op.node: the first one is being carried out */
	bool handed_over;             /* to the object that takes this one's place */
};

struct scsi_lu {
	struct lu_geometry geo;
	struct lu_identity id;
	_Atomic unsigned refs;
	_Atomic int not_ready; /* enum lu_not_ready */
	struct {
		_Atomic uint64_t used, available; /* bytes, as last seen; provision.h */
		_Atomic bool used_reached, available_reached;
	} space;
	struct {
		_Atomic int64_t offset_ms; /* to the machine's clock: SET TIMESTAMP */
		_Atomic bool is_set;
	} time;
	_Atomic uint16_t media_progress; /* of FORMAT UNIT and SANITIZE, in 65536ths */
	_Atomic bool media_unrestricted; /* EXIT FAILURE MODE is allowed */
	_Atomic uint64_t copy_bytes;     /* of copies from and to it that are in flight */
	_Atomic bool keeps_memory; /* exclusive ranges are in use: no memory is lent any more */
	struct backing *backing;   /* NULL: the store could not be opened */
	struct backing_queue *queue[LU_REACTORS_MAX]; /* by reactor index; its reactor only */
	unsigned queue_users[LU_REACTORS_MAX];        /* its reactor only */
	pthread_mutex_t lock;
	/* under lock */
	struct list itls;   /* itl.lu_node of every nexus */
	struct list ranges; /* lu_range.node */
	struct list rods;   /* rod.lu_node */
	struct lu_poke pokes[LU_REACTORS_MAX];
	struct list waiters; /* lu_waiter.node */
	struct lu_pr pr;
	unsigned n_detached_writes, n_detached;
	struct lu_kept kept;             /* what a restart does not change; see kept.h */
	struct list kept_ops;            /* kept_op.node: the first one is being carried out */
	bool kept_elsewhere;             /* by the object that takes this one's place */
	uint8_t mode_current[KEPT_MODE]; /* changeable values, see mode.h */
	uint32_t mode_generation;
	void (*idle)(
	    struct scsi_lu *lu); /* told when the last detached task has ended; may be NULL */
	_Atomic int flush_error; /* negative errno of a flush that was answered early (IMMED) */
	/* counters: one line per reactor, summed on request */
	struct lu_counters {
		uint64_t reads, writes, read_bytes, write_bytes, unmaps, flushes, errors;
		uint64_t write_errors; /* of the errors, those of what changes the medium */
	} __attribute__((aligned(64))) counters[LU_REACTORS_MAX];
	void (*destroyed)(struct scsi_lu *lu, void *arg); /* on the last reference, any thread */
	void *destroyed_arg;
};

struct lu_params {
	struct lu_identity id;
	uint32_t block_size, physical_block; /* bytes */
	bool thin, read_only, removable;
	bool has_rotation; /* else taken from the store */
	bool rotational;
};

/* Creates an LU on a store (NULL: out of service until lu_attach). Geometry comes from both.
 * 0, -EINVAL (store and params do not fit, *ret_why says what, static text) or -ENOMEM. */
int lu_create(const struct lu_params *p, struct backing *b, struct scsi_lu **ret,
	      const char **ret_why);
void lu_ref(struct scsi_lu *lu);
void lu_unref(struct scsi_lu *lu); /* the store is closed by `destroyed` */
/* The store's size has changed: new geometry, UA 2A/09 to all. Control reactor. */
void lu_resized(struct scsi_lu *lu);
/* Puts an LU that has no store into service: geometry, medium changed (28/00) to all. Control
 * reactor. Errors as lu_create. */
int lu_attach(struct scsi_lu *lu, const struct lu_params *p, struct backing *b,
	      const char **ret_why);
/* Goes from one of these states (LU_IN, or-ed) to another, with the gate bits of every nexus; no
 * unit attention. False: it is in none of them, and stays. Any thread. */
#define LU_IN(state) (1u << (state))
bool lu_change_state(struct scsi_lu *lu, unsigned from, enum lu_not_ready to);
/* Does any nexus prevent medium removal? Any thread. */
bool lu_prevented(struct scsi_lu *lu);

/* Ranges (lu_range.c), under no lock. A detached task: its write, if it has one, makes every
 * overlapping command of any nexus BUSY from lu_detach_begin to lu_detach_end. The range may be
 * one that was entered; it stands in no order any more then. */
void lu_detach_begin(struct scsi_lu *lu, struct lu_range *range, bool write);
void lu_detach_end(struct scsi_lu *lu, struct lu_range *range, bool write);
/* Does a detached write overlap? */
bool lu_range_busy(struct scsi_lu *lu, uint64_t offset, uint64_t length);
/* Puts a range in order: offset, length, kind (not DETACHED), reactor and run are filled. True: run
 * follows, unless lu_range_leave comes first. False: nothing is in the way of a shared one; it has
 * not been entered. Detached writes are not looked at: when it is entered and when it is granted
 * the caller asks lu_range_busy. */
bool lu_range_enter(struct scsi_lu *lu, struct lu_range *range);
/* Takes an entered range out, granted or not. Its reactor. */
void lu_range_leave(struct scsi_lu *lu, struct lu_range *range);
/* Something has ended that a range may have waited for. */
void lu_range_poke(struct scsi_lu *lu, struct reactor *r);
/* On a reactor that was poked: answers for its I/O, `awaited` tells whether any overlaps (under
 * lu->lock), and moves what is granted there to *granted (by wake_node). */
void lu_range_look(struct scsi_lu *lu, struct reactor *r,
		   bool (*awaited)(struct scsi_lu *, struct reactor *, const struct lu_range *),
		   struct list *granted);
/* Queues w if a detached write is left; false: none is. */
bool lu_wait_writes(struct scsi_lu *lu, struct lu_waiter *w);
/* False: w was not queued any more, its message is on the way. */
bool lu_unwait_writes(struct scsi_lu *lu, struct lu_waiter *w);

/* The queue on this reactor, opened at first use. Its reactor. */
int lu_queue_get(struct scsi_lu *lu, struct reactor *r, struct backing_queue **ret);
void lu_queue_put(struct scsi_lu *lu, struct reactor *r); /* the last user closes it */
void lu_get_counters(const struct scsi_lu *lu, struct lu_counters *ret);

/* An immutable map, shared by reference: entries sorted by lun, each lun once. */
struct scsi_lun_map {
	_Atomic unsigned refs;
	unsigned n;
	struct scsi_lun_entry {
		uint64_t lun; /* 0..16383 */
		struct scsi_lu *lu;
		bool read_only;
	} entries[];
};

/* Entries in any order, each lun once. Takes a reference on each LU. NULL on lack of memory. */
struct scsi_lun_map *lun_map_create(const struct scsi_lun_entry *entries, unsigned n);
void lun_map_ref(const struct scsi_lun_map *m);
void lun_map_unref(const struct scsi_lun_map *m); /* NULL allowed */

#endif
