/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The login phase of one connection: collects text over several PDUs, walks the stages, finds
 * target and access, negotiates keys, claims the session and enters full-feature phase. And the
 * text requests of full-feature phase (SendTargets, declarations).
 *
 * Threads: the connection's reactor. Ownership: conn->login, made at the first Login Request,
 * freed on entering full-feature phase or with the connection.
 */
#ifndef HAWSER_ISCSI_LOGIN_H
#define HAWSER_ISCSI_LOGIN_H

#include "transport/datamover.h"
#include "transport/iscsi/conn.h"

/* A Login Request whose header has arrived: checks it and says where its text goes. */
int login_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx);
/* Its text is there: answers. */
int login_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx);
/* The connection has come to the reactor of the session that it named: answers that request. */
void login_moved(struct iscsi_conn *c);
/* Frees; NULL allowed. Also cancels a claim. */
void login_free(struct iscsi_login *l);

/* Text Request in full-feature phase, admitted by CmdSN already. */
int text_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx);
int text_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx);
void text_free(struct iscsi_conn *c);

/* Of the whole process: what a login is told that finds nothing. Set by the control reactor. */
enum iscsi_condition {
	ISCSI_SERVING,   /* 0203, as it is */
	ISCSI_RELOADING, /* 0301: what is not there may be about to come */
	ISCSI_STARTING,  /* 0301 to everybody: nothing is there yet */
};
void iscsi_set_condition(enum iscsi_condition condition);

#endif
