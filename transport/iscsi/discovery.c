/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an initiator is told of addresses. It gets those of the family by which it has come, since
 * many log in to all they are told, and wait for minutes at one that they cannot reach; a target
 * that has none of that family is listed with what it has.
 */
#include "transport/iscsi/discovery.h"

#include "transport/iscsi/conn.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/session.h"
#include "transport/iscsi/text.h"
#include "transport/portal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 1024 /* addresses in all */

/* A value of TargetAddress, "address:port,tag" (RFC 7143 13.8). */
struct line {
	uint16_t tpgt;
	bool foreign; /* of the other family */
	char text[ISCSI_ADDRESS_MAX + 16];
};

struct listing {
	const struct iscsi_conn *c;
	const struct iscsi_policy *policy;
	char local[INET6_ADDRSTRLEN + 2]; /* the address that the initiator has come to */
	uint8_t family;                   /* and its family */
	bool loopback, link_local;
	struct line *lines;
	unsigned n;
};

/* An IPv4-mapped address is IPv4. */
static void find_local(struct listing *l)
{
	const struct sockaddr_in *v4 = (const void *)&l->c->local;
	const struct sockaddr_in6 *v6 = (const void *)&l->c->local;
	bool mapped = v6->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
	char text[INET6_ADDRSTRLEN];

	if (v4->sin_family == AF_INET || mapped) {
		const void *address =
		    mapped ? (const void *)&v6->sin6_addr.s6_addr[12] : (const void *)&v4->sin_addr;

		l->family = AF_INET;
		l->loopback = *(const uint8_t *)address == 127;
		inet_ntop(AF_INET, address, l->local, sizeof(l->local));
	} else if (v6->sin6_family == AF_INET6) {
		l->family = AF_INET6;
		l->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		/* It means nothing without the initiator's own interface. */
		l->link_local = IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(l->local, sizeof(l->local), "[%s]", text);
	}
}

static void add_line(struct listing *l, const struct iscsi_address *a, const char *host,
		     uint8_t family)
{
	struct line *line = &l->lines[l->n];

	if (l->n >= LINES_MAX)
		return;
	line->tpgt = a->tpgt;
	line->foreign = family != AF_UNSPEC && family != l->family && !l->policy->all_families;
	snprintf(line->text, sizeof(line->text), "%s:%u,%u", host, a->port, a->tpgt);
	/* A wildcard and an address may come to the same. */
	for (unsigned i = 0; i < l->n; i++)
		if (!strcmp(l->lines[i].text, line->text))
			return;
	l->n++;
}

/* What is bound to the loopback can be reached by those only who have come by it. */
static void add_fixed(struct listing *l, const struct iscsi_address *a)
{
	bool loopback = (a->family == AF_INET && !strncmp(a->host, "127.", 4)) ||
			(a->family == AF_INET6 && !strcmp(a->host, "[::1]"));

	if (!loopback || l->loopback)
		add_line(l, a, a->host, a->family);
}

/*
 * A wildcard is of no use to an initiator: it stands for the address by which this one has come,
 * and for the machine's others, unless it has come by the loopback.
 */
static void add_wildcard(struct listing *l, const struct iscsi_address *a)
{
	bool came_here = a->family == l->family;

	if (came_here && !l->link_local)
		add_line(l, a, l->local, l->family);
	if (a->kind == ISCSI_ADDRESS_ANY_HERE || l->loopback)
		return;
	for (unsigned i = 0; i < l->policy->n_interfaces; i++)
		if (l->policy->interfaces[i].family == a->family)
			add_line(l, a, l->policy->interfaces[i].host, a->family);
}

static bool listing_begin(struct listing *l, const struct iscsi_conn *c)
{
	*l = (struct listing){ .c = c, .policy = c->ir->policy };
	l->lines = calloc(LINES_MAX + 1, sizeof(*l->lines));
	if (!l->lines)
		return false;
	find_local(l);
	for (unsigned i = 0; i < l->policy->n_addresses; i++) {
		const struct iscsi_address *a = &l->policy->addresses[i];

		if (a->kind == ISCSI_ADDRESS_FIXED)
			add_fixed(l, a);
		else
			add_wildcard(l, a);
	}
	return true;
}

static bool is_listed(const struct iscsi_target *t, const struct line *line, bool foreign)
{
	return line->foreign == foreign && policy_in_group(t, line->tpgt);
}

/* How many addresses it has. */
static unsigned count_lines(const struct listing *l, const struct iscsi_target *t, bool foreign)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		n += is_listed(t, &l->lines[i], foreign);
	return n;
}

/* A record: the name, then the addresses of all its portal groups. One that can be reached nowhere
 * is left out. */
static void put_target(const struct listing *l, const struct iscsi_target *t, struct text_out *out)
{
	const struct portal *here = l->c->portal;
	bool foreign = !count_lines(l, t, false);
	struct line last;

	if (foreign && !count_lines(l, t, true)) {
		/* None of its portals is advertised: this one may have it. */
		if (!policy_in_group(t, here->tpgt) || !l->family || l->link_local)
			return;
		snprintf(last.text, sizeof(last.text), "%s:%u,%u", l->local, here->port,
			 here->tpgt);
		text_put(out, "TargetName", t->name);
		text_put(out, "TargetAddress", last.text);
		return;
	}
	text_put(out, "TargetName", t->name);
	for (unsigned i = 0; i < l->n; i++)
		if (is_listed(t, &l->lines[i], foreign))
			text_put(out, "TargetAddress", l->lines[i].text);
}

static void put_if_admitted(const struct listing *l, const struct iscsi_target *t,
			    struct text_out *out)
{
	if (t && policy_admit(t, l->c->session->initiator, &l->c->peer))
		put_target(l, t, out);
}

static void put_targets(const struct listing *l, const char *value, struct text_out *out)
{
	const struct iscsi_session *s = l->c->session;
	char name[ISCSI_NAME_MAX + 1];
	bool all = !strcmp(value, "All");

	for (unsigned i = 0; all && s->discovery && i < l->policy->n_targets; i++)
		put_if_admitted(l, &l->policy->targets[i], out);
	if (all && s->discovery)
		return;
	if (!value[0] || all)
		value = s->target_name; /* of a discovery session that names none: nothing */
	if (iscsi_name_check(value, name))
		return;
	if (s->discovery)
		put_if_admitted(l, policy_find(l->policy, name), out);
	else if (!strcmp(name, s->target_name) && s->target)
		put_target(l, s->target, out);
}

/*
 * RFC 7143 appendix C: All is for discovery sessions. Where the administrator wants it, a normal
 * session gets the one target that it may be told of.
 */
static bool is_refused(const struct iscsi_conn *c, const char *value)
{
	char name[ISCSI_NAME_MAX + 1];

	if (c->session->discovery || !value[0])
		return false;
	if (!strcmp(value, "All"))
		return !c->ir->policy->all_in_normal_sessions;
	return iscsi_name_check(value, name) != 0;
}

int discovery_send_targets(const struct iscsi_conn *c, const char *value, struct text_out *out)
{
	struct listing l;

	if (is_refused(c, value)) {
		if (c->ir->policy->all_in_normal_sessions)
			return -EPROTO;
		text_put(out, "SendTargets", "Reject");
		return 0;
	}
	if (!listing_begin(&l, c)) {
		out->error = -ENOMEM;
		return 0;
	}
	put_targets(&l, value, out);
	free(l.lines);
	return 0;
}
