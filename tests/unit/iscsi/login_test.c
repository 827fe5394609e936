/* SPDX-License-Identifier: BSD-2-Clause */
/* The login phase over the fake datamover: stages, flags, statuses, names, access, sessions. */
#include "transport/iscsi/login.c"

#include "tests/unit/fake_initiator.h"
#include "tests/unit/iscsi/login_fixture.h"
#include "tests/unit/unit.h"

#include <stdio.h>

/* clang-format off */
static const struct {
	const char *what;
	uint8_t flags;
	const char *text;
	unsigned status;
} refusals[] = {
	{ "no InitiatorName", FAKE_OP_FFP, "TargetName=" FAKE_TARGET "\n", LOGIN_MISSING_PARAMETER },
	{ "no TargetName", FAKE_OP_FFP, "InitiatorName=" FAKE_NAME "\n", LOGIN_MISSING_PARAMETER },
	{ "nothing", FAKE_OP_FFP, "", LOGIN_MISSING_PARAMETER },
	{ "unknown target", FAKE_OP_FFP, "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET "x\n", LOGIN_NOT_FOUND },
	{ "bad initiator name", FAKE_OP_FFP, "InitiatorName=foo\nTargetName=" FAKE_TARGET "\n", LOGIN_INITIATOR_ERROR },
	{ "name with a space", FAKE_OP_FFP, "InitiatorName=iqn.BAD name\nSessionType=Discovery\n", LOGIN_INITIATOR_ERROR },
	{ "empty name", FAKE_OP_FFP, "InitiatorName=\nSessionType=Discovery\n", LOGIN_INITIATOR_ERROR },
	{ "session type", FAKE_OP_FFP, FAKE_NORMAL "SessionType=Foo\n", LOGIN_SESSION_TYPE },
	{ "no equals sign", FAKE_OP_FFP, FAKE_NORMAL "Foo\n", LOGIN_INITIATOR_ERROR },
	{ "key twice", FAKE_OP_FFP, FAKE_NORMAL "MaxBurstLength=65536\nMaxBurstLength=65536\n", LOGIN_INITIATOR_ERROR },
	{ "operational key in security", FAKE_SEC_OP, FAKE_NORMAL "MaxBurstLength=65536\n", LOGIN_INITIATOR_ERROR },
	{ "security key in operational", FAKE_OP_FFP, FAKE_NORMAL "AuthMethod=None\n", LOGIN_INITIATOR_ERROR },
	{ "CHAP not chosen", FAKE_SEC, FAKE_NORMAL "CHAP_A=5\n", LOGIN_INITIATOR_ERROR },
	{ "only CHAP", FAKE_SEC_OP, FAKE_NORMAL "AuthMethod=CHAP\n", LOGIN_AUTHENTICATION_FAILURE },
	{ "target's key", FAKE_OP_FFP, FAKE_NORMAL "TargetPortalGroupTag=1\n", LOGIN_INITIATOR_ERROR },
	{ "TargetAddress", FAKE_OP_FFP, FAKE_NORMAL "TargetAddress=192.0.2.1\n", LOGIN_INITIATOR_ERROR },
	{ "SendTargets", FAKE_OP_FFP, FAKE_DISCOVERY "SendTargets=All\n", LOGIN_INITIATOR_ERROR },
	{ "reserved word", FAKE_OP_FFP, FAKE_NORMAL "MaxBurstLength=Irrelevant\n", LOGIN_INITIATOR_ERROR },
	{ "declaration out of range", FAKE_OP_FFP, FAKE_NORMAL "MaxRecvDataSegmentLength=511\n", LOGIN_INITIATOR_ERROR },
	{ "two initiator names", FAKE_OP_FFP, FAKE_NORMAL "InitiatorName=iqn.2001-04.com.example:other\n", LOGIN_INITIATOR_ERROR },
	{ "C and T", 0xc7, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
	{ "CSG 2", 0x08, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
	{ "CSG 3", 0x0c, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
	{ "NSG 2", 0x86, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
	{ "NSG below CSG", 0x84, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
	{ "NSG as CSG", 0x85, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
	{ "NSG as CSG in security", 0x80, FAKE_NORMAL, LOGIN_INITIATOR_ERROR },
};
/* clang-format on */

START_TEST(refused)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = fake_login(&i, refusals[_i].flags, refusals[_i].text);

	ck_assert_msg(fake_status(p) == refusals[_i].status, "%s: %04x", refusals[_i].what,
		      fake_status(p));
	check_refused(&i, p, refusals[_i].status);
	ck_assert_uint_eq(sessions(), 0);
	ck_assert_ptr_null(fake_next(i.fc)); /* exactly one answer */
}
END_TEST

/* The discovery login of an ESX host as captured. */
START_TEST(esx_discovery)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p;

	i.isid[5] = 0;
	p = fake_login(&i, FAKE_OP_FFP,
		       FAKE_DISCOVERY "HeaderDigest=None\nDataDigest=None\n"
				      "DefaultTime2Wait=0\nDefaultTime2Retain=0\nIFMarker=No\n"
				      "OFMarker=No\nErrorRecoveryLevel=0\n"
				      "MaxRecvDataSegmentLength=32768\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[0], 0x23);
	ck_assert_uint_eq(p->bhs[1], 0x87);
	ck_assert_uint_eq(p->bhs[2], 0);
	ck_assert_uint_eq(p->bhs[3], 0);
	ck_assert_mem_eq(p->bhs + 8, i.isid, 6);
	ck_assert_uint_ne(get_be16(p->bhs + 14), 0);
	ck_assert_uint_eq(get_be32(p->bhs + 28), 1); /* ExpCmdSN is the CmdSN of the login */
	ck_assert_int_ge((int32_t)(get_be32(p->bhs + 32) - get_be32(p->bhs + 28)), 0);
	ck_assert_uint_eq(fake_count(p, NULL), 8);
	ck_assert_str_eq(fake_value(p, "HeaderDigest"), "None");
	ck_assert_str_eq(fake_value(p, "DefaultTime2Wait"), "2");
	ck_assert_str_eq(fake_value(p, "DefaultTime2Retain"), "0");
	ck_assert_str_eq(fake_value(p, "IFMarker"), "No");
	ck_assert_str_eq(fake_value(p, "ErrorRecoveryLevel"), "0");
	ck_assert_str_eq(fake_value(p, "MaxRecvDataSegmentLength"), "262144");
	ck_assert_uint_eq(p->data[p->length - 1], 0);
	ck_assert(i.fc->c->session->discovery);
	ck_assert_uint_eq(i.fc->c->state, CONN_LOGGED_IN);
	free(p);
}
END_TEST

/* open-iscsi's normal login; values in force, no key that was not offered but ours. */
START_TEST(open_iscsi_normal)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p;
	const struct iscsi_keys *k;

	i.cmdsn = 0xfffffff0;
	p = fake_login(&i, FAKE_OP_FFP,
		       "InitiatorName=" FAKE_NAME "\nInitiatorAlias=host\nTargetName=" FAKE_TARGET
		       "\nSessionType=Normal\nHeaderDigest=None\nDataDigest=CRC32C,None\n"
		       "DefaultTime2Wait=2\nDefaultTime2Retain=0\nIFMarker=No\nOFMarker=No\n"
		       "ErrorRecoveryLevel=0\nInitialR2T=No\nImmediateData=Yes\n"
		       "MaxBurstLength=16776192\nFirstBurstLength=262144\nMaxOutstandingR2T=1\n"
		       "MaxConnections=1\nDataPDUInOrder=Yes\nDataSequenceInOrder=Yes\n"
		       "MaxRecvDataSegmentLength=262144\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[1], 0x87);
	ck_assert(!p->after_enable); /* no digest on the final login response */
	ck_assert(i.fc->enabled);
	ck_assert_uint_eq(get_be32(p->bhs + 28), 0xfffffff0);
	ck_assert_uint_eq(get_be32(p->bhs + 32), 0xfffffff0u + policy->window - 1);
	ck_assert_uint_eq(fake_count(p, NULL), 17);
	ck_assert_str_eq(fake_value(p, "TargetPortalGroupTag"), "1");
	ck_assert_str_eq(fake_value(p, "DataDigest"), "CRC32C");
	ck_assert_str_eq(fake_value(p, "MaxBurstLength"), "1048576");
	ck_assert_ptr_null(fake_value(p, "TargetName"));
	k = &i.fc->c->keys;
	ck_assert_uint_eq(k->data_digest, 1);
	ck_assert_uint_eq(k->initial_r2t, 0);
	ck_assert_uint_eq(k->max_burst_length, 1048576);
	ck_assert_uint_eq(k->max_send_data_segment_length, 262144);
	ck_assert_str_eq(i.fc->c->session->initiator_alias, "host");
	ck_assert_str_eq(i.fc->c->session->target_name, FAKE_TARGET);
	ck_assert(!i.fc->c->session->discovery);
	ck_assert_ptr_null(i.fc->c->login);
	free(p);
}
END_TEST

/* Security first, as iPXE, macOS and Windows do; firmware with an empty security stage too. */
START_TEST(two_stages)
{
	static const char *const methods[] = { "", "AuthMethod=None\n", "AuthMethod=CHAP,None\n",
					       "AuthMethod=KRB5,None\n" };

	for (unsigned m = 0; m < 4; m++) {
		struct fake_initiator i = fake_initiator(&net);
		char text[512];
		uint32_t statsn;
		struct fake_pdu *p;

		snprintf(text, sizeof(text), "%s%s", methods[m], FAKE_NORMAL);
		p = fake_login(&i, FAKE_SEC_OP, text);
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], FAKE_SEC_OP);
		ck_assert_str_eq(fake_value(p, "TargetPortalGroupTag"), "1");
		if (m)
			ck_assert_str_eq(fake_value(p, "AuthMethod"), "None");
		ck_assert_uint_eq(fake_count(p, NULL), m ? 2 : 1);
		ck_assert_uint_eq(get_be16(p->bhs + 14), 0); /* TSIH only in the final one */
		statsn = get_be32(p->bhs + 24);
		free(p);
		ck_assert_ptr_null(i.fc->c->session); /* nothing is to be had before the end */
		p = fake_login(&i, FAKE_OP_FFP,
			       "HeaderDigest=CRC32C\nMaxBurstLength=8192\nDefaultTime2Retain=0\n");
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], FAKE_OP_FFP);
		ck_assert_uint_eq(get_be32(p->bhs + 24), statsn + 1);
		ck_assert_uint_eq(get_be32(p->bhs + 28), 1);
		ck_assert_uint_ne(get_be16(p->bhs + 14), 0);
		ck_assert_ptr_null(fake_value(p, "TargetPortalGroupTag"));
		ck_assert(!p->after_enable);
		free(p);
		fake_hang_up(i.fc);
	}
}
END_TEST

/* Many small exchanges; T is answered only when it is asked. */
START_TEST(one_key_at_a_time)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = fake_login(&i, FAKE_OP, FAKE_NORMAL);
	char text[64];

	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[1], FAKE_OP);
	free(p);
	for (unsigned n = 0; n < 25; n++) {
		snprintf(text, sizeof(text), "X-com.example.k%u=1\n", n);
		p = fake_login(&i, FAKE_OP, text);
		ck_assert_uint_eq(fake_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], FAKE_OP);
		ck_assert_uint_eq(fake_count(p, NULL), 1);
		ck_assert_uint_eq(get_be32(p->bhs + 24), n + 1);
		ck_assert_uint_eq(get_be32(p->bhs + 28), 1);
		free(p);
	}
	p = fake_login(&i, FAKE_OP_FFP, "MaxBurstLength=65536\n");
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[1], FAKE_OP_FFP);
	ck_assert_uint_eq(i.fc->c->keys.max_burst_length, 65536);
	free(p);
}
END_TEST

