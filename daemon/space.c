/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/space.h"

#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "scsi/provision.h"

#include <stdlib.h>

struct space {
	struct daemon *daemon;
	struct reactor_timer timer;
};

/* One look at one store. */
struct look {
	struct offload_job job;
	struct daemon *daemon;
	struct node_store *store;
	struct scsi_lu *lu; /* counted: keeps the store open */
	uint64_t used, available, total;
};

static void look_work(struct offload_job *job)
{
	struct look *k = list_entry(job, struct look, job);

	if (backing_allocated(k->store->backing, &k->used))
		k->used = SPACE_UNKNOWN;
	if (backing_space(k->store->backing, &k->total, &k->available))
		k->available = SPACE_UNKNOWN;
}

static void say(const struct node_lu *l, unsigned crossed, const struct look *k)
{
	if (crossed & SPACE_USED)
		log_warn(LOG_DAEMON,
			 "lu %s: %llu bytes of its store are in use, the threshold is %s",
			 l->config.name, (unsigned long long)k->used, l->config.threshold_used);
	if (crossed & SPACE_AVAILABLE)
		log_warn(LOG_DAEMON,
			 "lu %s: %llu bytes are left where %s takes its space from, the threshold "
			 "is %s; make room before writes fail",
			 l->config.name, (unsigned long long)k->available,
			 l->config.path ? l->config.path : "it", l->config.threshold_available);
}

static void report(const struct look *k)
{
	struct node_lu *l = node_find_lu(&k->daemon->node, k->lu->id.name);
	struct space_report r = { .used = k->used, .available = k->available };

	if (!l || l->lu != k->lu)
		return; /* replaced meanwhile */
	r.used_threshold = config_threshold_bytes(
	    l->config.threshold_used, atomic_load(&k->lu->geo.blocks) * k->lu->geo.block_size);
	if (k->available != SPACE_UNKNOWN)
		r.available_threshold =
		    config_threshold_bytes(l->config.threshold_available, k->total);
	say(l, lu_space_report(k->lu, &r), k);
}

static void look_done(struct offload_job *job)
{
	struct look *k = list_entry(job, struct look, job);

	report(k);
	k->store->looked_at = false;
	lu_unref(k->lu);
	free(k);
}

void space_look(struct daemon *d, struct node_lu *l)
{
	struct look *k;

	if (!l->store || l->store->looked_at || !l->lu->geo.thin || d->stop)
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->daemon = d;
	k->store = l->store;
	k->store->looked_at = true;
	k->lu = l->lu;
	lu_ref(k->lu);
	k->job =
	    (struct offload_job){ .work = look_work, .done = look_done, .reply_to = d->control };
	offload_submit(k->store->queue, &k->job);
}

static void arm(struct space *s)
{
	const struct config *c = s->daemon->node.config;
	unsigned period_s = c ? c->daemon.space_period_s : 1;

	reactor_timer_arm(s->daemon->control, &s->timer, 1000ull * period_s);
}

static void fired(struct reactor_timer *timer)
{
	struct space *s = list_entry(timer, struct space, timer);
	struct list *l;

	list_for_each (l, &s->daemon->node.lus)
		space_look(s->daemon, list_entry(l, struct node_lu, node));
	arm(s);
}

struct space *space_start(struct daemon *d)
{
	struct space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->daemon = d;
	reactor_timer_init(&s->timer, fired);
	arm(s);
	return s;
}

void space_stop(struct space *s)
{
	if (!s)
		return;
	reactor_timer_disarm(&s->timer);
	free(s);
}
