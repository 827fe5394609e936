/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logins and first commands as initiators that are not to be had here send them: names, ISID,
 * stages, keys in their order, the first CDBs. No answer may surprise them: no key that they did
 * not offer, no Reject, no Irrelevant; one response for each request, which they read in one piece.
 */
#include "tests/initiator/chap.h"
#include "tests/protocol/protocol.h"

#define NORMAL "SessionType=Normal\n"

#define LINUX_KEYS                                                                                 \
	"HeaderDigest=None\nDataDigest=None\nDefaultTime2Wait=2\nDefaultTime2Retain=0\n"           \
	"IFMarker=No\nOFMarker=No\nErrorRecoveryLevel=0\nInitialR2T=No\nImmediateData=Yes\n"       \
	"MaxBurstLength=16776192\nFirstBurstLength=262144\nMaxOutstandingR2T=1\n"                  \
	"MaxConnections=1\nDataPDUInOrder=Yes\nDataSequenceInOrder=Yes\n"                          \
	"MaxRecvDataSegmentLength=262144"
#define ESX_KEYS                                                                                   \
	"HeaderDigest=None\nDataDigest=None\nDefaultTime2Wait=0\nDefaultTime2Retain=0\n"           \
	"IFMarker=No\nOFMarker=No\nErrorRecoveryLevel=0\n"
#define ESX_NORMAL                                                                                 \
	ESX_KEYS "InitialR2T=No\nImmediateData=Yes\nMaxBurstLength=262144\n"                       \
		 "FirstBurstLength=262144\nMaxOutstandingR2T=1\nMaxConnections=1\n"                \
		 "DataPDUInOrder=Yes\nDataSequenceInOrder=Yes\nMaxRecvDataSegmentLength=131072"
#define WINDOWS_KEYS                                                                               \
	"HeaderDigest=None,CRC32C\nDataDigest=None,CRC32C\nErrorRecoveryLevel=2\nInitialR2T=No\n"  \
	"ImmediateData=Yes\nMaxRecvDataSegmentLength=65536\nMaxBurstLength=262144\n"               \
	"FirstBurstLength=65536\nMaxConnections=8\nDefaultTime2Wait=0\nDefaultTime2Retain=60\n"    \
	"MaxOutstandingR2T=16\nDataPDUInOrder=Yes\nDataSequenceInOrder=Yes"
#define IPXE_KEYS                                                                                  \
	"HeaderDigest=None\nDataDigest=None\nMaxConnections=1\nInitialR2T=Yes\nImmediateData=No\n" \
	"MaxRecvDataSegmentLength=8192\nMaxBurstLength=262144\nFirstBurstLength=65536\n"           \
	"DefaultTime2Wait=0\nDefaultTime2Retain=0\nMaxOutstandingR2T=1\nDataPDUInOrder=Yes\n"      \
	"DataSequenceInOrder=Yes\nErrorRecoveryLevel=0"
#define MAC_KEYS                                                                                   \
	"MaxConnections=1\nInitialR2T=Yes\nImmediateData=Yes\nMaxBurstLength=262144\n"             \
	"FirstBurstLength=65536\nMaxOutstandingR2T=1\nDataPDUInOrder=Yes\n"                        \
	"DataSequenceInOrder=Yes\nDefaultTime2Wait=2\nDefaultTime2Retain=20\n"                     \
	"ErrorRecoveryLevel=0\nHeaderDigest=None\nDataDigest=None\nMaxRecvDataSegmentLength=8192"
#define LIBISCSI_KEYS                                                                              \
	"DataDigest=None\nInitialR2T=No\nImmediateData=Yes\nMaxBurstLength=262144\n"               \
	"FirstBurstLength=262144\nDefaultTime2Wait=2\nDefaultTime2Retain=0\n"                      \
	"MaxOutstandingR2T=1\nErrorRecoveryLevel=0\nIFMarker=No\nOFMarker=No\nMaxConnections=1\n"  \
	"MaxRecvDataSegmentLength=262144\nDataPDUInOrder=Yes\nDataSequenceInOrder=Yes"

