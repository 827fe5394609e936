/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state machine of CHAP by itself: digests against known vectors, each step with keys missing,
 * doubled, too long; wrong secrets; reflection.
 */
#include "transport/iscsi/chap.c"

#include "tests/unit/unit.h"

#include <stdio.h>

static const struct chap_random fresh = { { 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, { 7 } };
static struct chap chap;
static struct text_out out;
static struct chap_account accounts[2];
static const struct chap_account *const list[] = { &accounts[0], &accounts[1] };
static const struct chap_accounts both = { list, 2 };

static void set_secret(struct chap_secret *s, const char *text)
{
	s->length = (uint8_t)strlen(text);
	memcpy(s->bytes, text, s->length);
}

static void setup(void)
{
	memset(accounts, 0, sizeof(accounts));
	accounts[0] = (struct chap_account){ .name = strdup("0xff"), .algorithms = CHAP_ALL };
	accounts[1] = (struct chap_account){ .name = strdup("user@dom:1"),
					     .mutual_name = strdup("target"),
					     .algorithms = CHAP_ALL };
	set_secret(&accounts[0].secret[0], "first-secret-1");
	set_secret(&accounts[0].secret[1], "first-secret-2");
	set_secret(&accounts[1].secret[0], "second-secret");
	set_secret(&accounts[1].mutual, "target-secret");
	out.limit = TEXT_OUT_MAX;
}

static void teardown(void)
{
	chap_account_clear(&accounts[0]);
	chap_account_clear(&accounts[1]);
	text_out_free(&out);
}

static enum chap_result next(const struct chap_keys *k)
{
	text_out_reset(&out);
	return chap_step(&chap, k, &both, &fresh, &out);
}

/* To where CHAP_R is awaited. */
static void begin(const char *offer)
{
	memset(&chap, 0, sizeof(chap));
	chap.state = CHAP_WANTS_ALGORITHM;
	ck_assert_int_eq(next(&(struct chap_keys){ .a = offer }), CHAP_CONTINUE);
}

static const char *value(const char *key)
{
	size_t n = strlen(key);

	for (const char *p = out.bytes; p < out.bytes + out.length; p += strlen(p) + 1)
		if (!strncmp(p, key, n) && p[n] == '=')
			return p + n + 1;
	return NULL;
}

static void base64(const uint8_t *bytes, size_t n, char *text)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	*text++ = '0';
	*text++ = 'b';
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)bytes[i] << 16 |
			     (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
			     (i + 2 < n ? bytes[i + 2] : 0);

		*text++ = digits[v >> 18];
		*text++ = digits[v >> 12 & 63];
		*text++ = (char)(i + 1 < n ? digits[v >> 6 & 63] : '=');
		*text++ = (char)(i + 2 < n ? digits[v & 63] : '=');
	}
	*text = '\0';
}

static const char *answer(const char *secret, bool in_base64)
{
	static char text[2 * CHAP_DIGEST_MAX + 3];
	struct chap_secret s = { 0 };
	uint8_t digest[CHAP_DIGEST_MAX];

	set_secret(&s, secret);
	chap_digest(chap.algorithm, chap.identifier, &s, chap.challenge, chap.challenge_length,
		    digest);
	if (in_base64)
		base64(digest, chap_digest_length(chap.algorithm), text);
	else
		binary_format(digest, chap_digest_length(chap.algorithm), text);
	return text;
}

/* Digests of "abc" as published (RFC 1321, RFC 3174, FIPS 180-4, FIPS 202): identifier 'a', secret
 * "b", challenge "c". */
