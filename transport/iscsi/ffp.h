/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Full-feature phase, between its files: ffp.c (opcode table, order), ffp_order.c (commands ahead
 * of their turn), ffp_scsi.c (commands and status), ffp_data.c (their data), ffp_abort.c and
 * ffp_stop.c (tasks that are stopped), ffp_tmf.c, ffp_fence.c, ffp_nop.c, logout.c, async.c, and
 * session.c and directory.c.
 *
 * Threads: the connection's reactor, where nothing else is said.
 * Ownership: see conn.h and session.h.
 */
#ifndef HAWSER_ISCSI_FFP_H
#define HAWSER_ISCSI_FFP_H

#include "scsi/tmf.h"
#include "transport/datamover.h"
#include "transport/iscsi/conn.h"
#include "transport/iscsi/session.h"

struct iscsi_pdu;

/* Returned by a check instead of a reason: ignore it in silence. */
#define FFP_DROP 0xff

/* Additional sense for data that came wrongly (RFC 7143 11.4.7.2). */
#define ASC_UNEXPECTED_UNSOLICITED_DATA 0x0c0c
#define ASC_INCORRECT_AMOUNT_OF_DATA    0x0c0d
#define ASC_PROTOCOL_SERVICE_CRC_ERROR  0x4705

enum ffp_sessions { FFP_NORMAL = 1, FFP_DISCOVERY = 2, FFP_ANY = 3 };

/* One row says all there is to say about a request opcode before it is looked into. */
struct ffp_op {
	const char *name; /* NULL: no such request */
	uint8_t sessions; /* enum ffp_sessions: where it is allowed */
	bool ordered;     /* has a CmdSN */
	bool has_ahs;     /* may have additional header segments */
	bool has_data;    /* may have a data segment */
	bool needs_itt;   /* the reserved ITT is refused */
	bool judged_late; /* by its data: counts as received only after that */
	uint8_t refusal;  /* enum iscsi_reject: refused whatever it says */
	/* Looks at the header before the CmdSN is counted; an enum iscsi_reject refuses it.
	 * Optional. */
	uint8_t (*check)(struct iscsi_conn *c, const struct iscsi_rx *rx);
	/* It is its turn; says where the data segment goes. */
	int (*header)(struct iscsi_conn *c, struct iscsi_rx *rx);
	/* All of it is there. Optional. */
	int (*data)(struct iscsi_conn *c, struct iscsi_rx *rx);
	/* Its data digest was wrong: undo what header has done. Optional. */
	void (*undo)(struct iscsi_conn *c, struct iscsi_rx *rx);
};

extern const struct ffp_op ffp_ops[ISCSI_OPCODE_MASK + 1];

/* A request that came ahead of its CmdSN, or a CmdSN that will not come any more. */
struct iscsi_parked {
	struct list node; /* session->parked, ascending */
	struct iscsi_conn *conn;
	uint32_t cmdsn, itt;
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint8_t *ahs;
	uint16_t ahs_length;
	uint32_t length;       /* of the data segment */
	struct arena_buf data; /* of length bytes unless lost */
	bool immediate;        /* waits for its turn, does not take it */
	bool whole;            /* its data segment is there */
	bool skip;             /* nothing to do: the CmdSN counts as received (11.6.1) */
	bool lost;             /* there was no room for its data */
	bool final;            /* lost: the last unsolicited Data-Out has passed */
};

struct ffp_tmf {
	struct scsi_tmf scsi;
	struct list node; /* session->tmfs while the connection lives */
	struct iscsi_session *session;
	struct iscsi_conn *conn; /* NULL: nobody to answer */
	uint32_t itt;
	uint8_t function; /* enum iscsi_tmf */
	bool holds_slot;
	bool executed;   /* scsi.response is there */
	unsigned n_open; /* tasks that it has stopped, whose R2Ts the response waits for */
};

