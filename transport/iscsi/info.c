/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the administrator sees and can do: sessions of one reactor.
 */
#include "daemon/base/log.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/session.h"

#include <string.h>

static void fill(const struct iscsi_session *s, struct iscsi_conn *c, struct session_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->id = s->id;
	ret->conn_id = c->id;
	memcpy(ret->initiator, s->initiator, sizeof(ret->initiator));
	memcpy(ret->initiator_alias, s->initiator_alias, sizeof(ret->initiator_alias));
	memcpy(ret->target, s->target_name, sizeof(ret->target));
	memcpy(ret->isid, s->isid, sizeof(ret->isid));
	memcpy(ret->account, s->account, sizeof(ret->account));
	ret->tsih = s->tsih;
	ret->tpgt = s->tpgt;
	ret->cid = c->cid;
	ret->discovery = s->discovery;
	ret->keys = c->keys;
	c->dm->describe(c, &ret->conn);
	ret->outstanding = s->n_tasks;
	ret->age_s = (reactor_now_ms(c->reactor) - s->created_ms) / 1000;
	ret->reactor = s->ir->index;
}

unsigned iscsi_reactor_sessions(struct reactor *r, struct session_info *out, unsigned max)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct list *pos;
	unsigned n = 0;

	if (!ir)
		return 0;
	list_for_each (pos, &ir->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, node);

		if (n < max && c->session && conn_is_full_feature(c))
			fill(c->session, c, &out[n++]);
	}
	return n;
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
