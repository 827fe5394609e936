/* SPDX-License-Identifier: BSD-2-Clause */
/* The SCSI Command PDU: flags, tags, segments, attributes, immediate delivery. */
#include "tests/protocol/protocol.h"

enum { TUR, READ_ONE, WRITE_ONE };

static const struct odd {
	const char *name;
	uint32_t flags; /* byte 1, whole */
	uint32_t command;
	uint32_t edtl, data;
	uint32_t itt;    /* 0: a good one */
	uint16_t reject; /* 0: status instead */
	uint16_t status;
} odds[] = {
	{ "no F, no W", 0x41, READ_ONE, 512, 0, 0, REJECT_INVALID_PDU_FIELD, 0 },
	{ "neither R nor W, data expected", 0x81, TUR, 512, 0, 0, REJECT_INVALID_PDU_FIELD, 0 },
	{ "data without W", 0xc1, READ_ONE, 512, 512, 0, REJECT_INVALID_PDU_FIELD, 0 },
	{ "more data than expected", 0xa1, WRITE_ONE, 512, 1024, 0, REJECT_INVALID_PDU_FIELD, 0 },
	{ "R and W without AHS", 0xe1, WRITE_ONE, 512, 0, 0, REJECT_INVALID_PDU_FIELD, 0 },
	{ "attribute 5", 0x85, TUR, 0, 0, 0, REJECT_PROTOCOL_ERROR, 0 },
	{ "attribute 7", 0x87, TUR, 0, 0, 0, REJECT_PROTOCOL_ERROR, 0 },
	{ "reserved tag", 0x81, TUR, 0, 0, 0xffffffff, REJECT_INVALID_PDU_FIELD, 0 },
	{ "untagged", 0x80, TUR, 0, 0, 0, 0, 0 },
	{ "SIMPLE", 0x81, TUR, 0, 0, 0, 0, 0 },
	{ "ORDERED", 0x82, TUR, 0, 0, 0, 0, 0 },
	{ "HEAD OF QUEUE", 0x83, TUR, 0, 0, 0, 0, 0 },
	{ "reserved flags", 0x99, TUR, 0, 0, 0, 0, 0 },
	{ "R with nothing expected", 0xc1, TUR, 0, 0, 0, 0, 0 },
};

/* A rejected command has not been received: its CmdSN is still to be used. */
START_TEST(flags_and_lengths)
{
	COVERS("P-003 P-004 P-011 P-017 P-042 P-043 P-045 P-046 P-049 P-156 P-158 P-162 E-018");
	static const uint8_t cdbs[][10] = { { 0 }, { READ10, [8] = 1 }, { WRITE10, [8] = 1 } };
	const struct odd *o = &odds[_i];
	struct ini *i = session(T_MAIN);
	uint8_t data[1024] = { 0 };
	struct bhs_scsi_command h;
	const struct ini_pdu *p;
	uint32_t cmdsn;

	ready(i, LUN_RAM);
	cmdsn = i->cmdsn;
	ini_command(i, &h, LUN_RAM, 0, o->edtl, cdbs[o->command], 10);
	h.flags = (uint8_t)o->flags;
	if (o->itt)
		put_be32(h.itt, o->itt);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, o->data));
	if (!o->reject) {
		expect_status(i, get_be32(h.itt), (uint8_t)o->status);
		return;
	}
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_msg(p->bhs[2] == o->reject, "%s: Reject %02x", o->name, p->bhs[2]);
	ck_assert_msg(!memcmp(p->data, &h, sizeof(h)), "%s: not its header", o->name);
	ck_assert_uint_eq(get_be32(p->bhs + 28), cmdsn);
	i->cmdsn = cmdsn;
	ready(i, LUN_RAM);
}
END_TEST