/* ffp.c: the PDU that is being received will not be ended; what was kept for it is given back. */
void ffp_forget_rx(struct iscsi_conn *c);
/* Likewise, while there is a session: what it holds of that. */
void ffp_give_up_rx(struct iscsi_conn *c);
/* The request being received counts as received, whatever comes of its data. */
void ffp_count_rx(struct iscsi_conn *c);
/* The request in hand is rejected: its CmdSN does not count as received (RFC 7143 7.3). False: it
 * has to, since others were told so. */
bool ffp_uncount(struct iscsi_conn *c, const uint8_t bhs[static ISCSI_BHS_SIZE]);

/* pdu.c: as pdu_reject, with the additional header segments. */
int pdu_reject_full(struct iscsi_conn *c, const struct iscsi_rx *rx, uint8_t reason);

/* The same, with DataSN/R2TSN (11.17.2). */
int pdu_reject_number(struct iscsi_conn *c, const struct iscsi_rx *rx, uint8_t reason,
		      uint32_t datasn);

/* ffp_order.c */
int ffp_park(struct iscsi_conn *c, struct iscsi_rx *rx);
void ffp_park_data(struct iscsi_conn *c, struct iscsi_rx *rx, bool digest_good);
struct iscsi_parked *ffp_find_parked(struct iscsi_session *s, uint32_t itt);
/* This CmdSN counts as received though its command has not come. */
int ffp_skip_cmdsn(struct iscsi_session *s, uint32_t cmdsn);
/* Forgets a parked command: its CmdSN counts as received. */
void ffp_abort_parked(struct iscsi_session *s, struct iscsi_parked *parked);
/* Runs what has become next; stops at the first gap. */
void ffp_run_parked(struct iscsi_session *s);
/* Discards what came on this connection (NULL: everything). */
void ffp_drop_parked(struct iscsi_session *s, const struct iscsi_conn *c);

/* The initiator has used all of its window: promises more, while there are tasks for it. */
void session_grow_window(struct iscsi_session *s);

/* A request has been answered: its place in the window is free again. */
static inline void session_free_slot(struct iscsi_session *s)
{
	if (s->max_cmdsn++ + 1 == s->exp_cmdsn)
		session_grow_window(s);
}
/* As above where no response will tell: if the initiator saw the window closed, a NOP-In does. */
void ffp_tell_window(struct iscsi_session *s);

/* ffp_scsi.c */
uint8_t ffp_scsi_check(struct iscsi_conn *c, const struct iscsi_rx *rx);
int ffp_scsi_header(struct iscsi_conn *c, struct iscsi_rx *rx);
/* parked, with lost data: TASK SET FULL once the rest has passed. */
int ffp_scsi_lost(struct iscsi_conn *c, struct iscsi_rx *rx, bool final);
void ffp_answer(struct iscsi_task *t); /* sends the status, or data and status */
void ffp_task_free(struct iscsi_task *t);
extern const struct scsi_port_ops ffp_port;

/* Where a transport's private bytes begin. */
#define FFP_TASK_ALIGN 64u
#define FFP_TASK_SIZE                                                                              \
	((sizeof(struct iscsi_task) + FFP_TASK_ALIGN - 1) / FFP_TASK_ALIGN * FFP_TASK_ALIGN)

/* ffp_ahs.c: the additional header segments of a SCSI Command. */
struct ffp_ahs {
	const uint8_t *cdb; /* bytes 16 and on of an extended CDB, NULL if there is none */
	uint16_t cdb_length;
	bool bidirectional;
};
uint8_t ffp_ahs_parse(const uint8_t *ahs, uint16_t length, const uint8_t cdb[static 16],
		      struct ffp_ahs *ret);

/* ffp_data.c */
int ffp_scsi_data(struct iscsi_conn *c, struct iscsi_rx *rx);
int ffp_data_out_header(struct iscsi_conn *c, struct iscsi_rx *rx);
int ffp_data_out_data(struct iscsi_conn *c, struct iscsi_rx *rx);
void ffp_data_out_undo(struct iscsi_conn *c, struct iscsi_rx *rx);
void ffp_data_out(struct scsi_task *st);
/* Where `length` unsolicited bytes at t->unsolicited_got go. */
void ffp_place_data(struct iscsi_task *t, struct iscsi_rx *rx);
/* Unsolicited data has come in or been dropped: collected, or may the answer go out? */
void ffp_data_progress(struct iscsi_task *t);
static inline bool ffp_drained(const struct iscsi_task *t)
{
	return t->unsolicited_final && t->unsolicited_got >= t->unsolicited_end;
}

