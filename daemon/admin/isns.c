/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods isns.*: see docs/admin-protocol.md.
 */
#include "daemon/isns/isns.h"
#include "daemon/admin/request.h"
#include "daemon/daemon.h"
#include "daemon/isns/server.h"

static const char *state_name(const struct isns_server *s)
{
	if (s->state != ISNS_IDLE)
		return s->registered ? "refreshing" : "registering";
	if (s->why[0])
		return "failed";
	return s->registered ? "registered" : "nothing to register";
}

static void add_server(const struct isns_server *s, void *arg)
{
	json_t *j = json_pack("{s:s, s:s}", "address", s->text, "state", state_name(s));
	uint64_t now = reactor_now_ms(s->reactor);

	if (s->registered)
		json_object_set_new(j, "registered_before_s",
				    json_integer((json_int_t)(now - s->registered_ms) / 1000));
	if (s->why[0])
		json_object_set_new(j, "why", json_string(s->why));
	json_array_append_new(arg, j);
}

static void isns_show(struct admin_request *rq)
{
	json_t *servers = json_array();
	struct isns_view v;

	isns_look(rq->daemon->isns, &v);
	isns_each(rq->daemon->isns, add_server, servers);
	admin_reply(rq,
		    json_pack("{s:o, s:i, s:i, s:i, s:I, s:I}", "servers", servers, "targets",
			      v.plan ? (int)v.plan->n_targets : 0, "portals",
			      v.plan ? (int)v.plan->n_portals : 0, "notice_port", (int)v.port,
			      "notices", (json_int_t)v.n_scn, "inquiries", (json_int_t)v.n_esi));
}

const struct admin_method admin_isns_methods[] = {
	{ "isns.show", ADMIN_READ, isns_show, "",
	  "what iSNS servers are told, and how they took it" },
	{ 0 },
};
