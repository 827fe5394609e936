/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of the login phase: where it may be cut, how long it may be, what its pairs look like. */
#include "tests/protocol/protocol.h"

/* Sends raw bytes as the text of a request; the answer. */
static const struct ini_pdu *step_bytes(struct ini *i, uint8_t flags, const void *text,
					uint32_t length)
{
	struct bhs_login_request h;

	ini_login_header(i, &h, 0, 0, false);
	h.flags = flags;
	ck_assert(!ini_send(i, (uint8_t *)&h, text, length));
	return expect(i, ISCSI_OP_LOGIN_RESPONSE);
}

#define CONTINUED (ISCSI_CONTINUE | OP_STEP)

static void expect_empty(const struct ini_pdu *p)
{
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_eq(p->bhs[1] & (ISCSI_FINAL | ISCSI_CONTINUE), 0);
}

/* One text, cut into two requests at every byte: the result is always the same. */
START_TEST(cut_anywhere)
{
	COVERS("L-050 L-012 L-052 T-005");
	static const char lines[] = NAMES(T_MAIN) "\nMaxBurstLength=131072\nHeaderDigest=None\n"
						  "FirstBurstLength=4096";
	uint8_t text[512];
	uint32_t length = ini_pairs(lines, text, sizeof(text));

	for (uint32_t at = 1; at < length; at++) {
		struct ini *i = connect_to(server.port);
		const struct ini_pdu *p;

		expect_empty(step_bytes(i, CONTINUED, text, at));
		p = step_bytes(i, OP_TO_FULL, text + at, length - at);
		ck_assert_msg(!login_status(p), "cut at %u: %04x", at, (unsigned)login_status(p));
		ck_assert_msg(ini_value(p, "TargetPortalGroupTag") != NULL, "cut at %u", at);
		ck_assert_str_eq(ini_value(p, "MaxBurstLength"), "131072");
		ck_assert_str_eq(ini_value(p, "FirstBurstLength"), "4096");
		ini_close(i);
	}
}
END_TEST

/* All keys, names last, in three requests that part a key's name (as no initiator does). */
START_TEST(three_parts)
{
	COVERS("L-012 L-050 T-005 T-017");
	static const char lines[] =
	    "MaxOutstandingR2T=1\nDataDigest=None\nErrorRecoveryLevel=0\nImmediateData=Yes\n"
	    "DefaultTime2Retain=0\nInitialR2T=No\nMaxConnections=1\nDefaultTime2Wait=2\n"
	    "MaxRecvDataSegmentLength=262144\nDataSequenceInOrder=Yes\nHeaderDigest=None\n"
	    "FirstBurstLength=262144\nDataPDUInOrder=Yes\nMaxBurstLength=16776192\n"
	    "SessionType=Normal\nInitiatorName=" BASE "test\nTargetName=" T_MAIN;
	uint8_t text[1024];
	uint32_t length = ini_pairs(lines, text, sizeof(text));
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;

	expect_empty(step_bytes(i, CONTINUED, text, 30)); /* "MaxOutstandingR2T=1", "DataDige" */
	expect_empty(step_bytes(i, CONTINUED, text + 30, 100));
	p = step_bytes(i, OP_TO_FULL, text + 130, length - 130);
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_str_eq(ini_value(p, "DataDigest"), "None");
	ck_assert_str_eq(ini_value(p, "InitialR2T"), "No");
	ck_assert_str_eq(ini_value(p, "TargetPortalGroupTag"), "1");
	ck_assert_uint_eq(p->data[p->length - 1], 0);
}
END_TEST

