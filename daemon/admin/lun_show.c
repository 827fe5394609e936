/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods lun.* that look: settings, condition, store. What blocks (allocated space) is a job on
 * the store's own queue.
 */
#include "daemon/admin/lun.h"
#include "daemon/admin/request.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"
#include "scsi/provision.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *condition(const struct node_lu *l)
{
	switch ((enum lu_not_ready)atomic_load(&l->lu->not_ready)) {
	case LU_READY:
		return "ready";
	case LU_NO_STORE:
		return "out of service";
	case LU_STOPPED:
		return "stopped";
	case LU_EJECTED:
		return "ejected";
	case LU_FORMATTING:
		return "formatting";
	case LU_SANITIZING:
		return "sanitizing";
	case LU_FORMAT_FAILED:
		return "format failed";
	case LU_SANITIZE_FAILED:
		return "sanitize failed";
	}
	return "unknown";
}

static json_t *mapped_json(const struct config *c, const char *lu)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < c->n_targets; i++)
		for (unsigned j = 0; j < c->targets[i].n_luns; j++)
			if (!strcmp(c->targets[i].luns[j].lu, lu))
				json_array_append_new(
				    list, json_pack("{s:s, s:I}", "target", c->targets[i].name,
						    "lun", (json_int_t)c->targets[i].luns[j].lun));
	return list;
}

static json_t *lu_json(const struct daemon *d, const struct node_lu *l)
{
	const struct config_lu *cfg = config_find_lu(d->node.config, l->config.name);
	json_t *j = admin_object_json(&config_lu_scope, &l->config);

	/* Where it stands now, which moves when lines are added above it. */
	if (cfg)
		json_object_set_new(j, "origin", admin_origin_json(&cfg->origin));
	json_object_set_new(j, "condition", json_string(condition(l)));
	if (l->why)
		json_object_set_new(j, "why", json_string(l->why));
	if (l->store) /* changes while a resize is under way */
		json_object_set_new(j, "size",
				    json_integer((json_int_t)__atomic_load_n(
					&l->store->backing->info.size, __ATOMIC_RELAXED)));
	json_object_set_new(j, "mapped", mapped_json(d->node.config, l->config.name));
	return j;
}

void lun_list(struct admin_request *rq)
{
	json_t *list = json_array();
	struct list *l;

	list_for_each (l, &rq->daemon->node.lus)
		json_array_append_new(list,
				      lu_json(rq->daemon, list_entry(l, struct node_lu, node)));
	admin_reply(rq, json_pack("{s:o}", "luns", list));
}

static void add_space(json_t *j, const struct scsi_lu *lu)
{
	uint64_t available = atomic_load(&lu->space.available);

	if (available != SPACE_UNKNOWN)
		json_object_set_new(j, "available", json_integer((json_int_t)available));
	if (atomic_load(&lu->geo.used_threshold))
		json_object_set_new(j, "threshold_used_reached",
				    json_boolean(atomic_load(&lu->space.used_reached)));
	if (atomic_load(&lu->geo.available_threshold))
		json_object_set_new(j, "threshold_available_reached",
				    json_boolean(atomic_load(&lu->space.available_reached)));
}

static void add_store(json_t *j, const struct node_lu *l)
{
	const struct backing_info *i = &l->store->backing->info;
	const struct lu_geometry *g = &l->lu->geo;
	struct lu_counters n;

	json_object_set_new(j, "blocks", json_integer((json_int_t)atomic_load(&g->blocks)));
	json_object_set_new(j, "engine_used", json_string(i->engine ? i->engine : ""));
	/* An honest word about what a power cut may take: a volatile cache is flushed on demand. */
	json_object_set_new(j, "write_cache", json_boolean(i->flags & BACKING_VOLATILE_CACHE));
	json_object_set_new(j, "gives_space_back",
			    json_boolean(g->thin && (i->flags & BACKING_CAN_TRIM)));
	json_object_set_new(j, "opened_read_only", json_boolean(i->flags & BACKING_READ_ONLY));
	add_space(j, l->lu);
	lu_get_counters(l->lu, &n);
	json_object_set_new(
	    j, "counters",
	    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "reads", (json_int_t)n.reads, "writes",
		      (json_int_t)n.writes, "read_bytes", (json_int_t)n.read_bytes, "write_bytes",
		      (json_int_t)n.write_bytes, "unmaps", (json_int_t)n.unmaps, "flushes",
		      (json_int_t)n.flushes, "errors", (json_int_t)n.errors));
}

/* A blocking look at a store, and who wants to know. */
struct look {
	struct offload_job job;
	struct admin_request *rq;
	struct node_store *store;
	struct scsi_lu *lu; /* counted: keeps the store open */
	json_t *result;
	int rc;
	uint64_t allocated;
};

static void look_work(struct offload_job *job)
{
	struct look *k = list_entry(job, struct look, job);

	k->rc = backing_allocated(k->store->backing, &k->allocated);
}

static void look_answer(struct look *k)
{
	if (!k->rc)
		json_object_set_new(k->result, "allocated", json_integer((json_int_t)k->allocated));
	admin_reply(k->rq, json_incref(k->result));
}

static void look_done(struct offload_job *job)
{
	struct look *k = list_entry(job, struct look, job);

	look_answer(k);
	store_idle(k->store);
	lu_unref(k->lu);
	json_decref(k->result);
	free(k);
}

/* Takes over result. */
static void look(struct admin_request *rq, struct node_lu *l, json_t *result)
{
	struct look *k;

	if (l->store->busy) {
		json_decref(result);
		admin_fail(rq, ADMIN_CONFLICT,
			   "lu %s: an earlier question to its store is not answered yet; try again "
			   "later",
			   l->config.name);
		return;
	}
	k = calloc(1, sizeof(*k));
	if (!k) {
		json_decref(result);
		admin_fail(rq, ADMIN_FAILED, "no memory");
		return;
	}
	k->rq = rq;
	k->store = l->store;
	k->store->busy = true;
	k->lu = l->lu;
	lu_ref(k->lu);
	k->result = result;
	k->job = (struct offload_job){ .work = look_work,
				       .done = look_done,
				       .reply_to = rq->daemon->control };
	offload_submit(k->store->queue, &k->job);
}

static struct node_lu *find(struct admin_request *rq)
{
	const char *name = admin_text(rq, "name");
	struct node_lu *l = name ? node_find_lu(&rq->daemon->node, name) : NULL;

	if (name && !l)
		admin_fail(rq, ADMIN_NOT_FOUND, "lu %s does not exist; see \"hawserctl lun list\"",
			   name);
	return l;
}

void lun_show(struct admin_request *rq)
{
	struct node_lu *l = find(rq);
	json_t *j;

	if (!l)
		return;
	j = lu_json(rq->daemon, l);
	if (l->store)
		add_store(j, l);
	if (l->store && !l->store->busy)
		look(rq, l, j);
	else
		admin_reply(rq, j);
}

void lun_fault(struct admin_request *rq)
{
	const char *rules = admin_text(rq, "rules");
	struct node_lu *l = rules ? find(rq) : NULL;
	struct backing *b = l && l->store ? l->store->backing : NULL;

	if (!l)
		return;
	if (!b || !b->ops->control)
		admin_fail(rq, ADMIN_CONFLICT,
			   "lu %s has no fault store in front; make it with the setting \"fault\"",
			   l->config.name);
	else if (b->ops->control(b, rules))
		admin_fail(rq, ADMIN_REFUSED, "lu %s: the rules are not understood",
			   l->config.name);
	else
		admin_reply(rq, NULL);
}
