/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From settings to what logins are decided by: struct iscsi_policy with targets, rules, LUN maps
 * and portals.
 */
#include "config/address.h"
#include "config/schema.h"
#include "daemon/apply_internal.h"
#include "transport/iscsi/policy.h"
#include "transport/portal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After the switch the wanted configuration is the one in force. */
const struct config *apply_wanted(const struct apply_run *run)
{
	return run->request->desired ? run->request->desired : run->daemon->node.config;
}

struct node_lu *apply_find_lu(const struct apply_run *run, const char *name)
{
	struct list *l;

	list_for_each (l, &run->lus) {
		struct apply_lu *al = list_entry(l, struct apply_lu, node);

		if (!strcmp(al->config.name, name))
			return al->retry ? al->have : al->made;
	}
	return node_find_lu(&run->daemon->node, name);
}

static uint16_t port_id(const struct apply_request *r, const char *target, uint16_t group)
{
	char key[300];
	const struct state_port *p;
	bool known;

	state_port_key(target, group, key);
	p = state_change_find(r->change, STATE_PORT, key, &known);
	if (!known)
		p = state_find(r->daemon->state, STATE_PORT, key);
	return p ? p->id : 0;
}

enum apply_result apply_number_ports(struct apply_run *run)
{
	struct apply_request *r = run->request;
	const struct config *c = r->desired;
	unsigned last = state_port_last(r->daemon->state);

	for (unsigned i = 0; i < c->n_targets; i++) {
		for (unsigned j = 0; j < c->n_portals; j++) {
			struct state_port p = { .target = c->targets[i].name,
						.group = c->portals[j].group };

			if (!config_in_group(&c->targets[i], p.group) ||
			    port_id(r, p.target, p.group))
				continue;
			/* Never re-used (SPC-4 wants it stable): 65535 in the life of a state. */
			if (last >= 65535)
				return apply_refuse(r, APPLY_FAILED,
						    "target %s: all 65535 relative target port "
						    "identifiers have been used",
						    p.target);
			p.id = (uint16_t)++last;
			if (state_change_put(r->change, STATE_PORT, &p))
				return apply_refuse(r, APPLY_FAILED,
						    "no memory; nothing was changed");
		}
	}
	return APPLY_DONE;
}

/* NULL and *ret_failed on lack of memory; NULL for a rule that shows the target's own map. */
static const struct scsi_lun_map *make_map(struct apply_run *run, const struct config_lun *luns,
					   unsigned n)
{
	struct scsi_lun_entry *entries = calloc(n ? n : 1, sizeof(*entries));
	const struct scsi_lun_map *map = NULL;
	unsigned used = 0;

	if (!entries)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		struct node_lu *l = apply_find_lu(run, luns[i].lu);

		/* config_check has seen that it exists. */
		if (!l)
			continue;
		entries[used++] = (struct scsi_lun_entry){ .lun = luns[i].lun,
							   .lu = l->lu,
							   .read_only = luns[i].read_only };
	}
	map = lun_map_create(entries, used);
	free(entries);
	return map;
}

static int fill_secret(const char *text, struct chap_secret *to)
{
	size_t length;

	to->length = 0;
	/* config_check has seen that it is one. */
	if (text && !config_secret_bytes(text, to->bytes, &length))
		to->length = (uint8_t)length;
	return text && !to->length ? -1 : 0;
}

static unsigned algorithms_of(const struct config_account *a)
{
	unsigned bits = 0;
	char word[32];

	for (const char *p = a->algorithms ? a->algorithms : ""; *p;) {
		size_t n = strcspn(p, " ");

		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		bits |= CHAP_BIT(chap_algorithm_find(word));
		p += n;
		p += strspn(p, " ");
	}
	return a->algorithms ? bits & CHAP_ALL : CHAP_ALL;
}