/* A command with the immediate bit, as adapters send it: carried out, and CmdSN stays. */
START_TEST(immediate_write)
{
	COVERS("P-028 P-029 fault-A01");
	struct ini *i = session(T_MAIN);
	uint8_t data[512];
	struct ini_scsi c;
	uint32_t cmdsn;

	ready(i, LUN_RAM);
	cmdsn = i->cmdsn;
	for (unsigned n = 0; n < 3; n++) {
		fill(data, sizeof(data), 10 + n);
		rw10(&c, WRITE10, LUN_RAM, 5000 + n, 1, data);
		c.immediate = true;
		run_good(i, &c);
		ck_assert_uint_eq(i->exp_cmdsn, cmdsn);
	}
	ck_assert_uint_eq(i->cmdsn, cmdsn);
	expect_content(i, LUN_RAM, 5002, 1, data);
}
END_TEST

/* More immediate commands than are kept: refused, the rest goes on. */
START_TEST(immediate_flood)
{
	COVERS("P-030 P-031");
	struct ini *i = session(T_MAIN);
	unsigned rejected = 0, good = 0;
	struct bhs_tmf_request t;
	bool answered = false;
	uint8_t block[512];
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	for (unsigned n = 0; n < 40; n++) {
		rw10(&c, READ10, LUN_FAULT, FAULT_SLOW, 1, block);
		c.immediate = true;
		ck_assert(!ini_scsi_start(i, &c));
	}
	/* There is room for a function and a ping nevertheless. */
	ini_tmf(i, &t, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	ck_assert(!ini_send(i, (uint8_t *)&t, NULL, 0));
	while (rejected + good < 40 || !answered) {
		const struct ini_pdu *p = await_pdu(i, patience(INI_WAIT_MS));

		ck_assert(p != NULL);
		if (p->bhs[0] == ISCSI_OP_REJECT) {
			ck_assert_uint_eq(p->bhs[2], REJECT_IMMEDIATE);
			rejected++;
		} else if (p->bhs[0] == ISCSI_OP_TMF_RESPONSE) {
			ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
			ck_assert_uint_eq(good, 0);
			answered = true;
		} else {
			ck_assert_uint_eq(p->bhs[0], ISCSI_OP_DATA_IN);
			good++;
		}
	}
	ck_assert_uint_ge(good, 1);
	ck_assert_uint_ge(rejected, 1);
	still_works(i);
}
END_TEST

/* A tag that is in use: the retry of the very command is ignored, another one is refused. */
START_TEST(tag_in_use)
{
	COVERS("P-012 P-033 E-011 P-024");
	struct ini *i = session(T_MAIN);
	struct bhs_scsi_command h;
	uint8_t block[512];
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_SLOW, 1, block);
	ini_command(i, &h, LUN_FAULT, ISCSI_CMD_READ, 512, c.cdb, 10);
	start(i, &h);
	start(i, &h);
	expect_nothing(i);
	put_be32(h.cmdsn, i->cmdsn);
	start(i, &h);
	expect_reject(i, REJECT_TASK_IN_PROGRESS);
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_DATA_IN), bhs_data_in, itt), get_be32(h.itt));
	expect_nothing(i); /* it came once */
}
END_TEST

struct ahs_row {
	const char *name;
	uint8_t length, bytes[32]; /* TotalAHSLength in bytes */
	uint8_t reject;            /* 0: the command is run, and is unknown */
	uint8_t cdb7;
};

static const struct ahs_row ahs_rows[] = {
	{ "length 0", 4, { 0, 0, 1, 0 }, 1, 0 },
	{ "length 0xffff", 4, { 0xff, 0xff, 1, 0 }, 1, 0 },
	{ "longer than all", 8, { 0, 9, 1, 0 }, 1, 0 },
	{ "one byte, no CDB", 4, { 0, 1, 1, 0 }, 1, 24 },
	{ "type unknown", 4, { 0, 1, 0x3f, 0 }, 1, 0 },
	{ "type 0", 4, { 0, 1, 0, 0 }, 1, 0 },
	{ "twice", 8, { 0, 1, 1, 0, 0, 1, 1, 0 }, 1, 0 },
	{ "CDB and its length differ", 12, { 0, 9, 1, 0 }, 1, 24 },
	{ "bidirectional, 4 bytes", 8, { 0, 4, 2, 0 }, 1, 0 },
	{ "32 bytes of CDB", 20, { 0, 17, 1, 0 }, 0, 24 },
};

