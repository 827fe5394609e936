/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CHAP against the daemon: what each initiator sends, right and wrong, and that nothing is to be
 * had before it is over. Every refusal closes the connection.
 */
#include "tests/initiator/chap.h"
#include "tests/protocol/chap_way.h"

static void check_mutual(const struct ini_pdu *p, int algorithm)
{
	ck_assert_str_eq(ini_value(p, "CHAP_N"), "our name");
	ck_assert_str_eq(ini_value(p, "CHAP_R"),
			 ini_chap_response(algorithm, "9", "0x09080706", CHAP_OURS, false));
}

/* Four algorithms, one-way and mutual, right and wrong, hexadecimal and base64. */
START_TEST(matrix)
{
	COVERS("C-006 C-007 C-011 C-014 C-016 C-036 C-041 U-120 fault-B05 fault-B07 fault-B09");
	struct chap_way w = { "user", _i & 4 ? CHAP_SECRET2 : CHAP_SECRET, 5 + (_i & 3) };
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;

	w.base64 = _i & 8;
	w.mutual = _i & 16;
	p = chap_answer(i, &w);
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_uint_eq(bhs_of(p, bhs_login_response)->flags, SECURITY_TO_FULL);
	if (w.mutual)
		check_mutual(p, w.algorithm);
	i->full_feature = true;
	i->itt++;
	still_works(i);

	w.secret = "one-way-secret-A";
	i = connect_to(server.port);
	p = chap_answer(i, &w);
	ck_assert_int_eq(login_status(p), LOGIN_AUTHENTICATION_FAILURE);
	ck_assert_ptr_null(ini_value(p, "CHAP_R"));
	expect_close(i);
}
END_TEST

/* iPXE sets T in every request; libiscsi and open-iscsi in the last one; names as users give them.
 */
static const struct chap_way accepted[] = {
	{ "user", CHAP_SECRET, 5, SECURITY_TO_OP },
	{ "user", CHAP_SECRET, 5, SECURITY_TO_FULL },
	{ "user", CHAP_SECRET, 5, SECURITY_TO_OP, .mutual = true },
	{ "user", CHAP_SECRET, 5,
	  .first = "AuthMethod=CHAP,None\nTargetName=" T_CHAP "\nInitiatorName=" BASE "test" },
	{ "user", CHAP_SECRET, 8, .first = NAMES(T_CHAP) "\nAuthMethod=KRB5,SRP,CHAP" },
	{ "0xabc", CHAP_SECRET, 7 },
	{ "both", CHAP_SECRET, 5, .mutual = true, .target = T_CHAP_MUST },
	{ "user", CHAP_SECRET, 5,
	  .first = "InitiatorName=" FRIEND "\nTargetName=" T_CHAP_BOUND "\nAuthMethod=CHAP" },
};

START_TEST(accepts)
{
	COVERS("C-002 C-003 C-035 C-036 fault-B02 fault-B05 fault-B11");
	const struct chap_way *w = &accepted[_i];
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p = chap_answer(i, w);

	ck_assert_int_eq(login_status(p), 0);
	ck_assert_uint_eq(bhs_of(p, bhs_login_response)->flags,
			  w->flags ? w->flags : SECURITY_TO_FULL);
	if (w->mutual)
		check_mutual(p, w->algorithm);
	if (w->flags == SECURITY_TO_OP)
		ck_assert_int_eq(login_status(login_step(i, OP_TO_FULL, "")), 0);
	i->full_feature = true;
	i->itt++;
	still_works(i);
}
END_TEST

static const struct chap_way denied[] = {
	{ "nobody", CHAP_SECRET, 5 },
	{ "strong", CHAP_SECRET, 5 },
	{ "both", CHAP_SECRET, 5 }, /* of another target */
	{ "both", CHAP_SECRET, 5, .target = T_CHAP_MUST },
	{ "0xabc", CHAP_SECRET, 5, .mutual = true },
	{ "0XABC", CHAP_SECRET, 5 },
	{ "user", "", 5 },
};

START_TEST(denies)
{
	COVERS("C-011 C-012 C-017 C-041 fault-B05");
	struct ini *i = connect_to(server.port);

	ck_assert_int_eq(login_status(chap_answer(i, &denied[_i])), LOGIN_AUTHENTICATION_FAILURE);
	expect_close(i);
}
END_TEST

