/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a configuration: defaults, every type, and refusals with file and line. */
#include "config/config.h"
#include "config/schema.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct config *parse(const char *text)
{
	struct config_error err;
	struct config *c = NULL;
	int r = config_parse_text(text, "test.conf", &c, &err);

	ck_assert_msg(r == 0, "%s:%u: %s", err.file, err.line, err.text);
	return c;
}

static void refused(const char *text, unsigned line, const char *word)
{
	struct config_error err;
	struct config *c = NULL;

	ck_assert_int_eq(config_parse_text(text, "test.conf", &c, &err), -EINVAL);
	ck_assert_ptr_null(c);
	ck_assert_str_eq(err.file, "test.conf");
	ck_assert_msg(err.line == line, "line %u, not %u: %s", err.line, line, err.text);
	ck_assert_msg(strstr(err.text, word), "\"%s\" is not in: %s", word, err.text);
}

START_TEST(empty_is_all_defaults)
{
	struct config *c = parse("");

	ck_assert_uint_eq(c->daemon.window, 128);
	ck_assert_uint_eq(c->daemon.login_timeout_s, 15);
	ck_assert_uint_eq(c->daemon.buffer_memory, 64 << 20);
	ck_assert_str_eq(c->daemon.state_dir, "/var/lib/hawser");
	ck_assert_str_eq(c->daemon.log_level, "info");
	ck_assert_ptr_null(c->daemon.user);
	ck_assert_uint_eq(c->n_portals + c->n_lus + c->n_targets, 0);
	config_free(c);
}
END_TEST

START_TEST(a_portal_is_all_defaults)
{
	COVERS("N-043");
	struct config *c = parse("portals = ( { } );");

	ck_assert_uint_eq(c->n_portals, 1);
	ck_assert_uint_eq(c->portals[0].port, 3260);
	ck_assert_uint_eq(c->portals[0].group, 1);
	config_free(c);
}
END_TEST

START_TEST(every_type_is_read)
{
	struct config *c = parse("daemon = { pin = true; buffer_memory = \"1GiB\"; window = 7; };\n"
				 "portals = ( { address = \"::1\"; port = 0; } );\n"
				 "lus = ( { name = \"a\"; size = 21474836480L;\n"
				 "  type = \"ram\"; } );\n"
				 "targets = ( { name = \"iqn.2026-01.org.example:a\";\n"
				 "  data_digest = \"crc32c\"; initial_r2t = true;\n"
				 "  luns = ( { lun = 3; lu = \"a\"; read_only = true; } );\n"
				 "  access = ( { any = true; } ); groups = [ 0, 65535 ]; } );\n");

	ck_assert(c->daemon.pin);
	ck_assert_uint_eq(c->daemon.buffer_memory, 1 << 30);
	ck_assert_uint_eq(c->daemon.window, 7);
	ck_assert_str_eq(c->portals[0].address, "::1");
	ck_assert_uint_eq(c->portals[0].port, 0);
	ck_assert_uint_eq(c->portals[0].group, 1);
	ck_assert_uint_eq(c->lus[0].size, 21474836480);
	ck_assert_uint_eq(c->lus[0].origin.line, 3);
	ck_assert_str_eq(c->lus[0].origin.file, "test.conf");
	ck_assert_int_eq(c->targets[0].data_digest, 1);
	ck_assert_int_eq(c->targets[0].header_digest, -1);
	ck_assert_int_eq(c->targets[0].initial_r2t, 1);
	ck_assert_int_eq(c->targets[0].immediate_data, -1);
	ck_assert_uint_eq(c->targets[0].luns[0].lun, 3);
	ck_assert(c->targets[0].luns[0].read_only);
	ck_assert(c->targets[0].access[0].any);
	ck_assert_uint_eq(c->targets[0].n_groups, 2);
	ck_assert_uint_eq(c->targets[0].groups[1], 65535);
	config_free(c);
}
END_TEST

