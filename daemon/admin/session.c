/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods session.*: each reactor writes down its own sessions, the control reactor puts them
 * together. See docs/admin-protocol.md.
 */
#include "transport/iscsi/session.h"
#include "daemon/admin/request.h"
#include "daemon/admin/session.h"
#include "daemon/daemon.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SESSIONS_MAX 4096 /* entries of each reactor */

struct gather {
	struct reactor_broadcast broadcast;
	struct admin_request *rq;
	uint64_t id; /* of the session that is meant, or SESSIONS_ALL */
	atomic_uint dropped;
	struct {
		struct session_info *info;
		unsigned n, left_out;
	} of[LU_REACTORS_MAX];
};

static void list_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct gather *g = list_entry(b, struct gather, broadcast);
	unsigned i = reactor_index(r), max = iscsi_reactor_sessions_max(r), there;

	max = max > SESSIONS_MAX ? SESSIONS_MAX : max;
	g->of[i].info = calloc(max ? max : 1, sizeof(*g->of[i].info));
	if (!g->of[i].info)
		max = 0;
	there = iscsi_reactor_sessions(r, g->id, g->of[i].info, max);
	g->of[i].n = there < max ? there : max;
	g->of[i].left_out = there - g->of[i].n;
	reactor_broadcast_ack(b);
}

static void list_done(struct reactor_broadcast *b)
{
	struct gather *g = list_entry(b, struct gather, broadcast);
	json_t *list = json_array(), *result = json_pack("{s:o}", "sessions", list);
	unsigned left_out = 0;

	for (unsigned i = 0; i < LU_REACTORS_MAX; i++) {
		for (unsigned j = 0; j < g->of[i].n; j++)
			json_array_append_new(list, session_row_json(&g->of[i].info[j]));
		left_out += g->of[i].left_out;
		free(g->of[i].info);
	}
	if (left_out)
		json_object_set_new(result, "left_out", json_integer(left_out));
	admin_reply(g->rq, result);
	free(g);
}

static void not_there(const struct gather *g)
{
	admin_fail(g->rq, ADMIN_NOT_FOUND,
		   "session %llu does not exist; see \"hawserctl session list\"",
		   (unsigned long long)g->id);
}

/* A session is on one reactor, with all its connections. */
static void show_done(struct reactor_broadcast *b)
{
	struct gather *g = list_entry(b, struct gather, broadcast);
	json_t *result = NULL;

	for (unsigned i = 0; i < LU_REACTORS_MAX; i++) {
		if (g->of[i].n && !result)
			result = session_whole_json(g->of[i].info, g->of[i].n);
		free(g->of[i].info);
	}
	if (result)
		admin_reply(g->rq, result);
	else
		not_there(g);
	free(g);
}

static void gather(struct admin_request *rq, uint64_t id,
		   void (*each)(struct reactor_broadcast *, struct reactor *),
		   void (*done)(struct reactor_broadcast *))
{
	struct daemon *d = rq->daemon;
	struct gather *g = calloc(1, sizeof(*g));

	if (!g) {
		admin_fail(rq, ADMIN_FAILED, "no memory");
		return;
	}
	g->rq = rq;
	g->id = id;
	g->broadcast.each = each;
	g->broadcast.done = done;
	g->broadcast.reply_to = d->control;
	if (reactor_broadcast(d->set, d->n_started == d->n_io ? d->n_io : 0, &g->broadcast)) {
		free(g);
		admin_fail(rq, ADMIN_FAILED, "no memory");
	}
}

static void session_list(struct admin_request *rq)
{
	gather(rq, SESSIONS_ALL, list_each, list_done);
}

static void session_show(struct admin_request *rq)
{
	uint64_t id;

	if (admin_number(rq, "id", INT64_MAX, &id))
		gather(rq, id, list_each, show_done);
}

static void drop_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct gather *g = list_entry(b, struct gather, broadcast);

	if (iscsi_reactor_drop(r, g->id, "dropped by the administrator"))
		atomic_fetch_add(&g->dropped, 1);
	reactor_broadcast_ack(b);
}

static void drop_done(struct reactor_broadcast *b)
{
	struct gather *g = list_entry(b, struct gather, broadcast);

	if (atomic_load(&g->dropped))
		admin_reply(g->rq, NULL);
	else
		not_there(g);
	free(g);
}

static void session_drop(struct admin_request *rq)
{
	uint64_t id;

	if (admin_number(rq, "id", INT64_MAX, &id))
		gather(rq, id, drop_each, drop_done);
}

const struct admin_method admin_session_methods[] = {
	{ "session.list", ADMIN_READ, session_list, "", "all connections of all sessions" },
	{ "session.show", ADMIN_READ, session_show, "id",
	  "a session: numbers, names, connections, negotiated keys" },
	{ "session.drop", ADMIN_CHANGE, session_drop, "id",
	  "ends a session; its initiator may log in again" },
	{ 0 },
};
