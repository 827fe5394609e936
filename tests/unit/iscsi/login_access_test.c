/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may log in to what, and the session that comes of it. */
#include "transport/iscsi/login_access.c"

#include "daemon/base/bytes.h"
#include "tests/unit/fake_initiator.h"
#include "tests/unit/iscsi/login_fixture.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

START_TEST(names)
{
	static const char *const good[] = { "iqn.2001-04.com.example:x", "eui.02004567A425678D",
					    "naa.62004567BA64678D0123456789ABCDEF",
					    "IQN.2001-04.COM.example:UPPER" };
	struct fake_initiator i;
	struct fake_pdu *p;
	char text[1024], name[ISCSI_NAME_MAX + 2];

	for (unsigned n = 0; n < 4; n++) {
		i = fake_initiator(&net);
		snprintf(text, sizeof(text), "InitiatorName=%s\nTargetName=" FAKE_TARGET "\n",
			 good[n]);
		p = fake_login(&i, FAKE_OP_FFP, text);
		ck_assert_msg(fake_status(p) == 0, "%s", good[n]);
		ck_assert_int_eq(strcasecmp(i.fc->c->session->initiator, good[n]), 0);
		free(p);
	}
	ck_assert_str_eq(i.fc->c->session->initiator, "iqn.2001-04.com.example:upper");
	for (unsigned longer = 0; longer < 2; longer++) {
		memset(name, 'y', sizeof(name));
		memcpy(name, "iqn.2001-04.com.example:", 24);
		name[ISCSI_NAME_MAX + longer] = '\0';
		i = fake_initiator(&net);
		snprintf(text, sizeof(text), "InitiatorName=%s\nTargetName=" FAKE_TARGET "\n",
			 name);
		p = fake_login(&i, FAKE_OP_FFP, text);
		ck_assert_uint_eq(fake_status(p), longer ? LOGIN_INITIATOR_ERROR : 0);
		free(p);
	}
}
END_TEST

static void redirect_group(struct iscsi_target *t, uint16_t group)
{
	strcpy(t->redirect, "192.0.2.7:3260");
	t->redirect_groups = calloc(1, sizeof(*t->redirect_groups));
	ck_assert_ptr_nonnull(t->redirect_groups);
	t->redirect_groups[0] = group;
	t->n_redirect_groups = 1;
}

static struct iscsi_policy *policy_for_access(void)
{
	struct iscsi_policy *p = policy_alloc(9);
	struct iscsi_target *t = p->targets;

	fake_policy_target(p, 0, "iqn.2001-04.com.example:t0", 1);
	strcpy(t[0].rules[0].initiator, "iqn.2001-04.com.example:other");
	fake_policy_target(p, 1, "iqn.2001-04.com.example:t1", 1);
	t[1].online = false;
	fake_policy_target(p, 2, "iqn.2001-04.com.example:t2", 1);
	strcpy(t[2].redirect, "192.0.2.7:3260");
	fake_policy_target(p, 3, "iqn.2001-04.com.example:t3", 1);
	t[3].rules[0].account = strdup("somebody");
	fake_policy_target(p, 4, "iqn.2001-04.com.example:t4", 1);
	fake_policy_group(&t[4], 2);
	fake_policy_target(p, 5, "iqn.2001-04.com.example:t5", 1);
	strcpy(t[5].redirect, "192.0.2.7:3260");
	t[5].redirect_permanent = true;
	t[5].online = false;
	fake_policy_target(p, 6, "iqn.2001-04.com.example:t6", 1);
	t[6].removed = true;
	fake_policy_target(p, 7, "iqn.2001-04.com.example:t7", 1);
	redirect_group(&t[7], 2); /* the fake portal is of group 1 */
	fake_policy_target(p, 8, "iqn.2001-04.com.example:t8", 1);
	redirect_group(&t[8], 1);
	strcpy(t[8].rules[0].initiator, "iqn.2001-04.com.example:other");
	return p;
}

