/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines to requests, by the tables of verbs; and the tables themselves. */
#include "tests/unit/unit.h"
#include "tools/ctl/ctl.h"

#include <string.h>

/* Parses words parted by blanks. */
static enum ctl_status parse(const char *line, struct ctl_call *ret)
{
	static char words[500];
	char *argv[32] = { (char[]){ "hawserctl" } };
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	for (char *p = strtok(words, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	return ctl_parse(argc, argv, ret);
}

static void gives(const char *line, const char *method, const char *params)
{
	struct ctl_call call;
	char *text;

	ck_assert_int_eq(parse(line, &call), CTL_DONE);
	ck_assert_str_eq(call.verb->method, method);
	text = json_dumps(call.params, JSON_COMPACT | JSON_SORT_KEYS);
	ck_assert_str_eq(text, params);
	free(text);
	json_decref(call.params);
}

static void wrong(const char *line)
{
	struct ctl_call call;

	ck_assert_msg(parse(line, &call) == CTL_USAGE, "%s", line);
	json_decref(call.params);
}

START_TEST(words_and_options)
{
	gives("lun list", "lun.list", "{}");
	gives("lun create d --size 1GiB --path=/srv/d --read-only yes --block-size 4096",
	      "lun.create",
	      "{\"block_size\":4096,\"name\":\"d\",\"path\":\"/srv/d\",\"read_only\":true,"
	      "\"size\":\"1GiB\"}");
	gives("lun map d iqn.x --lun 7 --read-only", "lun.map",
	      "{\"lun\":7,\"name\":\"d\",\"read_only\":true,\"target\":\"iqn.x\"}");
	gives("lun unmap iqn.x 7", "lun.unmap", "{\"lun\":7,\"target\":\"iqn.x\"}");
	gives("target create", "target.create", "{}");
	gives("acl add iqn.x --any", "access.add", "{\"any\":true,\"target\":\"iqn.x\"}");
	gives("account set a --mutual-name t --algorithms sha256,md5 --require-mutual yes",
	      "account.set",
	      "{\"algorithms\":\"sha256,md5\",\"mutual_name\":\"t\",\"name\":\"a\","
	      "\"require_mutual\":true}");
	gives("account retire a", "account.retire", "{\"name\":\"a\"}");
	gives("target redirect iqn.x 192.0.2.7:3260 --redirect-groups 1,2 --redirect-permanent",
	      "target.redirect",
	      "{\"name\":\"iqn.x\",\"redirect\":\"192.0.2.7:3260\",\"redirect_groups\":[1,2],"
	      "\"redirect_permanent\":true}");
	gives("target redirect iqn.x", "target.redirect", "{\"name\":\"iqn.x\"}");
	wrong("target redirect iqn.x a --redirect-groups 1,");
	wrong("target redirect iqn.x a --redirect-groups ,");
	wrong("target redirect iqn.x a --redirect-groups 1x");
	gives("portal create ::1 3261 --group 2", "portal.create",
	      "{\"address\":\"::1\",\"group\":2,\"port\":3261}");
	gives("daemon log-level debug --subsystem tcp", "daemon.log_level",
	      "{\"level\":\"debug\",\"subsystem\":\"tcp\"}");
}
END_TEST

START_TEST(own_options_stand_anywhere)
{
	struct ctl_call call;

	ck_assert_int_eq(parse("-s /a --json lun list", &call), CTL_DONE);
	ck_assert_str_eq(call.socket, "/a");
	ck_assert(call.json);
	json_decref(call.params);
	ck_assert_int_eq(parse("lun list --socket=/b --json", &call), CTL_DONE);
	ck_assert_str_eq(call.socket, "/b");
	ck_assert(call.json);
	json_decref(call.params);
}
END_TEST

START_TEST(socket_of_the_environment)
{
	struct ctl_call call;

	setenv("HAWSER_SOCKET", "/from/env", 1);
	ck_assert_int_eq(parse("lun list", &call), CTL_DONE);
	ck_assert_str_eq(call.socket, "/from/env");
	json_decref(call.params);
	unsetenv("HAWSER_SOCKET");
	ck_assert_int_eq(parse("lun list", &call), CTL_DONE);
	ck_assert_str_eq(call.socket, "/run/hawser/admin.sock");
	json_decref(call.params);
}
END_TEST

START_TEST(wrong_usage)
{
	wrong("");
	wrong("--json");
	wrong("lun");
	wrong("lun fly");
	wrong("moon list");
	wrong("lun create");
	wrong("lun create a b");
	wrong("lun create a --colour blue");
	wrong("lun create a --size");
	wrong("lun create a --lun seven");
	wrong("lun create a --lun -1");
	wrong("lun create a --thin perhaps");
	wrong("lun create a --size 1 --size 2");
	wrong("lun map a b --read-only=yes");
	wrong("lun unmap iqn.x");
	wrong("lun unmap iqn.x seven");
	wrong("lun list -s");
}
END_TEST

START_TEST(help_is_not_a_request)
{
	struct ctl_call call;

	ck_assert_int_eq(parse("help", &call), CTL_DONE);
	ck_assert_ptr_null(call.verb);
	ck_assert_int_eq(parse("help lun create", &call), CTL_DONE);
	ck_assert_ptr_null(call.verb);
	ck_assert_int_eq(parse("lun create --help", &call), CTL_DONE);
	ck_assert_ptr_null(call.verb);
	json_decref(call.params);
	ck_assert_int_eq(parse("help moon", &call), CTL_USAGE);
}
END_TEST

static void row_is_whole(const struct ctl_verb *v, void *arg)
{
	(void)arg;
	ck_assert_msg(v->verb && v->method && v->words && v->options && v->help, "%s %s", v->noun,
		      v->verb);
	ck_assert_msg(!v->list == !v->columns, "%s %s", v->noun, v->verb);
	ck_assert_ptr_eq(ctl_find(v->noun, v->verb), v);
}

START_TEST(table_is_whole)
{
	ctl_each(row_is_whole, NULL);
}
END_TEST

START_TEST(bytes_for_people)
{
	char buf[32];

	ctl_format_bytes(0, buf, sizeof(buf));
	ck_assert_str_eq(buf, "0 B");
	ctl_format_bytes(1 << 30, buf, sizeof(buf));
	ck_assert_str_eq(buf, "1 GiB");
	ctl_format_bytes(1536, buf, sizeof(buf));
	ck_assert_str_eq(buf, "1.5 KiB");
}
END_TEST

static char *printed(const char *json, const char *columns)
{
	json_error_t error;
	json_t *rows = json_loads(json, 0, &error);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (columns)
		ctl_print_table(rows, columns, f);
	else
		ctl_print_members(rows, 0, f);
	fclose(f);
	json_decref(rows);
	return text;
}

START_TEST(tables_are_aligned)
{
	char *text = printed("[{\"name\":\"a\",\"size\":1024,\"on\":true},"
			     "{\"name\":\"longer\",\"size\":512,\"on\":false},{\"name\":\"c\"}]",
			     "name:NAME size:SIZE:size on:ON");

	ck_assert_str_eq(text, "NAME    SIZE   ON\n"
			       "a       1 KiB  yes\n"
			       "longer  512 B  no\n"
			       "c       -      -\n");
	free(text);
}
END_TEST

START_TEST(texts_of_peers_are_harmless)
{
	char *text = printed("[{\"a\":\"x\\u001b[2Jy\\n\\u009bz\\u00e9\"}]", "a:A");

	ck_assert_str_eq(text, "A\nx?[2Jy???z\xc3\xa9\n");
	free(text);
}
END_TEST

START_TEST(members_are_nested)
{
	char *text =
	    printed("{\"a\":1,\"b\":{\"c\":\"x\"},\"d\":[{\"e\":2},{\"e\":3}],\"f\":[4,5]}", NULL);

	ck_assert_str_eq(text, "a: 1\nb:\n  c: x\nd:\n  e: 2\n\n  e: 3\nf: 4, 5\n");
	free(text);
}
END_TEST

UNIT_MAIN("ctl/parse", words_and_options, own_options_stand_anywhere, socket_of_the_environment,
	  wrong_usage, help_is_not_a_request, table_is_whole, bytes_for_people, tables_are_aligned,
	  texts_of_peers_are_harmless, members_are_nested)