#define INQUIRIES   "12 01 00 00 ff 00", "12 01 80 00 ff 00", "12 01 83 00 ff 00"
#define CAPACITY_10 "25 00 00 00 00 00 00 00 00 00"
#define CAPACITY_16 "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00"

static const struct client {
	const char *name, *initiator;
	uint8_t isid[6];
	struct {
		uint8_t flags;
		const char *text; /* behind InitiatorName=... */
	} steps[3];
	bool apart, discovery, proves; /* apart: header and data are two segments */
	uint32_t cmdsn;
	const char *cdbs[12]; /* what is asked of LUN 0 first; 255 bytes at most come */
} clients[] = {
	{ .name = "ESXi, discovery",
	  .initiator = "iqn.1998-01.com.vmware:localhost-7c2d1a33",
	  .isid = { 0, 2, 0x3d },
	  .steps = { { OP_TO_FULL,
		       "SessionType=Discovery\n" ESX_KEYS "MaxRecvDataSegmentLength=32768" } },
	  .cmdsn = 1,
	  .apart = true,
	  .discovery = true },
	{ .name = "ESXi",
	  .initiator = "iqn.1998-01.com.vmware:localhost-7c2d1a33",
	  .isid = { 0, 2, 0x3d, 0, 0, 1 },
	  .steps = { { OP_TO_FULL, "TargetName=" T_MAIN "\n" NORMAL ESX_NORMAL } },
	  .cmdsn = 1,
	  .apart = true,
	  .cdbs = { "a0 00 00 00 00 00 00 00 08 08 00 00", "12 00 00 00 ff 00", "12 20 00 00 ff 00",
		    INQUIRIES, "00 00 00 00 00 00", "1a 08 0a 00 10 00", CAPACITY_10, CAPACITY_16,
		    "28 00 00 00 08 80 00 00 01 00" } },
	{ .name = "open-iscsi, discovery",
	  .initiator = "iqn.1993-08.org.debian:01:guest",
	  .isid = { 0, 2, 0x3d },
	  .steps = { { OP_TO_FULL,
		       "InitiatorAlias=guest\nSessionType=Discovery\nHeaderDigest=None\n"
		       "DataDigest=None\nDefaultTime2Wait=2\nDefaultTime2Retain=0\nIFMarker=No\n"
		       "OFMarker=No\nErrorRecoveryLevel=0\nMaxRecvDataSegmentLength=32768" } },
	  .cmdsn = 1,
	  .discovery = true },
	{ .name = "open-iscsi",
	  .initiator = "iqn.1993-08.org.debian:01:guest",
	  .isid = { 0, 2, 0x3d, 0, 0, 1 },
	  .steps = { { OP_TO_FULL,
		       "InitiatorAlias=guest\nTargetName=" T_MAIN "\n" NORMAL LINUX_KEYS } },
	  .cmdsn = 1,
	  .cdbs = { "12 00 00 00 24 00", "12 00 00 00 60 00", "a0 00 00 00 00 00 00 00 10 00 00 00",
		    INQUIRIES, "00 00 00 00 00 00", CAPACITY_16, "1a 00 3f 00 04 00",
		    "1a 00 08 00 c0 00" } },
	{ .name = "open-iscsi, CHAP",
	  .initiator = "iqn.1993-08.org.debian:01:guest",
	  .isid = { 0, 2, 0x3d, 0, 0, 2 },
	  .steps = { { SECURITY_TO_OP, "TargetName=" T_CHAP "\n" NORMAL "AuthMethod=CHAP,None" },
		     { OP_TO_FULL, LINUX_KEYS } },
	  .cmdsn = 1,
	  .proves = true,
	  .cdbs = { "12 00 00 00 24 00" } },
	{ .name = "Windows",
	  .initiator = "iqn.1991-05.com.microsoft:host.corp.example",
	  .isid = { 0x40, 0, 1, 0x37, 0, 0 },
	  .steps = { { SECURITY_TO_OP, NORMAL "TargetName=" T_MAIN "\nAuthMethod=None" },
		     { OP_TO_FULL, WINDOWS_KEYS } },
	  .cdbs = { "a0 00 00 00 00 00 00 00 10 00 00 00", "12 00 00 00 ff 00", INQUIRIES,
		    CAPACITY_10, CAPACITY_16, "1a 00 08 00 c0 00", "1a 00 3f 00 c0 00",
		    "12 01 b0 00 ff 00" } },
	{ .name = "Windows, CHAP",
	  .initiator = "iqn.1991-05.com.microsoft:host.corp.example",
	  .isid = { 0x40, 0, 1, 0x37, 0, 1 },
	  .steps = { { SECURITY_TO_OP, NORMAL "TargetName=" T_CHAP "\nAuthMethod=CHAP,None" },
		     { OP_TO_FULL, WINDOWS_KEYS } },
	  .proves = true,
	  .cdbs = { "12 00 00 00 ff 00" } },
	{ .name = "iPXE",
	  .initiator = "iqn.2010-04.org.ipxe:guest",
	  .isid = { 0x40, 0, 0x2f, 0x18, 0x12, 0x34 },
	  .steps = { { SECURITY_TO_OP, "TargetName=" T_MAIN "\n" NORMAL "AuthMethod=None" },
		     { OP_TO_FULL, IPXE_KEYS } },
	  .cdbs = { "00 00 00 00 00 00", CAPACITY_10, CAPACITY_16,
		    "28 00 00 00 00 00 00 00 01 00" } },
	{ .name = "iPXE, CHAP", /* T in each request */
	  .initiator = "iqn.2010-04.org.ipxe:guest",
	  .isid = { 0x40, 0, 0x2f, 0x18, 0x12, 0x35 },
	  .steps = { { SECURITY_TO_OP, "TargetName=" T_CHAP "\n" NORMAL "AuthMethod=CHAP,None" },
		     { OP_TO_FULL, IPXE_KEYS } },
	  .proves = true,
	  .cdbs = { "00 00 00 00 00 00" } },
	{ .name = "macOS", /* the order is that of a hash table */
	  .initiator = "iqn.2015-01.com.localhost:initiator",
	  .isid = { 0x80, 0, 0, 0, 0, 1 },
	  .steps = { { SECURITY_TO_OP, "AuthMethod=None\nInitiatorAlias=mac\nTargetName=" T_MAIN
				       "\nSessionType=Normal" },
		     { OP_TO_FULL, MAC_KEYS } },
	  .cdbs = { "12 00 00 00 24 00", "00 00 00 00 00 00", CAPACITY_10, CAPACITY_16,
		    "1a 00 3f 00 c0 00", "1a 00 08 00 c0 00", "1b 00 00 00 01 00",
		    "35 00 00 00 00 00 00 00 00 00" } },
	{ .name = "libiscsi",
	  .initiator = "iqn.2008-11.org.linux-kvm:guest",
	  .isid = { 0x80, 0x12, 0x34, 0x56, 0, 0 },
	  .steps = { { OP_TO_FULL, "InitiatorAlias=guest\nTargetName=" T_MAIN "\n" NORMAL
				   "HeaderDigest=None,CRC32C\n" LIBISCSI_KEYS } },
	  .cdbs = { "00 00 00 00 00 00", "12 01 80 00 ff 00", "12 00 00 00 60 00", CAPACITY_16,
		    "1a 08 3f 00 ff 00", "12 01 00 00 ff 00", "12 01 b2 00 ff 00",
		    "12 01 b0 00 ff 00", "12 01 83 00 ff 00" } },
	{ .name = "libiscsi, CHAP",
	  .initiator = "iqn.2008-11.org.linux-kvm:guest",
	  .isid = { 0x80, 0x12, 0x34, 0x57, 0, 0 },
	  .steps = { { SECURITY_TO_OP, "TargetName=" T_CHAP "\n" NORMAL "AuthMethod=CHAP,None" },
		     { OP_TO_FULL, "HeaderDigest=None,CRC32C\n" LIBISCSI_KEYS } },
	  .proves = true,
	  .cdbs = { "00 00 00 00 00 00" } },
	{ .name = "boot ROM",
	  .initiator = "iqn.1986-03.com.example:rom",
	  .isid = { 0, 0x11, 0x22, 0x33, 0x44, 0x55 },
	  .steps = { { OP_TO_FULL, "TargetName=" T_MAIN "\nMaxRecvDataSegmentLength=512" } },
	  .cdbs = { "03 00 00 00 12 00", "12 00 00 00 ff 00", "12 01 83 00 ff 00", CAPACITY_10 } },
};

