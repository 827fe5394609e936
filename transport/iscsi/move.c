/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection goes to another reactor: that of the session which its login has named. The request
 * that named it is not answered yet and the initiator waits, so there is nothing under way: no PDU,
 * no task, no session. What goes along (the object, its login, the transport's bytes) is on the
 * heap; pools and lists of the old reactor have none of it.
 *
 * Threads: the old reactor until iscsi_conn_leave, the new one from iscsi_conn_arrive on; the
 * message between them orders the two. In between the connection counts for the process, but for no
 * reactor.
 */
#include "daemon/base/log.h"
#include "transport/iscsi/conn.h"
#include "transport/iscsi/login.h"

bool conn_move(struct iscsi_conn *c, struct reactor *to)
{
	if (!c->dm->move || c->terminating || c->down)
		return false;
	c->dm->move(c, to);
	return true;
}

void iscsi_conn_leave(struct iscsi_conn *c, struct reactor *to)
{
	log_debug(LOG_ISCSI, "connection %llu goes from I/O thread %u to %u, where its session is",
		  (unsigned long long)c->id, c->ir->index, reactor_index(to));
	reactor_timer_disarm(&c->timer);
	list_del(&c->node);
	c->ir->n_conns--;
	c->ir->n_unauthenticated--;
	c->ir = NULL;
	c->reactor = to;
}

/* The time limit of its login goes on. */
static void settle(struct iscsi_conn *c, struct iscsi_reactor *ir)
{
	uint64_t now = reactor_now_ms(c->reactor);

	c->ir = ir;
	list_add_tail(&ir->conns, &c->node);
	ir->n_conns++;
	ir->n_unauthenticated++;
	c->last_rx_ms = now;
	reactor_timer_arm(c->reactor, &c->timer, c->deadline_ms > now ? c->deadline_ms - now : 0);
}

void iscsi_conn_arrive(struct iscsi_conn *c)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(c->reactor);

	if (ir)
		settle(c, ir);
	if (!ir || ir->stopping)
		iscsi_conn_terminate(c, false);
	else
		login_moved(c);
}
