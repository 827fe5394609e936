/* SPDX-License-Identifier: BSD-2-Clause */
/* The login phase where it goes well: stages, headers, numbering, who is let in. */
#include "tests/protocol/protocol.h"

/* A normal session that is fully logged in counts. */
static void in_full_feature(struct ini *i)
{
	i->full_feature = true;
	i->itt++;
	still_works(i);
}

static const struct accepted {
	const char *name;
	uint8_t flags;
	const char *text;
	uint8_t version_max, opcode;
	uint16_t cid;
	uint32_t exp_statsn;
} accepted[] = {
	{ "CSG 1 to 3", OP_TO_FULL, NAMES(T_MAIN) },
	{ "CSG 0 to 3", SECURITY_TO_FULL, NAMES(T_MAIN) "\nAuthMethod=None" },
	{ "CSG 0 to 3, no method offered", SECURITY_TO_FULL, NAMES(T_MAIN) },
	{ "CHAP or None", SECURITY_TO_FULL, NAMES(T_MAIN) "\nAuthMethod=CHAP,None" },
	{ "method unknown, or None", SECURITY_TO_FULL, NAMES(T_MAIN) "\nAuthMethod=KRB5,None" },
	{ "newer version", OP_TO_FULL, NAMES(T_MAIN), .version_max = 0xff },
	{ "not immediate", OP_TO_FULL, NAMES(T_MAIN), .opcode = ISCSI_OP_LOGIN_REQUEST },
	{ "CID 0xffff", OP_TO_FULL, NAMES(T_MAIN), .cid = 0xffff },
	{ "ExpStatSN of old", OP_TO_FULL, NAMES(T_MAIN), .exp_statsn = 0xdeadbeef },
	{ "discovery", OP_TO_FULL, "InitiatorName=" BASE "test\nSessionType=Discovery" },
	{ "discovery with a target", OP_TO_FULL, NAMES(T_MAIN) "\nSessionType=Discovery" },
	{ "normal, said so", OP_TO_FULL, NAMES(T_MAIN) "\nSessionType=Normal" },
	{ "names last", OP_TO_FULL,
	  "SessionType=Normal\nInitialR2T=Yes\nTargetName=" T_MAIN "\nInitiatorName=" BASE "test" },
	{ "eui", OP_TO_FULL, "InitiatorName=eui.02004567a425678d\nTargetName=" T_MAIN },
	{ "naa", OP_TO_FULL, "InitiatorName=naa.52004567ba64678d\nTargetName=" T_MAIN },
	{ "naa of 32 digits", OP_TO_FULL,
	  "InitiatorName=naa.62004567ba64678d0123456789abcdef\nTargetName=" T_MAIN },
	{ "only a friend", OP_TO_FULL, "InitiatorName=" FRIEND "\nTargetName=" T_FRIENDS },
	{ "alias of a friend", OP_TO_FULL, NAMES(T_MAIN) "\nInitiatorAlias=" FRIEND },
	{ "upper case", OP_TO_FULL,
	  "InitiatorName=IQN.2026-01.ORG.Example:Friend7\nTargetName=" T_FRIENDS },
};

START_TEST(accepts)
{
	COVERS("L-009 L-010 L-032 L-044 L-046 L-056 L-061 L-063 L-064 L-092 N-008 N-042 C-002 "
	       "C-003");
	const struct accepted *a = &accepted[_i];
	struct ini *i = connect_to(server.port);
	const struct bhs_login_response *r;
	struct bhs_login_request h;
	const struct ini_pdu *p;
	uint8_t data[1024];

	i->cid = a->cid;
	ini_login_header(i, &h, 0, 0, false);
	h.flags = a->flags;
	h.version_max = a->version_max;
	if (a->opcode)
		h.opcode = a->opcode;
	put_be32(h.exp_statsn, a->exp_statsn);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, ini_pairs(a->text, data, sizeof(data))));
	p = expect(i, ISCSI_OP_LOGIN_RESPONSE);
	r = bhs_of(p, bhs_login_response);
	ck_assert_msg(login_status(p) == 0, "%s: status %04x", a->name, (unsigned)login_status(p));
	ck_assert_msg(r->flags == a->flags, "%s: flags %02x", a->name, r->flags);
	ck_assert_msg(get_be16(r->tsih) != 0, "%s: no TSIH", a->name);
	ck_assert_uint_eq(get_be32(r->exp_cmdsn), i->cmdsn);
	if (strstr(a->text, "Discovery"))
		return;
	in_full_feature(i);
	ready(i, LUN_RAM); /* CmdSN is the one of the login still */
}
END_TEST

