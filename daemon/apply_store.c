/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening stores for a request: all at once, each on a queue of its own. A store that cannot be
 * opened refuses an administrator's request, and leaves its LU out of service at start and reload.
 */
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ended(struct apply_run *run, bool late)
{
	reactor_timer_disarm(&run->open_timer);
	apply_opened(run, late);
}

static void out_of_service(struct node_lu *l, const char *why)
{
	free(l->why);
	l->why = strdup(why);
	log_error(LOG_DAEMON,
		  "lu %s: out of service: %s; when that is mended, \"hawserctl lun retry %s\"",
		  l->config.name, why, l->config.name);
}

/* An LU without a store in the place of one that could not be opened. */
static int make_empty(struct apply_lu *al)
{
	char *unfit = NULL;
	int r = node_lu_create(&al->run->daemon->node, &al->config, NULL, NULL, &al->made, &unfit);

	free(unfit);
	return r;
}

static void failed(struct apply_lu *al, int r, const char *why)
{
	struct apply_run *run = al->run;

	if (!run->lenient && !al->after_close) {
		if (run->request->result == APPLY_DONE)
			apply_refuse(run->request, APPLY_FAILED, "lu %s: %s", al->config.name, why);
		return;
	}
	if (al->retry) {
		out_of_service(al->have, why);
		return;
	}
	if (!al->made && make_empty(al)) {
		apply_refuse(run->request, APPLY_FAILED, "lu %s: %s", al->config.name,
			     text_errno(r ? -r : ENOMEM));
		return;
	}
	out_of_service(al->made, why);
}

/* The store joins an LU that is in the tree already. */
static int attach(struct node_lu *l, struct node_store *s, char **ret_why)
{
	struct lu_params params;
	const char *unfit = NULL;
	int r;

	node_lu_params(&l->config, &params);
	/* Set first: once attached, the LU may be let go of by any thread. */
	l->lu->destroyed_arg = s;
	r = lu_attach(l->lu, &params, s->backing, &unfit);
	if (r) {
		l->lu->destroyed_arg = NULL;
		if (unfit)
			*ret_why = strdup(unfit);
		return r;
	}
	l->store = s;
	free(l->why);
	l->why = NULL;
	log_info(LOG_DAEMON, "lu %s: in service", l->config.name);
	node_lu_resume(s->tree, l);
	return 0;
}

static void opened_good(struct apply_lu *al, struct store_open *o)
{
	struct node_lu *into = al->retry ? al->have : al->made;
	struct node_store *s = NULL;
	char *why = NULL;
	int r = store_open_take(o, &s);

	if (!r && into)
		r = attach(into, s, &why);
	else if (!r)
		r = node_lu_create(&al->run->daemon->node, &al->config, s, NULL, &al->made, &why);
	if (r) {
		if (s)
			store_leave(s);
		failed(al, r, why ? why : text_errno(-r));
	}
	free(why);
}

struct second_try {
	struct apply_request request;
	char name[64];
};

static enum apply_result second_prepare(struct apply_request *r)
{
	return config_find_lu(r->desired, r->retry_lu) ? APPLY_DONE : APPLY_NOT_FOUND;
}

static void second_done(struct apply_request *r)
{
	free(list_entry(r, struct second_try, request));
}

/* Nobody waits for it any more, but the store answers now: once more from the beginning. */
static void answers_after_all(struct store_open *o)
{
	struct second_try *t = o->result ? NULL : calloc(1, sizeof(*t));
	struct daemon *d = o->node->daemon;

	if (t)
		snprintf(t->name, sizeof(t->name), "%s", o->config.name);
	store_open_free(o);
	if (!t)
		return;
	t->request.retry = true;
	t->request.retry_lu = t->name;
	t->request.prepare = second_prepare;
	t->request.done = second_done;
	apply_submit(d, &t->request);
}

static void opened(struct store_open *o)
{
	struct apply_lu *al = o->arg;
	struct apply_run *run;
	char text[256];
	bool late;

	if (!al) {
		answers_after_all(o);
		return;
	}
	run = al->run;
	late = al->after_close;
	al->open = NULL;
	if (o->result) {
		snprintf(text, sizeof(text), "%s cannot be opened: %s",
			 o->config.path ? o->config.path : o->config.type, text_errno(-o->result));
		failed(al, o->result, o->why ? o->why : text);
	} else {
		opened_good(al, o);
	}
	store_open_free(o);
	if (--run->pending == 0)
		ended(run, late);
}

/* A store that does not answer, a dead file server perhaps, holds its own LU only. */
static void open_timeout(struct reactor_timer *t)
{
	struct apply_run *run = list_entry(t, struct apply_run, open_timer);
	struct list *l;
	bool late = false;

	list_for_each (l, &run->lus) {
		struct apply_lu *al = list_entry(l, struct apply_lu, node);

		if (!al->open)
			continue;
		late = al->after_close;
		al->open->arg = NULL;
		al->open = NULL;
		run->pending--;
		failed(al, -ETIMEDOUT, "its store does not answer; it is used as soon as it does");
	}
	ended(run, late);
}

static void begin(struct apply_lu *al)
{
	int r;

	if (al->config.lost) {
		failed(al, 0,
		       "its state file was damaged and has been set aside; repair it and "
		       "start the daemon again");
		return;
	}
	r = store_open_begin(&al->run->daemon->node, &al->config, opened, al, &al->open);
	if (r)
		failed(al, r, text_errno(-r));
	else
		al->run->pending++;
}

void apply_open(struct apply_run *run, bool late)
{
	struct list *l;

	reactor_timer_init(&run->open_timer, open_timeout);
	/* Held while the list is walked: nothing ends before all have begun. */
	run->pending = 1;
	list_for_each (l, &run->lus) {
		struct apply_lu *al = list_entry(l, struct apply_lu, node);

		if (al->after_close == late)
			begin(al);
		else if (!late && !al->retry && make_empty(al))
			apply_refuse(run->request, APPLY_FAILED, "no memory; nothing was changed");
	}
	if (--run->pending == 0)
		ended(run, late);
	else
		reactor_timer_arm(run->daemon->control, &run->open_timer,
				  run->daemon->apply.open_wait_ms);
}
