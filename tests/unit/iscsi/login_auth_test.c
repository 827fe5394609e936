/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of authentication over the fake datamover: the sequences of known initiators, and every
 * way around them that a peer might try.
 */
#include "transport/iscsi/login_auth.c"

#include "daemon/base/stats.h"
#include "tests/unit/iscsi/auth_fixture.h"

static uint64_t failures(void)
{
	return stats_get(iscsi_reactor_of(net.reactor)->stats, STAT_AUTHENTICATION_FAILURES);
}

static unsigned sessions(void)
{
	struct list *pos;
	unsigned n = 0;

	list_for_each (pos, &iscsi_reactor_of(net.reactor)->sessions)
		n++;
	return n;
}

static void expect_in(const struct way *w)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = chap_login(&i, w);

	ck_assert_msg(fake_status(p) == 0, "%s: %04x", w->name, fake_status(p));
	if (w->mutual) {
		ck_assert_str_eq(fake_value(p, "CHAP_N"), "our name");
		ck_assert_str_eq(fake_value(p, "CHAP_R"),
				 ini_chap_response(w->algorithm, "7", "0x01020304", MUTUAL, false));
	}
	ck_assert_uint_eq(p->bhs[1], w->flags ? w->flags : FAKE_SEC_OP);
	free(p);
	if (w->flags != FAKE_SEC_FFP) {
		p = fake_login(&i, FAKE_OP_FFP, "DefaultTime2Retain=0\n");
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_ne(get_be16(p->bhs + 14), 0);
		free(p);
	}
	ck_assert_str_eq(i.fc->c->session->account, w->name);
	fake_hang_up(i.fc);
}

/* Four algorithms, one way and both, right and wrong, hexadecimal and base64. */
START_TEST(matrix)
{
	for (unsigned n = 0; n < 32; n++) {
		struct way w = { .algorithm = CHAP_MD5 + (int)(n & 3),
				 .name = "user",
				 .secret = n & 4 ? SECRET : SECRET2,
				 .in_base64 = n & 8,
				 .mutual = n & 16 };
		struct fake_initiator i;

		expect_in(&w);
		w.secret = "0123456789abcdeF";
		i = fake_initiator(&net);
		check_refused(&i, chap_login(&i, &w), LOGIN_AUTHENTICATION_FAILURE);
	}
	ck_assert_uint_eq(sessions(), 0);
	ck_assert_uint_eq(failures(), 32);
}
END_TEST

/* iPXE asks for T in each request; libiscsi and open-iscsi only at the end; macOS sends the names
 * in an order of its own; a jump from security to full-feature phase. */
START_TEST(sequences)
{
	static const struct way ways[] = {
		{ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_OP },
		{ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_OP, .mutual = true },
		{ CHAP_MD5, "user", SECRET },
		{ CHAP_MD5, "user", SECRET, .flags = FAKE_SEC_FFP },
		{ CHAP_MD5, "user", SECRET,
		  "AuthMethod=CHAP\nSessionType=Normal\nTargetName=" FAKE_TARGET
		  "\nInitiatorAlias=mac\nInitiatorName=" FAKE_NAME "\n" },
		{ CHAP_SHA3_256, "0xabc", SECRET, FAKE_NORMAL "AuthMethod=KRB5,SRP,CHAP\n" },
	};

	for (unsigned n = 0; n < sizeof(ways) / sizeof(ways[0]); n++)
		expect_in(&ways[n]);
}
END_TEST

/* open-iscsi's list: the first of it. */
START_TEST(list_of_algorithms)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = fake_login(&i, FAKE_SEC, FAKE_NORMAL "AuthMethod=CHAP\n");

	free(p);
	p = fake_login(&i, FAKE_SEC, "CHAP_A=8,7,6,5\n");
	ck_assert_str_eq(fake_value(p, "CHAP_A"), "8");
	ck_assert_uint_eq(strlen(fake_value(p, "CHAP_C")), 2 + 64);
	ck_assert_int_eq(strncmp(fake_value(p, "CHAP_C"), "0x", 2), 0);
	free(p);
	i = fake_initiator(&net);
	free(fake_login(&i, FAKE_SEC, FAKE_NORMAL "AuthMethod=CHAP\n"));
	check_refused(&i, fake_login(&i, FAKE_SEC, "CHAP_A=99\n"), LOGIN_AUTHENTICATION_FAILURE);
}
END_TEST

