/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PDUs of the login phase: what the header must say, collecting, cutting and sending. Memory that
 * a peer makes us spend before it has logged in: this object and TEXT_IN_MAX + TEXT_OUT_MAX bytes.
 */
#include "transport/iscsi/login.h"

#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/base/text.h"
#include "transport/iscsi/login_private.h"
#include "transport/iscsi/pdu.h"
#include "transport/portal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct iscsi_login *login_begin(struct iscsi_conn *c)
{
	struct iscsi_login *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->conn = c;
	l->policy = c->ir->policy;
	policy_ref(l->policy);
	l->out.limit = TEXT_OUT_MAX;
	keys_begin(&l->keys, &l->policy->keys);
	l->keys.digests = c->dm->digests;
	l->keys.max_recv_data_segment_length = c->dm->max_recv_data_segment_length;
	l->keys.max_connections = c->dm->max_connections;
	l->keys.error_recovery_level = c->dm->error_recovery_level;
	c->login = l;
	return l;
}

void login_free(struct iscsi_login *l)
{
	if (!l)
		return;
	if (l->waiting)
		session_claim_cancel(&l->claim);
	text_in_free(&l->in);
	text_out_free(&l->out);
	policy_unref(l->policy);
	free(l);
}

/* The header of the first request: what it says holds for the whole phase. */
static uint16_t take_first_header(struct iscsi_login *l, const struct bhs_login_request *h)
{
	l->started = true;
	memcpy(l->isid, h->isid, sizeof(l->isid));
	l->version_max = h->version_max;
	l->version_min = h->version_min;
	l->tsih = get_be16(h->tsih);
	l->cid = get_be16(h->cid);
	l->itt = get_be32(h->itt);
	l->cmdsn = get_be32(h->cmdsn);
	l->conn->login_cmdsn = l->cmdsn;
	l->conn->cid = l->cid;
	l->conn->state = CONN_IN_LOGIN;
	l->keys.leading = l->tsih == 0;
	l->stage = ISCSI_LOGIN_CSG(h->flags);
	if (h->version_min > 0)
		return LOGIN_UNSUPPORTED_VERSION; /* ours is 0x00, 11.12.4 */
	return LOGIN_SUCCESS;
}

static bool same_header(const struct iscsi_login *l, const struct bhs_login_request *h)
{
	return !memcmp(l->isid, h->isid, sizeof(l->isid)) && l->tsih == get_be16(h->tsih) &&
	       l->cid == get_be16(h->cid) && l->itt == get_be32(h->itt) &&
	       l->version_max == h->version_max && l->version_min == h->version_min;
}

/* RFC 7143 6.3, 11.12: flags, stages, and what may not change. */
static uint16_t check_header(struct iscsi_login *l, const struct bhs_login_request *h)
{
	uint16_t status = LOGIN_SUCCESS;

	if (!l->started)
		status = take_first_header(l, h);
	else if (!same_header(l, h))
		status = LOGIN_INITIATOR_ERROR;
	if (status)
		return status;
	l->request_flags = h->flags;
	if (++l->pdus > LOGIN_PDUS_MAX)
		return LOGIN_OUT_OF_RESOURCES;
	if ((h->flags & ISCSI_FINAL) && (h->flags & ISCSI_CONTINUE))
		return LOGIN_INITIATOR_ERROR; /* 11.12.2 */
	if (ISCSI_LOGIN_CSG(h->flags) > STAGE_OPERATIONAL || ISCSI_LOGIN_CSG(h->flags) != l->stage)
		return LOGIN_INITIATOR_ERROR;
	return (uint16_t)login_check_transit(l, h->flags);
}

