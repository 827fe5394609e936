/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An iSCSI connection: state (RFC 7143 8.1), numbering, negotiated keys, login in progress; and
 * the process-wide and per-reactor anchors of the iSCSI layer.
 *
 * Threads: a connection belongs to one reactor; during login it may be given to another (move.c).
 * Ownership: made by the transport through iscsi_conn_create, freed by the iSCSI layer after
 * iscsi_conn_down when no task refers to it.
 *
 * Hand-over to a new process: each field below is marked [H] handed over, [R] rebuilt, [D] dropped.
 */
#ifndef HAWSER_ISCSI_CONN_H
#define HAWSER_ISCSI_CONN_H

#include "daemon/base/list.h"
#include "daemon/base/reactor.h"
#include "transport/datamover.h"
#include "transport/iscsi/keys.h"
#include "transport/iscsi/wire.h"

#include <sys/socket.h>

struct arena_waiter;
struct ffp_op;
struct iscsi_login;
struct iscsi_parked;
struct iscsi_policy;
struct iscsi_session;
struct iscsi_text;
struct pool;
struct portal;
struct stats;

/* RFC 7143 8.1.3; S2, S6, S7 only where named so by the standard for a target. */
enum conn_state {
	CONN_XPT_UP,           /* S3: transport established, no login yet */
	CONN_IN_LOGIN,         /* S4 */
	CONN_LOGGED_IN,        /* S5: full-feature phase */
	CONN_IN_LOGOUT,        /* S6: logout answered, waiting for the close */
	CONN_LOGOUT_REQUESTED, /* S7: we asked for it */
	CONN_CLEANUP,          /* S8: transport gone, tasks ending */
};

/* The iSCSI layer on one reactor; REACTOR_ISCSI slot. */
struct iscsi_reactor {
	struct reactor *reactor;
	unsigned index;
	const struct iscsi_policy *policy; /* this reactor's copy */
	struct list conns;                 /* iscsi_conn.node */
	struct list sessions;              /* iscsi_session.node */
	struct pool *tasks;                /* iscsi_task with the largest private part */
	struct pool *pdus;                 /* iscsi_pdu */
	size_t task_private;               /* bytes of the largest datamover task part */
	unsigned task_limit; /* beyond: TASK SET FULL; the rest of the pool is the reserve */
	unsigned n_conns, n_unauthenticated;
	unsigned window_grown; /* commands promised to sessions beyond their first window */
	/* recovery.c: connections that keep data, and what all of them keep */
	struct list keepers; /* iscsi_conn.kept.node */
	unsigned n_keepers, n_kept;
	size_t kept_bytes;
	const struct arena_waiter *waits; /* for buffers, as stall.c saw it last */
	unsigned pdus_shared;             /* pdu.c: beyond what each connection has for itself */
	size_t bytes_shared;
	struct stats *stats;
	struct reactor_timer stall; /* stall.c: armed while somebody waits for buffers */
	bool stopping;              /* connections that still come here are closed */
};

/* On the reactor's thread. dms: all transports, NULL at the end. Takes the policy's reference. */
int iscsi_reactor_start(struct reactor *r, const struct datamover_ops *const *dms,
			const struct iscsi_policy *policy);
void iscsi_reactor_stop(struct reactor *r);
static inline struct iscsi_reactor *iscsi_reactor_of(const struct reactor *r)
{
	return reactor_slot(r, REACTOR_ISCSI);
}

/*
 * Control reactor: gives a new policy to all reactors. done runs on `control` when each has
 * adopted it: sessions whose target or access is gone have been told to leave, LUN maps are
 * replaced, and nothing refers to what the old policy had and the new has not. Takes a reference.
 */
struct iscsi_publish {
	struct reactor_broadcast broadcast;
	const struct iscsi_policy *policy;
	void (*done)(struct iscsi_publish *p);
	void *arg;
};
int iscsi_publish(struct reactor *const *set, unsigned n, struct reactor *control,
		  struct iscsi_publish *p);

/* Unsolicited data that is still on its way for tasks that are gone: dropped in silence. */
#define CONN_LATE 16