/* 8 KiB of unknown keys: their answers need more than one response, none with T before the last. */
START_TEST(answer_in_parts)
{
	COVERS("L-051 L-052 L-076 L-078 L-054 L-073 T-020 T-087");
	struct ini *i = connect_to(server.port);
	static char lines[16384], answers[32768];
	static uint8_t text[16384];
	size_t n = (size_t)snprintf(lines, sizeof(lines), "%s", NAMES(T_MAIN)), got = 0;
	const struct ini_pdu *p;
	uint32_t length;
	unsigned parts = 1, count = 0;

	for (unsigned k = 0; k < 120; k++)
		n += (size_t)snprintf(
		    lines + n, sizeof(lines) - n,
		    "\nX-org.example.this-is-a-rather-long-key-name-no-%03u.end=1", k);
	length = ini_pairs(lines, text, sizeof(text));
	ck_assert_uint_gt(length, 7000);
	expect_empty(step_bytes(i, CONTINUED, text, 4000));
	p = step_bytes(i, OP_TO_FULL, text + 4000, length - 4000);
	for (;; parts++) {
		ck_assert_int_eq(login_status(p), 0);
		ck_assert_uint_le(p->length, 8192);
		memcpy(answers + got, p->data, p->length);
		got += p->length;
		if (!(p->bhs[1] & ISCSI_CONTINUE))
			break;
		ck_assert_uint_eq(p->bhs[1] & ISCSI_FINAL, 0);
		ck_assert_uint_lt(parts, 5);
		p = step_bytes(i, OP_TO_FULL, NULL, 0);
	}
	ck_assert_uint_gt(parts, 1);
	ck_assert_uint_eq(p->bhs[1], OP_TO_FULL);
	for (size_t at = 0; at < got; at += strlen(answers + at) + 1)
		count += strstr(answers + at, "=NotUnderstood") != NULL;
	ck_assert_uint_eq(count, 120);
}
END_TEST

/* Every key of section 13: an answer with a meaning, and none that was not asked for. */
START_TEST(all_keys_are_understood)
{
	COVERS("L-091 T-021 T-023 T-032 T-035 T-094 T-095 T-026");
	static const char lines[] =
	    "HeaderDigest=None,CRC32C\nDataDigest=CRC32C,None\nMaxConnections=8\n"
	    "InitiatorAlias=me\nInitialR2T=No\nImmediateData=Yes\nMaxRecvDataSegmentLength=4096\n"
	    "MaxBurstLength=65536\nFirstBurstLength=65536\nDefaultTime2Wait=0\n"
	    "DefaultTime2Retain=60\nMaxOutstandingR2T=4\nDataPDUInOrder=No\n"
	    "DataSequenceInOrder=No\nErrorRecoveryLevel=2\nSessionType=Normal\n"
	    "TaskReporting=FastAbort,RFC3720\niSCSIProtocolLevel=2\nIFMarker=Yes\nOFMarker=No\n"
	    "OFMarkInt=2048~8192\nIFMarkInt=2048~8192\nX#NodeArchitecture=none";
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN, .keys = lines };
	struct ini_pdu p;

	ck_assert_int_eq(ini_login(i, &l, &p), 0);
	for (uint32_t at = 0; at < p.length; at += (uint32_t)strlen((char *)p.data + at) + 1) {
		const char *pair = (char *)p.data + at, *eq = strchr(pair, '=');
		char key[64];

		ck_assert_msg(eq != NULL, "\"%s\"", pair);
		ck_assert_msg(strcmp(eq, "=NotUnderstood") && strcmp(eq, "=Irrelevant"), "%s",
			      pair);
		snprintf(key, sizeof(key), "%.*s", (int)(eq - pair + 1), pair);
		ck_assert_msg(strstr(lines, key) || !strcmp(key, "TargetPortalGroupTag=") ||
				  !strcmp(key, "TargetAlias="),
			      "%s was not asked for", pair);
	}
	ck_assert(ini_value(&p, "TaskReporting") && ini_value(&p, "iSCSIProtocolLevel"));
	ck_assert_str_eq(ini_value(&p, "OFMarkInt"), "Reject");
	ini_pdu_free(&p);
	still_works(i);
}
END_TEST

/* Odd text in its bytes: what becomes of the login, and of the answer. */
static const struct odd {
	const char *name;
	const char *text;
	uint32_t length;    /* of text, NULs and all */
	int status;         /* 0x02ff: any error of the initiator; -1: either way */
	const char *answer; /* "key=value" that must be there */
} odds[] = {
#define ODD(name, text, status, answer)                                                            \
	{                                                                                          \
		name, text, sizeof(text) - 1, status, answer                                       \
	}
	ODD("empty pairs", "\0\0\0", 0, NULL),
	ODD("NULs between", "\0\0MaxBurstLength=4096\0\0", 0, "MaxBurstLength=4096"),
	ODD("value with =", "X-org.example=a=b\0", 0, "X-org.example=NotUnderstood"),
	ODD("wrong case", "maxburstlength=65536\0", 0, "maxburstlength=NotUnderstood"),
	ODD("unknown key", "FooBar=1\0", 0, "FooBar=NotUnderstood"),
	ODD("no =", "FooBar\0", 0x02ff, NULL),
	ODD("no key", "=1\0", 0x02ff, NULL),
	ODD("no NUL at the end", "MaxBurstLength=4096", -1, NULL),
	ODD("alias in UTF-8", "InitiatorAlias=\xc3\xa4\xc3\xb6\xc3\xbc\0", 0, NULL),
};