START_TEST(too_many_requests)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p = fake_login(&i, FAKE_OP, FAKE_NORMAL);
	unsigned n = 1;

	while (fake_status(p) == 0 && n < 1000) {
		free(p);
		p = fake_login(&i, FAKE_OP, "");
		n++;
	}
	ck_assert_uint_eq(n, LOGIN_PDUS_MAX + 1);
	check_refused(&i, p, LOGIN_OUT_OF_RESOURCES);
}
END_TEST

/* What the first request says holds for the whole phase. */
START_TEST(header_must_not_change)
{
	for (unsigned what = 0; what < 7; what++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p = fake_login(&i, FAKE_OP, FAKE_NORMAL);
		const char *text = "";
		uint8_t flags = FAKE_OP_FFP;

		ck_assert_uint_eq(fake_status(p), 0);
		free(p);
		if (what == 0)
			i.isid[5]++;
		if (what == 1)
			i.tsih = 1;
		if (what == 2)
			i.cid++;
		if (what == 3)
			i.itt++;
		if (what == 4)
			i.version_max = 1;
		if (what == 5)
			flags = FAKE_SEC_OP; /* back to an earlier stage */
		if (what == 6)
			text = "InitiatorName=iqn.2001-04.com.example:other\n";
		p = fake_login(&i, flags, text);
		ck_assert_msg(fake_status(p) == LOGIN_INITIATOR_ERROR, "%u", what);
		check_refused(&i, p, LOGIN_INITIATOR_ERROR);
	}
}
END_TEST

