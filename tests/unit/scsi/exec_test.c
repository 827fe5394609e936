/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands between a command and its plan, and what the plan asks for. */
#include "tests/unit/scsi/exec_fixture.h"

static uint8_t data[1 << 20];

/* A refused command moves nothing: its whole EDTL is the residual. */
START_TEST(refused_moves_nothing)
{
	COVERS("SG-011 SG-012 SB-004");
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	f = fx_write(&fx_nexus[0], FX_SIZE / FX_BLOCK - 1, 2, data);
	scsi_submit(&f->t);
	ck_assert(f->ended && f->status == SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(f->sense.asc_ascq, 0x2100);
	ck_assert(!f->asked);
	ck_assert_uint_eq(f->data_length, 0);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* Firmware and ESXi ask for the mode pages before all else, and take NOT READY for a disk that
 * never comes. */
START_TEST(mode_sense_without_medium)
{
	COVERS("fault-Q05");
	static const uint8_t cdbs[][10] = { { 0x1a, 0, 0x3f, 0, 192 },
					    { 0x5a, 0, 0x08, 0, 0, 0, 0, 0, 192 } };
	static const enum lu_not_ready states[] = { LU_READY, LU_STOPPED, LU_EJECTED, LU_NO_STORE };

	fx_setup(BACKING_INLINE);
	for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); s++) {
		lu_change_state(fx_lu, ~0u, states[s]);
		for (int i = 0; i < 2; i++) {
			struct fake_task *f = fx_task(&fx_nexus[0], cdbs[i], i ? 10 : 6);

			fake_task_in(f, 192);
			fx_expect(f, 0, 0);
		}
	}
	lu_change_state(fx_lu, ~0u, LU_READY);
	fx_teardown();
}
END_TEST

START_TEST(unit_attention_first)
{
	COVERS("SU-001 SU-002 SU-004 SU-006 SA-002");
	static const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 96 };
	static const uint8_t sense[6] = { 0x03, 0, 0, 0, 18 };
	struct itl *itl;
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	itl = nexus_find(&fx_nexus[0], 0);
	itl_ua(itl, ASC_POWER_ON);
	atomic_fetch_or(&itl->gate, GATE_NO_WRITE); /* and a reservation of somebody else */
	f = fx_task(&fx_nexus[0], inquiry, 6);
	fake_task_in(f, 96);
	fx_expect(f, 0, 0); /* runs and does not clear it */
	fx_pattern(data, 512, 9);
	fx_expect(fx_write(&fx_nexus[0], 0, 1, data), SENSE_UNIT_ATTENTION, ASC_POWER_ON);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
	fx_expect_status(fx_write(&fx_nexus[0], 0, 1, data), SCSI_RESERVATION_CONFLICT);
	atomic_fetch_and(&itl->gate, ~(uint32_t)GATE_NO_WRITE);
	fx_expect(fx_write(&fx_nexus[0], 0, 1, data), 0, 0);
	/* REQUEST SENSE takes it as data. */
	itl_ua(itl, ASC_CAPACITY_CHANGED);
	f = fx_task(&fx_nexus[0], sense, 6);
	fake_task_in(f, 18);
	scsi_submit(&f->t);
	ck_assert(f->ended && f->status == SCSI_GOOD);
	ck_assert_uint_eq(f->in[2] & 0x0f, SENSE_UNIT_ATTENTION);
	ck_assert_uint_eq(get_be16(f->in + 12), ASC_CAPACITY_CHANGED);
	fake_task_free(f);
	fx_expect(fx_tur(&fx_nexus[0]), 0, 0);
	fx_teardown();
}
END_TEST

/* Whatever is wrong with the command. */
START_TEST(unit_attention_before_faults)
{
	COVERS("SU-001");
	static const uint8_t unknown[6] = { 0xff }, bad_inquiry[6] = { 0x12, 0x02, 0, 0, 36 };
	struct it_nexus *n = &fx_nexus[0];

	fx_setup(BACKING_INLINE);
	nexus_find(n, 0)->read_only = true;
	itl_ua(nexus_find(n, 0), ASC_POWER_ON);
	fx_expect(fx_task(n, bad_inquiry, 6), SENSE_ILLEGAL_REQUEST, 0x2400);
	fx_expect(fx_task(n, unknown, 6), SENSE_UNIT_ATTENTION, ASC_POWER_ON);
	fx_expect(fx_task(n, unknown, 6), SENSE_ILLEGAL_REQUEST, 0x2000);
	itl_ua(nexus_find(n, 0), ASC_POWER_ON);
	fx_expect(fx_write(n, 0, 1, data), SENSE_UNIT_ATTENTION, ASC_POWER_ON);
	fx_expect(fx_write(n, 0, 1, data), SENSE_DATA_PROTECT, 0x2700);
	fx_teardown();
}
END_TEST

