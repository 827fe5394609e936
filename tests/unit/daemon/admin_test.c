/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests by their methods: dispatch, who may, what is kept, what is refused and why. */
#include "daemon/boot.h"
#include "tests/unit/daemon/admin_fixture.h"

#define T "iqn.2026-01.org.example:t"

static void start(struct world *w)
{
	struct world_apply a = { .request.boot = true };

	world_start(w);
	ck_assert_int_eq(
	    world_apply(w, &a,
			"portals = ( { address = \"127.0.0.1\"; } );\n"
			"lus = ( { name = \"conf\"; type = \"ram\"; size = 1048576; } );\n"
			"targets = ( { name = \"iqn.2026-01.org.example:conf\"; } );"),
	    APPLY_DONE);
}

static int error_code(json_t *a)
{
	int code = (int)json_integer_value(json_object_get(json_object_get(a, "error"), "code"));

	json_decref(a);
	return code;
}

START_TEST(what_is_no_request)
{
	struct world w;

	start(&w);
	ck_assert_int_eq(error_code(ask_as(&w, ADMIN_CHANGE, "[]")), ADMIN_INVALID_REQUEST);
	ck_assert_int_eq(error_code(ask_as(&w, ADMIN_CHANGE, "{\"id\":1,\"method\":\"lun.list\"}")),
			 ADMIN_INVALID_REQUEST);
	ck_assert_int_eq(error_code(ask_as(&w, ADMIN_CHANGE,
					   "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}")),
			 ADMIN_INVALID_REQUEST);
	ck_assert_int_eq(
	    error_code(
		ask_as(&w, ADMIN_CHANGE,
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"lun.list\",\"params\":[]}")),
	    ADMIN_INVALID_PARAMS);
	bad(&w, "lun.fly", "{}", ADMIN_UNKNOWN_METHOD, "lun.fly");
	bad(&w, "lun.show", "{\"nam\":\"a\"}", ADMIN_INVALID_PARAMS, "nam");
	bad(&w, "lun.show", "{\"name\":7}", ADMIN_INVALID_PARAMS, "name");
	world_end(&w);
}
END_TEST

static void denied(const struct admin_method *m, void *arg)
{
	struct world *w = arg;
	char text[300];
	int code;

	if (m->access == ADMIN_READ)
		return;
	ck_assert_int_eq(m->access, ADMIN_CHANGE);
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", m->name);
	code = error_code(ask_as(w, ADMIN_READ, text));
	ck_assert_msg(code == ADMIN_DENIED, "%s: %d", m->name, code);
}

START_TEST(readers_change_nothing)
{
	struct world w;

	start(&w);
	admin_method_each(denied, &w);
	json_decref(
	    ask_as(&w, ADMIN_READ, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"lun.list\"}"));
	world_end(&w);
}
END_TEST

static void has_help(const struct admin_method *m, void *arg)
{
	(void)arg;
	ck_assert_msg(m->run && m->params && m->help, "%s", m->name);
	ck_assert_ptr_eq(admin_method_find(m->name), m);
}

START_TEST(every_method_is_whole)
{
	admin_method_each(has_help, NULL);
}
END_TEST

START_TEST(made_at_run_time_survives_a_restart)
{
	struct world_apply again = { .request.boot = true };
	struct config *c = NULL;
	struct world w;
	char naa[33];

	start(&w);
	good(&w, "target.create", "{\"name\":\"" T "\",\"alias\":\"x\"}");
	good(&w, "lun.create",
	     "{\"name\":\"a\",\"path\":\"@/a.img\",\"size\":\"1MiB\",\"target\":\"" T "\"}");
	good(&w, "access.add", "{\"target\":\"" T "\",\"initiator\":\"iqn.*\"}");
	good(&w, "portal.create", "{\"address\":\"127.0.0.2\",\"port\":99}");
	ck_assert_uint_eq(listening, 2);
	snprintf(naa, sizeof(naa), "%s", node_find_lu(&w.d.node, "a")->config.naa);
	world_restart(&w);
	c = config_new();
	ck_assert_int_eq(boot_add_state(w.d.state, c), 0);
	ck_assert_uint_eq(c->n_lus, 1);
	/* Made once: not again when it is missing. */
	ck_assert(!c->lus[0].create);
	ck_assert_str_eq(c->targets[0].name, T);
	ck_assert_str_eq(c->targets[0].luns[0].lu, "a");
	ck_assert_str_eq(c->targets[0].access[0].initiator, "iqn.*");
	ck_assert_uint_eq(c->portals[0].port, 99);
	config_free(c);
	world_apply(&w, &again, "lus = ( { name = \"a\"; path = \"@/a.img\"; } );");
	ck_assert_str_eq(node_find_lu(&w.d.node, "a")->config.naa, naa);
	world_end(&w);
}
END_TEST

