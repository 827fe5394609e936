/* SPDX-License-Identifier: BSD-2-Clause */
/* PDUs that no target takes. */
#include "tests/protocol/protocol.h"

static const struct refusal {
	uint8_t opcode;
	uint8_t reason;
} refusals[] = {
	{ 0x07, REJECT_NOT_SUPPORTED },  { 0x0f, REJECT_NOT_SUPPORTED },
	{ 0x11, REJECT_NOT_SUPPORTED },  { 0x1c, REJECT_NOT_SUPPORTED },
	{ 0x1e, REJECT_NOT_SUPPORTED },  { 0x20, REJECT_NOT_SUPPORTED },
	{ 0x21, REJECT_NOT_SUPPORTED },  { 0x25, REJECT_NOT_SUPPORTED },
	{ 0x31, REJECT_NOT_SUPPORTED },  { 0x3f, REJECT_NOT_SUPPORTED },
	{ 0x03, REJECT_PROTOCOL_ERROR },
};

/* Immediate and not, with data and without: the header comes back, CmdSN stays. */
START_TEST(not_taken)
{
	COVERS("P-009 P-156 P-157 P-158 P-161 P-162 L-004");
	const struct refusal *r = &refusals[_i];
	struct ini *i = session(T_MAIN);
	const struct ini_pdu *p;
	uint8_t data[1000];

	fill(data, sizeof(data), 7);
	ready(i, LUN_RAM);
	for (unsigned n = 0; n < 4; n++) {
		uint32_t length = n & 2 ? sizeof(data) : 0, statsn = i->exp_statsn;
		struct bhs h = { .opcode = (uint8_t)(r->opcode | (n & 1 ? ISCSI_IMMEDIATE : 0)),
				 .flags = ISCSI_FINAL };

		put_be32(h.itt, i->itt++);
		put_be32(h.cmdsn, i->cmdsn);
		put_be32(h.word20, ISCSI_TAG_RESERVED);
		put_be32(h.exp_statsn, i->exp_statsn);
		ck_assert(!ini_send(i, (uint8_t *)&h, data, length));
		p = expect(i, ISCSI_OP_REJECT);
		ck_assert_msg(p->bhs[2] == r->reason, "opcode %02x: reason %02x", h.opcode,
			      p->bhs[2]);
		ck_assert_uint_eq(p->length, ISCSI_BHS_SIZE);
		ck_assert(!memcmp(p->data, &h, ISCSI_BHS_SIZE));
		ck_assert_uint_eq(get_be32(p->bhs + 24), statsn);
		ck_assert_uint_eq(get_be32(p->bhs + 28), i->cmdsn);
	}
	ready(i, LUN_RAM);
}
END_TEST

START_TEST(snack)
{
	COVERS("P-150 P-158 E-018");
	struct ini *i = session(T_MAIN);

	ready(i, LUN_RAM);
	for (uint8_t type = 0; type < 16; type++) {
		struct bhs h = { .opcode = ISCSI_OP_SNACK, .flags = (uint8_t)(ISCSI_FINAL | type) };
		const struct ini_pdu *p;

		put_be32(h.itt, ISCSI_TAG_RESERVED);
		put_be32(h.word20, ISCSI_TAG_RESERVED);
		put_be32(h.exp_statsn, i->exp_statsn);
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
		p = expect(i, ISCSI_OP_REJECT);
		ck_assert_msg(p->bhs[2] >= 3 && p->bhs[2] <= 5, "type %u: %02x", type, p->bhs[2]);
	}
	ready(i, LUN_RAM);
}
END_TEST

/* Longer than declared: refused or closed, never taken. */
START_TEST(data_segment_too_long)
{
	COVERS("T-073 E-001");
	static const struct {
		const char *target;
		uint8_t opcode;
		uint32_t length;
	} rows[] = {
		{ T_MAIN, ISCSI_OP_NOP_OUT, 262144 + 4 },
		{ T_MAIN, ISCSI_OP_TEXT_REQUEST, 0xffffff },
		{ T_SMALL, ISCSI_OP_NOP_OUT, SMALL_RECV + 4 },
		{ T_SMALL, ISCSI_OP_SCSI_COMMAND, SMALL_RECV + 1 },
		{ T_SMALL, ISCSI_OP_DATA_OUT, 65536 },
	};
	struct ini *i = session(rows[_i].target), *other = session(rows[_i].target);
	struct bhs h = { .opcode = (uint8_t)(rows[_i].opcode | ISCSI_IMMEDIATE),
			 .flags = ISCSI_FINAL };
	static uint8_t data[65536];

	put_be32(h.itt, i->itt++);
	put_be32(h.cmdsn, i->cmdsn);
	put_be24(h.data_segment_length, rows[_i].length);
	ck_assert(!ini_send_bytes(i, &h, sizeof(h)));
	ini_send_bytes(i, data, sizeof(data));
	expect_close(i);
	still_works(other);
}
END_TEST

START_TEST(reserved_tag)
{
	COVERS("P-011");
	static const uint8_t opcodes[] = { ISCSI_OP_SCSI_COMMAND, ISCSI_OP_TMF_REQUEST,
					   ISCSI_OP_TEXT_REQUEST, ISCSI_OP_LOGOUT_REQUEST };
	struct ini *i = session(T_MAIN);

	for (unsigned n = 0; n < sizeof(opcodes); n++) {
		struct bhs h = { .opcode = (uint8_t)(opcodes[n] | ISCSI_IMMEDIATE),
				 .flags = ISCSI_FINAL };

		put_be32(h.itt, ISCSI_TAG_RESERVED);
		put_be32(h.word20, ISCSI_TAG_RESERVED);
		put_be32(h.cmdsn, i->cmdsn);
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
		expect_reject(i, REJECT_INVALID_PDU_FIELD);
	}
	still_works(i);
}
END_TEST

void reject_suite(TCase *c)
{
	add_table(c, not_taken, refusals);
	add(c, snack);
	add_rows(c, data_segment_too_long, 5);
	add(c, reserved_tag);
}
