/* SPDX-License-Identifier: BSD-2-Clause */
/* Text negotiation of full-feature phase. */
#include "tests/protocol/protocol.h"

struct request {
	uint32_t itt, ttt;
	uint8_t flags;
	bool in_order; /* not immediate */
	uint64_t lun;
};

static uint32_t send_text(struct ini *i, const struct request *r, const char *lines)
{
	uint8_t data[8192];
	struct bhs_text h;

	ini_text(i, &h, !r->in_order);
	h.flags = r->flags;
	if (r->itt)
		put_be32(h.itt, r->itt);
	put_be32(h.ttt, r->ttt ? r->ttt : ISCSI_TAG_RESERVED);
	put_be64(h.lun, r->lun);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, ini_pairs(lines, data, sizeof(data))));
	return get_be32(h.itt);
}

static const struct ini_pdu *ask(struct ini *i, const struct request *r, const char *lines)
{
	uint32_t itt = send_text(i, r, lines);
	const struct ini_pdu *p = expect(i, ISCSI_OP_TEXT_RESPONSE);

	ck_assert_uint_eq(be32_of(p, bhs_text, itt), itt);
	return p;
}

static const struct ini_pdu *ask_final(struct ini *i, const char *lines)
{
	return ask(i, &(struct request){ .flags = ISCSI_FINAL }, lines);
}

/* The largest Data-In of a READ of 64 KiB. */
static uint32_t data_in_size(struct ini *i)
{
	static uint8_t data[65536];
	struct ini_scsi c;

	rw10(&c, READ10, LUN_RAM, 0, 128, data);
	run_good(i, &c);
	return 65536 / c.n_data_in;
}

START_TEST(declare_in_full_feature)
{
	COVERS("T-039 T-041 T-074 P-127 P-128 P-037");
	struct ini *i = session(T_MAIN);
	const struct ini_pdu *p;

	ready(i, LUN_RAM);
	ck_assert_uint_eq(data_in_size(i), 65536);
	p = ask_final(i, "MaxRecvDataSegmentLength=8192");
	ck_assert_uint_eq(p->bhs[1], ISCSI_FINAL);
	ck_assert_uint_eq(be32_of(p, bhs_text, ttt), ISCSI_TAG_RESERVED);
	i->max_recv = 8192;
	ck_assert_uint_eq(data_in_size(i), 8192);
	ask_final(i, "MaxRecvDataSegmentLength=32768");
	i->max_recv = 32768;
	ck_assert_uint_eq(data_in_size(i), 32768);
}
END_TEST

START_TEST(two_steps)
{
	COVERS("T-037 T-038 T-039 T-040 T-043 P-129");
	struct ini *i = session(T_MAIN);
	struct request r = { 0 };
	const struct ini_pdu *p;

	ready(i, LUN_RAM);
	p = ask(i, &r, "MaxRecvDataSegmentLength=4096");
	ck_assert_uint_eq(p->bhs[1] & ISCSI_FINAL, 0);
	r.ttt = be32_of(p, bhs_text, ttt);
	ck_assert_uint_ne(r.ttt, ISCSI_TAG_RESERVED);
	r.itt = be32_of(p, bhs_text, itt);
	r.lun = get_be64(bhs_of(p, bhs_text)->lun);
	ck_assert_uint_eq(data_in_size(i), 65536); /* not in force yet */
	r.flags = ISCSI_FINAL;
	p = ask(i, &r, "");
	ck_assert_uint_eq(p->bhs[1], ISCSI_FINAL);
	i->max_recv = 4096;
	ck_assert_uint_eq(data_in_size(i), 4096);
}
END_TEST

