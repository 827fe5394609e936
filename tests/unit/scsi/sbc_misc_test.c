/* SPDX-License-Identifier: BSD-2-Clause */
/* Actions end here instead of in the executor. */
#define scsi_action_done action_ended
#include "scsi/sbc_misc.c"

#include "tests/unit/scsi/plan_fixture.h"

static unsigned ended;
static struct scsi_sense end_sense;

void action_ended(struct scsi_task *t, const struct scsi_sense *sense)
{
	ck_assert_ptr_eq(t->lu, &fx_lu);
	ended++;
	end_sense = sense ? *sense : sense_make(SENSE_NO_SENSE, 0);
}

static void act(struct scsi_plan p)
{
	struct scsi_task t = { .cdb = fx_cdb, .lu = &fx_lu, .itl = &fx_itl, .nexus = &fx_nexus };

	ck_assert_msg(p.action, "no action");
	ended = 0;
	p.action(&t);
	ck_assert_uint_eq(ended, 1);
}

/* Runs a START STOP UNIT to its end; returns ASC/ASCQ. */
static uint16_t start_stop(uint8_t power)
{
	struct scsi_plan p = PLAN(0x1b, 0, 0, 0, power);

	if (p.kind == PLAN_FAIL)
		return p.sense.asc_ascq;
	if (!p.action)
		return 0;
	act(p);
	return end_sense.asc_ascq;
}

START_TEST(capacity10)
{
	plan_setup();
	ck_answer(PLAN(0x25), (const uint8_t[]){ 0x00, 0x1f, 0xff, 0xff, 0, 0, 2, 0 }, 8);
	fx_lu.geo.blocks = 1ull << 32; /* last LBA FFFFFFFFh: the same as "too many" */
	ck_answer(PLAN(0x25), (const uint8_t[]){ 0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0 }, 8);
	fx_lu.geo.blocks = (1ull << 32) - 1;
	ck_answer(PLAN(0x25), (const uint8_t[]){ 0xff, 0xff, 0xff, 0xfe, 0, 0, 2, 0 }, 8);
	fx_lu.geo.blocks = 1ull << 50;
	fx_lu.geo.block_size = 4096;
	ck_answer(PLAN(0x25), (const uint8_t[]){ 0xff, 0xff, 0xff, 0xff, 0, 0, 0x10, 0 }, 8);
}
END_TEST

START_TEST(capacity16)
{
	const uint8_t thin[32] = { 0, 0, 0, 0, 0, 0x1f, 0xff, 0xff, 0, 0, 2, 0, 0, 3, 0xc0 };
	const uint8_t thick[32] = { 0, 0, 0, 0, 0, 0x1f, 0xff, 0xff, 0, 0, 2, 0, 0, 3, 0 };
	const uint8_t large[32] = { 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				    0, 0, 0x10, 0,    0,    0,    0x80 };

	plan_setup();
	ck_answer(PLAN(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32), thin, 32);
	ck_answer(PLAN(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12), thin, 12);
	ck_answer(PLAN(0x9e, 0x10), thin, 0);
	ck_answer(PLAN(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), thin, 32);
	fx_lu.geo.thin = false;
	ck_answer(PLAN(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32), thick, 32);
	fx_lu.geo.thin = true;
	fx_lu.geo.zeroes_after_unmap = false;
	fx_lu.geo.blocks = 1ull << 50;
	fx_lu.geo.block_size = 4096;
	fx_lu.geo.physical_exponent = 0;
	ck_answer(PLAN(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32), large, 32);
	ck_field(PLAN(0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 1), 9, 0); /* LBA is obsolete */
	ck_field(PLAN(0x9e, 0x1f), 1, 4);
}
END_TEST

static struct scsi_plan lba_status(uint64_t lba, uint32_t allocation)
{
	uint8_t c[16] = { 0x9e, 0x12 };

	put_be64(c + 2, lba);
	put_be32(c + 10, allocation);
	return plan_bytes(c, 16);
}

START_TEST(get_lba_status)
{
	static const uint32_t allocations[] = { 0, 1, 4, 7, 8, 24, 254, 65535, UINT32_MAX };
	struct scsi_plan p;

	plan_setup();
	for (unsigned i = 0; i < sizeof(allocations) / sizeof(allocations[0]); i++) {
		p = lba_status(BLOCKS - 1, allocations[i]);
		ck_assert(p.kind == PLAN_COMPOUND && p.compound == COMPOUND_LBA_STATUS);
		ck_assert_uint_eq(p.data_length, allocations[i]);
		ck_assert_uint_eq(p.offset, (BLOCKS - 1) * 512ull);
		ck_assert_uint_eq(p.length, 512);
	}
	p = lba_status(0, 24);
	ck_assert_uint_eq(p.length, BLOCKS * 512ull);
	ck_sense(lba_status(BLOCKS, 24), 5, 0x2100);
	ck_sense(lba_status(BLOCKS + 1, 24), 5, 0x2100);
	ck_sense(lba_status(1ull << 63, 24), 5, 0x2100);
	ck_sense(lba_status(UINT64_MAX, 24), 5, 0x2100);
}
END_TEST

