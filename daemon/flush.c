/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See flush.h.
 */
#include "daemon/flush.h"
#include "backing/backing.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"

#include <stdlib.h>
#include <string.h>

struct flush {
	struct daemon *daemon;
	struct list ones; /* flush_one.node: not answered yet */
	unsigned failed;
	void (*done)(struct flush *f, unsigned failed);
	void *arg;
};

struct flush_one {
	struct list node; /* flush->ones */
	struct flush *flush;
	struct scsi_lu *lu; /* counted */
	struct reactor_msg msg;
	struct backing_io io;
};

static void back(struct reactor_msg *msg)
{
	struct flush_one *o = list_entry(msg, struct flush_one, msg);
	struct flush *f = o->flush;

	if (o->io.result) {
		log_error(LOG_DAEMON, "lu %s: flush: %s", o->lu->id.name,
			  text_errno(-o->io.result));
		f->failed++;
	}
	list_del(&o->node);
	lu_unref(o->lu);
	free(o);
	if (!list_empty(&f->ones))
		return;
	f->done(f, f->failed);
	free(f);
}

static void reply(struct flush_one *o)
{
	o->msg.run = back;
	reactor_send(o->flush->daemon->control, &o->msg);
}

static void io_done(struct backing_io *io)
{
	struct flush_one *o = list_entry(io, struct flush_one, io);

	lu_queue_put(o->lu, o->flush->daemon->set[0]);
	reply(o);
}

/* On the I/O thread. */
static void go(struct reactor_msg *msg)
{
	struct flush_one *o = list_entry(msg, struct flush_one, msg);
	struct backing_queue *q;

	o->io.result = lu_queue_get(o->lu, o->flush->daemon->set[0], &q);
	if (o->io.result) {
		reply(o);
		return;
	}
	o->io.kind = BACKING_FLUSH;
	o->io.done = io_done;
	backing_submit(q, &o->io);
}

static bool needs_flush(const struct node_lu *l)
{
	unsigned flags = l->store ? l->store->backing->info.flags : 0;

	return l->store && (flags & BACKING_VOLATILE_CACHE) && !(flags & BACKING_READ_ONLY);
}

static void add(struct flush *f, struct node_lu *l)
{
	struct flush_one *o = calloc(1, sizeof(*o));

	if (!o) {
		log_error(LOG_DAEMON, "lu %s: no memory to flush it", l->config.name);
		f->failed++;
		return;
	}
	o->flush = f;
	o->lu = l->lu;
	lu_ref(o->lu);
	o->msg.run = go;
	list_add_tail(&f->ones, &o->node);
	reactor_send(f->daemon->set[0], &o->msg);
}

struct flush *flush_begin(struct daemon *d, void (*done)(struct flush *f, unsigned failed),
			  void *arg)
{
	struct flush *f = calloc(1, sizeof(*f));
	struct list *l;

	if (!f)
		return NULL;
	list_init(&f->ones);
	f->daemon = d;
	f->done = done;
	f->arg = arg;
	list_for_each (l, &d->node.lus) {
		struct node_lu *nl = list_entry(l, struct node_lu, node);

		if (needs_flush(nl))
			add(f, nl);
	}
	if (!list_empty(&f->ones))
		return f;
	free(f);
	return NULL;
}

void *flush_arg(const struct flush *f)
{
	return f->arg;
}

void flush_each_pending(const struct flush *f, void (*each)(const char *lu, void *arg), void *arg)
{
	struct list *l;

	list_for_each (l, &f->ones)
		each(list_entry(l, struct flush_one, node)->lu->id.name, arg);
}
