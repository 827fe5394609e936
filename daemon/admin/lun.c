/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods lun.* that change something: logical units and their place in LUN maps. See
 * docs/admin-protocol.md.
 */
#include "daemon/admin/lun.h"
#include "daemon/admin/request.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct config_setting *map_setting(void)
{
	return config_setting_find(&config_target_scope, "luns");
}

static const char *param(struct admin_request *rq, const char *name)
{
	return json_string_value(json_object_get(rq->params, name));
}

static bool is_used(const struct config_target *t, uint64_t lun)
{
	for (unsigned i = 0; i < t->n_luns; i++)
		if (t->luns[i].lun == lun)
			return true;
	return false;
}

/* Adds an entry; the lowest free number when none is asked for. */
static enum apply_result map(struct admin_request *rq, struct apply_request *ar, const char *target,
			     const char *lu)
{
	struct config_target *t = edit_target(ar, target);
	json_t *number = json_object_get(rq->params, "lun");
	struct config_lun *entry;
	uint64_t lun = 0;

	if (!t)
		return ar->result;
	if (number && (!json_is_integer(number) || json_integer_value(number) < 0 ||
		       json_integer_value(number) > 16383))
		return apply_refuse(ar, APPLY_INVALID, "\"lun\" must be a number from 0 to 16383");
	if (number)
		lun = (uint64_t)json_integer_value(number);
	while (!number && is_used(t, lun))
		lun++;
	entry = config_list_append(map_setting(), t);
	if (!entry)
		return edit_no_memory(ar);
	entry->lun = lun;
	entry->read_only = json_is_true(json_object_get(rq->params, "read_only"));
	entry->lu = strdup(lu);
	if (!entry->lu)
		return edit_no_memory(ar);
	json_object_set_new(rq->result, "target", json_string(t->name));
	json_object_set_new(rq->result, "lun", json_integer((json_int_t)lun));
	return edit_keep(ar, STATE_TARGET, t);
}

static enum apply_result create(struct admin_request *rq, struct apply_request *ar)
{
	struct config_lu *l = config_add_lu(ar->desired);
	enum apply_result result;
	char why[400];
	bool make;
	int r;

	if (!l)
		return edit_no_memory(ar);
	r = admin_object_from_json(&config_lu_scope, rq->params, "target lun", l, why, sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "lun.create: %s", why);
	/* A size is said in order to have it: the file is made, unless told otherwise; but only
	 * now, not when a later start does not find it. */
	make = !strcmp(l->type, "file") && l->size &&
	       (l->create || !json_object_get(rq->params, "create"));
	l->create = false;
	rq->result = json_pack("{s:s}", "name", l->name);
	result = edit_keep(ar, STATE_LU, l);
	l->make = make;
	if (result == APPLY_DONE && param(rq, "target"))
		result = map(rq, ar, param(rq, "target"), l->name);
	return result;
}

static void lun_create(struct admin_request *rq)
{
	const char *target = NULL;

	if (admin_text(rq, "name") && admin_optional_text(rq, "target", &target))
		admin_apply(rq, create);
}

static enum apply_result map_edit(struct admin_request *rq, struct apply_request *ar)
{
	const char *lu = param(rq, "name");

	if (!config_find_lu(ar->desired, lu))
		return apply_refuse(ar, APPLY_NOT_FOUND,
				    "lu %s does not exist; see \"hawserctl lun list\"", lu);
	rq->result = json_pack("{s:s}", "name", lu);
	return map(rq, ar, param(rq, "target"), lu);
}

static void lun_map_method(struct admin_request *rq)
{
	bool read_only;

	if (admin_text(rq, "name") && admin_text(rq, "target") &&
	    admin_optional_bool(rq, "read_only", &read_only))
		admin_apply(rq, map_edit);
}

static enum apply_result unmap(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t = edit_target(ar, param(rq, "target"));
	uint64_t lun = (uint64_t)json_integer_value(json_object_get(rq->params, "lun"));

	if (!t)
		return ar->result;
	for (unsigned i = 0; i < t->n_luns; i++) {
		if (t->luns[i].lun != lun)
			continue;
		config_list_remove(map_setting(), t, i);
		return edit_keep(ar, STATE_TARGET, t);
	}
	return apply_refuse(ar, APPLY_NOT_FOUND,
			    "target %s has no lun %llu; see \"hawserctl target show %s\"", t->name,
			    (unsigned long long)lun, t->name);
}

static void lun_unmap(struct admin_request *rq)
{
	uint64_t lun;

	if (admin_text(rq, "target") && admin_number(rq, "lun", 16383, &lun))
		admin_apply(rq, unmap);
}

static void remove_entries(struct config_target *t, const char *lu, bool *ret_changed)
{
	for (unsigned i = t->n_luns; i--;) {
		if (strcmp(t->luns[i].lu, lu) != 0)
			continue;
		config_list_remove(map_setting(), t, i);
		*ret_changed = true;
	}
}