/* What is sent without any answer to a challenge. */
static const struct {
	const char *text[3];
	uint8_t flags;
	int status; /* 0x02ff: any of the initiator's errors */
} wrong[] = {
	{ { NAMES(T_CHAP) }, OP_TO_FULL, LOGIN_AUTHENTICATION_FAILURE },
	{ { NAMES(T_CHAP) }, SECURITY_TO_FULL, LOGIN_AUTHENTICATION_FAILURE },
	{ { NAMES(T_CHAP) "\nAuthMethod=None" }, SECURITY_TO_OP, LOGIN_AUTHENTICATION_FAILURE },
	{ { NAMES(T_CHAP) "\nAuthMethod=SRP,KRB5" }, SECURITY_STEP, LOGIN_AUTHENTICATION_FAILURE },
	{ { NAMES(T_CHAP_BOUND) "\nAuthMethod=CHAP" }, SECURITY_STEP, LOGIN_AUTHORIZATION_FAILURE },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_N=user" }, SECURITY_STEP, 0x02ff },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "" }, SECURITY_STEP, LOGIN_MISSING_PARAMETER },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=99" },
	  SECURITY_STEP,
	  LOGIN_AUTHENTICATION_FAILURE },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "SRP_U=user" }, SECURITY_STEP, 0x02ff },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_R=0x00" }, SECURITY_STEP, 0x02ff },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=5", "" },
	  SECURITY_TO_FULL,
	  LOGIN_MISSING_PARAMETER },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=5", "CHAP_N=user" },
	  SECURITY_STEP,
	  LOGIN_MISSING_PARAMETER },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=5", "CHAP_R=0x00" },
	  SECURITY_STEP,
	  LOGIN_MISSING_PARAMETER },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=5", "CHAP_N=user\nCHAP_R=0x00\nCHAP_I=1" },
	  SECURITY_STEP,
	  LOGIN_MISSING_PARAMETER },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=5", "CHAP_N=user\nCHAP_R=0x00\nCHAP_C=0x1" },
	  SECURITY_STEP,
	  LOGIN_MISSING_PARAMETER },
	{ { NAMES(T_CHAP) "\nAuthMethod=CHAP", "CHAP_A=5", "CHAP_N=user\nCHAP_R=" },
	  SECURITY_STEP,
	  LOGIN_AUTHENTICATION_FAILURE },
};

START_TEST(refuses)
{
	COVERS("C-001 C-004 C-005 C-007 C-010 C-018 C-033 C-034 C-038 C-041 fault-B12");
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p = NULL;

	for (unsigned n = 0; n < 3 && wrong[_i].text[n]; n++) {
		p = login_step(i, wrong[_i].flags, wrong[_i].text[n]);
		if (login_status(p))
			break;
		ck_assert_uint_eq(bhs_of(p, bhs_login_response)->flags, 0);
	}
	if (wrong[_i].status == 0x02ff)
		ck_assert_int_eq(login_status(p) >> 8, 2);
	else
		ck_assert_int_eq(login_status(p), wrong[_i].status);
	expect_close(i);
}
END_TEST

/* CHAP_R of every length, and base64 without end: refused, and the daemon lives. */
START_TEST(response_lengths)
{
	COVERS("C-013 C-015 U-129 U-130 fault-B01");
	static const unsigned lengths[] = { 0, 15, 17, 32, 1024, 1025 };
	static char text[8192], response[5000];
	bool base64 = _i >= 6;
	unsigned digits = base64 ? (_i == 6 ? 127 : 4096) : 2 * lengths[_i];
	struct ini *i = connect_to(server.port);

	chap_challenge(i, &(struct chap_way){ "user", CHAP_SECRET, 5 });
	memset(response, 'a', digits);
	response[digits] = '\0';
	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s%s", base64 ? "0b" : "0x", response);
	ck_assert_int_eq(login_status(login_step(i, SECURITY_TO_FULL, text)),
			 LOGIN_AUTHENTICATION_FAILURE);
	expect_close(i);
}
END_TEST

/* Challenges for us: of 1024 bytes answered, longer and reflected ones refused. */
START_TEST(challenges_for_us)
{
	COVERS("C-015 C-016 C-019");
	static char text[8192], theirs[4096];
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p = chap_challenge(i, &(struct chap_way){ "user", CHAP_SECRET, 5 });
	unsigned bytes = _i == 0 ? 1024 : 1025;

	strcpy(theirs, "0x");
	for (unsigned n = 0; n < bytes; n++)
		memcpy(theirs + 2 + 2 * (size_t)n, "5a", 3);
	if (_i == 2)
		snprintf(theirs, sizeof(theirs), "%s", ini_value(p, "CHAP_C"));
	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s\nCHAP_I=77\nCHAP_C=%s",
		 ini_chap_response(5, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"), CHAP_SECRET,
				   false),
		 theirs);
	p = login_step(i, SECURITY_TO_FULL, text);
	if (_i == 0) {
		ck_assert_int_eq(login_status(p), 0);
		ck_assert_str_eq(ini_value(p, "CHAP_R"),
				 ini_chap_response(5, "77", theirs, CHAP_OURS, false));
		return;
	}
	ck_assert_int_eq(login_status(p),
			 _i == 1 ? LOGIN_INITIATOR_ERROR : LOGIN_AUTHENTICATION_FAILURE);
	ck_assert_ptr_null(ini_value(p, "CHAP_R"));
	expect_close(i);
}
END_TEST