/* Names are compared as the protocol does, whatever is done with the target. */
START_TEST(case_of_names_does_not_matter)
{
	struct world w;

	start(&w);
	good(&w, "target.create", "{\"name\":\"iqn.2026-01.org.example:T1\"}");
	good(&w, "access.add", "{\"target\":\"iqn.2026-01.ORG.example:t1\",\"any\":true}");
	good(&w, "target.show", "{\"name\":\"iqn.2026-01.ORG.example:T1\"}");
	good(&w, "access.list", "{\"target\":\"IQN.2026-01.org.example:t1\"}");
	bad(&w, "target.show", "{\"name\":\"no name\"}", ADMIN_NOT_FOUND, "no name");
	world_end(&w);
}
END_TEST

START_TEST(what_stems_from_the_file_stays)
{
	struct world w;

	start(&w);
	bad(&w, "lun.delete", "{\"name\":\"conf\"}", ADMIN_CONFLICT, "test.conf line 2");
	bad(&w, "target.offline", "{\"name\":\"iqn.2026-01.org.example:conf\"}", ADMIN_CONFLICT,
	    "test.conf line 3");
	bad(&w, "portal.delete", "{\"address\":\"127.0.0.1\",\"port\":3260}", ADMIN_CONFLICT,
	    "test.conf line 1");
	bad(&w, "lun.create", "{\"name\":\"conf\",\"type\":\"ram\",\"size\":512}", ADMIN_REFUSED,
	    "test.conf:2");
	bad(&w, "lun.map", "{\"name\":\"conf\",\"target\":\"iqn.2026-01.org.example:conf\"}",
	    ADMIN_CONFLICT, "test.conf line 3");
	/* But what is made at run time may use it. */
	good(&w, "target.create", "{\"name\":\"" T "\"}");
	good(&w, "lun.map", "{\"name\":\"conf\",\"target\":\"" T "\"}");
	world_end(&w);
}
END_TEST

START_TEST(units_and_numbers)
{
	json_t *a;
	struct world w;

	start(&w);
	good(&w, "target.create", "{\"name\":\"" T "\"}");
	bad(&w, "lun.create", "{\"name\":\"a\"}", ADMIN_REFUSED, "path");
	bad(&w, "lun.create", "{\"name\":\"a\",\"type\":\"ram\",\"size\":\"1MiB\",\"colour\":1}",
	    ADMIN_REFUSED, "colour");
	bad(&w, "lun.create", "{\"name\":\"a\",\"type\":\"ram\",\"size\":512,\"target\":\"x\"}",
	    ADMIN_NOT_FOUND, "x");
	ck_assert_ptr_null(node_find_lu(&w.d.node, "a"));
	good(&w, "lun.create",
	     "{\"name\":\"a\",\"type\":\"ram\",\"size\":512,\"target\":\"" T "\",\"lun\":1}");
	good(&w, "lun.map", "{\"name\":\"a\",\"target\":\"" T "\"}");
	good(&w, "lun.map", "{\"name\":\"a\",\"target\":\"" T "\"}");
	bad(&w, "lun.map", "{\"name\":\"a\",\"target\":\"" T "\",\"lun\":2}", ADMIN_REFUSED,
	    "twice");
	a = ask(&w, "lun.show", "{\"name\":\"a\"}");
	ck_assert_uint_eq(json_array_size(json_object_get(json_object_get(a, "result"), "mapped")),
			  3);
	json_decref(a);
	bad(&w, "lun.delete", "{\"name\":\"a\"}", ADMIN_CONFLICT, "lun 1");
	good(&w, "lun.unmap", "{\"target\":\"" T "\",\"lun\":1}");
	bad(&w, "lun.unmap", "{\"target\":\"" T "\",\"lun\":1}", ADMIN_NOT_FOUND, "lun 1");
	good(&w, "lun.delete", "{\"name\":\"a\",\"unmap\":true}");
	ck_assert_uint_eq(config_find_target(w.d.node.config, T)->n_luns, 0);
	ck_assert_ptr_null(state_find(w.d.state, STATE_LU, "a"));
	ck_assert_ptr_null(state_find(w.d.state, STATE_IDENTITY, "a"));
	ck_assert_uint_eq(w.d.node.n_stores, 1);
	world_end(&w);
}
END_TEST

