/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods account.*: who initiators can prove to be. Secrets come in and never go out. See
 * docs/admin-protocol.md.
 */
#include "daemon/admin/request.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Settings that only hawser.conf has: the daemon reads no file because a request says so. */
#define NOT_HERE "name secret_file secret2_file mutual_secret_file"

static const char *name_of(const struct admin_request *rq)
{
	return json_string_value(json_object_get(rq->params, "name"));
}

static void warn_if_shared(const struct config *c, const struct config_account *a)
{
	const struct config_account *other = config_same_secret(c, a);

	if (other)
		log_warn(LOG_ADMIN,
			 "account %s: has the same secret as account %s; whoever knows one is both",
			 a->name, other->name);
}

/* Settings from the request over what is there; null takes one away. */
static enum apply_result take(struct admin_request *rq, struct apply_request *ar,
			      struct config_account *a)
{
	json_t *given = json_object(), *j;
	const char *name;
	char why[400] = "";
	int r = 0;

	json_object_foreach(rq->params, name, j)
	{
		const struct config_setting *s = config_setting_find(&config_account_scope, name);

		if (!json_is_null(j))
			json_object_set(given, name, j);
		else if (s && strcmp(name, "name") != 0 && s->type != CONFIG_BOOL)
			config_unset(s, a);
	}
	r = admin_object_from_json(&config_account_scope, given, NOT_HERE, a, why, sizeof(why));
	json_decref(given);
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	return r ? apply_refuse(ar, APPLY_INVALID, "%s: %s", rq->method->name, why) : APPLY_DONE;
}

static enum apply_result keep(struct apply_request *ar, const struct config_account *a)
{
	warn_if_shared(ar->desired, a);
	return edit_keep(ar, STATE_ACCOUNT, a);
}

static enum apply_result create(struct admin_request *rq, struct apply_request *ar)
{
	struct config_account *a = config_add_account(ar->desired);
	enum apply_result r;

	if (!a)
		return edit_no_memory(ar);
	a->name = strdup(name_of(rq));
	if (!a->name)
		return edit_no_memory(ar);
	r = take(rq, ar, a);
	return r == APPLY_DONE ? keep(ar, a) : r;
}

static enum apply_result set(struct admin_request *rq, struct apply_request *ar)
{
	struct config_account *a = edit_account(ar, name_of(rq));
	enum apply_result r;

	if (!a)
		return ar->result;
	r = take(rq, ar, a);
	a->lost = a->lost && !a->secret;
	return r == APPLY_DONE ? keep(ar, a) : r;
}

/* The new secret is the first; the one before stays valid until it is retired. */
static enum apply_result rotate(struct admin_request *rq, struct apply_request *ar)
{
	struct config_account *a = edit_account(ar, name_of(rq));
	const struct config_setting *s = config_setting_find(&config_account_scope, "secret2");
	char *fresh;

	if (!a)
		return ar->result;
	fresh = strdup(json_string_value(json_object_get(rq->params, "secret")));
	if (!fresh)
		return edit_no_memory(ar);
	config_unset(s, a);
	a->secret2 = a->secret;
	a->secret = fresh;
	return keep(ar, a);
}

static enum apply_result retire(struct admin_request *rq, struct apply_request *ar)
{
	struct config_account *a = edit_account(ar, name_of(rq));

	if (!a)
		return ar->result;
	if (!a->secret2)
		return apply_refuse(ar, APPLY_CONFLICT,
				    "account %s has one secret only; \"hawserctl account rotate\" "
				    "gives it a new one",
				    a->name);
	config_unset(config_setting_find(&config_account_scope, "secret2"), a);
	return keep(ar, a);
}

/* The first rule that wants this account. */
static const char *user_of(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->daemon.n_discovery_access; i++) {
		const char *account = c->daemon.discovery_access[i].account;

		if (account && !strcmp(account, name))
			return "discovery_access";
	}
	for (unsigned i = 0; i < c->n_targets; i++)
		for (unsigned j = 0; j < c->targets[i].n_access; j++) {
			const char *account = c->targets[i].access[j].account;

			if (account && !strcmp(account, name))
				return c->targets[i].name;
		}
	return NULL;
}