int login_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_login_request *h = (const void *)rx->bhs;
	struct iscsi_login *l = c->login;
	int r;

	rx->iovcnt = 0;
	if (l && (l->waiting || l->moving))
		return -EPROTO; /* nothing before the answer to the last request, 6.3 */
	if ((h->opcode & ISCSI_OPCODE_MASK) != ISCSI_OP_LOGIN_REQUEST) {
		log_peer(LOG_ISCSI, LOG_LEVEL_WARN,
			 "portal %s: opcode 0x%02x before the end of login; connection closed",
			 c->portal->text, h->opcode & ISCSI_OPCODE_MASK);
		if (!l || !l->started)
			return -EPROTO; /* closed without an answer, 4.2.4 */
		if (!l->refusal)
			l->refusal = LOGIN_INVALID_REQUEST;
		return 0;
	}
	if (rx->length > ISCSI_TEXT_DEFAULT)
		return -EPROTO; /* nothing else can have been declared yet, 6.3 */
	if (!l)
		l = login_begin(c);
	if (!l)
		return -ENOMEM;
	if (l->refused || l->refusal)
		return 0;
	l->refusal = check_header(l, h);
	if (l->refusal)
		return 0;
	r = text_in_reserve(&l->in, rx->length);
	if (r == -EMSGSIZE)
		l->refusal = LOGIN_OUT_OF_RESOURCES;
	if (r)
		return r == -EMSGSIZE ? 0 : r;
	rx->iov = &l->in.iov;
	rx->iovcnt = rx->length ? 1 : 0;
	rx->skip = 0;
	return 0;
}

static struct iscsi_pdu *response(struct iscsi_login *l, uint8_t flags,
				  enum iscsi_login_status status)
{
	struct iscsi_pdu *p = pdu_get(l->conn, ISCSI_OP_LOGIN_RESPONSE, l->itt);
	struct bhs_login_response *h;

	if (!p)
		return NULL;
	h = (void *)p->bhs;
	h->flags = flags;
	h->version_max = h->version_active = 0;
	memcpy(h->isid, l->isid, sizeof(h->isid));
	put_be16(h->tsih, l->tsih);
	h->status_class = (uint8_t)(status >> 8);
	h->status_detail = (uint8_t)status;
	p->takes_statsn = true;
	return p;
}

/* What is said and counted of each status. */
static const struct login_refusal {
	uint16_t status;
	enum stat_id stat;
	const char *text;
} refusal_rows[] = {
	{ LOGIN_TARGET_ERROR, STAT_LOGINS_0300, "target error" }, /* any other, too */
	{ LOGIN_MOVED_TEMPORARILY, STAT_LOGINS_0101, "sent to another address for now" },
	{ LOGIN_MOVED_PERMANENTLY, STAT_LOGINS_0102, "sent to another address for good" },
	{ LOGIN_INITIATOR_ERROR, STAT_LOGINS_0200, "protocol error of the initiator" },
	{ LOGIN_AUTHENTICATION_FAILURE, STAT_LOGINS_0201, "authentication failed" },
	{ LOGIN_AUTHORIZATION_FAILURE, STAT_LOGINS_0202, "no access rule admits it" },
	{ LOGIN_NOT_FOUND, STAT_LOGINS_0203, "no such target at this portal" },
	{ LOGIN_TARGET_REMOVED, STAT_LOGINS_0204, "the target has been removed" },
	{ LOGIN_UNSUPPORTED_VERSION, STAT_LOGINS_0205, "protocol version" },
	{ LOGIN_TOO_MANY_CONNECTIONS, STAT_LOGINS_0206, "too many connections of the session" },
	{ LOGIN_MISSING_PARAMETER, STAT_LOGINS_0207, "a name is missing" },
	{ LOGIN_CANNOT_INCLUDE, STAT_LOGINS_0208, "the session cannot include this connection" },
	{ LOGIN_SESSION_TYPE, STAT_LOGINS_0209, "session type" },
	{ LOGIN_NO_SESSION, STAT_LOGINS_020A, "no such session" },
	{ LOGIN_INVALID_REQUEST, STAT_LOGINS_020B, "not a login request" },
	{ LOGIN_UNAVAILABLE, STAT_LOGINS_0301, "target is offline" },
	{ LOGIN_OUT_OF_RESOURCES, STAT_LOGINS_0302, "out of resources" },
};

