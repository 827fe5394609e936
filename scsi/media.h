/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that give the whole medium another content: FORMAT UNIT (SBC-3 5.4) and SANITIZE (5.28).
 * One may run for each LU; it belongs to the LU, not to the task that has asked for it, and goes on
 * whatever becomes of that task and its session.
 *
 * Threads: it runs on the reactor of the session that began it; the state is read from anywhere.
 * Ownership: the operation frees itself.
 */
#ifndef HAWSER_SCSI_MEDIA_H
#define HAWSER_SCSI_MEDIA_H

#include "scsi/lu.h"
#include "scsi/sense.h"

/* Is the state one of an operation, under way or failed? */
static inline bool media_state(int state)
{
	return state >= LU_FORMATTING;
}

static inline bool media_failed(int state)
{
	return state == LU_FORMAT_FAILED || state == LU_SANITIZE_FAILED;
}

/* Why the LU is not ready, with the progress of what is under way. */
struct scsi_sense media_not_ready(const struct scsi_lu *lu);

#endif
