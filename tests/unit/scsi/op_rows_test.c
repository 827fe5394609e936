/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each command on its way through the executor: bits that may not be set, reservations by class, a
 * unit attention before it, an LU that is not ready, and one that is not there.
 */
#include "tests/unit/scsi/exec_fixture.h"

enum class { ALWAYS, READS, WRITES };

static const struct {
	const char *covers;
	uint8_t opcode, action, length, byte4;
	enum class class;
	bool medium; /* needs one */
} rows[] = {
	{ "OP-001", 0x00, 0, 6, 0, ALWAYS, true },
	{ "OP-002", 0x03, 0, 6, 0, ALWAYS, false },
	{ "OP-005", 0x08, 0, 6, 1, READS, true },
	{ "OP-006", 0x0a, 0, 6, 1, WRITES, true },
	{ "OP-007", 0x12, 0, 6, 0, ALWAYS, false },
	{ "OP-008", 0x15, 0x10, 6, 0, WRITES, false },
	{ "OP-011", 0x1a, 0, 6, 0, READS, false },
	{ "OP-012", 0x1b, 0, 6, 0, WRITES, false },
	{ "OP-012", 0x1b, 0, 6, 1, ALWAYS, false },
	{ "OP-015", 0x1e, 0, 6, 1, WRITES, false },
	{ "OP-015", 0x1e, 0, 6, 0, ALWAYS, false },
	{ "OP-016", 0x25, 0, 10, 0, ALWAYS, true },
	{ "OP-017", 0x28, 0, 10, 0, READS, true },
	{ "OP-018", 0x2a, 0, 10, 0, WRITES, true },
	{ "OP-019", 0x2e, 0, 10, 0, WRITES, true },
	{ "OP-020", 0x2f, 0, 10, 0, READS, true },
	{ "OP-021", 0x34, 0, 10, 0, READS, true },
	{ "OP-022", 0x35, 0, 10, 0, WRITES, true },
	{ "OP-028", 0x41, 0, 10, 0, WRITES, true },
	{ "OP-029", 0x42, 0, 10, 0, WRITES, true },
	{ "OP-033", 0x55, 0x10, 10, 0, WRITES, false },
	{ "OP-036", 0x5a, 0, 10, 0, READS, false },
	{ "OP-046", 0x83, 0x10, 16, 0, WRITES, true },
	{ "OP-047", 0x83, 0x11, 16, 0, WRITES, true },
	{ "OP-054", 0x84, 0x08, 16, 0, ALWAYS, false },
	{ "OP-055", 0x88, 0, 16, 0, READS, true },
	{ "OP-056", 0x89, 0, 16, 0, WRITES, true },
	{ "OP-057", 0x8a, 0, 16, 0, WRITES, true },
	{ "OP-058", 0x8b, 0, 16, 0, WRITES, true },
	{ "OP-059", 0x8e, 0, 16, 0, WRITES, true },
	{ "OP-060", 0x8f, 0, 16, 0, READS, true },
	{ "OP-061", 0x90, 0, 16, 0, READS, true },
	{ "OP-062", 0x91, 0, 16, 0, WRITES, true },
	{ "OP-063", 0x93, 0, 16, 0, WRITES, true },
	{ "OP-065", 0x9e, 0x10, 16, 0, ALWAYS, true },
	{ "OP-067", 0x9e, 0x12, 16, 0, READS, true },
	{ "OP-069", 0xa0, 0, 12, 0, ALWAYS, false },
	{ "OP-073", 0xa3, 0x0c, 12, 0, ALWAYS, false },
	{ "OP-074", 0xa3, 0x0d, 12, 0, ALWAYS, false },
	{ "OP-081", 0xa8, 0, 12, 0, READS, true },
	{ "OP-082", 0xaa, 0, 12, 0, WRITES, true },
	{ "OP-084", 0xae, 0, 12, 0, WRITES, true },
	{ "OP-085", 0xaf, 0, 12, 0, READS, true },
};

static unsigned row; /* of the test that runs */

static bool without_lu(uint8_t opcode)
{
	return opcode == 0x03 || opcode == 0x12 || opcode == 0xa0;
}