/* Replay of an ESXi discovery login, header and data 50 ms apart on the wire. */
START_TEST(header_and_data_apart)
{
	COVERS("N-019");
	static const char keys[] =
	    "InitiatorName=iqn.1998-01.com.vmware:localhost-1\nSessionType=Discovery\n"
	    "HeaderDigest=None\nDataDigest=None\nDefaultTime2Wait=2\nDefaultTime2Retain=0\n"
	    "IFMarker=No\nOFMarker=No\nErrorRecoveryLevel=0\nMaxRecvDataSegmentLength=32768";
	struct ini *i = connect_to(server.port);
	struct bhs_login_request h;
	uint8_t data[1024] = { 0 };
	uint32_t n = ini_pairs(keys, data, sizeof(data));
	const struct ini_pdu *p;

	ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
	memcpy(h.isid, "\x00\x02\x3d\x00\x00\x00", 6);
	put_be24(h.data_segment_length, n);
	ck_assert(!ini_send_bytes(i, &h, sizeof(h)));
	ck_assert(await_pdu(i, 50) == NULL);
	ck_assert(!ini_send_bytes(i, data, n + (-n & 3)));
	p = expect(i, ISCSI_OP_LOGIN_RESPONSE);
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_uint_eq(p->bhs[1], OP_TO_FULL);
	ck_assert_str_eq(ini_value(p, "HeaderDigest"), "None");
	ck_assert_str_eq(ini_value(p, "IFMarker"), "No");
	ck_assert_str_eq(ini_value(p, "ErrorRecoveryLevel"), "0");
	ck_assert_str_eq(ini_value(p, "DefaultTime2Wait"), "2");
	ck_assert(ini_value(p, "MaxRecvDataSegmentLength") != NULL);
	ck_assert(ini_value(p, "TargetName") == NULL);
}
END_TEST

/* Two stages in six exchanges; the numbers and names of each answer. */
START_TEST(six_exchanges)
{
	COVERS("L-005 L-034 L-039 L-043 L-047 L-048 L-053 L-055 L-074 L-082 L-011 T-064 N-040 "
	       "N-041");
	static const struct {
		uint8_t flags;
		const char *text;
	} steps[] = {
		{ SECURITY_STEP, NAMES(T_MAIN) },
		{ SECURITY_STEP, "AuthMethod=None" },
		{ SECURITY_TO_OP, "" },
		{ OP_STEP, "MaxBurstLength=65536" },
		{ OP_STEP, "FirstBurstLength=4096" },
		{ OP_TO_FULL, "InitialR2T=No" },
	};
	struct ini *i = connect_to(server.port);
	uint32_t statsn = 0;
	unsigned tags = 0, aliases = 0;

	for (unsigned n = 0; n < 6; n++) {
		const struct ini_pdu *p = login_step(i, steps[n].flags, steps[n].text);
		const struct bhs_login_response *r = bhs_of(p, bhs_login_response);

		ck_assert_int_eq(login_status(p), 0);
		ck_assert_uint_eq(r->flags, steps[n].flags);
		ck_assert_uint_eq(get_be32(r->itt), i->itt);
		ck_assert_uint_eq(get_be32(r->exp_cmdsn), 1);
		ck_assert(!memcmp(r->isid, i->isid, 6));
		ck_assert((get_be16(r->tsih) != 0) == (n == 5));
		if (n)
			ck_assert_uint_eq(get_be32(r->statsn), statsn + 1);
		statsn = get_be32(r->statsn);
		tags += ini_value(p, "TargetPortalGroupTag") != NULL;
		aliases += ini_value(p, "TargetAlias") != NULL;
		ck_assert(ini_value(p, "TargetName") == NULL);
		if (!n)
			ck_assert_str_eq(ini_value(p, "TargetPortalGroupTag"), "1");
		if (!n)
			ck_assert_str_eq(ini_value(p, "TargetAlias"), T_MAIN_ALIAS);
	}
	ck_assert_uint_eq(tags, 1);
	ck_assert_uint_eq(aliases, 1);
	in_full_feature(i);
	ck_assert_uint_eq(i->exp_statsn, statsn + 2);
}
END_TEST

