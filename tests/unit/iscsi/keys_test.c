/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of text keys: every key's rule, range, phase and sender. */
#include "transport/iscsi/keys.c"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

static struct key_limits limits;
static struct key_negotiation n;

static void setup(void)
{
	key_limits_defaults(&limits);
	limits.max_connections = 4;
	keys_begin(&n, &limits);
	n.phase = KEY_OPERATIONAL;
	n.digests = true;
	n.max_connections = 8;
	n.error_recovery_level = 1;
}

/* Offers "Key=value"; the answer's value, "" when there is none, "!" for a protocol error. */
static const char *offer(const char *text)
{
	static char answer[512];
	struct text_out out = { .limit = 4096 };
	struct text_pair p;
	const char *eq = strchr(text, '=');
	enum key_id id;

	memset(&p, 0, sizeof(p));
	memcpy(p.key, text, (size_t)(eq - text));
	p.value = eq + 1;
	p.value_length = strlen(p.value);
	if (keys_offer(&n, &p, &id))
		return "!";
	keys_settle(&n);
	keys_answer(&n, &p, &out);
	answer[0] = '\0';
	if (out.length) {
		ck_assert_int_eq(strncmp(out.bytes, text, (size_t)(eq - text) + 1), 0);
		strcpy(answer, strchr(out.bytes, '=') + 1);
	}
	text_out_free(&out);
	return answer;
}

static void expect(const char *text, const char *answer)
{
	const char *got;

	setup();
	got = offer(text);
	ck_assert_msg(!strcmp(got, answer), "%s -> \"%s\", not \"%s\"", text, got, answer);
}

/* Columns that must be filled in: forgetting one may not mean "allowed". */
START_TEST(rows_are_complete)
{
	for (unsigned id = 1; id < KEY_COUNT; id++) {
		const struct key_row *row = &key_table[id];

		ck_assert_msg(row->name && row->rule != KEY_RULE_UNSET && row->phases, "row %u",
			      id);
		ck_assert_uint_eq(key_find(row->name), id);
		if (row->rule == KEY_RULE_MIN || row->rule == KEY_RULE_MAX)
			ck_assert_msg(row->value && row->limit && row->max >= row->min, "%s",
				      row->name);
	}
	ck_assert_uint_eq(key_find("maxburstlength"), KEY_NONE);
	ck_assert_uint_eq(key_find(""), KEY_NONE);
}
END_TEST

START_TEST(defaults)
{
	struct iscsi_keys k;

	keys_defaults(&k);
	ck_assert_uint_eq(k.header_digest, 0);
	ck_assert_uint_eq(k.data_digest, 0);
	ck_assert_uint_eq(k.max_connections, 1);
	ck_assert_uint_eq(k.initial_r2t, 1);
	ck_assert_uint_eq(k.immediate_data, 1);
	ck_assert_uint_eq(k.max_recv_data_segment_length, 8192);
	ck_assert_uint_eq(k.max_send_data_segment_length, 8192);
	ck_assert_uint_eq(k.max_burst_length, 262144);
	ck_assert_uint_eq(k.first_burst_length, 65536);
	ck_assert_uint_eq(k.default_time2wait, 2);
	ck_assert_uint_eq(k.default_time2retain, 20);
	ck_assert_uint_eq(k.max_outstanding_r2t, 1);
	ck_assert_uint_eq(k.data_pdu_in_order, 1);
	ck_assert_uint_eq(k.data_sequence_in_order, 1);
	ck_assert_uint_eq(k.error_recovery_level, 0);
	ck_assert_uint_eq(k.protocol_level, 1);
}
END_TEST

