/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Method lun.resize: without a size the daemon looks at the store again; with one the file is made
 * that long. What is noted in the state comes first, so that a failure of it leaves all as it was.
 */
#include "daemon/admin/lun.h"
#include "daemon/admin/request.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The work on the store, and who wants to know. */
struct resize {
	struct offload_job job;
	struct admin_request *rq;
	struct node_store *store;
	struct scsi_lu *lu; /* counted: keeps the store open */
	uint64_t size;      /* 0: look only */
	uint64_t before;
	int rc;
};

/* What is asked for; rq->data. */
struct wish {
	uint64_t size;       /* 0: look only */
	uint64_t noted_size; /* of the settings, while they change */
	bool force;
};

static uint64_t size_of(const struct node_store *s)
{
	return __atomic_load_n(&s->backing->info.size, __ATOMIC_RELAXED);
}

static void work(struct offload_job *job)
{
	struct resize *z = list_entry(job, struct resize, job);
	struct backing *b = z->store->backing;

	if (z->size)
		z->rc = backing_resize(b, z->size);
	else
		z->rc = b->ops->refresh ? b->ops->refresh(b) : 0;
}

static void answer(struct resize *z)
{
	const char *name = z->store->name;
	uint64_t size = size_of(z->store);

	/* Also when it failed half way: initiators must hear of it. */
	if (size != z->before) {
		lu_resized(z->lu);
		log_info(LOG_DAEMON, "lu %s: %llu bytes, were %llu", name, (unsigned long long)size,
			 (unsigned long long)z->before);
	}
	if (z->rc && z->size)
		admin_fail(z->rq, ADMIN_FAILED, "lu %s: %s cannot be made %llu bytes long: %s",
			   name, z->store->path ? z->store->path : "its store",
			   (unsigned long long)z->size, text_errno(-z->rc));
	else if (z->rc)
		admin_fail(z->rq, ADMIN_FAILED, "lu %s: its store's size cannot be read: %s", name,
			   text_errno(-z->rc));
	else
		admin_reply(z->rq,
			    json_pack("{s:s, s:I, s:I}", "name", name, "size", (json_int_t)size,
				      "size_before", (json_int_t)z->before));
}

static void done(struct offload_job *job)
{
	struct resize *z = list_entry(job, struct resize, job);

	answer(z);
	store_idle(z->store);
	lu_unref(z->lu);
	free(z);
}

/* The LU as it is now, or NULL and the request has been refused. */
static struct node_lu *find(struct admin_request *rq)
{
	const char *name = json_string_value(json_object_get(rq->params, "name"));
	struct node_lu *l = node_find_lu(&rq->daemon->node, name);

	if (!l)
		admin_fail(rq, ADMIN_NOT_FOUND, "lu %s does not exist; see \"hawserctl lun list\"",
			   name);
	else if (!l->store)
		admin_fail(rq, ADMIN_CONFLICT, "lu %s is out of service: %s", name,
			   l->why ? l->why : "it has no store");
	else if (l->store->busy)
		admin_fail(rq, ADMIN_CONFLICT,
			   "lu %s: an earlier question to its store is not answered yet; try again "
			   "later",
			   name);
	else
		return l;
	return NULL;
}

/* Can its store be made that long? */
static bool is_good(struct admin_request *rq, const struct node_lu *l)
{
	const struct wish *w = rq->data;
	const char *name = l->config.name;

	if (!w->size)
		return true;
	if (strcmp(l->config.type, "file") != 0)
		admin_fail(rq, ADMIN_CONFLICT,
			   "lu %s: only a store of type file is made longer here, this one is of "
			   "type %s; resize what it lies on, then \"hawserctl lun resize %s\"",
			   name, l->config.type, name);
	else if (w->size % l->config.block_size)
		admin_fail(rq, ADMIN_REFUSED, "lu %s: %llu bytes are not whole blocks of %u", name,
			   (unsigned long long)w->size, (unsigned)l->config.block_size);
	else if (w->size < size_of(l->store) && !w->force)
		admin_fail(rq, ADMIN_CONFLICT,
			   "lu %s has %llu bytes: with %llu what lies behind them would be lost; "
			   "say --force if it may be",
			   name, (unsigned long long)size_of(l->store),
			   (unsigned long long)w->size);
	else
		return true;
	return false;
}

static void start(struct admin_request *rq)
{
	const struct wish *w = rq->data;
	struct node_lu *l = find(rq);
	struct resize *z;

	if (!l || !is_good(rq, l))
		return;
	z = calloc(1, sizeof(*z));
	if (!z) {
		admin_fail(rq, ADMIN_FAILED, "no memory");
		return;
	}
	z->rq = rq;
	z->size = w->size;
	z->before = size_of(l->store);
	z->store = l->store;
	z->store->busy = true;
	z->lu = l->lu;
	lu_ref(z->lu);
	z->job =
	    (struct offload_job){ .work = work, .done = done, .reply_to = rq->daemon->control };
	offload_submit(z->store->queue, &z->job);
}

/* The size in the settings of an open unit is for people: the unit stays as it is. */
static enum apply_result note(struct apply_request *ar)
{
	struct admin_request *rq = list_entry(ar, struct admin_request, apply);
	const char *name = json_string_value(json_object_get(rq->params, "name"));
	struct config_lu *want = config_find_lu(ar->desired, name);
	struct node_lu *have = node_find_lu(&rq->daemon->node, name);
	struct wish *w = rq->data;

	if (!want || !have || want->origin.file)
		return APPLY_DONE; /* gone meanwhile: start says so */
	w->noted_size = have->config.size;
	want->size = have->config.size = w->size;
	return edit_keep(ar, STATE_LU, want);
}

static void noted(struct apply_request *ar)
{
	struct admin_request *rq = list_entry(ar, struct admin_request, apply);
	const char *name = json_string_value(json_object_get(rq->params, "name"));
	struct node_lu *l = node_find_lu(&rq->daemon->node, name);
	const struct wish *w = rq->data;

	if (ar->result == APPLY_DONE) {
		start(rq);
		return;
	}
	if (l && w->noted_size)
		l->config.size = w->noted_size;
	admin_fail(rq, ADMIN_FAILED, "%s", ar->why);
}

static struct wish *read_wish(struct admin_request *rq)
{
	struct wish *w = calloc(1, sizeof(*w));
	struct config_lu l;
	char why[400];
	int rc;

	if (!w || config_object_init(&config_lu_scope, &l)) {
		free(w);
		admin_fail(rq, ADMIN_FAILED, "no memory");
		return NULL;
	}
	rc = admin_object_from_json(&config_lu_scope, rq->params, "", &l, why, sizeof(why));
	if (!rc) {
		w->size = l.size;
		w->force = l.force;
	}
	config_object_clear(&config_lu_scope, &l);
	if (!rc)
		return w;
	free(w);
	admin_fail(rq, ADMIN_INVALID_PARAMS, "lun.resize: %s", why);
	return NULL;
}

void lun_resize(struct admin_request *rq)
{
	const struct node_lu *l;

	if (!admin_text(rq, "name"))
		return;
	rq->data = read_wish(rq);
	if (!rq->data)
		return;
	l = find(rq);
	if (!l || !is_good(rq, l))
		return;
	/* hawser.conf is for people to change, and a size that was not said is not said now. */
	if (!((struct wish *)rq->data)->size || l->config.origin.file || !l->config.size) {
		start(rq);
		return;
	}
	rq->apply.prepare = note;
	rq->apply.done = noted;
	apply_submit(rq->daemon, &rq->apply);
}
