/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of logins: in any order, cut anywhere, long in both directions. */
#include "transport/iscsi/login_stage.c"

#include "daemon/base/bytes.h"
#include "tests/unit/fake_initiator.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

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

/* The answer is a refusal with this status, and the connection closes. */
static void check_refused(struct fake_initiator *i, struct fake_pdu *p, unsigned status)
{
	ck_assert_uint_eq(fake_status(p), status);
	ck_assert_uint_eq(p->bhs[1], 0); /* T, CSG and NSG are reserved then */
	free(p);
	ck_assert(fake_closed(i->fc));
}

/* Keys in any order, cut at every byte into two PDUs and once into three. */
START_TEST(any_order_cut_anywhere)
{
	static const char text[] =
	    "MaxBurstLength=65536\0SessionType=Normal\0InitiatorName=" FAKE_NAME
	    "\0HeaderDigest=CRC32C\0TargetName=" FAKE_TARGET;

	for (uint32_t at = 0; at <= sizeof(text); at += at < 24 ? 1 : 13) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p = fake_login_bytes(&i, FAKE_OP | FAKE_C, text, at);

		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], FAKE_OP); /* T=0, C=0, same CSG */
		ck_assert_uint_eq(p->length, 0);
		ck_assert_uint_eq(get_be16(p->bhs + 14), 0);
		free(p);
		p = fake_login_bytes(&i, FAKE_OP | FAKE_C, text + at, 0);
		ck_assert_uint_eq(p->length, 0);
		free(p);
		p = fake_login_bytes(&i, FAKE_OP_FFP, text + at, (uint32_t)sizeof(text) - at);
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], FAKE_OP_FFP);
		ck_assert_uint_eq(fake_count(p, "TargetPortalGroupTag"), 1);
		ck_assert_str_eq(fake_value(p, "MaxBurstLength"), "65536");
		ck_assert_str_eq(fake_value(p, "HeaderDigest"), "CRC32C");
		ck_assert_uint_eq(fake_count(p, NULL), 3);
		free(p);
		fake_hang_up(i.fc);
	}
}
END_TEST

START_TEST(unknown_and_obsolete_keys)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = fake_login(&i, FAKE_OP_FFP,
					FAKE_NORMAL "X-com.example.foo=1\niSCSIProtocolLevel=1\n"
						    "TaskReporting=FastAbort,RFC3720\n"
						    "IFMarker=No\n");

	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_str_eq(fake_value(p, "X-com.example.foo"), "NotUnderstood");
	ck_assert_str_eq(fake_value(p, "iSCSIProtocolLevel"), "1");
	ck_assert_str_eq(fake_value(p, "TaskReporting"), "FastAbort");
	ck_assert_str_eq(fake_value(p, "IFMarker"), "No");
	ck_assert_uint_eq(fake_count(p, NULL), 5);
	free(p);
}
END_TEST

/* Every key of section 13 that an initiator may offer in one login: all understood. */
START_TEST(all_keys_understood)
{
	static const char start[] = FAKE_NORMAL "InitiatorAlias=a\n";
	char text[4096];
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p;

	strcpy(text, start);
	for (unsigned id = 1; id < KEY_COUNT; id++) {
		const struct key_row *row = &key_table[id];
		bool flag = row->rule == KEY_RULE_AND || row->rule == KEY_RULE_OR;

		if (!(row->phases & KEY_OPERATIONAL) || row->target_only || row->may_repeat ||
		    id == KEY_INITIATOR_ALIAS)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s\n", row->name,
			 flag || row->rule == KEY_RULE_TEXT ? "Yes" : "1024");
	}
	p = fake_login(&i, FAKE_OP, text);
	ck_assert_uint_eq(fake_status(p), 0);
	for (unsigned id = 1; id < KEY_COUNT; id++) {
		const char *v = fake_value(p, key_table[id].name);

		ck_assert_msg(!v || strcmp(v, "NotUnderstood"), "%s", key_table[id].name);
	}
	free(p);
}
END_TEST

START_TEST(defaults_when_nothing_is_offered)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = fake_login(&i, FAKE_SEC_FFP, FAKE_NORMAL);
	struct iscsi_keys k;

	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[1], FAKE_SEC_FFP);
	ck_assert_uint_eq(fake_count(p, NULL), 1); /* the tag, no offer of ours */
	keys_defaults(&k);
	ck_assert_mem_eq(&i.fc->c->keys, &k, sizeof(k));
	free(p);
	i = fake_initiator(&net);
	i.isid[5]++;
	p = fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL "InitialR2T=Yes\n");
	ck_assert_uint_eq(fake_count(p, NULL), 2);
	free(p);
}
END_TEST

