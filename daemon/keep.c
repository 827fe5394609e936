/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/keep.h"

#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"
#include "daemon/state.h"
#include "scsi/pr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void keep_key(const struct scsi_lu *lu, char key[static KEEP_KEY])
{
	text_hex(key, lu->id.naa, sizeof(lu->id.naa));
}

/* Every LU that was in service once has its identity there, until it is deleted. */
bool keep_orphan(struct daemon *d, const struct scsi_lu *lu)
{
	const struct state_identity *id = state_find(d->state, STATE_IDENTITY, lu->id.name);
	char naa[KEEP_KEY];

	keep_key(lu, naa);
	return !id || (id->naa && strcasecmp(id->naa, naa) != 0);
}

struct dropping {
	struct state_commit commit;
	char name[64];
};

static void dropped(struct state_commit *c)
{
	struct dropping *g = list_entry(c, struct dropping, commit);

	if (c->result)
		log_warn(LOG_DAEMON, "lu %s: what was kept of it could not be removed: %s", g->name,
			 text_errno(-c->result));
	state_change_free(c->change);
	free(g);
}

/* Without memory a file is left that nobody reads again: the identifier is never given out twice.
 */
void keep_drop(struct daemon *d, enum state_kind kind, const struct scsi_lu *lu)
{
	struct dropping *g = calloc(1, sizeof(*g));
	struct state_change *ch = state_change_new();
	char naa[KEEP_KEY];

	keep_key(lu, naa);
	if (!g || !ch || state_change_delete(ch, kind, naa)) {
		state_change_free(ch);
		free(g);
		return;
	}
	snprintf(g->name, sizeof(g->name), "%s", lu->id.name);
	g->commit.change = ch;
	g->commit.done = dropped;
	state_commit_begin(d->state, d->control, &g->commit);
}

struct keeping {
	struct state_commit commit;
	struct daemon *daemon;
	struct keep_request rq;
};

static void committed(struct state_commit *c)
{
	struct keeping *g = list_entry(c, struct keeping, commit);
	const struct keep_request *rq = &g->rq;

	if (c->result)
		log_error(LOG_DAEMON,
			  "lu %s: the state folder %s cannot be written: %s; %s that must outlive "
			  "the process was refused",
			  rq->lu->id.name, g->daemon->settings.state_dir, text_errno(-c->result),
			  rq->what);
	else if (keep_orphan(g->daemon, rq->lu))
		keep_drop(g->daemon, rq->kind, rq->lu);
	rq->answer(rq->request, c->result);
	state_change_free(c->change);
	free(g);
}

void keep_begin(struct daemon *d, const struct keep_request *rq)
{
	struct keeping *g = calloc(1, sizeof(*g));
	struct state_change *ch = state_change_new();

	if (!g || !ch || rq->fill(d, ch, rq->request)) {
		state_change_free(ch);
		free(g);
		rq->answer(rq->request, -ENOMEM);
		return;
	}
	g->daemon = d;
	g->rq = *rq;
	g->commit.change = ch;
	g->commit.done = committed;
	state_commit_begin(d->state, d->control, &g->commit);
}

/* --- Persistent reservations ------------------------------------------------------------------
 */
static void returned(struct reactor_msg *msg)
{
	struct pr_keep *k = list_entry(msg, struct pr_keep, msg);

	k->done(k);
}

static void answer(void *request, int result)
{
	struct pr_keep *k = request;

	k->result = result;
	k->msg.run = returned;
	reactor_send(k->reactor, &k->msg);
}

/* The texts of a registration lie in the table, and in keys. 0 or -ENOMEM. */
/* NOLINTNEXTLINE(readability-non-const-parameter): borrowed by an object that owns its texts */
static int put_table(struct state_change *ch, char *naa, const struct pr_table *t)
{
	struct state_registration *regs = calloc(t->n, sizeof(*regs));
	char(*keys)[19] = calloc(t->n, sizeof(*keys));
	struct state_pr pr = {
		.naa = naa, .type = t->type, .registrations = regs, .n_registrations = t->n
	};
	int r = regs && keys ? 0 : -ENOMEM;

	for (unsigned i = 0; i < t->n && !r; i++) {
		const struct pr_registration *from = &t->regs[i];

		snprintf(keys[i], sizeof(keys[i]), "0x%016llx", (unsigned long long)from->key);
		regs[i] = (struct state_registration){
			.initiator = strdup(from->nexus.initiator),
			.target = strdup(from->nexus.target),
			.key = keys[i],
			.port = from->nexus.relative_port,
			.holder = !pr_all_registrants(t->type) && pr_is_holder(t, (int)i),
		};
		if (!regs[i].initiator || !regs[i].target)
			r = -ENOMEM;
	}
	if (!r)
		r = state_change_put(ch, STATE_PR, &pr);
	for (unsigned i = 0; regs && i < t->n; i++) {
		free(regs[i].initiator);
		free(regs[i].target);
	}
	free(keys);
	free(regs);
	return r;
}

static int fill(struct daemon *d, struct state_change *ch, const void *request)
{
	const struct pr_keep *k = request;
	char naa[KEEP_KEY];

	(void)d;
	keep_key(k->lu, naa);
	return k->table ? put_table(ch, naa, k->table) : state_change_delete(ch, STATE_PR, naa);
}

static void on_control(struct reactor_msg *msg)
{
	struct pr_keep *k = list_entry(msg, struct pr_keep, msg);

	keep_begin(k->priv, &(struct keep_request){
				.kind = STATE_PR,
				.lu = k->lu,
				.what = "a change of reservations",
				.request = k,
				.fill = fill,
				.answer = answer,
			    });
}

static void keep(struct pr_keep *k, void *arg)
{
	struct daemon *d = arg;

	k->priv = d;
	k->msg.run = on_control;
	reactor_send(d->control, &k->msg);
}

void keep_start(struct daemon *d)
{
	scsi_set_pr_keeper(keep, d);
}

int keep_restore(struct daemon *d, struct scsi_lu *lu)
{
	const struct state_pr *pr;
	char naa[KEEP_KEY];
	struct pr_table *t;

	keep_key(lu, naa);
	pr = state_find(d->state, STATE_PR, naa);
	if (!pr)
		return 0;
	t = pr_table_copy(NULL, pr->n_registrations);
	if (!t)
		return -ENOMEM;
	t->type = (uint8_t)pr->type;
	t->aptpl = true;
	for (unsigned i = 0; i < pr->n_registrations; i++) {
		const struct state_registration *r = &pr->registrations[i];

		/* Lengths were checked with the file. */
		(void)pr_nexus_set(&t->regs[i].nexus, r->initiator, r->target, r->port);
		t->regs[i].key = strtoull(r->key, NULL, 16);
		if (r->holder)
			t->holder = i;
		t->n++;
	}
	lu_pr_restore(lu, t);
	return 0;
}
