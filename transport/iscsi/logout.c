/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logout (RFC 7143 11.14, 11.15): what is to be closed has no task left when the response goes out,
 * and nothing goes out behind it.
 */
#include "daemon/base/bytes.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"

#include <errno.h>

#define REASON_MASK 0x7f

uint8_t ffp_logout_check(struct iscsi_conn *c, const struct iscsi_rx *rx)
{
	const struct bhs_logout_request *h = (const void *)rx->bhs;

	if ((h->reason & REASON_MASK) > LOGOUT_RECOVERY)
		return REJECT_PROTOCOL_ERROR;
	if (session_find_task(c->session, get_be32(h->itt)))
		return REJECT_TASK_IN_PROGRESS;
	return REJECT_NONE;
}

/* Another connection of the session: gone with its tasks before the response. */
static void close_other(struct iscsi_session *s, struct iscsi_conn *other)
{
	ffp_drop_parked(s, other);
	ffp_abort_all(s, other);
	ffp_tmf_forget(s, other);
	conn_set_cleanup(other);
	iscsi_conn_terminate(other, true);
}

static void close_session(struct iscsi_conn *c)
{
	struct iscsi_session *s = c->session;
	struct list *pos, *next;

	s->no_retention = true;
	list_for_each_safe (pos, next, &s->conns) {
		struct iscsi_conn *other = list_entry(pos, struct iscsi_conn, session_node);

		if (other != c)
			close_other(s, other);
	}
}

static int respond(struct iscsi_conn *c, const struct bhs_logout_request *q, uint8_t response,
		   bool closes)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_LOGOUT_RESPONSE, get_be32(q->itt));
	struct bhs_logout_response *h;

	if (!p)
		return -ENOBUFS;
	h = (void *)p->bhs;
	h->response = response;
	put_be16(h->time2wait, (uint16_t)c->keys.default_time2wait);
	put_be16(h->time2retain, (uint16_t)c->keys.default_time2retain);
	p->close_after = closes;
	if (!(q->opcode & ISCSI_IMMEDIATE))
		session_free_slot(c->session);
	if (closes) {
		/* Nothing of this connection goes on, and what is queued goes before. */
		ffp_drop_parked(c->session, c);
		ffp_abort_all(c->session, c);
		ffp_tmf_forget(c->session, c);
		conn_set_logout(c);
		/* The initiator may be back before its FIN has been seen here. */
		if (c->session->no_retention)
			session_logged_out(c->session);
	}
	pdu_send(p);
	return 0;
}

int ffp_logout_run(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_logout_request *h = (const void *)rx->bhs;
	uint8_t reason = h->reason & REASON_MASK;
	struct iscsi_session *s = c->session;
	struct iscsi_conn *named;

	if (reason == LOGOUT_CLOSE_SESSION) {
		close_session(c);
		return respond(c, h, LOGOUT_RSP_SUCCESS, true);
	}
	named = session_find_conn(s, get_be16(h->cid));
	if (!named)
		return respond(c, h, LOGOUT_RSP_NO_CID, false);
	if (reason == LOGOUT_RECOVERY) { /* level 0: no, and its tasks are gone (7.1.5) */
		if (named != c)
			close_other(s, named);
		return respond(c, h, LOGOUT_RSP_NO_RECOVERY, named == c);
	}
	if (s->n_conns == 1)
		s->no_retention = true;
	if (named != c)
		close_other(s, named);
	return respond(c, h, LOGOUT_RSP_SUCCESS, named == c);
}
