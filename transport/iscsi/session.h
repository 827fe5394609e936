/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions: CmdSN order and window, tasks by ITT, the I_T nexus; and the directory of all sessions
 * by (initiator name, ISID, target name, portal group tag) for reinstatement.
 *
 * Threads: a session and its tasks belong to one reactor. The directory has a lock, taken at login
 * and logout only. Ownership: the session is freed when its last connection and task are gone.
 *
 * Hand-over to a new process: [H] handed over, [R] rebuilt, [D] dropped.
 */
#ifndef HAWSER_ISCSI_SESSION_H
#define HAWSER_ISCSI_SESSION_H

#include "scsi/nexus.h"
#include "scsi/task.h"
#include "transport/iscsi/conn.h"

#define SESSION_ITT_BUCKETS   256
#define SESSION_IMMEDIATE_MAX 16 /* immediate commands in progress beside the window */
#define SESSION_WINDOW_GROWTH 8  /* a busy session's window grows to so many times its first */
#define SESSION_TMF_MAX       32 /* task management functions in progress */
#define SESSION_LOST_CIDS     8  /* connections lost, of which an initiator may still speak */
#define SESSION_OVER          32 /* tags of tasks whose ABORT TASK is answered "complete" */

struct claim_ticket;
struct ffp_tmf;
struct iscsi_rule;
struct iscsi_target;

/* RFC 7144: INQUIRY's version descriptor, to which the level is added (4.2); the level with its
 * task management functions (4.1). */
#define ISCSI_VERSION    0x0960
#define ISCSI_LEVEL_SAM5 2

/* What makes a session unique (RFC 7143 4.4.3). */
struct iscsi_session_key {
	const char *initiator, *target;
	uint8_t isid[6];
	uint16_t tpgt;
};

/* ffp_fence.c: a response that others must not overtake. */
enum fence_state {
	FENCE_OPEN,
	FENCE_BEFORE,  /* waits until all before it is acknowledged */
	FENCE_SENDING, /* with the transport */
	FENCE_BEHIND,  /* sent: what comes later waits until it is acknowledged */
};

struct iscsi_session {
	struct list node;                     /* [R] ir->sessions */
	struct list dir_node;                 /* [R] directory, under its lock */
	struct iscsi_reactor *ir;             /* [R] */
	const struct iscsi_policy *policy;    /* [R] counted; target and rule point into it */
	const struct iscsi_target *target;    /* [R] NULL: discovery session */
	const struct iscsi_rule *rule;        /* [R] what admitted it; NULL: discovery session */
	char initiator[ISCSI_NAME_MAX + 1];   /* [H] */
	char initiator_alias[256];            /* [H] */
	char target_name[ISCSI_NAME_MAX + 1]; /* [H] */
	char account[256];                    /* [H] proved by CHAP; empty: nothing was proved */
	uint8_t isid[6];                      /* [H] */
	uint16_t tsih, tpgt;                  /* [H] */
	struct sockaddr_storage peer;         /* [R] of the connection lost last */
	struct sockaddr_storage local;        /* [R] of the leading connection */
	bool discovery;                       /* [H] */
	bool ending;                          /* [R] */
	bool in_directory;                    /* [R] under the directory's lock */
	bool nexus_live;                      /* [R] the nexus has been initialised */
	bool no_retention;                    /* [R] ends with its last connection */
	bool withdrawn;                       /* [D] its access is gone, which has been logged */
	bool reinstates;                      /* [D] took the place of another: nexus loss */
	uint64_t id;                          /* [H] for the administrator */
	uint64_t created_ms;                  /* [H] */
	struct iscsi_keys keys; /* [H] as the leading connection has negotiated them */
	struct list conns;      /* [R] iscsi_conn.session_node */
	unsigned n_conns;       /* [R] those included that are leaving */
	struct session_lost_cid {
		uint16_t cid;
		uint64_t until_ms;     /* 0: none */
	} lost[SESSION_LOST_CIDS];     /* [D] the latest at n_lost - 1, modulo */
	unsigned n_lost;               /* [D] */
	uint32_t exp_cmdsn, max_cmdsn; /* [H] */
	struct iscsi_conn *incoming;   /* [D] ExpCmdSN is on its way here, not whole yet */
	uint32_t window, first_window; /* [H] commands promised, now and at login: it grows */
	unsigned n_tasks, n_immediate; /* [R] */
	bool holds;                    /* [H] level 1: conn->holds; its window does not grow */
	uint32_t told_max_cmdsn;       /* [D] the MaxCmdSN last sent */
	struct list parked;            /* [D] iscsi_parked.node: ahead of ExpCmdSN, in order */
	unsigned n_parked;             /* [D] */
	size_t parked_bytes;           /* [D] data kept for them */
	uint32_t over[SESSION_OVER];   /* [D] the latest at n_over - 1, modulo */
	unsigned n_over;               /* [D] */
	struct session_fence {
		uint8_t state;           /* enum fence_state */
		bool hurried;            /* something waits, and the timer runs */
		struct list queue;       /* iscsi_pdu.node: responses that wait */
		struct iscsi_conn *conn; /* of the response that went out; NULL: it has gone */
		struct reactor_timer timer;
	} fence; /* [D] */
	struct session_stopped {
		unsigned n;                 /* tasks that are kept for their R2Ts */
		uint32_t round;             /* a LU whose tasks are stopped */
		struct reactor_timer timer; /* until the first of them is given up */
		struct reactor_job job;     /* functions and fences are looked at */
	} stopped;                          /* [D] ffp_stop.c */
	struct list tmfs;                   /* [D] ffp_tmf.node: in progress */
	unsigned n_tmfs;                    /* [D] those included whose connection has gone */
	struct list claims;                 /* [D] claim_ticket.node, under the directory's lock */
	uint64_t retain_ms;                 /* [H] Time2Wait + Time2Retain; 0: ends at once */
	struct reactor_timer timer;         /* [R] Time2Retain, when no connection is left */
	struct reactor_job reap;            /* [R] */
	struct list tasks[SESSION_ITT_BUCKETS];          /* [R] iscsi_task.itt_node, by ITT */
	struct it_nexus nexus;                           /* [H] unit attentions */
	uint64_t reads, writes, read_bytes, write_bytes; /* [D] */
};

