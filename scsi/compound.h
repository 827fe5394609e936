/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that take more than one move of bytes, written once for all stores: VERIFY, WRITE AND
 * VERIFY, WRITE SAME, UNMAP, GET LBA STATUS, COMPARE AND WRITE, ORWRITE, WRITE ATOMIC. Each is a
 * sequence of steps between the executor and the store.
 *
 * Threads: the session's reactor. Ownership: the executor owns the task.
 */
#ifndef HAWSER_SCSI_COMPOUND_H
#define HAWSER_SCSI_COMPOUND_H

#include "scsi/task.h"

enum scsi_compound {
	COMPOUND_UNSET,
	COMPOUND_VERIFY_MEDIUM, /* BYTCHK=00b: read, no data from the initiator */
	COMPOUND_VERIFY_DATA,   /* BYTCHK=01b: compare with data_length bytes sent */
	COMPOUND_VERIFY_BLOCK,  /* BYTCHK=11b: every block with the one block sent */
	COMPOUND_WRITE_VERIFY,  /* write, flush, read back; compare when BYTCHK=01b */
	COMPOUND_WRITE_SAME,    /* one block sent, written length / block_size times */
	COMPOUND_ZERO,  /* WRITE SAME with NDOB, or of a block of zeros; may_trim: UNMAP bit */
	COMPOUND_UNMAP, /* the descriptors of the parameter list in t->buf */
	COMPOUND_LBA_STATUS,
	/* Alone on their blocks from the first read to the last write: */
	COMPOUND_COMPARE_WRITE, /* 2 * length bytes sent: what must be there, what shall be */
	COMPOUND_OR_WRITE,
	COMPOUND_WRITE_ATOMIC,
	COMPOUND_LOCATE, /* a READ that has failed: at which block? */
};

/* Begins: data, if the command has any, has been collected in t->buf. Ends in the port's data_in or
 * done. */
void compound_start(struct scsi_task *t);

/* Stops a command that waits between two steps; false: its I/O is with the store. */
bool compound_cancel(struct scsi_task *t);

/* Does it move bytes of this range, as one that was let pass before the range came? */
bool compound_under_way(const struct scsi_task *t, const struct lu_range *r);
/* It has been detached: nobody waits for it any more. */
void compound_detached(struct scsi_task *t);

#endif