static int fill_account(const struct config_account *a, struct chap_account *to)
{
	to->name = strdup(a->name);
	to->mutual_name = a->mutual_name ? strdup(a->mutual_name) : NULL;
	to->require_mutual = a->require_mutual;
	to->algorithms = algorithms_of(a);
	if (!to->name || (a->mutual_name && !to->mutual_name))
		return -1;
	if (fill_secret(a->secret, &to->secret[0]) || fill_secret(a->secret2, &to->secret[1]))
		return -1;
	return fill_secret(a->mutual_secret, &to->mutual);
}

static bool fill_accounts(const struct config *c, struct iscsi_policy *p)
{
	p->accounts = calloc(c->n_accounts ? c->n_accounts : 1, sizeof(*p->accounts));
	if (!p->accounts)
		return false;
	for (unsigned i = 0; i < c->n_accounts; i++) {
		p->n_accounts++;
		if (fill_account(&c->accounts[i], &p->accounts[i]))
			return false;
	}
	return true;
}

static int fill_rule(struct apply_run *run, const struct config_access *a, struct iscsi_rule *rule)
{
	unsigned prefix;
	int family;

	snprintf(rule->initiator, sizeof(rule->initiator), "%s", a->initiator ? a->initiator : "");
	if (a->network && !config_parse_network(a->network, &family, &prefix, rule->network)) {
		rule->has_network = true;
		rule->family = (uint8_t)family;
		rule->prefix = (uint8_t)prefix;
	}
	rule->read_only = a->read_only;
	if (a->account) {
		rule->account = strdup(a->account);
		if (!rule->account)
			return -1;
	}
	if (a->n_luns) {
		rule->map = make_map(run, a->luns, a->n_luns);
		if (!rule->map)
			return -1;
	}
	return 0;
}

/* An offer of the administrator's narrows the default; it never widens what a transport can. */
static void fill_keys(const struct config_target *t, struct key_limits *k)
{
	key_limits_defaults(k);
	if (t->header_digest == 0)
		k->header_digest_crc32c = false;
	if (t->header_digest == 1)
		k->header_digest_none = false;
	if (t->data_digest == 0)
		k->data_digest_crc32c = false;
	if (t->data_digest == 1)
		k->data_digest_none = false;
	if (t->max_recv_data_segment_length)
		k->max_recv_data_segment_length = t->max_recv_data_segment_length;
	if (t->max_burst_length)
		k->max_burst_length = t->max_burst_length;
	if (t->first_burst_length)
		k->first_burst_length = t->first_burst_length;
	if (k->first_burst_length > k->max_burst_length)
		k->first_burst_length = k->max_burst_length;
	if (t->max_outstanding_r2t)
		k->max_outstanding_r2t = t->max_outstanding_r2t;
	k->max_connections = t->max_connections;
	k->default_time2wait = t->default_time2wait;
	k->default_time2retain = t->default_time2retain;
	k->error_recovery_level = t->error_recovery_level;
	if (t->initial_r2t >= 0)
		k->initial_r2t = (uint32_t)t->initial_r2t;
	if (t->immediate_data >= 0)
		k->immediate_data = (uint32_t)t->immediate_data;
}

static int fill_groups(struct apply_run *run, const struct config_target *t,
		       struct iscsi_target *to)
{
	const struct config *c = apply_wanted(run);

	to->groups = calloc(c->n_portals ? c->n_portals : 1, sizeof(*to->groups));
	if (!to->groups)
		return -1;
	for (unsigned i = 0; i < c->n_portals; i++) {
		uint16_t tag = c->portals[i].group;
		bool known = !config_in_group(t, tag);

		for (unsigned j = 0; j < to->n_groups; j++)
			known |= to->groups[j].tpgt == tag;
		if (!known)
			to->groups[to->n_groups++] = (struct iscsi_target_group){
				.tpgt = tag,
				.relative_port = port_id(run->request, t->name, tag),
			};
	}
	to->alua = apply_alua(run->request, t, to);
	return to->alua ? 0 : -1;
}

