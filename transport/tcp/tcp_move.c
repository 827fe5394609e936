/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Giving a connection to another reactor, during login. The initiator waits for our answer, so
 * nothing is to be sent, and of the next PDU no more than a part of its header can have been read:
 * that is in tcp_conn and goes along. The reactor's receive buffer and batches hold nothing of it.
 */
#include "transport/portal.h"
#include "transport/tcp/private.h"

#include <errno.h>
#include <sys/epoll.h>

static void arrive(struct reactor_msg *msg)
{
	struct tcp_conn *c = container_of(msg, struct tcp_conn, move_msg);
	struct reactor *r = c->conn->reactor;
	int err = -ESHUTDOWN;

	c->tr = reactor_slot(r, REACTOR_TCP);
	if (c->tr)
		err = reactor_fd_add(r, &c->rfd, EPOLLIN);
	if (err)
		tcp_fail(c, err);
	else
		iscsi_conn_arrive(c->conn);
}

/* At the end of the turn, when all that was queued before has been sent. */
static void leave(struct reactor_job *job)
{
	struct tcp_conn *c = container_of(job, struct tcp_conn, move_job);
	struct reactor *from = c->conn->reactor;

	if (c->down || c->draining)
		return;        /* it ends here */
	if (!tcp_tx_idle(c)) { /* it asked again without having had the last answer, 6.3 */
		tcp_fail(c, -EPROTO);
		return;
	}
	reactor_job_cancel(&c->send_job);
	reactor_fd_del(from, &c->rfd);
	portal_move(from, c->move_to);
	c->tr = NULL;
	iscsi_conn_leave(c->conn, c->move_to);
	reactor_send(c->move_to, &c->move_msg);
}

void tcp_move(struct iscsi_conn *conn, struct reactor *to)
{
	struct tcp_conn *c = tcp_conn_of(conn);

	if (c->down || c->draining)
		return;
	c->move_to = to;
	c->move_msg.run = arrive;
	reactor_job_init(&c->move_job, leave);
	reactor_defer(conn->reactor, REACTOR_STAGE_REAP, &c->move_job);
}
