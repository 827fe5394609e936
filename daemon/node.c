/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of the live tree; see node.h.
 */
#include "daemon/node.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "daemon/keep.h"
#include "scsi/media.h"
#include "transport/portal.h"

#include "config/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void node_init(struct node *n, struct daemon *d)
{
	*n = (struct node){ .daemon = d };
	list_init(&n->lus);
	list_init(&n->portals);
	list_init(&n->stores);
}

struct node_lu *node_find_lu(const struct node *n, const char *name)
{
	struct list *l;

	list_for_each (l, &n->lus) {
		struct node_lu *lu = list_entry(l, struct node_lu, node);

		if (!strcmp(lu->config.name, name))
			return lu;
	}
	return NULL;
}

bool node_portal_is(const struct config_portal *a, const struct config_portal *b)
{
	return !strcmp(a->address, b->address) && a->port == b->port && a->group == b->group &&
	       !strcmp(a->transport, b->transport);
}

struct node_portal *node_find_portal(const struct node *n, const struct config_portal *p)
{
	struct list *l;

	list_for_each (l, &n->portals) {
		struct node_portal *np = list_entry(l, struct node_portal, node);

		if (node_portal_is(&np->config, p))
			return np;
	}
	return NULL;
}

static int hex(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

void node_lu_params(const struct config_lu *l, struct lu_params *p)
{
	const char *naa = l->naa;

	*p = (struct lu_params){
		.block_size = l->block_size,
		.physical_block = l->physical_block_size,
		.thin = l->thin,
		.read_only = l->read_only,
		.removable = l->removable,
		.has_rotation = l->rotation,
		.rotational = l->rotation && !strcmp(l->rotation, "hdd"),
	};
	/* The identity has been settled by apply: both are there. */
	for (unsigned i = 0; naa && i < 16; i++, naa += 2)
		p->id.naa[i] = (uint8_t)((hex(naa[0]) << 4) | hex(naa[1]));
	snprintf(p->id.serial, sizeof(p->id.serial), "%s", l->serial ? l->serial : "");
	snprintf(p->id.vendor, sizeof(p->id.vendor), "%s", "HAWSER  ");
	snprintf(p->id.product, sizeof(p->id.product), "%s", "VIRTUAL-DISK    ");
	snprintf(p->id.revision, sizeof(p->id.revision), "%-4.4s", HAWSER_VERSION);
	snprintf(p->id.name, sizeof(p->id.name), "%s", l->name);
}

void node_lu_resume(struct node *n, struct node_lu *l)
{
	struct daemon *d = n->daemon;

	if (!l->store || !d->n_io)
		return;
	if (media_state(atomic_load(&l->lu->not_ready)))
		log_warn(LOG_DAEMON,
			 "lu %s: a FORMAT UNIT or SANITIZE had not ended, or had failed, when the "
			 "unit was let go of; what had not ended begins anew",
			 l->config.name);
	media_resume(l->lu, d->set[0]);
}

int node_lu_create(struct node *n, const struct config_lu *l, struct node_store *store, char *why,
		   struct node_lu **ret, char **ret_why)
{
	struct node_lu *nl = calloc(1, sizeof(*nl));
	const char *unfit = NULL;
	struct lu_params params;
	int r;

	if (!nl)
		return -ENOMEM;
	list_init(&nl->node);
	r = config_object_copy(&config_lu_scope, &nl->config, l);
	if (r) {
		free(nl);
		return r;
	}
	node_lu_params(l, &params);
	r = lu_create(&params, store ? store->backing : NULL, &nl->lu, &unfit);
	if (r) {
		if (unfit)
			*ret_why = strdup(unfit);
		config_object_clear(&config_lu_scope, &nl->config);
		free(nl);
		return r;
	}
	keep_unit_restore(n->daemon, nl->lu, l->path);
	if (keep_restore(n->daemon, nl->lu)) {
		lu_unref(nl->lu);
		config_object_clear(&config_lu_scope, &nl->config);
		free(nl);
		return -ENOMEM;
	}
	nl->lu->destroyed = store_lu_destroyed;
	nl->lu->destroyed_arg = store;
	nl->store = store;
	nl->why = why;
	node_lu_resume(n, nl);
	*ret = nl;
	return 0;
}

void node_lu_free(struct node_lu *l)
{
	if (!l)
		return;
	list_del(&l->node);
	if (l->store)
		store_begin_leaving(l->store);
	lu_unref(l->lu);
	config_object_clear(&config_lu_scope, &l->config);
	free(l->why);
	free(l);
}

int node_portal_listen(struct node_portal *p)
{
	int r = portal_listen(p->portal);

	p->listening = !r;
	return r;
}

void node_portal_unlisten(struct node_portal *p)
{
	if (p->listening)
		portal_unlisten(p->portal);
	p->listening = false;
}

void node_portal_free(struct node_portal *p)
{
	if (!p)
		return;
	list_del(&p->node);
	node_portal_unlisten(p);
	portal_unref(p->portal);
	config_object_clear(&config_portal_scope, &p->config);
	free(p);
}
