/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who the initiator has proved to be: AuthMethod, the steps of CHAP, and the rule that admits it
 * then. Rules of the target, or those of discovery sessions; the two have nothing in common.
 */
#include "daemon/base/text.h"
#include "transport/iscsi/login_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static enum iscsi_login_status deny(struct iscsi_login *l, enum iscsi_login_status status,
				    const char *why)
{
	l->why = why;
	return status;
}

static struct iscsi_rules rules_of(const struct iscsi_login *l)
{
	return l->discovery ? policy_discovery_rules(l->policy) : policy_target_rules(l->target);
}

static struct iscsi_applicant applicant(const struct iscsi_login *l)
{
	return (struct iscsi_applicant){ l->initiator, &l->conn->peer };
}

/* Does a rule hold for one who has proved this, or (NULL) nothing? */
static bool is_admitted(struct iscsi_login *l, const char *account)
{
	struct iscsi_applicant who = applicant(l);

	if (l->discovery && !l->policy->n_discovery)
		return true;
	l->rule = policy_rule(rules_of(l), &who, account);
	return l->rule;
}

bool login_may_discover(const struct iscsi_login *l)
{
	struct iscsi_applicant who = applicant(l);

	return !l->policy->n_discovery ||
	       policy_candidate(policy_discovery_rules(l->policy), &who, NULL);
}

bool login_is_authenticated(struct iscsi_login *l)
{
	switch (l->auth) {
	case LOGIN_AUTH_OPEN:
	case LOGIN_AUTH_NONE:
		return is_admitted(l, NULL);
	case LOGIN_AUTH_CHAP:
		break;
	case LOGIN_AUTH_PROVEN:
		return is_admitted(l, l->account);
	}
	return false;
}

/* The accounts that would do for this login; *list is freed by the caller. False: no memory. */
static bool find_accounts(const struct iscsi_login *l, const struct chap_account ***list,
			  unsigned *ret_n)
{
	struct iscsi_applicant who = applicant(l);
	struct iscsi_rules rules = rules_of(l);
	const struct iscsi_rule *r = NULL;
	unsigned n = 0;

	*list = calloc(rules.n ? rules.n : 1, sizeof(const struct chap_account *));
	if (!*list)
		return false;
	while ((r = policy_candidate(rules, &who, r))) {
		const struct chap_account *a =
		    r->account ? policy_account(l->policy, r->account) : NULL;

		if (a)
			(*list)[n++] = a;
	}
	*ret_n = n;
	return true;
}

/* The first method of the initiator's list that both sides can (12.1). */
static enum iscsi_login_status choose_method(struct iscsi_login *l)
{
	const struct chap_account **list;
	const char *methods = l->methods;
	char item[TEXT_VALUE_MAX + 1];
	bool none = is_admitted(l, NULL), chap = false;
	unsigned n;

	if (!find_accounts(l, &list, &n))
		return LOGIN_OUT_OF_RESOURCES;
	free(list);
	while (text_list_next(&methods, item)) {
		chap |= !strcmp(item, "CHAP");
		if (none && !strcmp(item, "None"))
			l->auth = LOGIN_AUTH_NONE;
		else if (n && !strcmp(item, "CHAP"))
			l->auth = LOGIN_AUTH_CHAP;
		else
			continue;
		l->chap.state = l->auth == LOGIN_AUTH_CHAP ? CHAP_WANTS_ALGORITHM : CHAP_OFF;
		text_put(&l->out, key_table[KEY_AUTH_METHOD].name, item);
		return LOGIN_SUCCESS;
	}
	if (n && !chap)
		return deny(l, LOGIN_AUTHENTICATION_FAILURE,
			    "CHAP is required and was not offered");
	return deny(l, LOGIN_AUTHENTICATION_FAILURE,
		    n ? "no method that is allowed was offered"
		      : "it wants CHAP, and no access rule for it names an account");
}

static enum iscsi_login_status finish_step(struct iscsi_login *l, enum chap_result result)
{
	switch (result) {
	case CHAP_CONTINUE:
		return LOGIN_SUCCESS;
	case CHAP_PROVEN:
		l->auth = LOGIN_AUTH_PROVEN;
		return text_copy(l->account, sizeof(l->account), l->chap.account->name)
			   ? LOGIN_TARGET_ERROR
			   : LOGIN_SUCCESS;
	case CHAP_DENIED:
		return deny(l, LOGIN_AUTHENTICATION_FAILURE, l->chap.why);
	case CHAP_MISSING:
		return deny(l, LOGIN_MISSING_PARAMETER, l->chap.why);
	case CHAP_INVALID:
		break;
	}
	return deny(l, LOGIN_INITIATOR_ERROR, l->chap.why);
}

/* The key of the process: made once, read by all reactors, and worth nothing to anybody else. */
static uint8_t process_key[CHAP_KEY];
static bool process_key_made;

static void make_key(void)
{
	process_key_made =
	    getrandom(process_key, sizeof(process_key), 0) == (ssize_t)sizeof(process_key);
}

static bool fill_random(struct chap_random *r)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_key);
	memcpy(r->key, process_key, sizeof(r->key));
	return process_key_made &&
	       getrandom(r->fresh, sizeof(r->fresh), 0) == (ssize_t)sizeof(r->fresh);
}

static enum iscsi_login_status step(struct iscsi_login *l)
{
	struct chap_accounts accounts;
	const struct chap_account **list;
	struct chap_random random;
	enum chap_result result;

	if (!fill_random(&random))
		return deny(l, LOGIN_TARGET_ERROR, "no random numbers for a challenge");
	if (!find_accounts(l, &list, &accounts.n))
		return LOGIN_OUT_OF_RESOURCES;
	accounts.list = list;
	result = chap_step(&l->chap, &l->chap_keys, &accounts, &random, &l->out);
	free(list);
	return finish_step(l, result);
}

static bool has_chap_keys(const struct iscsi_login *l)
{
	const struct chap_keys *k = &l->chap_keys;

	return k->a || k->i || k->c || k->n || k->r;
}

enum iscsi_login_status login_authenticate(struct iscsi_login *l)
{
	enum iscsi_login_status status = LOGIN_SUCCESS;

	if (has_chap_keys(l) && l->auth != LOGIN_AUTH_CHAP)
		return deny(l, LOGIN_INITIATOR_ERROR, "CHAP keys where CHAP was not agreed upon");
	if (l->methods)
		status = choose_method(l);
	else if (l->auth == LOGIN_AUTH_CHAP)
		status = step(l);
	if (status)
		return status;
	if (login_is_authenticated(l))
		return LOGIN_SUCCESS;
	/* iPXE asks to leave the stage in every request: not before the last step. */
	if (l->auth == LOGIN_AUTH_CHAP || !(l->request_flags & ISCSI_FINAL)) {
		if (l->stage == STAGE_SECURITY)
			return LOGIN_SUCCESS;
	}
	return deny(l, LOGIN_AUTHENTICATION_FAILURE, "CHAP is required and was not offered");
}

enum iscsi_login_status login_confirm(struct iscsi_login *l)
{
	if (login_is_authenticated(l))
		return LOGIN_SUCCESS;
	return deny(l, LOGIN_AUTHENTICATION_FAILURE,
		    "what it has proved does not admit it any more");
}

enum iscsi_login_status login_same_identity(struct iscsi_login *l, const struct iscsi_session *s)
{
	if (!strcmp(s->account, l->account))
		return LOGIN_SUCCESS;
	return deny(l, LOGIN_AUTHENTICATION_FAILURE,
		    "the other connections of the session have proved another identity");
}
