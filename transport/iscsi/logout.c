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
static void close_other(struct iscsi_conn *other)
{
	session_stop_conn(other);
	conn_set_cleanup(other);
	iscsi_conn_terminate(other, true);
}

void logout_close_others(struct iscsi_conn *c)
{
	struct list *pos, *next;

	c->session->no_retention = true;
	list_for_each_safe (pos, next, &c->session->conns) {
		struct iscsi_conn *other = list_entry(pos, struct iscsi_conn, session_node);

		if (other != c)
			close_other(other);
	}
}

static struct iscsi_pdu *make_response(struct iscsi_conn *c, const struct bhs_logout_request *q,
				       uint8_t response)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_LOGOUT_RESPONSE, get_be32(q->itt));
	struct bhs_logout_response *h;

	if (!p)
		return NULL;
	h = (void *)p->bhs;
	h->response = response;
	put_be16(h->time2wait, (uint16_t)c->keys.default_time2wait);
	put_be16(h->time2retain, (uint16_t)c->keys.default_time2retain);
	if (!(q->opcode & ISCSI_IMMEDIATE))
		session_free_slot(c->session);
	return p;
}

static int respond(struct iscsi_conn *c, const struct bhs_logout_request *q, uint8_t response)
{
	struct iscsi_pdu *p = make_response(c, q, response);

	if (!p)
		return -ENOBUFS;
	pdu_send(p);
	return 0;
}

/* The response, and nothing of this connection behind it. */
static int respond_and_close(struct iscsi_conn *c, const struct bhs_logout_request *q,
			     uint8_t response)
{
	struct iscsi_session *s = c->session;
	struct iscsi_pdu *p = make_response(c, q, response);

	if (!p)
		return -ENOBUFS;
	p->close_after = true;
	session_stop_conn(c);
	conn_set_logout(c);
	/* The initiator may be back before its FIN has been seen here. */
	if (s->no_retention && !session_live_conns(s))
		session_logged_out(s);
	pdu_send(p);
	return 0;
}

int ffp_logout_run(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_logout_request *h = (const void *)rx->bhs;
	uint8_t reason = h->reason & REASON_MASK, response = LOGOUT_RSP_SUCCESS;
	uint16_t cid = get_be16(h->cid);
	struct iscsi_session *s = c->session;
	struct iscsi_conn *named;

	if (reason == LOGOUT_CLOSE_SESSION) {
		logout_close_others(c);
		return respond_and_close(c, h, response);
	}
	if (reason == LOGOUT_RECOVERY) /* level 0: no, and its tasks are gone (7.1.5) */
		response = LOGOUT_RSP_NO_RECOVERY;
	named = session_find_conn(s, cid);
	if (!named)
		return respond(c, h, session_forget_lost(s, cid) ? response : LOGOUT_RSP_NO_CID);
	if (named == c) {
		if (reason == LOGOUT_CLOSE_CONNECTION && session_live_conns(s) == 1)
			s->no_retention = true;
		return respond_and_close(c, h, response);
	}
	close_other(named);
	ffp_run_parked(s); /* the number of what it had not sent whole may have been counted */
	return respond(c, h, response);
}
