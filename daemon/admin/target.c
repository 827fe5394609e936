/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods target.*: see docs/admin-protocol.md.
 */
#include "daemon/admin/request.h"
#include "daemon/daemon.h"
#include "transport/iscsi/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* "host.example.org" -> "org.example.host", only characters that a name may have. */
static void reverse_domain(const char *name, char *out, size_t size)
{
	size_t used = 0, end = strlen(name);

	while (end && used + 1 < size) {
		size_t begin = end;

		while (begin && name[begin - 1] != '.')
			begin--;
		for (size_t i = begin; i < end && used + 2 < size; i++) {
			char c = name[i];

			if (c >= 'A' && c <= 'Z')
				c = (char)(c | 0x20);
			if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')
				out[used++] = c;
		}
		end = begin ? begin - 1 : 0;
		if (end && used)
			out[used++] = '.';
	}
	out[used] = '\0';
}

/* A name that nobody else has: of this month, this node, and chance (RFC 7143 4.2.7.3). */
static int make_up_name(const char *node_name, char *out, size_t size)
{
	char domain[160];
	uint8_t chance[4];
	time_t now = time(NULL);
	struct tm tm;

	if (getrandom(chance, sizeof(chance), 0) != sizeof(chance) || !gmtime_r(&now, &tm))
		return -EIO;
	reverse_domain(node_name, domain, sizeof(domain));
	snprintf(out, size, "iqn.%04d-%02d.%s:%02x%02x%02x%02x", tm.tm_year + 1900, tm.tm_mon + 1,
		 domain[0] ? domain : "localhost", chance[0], chance[1], chance[2], chance[3]);
	return 0;
}

static enum apply_result create(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t = config_add_target(ar->desired);
	const char *node_name = ar->desired->daemon.node_name;
	char why[400], name[ISCSI_NAME_MAX + 1];
	int r;

	if (!t)
		return edit_no_memory(ar);
	r = admin_object_from_json(&config_target_scope, rq->params, "name", t, why, sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "target.create: %s", why);
	if (json_object_get(rq->params, "name"))
		snprintf(name, sizeof(name), "%s",
			 json_string_value(json_object_get(rq->params, "name")) ?: "");
	else if (make_up_name(node_name ? node_name : "", name, sizeof(name)))
		return apply_refuse(ar, APPLY_FAILED, "no random numbers for a name; give one");
	/* An ill-formed name goes on as it is: the check says what is wrong with it. */
	t->name = strdup(name);
	if (!t->name)
		return edit_no_memory(ar);
	if (!iscsi_name_check(name, name)) {
		free(t->name);
		t->name = strdup(name);
		if (!t->name)
			return edit_no_memory(ar);
	}
	rq->result = json_pack("{s:s}", "name", t->name);
	return edit_keep(ar, STATE_TARGET, t);
}

static void target_create(struct admin_request *rq)
{
	admin_apply(rq, create);
}

static json_t *target_json(const struct config_target *t)
{
	json_t *j = json_pack("{s:s, s:b, s:i, s:i}", "name", t->name, "online", t->online, "luns",
			      (int)t->n_luns, "rules", (int)t->n_access);

	if (t->alias)
		json_object_set_new(j, "alias", json_string(t->alias));
	json_object_set_new(j, "origin", admin_origin_json(&t->origin));
	return j;
}

static void target_list(struct admin_request *rq)
{
	const struct config *c = rq->daemon->node.config;
	json_t *list = json_array();

	for (unsigned i = 0; c && i < c->n_targets; i++)
		json_array_append_new(list, target_json(&c->targets[i]));
	admin_reply(rq, json_pack("{s:o}", "targets", list));
}