START_TEST(continued)
{
	COVERS("T-015 T-016 T-005");
	struct ini *i = session(T_MAIN);
	struct request r = { .flags = ISCSI_CONTINUE };
	const struct ini_pdu *p;
	struct bhs_text h;
	static const char key[] = "MaxRecvDataSegm";

	ini_text(i, &h, true);
	h.flags = ISCSI_CONTINUE;
	ck_assert(!ini_send(i, (uint8_t *)&h, key, sizeof(key) - 1));
	p = expect(i, ISCSI_OP_TEXT_RESPONSE);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_eq(p->bhs[1] & ISCSI_FINAL, 0);
	r.ttt = be32_of(p, bhs_text, ttt);
	ck_assert_uint_ne(r.ttt, ISCSI_TAG_RESERVED);
	r.itt = get_be32(h.itt);
	r.flags = ISCSI_FINAL;
	p = ask(i, &r, "entLength=16384");
	ck_assert_str_eq(ini_value(p, "MaxRecvDataSegmentLength"), "262144");
	i->max_recv = 16384;
	ready(i, LUN_RAM);
	ck_assert_uint_eq(data_in_size(i), 16384);
	send_text(i, &(struct request){ .flags = ISCSI_CONTINUE | ISCSI_FINAL }, "a=b");
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	still_works(i);
}
END_TEST

/* What may not be said here; nothing changes by it. */
static const struct bad {
	const char *text;
	const char *key; /* an answer of Reject for this key does as well */
} bad[] = {
	{ "MaxConnections=4", "MaxConnections" },
	{ "HeaderDigest=CRC32C", "HeaderDigest" },
	{ "DataDigest=CRC32C", "DataDigest" },
	{ "InitialR2T=No", "InitialR2T" },
	{ "MaxBurstLength=512", "MaxBurstLength" },
	{ "ErrorRecoveryLevel=1", "ErrorRecoveryLevel" },
	{ "SessionType=Discovery", "SessionType" },
	{ "InitiatorName=" BASE "test", "InitiatorName" },
	{ "TargetName=" T_MAIN, "TargetName" },
	{ "TargetAlias=mine", "TargetAlias" },
	{ "TargetAddress=127.0.0.1:3260,1", "TargetAddress" },
	{ "TargetPortalGroupTag=1", "TargetPortalGroupTag" },
	{ "AuthMethod=None", "AuthMethod" },
	{ "X#NodeArchitecture=a", "X#NodeArchitecture" },
	{ "MaxRecvDataSegmentLength=511", "MaxRecvDataSegmentLength" },
	{ "MaxRecvDataSegmentLength=16777216", "MaxRecvDataSegmentLength" },
	{ "MaxRecvDataSegmentLength=4096\nMaxRecvDataSegmentLength=4096", NULL },
	{ "MaxRecvDataSegmentLength=4096\nMaxBurstLength=512", "MaxBurstLength" },
	{ "MaxRecvDataSegmentLength=4096\nFoo", NULL },
	{ "MaxRecvDataSegmentLength=Irrelevant", NULL },
	{ "Foo", NULL },
	{ "SendTargets=\nMaxRecvDataSegmentLength=4096", NULL },
};

START_TEST(refused_here)
{
	COVERS("T-004 T-022 T-024 T-042 T-049 T-050 T-053 T-063 T-086 T-104");
	struct ini *i = session(T_MAIN);
	const struct ini_pdu *p;
	const char *v;

	ready(i, LUN_RAM);
	send_text(i, &(struct request){ .flags = ISCSI_FINAL }, bad[_i].text);
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert_msg(p != NULL, "%s: no answer", bad[_i].text);
	if (p->bhs[0] == ISCSI_OP_REJECT) {
		ck_assert_uint_eq(p->bhs[2], REJECT_PROTOCOL_ERROR);
	} else {
		v = bad[_i].key ? ini_value(p, bad[_i].key) : NULL;
		ck_assert_msg(v && !strcmp(v, "Reject"), "%s: %s", bad[_i].text, v ? v : "nothing");
	}
	if (p->bhs[0] == ISCSI_OP_REJECT || !strstr(bad[_i].text, "=4096"))
		ck_assert_uint_eq(data_in_size(i), 65536);
}
END_TEST

