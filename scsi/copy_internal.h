/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the copy engine: copy.c hands out the ranges of a job in pieces and ends it,
 * copy_piece.c carries a piece out by commands of our own, copy_map.c knows the holes.
 *
 * Threads: the reactor of the nexus. Ownership: a copy is from the reactor's pool, until its job
 * has ended and no command of it is with the executor, be it detached.
 */
#ifndef HAWSER_SCSI_COPY_INTERNAL_H
#define HAWSER_SCSI_COPY_INTERNAL_H

#include "scsi/copy.h"
#include "scsi/exec.h"

#define COPY_ABREAST 4u           /* pieces of a job under way */
#define COPY_PIECE   1048576u     /* bytes of data in memory */
#define COPY_ZEROS   (256u << 20) /* bytes zeroed by one command, which cuts them up itself */
#define COPY_RUNS    32u          /* of the map of holes */
#define COPY_LU_MAX  (16u << 20)  /* bytes of an LU in flight; beyond, one piece for each job */
#define COPIES_MAX   64u          /* jobs on a reactor */

enum copy_kind {
	COPY_READ_WRITE,
	COPY_ZERO,
	COPY_MAP, /* asks for the holes of the source */
};

struct copy_piece {
	struct scsi_copy *copy;
	enum copy_kind kind;
	unsigned range;          /* of the job */
	uint64_t from, to;       /* bytes */
	uint32_t length;         /* bytes */
	bool in_flight;          /* the job waits for it */
	bool reads, writes;      /* source, destination is with the executor */
	struct scsi_task source; /* on the source LU */
	struct scsi_task destination;
};

/* What the source has: runs of data and holes, each from where the last one ends. */
struct copy_map {
	uint64_t begin; /* bytes; nothing is known before */
	unsigned n;
	struct {
		uint64_t end;
		bool hole;
	} runs[COPY_RUNS];
};

struct scsi_copy {
	struct copy_job *job; /* NULL: it has ended */
	struct it_nexus *nexus;
	struct scsi_home *home;
	struct scsi_lu *source, *destination; /* referenced */
	struct list node;                     /* nexus->copies */
	struct list wait_node;                /* home->copy_waiters */
	struct reactor_timer resume;
	unsigned range; /* where the next piece is: of which range, */
	uint64_t at;    /* after so many bytes of it */
	bool backwards; /* from the end of the range */
	bool alone;     /* one piece at a time: source and destination overlap */
	bool failed;    /* no piece begins any more */
	bool mapping;   /* a piece asks for the map */
	bool pumping;
	unsigned in_flight; /* pieces that the job waits for */
	unsigned users;     /* commands with the executor */
	unsigned held;      /* calls that go on after what they have called */
	uint32_t piece_max; /* bytes, as the arena has it */
	struct copy_map map;
	struct copy_piece pieces[COPY_ABREAST];
};

/* copy.c */
void copy_failed(struct copy_piece *p, const struct scsi_task *t, enum scsi_status status);
/* The job does not wait for the piece any more. */
void copy_piece_over(struct copy_piece *p, bool good);
/* Goes on: at once, or in the next turn. The copy may be gone afterwards. */
void copy_pump(struct scsi_copy *c);
void copy_pump_later(struct scsi_copy *c);
/* Around calls that may end the copy, or stop it from elsewhere: it stays until the last drop. */
void copy_hold(struct scsi_copy *c);
void copy_drop(struct scsi_copy *c);

/* copy_piece.c: begins a piece whose kind, place and length are filled in; it may be over. */
void copy_piece_start(struct copy_piece *p);
void copy_piece_cancel(struct copy_piece *p);

/* copy_map.c */
/* The run at a byte of the source that is in the map: its end and kind. False: it is not. */
bool copy_map_find(const struct copy_map *m, uint64_t at, uint64_t *ret_end, bool *ret_hole);
/* From the parameter data of GET LBA STATUS; where that tells nothing: data up to end. */
void copy_map_take(struct copy_map *m, const struct scsi_task *t, uint64_t begin, uint64_t end);
void copy_map_unknown(struct copy_map *m, uint64_t begin, uint64_t end); /* data */

#endif
