/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the administrator sees and can do: sessions of one reactor.
 */
#include "daemon/base/log.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/session.h"
#include "transport/portal.h"

#include <string.h>

static void fill_session(const struct iscsi_session *s, struct session_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->id = s->id;
	memcpy(ret->initiator, s->initiator, sizeof(ret->initiator));
	memcpy(ret->initiator_alias, s->initiator_alias, sizeof(ret->initiator_alias));
	memcpy(ret->target, s->target_name, sizeof(ret->target));
	memcpy(ret->isid, s->isid, sizeof(ret->isid));
	memcpy(ret->account, s->account, sizeof(ret->account));
	ret->tsih = s->tsih;
	ret->tpgt = s->tpgt;
	ret->discovery = s->discovery;
	ret->outstanding = s->n_tasks;
	ret->ahead = s->n_parked;
	ret->window = s->window;
	ret->reads = s->reads;
	ret->writes = s->writes;
	ret->read_bytes = s->read_bytes;
	ret->write_bytes = s->write_bytes;
	ret->age_s = (reactor_now_ms(s->ir->reactor) - s->created_ms) / 1000;
	ret->reactor = s->ir->index;
}

static void fill_conn(const struct iscsi_session *s, struct iscsi_conn *c, struct session_info *ret)
{
	fill_session(s, ret);
	ret->conn_id = c->id;
	ret->cid = c->cid;
	ret->logout_requested = c->state == CONN_LOGOUT_REQUESTED;
	ret->conn_outstanding = c->n_tasks;
	ret->unacknowledged = c->n_held;
	ret->keys = c->keys;
	c->dm->describe(c, &ret->conn);
}

/* Time2Wait and Time2Retain run. */
static void fill_waiting(const struct iscsi_session *s, struct session_info *ret)
{
	uint64_t now = reactor_now_ms(s->ir->reactor);

	fill_session(s, ret);
	ret->keys = s->keys;
	portal_format(&s->peer, ret->conn.peer, sizeof(ret->conn.peer));
	portal_format(&s->local, ret->conn.local, sizeof(ret->conn.local));
	ret->waits_s = s->timer.due_ms > now ? (s->timer.due_ms - now + 999) / 1000 : 0;
}

/* What is written, and what is only counted. */
struct listing {
	struct session_info *out;
	unsigned n, max;
};

static void list_one(const struct iscsi_session *s, struct listing *l)
{
	struct list *pos;

	if (!s->n_conns && s->nexus_live && !s->ending) {
		if (l->n++ < l->max)
			fill_waiting(s, &l->out[l->n - 1]);
		return;
	}
	list_for_each (pos, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);

		if (conn_is_full_feature(c) && l->n++ < l->max)
			fill_conn(s, c, &l->out[l->n - 1]);
	}
}

unsigned iscsi_reactor_sessions(struct reactor *r, uint64_t id, struct session_info *out,
				unsigned max)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct listing l = { .out = out, .max = max };
	struct list *pos;

	if (!ir)
		return 0;
	list_for_each (pos, &ir->sessions) {
		const struct iscsi_session *s = list_entry(pos, struct iscsi_session, node);

		if (id == SESSIONS_ALL || s->id == id)
			list_one(s, &l);
	}
	return l.n;
}

unsigned iscsi_reactor_sessions_max(const struct reactor *r)
{
	const struct iscsi_reactor *ir = iscsi_reactor_of(r);
	const struct list *pos;
	unsigned n = 0;

	if (!ir)
		return 0;
	list_for_each (pos, &ir->sessions)
		n++;
	return n + ir->n_conns;
}

bool iscsi_reactor_drop(struct reactor *r, uint64_t session_id, const char *why)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct list *pos, *next;

	if (!ir)
		return false;
	list_for_each_safe (pos, next, &ir->sessions) {
		struct iscsi_session *s = list_entry(pos, struct iscsi_session, node);

		if (s->id != session_id || s->ending)
			continue;
		session_drop(s, why);
		return true;
	}
	return false;
}

void iscsi_reactor_request_logout(struct reactor *r, unsigned seconds)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct list *pos, *next;

	if (!ir)
		return;
	ir->stopping = true;
	list_for_each_safe (pos, next, &ir->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, node);

		/* Discovery sessions are dropped (RFC 7143 7.4.3), logins not begun or not ended
		 * too. */
		if (!c->session || c->session->discovery || !conn_is_full_feature(c))
			iscsi_conn_terminate(c, true);
	}
	list_for_each_safe (pos, next, &ir->sessions) {
		struct iscsi_session *s = list_entry(pos, struct iscsi_session, node);

		if (s->ending || s->discovery)
			continue;
		if (s->n_conns)
			async_request_logout(s, seconds);
		else
			session_end(s, "the target stops");
	}
}
