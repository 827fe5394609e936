/* SPDX-License-Identifier: BSD-2-Clause */
/* Target port groups and their states: by the administrator, by initiators, over reloads. */
#include "daemon/alua.c"
#include "tests/unit/daemon/admin_fixture.h"

#define T "iqn.2026-01.org.example:t"
#define U "iqn.2026-01.org.example:u"

static const char conf[] =
    "portals = ( { port = 1; group = 1; }, { port = 2; group = 2; } );\n"
    "targets = ( { name = \"" T "\"; alua = \"both\"; port_groups = (\n"
    "  { id = 1; groups = [ 1 ]; }, { id = 2; state = \"standby\"; } ); } );\n";

static void start(struct world *w, const char *text)
{
	struct world_apply a = { .request.boot = true };

	world_start(w);
	alua_start(&w->d);
	ck_assert_int_eq(world_apply(w, &a, text), APPLY_DONE);
}

/* A group as alua.list shows it. */
static void shows(struct world *w, const char *target, int id, const char *state,
		  const char *set_by, bool preferred)
{
	json_t *a = ask(w, "alua.list", "{}"), *g;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(a, "result"), "port_groups"), i, g)
	{
		if (strcmp(json_string_value(json_object_get(g, "target")), target) != 0 ||
		    json_integer_value(json_object_get(g, "id")) != id)
			continue;
		found = true;
		ck_assert_str_eq(json_string_value(json_object_get(g, "state")), state);
		ck_assert_str_eq(json_string_value(json_object_get(g, "set_by")), set_by);
		ck_assert_int_eq(json_is_true(json_object_get(g, "preferred")), preferred);
	}
	ck_assert_msg(found, "%s has no port group %d", target, id);
	json_decref(a);
}

static bool kept(struct world *w, const char *target, uint16_t id)
{
	char key[300];

	return state_find(w->d.state, STATE_ACCESS, state_port_key(target, id, key));
}

/* Also of a target that stems from hawser.conf; back to its settings nothing is kept. */
START_TEST(administrator_sets)
{
	struct world w;

	start(&w, conf);
	shows(&w, T, 1, "active-optimized", "configuration", false);
	shows(&w, T, 2, "standby", "configuration", false);
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"state\":\"offline\"}");
	shows(&w, T, 2, "offline", "administrator", false);
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"preferred\":true}");
	shows(&w, T, 2, "offline", "administrator", true);
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"state\":\"standby\"}");
	shows(&w, T, 2, "standby", "administrator", true);
	ck_assert(kept(&w, T, 2));
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"preferred\":false}");
	shows(&w, T, 2, "standby", "configuration", false);
	ck_assert(!kept(&w, T, 2));
	bad(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"state\":\"idle\"}", ADMIN_REFUSED,
	    "no access state \"idle\"");
	bad(&w, "alua.set", "{\"target\":\"" T "\",\"id\":3,\"state\":\"standby\"}",
	    ADMIN_NOT_FOUND, "no port group 3");
	bad(&w, "alua.set", "{\"target\":\"" U "\",\"id\":3}", ADMIN_NOT_FOUND, "does not exist");
	bad(&w, "alua.define", "{\"target\":\"" T "\",\"id\":2}", ADMIN_CONFLICT, "stems from");
	world_end(&w);
}
END_TEST