/* clang-format off */
static const char *const offers[][2] = {
	{ "HeaderDigest=None", "None" },
	{ "HeaderDigest=CRC32C", "CRC32C" },
	{ "HeaderDigest=None,CRC32C", "None" },
	{ "HeaderDigest=CRC32C,None", "CRC32C" },
	{ "HeaderDigest=Foo,CRC32C,None", "CRC32C" },
	{ "HeaderDigest=Y-com.x,None", "None" },
	{ "HeaderDigest=Foo", "Reject" },
	{ "HeaderDigest=none", "Reject" },
	{ "HeaderDigest=", "Reject" },
	{ "DataDigest=None", "None" },
	{ "DataDigest=CRC32C", "CRC32C" },
	{ "DataDigest=None,CRC32C", "None" },
	{ "DataDigest=CRC32C,None", "CRC32C" },
	{ "MaxConnections=1", "1" }, { "MaxConnections=8", "4" }, { "MaxConnections=65535", "4" },
	{ "MaxConnections=0", "Reject" }, { "MaxConnections=65536", "Reject" },
	{ "InitialR2T=Yes", "Yes" }, { "InitialR2T=No", "No" }, { "InitialR2T=yes", "Reject" },
	{ "ImmediateData=Yes", "Yes" }, { "ImmediateData=No", "No" }, { "ImmediateData=1", "Reject" },
	{ "MaxRecvDataSegmentLength=32768", "262144" }, { "MaxRecvDataSegmentLength=16777212", "262144" },
	{ "MaxRecvDataSegmentLength=512", "262144" }, { "MaxRecvDataSegmentLength=511", "!" },
	{ "MaxRecvDataSegmentLength=16777216", "!" }, { "MaxRecvDataSegmentLength=0x8000", "262144" },
	{ "MaxBurstLength=16776192", "1048576" }, { "MaxBurstLength=16777215", "1048576" },
	{ "MaxBurstLength=262144", "262144" }, { "MaxBurstLength=0x20000", "131072" },
	{ "MaxBurstLength=512", "512" }, { "MaxBurstLength=511", "Reject" }, { "MaxBurstLength=16777216", "Reject" },
	{ "MaxBurstLength=512~1024", "Reject" }, { "MaxBurstLength=18446744073709552128", "Reject" },
	{ "MaxBurstLength=Irrelevant", "!" }, { "MaxBurstLength=Reject", "!" }, { "MaxBurstLength=NotUnderstood", "!" },
	{ "maxburstlength=65536", "NotUnderstood" },
	{ "FirstBurstLength=65536", "65536" }, { "FirstBurstLength=16777215", "262144" }, { "FirstBurstLength=511", "Reject" },
	{ "DefaultTime2Wait=0", "2" }, { "DefaultTime2Wait=3600", "3600" }, { "DefaultTime2Wait=3601", "Reject" },
	{ "DefaultTime2Retain=0", "0" }, { "DefaultTime2Retain=3600", "0" }, { "DefaultTime2Retain=3601", "Reject" },
	{ "MaxOutstandingR2T=1", "1" }, { "MaxOutstandingR2T=65535", "8" }, { "MaxOutstandingR2T=0", "Reject" },
	{ "DataPDUInOrder=Yes", "Yes" }, { "DataPDUInOrder=No", "Yes" },
	{ "DataSequenceInOrder=Yes", "Yes" }, { "DataSequenceInOrder=No", "Yes" },
	{ "ErrorRecoveryLevel=0", "0" }, { "ErrorRecoveryLevel=2", "0" }, { "ErrorRecoveryLevel=3", "Reject" },
	{ "iSCSIProtocolLevel=0", "0" }, { "iSCSIProtocolLevel=1", "1" }, { "iSCSIProtocolLevel=2", "2" },
	{ "iSCSIProtocolLevel=31", "2" }, { "iSCSIProtocolLevel=32", "Reject" },
	{ "TaskReporting=RFC3720", "RFC3720" }, { "TaskReporting=FastAbort,ResponseFence,RFC3720", "FastAbort" },
	{ "TaskReporting=Slow,ResponseFence", "ResponseFence" }, { "TaskReporting=Slow", "Reject" },
	{ "IFMarker=No", "No" }, { "OFMarker=No", "No" }, { "IFMarker=Yes", "No" }, { "OFMarker=Yes", "No" },
	{ "IFMarkInt=2048~8192", "Reject" }, { "OFMarkInt=2048~8192", "Reject" },
	{ "RDMAExtensions=Yes", "No" }, { "RDMAExtensions=No", "No" },
	{ "InitiatorRecvDataSegmentLength=262144", "Irrelevant" }, { "TargetRecvDataSegmentLength=8192", "Irrelevant" },
	{ "TargetRecvDataSegmentLength=511", "Reject" },
	{ "MaxOutstandingUnexpectedPDUs=2", "" }, { "MaxOutstandingUnexpectedPDUs=0", "" }, { "MaxOutstandingUnexpectedPDUs=1", "!" },
	{ "MaxAHSLength=256", "" }, { "TaggedBufferForSolicitedDataOnly=No", "" }, { "iSERHelloRequired=No", "" },
	{ "X-com.example.foo=1", "NotUnderstood" }, { "X#NodeArchitecture=linux/x86", "" }, { "FooBar=1", "NotUnderstood" },
	{ "FooBar=NotUnderstood", "!" },
	{ "InitiatorAlias=a host", "" },
	{ "SendTargets=All", "!" }, { "AuthMethod=None", "!" }, { "CHAP_A=5", "!" },
	{ "TargetAlias=x", "!" }, { "TargetAddress=192.0.2.1", "!" }, { "TargetPortalGroupTag=1", "!" },
	{ "TargetAlias=NotUnderstood", "" },
};
/* clang-format on */