static void send_step(struct ini *i, const struct client *c, uint8_t flags, const char *text)
{
	struct bhs_login_request h;
	uint8_t data[2048] = { 0 };
	uint32_t n = ini_pairs(text, data, sizeof(data));

	ini_login_header(i, &h, 0, 0, false);
	h.flags = flags;
	if (!c->apart) {
		ck_assert(!ini_send(i, (uint8_t *)&h, data, n));
		return;
	}
	put_be24(h.data_segment_length, n);
	ck_assert(!ini_send_bytes(i, &h, sizeof(h)));
	ck_assert(await_pdu(i, 50) == NULL);
	ck_assert(!ini_send_bytes(i, data, n + (-n & 3)));
}

/* Every pair is one that the client can make something of. */
static void check_answer(const struct client *c, const struct ini_pdu *p, const char *sent)
{
	ck_assert_msg(!login_status(p), "%s: status %04x", c->name, (unsigned)login_status(p));
	ck_assert_uint_eq(p->bhs[1] & ISCSI_CONTINUE, 0);
	for (uint32_t at = 0; at < p->length; at += (uint32_t)strlen((char *)p->data + at) + 1) {
		const char *pair = (char *)p->data + at, *eq = strchr(pair, '=');
		char key[64];

		ck_assert_msg(eq != NULL, "%s: \"%s\"", c->name, pair);
		snprintf(key, sizeof(key), "%.*s", (int)(eq + 1 - pair), pair);
		ck_assert_msg(strstr(sent, key) || !strncmp(key, "CHAP_", 5) ||
				  !strcmp(key, "TargetPortalGroupTag=") ||
				  !strcmp(key, "TargetAlias="),
			      "%s did not ask for %s", c->name, pair);
		ck_assert_msg(strcmp(eq, "=Reject") && strcmp(eq, "=Irrelevant") &&
				  strcmp(eq, "=NotUnderstood"),
			      "%s: %s", c->name, pair);
	}
}

