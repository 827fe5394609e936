/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What initiators are told of portals: the addresses that the administrator has chosen for each,
 * else what it is bound to, else, where that is a wildcard, what the machine has.
 */
#include "config/address.h"
#include "daemon/apply_internal.h"
#include "daemon/interfaces.h"
#include "transport/iscsi/policy.h"
#include "transport/portal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The port that the portal really has: asked 0, the kernel chose. */
static uint16_t real_port(const struct apply_run *run, const struct config_portal *p)
{
	struct node_portal *np = node_find_portal(&run->daemon->node, p);
	struct list *l;

	list_for_each (l, &run->portals) {
		struct apply_portal *ap = list_entry(l, struct apply_portal, node);

		if (ap->made && node_portal_is(&ap->made->config, p))
			np = ap->made;
	}
	return np && np->portal && np->portal->port ? np->portal->port : p->port;
}

static uint8_t family_of(enum config_address_kind kind)
{
	switch (kind) {
	case ADDRESS_V4:
		return AF_INET;
	case ADDRESS_V6:
		return AF_INET6;
	case ADDRESS_NAME:
		break;
	}
	return AF_UNSPEC;
}

static int append(struct iscsi_policy *p, const struct iscsi_address *a)
{
	struct iscsi_address *more =
	    reallocarray(p->addresses, p->n_addresses + 1, sizeof(*p->addresses));

	if (!more)
		return -ENOMEM;
	p->addresses = more;
	p->addresses[p->n_addresses++] = *a;
	return 0;
}

static int add_fixed(struct iscsi_policy *p, struct config_address host,
		     const struct iscsi_address *like)
{
	char text[CONFIG_ADDRESS_MAX];
	struct iscsi_address a = *like;

	if (host.port)
		a.port = host.port;
	host.port = 0;
	config_format_address(&host, text);
	a.kind = ISCSI_ADDRESS_FIXED;
	a.family = family_of(host.kind);
	memcpy(a.host, text, strlen(text) + 1);
	return append(p, &a);
}

static int add_chosen(struct iscsi_policy *p, const char *list, const struct iscsi_address *like)
{
	char word[CONFIG_ADDRESS_MAX];
	struct config_address host;
	int r = 0;

	while (!r && config_next_address(&list, word))
		if (!config_parse_address(word, &host))
			r = add_fixed(p, host, like);
	return r;
}

static int add_portal(struct apply_run *run, const struct config_portal *c, struct iscsi_policy *p)
{
	const char *chosen = c->advertise ? c->advertise : "";
	struct iscsi_address a = { .kind = ISCSI_ADDRESS_ANY, .tpgt = c->group };
	struct config_address bound;

	/* config_check has seen that it is an address. */
	if (!strcmp(chosen, "none") || config_parse_address(c->address, &bound))
		return 0;
	a.family = family_of(bound.kind);
	a.port = real_port(run, c);
	if (*chosen && strcmp(chosen, "here") != 0)
		return add_chosen(p, chosen, &a);
	if (!config_address_is_wildcard(&bound))
		return add_fixed(p, bound, &a);
	if (*chosen)
		a.kind = ISCSI_ADDRESS_ANY_HERE;
	return append(p, &a);
}

int apply_addresses(struct apply_run *run, struct iscsi_policy *p)
{
	const struct config *c = apply_wanted(run);
	int r = interfaces_copy(run->daemon->interfaces, &p->interfaces, &p->n_interfaces);

	p->all_families = c->daemon.advertise_all_families;
	p->all_in_normal_sessions = c->daemon.send_targets_all_in_normal_sessions;
	for (unsigned i = 0; i < c->n_portals && !r; i++)
		r = add_portal(run, &c->portals[i], p);
	return r;
}
