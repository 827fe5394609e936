/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of apply and admin: a daemon in one thread, without I/O threads and sockets. Its
 * transport counts who listens; its state lies in a temporary folder; stores are real.
 */
#ifndef HAWSER_UNIT_DAEMON_WORLD_H
#define HAWSER_UNIT_DAEMON_WORLD_H

#include "backing/offload.h"
#include "daemon/apply.h"
#include "daemon/daemon.h"
#include "daemon/state.h"
#include "tests/unit/unit.h"
#include "transport/portal.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORLD_THREADS 8

struct world {
	struct daemon d;
	char dir[64];
};

static unsigned listening;          /* portals of the fake transport */
static uint16_t port_taken;         /* this one cannot be listened at */
static struct world *world_current; /* for the folder in texts */

static int fake_listen(struct portal *p)
{
	if (p->port == port_taken)
		return -EADDRINUSE;
	if (!p->port)
		p->port = 4711;
	listening++;
	return 0;
}

static void fake_unlisten(struct portal *p)
{
	(void)p;
	listening--;
}

static const struct datamover_ops fake_tcp = { .name = "tcp",
					       .listen = fake_listen,
					       .unlisten = fake_unlisten };
static const struct datamover_ops *const fake_transports[] = { &fake_tcp, NULL };

static inline void world_open_state(struct world *w)
{
	char why[512];
	int r = state_open(w->dir, NULL, &w->d.state, why, sizeof(why));

	ck_assert_msg(r == 0, "%s", why);
	ck_assert_int_eq(state_start(w->d.state), 0);
}

static inline void world_start(struct world *w)
{
	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "/tmp/hawser-world-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	ck_assert_int_eq(reactor_create(0, "", &w->d.control), 0);
	ck_assert_int_eq(offload_start(WORLD_THREADS), 0);
	w->d.transports = fake_transports;
	w->d.config_path = "test.conf";
	ck_assert_int_eq(config_object_init(&config_daemon_scope, &w->d.settings), 0);
	node_init(&w->d.node, &w->d);
	apply_init(&w->d.apply);
	world_open_state(w);
	world_current = w;
}

static inline void world_turn(struct world *w)
{
	reactor_turn(w->d.control, 100);
}

/* Everything leaves the tree; the stores are closed. */
static inline void world_empty(struct world *w)
{
	struct list *l, *tmp;

	list_for_each_safe (l, tmp, &w->d.node.portals)
		node_portal_free(list_entry(l, struct node_portal, node));
	list_for_each_safe (l, tmp, &w->d.node.lus)
		node_lu_free(list_entry(l, struct node_lu, node));
	while (w->d.node.n_stores)
		world_turn(w);
	config_free(w->d.node.config);
	w->d.node.config = NULL;
}

/* As a new process would find things. */
static inline void world_restart(struct world *w)
{
	world_empty(w);
	state_close(w->d.state);
	world_open_state(w);
}

static int world_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void world_end(struct world *w)
{
	world_empty(w);
	ck_assert_uint_eq(listening, 0);
	state_close(w->d.state);
	ck_assert(offload_stop(5000));
	reactor_destroy(w->d.control);
	config_object_clear(&config_daemon_scope, &w->d.settings);
	nftw(w->dir, world_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A text in which @ stands for the folder. */
static inline char *world_text(const char *text)
{
	char *out = calloc(1, strlen(text) + 4096), *p = out;

	for (; *text; text++) {
		if (*text == '@')
			p += sprintf(p, "%s", world_current->dir);
		else
			*p++ = *text;
	}
	return out;
}

struct world_apply {
	struct apply_request request;
	const char *text;
	bool done;
};

static enum apply_result world_prepare(struct apply_request *r)
{
	struct world_apply *a = list_entry(r, struct world_apply, request);
	char *text = world_text(a->text);
	struct config_error err;
	struct config *c = NULL;
	int rc = config_parse_text(text, "test.conf", &c, &err);

	ck_assert_msg(rc == 0, "%s:%u: %s", err.file, err.line, err.text);
	free(text);
	config_free(r->desired);
	r->desired = c;
	return APPLY_DONE;
}

static void world_done(struct apply_request *r)
{
	list_entry(r, struct world_apply, request)->done = true;
}

/* Makes the tree equal to a text; `a` holds what came of it. */
static inline enum apply_result world_apply(struct world *w, struct world_apply *a,
					    const char *text)
{
	a->text = text;
	a->done = false;
	a->request.prepare = world_prepare;
	a->request.done = world_done;
	apply_submit(&w->d, &a->request);
	while (!a->done)
		world_turn(w);
	return a->request.result;
}

#endif