START_TEST(offers_and_answers)
{
	expect(offers[_i][0], offers[_i][1]);
}
END_TEST

/* A rejected offer leaves the value as it was, whatever a later answer says. */
START_TEST(rejected_keeps_value)
{
	setup();
	ck_assert_str_eq(offer("MaxBurstLength=511"), "Reject");
	ck_assert_uint_eq(n.keys.max_burst_length, 262144);
	ck_assert_str_eq(offer("HeaderDigest=Foo"), "Reject");
	ck_assert_uint_eq(n.keys.header_digest, 0);
}
END_TEST

START_TEST(twice)
{
	setup();
	ck_assert_str_eq(offer("MaxBurstLength=65536"), "65536");
	ck_assert_str_eq(offer("MaxBurstLength=65536"), "!");
	setup();
	ck_assert_str_eq(offer("X#NodeArchitecture=a"), "");
	ck_assert_str_eq(offer("X#NodeArchitecture=a"), "!");
	setup();
	ck_assert_str_eq(offer("InitiatorName=iqn.2001-04.com.example:a"), "");
	ck_assert_str_eq(offer("InitiatorName=iqn.2001-04.com.example:a"), "");
	ck_assert_str_eq(offer("X-a=1"), "NotUnderstood");
	ck_assert_str_eq(offer("X-a=1"), "NotUnderstood");
}
END_TEST

/* RFC 7143 13.14, 13.19: rules between keys. */
START_TEST(between_keys)
{
	setup();
	offer("MaxBurstLength=512");
	ck_assert_str_eq(offer("FirstBurstLength=65536"), "512");
	setup();
	offer("MaxBurstLength=4096");
	ck_assert_uint_eq(n.keys.first_burst_length, 4096);
	setup();
	limits.error_recovery_level = 1;
	ck_assert_str_eq(offer("ErrorRecoveryLevel=2"), "1");
	ck_assert_str_eq(offer("MaxOutstandingR2T=8"), "1");
	setup();
	limits.error_recovery_level = 1;
	n.error_recovery_level = 0; /* of the transport */
	ck_assert_str_eq(offer("ErrorRecoveryLevel=2"), "0");
}
END_TEST