START_TEST(vectors)
{
	static const struct {
		enum chap_algorithm a;
		const char *digest;
	} rows[] = {
		{ CHAP_MD5, "0x900150983cd24fb0d6963f7d28e17f72" },
		{ CHAP_SHA1, "0xa9993e364706816aba3e25717850c26c9cd0d89d" },
		{ CHAP_SHA256,
		  "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ CHAP_SHA3_256,
		  "0x3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532" },
	};
	struct chap_secret b = { .bytes = { 'b' }, .length = 1 };
	uint8_t digest[CHAP_DIGEST_MAX];
	char text[2 * CHAP_DIGEST_MAX + 3];

	for (unsigned i = 0; i < 4; i++) {
		chap_digest(rows[i].a, 'a', &b, (const uint8_t *)"c", 1, digest);
		binary_format(digest, chap_digest_length(rows[i].a), text);
		ck_assert_str_eq(text, rows[i].digest);
	}
	ck_assert_uint_eq(chap_digest_length((enum chap_algorithm)9), 0);
	ck_assert_int_eq(chap_algorithm_find("sha3-256"), CHAP_SHA3_256);
	ck_assert_int_eq(chap_algorithm_find("sha"), 0);
}
END_TEST

START_TEST(challenge_of_each_algorithm)
{
	static const char *const offers[] = { "5", "6", "7", "8" };
	static const size_t lengths[] = { 16, 20, 32, 32 };

	for (unsigned i = 0; i < 4; i++) {
		begin(offers[i]);
		ck_assert_str_eq(value("CHAP_A"), offers[i]);
		ck_assert_str_eq(value("CHAP_I"), "66");
		ck_assert_uint_eq(strlen(value("CHAP_C")), 2 + 2 * lengths[i]);
		ck_assert_int_eq(strncmp(value("CHAP_C"), "0x0102030405", 12), 0);
	}
}
END_TEST

/* The first of the initiator's list that is allowed; hexadecimal numbers are numbers. */
START_TEST(order_of_preference)
{
	static const struct {
		const char *offer;
		unsigned allowed[2];
		const char *chosen; /* NULL: refused */
	} rows[] = {
		{ "8,7,6,5", { CHAP_ALL, CHAP_ALL }, "8" },
		{ "5,7", { CHAP_ALL, CHAP_ALL }, "5" },
		{ "7,5", { CHAP_ALL, CHAP_ALL }, "7" },
		{ "9,foo,,0x7", { CHAP_ALL, CHAP_ALL }, "7" },
		{ "5,7", { CHAP_BIT(CHAP_SHA256), CHAP_ALL }, "7" }, /* what all accounts allow */
		{ "5", { CHAP_BIT(CHAP_SHA256), CHAP_ALL }, "5" },   /* or at least one */
		{ "5", { CHAP_BIT(CHAP_SHA256), CHAP_BIT(CHAP_SHA1) }, NULL },
		{ "99", { CHAP_ALL, CHAP_ALL }, NULL },
		{ "4,0,18446744073709551621", { CHAP_ALL, CHAP_ALL }, NULL },
		{ "", { CHAP_ALL, CHAP_ALL }, NULL },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum chap_result r;

		memset(&chap, 0, sizeof(chap));
		chap.state = CHAP_WANTS_ALGORITHM;
		accounts[0].algorithms = rows[i].allowed[0];
		accounts[1].algorithms = rows[i].allowed[1];
		r = next(&(struct chap_keys){ .a = rows[i].offer });
		ck_assert_int_eq(r, rows[i].chosen ? CHAP_CONTINUE : CHAP_DENIED);
		if (rows[i].chosen)
			ck_assert_str_eq(value("CHAP_A"), rows[i].chosen);
	}
}
END_TEST

/* An account that does not allow the algorithm which another one allowed. */
START_TEST(algorithm_of_the_account)
{
	accounts[0].algorithms = CHAP_BIT(CHAP_SHA256);
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "0xff", .r = answer("first-secret-1", false) }),
	    CHAP_DENIED);
	begin("7");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "0xff", .r = answer("first-secret-1", false) }),
	    CHAP_PROVEN);
}
END_TEST

