/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL CHAP suite: what its titles say, by our reading of RFC 7143 12.1 and RFC 1994. */
#include "tests/initiator/chap.h"
#include "tests/protocol/chap_way.h"

static const struct chap_way user = { "user", CHAP_SECRET, 5 };

/* 1.1: each step asks for the next stage. Nothing is left before the response is verified. */
static const struct {
	uint8_t flags;
	const char *third; /* NULL: the right answer */
	int status;
} hasty[] = {
	{ SECURITY_TO_OP, NULL, 0 },
	{ SECURITY_TO_FULL, NULL, 0 },
	{ SECURITY_TO_OP, "CHAP_N=user", LOGIN_MISSING_PARAMETER },
	{ SECURITY_TO_FULL, "CHAP_N=user", LOGIN_MISSING_PARAMETER },
	{ SECURITY_TO_FULL, "", LOGIN_MISSING_PARAMETER },
};

START_TEST(premature_transition)
{
	COVERS("U-096 C-035 C-010");
	struct chap_way w = user;
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;

	w.flags = hasty[_i].flags;
	if (!hasty[_i].third) { /* T=0 before, looked at on the way */
		p = chap_answer(i, &w);
		ck_assert_int_eq(login_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], w.flags);
		return;
	}
	chap_challenge(i, &w);
	p = login_step(i, w.flags, hasty[_i].third);
	ck_assert_int_eq(login_status(p), hasty[_i].status);
	expect_close(i);
}
END_TEST

/* ini-2.4, ini-3.6.3, ini-3.6.4: twenty at once, and one after the other. */
#define LOGINS 20
START_TEST(identifiers_and_challenges)
{
	COVERS(_i ? "U-106 U-117 C-009" : "U-106 U-116 C-009");
	char id[LOGINS][8], challenge[LOGINS][80];
	unsigned same = 0;

	for (unsigned n = 0; n < LOGINS; n++) {
		struct ini *i = connect_to(server.port);
		const struct ini_pdu *p = chap_challenge(i, &user);

		snprintf(id[n], sizeof(id[n]), "%s", ini_value(p, "CHAP_I"));
		snprintf(challenge[n], sizeof(challenge[n]), "%s", ini_value(p, "CHAP_C"));
		for (unsigned m = 0; m < n; m++)
			ck_assert_str_ne(challenge[n], challenge[m]);
		same += n && !strcmp(id[n], id[0]);
		if (_i)
			ini_close(i);
	}
	ck_assert_msg(same < LOGINS - 1, "all say CHAP_I=%s", id[0]);
}
END_TEST

static void finish_mutual(struct ini *i, const struct ini_pdu *p)
{
	char text[256];

	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s\nCHAP_I=9\nCHAP_C=0x09080706",
		 ini_chap_response(5, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"), CHAP_SECRET,
				   false));
	p = login_step(i, SECURITY_TO_FULL, text);
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_str_eq(ini_value(p, "CHAP_R"),
			 ini_chap_response(5, "9", "0x09080706", CHAP_OURS, false));
}

/* ini-3.6.1, ini-3.6.2: RFC 7143 does not forbid it, and our target answers both. */
START_TEST(same_challenge_for_us)
{
	COVERS(_i ? "U-115 C-016" : "U-114 C-016");
	struct ini *i[2] = { connect_to(server.port), connect_to(server.port) };
	const struct ini_pdu *p[2];

	for (unsigned n = 0; n < 2; n++) {
		p[n] = chap_challenge(i[n], &user);
		if (_i)
			finish_mutual(i[n], p[n]);
	}
	for (unsigned n = 0; n < 2 && !_i; n++)
		finish_mutual(i[n], p[n]);
}
END_TEST

static const char of_256[] = "256-" TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 "ab";
_Static_assert(sizeof(of_256) == 256 + 1, "one more than a name may have");

static const struct {
	const char *ids;
	struct chap_way w;
	int status; /* 0x02ff: any of the initiator's errors */
} names[] = {
	{ "U-121 C-011 T-009", { LONG_ACCOUNT, CHAP_SECRET, 5 }, 0 },
	{ "U-121 C-012", { LONG_ACCOUNT_X, CHAP_SECRET, 5 }, LOGIN_AUTHENTICATION_FAILURE },
	{ "U-122 C-011", { "u", CHAP_SECRET, 5 }, 0 },
	{ "U-123 T-009", { of_256, CHAP_SECRET, 5 }, 0x02ff },
	/* the target's own name and secret, sent back */
	{ "U-125 C-012 C-020", { "our name", CHAP_OURS, 5 }, LOGIN_AUTHENTICATION_FAILURE },
};

START_TEST(name)
{
	COVERS(names[_i].ids);
	struct ini *i = connect_to(server.port);
	int status = login_status(chap_answer(i, &names[_i].w));

	if (names[_i].status == 0x02ff)
		ck_assert_int_eq(status >> 8, 2);
	else
		ck_assert_int_eq(status, names[_i].status);
	if (status)
		expect_close(i);
}
END_TEST

START_TEST(name_of_4000_bytes)
{
	COVERS("U-123 T-009");
	struct ini *i = connect_to(server.port);
	static char text[4200];

	chap_challenge(i, &user);
	memset(text, 'n', 4007);
	memcpy(text, "CHAP_N=", 7);
	strcpy(text + 4007, "\nCHAP_R=0x00112233445566778899aabbccddeeff");
	ck_assert_int_eq(login_status(login_step(i, SECURITY_TO_FULL, text)) >> 8, 2);
	expect_close(i);
}
END_TEST

/* ini-5.1: how the response is written. */
static void right(char *response, const struct ini_pdu *p)
{
	strcpy(response, ini_chap_response(5, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"),
					   CHAP_SECRET, false));
}

static void one_bit_wrong(char *response, const struct ini_pdu *p)
{
	right(response, p);
	response[33] = response[33] == '0' ? '1' : '0';
}

static void not_hexadecimal(char *response, const struct ini_pdu *p)
{
	right(response, p);
	response[33] = 'g';
}

static void upper_case(char *response, const struct ini_pdu *p)
{
	right(response, p);
	for (char *c = response + 2; *c; c++)
		*c = (char)(*c >= 'a' ? *c - 'a' + 'A' : *c);
}

static void base64(char *response, const struct ini_pdu *p)
{
	strcpy(response, ini_chap_response(5, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"),
					   CHAP_SECRET, true));
}

static const struct {
	const char *name;
	void (*write)(char *response, const struct ini_pdu *p);
	int status;
} responses[] = {
	{ "right", right, 0 },
	{ "one bit wrong", one_bit_wrong, LOGIN_AUTHENTICATION_FAILURE },
	{ "not hexadecimal", not_hexadecimal, LOGIN_AUTHENTICATION_FAILURE },
	{ "upper case", upper_case, 0 },
	{ "base64", base64, 0 },
};

START_TEST(response)
{
	COVERS("U-128 C-011 C-014");
	struct ini *i = connect_to(server.port);
	char value[80], text[160];
	int status;

	responses[_i].write(value, chap_challenge(i, &user));
	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s", value);
	status = login_status(login_step(i, SECURITY_TO_FULL, text));
	ck_assert_msg(status == responses[_i].status, "%s: %04x", responses[_i].name,
		      (unsigned)status);
	if (status)
		expect_close(i);
}
END_TEST

void unh_chap_suite(TCase *c)
{
	add_table(c, premature_transition, hasty);
	add_rows(c, identifiers_and_challenges, 2);
	add_rows(c, same_challenge_for_us, 2);
	add_table(c, name, names);
	add(c, name_of_4000_bytes);
	add_table(c, response, responses);
}