static const struct login_refusal *refusal_of(enum iscsi_login_status status)
{
	for (unsigned i = 0; i < sizeof(refusal_rows) / sizeof(refusal_rows[0]); i++)
		if (refusal_rows[i].status == status)
			return &refusal_rows[i];
	return &refusal_rows[0];
}

static void log_refusal(const struct iscsi_login *l, enum iscsi_login_status status)
{
	char name[96], target[96], peer[64], account[96] = "";

	portal_format(&l->conn->peer, peer, sizeof(peer));
	text_escape(l->initiator, strlen(l->initiator), name, sizeof(name));
	text_escape(l->target_name, strlen(l->target_name), target, sizeof(target));
	/* Only a name that we know: what stands in CHAP_N may be a secret in the wrong field. */
	if (l->chap.account)
		text_escape(l->chap.account->name, strlen(l->chap.account->name), account,
			    sizeof(account));
	log_peer(LOG_ISCSI, LOG_LEVEL_WARN,
		 "portal %s: login of \"%s\" from %s to \"%s\"%s%s refused: %s (%04x); "
		 "connection closed",
		 l->conn->portal->text, name, peer, l->discovery ? "discovery" : target,
		 account[0] ? " as " : "", account, l->why ? l->why : refusal_of(status)->text,
		 (unsigned)status);
}

/* A redirection names the place (11.13.5, 13.8: without the portal group tag). */
static int add_redirection(struct iscsi_login *l, struct iscsi_pdu *p)
{
	uint8_t *data;

	text_out_reset(&l->out);
	text_put(&l->out, "TargetAddress", l->target->redirect);
	data = l->out.error ? NULL : pdu_data(p, l->out.length);
	if (!data)
		return -ENOMEM;
	memcpy(data, l->out.bytes, l->out.length);
	return 0;
}

void login_refuse(struct iscsi_login *l, enum iscsi_login_status status)
{
	struct iscsi_pdu *p = response(l, 0, status);

	l->refused = true;
	log_refusal(l, status);
	stats_add(l->conn->ir->stats, STAT_LOGINS_REFUSED, 1);
	stats_add(l->conn->ir->stats, refusal_of(status)->stat, 1);
	if (status == LOGIN_AUTHENTICATION_FAILURE)
		stats_add(l->conn->ir->stats, STAT_AUTHENTICATION_FAILURES, 1);
	if (p && status >> 8 == 1 && add_redirection(l, p)) {
		pdu_put(p);
		p = NULL;
	}
	if (!p) {
		iscsi_conn_terminate(l->conn, false);
		return;
	}
	p->close_after = true;
	pdu_send(p);
}

/* Sends the next part of l->out; flags are those of a response that is not continued. */
static int send_part(struct iscsi_login *l, uint8_t flags)
{
	struct iscsi_pdu *p = response(l, flags, LOGIN_SUCCESS);
	struct bhs_login_response *h;
	uint32_t length;
	const char *part;
	uint8_t *data;

	if (!p)
		return -ENOBUFS;
	part = text_out_part(&l->out, ISCSI_TEXT_DEFAULT, &length, &l->answering);
	if (l->answering) {
		h = (void *)p->bhs;
		h->flags = (uint8_t)(ISCSI_CONTINUE | (l->stage << 2)); /* no T with C, 11.13.7 */
	}
	if (length) {
		data = pdu_data(p, length);
		if (!data) {
			pdu_put(p);
			return -ENOBUFS;
		}
		memcpy(data, part, length);
	}
	pdu_send(p);
	return 0;
}

/* T, CSG and NSG of the answer to this request. */
static uint8_t answer_flags(const struct iscsi_login *l)
{
	uint8_t csg = (uint8_t)(l->stage << 2);

	if (l->request_flags & ISCSI_FINAL)
		return (uint8_t)(ISCSI_FINAL | csg | ISCSI_LOGIN_NSG(l->request_flags));
	return csg;
}