/* Four algorithms, both encodings, both secrets, upper case. */
START_TEST(right_secrets)
{
	static const char *const offers[] = { "5", "6", "7", "8" };
	char upper[80];

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned b = 0; b < 2; b++) {
			begin(offers[i]);
			ck_assert_int_eq(next(&(struct chap_keys){
					     .n = "0xff", .r = answer("first-secret-1", b) }),
					 CHAP_PROVEN);
			ck_assert_ptr_eq(chap.account, &accounts[0]);
			begin(offers[i]);
			ck_assert_int_eq(next(&(struct chap_keys){
					     .n = "0xff", .r = answer("first-secret-2", b) }),
					 CHAP_PROVEN);
		}
		begin(offers[i]);
		snprintf(upper, sizeof(upper), "%s", answer("second-secret", false));
		for (char *c = upper + 1; *c; c++)
			*c = (char)(*c >= 'a' ? *c & ~0x20 : *c);
		ck_assert_int_eq(next(&(struct chap_keys){ .n = "user@dom:1", .r = upper }),
				 CHAP_PROVEN);
		ck_assert_ptr_eq(chap.account, &accounts[1]);
		ck_assert_uint_eq(out.length, 0);
	}
}
END_TEST

START_TEST(wrong_secrets)
{
	static const char *const offers[] = { "5", "6", "7", "8" };
	char secret[40];

	for (unsigned n = 0; n < 1000; n++) {
		begin(offers[n % 4]);
		snprintf(secret, sizeof(secret), "wrong-secret-%u", n);
		ck_assert_int_eq(
		    next(&(struct chap_keys){ .n = "0xff", .r = answer(secret, n & 1) }),
		    CHAP_DENIED);
		/* It is over: the right one does not help any more. */
		ck_assert_int_eq(
		    next(&(struct chap_keys){ .n = "0xff", .r = answer("first-secret-1", false) }),
		    CHAP_INVALID);
	}
}
END_TEST

/* A secret that is not there proves nothing, nor does that of another account. */
START_TEST(secrets_of_others)
{
	begin("5");
	ck_assert_int_eq(next(&(struct chap_keys){ .n = "0xff", .r = answer("", false) }),
			 CHAP_DENIED);
	begin("5");
	ck_assert_int_eq(next(&(struct chap_keys){ .n = "user@dom:1", .r = answer("", false) }),
			 CHAP_DENIED);
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "user@dom:1", .r = answer("first-secret-1", false) }),
	    CHAP_DENIED);
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "nobody", .r = answer("first-secret-1", false) }),
	    CHAP_DENIED);
	begin("5");
	ck_assert_int_eq(next(&(struct chap_keys){ .n = "nobody", .r = answer("", false) }),
			 CHAP_DENIED);
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "0XFF", .r = answer("first-secret-1", false) }),
	    CHAP_DENIED);
}
END_TEST

/* Responses of every length and none of the right one; four thousand base64 digits. */
START_TEST(response_lengths)
{
	static char text[8192];
	static const unsigned lengths[] = { 0, 1, 15, 17, 31, 32, 33, 1024, 1025, 4000 };

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		begin("5");
		snprintf(text, sizeof(text), "0x");
		for (unsigned n = 0; n < lengths[i]; n++)
			memcpy(text + 2 + 2 * (size_t)n, "5a", 3);
		ck_assert_int_eq(next(&(struct chap_keys){ .n = "0xff", .r = text }), CHAP_DENIED);
	}
	for (unsigned i = 0; i < 2; i++) {
		begin("5");
		memset(text, 'A', sizeof(text));
		memcpy(text, "0b", 2);
		text[2 + (i ? 4096 : 127)] = '\0';
		ck_assert_int_eq(next(&(struct chap_keys){ .n = "0xff", .r = text }), CHAP_DENIED);
	}
}
END_TEST