START_TEST(stop_and_start_a_fixed_disk)
{
	struct scsi_plan p;

	plan_setup();
	p = PLAN(0x1b, 0, 0, 0, 0);
	ck_assert(p.kind == PLAN_FLUSH && p.length == BLOCKS * 512ull);
	ck_assert_int_eq(fx_lu.not_ready, LU_READY); /* a plan changes nothing */
	act(p);
	ck_assert_int_eq(fx_lu.not_ready, LU_STOPPED);
	ck_assert(fx_itl.gate & GATE_NOT_READY);
	ck_assert_uint_eq(start_stop(0), 0); /* again: nothing to flush, no error */
	ck_assert_int_eq(fx_lu.not_ready, LU_STOPPED);
	ck_assert_uint_eq(start_stop(START_STOP_START), 0);
	ck_assert_int_eq(fx_lu.not_ready, LU_READY);
	ck_assert(!(fx_itl.gate & GATE_NOT_READY));
	ck_assert_int_eq(PLAN(0x1b, 0, 0, 0, START_STOP_NO_FLUSH).kind, PLAN_ACTION);
	ck_field(PLAN(0x1b, 0, 0, 0, START_STOP_LOEJ), 4, 1);
	ck_field(PLAN(0x1b, 0, 0, 0, START_STOP_LOEJ | START_STOP_START), 4, 1);
}
END_TEST

START_TEST(power_conditions)
{
	plan_setup();
	for (unsigned c = 1; c < 16; c++) {
		bool known = c == 1 || c == 2 || c == 3 || c == 7 || c == 10 || c == 11;
		struct scsi_plan p = PLAN(0x1b, 1, 0, 0, (uint8_t)(c << 4));

		if (known)
			ck_good(p);
		else
			ck_field(p, 4, 7);
	}
	/* Removable: nothing is ejected by a power condition, whatever it is. */
	fx_lu.geo.removable = true;
	for (unsigned c = 1; c < 16; c++)
		ck_good(PLAN(0x1b, 1, 0, 0, (uint8_t)(c << 4 | START_STOP_LOEJ)));
	ck_field(PLAN(0x1b, 0, 0, 0, 0x08), 4, 3);
	ck_field(PLAN(0x1b, 0, 0, 0x10, 0), 3, 4);
}
END_TEST

START_TEST(eject_and_load)
{
	struct it_nexus other = { 0 };
	struct itl second = { .lu = &fx_lu, .nexus = &other };
	uint16_t ua;

	plan_setup();
	fx_lu.geo.removable = true;
	list_add_tail(&fx_lu.itls, &second.lu_node);
	ck_assert_uint_eq(start_stop(0), 0); /* no LOEJ: the medium stays usable */
	ck_assert_int_eq(fx_lu.not_ready, LU_READY);
	ck_assert_int_eq(PLAN(0x1b, 0, 0, 0, START_STOP_LOEJ).kind, PLAN_FLUSH);
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ), 0);
	ck_assert_int_eq(fx_lu.not_ready, LU_EJECTED);
	ck_assert((fx_itl.gate & GATE_NOT_READY) && (second.gate & GATE_NOT_READY));
	ck_assert_uint_eq(start_stop(START_STOP_START), 0x3a00); /* nothing there to start */
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ), 0);       /* out is out */
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ | START_STOP_START), 0);
	ck_assert_int_eq(fx_lu.not_ready, LU_READY);
	ck_assert_uint_eq(fx_itl.gate, 0);
	ck_assert_uint_eq(second.gate, GATE_UA);
	ck_assert(itl_ua_take(&second, &ua) && ua == 0x2800);
	/* Loaded already: no news. */
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ | START_STOP_START), 0);
	ck_assert(!itl_ua_take(&second, &ua));
}
END_TEST

START_TEST(prevent)
{
	struct it_nexus other = { 0 };
	struct itl second = { .lu = &fx_lu, .nexus = &other, .prevent = true };

	plan_setup();
	fx_lu.geo.removable = true;
	ck_field(PLAN(0x1e, 0, 0, 0, 2), 4, 1);
	ck_field(PLAN(0x1e, 0, 0, 0, 3), 4, 1);
	act(PLAN(0x1e, 0, 0, 0, 1));
	ck_assert(fx_itl.prevent);
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ), 0x5302);
	ck_assert_int_eq(fx_lu.not_ready, LU_READY);
	act(PLAN(0x1e, 0, 0, 0, 0));
	ck_assert(!fx_itl.prevent);
	list_add_tail(&fx_lu.itls, &second.lu_node); /* another nexus may prevent it too */
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ), 0x5302);
	second.prevent = false;
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ), 0);
	act(PLAN(0x1e, 0, 0, 0, 1)); /* works without a medium, and holds the door */
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ | START_STOP_START), 0x5302);
	ck_assert_int_eq(fx_lu.not_ready, LU_EJECTED);
	act(PLAN(0x1e, 0, 0, 0, 0));
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ | START_STOP_START), 0);
}
END_TEST

START_TEST(no_store)
{
	plan_setup();
	fx_lu.geo.removable = true;
	fx_lu.not_ready = LU_NO_STORE;
	ck_assert_uint_eq(start_stop(START_STOP_START), 0x0403);
	ck_assert_uint_eq(start_stop(START_STOP_START | START_STOP_LOEJ), 0x0403);
	ck_assert_uint_eq(start_stop(START_STOP_LOEJ), 0);
	ck_assert_int_eq(fx_lu.not_ready, LU_NO_STORE);
}
END_TEST

SUITE_COVERS("SB-010 SB-011 SB-012 SP-010 SP-011 SP-012 SD-014 SD-015 SU-021 fault-E13");

UNIT_MAIN("scsi/sbc_misc", capacity10, capacity16, get_lba_status, stop_and_start_a_fixed_disk,
	  power_conditions, eject_and_load, prevent, no_store)
