/* SPDX-License-Identifier: BSD-2-Clause */
/* Logins that must not succeed: with which status, and that the connection closes. */
#include "tests/protocol/protocol.h"

#define STEP_0    0x100 /* SECURITY_STEP is 0 */
#define TEST_NAME "InitiatorName=" BASE "test"

/* The connection closes, before and behind it nothing but what `status` says. */
static void expect_refusal(struct ini *i, const char *name, int status)
{
	const struct ini_pdu *p = expect(i, ISCSI_OP_LOGIN_RESPONSE);
	const struct bhs_login_response *r = bhs_of(p, bhs_login_response);
	struct ini_pdu more;
	int rc;

	/* 0x02ff: any error of the initiator */
	if (status == 0x02ff)
		ck_assert_msg(login_status(p) >> 8 == 2, "%s: status %04x", name,
			      (unsigned)login_status(p));
	else
		ck_assert_msg(login_status(p) == status, "%s: status %04x, wanted %04x", name,
			      (unsigned)login_status(p), (unsigned)status);
	ck_assert_msg(!r->flags, "%s: flags %02x", name, r->flags);
	rc = ini_receive(i, &more, patience(INI_WAIT_MS));
	ck_assert_msg(rc == -ENOTCONN, "%s: not closed, but %d", name, rc);
}