START_TEST(access_and_state)
{
	static const struct {
		const char *target, *keys;
		uint8_t flags;
		unsigned status;
	} rows[] = {
		{ "t0", "", FAKE_OP_FFP, LOGIN_AUTHORIZATION_FAILURE },
		{ "t0", "InitiatorAlias=iqn.2001-04.com.example:other\n", FAKE_OP_FFP,
		  LOGIN_AUTHORIZATION_FAILURE },
		{ "t1", "", FAKE_OP_FFP, LOGIN_UNAVAILABLE },
		{ "t2", "", FAKE_OP_FFP, LOGIN_MOVED_TEMPORARILY },
		{ "t3", "", FAKE_OP_FFP, LOGIN_AUTHENTICATION_FAILURE },
		{ "t3", "", FAKE_SEC_FFP, LOGIN_AUTHENTICATION_FAILURE },
		{ "t3", "AuthMethod=None\n", FAKE_SEC_OP, LOGIN_AUTHENTICATION_FAILURE },
		{ "t4", "", FAKE_OP_FFP, LOGIN_NOT_FOUND },
		{ "t5", "", FAKE_OP_FFP, LOGIN_MOVED_PERMANENTLY },
		{ "t5", "", FAKE_SEC_OP, LOGIN_MOVED_PERMANENTLY },
		{ "t6", "", FAKE_OP_FFP, LOGIN_TARGET_REMOVED },
		{ "t7", "", FAKE_OP_FFP, LOGIN_SUCCESS },
		{ "t8", "", FAKE_OP_FFP, LOGIN_AUTHORIZATION_FAILURE },
		{ "t9", "", FAKE_OP_FFP, LOGIN_NOT_FOUND },
	};
	struct fake_net other;
	char text[512];

	fake_net_start(&other, policy_for_access());
	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct fake_initiator i = fake_initiator(&other);
		struct fake_pdu *p;

		snprintf(text, sizeof(text),
			 "%sInitiatorName=" FAKE_NAME "\nTargetName=iqn.2001-04.com.example:%s\n",
			 rows[n].keys, rows[n].target);
		p = fake_login(&i, rows[n].flags, text);
		ck_assert_msg(fake_status(p) == rows[n].status, "%s: %04x", rows[n].target,
			      fake_status(p));
		if (rows[n].status == LOGIN_SUCCESS) {
			free(p);
			continue;
		}
		if (rows[n].status >> 8 == 1) {
			ck_assert_str_eq(fake_value(p, "TargetAddress"), "192.0.2.7:3260");
			ck_assert_uint_eq(fake_count(p, NULL), 1);
		}
		check_refused(&i, p, rows[n].status);
	}
	fake_net_stop(&other);
}
END_TEST

/* While the configuration is read, "not there" is not the last word; while the daemon starts,
 * nothing is. */
START_TEST(starting_and_reloading)
{
	static const struct {
		enum iscsi_condition condition;
		const char *text;
		unsigned status;
	} rows[] = {
		{ ISCSI_STARTING, FAKE_NORMAL, LOGIN_UNAVAILABLE },
		{ ISCSI_STARTING, FAKE_DISCOVERY, LOGIN_UNAVAILABLE },
		{ ISCSI_STARTING, "SessionType=Discovery\n", LOGIN_MISSING_PARAMETER },
		{ ISCSI_RELOADING, FAKE_NORMAL "x", LOGIN_INITIATOR_ERROR },
		{ ISCSI_RELOADING, "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET "2\n",
		  LOGIN_UNAVAILABLE },
		{ ISCSI_SERVING, "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET "2\n",
		  LOGIN_NOT_FOUND },
	};

	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p;

		iscsi_set_condition(rows[n].condition);
		p = fake_login(&i, FAKE_OP_FFP, rows[n].text);
		ck_assert_msg(fake_status(p) == rows[n].status, "row %u: %04x", n, fake_status(p));
		check_refused(&i, p, rows[n].status);
	}
	iscsi_set_condition(ISCSI_RELOADING);
	fake_logged_in(&net, FAKE_NORMAL);
	fake_logged_in(&net, FAKE_DISCOVERY);
	iscsi_set_condition(ISCSI_SERVING);
}
END_TEST

START_TEST(alias_of_the_target)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	strcpy(policy->targets[0].alias, "the disk");
	i = fake_initiator(&net);
	p = fake_login(&i, FAKE_OP, FAKE_NORMAL);
	ck_assert_str_eq(fake_value(p, "TargetAlias"), "the disk");
	free(p);
	p = fake_login(&i, FAKE_OP_FFP, "TargetAlias=NotUnderstood\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(fake_count(p, NULL), 0);
	free(p);
}
END_TEST

START_TEST(required_digest)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	policy->targets[0].keys.header_digest_none = false;
	i = fake_initiator(&net);
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL "HeaderDigest=None\n"),
		      LOGIN_INITIATOR_ERROR);
	i = fake_initiator(&net);
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_INITIATOR_ERROR);
	i = fake_initiator(&net);
	p = fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL "HeaderDigest=None,CRC32C\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_str_eq(fake_value(p, "HeaderDigest"), "CRC32C");
	free(p);
}
END_TEST