START_TEST(each_key_in_an_exchange_of_its_own)
{
	COVERS("L-070 T-103");
	struct ini *i = connect_to(server.port);
	char text[64];

	login_step(i, OP_STEP, NAMES(T_MAIN));
	for (unsigned n = 0; n < 25; n++) {
		snprintf(text, sizeof(text), "X-org.example.key%u=1", n);
		ck_assert_int_eq(login_status(login_step(i, OP_STEP, text)), 0);
	}
	ck_assert_int_eq(login_status(login_step(i, OP_TO_FULL, "")), 0);
	in_full_feature(i);
}
END_TEST

/* Two requests at once: answered one by one, or refused. */
START_TEST(pipelined_requests)
{
	COVERS("L-006");
	struct ini *i = connect_to(server.port);
	struct bhs_login_request h;
	uint8_t data[1024], both[4096] = { 0 };
	size_t at = 0;
	int status;

	for (int n = 0; n < 2; n++) {
		uint32_t length =
		    ini_pairs(n ? "MaxBurstLength=4096" : NAMES(T_MAIN), data, sizeof(data));

		ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, n);
		put_be24(h.data_segment_length, length);
		memcpy(both + at, &h, sizeof(h));
		memcpy(both + at + sizeof(h), data, length);
		at += sizeof(h) + length + (-length & 3);
	}
	ck_assert(!ini_send_bytes(i, both, at));
	ck_assert_int_eq(login_status(expect(i, ISCSI_OP_LOGIN_RESPONSE)), 0);
	status = login_status(expect(i, ISCSI_OP_LOGIN_RESPONSE));
	ck_assert_msg(status == 0 || status >> 8 == 2, "status %04x", (unsigned)status);
	if (!status)
		in_full_feature(i);
}
END_TEST

START_TEST(sessions_of_their_own)
{
	COVERS("L-014 L-037 L-038 L-040 N-014 S-003");
	struct ini *i[24];
	struct ini_login l = { .target = T_MAIN };

	for (unsigned n = 0; n < 24; n++) {
		i[n] = connect_to(server.port);
		memcpy(i[n]->isid, i[0]->isid, 6);
		if (n < 20)
			i[n]->isid[5] = (uint8_t)n;
		else if (n < 22)
			i[n]->isid[0] = n == 20 ? 0xc0 : 0x40; /* type 3 is reserved, 1 is EN */
		l.initiator = n < 22 ? NULL : n == 22 ? BASE "other1" : BASE "other2";
		ck_assert_int_eq(try_login(i[n], &l), 0);
		ck_assert_uint_ne(i[n]->tsih, 0);
		for (unsigned m = 0; m < n; m++)
			ck_assert_uint_ne(i[n]->tsih, i[m]->tsih);
	}
	for (unsigned n = 0; n < 24; n++)
		still_works(i[n]);
}
END_TEST

START_TEST(cmdsn_begins_where_the_login_says)
{
	COVERS("L-042 P-025");
	struct ini *i = connect_to(server.port);
	struct ini_login l = { .target = T_MAIN };
	uint8_t block[512];
	struct ini_scsi c;

	i->cmdsn = 0xfffffff0;
	ck_assert_int_eq(try_login(i, &l), 0);
	ck_assert_uint_eq(i->exp_cmdsn, 0xfffffff0);
	ready(i, LUN_RAM);
	for (unsigned n = 0; n < 40; n++) {
		rw10(&c, READ10, LUN_RAM, n, 1, block);
		run_good(i, &c);
	}
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	ck_assert_uint_lt(i->exp_cmdsn, 0x100);
}
END_TEST