static const struct {
	const char *what;
	uint8_t flags;
	const char *text[3];
	unsigned status;
} refusals[] = {
	{ "starts operational", FAKE_OP_FFP, { FAKE_NORMAL }, LOGIN_AUTHENTICATION_FAILURE },
	{ "operational, no T", FAKE_OP, { FAKE_NORMAL }, LOGIN_AUTHENTICATION_FAILURE },
	{ "None", FAKE_SEC_OP, { FAKE_NORMAL "AuthMethod=None\n" }, LOGIN_AUTHENTICATION_FAILURE },
	{ "None to FFP",
	  FAKE_SEC_FFP,
	  { FAKE_NORMAL "AuthMethod=None\n" },
	  LOGIN_AUTHENTICATION_FAILURE },
	{ "None, no T",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=None\n" },
	  LOGIN_AUTHENTICATION_FAILURE },
	{ "no method", FAKE_SEC_OP, { FAKE_NORMAL }, LOGIN_AUTHENTICATION_FAILURE },
	{ "no method, late", FAKE_SEC, { FAKE_NORMAL, "", NULL }, 0 },
	{ "SRP", FAKE_SEC, { FAKE_NORMAL "AuthMethod=SRP,KRB5\n" }, LOGIN_AUTHENTICATION_FAILURE },
	{ "method twice",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "AuthMethod=None\n" },
	  LOGIN_INITIATOR_ERROR },
	{ "CHAP_A with the method",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=CHAP\nCHAP_A=5\n" },
	  LOGIN_INITIATOR_ERROR },
	{ "CHAP_N first",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "CHAP_N=user\nCHAP_R=0x0\n" },
	  LOGIN_INITIATOR_ERROR },
	{ "no CHAP_A", FAKE_SEC, { FAKE_NORMAL "AuthMethod=CHAP\n", "" }, LOGIN_MISSING_PARAMETER },
	{ "T and no CHAP_A",
	  FAKE_SEC_FFP,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "" },
	  LOGIN_MISSING_PARAMETER },
	{ "CHAP_N only",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "CHAP_A=5\n", "CHAP_N=user\n" },
	  LOGIN_MISSING_PARAMETER },
	{ "CHAP_R only",
	  FAKE_SEC_OP,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "CHAP_A=5\n", "CHAP_R=0x00\n" },
	  LOGIN_MISSING_PARAMETER },
	{ "empty third step",
	  FAKE_SEC_FFP,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "CHAP_A=5\n", "" },
	  LOGIN_MISSING_PARAMETER },
	{ "CHAP_A twice",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "CHAP_A=5\n", "CHAP_A=7\n" },
	  LOGIN_INITIATOR_ERROR },
	{ "SRP key",
	  FAKE_SEC,
	  { FAKE_NORMAL "AuthMethod=CHAP\n", "SRP_U=user\n" },
	  LOGIN_MISSING_PARAMETER },
	{ "CHAP and no account",
	  FAKE_SEC,
	  { "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET "-open\nAuthMethod=CHAP\n" },
	  LOGIN_AUTHENTICATION_FAILURE },
	{ "CHAP, discovery, no account",
	  FAKE_SEC,
	  { FAKE_DISCOVERY "AuthMethod=CHAP\n" },
	  LOGIN_AUTHENTICATION_FAILURE },
};

START_TEST(refused)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = NULL;
	unsigned n = 0;

	for (; n < 3 && refusals[_i].text[n]; n++) {
		free(p);
		p = fake_login(&i, refusals[_i].flags, refusals[_i].text[n]);
		if (fake_status(p))
			break;
		ck_assert_uint_eq(p->bhs[1], 0);
	}
	ck_assert_msg(fake_status(p) == refusals[_i].status, "%s: %04x", refusals[_i].what,
		      fake_status(p));
	if (refusals[_i].status)
		check_refused(&i, p, refusals[_i].status);
	else
		free(p);
	ck_assert_uint_eq(sessions(), 0);
}
END_TEST

/* Where nothing must be proved the first of the list counts; CHAP is passed over. */
START_TEST(none_where_allowed)
{
	static const char *const methods[] = { "None", "CHAP,None", "None,CHAP", "SRP,None" };
	char text[256];

	for (unsigned n = 0; n < 4; n++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p;

		snprintf(text, sizeof(text),
			 "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET
			 "-open\nAuthMethod=%s\n",
			 methods[n]);
		p = fake_login(&i, FAKE_SEC_FFP, text);
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_str_eq(fake_value(p, "AuthMethod"), "None");
		ck_assert_uint_eq(p->bhs[1], FAKE_SEC_FFP);
		ck_assert_str_eq(i.fc->c->session->account, "");
		free(p);
		fake_hang_up(i.fc);
	}
}
END_TEST