START_TEST(limits_hold)
{
	setup();
	limits.initial_r2t = 1;
	limits.immediate_data = 0;
	ck_assert_str_eq(offer("InitialR2T=No"), "Yes");
	ck_assert_str_eq(offer("ImmediateData=Yes"), "No");
	setup();
	limits.header_digest_crc32c = false;
	ck_assert_str_eq(offer("HeaderDigest=CRC32C"), "Reject");
	ck_assert_str_eq(offer("DataDigest=CRC32C"), "CRC32C");
	ck_assert(keys_acceptable(&n));
	setup();
	limits.header_digest_none = false;
	ck_assert(!keys_acceptable(&n));
	ck_assert_str_eq(offer("HeaderDigest=None"), "Reject");
	ck_assert(!keys_acceptable(&n));
	setup();
	limits.header_digest_none = false;
	ck_assert_str_eq(offer("HeaderDigest=None,CRC32C"), "CRC32C");
	ck_assert(keys_acceptable(&n));
	setup();
	n.digests = false;
	limits.header_digest_none = false;
	ck_assert_str_eq(offer("HeaderDigest=CRC32C,None"), "None");
	setup();
	n.max_recv_data_segment_length = 16384;
	ck_assert_str_eq(offer("MaxRecvDataSegmentLength=32768"), "16384");
	ck_assert_uint_eq(n.keys.max_recv_data_segment_length, 16384);
	ck_assert_uint_eq(n.keys.max_send_data_segment_length, 32768);
	setup();
	n.max_connections = 1;
	ck_assert_str_eq(offer("MaxConnections=4"), "1");
}
END_TEST

START_TEST(discovery_session)
{
	setup();
	limits.error_recovery_level = 2;
	n.discovery = true;
	ck_assert_str_eq(offer("ErrorRecoveryLevel=2"), "0");
	ck_assert_str_eq(offer("MaxConnections=4"), "1");
	ck_assert_str_eq(offer("DefaultTime2Wait=0"), "2");
}
END_TEST

/* What only the leading connection may say is refused on others and changes nothing. */
START_TEST(other_connections)
{
	setup();
	n.leading = false;
	ck_assert_str_eq(offer("MaxBurstLength=512"), "Reject");
	ck_assert_str_eq(offer("InitialR2T=No"), "Reject");
	ck_assert_uint_eq(n.keys.max_burst_length, 262144);
	ck_assert_uint_eq(n.keys.initial_r2t, 1);
	ck_assert_str_eq(offer("HeaderDigest=CRC32C"), "CRC32C");
	ck_assert_str_eq(offer("MaxRecvDataSegmentLength=512"), "262144");
}
END_TEST

/* In the security stage and in full-feature phase: which keys may be there. */
START_TEST(phases)
{
	static const char *const never_later[] = {
		"HeaderDigest=CRC32C",
		"MaxConnections=4",
		"InitialR2T=No",
		"AuthMethod=None",
		"SessionType=Normal",
		"TargetName=iqn.2001-04.com.example:x",
		"iSERHelloRequired=No",
		"MaxAHSLength=256",
		"TargetRecvDataSegmentLength=8192",
		"RDMAExtensions=Yes",
	};

	setup();
	n.phase = KEY_SECURITY;
	ck_assert_str_eq(offer("MaxBurstLength=65536"), "!");
	ck_assert_str_eq(offer("AuthMethod=None"), "");
	ck_assert_str_eq(offer("X-a=1"), "NotUnderstood");
	setup();
	n.phase = KEY_FULL_FEATURE;
	for (unsigned i = 0; i < sizeof(never_later) / sizeof(never_later[0]); i++)
		ck_assert_msg(!strcmp(offer(never_later[i]), "!"), "%s", never_later[i]);
	ck_assert_str_eq(offer("MaxRecvDataSegmentLength=65536"), "8192");
	ck_assert_uint_eq(n.keys.max_send_data_segment_length, 65536);
	ck_assert_uint_eq(n.keys.max_recv_data_segment_length, 8192);
	ck_assert_str_eq(offer("FooBar=1"), "NotUnderstood");
	ck_assert_str_eq(offer("SendTargets=All"), "");
}
END_TEST

