/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous messages (RFC 7143 11.9): how the target says that it will part, and what it has
 * ended.
 */
#include "daemon/base/bytes.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"

#include <string.h>

bool async_send(struct iscsi_conn *c, const struct async_event *e)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_ASYNC, ISCSI_TAG_RESERVED);
	struct bhs_async *h;

	if (!p)
		return false;
	h = (void *)p->bhs;
	h->event = e->event;
	if (e->lun)
		memcpy(h->lun, e->lun, sizeof(h->lun));
	p->tells = e->event == ASYNC_TASK_TERMINATION;
	put_be16(h->parameter1, e->parameter1);
	put_be16(h->parameter2, e->parameter2);
	put_be16(h->parameter3, e->parameter3);
	pdu_send(p);
	return true;
}

void async_request_logout(struct iscsi_session *s, unsigned seconds)
{
	struct async_event e = { .event = ASYNC_LOGOUT_REQUEST,
				 .parameter3 =
				     seconds < UINT16_MAX ? (uint16_t)seconds : UINT16_MAX };
	struct list *pos, *next;

	s->no_retention = true;
	list_for_each_safe (pos, next, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);

		if (c->state != CONN_LOGGED_IN)
			continue;
		if (async_send(c, &e))
			conn_set_logout_requested(c, seconds);
		else
			iscsi_conn_terminate(c, false);
	}
}

void async_announce_drop(struct iscsi_session *s)
{
	struct list *pos;

	list_for_each (pos, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);
		struct async_event e = { .event = ASYNC_SESSION_DROP,
					 .parameter2 = (uint16_t)c->keys.default_time2wait };

		/* Time2Retain 0: nothing of the session is kept. */
		if (conn_is_full_feature(c))
			async_send(c, &e);
	}
}

void async_tell_lost(struct iscsi_session *s, uint16_t cid)
{
	struct async_event e = { .event = ASYNC_CONNECTION_DROP,
				 .parameter1 = cid,
				 .parameter2 = (uint16_t)s->keys.default_time2wait,
				 .parameter3 = (uint16_t)s->keys.default_time2retain };
	struct iscsi_conn *c = session_any_conn(s);

	if (c) /* SHOULD, 7.1.4.3: at level 0 the initiator finds out by itself too */
		async_send(c, &e);
}

void async_drop_conn(struct iscsi_conn *c)
{
	struct async_event e = { .event = ASYNC_CONNECTION_DROP,
				 .parameter1 = c->cid,
				 .parameter2 = (uint16_t)c->keys.default_time2wait };

	async_send(c, &e);
	iscsi_conn_terminate(c, true);
}
