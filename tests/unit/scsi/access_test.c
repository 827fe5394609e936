/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What conflicts with what, for every command that is there: the tables of SPC-4 5.13, SBC-3 4.17
 * and SPC-2 5.5, written down once more by opcode.
 */
#include "tests/unit/scsi/pr_fixture.h"

/* By opcode: n nothing conflicts, a RESERVE(6) only, r exclusive access too, w write exclusive too;
 * in the order of the table. */
static const struct {
	uint8_t opcode;
	char access;
} expected[] = {
	{ 0x00, 'a' }, { 0x03, 'n' }, { 0x08, 'r' }, { 0x0a, 'w' }, { 0x12, 'n' }, { 0x15, 'w' },
	{ 0x16, 'n' }, { 0x17, 'n' }, { 0x1a, 'r' }, { 0x25, 'a' }, { 0x28, 'r' }, { 0x2a, 'w' },
	{ 0x2e, 'w' }, { 0x2f, 'r' }, { 0x34, 'r' }, { 0x35, 'w' }, { 0x41, 'w' }, { 0x42, 'w' },
	{ 0x55, 'w' }, { 0x56, 'n' }, { 0x57, 'n' }, { 0x5a, 'r' }, { 0x5e, 'a' }, { 0x5f, 'a' },
	{ 0x88, 'r' }, { 0x89, 'w' }, { 0x8a, 'w' }, { 0x8b, 'w' }, { 0x8e, 'w' }, { 0x8f, 'r' },
	{ 0x90, 'r' }, { 0x91, 'w' }, { 0x93, 'w' }, { 0x9c, 'w' }, { 0xa0, 'n' }, { 0xa8, 'r' },
	{ 0xaa, 'w' }, { 0xae, 'w' }, { 0xaf, 'r' },
};

static uint32_t conflicts_of(char access)
{
	switch (access) {
	case 'n':
		return 0;
	case 'a':
		return GATE_RESERVED;
	case 'r':
		return GATE_RESERVED | GATE_NO_READ;
	default:
		return GATE_RESERVED | GATE_NO_READ | GATE_NO_WRITE;
	}
}

static char expect(uint8_t opcode)
{
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (expected[i].opcode == opcode)
			return expected[i].access;
	return 0;
}

START_TEST(every_command)
{
	COVERS("SR-001 SR-002 SR-003 SR-004 SR-007 SR-008 SR-009");
	static const uint8_t cdb[16];
	const struct scsi_op *op;
	unsigned n;

	for (op = scsi_op_table(&n); n; n--, op++) {
		uint32_t conflicts = scsi_access_conflicts(op, cdb);

		if (expect(op->opcode))
			ck_assert_msg(conflicts == conflicts_of(expect(op->opcode)), "%s: %x",
				      op->name, conflicts);
		/* Whatever is not written down here: what changes the medium is a writer. */
		if (op->flags & OP_CHANGES)
			ck_assert_msg(conflicts & GATE_NO_WRITE, "%s", op->name);
	}
}
END_TEST

/* Two commands whose CDB decides. */
START_TEST(by_cdb)
{
	COVERS("SR-010 SR-011");
	uint8_t cdb[6] = { 0x1b };

	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(A, PR_RESERVE, PR_EXCLUSIVE_ACCESS, KEY_A, 0);
	for (unsigned i = 0; i < 256; i++) {
		unsigned r;

		cdb[4] = (uint8_t)i;
		r = pr_result(fx_task(B, cdb, 6));
		ck_assert_msg((r == CONFLICT) == ((i & 0xf1) != 0x01), "START STOP %02x: %x", i, r);
	}
	cdb[0] = 0x1e;
	for (cdb[4] = 0; cdb[4] < 4; cdb[4]++)
		ck_result(pr_result(fx_task(B, cdb, 6)), cdb[4] ? CONFLICT : 0u);
	fx_teardown();
}
END_TEST

/* Three kinds of command against each type, by holder, registrant and stranger. */
START_TEST(every_type)
{
	COVERS("SR-012 SR-013 SR-007 SR-008");
	for (int i = 0; i < PR_TYPES; i++) {
		uint8_t type = pr_types[i];
		bool exclusive = type == PR_EXCLUSIVE_ACCESS || type == PR_EXCLUSIVE_ACCESS_RO ||
				 type == PR_EXCLUSIVE_ACCESS_AR;
		bool free = pr_registrants(type);

		fx_setup(BACKING_INLINE);
		pr_good(A, PR_REGISTER, 0, 0, KEY_A);
		pr_good(B, PR_REGISTER, 0, 0, KEY_B);
		pr_good(A, PR_RESERVE, type, KEY_A, 0);
		ck_result(pr_writes(A), 0);
		ck_result(pr_reads(A), 0);
		ck_result(pr_writes(B), free ? 0u : CONFLICT);
		ck_result(pr_reads(B), free || !exclusive ? 0u : CONFLICT);
		ck_result(pr_writes(C), CONFLICT);
		ck_result(pr_reads(C), exclusive ? CONFLICT : 0u);
		ck_result(pr_result(fx_tur(C)), 0);
		fx_teardown();
	}
}
END_TEST

UNIT_MAIN("scsi/access", every_command, by_cdb, every_type)