/* A target made at run time: the rest first, then what is to be apart. */
START_TEST(groups_at_run_time)
{
	struct world w;

	start(&w, "portals = ( { port = 1; group = 1; }, { port = 2; group = 2; } );\n");
	good(&w, "target.create", "{\"name\":\"" U "\"}");
	shows(&w, U, 1, "active-optimized", "configuration", false);
	bad(&w, "alua.define", "{\"target\":\"" U "\",\"id\":4,\"groups\":[2]}", ADMIN_REFUSED,
	    "portal group 1 is in no port group");
	good(&w, "alua.define", "{\"target\":\"" U "\",\"id\":3}");
	good(&w, "alua.define",
	     "{\"target\":\"" U "\",\"id\":4,\"groups\":[2],\"state\":\"unavailable\"}");
	shows(&w, U, 4, "unavailable", "configuration", false);
	good(&w, "alua.set", "{\"target\":\"" U "\",\"id\":4,\"state\":\"standby\"}");
	/* Made anew it has its own settings; what was set above them stays. */
	good(&w, "alua.define",
	     "{\"target\":\"" U "\",\"id\":4,\"groups\":[2],\"preferred\":true}");
	shows(&w, U, 4, "standby", "administrator", true);
	good(&w, "alua.remove", "{\"target\":\"" U "\",\"id\":4}");
	ck_assert(!kept(&w, U, 4));
	bad(&w, "alua.remove", "{\"target\":\"" U "\",\"id\":4}", ADMIN_NOT_FOUND, "port group 4");
	bad(&w, "alua.mode", "{\"target\":\"" U "\",\"mode\":\"none\"}", ADMIN_REFUSED,
	    "has no port groups");
	bad(&w, "alua.mode", "{\"target\":\"" U "\",\"mode\":\"maybe\"}", ADMIN_REFUSED,
	    "must be one of");
	good(&w, "alua.mode", "{\"target\":\"" U "\",\"mode\":\"explicit\"}");
	bad(&w, "alua.set", "{\"target\":\"" U "\",\"id\":3,\"state\":\"standby\"}", ADMIN_CONFLICT,
	    "leaves its states alone");
	world_end(&w);
}
END_TEST

static bool answered_change;

static void change_done(struct alua_change *c)
{
	(void)c;
	answered_change = true;
}

/* As SET TARGET PORT GROUPS asks; the result. */
static int initiator_sets(struct world *w, struct alua_change *c, const char *target, uint16_t id,
			  uint8_t state)
{
	static struct alua_group g;

	g = (struct alua_group){ .id = id, .state = state };
	*c = (struct alua_change){ .n = 1, .groups = &g, .nexus = 5, .done = change_done };
	c->reactor = w->d.control;
	snprintf(c->target_port, sizeof(c->target_port), "%s,t,0x0001", target);
	answered_change = false;
	c->priv = &w->d;
	change(c, &w->d);
	while (!answered_change)
		world_turn(w);
	return c->result;
}

START_TEST(initiators_set)
{
	struct alua_change c;
	struct world w;

	start(&w, conf);
	ck_assert_int_eq(initiator_sets(&w, &c, T, 2, ALUA_ACTIVE_OPTIMIZED), 0);
	shows(&w, T, 2, "active-optimized", "initiator", false);
	ck_assert_int_eq(initiator_sets(&w, &c, T, 9, ALUA_STANDBY), -ENOENT);
	ck_assert_int_eq(initiator_sets(&w, &c, U, 1, ALUA_STANDBY), -EPERM);
	/* What the administrator has put there meanwhile stays. */
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"state\":\"transitioning\"}");
	ck_assert_int_eq(initiator_sets(&w, &c, T, 2, ALUA_STANDBY), -EBUSY);
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"state\":\"offline\"}");
	ck_assert_int_eq(initiator_sets(&w, &c, T, 2, ALUA_STANDBY), -EPERM);
	shows(&w, T, 2, "offline", "administrator", false);
	w.d.apply.closed = true;
	ck_assert_int_eq(initiator_sets(&w, &c, T, 1, ALUA_STANDBY), -EIO);
	w.d.apply.closed = false;
	world_end(&w);
}
END_TEST

/* The state stands above the settings, until the group is no more. */
START_TEST(over_reloads)
{
	struct world_apply same = { 0 }, other = { 0 };
	struct world w;

	start(&w, conf);
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":2,\"state\":\"unavailable\"}");
	good(&w, "alua.set", "{\"target\":\"" T "\",\"id\":1,\"state\":\"standby\"}");
	ck_assert_int_eq(world_apply(&w, &same, conf), APPLY_DONE);
	shows(&w, T, 2, "unavailable", "administrator", false);
	ck_assert_int_eq(
	    world_apply(&w, &other,
			"portals = ( { port = 1; group = 1; }, { port = 2; group = 2; } );\n"
			"targets = ( { name = \"" T "\"; } );\n"),
	    APPLY_DONE);
	shows(&w, T, 1, "standby", "administrator", false);
	ck_assert(!kept(&w, T, 2));
	world_end(&w);
}
END_TEST

UNIT_MAIN("daemon/alua", administrator_sets, groups_at_run_time, initiators_set, over_reloads)