/* What ends a task on the wire once all unsolicited data has been taken. */
enum task_answer { ANSWER_NONE, ANSWER_STATUS, ANSWER_DATA, ANSWER_GIVEN };

/* A SCSI command, from its header to the end of its response. */
struct iscsi_task {
	struct scsi_task scsi;
	struct iscsi_reactor *ir; /* whose pool it came from */
	struct iscsi_conn *conn;  /* NULL once detached */
	struct iscsi_session *session;
	struct list itt_node; /* session->tasks bucket */
	uint32_t itt, cmdsn;
	uint8_t lun[8];
	uint8_t cdb[16];
	uint8_t *long_cdb; /* extended CDB on the heap, NULL if 16 bytes do */
	bool immediate;
	bool submitted;             /* the SCSI layer knows it */
	bool holds_slot;            /* of the command window */
	bool collecting;            /* data_out was called, scsi_data_received not yet */
	bool soliciting, sending;   /* get_data or put_data in progress */
	bool releasing;             /* release returned false, iscsi_task_released follows */
	bool over;                  /* and then the task is freed */
	bool unsolicited_final;     /* no more comes unasked */
	bool held;                  /* its answer waits for a fence */
	bool dropping;              /* what still arrives unasked is dropped */
	bool failed;                /* by its data: ends with failure, whatever else */
	bool stopped;               /* it is no task any more, but its R2Ts are open (ffp_stop.c) */
	struct ffp_tmf *stopped_by; /* its response waits for them; NULL: none does */
	uint64_t stopped_until_ms;
	bool told; /* stopped: by an asynchronous message with told_statsn */
	uint32_t told_statsn;
	uint8_t answer;           /* enum task_answer: waits for the rest of the unsolicited data */
	uint32_t unsolicited_end; /* bytes [0, this) come unasked: immediate and unsolicited */
	uint32_t unsolicited_got; /* of them received or dropped */
	uint32_t next_datasn;     /* of unsolicited Data-Out */
	uint32_t data_in_pdus;    /* sent; counted by the transport, for ExpDataSN */
	bool kept;                /* its status is sent, its data stays for a SNACK (recovery.c) */
	uint32_t snack_tag;       /* of an R-Data SNACK, for the response */
	struct list kept_node;    /* conn->kept.tasks */
	uint8_t refusal;          /* enum scsi_status of a task that was not submitted */
	struct scsi_sense failure;
	struct iscsi_pdu *response; /* queued with the transport */
	void *dm_private;           /* dm->task_size bytes behind this object */
};

static inline struct iscsi_task *iscsi_task_of(struct scsi_task *t)
{
	return container_of(t, struct iscsi_task, scsi);
}

/* The connection with this CID, NULL if there is none. */
struct iscsi_conn *session_find_conn(struct iscsi_session *s, uint16_t cid);

/* The task with this ITT, NULL if there is none. */
static inline struct iscsi_task *session_find_task(struct iscsi_session *s, uint32_t itt)
{
	struct list *bucket = &s->tasks[itt % SESSION_ITT_BUCKETS], *pos;

	list_for_each (pos, bucket) {
		struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

		if (t->itt == itt)
			return t;
	}
	return NULL;
}