START_TEST(rules_of_access)
{
	struct world w;

	start(&w);
	good(&w, "target.create", "{\"name\":\"" T "\"}");
	bad(&w, "access.add", "{\"target\":\"" T "\"}", ADMIN_REFUSED, "admits nobody");
	bad(&w, "access.add", "{\"target\":\"" T "\",\"network\":\"x\"}", ADMIN_REFUSED, "network");
	good(&w, "access.add", "{\"target\":\"" T "\",\"network\":\"192.0.2.0/24\"}");
	good(&w, "access.add", "{\"target\":\"" T "\",\"any\":true}");
	bad(&w, "access.remove", "{\"target\":\"" T "\",\"rule\":3}", ADMIN_NOT_FOUND, "2 access");
	good(&w, "access.remove", "{\"target\":\"" T "\",\"rule\":1}");
	ck_assert(config_find_target(w.d.node.config, T)->access[0].any);
	world_end(&w);
}
END_TEST

static void check_redirect(struct world *w, const char *address, unsigned groups, bool removed)
{
	const struct config_target *t = config_find_target(w->d.node.config, T);

	ck_assert_ptr_nonnull(t);
	ck_assert_str_eq(t->redirect ? t->redirect : "", address);
	ck_assert_uint_eq(t->n_redirect_groups, groups);
	ck_assert(t->removed == removed);
}

START_TEST(targets_move)
{
	struct world w;

	start(&w);
	good(&w, "target.create", "{\"name\":\"" T "\"}");
	good(&w, "target.redirect",
	     "{\"name\":\"" T "\",\"redirect\":\"192.0.2.7\",\"redirect_groups\":[1]}");
	check_redirect(&w, "192.0.2.7", 1, false);
	good(&w, "target.redirect", "{\"name\":\"" T "\",\"redirect\":\"a.example\"}");
	check_redirect(&w, "a.example", 0, false);
	bad(&w, "target.redirect", "{\"name\":\"" T "\",\"redirect\":\"::\"}", ADMIN_REFUSED,
	    "leads nowhere");
	bad(&w, "target.redirect", "{\"name\":\"" T "\",\"alias\":\"x\"}", ADMIN_INVALID_PARAMS,
	    "alias");
	check_redirect(&w, "a.example", 0, false);
	good(&w, "target.retire", "{\"name\":\"" T "\"}");
	check_redirect(&w, "", 0, true);
	good(&w, "target.online", "{\"name\":\"" T "\"}");
	check_redirect(&w, "", 0, false);
	good(&w, "target.redirect", "{\"name\":\"" T "\"}");
	check_redirect(&w, "", 0, false);
	world_end(&w);
}
END_TEST