/* The same names again are let through (FreeNAS); another key or session type is not. */
START_TEST(names_again)
{
	static const struct {
		const char *text;
		unsigned status;
	} rows[] = {
		{ FAKE_NORMAL "SessionType=Normal\n", 0 },
		{ "SessionType=Discovery\n", LOGIN_INITIATOR_ERROR },
		{ "TargetName=iqn.2001-04.com.example:other\n", LOGIN_INITIATOR_ERROR },
		{ "MaxBurstLength=65536\n", LOGIN_INITIATOR_ERROR },
	};

	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p = fake_login(&i, FAKE_OP, FAKE_NORMAL "MaxBurstLength=65536\n");

		ck_assert_uint_eq(fake_status(p), 0);
		free(p);
		p = fake_login(&i, FAKE_OP_FFP, rows[n].text);
		ck_assert_msg(fake_status(p) == rows[n].status, "%s: %04x", rows[n].text,
			      fake_status(p));
		free(p);
		fake_hang_up(i.fc);
	}
}
END_TEST

START_TEST(versions)
{
	struct fake_initiator i = fake_initiator(&net);
	struct fake_pdu *p;

	i.version_max = 5;
	i.version_min = 3;
	/* with an unknown target beside it: one answer, the primary reason */
	p = fake_login(&i, FAKE_OP_FFP,
		       "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET "x\n");
	ck_assert_uint_eq(p->bhs[3], 0);
	check_refused(&i, p, LOGIN_UNSUPPORTED_VERSION);
	ck_assert_ptr_null(fake_next(i.fc));
	i = fake_initiator(&net);
	i.version_max = 0xff;
	p = fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[2], 0);
	ck_assert_uint_eq(p->bhs[3], 0);
	free(p);
}
END_TEST

