/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Target port groups: each portal group of a target is in just one of them, and initiators can tell
 * those of two targets apart.
 */
#include "config/check_internal.h"

static bool lists(const struct config_port_group *g, uint16_t group)
{
	for (unsigned i = 0; i < g->n_groups; i++)
		if (g->groups[i] == group)
			return true;
	return false;
}

static int check_pair(const struct config_target *t, const struct config_port_group *a,
		      const struct config_port_group *b, struct config_error *err)
{
	if (a->id == b->id)
		return refuse(err, &t->origin,
			      "target %s: port group %u is there twice; give one another id",
			      t->name, a->id);
	if (!a->n_groups && !b->n_groups)
		return refuse(err, &t->origin,
			      "target %s: port groups %u and %u both have no groups, which stands "
			      "for the rest; say groups in one of them",
			      t->name, a->id, b->id);
	for (unsigned i = 0; i < b->n_groups; i++)
		if (lists(a, b->groups[i]))
			return refuse(err, &t->origin,
				      "target %s: portal group %u is in port groups %u and %u; "
				      "remove it from one",
				      t->name, b->groups[i], a->id, b->id);
	return 0;
}

/* None is left over. */
static int check_rest(const struct config *c, const struct config_target *t,
		      struct config_error *err)
{
	for (unsigned i = 0; i < c->n_portals; i++) {
		uint16_t group = c->portals[i].group;
		bool found = !t->n_port_groups || !config_in_group(t, group);

		for (unsigned j = 0; j < t->n_port_groups && !found; j++)
			found = !t->port_groups[j].n_groups || lists(&t->port_groups[j], group);
		if (!found)
			return refuse(err, &t->origin,
				      "target %s: portal group %u is in no port group; add it to "
				      "one, or leave groups out of one, which then has the rest",
				      t->name, group);
	}
	return 0;
}

static bool maps(const struct config_lun *luns, unsigned n, const char *lu)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(luns[i].lu, lu))
			return true;
	return false;
}

static bool shows(const struct config_target *t, const char *lu)
{
	bool found = maps(t->luns, t->n_luns, lu);

	for (unsigned i = 0; i < t->n_access && !found; i++)
		found = maps(t->access[i].luns, t->access[i].n_luns, lu);
	return found;
}

/* An LU that both show; NULL: none. */
static const char *shared_lu(const struct config_target *a, const struct config_target *b)
{
	for (unsigned i = 0; i < a->n_luns; i++)
		if (shows(b, a->luns[i].lu))
			return a->luns[i].lu;
	for (unsigned i = 0; i < a->n_access; i++)
		for (unsigned j = 0; j < a->access[i].n_luns; j++)
			if (shows(b, a->access[i].luns[j].lu))
				return a->access[i].luns[j].lu;
	return NULL;
}

/* Initiators know a group by LU and id: the same one with two states would puzzle them. */
static int check_targets(const struct config_target *a, const struct config_target *b,
			 struct config_error *err)
{
	const char *lu;

	for (unsigned i = 0; i < a->n_port_groups; i++)
		for (unsigned j = 0; j < b->n_port_groups; j++) {
			if (a->port_groups[i].id != b->port_groups[j].id)
				continue;
			lu = shared_lu(a, b);
			if (!lu)
				return 0;
			return refuse(err, &b->origin,
				      "target %s: port group %u is one of target %s, too, and both "
				      "show lu %s: initiators would take them for one; give it "
				      "another id",
				      b->name, b->port_groups[j].id, a->name, lu);
		}
	return 0;
}

int check_port_groups(const struct config *c, unsigned i, struct config_error *err)
{
	const struct config_target *t = &c->targets[i];
	int r = 0;

	if (t->n_port_groups && !strcmp(t->alua, "none"))
		return refuse(err, &t->origin,
			      "target %s: alua = \"none\" has no port groups; remove them",
			      t->name);
	for (unsigned a = 0; a < t->n_port_groups && !r; a++)
		for (unsigned b = 0; b < a && !r; b++)
			r = check_pair(t, &t->port_groups[b], &t->port_groups[a], err);
	if (!r)
		r = check_rest(c, t, err);
	for (unsigned j = 0; j < i && !r; j++)
		r = check_targets(&c->targets[j], t, err);
	return r;
}
