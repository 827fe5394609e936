/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes of an offer, key by key (RFC 7143 13). */
#include "tests/protocol/protocol.h"

#define REFUSED "(refused)" /* Reject as the answer, or an error of the initiator */
#define ABSENT  "(absent)"

static const struct offer {
	const char *offer, *answer;
	const char *target; /* NULL: T_MAIN */
} offers[] = {
	/* digests */
	{ "HeaderDigest=CRC32C", "CRC32C" },
	{ "HeaderDigest=None,CRC32C", "None" },
	{ "HeaderDigest=CRC32C,None", "CRC32C" },
	{ "HeaderDigest=Foo,CRC32C,None", "CRC32C" },
	{ "HeaderDigest=Y-org.example.x,None", "None" },
	{ "HeaderDigest=Foo", REFUSED },
	{ "HeaderDigest=None", "None" },
	{ "DataDigest=CRC32C", "CRC32C" },
	{ "DataDigest=None,CRC32C", "None" },
	{ "DataDigest=Foo", REFUSED },
	{ "HeaderDigest=CRC32C", REFUSED, T_NO_DIGEST },
	/* numbers: the smaller */
	{ "MaxConnections=1", "1" },
	{ "MaxConnections=8", "1" },
	{ "MaxConnections=65535", "1" },
	{ "MaxConnections=0", REFUSED },
	{ "MaxConnections=65536", REFUSED },
	{ "MaxBurstLength=512", "512" },
	{ "MaxBurstLength=16777215", "1048576" },
	{ "MaxBurstLength=16776192", "1048576" },
	{ "MaxBurstLength=511", REFUSED },
	{ "MaxBurstLength=16777216", REFUSED },
	{ "MaxBurstLength=65536", "8192", T_SMALL },
	{ "MaxBurstLength=4096", "4096", T_SMALL },
	{ "FirstBurstLength=512", "512" },
	{ "FirstBurstLength=16777215", "262144" },
	{ "FirstBurstLength=65536", "4096", T_SMALL },
	{ "FirstBurstLength=511", REFUSED },
	{ "MaxOutstandingR2T=1", "1" },
	{ "MaxOutstandingR2T=65535", "8" },
	{ "MaxOutstandingR2T=65535", "2", T_SMALL },
	{ "MaxOutstandingR2T=0", REFUSED },
	{ "MaxOutstandingR2T=65536", REFUSED },
	{ "ErrorRecoveryLevel=0", "0" },
	{ "ErrorRecoveryLevel=2", "0" },
	{ "ErrorRecoveryLevel=3", REFUSED },
	{ "ErrorRecoveryLevel=9", REFUSED },
	{ "DefaultTime2Retain=0", "0" },
	{ "DefaultTime2Retain=3601", REFUSED },
	{ "iSCSIProtocolLevel=0", "0" },
	{ "iSCSIProtocolLevel=1", "1" },
	{ "iSCSIProtocolLevel=2", "2" },
	{ "iSCSIProtocolLevel=31", "2" },
	{ "iSCSIProtocolLevel=32", REFUSED },
	/* the larger */
	{ "DefaultTime2Wait=0", "2" },
	{ "DefaultTime2Wait=3600", "3600" },
	{ "DefaultTime2Wait=3601", REFUSED },
	/* declared */
	{ "MaxRecvDataSegmentLength=512", "262144" },
	{ "MaxRecvDataSegmentLength=16777215", "262144" },
	{ "MaxRecvDataSegmentLength=16777212", "4096", T_SMALL },
	{ "MaxRecvDataSegmentLength=511", REFUSED },
	{ "MaxRecvDataSegmentLength=16777216", REFUSED },
	/* booleans */
	{ "InitialR2T=No", "No" },
	{ "InitialR2T=Yes", "Yes" },
	{ "InitialR2T=No", "Yes", T_SOLICITED },
	{ "ImmediateData=Yes", "Yes" },
	{ "ImmediateData=No", "No" },
	{ "ImmediateData=Yes", "No", T_SOLICITED },
	{ "DataPDUInOrder=No", "Yes" },
	{ "DataPDUInOrder=Yes", "Yes" },
	{ "DataSequenceInOrder=No", "Yes" },
	{ "InitialR2T=yes", REFUSED },
	{ "InitialR2T=1", REFUSED },
	{ "InitialR2T=", REFUSED },
	/* numbers as texts */
	{ "MaxBurstLength=0x20000", "131072" },
	{ "MaxBurstLength=0X20000", "131072" },
	{ "MaxBurstLength=131072", "131072" },
	{ "MaxBurstLength=007", REFUSED },
	{ "MaxBurstLength=04096", REFUSED },
	{ "MaxBurstLength=+4096", REFUSED },
	{ "MaxBurstLength=-4096", REFUSED },
	{ "MaxBurstLength= 4096", REFUSED },
	{ "MaxBurstLength=4096 ", REFUSED },
	{ "MaxBurstLength=4096x", REFUSED },
	{ "MaxBurstLength=", REFUSED },
	{ "MaxBurstLength=0x", REFUSED },
	{ "MaxBurstLength=18446744073709552128", REFUSED }, /* 2^64 + 512 */
	{ "MaxBurstLength=4294971392", REFUSED },           /* 2^32 + 4096 */
	{ "MaxBurstLength=512~1024", REFUSED },
	/* words that are answers only */
	{ "MaxBurstLength=Irrelevant", REFUSED },
	{ "MaxBurstLength=Reject", REFUSED },
	{ "MaxBurstLength=NotUnderstood", REFUSED },
	/* lists and the obsolete */
	{ "TaskReporting=FastAbort,ResponseFence,RFC3720", "FastAbort" },
	{ "TaskReporting=ResponseFence,FastAbort,RFC3720", "ResponseFence" },
	{ "TaskReporting=RFC3720,FastAbort", "RFC3720" },
	{ "TaskReporting=RFC3720", "RFC3720" },
	{ "TaskReporting=x.example,FastAbort", "FastAbort" },
	{ "TaskReporting=fastabort", REFUSED },
	{ "OFMarker=Yes", "No" },
	{ "IFMarker=Yes", "No" },
	{ "IFMarker=No", "No" },
	{ "OFMarkInt=2048~8192", "Reject" },
	{ "IFMarkInt=2048", "Reject" },
	{ "X#NodeArchitecture=arch", ABSENT },
	{ "InitiatorAlias=me", ABSENT },
	{ "X-com.example.foo=1", "NotUnderstood" },
	{ "SessionType=Normal", ABSENT },
};

