/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the compound commands: a command is a sequence of steps; compound.c pumps
 * them, compound_verify.c, compound_write.c, compound_unmap.c, compound_exclusive.c and
 * lba_status.c each are some, and compound_range.c makes them wait for each other.
 *
 * Threads: the session's reactor. Ownership: the state is from the reactor's pool, from
 * compound_start to the end of the command.
 */
#ifndef HAWSER_SCSI_COMPOUND_INTERNAL_H
#define HAWSER_SCSI_COMPOUND_INTERNAL_H

#include "scsi/compound.h"
#include "scsi/exec_internal.h"

#define COMPOUND_PIECE   1048576u    /* bytes of data in memory at once */
#define COMPOUND_SPAN    (64u << 20) /* bytes zeroed or trimmed by one I/O, */
#define COMPOUND_SHORT   (4u << 20)  /* where hosts lock with COMPARE AND WRITE */
#define COMPOUND_ABREAST 4u          /* trims in flight */
#define COMPOUND_EXTENTS 64u         /* asked of the store for one GET LBA STATUS */
#define COMPOUND_IOV     48u /* pieces of an arena's buffer of COMPOUND_PIECE, and to spare */

enum compound_step {
	STEP_IO,   /* I/O has been submitted, it may be over already */
	STEP_WAIT, /* no scratch: queued in home->scratch_waiters */
	STEP_NEXT, /* call me again */
	STEP_GOOD, /* the command is over */
	STEP_FAIL, /* with c->sense */
	STEP_BUSY,
	STEP_STATUS, /* with t->status */
	STEP_ANSWER, /* with the bytes in home->answer; the plan is an answer now */
};

struct compound;

struct compound_io {
	struct backing_io io;
	struct compound *c;
};

struct compound {
	struct scsi_task *t;
	enum compound_step (*step)(struct compound *c); /* called with nothing in flight */
	unsigned phase;
	uint64_t done;  /* bytes of the range, or descriptors, that are finished */
	uint64_t at;    /* within the descriptor */
	uint32_t piece; /* bytes of the step in flight */
	bool pumping;
	bool filled;    /* the scratch holds the pattern of WRITE SAME */
	bool keep;      /* the scratch stays to the end: a range is held */
	bool exclusive; /* range covers the whole command */
	bool ranged;    /* range stands in the order of lu->ranges */
	bool held;      /* what the step has prepared waits for range */
	bool may_fail;  /* the step looks at failed itself */
	unsigned in_flight;
	struct scsi_sense sense;
	struct compound_io ios[COMPOUND_ABREAST];
	const struct compound_io *failed;
	struct arena_buf scratch; /* from the arena, or empty: */
	struct iovec reserve;     /* the reserve of the reactor, when base is not NULL */
	struct list wait_node;    /* home->scratch_waiters */
	struct reactor_timer yield;
	struct lu_range range; /* of the command, or of the pieces in flight */
	union {
		struct backing_extent extents[COMPOUND_EXTENTS];
		struct iovec slice[COMPOUND_IOV]; /* a part of data or scratch */
	};
};

/* The first step of each; the state is filled in but for phase. */
enum compound_step verify_step(struct compound *c);
enum compound_step write_verify_step(struct compound *c);
enum compound_step write_same_step(struct compound *c);
enum compound_step zero_step(struct compound *c);
enum compound_step unmap_step(struct compound *c);
enum compound_step lba_status_step(struct compound *c);
enum compound_step exclusive_step(struct compound *c);
enum compound_step locate_step(struct compound *c);

/* Ranges (compound_range.c). ask: may what the step has prepared go to the store? STEP_IO,
 * STEP_BUSY, or STEP_WAIT: it is held, and the pump comes again; then released says STEP_IO or
 * STEP_BUSY. lock: the range of the whole command, for one that has all the memory it needs;
 * locked: it has been granted, STEP_NEXT, STEP_BUSY or STEP_STATUS. */
enum compound_step compound_range_ask(struct compound *c);
enum compound_step compound_range_released(struct compound *c);
enum compound_step compound_range_lock(struct compound *c);
enum compound_step compound_range_locked(struct compound *c);
void compound_range_ended(struct compound *c); /* nothing is in flight any more */
void compound_range_leave(struct compound *c);
void compound_pump(struct compound *c);

/* Scratch memory for up to length bytes: c->piece is what it is for (a multiple of the block size).
 * False: there is none and c waits. */
bool compound_scratch(struct compound *c, uint64_t length);
void compound_scratch_put(struct compound *c);
const struct iovec *compound_scratch_iov(struct compound *c, unsigned *ret_n);

/* Bytes from offset on, of those left, that one TRIM or ZERO takes: pieces end where the store's
 * units end, so that cutting a range leaves no unit untrimmed. */
uint32_t compound_span(const struct compound *c, uint64_t offset, uint64_t left);

/* One of the I/Os of a step. It changes the medium unless it reads, flushes or asks. */
void compound_io(struct compound *c, enum backing_kind kind, uint64_t offset, uint64_t length,
		 const struct iovec *iov, unsigned n);

#endif