/* ffp_abort.c */
void ffp_abort(struct scsi_task *st);
void ffp_scsi_undo(struct iscsi_conn *c, struct iscsi_rx *rx);
bool ffp_release(struct scsi_task *st);
void ffp_detached_done(struct scsi_task *st);
void ffp_unlink(struct iscsi_task *t);
/* Stops every task of this connection (NULL: of the session). */
void ffp_abort_all(struct iscsi_session *s, const struct iscsi_conn *c);
/* True, and forgets it after F: unsolicited data of a task that is gone. */
bool ffp_is_late(struct iscsi_conn *c, uint32_t itt, bool final);

/* ffp_stop.c */
void ffp_stop_init(struct iscsi_session *s);
/* The session is being freed. */
void ffp_stop_end(struct iscsi_session *s);
/* A function for many tasks is about to stop those of one LU: for each connection that is to be
 * told, once. */
void ffp_stop_begin(struct iscsi_session *s);
/* It stops this one: it is gone, or `stopped` while its R2Ts are open. */
void ffp_stop(struct iscsi_task *t, struct ffp_tmf *by);
/* A function of another session stops all of a LU. */
void ffp_stop_for_other(struct iscsi_session *s, const struct itl *itl);
/* The message that tells of it goes out with this StatSN. */
void ffp_stop_told(struct iscsi_conn *c, const uint8_t lun[static 8], uint32_t statsn);
/* A NOP-Out of its answering kind. */
void ffp_stop_acknowledged(struct iscsi_conn *c, const uint8_t lun[static 8]);
/* The initiator uses the tag again: false: it may not yet. */
bool ffp_stop_give_way(struct iscsi_task *t);
/* By ffp_abort: a stopped task is over. */
void ffp_stop_over(struct iscsi_session *s, struct iscsi_task *t);
/* Nobody will be answered. */
void ffp_stop_forget(struct ffp_tmf *by);
/* At the end of the turn: something that a function or a fence waits for may be over. */
void ffp_stop_settle(struct iscsi_session *s);

/* ffp_tmf.c */
/* Answers what has been executed and waits for nothing any more. */
void ffp_tmf_look(struct iscsi_session *s);
/* An ABORT TASK for this one may come yet and shall hear that it is over. */
void ffp_remember_over(struct iscsi_session *s, uint32_t itt);
uint8_t ffp_tmf_check(struct iscsi_conn *c, const struct iscsi_rx *rx);
int ffp_tmf_run(struct iscsi_conn *c, struct iscsi_rx *rx);
/* Immediate, but not before its CmdSN. */
bool ffp_tmf_waits(const struct iscsi_conn *c, const struct iscsi_rx *rx);
/* No answers on this connection (NULL: none of the session's). */
void ffp_tmf_forget(struct iscsi_session *s, const struct iscsi_conn *c);

/* ffp_fence.c */
void ffp_fence_init(struct iscsi_session *s);
/* This status must not overtake others, nor be overtaken. */
bool ffp_fence_wanted(const struct iscsi_task *t);
void ffp_fence_send(struct iscsi_pdu *p);
/* The task's answer waits: FENCE_OPEN brings it to ffp_answer again. */
void ffp_fence_hold(struct iscsi_task *t);
/* It has gone out with this StatSN. */
void ffp_fence_sent(struct iscsi_conn *c, uint32_t statsn);
/* Something that a fence waits for may have happened. */
void ffp_fence_look(struct iscsi_session *s);
/* An answer to NOP-In may have crossed the status that is to be acknowledged. */
void ffp_fence_ask_again(struct iscsi_conn *c);
/* Responses of this connection (NULL: of all) will not be sent. */
void ffp_fence_forget(struct iscsi_session *s, struct iscsi_conn *c);

