/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copy engine: copies ranges of blocks from one LU to another, or within one, or writes zeros,
 * on behalf of an I_T nexus. It sends commands of its own (scsi_submit_own), a few at a time, so
 * reservations, write protection, ranges in use, resets and the removal of an LU act on them as on
 * those of the initiator; both LUs must be mapped to the nexus all the time. Holes of a thin source
 * stay holes where the destination is thin. All else is read and written.
 *
 * Ranges are carried out in order. Within one LU each range is copied as if it had been read whole
 * before it is written, and before the next one begins.
 *
 * Threads: the reactor of the nexus. Ownership: the caller owns the job and its ranges, which stay
 * as they are until done has been called or copy_cancel has returned. When the nexus goes, its
 * copies are stopped as by copy_cancel; before that, tasks of the nexus have not been aborted yet.
 */
#ifndef HAWSER_SCSI_COPY_H
#define HAWSER_SCSI_COPY_H

#include "scsi/lu.h"
#include "scsi/sense.h"

struct it_nexus;
struct scsi_copy;

struct copy_range {
	uint64_t from, to, blocks; /* logical blocks; from means nothing where zeros are written */
};

enum copy_side { COPY_NEITHER, COPY_SOURCE, COPY_DESTINATION };

struct copy_job {
	struct it_nexus *nexus;
	uint64_t source_lun, destination_lun; /* of the nexus */
	struct scsi_lu *source;               /* behind these LUNs; source NULL: write zeros */
	struct scsi_lu *destination;          /* the same block size */
	const struct copy_range *ranges;
	unsigned n_ranges;
	/* Once, never within copy_start: all is copied, or one failed and none is under way any
	 * more but for what a reset has detached. The job may be freed or started anew. */
	void (*done)(struct copy_job *job);

	/* Results; bytes can be read while it runs. */
	uint64_t bytes;          /* copied, in no order */
	enum copy_side side;     /* whose command failed first; NEITHER: none */
	unsigned range;          /* of which range */
	uint8_t status;          /* enum scsi_status of that; TASK ABORTED: by a reset */
	struct scsi_sense sense; /* with CHECK CONDITION; 5/25/00: the LU is not mapped any more */

	struct scsi_copy *copy; /* while it runs; else NULL */
};

/* 0, -EINVAL (blocks of different size) or -EAGAIN (too many copies are under way). */
int copy_start(struct copy_job *job);
/* Stops it; done is not called any more. What the store has still runs to its end, as a task that
 * was aborted there does (lu_wait_writes waits for it). A job that does not run is left alone. */
void copy_cancel(struct copy_job *job);

/* The nexus goes: stops all its copies. Their jobs are not touched any more. */
void copy_nexus_gone(struct it_nexus *n);

#endif