/* One with nothing to move. flip: a bit, 0: none. The task is the caller's. */
static struct fake_task *run(uint64_t lun, unsigned byte, uint8_t flip)
{
	uint8_t cdb[16] = { rows[row].opcode };
	struct fake_task *f;

	cdb[1] = rows[row].action;
	cdb[4] = rows[row].byte4;
	cdb[byte] ^= flip;
	f = fake_task_new(&fx_nexus[0], lun, cdb, rows[row].length);
	scsi_submit(&f->t);
	fx_run(f);
	return f;
}

static void expect(struct fake_task *f, uint8_t key, uint16_t asc)
{
	ck_assert_msg(f->status == SCSI_CHECK_CONDITION && f->sense.key == key &&
			  f->sense.asc_ascq == asc,
		      "%s: status %02x sense %x/%04x, wanted %x/%04x", rows[row].covers, f->status,
		      f->sense.key, f->sense.asc_ascq, key, asc);
	fake_task_free(f);
}

/* With this bit in its gate: is it refused for a reservation? */
static bool conflicts(uint32_t gate)
{
	struct itl *itl = nexus_find(&fx_nexus[0], 0);
	struct fake_task *f;
	bool yes;

	atomic_fetch_or(&itl->gate, gate);
	f = run(0, 0, 0);
	yes = f->status == SCSI_RESERVATION_CONFLICT;
	fake_task_free(f);
	atomic_fetch_and(&itl->gate, ~gate);
	return yes;
}

/* NACA in the last byte: it is told with its place. The others: every_bit_of_every_cdb. */
static void naca(void)
{
	struct fake_task *f = run(0, rows[row].length - 1u, 0x04);

	ck_assert(f->sense.field_valid && f->sense.field_in_cdb);
	ck_assert_uint_eq(f->sense.field, rows[row].length - 1u);
	ck_assert(f->sense.bit_valid && f->sense.bit == 2);
	expect(f, SENSE_ILLEGAL_REQUEST, 0x2400);
}

START_TEST(each_command)
{
	bool stays = without_lu(rows[_i].opcode);
	struct fake_task *f;

	COVERS(rows[_i].covers);
	row = (unsigned)_i;
	fx_setup(FX_FILE);
	ck_assert_int_eq(conflicts(GATE_NO_WRITE), rows[_i].class == WRITES);
	ck_assert_int_eq(conflicts(GATE_NO_READ), rows[_i].class != ALWAYS);
	lu_change_state(fx_lu, ~0u, LU_READY); /* it may have stopped the unit */
	naca();
	itl_ua(nexus_find(&fx_nexus[0], 0), 0x2a01);
	f = run(0, 0, 0);
	ck_assert_int_eq(f->status == SCSI_CHECK_CONDITION && f->sense.key == SENSE_UNIT_ATTENTION,
			 !stays);
	fake_task_free(f);
	fx_take_ua(&fx_nexus[0]);
	lu_change_state(fx_lu, ~0u, LU_STOPPED);
	f = run(0, 0, 0);
	ck_assert_int_eq(f->status == SCSI_CHECK_CONDITION && f->sense.asc_ascq == 0x0402,
			 rows[_i].medium);
	fake_task_free(f);
	lu_change_state(fx_lu, ~0u, LU_READY);
	if (stays)
		fake_task_free(run(7, 0, 0));
	else
		expect(run(7, 0, 0), SENSE_ILLEGAL_REQUEST, 0x2500);
	fx_teardown();
}
END_TEST

/* Of old disks: what moves heads, and blocks with their check bytes. */
START_TEST(obsolete)
{
	static const uint8_t opcodes[] = { 0x01, 0x0b, 0x2b, 0x3e, 0x3f };

	COVERS("SB-035");
	fx_setup(FX_FILE);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		const uint8_t cdb[16] = { opcodes[i] };

		fx_expect(fx_task(&fx_nexus[0], cdb, 10), SENSE_ILLEGAL_REQUEST, 0x2000);
	}
	fx_teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scsi/op_rows");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, each_command, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(c, obsolete);
	suite_add_tcase(suite, c);
	return unit_end(srunner_create(suite));
}
