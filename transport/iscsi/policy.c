/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/policy.h"

#include "daemon/base/text.h"
#include "scsi/alua.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct iscsi_policy *policy_alloc(unsigned n_targets)
{
	struct iscsi_policy *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->targets = calloc(n_targets ? n_targets : 1, sizeof(*p->targets));
	if (!p->targets) {
		free(p);
		return NULL;
	}
	atomic_init(&p->refs, 1);
	p->n_targets = n_targets;
	for (unsigned i = 0; i < n_targets; i++)
		key_limits_defaults(&p->targets[i].keys);
	key_limits_defaults(&p->keys);
	p->login_timeout_s = 15;
	p->nop_interval_s = 30;
	p->nop_timeout_s = 60;
	p->max_sessions = 4096;
	p->max_connections = 8192;
	p->max_unauthenticated = 1024;
	p->window = 128;
	p->logout_timeout_s = 10;
	return p;
}

/* The counter is the only thing in a published policy that changes. */
static struct iscsi_policy *counted(const struct iscsi_policy *p)
{
	union {
		const struct iscsi_policy *shared;
		struct iscsi_policy *owned;
	} u = { .shared = p };

	return u.owned;
}

void policy_ref(const struct iscsi_policy *p)
{
	atomic_fetch_add_explicit(&counted(p)->refs, 1, memory_order_relaxed);
}

static void free_text(const char *text)
{
	union {
		const char *shared;
		char *owned;
	} u = { .shared = text };

	free(u.owned);
}

static void rules_free(struct iscsi_rule *rules, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free_text(rules[i].account);
		lun_map_unref(rules[i].map);
	}
	free(rules);
}

static void target_clear(struct iscsi_target *t)
{
	rules_free(t->rules, t->n_rules);
	free(t->groups);
	alua_table_free(t->alua);
	free(t->redirect_groups);
	lun_map_unref(t->map);
}

void policy_unref(const struct iscsi_policy *p)
{
	struct iscsi_policy *owned;

	if (!p)
		return;
	owned = counted(p);
	if (atomic_fetch_sub_explicit(&owned->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < owned->n_targets; i++)
		target_clear(&owned->targets[i]);
	for (unsigned i = 0; i < owned->n_accounts; i++)
		chap_account_clear(&owned->accounts[i]);
	free(owned->accounts);
	free(owned->addresses);
	free(owned->interfaces);
	rules_free(owned->discovery, owned->n_discovery);
	free(owned->targets);
	free(owned);
}

static int compare_name(const void *name, const void *target)
{
	return strcmp(name, ((const struct iscsi_target *)target)->name);
}

const struct iscsi_target *policy_find(const struct iscsi_policy *p, const char *name)
{
	return bsearch(name, p->targets, p->n_targets, sizeof(*p->targets), compare_name);
}

bool policy_in_group(const struct iscsi_target *t, uint16_t tpgt)
{
	for (unsigned i = 0; i < t->n_groups; i++)
		if (t->groups[i].tpgt == tpgt)
			return true;
	return !t->n_groups;
}

bool policy_redirects(const struct iscsi_target *t, uint16_t tpgt)
{
	for (unsigned i = 0; i < t->n_redirect_groups; i++)
		if (t->redirect_groups[i] == tpgt)
			return t->redirect[0];
	return t->redirect[0] && !t->n_redirect_groups;
}

/* The address bytes of a peer; an IPv4-mapped IPv6 address counts as IPv4. */
static uint8_t peer_bytes(const struct sockaddr_storage *peer, uint8_t out[static 16])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)peer;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)peer;

	memset(out, 0, 16);
	if (peer->ss_family == AF_INET) {
		memcpy(out, &v4->sin_addr, 4);
		return AF_INET;
	}
	if (peer->ss_family != AF_INET6)
		return AF_UNSPEC;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(out, &v6->sin6_addr.s6_addr[12], 4);
		return AF_INET;
	}
	memcpy(out, &v6->sin6_addr, 16);
	return AF_INET6;
}

static bool in_network(const struct iscsi_rule *r, uint8_t family, const uint8_t address[static 16])
{
	unsigned bits = family == AF_INET ? 32 : 128;
	unsigned prefix = r->prefix < bits ? r->prefix : bits;
	uint8_t mask = (uint8_t)(0xff00u >> (prefix % 8));

	if (family != r->family || memcmp(address, r->network, prefix / 8) != 0)
		return false;
	return prefix % 8 == 0 || !((address[prefix / 8] ^ r->network[prefix / 8]) & mask);
}

const struct chap_account *policy_account(const struct iscsi_policy *p, const char *name)
{
	for (unsigned i = 0; i < p->n_accounts; i++)
		if (!strcmp(p->accounts[i].name, name))
			return &p->accounts[i];
	return NULL;
}

const struct iscsi_rule *policy_candidate(struct iscsi_rules rules,
					  const struct iscsi_applicant *who,
					  const struct iscsi_rule *after)
{
	uint8_t address[16];
	uint8_t family = peer_bytes(who->peer, address);

	for (unsigned i = after ? (unsigned)(after - rules.list) + 1 : 0; i < rules.n; i++) {
		const struct iscsi_rule *r = &rules.list[i];

		if (r->initiator[0] && !text_match(r->initiator, who->initiator))
			continue;
		if (r->has_network && !in_network(r, family, address))
			continue;
		return r;
	}
	return NULL;
}

const struct iscsi_rule *policy_rule(struct iscsi_rules rules, const struct iscsi_applicant *who,
				     const char *account)
{
	const struct iscsi_rule *r = NULL;

	while ((r = policy_candidate(rules, who, r)))
		if (!r->account || (account && !strcmp(r->account, account)))
			return r;
	return NULL;
}

const struct iscsi_rule *policy_admit(const struct iscsi_target *t, const char *initiator,
				      const struct sockaddr_storage *peer)
{
	const struct iscsi_applicant who = { initiator, peer };

	return policy_candidate(policy_target_rules(t), &who, NULL);
}

bool policy_knows(const struct iscsi_target *t, const char *initiator)
{
	for (unsigned i = 0; i < t->n_rules; i++) {
		const char *pattern = t->rules[i].initiator;

		if (!pattern[0] || text_match(pattern, initiator))
			return true;
	}
	return false;
}

const struct scsi_lun_map *policy_map(const struct iscsi_target *t, const struct iscsi_rule *rule)
{
	return rule && rule->map ? rule->map : t->map;
}