/* A login that adds a connection with the CID of the old one takes its place. */
START_TEST(connection_reinstatement)
{
	COVERS("L-017 L-041 L-045 L-088 S-009 S-011 S-012 S-004");
	struct ini *old = connect_to(strict.port), *new = connect_to(strict.port);
	struct ini_login l = { .target = T_MAIN, .keys = "HeaderDigest=None" };
	const struct bhs_login_response *r;
	struct ini_pdu p;
	uint32_t itt;

	ck_assert_int_eq(try_login(old, &(struct ini_login){ .target = T_MAIN }), 0);
	ready(old, LUN_RAM);
	itt = start_write(old, LUN_RAM, 0, 128, true, NULL, 0);
	expect(old, ISCSI_OP_R2T);
	memcpy(new->isid, old->isid, 6);
	new->tsih = old->tsih;
	new->cmdsn = 7777; /* means nothing here */
	ck_assert_int_eq(ini_login(new, &l, &p), 0);
	r = bhs_of(&p, bhs_login_response);
	ck_assert_uint_eq(get_be16(r->tsih), old->tsih);
	ck_assert_uint_eq(get_be32(r->exp_cmdsn), old->cmdsn);
	ini_pdu_free(&p);
	expect_close(old);
	new->cmdsn = old->cmdsn;
	new->itt = itt + 1;
	ready(new, LUN_RAM);
	expect_nothing(new); /* the old task has gone without a word */
}
END_TEST

START_TEST(longest_names)
{
	COVERS("L-084");
	struct ini *i = connect_to(server.port);
	char name[224] = BASE;
	struct ini_login l = { .initiator = name, .target = T_MAIN };

	memset(name + strlen(BASE), 'a', 223 - strlen(BASE));
	ck_assert_uint_eq(strlen(name), 223);
	ck_assert_int_eq(try_login(i, &l), 0);
	still_works(i);
}
END_TEST

/* One step of a stranger after another: nothing of it is kept, and nobody else waits. */
START_TEST(half_done_logins_cost_nothing)
{
	COVERS("L-089 fault-D04");
	struct ini_login l = { .target = T_MAIN };
	struct ini *fresh;
	int64_t begin;

	for (unsigned n = 0; n < 200; n++) {
		struct ini *i = connect_to(strict.port);

		login_step(i, n % 2 ? SECURITY_STEP : OP_STEP, NAMES(T_MAIN));
		if (n % 3) {
			struct bhs_login_request h;

			ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
			ini_send_bytes(i, &h, 24); /* half a header */
		}
		ini_close(i);
	}
	begin = clock_ms();
	fresh = connect_to(strict.port);
	ck_assert_int_eq(try_login(fresh, &l), 0);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(1000));
	still_works(fresh);
}
END_TEST

/* Others in the midst of their logins do not hold up this one. */
START_TEST(many_half_done_logins_at_once)
{
	COVERS("fault-D04");
	struct ini_login l = { .target = T_MAIN };
	struct ini *fresh, *twin[2];
	int64_t begin;

	for (unsigned n = 0; n < 200; n++)
		login_step(connect_to(server.port), OP_STEP, NAMES(T_MAIN));
	begin = clock_ms();
	fresh = connect_to(server.port);
	ck_assert_int_eq(try_login(fresh, &l), 0);
	twin[0] = connect_to(server.port);
	twin[1] = connect_to(server.port);
	memcpy(twin[1]->isid, twin[0]->isid, 6);
	ck_assert_int_eq(try_login(twin[0], &l), 0);
	ck_assert_int_eq(try_login(twin[1], &l), 0);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(1000));
	expect_close(twin[0]);
	still_works(twin[1]);
	still_works(fresh);
}
END_TEST

void login_suite(TCase *c)
{
	add_table(c, accepts, accepted);
	add(c, header_and_data_apart);
	add(c, six_exchanges);
	add(c, each_key_in_an_exchange_of_its_own);
	add(c, pipelined_requests);
	add(c, sessions_of_their_own);
	add(c, cmdsn_begins_where_the_login_says);
	add(c, connection_reinstatement);
	add(c, longest_names);
	add(c, half_done_logins_cost_nothing);
	add(c, many_half_done_logins_at_once);
}