START_TEST(keys_of_the_steps)
{
	static const struct {
		struct chap_keys keys;
		enum chap_result first, second;
	} rows[] = {
		{ { 0 }, CHAP_MISSING, CHAP_MISSING },
		{ { .n = "0xff" }, CHAP_INVALID, CHAP_MISSING },
		{ { .r = "0x00" }, CHAP_INVALID, CHAP_MISSING },
		{ { .n = "0xff", .r = "0x00" }, CHAP_INVALID, CHAP_DENIED },
		{ { .a = "5" }, CHAP_CONTINUE, CHAP_INVALID },
		{ { .a = "5", .n = "0xff", .r = "0x00" }, CHAP_INVALID, CHAP_INVALID },
		{ { .i = "1", .n = "0xff", .r = "0x00" }, CHAP_INVALID, CHAP_MISSING },
		{ { .c = "0x01", .n = "0xff", .r = "0x00" }, CHAP_INVALID, CHAP_MISSING },
		{ { .i = "1", .c = "0x01" }, CHAP_INVALID, CHAP_MISSING },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&chap, 0, sizeof(chap));
		ck_assert_int_eq(next(&rows[i].keys), CHAP_INVALID);
		memset(&chap, 0, sizeof(chap));
		chap.state = CHAP_WANTS_ALGORITHM;
		ck_assert_int_eq(next(&rows[i].keys), rows[i].first);
		begin("5");
		ck_assert_int_eq(next(&rows[i].keys), rows[i].second);
	}
}
END_TEST

/* Our proof: right for every algorithm and for challenges of 1 and of 1024 bytes. */
START_TEST(mutual)
{
	static const char *const offers[] = { "5", "6", "7", "8" };
	static char text[2100];
	uint8_t theirs[CHAP_BINARY_MAX], digest[CHAP_DIGEST_MAX];
	char wanted[2 * CHAP_DIGEST_MAX + 3];

	memset(theirs, 0xa5, sizeof(theirs));
	for (unsigned i = 0; i < 8; i++) {
		size_t length = i < 4 ? 1 : sizeof(theirs);

		begin(offers[i % 4]);
		binary_format(theirs, length, text);
		chap_digest(chap.algorithm, 255, &accounts[1].mutual, theirs, length, digest);
		binary_format(digest, chap_digest_length(chap.algorithm), wanted);
		ck_assert_int_eq(next(&(struct chap_keys){ .i = "255",
							   .c = text,
							   .n = "user@dom:1",
							   .r = answer("second-secret", false) }),
				 CHAP_PROVEN);
		ck_assert_str_eq(value("CHAP_N"), "target");
		ck_assert_str_eq(value("CHAP_R"), wanted);
	}
}
END_TEST

static enum chap_result ask_back(const char *name, const char *secret, const char *i, const char *c)
{
	enum chap_result r;

	begin("5");
	r = next(&(struct chap_keys){ .i = i, .c = c, .n = name, .r = answer(secret, false) });
	if (r != CHAP_PROVEN)
		ck_assert_ptr_null(value("CHAP_R")); /* nothing was proved to one we do not know */
	return r;
}

START_TEST(mutual_refused)
{
	static char text[2100];
	uint8_t bytes[CHAP_BINARY_MAX + 1] = { 7 };
	const char *name = "user@dom:1", *secret = "second-secret";

	ck_assert_int_eq(ask_back(name, secret, "0x10", "0bAQID"), CHAP_PROVEN);
	binary_format(bytes, sizeof(bytes), text);
	ck_assert_int_eq(ask_back(name, secret, "1", text), CHAP_INVALID);
	ck_assert_int_eq(ask_back(name, secret, "1", "0x"), CHAP_INVALID);
	ck_assert_int_eq(ask_back(name, secret, "1", "0xzz"), CHAP_INVALID);
	ck_assert_int_eq(ask_back(name, secret, "1", "12"), CHAP_INVALID);
	ck_assert_int_eq(ask_back(name, secret, "256", "0x01"), CHAP_INVALID);
	ck_assert_int_eq(ask_back(name, secret, "-1", "0x01"), CHAP_INVALID);
	ck_assert_int_eq(ask_back(name, "second-secrex", "1", "0x01"), CHAP_DENIED);
	/* no credential of ours */
	ck_assert_int_eq(ask_back("0xff", "first-secret-1", "1", "0x01"), CHAP_DENIED);
	/* our challenge, reflected */
	begin("5");
	binary_format(chap.challenge, 16, text);
	ck_assert_int_eq(ask_back(name, secret, "1", text), CHAP_DENIED);
	ck_assert_ptr_nonnull(strstr(chap.why, "reflected"));
	/* one of another connection, and one that only looks like it */
	begin("8");
	binary_format(chap.challenge, 32, text);
	ck_assert_int_eq(ask_back(name, secret, "1", text), CHAP_DENIED);
	ck_assert_ptr_nonnull(strstr(chap.why, "reflected"));
	text[65] = text[65] == '0' ? '1' : '0';
	ck_assert_int_eq(ask_back(name, secret, "1", text), CHAP_PROVEN);
}
END_TEST