/* From AuthMethod=CHAP to the end of the stage; T as the client sets it. */
static void prove(struct ini *i, const struct client *c, bool always_t)
{
	const struct ini_pdu *p =
	    login_step(i, always_t ? SECURITY_TO_OP : SECURITY_STEP, "CHAP_A=5");
	char text[256];

	check_answer(c, p, "CHAP_A=5");
	ck_assert_uint_eq(p->bhs[1], 0);
	ck_assert_uint_eq(strlen(ini_value(p, "CHAP_C")), 34);
	snprintf(text, sizeof(text), "CHAP_N=user\nCHAP_R=%s",
		 ini_chap_response(5, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"), CHAP_SECRET,
				   false));
	p = login_step(i, SECURITY_TO_OP, text);
	check_answer(c, p, text);
	ck_assert_uint_eq(p->bhs[1], SECURITY_TO_OP);
}

static void take(const struct ini_pdu *p, const char *key, uint32_t *to)
{
	if (ini_value(p, key))
		*to = (uint32_t)strtoul(ini_value(p, key), NULL, 0);
}

/* One request and its answer; false: the stage goes on with CHAP. */
static bool step(struct ini *i, const struct client *c, unsigned n, const char *text)
{
	const char *mine = strstr(text, "MaxRecvDataSegmentLength=");
	const struct ini_pdu *p;

	send_step(i, c, c->steps[n].flags, text);
	p = expect(i, ISCSI_OP_LOGIN_RESPONSE);
	check_answer(c, p, text);
	if (!n && !c->discovery)
		ck_assert_str_eq(ini_value(p, "TargetPortalGroupTag"), "1");
	if (!n && c->proves) {
		ck_assert_uint_eq(p->bhs[1], 0);
		ck_assert_str_eq(ini_value(p, "AuthMethod"), "CHAP");
		return false;
	}
	ck_assert_uint_eq(p->bhs[1], c->steps[n].flags);
	take(p, "MaxRecvDataSegmentLength", &i->max_send);
	take(p, "MaxBurstLength", &i->max_burst);
	i->tsih = get_be16(bhs_of(p, bhs_login_response)->tsih);
	if (mine)
		i->max_recv = (uint32_t)strtoul(strchr(mine, '=') + 1, NULL, 0);
	return true;
}