START_TEST(length_of_values)
{
	char text[2048];

	setup();
	snprintf(text, sizeof(text), "InitiatorAlias=%0255d", 0);
	ck_assert_str_eq(offer(text), "");
	setup();
	snprintf(text, sizeof(text), "InitiatorAlias=%0256d", 0);
	ck_assert_str_eq(offer(text), "!");
	snprintf(text, sizeof(text), "MaxBurstLength=%0256d", 0);
	ck_assert_str_eq(offer(text), "!");
	snprintf(text, sizeof(text), "HeaderDigest=%0300d,None", 0);
	ck_assert_str_eq(offer(text), "None");
}
END_TEST

/* clang-format off */
/* What each initiator offers in its normal login and what comes of it. */
static const struct {
	const char *who, *offers, *answers;
	uint32_t send, burst, first, r2ts;
} initiators[] = {
	{ "ESXi", "HeaderDigest=None;DataDigest=None;InitialR2T=No;ImmediateData=Yes;MaxBurstLength=262144;"
	  "FirstBurstLength=262144;MaxRecvDataSegmentLength=131072;MaxOutstandingR2T=1;MaxConnections=1;ErrorRecoveryLevel=0;"
	  "DefaultTime2Wait=0;DefaultTime2Retain=0;IFMarker=No;OFMarker=No",
	  "None;None;No;Yes;262144;262144;262144;1;1;0;2;0;No;No", 131072, 262144, 262144, 1 },
	{ "open-iscsi", "HeaderDigest=None;DataDigest=None;DefaultTime2Wait=2;DefaultTime2Retain=0;IFMarker=No;OFMarker=No;"
	  "ErrorRecoveryLevel=0;InitialR2T=No;ImmediateData=Yes;MaxBurstLength=16776192;FirstBurstLength=262144;MaxOutstandingR2T=1;"
	  "MaxConnections=1;DataPDUInOrder=Yes;DataSequenceInOrder=Yes;MaxRecvDataSegmentLength=262144",
	  "None;None;2;0;No;No;0;No;Yes;1048576;262144;1;1;Yes;Yes;262144", 262144, 1048576, 262144, 1 },
	{ "ib_iser on TCP", "DefaultTime2Wait=2;DefaultTime2Retain=0;IFMarker=No;OFMarker=No;ErrorRecoveryLevel=0;InitialR2T=No;"
	  "ImmediateData=Yes;MaxBurstLength=16776192;FirstBurstLength=262144;MaxOutstandingR2T=1;MaxConnections=1;DataPDUInOrder=Yes;"
	  "DataSequenceInOrder=Yes;InitiatorRecvDataSegmentLength=262144;TargetRecvDataSegmentLength=8192;RDMAExtensions=Yes",
	  "2;0;No;No;0;No;Yes;1048576;262144;1;1;Yes;Yes;Irrelevant;Irrelevant;No", 8192, 1048576, 262144, 1 },
	{ "libiscsi", "HeaderDigest=None,CRC32C;DataDigest=None;InitialR2T=No;ImmediateData=Yes;MaxBurstLength=262144;"
	  "FirstBurstLength=262144;MaxRecvDataSegmentLength=262144;MaxOutstandingR2T=1;MaxConnections=1;ErrorRecoveryLevel=0;"
	  "DefaultTime2Wait=2;DefaultTime2Retain=0;IFMarker=No;OFMarker=No;DataPDUInOrder=Yes;DataSequenceInOrder=Yes",
	  "None;None;No;Yes;262144;262144;262144;1;1;0;2;0;No;No;Yes;Yes", 262144, 262144, 262144, 1 },
	{ "Windows", "HeaderDigest=CRC32C,None;DataDigest=None,CRC32C;InitialR2T=No;ImmediateData=Yes;MaxBurstLength=262144;"
	  "FirstBurstLength=65536;MaxRecvDataSegmentLength=65536;MaxOutstandingR2T=16;MaxConnections=8;ErrorRecoveryLevel=2;"
	  "DefaultTime2Wait=0;DefaultTime2Retain=60",
	  "CRC32C;None;No;Yes;262144;65536;262144;8;4;0;2;0", 65536, 262144, 65536, 8 },
	{ "iPXE", "HeaderDigest=None;DataDigest=None;InitialR2T=Yes;ImmediateData=No;MaxBurstLength=262144;FirstBurstLength=65536;"
	  "MaxRecvDataSegmentLength=8192;MaxOutstandingR2T=1;MaxConnections=1;ErrorRecoveryLevel=0;DefaultTime2Wait=0;DefaultTime2Retain=0",
	  "None;None;Yes;No;262144;65536;262144;1;1;0;2;0", 8192, 262144, 65536, 1 },
	{ "iscsi-osx", "MaxRecvDataSegmentLength=8192;FirstBurstLength=65536;DataDigest=None;InitialR2T=Yes;MaxBurstLength=262144;"
	  "ImmediateData=Yes;HeaderDigest=None;MaxOutstandingR2T=1;MaxConnections=1;ErrorRecoveryLevel=0;DefaultTime2Wait=2;DefaultTime2Retain=20",
	  "262144;65536;None;Yes;262144;Yes;None;1;1;0;2;0", 8192, 262144, 65536, 1 },
};
/* clang-format on */

