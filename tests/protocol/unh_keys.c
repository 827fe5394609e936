/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL login suite: what comes of the keys, and that what follows goes by it. Of the titles our
 * reading of RFC 7143 (unh_login.c). */
#include "tests/protocol/unh.h"

static uint8_t data[16384];

enum result {
	IS,      /* this value */
	AT_MOST, /* a number, no more than this one */
	AT_LEAST,
	REFUSED,  /* key=Reject, or the login fails with an error of the initiator */
	OBSOLETE, /* Reject or No, never NotUnderstood */
	NOTHING,  /* no answer, or this one */
};

static const struct offer {
	const char *ids, *key, *value;
	enum result result;
	const char *answer;
} offers[] = {
	{ "U-144 U-150 T-027 T-028", "HeaderDigest", "Foo,CRC32C,None", IS, "CRC32C" },
	{ "U-144 U-150 T-027 T-054", "HeaderDigest", "None,CRC32C", IS, "None" },
	{ "U-150 T-027 T-055", "DataDigest", "CRC32C,None", IS, "CRC32C" },
	{ "U-150 T-027 T-055", "DataDigest", "None,CRC32C", IS, "None" },
	{ "U-151 T-030 T-054", "HeaderDigest", "None", IS, "None" },
	{ "U-151 T-030 T-055", "DataDigest", "None", IS, "None" },
	{ "U-152 T-054 T-056 T-058", "HeaderDigest", "CRC32C", IS, "CRC32C" },
	{ "U-152 T-055 T-056 T-058", "DataDigest", "CRC32C", IS, "CRC32C" },
	{ "U-146 T-033 T-076", "FirstBurstLength", "16777216", REFUSED, NULL },
	{ "U-146 T-033 T-076", "FirstBurstLength", "4294967296", REFUSED, NULL },
	{ "U-147 L-069 T-066", "ImmediateData", "Maybe", REFUSED, NULL },
	{ "U-147 L-069 T-066", "ImmediateData", "yes", REFUSED, NULL },
	{ "U-147 L-069 T-066", "ImmediateData", "1", REFUSED, NULL },
	{ "U-148 T-020", "FooBar", "1", IS, "NotUnderstood" },
	{ "U-148 T-020 T-087", "X-org.example.foo", "1", IS, "NotUnderstood" },
	{ "U-153 T-061", "MaxConnections", "1", IS, "1" },
	{ "U-153 T-061", "MaxConnections", "65535", AT_MOST, "8" },
	{ "U-153 T-033", "MaxConnections", "0", REFUSED, NULL },
	{ "U-153 T-033", "MaxConnections", "65536", REFUSED, NULL },
	{ "U-155 T-094", "OFMarker", "Yes", OBSOLETE, NULL },
	{ "U-155 T-094", "IFMarker", "No", OBSOLETE, NULL },
	{ "U-155 T-095", "OFMarkInt", "2048~8192", OBSOLETE, NULL },
	{ "U-155 T-095", "IFMarkInt", "2048", OBSOLETE, NULL },
	{ "U-156 T-065", "InitialR2T", "Yes", IS, "Yes" },
	{ "U-156 T-065", "InitialR2T", "No", IS, "No" },
	{ "U-156 T-034 T-066", "ImmediateData", "Yes", IS, "Yes" },
	{ "U-156 T-034 T-066", "ImmediateData", "No", IS, "No" },
	{ "U-156 T-035 T-082", "DataPDUInOrder", "Yes", IS, "Yes" },
	{ "U-156 T-035 T-082", "DataPDUInOrder", "No", IS, "Yes" },
	{ "U-156 T-035 T-083", "DataSequenceInOrder", "Yes", IS, "Yes" },
	{ "U-156 T-035 T-083", "DataSequenceInOrder", "No", IS, "Yes" },
	{ "U-157 T-034", "InitialR2T", "Yes", NOTHING, "Yes" },
	{ "U-157 T-034", "ImmediateData", "No", NOTHING, "No" },
	{ "U-158 L-069", "InitialR2T", "True", REFUSED, NULL },
	{ "U-158 L-069", "DataPDUInOrder", "NO", REFUSED, NULL },
	{ "U-159 T-071 T-072", "MaxRecvDataSegmentLength", "512", AT_LEAST, "512" },
	{ "U-159 T-071 T-072", "MaxRecvDataSegmentLength", "16777215", AT_LEAST, "512" },
	/* Below that a command could need more PDUs than can be numbered. */
	{ "U-159 T-071 P-088", "MaxRecvDataSegmentLength", "511", REFUSED, NULL },
	{ "U-159 T-071", "MaxRecvDataSegmentLength", "16777216", REFUSED, NULL },
	{ "U-160 T-075", "MaxBurstLength", "512\nFirstBurstLength=512", IS, "512" },
	{ "U-160 T-075", "MaxBurstLength", "16777215", AT_MOST, "16777215" },
	{ "U-160 T-033 P-088", "MaxBurstLength", "511", REFUSED, NULL },
	{ "U-160 T-033", "MaxBurstLength", "16777216", REFUSED, NULL },
	{ "U-164 T-079", "DefaultTime2Retain", "0", IS, "0" },
	{ "U-164 T-079", "DefaultTime2Retain", "20", AT_MOST, "20" },
	{ "U-164 T-079", "DefaultTime2Retain", "3600", AT_MOST, "3600" },
	{ "U-164 T-033", "DefaultTime2Retain", "3601", REFUSED, NULL },
	{ "U-165 T-078", "DefaultTime2Wait", "0", AT_LEAST, "0" },
	{ "U-165 T-078", "DefaultTime2Wait", "2", AT_LEAST, "2" },
	{ "U-165 T-078", "DefaultTime2Wait", "3600", IS, "3600" },
	{ "U-165 T-033", "DefaultTime2Wait", "3601", REFUSED, NULL },
	{ "U-166 T-081", "MaxOutstandingR2T", "1", IS, "1" },
	{ "U-166 T-081", "MaxOutstandingR2T", "65535", AT_MOST, "65535" },
	{ "U-166 T-033", "MaxOutstandingR2T", "0", REFUSED, NULL },
	{ "U-167 T-085", "ErrorRecoveryLevel", "0", IS, "0" },
	{ "U-167 T-085 E-010", "ErrorRecoveryLevel", "1", AT_MOST, "1" },
	{ "U-167 T-085 E-010", "ErrorRecoveryLevel", "2", AT_MOST, "1" },
	{ "U-167 T-033", "ErrorRecoveryLevel", "3", REFUSED, NULL },
};

