/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told of the sessions of a reactor: which are, and how many when there is no room. */
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/session.h"

#include <string.h>

static struct rig rig;
static struct session_info info[4];

static unsigned list(uint64_t id, unsigned max)
{
	unsigned n;

	memset(info, 0, sizeof(info));
	n = iscsi_reactor_sessions(rig.net.reactor, id, info, max);
	ck_assert_uint_le(n, iscsi_reactor_sessions_max(rig.net.reactor));
	return n;
}

static void retaining(struct iscsi_policy *p)
{
	p->targets[0].keys.default_time2retain = 20;
}

START_TEST(one_entry_for_each)
{
	struct fake_initiator first, second, discovers, begins;
	uint64_t id;

	rig_start(&rig, NULL);
	ck_assert_uint_eq(list(SESSIONS_ALL, 4), 0);
	first = rig_login_isid(&rig, 1, NULL);
	second = rig_login_isid(&rig, 2, NULL);
	discovers = fake_logged_in(&rig.net, FAKE_DISCOVERY);
	begins = fake_initiator(&rig.net); /* not logged in */
	free(fake_login(&begins, FAKE_OP, FAKE_NORMAL));
	ck_assert_uint_eq(list(SESSIONS_ALL, 4), 3);
	ck_assert_uint_eq(info[0].tsih, first.tsih);
	ck_assert_uint_eq(info[1].tsih, second.tsih);
	ck_assert(info[2].discovery);
	ck_assert_uint_eq(info[2].conn_id, discovers.fc->c->id);
	id = info[1].id;
	ck_assert_uint_eq(list(id, 4), 1);
	ck_assert_uint_eq(info[0].id, id);
	ck_assert_uint_eq(list(id + 1000, 4), 0);
	/* No room: the number is true, and nothing is written beyond. */
	ck_assert_uint_eq(list(SESSIONS_ALL, 2), 3);
	ck_assert_uint_eq(info[1].id, id);
	ck_assert_uint_eq(info[2].id, 0);
	rig_stop(&rig);
}
END_TEST

START_TEST(one_that_waits)
{
	struct fake_initiator i;
	uint64_t id;

	rig_start(&rig, retaining);
	i = rig_login(&rig, "DefaultTime2Retain=20\nMaxBurstLength=4096\n");
	ck_assert_uint_eq(list(SESSIONS_ALL, 4), 1);
	id = info[0].id;
	ck_assert_uint_ne(info[0].conn_id, 0);
	fake_hang_up(i.fc);
	ck_assert_uint_eq(list(id, 4), 1);
	ck_assert_uint_eq(info[0].conn_id, 0);
	ck_assert_uint_eq(info[0].keys.max_burst_length, 4096);
	ck_assert_uint_ge(info[0].waits_s, 20);
	ck_assert_uint_le(info[0].waits_s, 23);
	ck_assert_str_ne(info[0].conn.peer, "");
	ck_assert_uint_eq(list(SESSIONS_ALL, 0), 1);
	ck_assert(iscsi_reactor_drop(rig.net.reactor, id, "a test"));
	fake_turn(&rig.net, 1);
	ck_assert_uint_eq(list(SESSIONS_ALL, 4), 0);
	rig_stop(&rig);
}
END_TEST

UNIT_MAIN("iscsi/info", one_entry_for_each, one_that_waits)