/* Answers so long that they are continued do not lead past the steps. */
START_TEST(not_by_a_continued_answer)
{
	static char text[8192];
	static const uint8_t flags[] = { FAKE_SEC_OP, FAKE_SEC_FFP };
	size_t n;

	for (unsigned k = 0; k < 2; k++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p;

		n = (size_t)snprintf(text, sizeof(text), FAKE_NORMAL "AuthMethod=CHAP\n");
		for (unsigned key = 0; key < 700; key++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "X-%u=\n", key);
		ck_assert_uint_lt(n, sizeof(text));
		p = fake_login(&i, flags[k], text);
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], FAKE_C);
		while (p->bhs[1] & FAKE_C) {
			free(p);
			p = fake_login(&i, flags[k], "");
			ck_assert_uint_eq(fake_status(p), 0);
		}
		ck_assert_uint_eq(p->bhs[1], 0);
		ck_assert_ptr_null(i.fc->c->session);
		free(p);
		/* still in the security stage */
		check_refused(&i, fake_login(&i, FAKE_OP_FFP, ""), LOGIN_INITIATOR_ERROR);
	}
	ck_assert_uint_eq(sessions(), 0);
}
END_TEST

/* A stage that was not left cannot be skipped by the header. */
START_TEST(not_by_the_stage)
{
	struct fake_initiator i = fake_initiator(&net);

	free(fake_login(&i, FAKE_SEC_OP, FAKE_NORMAL "AuthMethod=CHAP\n"));
	check_refused(&i, fake_login(&i, FAKE_OP_FFP, ""), LOGIN_INITIATOR_ERROR);
}
END_TEST

/* Mutual where we have nothing to prove with; a reflected challenge. */
START_TEST(mutual_refused)
{
	struct fake_initiator i = fake_initiator(&net);
	struct way w = { CHAP_MD5, "0xabc", SECRET, .mutual = true };
	struct fake_pdu *p;
	char text[512];

	check_refused(&i, chap_login(&i, &w), LOGIN_AUTHENTICATION_FAILURE);
	w.name = "user";
	i = fake_initiator(&net);
	p = ask(&i, &w);
	snprintf(
	    text, sizeof(text), "CHAP_N=user\nCHAP_R=%s\nCHAP_I=%s\nCHAP_C=%s\n",
	    ini_chap_response(5, fake_value(p, "CHAP_I"), fake_value(p, "CHAP_C"), SECRET, false),
	    fake_value(p, "CHAP_I"), fake_value(p, "CHAP_C"));
	free(p);
	check_refused(&i, fake_login(&i, FAKE_SEC_OP, text), LOGIN_AUTHENTICATION_FAILURE);
}
END_TEST

START_TEST(challenges_are_fresh)
{
	static char seen[1000][40];

	for (unsigned n = 0; n < 1000; n++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p = ask(&i, &(struct way){ .algorithm = CHAP_MD5 });

		snprintf(seen[n], sizeof(seen[n]), "%s", fake_value(p, "CHAP_C"));
		ck_assert_uint_eq(strlen(seen[n]), 34);
		for (unsigned k = 0; k < n; k++)
			ck_assert_str_ne(seen[n], seen[k]);
		free(p);
		fake_hang_up(i.fc);
		fake_forget(i.fc);
	}
}
END_TEST

SUITE_COVERS("C-001 C-003 C-004 C-005 C-006 C-008 C-009 C-010 C-011 C-012 C-014 C-016 C-017 "
	     "C-019 C-034 C-035 C-036 C-038 C-041 fault-B02 fault-B05 fault-B07 fault-B09 "
	     "fault-B11 fault-B12");

int main(void)
{
	Suite *s = suite_create("login_auth");
	TCase *t = tcase_create("login_auth");
	SRunner *runner = srunner_create(s);

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, matrix);
	tcase_add_test(t, sequences);
	tcase_add_test(t, list_of_algorithms);
	tcase_add_loop_test(t, refused, 0, sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_test(t, none_where_allowed);
	tcase_add_test(t, not_by_a_continued_answer);
	tcase_add_test(t, not_by_the_stage);
	tcase_add_test(t, mutual_refused);
	tcase_add_test(t, challenges_are_fresh);
	suite_add_tcase(s, t);
	return unit_end(runner);
}