START_TEST(unknown_keys)
{
	COVERS("T-020 T-087 T-003");
	struct ini *i = session(T_MAIN);
	const struct ini_pdu *p = ask_final(i, "FooBar=1\nX-com.example.a=b=c\nInitiatorAlias=x");

	ck_assert_str_eq(ini_value(p, "FooBar"), "NotUnderstood");
	ck_assert_str_eq(ini_value(p, "X-com.example.a"), "NotUnderstood");
	ck_assert(ini_value(p, "InitiatorAlias") == NULL);
}
END_TEST

START_TEST(tags)
{
	COVERS("T-044 T-045 T-046");
	struct ini *i = session(T_MAIN);
	struct request r = { 0 };
	const struct ini_pdu *p;

	send_text(i, &(struct request){ .flags = ISCSI_FINAL, .ttt = 0x1234 }, "a=b");
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
	/* Another ITT with the TTT of a sequence. */
	p = ask(i, &r, "MaxRecvDataSegmentLength=4096");
	send_text(i,
		  &(struct request){
		      .flags = ISCSI_FINAL, .ttt = be32_of(p, bhs_text, ttt), .itt = 0xabcdef },
		  "");
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
	/* A new beginning forgets what was said. */
	p = ask(i, &r, "MaxRecvDataSegmentLength=4096");
	r.itt = be32_of(p, bhs_text, itt);
	r.flags = ISCSI_FINAL;
	p = ask(i, &r, "MaxRecvDataSegmentLength=16384");
	ck_assert_uint_eq(p->bhs[1], ISCSI_FINAL);
	i->max_recv = 16384;
	ready(i, LUN_RAM);
	ck_assert_uint_eq(data_in_size(i), 16384);
	/* Its TTT is stale now. */
	r.ttt = be32_of(p, bhs_text, ttt) == ISCSI_TAG_RESERVED ? 1 : be32_of(p, bhs_text, ttt);
	send_text(i, &r, "");
	expect_reject(i, REJECT_INVALID_PDU_FIELD);
}
END_TEST

START_TEST(two_at_once)
{
	COVERS("T-018 T-019 P-021");
	struct ini *i = session(T_MAIN);
	struct request r = { .flags = ISCSI_FINAL };
	uint32_t a = send_text(i, &r, "FooBar=1"), b = send_text(i, &r, "FooBar=2");

	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_TEXT_RESPONSE), bhs_text, itt), a);
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_TEXT_RESPONSE), bhs_text, itt), b);
	still_works(i);
}
END_TEST

/* In CmdSN order like everything that is not immediate. */
START_TEST(not_immediate)
{
	COVERS("P-021 P-108");
	struct ini *i = session(T_MAIN);
	uint32_t before = i->cmdsn;
	const struct ini_pdu *p =
	    ask(i, &(struct request){ .flags = ISCSI_FINAL, .in_order = true }, "FooBar=1");

	ck_assert_uint_eq(get_be32(p->bhs + 28), before + 1);
	still_works(i);
}
END_TEST

/* Text without end. */
START_TEST(too_long)
{
	COVERS("T-047");
	struct ini *i = session(T_MAIN);
	static char text[8000];
	struct request r = { .flags = ISCSI_CONTINUE };
	unsigned n;

	memset(text, 'a', sizeof(text) - 1);
	for (n = 0; n < 64; n++) {
		uint32_t itt = send_text(i, &r, text);
		const struct ini_pdu *p = await_pdu(i, patience(INI_WAIT_MS));

		ck_assert(p != NULL);
		if (p->bhs[0] == ISCSI_OP_REJECT) {
			ck_assert_uint_eq(p->bhs[2], REJECT_OUT_OF_RESOURCES);
			break;
		}
		r.itt = itt;
		r.ttt = be32_of(p, bhs_text, ttt);
	}
	ck_assert_msg(n < 64, "512 KiB of text were taken");
	still_works(i);
}
END_TEST

void text_suite(TCase *c)
{
	add(c, declare_in_full_feature);
	add(c, two_steps);
	add(c, continued);
	add_table(c, refused_here, bad);
	add(c, unknown_keys);
	add(c, tags);
	add(c, two_at_once);
	add(c, not_immediate);
	add(c, too_long);
}
