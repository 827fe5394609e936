/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Portals of a request: those that leave stop listening first, since a new one may want the same
 * port; if a new one cannot listen, everything is as before.
 */
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/service.h"
#include "transport/portal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct datamover_ops *find_transport(const struct daemon *d, const char *name)
{
	for (unsigned i = 0; d->transports[i]; i++)
		if (!strcmp(d->transports[i]->name, name))
			return d->transports[i];
	return NULL;
}

static const char *remedy(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "another program listens there; stop it or choose another port";
	case EADDRNOTAVAIL:
		return "this machine has no such address; see \"ip address\"";
	case EAFNOSUPPORT:
		return "this machine does without that family of addresses";
	case EACCES:
		return "ports below 1024 need privileges; choose a higher one";
	default:
		return "choose another address or port";
	}
}

/* A configuration for machines with and without IPv6 is good for both: nobody can come to the
 * portals of a family that is not there. */
static bool may_do_without(const struct apply_run *run, int error)
{
	return run->lenient && error == EAFNOSUPPORT;
}

/* One with a socket that was there before us waits for apply_listen_inherited. */
static int listen_one(struct apply_run *run, struct node_portal *np)
{
	const struct config_portal *c = &np->config;
	const struct datamover_ops *dm = find_transport(run->daemon, c->transport);
	struct daemon *d = run->daemon;
	int r;

	if (!dm)
		return -EPROTONOSUPPORT;
	r = portal_create(dm, c->address, c->port, c->group, d->control, &np->portal);
	if (r)
		return r;
	if (d->service)
		np->portal->inherited_fd = service_take_socket(d->service, &np->portal->address);
	if (run->request->boot && np->portal->inherited_fd >= 0)
		return 0;
	return node_portal_listen(np);
}

/* Those in the tree that are not wanted any more. */
static void leaving(struct apply_run *run, void (*each)(struct node_portal *np))
{
	struct list *l;

	list_for_each (l, &run->daemon->node.portals) {
		struct node_portal *np = list_entry(l, struct node_portal, node);

		if (!apply_wants_portal(run, np))
			each(np);
	}
}

static void listen_again(struct node_portal *np)
{
	int r = np->listening ? 0 : node_portal_listen(np);

	if (r)
		log_error(LOG_DAEMON, "portal %s: cannot listen again: %s; restart the daemon",
			  np->portal->text, text_errno(-r));
}

static enum apply_result refuse_portal(struct apply_run *run, const struct node_portal *np,
				       int error)
{
	return apply_refuse(run->request, APPLY_FAILED, "portal %s port %u: cannot listen: %s; %s",
			    np->config.address, np->config.port, text_errno(error), remedy(error));
}

enum apply_result apply_listen(struct apply_run *run)
{
	struct list *l;

	if (!run->request->boot)
		leaving(run, node_portal_unlisten);
	list_for_each (l, &run->portals) {
		struct node_portal *np = list_entry(l, struct apply_portal, node)->made;
		int r = listen_one(run, np);

		if (r && may_do_without(run, -r)) {
			log_warn(LOG_DAEMON, "portal %s port %u: not there: %s", np->config.address,
				 np->config.port, remedy(-r));
			continue;
		}
		if (r)
			return refuse_portal(run, np, -r);
		if (np->listening)
			log_info(LOG_DAEMON, "portal %s: listening", np->portal->text);
	}
	return APPLY_DONE;
}

enum apply_result apply_listen_inherited(struct apply_run *run)
{
	struct list *l;

	list_for_each (l, &run->daemon->node.portals) {
		struct node_portal *np = list_entry(l, struct node_portal, node);
		int r;

		if (np->listening || !np->portal || np->portal->inherited_fd < 0)
			continue;
		r = node_portal_listen(np);
		if (r)
			return refuse_portal(run, np, -r);
		log_info(LOG_DAEMON, "portal %s: listening", np->portal->text);
	}
	return APPLY_DONE;
}

void apply_unlisten(struct apply_run *run)
{
	struct list *l;

	list_for_each (l, &run->portals) {
		struct node_portal *np = list_entry(l, struct apply_portal, node)->made;

		if (np)
			node_portal_unlisten(np);
	}
	leaving(run, listen_again);
}