static enum apply_result delete_account(struct admin_request *rq, struct apply_request *ar)
{
	struct config_account *a = edit_account(ar, name_of(rq));
	const char *user = a ? user_of(ar->desired, a->name) : NULL;
	enum apply_result r;

	if (!a)
		return ar->result;
	if (user)
		return apply_refuse(ar, APPLY_CONFLICT,
				    "account %s is wanted by an access rule of %s; remove that "
				    "first, see \"hawserctl acl list\"",
				    a->name, user);
	r = edit_drop(ar, STATE_ACCOUNT, a->name);
	config_remove_account(ar->desired, (unsigned)(a - ar->desired->accounts));
	return r;
}

static void account_create(struct admin_request *rq)
{
	if (admin_text(rq, "name") && admin_text(rq, "secret"))
		admin_apply(rq, create);
}

static void account_set(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, set);
}

static void account_rotate(struct admin_request *rq)
{
	if (admin_text(rq, "name") && admin_text(rq, "secret"))
		admin_apply(rq, rotate);
}

static void account_retire(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, retire);
}

static void account_delete(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, delete_account);
}

static json_t *account_json(const struct config_account *a)
{
	json_t *j = admin_object_json(&config_account_scope, a);

	json_object_set_new(j, "secrets", json_integer(!!a->secret + !!a->secret2));
	json_object_set_new(j, "mutual", json_boolean(a->mutual_secret));
	return j;
}

static void account_list(struct admin_request *rq)
{
	const struct config *c = rq->daemon->node.config;
	json_t *list = json_array();

	for (unsigned i = 0; c && i < c->n_accounts; i++)
		json_array_append_new(list, account_json(&c->accounts[i]));
	admin_reply(rq, json_pack("{s:o}", "accounts", list));
}

static json_t *users_json(const struct config *c, const char *name)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < c->n_targets; i++)
		for (unsigned j = 0; j < c->targets[i].n_access; j++) {
			const char *account = c->targets[i].access[j].account;

			if (account && !strcmp(account, name)) {
				json_array_append_new(list, json_string(c->targets[i].name));
				break;
			}
		}
	return list;
}

static void account_show(struct admin_request *rq)
{
	const struct config *c = rq->daemon->node.config;
	const char *name = admin_text(rq, "name");
	const struct config_account *a;
	json_t *j;

	if (!name)
		return;
	a = c ? config_find_account(c, name) : NULL;
	if (!a) {
		admin_fail(rq, ADMIN_NOT_FOUND,
			   "account %s does not exist; see \"hawserctl account list\"", name);
		return;
	}
	j = account_json(a);
	json_object_set_new(j, "targets", users_json(c, name));
	admin_reply(rq, j);
}

const struct admin_method admin_account_methods[] = {
	{ "account.create", ADMIN_CHANGE, account_create,
	  "name secret [secret2] [mutual_name] [mutual_secret] [require_mutual] [algorithms]",
	  "makes an account that access rules can name" },
	{ "account.set", ADMIN_CHANGE, account_set,
	  "name [secret] [secret2] [mutual_name] [mutual_secret] [require_mutual] [algorithms]",
	  "changes settings; null takes one away" },
	{ "account.rotate", ADMIN_CHANGE, account_rotate, "name secret",
	  "gives it a new secret; the one before stays valid too" },
	{ "account.retire", ADMIN_CHANGE, account_retire, "name",
	  "ends the validity of the secret before" },
	{ "account.list", ADMIN_READ, account_list, "", "all accounts, without secrets" },
	{ "account.show", ADMIN_READ, account_show, "name", "one account, without secrets" },
	{ "account.delete", ADMIN_CHANGE, account_delete, "name",
	  "removes an account that no access rule wants" },
	{ 0 },
};
