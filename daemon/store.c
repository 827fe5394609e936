/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores of the live tree: opening and closing by offload jobs, each store on a queue of its own,
 * so that a hung one holds nobody else.
 */
#include "backing/backing.h"
#include "config/schema.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "daemon/helper.h"
#include "daemon/node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUSY_WAIT_MS = 2000, BUSY_PAUSE_MS = 20 };

/* "auto" and nothing said both leave the choice to the stores. */
static const char *engine_of(const struct node *n, const struct config_lu *l)
{
	const char *engine = l->engine ? l->engine : n->daemon->settings.engine;

	return strcmp(engine, "auto") ? engine : NULL;
}

/* Takes the place of what the store said. */
static __attribute__((format(printf, 2, 3))) void say(struct store_open *o, const char *format, ...)
{
	va_list args;

	free(o->why);
	va_start(args, format);
	if (vasprintf(&o->why, format, args) < 0)
		o->why = NULL;
	va_end(args);
}

/* What only the daemon knows about a failure. */
static void explain(struct store_open *o)
{
	const struct config_lu *l = &o->config;
	const struct daemon *d = o->node->daemon;

	/* Perhaps its file system is not mounted: an empty disk in its place would be a disaster.
	 */
	if (o->result == -ENOENT && l->create && l->seen)
		say(o,
		    "%s: was there before and is gone, so no empty one is made in its place; bring "
		    "it back, or make one by \"truncate -s %llu %s\"",
		    l->path, (unsigned long long)l->size, l->path);
	if (o->result == -EACCES && d->helper && l->path)
		say(o,
		    "%s: the helper may not open it; it opens files and devices below store_paths "
		    "(%s), change that in hawser.conf and restart, or move it there",
		    l->path, d->settings.store_paths);
}

/*
 * A daemon that was killed may hold its stores a little longer than its pid: the kernel first ends
 * what it had in progress there. Who comes after it at once must not leave its units out for that.
 */
static void open_patiently(struct store_open *o, const struct backing_params *p)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE_MS * 1000000L };

	for (int tries = BUSY_WAIT_MS / BUSY_PAUSE_MS;; tries--) {
		o->result = backing_open(p, &o->backing, &o->why);
		if (o->result != -EBUSY || !tries)
			return;
		free(o->why);
		o->why = NULL;
		nanosleep(&pause, NULL);
	}
}

static void open_work(struct offload_job *job)
{
	struct store_open *o = list_entry(job, struct store_open, job);
	const struct config_lu *l = &o->config;
	struct helper *helper = o->node->daemon->helper;
	struct backing_params p = {
		.type = l->type,
		.path = l->path,
		.size = l->size,
		.create = l->make || (l->create && !l->seen),
		.preallocate = l->preallocate,
		.read_only = l->read_only,
		.force = l->force,
		.cache = strcmp(l->cache, "direct") ? BACKING_CACHE_BUFFERED : BACKING_CACHE_DIRECT,
		.engine = engine_of(o->node, l),
		.block_size = l->block_size,
		.open_path = helper ? helper_open : NULL,
		.open_arg = helper,
		.log_path = l->log_path,
		.fault_spec = l->fault,
	};

	open_patiently(o, &p);
	if (o->result)
		explain(o);
}

static void open_done(struct offload_job *job)
{
	struct store_open *o = list_entry(job, struct store_open, job);

	o->done(o);
}

int store_open_begin(struct node *n, const struct config_lu *l, void (*done)(struct store_open *),
		     void *arg, struct store_open **ret)
{
	struct store_open *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->node = n;
	o->done = done;
	o->arg = arg;
	o->job.work = open_work;
	o->job.done = open_done;
	o->job.reply_to = n->daemon->control;
	r = config_object_copy(&config_lu_scope, &o->config, l);
	if (!r)
		r = offload_queue_create(l->name, 1, &o->queue);
	if (r) {
		config_object_clear(&config_lu_scope, &o->config);
		free(o);
		return r;
	}
	*ret = o;
	offload_submit(o->queue, &o->job);
	return 0;
}

int store_open_take(struct store_open *o, struct node_store **ret)
{
	struct node_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (o->config.path && !(s->path = strdup(o->config.path))) {
		free(s);
		return -ENOMEM;
	}
	snprintf(s->name, sizeof(s->name), "%s", o->config.name);
	s->tree = o->node;
	s->backing = o->backing;
	s->queue = o->queue;
	o->backing = NULL;
	o->queue = NULL;
	list_add_tail(&o->node->stores, &s->node);
	o->node->n_stores++;
	*ret = s;
	return 0;
}

static void close_work(struct offload_job *job)
{
	backing_close(list_entry(job, struct node_store, job)->backing);
}

static void close_done(struct offload_job *job)
{
	struct node_store *s = list_entry(job, struct node_store, job);
	struct node *n = s->tree;

	list_del(&s->node);
	n->n_stores--;
	n->n_leaving--;
	log_debug(LOG_DAEMON, "lu %s: store closed", s->name);
	offload_queue_destroy(s->queue);
	free(s->path);
	free(s);
	if (n->store_closed)
		n->store_closed(n);
}

void store_begin_leaving(struct node_store *s)
{
	if (s->leaving)
		return;
	s->leaving = true;
	s->tree->n_leaving++;
}

static void store_close(struct node_store *s)
{
	store_begin_leaving(s);
	s->released = true;
	/* A refresh in progress comes back first; store_idle then closes. */
	if (s->busy)
		return;
	s->job = (struct offload_job){ .work = close_work,
				       .done = close_done,
				       .reply_to = s->tree->daemon->control };
	offload_submit(s->queue, &s->job);
}

void store_leave(struct node_store *s)
{
	store_close(s);
}

void store_idle(struct node_store *s)
{
	s->busy = false;
	if (s->released)
		store_close(s);
}

static void released(struct reactor_msg *msg)
{
	store_close(list_entry(msg, struct node_store, released_msg));
}

void store_lu_destroyed(struct scsi_lu *lu, void *arg)
{
	struct node_store *s = arg;

	(void)lu;
	if (!s)
		return;
	s->released_msg.run = released;
	reactor_send(s->tree->daemon->control, &s->released_msg);
}

/* A store that nobody wants any more, opened after all: closed by a job like any other. */
void store_open_free(struct store_open *o)
{
	struct node_store *s;

	if (!o)
		return;
	if (o->backing && !store_open_take(o, &s))
		store_leave(s);
	offload_queue_destroy(o->queue);
	config_object_clear(&config_lu_scope, &o->config);
	free(o->why);
	free(o);
}
