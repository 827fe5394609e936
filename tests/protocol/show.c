/* SPDX-License-Identifier: BSD-2-Clause */
/* What the administrator sees of a session is what its initiator has negotiated and done. */
#include "tests/protocol/mcs.h"

#include <jansson.h>

#define T_SHOWN BASE "shown" /* made by its test; a session waits long for its initiator */
#define NAME    "iqn.2004-01.example:test"

static uint8_t block[512];

static json_int_t number(const json_t *j, const char *name)
{
	const json_t *n = json_object_get(j, name);

	ck_assert_msg(json_is_integer(n), "no number %s", name);
	return json_integer_value(n);
}

static const char *text(const json_t *j, const char *name)
{
	const json_t *t = json_object_get(j, name);

	ck_assert_msg(json_is_string(t), "no text %s", name);
	return json_string_value(t);
}

/* The first row of session.list of a session that `i` has, with a reference; NULL: there is none.
 */
static json_t *find(const struct ini *i)
{
	json_t *all = admin(&server, "session.list", ""), *row, *found = NULL;
	size_t n;

	json_array_foreach(json_object_get(all, "sessions"), n, row)
	{
		if (!found && number(row, "tsih") == i->tsih)
			found = json_incref(row);
	}
	json_decref(all);
	return found;
}

static json_int_t id_of(const struct ini *i)
{
	json_t *row = find(i);
	json_int_t id;

	ck_assert_ptr_nonnull(row);
	id = number(row, "id");
	json_decref(row);
	return id;
}

static json_t *show(json_int_t id)
{
	char params[40];

	snprintf(params, sizeof(params), "\"id\":%lld", (long long)id);
	return admin(&server, "session.show", params);
}

static const json_t *connection(const json_t *shown, uint16_t cid)
{
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(shown, "connections"), i, c)
	{
		if (number(c, "cid") == cid)
			return c;
	}
	ck_abort_msg("no connection %u", cid);
}

/* Every key has the value that the login has left: row for row. */
static void check_keys(const json_t *is, const char *want)
{
	json_error_t error;
	json_t *wanted = json_loads(want, 0, &error);
	char *have = json_dumps(is, JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_msg(wanted != NULL, "%s", error.text);
	ck_assert_msg(json_equal(is, wanted), "%s, wanted %s", have, want);
	free(have);
	json_decref(wanted);
}

START_TEST(values_in_force)
{
	struct mcs m;
	json_t *shown;
	const json_t *c;

	mcs_open(&m, 3,
		 "HeaderDigest=CRC32C\nMaxOutstandingR2T=3\nTaskReporting=RFC3720\n"
		 "iSCSIProtocolLevel=1\n" USUAL("16384", "No", "Yes"));
	shown = show(id_of(m.c[0]));
	ck_assert_str_eq(text(shown, "initiator"), NAME);
	ck_assert_str_eq(text(shown, "target"), T_MCS);
	ck_assert_int_eq(number(shown, "tsih"), m.c[0]->tsih);
	ck_assert_uint_eq(strlen(text(shown, "isid")), 12);
	ck_assert_int_eq(number(shown, "window"), 128);
	ck_assert_uint_eq(json_array_size(json_object_get(shown, "connections")), 3);
	check_keys(json_object_get(shown, "keys"),
		   "{\"MaxConnections\":8,\"InitialR2T\":false,\"ImmediateData\":true,"
		   "\"MaxBurstLength\":262144,\"FirstBurstLength\":16384,"
		   "\"DefaultTime2Wait\":0,\"DefaultTime2Retain\":2,\"MaxOutstandingR2T\":3,"
		   "\"DataPDUInOrder\":true,\"DataSequenceInOrder\":true,"
		   "\"ErrorRecoveryLevel\":0,\"TaskReporting\":\"RFC3720\","
		   "\"iSCSIProtocolLevel\":1}");
	c = connection(shown, 0);
	check_keys(json_object_get(c, "keys"),
		   "{\"HeaderDigest\":\"CRC32C\",\"DataDigest\":\"None\","
		   "\"MaxRecvDataSegmentLength\":262144,\"MaxSendDataSegmentLength\":65536}");
	ck_assert_ptr_nonnull(strstr(text(c, "local"), "127.0.0.1:"));
	c = connection(shown, 1);
	ck_assert_str_eq(text(json_object_get(c, "keys"), "HeaderDigest"), "None");
	json_decref(shown);
}
END_TEST

/* The command counts with its session and its connection as long as it is at work. */
START_TEST(commands_at_work)
{
	struct ini_scsi c;
	json_int_t id;
	struct mcs m;
	json_t *shown;

	mcs_open(&m, 2, NULL);
	ready(mcs_on(&m, 0), LUN_FAULT);
	id = id_of(m.c[0]);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, block);
	ck_assert_int_eq(ini_scsi_start(mcs_on(&m, 1), &c), 0);
	ping(m.c[1]); /* so it has come */
	shown = show(id);
	ck_assert_int_eq(number(shown, "outstanding"), 1);
	ck_assert_int_eq(number(connection(shown, 0), "outstanding"), 0);
	ck_assert_int_eq(number(connection(shown, 1), "outstanding"), 1);
	json_decref(shown);
	m.c[1]->itt = c.itt + 1;
	tmf(mcs_on(&m, 1), ISCSI_TMF_ABORT_TASK_SET, LUN_FAULT, ISCSI_TMF_RSP_COMPLETE);
	shown = show(id);
	ck_assert_int_eq(number(shown, "outstanding"), 0);
	json_decref(shown);
}
END_TEST

