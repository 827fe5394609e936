/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Target port groups: what a target says of them, what was changed at run time, and the table that
 * follows from both.
 */
#include "daemon/alua.h"
#include "daemon/apply_internal.h"
#include "scsi/alua.h"
#include "transport/iscsi/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a target that says nothing. */
static const struct config_port_group whole = { .id = 1, .state = (char[]){ "active-optimized" } };

unsigned alua_groups(const struct config_target *t, const struct config_port_group **ret)
{
	*ret = t->n_port_groups ? t->port_groups : &whole;
	return t->n_port_groups ? t->n_port_groups : 1;
}

const struct config_port_group *alua_find(const struct config_target *t, uint16_t id)
{
	const struct config_port_group *groups;
	unsigned n = alua_groups(t, &groups);

	for (unsigned i = 0; i < n; i++)
		if (groups[i].id == id)
			return &groups[i];
	return NULL;
}

unsigned alua_tpgs_of(const struct config_target *t)
{
	static const char *const modes[] = { "none", "implicit", "explicit", "both" };

	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(t->alua, modes[i]))
			return i;
	return ALUA_NONE;
}

const struct config_port_group *alua_of_portal_group(const struct config_target *t, uint16_t group)
{
	const struct config_port_group *groups, *rest = NULL;
	unsigned n = alua_groups(t, &groups);

	for (unsigned i = 0; i < n; i++) {
		if (!groups[i].n_groups)
			rest = &groups[i];
		for (unsigned j = 0; j < groups[i].n_groups; j++)
			if (groups[i].groups[j] == group)
				return &groups[i];
	}
	return rest; /* config_check has seen that one of them has it */
}

static const struct state_access *changed(const struct state *s, const struct state_change *ch,
					  const char *target, uint16_t id)
{
	const struct state_access *a;
	char key[300];
	bool known;

	state_port_key(target, id, key);
	a = state_change_find(ch, STATE_ACCESS, key, &known);
	return known ? a : state_find(s, STATE_ACCESS, key);
}

struct alua_group alua_in_force(const struct state *s, const struct state_change *ch,
				const char *target, const struct config_port_group *g)
{
	const struct state_access *a = changed(s, ch, target, g->id);
	const char *state = a && a->state ? a->state : g->state;
	int value = alua_state_find(state);

	return (struct alua_group){
		.id = g->id,
		/* Settings and files were checked: it is one. */
		.state = (uint8_t)(value < 0 ? ALUA_ACTIVE_OPTIMIZED : value),
		.preferred = a && a->preferred >= 0 ? a->preferred : g->preferred,
		.status = !a                ? ALUA_AS_CONFIGURED
			  : a->by_initiator ? ALUA_BY_INITIATOR
					    : ALUA_BY_ADMINISTRATOR,
	};
}

/* The index of a group in the table, entered when it is new. */
static unsigned enter(struct alua_table *table, struct alua_group g)
{
	unsigned i = 0;

	while (i < table->n_groups && table->groups[i].id != g.id)
		i++;
	if (i == table->n_groups)
		table->groups[table->n_groups++] = g;
	return i;
}

static unsigned ports_in(const struct alua_table *table, unsigned group)
{
	unsigned n = 0;

	for (unsigned i = 0; i < table->n_ports; i++)
		n += table->ports[i].group == group;
	return n;
}

struct alua_table *apply_alua(const struct apply_request *r, const struct config_target *t,
			      const struct iscsi_target *to)
{
	struct alua_table *table = alua_table_new(to->n_groups, to->n_groups);

	if (!table)
		return NULL;
	table->tpgs = (uint8_t)alua_tpgs_of(t);
	if (r->alua_target && !strcmp(r->alua_target, t->name)) {
		table->changed_by = r->alua_nexus;
		table->changed_lun = r->alua_lun;
	}
	for (unsigned i = 0; i < to->n_groups && table->tpgs; i++) {
		const struct config_port_group *g = alua_of_portal_group(t, to->groups[i].tpgt);
		unsigned at;

		if (!g)
			continue;
		at = enter(table, alua_in_force(r->daemon->state, r->change, t->name, g));
		/* The byte that counts them holds no more. */
		if (ports_in(table, at) < ALUA_PORTS_MAX)
			table->ports[table->n_ports++] =
			    (struct alua_port){ .relative = to->groups[i].relative_port,
						.group = (uint16_t)at };
	}
	return table;
}

struct forget {
	struct apply_request *request;
	int result;
};

static void forget(const void *object, void *arg)
{
	const struct state_access *a = object;
	struct forget *f = arg;
	const struct config_target *t = config_find_target(f->request->desired, a->target);
	char key[300];

	if (f->result || (t && alua_tpgs_of(t) && alua_find(t, a->group)))
		return;
	f->result = state_change_delete(f->request->change, STATE_ACCESS,
					state_port_key(a->target, a->group, key));
}

int apply_forget_access(struct apply_request *r)
{
	struct forget f = { .request = r };

	state_each(r->daemon->state, STATE_ACCESS, forget, &f);
	return f.result;
}

int alua_put(struct state_change *ch, const struct config_target *t, const struct alua_group *want)
{
	const struct config_port_group *g = alua_find(t, want->id);
	char name[32];
	struct state_access a = {
		.target = t->name,
		.group = want->id,
		.preferred = want->preferred == g->preferred ? -1 : want->preferred,
		.by_initiator = want->status == ALUA_BY_INITIATOR,
	};
	char key[300];

	/* Back to what the target says: nothing to be kept. */
	if (alua_state_find(g->state) != want->state) {
		snprintf(name, sizeof(name), "%s", alua_state_name(want->state));
		a.state = name;
	}
	if (!a.state && a.preferred < 0)
		return state_change_delete(ch, STATE_ACCESS,
					   state_port_key(t->name, want->id, key));
	return state_change_put(ch, STATE_ACCESS, &a);
}
