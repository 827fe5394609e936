/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies below iSCSI: the primitives of RFC 5047 as a table that each transport fills, and the
 * upcalls that it makes. TCP makes Data-In, R2T and Data-Out of Put_Data and Get_Data; RDMA makes
 * RDMA Write and Read of them; nobody above can tell.
 *
 * Threads: every call and upcall of a connection happens on its reactor, which changes at most
 * once, by `move`. Ownership: the transport allocates connections through iscsi_conn_create, which
 * appends its private bytes; tasks carry its private bytes likewise.
 */
#ifndef HAWSER_TRANSPORT_DATAMOVER_H
#define HAWSER_TRANSPORT_DATAMOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct iscsi_conn;
struct iscsi_pdu;
struct iscsi_task;
struct portal;
struct reactor;

struct conn_info {
	char peer[64], local[64]; /* "192.0.2.7:51234", "[2001:db8::1]:3260" */
	uint64_t received_bytes, sent_bytes;
	uint32_t queued_bytes;
};

struct datamover_ops {
	const char *name;             /* "tcp", "iser" */
	size_t conn_size, task_size;  /* private bytes that follow each connection and task */
	bool digests;                 /* header and data digests can be negotiated */
	bool lends_data;              /* false: stable buffers are needed whatever is negotiated */
	uint16_t max_connections;     /* per session */
	uint8_t error_recovery_level; /* the highest */
	uint32_t max_recv_data_segment_length; /* what we declare */

	/* Control reactor: begin and end to listen at a portal; new connections are placed by
	 * portal_place and begun with iscsi_conn_create on their reactor. */
	int (*listen)(struct portal *p);
	void (*unlisten)(struct portal *p);

	/* Full-feature phase begins with the next PDU in each direction: digests, lengths. The
	 * negotiated values are in conn->keys. 0 or a negative errno. */
	int (*enable)(struct iscsi_conn *c);
	/* Send_Control. Sequence numbers are stamped by iscsi_stamp when the PDU goes out, in the
	 * order of the wire. iscsi_control_sent(pdu) follows, also if the connection dies first. */
	void (*send_control)(struct iscsi_conn *c, struct iscsi_pdu *pdu);
	/* Put_Data: bytes [offset, offset+length) of the task's buffer to the initiator, followed
	 * by the status when with_status. iscsi_data_complete(task) follows once. */
	void (*put_data)(struct iscsi_task *t, uint32_t offset, uint32_t length, bool with_status);
	/* A task has been taken from the pool: initialises the private part. May be NULL. */
	void (*init_task)(struct iscsi_task *t);
	/* Get_Data: solicit [offset, offset+length) of the command's data into the task's buffer.
	 * iscsi_data_complete(task) follows once all of it is there. */
	void (*get_data)(struct iscsi_task *t, uint32_t offset, uint32_t length);
	/* The data that get_data asks for is not wanted any more: nothing else is solicited, what
	 * has been is waited for and dropped; iscsi_data_complete follows. True: there is nothing
	 * to wait for, and no iscsi_data_complete. NULL: it just goes on to its end. */
	bool (*cease)(struct iscsi_task *t);
	/* Deallocate_Task_Resources: stop moving data of this task. True: done, nothing refers to
	 * its buffers; false: iscsi_task_released(task) follows. No iscsi_data_complete then. */
	bool (*release)(struct iscsi_task *t);
	/*
	 * ErrorRecoveryLevel 1, where error_recovery_level is 1.
	 * resend: Data-In or R2Ts of a run of a SNACK once more. 0; -ERANGE: of some it is not so
	 * that they have been sent and not been acknowledged, the next number is *ret_next;
	 * -EOPNOTSUPP: as they were they can not be sent.
	 * restart: what has not been acknowledged by data_ack anew, of the length declared now;
	 * iscsi_data_complete follows, also if it had come already.
	 * data_ack: false: not a tag of this task, or not a number between.
	 * recover: bytes that came unasked were lost: they are asked for, before or after get_data;
	 * iscsi_data_complete follows when nothing of either is missing.
	 */
	int (*resend)(struct iscsi_task *t, uint32_t begrun, uint32_t runlength,
		      uint32_t *ret_next);
	void (*restart)(struct iscsi_task *t);
	bool (*data_ack)(struct iscsi_task *t, uint32_t ttt, uint32_t begrun);
	void (*recover)(struct iscsi_task *t, uint32_t offset, uint32_t length);
	/* Connection_Terminate: send what is queued if graceful, then close; iscsi_conn_down
	 * follows, always, from a later turn. May be called twice. */
	void (*terminate)(struct iscsi_conn *c, bool graceful);
	void (*describe)(struct iscsi_conn *c, struct conn_info *ret);
	/* During login, from iscsi_rx_data, the request not answered yet: gives the connection to
	 * another reactor. At the end of the turn iscsi_conn_leave comes, the last of this reactor,
	 * then iscsi_conn_arrive on the other; instead of either iscsi_conn_down if it ends before.
	 * Bytes that were read and do not make a whole header yet go along. NULL: cannot. */
	void (*move)(struct iscsi_conn *c, struct reactor *to);
};

