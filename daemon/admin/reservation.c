/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods reservation.*: who is registered with a logical unit and who holds it, and the end of all
 * that by the administrator, for hosts that will not come back. See docs/admin-protocol.md.
 */
#include "daemon/admin/request.h"
#include "daemon/daemon.h"
#include "scsi/pr.h"

#include <stdio.h>

static const char *type_name(uint8_t type)
{
	static const char *const names[] = {
		[PR_NONE] = "none",
		[PR_WRITE_EXCLUSIVE] = "write exclusive",
		[PR_EXCLUSIVE_ACCESS] = "exclusive access",
		[PR_WRITE_EXCLUSIVE_RO] = "write exclusive, registrants only",
		[PR_EXCLUSIVE_ACCESS_RO] = "exclusive access, registrants only",
		[PR_WRITE_EXCLUSIVE_AR] = "write exclusive, all registrants",
		[PR_EXCLUSIVE_ACCESS_AR] = "exclusive access, all registrants",
	};

	return names[type];
}

/* Names were checked when they logged in, or came in a TransportID (iscsi_name_check). */
static json_t *registration_json(const struct pr_table *t, unsigned i)
{
	const struct pr_registration *r = &t->regs[i];
	char key[24];

	snprintf(key, sizeof(key), "0x%016llx", (unsigned long long)r->key);
	return json_pack("{s:s, s:s, s:I, s:s, s:b}", "initiator", r->nexus.initiator, "target",
			 r->nexus.target, "port", (json_int_t)r->nexus.relative_port, "key", key,
			 "holder", (int)pr_is_holder(t, (int)i));
}

static json_t *head_json(const struct node_lu *l, const struct pr_table *t)
{
	char initiator[SCSI_PORT_NAME];
	json_t *j = json_pack("{s:s, s:s, s:I, s:b, s:I}", "name", l->config.name, "type",
			      type_name(t ? t->type : PR_NONE), "generation",
			      (json_int_t)(t ? t->generation : 0), "kept", (int)(t && t->aptpl),
			      "registered", (json_int_t)(t ? t->n : 0));

	if (lu_reserved6(l->lu, initiator))
		json_object_set_new(j, "reserved_by", json_string(initiator));
	return j;
}

static void reservation_list(struct admin_request *rq)
{
	json_t *list = json_array();
	struct list *n;

	list_for_each (n, &rq->daemon->node.lus) {
		const struct node_lu *l = list_entry(n, struct node_lu, node);
		const struct pr_table *t = lu_pr_get(l->lu);
		char initiator[SCSI_PORT_NAME];

		if ((t && t->n) || lu_reserved6(l->lu, initiator))
			json_array_append_new(list, head_json(l, t));
		pr_table_put(t);
	}
	admin_reply(rq, json_pack("{s:o}", "reservations", list));
}

/* NULL: the request has been failed. */
static const struct node_lu *find(struct admin_request *rq)
{
	const char *name = admin_text(rq, "name");
	const struct node_lu *l = name ? node_find_lu(&rq->daemon->node, name) : NULL;

	if (name && !l)
		admin_fail(rq, ADMIN_NOT_FOUND, "lu %s does not exist; see \"hawserctl lun list\"",
			   name);
	return l;
}

static void reservation_show(struct admin_request *rq)
{
	const struct node_lu *l = find(rq);
	const struct pr_table *t;
	json_t *j, *list;

	if (!l)
		return;
	t = lu_pr_get(l->lu);
	j = head_json(l, t);
	list = json_array();
	for (unsigned i = 0; t && i < t->n; i++)
		json_array_append_new(list, registration_json(t, i));
	json_object_set_new(j, "registrations", list);
	pr_table_put(t);
	admin_reply(rq, j);
}

static void cleared(void *arg, int result)
{
	struct admin_request *rq = arg;

	if (result)
		admin_fail(rq, ADMIN_FAILED,
			   "the change could not be kept in the state folder; nothing was changed");
	else
		admin_reply(rq, NULL);
}

static void reservation_clear(struct admin_request *rq)
{
	const struct node_lu *l = find(rq);

	if (l && lu_pr_clear(l->lu, rq->daemon->control, cleared, rq))
		admin_fail(rq, ADMIN_FAILED, "no memory");
}

const struct admin_method admin_reservation_methods[] = {
	{ "reservation.list", ADMIN_READ, reservation_list, "",
	  "logical units that somebody is registered with or has reserved" },
	{ "reservation.show", ADMIN_READ, reservation_show, "name",
	  "the registrations of a logical unit" },
	{ "reservation.clear", ADMIN_CHANGE, reservation_clear, "name",
	  "removes all registrations and the reservation; the hosts are told" },
	{ 0 },
};