START_TEST(each_initiator)
{
	char *offered = strdup(initiators[_i].offers), *state = NULL, answers[1024] = "";

	setup();
	for (char *p = strtok_r(offered, ";", &state); p; p = strtok_r(NULL, ";", &state)) {
		if (answers[0])
			strcat(answers, ";");
		strcat(answers, offer(p));
	}
	free(offered);
	ck_assert_msg(!strcmp(answers, initiators[_i].answers), "%s: %s\nnot %s",
		      initiators[_i].who, answers, initiators[_i].answers);
	ck_assert_uint_eq(n.keys.max_send_data_segment_length, initiators[_i].send);
	ck_assert_uint_eq(n.keys.max_burst_length, initiators[_i].burst);
	ck_assert_uint_eq(n.keys.first_burst_length, initiators[_i].first);
	ck_assert_uint_eq(n.keys.max_outstanding_r2t, initiators[_i].r2ts);
}
END_TEST

SUITE_COVERS("T-001 T-009 T-020 T-021 T-022 T-024 T-025 T-027 T-028 T-029 T-030 T-031 T-032 "
	     "T-033 T-034 T-035 T-036 T-042 T-050 T-051 T-053 T-054 T-055 T-061 T-062 T-063 "
	     "T-065 T-066 T-071 T-075 T-076 T-078 T-079 T-081 T-082 T-083 T-084 T-085 T-087 "
	     "T-089 T-092 T-093 T-094 T-095 T-096 T-099 T-100 N-038 N-039 I-003 I-019 I-021 "
	     "I-032");

int main(void)
{
	Suite *s = suite_create("keys");
	TCase *t = tcase_create("keys");
	SRunner *r = srunner_create(s);

	tcase_add_test(t, rows_are_complete);
	tcase_add_test(t, defaults);
	tcase_add_loop_test(t, offers_and_answers, 0, sizeof(offers) / sizeof(offers[0]));
	tcase_add_test(t, rejected_keeps_value);
	tcase_add_test(t, twice);
	tcase_add_test(t, between_keys);
	tcase_add_test(t, limits_hold);
	tcase_add_test(t, discovery_session);
	tcase_add_test(t, other_connections);
	tcase_add_test(t, phases);
	tcase_add_test(t, length_of_values);
	tcase_add_loop_test(t, each_initiator, 0, sizeof(initiators) / sizeof(initiators[0]));
	suite_add_tcase(s, t);
	return unit_end(r);
}