static const struct refused {
	const char *name, *text;
	int status;
	uint16_t flags; /* 0: OP_TO_FULL */
	uint8_t version_max, version_min;
	uint16_t tsih;
} refused[] = {
	{ "no InitiatorName", "TargetName=" T_MAIN, LOGIN_MISSING_PARAMETER },
	{ "no TargetName", TEST_NAME, LOGIN_MISSING_PARAMETER },
	{ "nothing", "", LOGIN_MISSING_PARAMETER },
	{ "target unknown", TEST_NAME "\nTargetName=" BASE "nowhere", LOGIN_NOT_FOUND },
	{ "target at another group", NAMES(T_GROUP2), LOGIN_NOT_FOUND },
	{ "nobody admitted", NAMES(T_CLOSED), LOGIN_AUTHORIZATION_FAILURE },
	{ "not admitted", NAMES(T_FRIENDS), LOGIN_AUTHORIZATION_FAILURE },
	{ "alias of a friend", NAMES(T_FRIENDS) "\nInitiatorAlias=" FRIEND,
	  LOGIN_AUTHORIZATION_FAILURE },
	{ "offline", NAMES(T_OFFLINE), LOGIN_UNAVAILABLE },
	{ "session type", NAMES(T_MAIN) "\nSessionType=Foo", LOGIN_SESSION_TYPE },
	{ "version", NAMES(T_MAIN), LOGIN_UNSUPPORTED_VERSION, .version_max = 5, .version_min = 3 },
	{ "version and target", TEST_NAME "\nTargetName=" BASE "nowhere", LOGIN_UNSUPPORTED_VERSION,
	  .version_max = 5, .version_min = 3 },
	{ "no such session", NAMES(T_MAIN), LOGIN_NO_SESSION, .tsih = 0xfff0 },
	{ "C and T", NAMES(T_MAIN), LOGIN_INITIATOR_ERROR, .flags = 0xc7 },
	{ "NSG 2", NAMES(T_MAIN), LOGIN_INITIATOR_ERROR, .flags = 0x86 },
	{ "CSG 2", NAMES(T_MAIN), 0x02ff, .flags = 0x0b },
	{ "CSG 2 to 3", NAMES(T_MAIN), 0x02ff, .flags = 0x8b },
	{ "CSG 3", NAMES(T_MAIN), 0x02ff, .flags = 0x0c },
	{ "CSG 1 to 0", NAMES(T_MAIN), 0x02ff, .flags = 0x84 },
	{ "CSG 1 to 1", NAMES(T_MAIN), 0x02ff, .flags = 0x85 },
	{ "CSG 0 to 0", NAMES(T_MAIN), 0x02ff, .flags = 0x80 },
	{ "operational key in the security stage", NAMES(T_MAIN) "\nMaxBurstLength=4096",
	  LOGIN_INITIATOR_ERROR, .flags = STEP_0 },
	{ "security key in the operational stage", NAMES(T_MAIN) "\nAuthMethod=None",
	  LOGIN_INITIATOR_ERROR },
	{ "CHAP only", NAMES(T_MAIN) "\nAuthMethod=CHAP", LOGIN_AUTHENTICATION_FAILURE,
	  .flags = SECURITY_TO_OP },
	{ "method unknown", NAMES(T_MAIN) "\nAuthMethod=SRP", LOGIN_AUTHENTICATION_FAILURE,
	  .flags = SECURITY_TO_OP },
	{ "CHAP step without CHAP", NAMES(T_MAIN) "\nCHAP_N=me\nCHAP_R=0x00", 0x02ff,
	  .flags = STEP_0 },
	{ "SendTargets", NAMES(T_MAIN) "\nSendTargets=All", 0x02ff },
	{ "TargetAddress", NAMES(T_MAIN) "\nTargetAddress=127.0.0.1:3260,1", 0x02ff },
	{ "TargetAlias", NAMES(T_MAIN) "\nTargetAlias=mine", 0x02ff },
	{ "TargetPortalGroupTag", NAMES(T_MAIN) "\nTargetPortalGroupTag=1", 0x02ff },
	{ "key twice", NAMES(T_MAIN) "\nMaxBurstLength=4096\nMaxBurstLength=4096", 0x02ff },
	{ "architecture twice", NAMES(T_MAIN) "\nX#NodeArchitecture=a\nX#NodeArchitecture=a",
	  0x02ff },
	{ "pair without =", NAMES(T_MAIN) "\nFoo", LOGIN_INITIATOR_ERROR },
	{ "name twice, not the same", NAMES(T_MAIN) "\n" TEST_NAME "2", LOGIN_INITIATOR_ERROR },
	{ "name empty", "InitiatorName=\nTargetName=" T_MAIN, LOGIN_INITIATOR_ERROR },
	{ "name with blanks", "InitiatorName=iqn.2001-01.org BAD name\nTargetName=" T_MAIN,
	  LOGIN_INITIATOR_ERROR },
	{ "name of no type", "InitiatorName=foo\nTargetName=" T_MAIN, LOGIN_INITIATOR_ERROR },
	{ "iqn, month 13", "InitiatorName=iqn.2001-13.org.example:a\nTargetName=" T_MAIN,
	  LOGIN_INITIATOR_ERROR },
	{ "eui, short", "InitiatorName=eui.0200\nTargetName=" T_MAIN, LOGIN_INITIATOR_ERROR },
	{ "naa, short", "InitiatorName=naa.520\nTargetName=" T_MAIN, LOGIN_INITIATOR_ERROR },
	{ "name with formats", "InitiatorName=iqn.2001-01.org:%n%s%n\nTargetName=" T_MAIN,
	  LOGIN_INITIATOR_ERROR },
	{ "target with formats", TEST_NAME "\nTargetName=iqn.2001-01.org:%n%s%n",
	  LOGIN_INITIATOR_ERROR },
};

START_TEST(refuses)
{
	COVERS("L-007 L-008 L-013 L-021 L-022 L-023 L-028 L-029 L-030 L-031 L-049 L-057 L-058 "
	       "L-059 L-066 L-067 L-081 N-005 N-006 N-007 N-009 N-042 T-004 T-053 T-062 T-063 "
	       "T-096 C-001 C-004 C-034 C-041 P-172 fault-A06 fault-B16");
	const struct refused *f = &refused[_i];
	struct ini *i = connect_to(server.port);
	struct bhs_login_request h;
	uint8_t data[1024];

	ini_login_header(i, &h, 0, 0, false);
	h.flags = (uint8_t)(f->flags ? f->flags : OP_TO_FULL);
	h.version_max = f->version_max;
	h.version_min = f->version_min;
	put_be16(h.tsih, f->tsih);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, ini_pairs(f->text, data, sizeof(data))));
	expect_refusal(i, f->name, f->status);
}
END_TEST

