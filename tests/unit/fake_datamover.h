/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A datamover without a network, for tests of transport/iscsi: PDUs are fed in by hand and what
 * would go out is collected, stamped as on the wire, in order. Time passes only when fake_turn
 * turns the reactor.
 *
 * A connection moves to another reactor as over TCP; the net of that one then turns and owns it.
 *
 * Threads: that of the net's reactor, as a rule the test's. Ownership: a fake_conn belongs to its
 * net until fake_net_stop, also after the connection has gone; a fake_pdu belongs to who took it.
 */
#ifndef HAWSER_TESTS_FAKE_DATAMOVER_H
#define HAWSER_TESTS_FAKE_DATAMOVER_H

#include "daemon/base/list.h"
#include "daemon/base/pool.h"
#include "daemon/base/reactor.h"
#include "transport/datamover.h"
#include "transport/iscsi/conn.h"
#include "transport/iscsi/policy.h"
#include "transport/portal.h"

struct fake_net {
	struct reactor *reactor;
	struct arena *arena;
	struct portal portal; /* 192.0.2.10:3260, group tag 1 */
	struct list conns;
	unsigned port; /* of the next initiator */
};

/* What has gone out. put_data shows as Data-In: one PDU, whatever its length. */
struct fake_pdu {
	struct list node;
	uint8_t bhs[48];
	uint32_t length;
	bool after_enable; /* queued after dm->enable: digests would apply */
	uint8_t data[];    /* followed by a NUL */
};

/* What get_data has asked for. */
struct fake_want {
	struct list node;
	struct iscsi_task *task;
	uint32_t offset, length;
};

struct fake_conn {
	struct list node;
	struct fake_net *net;
	struct iscsi_conn *c; /* NULL: gone */
	bool enabled;         /* dm->enable was called */
	bool hold;            /* what is queued stays queued, as if the socket were full */
	bool closing, graceful;
	int why;            /* handed to iscsi_conn_down */
	struct list queued; /* iscsi_pdu.node */
	struct list sent;   /* fake_pdu.node */
	struct list wants;  /* fake_want.node */
	struct list puts;   /* fake_put.node: not completed yet */
	struct reactor_job flush;
	struct reactor_job move_job; /* the move that dm->move has asked for */
	struct reactor_msg move_msg;
	struct fake_net *to;
};

/* Tests may change digests, lends_data, max_connections... between connections. */
extern struct datamover_ops fake_datamover;

/* Reactor, arena and iSCSI layer; takes the policy's reference. */
void fake_net_start(struct fake_net *n, const struct iscsi_policy *policy);
/* Hangs up what is left and frees all. */
void fake_net_stop(struct fake_net *n);
void fake_turn(struct fake_net *n, unsigned times);

/* address: of the initiator, numeric; NULL: 192.0.2.1. NULL: the iSCSI layer refused. */
struct fake_conn *fake_connect(struct fake_net *n, const char *address);
/* A PDU arrives; DataSegmentLength and TotalAHSLength are written into bhs. What the upcalls
 * returned; if negative, the connection is being closed as a transport would. -ENOTCONN: gone. */
int fake_feed(struct fake_conn *fc, uint8_t bhs[static 48], const void *data, uint32_t length);
int fake_feed_ahs(struct fake_conn *fc, uint8_t bhs[static 48], const void *ahs,
		  uint16_t ahs_length, const void *data, uint32_t length);
/* The next PDU that goes out, turning the reactor for it; NULL: none. free() it. */
struct fake_pdu *fake_next(struct fake_conn *fc);
/* Data for the oldest get_data; false: nothing is wanted. */
bool fake_fill(struct fake_conn *fc, const void *data, uint32_t length);
/* The initiator closes; done when this returns. */
void fake_hang_up(struct fake_conn *fc);
/* Frees a connection that has gone; for programs that open many. */
void fake_forget(struct fake_conn *fc);
/* Turns and says whether the connection has gone. */
bool fake_closed(struct fake_conn *fc);

#endif
