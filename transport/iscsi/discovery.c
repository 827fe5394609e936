/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/discovery.h"

#include "transport/iscsi/conn.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/session.h"
#include "transport/iscsi/text.h"
#include "transport/portal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define ADDRESS_MAX 96

/* The address that the initiator has come to; an IPv4-mapped one as IPv4. False: neither. */
static bool local_address(const struct iscsi_conn *c, char *buf, size_t size, bool *ret_v6)
{
	const struct sockaddr_in *v4 = (const void *)&c->local;
	const struct sockaddr_in6 *v6 = (const void *)&c->local;
	char text[INET6_ADDRSTRLEN];

	*ret_v6 = false;
	if (c->local.ss_family == AF_INET)
		return inet_ntop(AF_INET, &v4->sin_addr, buf, (socklen_t)size);
	if (c->local.ss_family != AF_INET6)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], buf, (socklen_t)size);
	*ret_v6 = true;
	if (!inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)))
		return false;
	snprintf(buf, size, "[%s]", text);
	return true;
}

/*
 * "address:port,tag" (13.8). A wildcard is of no use to an initiator, so it stands for the address
 * by which this one has come; one of the other family is left out, and so is a link-local address,
 * which means nothing without the initiator's own interface. False: left out.
 */
static bool format_portal(const struct iscsi_conn *c, const struct iscsi_target_portal *p,
			  char buf[static ADDRESS_MAX])
{
	bool any4 = !strcmp(p->address, "0.0.0.0");
	bool any6 = !strcmp(p->address, "[::]") || !strcmp(p->address, "::");
	const struct sockaddr_in6 *v6 = (const void *)&c->local;
	char local[INET6_ADDRSTRLEN + 2];
	const char *address = p->address;
	bool is6;

	if (any4 || any6) {
		if (!local_address(c, local, sizeof(local), &is6) || is6 != any6)
			return false;
		if (is6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
			return false;
		address = local;
	}
	snprintf(buf, ADDRESS_MAX, "%s:%u,%u", address, p->port, p->tpgt);
	return true;
}

/* Two entries may come to the same address: a wildcard and that address itself. */
static bool listed_before(const struct iscsi_conn *c, const struct iscsi_target *t, unsigned n,
			  const char *address)
{
	char other[ADDRESS_MAX];

	for (unsigned i = 0; i < n; i++)
		if (format_portal(c, &t->portals[i], other) && !strcmp(other, address))
			return true;
	return false;
}

/* A record: the name, then the addresses of all its portal groups. */
static void put_target(const struct iscsi_conn *c, const struct iscsi_target *t,
		       struct text_out *out)
{
	char address[ADDRESS_MAX], local[INET6_ADDRSTRLEN + 2];
	unsigned n = 0;
	bool is6;

	text_put(out, "TargetName", t->name);
	for (unsigned i = 0; i < t->n_portals; i++) {
		if (!format_portal(c, &t->portals[i], address) || listed_before(c, t, i, address))
			continue;
		text_put(out, "TargetAddress", address);
		n++;
	}
	if (n || !local_address(c, local, sizeof(local), &is6))
		return;
	snprintf(address, sizeof(address), "%s:%u,%u", local, c->portal->port, c->portal->tpgt);
	text_put(out, "TargetAddress", address);
}

static void put_if_admitted(const struct iscsi_conn *c, const struct iscsi_target *t,
			    struct text_out *out)
{
	if (t && policy_admit(t, c->session->initiator, &c->peer))
		put_target(c, t, out);
}

void discovery_send_targets(const struct iscsi_conn *c, const char *value, struct text_out *out)
{
	const struct iscsi_session *s = c->session;
	const struct iscsi_policy *policy = c->ir->policy;
	char name[ISCSI_NAME_MAX + 1];
	bool all = !strcmp(value, "All");

	if (all && !s->discovery) {
		text_put(out, "SendTargets", "Reject");
		return;
	}
	for (unsigned i = 0; all && i < policy->n_targets; i++)
		put_if_admitted(c, &policy->targets[i], out);
	if (all)
		return;
	if (!value[0])
		value = s->target_name; /* of a discovery session that names none: nothing */
	if (iscsi_name_check(value, name))
		return;
	if (s->discovery)
		put_if_admitted(c, policy_find(policy, name), out);
	else if (!strcmp(name, s->target_name) && s->target)
		put_target(c, s->target, out);
}