START_TEST(name_too_long)
{
	COVERS("L-085 fault-A06");
	struct ini *i = connect_to(server.port);
	char text[512] = "InitiatorName=" BASE;

	memset(text + strlen(text), 'a', 224 - strlen(BASE));
	memcpy(text + strlen(text), "\nTargetName=" T_MAIN, sizeof("\nTargetName=" T_MAIN));
	ck_assert_int_eq(login_status(login_step(i, OP_TO_FULL, text)), LOGIN_INITIATOR_ERROR);
	expect_close(i);
}
END_TEST

/* What the first request of a login says holds to its end. */
static const struct second {
	const char *name, *text;
	int status; /* 0: must be accepted */
	uint8_t flags, at, flip;
} seconds[] = {
	{ "as it was", "", 0, OP_TO_FULL, 0, 0 },
	{ "version max", "", 0x02ff, OP_TO_FULL, 2, 1 },
	{ "ISID", "", 0x02ff, OP_TO_FULL, 13, 1 },
	{ "TSIH", "", 0x02ff, OP_TO_FULL, 15, 1 },
	{ "ITT", "", 0x02ff, OP_TO_FULL, 19, 1 },
	{ "CID", "", 0x02ff, OP_TO_FULL, 21, 1 },
	{ "stage goes back", "", 0x02ff, SECURITY_TO_FULL, 0, 0 },
	{ "stage goes back, no transit", "", 0x02ff, SECURITY_STEP, 0, 0 },
	{ "initiator repeated", TEST_NAME, 0, OP_TO_FULL, 0, 0 },
	{ "initiator changed", TEST_NAME "2", LOGIN_INITIATOR_ERROR, OP_TO_FULL, 0, 0 },
	{ "target changed", "TargetName=" T_SMALL, LOGIN_INITIATOR_ERROR, OP_TO_FULL, 0, 0 },
	{ "type changed", "SessionType=Discovery", LOGIN_INITIATOR_ERROR, OP_TO_FULL, 0, 0 },
	{ "an answer to our declaration", "TargetAlias=NotUnderstood", 0, OP_TO_FULL, 0, 0 },
	{ "key repeated", "MaxBurstLength=4096", 0x02ff, OP_TO_FULL, 0, 0 },
};

START_TEST(second_request)
{
	COVERS("L-033 L-035 L-036 L-060 L-067 L-068 L-083 T-099 fault-A08");
	const struct second *s = &seconds[_i];
	struct ini *i = connect_to(server.port);
	struct bhs_login_request h;
	uint8_t data[1024];

	login_step(i, OP_STEP, NAMES(T_MAIN) "\nMaxBurstLength=4096");
	ini_login_header(i, &h, 0, 0, false);
	h.flags = s->flags;
	if (s->at)
		((uint8_t *)&h)[s->at] ^= s->flip;
	ck_assert(!ini_send(i, (uint8_t *)&h, data, ini_pairs(s->text, data, sizeof(data))));
	if (s->status)
		expect_refusal(i, s->name, s->status);
	else
		ck_assert_msg(!login_status(expect(i, ISCSI_OP_LOGIN_RESPONSE)), "%s", s->name);
}
END_TEST

START_TEST(first_pdu_is_no_login)
{
	COVERS("L-001 fault-A09");
	static const uint8_t opcodes[] = { 0x00, 0x40, 0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x3f };
	uint8_t bhs[ISCSI_BHS_SIZE] = { opcodes[_i], 0x80 };
	struct ini *i = connect_to(server.port);
	struct ini_pdu p;
	int rc;

	ck_assert(!ini_send(i, bhs, NULL, 0));
	rc = ini_receive(i, &p, patience(INI_WAIT_MS));
	ck_assert_msg(rc == -ENOTCONN, "opcode %02x: not closed at once, but %d", opcodes[_i], rc);
	ck_assert_int_eq(login_status(login_step(connect_to(server.port), OP_TO_FULL,
						 TEST_NAME "\nSessionType=Discovery")),
			 0);
}
END_TEST