/* Residual flag of a response and the count (RFC 7143 11.4.5): what the command would move
 * against what the initiator expects. */
static inline uint8_t iscsi_residual(const struct iscsi_task *t, uint32_t *ret_count)
{
	uint64_t moves = t->scsi.data_length, expects = t->scsi.edtl;
	uint64_t difference = moves > expects ? moves - expects : expects - moves;

	*ret_count = difference > UINT32_MAX ? UINT32_MAX : (uint32_t)difference;
	if (moves == expects)
		return 0;
	return moves > expects ? ISCSI_RSP_OVERFLOW : ISCSI_RSP_UNDERFLOW;
}

/*
 * A session for the leading connection, not in the directory yet; NULL target: discovery. It takes
 * a reference on the reactor's policy. login.c then fills initiator, initiator_alias, target_name,
 * isid, tpgt, rule, discovery, exp_cmdsn and max_cmdsn and claims. NULL: no memory.
 */
struct iscsi_session *session_create(struct iscsi_conn *leading, const struct iscsi_target *target);

/*
 * A login that names a session by TSIH; key->tpgt is not compared (the caller tells 0208 from
 * 020a). 0; -ENOENT: there is none; -EXDEV: it lives on another reactor, *ret_owner.
 */
int session_find(const struct iscsi_reactor *ir, const struct iscsi_session_key *key, uint16_t tsih,
		 struct iscsi_session **ret, struct reactor **ret_owner);
/* Adds a connection, whose cid is set. One with the same CID is dropped first (connection
 * reinstatement, RFC 7143 6.3.4). 0, or -EMFILE beyond the MaxConnections of the session. */
int session_join(struct iscsi_session *s, struct iscsi_conn *c);
/* Connections in full-feature phase. */
unsigned session_live_conns(const struct iscsi_session *s);

/*
 * Enters a session into the directory by its key; a discovery session without target
 * name by its initiator port and portal (RFC 7143 7.4.2.1). If
 * one with the same key exists it is told to end (session reinstatement, RFC 7143 6.3.5) and
 * `ready` runs on this reactor when the old one has let go of its nexus; otherwise `ready` runs
 * before this returns. -ENOSPC: too many sessions.
 */
struct session_claim {
	struct iscsi_session *session;
	const char *limit; /* -ENOSPC: the setting that says so, in words */
	int result; /* set before ready: 0: tsih is set, and the nexus of a normal session; -ENOMEM
		     */
	void (*ready)(struct session_claim *claim);
	struct claim_ticket *ticket; /* directory.c */
};
int session_claim(struct session_claim *claim);
void session_claim_cancel(struct session_claim *claim); /* its login has died */

/* Ends a session: tasks aborted, connections terminated, leaves the directory. */
void session_end(struct iscsi_session *s, const char *why);
/* The same when its last connection is about to answer a Logout, which closes that. */
void session_logged_out(struct iscsi_session *s);

/* What the administrator sees of a session and one of its connections; built on its reactor. */
struct session_info {
	uint64_t id;
	char initiator[ISCSI_NAME_MAX + 1], initiator_alias[256], target[ISCSI_NAME_MAX + 1];
	char account[256]; /* empty: none */
	uint8_t isid[6];
	uint16_t tsih, tpgt;
	bool discovery;
	uint32_t outstanding, ahead, window; /* commands: at work, before their turn, promised */
	uint64_t reads, writes, read_bytes, write_bytes;
	uint64_t age_s;
	unsigned reactor;
	/* Of the connection; 0: none is left, and the session waits for its initiator. */
	uint64_t conn_id;
	uint16_t cid;
	bool logout_requested;
	uint32_t conn_outstanding, unacknowledged; /* commands; statuses kept (level 1) */
	struct conn_info conn;                     /* peer: of the one lost last, if none is left */
	uint64_t waits_s;                          /* without a connection: how long still */
	struct iscsi_keys keys; /* in force on it; without one, those of the session */
};
#define SESSIONS_ALL UINT64_MAX
/* One entry for each connection in full-feature phase and each session that has lost its last, of
 * the session with this id or of all. How many there are; what is beyond max is left out. */
unsigned iscsi_reactor_sessions(struct reactor *r, uint64_t id, struct session_info *out,
				unsigned max);
/* At least as many as there are. */
unsigned iscsi_reactor_sessions_max(const struct reactor *r);
/* Ends the session with this id if it is on this reactor. */
bool iscsi_reactor_drop(struct reactor *r, uint64_t session_id, const char *why);
/* Asks every initiator of this reactor to log out (asynchronous message), for an orderly stop. */
void iscsi_reactor_request_logout(struct reactor *r, unsigned seconds);
unsigned iscsi_reactor_count(const struct reactor *r); /* connections */

#endif
