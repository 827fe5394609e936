/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that give the whole medium another content: FORMAT UNIT (SBC-3 5.4) and SANITIZE (5.28).
 * One may run for each LU; it belongs to the LU, not to the task that has asked for it, and goes on
 * whatever becomes of that task and its session. It is written down before it begins, and begins
 * anew after a restart that came before its end (4.11.2); what has failed is so after one, too.
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

struct scsi_task;

/* Carries an operation out for a task, which is answered at the end, or, immed, when it cannot be
 * forgotten any more. */
void media_begin(struct scsi_task *t, const struct kept_media *media, bool immed);
/* Goes on with what a restart has interrupted, if anything, on this reactor. Any thread. Without
 * memory for it the LU stays as it is until the next restart. */
void media_resume(struct scsi_lu *lu, struct reactor *r);
/* SANITIZE, EXIT FAILURE MODE (SBC-3 5.28.4): leaves what has failed as it is, where the host that
 * began has allowed it. */
void media_exit_failure(struct scsi_task *t);

/* Why the LU is not ready, with the progress of what is under way. */
struct scsi_sense media_not_ready(const struct scsi_lu *lu);

#endif