START_TEST(answers)
{
	COVERS("T-010 T-011 T-012 T-022 T-027 T-028 T-029 T-030 T-031 T-033 T-034 T-036 T-061 "
	       "T-065 T-066 T-071 T-075 T-076 T-078 T-079 T-081 T-082 T-083 T-085 T-087 T-089 "
	       "T-092 T-093 T-094 T-095 T-096 L-069 E-010 F-018");
	const struct offer *o = &offers[_i];
	struct ini *i = connect_to(server.port);
	char text[512], key[64];
	const struct ini_pdu *p;
	const char *value;

	snprintf(text, sizeof(text), "InitiatorName=" BASE "test\nTargetName=%s\n%s",
		 o->target ? o->target : T_MAIN, o->offer);
	snprintf(key, sizeof(key), "%.*s", (int)(strchr(o->offer, '=') - o->offer), o->offer);
	p = login_step(i, OP_STEP, text);
	value = ini_value(p, key);
	if (!strcmp(o->answer, REFUSED)) {
		ck_assert_msg(login_status(p) >> 8 == 2 || (value && !strcmp(value, "Reject")),
			      "%s: status %04x, answer %s", o->offer, (unsigned)login_status(p),
			      value ? value : ABSENT);
		if (login_status(p))
			expect_close(i);
		return;
	}
	ck_assert_msg(!login_status(p), "%s: status %04x", o->offer, (unsigned)login_status(p));
	ck_assert_msg(!strcmp(value ? value : ABSENT, o->answer), "%s: answer %s, wanted %s",
		      o->offer, value ? value : ABSENT, o->answer);
	ck_assert_msg(!login_status(login_step(i, OP_TO_FULL, "")), "%s: then refused", o->offer);
}
END_TEST

START_TEST(first_burst_within_max_burst)
{
	COVERS("T-025");
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN,
			       .keys =
				   "FirstBurstLength=65536\nMaxBurstLength=512\nInitialR2T=No" };

	ck_assert_int_eq(try_login(i, &l), 0);
	ck_assert_uint_eq(i->max_burst, 512);
	ck_assert_uint_le(i->first_burst, 512);
}
END_TEST

/* Of a discovery session, where most keys mean nothing: values, never an error. */
START_TEST(discovery_keys)
{
	COVERS("N-038 N-039");
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .keys = "MaxConnections=4\nErrorRecoveryLevel=2\nInitialR2T=No" };
	struct ini *more;
	const char *value;
	struct ini_pdu p;

	ck_assert_int_eq(ini_login(i, &l, &p), 0);
	value = ini_value(&p, "MaxConnections");
	ck_assert(value && (!strcmp(value, "1") || !strcmp(value, "Irrelevant")));
	value = ini_value(&p, "ErrorRecoveryLevel");
	ck_assert(value && !strcmp(value, "0"));
	ini_pdu_free(&p);
	more = connect_to(server.port);
	memcpy(more->isid, i->isid, 6);
	more->tsih = i->tsih;
	more->cid = 1;
	l.keys = "HeaderDigest=None";
	ck_assert_int_eq(try_login(more, &l) >> 8, 2);
	still_works(session(T_MAIN));
}
END_TEST