/* ffp_nop.c */
/* Asks for a NOP-Out, unless that has been asked for. False: nothing could be queued. */
bool ffp_ping(struct iscsi_conn *c);
uint8_t ffp_nop_check(struct iscsi_conn *c, const struct iscsi_rx *rx);
int ffp_nop_header(struct iscsi_conn *c, struct iscsi_rx *rx);
int ffp_nop_data(struct iscsi_conn *c, struct iscsi_rx *rx);
void ffp_nop_undo(struct iscsi_conn *c, struct iscsi_rx *rx);
/* ttt reserved: only tells the window. False: nothing could be queued. */
bool ffp_nop_in(struct iscsi_conn *c, uint32_t ttt);

/* logout.c */
uint8_t ffp_logout_check(struct iscsi_conn *c, const struct iscsi_rx *rx);
int ffp_logout_run(struct iscsi_conn *c, struct iscsi_rx *rx);
/* All other connections of the session, with their tasks; the session will not be kept. */
void logout_close_others(struct iscsi_conn *c);

/* async.c. False: nothing could be queued. */
struct async_event {
	uint8_t event;      /* enum iscsi_async_event */
	const uint8_t *lun; /* 8 bytes, as the initiator writes it; NULL: none */
	uint16_t parameter1, parameter2, parameter3;
};
bool async_send(struct iscsi_conn *c, const struct async_event *e);
/* "Target requests logout" on each connection; seconds later they are dropped. */
void async_request_logout(struct iscsi_session *s, unsigned seconds);
/* Announces that the session is dropped: on each connection, then they close in order. */
void async_announce_drop(struct iscsi_session *s);
/* "Will drop this connection", then it is closed in order. */
void async_drop_conn(struct iscsi_conn *c);
/* "Has dropped a connection", on one that is left. */
void async_tell_lost(struct iscsi_session *s, uint16_t cid);

/* session.c */
/* A connection leaves its session; the last one ends it or begins Time2Retain. unexpected: it was
 * in full-feature phase. */
void session_lost_conn(struct iscsi_session *s, struct iscsi_conn *c, bool unexpected);
/* Nothing of what has come on this connection goes on: tasks, functions, requests kept. */
void session_stop_conn(struct iscsi_conn *c);
/* A connection in full-feature phase; NULL: there is none. */
struct iscsi_conn *session_any_conn(const struct iscsi_session *s);
/* True: this CID is that of a connection lost not long ago; now it is forgotten. */
bool session_forget_lost(struct iscsi_session *s, uint16_t cid);
/* As session_end, announced by an asynchronous message. */
void session_drop(struct iscsi_session *s, const char *why);
/* After something that may have been the last to refer to it. */
void session_maybe_free(struct iscsi_session *s);
/* Makes the nexus with what the session's rule shows. 0 or -ENOMEM. */
int session_start_nexus(struct iscsi_session *s);
/* The rule's or the target's LUN map has changed, or read-only. 0 or -ENOMEM. */
int session_remap(struct iscsi_session *s);

/* stall.c */
void stall_init(struct iscsi_reactor *ir);
/* A command has been taken in: if somebody waits for buffers, whoever keeps them is looked for. */
void stall_watch(struct iscsi_reactor *ir);

/* directory.c, any thread */
bool directory_leave(struct iscsi_session *s); /* false: was not there */
/* TARGET COLD RESET: ends all other sessions with this target, wherever they live. */
void directory_end_others(const struct iscsi_session *except, const char *why);

/* Frees at once what session_maybe_free would free at the end of the turn. */
void session_reap_all(struct iscsi_reactor *ir);

/* conn.c: what a state brings with it. */
void conn_set_cleanup(struct iscsi_conn *c);
void conn_set_logout(struct iscsi_conn *c);
void conn_set_logout_requested(struct iscsi_conn *c, unsigned seconds);
/* "iqn... from 192.0.2.7:51234", escaped; for log lines. */
const char *conn_describe(const struct iscsi_conn *c, char *buf, size_t size);

#endif
