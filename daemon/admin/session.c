/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods session.*: each reactor writes down its own sessions, the control reactor puts them
 * together. See docs/admin-protocol.md.
 */
#include "transport/iscsi/session.h"
#include "daemon/admin/request.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS_MAX 4096 /* shown of each reactor */

struct gather {
	struct reactor_broadcast broadcast;
	struct admin_request *rq;
	uint64_t drop_id;
	atomic_uint dropped;
	struct {
		struct session_info *info;
		unsigned n;
	} of[LU_REACTORS_MAX];
};

static json_t *keys_json(const struct session_info *s)
{
	const struct iscsi_keys *k = &s->keys;

	return json_pack(
	    "{s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I}", "HeaderDigest",
	    k->header_digest ? "CRC32C" : "None", "DataDigest", k->data_digest ? "CRC32C" : "None",
	    "MaxRecvDataSegmentLength", (json_int_t)k->max_recv_data_segment_length,
	    "MaxSendDataSegmentLength", (json_int_t)k->max_send_data_segment_length,
	    "MaxBurstLength", (json_int_t)k->max_burst_length, "FirstBurstLength",
	    (json_int_t)k->first_burst_length, "InitialR2T", (int)k->initial_r2t, "ImmediateData",
	    (int)k->immediate_data, "MaxOutstandingR2T", (json_int_t)k->max_outstanding_r2t,
	    "ErrorRecoveryLevel", (json_int_t)k->error_recovery_level);
}

/* A name of foreign bytes is no JSON text: escaped it always is. */
static json_t *foreign(const char *s)
{
	json_t *j = json_string(s);
	char escaped[1200];
	size_t used = 0;

	if (j)
		return j;
	for (; *s && used + 5 < sizeof(escaped); s++)
		used +=
		    (size_t)snprintf(escaped + used, sizeof(escaped) - used,
				     *s >= 0x20 && *s < 0x7f ? "%c" : "\\x%02x", (unsigned char)*s);
	return json_string(escaped);
}

static json_t *session_json(const struct session_info *s)
{
	json_t *j = json_object();
	char isid[13];

	for (unsigned i = 0; i < 6; i++)
		snprintf(isid + (size_t)2 * i, 3, "%02x", s->isid[i]);
	json_object_set_new(j, "id", json_integer((json_int_t)s->id));
	json_object_set_new(j, "connection", json_integer((json_int_t)s->conn_id));
	json_object_set_new(j, "initiator", foreign(s->initiator));
	json_object_set_new(j, "initiator_alias", foreign(s->initiator_alias));
	json_object_set_new(j, "target", json_string(s->target));
	if (s->account[0])
		json_object_set_new(j, "account", foreign(s->account));
	json_object_set_new(j, "discovery", json_boolean(s->discovery));
	json_object_set_new(j, "isid", json_string(isid));
	json_object_set_new(j, "tsih", json_integer(s->tsih));
	json_object_set_new(j, "group", json_integer(s->tpgt));
	json_object_set_new(j, "cid", json_integer(s->cid));
	json_object_set_new(j, "peer", json_string(s->conn.peer));
	json_object_set_new(j, "local", json_string(s->conn.local));
	json_object_set_new(j, "received_bytes", json_integer((json_int_t)s->conn.received_bytes));
	json_object_set_new(j, "sent_bytes", json_integer((json_int_t)s->conn.sent_bytes));
	json_object_set_new(j, "queued_bytes", json_integer(s->conn.queued_bytes));
	json_object_set_new(j, "outstanding", json_integer(s->outstanding));
	json_object_set_new(j, "age_s", json_integer((json_int_t)s->age_s));
	json_object_set_new(j, "reactor", json_integer(s->reactor));
	json_object_set_new(j, "keys", keys_json(s));
	return j;
}

static void list_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct gather *g = list_entry(b, struct gather, broadcast);
	unsigned i = reactor_index(r), n = iscsi_reactor_count(r);

	n = n > SESSIONS_MAX ? SESSIONS_MAX : n;
	g->of[i].info = calloc(n ? n : 1, sizeof(*g->of[i].info));
	if (g->of[i].info)
		g->of[i].n = iscsi_reactor_sessions(r, g->of[i].info, n);
	reactor_broadcast_ack(b);
}

static void list_done(struct reactor_broadcast *b)
{
	struct gather *g = list_entry(b, struct gather, broadcast);
	json_t *list = json_array();

	for (unsigned i = 0; i < LU_REACTORS_MAX; i++) {
		for (unsigned j = 0; j < g->of[i].n; j++)
			json_array_append_new(list, session_json(&g->of[i].info[j]));
		free(g->of[i].info);
	}
	admin_reply(g->rq, json_pack("{s:o}", "sessions", list));
	free(g);
}

static void gather(struct admin_request *rq, uint64_t drop_id,
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
	g->drop_id = drop_id;
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
	gather(rq, 0, list_each, list_done);
}

static void drop_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct gather *g = list_entry(b, struct gather, broadcast);

	if (iscsi_reactor_drop(r, g->drop_id, "dropped by the administrator"))
		atomic_fetch_add(&g->dropped, 1);
	reactor_broadcast_ack(b);
}

static void drop_done(struct reactor_broadcast *b)
{
	struct gather *g = list_entry(b, struct gather, broadcast);

	if (atomic_load(&g->dropped))
		admin_reply(g->rq, NULL);
	else
		admin_fail(g->rq, ADMIN_NOT_FOUND,
			   "session %llu does not exist; see \"hawserctl session list\"",
			   (unsigned long long)g->drop_id);
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
	{ "session.drop", ADMIN_CHANGE, session_drop, "id",
	  "ends a session; its initiator may log in again" },
	{ 0 },
};