static bool waits(const struct ini *i)
{
	json_t *row = find(i);
	bool is;

	ck_assert_ptr_nonnull(row);
	is = !json_object_get(row, "connection");
	if (is)
		ck_assert_int_gt(number(row, "waits_s"), 3000);
	json_decref(row);
	return is;
}

/* A session whose connections are lost is there as long as it waits, and can be dropped. */
START_TEST(one_that_waits)
{
	int64_t end = clock_ms() + patience(5000);
	char params[40];
	json_int_t id;
	struct ini *i;
	json_t *shown;

	change(&server, "target.create", "\"name\":\"" T_SHOWN "\",\"default_time2retain\":3600");
	change(&server, "access.add", "\"target\":\"" T_SHOWN "\",\"any\":true");
	i = session_keys(T_SHOWN, "DefaultTime2Retain=3600");
	id = id_of(i);
	ini_close(i);
	while (!waits(i))
		ck_assert_int_lt(clock_ms(), end);
	shown = show(id);
	ck_assert_uint_eq(json_array_size(json_object_get(shown, "connections")), 0);
	ck_assert_int_eq(number(shown, "tsih"), i->tsih);
	ck_assert_ptr_nonnull(strstr(text(shown, "last_peer"), "127.0.0.1:"));
	ck_assert_int_eq(number(json_object_get(shown, "keys"), "DefaultTime2Retain"), 3600);
	json_decref(shown);
	snprintf(params, sizeof(params), "\"id\":%lld", (long long)id);
	change(&server, "session.drop", params);
	ck_assert_ptr_null(find(i));
	change(&server, "target.delete", "\"name\":\"" T_SHOWN "\"");
}
END_TEST

/* What it says of itself is no format, wherever that is shown. */
START_TEST(formats_in_alias)
{
	COVERS("fault-B16");
	static const char alias[] = "%n%s%99$n \x7f%";
	char keys[64];
	struct ini *i;
	json_t *row;

	snprintf(keys, sizeof(keys), "InitiatorAlias=%s", alias);
	i = session_keys(T_MAIN, keys);
	row = find(i);
	ck_assert_ptr_nonnull(row);
	ck_assert_str_eq(text(row, "initiator_alias"), alias);
	json_decref(row);
	row = show(id_of(i));
	ck_assert_str_eq(text(row, "initiator_alias"), alias);
	json_decref(row);
}
END_TEST

void show_suite(TCase *c)
{
	add(c, formats_in_alias);
	add(c, values_in_force);
	add(c, commands_at_work);
	add(c, one_that_waits);
}