START_TEST(two_sessions)
{
	struct fake_initiator a = fake_logged_in(&net, FAKE_NORMAL), b = fake_initiator(&net), c;
	struct fake_pdu *p;

	/* another ISID, its last byte only: another session */
	b.isid[5]++;
	b.cid = 0xffff;
	p = fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_mem_eq(p->bhs + 8, b.isid, 6);
	ck_assert_uint_ne(get_be16(p->bhs + 14), a.tsih);
	free(p);
	/* the same ISID of another initiator: another session; a reserved ISID type too */
	c = fake_initiator(&net);
	c.isid[0] = 0xc0;
	p = fake_login(&c, FAKE_OP_FFP,
		       "InitiatorName=iqn.2001-04.com.example:other\nTargetName=" FAKE_TARGET "\n");
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	ck_assert_uint_eq(sessions(), 3);
	ck_assert(!fake_closed(a.fc));
	ck_assert(!fake_closed(b.fc));
}
END_TEST

START_TEST(reinstatement)
{
	struct fake_initiator a = fake_logged_in(&net, FAKE_NORMAL), b = fake_initiator(&net), d;
	struct fake_pdu *p;

	/* a login that fails on its way leaves the old session alone */
	p = fake_login(&b, FAKE_OP, FAKE_NORMAL);
	free(p);
	check_refused(&b, fake_login(&b, FAKE_OP_FFP, "Foo\n"), LOGIN_INITIATOR_ERROR);
	ck_assert(!fake_closed(a.fc));
	/* discovery with the same ISID too */
	d = fake_logged_in(&net, FAKE_DISCOVERY);
	ck_assert(!fake_closed(a.fc));
	ck_assert_uint_eq(sessions(), 2);
	b = fake_initiator(&net);
	b.itt = 9;
	p = fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(get_be32(p->bhs + 16), 9);
	ck_assert_uint_ne(get_be16(p->bhs + 14), 0);
	free(p);
	ck_assert(fake_closed(a.fc));
	ck_assert(!fake_closed(b.fc));
	ck_assert(!fake_closed(d.fc));
	ck_assert_uint_eq(sessions(), 2);
}
END_TEST

