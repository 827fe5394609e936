/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/admin/session.h"

#include "transport/iscsi/session.h"

#include <stdio.h>

enum keys_shown { KEYS_ALL, KEYS_OF_SESSION, KEYS_OF_CONNECTION };

static void put_number(json_t *to, const char *name, uint64_t value)
{
	json_object_set_new(to, name, json_integer((json_int_t)value));
}

static json_t *value_json(const struct key_row *row, uint32_t value)
{
	if (row->rule == KEY_RULE_DIGEST)
		return json_string(value ? "CRC32C" : "None");
	if (row->rule == KEY_RULE_LIST)
		return json_string(row->choices[value]);
	if (row->rule == KEY_RULE_AND || row->rule == KEY_RULE_OR)
		return json_boolean(value);
	return json_integer(value);
}

/* What is in force, by the table of keys. Lengths of data segments go both ways: under the name of
 * the key stands what this side has declared. */
static json_t *keys_json(const struct iscsi_keys *k, enum keys_shown shown)
{
	json_t *j = json_object();

	for (unsigned id = 1; id < KEY_COUNT; id++) {
		const struct key_row *row = &key_table[id];

		if (shown != KEYS_ALL && row->leading_only != (shown == KEYS_OF_SESSION))
			continue;
		if (id == KEY_MAX_RECV_DATA_SEGMENT_LENGTH) {
			put_number(j, row->name, k->max_recv_data_segment_length);
			put_number(j, "MaxSendDataSegmentLength", k->max_send_data_segment_length);
		} else if (row->value) {
			json_object_set_new(j, row->name,
					    value_json(row, keys_value(k, (enum key_id)id)));
		}
	}
	return j;
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

static void put_session(json_t *j, const struct session_info *s)
{
	char isid[13];

	for (unsigned i = 0; i < 6; i++)
		snprintf(isid + (size_t)2 * i, 3, "%02x", s->isid[i]);
	put_number(j, "id", s->id);
	json_object_set_new(j, "initiator", foreign(s->initiator));
	json_object_set_new(j, "initiator_alias", foreign(s->initiator_alias));
	json_object_set_new(j, "target", json_string(s->target));
	if (s->account[0])
		json_object_set_new(j, "account", foreign(s->account));
	json_object_set_new(j, "discovery", json_boolean(s->discovery));
	json_object_set_new(j, "isid", json_string(isid));
	put_number(j, "tsih", s->tsih);
	put_number(j, "group", s->tpgt);
	put_number(j, "outstanding", s->outstanding);
	put_number(j, "age_s", s->age_s);
	put_number(j, "reactor", s->reactor);
	if (s->conn_id)
		return;
	put_number(j, "waits_s", s->waits_s);
	json_object_set_new(j, "last_peer", json_string(s->conn.peer));
	json_object_set_new(j, "local", json_string(s->conn.local));
}

static void put_connection(json_t *j, const struct session_info *s)
{
	put_number(j, "connection", s->conn_id);
	put_number(j, "cid", s->cid);
	json_object_set_new(j, "peer", json_string(s->conn.peer));
	json_object_set_new(j, "local", json_string(s->conn.local));
	put_number(j, "received_bytes", s->conn.received_bytes);
	put_number(j, "sent_bytes", s->conn.sent_bytes);
	put_number(j, "queued_bytes", s->conn.queued_bytes);
}

json_t *session_row_json(const struct session_info *s)
{
	json_t *j = json_object();

	put_session(j, s);
	if (s->conn_id)
		put_connection(j, s);
	json_object_set_new(j, "keys", keys_json(&s->keys, KEYS_ALL));
	return j;
}

static json_t *connection_json(const struct session_info *s)
{
	json_t *j = json_object();

	put_connection(j, s);
	put_number(j, "outstanding", s->conn_outstanding);
	put_number(j, "unacknowledged", s->unacknowledged);
	json_object_set_new(j, "logout_requested", json_boolean(s->logout_requested));
	json_object_set_new(j, "keys", keys_json(&s->keys, KEYS_OF_CONNECTION));
	return j;
}

json_t *session_whole_json(const struct session_info *s, unsigned n)
{
	json_t *j = json_object(), *conns = json_array();

	put_session(j, s);
	put_number(j, "ahead", s->ahead);
	put_number(j, "window", s->window);
	put_number(j, "reads", s->reads);
	put_number(j, "read_bytes", s->read_bytes);
	put_number(j, "writes", s->writes);
	put_number(j, "write_bytes", s->write_bytes);
	json_object_set_new(j, "keys", keys_json(&s->keys, KEYS_OF_SESSION));
	for (unsigned i = 0; i < n; i++)
		if (s[i].conn_id)
			json_array_append_new(conns, connection_json(&s[i]));
	json_object_set_new(j, "connections", conns);
	return j;
}
