/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The moment at which the tree becomes what the request has made of it, and the undoing of a
 * request that was refused.
 */
#include "config/schema.h"
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"
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
