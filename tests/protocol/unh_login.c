/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL login suite, of which only the titles are to be had: our reading of RFC 7143. What the
 * phase itself does is here, what comes of the keys in unh_keys.c. */
#include "tests/protocol/unh.h"

static struct ini *in_full_feature(struct ini *i, const struct ini_pdu *last)
{
	i->tsih = get_be16(bhs_of(last, bhs_login_response)->tsih);
	i->full_feature = true;
	i->itt++;
	unh_prep(i);
	return i;
}

#define KEYS "HeaderDigest=None\nMaxBurstLength=65536\nMaxRecvDataSegmentLength=8192"

/* ini-1.1, ini-7.1: with both stages, and straight to the second. */
START_TEST(standard)
{
	COVERS("U-131 U-143 L-005 L-011 L-014 L-034 L-037 L-039 L-056 L-061 L-082 P-002");
	struct ini *i = connect_to(server.port);
	static const struct {
		uint8_t flags;
		const char *text;
	} steps[] = {
		{ SECURITY_TO_OP, NAMES(T_MAIN) "\nSessionType=Normal\nAuthMethod=None" },
		{ OP_TO_FULL, KEYS },
		{ OP_TO_FULL, NAMES(T_MAIN) "\n" KEYS },
	};
	const struct ini_pdu *p = NULL;

	for (unsigned n = _i ? 2 : 0; n < (_i ? 3 : 2); n++) {
		const struct bhs_login_response *r;

		p = login_step(i, steps[n].flags, steps[n].text);
		r = bhs_of(p, bhs_login_response);
		ck_assert_int_eq(login_status(p), 0);
		ck_assert_uint_eq(r->opcode, ISCSI_OP_LOGIN_RESPONSE);
		ck_assert_uint_eq(r->flags, steps[n].flags);
		ck_assert_uint_eq(r->version_active, 0);
		ck_assert_uint_eq(get_be32(r->itt), i->itt);
		ck_assert_mem_eq(r->isid, i->isid, 6);
		ck_assert_uint_eq(get_be16(r->tsih) != 0, steps[n].flags == OP_TO_FULL);
		if (n != 1)
			ck_assert_str_eq(ini_value(p, "TargetPortalGroupTag"), "1");
	}
	ck_assert_ptr_null(await_pdu(i, 20)); /* one response for a request */
	in_full_feature(i, p);
}
END_TEST

/* ini-2.1, ini-3.1: no T where none was, and no TSIH before the end. */
START_TEST(stages)
{
	COVERS("U-132 U-135 L-039 L-040 L-053 L-054 L-055");
	static const uint8_t flags[] = { SECURITY_STEP, SECURITY_STEP, SECURITY_TO_OP,
					 OP_STEP,       OP_STEP,       OP_TO_FULL };
	struct ini *i[2] = { connect_to(server.port), connect_to(server.port) };

	for (unsigned n = 0; n < 6; n++) {
		for (unsigned k = 0; k < 2; k++) {
			const struct ini_pdu *p =
			    login_step(i[k], flags[n], n ? "" : NAMES(T_MAIN));
			const struct bhs_login_response *r = bhs_of(p, bhs_login_response);

			ck_assert_int_eq(login_status(p), 0);
			ck_assert_uint_eq(r->flags, flags[n]);
			ck_assert_uint_eq(get_be16(r->tsih) != 0, n == 5);
			if (n == 5)
				in_full_feature(i[k], p);
		}
	}
	ck_assert_uint_ne(i[0]->tsih, i[1]->tsih);
}
END_TEST

/* ini-2.2: nobody's, and not that of the live session with this ISID. */
START_TEST(invalid_tsih)
{
	COVERS("U-133 L-013 L-018");
	struct ini *live = unh_session(NULL), *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN, .keys = "HeaderDigest=None" };

	i->tsih = (uint16_t)(live->tsih + 0x4000);
	i->cid = 1;
	if (_i)
		memcpy(i->isid, live->isid, 6);
	ck_assert_int_eq(try_login(i, &l), LOGIN_NO_SESSION);
	expect_close(i);
	still_works(live);
}
END_TEST

