/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods alua.*: target port groups and their access states. See docs/admin-protocol.md.
 */
#include "daemon/alua.h"
#include "daemon/admin/request.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>

static const struct config_setting *groups(void)
{
	return config_setting_find(&config_target_scope, "port_groups");
}

static const char *text_of(const struct admin_request *rq, const char *name)
{
	return json_string_value(json_object_get(rq->params, name));
}

static uint16_t id_of(const struct admin_request *rq)
{
	return (uint16_t)json_integer_value(json_object_get(rq->params, "id"));
}

static bool names_group(struct admin_request *rq)
{
	uint64_t id;

	return admin_text(rq, "target") && admin_number(rq, "id", 65535, &id);
}

static enum apply_result no_group(struct apply_request *ar, const char *target, unsigned id)
{
	return apply_refuse(ar, APPLY_NOT_FOUND,
			    "target %s has no port group %u; see \"hawserctl alua list\"", target,
			    id);
}

/* A state is no setting: those of targets that stem from hawser.conf change, too. */
static enum apply_result set(struct admin_request *rq, struct apply_request *ar)
{
	const char *name = text_of(rq, "target"), *state = text_of(rq, "state");
	json_t *preferred = json_object_get(rq->params, "preferred");
	const struct config_target *t = admin_find_target(ar->desired, name);
	const struct config_port_group *g = t ? alua_find(t, id_of(rq)) : NULL;
	struct alua_group want;
	int value = state ? alua_state_find(state) : -1;

	if (!t)
		return apply_refuse(ar, APPLY_NOT_FOUND,
				    "target %s does not exist; see \"hawserctl target list\"",
				    name);
	if (!g)
		return no_group(ar, t->name, id_of(rq));
	if (!(alua_tpgs_of(t) & ALUA_IMPLICIT))
		return apply_refuse(ar, APPLY_CONFLICT,
				    "target %s: alua = \"%s\" leaves its states alone; make it "
				    "\"implicit\" or \"both\"",
				    t->name, t->alua);
	if (state && value < 0)
		return apply_refuse(ar, APPLY_INVALID,
				    "there is no access state \"%.64s\"; there are "
				    "active-optimized, active-non-optimized, standby, unavailable, "
				    "offline and transitioning",
				    state);
	want = alua_in_force(rq->daemon->state, ar->change, t->name, g);
	want.status = ALUA_BY_ADMINISTRATOR;
	if (state)
		want.state = (uint8_t)value;
	if (preferred)
		want.preferred = json_is_true(preferred);
	return alua_put(ar->change, t, &want) ? edit_no_memory(ar) : APPLY_DONE;
}

static void alua_set(struct admin_request *rq)
{
	const char *state = NULL;
	bool preferred;

	if (names_group(rq) && admin_optional_text(rq, "state", &state) &&
	    admin_optional_bool(rq, "preferred", &preferred))
		admin_apply(rq, set);
}

static struct config_port_group *own_group(struct config_target *t, uint16_t id)
{
	for (unsigned i = 0; i < t->n_port_groups; i++)
		if (t->port_groups[i].id == id)
			return &t->port_groups[i];
	return NULL;
}

static enum apply_result define(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t = edit_target(ar, text_of(rq, "target"));
	struct config_port_group *g;
	char why[400];
	int r;

	if (!t)
		return ar->result;
	g = own_group(t, id_of(rq));
	if (g) {
		config_object_clear(&config_port_group_scope, g);
		r = config_object_init(&config_port_group_scope, g);
	} else {
		g = config_list_append(groups(), t);
		r = g ? 0 : -ENOMEM;
	}
	if (!r)
		r = admin_object_from_json(&config_port_group_scope, rq->params, "target", g, why,
					   sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "alua.define: %s", why);
	return edit_keep(ar, STATE_TARGET, t);
}

static void alua_define(struct admin_request *rq)
{
	if (names_group(rq))
		admin_apply(rq, define);
}

