/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ErrorRecoveryLevel 1: PDUs and data that are kept until they are acknowledged (recovery.c), and
 * the SNACKs that ask for them again (snack.c).
 *
 * Threads: the connection's reactor. Ownership: a kept PDU belongs to its connection's list `held`
 * (while it is queued to the transport too), a kept task to its PDU.
 */
#ifndef HAWSER_ISCSI_RECOVERY_H
#define HAWSER_ISCSI_RECOVERY_H

#include "transport/iscsi/conn.h"

struct arena_buf;
struct iscsi_pdu;
struct iscsi_rx;
struct iscsi_task;

/* iscsi_control_sent of a connection that holds. */
void recovery_sent(struct iscsi_conn *c, struct iscsi_pdu *p);
/* c->exp_statsn has moved on. */
void recovery_acknowledge(struct iscsi_conn *c);
/* The connection has gone. */
void recovery_forget(struct iscsi_conn *c);
/* Once more, now or when it has been sent. */
void recovery_send_again(struct iscsi_pdu *p);
/* A kept task, nothing refers to it: buffer and task to the pools. */
void recovery_give_back(struct iscsi_task *t);
/* As arena_get, for who cannot wait: what is kept gives way as to somebody who waits. */
int recovery_get(struct iscsi_reactor *ir, size_t length, struct arena_buf *ret);
/* Somebody waits for buffers: gives up what is kept, but for a small share of each connection. */
void recovery_spare(struct iscsi_reactor *ir);
/* Somebody has waited for long: gives up everything, as far as it serves. */
void recovery_give_up(struct iscsi_reactor *ir);

/* snack.c */
uint8_t snack_check(struct iscsi_conn *c, const struct iscsi_rx *rx);
int snack_run(struct iscsi_conn *c, struct iscsi_rx *rx);

/* ExpStatSN of a PDU: what has been received. One beyond what was sent says nothing. */
static inline void conn_acknowledge(struct iscsi_conn *c, uint32_t exp_statsn)
{
	if (c->holds && (int32_t)(exp_statsn - c->statsn) > 0)
		return;
	c->exp_statsn = exp_statsn;
	if (c->holds)
		recovery_acknowledge(c);
}

#endif
