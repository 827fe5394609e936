/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies, comparison and text of whole configurations; and the table of settings itself. */
#include "config/config.h"
#include "config/schema.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char full[] =
    "daemon = { reactors = 3; pin = true; buffer_memory = \"8MiB\"; user = \"hawser\";"
    "  store_paths = \"/srv:/dev\"; node_name = \"q\\\"uote\\\\\"; };\n"
    "portals = ( { address = \"::1\"; port = 0; group = 2; }, { } );\n"
    "lus = ( { name = \"a\"; path = \"/srv/a\"; size = 1000; create = true; thin = false;"
    "  cache = \"direct\"; engine = \"aio\"; rotation = \"hdd\"; serial = \"s\"; }, "
    "  { name = \"b\"; type = \"null\"; size = \"2TiB\"; } );\n"
    "targets = ( { name = \"iqn.2026-01.org.example:t\"; alias = \"disk\"; online = false;"
    "  header_digest = \"none\"; data_digest = \"crc32c\"; initial_r2t = false;"
    "  max_burst_length = 262144; luns = ( { lun = 0; lu = \"a\"; } );"
    "  access = ( { initiator = \"iqn.*\"; luns = ( { lun = 1; lu = \"b\"; } ); }, { any = true; "
    "}"
    "); groups = [ 2 ]; } );\n";

static struct config *parse(const char *text)
{
	struct config_error err;
	struct config *c = NULL;
	int r = config_parse_text(text, "test.conf", &c, &err);

	ck_assert_msg(r == 0, "%s:%u: %s in\n%s", err.file, err.line, err.text, text);
	return c;
}

START_TEST(text_reads_back_to_the_same)
{
	struct config *a = parse(full), *b;
	char *text = config_dump(a), *again;

	ck_assert_ptr_nonnull(text);
	b = parse(text);
	ck_assert_msg(config_object_equal(&config_root_scope, a, b), "%s", text);
	again = config_dump(b);
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	config_free(a);
	config_free(b);
}
END_TEST

START_TEST(copy_is_equal_and_apart)
{
	struct config *a = parse(full), *b = config_copy(a);

	ck_assert(config_object_equal(&config_root_scope, a, b));
	ck_assert_ptr_ne(a->lus[0].name, b->lus[0].name);
	ck_assert_str_eq(b->lus[0].origin.file, "test.conf");
	b->targets[0].access[0].luns[0].lun = 2;
	ck_assert(!config_object_equal(&config_root_scope, a, b));
	config_free(a);
	ck_assert_str_eq(b->targets[0].access[0].luns[0].lu, "b");
	config_free(b);
}
END_TEST

START_TEST(objects_come_and_go)
{
	struct config *c = config_new();
	struct config_lu *l;

	for (unsigned i = 0; i < 5; i++) {
		char name[8];

		l = config_add_lu(c);
		ck_assert_str_eq(l->type, "file");
		ck_assert(l->thin);
		snprintf(name, sizeof(name), "d%u", i);
		l->name = strdup(name);
	}
	config_remove_lu(c, 1);
	ck_assert_uint_eq(c->n_lus, 4);
	ck_assert_ptr_null(config_find_lu(c, "d1"));
	ck_assert_ptr_nonnull(config_find_lu(c, "d4"));
	config_remove_lu(c, 3);
	ck_assert_ptr_null(config_find_lu(c, "d4"));
	config_remove_lu(c, 99);
	ck_assert_uint_eq(c->n_lus, 3);
	ck_assert_int_eq(config_add_target(c)->initial_r2t, -1);
	config_free(c);
}
END_TEST

/* Every row must be whole: a forgotten column is a setting that cannot be set. */
static void row_is_whole(const struct config_scope *scope, const struct config_setting *s)
{
	char type[256];

	ck_assert_msg(s->type != 0, "%s.%s has no type", scope->name, s->name);
	ck_assert_msg(s->help != NULL, "%s.%s has no help", scope->name, s->name);
	ck_assert_msg(s->at + s->width <= scope->size, "%s.%s", scope->name, s->name);
	ck_assert_ptr_eq(config_setting_find(scope, s->name), s);
	if (s->type == CONFIG_WORD || s->type == CONFIG_ENUM)
		ck_assert_msg(s->choices != NULL, "%s.%s has no choices", scope->name, s->name);
	if (s->type == CONFIG_NUMBER || s->type == CONFIG_SIZE || s->type == CONFIG_TEXT)
		ck_assert_msg(s->max != 0, "%s.%s has no maximum", scope->name, s->name);
	ck_assert_uint_gt(strlen(config_describe_type(s, type, sizeof(type))), 0);
}

static void scope_is_whole(const struct config_scope *scope)
{
	for (const struct config_setting *s = scope->settings; s->name; s++) {
		row_is_whole(scope, s);
		if (s->type == CONFIG_LIST || s->type == CONFIG_GROUP)
			scope_is_whole(s->scope);
	}
}

START_TEST(table_is_whole)
{
	scope_is_whole(&config_root_scope);
}
END_TEST

START_TEST(defaults_are_within_ranges)
{
	const struct config_scope *scopes[] = { &config_daemon_scope, &config_portal_scope,
						&config_lu_scope, &config_target_scope };

	for (unsigned i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		void *object = malloc(scopes[i]->size);

		ck_assert_int_eq(config_object_init(scopes[i], object), 0);
		for (const struct config_setting *s = scopes[i]->settings; s->name; s++)
			if (s->type != CONFIG_LIST && s->type != CONFIG_NUMBERS)
				ck_assert_msg(config_is_default(s, object), "%s.%s",
					      scopes[i]->name, s->name);
		config_object_clear(scopes[i], object);
		free(object);
	}
}
END_TEST

UNIT_MAIN("config/object", text_reads_back_to_the_same, copy_is_equal_and_apart,
	  objects_come_and_go, table_is_whole, defaults_are_within_ranges)