START_TEST(reservation_bits)
{
	COVERS("SR-013 SA-003");
	struct itl *itl;

	fx_setup(BACKING_INLINE);
	itl = nexus_find(&fx_nexus[0], 0);
	atomic_fetch_or(&itl->gate, GATE_NO_WRITE);
	fx_expect(fx_read(&fx_nexus[0], 0, 1), 0, 0);
	fx_expect_status(fx_write(&fx_nexus[0], 0, 1, data), SCSI_RESERVATION_CONFLICT);
	atomic_fetch_or(&itl->gate, GATE_NO_READ);
	fx_expect_status(fx_read(&fx_nexus[0], 0, 1), SCSI_RESERVATION_CONFLICT);
	fx_expect(fx_tur(&fx_nexus[0]), 0, 0);
	fx_expect(fx_read(&fx_nexus[1], 0, 1), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(absent_lun)
{
	COVERS("SN-013 SN-015 SN-016 SN-007");
	static const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 36 };
	static const uint8_t bad_inquiry[6] = { 0x12, 0x02, 0, 0, 36 };
	static const uint8_t sense[6] = { 0x03, 0, 0, 0, 18 };
	static const uint8_t report[12] = { 0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16 };
	static const uint64_t luns[] = { 7, 300, SCSI_LUN_INVALID };
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *f;
	uint8_t cdb[16];

	fx_setup(BACKING_INLINE);
	for (size_t i = 0; i < sizeof(luns) / sizeof(luns[0]); i++) {
		fx_rw(cdb, 0x88, 0, 1);
		fx_expect(fake_task_new(n, luns[i], cdb, 16), SENSE_ILLEGAL_REQUEST, 0x2500);
		f = fake_task_new(n, luns[i], inquiry, 6);
		fake_task_in(f, 36);
		scsi_submit(&f->t);
		ck_assert(f->status == SCSI_GOOD && f->in_length == 36);
		ck_assert_uint_eq(f->in[0], 0x7f);
		fake_task_free(f);
		fx_expect(fake_task_new(n, luns[i], bad_inquiry, 6), SENSE_ILLEGAL_REQUEST, 0x2400);
		f = fake_task_new(n, luns[i], sense, 6);
		fake_task_in(f, 18);
		scsi_submit(&f->t);
		ck_assert_uint_eq(get_be16(f->in + 12), 0x2500);
		fake_task_free(f);
		f = fake_task_new(n, luns[i], report, 12);
		fake_task_in(f, 16);
		scsi_submit(&f->t);
		ck_assert_uint_eq(get_be32(f->in), 8);
		fake_task_free(f);
	}
	fx_teardown();
}
END_TEST

/* Refused by what the LU is, before any field is looked at. */
START_TEST(read_only)
{
	COVERS("SS-012");
	struct it_nexus *n = &fx_nexus[0];
	uint8_t cdb[16];

	fx_setup(BACKING_INLINE | FX_FILE);
	nexus_find(n, 0)->read_only = true;
	fx_expect(fx_write(n, 0, 1, data), SENSE_DATA_PROTECT, 0x2700);
	fx_rw(cdb, 0x93, 0, 0xffffffff); /* WRITE SAME(16) too long */
	fx_expect(fx_task(n, cdb, 16), SENSE_DATA_PROTECT, 0x2700);
	fx_expect(fx_read(n, 0, 1), 0, 0);
	fx_expect(fx_write(&fx_nexus[1], 0, 1, data), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(not_ready)
{
	COVERS("SS-013 SD-016 SB-038");
	static const struct {
		enum lu_not_ready state;
		uint16_t asc;
	} rows[] = { { LU_NO_STORE, 0x0403 }, { LU_STOPPED, 0x0402 }, { LU_EJECTED, 0x3a00 } };
	static const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 36 };
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lu_change_state(fx_lu, ~0u, rows[i].state);
		fx_expect(fx_tur(&fx_nexus[0]), SENSE_NOT_READY, rows[i].asc);
		fx_expect(fx_read(&fx_nexus[1], 0, 1), SENSE_NOT_READY, rows[i].asc);
		f = fx_task(&fx_nexus[0], inquiry, 6);
		fake_task_in(f, 36);
		fx_expect(f, 0, 0);
	}
	lu_change_state(fx_lu, ~0u, LU_READY);
	fx_expect(fx_read(&fx_nexus[1], 0, 1), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(task_set_full)
{
	COVERS("SA-008");
	struct fake_task *f[9];

	fx_setup(0);
	fx_store->hold = true;
	for (int i = 0; i < 9; i++) {
		f[i] = fx_read(&fx_nexus[0], (uint64_t)i, 1);
		scsi_submit(&f[i]->t);
	}
	ck_assert(f[8]->ended && f[8]->status == SCSI_TASK_SET_FULL);
	for (int i = 0; i < 8; i++)
		ck_assert(!f[i]->ended);
	fake_store_let(fx_store);
	for (int i = 0; i < 9; i++)
		fake_task_free(f[i]);
	fx_store->hold = false;
	fx_expect(fx_read(&fx_nexus[0], 0, 1), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(aca_without_aca)
{
	COVERS("SA-016");
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	f = fx_read(&fx_nexus[0], 0, 1);
	f->t.attribute = ATTR_ACA;
	fx_expect(f, SENSE_ILLEGAL_REQUEST, 0x4900);
	fx_teardown();
}
END_TEST

START_TEST(short_parameter_list)
{
	COVERS("SG-007 SP-002");
	uint8_t cdb[10] = { 0x42, 0, 0, 0, 0, 0, 0, 0, 24 };
	struct fake_task *f;

	fx_setup(BACKING_INLINE | FX_FILE);
	f = fx_task(&fx_nexus[0], cdb, 10);
	fake_task_out(f, data, 23);
	scsi_submit(&f->t);
	ck_assert(f->ended && !f->asked);
	ck_assert_uint_eq(f->sense.asc_ascq, 0x1a00);
	fake_task_free(f);
	cdb[8] = 0;
	fx_expect(fx_task(&fx_nexus[0], cdb, 10), 0, 0);
	fx_teardown();
}
END_TEST

/* The port could not get the data. */
START_TEST(data_failed)
{
	struct fake_task *f;

	fx_setup(0);
	f = fx_write(&fx_nexus[0], 0, 8, data);
	f->hold_data = true;
	scsi_submit(&f->t);
	ck_assert(f->asked);
	scsi_data_failed(&f->t, sense_make(SENSE_ABORTED_COMMAND, 0x4705));
	ck_assert(f->ended && f->sense.asc_ascq == 0x4705);
	ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

START_TEST(bad_commands)
{
	COVERS("SG-001 SG-009 SB-004");
	uint8_t cdb[16];

	fx_setup(BACKING_INLINE);
	fx_rw(cdb, 0xff, 0, 0);
	fx_expect(fx_task(&fx_nexus[0], cdb, 16), SENSE_ILLEGAL_REQUEST, 0x2000);
	memset(cdb, 0, 16);
	cdb[5] = 0x04; /* NACA */
	fx_expect(fx_task(&fx_nexus[0], cdb, 6), SENSE_ILLEGAL_REQUEST, 0x2400);
	fx_expect(fx_read(&fx_nexus[0], UINT64_MAX, 1), SENSE_ILLEGAL_REQUEST, 0x2100);
	fx_teardown();
}
END_TEST

/* START STOP UNIT and PREVENT ALLOW over two nexuses. */
START_TEST(eject_and_load)
{
	COVERS("SD-014 SD-015 SD-016 SU-021");
	static const uint8_t prevent[6] = { 0x1e, 0, 0, 0, 1 }, allow[6] = { 0x1e };
	static const uint8_t eject[6] = { 0x1b, 0, 0, 0, 2 }, load[6] = { 0x1b, 0, 0, 0, 3 };
	struct it_nexus *a = &fx_nexus[0], *b = &fx_nexus[1];

	fx_setup(FX_FILE);
	fx_expect(fx_task(a, prevent, 6), 0, 0);
	fx_expect(fx_task(b, eject, 6), SENSE_ILLEGAL_REQUEST, 0x5302);
	fx_expect(fx_task(a, allow, 6), 0, 0);
	fx_store->n_log = 0;
	fx_expect(fx_task(b, eject, 6), 0, 0);
	ck_assert_uint_eq(fx_store->log[0].kind, BACKING_FLUSH); /* what was written is safe */
	fx_expect(fx_read(a, 0, 1), SENSE_NOT_READY, 0x3a00);
	fx_expect(fx_task(b, load, 6), 0, 0);
	fx_expect(fx_read(a, 0, 1), SENSE_UNIT_ATTENTION, ASC_NOT_READY_TO_READY);
	fx_expect(fx_read(a, 0, 1), 0, 0);
	fx_expect(fx_read(b, 0, 1), 0, 0);
	/* A prevention ends with its nexus. */
	fx_expect(fx_task(a, prevent, 6), 0, 0);
	nexus_destroy(a);
	fx_expect(fx_task(b, eject, 6), 0, 0);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/exec", refused_moves_nothing, mode_sense_without_medium, unit_attention_first,
	  unit_attention_before_faults, reservation_bits, absent_lun, read_only, not_ready,
	  task_set_full, aca_without_aca, short_parameter_list, data_failed, bad_commands,
	  eject_and_load)
