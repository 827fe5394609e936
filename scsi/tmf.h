/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Task management (SAM-5 7) over reactors: what reaches other nexuses is broadcast and answered
 * when every reactor has acknowledged; resets answer success only after the victims' last write
 * has ended, else failure before the host's timer.
 *
 * Threads: scsi_tmf on the session's reactor; done on the same.
 * Ownership: the caller embeds scsi_tmf and keeps it until done.
 */
#ifndef HAWSER_SCSI_TMF_H
#define HAWSER_SCSI_TMF_H

#include "daemon/base/reactor.h"
#include "scsi/nexus.h"

enum scsi_tmf_function {
	TMF_ABORT_TASK = 1,
	TMF_ABORT_TASK_SET = 2,
	TMF_CLEAR_ACA = 3,
	TMF_CLEAR_TASK_SET = 4,
	TMF_LU_RESET = 5,
	TMF_TARGET_WARM_RESET = 6,
	TMF_TARGET_COLD_RESET = 7,
	TMF_I_T_NEXUS_RESET = 16, /* RFC 7144 numbers follow */
	TMF_QUERY_TASK = 14,
	TMF_QUERY_TASK_SET = 15,
	TMF_QUERY_ASYNC_EVENT = 17,
};

enum scsi_tmf_response {
	TMF_COMPLETE,
	TMF_NO_TASK,
	TMF_NO_LUN,
	TMF_UNSUPPORTED,
	TMF_FAILED,
	TMF_SUCCEEDED, /* a QUERY found something; see information */
};

/* All reactors, set once by daemon/main.c before the first session. */
void scsi_tmf_set_reactors(struct reactor *const *set, unsigned n);
/* To all of them; to self alone where none were set (tests). 0 or -ENOMEM. */
int scsi_broadcast(struct reactor *self, struct reactor_broadcast *b);

struct scsi_tmf {
	enum scsi_tmf_function function;
	struct it_nexus *nexus;
	uint64_t lun;
	struct scsi_task *task;          /* ABORT TASK, QUERY TASK: found by the port, or NULL */
	enum scsi_tmf_response response; /* set before done */
	uint8_t information[3]; /* QUERY ASYNCHRONOUS EVENT: UADE depth and sense key, ASC, ASCQ */
	void (*done)(struct scsi_tmf *tmf); /* tmf->nexus may be gone by then */
	/* tmf.c */
	struct reactor_broadcast broadcast;
	struct reactor_timer timer;
	struct lu_waiter waiter;
	struct reactor *reactor;
	const struct scsi_lun_map *map;
	unsigned at, end; /* LUs of map that are still to be waited for */
	bool timed_out;
};

/* done may run before this returns. */
void scsi_tmf(struct scsi_tmf *tmf);

#endif