/* The list in its order; an account that refuses MD5 is not proved by it. */
START_TEST(algorithms)
{
	COVERS("C-007 C-008 C-023 fault-B07");
	static const struct {
		const char *offer, *chosen;
	} rows[] = { { "CHAP_A=8,7,6,5", "8" },
		     { "CHAP_A=7,5", "7" },
		     { "CHAP_A=99,0x8,5", "8" },
		     { "CHAP_A=5", "5" },
		     { "CHAP_A=5,8", "8" } }; /* all accounts of the target allow 8 */

	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct ini *i = connect_to(server.port);
		const struct ini_pdu *p;

		login_step(i, SECURITY_STEP, NAMES(T_CHAP) "\nAuthMethod=CHAP");
		p = login_step(i, SECURITY_STEP, rows[n].offer);
		ck_assert_int_eq(login_status(p), 0);
		ck_assert_str_eq(ini_value(p, "CHAP_A"), rows[n].chosen);
		ck_assert_int_eq(strncmp(ini_value(p, "CHAP_C"), "0x", 2), 0);
	}
}
END_TEST

START_TEST(challenges_are_fresh)
{
	COVERS("C-009");
	static char seen[100][40];

	for (unsigned n = 0; n < 100; n++) {
		struct ini *i = connect_to(server.port);
		const struct ini_pdu *p =
		    chap_challenge(i, &(struct chap_way){ "user", CHAP_SECRET, 5 });

		snprintf(seen[n], sizeof(seen[n]), "%s", ini_value(p, "CHAP_C"));
		ck_assert_uint_eq(strlen(seen[n]), 34);
		for (unsigned k = 0; k < n; k++)
			ck_assert_str_ne(seen[n], seen[k]);
		ini_close(i);
	}
}
END_TEST

/* Someone with a session's names and no secret does not disturb it. */
START_TEST(reinstatement)
{
	COVERS("C-031 C-032");
	struct ini *victim = connect_to(server.port), *i;

	ck_assert_int_eq(
	    login_status(chap_answer(victim, &(struct chap_way){ "user", CHAP_SECRET, 5 })), 0);
	victim->full_feature = true;
	victim->itt++;
	for (unsigned n = 0; n < 2; n++) {
		i = connect_to(server.port);
		memcpy(i->isid, victim->isid, 6);
		ck_assert_int_eq(
		    login_status(n ? login_step(i, OP_TO_FULL, NAMES(T_CHAP))
				   : chap_answer(i, &(struct chap_way){ "user", "wrong", 5 })),
		    LOGIN_AUTHENTICATION_FAILURE);
		expect_close(i);
		still_works(victim);
	}
}
END_TEST

/* Discovery has rules of its own. */
START_TEST(discovery_with_chap)
{
	COVERS("C-037");
	static const char *const names = "InitiatorName=" BASE "test\nSessionType=Discovery";
	struct chap_way w = { "user", CHAP_SECRET, 7,
			      .first = "InitiatorName=" BASE "test\nSessionType=Discovery\n"
				       "AuthMethod=CHAP,None" };
	struct ini *i = connect_to(strict.port);

	ck_assert_int_eq(login_status(login_step(i, OP_TO_FULL, names)),
			 LOGIN_AUTHENTICATION_FAILURE);
	expect_close(i);
	i = connect_to(strict.port);
	ck_assert_int_eq(login_status(chap_answer(i, &w)), 0);
	i = connect_to(strict.port);
	w.name = "0xabc"; /* an account, but not one of discovery's */
	ck_assert_int_eq(login_status(chap_answer(i, &w)), LOGIN_AUTHENTICATION_FAILURE);
	expect_close(i);
	/* and the target there wants none */
	ck_assert_int_eq(
	    try_login(connect_to(strict.port), &(struct ini_login){ .target = T_MAIN }), 0);
}
END_TEST

/* The log says that logins failed, and no secret stands there. */
START_TEST(log_names_no_secret)
{
	COVERS("C-030 fault-B12");
	struct ini *i = connect_to(server.port);

	/* a secret in the wrong field */
	login_status(chap_answer(i, &(struct chap_way){ CHAP_SECRET "-typed", "wrong", 5 }));
	expect_close(i);
	ck_assert(log_has("refused: "));
	ck_assert(!log_has(CHAP_SECRET));
	ck_assert(!log_has(CHAP_SECRET2));
	ck_assert(!log_has(CHAP_OURS));
}
END_TEST

void chap_suite(TCase *c)
{
	add_rows(c, matrix, 32);
	add_table(c, accepts, accepted);
	add_table(c, denies, denied);
	add_table(c, refuses, wrong);
	add_rows(c, response_lengths, 8);
	add_rows(c, challenges_for_us, 3);
	add(c, algorithms);
	add(c, challenges_are_fresh);
	add(c, reinstatement);
	add(c, discovery_with_chap);
	add(c, log_names_no_secret);
}