/* A port is always told: initiators differ in what they take for the default. */
static int fill_redirect(const struct config_target *t, struct iscsi_target *to)
{
	struct config_address a;
	char text[CONFIG_ADDRESS_MAX];

	to->removed = t->removed;
	if (!t->redirect || config_parse_address(t->redirect, &a))
		return 0;
	if (!a.port)
		a.port = ISCSI_DEFAULT_PORT;
	config_format_address(&a, text);
	snprintf(to->redirect, sizeof(to->redirect), "%s", text);
	to->redirect_permanent = t->redirect_permanent;
	if (!t->n_redirect_groups)
		return 0;
	to->redirect_groups = calloc(t->n_redirect_groups, sizeof(*to->redirect_groups));
	if (!to->redirect_groups)
		return -1;
	memcpy(to->redirect_groups, t->redirect_groups,
	       t->n_redirect_groups * sizeof(*to->redirect_groups));
	to->n_redirect_groups = t->n_redirect_groups;
	return 0;
}

static int fill_target(struct apply_run *run, const struct config_target *t,
		       struct iscsi_target *to)
{
	snprintf(to->name, sizeof(to->name), "%s", t->name);
	snprintf(to->alias, sizeof(to->alias), "%s", t->alias ? t->alias : "");
	to->online = t->online;
	to->max_sessions = t->max_sessions;
	fill_keys(t, &to->keys);
	to->map = make_map(run, t->luns, t->n_luns);
	if (!to->map)
		return -1;
	to->rules = calloc(t->n_access ? t->n_access : 1, sizeof(*to->rules));
	if (!to->rules)
		return -1;
	for (unsigned i = 0; i < t->n_access; i++) {
		to->n_rules++;
		if (fill_rule(run, &t->access[i], &to->rules[i]))
			return -1;
	}
	return fill_redirect(t, to) || fill_groups(run, t, to) ? -1 : 0;
}

struct by_name {
	const struct config_target *target;
};

static int compare_names(const void *a, const void *b)
{
	const struct by_name *x = a, *y = b;

	return strcmp(x->target->name, y->target->name);
}

static bool fill_discovery(struct apply_run *run, const struct config_daemon *d,
			   struct iscsi_policy *p)
{
	p->discovery =
	    calloc(d->n_discovery_access ? d->n_discovery_access : 1, sizeof(*p->discovery));
	if (!p->discovery)
		return false;
	for (unsigned i = 0; i < d->n_discovery_access; i++) {
		p->n_discovery++;
		if (fill_rule(run, &d->discovery_access[i], &p->discovery[i]))
			return false;
	}
	return true;
}

static void fill_limits(const struct config_daemon *d, struct iscsi_policy *p)
{
	key_limits_defaults(&p->keys);
	p->login_timeout_s = d->login_timeout_s;
	p->nop_interval_s = d->nop_interval_s;
	p->nop_timeout_s = d->nop_timeout_s;
	p->max_sessions = d->max_sessions;
	p->max_sessions_per_initiator = d->max_sessions_per_initiator;
	p->max_connections = d->max_connections;
	p->max_unauthenticated = d->max_unauthenticated;
	p->max_unauthenticated_per_address = d->max_unauthenticated_per_address;
	p->window = d->window;
	p->logout_timeout_s = 3;
}

struct iscsi_policy *apply_policy(struct apply_run *run)
{
	const struct config *c = apply_wanted(run);
	struct by_name *sorted = calloc(c->n_targets ? c->n_targets : 1, sizeof(*sorted));
	struct iscsi_policy *p = policy_alloc(c->n_targets);
	bool good = sorted && p;

	for (unsigned i = 0; i < c->n_targets && good; i++)
		sorted[i].target = &c->targets[i];
	if (good) {
		qsort(sorted, c->n_targets, sizeof(*sorted), compare_names);
		fill_limits(&c->daemon, p);
		good = fill_accounts(c, p) && fill_discovery(run, &c->daemon, p) &&
		       !apply_addresses(run, p);
	}
	for (unsigned i = 0; i < c->n_targets && good; i++)
		good = !fill_target(run, sorted[i].target, &p->targets[i]);
	free(sorted);
	if (good)
		return p;
	policy_unref(p);
	return NULL;
}
