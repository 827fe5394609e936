/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The net that the tests of login run on, and what they say of a refusal.
 *
 * Threads: one, the test's. Ownership: setup and teardown around each test.
 */
#ifndef HAWSER_TESTS_LOGIN_FIXTURE_H
#define HAWSER_TESTS_LOGIN_FIXTURE_H

#include "daemon/base/stats.h"
#include "tests/unit/fake_initiator.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_net net;
static struct iscsi_policy *policy;

static void setup(void)
{
	policy = fake_policy(1);
	fake_net_start(&net, policy);
}

static void teardown(void)
{
	fake_net_stop(&net);
}

static unsigned sessions(void)
{
	struct list *pos;
	unsigned n = 0;

	list_for_each (pos, &iscsi_reactor_of(net.reactor)->sessions)
		n++;
	return n;
}

/* How often this status has been counted on the reactor of the connection. */
static uint64_t counted(const struct fake_initiator *i, unsigned status)
{
	char name[16];

	snprintf(name, sizeof(name), "logins_%04x", status);
	for (unsigned s = 0; s < STATS; s++)
		if (!strcmp(stats_name((enum stat_id)s), name))
			return stats_get(reactor_counters(i->fc->net->reactor), (enum stat_id)s);
	ck_abort_msg("no counter %s", name);
}

/* The answer is a refusal with this status, it is counted as such, and the connection closes. */
static void check_refused(struct fake_initiator *i, struct fake_pdu *p, unsigned status)
{
	ck_assert_uint_ge(counted(i, status), 1);
	ck_assert_uint_eq(fake_status(p), status);
	ck_assert_uint_eq(p->bhs[1], 0); /* T, CSG and NSG are reserved then */
	free(p);
	ck_assert(fake_closed(i->fc));
}

#endif
