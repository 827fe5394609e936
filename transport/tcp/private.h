/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the TCP datamover share.
 *
 * Receiving: one large buffer per reactor; headers are copied out of it, payload is copied to where
 * the layer above wants it, and what is missing of a large payload is read straight to its place.
 * Sending: control PDUs first, then R2Ts, then Data-In, gathered into one batch per connection and
 * written by one sendmsg; headers live in the batch, payload is sent from where it lies.
 *
 * Threads: a connection's reactor. Ownership: tcp_conn and tcp_task are the private bytes behind
 * iscsi_conn and iscsi_task; a batch is borrowed from the reactor's pool while unsent.
 */
#ifndef HAWSER_TCP_PRIVATE_H
#define HAWSER_TCP_PRIVATE_H

#include "daemon/base/reactor.h"
#include "transport/iscsi/conn.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/session.h"
#include "transport/portal.h"

#define TCP_RX_BUFFER  (256u << 10)
#define TCP_RX_DIRECT  (16u << 10) /* from here on payload is read straight to its place */
#define TCP_RX_IOV     64          /* pieces of the place in one read */
#define TCP_RX_ROUNDS  8           /* reads of one connection in one turn */
#define TCP_BATCH_PDUS 128
#define TCP_BATCH_IOV  512
#define TCP_BATCH_SIZE (4u << 20) /* bytes after which a batch is closed */
#define TCP_R2T_MAX    16         /* outstanding of one task */
#define TCP_RUNS       4          /* of SNACKs; more are joined */
#define TCP_HOLES      16         /* lost pieces of one task; more: it fails */

/* A place in a gather list. */
struct sink {
	const struct iovec *iov;
	unsigned n;  /* entries left; 0: what arrives is dropped */
	size_t skip; /* bytes of the first entry already filled */
};

enum rx_phase {
	RX_BHS,
	RX_EXTRA, /* AHS and header digest */
	RX_DATA,
	RX_TAIL, /* padding and data digest */
};

struct tcp_reactor {
	struct reactor *reactor;
	struct pool *batches;
	uint8_t *buffer; /* TCP_RX_BUFFER bytes */
};

/* What a batch owes when it has been sent: a control PDU, or a task of which it carries data. */
struct tcp_owed {
	struct iscsi_pdu *pdu;
	struct iscsi_task *task;
	bool last; /* the end of the task's data is in this batch */
};

struct tcp_batch {
	unsigned n_iov, first_iov, n_heads, n_owed;
	size_t left; /* bytes not sent yet */
	struct iovec iov[TCP_BATCH_IOV];
	struct tcp_owed owed[TCP_BATCH_PDUS];
	struct tcp_head {
		uint8_t bhs[ISCSI_BHS_SIZE];
		uint8_t digest[ISCSI_DIGEST_SIZE];
		uint8_t tail[3 + ISCSI_DIGEST_SIZE]; /* padding and data digest */
	} heads[TCP_BATCH_PDUS];
};

struct tcp_conn {
	struct iscsi_conn *conn;
	struct tcp_reactor *tr;
	struct reactor_fd rfd;
	struct reactor_job send_job;
	struct reactor_job down_job;
	struct reactor_timer linger; /* bounds an orderly close */
	bool down;                   /* torn down is queued or done */
	bool draining;               /* orderly close: nothing is taken in any more */
	bool shut;                   /* our side has been shut down */
	bool blocked;                /* the socket is full: waiting for EPOLLOUT */
	int why;
	bool header_digest, data_digest; /* in force */

	/* receiving */
	enum rx_phase phase;
	unsigned got, need; /* bytes of the phase's small buffer */
	size_t data_left;   /* of the data segment */
	uint32_t crc;
	struct sink sink;
	struct iscsi_rx rx;
	bool solicited;          /* the PDU is a Data-Out of ours, not shown to the layer above */
	struct iscsi_task *dout; /* the task it is for; NULL: dropped */
	uint8_t dout_r2t;        /* index of its R2T */
	bool dout_refused;       /* its data is dropped, the F bit counts */
	uint8_t tail[3 + ISCSI_DIGEST_SIZE];
	uint8_t extra[ISCSI_AHS_MAX + ISCSI_DIGEST_SIZE];

	/* sending */
	struct list control; /* iscsi_pdu.node */
	struct list r2ts;    /* tcp_task.node: may send R2Ts */
	struct list data;    /* tcp_task.node: have Data-In to send */
	struct tcp_batch *batch;
	uint32_t next_ttt;
	struct reactor_timer sequence; /* level 1: of Data-Out that does not come */
	uint64_t received_bytes, sent_bytes;

	/* tcp_move.c */
	struct reactor_job move_job;
	struct reactor_msg move_msg;
	struct reactor *move_to;
};

/* One R2T that has been sent. */
struct tcp_r2t {
	uint32_t ttt, offset, end, next_datasn;
	bool busy;
	/* level 1 */
	bool again;    /* a SNACK asks for it */
	uint8_t ticks; /* of the timer since data came last */
	uint32_t r2tsn;
};

/* A place in the Data-In of a task. */
struct tcp_put {
	uint32_t sn, at;  /* DataSN and offset of the next PDU */
	uint32_t burst;   /* bytes left of the sequence (MaxBurstLength) */
	struct sink from; /* where `at` lies */
};

/* Numbers [sn, end) of a SNACK that are still to be sent. */
struct tcp_run {
	uint32_t sn, end;
};

/* Bytes [offset, end) that were lost. */
struct tcp_hole {
	uint32_t offset, end;
};