struct iscsi_conn {
	struct reactor *reactor;             /* [R] */
	struct iscsi_reactor *ir;            /* [R] NULL: on its way to another reactor */
	const struct datamover_ops *dm;      /* [R] */
	struct portal *portal;               /* [R] counted */
	struct list node;                    /* [R] ir->conns */
	struct list session_node;            /* [R] session->conns */
	struct iscsi_session *session;       /* [R] NULL until login has found or made it */
	struct iscsi_login *login;           /* [D] NULL in full-feature phase */
	enum conn_state state;               /* [H] */
	uint16_t cid;                        /* [H] */
	uint32_t statsn;                     /* [H] the next to be used */
	uint32_t exp_statsn;                 /* [H] acknowledged by the initiator */
	uint32_t fence_statsn;               /* [D] what exp_statsn must reach, if noted */
	bool fence_noted;                    /* [D] */
	uint32_t told_round;                 /* [D] session->stopped.round that it was told of */
	struct iscsi_keys keys;              /* [H] */
	struct sockaddr_storage peer, local; /* [R] */
	unsigned n_tasks;                    /* [R] tasks that refer to this connection */
	bool holds;       /* [H] level 1: what is sent is held until acknowledged */
	unsigned n_held;  /* [D] */
	struct list held; /* [D] iscsi_pdu.held_node, by StatSN */
	struct conn_kept {
		struct list node;  /* ir->keepers */
		struct list tasks; /* iscsi_task.kept_node: the oldest first */
		size_t bytes;
		unsigned n;
	} kept;                         /* [D] level 1: data of what has been answered */
	bool down;                      /* [R] the transport has gone */
	bool terminating;               /* [R] terminate was called */
	struct reactor_timer timer;     /* [R] login limit, then NOP-In */
	uint64_t last_rx_ms;            /* [D] */
	uint64_t moved_bytes;           /* [D] both ways, when stall.c looked last */
	unsigned stalled;               /* [D] looks since then at which it held buffers */
	uint64_t deadline_ms;           /* [D] of login, of the logout asked for, of a ping */
	uint32_t login_cmdsn;           /* [D] ExpCmdSN while there is no session */
	struct iscsi_rx *rx;            /* [D] the PDU being received; NULL between PDUs */
	const struct ffp_op *rx_op;     /* [D] its row, NULL: dropped */
	struct iscsi_parked *rx_parked; /* [D] it is kept for its turn */
	bool rx_counted;                /* [D] it has advanced ExpCmdSN */
	struct iovec rx_iov;            /* [D] where its data goes, if that is one place */
	uint32_t late[CONN_LATE];       /* [D] ITTs */
	unsigned n_late;                /* [D] */
	uint32_t next_ping;             /* [D] TTT of the latest NOP-In ping */
	size_t pdu_bytes;               /* [D] data of control PDUs queued: limited */
	uint32_t ping_ttt;       /* [H] TTT of the ping not answered yet; reserved tag: none */
	unsigned pdus_out;       /* [D] control PDUs queued and not sent: limited */
	unsigned pdus_shared;    /* [D] of them, of ir->pdus_shared */
	size_t bytes_shared;     /* [D] of pdu_bytes, of ir->bytes_shared */
	struct iscsi_text *text; /* [D] text negotiation in progress, discovery.c; NULL: none */
	uint64_t id;             /* [H] process-wide, for the administrator */
	struct reactor_job reap; /* [R] */
	void *dm_private;        /* [R] dm->conn_size bytes behind this object */
};

/* A new connection on its reactor, with dm->conn_size private bytes. NULL: no memory or too many
 * connections (then logged); the transport closes. */
struct iscsi_conn *iscsi_conn_create(struct reactor *r, const struct datamover_ops *dm,
				     struct portal *portal, const struct sockaddr_storage *peer,
				     const struct sockaddr_storage *local);

/* Ends the connection: in full-feature phase the tasks are aborted when it is down. */
void iscsi_conn_terminate(struct iscsi_conn *c, bool graceful);

/* During login, from the request in hand: the connection goes to this reactor, where login_moved
 * carries on. False: its transport cannot, or it is ending. */
bool conn_move(struct iscsi_conn *c, struct reactor *to);

/* Login has queued its final response: full-feature phase, NOP-In instead of the login limit. */
void iscsi_conn_enter_full_feature(struct iscsi_conn *c);

static inline bool conn_is_full_feature(const struct iscsi_conn *c)
{
	return c->state == CONN_LOGGED_IN || c->state == CONN_LOGOUT_REQUESTED;
}

#endif
