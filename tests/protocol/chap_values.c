/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the keys of CHAP, one after the other: valid, at their limits, beyond, out of order. */
#include "tests/initiator/chap.h"
#include "tests/protocol/protocol.h"

#define ANY_ERROR 0x02ff

static void expect_result(const struct ini_pdu *p, int status, const char *name)
{
	int got = login_status(p);

	if (status == ANY_ERROR)
		ck_assert_msg(got >> 8 == 2, "%s: %04x", name, (unsigned)got);
	else
		ck_assert_msg(got == status, "%s: %04x", name, (unsigned)got);
	if (status)
		ck_assert_msg(!ini_value(p, "CHAP_R"), "%s: answered", name);
}

/* In place of CHAP_A. */
static const struct {
	const char *text;
	int status;
} offers[] = {
	{ "CHAP_A=5", 0 },
	{ "CHAP_A=7,5", 0 },
	{ "CHAP_A=99,5", 0 },
	{ "CHAP_A=0", LOGIN_AUTHENTICATION_FAILURE },
	{ "CHAP_A=255", LOGIN_AUTHENTICATION_FAILURE },
	{ "CHAP_A=99999999999999999999", LOGIN_AUTHENTICATION_FAILURE },
	{ "CHAP_A=MD5", ANY_ERROR },
	{ "CHAP_A=5x", ANY_ERROR },
	{ "CHAP_A=", ANY_ERROR },
	{ "CHAP_N=user\nCHAP_R=0x00", ANY_ERROR },
	{ "CHAP_A=5\nCHAP_I=1\nCHAP_C=0x01", ANY_ERROR },
	{ "CHAP_A=5\nCHAP_C=0x01", ANY_ERROR },
	{ "CHAP_A=5\nCHAP_N=user", ANY_ERROR },
};

START_TEST(algorithm)
{
	COVERS("U-099 U-100 U-101 U-102 U-105 U-113 U-124 T-011 T-012");
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;

	login_step(i, SECURITY_STEP, NAMES(T_CHAP) "\nAuthMethod=CHAP");
	p = login_step(i, SECURITY_STEP, offers[_i].text);
	expect_result(p, offers[_i].status, offers[_i].text);
	if (offers[_i].status)
		expect_close(i);
	else
		ck_assert(ini_value(p, "CHAP_A") && ini_value(p, "CHAP_I") &&
			  ini_value(p, "CHAP_C"));
}
END_TEST

