/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What follows from who an initiator has proved to be: the rule that admits it, the sessions that
 * it may take over or join, discovery; also when the policy changes meanwhile.
 */
#include "tests/unit/iscsi/auth_fixture.h"

static void free_text_of(struct iscsi_rule *r)
{
	union {
		const char *shared;
		char *owned;
	} u = { .shared = r->account };

	free(u.owned);
	r->account = NULL;
}

/* A target with a rule for everybody behind that for the account: the list decides, and who proves
 * nothing gets what the second rule gives. */
START_TEST(either_rule)
{
	struct iscsi_policy *p = policy_with_accounts();
	struct fake_initiator i;
	struct fake_pdu *a;
	struct fake_net two;

	free_text_of(&p->targets[0].rules[1]);
	p->targets[0].rules[1].read_only = true;
	fake_net_start(&two, p);
	i = fake_initiator(&two);
	a = fake_login(&i, FAKE_SEC_FFP, FAKE_NORMAL "AuthMethod=None,CHAP\n");
	ck_assert_uint_eq(fake_status(a), 0);
	ck_assert_ptr_eq(i.fc->c->session->rule, &p->targets[0].rules[1]);
	free(a);
	i = fake_initiator(&two);
	i.isid[5] = 9;
	a = chap_login(&i, &(struct way){ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_FFP });
	ck_assert_uint_eq(fake_status(a), 0);
	ck_assert_ptr_eq(i.fc->c->session->rule, &p->targets[0].rules[0]);
	free(a);
	fake_net_stop(&two);
}
END_TEST

/* An account is good for the names that its rule says, and no other. */
START_TEST(bound_to_the_name)
{
	struct iscsi_policy *p = policy_with_accounts();
	struct fake_initiator i;
	struct fake_net two;

	strcpy(p->targets[0].rules[0].initiator, "iqn.2001-04.com.example:somebody-else");
	fake_net_start(&two, p);
	i = fake_initiator(&two);
	check_refused(&i, chap_login(&i, &(struct way){ CHAP_MD5, "user", SECRET }),
		      LOGIN_AUTHENTICATION_FAILURE);
	i = fake_initiator(&two);
	check_refused(&i, chap_login(&i, &(struct way){ CHAP_MD5, "discoverer", SECRET }),
		      LOGIN_AUTHENTICATION_FAILURE);
	fake_net_stop(&two);
}
END_TEST

/* A bad login with the names of a session that is there leaves it alone; a good one takes it. */
START_TEST(reinstatement_only_when_proven)
{
	struct fake_initiator victim = fake_initiator(&net), i;
	struct fake_pdu *p;

	p = chap_login(&victim, &(struct way){ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_FFP });
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	i = fake_initiator(&net);
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL), LOGIN_AUTHENTICATION_FAILURE);
	i = fake_initiator(&net);
	check_refused(&i, chap_login(&i, &(struct way){ CHAP_MD5, "user", "wrong-secret-xx" }),
		      LOGIN_AUTHENTICATION_FAILURE);
	ck_assert(!fake_closed(victim.fc));
	ck_assert_ptr_nonnull(victim.fc->c->session);
	i = fake_initiator(&net);
	p = chap_login(&i, &(struct way){ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_FFP });
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	ck_assert(fake_closed(victim.fc));
}
END_TEST

/* A further connection proves what the first one did. */
START_TEST(one_identity_for_a_session)
{
	struct fake_initiator first = fake_initiator(&net), i;
	struct fake_pdu *p;

	p = chap_login(&first, &(struct way){ CHAP_MD5, "user", SECRET });
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	p = fake_login(&first, FAKE_OP_FFP, "MaxConnections=4\n");
	ck_assert_str_eq(fake_value(p, "MaxConnections"), "4");
	first.tsih = get_be16(p->bhs + 14);
	free(p);
	for (unsigned n = 0; n < 3; n++) {
		static const char *const names[] = { "0xabc", NULL, "user" };

		i = fake_initiator(&net);
		i.tsih = first.tsih;
		i.cid = (uint16_t)(n + 1);
		if (names[n])
			p = chap_login(
			    &i, &(struct way){ CHAP_MD5, names[n], SECRET, .flags = FAKE_SEC_FFP });
		else
			p = fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL);
		if (n < 2) {
			check_refused(&i, p, LOGIN_AUTHENTICATION_FAILURE);
			continue;
		}
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_ptr_eq(i.fc->c->session, first.fc->c->session);
		free(p);
	}
}
END_TEST