enum tcp_task_state { TCP_TASK_IDLE, TCP_TASK_PUT, TCP_TASK_GET };

struct tcp_task {
	struct list node; /* tcp_conn.data or .r2ts; iscsi_task_init makes it point to itself */
	struct iscsi_task *task;
	uint8_t state;  /* enum tcp_task_state */
	bool in_batch;  /* the unsent batch refers to the task's buffers */
	bool releasing; /* iscsi_task_released when the batch is gone */
	bool with_status;
	bool ceased; /* GET: what still comes is dropped, to the F bit of each R2T */
	uint32_t end;
	struct tcp_put put; /* PUT */
	uint32_t at;        /* GET: next byte to ask for */
	uint32_t sn;        /* GET: R2TSN */
	uint32_t missing;   /* GET: bytes not received yet */
	unsigned n_r2ts;
	struct tcp_r2t r2t[TCP_R2T_MAX];
	/* level 1, Data-In: tcp_snack.c */
	bool recovers;
	bool mixed; /* since base.sn the length of PDUs has changed */
	uint8_t n_runs;
	uint32_t segment;      /* of the PDUs from base.sn on */
	uint32_t ack_ttt;      /* of Data-In with A=1; reserved: none yet */
	struct tcp_put base;   /* the first that DataACK has not acknowledged */
	struct tcp_put replay; /* where the first run is */
	struct tcp_run runs[TCP_RUNS];
	struct tcp_owed *owed; /* in_batch: by the batch */
	/* level 1, Data-Out: tcp_recover.c */
	uint8_t n_holes, fruitless;
	bool hopeless;         /* there were more holes than there is room for */
	uint32_t missing_then; /* at the last R2T for a hole */
	struct tcp_hole holes[TCP_HOLES];
};

static inline struct tcp_conn *tcp_conn_of(struct iscsi_conn *c)
{
	return c->dm_private;
}

static inline struct tcp_task *tcp_task_of(struct iscsi_task *t)
{
	return t->dm_private;
}

/* Queues the connection for writing at the end of this turn. */
static inline void tcp_kick(struct tcp_conn *c)
{
	if (!c->blocked && !c->down)
		reactor_defer(c->conn->reactor, REACTOR_STAGE_SEND, &c->send_job);
}

/* Moves a place forward; returns false when it ends before that. */
bool sink_advance(struct sink *s, size_t bytes);
/* The place `offset` bytes into a gather list. */
struct sink sink_at(const struct iovec *iov, unsigned n, size_t offset);

/* tcp.c: the connection is lost or finished; torn down at the end of the turn. */
void tcp_fail(struct tcp_conn *c, int why);

/* tcp_move.c: from the end of this turn on the connection is another reactor's. */
void tcp_move(struct iscsi_conn *conn, struct reactor *to);

/* tcp_rx.c */
void tcp_rx_reset(struct tcp_conn *c);
void tcp_readable(struct tcp_conn *c);

/* tcp_dataout.c: solicited data. header: 0 or a negative errno. */
int tcp_dataout_header(struct tcp_conn *c);
int tcp_dataout_done(struct tcp_conn *c, bool digest_good);
void tcp_get_data(struct iscsi_task *t, uint32_t offset, uint32_t length);
bool tcp_cease(struct iscsi_task *t);
/* A sequence of Data-Out has ended: the task is complete, or asks for what else it wants. */
void tcp_sequence_over(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r);

/* tcp_recover.c, level 1: Data-Out that was lost. */
void tcp_note_hole(struct tcp_task *tt, uint32_t offset, uint32_t end);
/* Takes the first hole; false: asking again does not help, the task has failed. */
bool tcp_take_hole(struct tcp_task *tt, struct tcp_hole *ret);
void tcp_recover(struct iscsi_task *t, uint32_t offset, uint32_t length);
void tcp_sequence_watch(struct tcp_conn *c);
void tcp_sequence_timer(struct reactor_timer *timer);

/* tcp_snack.c, level 1: what is sent again. */
int tcp_resend(struct iscsi_task *t, uint32_t begrun, uint32_t runlength, uint32_t *ret_next);
void tcp_restart(struct iscsi_task *t);
void tcp_put_base(struct tcp_task *tt);
bool tcp_data_ack(struct iscsi_task *t, uint32_t ttt, uint32_t begrun);
/* The place of a DataSN at or behind base. */
uint32_t tcp_fit_segment(struct tcp_task *tt, uint32_t declared);
struct tcp_put tcp_place_of(const struct tcp_task *tt, uint32_t sn);

/* tcp_tx.c */
void tcp_send_job(struct reactor_job *job);
void tcp_writable(struct tcp_conn *c);
void tcp_send_control(struct iscsi_conn *conn, struct iscsi_pdu *pdu);
void tcp_put_data(struct iscsi_task *t, uint32_t offset, uint32_t length, bool with_status);
bool tcp_release(struct iscsi_task *t);
/* Drops everything queued: control PDUs are given back, tasks forgotten. */
void tcp_tx_clear(struct tcp_conn *c);

uint32_t tcp_next_length(const struct tcp_task *tt, const struct tcp_put *put, uint32_t segment);
/* tcp_fill.c: builds PDUs into the batch until it is full or nothing is queued. */
void tcp_fill(struct tcp_conn *c);
static inline bool tcp_tx_idle(const struct tcp_conn *c)
{
	return !c->batch && list_empty(&c->control) && list_empty(&c->r2ts) && list_empty(&c->data);
}

#endif