static bool suits(const struct offer *o, const char *answer)
{
	const char *said = answer ? answer : "(nothing)";

	switch (o->result) {
	case IS:
		return !strcmp(said, o->answer);
	case AT_MOST:
		return answer && atol(said) >= 0 && atol(said) <= atol(o->answer);
	case AT_LEAST:
		return answer && atol(said) >= atol(o->answer);
	case OBSOLETE:
		return !strcmp(said, "No") || !strcmp(said, "Reject");
	case NOTHING:
		return !answer || !strcmp(said, o->answer);
	case REFUSED:
		return !strcmp(said, "Reject");
	}
	return false;
}

/* Data in both directions: the initiator holds every PDU against what was agreed. */
static void move_data(struct ini *i)
{
	struct ini_scsi c;

	unh_prep(i);
	fill(data, sizeof(data), 9);
	rw10(&c, WRITE10, LUN_RAM, UNH_BLOCK, 32, data);
	run_good(i, &c);
	expect_content(i, LUN_RAM, UNH_BLOCK, 32, data);
	ck_assert_msg(!i->violations, "%s", i->violation);
}

START_TEST(offer)
{
	const struct offer *o = &offers[_i];
	COVERS(o->ids);
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN };
	struct ini_pdu p;
	const char *answer;
	char keys[128];
	int status;

	snprintf(keys, sizeof(keys), "%s=%s", o->key, o->value);
	l.keys = keys;
	status = ini_login(i, &l, &p);
	ck_assert_int_ge(status, 0);
	answer = ini_value(&p, o->key);
	if (status)
		ck_assert_msg(o->result == REFUSED && status >> 8 == 2, "%s: %04x", keys,
			      (unsigned)status);
	else
		ck_assert_msg(suits(o, answer), "%s: answer %s", keys, answer ? answer : "none");
	ini_pdu_free(&p);
	if (status)
		expect_close(i);
	else if (o->result != REFUSED)
		move_data(i);
}
END_TEST