/* Rules of discovery sessions are their own. */
START_TEST(discovery)
{
	struct iscsi_policy *p = policy_with_accounts();
	struct way w = { CHAP_SHA256, "discoverer", SECRET, FAKE_DISCOVERY "AuthMethod=CHAP,None\n",
			 FAKE_SEC_FFP };
	struct fake_initiator i = fake_initiator(&net);
	struct fake_net two;
	struct fake_pdu *a;

	/* free where there are no rules */
	a = fake_login(&i, FAKE_OP_FFP, FAKE_DISCOVERY);
	ck_assert_uint_eq(fake_status(a), 0);
	free(a);
	p->discovery = calloc(1, sizeof(*p->discovery));
	p->n_discovery = 1;
	p->discovery[0].account = strdup("discoverer");
	fake_net_start(&two, p);
	i = fake_initiator(&two);
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, FAKE_DISCOVERY),
		      LOGIN_AUTHENTICATION_FAILURE);
	i = fake_initiator(&two);
	check_refused(&i, fake_login(&i, FAKE_SEC_OP, FAKE_DISCOVERY "AuthMethod=None\n"),
		      LOGIN_AUTHENTICATION_FAILURE);
	i = fake_initiator(&two);
	i.isid[5] = 9; /* not that of the session on the other reactor */
	a = chap_login(&i, &w);
	ck_assert_uint_eq(fake_status(a), 0);
	ck_assert(i.fc->c->session->discovery);
	ck_assert_str_eq(i.fc->c->session->account, "discoverer");
	free(a);
	/* the account of a target is none of discovery's, and the other way round */
	w.name = "user";
	i = fake_initiator(&two);
	check_refused(&i, chap_login(&i, &w), LOGIN_AUTHENTICATION_FAILURE);
	w = (struct way){ CHAP_MD5, "discoverer", SECRET };
	i = fake_initiator(&two);
	check_refused(&i, chap_login(&i, &w), LOGIN_AUTHENTICATION_FAILURE);
	fake_net_stop(&two);
}
END_TEST

START_TEST(discovery_by_name)
{
	struct iscsi_policy *p = policy_with_accounts();
	struct fake_initiator i;
	struct fake_net two;

	p->discovery = calloc(1, sizeof(*p->discovery));
	p->n_discovery = 1;
	strcpy(p->discovery[0].initiator, "iqn.2001-04.com.example:friend");
	fake_net_start(&two, p);
	i = fake_initiator(&two);
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, FAKE_DISCOVERY), LOGIN_AUTHORIZATION_FAILURE);
	i = fake_initiator(&two);
	free(fake_login(&i, FAKE_OP_FFP,
			"InitiatorName=iqn.2001-04.com.example:friend\nSessionType=Discovery\n"));
	ck_assert_ptr_nonnull(i.fc->c->session);
	fake_net_stop(&two);
}
END_TEST

static void published(struct iscsi_publish *p)
{
	*(bool *)p->arg = true;
}

static void publish(struct iscsi_policy *policy)
{
	bool done = false;
	struct iscsi_publish p = { .policy = policy, .done = published, .arg = &done };

	ck_assert_int_eq(iscsi_publish(&net.reactor, 1, net.reactor, &p), 0);
	for (unsigned n = 0; n < 100 && !done; n++)
		fake_turn(&net, 1);
	ck_assert(done);
}

/* What admits is the policy at the end: an account may have gone while it was being proved. */
START_TEST(policy_changes)
{
	struct fake_initiator early = fake_initiator(&net), late = fake_initiator(&net);
	struct iscsi_policy *p = policy_with_accounts();
	struct fake_pdu *a;

	late.isid[5] = 2;
	a = chap_login(&early, &(struct way){ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_FFP });
	ck_assert_uint_eq(fake_status(a), 0);
	free(a);
	a = chap_login(&late, &(struct way){ CHAP_MD5, "user", SECRET });
	ck_assert_uint_eq(fake_status(a), 0);
	free(a);
	free_text_of(&p->targets[0].rules[0]);
	p->targets[0].rules[0].account = strdup("0xabc");
	publish(p);
	policy_unref(p);
	check_refused(&late, fake_login(&late, FAKE_OP_FFP, ""), LOGIN_AUTHENTICATION_FAILURE);
	/* and who is in is asked to leave, or gone */
	ck_assert(!early.fc->c || !early.fc->c->session || !early.fc->c->session->rule);
}
END_TEST

SUITE_COVERS("C-002 C-027 C-028 C-029 C-031 C-032 C-037 C-046");

int main(void)
{
	Suite *s = suite_create("login_identity");
	TCase *t = tcase_create("login_identity");
	SRunner *runner = srunner_create(s);

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, either_rule);
	tcase_add_test(t, bound_to_the_name);
	tcase_add_test(t, reinstatement_only_when_proven);
	tcase_add_test(t, one_identity_for_a_session);
	tcase_add_test(t, discovery);
	tcase_add_test(t, discovery_by_name);
	tcase_add_test(t, policy_changes);
	suite_add_tcase(s, t);
	return unit_end(runner);
}
