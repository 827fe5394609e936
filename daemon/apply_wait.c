/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for stores that leave: as long as they have a file or device open nobody else may. A
 * store in which a command hangs does not close, so each wait has its limit, and a store that was
 * there before holds up only who wants its path.
 */
#include "daemon/apply_internal.h"

#include <string.h>

static bool same_path(const struct apply_lu *al, const struct node_store *s)
{
	return al->config.path && s->path && !strcmp(al->config.path, s->path);
}

bool apply_path_is_held(const struct apply_run *run, const struct apply_lu *al)
{
	struct list *l;

	list_for_each (l, &run->daemon->node.stores)
		if (same_path(al, list_entry(l, struct node_store, node)))
			return true;
	return false;
}

static bool is_wanted(const struct apply_run *run, const struct node_store *s)
{
	struct list *l;

	list_for_each (l, &run->lus) {
		const struct apply_lu *al = list_entry(l, struct apply_lu, node);

		if (al->after_close && same_path(al, s))
			return true;
	}
	return false;
}

/* Waits for it? Before the switch all that leave were there before. */
static bool is_awaited(const struct apply_run *run, const struct node_store *s)
{
	return s->leaving && ((run->switched && !s->left_before) || is_wanted(run, s));
}

const struct node_store *apply_awaited(const struct apply_run *run)
{
	struct list *l;

	list_for_each (l, &run->daemon->node.stores) {
		const struct node_store *s = list_entry(l, struct node_store, node);

		if (is_awaited(run, s))
			return s;
	}
	return NULL;
}

void apply_note_leaving(struct apply_run *run)
{
	struct list *l;

	list_for_each (l, &run->daemon->node.stores) {
		struct node_store *s = list_entry(l, struct node_store, node);

		s->left_before = s->leaving;
	}
	run->switched = true;
}

static void go_on(struct apply_run *run)
{
	run->daemon->node.store_closed = NULL;
	reactor_timer_disarm(&run->timer);
	run->closed(run);
}

static void store_closed(struct node *n)
{
	struct apply_run *run = n->daemon->apply.run;

	if (run && !apply_awaited(run))
		go_on(run);
}

static void timeout(struct reactor_timer *t)
{
	go_on(list_entry(t, struct apply_run, timer));
}

void apply_await(struct apply_run *run, void (*closed)(struct apply_run *run))
{
	if (!apply_awaited(run)) {
		closed(run);
		return;
	}
	run->closed = closed;
	run->daemon->node.store_closed = store_closed;
	reactor_timer_init(&run->timer, timeout);
	reactor_timer_arm(run->daemon->control, &run->timer, run->daemon->apply.close_wait_ms);
}
