/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods access.*: who may log in to a target. See docs/admin-protocol.md.
 */
#include "daemon/admin/request.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>

/* Rules are lists inside of a target. */
static const struct config_setting *rules(void)
{
	return config_setting_find(&config_target_scope, "access");
}

static enum apply_result add(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t =
	    edit_target(ar, json_string_value(json_object_get(rq->params, "target")));
	struct config_access *a;
	char why[400];
	int r;

	if (!t)
		return ar->result;
	a = config_list_append(rules(), t);
	if (!a)
		return edit_no_memory(ar);
	r = admin_object_from_json(&config_access_scope, rq->params, "target", a, why, sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "access.add: %s", why);
	rq->result = json_pack("{s:i}", "rule", (int)t->n_access);
	return edit_keep(ar, STATE_TARGET, t);
}

static void access_add(struct admin_request *rq)
{
	if (admin_text(rq, "target"))
		admin_apply(rq, add);
}

static enum apply_result rem(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t =
	    edit_target(ar, json_string_value(json_object_get(rq->params, "target")));
	json_int_t rule = json_integer_value(json_object_get(rq->params, "rule"));

	if (!t)
		return ar->result;
	if (rule < 1 || rule > (json_int_t)t->n_access)
		return apply_refuse(ar, APPLY_NOT_FOUND,
				    "target %s has %u access rules, there is no rule %lld; see "
				    "\"hawserctl acl list\"",
				    t->name, t->n_access, (long long)rule);
	config_list_remove(rules(), t, (unsigned)rule - 1);
	return edit_keep(ar, STATE_TARGET, t);
}

static void access_remove(struct admin_request *rq)
{
	uint64_t rule;

	if (admin_text(rq, "target") && admin_number(rq, "rule", 65535, &rule))
		admin_apply(rq, rem);
}

static void add_rules(const struct daemon *d, const struct config_target *t, json_t *list)
{
	(void)d;
	for (unsigned i = 0; i < t->n_access; i++) {
		json_t *j = admin_object_json(&config_access_scope, &t->access[i]);

		json_object_set_new(j, "target", json_string(t->name));
		json_object_set_new(j, "rule", json_integer(i + 1));
		json_object_set_new(j, "origin", admin_origin_json(&t->origin));
		json_array_append_new(list, j);
	}
}

static void access_list(struct admin_request *rq)
{
	admin_list_by_target(rq, "rules", add_rules);
}

const struct admin_method admin_access_methods[] = {
	{ "access.add", ADMIN_CHANGE, access_add,
	  "target [any] [initiator] [network] [account] [read_only] [luns]",
	  "admits initiators to a target" },
	{ "access.list", ADMIN_READ, access_list, "[target]", "the access rules, in their order" },
	{ "access.remove", ADMIN_CHANGE, access_remove, "target rule",
	  "removes a rule; sessions that no other rule admits end" },
	{ 0 },
};