/*
 * Upcalls, implemented in transport/iscsi/.
 *
 * A received PDU: iscsi_rx_header with header and AHS (header digest already checked), which says
 * where the data segment goes; then iscsi_rx_data when all its bytes are there. A PDU without data
 * segment gets both calls too. Solicited Data-Out (TTT not reserved) never comes up: the transport
 * files it into the buffer named by get_data.
 */
struct iscsi_rx {
	uint8_t bhs[48];
	const uint8_t *ahs; /* valid during iscsi_rx_header only */
	uint16_t ahs_length;
	uint32_t length; /* of the data segment, without padding */
	/* Set by iscsi_rx_header: the data goes to iov (beginning at skip bytes into it), what is
	 * longer than that is dropped; an iovcnt of 0 drops all of it. May be changed to "drop" by
	 * an abort in the middle of reception. */
	const struct iovec *iov;
	unsigned iovcnt;
	size_t skip;
	/* Cookie of the iscsi layer between the two calls. */
	struct iscsi_task *task;
	struct iscsi_pdu *pdu;
	uint8_t reject; /* enum iscsi_reject to be sent when the data has been dropped */
};

/* 0, or a negative errno: the connection is beyond repair, the transport terminates it. */
int iscsi_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx);
int iscsi_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx, bool digest_good);

void iscsi_control_sent(struct iscsi_conn *c, struct iscsi_pdu *pdu);
void iscsi_data_complete(struct iscsi_task *t); /* of put_data or get_data */
void iscsi_task_released(struct iscsi_task *t);

/* A Data-Out that breaks the rules (unknown TTT, wrong DataSN, offset, length, digest): t is the
 * task it belongs to, NULL if unknown. Answers with Reject and fails the task. */
void iscsi_data_out_bad(struct iscsi_conn *c, struct iscsi_task *t, const uint8_t bhs[static 48],
			uint8_t reject);

/* The connection is gone; the transport's part is torn down when this returns and conn freed by
 * the iscsi layer then or later. why: negative errno, 0 for an orderly close by the peer. */
void iscsi_conn_down(struct iscsi_conn *c, int why);

/* The two ends of `move`: the connection belongs to no reactor's iSCSI layer after the first and
 * its c->reactor is `to`; nothing of it is in a pool or list of the old one. The second may end it.
 */
void iscsi_conn_leave(struct iscsi_conn *c, struct reactor *to);
void iscsi_conn_arrive(struct iscsi_conn *c);

/* Level 1: data of a PDU was lost and is asked for again: Reject only. */
void iscsi_data_out_lost(struct iscsi_conn *c, const uint8_t bhs[static 48]);
/* Level 1: and asking for it again has not helped. */
void iscsi_data_out_given_up(struct iscsi_task *t);

/* A control PDU goes out, for the first time or again. */
void iscsi_stamp_control(struct iscsi_conn *c, struct iscsi_pdu *pdu);
/* Stamps StatSN (advancing it if takes_statsn), ExpCmdSN, MaxCmdSN into bytes 24..35. */
void iscsi_stamp(struct iscsi_conn *c, uint8_t bhs[static 48], bool takes_statsn);

#endif