START_TEST(first_bytes_are_garbage)
{
	COVERS("L-001");
	struct ini *i = connect_to(server.port);
	uint8_t bytes[4096];

	memset(bytes, 0xff, sizeof(bytes));
	ini_send_bytes(i, bytes, sizeof(bytes));
	expect_close(i);
}
END_TEST

START_TEST(no_login_within_login)
{
	COVERS("L-002 L-086 L-087 fault-A09");
	static const uint8_t opcodes[] = { 0x40, 0x01, 0x02, 0x04, 0x05, 0x06, 0x10 };
	uint8_t bhs[ISCSI_BHS_SIZE] = { opcodes[_i], 0x80 };
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;

	login_step(i, OP_STEP, NAMES(T_MAIN));
	ck_assert(!ini_send(i, bhs, NULL, 0));
	p = expect(i, ISCSI_OP_LOGIN_RESPONSE);
	ck_assert_int_eq(login_status(p), LOGIN_INVALID_REQUEST);
	expect_close(i);
}
END_TEST

START_TEST(login_within_full_feature)
{
	COVERS("L-004");
	struct ini *i = session(T_MAIN);
	struct bhs_login_request h;
	uint8_t data[256];

	ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, ini_pairs(NAMES(T_MAIN), data, sizeof(data))));
	if (!expect_reject_or_close(i, REJECT_PROTOCOL_ERROR))
		still_works(i);
}
END_TEST

/* Joining a session: only with all its names right, and not beyond MaxConnections. */
static const struct join {
	const char *name;
	int status;
	uint16_t tsih_add, cid;
	bool other_isid, group2;
} joins[] = {
	{ "one too many", LOGIN_TOO_MANY_CONNECTIONS, 0, 1, false, false },
	{ "TSIH of no session", LOGIN_NO_SESSION, 1, 1, false, false },
	{ "ISID of no session", LOGIN_NO_SESSION, 0, 1, true, false },
	{ "another portal group", LOGIN_CANNOT_INCLUDE, 0, 1, false, true },
};

START_TEST(cannot_join)
{
	COVERS("L-018 L-013 L-019 L-020");
	const struct join *j = &joins[_i];
	struct ini *first = connect_to(strict.port), *i;
	struct ini_login l = { .target = T_MAIN, .keys = "HeaderDigest=None" };
	int status;

	ck_assert_int_eq(try_login(first, &(struct ini_login){ .target = T_MAIN }), 0);
	i = connect_to(j->group2 ? strict.port2 : strict.port);
	memcpy(i->isid, first->isid, 6);
	i->isid[5] ^= j->other_isid ? 0x55 : 0;
	i->tsih = (uint16_t)(first->tsih + 1000u * j->tsih_add);
	i->cid = j->cid;
	status = try_login(i, &l);
	ck_assert_msg(status == j->status, "%s: status %04x", j->name, (unsigned)status);
	expect_close(i);
	still_works(first);
}
END_TEST

START_TEST(too_many_sessions)
{
	COVERS("L-024");
	struct ini *a = session(T_LIMITED), *b = session(T_LIMITED);
	struct ini *c = connect_to(server.port);
	struct ini_login l = { .target = T_LIMITED };

	ck_assert_int_eq(try_login(c, &l), LOGIN_OUT_OF_RESOURCES);
	expect_close(c);
	still_works(a);
	still_works(b);
}
END_TEST

/* Of one name, whatever the target; others, and its discovery sessions, are not concerned. */
START_TEST(too_many_of_one_initiator)
{
	COVERS("L-024");
	struct ini_login l = { .initiator = BASE "greedy", .target = T_MAIN };
	struct ini_login look = { .initiator = "iqn.2004-01.example:greedy" };
	struct ini_login other = { .initiator = BASE "modest", .target = T_MAIN };
	struct ini *i = NULL;

	for (unsigned n = 0; n < STRICT_OWN; n++) {
		i = connect_to(strict.port);
		ck_assert_int_eq(try_login(i, &l), 0);
	}
	ck_assert_int_eq(try_login(connect_to(strict.port), &l), LOGIN_OUT_OF_RESOURCES);
	ck_assert_int_eq(try_login(connect_to(strict.port), &other), 0);
	ck_assert_int_eq(try_login(connect_to(strict.port), &look), 0);
	still_works(i);
}
END_TEST

