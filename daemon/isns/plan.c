/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/isns/plan.h"
#include "daemon/isns/codec.h"
#include "transport/iscsi/policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_SIZE  32768u
#define PORTALS_MAX   256u
#define SCN_NODES_MAX 256u /* that are told of changes */

struct endpoint {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d (RFC 4171 6.3.1) */
	uint16_t port, tpgt;
};

struct maker {
	const struct iscsi_policy *policy;
	const struct isns_identity *id;
	struct isns_plan *plan;
	struct endpoint portals[PORTALS_MAX];
	unsigned n;
	const char *source; /* name of the first target: who speaks */
	struct isns_message m;
	uint8_t buffer[MESSAGE_SIZE];
};

static bool is_told(const struct iscsi_target *t)
{
	return t->online && !t->removed;
}

static void add_endpoint(struct maker *k, const char *host, uint8_t family,
			 const struct iscsi_address *a)
{
	struct endpoint e = { .port = a->port, .tpgt = a->tpgt };
	char text[INET6_ADDRSTRLEN];
	size_t n = strlen(host);

	if (k->n == PORTALS_MAX || n < 2 || n - 2 >= sizeof(text))
		return;
	if (family == AF_INET) {
		e.address[10] = e.address[11] = 0xff;
		if (inet_pton(AF_INET, host, e.address + 12) != 1)
			return;
	} else {
		snprintf(text, sizeof(text), "%.*s", (int)n - 2, host + 1); /* brackets */
		if (inet_pton(AF_INET6, text, e.address) != 1)
			return;
	}
	for (unsigned i = 0; i < k->n; i++)
		if (!memcmp(&k->portals[i], &e, sizeof(e)))
			return;
	k->portals[k->n++] = e;
}

/* Host names cannot be told: a portal is an address there. */
static void find_portals(struct maker *k)
{
	const struct iscsi_policy *p = k->policy;

	for (unsigned i = 0; i < p->n_addresses; i++) {
		const struct iscsi_address *a = &p->addresses[i];

		if (a->kind == ISCSI_ADDRESS_FIXED && a->family != AF_UNSPEC)
			add_endpoint(k, a->host, a->family, a);
		for (unsigned j = 0; a->kind != ISCSI_ADDRESS_FIXED && j < p->n_interfaces; j++)
			if (p->interfaces[j].family == a->family)
				add_endpoint(k, p->interfaces[j].host, a->family, a);
	}
}

static int keep(struct maker *k, struct isns_bytes *to)
{
	if (isns_end(&k->m, &to->length))
		return -ENOMEM;
	to->bytes = malloc(to->length);
	if (!to->bytes)
		return -ENOMEM;
	memcpy(to->bytes, k->buffer, to->length);
	return 0;
}

static int keep_message(struct maker *k)
{
	struct isns_plan *plan = k->plan;
	struct isns_bytes *more =
	    reallocarray(plan->messages, plan->n + 1, sizeof(*plan->messages));

	if (!more)
		return -ENOMEM;
	plan->messages = more;
	if (keep(k, &plan->messages[plan->n]))
		return -ENOMEM;
	plan->n++;
	return 0;
}

static void begin(struct maker *k, uint16_t function, uint16_t flags)
{
	isns_begin(&k->m, k->buffer, sizeof(k->buffer), function, flags);
	isns_put_text(&k->m, ISNS_NODE_NAME, k->source);
}

static void begin_registration(struct maker *k, uint16_t flags)
{
	begin(k, ISNS_REGISTER, flags);
	isns_put_text(&k->m, ISNS_ENTITY_ID, k->id->entity);
	isns_put(&k->m, ISNS_DELIMITER, NULL, 0);
	isns_put_text(&k->m, ISNS_ENTITY_ID, k->id->entity);
	isns_put_number(&k->m, ISNS_ENTITY_PROTOCOL, ISNS_PROTOCOL_ISCSI);
	isns_put_number(&k->m, ISNS_PERIOD, k->id->period_s);
}

static void put_portals(struct maker *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		const struct endpoint *e = &k->portals[i];
		bool known = false;

		for (unsigned j = 0; j < i; j++)
			known |= !memcmp(e->address, k->portals[j].address, 16) &&
				 e->port == k->portals[j].port;
		if (known)
			continue;
		isns_put(&k->m, ISNS_PORTAL_ADDRESS, e->address, 16);
		isns_put_number(&k->m, ISNS_PORTAL_PORT, e->port); /* bit 15 clear: TCP */
		if (k->id->esi_s && k->id->port) {
			isns_put_number(&k->m, ISNS_ESI_INTERVAL, k->id->esi_s);
			isns_put_number(&k->m, ISNS_ESI_PORT, k->id->port);
		}
		if (k->id->port)
			isns_put_number(&k->m, ISNS_SCN_PORT, k->id->port);
		k->plan->n_portals++;
	}
}