START_TEST(other_pdus)
{
	static const uint8_t opcodes[] = { 0x00, 0x01, 0x04, 0x05, 0x06, 0x10, 0x3f };

	for (unsigned n = 0; n < sizeof(opcodes); n++) {
		struct fake_initiator i = fake_initiator(&net);
		uint8_t bhs[ISCSI_BHS_SIZE] = { opcodes[n] };
		struct fake_pdu *p;

		/* before login has begun: closed in silence */
		ck_assert_int_lt(fake_feed(i.fc, bhs, NULL, 0), 0);
		ck_assert_ptr_null(fake_next(i.fc));
		ck_assert(fake_closed(i.fc));
		/* in login: 020b */
		i = fake_initiator(&net);
		p = fake_login(&i, FAKE_OP, FAKE_NORMAL);
		free(p);
		fake_feed(i.fc, bhs, NULL, 0);
		check_refused(&i, fake_next(i.fc), LOGIN_INVALID_REQUEST);
	}
}
END_TEST

/* A Login Request in full-feature phase: rejected, the session goes on. */
START_TEST(login_after_login)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_NORMAL);
	struct fake_pdu *p;

	i.itt = 7;
	p = fake_login(&i, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_PROTOCOL_ERROR);
	free(p);
	p = fake_text(&i, 0x80, ISCSI_TAG_RESERVED, "SendTargets=\n");
	ck_assert_uint_eq(fake_opcode(p), ISCSI_OP_TEXT_RESPONSE);
	ck_assert_str_eq(fake_value(p, "TargetName"), FAKE_TARGET);
	free(p);
}
END_TEST

START_TEST(time_limit)
{
	struct fake_initiator silent, half;
	struct fake_pdu *p;

	policy->login_timeout_s = 0; /* the next tick */
	silent = fake_initiator(&net);
	half = fake_initiator(&net);
	p = fake_login(&half, FAKE_OP, FAKE_NORMAL);
	free(p);
	for (unsigned n = 0; n < 100 && (silent.fc->c || half.fc->c); n++)
		reactor_turn(net.reactor, 10);
	ck_assert_ptr_null(silent.fc->c);
	ck_assert_ptr_null(half.fc->c);
	ck_assert_uint_eq(iscsi_reactor_of(net.reactor)->n_conns, 0);
	ck_assert_uint_eq(iscsi_reactor_of(net.reactor)->n_unauthenticated, 0);
}
END_TEST