START_TEST(data_segment_too_long)
{
	COVERS("L-077 E-019");
	static const uint32_t lengths[] = { 8193, 65536, 0xffffff };
	struct ini *i = connect_to(server.port);
	struct bhs_login_request h;
	uint8_t bytes[1024] = { 0 };

	ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
	put_be24(h.data_segment_length, lengths[_i]);
	ck_assert(!ini_send_bytes(i, &h, sizeof(h)));
	ini_send_bytes(i, bytes, sizeof(bytes));
	expect_close(i);
}
END_TEST

/* Text without end: ended by the target before it has grown large. */
START_TEST(text_without_end)
{
	COVERS("L-080");
	struct ini *i = connect_to(server.port);
	struct bhs_login_request h;
	uint8_t data[8192];
	struct ini_pdu p;
	unsigned n;
	int rc = 1;

	memset(data, 'a', sizeof(data));
	for (n = 0; n < 128 && rc == 1; n++) {
		ini_login_header(i, &h, 0, 0, false);
		h.flags = ISCSI_CONTINUE | OP_STEP;
		if (ini_send(i, (uint8_t *)&h, data, sizeof(data)))
			break;
		rc = ini_receive(i, &p, patience(INI_WAIT_MS));
		if (rc == 1 && login_status(&p))
			rc = login_status(&p) >> 8 == 2 || login_status(&p) >> 8 == 3 ? 0 : 1;
		if (rc >= 0)
			ini_pdu_free(&p);
	}
	ck_assert_msg(n < 128, "1 MiB of text was taken");
	expect_close(i);
}
END_TEST

START_TEST(exchanges_without_end)
{
	COVERS("L-080 L-071");
	struct ini *i = connect_to(server.port);
	unsigned n;

	login_step(i, OP_STEP, NAMES(T_MAIN));
	for (n = 0; n < 200; n++)
		if (login_status(login_step(i, OP_STEP, "")))
			break;
	ck_assert_msg(n < 200, "200 requests without end were answered");
	expect_close(i);
}
END_TEST

/* A digest that is required, and one that is not offered by us. */
START_TEST(digest_required)
{
	COVERS("T-030 T-031");
	static const struct {
		const char *target, *keys;
		bool refused;
	} rows[] = {
		{ T_DIGEST, "HeaderDigest=None\nDataDigest=None", true },
		{ T_DIGEST, "HeaderDigest=CRC32C\nDataDigest=None", true },
		{ T_DIGEST, "HeaderDigest=None,CRC32C\nDataDigest=None,CRC32C", false },
		{ T_NO_DIGEST, "HeaderDigest=CRC32C,None\nDataDigest=CRC32C,None", false },
	};

	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct ini *i = connect_to(server.port);
		struct ini_login l = { .target = rows[n].target, .keys = rows[n].keys };
		int status = try_login(i, &l);

		ck_assert_msg(rows[n].refused ? status >> 8 == 2 : !status, "%s with %s: %04x",
			      rows[n].target, rows[n].keys, (unsigned)status);
		if (status)
			continue;
		ck_assert(i->header_digest == !strcmp(rows[n].target, T_DIGEST));
		still_works(i);
	}
}
END_TEST

void login_refused_suite(TCase *c)
{
	add_table(c, refuses, refused);
	add(c, name_too_long);
	add_table(c, second_request, seconds);
	add_rows(c, first_pdu_is_no_login, 9);
	add(c, first_bytes_are_garbage);
	add_rows(c, no_login_within_login, 7);
	add(c, login_within_full_feature);
	add_table(c, cannot_join, joins);
	add(c, too_many_sessions);
	add(c, too_many_of_one_initiator);
	add_rows(c, data_segment_too_long, 3);
	add(c, text_without_end);
	add(c, exchanges_without_end);
	add(c, digest_required);
}