/* A target, then the tag and the portals of each of its portal groups (5.6.5.1). */
static void put_target(struct maker *k, const struct iscsi_target *t)
{
	isns_put_text(&k->m, ISNS_NODE_NAME, t->name);
	isns_put_number(&k->m, ISNS_NODE_TYPE, ISNS_NODE_TARGET);
	if (t->alias[0])
		isns_put_text(&k->m, ISNS_NODE_ALIAS, t->alias);
	for (unsigned i = 0; i < k->n; i++) {
		const struct endpoint *e = &k->portals[i];

		if (!policy_in_group(t, e->tpgt))
			continue;
		isns_put_number(&k->m, ISNS_GROUP_TAG, e->tpgt);
		isns_put(&k->m, ISNS_GROUP_ADDRESS, e->address, 16);
		isns_put_number(&k->m, ISNS_GROUP_PORT, e->port);
	}
}

/* In as many messages as it takes. */
static int make_registration(struct maker *k)
{
	begin_registration(k, ISNS_REPLACE);
	put_portals(k);
	for (unsigned i = 0; i < k->policy->n_targets; i++) {
		struct writer before = k->m.w;

		if (!is_told(&k->policy->targets[i]))
			continue;
		put_target(k, &k->policy->targets[i]);
		if (k->m.w.broken) {
			k->m.w = before;
			if (keep_message(k))
				return -ENOMEM;
			begin_registration(k, 0);
			put_target(k, &k->policy->targets[i]);
		}
		k->plan->n_targets++;
	}
	return keep_message(k);
}

static int make_scn_registrations(struct maker *k)
{
	unsigned left = SCN_NODES_MAX;

	for (unsigned i = 0; i < k->policy->n_targets && left && k->id->port; i++) {
		const char *name = k->policy->targets[i].name;

		if (!is_told(&k->policy->targets[i]))
			continue;
		isns_begin(&k->m, k->buffer, sizeof(k->buffer), ISNS_SCN_REGISTER, 0);
		isns_put_text(&k->m, ISNS_NODE_NAME, name);
		isns_put_text(&k->m, ISNS_NODE_NAME, name);
		isns_put(&k->m, ISNS_DELIMITER, NULL, 0);
		isns_put_number(&k->m, ISNS_SCN_BITMAP,
				ISNS_SCN_SELF | ISNS_SCN_REMOVED | ISNS_SCN_ADDED |
				    ISNS_SCN_UPDATED);
		if (keep_message(k))
			return -ENOMEM;
		left--;
	}
	return 0;
}

static int make_goodbye(struct maker *k)
{
	begin(k, ISNS_DEREGISTER, 0);
	isns_put(&k->m, ISNS_DELIMITER, NULL, 0);
	isns_put_text(&k->m, ISNS_ENTITY_ID, k->id->entity);
	return keep(k, &k->plan->goodbye);
}

int isns_plan_make(const struct iscsi_policy *p, const struct isns_identity *id,
		   struct isns_plan **ret)
{
	struct isns_plan *plan = calloc(1, sizeof(*plan));
	struct maker *k = calloc(1, sizeof(*k));
	int r = plan && k ? 0 : -ENOMEM;

	if (!r) {
		k->policy = p;
		k->id = id;
		k->plan = plan;
		for (unsigned i = p->n_targets; i--;)
			if (is_told(&p->targets[i]))
				k->source = p->targets[i].name;
		find_portals(k);
	}
	if (!r && k->source && k->n) {
		r = make_registration(k);
		if (!r)
			r = make_scn_registrations(k);
		if (!r)
			r = make_goodbye(k);
	}
	free(k);
	if (r) {
		isns_plan_free(plan);
		return r;
	}
	*ret = plan;
	return 0;
}

void isns_plan_free(struct isns_plan *plan)
{
	if (!plan)
		return;
	for (unsigned i = 0; i < plan->n; i++)
		free(plan->messages[i].bytes);
	free(plan->messages);
	free(plan->goodbye.bytes);
	free(plan);
}