/* ini-3.2 */
START_TEST(t_bit_delayed)
{
	COVERS("U-136 L-070 L-074 T-103");
	static const char *const texts[] = { NAMES(T_MAIN),         "HeaderDigest=None",
					     "DataDigest=None",     "MaxBurstLength=65536",
					     "ImmediateData=Yes",   "InitialR2T=No",
					     "MaxOutstandingR2T=1", "DefaultTime2Wait=2" };
	struct ini *i = connect_to(server.port);

	for (unsigned n = 0; n < 8; n++) {
		const struct ini_pdu *p = login_step(i, OP_STEP, texts[n]);
		char key[32];

		ck_assert_int_eq(login_status(p), 0);
		ck_assert_uint_eq(p->bhs[1], OP_STEP);
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(texts[n], "="), texts[n]);
		ck_assert(!n || ini_value(p, key));
	}
	in_full_feature(i, login_step(i, OP_TO_FULL, ""));
}
END_TEST

/* ini-4.1, ini-4.2, ini-5.1: what ExpStatSN says during a login does no harm. */
static const struct {
	const char *ids;
	uint32_t first, second; /* UINT32_MAX: the right one */
} exp_statsn[] = {
	{ "U-137 L-046 L-047", 0, UINT32_MAX },
	{ "U-138 L-046 L-047", 0x12345678, UINT32_MAX },
	{ "U-139 L-047", 0, UINT32_MAX },
	{ "U-139 L-047", 0, 0x7fffffff },
};

START_TEST(expected_statsn)
{
	COVERS(exp_statsn[_i].ids);
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p = NULL;
	uint32_t statsn = 0;

	for (unsigned n = 0; n < 3; n++) {
		struct bhs_login_request h;
		uint8_t text[256];
		uint32_t length = ini_pairs(n ? "" : NAMES(T_MAIN), text, sizeof(text));

		ini_login_header(i, &h, 0, 0, false);
		h.flags = n == 2 ? OP_TO_FULL : OP_STEP;
		if (!n)
			put_be32(h.exp_statsn, exp_statsn[_i].first);
		else if (exp_statsn[_i].second != UINT32_MAX)
			put_be32(h.exp_statsn, exp_statsn[_i].second);
		ck_assert(!ini_send(i, (uint8_t *)&h, text, length));
		p = expect(i, ISCSI_OP_LOGIN_RESPONSE);
		ck_assert_int_eq(login_status(p), 0);
		ck_assert(!n || get_be32(p->bhs + 24) == statsn + 1);
		statsn = get_be32(p->bhs + 24);
	}
	in_full_feature(i, p);
}
END_TEST

/* ini-6.1 to ini-6.3: a key a second time, be it with the same value. */
static const struct {
	const char *ids, *first, *second; /* second NULL: both in one request */
} twice[] = {
	{ "U-140 L-067", "MaxBurstLength=65536", "MaxBurstLength=32768" },
	{ "U-140 L-067", "MaxBurstLength=65536", "MaxBurstLength=65536" },
	{ "U-140 L-067", "MaxRecvDataSegmentLength=4096", "MaxRecvDataSegmentLength=4096" },
	{ "U-141 L-067", "ImmediateData=Yes", "ImmediateData=No" },
	{ "U-142 L-067", "ImmediateData=Yes\nImmediateData=No", NULL },
};

START_TEST(key_twice)
{
	COVERS(twice[_i].ids);
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;

	login_step(i, OP_STEP, NAMES(T_MAIN));
	p = login_step(i, OP_STEP, twice[_i].first);
	if (twice[_i].second) {
		ck_assert_int_eq(login_status(p), 0);
		p = login_step(i, OP_STEP, twice[_i].second);
	}
	ck_assert_int_eq(login_status(p), LOGIN_INITIATOR_ERROR);
	expect_close(i);
}
END_TEST

/* ini-8.1 */
START_TEST(invalid_pdu)
{
	COVERS("U-149 L-001 L-002");
	struct ini *i = connect_to(server.port);
	uint8_t bhs[ISCSI_BHS_SIZE] = { _i ? ISCSI_OP_SCSI_COMMAND : ISCSI_OP_NOP_OUT, 0x80 };
	struct ini_pdu p;

	if (_i)
		login_step(i, OP_STEP, NAMES(T_MAIN));
	ck_assert(!ini_send(i, bhs, NULL, 0));
	if (_i)
		ck_assert_int_eq(login_status(expect(i, ISCSI_OP_LOGIN_RESPONSE)),
				 LOGIN_INVALID_REQUEST);
	ck_assert_int_eq(ini_receive(i, &p, patience(INI_WAIT_MS)), -ENOTCONN);
}
END_TEST