START_TEST(segments)
{
	COVERS("P-013 P-014 P-016 fault-A03");
	const struct ahs_row *a = &ahs_rows[_i];
	struct ini *i = session(T_MAIN);
	struct bhs_scsi_command h;
	uint8_t cdb[16] = { 0x7f };
	const struct ini_pdu *p;
	uint32_t cmdsn;

	ready(i, LUN_RAM);
	cmdsn = i->cmdsn;
	cdb[7] = a->cdb7;
	ini_command(i, &h, LUN_RAM, 0, 0, cdb, 16);
	ck_assert(!ini_send_ahs(i, (uint8_t *)&h, a->bytes, a->length, NULL, 0));
	if (!a->reject) {
		p = expect(i, ISCSI_OP_SCSI_RESPONSE);
		ck_assert_msg(sense_of(p) == 0x052000, "%s: sense %06x", a->name, sense_of(p));
		return;
	}
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_msg(p->bhs[2] == REJECT_PROTOCOL_ERROR || p->bhs[2] == REJECT_INVALID_PDU_FIELD,
		      "%s: Reject %02x", a->name, p->bhs[2]);
	ck_assert_msg(p->length == 48u + a->length, "%s: %u bytes of its header", a->name,
		      p->length);
	i->cmdsn = cmdsn;
	ready(i, LUN_RAM);
}
END_TEST

/* Data in both directions: no such command is offered, and a SCSI Response says so, with both
 * residuals empty. */
START_TEST(bidirectional)
{
	COVERS("P-067 P-081");
	struct ini *i = session(T_MAIN);
	uint8_t ahs[8] = { 0, 5, 2, 0, 0, 0, 2, 0 }, cdb[16] = { 0x53, [8] = 1 };
	const struct bhs_scsi_response *r;
	struct bhs_scsi_command h;
	const struct ini_pdu *p;

	ready(i, LUN_RAM);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ | ISCSI_CMD_WRITE, 512, cdb, 10);
	ck_assert(!ini_send_ahs(i, (uint8_t *)&h, ahs, sizeof(ahs), NULL, 0));
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	r = bhs_of(p, bhs_scsi_response);
	ck_assert_uint_eq(sense_of(p), 0x052000);
	ck_assert_uint_eq(r->flags & 0x18, 0); /* o, u */
	ck_assert_uint_eq(get_be32(r->bidi_residual), 0);
	still_works(i);
}
END_TEST

/* Whatever goes wrong with a command is told by its status: the response code is always 0. */
START_TEST(no_response_code)
{
	COVERS("P-058");
	static const struct {
		uint8_t opcode;
		uint32_t lba;
	} rows[] = {
		{ READ10, FAULT_READ },
		{ WRITE10, FAULT_WRITE },
		{ READ10, 0x7fffffff },
		{ 0xff, 0 },
	};
	struct ini *i = session(T_MAIN);
	uint8_t block[512] = { 0 };
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		rw10(&c, rows[n].opcode, LUN_FAULT, rows[n].lba, 1, block);
		ck_assert(!ini_scsi(i, &c));
		ck_assert_uint_eq(c.response, 0);
		ck_assert_uint_eq(c.status, 2);
	}
}
END_TEST

/* The longest AHS there can be, with digests and without. */
START_TEST(longest_segment)
{
	COVERS("P-018 T-057");
	for (unsigned n = 0; n < 2; n++) {
		struct ini *i = session_keys(T_MAIN, n ? "HeaderDigest=CRC32C\nDataDigest=CRC32C"
						       : "HeaderDigest=None");
		uint8_t ahs[1020] = { 3, 0xf9, 1 }, cdb[16] = { 0x7f, [7] = 0xff };
		struct bhs_scsi_command h;

		ready(i, LUN_RAM);
		ini_command(i, &h, LUN_RAM, 0, 0, cdb, 16);
		i->cmdsn--;
		ck_assert(!ini_send_ahs(i, (uint8_t *)&h, ahs, sizeof(ahs), NULL, 0));
		expect(i, ISCSI_OP_REJECT);
		/* 260 bytes of CDB are as long as it gets: 16 and 244 in the segment. */
		ini_command(i, &h, LUN_RAM, 0, 0, cdb, 16);
		h.cdb[7] = 252;
		put_be16(ahs, 245);
		ck_assert(!ini_send_ahs(i, (uint8_t *)&h, ahs, 248, NULL, 0));
		ck_assert_uint_eq(sense_of(expect(i, ISCSI_OP_SCSI_RESPONSE)), 0x052000);
	}
}
END_TEST