static json_t *ports_json(const struct daemon *d, const struct config_target *t)
{
	const struct config *c = d->node.config;
	json_t *list = json_array();

	for (unsigned i = 0; i < c->n_portals; i++) {
		const struct config_portal *p = &c->portals[i];
		const struct state_port *port;
		char key[300];

		port = state_find(d->state, STATE_PORT, state_port_key(t->name, p->group, key));
		if (port)
			json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:i}", "address",
							      p->address, "port", (int)p->port,
							      "group", (int)p->group,
							      "relative_port", (int)port->id));
	}
	return list;
}

static void target_show(struct admin_request *rq)
{
	const struct config *c = rq->daemon->node.config;
	const char *name = admin_text(rq, "name");
	const struct config_target *t;
	json_t *j;

	if (!name)
		return;
	t = c ? admin_find_target(c, name) : NULL;
	if (!t) {
		admin_fail(rq, ADMIN_NOT_FOUND,
			   "target %s does not exist; see \"hawserctl target list\"", name);
		return;
	}
	j = admin_object_json(&config_target_scope, t);
	json_object_set_new(j, "portals", ports_json(rq->daemon, t));
	admin_reply(rq, j);
}

static enum apply_result delete (struct admin_request *rq, struct apply_request *ar) {
	struct config_target *t = edit_target(ar, json_string_value(json_object_get(rq->params,
										    "name")));
	enum apply_result r;

	if (!t) return ar->result;
	r = edit_drop(ar, STATE_TARGET, t->name);
	config_remove_target(ar->desired, (unsigned)(t - ar->desired->targets));
	return r;
}

static void target_delete(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, delete);
}

static enum apply_result set_online(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t =
	    edit_target(ar, json_string_value(json_object_get(rq->params, "name")));

	if (!t)
		return ar->result;
	t->online = !strcmp(rq->method->name, "target.online");
	t->removed = false;
	return edit_keep(ar, STATE_TARGET, t);
}

static void target_set_online(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, set_online);
}

static void clear_redirect(struct config_target *t)
{
	free(t->redirect);
	free(t->redirect_groups);
	t->redirect = NULL;
	t->redirect_groups = NULL;
	t->n_redirect_groups = 0;
	t->redirect_permanent = false;
}

static enum apply_result retire(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t =
	    edit_target(ar, json_string_value(json_object_get(rq->params, "name")));

	if (!t)
		return ar->result;
	clear_redirect(t);
	t->removed = true;
	return edit_keep(ar, STATE_TARGET, t);
}

static void target_retire(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, retire);
}

static enum apply_result redirect(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t =
	    edit_target(ar, json_string_value(json_object_get(rq->params, "name")));
	char why[400];
	int r;

	if (!t)
		return ar->result;
	clear_redirect(t);
	t->removed = false;
	r = admin_object_from_json(&config_target_scope, rq->params, "name", t, why, sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "target.redirect: %s", why);
	return edit_keep(ar, STATE_TARGET, t);
}

static void target_redirect(struct admin_request *rq)
{
	if (admin_text(rq, "name"))
		admin_apply(rq, redirect);
}

const struct admin_method admin_target_methods[] = {
	{ "target.create", ADMIN_CHANGE, target_create, "[name] [alias] [*]",
	  "makes a target; without a name one is made up" },
	{ "target.list", ADMIN_READ, target_list, "", "all targets" },
	{ "target.show", ADMIN_READ, target_show, "name", "one target with all its settings" },
	{ "target.delete", ADMIN_CHANGE, target_delete, "name",
	  "removes a target; its sessions end, its logical units stay" },
	{ "target.online", ADMIN_CHANGE, target_set_online, "name", "accepts logins" },
	{ "target.offline", ADMIN_CHANGE, target_set_online, "name",
	  "refuses logins; its sessions end" },
	{ "target.retire", ADMIN_CHANGE, target_retire, "name",
	  "tells logins that it is gone for good; its sessions end" },
	{ "target.redirect", ADMIN_CHANGE, target_redirect,
	  "name [redirect] [redirect_permanent] [redirect_groups]",
	  "sends logins to another address, or no more; its sessions stay" },
	{ 0 },
};
