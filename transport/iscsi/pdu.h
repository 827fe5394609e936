/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A control PDU: header, and a data segment in the object, borrowed or on the heap.
 *
 * Threads: the connection's reactor. Ownership: pdu_get takes one from the reactor's pool;
 * send_control hands it to the transport; iscsi_control_sent gives it back.
 */
#ifndef HAWSER_ISCSI_PDU_H
#define HAWSER_ISCSI_PDU_H

#include "daemon/base/list.h"
#include "transport/iscsi/wire.h"

#include <stdbool.h>
#include <stddef.h>

struct iscsi_conn;
struct iscsi_task;

#define PDU_INLINE 128        /* sense with its length, most rejects */
#define PDUS_MAX   (1u << 30) /* of a reactor's pool: pdu.c counts them by connection */

struct iscsi_pdu {
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint32_t length;          /* of the data segment, as in the BHS */
	const uint8_t *data;      /* inl, heap or borrowed */
	uint8_t *heap;            /* freed by pdu_put */
	bool shared, heap_shared; /* taken from what the connections of a reactor share */
	bool takes_statsn;        /* StatSN advances when it goes out */
	uint8_t dm_flags;         /* of the transport, set when it is queued */
	bool fenced;              /* ffp_fence.c waits for its acknowledgement */
	bool tells;               /* of stopped tasks: ffp_stop.c wants its StatSN */
	bool queued;              /* with the transport */
	bool held;                /* sent, and kept until statsn is acknowledged (recovery.c) */
	bool again;               /* to be sent once more */
	uint32_t statsn;          /* while held */
	struct list held_node;    /* of conn->held */
	bool close_after;         /* terminate the connection once this has been sent */
	struct iscsi_task *task;  /* the task that ends when this has been sent */
	struct list node;         /* of the transport's queue */
	struct iscsi_conn *conn;
	uint8_t inl[PDU_INLINE];
};

/* A zeroed PDU with opcode, F bit and ITT set; NULL when the connection has too many queued or
 * memory is short: the caller then terminates the connection. */
struct iscsi_pdu *pdu_get(struct iscsi_conn *c, uint8_t opcode, uint32_t itt);
/* Room for a data segment of this length (inline or heap), zeroed; sets DataSegmentLength. */
uint8_t *pdu_data(struct iscsi_pdu *p, uint32_t length);
void pdu_put(struct iscsi_pdu *p);
/* Queues it with the transport. */
void pdu_send(struct iscsi_pdu *p);
/* Answers a request by Reject with its header. 0, or a negative errno: beyond repair. */
int pdu_reject(struct iscsi_conn *c, const uint8_t bhs[static ISCSI_BHS_SIZE], uint8_t reason);

#endif