/* An initiator that acknowledges late, or never: nothing waits for it. */
START_TEST(acknowledged_late)
{
	COVERS("fault-A10 P-041");
	struct ini *i = session(T_MAIN);
	unsigned sent = 0, done = 0;
	struct bhs_scsi_command h;
	uint32_t exp_statsn;
	struct ini_scsi c;

	ready(i, LUN_RAM);
	exp_statsn = i->exp_statsn;
	rw10(&c, READ10, LUN_RAM, 0, 1, NULL);
	while (done < 512) {
		const struct ini_pdu *p;

		while (sent < 512 && sna_diff(i->cmdsn, i->max_cmdsn) <= 0) {
			ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
			put_be32(h.exp_statsn, exp_statsn);
			start(i, &h);
			sent++;
		}
		p = expect(i, ISCSI_OP_DATA_IN);
		done += p->bhs[1] & 1;
	}
	/* And one that acknowledges what was never sent. */
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	put_be32(h.exp_statsn, i->exp_statsn + 1000);
	start(i, &h);
	expect(i, ISCSI_OP_DATA_IN);
	still_works(i);
}
END_TEST

/* Reserved bytes of requests mean nothing; where the priority is with RFC 7144 among them. */
START_TEST(reserved_bytes)
{
	COVERS("P-003 F-001 F-005");
	struct ini *i = session(T_MAIN);
	struct bhs_tmf_request t;
	struct bhs_logout_request l;
	struct bhs_scsi_command h;
	uint8_t cdb[16] = { 0 };
	struct bhs_nop n;

	ready(i, LUN_RAM);
	ini_command(i, &h, LUN_RAM, 0, 0, cdb, 16);
	memset(h.reserved, 0xff, sizeof(h.reserved));
	memset(h.cdb + 6, 0xff, 10); /* behind a CDB of six bytes */
	start(i, &h);
	expect_status(i, get_be32(h.itt), 0);
	ini_nop(i, &n, true);
	memset(n.reserved, 0xff, sizeof(n.reserved));
	memset(n.sn3, 0xff, 16);
	n.flags = 0xff;
	ck_assert(!ini_send(i, (uint8_t *)&n, NULL, 0));
	expect(i, ISCSI_OP_NOP_IN);
	ini_tmf(i, &t, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	memset(t.reserved, 0xff, sizeof(t.reserved));
	memset(t.reserved2, 0xff, sizeof(t.reserved2));
	ck_assert(!ini_send(i, (uint8_t *)&t, NULL, 0));
	ck_assert_uint_eq(expect(i, ISCSI_OP_TMF_RESPONSE)->bhs[2], 0);
	ini_logout(i, &l, LOGOUT_CLOSE_SESSION);
	memset(l.reserved, 0xff, sizeof(l.reserved));
	memset(l.reserved2, 0xff, sizeof(l.reserved2));
	memset(l.reserved4, 0xff, sizeof(l.reserved4));
	ck_assert(!ini_send(i, (uint8_t *)&l, NULL, 0));
	ck_assert_uint_eq(expect(i, ISCSI_OP_LOGOUT_RESPONSE)->bhs[2], 0);
}
END_TEST

void command_suite(TCase *c)
{
	add_table(c, flags_and_lengths, odds);
	add(c, immediate_write);
	add(c, immediate_flood);
	add(c, tag_in_use);
	add_table(c, segments, ahs_rows);
	add(c, longest_segment);
	add(c, bidirectional);
	add(c, no_response_code);
	add(c, acknowledged_late);
	add(c, reserved_bytes);
}
