/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The difference between the tree and what is wanted, object by object; and the identities of
 * logical units, which are chosen once and kept for ever.
 */
#include "config/schema.h"
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* NAA 6 (SPC-4, IEEE Registered Extended): 24 bits of a locally administered company identifier,
 * the rest random, so that it is never used twice. */
static int choose_identity(char naa[static 33], char serial[static 17])
{
	uint8_t b[24];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -EIO;
	b[0] = (uint8_t)(0x60 | (b[0] & 0x0f));
	b[1] = (uint8_t)((b[1] & 0x0f) | 0x20); /* the local bit of the identifier's first byte */
	for (unsigned i = 0; i < 16; i++)
		snprintf(naa + (size_t)2 * i, 3, "%02x", b[i]);
	for (unsigned i = 0; i < 8; i++)
		snprintf(serial + (size_t)2 * i, 3, "%02x", b[16 + i]);
	return 0;
}

static int set_text(char **to, const char *text)
{
	if (*to)
		return 0;
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* The settings' own come first; what they leave out is chosen, once. */
static int new_identity(struct apply_request *r, struct config_lu *to)
{
	char naa[33], serial[17];
	struct state_identity id = { .name = to->name };

	if (state_torn(r->daemon->state, STATE_IDENTITY) && r->boot)
		return -ENODATA;
	if (choose_identity(naa, serial))
		return -EIO;
	id.naa = to->naa ? NULL : naa;
	id.serial = to->serial ? NULL : serial;
	if (set_text(&to->naa, naa) || set_text(&to->serial, serial))
		return -ENOMEM;
	return state_change_put(r->change, STATE_IDENTITY, &id);
}

/* It had its identity from the settings, which have lost it since: one is chosen now. */
static int complete_identity(struct apply_request *r, const struct state_identity *have,
			     struct config_lu *to)
{
	struct state_identity id = *have;
	char naa[33], serial[17];

	if (choose_identity(naa, serial))
		return -EIO;
	id.naa = id.naa || to->naa ? id.naa : naa;
	id.serial = id.serial || to->serial ? id.serial : serial;
	if (set_text(&to->naa, id.naa ? id.naa : naa) ||
	    set_text(&to->serial, id.serial ? id.serial : serial))
		return -ENOMEM;
	if (id.naa == have->naa && id.serial == have->serial)
		return 0;
	return state_change_put(r->change, STATE_IDENTITY, &id);
}

static const struct state_identity *find_identity(const struct apply_request *r, const char *name)
{
	const struct state_identity *id;
	bool known;

	id = state_change_find(r->change, STATE_IDENTITY, name, &known);
	return known ? id : state_find(r->daemon->state, STATE_IDENTITY, name);
}

int apply_settle_identity(struct apply_request *r, const struct config_lu *l, struct config_lu *to)
{
	const struct state_identity *id;
	int rc = config_object_copy(&config_lu_scope, to, l);

	if (rc || to->lost)
		return rc;
	id = find_identity(r, l->name);
	to->seen = id && id->opened;
	rc = id ? complete_identity(r, id, to) : new_identity(r, to);
	/* Whoever was kept from writing by what is lost must not write now. */
	if (!rc && (state_lost(r->daemon->state, STATE_PR, to->naa) ||
		    state_lost(r->daemon->state, STATE_UNIT, to->naa)))
		rc = -ENODATA;
	if (rc && rc != -ENODATA)
		config_object_clear(&config_lu_scope, to);
	return rc;
}

int apply_note_opened(struct apply_run *run)
{
	struct list *l;

	list_for_each (l, &run->lus) {
		const struct apply_lu *al = list_entry(l, struct apply_lu, node);
		const struct node_lu *nl = al->retry ? al->have : al->made;
		const struct state_identity *id = find_identity(run->request, al->config.name);
		struct state_identity opened;

		if (!nl || !nl->store || !id || id->opened)
			continue;
		opened = *id;
		opened.opened = true;
		if (state_change_put(run->request->change, STATE_IDENTITY, &opened))
			return -ENOMEM;
	}
	return 0;
}

static enum apply_result no_memory(struct apply_run *run)
{
	return apply_refuse(run->request, APPLY_FAILED, "no memory; nothing was changed");
}

static bool wants_retry(const struct apply_run *run, const struct node_lu *have)
{
	const struct apply_request *r = run->request;

	return !have->store && (r->retry || r->lenient) && !have->config.lost &&
	       (!r->retry_lu || !strcmp(r->retry_lu, have->config.name));
}

static enum apply_result diff_lu(struct apply_run *run, const struct config_lu *want)
{
	struct node_lu *have = node_find_lu(&run->daemon->node, want->name);
	struct apply_lu *al = calloc(1, sizeof(*al));
	int rc;

	if (!al)
		return no_memory(run);
	list_init(&al->node);
	rc = apply_settle_identity(run->request, want, &al->config);
	if (rc == -ENODATA) {
		al->config.lost = true;
		rc = 0;
	}
	if (rc) {
		free(al);
		return no_memory(run);
	}
	al->run = run;
	al->have = have;
	al->retry = have && config_object_same(&config_lu_scope, &have->config, &al->config);
	if (al->retry && !config_object_equal(&config_lu_scope, &have->config, &al->config))
		run->request->n_changes++; /* live: apply_switch takes it over */
	if (al->retry && !wants_retry(run, have)) {
		config_object_clear(&config_lu_scope, &al->config);
		free(al);
		return APPLY_DONE;
	}
	al->after_close = al->retry || apply_path_is_held(run, al);
	if (!al->retry)
		run->request->n_changes++;
	list_add_tail(&run->lus, &al->node);
	return APPLY_DONE;
}

/* Identities of what was made at run time go with it; those of hawser.conf's stay, since a unit
 * that comes back there is the same one. */
static enum apply_result diff_gone_lus(struct apply_run *run)
{
	struct apply_request *r = run->request;
	struct list *l;

	list_for_each (l, &run->daemon->node.lus) {
		const struct node_lu *nl = list_entry(l, struct node_lu, node);

		if (config_find_lu(r->desired, nl->config.name))
			continue;
		r->n_changes++;
		if (nl->config.origin.file || nl->config.lost)
			continue;
		if (state_change_delete(r->change, STATE_IDENTITY, nl->config.name) ||
		    state_change_delete(r->change, STATE_PR, nl->config.naa) ||
		    state_change_delete(r->change, STATE_UNIT, nl->config.naa))
			return no_memory(run);
	}
	return APPLY_DONE;
}

static void diff_targets(struct apply_run *run)
{
	const struct config *have = run->daemon->node.config, *want = run->request->desired;
	unsigned same = 0;

	for (unsigned i = 0; have && i < have->n_targets; i++) {
		const struct config_target *t = config_find_target(want, have->targets[i].name);

		same += t && config_object_equal(&config_target_scope, t, &have->targets[i]);
	}
	run->request->n_changes += want->n_targets - same;
	for (unsigned i = 0; have && i < have->n_targets; i++)
		run->request->n_changes += !config_find_target(want, have->targets[i].name);
}

static void diff_accounts(struct apply_run *run)
{
	const struct config *have = run->daemon->node.config, *want = run->request->desired;
	unsigned same = 0;

	for (unsigned i = 0; have && i < have->n_accounts; i++) {
		const struct config_account *a = config_find_account(want, have->accounts[i].name);

		same += a && config_object_equal(&config_account_scope, a, &have->accounts[i]);
		run->request->n_changes += !a;
	}
	run->request->n_changes += want->n_accounts - same;
}

bool apply_wants_portal(const struct apply_run *run, const struct node_portal *np)
{
	const struct config *c = run->request->desired;

	for (unsigned i = 0; i < c->n_portals; i++)
		if (node_portal_is(&np->config, &c->portals[i]))
			return true;
	return false;
}

static enum apply_result diff_portals(struct apply_run *run)
{
	const struct config *c = run->request->desired;
	struct list *l;

	for (unsigned i = 0; i < c->n_portals; i++) {
		struct node_portal *have = node_find_portal(&run->daemon->node, &c->portals[i]);
		struct apply_portal *ap;

		if (have) {
			run->request->n_changes += !config_object_equal(
			    &config_portal_scope, &have->config, &c->portals[i]);
			continue;
		}
		ap = calloc(1, sizeof(*ap));
		if (ap)
			ap->made = calloc(1, sizeof(*ap->made));
		if (!ap || !ap->made) {
			free(ap);
			return no_memory(run);
		}
		list_init(&ap->made->node);
		list_add_tail(&run->portals, &ap->node);
		if (config_object_copy(&config_portal_scope, &ap->made->config, &c->portals[i]))
			return no_memory(run);
		run->request->n_changes++;
	}
	list_for_each (l, &run->daemon->node.portals)
		run->request->n_changes +=
		    !apply_wants_portal(run, list_entry(l, struct node_portal, node));
	return APPLY_DONE;
}

/* Settings of the process: what needs a restart keeps its value until then, and that is said. */
static void diff_daemon(struct apply_run *run)
{
	const struct config_daemon *have = &run->daemon->node.config->daemon;
	const struct config_daemon *want = &run->request->desired->daemon;

	if (config_object_equal(&config_daemon_scope, have, want))
		return;
	run->request->n_changes++;
	for (const struct config_setting *s = config_daemon_scope.settings; s->name; s++) {
		struct config_value v = config_read_value(s, have), w = config_read_value(s, want);
		bool same = v.kind == w.kind && (v.kind != VALUE_TEXT || !strcmp(v.s, w.s)) &&
			    v.i == w.i && v.b == w.b;

		if (s->restart && !same)
			log_warn(LOG_DAEMON, "daemon: %s takes effect at the next start", s->name);
	}
}

enum apply_result apply_diff(struct apply_run *run)
{
	const struct config *c = run->request->desired;
	enum apply_result result = APPLY_DONE;

	for (unsigned i = 0; i < c->n_lus && result == APPLY_DONE; i++)
		result = diff_lu(run, &c->lus[i]);
	if (result == APPLY_DONE)
		result = diff_gone_lus(run);
	if (result == APPLY_DONE)
		result = diff_portals(run);
	diff_accounts(run);
	diff_targets(run);
	if (run->daemon->node.config)
		diff_daemon(run);
	return result;
}
