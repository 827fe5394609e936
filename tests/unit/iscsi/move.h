/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of logins that go to another reactor: a session at `home`, and logins that come to
 * `away`. Each test program includes this once.
 *
 * Threads: the test's, as long as no reactor has one. Ownership: from setup until teardown.
 */
#ifndef HAWSER_UNIT_ISCSI_MOVE_H
#define HAWSER_UNIT_ISCSI_MOVE_H

#include "daemon/base/bytes.h"
#include "daemon/base/pool.h"
#include "scsi/exec.h"
#include "tests/unit/fake_initiator.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/session.h"

#include <errno.h>
#include <string.h>

static struct fake_net home, away;
static struct fake_initiator first; /* leads the session */

static void allow_more(struct iscsi_policy *p)
{
	p->targets[0].keys.max_connections = 8;
	p->targets[0].keys.default_time2wait = 0;
	p->targets[0].keys.default_time2retain = 20;
	p->login_timeout_s = 2;
}

static void start_net(struct fake_net *n)
{
	struct iscsi_policy *p = fake_policy(1);

	allow_more(p);
	fake_net_start(n, p);
	if (scsi_reactor_start(n->reactor, n->arena))
		abort();
}

static void turn_both(void)
{
	for (unsigned n = 0; n < 4; n++) {
		fake_turn(&away, 1);
		fake_turn(&home, 1);
	}
}

static const struct iscsi_reactor *layer(const struct fake_net *n)
{
	return iscsi_reactor_of(n->reactor);
}

static unsigned pdus(const struct fake_net *n)
{
	return pool_in_use(layer(n)->pdus);
}

static void stop_net(struct fake_net *n)
{
	struct list *pos;

	list_for_each (pos, &n->conns)
		fake_hang_up(list_entry(pos, struct fake_conn, node));
	turn_both();
	iscsi_reactor_stop(n->reactor);
	turn_both();
	scsi_reactor_stop(n->reactor);
}

static void setup(void)
{
	start_net(&home);
	start_net(&away);
	first = fake_logged_in(&home, FAKE_NORMAL "MaxConnections=4\nMaxBurstLength=65536\n");
	fake_turn(&home, 2);
}

static void teardown(void)
{
	stop_net(&away);
	stop_net(&home);
	fake_net_stop(&away);
	fake_net_stop(&home);
}

static void check_left(void)
{
	ck_assert_uint_eq(layer(&away)->n_conns, 0);
	ck_assert_uint_eq(layer(&away)->n_unauthenticated, 0);
	ck_assert(list_empty(&layer(&away)->conns));
	ck_assert_uint_eq(pdus(&away), 0);
}

static int run_suite(const char *name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 60);
	tcase_add_checked_fixture(c, setup, teardown);
	for (size_t i = 0; i < n; i++)
		tcase_add_test(c, tests[i]);
	suite_add_tcase(suite, c);
	return unit_end(runner);
}

#endif
