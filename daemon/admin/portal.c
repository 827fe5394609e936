/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods portal.*: see docs/admin-protocol.md.
 */
#include "transport/portal.h"
#include "daemon/admin/request.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>

static enum apply_result create(struct admin_request *rq, struct apply_request *ar)
{
	struct config_portal *p = config_add_portal(ar->desired);
	char why[400];
	int r;

	if (!p)
		return edit_no_memory(ar);
	r = admin_object_from_json(&config_portal_scope, rq->params, "", p, why, sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "portal.create: %s", why);
	return edit_keep(ar, STATE_PORTAL, p);
}

static void portal_create_method(struct admin_request *rq)
{
	if (admin_text(rq, "address"))
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

static enum apply_result delete (struct admin_request *rq, struct apply_request *ar) {
	const char *address = json_string_value(json_object_get(rq->params, "address"));
	json_int_t port = json_integer_value(json_object_get(rq->params, "port"));
	struct config_portal *p = find(ar, address, (uint64_t)port);
	enum apply_result r;
	char key[128];

	if (!p) return apply_refuse(ar, APPLY_NOT_FOUND,
				    "portal %s port %lld does not exist; see \"hawserctl portal "
				    "list\"",
				    address, (long long)port);
	if (p->origin.file) return apply_refuse(
	    ar, APPLY_CONFLICT,
	    "portal %s port %u stems from %s line %u; change it there, "
	    "then \"hawserctl daemon reload\"",
	    p->address, p->port, p->origin.file, p->origin.line);
	r = edit_drop(ar, STATE_PORTAL, state_portal_key(p, key));
	config_remove_portal(ar->desired, (unsigned)(p - ar->desired->portals));
	return r;
}

static void portal_delete(struct admin_request *rq)
{
	uint64_t port;

	if (admin_text(rq, "address") && admin_number(rq, "port", 65535, &port))
		admin_apply(rq, delete);
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
	{ "portal.create", ADMIN_CHANGE, portal_create_method, "address [port] [group] [transport]",
	  "listens at an address" },
	{ "portal.list", ADMIN_READ, portal_list, "", "all portals and where they listen" },
	{ "portal.delete", ADMIN_CHANGE, portal_delete, "address port",
	  "stops listening; connections made there stay" },
	{ 0 },
};
