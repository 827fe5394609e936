/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The datamover over TCP: Put_Data becomes Data-In PDUs, Get_Data becomes R2Ts and the Data-Out
 * PDUs that answer them.
 *
 * Threads: listening on the control reactor, connections each on their own reactor.
 */
#ifndef HAWSER_TCP_TCP_H
#define HAWSER_TCP_TCP_H

#include "transport/datamover.h"

extern const struct datamover_ops tcp_datamover;

/* On each I/O reactor's thread, before its first connection and after its last. */
int tcp_reactor_start(struct reactor *r);
void tcp_reactor_stop(struct reactor *r);

#endif