/* ini-11.1, ini-21.1, ini-22.1, ini-7.3: who, what kind, and how it is proved. */
static const struct {
	const char *ids;
	uint8_t flags; /* SECURITY_TO_FULL unless set */
	const char *text;
	int status;         /* -1: CHAP goes on */
	const char *method; /* the answer to AuthMethod */
} firsts[] = {
	{ "U-154 L-007", 0, "TargetName=" T_MAIN, LOGIN_MISSING_PARAMETER, NULL },
	{ "U-154 L-008", 0, "InitiatorName=" BASE "test", LOGIN_MISSING_PARAMETER, NULL },
	{ "U-154 L-021", 0, NAMES(BASE "nowhere"), LOGIN_NOT_FOUND, NULL },
	{ "U-154", 0, NAMES(T_MAIN), 0, NULL },
	{ "U-168 L-010", 0, NAMES(T_MAIN) "\nSessionType=Normal", 0, NULL },
	{ "U-168 L-009 T-086", 0, "InitiatorName=" BASE "test\nSessionType=Discovery", 0, NULL },
	{ "U-168 L-010", 0, NAMES(T_MAIN), 0, NULL },
	{ "U-168 L-028", 0, NAMES(T_MAIN) "\nSessionType=Foo", LOGIN_SESSION_TYPE, NULL },
	{ "U-145 C-004", 0, NAMES(T_MAIN) "\nAuthMethod=Foo", LOGIN_AUTHENTICATION_FAILURE, NULL },
	{ "U-144 T-028", 0, NAMES(T_MAIN) "\nAuthMethod=Foo,None", 0, "None" },
	{ "U-169 C-001", 0, NAMES(T_CHAP) "\nAuthMethod=None", LOGIN_AUTHENTICATION_FAILURE, NULL },
	{ "U-169 C-002", 0, NAMES(T_CHAP) "\nAuthMethod=CHAP", -1, "CHAP" },
	{ "U-169 C-002", 0, NAMES(T_CHAP) "\nAuthMethod=CHAP,None", -1, "CHAP" },
	{ "U-169 C-002", 0, NAMES(T_CHAP) "\nAuthMethod=None,CHAP", -1, "CHAP" },
	{ "U-169 L-062", 0, NAMES(T_CHAP), LOGIN_AUTHENTICATION_FAILURE, NULL },
	{ "U-169 L-065", OP_TO_FULL, NAMES(T_CHAP), LOGIN_AUTHENTICATION_FAILURE, NULL },
	{ "U-169 C-002", 0, NAMES(T_MAIN) "\nAuthMethod=None", 0, "None" },
	{ "U-169 C-002", 0, NAMES(T_MAIN) "\nAuthMethod=CHAP,None", 0, "None" },
	{ "U-169 C-002", 0, NAMES(T_MAIN) "\nAuthMethod=None,CHAP", 0, "None" },
	{ "U-169 C-004", 0, NAMES(T_MAIN) "\nAuthMethod=CHAP", LOGIN_AUTHENTICATION_FAILURE, NULL },
};

START_TEST(first_request)
{
	COVERS(firsts[_i].ids);
	struct ini *i = connect_to(server.port);
	uint8_t flags = firsts[_i].flags ? firsts[_i].flags : SECURITY_TO_FULL;
	const struct ini_pdu *p = login_step(i, flags, firsts[_i].text);
	const char *method = ini_value(p, "AuthMethod");
	int status = firsts[_i].status;

	ck_assert_msg(login_status(p) == (status < 0 ? 0 : status), "%s: %04x", firsts[_i].text,
		      (unsigned)login_status(p));
	ck_assert_str_eq(method ? method : "none", firsts[_i].method ? firsts[_i].method : "none");
	ck_assert_uint_eq(p->bhs[1], status ? 0 : flags);
	if (status > 0)
		expect_close(i);
}
END_TEST

void unh_login_suite(TCase *c)
{
	add_rows(c, standard, 2);
	add(c, stages);
	add_rows(c, invalid_tsih, 2);
	add(c, t_bit_delayed);
	add_table(c, expected_statsn, exp_statsn);
	add_table(c, key_twice, twice);
	add_rows(c, invalid_pdu, 2);
	add_table(c, first_request, firsts);
}