/* fault-C05 */
START_TEST(portals_that_clash)
{
	struct world w;
	const struct node_portal *np;

	start(&w); /* 127.0.0.1:3260 from the file */
	bad(&w, "portal.create", "{\"address\":\"0.0.0.0\"}", ADMIN_REFUSED, "would cover");
	bad(&w, "portal.create", "{\"address\":\"0.0.0.0\",\"replace\":true}", ADMIN_CONFLICT,
	    "stems from");
	good(&w, "portal.create", "{\"address\":\"0.0.0.0\",\"port\":99}");
	bad(&w, "portal.create", "{\"address\":\"127.0.0.2\",\"port\":99}", ADMIN_REFUSED,
	    "covered by the wildcard portal 0.0.0.0 (made at run time)");
	good(&w, "portal.create", "{\"address\":\"127.0.0.2\",\"port\":99,\"replace\":true}");
	ck_assert_uint_eq(listening, 2);
	ck_assert_uint_eq(w.d.node.config->n_portals, 2);
	ck_assert_str_eq(w.d.node.config->portals[1].address, "127.0.0.2");
	/* What is told of it changes; it goes on listening. */
	np = list_entry(w.d.node.portals.prev, struct node_portal, node);
	good(&w, "portal.set",
	     "{\"address\":\"127.0.0.2\",\"port\":99,\"advertise\":\"a.example\"}");
	ck_assert_ptr_eq(np, list_entry(w.d.node.portals.prev, struct node_portal, node));
	ck_assert_str_eq(np->config.advertise, "a.example");
	bad(&w, "portal.set", "{\"address\":\"127.0.0.2\",\"port\":99,\"advertise\":\"::\"}",
	    ADMIN_REFUSED, "could go to");
	good(&w, "portal.set", "{\"address\":\"127.0.0.2\",\"port\":99}");
	ck_assert_ptr_null(np->config.advertise);
	bad(&w, "portal.set", "{\"address\":\"127.0.0.1\",\"port\":3260}", ADMIN_CONFLICT,
	    "stems from");
	good(&w, "portal.delete", "{\"address\":\"127.0.0.2\",\"port\":99}");
	ck_assert_uint_eq(listening, 1);
	world_end(&w);
}
END_TEST

START_TEST(names_are_made_up)
{
	json_t *a, *b;
	const char *name;
	struct world w;

	start(&w);
	a = ask(&w, "target.create", "{}");
	b = ask(&w, "target.create", "{}");
	name = json_string_value(json_object_get(json_object_get(a, "result"), "name"));
	ck_assert_msg(!strncmp(name, "iqn.20", 6), "%s", name);
	ck_assert_str_ne(name,
			 json_string_value(json_object_get(json_object_get(b, "result"), "name")));
	ck_assert_uint_eq(w.d.node.config->n_targets, 3);
	bad(&w, "target.create", "{\"name\":\"disk\"}", ADMIN_REFUSED, "not an iSCSI name");
	json_decref(a);
	json_decref(b);
	world_end(&w);
}
END_TEST

/* A folder that cannot be written: the change is refused, and nothing of it is there. */
START_TEST(what_cannot_be_kept_is_refused)
{
	struct world_apply other = { 0 };
	struct world w;
	char path[100];

	start(&w);
	snprintf(path, sizeof(path), "%s/journal.new", w.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	bad(&w, "target.create", "{\"name\":\"" T "\"}", ADMIN_FAILED, "nothing was changed");
	bad(&w, "portal.create", "{\"address\":\"127.0.0.2\"}", ADMIN_FAILED,
	    "nothing was changed");
	ck_assert_ptr_null(config_find_target(w.d.node.config, T));
	ck_assert_uint_eq(listening, 1);
	ck_assert_int_eq(world_apply(&w, &other,
				     "portals = ( { port = 5; } );"
				     "lus = ( { name = \"z\"; type = \"ram\"; size = 512; } );"),
			 APPLY_FAILED);
	ck_assert_uint_eq(listening, 1);
	ck_assert_int_eq(rmdir(path), 0);
	good(&w, "target.create", "{\"name\":\"" T "\"}");
	world_end(&w);
}
END_TEST

START_TEST(text_of_what_is_in_force)
{
	struct config_error err;
	struct config *c = NULL;
	json_t *a;
	struct world w;

	start(&w);
	good(&w, "target.create", "{\"name\":\"" T "\"}");
	a = ask(&w, "config.save", "{}");
	ck_assert_int_eq(config_parse_text(json_string_value(json_object_get(
					       json_object_get(a, "result"), "text")),
					   "saved", &c, &err),
			 0);
	ck_assert(config_object_equal(&config_root_scope, c, w.d.node.config));
	config_free(c);
	json_decref(a);
	world_end(&w);
}
END_TEST

UNIT_MAIN("daemon/admin", what_is_no_request, readers_change_nothing, every_method_is_whole,
	  made_at_run_time_survives_a_restart, case_of_names_does_not_matter,
	  what_stems_from_the_file_stays, units_and_numbers, rules_of_access, targets_move,
	  portals_that_clash, names_are_made_up, what_cannot_be_kept_is_refused,
	  text_of_what_is_in_force)
