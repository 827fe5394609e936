/* SPDX-License-Identifier: BSD-2-Clause */
/* Target port groups that contradict each other, or leave something out. */
#include "config/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IQN     "iqn.2026-01.org.example:"
#define PORTALS "portals = ( { port = 1; group = 1; }, { port = 2; group = 2; } );\n"
#define DISK    "lus = ( { name = \"a\"; type = \"ram\"; size = \"1MiB\"; } );\n"
#define LUNS    "luns = ( { lun = 0; lu = \"a\"; } );"

static int check(const char *targets, struct config_error *err)
{
	struct config *c = NULL;
	char text[2000];
	int r;

	snprintf(text, sizeof(text), PORTALS DISK "targets = ( %s );", targets);
	r = config_parse_text(text, "test.conf", &c, err);
	ck_assert_msg(r == 0, "%s", err->text);
	r = config_check(c, err);
	config_free(c);
	return r;
}

#define ONE(settings) "{ name = \"" IQN "t\"; " settings " }"
#define TWO(a, b)                                                                                  \
	"{ name = \"" IQN "t\"; port_groups = (" a "); " LUNS " },"                                \
	"{ name = \"" IQN "u\"; port_groups = (" b "); " LUNS " }"

/* NULL: good. */
static const struct {
	const char *targets, *word;
} rows[] = {
	{ ONE(""), NULL },
	{ ONE("alua = \"none\";"), NULL },
	{ ONE("port_groups = ( { id = 1; groups = [ 1 ]; }, { id = 2; groups = [ 2 ]; } );"),
	  NULL },
	/* The rest; a portal group that is not there yet. */
	{ ONE("port_groups = ( { id = 1; }, { id = 0; groups = [ 2 ]; } );"), NULL },
	{ ONE("port_groups = ( { id = 1; groups = [ 1, 2, 3 ]; } );"), NULL },
	/* Only those by which it is reached. */
	{ ONE("groups = [ 2 ]; port_groups = ( { id = 1; groups = [ 2 ]; } );"), NULL },
	{ ONE("port_groups = ( { id = 1; groups = [ 1 ]; } );"),
	  "portal group 2 is in no port group" },
	{ ONE("port_groups = ( { id = 1; groups = [ 1 ]; }, { id = 1; } );"), "is there twice" },
	{ ONE("port_groups = ( { id = 1; }, { id = 2; } );"), "both have no groups" },
	{ ONE("port_groups = ( { id = 1; groups = [ 1, 2 ]; }, { id = 2; groups = [ 2 ]; } );"),
	  "portal group 2 is in port groups 1 and 2" },
	{ ONE("alua = \"none\"; port_groups = ( { id = 1; } );"), "has no port groups" },
	{ TWO("{ id = 1; }", "{ id = 2; }"), NULL },
	{ TWO("{ id = 1; }", "{ id = 1; }"), "give it another id" },
	{ "{ name = \"" IQN "t\"; port_groups = ( { id = 1; } ); " LUNS " },"
	  "{ name = \"" IQN "u\"; port_groups = ( { id = 1; } ); }",
	  NULL },
	/* Shown by an access rule's own map. */
	{ "{ name = \"" IQN "t\"; port_groups = ( { id = 1; } );"
	  " access = ( { any = true; " LUNS " } ); },"
	  "{ name = \"" IQN "u\"; port_groups = ( { id = 1; } ); " LUNS " }",
	  "both show lu a" },
};

START_TEST(each)
{
	struct config_error err;
	int r = check(rows[_i].targets, &err);

	if (!rows[_i].word) {
		ck_assert_msg(r == 0, "%s", err.text);
		return;
	}
	ck_assert_int_eq(r, -EINVAL);
	ck_assert_msg(strstr(err.text, rows[_i].word), "%s", err.text);
}
END_TEST

/* What is written is read back to the same. */
START_TEST(dumped_and_read)
{
	struct config *c = NULL, *d = NULL;
	struct config_error err;
	char *text;

	ck_assert_int_eq(
	    config_parse_text("targets = ( { name = \"" IQN "t\"; alua = \"both\"; port_groups = "
			      "( { id = 7; groups = [ 1, 3 ]; state = \"standby\"; }, { id = 8; "
			      "preferred = true; } ); } );",
			      "test.conf", &c, &err),
	    0);
	text = config_dump(c);
	ck_assert_int_eq(config_parse_text(text, "dump", &d, &err), 0);
	ck_assert_str_eq(d->targets[0].alua, "both");
	ck_assert_uint_eq(d->targets[0].n_port_groups, 2);
	ck_assert_uint_eq(d->targets[0].port_groups[0].groups[1], 3);
	ck_assert_str_eq(d->targets[0].port_groups[0].state, "standby");
	ck_assert(d->targets[0].port_groups[1].preferred);
	ck_assert_uint_eq(d->targets[0].port_groups[1].n_groups, 0);
	free(text);
	config_free(c);
	config_free(d);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config/check_alua");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, each, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(c, dumped_and_read);
	suite_add_tcase(suite, c);
	return unit_end(srunner_create(suite));
}
