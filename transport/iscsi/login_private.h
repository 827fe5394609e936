/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The login phase between its files: login.c (PDUs in and out), login_stage.c (text, stages),
 * login_access.c (names, target, session), login_auth.c (CHAP, rule).
 *
 * Threads: the connection's reactor. Ownership: see login.h.
 */
#ifndef HAWSER_ISCSI_LOGIN_PRIVATE_H
#define HAWSER_ISCSI_LOGIN_PRIVATE_H

#include "transport/iscsi/keys.h"
#include "transport/iscsi/login.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/session.h"
#include "transport/iscsi/text.h"
#include "transport/iscsi/wire.h"

#define LOGIN_PDUS_MAX 64 /* requests of one login phase */

enum login_auth {
	LOGIN_AUTH_OPEN, /* AuthMethod has not been offered */
	LOGIN_AUTH_NONE,
	LOGIN_AUTH_CHAP, /* on its way */
	LOGIN_AUTH_PROVEN,
};

struct iscsi_login {
	struct iscsi_conn *conn;
	const struct iscsi_policy *policy; /* counted */
	const struct iscsi_target *target; /* of policy; NULL: discovery, or not known yet */
	const struct iscsi_rule *rule;
	struct reactor *owner; /* of the session named by TSIH, when it is another's */

	/* The first request says for all (RFC 7143 11.12) */
	uint8_t isid[6], version_max, version_min;
	uint16_t tsih, cid;
	uint32_t itt, cmdsn;

	unsigned pdus;
	uint8_t request_flags; /* of the request being answered */
	uint8_t stage;         /* enum iscsi_stage */
	bool started;          /* a request has been accepted by its header */
	bool names_known;      /* the first complete text has been looked at */
	bool tag_told;         /* TargetPortalGroupTag is in a response */
	bool answering;        /* a response with the C bit waits for an empty request */
	bool waiting;          /* for the claim */
	bool moving;           /* to the reactor of the session named by TSIH */
	bool refused;          /* the last response is out */
	bool discovery, session_type_known;
	uint16_t refusal; /* enum iscsi_login_status found in the header */
	const char *why;  /* of the refusal, for the log; NULL: the status says it */

	enum login_auth auth;
	struct chap chap;
	char account[256]; /* PROVEN: who */
	/* Of the text being looked at, borrowed from it; NULL: not there. */
	const char *methods;
	struct chap_keys chap_keys;

	char initiator[ISCSI_NAME_MAX + 1];
	char initiator_alias[256];
	char target_name[ISCSI_NAME_MAX + 1];

	struct key_negotiation keys;
	struct text_in in;
	struct text_out out;
	struct session_claim claim;
};

/* Every step below returns LOGIN_SUCCESS or the status that ends the login; login.c answers. */

/* login_stage.c: a complete text is in l->in; its answers go to l->out. */
enum iscsi_login_status login_text(struct iscsi_login *l);
/* Its second half, once the target and the session are known. */
enum iscsi_login_status login_offers(struct iscsi_login *l);
/* The request asks to leave the stage: may it? */
enum iscsi_login_status login_check_transit(const struct iscsi_login *l, uint8_t flags);

/* login_access.c */
enum iscsi_login_status login_declare(struct iscsi_login *l, enum key_id id, const char *value);
/* Names are in: target, rule, the session named by TSIH. */
enum iscsi_login_status login_find_target(struct iscsi_login *l);
/* Negotiation is over: makes or joins the session. LOGIN_SUCCESS: login_established was called, or
 * will be when the session that had our name has let go. */
enum iscsi_login_status login_claim_session(struct iscsi_login *l);

/* login_auth.c: the text's AuthMethod or CHAP keys; answers to l->out. */
enum iscsi_login_status login_authenticate(struct iscsi_login *l);
/* Nothing more is needed to be admitted; sets l->rule. Asked again wherever a stage is left. */
bool login_is_authenticated(struct iscsi_login *l);
/* The same at the very end, when the policy may be another one. */
enum iscsi_login_status login_confirm(struct iscsi_login *l);
/* A discovery session: is there a rule for it, whatever must be proved? */
bool login_may_discover(const struct iscsi_login *l);
/* All connections of a session prove the same (9.2). */
enum iscsi_login_status login_same_identity(struct iscsi_login *l, const struct iscsi_session *s);

/* login.c */
void login_established(struct iscsi_login *l);
void login_refuse(struct iscsi_login *l, enum iscsi_login_status status);

#endif