/* The login that waits for the old session's end dies before it comes. */
START_TEST(reinstatement_given_up)
{
	struct fake_initiator a = fake_logged_in(&net, FAKE_NORMAL), b = fake_initiator(&net);
	struct bhs_login_request h = { .opcode = 0x43, .flags = FAKE_OP_FFP };
	static const char text[] = "InitiatorName=" FAKE_NAME "\0TargetName=" FAKE_TARGET;
	uint8_t bhs[ISCSI_BHS_SIZE];

	memcpy(h.isid, b.isid, 6);
	memcpy(bhs, &h, sizeof(bhs));
	ck_assert_int_eq(fake_feed(b.fc, bhs, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(b.fc->c->login); /* no turn yet: it waits */
	/* and a second request before the answer is a breach of the protocol */
	ck_assert_int_lt(fake_feed(b.fc, bhs, text, sizeof(text)), 0);
	ck_assert(fake_closed(b.fc));
	ck_assert(fake_closed(a.fc));
	ck_assert_uint_eq(sessions(), 0);
}
END_TEST

static void published(struct iscsi_publish *p)
{
	*(bool *)p->arg = true;
}

/* The target is withdrawn while a login waits for the old session's end, and just after. */
START_TEST(target_withdrawn_meanwhile)
{
	static const char text[] = "InitiatorName=" FAKE_NAME "\0TargetName=" FAKE_TARGET;

	for (unsigned n = 0; n < 2; n++) {
		struct fake_net other;
		struct fake_initiator a, b;
		struct bhs_login_request h = { .opcode = 0x43, .flags = FAKE_OP_FFP };
		uint8_t bhs[ISCSI_BHS_SIZE];
		bool done = false;
		struct iscsi_publish p = { .policy = policy_alloc(0),
					   .done = published,
					   .arg = &done };

		fake_net_start(&other, fake_policy(1));
		a = fake_logged_in(&other, FAKE_NORMAL);
		b = fake_initiator(&other);
		memcpy(h.isid, b.isid, 6);
		memcpy(bhs, &h, sizeof(bhs));
		if (n)
			ck_assert_int_eq(fake_feed(b.fc, bhs, text, sizeof(text)), 0);
		ck_assert_int_eq(iscsi_publish(&other.reactor, 1, other.reactor, &p), 0);
		if (!n)
			ck_assert_int_eq(fake_feed(b.fc, bhs, text, sizeof(text)), 0);
		for (unsigned turn = 0; turn < 8; turn++)
			fake_turn(&other, 1);
		ck_assert(done);
		ck_assert(fake_closed(a.fc));
		ck_assert(fake_closed(b.fc));
		ck_assert(list_empty(&iscsi_reactor_of(other.reactor)->sessions));
		policy_unref(p.policy);
		fake_net_stop(&other);
	}
}
END_TEST

START_TEST(login_with_tsih)
{
	struct fake_initiator a = fake_logged_in(&net, FAKE_NORMAL), b = fake_initiator(&net);
	struct fake_pdu *p;

	b.tsih = (uint16_t)(a.tsih + 1);
	check_refused(&b, fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_NO_SESSION);
	b = fake_initiator(&net);
	b.tsih = a.tsih;
	b.isid[5]++;
	check_refused(&b, fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_NO_SESSION);
	b = fake_initiator(&net);
	b.tsih = a.tsih;
	b.cid = 1;
	check_refused(&b, fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_TOO_MANY_CONNECTIONS);
	/* through a portal of another group */
	net.portal.tpgt = 2;
	b = fake_initiator(&net);
	b.tsih = a.tsih;
	check_refused(&b, fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_CANNOT_INCLUDE);
	net.portal.tpgt = 1;
	ck_assert(!fake_closed(a.fc));
	/* the same CID: connection reinstatement; CmdSN is the session's, keys too */
	b = fake_initiator(&net);
	b.tsih = a.tsih;
	b.cmdsn = 77;
	p = fake_login(&b, FAKE_OP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(get_be16(p->bhs + 14), a.tsih);
	free(p);
	p = fake_login(&b, FAKE_OP_FFP, "MaxBurstLength=512\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(get_be16(p->bhs + 14), a.tsih);
	ck_assert_uint_eq(get_be32(p->bhs + 28), 1);
	ck_assert_str_eq(fake_value(p, "MaxBurstLength"), "Reject");
	ck_assert_uint_eq(b.fc->c->keys.max_burst_length, 262144);
	free(p);
	ck_assert(fake_closed(a.fc));
	ck_assert(!fake_closed(b.fc));
	ck_assert_uint_eq(sessions(), 1);
}
END_TEST

START_TEST(too_many_sessions)
{
	struct fake_initiator a = fake_logged_in(&net, FAKE_NORMAL), b = fake_initiator(&net);

	policy->targets[0].max_sessions = 1;
	b.isid[5]++;
	check_refused(&b, fake_login(&b, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_OUT_OF_RESOURCES);
	ck_assert(!fake_closed(a.fc));
	ck_assert_uint_eq(sessions(), 1);
}
END_TEST

/* The policy changes while a login is on its way. */
START_TEST(policy_changes_meanwhile)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(net.reactor);
	struct fake_initiator i = fake_initiator(&net);
	struct iscsi_policy *empty = policy_alloc(0);
	struct fake_pdu *p = fake_login(&i, FAKE_OP, FAKE_NORMAL);

	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	ir->policy = empty;
	policy_unref(policy);
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, ""), LOGIN_NOT_FOUND);
}
END_TEST

SUITE_COVERS("L-013 L-014 L-015 L-017 L-018 L-019 L-020 L-021 L-022 L-023 L-024 L-025 L-026 L-027 "
	     "L-035 L-037 L-038 L-041 L-045 L-062 L-065 L-084 L-085 L-088 L-092 N-008 N-014 "
	     "N-036 N-041 N-042 T-051 S-003 S-005 S-008 L-006 fault-K09");

int main(void)
{
	Suite *s = suite_create("login_access");
	TCase *t = tcase_create("login_access");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, names);
	tcase_add_test(t, access_and_state);
	tcase_add_test(t, starting_and_reloading);
	tcase_add_test(t, alias_of_the_target);
	tcase_add_test(t, required_digest);
	tcase_add_test(t, two_sessions);
	tcase_add_test(t, reinstatement);
	tcase_add_test(t, reinstatement_given_up);
	tcase_add_test(t, target_withdrawn_meanwhile);
	tcase_add_test(t, login_with_tsih);
	tcase_add_test(t, too_many_sessions);
	tcase_add_test(t, policy_changes_meanwhile);
	suite_add_tcase(s, t);
	return unit_end(r);
}
