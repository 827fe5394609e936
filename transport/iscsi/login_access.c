/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who logs in, to what, and whether that may be; and the session that comes of it.
 */
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/base/text.h"
#include "transport/iscsi/login_private.h"
#include "transport/portal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic int condition; /* enum iscsi_condition */

void iscsi_set_condition(enum iscsi_condition to)
{
	atomic_store(&condition, (int)to);
}

/* A name in its normal form; the same again is let through (FreeNAS' initiators repeat it). */
static enum iscsi_login_status declare_name(struct iscsi_login *l, char *name, const char *value)
{
	char lower[ISCSI_NAME_MAX + 1] = "";

	if (iscsi_name_check(value, lower))
		return LOGIN_INITIATOR_ERROR;
	if ((name[0] || l->names_known) && strcmp(name, lower) != 0)
		return LOGIN_INITIATOR_ERROR;
	memcpy(name, lower, sizeof(lower));
	return LOGIN_SUCCESS;
}

static enum iscsi_login_status declare_session_type(struct iscsi_login *l, const char *value)
{
	bool discovery = !strcmp(value, "Discovery");

	if (!discovery && strcmp(value, "Normal") != 0)
		return LOGIN_SESSION_TYPE;
	if ((l->session_type_known || l->names_known) && discovery != l->discovery)
		return LOGIN_INITIATOR_ERROR;
	l->session_type_known = true;
	l->discovery = discovery;
	return LOGIN_SUCCESS;
}

static void log_architecture(const struct iscsi_login *l, const char *value)
{
	char text[128];

	text_escape(value, strlen(value), text, sizeof(text));
	log_debug(LOG_ISCSI, "portal %s: initiator says it is %s", l->conn->portal->text, text);
}

enum iscsi_login_status login_declare(struct iscsi_login *l, enum key_id id, const char *value)
{
	switch (id) {
	case KEY_INITIATOR_NAME:
		return declare_name(l, l->initiator, value);
	case KEY_TARGET_NAME:
		return declare_name(l, l->target_name, value);
	case KEY_SESSION_TYPE:
		return declare_session_type(l, value);
	case KEY_INITIATOR_ALIAS:
		return text_copy(l->initiator_alias, sizeof(l->initiator_alias), value)
			   ? LOGIN_INITIATOR_ERROR
			   : LOGIN_SUCCESS;
	case KEY_NODE_ARCHITECTURE:
		log_architecture(l, value);
		return LOGIN_SUCCESS;
	case KEY_TAGGED_BUFFER_FOR_SOLICITED_DATA_ONLY:
	case KEY_ISER_HELLO_REQUIRED:
		return strcmp(value, "Yes") != 0 && strcmp(value, "No") != 0 ? LOGIN_INITIATOR_ERROR
									     : LOGIN_SUCCESS;
	case KEY_AUTH_METHOD:
		l->methods = value; /* these wait for the names: login_auth.c */
		return LOGIN_SUCCESS;
	case KEY_CHAP_A:
		l->chap_keys.a = value;
		return LOGIN_SUCCESS;
	case KEY_CHAP_I:
		l->chap_keys.i = value;
		return LOGIN_SUCCESS;
	case KEY_CHAP_C:
		l->chap_keys.c = value;
		return LOGIN_SUCCESS;
	case KEY_CHAP_N:
		l->chap_keys.n = value;
		return LOGIN_SUCCESS;
	case KEY_CHAP_R:
		l->chap_keys.r = value;
		return LOGIN_SUCCESS;
	default:
		return LOGIN_SUCCESS;
	}
}

static enum iscsi_login_status check_target(struct iscsi_login *l)
{
	const struct iscsi_target *t = policy_find(l->policy, l->target_name);

	if (!t && atomic_load(&condition) != ISCSI_SERVING) {
		l->why = "no such target yet, the configuration is being read";
		return LOGIN_UNAVAILABLE;
	}
	if (!t || !policy_in_group(t, l->conn->portal->tpgt))
		return LOGIN_NOT_FOUND;
	if (!policy_admit(t, l->initiator, &l->conn->peer))
		return LOGIN_AUTHORIZATION_FAILURE;
	l->target = t;
	l->keys.limits = &t->keys;
	if (t->removed)
		return LOGIN_TARGET_REMOVED;
	if (policy_redirects(t, l->conn->portal->tpgt))
		return t->redirect_permanent ? LOGIN_MOVED_PERMANENTLY : LOGIN_MOVED_TEMPORARILY;
	if (!t->online)
		return LOGIN_UNAVAILABLE;
	return LOGIN_SUCCESS;
}

/* The session that a login with TSIH wants to join. */
static enum iscsi_login_status find_session(struct iscsi_login *l, struct iscsi_session **ret)
{
	struct iscsi_session_key key = {
		.initiator = l->initiator,
		.target = l->target_name,
		.tpgt = l->conn->portal->tpgt,
	};
	struct iscsi_session *s;
	struct list *pos;
	int r;