static void log_in(struct ini *i, const struct client *c)
{
	for (unsigned n = 0; n < 3 && c->steps[n].text; n++) {
		char text[2048];

		snprintf(text, sizeof(text), "%s%s%s%s",
			 n ? "" : "InitiatorName=", n ? "" : c->initiator, n ? "" : "\n",
			 c->steps[n].text);
		if (!step(i, c, n, text))
			prove(i, c, strstr(c->name, "iPXE"));
	}
	ck_assert_uint_ne(i->tsih, 0);
	i->full_feature = true;
	i->itt++;
}

/* In order, one PDU, then a logout that closes. */
static void discover(struct ini *i)
{
	struct bhs_logout_request l;
	const struct ini_pdu *p;
	struct bhs_text h;

	ini_text(i, &h, false);
	ck_assert(!ini_send(i, (uint8_t *)&h, "SendTargets=All", 16));
	p = expect(i, ISCSI_OP_TEXT_RESPONSE);
	ck_assert_uint_eq(p->bhs[1], ISCSI_FINAL);
	ck_assert_str_eq(ini_value(p, "TargetAddress") ? "told" : "none", "told");
	ini_logout(i, &l, LOGOUT_CLOSE_SESSION);
	ck_assert(!ini_send(i, (uint8_t *)&l, NULL, 0));
	ck_assert_uint_eq(expect(i, ISCSI_OP_LOGOUT_RESPONSE)->bhs[2], LOGOUT_RSP_SUCCESS);
	expect_close(i);
}

START_TEST(client)
{
	COVERS("L-011 L-056 T-026 T-100 N-040 C-036");
	const struct client *c = &clients[_i];
	struct ini *i = connect_to(server.port);
	static uint8_t in[4096];

	memcpy(i->isid, c->isid, 6);
	i->cmdsn = c->cmdsn;
	log_in(i, c);
	if (c->discovery) {
		discover(i);
		return;
	}
	for (unsigned n = 0; n < 12 && c->cdbs[n]; n++) {
		bool is_read = strncmp(c->cdbs[n], "00", 2) && strncmp(c->cdbs[n], "1b", 2) &&
			       strncmp(c->cdbs[n], "35", 2);
		struct ini_scsi s;
		int tries = 0;

		do {
			cdb_of(&s, c->cdbs[n]);
			s.in = is_read ? in : NULL;
			s.edtl = is_read ? sizeof(in) : 0;
			ck_assert(!ini_scsi(i, &s));
		} while (s.status == 2 && ini_sense(&s) >> 16 == 6 && ++tries < 8);
		ck_assert_msg(!s.status, "%s: %s: sense %06x", c->name, c->cdbs[n], ini_sense(&s));
		ck_assert(!is_read || s.received);
	}
	ck_assert_msg(!i->violations, "%s", i->violation);
}
END_TEST

/* Two discoveries within seconds, as ESXi rescans: with the ISID of a normal session or not, that
 * one stays. */
START_TEST(rescan)
{
	COVERS("N-036");
	struct ini *normal = connect_to(server.port);

	memcpy(normal->isid, clients[0].isid, 6);
	normal->cmdsn = 1;
	log_in(normal, &clients[1]);
	for (unsigned n = 0; n < 2; n++) {
		struct ini *i = connect_to(server.port);

		memcpy(i->isid, clients[0].isid, 6);
		i->cmdsn = 1;
		log_in(i, &clients[0]);
		discover(i);
		still_works(normal);
	}
}
END_TEST

void replay_suite(TCase *c)
{
	add_table(c, client, clients);
	add(c, rescan);
}
