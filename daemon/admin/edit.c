/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the editing methods share. An object belongs either to hawser.conf, which only people
 * write, or to the state, which only requests change; never to both.
 */
#include "daemon/admin/request.h"
#include "daemon/daemon.h"
#include "transport/iscsi/policy.h"

#include <stdio.h>
#include <string.h>

enum apply_result edit_no_memory(struct apply_request *ar)
{
	return apply_refuse(ar, APPLY_FAILED, "no memory; nothing was changed");
}

static bool is_ours(struct apply_request *ar, const char *what, const char *name,
		    const struct config_origin *o)
{
	if (!o->file)
		return true;
	apply_refuse(ar, APPLY_CONFLICT,
		     "%s %s stems from %s line %u; change it there, then \"hawserctl daemon "
		     "reload\"",
		     what, name, o->file, o->line);
	return false;
}

struct config_target *admin_find_target(const struct config *c, const char *name)
{
	char lower[ISCSI_NAME_MAX + 1];

	return config_find_target(c, iscsi_name_check(name, lower) ? name : lower);
}

void admin_list_by_target(struct admin_request *rq, const char *list_name,
			  void (*add)(const struct daemon *d, const struct config_target *t,
				      json_t *list))
{
	const struct config *c = rq->daemon->node.config;
	const struct config_target *one = NULL;
	const char *target = NULL;
	json_t *list;

	if (!admin_optional_text(rq, "target", &target))
		return;
	if (target && c)
		one = admin_find_target(c, target);
	if (target && !one) {
		admin_fail(rq, ADMIN_NOT_FOUND,
			   "target %s does not exist; see \"hawserctl target list\"", target);
		return;
	}
	list = json_array();
	for (unsigned i = 0; c && i < c->n_targets; i++)
		if (!one || one == &c->targets[i])
			add(rq->daemon, &c->targets[i], list);
	admin_reply(rq, json_pack("{s:o}", list_name, list));
}

struct config_target *edit_target(struct apply_request *ar, const char *name)
{
	struct config_target *t = admin_find_target(ar->desired, name);

	if (!t)
		apply_refuse(ar, APPLY_NOT_FOUND,
			     "target %s does not exist; see \"hawserctl target list\"", name);
	return t && is_ours(ar, "target", t->name, &t->origin) ? t : NULL;
}

struct config_lu *edit_lu(struct apply_request *ar, const char *name)
{
	struct config_lu *l = config_find_lu(ar->desired, name);

	if (!l)
		apply_refuse(ar, APPLY_NOT_FOUND,
			     "lu %s does not exist; see \"hawserctl lun list\"", name);
	return l && is_ours(ar, "lu", l->name, &l->origin) ? l : NULL;
}

struct config_account *edit_account(struct apply_request *ar, const char *name)
{
	struct config_account *a = config_find_account(ar->desired, name);

	if (!a)
		apply_refuse(ar, APPLY_NOT_FOUND,
			     "account %s does not exist; see \"hawserctl account list\"", name);
	return a && is_ours(ar, "account", a->name, &a->origin) ? a : NULL;
}

enum apply_result edit_keep(struct apply_request *ar, enum state_kind kind, const void *object)
{
	return state_change_put(ar->change, kind, object) ? edit_no_memory(ar) : APPLY_DONE;
}

enum apply_result edit_drop(struct apply_request *ar, enum state_kind kind, const char *key)
{
	return state_change_delete(ar->change, kind, key) ? edit_no_memory(ar) : APPLY_DONE;
}

static bool maps(const struct config_lun *luns, unsigned n, const char *lu, uint64_t *ret_lun)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(luns[i].lu, lu)) {
			*ret_lun = luns[i].lun;
			return true;
		}
	return false;
}

unsigned edit_users(const struct config *c, const char *lu, char *first, size_t firstsize)
{
	unsigned users = 0;

	for (unsigned i = 0; i < c->n_targets; i++) {
		const struct config_target *t = &c->targets[i];
		uint64_t lun = 0;
		bool used = maps(t->luns, t->n_luns, lu, &lun);

		for (unsigned j = 0; j < t->n_access && !used; j++)
			used = maps(t->access[j].luns, t->access[j].n_luns, lu, &lun);
		if (used && !users++)
			snprintf(first, firstsize, "target %s maps it as lun %llu", t->name,
				 (unsigned long long)lun);
	}
	return users;
}