/* Nothing but InitialR2T is offered: the target offers nothing either, and the rest is as the RFC
 * says. So it keeps the rules for what a target proposes, and for answers to that. */
START_TEST(nothing_is_volunteered)
{
	COVERS("T-100 T-026 T-060 T-091 T-097 T-101 T-102");
	static const char *const may_come[] = { "TargetPortalGroupTag", "TargetAlias",
						"InitialR2T" };
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN, .keys = "InitialR2T=Yes" };
	static uint8_t large[600 * 512];
	struct ini_scsi c;
	struct ini_pdu p;

	ck_assert_int_eq(ini_login(i, &l, &p), 0);
	for (uint32_t at = 0; at < p.length; at += (uint32_t)strlen((char *)p.data + at) + 1) {
		bool known = false;

		for (unsigned n = 0; n < 3; n++)
			known |= !strncmp((char *)p.data + at, may_come[n], strlen(may_come[n]));
		ck_assert_msg(known, "%s", (char *)p.data + at);
	}
	ini_pdu_free(&p);
	/* 8192 bytes in a PDU, 262144 in a sequence: the validator looks at each. */
	ck_assert_uint_eq(i->max_recv, 8192);
	ready(i, LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 600, large);
	run_good(i, &c);
	ck_assert_uint_eq(c.n_data_in, 38);
	/* Immediate data is allowed, up to 65536 bytes. */
	start_write(i, LUN_RAM, 2000, 16, true, large, 8192);
	expect(i, ISCSI_OP_SCSI_RESPONSE);
}
END_TEST

/* As open-iscsi offers them. */
START_TEST(usual_keys_of_linux)
{
	COVERS("T-018 T-023");
	static const char *const results[][2] = {
		{ "HeaderDigest", "None" },
		{ "DataDigest", "None" },
		{ "DefaultTime2Wait", "2" },
		{ "DefaultTime2Retain", "0" },
		{ "ErrorRecoveryLevel", "0" },
		{ "InitialR2T", "No" },
		{ "ImmediateData", "Yes" },
		{ "MaxBurstLength", "1048576" },
		{ "FirstBurstLength", "262144" },
		{ "MaxOutstandingR2T", "1" },
		{ "MaxConnections", "1" },
		{ "DataPDUInOrder", "Yes" },
		{ "DataSequenceInOrder", "Yes" },
		{ "MaxRecvDataSegmentLength", "262144" },
		{ "IFMarker", "No" },
		{ "OFMarker", "No" },
	};
	struct ini *i = connect_to(server.port);
	struct ini_login l = {
		.target = T_MAIN,
		.keys = "HeaderDigest=None\nDataDigest=None\nDefaultTime2Wait=2\n"
			"DefaultTime2Retain=0\nIFMarker=No\nOFMarker=No\nErrorRecoveryLevel=0\n"
			"InitialR2T=No\nImmediateData=Yes\nMaxBurstLength=16776192\n"
			"FirstBurstLength=262144\nMaxOutstandingR2T=1\nMaxConnections=1\n"
			"DataPDUInOrder=Yes\nDataSequenceInOrder=Yes\n"
			"MaxRecvDataSegmentLength=262144",
	};
	struct ini_pdu p;

	ck_assert_int_eq(ini_login(i, &l, &p), 0);
	for (unsigned n = 0; n < sizeof(results) / sizeof(results[0]); n++) {
		const char *v = ini_value(&p, results[n][0]);

		ck_assert_msg(v && !strcmp(v, results[n][1]), "%s=%s", results[n][0],
			      v ? v : ABSENT);
	}
	ini_pdu_free(&p);
}
END_TEST

/* Values of one session do not show in the next. */
START_TEST(nothing_left_of_a_former_session)
{
	COVERS("S-025");
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN,
			       .keys =
				   "MaxBurstLength=512\nMaxRecvDataSegmentLength=512\n"
				   "FirstBurstLength=512\nImmediateData=No\nHeaderDigest=CRC32C" };
	static uint8_t data[65536];
	struct ini_scsi c;

	ck_assert_int_eq(try_login(i, &l), 0);
	ready(i, LUN_RAM);
	ini_close(i);
	ck_assert(!ini_reopen(i));
	i->tsih = 0;
	i->max_burst = 262144;
	l.keys = "InitialR2T=Yes";
	ck_assert_int_eq(try_login(i, &l), 0);
	ready(i, LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 128, data);
	run_good(i, &c);
	ck_assert_uint_eq(c.n_data_in, 8);
}
END_TEST

void keys_suite(TCase *c)
{
	add_table(c, answers, offers);
	add(c, first_burst_within_max_burst);
	add(c, discovery_keys);
	add(c, nothing_is_volunteered);
	add(c, usual_keys_of_linux);
	add(c, nothing_left_of_a_former_session);
}