/* ini-9.1, ini-15 to ini-16.3, ini-14.1: nothing is offered, nothing is proposed, and the defaults
 * hold. */
START_TEST(defaults)
{
	COVERS("U-150 U-159 U-163 L-076 T-026 T-100 T-102");
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN, .keys = "InitialR2T=No" };
	struct unh_piece pieces[UNH_PIECES];
	struct ini_pdu p;

	ck_assert_int_eq(ini_login(i, &l, &p), 0);
	ck_assert_ptr_null(ini_value(&p, "HeaderDigest"));
	ck_assert_ptr_null(ini_value(&p, "DataDigest"));
	ck_assert_ptr_null(ini_value(&p, "FirstBurstLength"));
	ck_assert_ptr_null(ini_value(&p, "MaxBurstLength"));
	ini_pdu_free(&p);
	ck_assert(!i->header_digest && !i->data_digest);
	ck_assert_uint_eq(i->first_burst, 65536);
	move_data(i);
	ck_assert_uint_eq(unh_read(i, LUN_RAM, UNH_BLOCK, 32, pieces), 2);
	ck_assert_uint_eq(pieces[0].length, 8192);
}
END_TEST

/* ini-16.1, ini-16.2 */
static const struct {
	const char *ids, *keys;
	uint32_t first_burst;
} bursts[] = {
	{ "U-161 T-025 T-076", "FirstBurstLength=4096\nMaxBurstLength=65536", 4096 },
	{ "U-162 T-025 T-076", "FirstBurstLength=65536\nMaxBurstLength=4096", 4096 },
	{ "U-162 T-025 T-076", "MaxBurstLength=4096\nFirstBurstLength=65536", 4096 },
};

START_TEST(two_bursts)
{
	COVERS(bursts[_i].ids);
	struct ini *i = connect_to(server.port);
	char keys[128];
	struct ini_login l = { .target = T_MAIN, .keys = keys };

	snprintf(keys, sizeof(keys), "InitialR2T=No\nImmediateData=Yes\n%s", bursts[_i].keys);
	ck_assert_int_eq(try_login(i, &l), 0);
	ck_assert_uint_le(i->first_burst, bursts[_i].first_burst);
	ck_assert_uint_le(i->first_burst, i->max_burst);
	move_data(i);
}
END_TEST

/* ini-19.1: the R2Ts at once, also where recovery and order leave one. */
START_TEST(outstanding_r2ts)
{
	COVERS("U-166 P-094 T-081 T-084");
	static const char *const keys[] = {
		"MaxOutstandingR2T=1", "MaxOutstandingR2T=3",
		"MaxOutstandingR2T=4\nErrorRecoveryLevel=1\nDataSequenceInOrder=Yes"
	};
	char text[256];
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN, .keys = text };
	unsigned n = 0;

	snprintf(text, sizeof(text), SOLICITED "MaxBurstLength=512\nFirstBurstLength=512\n%s",
		 keys[_i]);
	ck_assert_int_eq(try_login(i, &l), 0);
	unh_prep(i);
	start_write(i, LUN_RAM, UNH_BLOCK, 32, true, NULL, 0);
	while (await_pdu(i, n < i->max_r2t ? patience(INI_WAIT_MS) : 50))
		n++;
	ck_assert_uint_eq(n, i->max_r2t);
	ck_assert_uint_le(n, _i == 0 ? 1 : _i == 1 ? 3 : 4);
}
END_TEST

void unh_keys_suite(TCase *c)
{
	add_table(c, offer, offers);
	add(c, defaults);
	add_table(c, two_bursts, bursts);
	add_rows(c, outstanding_r2ts, 3);
}
