/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A SCSI task, the plan that a command handler returns for it, and the port below which a
 * transport protocol carries its data and status (SAM-5 transport protocol services).
 *
 * One object per command for its whole life: the transport's task embeds scsi_task. The transport
 * fills the part marked "port", calls scsi_submit, and gets in answer, in this order:
 *   data_out   once, when data is wanted and buffers for it are there (t->buf);
 *   data_in or done, exactly once, unless the task is aborted. Both end with the port calling
 *              scsi_finish when nothing refers to the buffers any more.
 *
 * Threads: the reactor of the session. Ownership: the port owns the memory of the task; between
 * scsi_submit and scsi_finish the SCSI layer owns its fields and buffers. A detached task (its I/O
 * is in the kernel, its nexus may be gone) is ended by port->detached_done.
 */
#ifndef HAWSER_SCSI_TASK_H
#define HAWSER_SCSI_TASK_H

#include "backing/backing.h"
#include "daemon/base/pool.h"
#include "scsi/lu.h"
#include "scsi/sense.h"

struct itl;
struct it_nexus;
struct scsi_home;
struct scsi_op;
struct scsi_task;

enum scsi_status {
	SCSI_GOOD = 0x00,
	SCSI_CHECK_CONDITION = 0x02,
	SCSI_CONDITION_MET = 0x04,
	SCSI_BUSY = 0x08,
	SCSI_RESERVATION_CONFLICT = 0x18,
	SCSI_TASK_SET_FULL = 0x28,
	SCSI_ACA_ACTIVE = 0x30,
	SCSI_TASK_ABORTED = 0x40,
};

enum scsi_attribute {
	ATTR_UNTAGGED,
	ATTR_SIMPLE,
	ATTR_ORDERED,
	ATTR_HEAD_OF_QUEUE,
	ATTR_ACA,
	ATTR_OWN, /* no command of an initiator: scsi_submit_own */
};

enum scsi_direction { DIR_UNSET, DIR_NONE, DIR_IN, DIR_OUT };

/* Where a task is. */
enum scsi_task_state {
	TASK_NEW,
	TASK_BLOCKED,     /* behind an ORDERED task or an exclusive range */
	TASK_WAIT_BUFFER, /* in the arena's queue */
	TASK_COLLECTING,  /* data_out called, data not complete */
	TASK_IO,          /* with the store */
	TASK_SENDING,     /* data_in or done called */
	TASK_DETACHED,    /* in the store, its nexus has let go */
};

/* What a handler decided. */
enum plan_kind {
	PLAN_UNSET,
	PLAN_FAIL,    /* sense, or status when it is not CHECK CONDITION */
	PLAN_ANSWER,  /* GOOD with the bytes in the small buffer, length answer_length */
	PLAN_COLLECT, /* fetch `length` bytes of parameter data, then call op->params */
	PLAN_READ,
	PLAN_WRITE,
	PLAN_FLUSH,
	PLAN_COMPOUND, /* scsi/compound.c walks it in steps: verify, write same, unmap, lba status
			  ... */
	PLAN_ACTION, /* changes state, then ends: plan.action does it and calls scsi_action_done */
};

struct scsi_plan {
	enum plan_kind kind;
	uint8_t status; /* PLAN_FAIL: enum scsi_status */
	bool fua, may_trim;
	bool immed;              /* FLUSH: status first (SYNCHRONIZE CACHE with IMMED) */
	bool condition_met;      /* GOOD becomes CONDITION MET (PRE-FETCH) */
	uint8_t compound;        /* PLAN_COMPOUND: which, see compound.h */
	struct scsi_sense sense; /* PLAN_FAIL with CHECK CONDITION */
	uint64_t offset, length; /* bytes on the store; COLLECT: length of the parameter list */
	uint32_t data_length;    /* bytes that move between initiator and target */
	/* PLAN_ACTION; its parameter data is in t->buf. PLAN_FLUSH: if set, what comes after a
	 * flush that succeeded, in place of GOOD; it ends in scsi_action_done too. */
	void (*action)(struct scsi_task *t);
	/* PLAN_ACTION that takes its time, or NULL: the task is aborted. It stops what it has begun
	 * and never calls scsi_action_done; true: the task is over, nothing refers to it. */
	bool (*cancel)(struct scsi_task *t);
};

/* The largest answer of PLAN_ANSWER kept in one chunk; REPORT LUNS and RSOC fit it. */
#define SCSI_SMALL_MAX 65536u

struct scsi_port_ops {
	/* Sends t->buf[0..t->data_in_length) and t->status in one go (status may be
	 * phase-collapsed). */
	void (*data_in)(struct scsi_task *t);
	/* Fetch t->data_out_length bytes into t->buf, then scsi_data_received. */
	void (*data_out)(struct scsi_task *t);
	/* Status without data (t->status, t->sense when CHECK CONDITION). The port itself takes and
	 * drops what the initiator still sends unasked before the status goes out. */
	void (*done)(struct scsi_task *t);
	/* A detached task's I/O has come back: free the task. No session is behind it any more. */
	void (*detached_done)(struct scsi_task *t);
	/* Takes t out of the transport: stop moving its data. True: nothing refers to the buffers
	 * any more; false: the port calls scsi_released when that is so. */
	bool (*release)(struct scsi_task *t);
	/* A reset or another nexus stops t: the port unlinks it from its session, calls scsi_abort,
	 * and frees it when that returns true. No status is sent. The nexus outlives the call. */
	void (*abort)(struct scsi_task *t);
};

struct scsi_task {
	/* port: filled before scsi_submit */
	const struct scsi_port_ops *port;
	struct it_nexus *nexus;
	uint64_t lun;       /* decoded LUN; SCSI_LUN_INVALID if malformed */
	const uint8_t *cdb; /* 16 bytes at least; cdb_length valid ones */
	uint16_t cdb_length;
	uint8_t attribute; /* enum scsi_attribute */
	bool read, write;  /* R and W flags: what the initiator expects */
	uint32_t edtl;     /* bytes the initiator expects (of the W direction if both) */

	/* result, valid in data_in and done */
	uint8_t status; /* enum scsi_status */
	struct scsi_sense sense;
	uint64_t data_length;     /* bytes the command would move, whole: for residuals */
	uint32_t data_in_length;  /* bytes to send now: min(data_length, edtl) */
	uint32_t data_out_length; /* bytes to fetch: min(data_length, edtl) */

	/* scsi/ */
	struct arena_buf buf; /* or one iovec into the store's own memory, mapped == true */
	bool mapped;
	bool aborted;           /* no status will be sent (or TASK ABORTED if TAS) */
	bool write_io;          /* the I/O in flight changes the medium */
	uint8_t state;          /* enum scsi_task_state */
	uint8_t step;           /* of a compound command */
	bool started;           /* past ordering: it runs */
	bool collected;         /* the data asked for by data_out has come */
	bool holds_queue;       /* detached: of lu, on this reactor */
	bool ranged;            /* range stands in the order of lu->ranges */
	struct scsi_home *home; /* of the reactor; valid while detached too */
	struct itl *itl;        /* NULL: no such LUN */
	struct scsi_lu *lu;     /* of itl; kept while detached */
	const struct scsi_op *op;
	struct scsi_plan plan;
	struct list node;      /* itl->tasks, then home->detached */
	struct list wait_node; /* blocked queue */
	struct arena_waiter waiter;
	struct backing_io io;
	struct lu_range range; /* ranged: what it has waited for; detached: what its write may
				  still change */
	void *priv;            /* of a compound command; from the reactor's pool */
	uint64_t started_ns;
};

#define SCSI_LUN_INVALID UINT64_MAX

#endif