/* All text has been taken and answered into l->out. */
static int respond(struct iscsi_login *l)
{
	uint8_t next = ISCSI_LOGIN_NSG(l->request_flags);
	bool last = l->out.length - l->out.sent <= ISCSI_TEXT_DEFAULT;
	enum iscsi_login_status status;
	bool transit;
	int r;

	/* Also when the text was long ago and this only fetches the rest of its answer. */
	if (!login_is_authenticated(l))
		l->request_flags &= (uint8_t)~ISCSI_FINAL;
	transit = l->request_flags & ISCSI_FINAL;
	if (transit && last && next == STAGE_FULL_FEATURE) {
		status = login_claim_session(l); /* may end in login_established: l is gone */
		if (status)
			login_refuse(l, status);
		return 0;
	}
	r = send_part(l, answer_flags(l));
	if (r || l->answering)
		return r;
	text_out_reset(&l->out);
	if (transit)
		l->stage = next;
	return 0;
}

static int answer_text(struct iscsi_login *l, enum iscsi_login_status status)
{
	text_in_reset(&l->in);
	if (status) {
		login_refuse(l, status);
		return 0;
	}
	return respond(l);
}

/* The session lives on another reactor: the login goes there and is judged anew, with nothing of
 * this text answered yet. */
static bool move_to_owner(struct iscsi_login *l)
{
	l->moving = l->owner && conn_move(l->conn, l->owner);
	l->owner = NULL;
	return l->moving;
}

void login_moved(struct iscsi_conn *c)
{
	struct iscsi_login *l = c->login;
	enum iscsi_login_status status;

	l->moving = false;
	policy_unref(l->policy);
	l->policy = c->ir->policy;
	policy_ref(l->policy);
	status = login_find_target(l); /* 020a, if the session has ended meanwhile */
	if (!status)
		status = login_offers(l);
	if (answer_text(l, status))
		iscsi_conn_terminate(c, false);
}

int login_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	struct iscsi_login *l = c->login;
	enum iscsi_login_status status;

	if (!l || l->refused)
		return 0;
	if (l->refusal) {
		login_refuse(l, l->refusal);
		return 0;
	}
	text_in_append(&l->in, rx->length);
	if (l->answering) {
		if (rx->length || (l->request_flags & ISCSI_CONTINUE)) {
			login_refuse(l, LOGIN_INITIATOR_ERROR);
			return 0;
		}
		text_in_reset(&l->in);
		return respond(l);
	}
	if (l->request_flags & ISCSI_CONTINUE)
		return send_part(l, (uint8_t)(l->stage << 2)); /* empty, 6.2 */
	status = login_text(l);
	return move_to_owner(l) ? 0 : answer_text(l, status);
}

static void log_success(const struct iscsi_login *l)
{
	const struct iscsi_conn *c = l->conn;
	char name[256], peer[64], account[256] = "";

	portal_format(&c->peer, peer, sizeof(peer));
	text_escape(l->initiator, strlen(l->initiator), name, sizeof(name));
	text_escape(l->account, strlen(l->account), account, sizeof(account));
	log_info(LOG_ISCSI, "%s: \"%s\"%s%s from %s logged in by portal %s, tsih %u, cid %u%s",
		 l->target ? l->target->name : "discovery", name, account[0] ? " as " : "", account,
		 peer, c->portal->text, c->session->tsih, c->cid,
		 c->session->reinstates ? ", session reinstated" : "");
}

/*
 * The session is ours. The final response still goes without digests and is cut to the default
 * data segment length; what is queued after dm->enable has them (13.1).
 */
void login_established(struct iscsi_login *l)
{
	struct iscsi_conn *c = l->conn;

	l->tsih = c->session->tsih;
	if (send_part(l, answer_flags(l)) || c->dm->enable(c)) {
		iscsi_conn_terminate(c, false);
		return; /* login_free comes with the connection's end */
	}
	log_success(l);
	stats_add(c->ir->stats, STAT_LOGINS, 1);
	c->login = NULL;
	login_free(l);
	iscsi_conn_enter_full_feature(c);
}