START_TEST(odd_text)
{
	COVERS("T-001 T-003 T-004 T-006 T-007 T-020 T-002");
	const struct odd *o = &odds[_i];
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;
	char key[64];
	int status;

	login_step(i, OP_STEP, NAMES(T_MAIN));
	p = step_bytes(i, OP_TO_FULL, o->text, o->length);
	status = login_status(p);
	if (o->status == 0x02ff)
		ck_assert_msg(status >> 8 == 2, "%s: %04x", o->name, (unsigned)status);
	else
		ck_assert_msg(status == 0 || (o->status < 0 && status >> 8 == 2), "%s: %04x",
			      o->name, (unsigned)status);
	if (!o->answer)
		return;
	snprintf(key, sizeof(key), "%.*s", (int)(strchr(o->answer, '=') - o->answer), o->answer);
	ck_assert_msg(ini_value(p, key) != NULL, "%s: no answer", o->name);
	ck_assert_str_eq(ini_value(p, key), strchr(o->answer, '=') + 1);
	ck_assert_uint_eq(p->data[p->length - 1], 0);
}
END_TEST

START_TEST(key_names_too_long)
{
	COVERS("T-008");
	static const size_t lengths[] = { 63, 64, 255, 8000 };
	struct ini *i = connect_to(server.port);
	static char text[8192];
	int status;

	login_step(i, OP_STEP, NAMES(T_MAIN));
	memset(text, 0, sizeof(text));
	memset(text, 'k', lengths[_i]);
	text[lengths[_i]] = '=';
	text[lengths[_i] + 1] = '1';
	status = login_status(step_bytes(i, OP_TO_FULL, text, (uint32_t)lengths[_i] + 3));
	if (lengths[_i] == 63)
		ck_assert_int_eq(status, 0);
	else
		ck_assert_msg(!status || status >> 8 == 2, "status %04x", (unsigned)status);
}
END_TEST

START_TEST(value_too_long)
{
	COVERS("T-009");
	static const size_t lengths[] = { 255, 256, 4000 };
	struct ini *i = connect_to(server.port);
	static char text[8192] = "InitiatorAlias=";
	const struct ini_pdu *p;

	login_step(i, OP_STEP, NAMES(T_MAIN));
	memset(text + 15, 'v', lengths[_i]);
	text[15 + lengths[_i]] = '\0';
	p = step_bytes(i, OP_TO_FULL, text, 15 + (uint32_t)lengths[_i] + 1);
	if (lengths[_i] == 255)
		ck_assert_int_eq(login_status(p), 0);
	else if (!login_status(p))
		ck_assert_str_eq(ini_value(p, "InitiatorAlias"), "Reject");
	else
		ck_assert_int_eq(login_status(p) >> 8, 2);
}
END_TEST

/* A stage's values are in force behind it: the login itself goes without digests. */
START_TEST(digests_begin_behind_the_login)
{
	COVERS("L-075 T-043");
	struct ini *i = connect_to(server.port);

	login_step(i, OP_STEP, NAMES(T_MAIN) "\nHeaderDigest=CRC32C\nDataDigest=CRC32C");
	ck_assert_int_eq(login_status(login_step(i, OP_STEP, "MaxBurstLength=4096")), 0);
	ck_assert_int_eq(login_status(login_step(i, OP_TO_FULL, "")), 0);
	i->header_digest = i->data_digest = i->full_feature = true;
	i->itt++;
	still_works(i);
}
END_TEST

/* What an initiator says it runs on is for the administrator who asks for it: not in the log as it
 * is usually kept. */
START_TEST(node_architecture)
{
	COVERS("T-096 T-098");
	struct ini *i =
	    session_keys(T_MAIN, "X#NodeArchitecture=arch-of-nobody-else\nInitialR2T=Yes");

	still_works(i);
	ck_assert(log_has(T_MAIN));
	ck_assert(!log_has("arch-of-nobody-else"));
}
END_TEST

void login_text_suite(TCase *c)
{
	add(c, cut_anywhere);
	add(c, three_parts);
	add(c, answer_in_parts);
	add(c, all_keys_are_understood);
	add_table(c, odd_text, odds);
	add_rows(c, key_names_too_long, 4);
	add_rows(c, value_too_long, 3);
	add(c, digests_begin_behind_the_login);
	add(c, node_architecture);
}