/* Were both directions to share a secret, what we would answer proves nothing. */
START_TEST(reflected_response)
{
	set_secret(&accounts[1].mutual, "second-secret");
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "user@dom:1", .r = answer("second-secret", false) }),
	    CHAP_DENIED);
}
END_TEST

/* One-way is allowed beside mutual secrets, unless mutual is required. */
START_TEST(one_way_beside_mutual)
{
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "user@dom:1", .r = answer("second-secret", false) }),
	    CHAP_PROVEN);
	accounts[1].require_mutual = true;
	begin("5");
	ck_assert_int_eq(
	    next(&(struct chap_keys){ .n = "user@dom:1", .r = answer("second-secret", false) }),
	    CHAP_DENIED);
	ck_assert_int_eq(ask_back("user@dom:1", "second-secret", "1", "0x01"), CHAP_PROVEN);
}
END_TEST

/* Secrets of any bytes and of every length. */
START_TEST(binary_secrets)
{
	char text[2 * CHAP_DIGEST_MAX + 3];
	uint8_t digest[CHAP_DIGEST_MAX];

	for (unsigned n = 12; n <= CHAP_SECRET_MAX; n++) {
		struct chap_secret *s = &accounts[0].secret[0];

		s->length = (uint8_t)n;
		for (unsigned i = 0; i < n; i++)
			s->bytes[i] = (uint8_t)(i * 7 + n);
		begin("7");
		chap_digest(CHAP_SHA256, chap.identifier, s, chap.challenge, 32, digest);
		binary_format(digest, 32, text);
		ck_assert_int_eq(next(&(struct chap_keys){ .n = "0xff", .r = text }), CHAP_PROVEN);
		digest[31] ^= 1;
		begin("7");
		binary_format(digest, 32, text);
		ck_assert_int_eq(next(&(struct chap_keys){ .n = "0xff", .r = text }), CHAP_DENIED);
	}
}
END_TEST

SUITE_COVERS("C-005 C-006 C-007 C-008 C-010 C-011 C-012 C-013 C-014 C-015 C-016 C-017 C-018 "
	     "C-019 C-020 C-021 C-023 fault-B01 fault-B02 fault-B04 fault-B05 fault-B07 "
	     "fault-B09");

int main(void)
{
	Suite *s = suite_create("chap");
	TCase *t = tcase_create("chap");
	SRunner *runner = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, vectors);
	tcase_add_test(t, challenge_of_each_algorithm);
	tcase_add_test(t, order_of_preference);
	tcase_add_test(t, algorithm_of_the_account);
	tcase_add_test(t, right_secrets);
	tcase_add_test(t, wrong_secrets);
	tcase_add_test(t, secrets_of_others);
	tcase_add_test(t, response_lengths);
	tcase_add_test(t, keys_of_the_steps);
	tcase_add_test(t, mutual);
	tcase_add_test(t, mutual_refused);
	tcase_add_test(t, reflected_response);
	tcase_add_test(t, one_way_beside_mutual);
	tcase_add_test(t, binary_secrets);
	suite_add_tcase(s, t);
	return unit_end(runner);
}
