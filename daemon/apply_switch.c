/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The moment at which the tree becomes what the request has made of it, and the undoing of a
 * request that was refused.
 */
#include "config/schema.h"
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"
#include "daemon/space.h"
#include "scsi/provision.h"
#include "transport/iscsi/policy.h"

#include <stdlib.h>
#include <string.h>

static void switch_lus(struct apply_run *run)
{
	struct node *n = &run->daemon->node;
	struct list *l, *tmp;

	list_for_each_safe (l, tmp, &n->lus) {
		struct node_lu *nl = list_entry(l, struct node_lu, node);

		if (!config_find_lu(run->request->desired, nl->config.name)) {
			log_info(LOG_DAEMON, "lu %s: removed", nl->config.name);
			node_lu_free(nl);
		}
	}
	list_for_each (l, &run->lus) {
		struct apply_lu *al = list_entry(l, struct apply_lu, node);

		if (al->retry)
			continue;
		if (al->have)
			node_lu_free(al->have);
		al->have = NULL;
		list_add_tail(&n->lus, &al->made->node);
		if (al->made->store)
			log_info(LOG_DAEMON, "lu %s: in service", al->config.name);
	}
}

/* What is told of portals that stay, and where they stand. Without memory the old is shown. */
static void refresh_portals(struct apply_run *run)
{
	const struct config *c = run->request->desired;

	for (unsigned i = 0; i < c->n_portals; i++) {
		struct node_portal *np = node_find_portal(&run->daemon->node, &c->portals[i]);
		struct config_portal copy = { 0 };

		if (!np || config_object_copy(&config_portal_scope, &copy, &c->portals[i]))
			continue;
		config_object_clear(&config_portal_scope, &np->config);
		np->config = copy;
	}
}

/* Settings that do not make a unit anew. Without memory the old ones hold until the next change. */
static void refresh_lus(struct daemon *d, const struct config *c)
{
	for (unsigned i = 0; i < c->n_lus; i++) {
		struct node_lu *l = node_find_lu(&d->node, c->lus[i].name);
		int changed =
		    l ? config_object_take_live(&config_lu_scope, &l->config, &c->lus[i]) : 0;

		if (l && (changed > 0 || atomic_load(&l->lu->space.used) == SPACE_UNKNOWN))
			space_look(d, l);
	}
}

static void switch_portals(struct apply_run *run)
{
	struct node *n = &run->daemon->node;
	struct list *l, *tmp;

	list_for_each_safe (l, tmp, &n->portals) {
		struct node_portal *np = list_entry(l, struct node_portal, node);

		if (!apply_wants_portal(run, np))
			node_portal_free(np);
	}
	list_for_each (l, &run->portals) {
		struct apply_portal *ap = list_entry(l, struct apply_portal, node);

		list_add_tail(&n->portals, &ap->made->node);
		ap->made = NULL;
	}
	refresh_portals(run);
}

static void set_log_level(const struct config *old, const struct config *c)
{
	enum log_level level;

	/* Only when the file's word changes: what hawserctl set stays until then. */
	if (old && !strcmp(old->daemon.log_level, c->daemon.log_level))
		return;
	if (!log_level_parse(c->daemon.log_level, &level))
		log_set_level(LOG_SUBSYSTEMS, level);
}

void apply_switch(struct apply_run *run)
{
	struct node *n = &run->daemon->node;

	switch_lus(run);
	refresh_lus(run->daemon, run->request->desired);
	switch_portals(run);
	if (!run->request->boot)
		set_log_level(n->config, run->request->desired);
	config_free(n->config);
	n->config = run->request->desired;
	/* What was to be made has been made. */
	for (unsigned i = 0; i < n->config->n_lus; i++)
		n->config->lus[i].make = false;
	run->request->desired = NULL;
}

static void discard_lu(struct apply_lu *al)
{
	/* In the tree after a switch; else it was made for nothing. */
	if (al->made && list_empty(&al->made->node))
		node_lu_free(al->made);
	config_object_clear(&config_lu_scope, &al->config);
	free(al);
}

void apply_discard(struct apply_run *run)
{
	struct list *l, *tmp;

	list_for_each_safe (l, tmp, &run->lus)
		discard_lu(list_entry(l, struct apply_lu, node));
	list_init(&run->lus);
	list_for_each_safe (l, tmp, &run->portals) {
		struct apply_portal *ap = list_entry(l, struct apply_portal, node);

		node_portal_free(ap->made);
		free(ap);
	}
	list_init(&run->portals);
	policy_unref(run->policy);
	run->policy = NULL;
}