/* The third step: our CHAP_I and CHAP_C; '*' stands for the target's, N for that many bytes. */
static const struct third {
	const char *name, *i, *c;
	unsigned bytes; /* of c, when it is NULL */
	int status;
	bool base64;
} thirds[] = {
	{ "CHAP_I 0", "0", "0x01020304", 0, 0 },
	{ "CHAP_I 1", "1", "0x01020304", 0, 0 },
	{ "CHAP_I 255", "255", "0x01020304", 0, 0 },
	{ "CHAP_I hexadecimal", "0xff", "0x01020304", 0, 0 },
	{ "CHAP_I of the target", "*", "0x01020304", 0, 0 },
	{ "CHAP_I 256", "256", "0x01020304", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_I negative", "-1", "0x01020304", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_I no number", "x", "0x01020304", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_C of odd digits", "5", "0x123", 0, 0 },
	{ "CHAP_C of 1 byte", "5", NULL, 1, 0 },
	{ "CHAP_C of 16 bytes", "5", NULL, 16, 0 },
	{ "CHAP_C of 1024 bytes", "5", NULL, 1024, 0 },
	{ "CHAP_C of 1024 bytes, base64", "5", NULL, 1024, 0, true },
	{ "CHAP_C of 1025 bytes", "5", NULL, 1025, LOGIN_INITIATOR_ERROR },
	{ "CHAP_C of 1025 bytes, base64", "5", NULL, 1025, LOGIN_INITIATOR_ERROR, true },
	{ "CHAP_C without digits", "5", "0x", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_C without base64", "5", "0b", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_C empty", "5", "", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_C without prefix", "5", "01020304", 0, LOGIN_INITIATOR_ERROR },
	{ "CHAP_C of the target", "5", "*", 0, LOGIN_AUTHENTICATION_FAILURE },
	{ "CHAP_C of the target, base64", "5", "*", 0, LOGIN_AUTHENTICATION_FAILURE, true },
};

/* c of the row as hexadecimal in `hex` and as it goes out in `text`. */
static void make_challenge(const struct third *t, const char *theirs, char *hex, char *text)
{
	uint8_t bytes[1100];
	size_t n = 0;

	if (t->c && strcmp(t->c, "*") != 0) {
		/* an odd digit is a byte of its own (6.1) */
		snprintf(hex, 64, "0x%s%s", strlen(t->c) % 2 ? "0" : "", *t->c ? t->c + 2 : "");
		strcpy(text, t->c);
		return;
	}
	strcpy(hex, "0x");
	if (t->c)
		strcpy(hex, theirs);
	else
		for (n = 0; n < t->bytes; n++)
			memcpy(hex + 2 + 2 * n, "c3", 3);
	strcpy(text, hex);
	if (!t->base64)
		return;
	for (n = 0; hex[2 + 2 * n]; n++) {
		char two[3] = { hex[2 + 2 * n], hex[3 + 2 * n] };

		bytes[n] = (uint8_t)strtoul(two, NULL, 16);
	}
	strcpy(text, ini_chap_base64(bytes, n));
}

START_TEST(third_step)
{
	COVERS("U-103 U-104 U-107 U-108 U-109 U-110 U-111 U-112 U-119 U-126 U-127 L-090 T-013 "
	       "T-014");
	static char text[8192], hex[4096], c[4096];
	const struct third *t = &thirds[_i];
	struct ini *i = connect_to(server.port);
	char id[8], r[80];
	const struct ini_pdu *p;

	login_step(i, SECURITY_STEP, NAMES(T_CHAP) "\nAuthMethod=CHAP");
	p = login_step(i, SECURITY_STEP, "CHAP_A=5");
	snprintf(id, sizeof(id), "%s", strcmp(t->i, "*") != 0 ? t->i : ini_value(p, "CHAP_I"));
	snprintf(r, sizeof(r), "%s",
		 ini_chap_response(5, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"), CHAP_SECRET,
				   false));
	make_challenge(t, ini_value(p, "CHAP_C"), hex, c);
	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s\nCHAP_I=%s\nCHAP_C=%s", r, id, c);
	p = login_step(i, SECURITY_TO_FULL, text);
	expect_result(p, t->status, t->name);
	if (t->status) {
		expect_close(i);
		return;
	}
	ck_assert_str_eq(ini_value(p, "CHAP_N"), "our name");
	ck_assert_str_eq(ini_value(p, "CHAP_R"), ini_chap_response(5, id, hex, CHAP_OURS, false));
}
END_TEST

/* The challenge of one connection, sent back on another that is open at the same time. */
START_TEST(reflected_elsewhere)
{
	COVERS("U-097 U-098 U-118 C-009 C-019 C-021");
	struct ini *a = connect_to(server.port), *b = connect_to(server.port);
	char theirs[80], text[512];
	const struct ini_pdu *p;

	login_step(a, SECURITY_STEP, NAMES(T_CHAP) "\nAuthMethod=CHAP");
	snprintf(theirs, sizeof(theirs), "%s",
		 ini_value(login_step(a, SECURITY_STEP, "CHAP_A=5"), "CHAP_C"));
	login_step(b, SECURITY_STEP, NAMES(T_CHAP) "\nAuthMethod=CHAP");
	p = login_step(b, SECURITY_STEP, "CHAP_A=7");
	ck_assert_str_ne(ini_value(p, "CHAP_C"), theirs);
	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s\nCHAP_I=1\nCHAP_C=%s",
		 ini_chap_response(7, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"), CHAP_SECRET,
				   false),
		 theirs);
	p = login_step(b, SECURITY_TO_FULL, text);
	expect_result(p, LOGIN_AUTHENTICATION_FAILURE, "reflected");
	expect_close(b);
}
END_TEST

void chap_values_suite(TCase *c)
{
	add_table(c, algorithm, offers);
	add_table(c, third_step, thirds);
	add(c, reflected_elsewhere);
}