START_TEST(faults_are_named)
{
	refused("daemon = {\n  colour = \"blue\";\n};", 2, "colour");
	refused("daemon = { window = 1;\n window = 2; };", 2, "duplicate");
	refused("daemon = { };\ndaemon = { };", 2, "duplicate");
	refused("\nportals = ( { port = 65536; } );", 2, "port");
	refused("portals = ( { port = -1; } );", 1, "port");
	refused("portals = ( { port = \"3260\"; } );", 1, "port");
	refused("portals = { port = 3260; };", 1, "list");
	refused("lus = ( 7 );", 1, "group");
	refused("lus = ( { type = \"ram\"; } );", 1, "name");
	refused("lus = ( { name = \"a\"; size = \"1XB\"; } );", 1, "size");
	refused("lus = ( { name = \"a\"; size = 1.5; } );", 1, "size");
	refused("lus = ( { name = \"a\"; type = \"tape\"; } );", 1, "file block ram null");
	refused("lus = ( { name = \"a\"; thin = 1; } );", 1, "thin");
	refused("targets = ( { name = \"t\"; header_digest = \"md5\"; } );", 1, "header_digest");
	refused("targets = ( { name = \"t\"; groups = [ 65536 ]; } );", 1, "groups");
	refused("targets = ( { name = \"t\"; luns = ( { lun = 16384; lu = \"a\"; } ); } );", 1,
		"16383");
	refused("daemon = { login_timeout_s = 0; };", 1, "login_timeout_s");
	refused("daemon = { node_name = \"a\\x07b\"; };", 1, "control character");
	/* libconfig 1.5 would make 0 of it. */
	refused("# 99999999999\n/* 99999999999\n */ lus = ( { name = \"99999999999\";\n"
		"size = 21474836480; } );",
		4, "21474836480");
	refused("daemon = { window = 99999999999999999999; };", 1, "too large");
	refused("daemon = 7;", 1, "group");
	refused("daemon = {\n", 2, "syntax");
}
END_TEST

START_TEST(too_long_is_refused)
{
	char text[600], name[400];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "lus = ( { name = \"%s\"; } );", name);
	refused(text, 1, "name");
}
END_TEST

START_TEST(file_errors_name_the_file)
{
	struct config_error err;
	struct config *c = NULL;

	ck_assert_int_eq(config_parse_file("/nonexistent/hawser.conf", &c, &err), -ENOENT);
	ck_assert_str_eq(err.file, "/nonexistent/hawser.conf");
	ck_assert_int_eq(config_parse_file("/", &c, &err), -EINVAL);
	ck_assert_ptr_null(c);
}
END_TEST

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

START_TEST(included_file_is_named)
{
	char dir[] = "/tmp/hawser-parse-XXXXXX", main_path[64], part[64];
	struct config_error err;
	struct config *c = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(main_path, sizeof(main_path), "%s/main.conf", dir);
	snprintf(part, sizeof(part), "%s/part.conf", dir);
	write_file(main_path, "daemon = { window = 5; };\n@include \"part.conf\"\n");
	write_file(part, "\nlus = ( { name = \"a\";\n colour = 1; } );\n");
	ck_assert_int_eq(config_parse_file(main_path, &c, &err), -EINVAL);
	ck_assert_msg(strstr(err.file, "part.conf"), "%s", err.file);
	ck_assert_uint_eq(err.line, 3);
	write_file(part, "\nlus = ( { name = \"a\"; } );\n");
	ck_assert_int_eq(config_parse_file(main_path, &c, &err), 0);
	ck_assert_str_eq(c->lus[0].name, "a");
	ck_assert_uint_eq(c->lus[0].origin.line, 2);
	config_free(c);
	write_file(part, "\nlus = ( { name = \"a\";\n size = 5000000000; } );\n");
	ck_assert_int_eq(config_parse_file(main_path, &c, &err), -EINVAL);
	ck_assert_msg(strstr(err.file, "part.conf"), "%s", err.file);
	ck_assert_uint_eq(err.line, 3);
	unlink(main_path);
	unlink(part);
	rmdir(dir);
}
END_TEST

UNIT_MAIN("config/parse", empty_is_all_defaults, a_portal_is_all_defaults, every_type_is_read,
	  faults_are_named, too_long_is_refused, file_errors_name_the_file, included_file_is_named)