	memcpy(key.isid, l->isid, sizeof(key.isid));
	r = session_find(l->conn->ir, &key, l->tsih, &s, &l->owner);
	if (r) /* login.c moves to the owner, if that can be */
		return r == -EXDEV ? LOGIN_CANNOT_INCLUDE : LOGIN_NO_SESSION;
	if (s->discovery != l->discovery)
		return LOGIN_SESSION_TYPE;
	if (s->tpgt != l->conn->portal->tpgt)
		return LOGIN_CANNOT_INCLUDE;
	list_for_each (pos, &s->conns) {
		/* One kind of transport for all connections (RFC 7145 5.1). */
		const struct iscsi_conn *other = list_entry(pos, struct iscsi_conn, session_node);

		if (other->dm != l->conn->dm)
			return LOGIN_CANNOT_INCLUDE;
	}
	*ret = s;
	return LOGIN_SUCCESS;
}

/* What the leading connection has negotiated for the session holds for this one. */
static void inherit_keys(struct iscsi_login *l, struct iscsi_session *s)
{
	struct iscsi_keys *k = &l->keys.keys;
	const struct iscsi_keys own = *k;

	*k = s->keys; /* also when no connection is left (session continuation, 6.3.6) */
	k->header_digest = own.header_digest;
	k->data_digest = own.data_digest;
	k->max_recv_data_segment_length = own.max_recv_data_segment_length;
	k->max_send_data_segment_length = own.max_send_data_segment_length;
}

enum iscsi_login_status login_find_target(struct iscsi_login *l)
{
	enum iscsi_login_status status;
	struct iscsi_session *s;

	if (!l->initiator[0] || (!l->discovery && !l->target_name[0]))
		return LOGIN_MISSING_PARAMETER; /* 6.3 */
	if (atomic_load(&condition) == ISCSI_STARTING) {
		/* An empty list of targets, or "not found", would be taken for final. */
		l->why = "still starting";
		return LOGIN_UNAVAILABLE;
	}
	l->target = NULL;
	l->rule = NULL;
	l->keys.limits = &l->policy->keys;
	l->keys.discovery = l->discovery;
	if (l->discovery && !login_may_discover(l))
		return LOGIN_AUTHORIZATION_FAILURE;
	if (l->target_name[0]) {
		status = check_target(l);
		if (status)
			return status;
	}
	if (!l->tsih)
		return LOGIN_SUCCESS;
	status = find_session(l, &s);
	if (!status)
		inherit_keys(l, s);
	return status;
}

static void claimed(struct session_claim *claim)
{
	struct iscsi_login *l = container_of(claim, struct iscsi_login, claim);

	l->waiting = false;
	if (claim->result)
		login_refuse(l, LOGIN_OUT_OF_RESOURCES);
	else
		login_established(l);
}

static enum iscsi_login_status new_session(struct iscsi_login *l)
{
	struct iscsi_conn *c = l->conn;
	struct iscsi_session *s = session_create(c, l->discovery ? NULL : l->target);

	if (!s)
		return LOGIN_OUT_OF_RESOURCES;
	memcpy(s->initiator, l->initiator, sizeof(s->initiator));
	memcpy(s->initiator_alias, l->initiator_alias, sizeof(s->initiator_alias));
	memcpy(s->target_name, l->target_name, sizeof(s->target_name));
	memcpy(s->account, l->account, sizeof(s->account));
	memcpy(s->isid, l->isid, sizeof(s->isid));
	s->tpgt = c->portal->tpgt;
	s->rule = l->discovery ? NULL : l->rule;
	s->discovery = l->discovery;
	s->keys = c->keys;
	s->exp_cmdsn = l->cmdsn; /* 11.12.8 */
	s->max_cmdsn = l->cmdsn + s->window - 1;
	l->claim.session = s;
	l->claim.ready = claimed;
	l->waiting = true;
	if (session_claim(&l->claim)) {
		l->waiting = false;
		l->why = l->claim.limit;
		stats_add(c->ir->stats, STAT_SESSIONS_LIMITED, !!l->why);
		return LOGIN_OUT_OF_RESOURCES;
	}
	return LOGIN_SUCCESS; /* l may be gone */
}

static enum iscsi_login_status join_session(struct iscsi_login *l)
{
	struct iscsi_session *s;
	enum iscsi_login_status status = find_session(l, &s);

	if (!status)
		status = login_same_identity(l, s);
	if (status)
		return status;
	if (session_join(s, l->conn)) {
		l->why = "its session has MaxConnections connections";
		stats_add(l->conn->ir->stats, STAT_SESSIONS_LIMITED, 1);
		return LOGIN_TOO_MANY_CONNECTIONS;
	}
	login_established(l);
	return LOGIN_SUCCESS;
}

enum iscsi_login_status login_claim_session(struct iscsi_login *l)
{
	struct iscsi_conn *c = l->conn;
	enum iscsi_login_status status;

	if (!keys_acceptable(&l->keys))
		return LOGIN_INITIATOR_ERROR; /* a digest that is required was not offered */
	if (l->policy != c->ir->policy) {
		/* Published while the login went on: targets and rules of the old one may be gone.
		 */
		policy_unref(l->policy);
		l->policy = c->ir->policy;
		policy_ref(l->policy);
		l->chap.account = NULL;
		status = login_find_target(l);
		if (status)
			return status;
	}
	status = login_confirm(l);
	if (status)
		return status;
	c->keys = l->keys.keys;
	return l->tsih ? join_session(l) : new_session(l);
}
