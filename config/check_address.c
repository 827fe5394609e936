/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: where portals listen and which do not go together, what initiators are told of them,
 * and where they are sent instead.
 */
#include "config/address.h"
#include "config/check_internal.h"

bool config_portals_clash(const struct config_portal *a, const struct config_portal *b)
{
	struct config_address x, y;

	if (!a->port || a->port != b->port || strcmp(a->transport, b->transport) != 0)
		return false;
	if (config_parse_address(a->address, &x) || config_parse_address(b->address, &y))
		return false;
	if (x.kind != y.kind)
		return false;
	return !strcmp(x.host, y.host) || config_address_is_wildcard(&x) ||
	       config_address_is_wildcard(&y);
}

static int check_clash(const struct config_portal *p, const struct config_portal *q,
		       struct config_error *err)
{
	struct config_address a, b;
	char buf[300];

	config_parse_address(p->address, &a);
	config_parse_address(q->address, &b);
	where(&q->origin, buf);
	if (!strcmp(a.host, b.host))
		return refuse(
		    err, &p->origin,
		    "portal %s port %u: portal %s (%s) is the same; remove one or give it "
		    "another port",
		    p->address, p->port, q->address, buf);
	if (config_address_is_wildcard(&b))
		return refuse(err, &p->origin,
			      "portal %s port %u: it is covered by the wildcard portal %s (%s) of "
			      "that port; remove that one (portal create: use --replace) or "
			      "choose another port",
			      p->address, p->port, q->address, buf);
	return refuse(err, &p->origin,
		      "portal %s port %u: it would cover portal %s (%s) of that port; remove that "
		      "one (portal create: use --replace) or choose another port",
		      p->address, p->port, q->address, buf);
}

static int check_advertise(const struct config_portal *p, struct config_error *err)
{
	const char *list = p->advertise ? p->advertise : "";
	char word[CONFIG_ADDRESS_MAX];
	struct config_address a;

	if (p->advertise && (!strcmp(list, "here") || !strcmp(list, "none")))
		return 0;
	if (p->advertise && !list[strspn(list, " ,")])
		return refuse(err, &p->origin,
			      "portal %s port %u: advertise is empty; name addresses, \"none\", or "
			      "leave it out",
			      p->address, p->port);
	while (config_next_address(&list, word)) {
		if (!config_parse_address(word, &a) && !config_address_is_wildcard(&a) &&
		    strcmp(word, "here") != 0 && strcmp(word, "none") != 0)
			continue;
		return refuse(
		    err, &p->origin,
		    "portal %s port %u: advertise: \"%s\" is not an address that an "
		    "initiator could go to; write \"192.0.2.7\", \"[2001:db8::7]:3261\" or "
		    "a host name, or \"here\" or \"none\" alone",
		    p->address, p->port, word);
	}
	return 0;
}

int check_portal(const struct config *c, unsigned i, struct config_error *err)
{
	const struct config_portal *p = &c->portals[i];
	struct config_address a;

	if (config_parse_address(p->address, &a) || a.kind == ADDRESS_NAME || a.port ||
	    p->address[0] == '[')
		return refuse(err, &p->origin,
			      "portal %s: not a numeric IPv4 or IPv6 address; write one such as "
			      "\"192.0.2.1\", \"0.0.0.0\" or \"::\", without brackets",
			      p->address);
	for (unsigned j = 0; j < i; j++)
		if (config_portals_clash(p, &c->portals[j]))
			return check_clash(p, &c->portals[j], err);
	return check_advertise(p, err);
}

static int check_redirect_address(const struct config_target *t, struct config_error *err)
{
	struct config_address a;

	if (config_parse_address(t->redirect, &a))
		return refuse(err, &t->origin,
			      "target %s: redirect \"%s\" is not an address; write "
			      "\"192.0.2.7:3260\", \"[2001:db8::7]:3260\" or a host name",
			      t->name, t->redirect);
	if (config_address_is_wildcard(&a))
		return refuse(
		    err, &t->origin,
		    "target %s: redirect \"%s\" leads nowhere; name one machine's address", t->name,
		    t->redirect);
	return 0;
}

int check_redirect(const struct config_target *t, struct config_error *err)
{
	if (t->redirect && t->removed)
		return refuse(err, &t->origin,
			      "target %s: it cannot be removed and have a redirect; take one away",
			      t->name);
	if (t->redirect)
		return check_redirect_address(t, err);
	if (t->redirect_permanent || t->n_redirect_groups)
		return refuse(err, &t->origin,
			      "target %s: redirect_permanent and redirect_groups need a redirect; "
			      "add redirect = \"...\" or remove them",
			      t->name);
	return 0;
}

/* A name would have to be looked up, which may take for ever. */
int check_isns_servers(const struct config_daemon *d, struct config_error *err)
{
	const char *list = d->isns_servers ? d->isns_servers : "";
	char word[CONFIG_ADDRESS_MAX];
	struct config_address a;

	while (config_next_address(&list, word))
		if (config_parse_address(word, &a) || a.kind == ADDRESS_NAME ||
		    config_address_is_wildcard(&a))
			return refuse(
			    err, NULL,
			    "daemon: isns_servers: \"%s\" is not a numeric address; write "
			    "\"192.0.2.7\" or \"[2001:db8::7]:3205\"",
			    word);
	return 0;
}
