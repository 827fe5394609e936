/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods portal.*: see docs/admin-protocol.md.
 */
#include "transport/portal.h"
#include "daemon/admin/request.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>

static enum apply_result in_file(struct apply_request *ar, const struct config_portal *p)
{
	return apply_refuse(ar, APPLY_CONFLICT,
			    "portal %s port %u stems from %s line %u; change it there, then "
			    "\"hawserctl daemon reload\"",
			    p->address, p->port, p->origin.file, p->origin.line);
}

static enum apply_result drop(struct apply_request *ar, unsigned i)
{
	char key[128];
	enum apply_result r =
	    edit_drop(ar, STATE_PORTAL, state_portal_key(&ar->desired->portals[i], key));

	config_remove_portal(ar->desired, i);
	return r;
}

/* The last one is the new one; those that it clashes with make room. */
static enum apply_result replace_others(struct apply_request *ar)
{
	struct config *c = ar->desired;

	for (unsigned i = 0; i + 1 < c->n_portals;) {
		enum apply_result r;

		if (!config_portals_clash(&c->portals[i], &c->portals[c->n_portals - 1])) {
			i++;
			continue;
		}
		r = c->portals[i].origin.file ? in_file(ar, &c->portals[i]) : drop(ar, i);
		if (r != APPLY_DONE)
			return r;
	}
	return APPLY_DONE;
}

static enum apply_result create(struct admin_request *rq, struct apply_request *ar)
{
	struct config_portal *p = config_add_portal(ar->desired);
	char why[400];
	int r;

	if (!p)
		return edit_no_memory(ar);
	r = admin_object_from_json(&config_portal_scope, rq->params, "replace", p, why,
				   sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "portal.create: %s", why);
	if (json_is_true(json_object_get(rq->params, "replace")) &&
	    replace_others(ar) != APPLY_DONE)
		return ar->result;
	return edit_keep(ar, STATE_PORTAL, &ar->desired->portals[ar->desired->n_portals - 1]);
}

static void portal_create_method(struct admin_request *rq)
{
	bool replace;

	if (admin_text(rq, "address") && admin_optional_bool(rq, "replace", &replace))
		admin_apply(rq, create);
}

static struct config_portal *find(struct apply_request *ar, const char *address, uint64_t port)
{
	for (unsigned i = 0; i < ar->desired->n_portals; i++) {
		struct config_portal *p = &ar->desired->portals[i];

		if (!strcmp(p->address, address) && p->port == port)
			return p;
	}
	return NULL;
}

/* The one that the request names; NULL: refused. */
static struct config_portal *ours(struct admin_request *rq, struct apply_request *ar)
{
	const char *address = json_string_value(json_object_get(rq->params, "address"));
	json_int_t port = json_integer_value(json_object_get(rq->params, "port"));
	struct config_portal *p = find(ar, address, (uint64_t)port);

	if (!p)
		apply_refuse(ar, APPLY_NOT_FOUND,
			     "portal %s port %lld does not exist; see \"hawserctl portal list\"",
			     address, (long long)port);
	else if (p->origin.file)
		in_file(ar, p);
	return p && !p->origin.file ? p : NULL;
}

static enum apply_result delete_one(struct admin_request *rq, struct apply_request *ar)
{
	struct config_portal *p = ours(rq, ar);

	return p ? drop(ar, (unsigned)(p - ar->desired->portals)) : ar->result;
}

static enum apply_result set(struct admin_request *rq, struct apply_request *ar)
{
	struct config_portal *p = ours(rq, ar);
	char why[400];
	int r;

	if (!p)
		return ar->result;
	config_unset(config_setting_find(&config_portal_scope, "advertise"), p);
	r = admin_object_from_json(&config_portal_scope, rq->params, "address port", p, why,
				   sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "portal.set: %s", why);
	return edit_keep(ar, STATE_PORTAL, p);
}

static void portal_set(struct admin_request *rq)
{
	uint64_t port;

	if (admin_text(rq, "address") && admin_number(rq, "port", 65535, &port))
		admin_apply(rq, set);
}

static void portal_delete(struct admin_request *rq)
{
	uint64_t port;

	if (admin_text(rq, "address") && admin_number(rq, "port", 65535, &port))
		admin_apply(rq, delete_one);
}

static void portal_list(struct admin_request *rq)
{
	json_t *list = json_array();
	struct list *l;

	list_for_each (l, &rq->daemon->node.portals) {
		const struct node_portal *np = list_entry(l, struct node_portal, node);
		json_t *j = admin_object_json(&config_portal_scope, &np->config);

		if (np->portal)
			json_object_set_new(j, "listening", json_string(np->portal->text));
		json_array_append_new(list, j);
	}
	admin_reply(rq, json_pack("{s:o}", "portals", list));
}

const struct admin_method admin_portal_methods[] = {
	{ "portal.create", ADMIN_CHANGE, portal_create_method,
	  "address [port] [group] [transport] [advertise] [replace]",
	  "listens at an address; replace: in the stead of those that it clashes with" },
	{ "portal.set", ADMIN_CHANGE, portal_set, "address port [advertise]",
	  "says what initiators are told of it; without advertise: the default" },
	{ "portal.list", ADMIN_READ, portal_list, "", "all portals and where they listen" },
	{ "portal.delete", ADMIN_CHANGE, portal_delete, "address port",
	  "stops listening; connections made there stay" },
	{ 0 },
};