/* Dropped at each step of a login: nothing stays. */
START_TEST(lost_meanwhile)
{
	for (unsigned n = 0; n < 300; n++) {
		struct fake_initiator i = fake_initiator(&net);
		struct fake_pdu *p = NULL;

		if (n % 3 > 0)
			p = fake_login(&i, FAKE_SEC_OP, FAKE_NORMAL);
		free(p);
		p = NULL;
		if (n % 3 > 1)
			p = fake_login(&i, FAKE_OP | FAKE_C, "MaxBurst");
		free(p);
		fake_hang_up(i.fc);
		ck_assert_ptr_null(i.fc->c);
	}
	ck_assert_uint_eq(iscsi_reactor_of(net.reactor)->n_conns, 0);
	ck_assert_uint_eq(sessions(), 0);
}
END_TEST

/* The I bit may be missing. */
START_TEST(not_immediate)
{
	struct fake_initiator i = fake_initiator(&net);
	struct bhs_login_request h = { .opcode = 0x03, .flags = FAKE_OP_FFP };
	static const char text[] = "InitiatorName=" FAKE_NAME "\0SessionType=Discovery";
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct fake_pdu *p;

	put_be32(h.cmdsn, 5);
	put_be32(h.exp_statsn, 0xdeadbeef);
	memcpy(bhs, &h, sizeof(bhs));
	fake_feed(i.fc, bhs, text, sizeof(text));
	p = fake_next(i.fc);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(get_be32(p->bhs + 28), 5);
	free(p);
}
END_TEST

/* While the login waits for its predecessor to leave, nothing may be sent (RFC 7143 6.3): whatever
 * it is, the connection ends without the two answers to one login. */
START_TEST(nothing_before_the_answer)
{
	static const char text[] = "InitiatorName=" FAKE_NAME "\0SessionType=Discovery";
	static const uint8_t opcodes[] = { ISCSI_OP_LOGIN_REQUEST | ISCSI_IMMEDIATE,
					   ISCSI_OP_NOP_OUT | ISCSI_IMMEDIATE,
					   ISCSI_OP_TEXT_REQUEST | ISCSI_IMMEDIATE };

	for (unsigned n = 0; n < sizeof(opcodes); n++) {
		struct fake_initiator old = fake_logged_in(&net, FAKE_DISCOVERY);
		struct fake_initiator i = fake_initiator(&net);
		struct bhs_login_request h = { .opcode = opcodes[0], .flags = FAKE_OP_FFP };
		uint8_t bhs[ISCSI_BHS_SIZE];

		memcpy(h.isid, old.isid, sizeof(h.isid));
		memcpy(bhs, &h, sizeof(bhs));
		ck_assert_int_eq(fake_feed(i.fc, bhs, text, sizeof(text)), 0);
		ck_assert(i.fc->c->login->waiting);
		bhs[0] = opcodes[n];
		ck_assert_int_lt(fake_feed(i.fc, bhs, NULL, 0), 0);
		ck_assert(fake_closed(i.fc));
		ck_assert(fake_closed(old.fc));
		ck_assert_uint_eq(sessions(), 0);
	}
}
END_TEST

SUITE_COVERS("L-001 L-002 L-004 L-005 L-007 L-008 L-009 L-010 L-021 L-028 L-029 L-030 L-031 "
	     "L-032 L-033 L-034 L-035 L-036 L-039 L-042 L-043 L-044 L-046 L-047 L-048 L-049 "
	     "L-053 L-055 L-056 L-057 L-058 L-059 L-060 L-061 L-064 L-066 L-067 L-068 L-069 "
	     "L-070 L-072 L-075 L-081 L-082 L-083 L-086 L-089 N-009 N-040 T-062 T-086 T-103 "
	     "fault-A06 fault-A08 fault-A09 fault-Q15");

int main(void)
{
	Suite *s = suite_create("login");
	TCase *t = tcase_create("login");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, refused, 0, sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_test(t, esx_discovery);
	tcase_add_test(t, open_iscsi_normal);
	tcase_add_test(t, two_stages);
	tcase_add_test(t, one_key_at_a_time);
	tcase_add_test(t, too_many_requests);
	tcase_add_test(t, header_must_not_change);
	tcase_add_test(t, names_again);
	tcase_add_test(t, versions);
	tcase_add_test(t, other_pdus);
	tcase_add_test(t, login_after_login);
	tcase_add_test(t, time_limit);
	tcase_add_test(t, lost_meanwhile);
	tcase_add_test(t, not_immediate);
	tcase_add_test(t, nothing_before_the_answer);
	suite_add_tcase(s, t);
	return unit_end(r);
}