/* From the maps of targets made at run time; those of hawser.conf are refused by the check. */
static enum apply_result unmap_everywhere(struct apply_request *ar, const char *lu)
{
	for (unsigned i = 0; i < ar->desired->n_targets; i++) {
		struct config_target *t = &ar->desired->targets[i];
		bool changed = false;

		if (t->origin.file)
			continue;
		remove_entries(t, lu, &changed);
		if (changed && edit_keep(ar, STATE_TARGET, t) != APPLY_DONE)
			return ar->result;
	}
	return APPLY_DONE;
}

static enum apply_result delete (struct admin_request *rq, struct apply_request *ar) {
	struct config_lu *l = edit_lu(ar, param(rq, "name")); enum apply_result r; char user[400];

	if (!l) return ar->result;
	if (json_is_true(json_object_get(rq->params, "unmap")) &&
	    unmap_everywhere(ar, l->name) != APPLY_DONE) return ar->result;
	if (edit_users(ar->desired, l->name, user, sizeof(user))) return apply_refuse(
	    ar, APPLY_CONFLICT, "lu %s is in use: %s; unmap it first, or say --unmap", l->name,
	    user);
	if (l->path) rq->result = json_pack("{s:s}", "kept", l->path);
	r = edit_drop(ar, STATE_LU, l->name);
	config_remove_lu(ar->desired, (unsigned)(l - ar->desired->lus));
	return r;
}

static void lun_delete(struct admin_request *rq)
{
	bool unmap_too;

	if (admin_text(rq, "name") && admin_optional_bool(rq, "unmap", &unmap_too))
		admin_apply(rq, delete);
}

/* Nothing of the configuration changes: the store is tried again. */
static enum apply_result retry(struct admin_request *rq, struct apply_request *ar)
{
	const char *name = param(rq, "name");

	if (!config_find_lu(ar->desired, name))
		return apply_refuse(ar, APPLY_NOT_FOUND,
				    "lu %s does not exist; see \"hawserctl lun list\"", name);
	return APPLY_DONE;
}

static void lun_retry(struct admin_request *rq)
{
	const char *name = admin_text(rq, "name");

	if (!name)
		return;
	rq->apply.retry = true;
	rq->apply.retry_lu = name;
	admin_apply(rq, retry);
}

static const char *const thresholds[] = { "used", "available" };

/* "none" takes one away; what is not said stays. */
static enum apply_result threshold(struct admin_request *rq, struct apply_request *ar)
{
	struct config_lu *l = edit_lu(ar, param(rq, "name"));

	if (!l)
		return ar->result;
	for (unsigned i = 0; i < 2; i++) {
		const char *text = param(rq, thresholds[i]);
		char **to = i ? &l->threshold_available : &l->threshold_used;

		if (!text)
			continue;
		free(*to);
		*to = strcmp(text, "none") ? strdup(text) : NULL;
		if (!*to && strcmp(text, "none") != 0)
			return edit_no_memory(ar);
	}
	rq->result =
	    json_pack("{s:s, s:s, s:s}", "name", l->name, "threshold_used",
		      l->threshold_used ? l->threshold_used : "none", "threshold_available",
		      l->threshold_available ? l->threshold_available : "none");
	return edit_keep(ar, STATE_LU, l);
}

static void lun_threshold(struct admin_request *rq)
{
	const char *text;

	if (admin_text(rq, "name") && admin_optional_text(rq, "used", &text) &&
	    admin_optional_text(rq, "available", &text))
		admin_apply(rq, threshold);
}

const struct admin_method admin_lun_methods[] = {
	{ "lun.create", ADMIN_CHANGE, lun_create, "name [type] [path] [size] [target] [lun] [*]",
	  "makes a logical unit and, with a target, maps it" },
	{ "lun.list", ADMIN_READ, lun_list, "", "all logical units and their condition" },
	{ "lun.show", ADMIN_READ, lun_show, "name",
	  "one logical unit: settings, identity, store, counters" },
	{ "lun.delete", ADMIN_CHANGE, lun_delete, "name [unmap]",
	  "removes a logical unit; its file or device is kept" },
	{ "lun.map", ADMIN_CHANGE, lun_map_method, "name target [lun] [read_only]",
	  "gives a logical unit a number in a target" },
	{ "lun.unmap", ADMIN_CHANGE, lun_unmap, "target lun", "takes a number out of a target" },
	{ "lun.resize", ADMIN_CHANGE, lun_resize, "name [size] [force]",
	  "makes the file that long, or looks at the store's size again; tells the initiators" },
	{ "lun.threshold", ADMIN_CHANGE, lun_threshold, "name [used] [available]",
	  "the space, in bytes or percent, at which initiators are warned; \"none\"" },
	{ "lun.retry", ADMIN_CHANGE, lun_retry, "name",
	  "opens the store of a logical unit that is out of service" },
	{ "lun.fault", ADMIN_CHANGE, lun_fault, "name rules",
	  "for tests: what a store made with \"fault\" does wrong from now on" },
	{ 0 },
};
