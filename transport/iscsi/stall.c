/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers are given out in the order of asking, so a peer that does not send what it has been asked
 * for, or does not take what it has asked for, keeps its own from all others of the reactor. While
 * somebody waits for buffers, a connection that holds some and on which not a byte has moved for a
 * while is closed; its initiator may come back. One that is slow but moves is left alone, and so is
 * one that waits for its store.
 */
#include "daemon/base/log.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/recovery.h"

#define LOOK_MS   2000u
#define LOOKS_MAX 5u /* 10 s: hosts give a command 30 s, and a ping about as long as this */

/* Has it buffers that come back only when the peer does something? */
static bool waits_for_peer(const struct iscsi_task *t)
{
	if (!t->submitted || !t->scsi.buf.n || t->scsi.mapped)
		return false;
	return t->soliciting || t->sending || t->response || (t->collecting && !ffp_drained(t));
}

static bool holds_buffers(const struct iscsi_conn *c)
{
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos;

		list_for_each (pos, &c->session->tasks[i]) {
			const struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (t->conn == c && waits_for_peer(t))
				return true;
		}
	}
	return false;
}

static void look_at(struct iscsi_conn *c)
{
	struct conn_info info;
	char name[400];
	uint64_t moved;

	c->dm->describe(c, &info);
	moved = info.received_bytes + info.sent_bytes;
	if (moved != c->moved_bytes || !holds_buffers(c)) {
		c->moved_bytes = moved;
		c->stalled = 0;
		return;
	}
	if (++c->stalled < LOOKS_MAX)
		return;
	log_peer(LOG_ISCSI, LOG_LEVEL_WARN,
		 "%s: moves no data for %u s and holds buffers that others wait for; connection "
		 "closed",
		 conn_describe(c, name, sizeof(name)), LOOK_MS * LOOKS_MAX / 1000);
	iscsi_conn_terminate(c, false);
}

static void look(struct reactor_timer *timer)
{
	struct iscsi_reactor *ir = container_of(timer, struct iscsi_reactor, stall);
	const struct arena_waiter *first =
	    arena_first_waiter(reactor_slot(ir->reactor, REACTOR_ARENA));
	struct list *pos, *next;

	if (!first)
		return; /* stall_watch begins anew */
	if (first == ir->waits)
		recovery_give_up(ir);
	ir->waits = first;
	list_for_each_safe (pos, next, &ir->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, node);

		if (conn_is_full_feature(c))
			look_at(c);
	}
	reactor_timer_arm(ir->reactor, &ir->stall, LOOK_MS);
}

void stall_init(struct iscsi_reactor *ir)
{
	reactor_timer_init(&ir->stall, look);
}

void stall_watch(struct iscsi_reactor *ir)
{
	const struct arena *arena = reactor_slot(ir->reactor, REACTOR_ARENA);

	if (!arena || !arena_has_waiters(arena))
		return;
	recovery_spare(ir);
	if (!list_empty(&ir->stall.node))
		return;
	ir->waits = arena_first_waiter(arena);
	if (ir->waits)
		reactor_timer_arm(ir->reactor, &ir->stall, LOOK_MS);
}