/* Data that is too long for the phase ends the connection and nothing else. */
START_TEST(too_long)
{
	static char text[ISCSI_TEXT_DEFAULT + 1];
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p;

	memset(text, 'x', sizeof(text));
	ck_assert_ptr_null(fake_login_bytes(&i, FAKE_OP | FAKE_C, text, sizeof(text)));
	ck_assert(fake_closed(i.fc));
	i = fake_initiator(&net);
	for (unsigned n = 0; n < TEXT_IN_MAX / ISCSI_TEXT_DEFAULT; n++) {
		p = fake_login_bytes(&i, FAKE_OP | FAKE_C, text, ISCSI_TEXT_DEFAULT);
		ck_assert_uint_eq(fake_status(p), 0);
		free(p);
	}
	p = fake_login_bytes(&i, FAKE_OP | FAKE_C, text, ISCSI_TEXT_DEFAULT);
	check_refused(&i, p, LOGIN_OUT_OF_RESOURCES);
}
END_TEST

/* More answers than fit a response: C on our side, T only with the last part. */
START_TEST(long_answer)
{
	static char text[16384];
	struct fake_initiator i = fake_initiator(&net);
	unsigned keys = 0, parts = 0;
	struct fake_pdu *p;
	size_t at, answer = 0;

	strcpy(text, FAKE_NORMAL);
	for (keys = 0; (at = strlen(text)) < 8100; keys++)
		snprintf(text + at, sizeof(text) - at, "X-com.e.%03u=1\n", keys);
	p = fake_login(&i, FAKE_OP_FFP, text);
	for (;;) {
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_le(p->length, ISCSI_TEXT_DEFAULT);
		answer += p->length;
		parts++;
		if (!(p->bhs[1] & FAKE_C))
			break;
		ck_assert_uint_eq(p->bhs[1], FAKE_OP | FAKE_C);
		ck_assert_uint_eq(get_be16(p->bhs + 14), 0);
		free(p);
		/* T may come and go meanwhile */
		p = fake_login(&i, parts == 1 ? FAKE_OP : FAKE_OP_FFP, "");
	}
	ck_assert_uint_gt(parts, 1);
	ck_assert_uint_eq(answer, 23 + keys * sizeof("X-com.e.000=NotUnderstood"));
	free(p);
	if (i.fc->c->login) {
		p = fake_login(&i, FAKE_OP_FFP, "");
		ck_assert_uint_eq(fake_status(p), 0);
		free(p);
	}
	ck_assert_uint_eq(i.fc->c->state, CONN_LOGGED_IN);
}
END_TEST

START_TEST(text_while_answering)
{
	static char text[8192];
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p;
	size_t at;

	strcpy(text, FAKE_NORMAL);
	while ((at = strlen(text)) < 8100)
		snprintf(text + at, sizeof(text) - at, "X-%zu=1\n", at);
	p = fake_login(&i, FAKE_OP_FFP, text);
	ck_assert_uint_eq(p->bhs[1], FAKE_OP | FAKE_C);
	free(p);
	p = fake_login(&i, FAKE_OP_FFP, "MaxBurstLength=65536\n");
	check_refused(&i, p, LOGIN_INITIATOR_ERROR);
}
END_TEST

START_TEST(amplified_answer)
{
	static char text[8192];
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = NULL;

	for (unsigned n = 0; n < sizeof(text); n += 4)
		memcpy(text + n, "a=b", 4);
	for (unsigned n = 0; n < 8; n++) {
		free(p);
		p = fake_login_bytes(&i, n < 7 ? FAKE_OP | FAKE_C : FAKE_OP, text, sizeof(text));
	}
	check_refused(&i, p, LOGIN_MISSING_PARAMETER);
	i = fake_initiator(&net);
	p = fake_login(&i, FAKE_OP, FAKE_NORMAL);
	for (unsigned n = 0; n < 8; n++) {
		free(p);
		p = fake_login_bytes(&i, n < 7 ? FAKE_OP | FAKE_C : FAKE_OP, text, sizeof(text));
	}
	check_refused(&i, p, LOGIN_OUT_OF_RESOURCES);
}
END_TEST

SUITE_COVERS("L-011 L-012 L-050 L-051 L-052 L-053 L-063 L-074 L-076 L-077 L-078 L-080 L-091 "
	     "T-005 T-016 T-021 T-087 T-092 T-100");

int main(void)
{
	Suite *s = suite_create("login_stage");
	TCase *t = tcase_create("login_stage");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, any_order_cut_anywhere);
	tcase_add_test(t, unknown_and_obsolete_keys);
	tcase_add_test(t, all_keys_understood);
	tcase_add_test(t, defaults_when_nothing_is_offered);
	tcase_add_test(t, too_long);
	tcase_add_test(t, long_answer);
	tcase_add_test(t, text_while_answering);
	tcase_add_test(t, amplified_answer);
	suite_add_tcase(s, t);
	return unit_end(r);
}