static enum apply_result rem(struct admin_request *rq, struct apply_request *ar)
{
	struct config_target *t = edit_target(ar, text_of(rq, "target"));
	struct config_port_group *g = t ? own_group(t, id_of(rq)) : NULL;

	if (!t)
		return ar->result;
	if (!g)
		return no_group(ar, t->name, id_of(rq));
	config_list_remove(groups(), t, (unsigned)(g - t->port_groups));
	return edit_keep(ar, STATE_TARGET, t);
}

static void alua_remove(struct admin_request *rq)
{
	if (names_group(rq))
		admin_apply(rq, rem);
}

static enum apply_result mode(struct admin_request *rq, struct apply_request *ar)
{
	const struct config_setting *s = config_setting_find(&config_target_scope, "alua");
	struct config_target *t = edit_target(ar, text_of(rq, "target"));
	struct config_value v = { .kind = VALUE_TEXT, .s = text_of(rq, "mode") };
	char why[256];
	int r;

	if (!t)
		return ar->result;
	r = config_assign(s, t, &v, why, sizeof(why));
	if (r == -ENOMEM)
		return edit_no_memory(ar);
	if (r)
		return apply_refuse(ar, APPLY_INVALID, "alua.mode: %s", why);
	return edit_keep(ar, STATE_TARGET, t);
}

static void alua_mode(struct admin_request *rq)
{
	if (admin_text(rq, "target") && admin_text(rq, "mode"))
		admin_apply(rq, mode);
}

/* The portal groups and relative target ports that are in it now. */
static void add_ports(const struct daemon *d, const struct config_target *t,
		      const struct config_port_group *g, json_t *j)
{
	const struct config *c = d->node.config;
	json_t *list = json_array(), *ports = json_array();

	for (unsigned i = 0; i < c->n_portals; i++) {
		uint16_t group = c->portals[i].group;
		const struct state_port *port;
		bool again = false;
		char key[300];

		for (unsigned k = 0; k < i; k++)
			again |= c->portals[k].group == group;
		port = state_find(d->state, STATE_PORT, state_port_key(t->name, group, key));
		if (again || !port || alua_of_portal_group(t, group) != g)
			continue;
		json_array_append_new(list, json_integer(group));
		json_array_append_new(ports, json_integer(port->id));
	}
	json_object_set_new(j, "groups", list);
	json_object_set_new(j, "ports", ports);
}

static void add_groups(const struct daemon *d, const struct config_target *t, json_t *list)
{
	static const char *const by[] = { "configuration", "initiator", "administrator" };
	const struct config_port_group *g;
	unsigned n = alua_groups(t, &g);

	for (unsigned i = 0; i < n && alua_tpgs_of(t); i++) {
		struct alua_group is = alua_in_force(d->state, NULL, t->name, &g[i]);
		json_t *j = json_pack("{s:s, s:s, s:i, s:s, s:b, s:s}", "target", t->name, "mode",
				      t->alua, "id", (int)is.id, "state", alua_state_name(is.state),
				      "preferred", is.preferred, "set_by", by[is.status]);

		add_ports(d, t, &g[i], j);
		json_array_append_new(list, j);
	}
}

static void alua_list(struct admin_request *rq)
{
	admin_list_by_target(rq, "port_groups", add_groups);
}

const struct admin_method admin_alua_methods[] = {
	{ "alua.list", ADMIN_READ, alua_list, "[target]",
	  "target port groups with their access states, portal groups and ports" },
	{ "alua.set", ADMIN_CHANGE, alua_set, "target id [state] [preferred]",
	  "puts a target port group into an access state; initiators are told" },
	{ "alua.define", ADMIN_CHANGE, alua_define, "target id [groups] [state] [preferred]",
	  "makes a target port group, or makes it anew" },
	{ "alua.remove", ADMIN_CHANGE, alua_remove, "target id", "removes a target port group" },
	{ "alua.mode", ADMIN_CHANGE, alua_mode, "target mode",
	  "says who sets access states: none, implicit, explicit, both" },
	{ 0 },
};
