/* SPDX-License-Identifier: BSD-2-Clause */
/* Thresholds of space: who is told, how often, and when again. */
#include "scsi/provision.h"

#include "scsi/mode.h"
#include "tests/unit/scsi/plan_fixture.h"

#define M (1ull << 20)

static unsigned look(uint64_t used, uint64_t available)
{
	const struct space_report r = { .used = used,
					.available = available,
					.used_threshold = 320 * M,
					.available_threshold = 64 * M };

	return lu_space_report(&fx_lu, &r);
}

/* The unit attentions that are pending. */
static unsigned told(void)
{
	uint16_t ua;
	unsigned n = 0;

	for (; itl_ua_take(&fx_itl, &ua); n++)
		ck_assert_uint_eq(ua, 0x3807);
	return n;
}

START_TEST(crossings)
{
	static const struct {
		uint64_t used, available;
		unsigned crossed;
	} rows[] = {
		{ 319 * M, 65 * M, 0 },
		{ 320 * M, 65 * M, SPACE_USED },
		{ 400 * M, 65 * M, 0 }, /* once */
		{ 311 * M, 65 * M, 0 }, /* not yet below by a part of it */
		{ 321 * M, 65 * M, 0 },
		{ 309 * M, 65 * M, 0 }, /* armed again */
		{ 320 * M, 64 * M, SPACE_USED | SPACE_AVAILABLE },
		{ 320 * M, 0, 0 },
		{ 320 * M, 66 * M, 0 },
		{ 320 * M, 3 * M, 0 },
		{ 320 * M, 67 * M, 0 },
		{ 320 * M, 64 * M - 1, SPACE_AVAILABLE },
		{ SPACE_UNKNOWN, SPACE_UNKNOWN, 0 },
		{ UINT64_MAX - 1, 0, SPACE_USED | SPACE_AVAILABLE },
	};

	COVERS("SU-020 SP-017");
	plan_setup();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(look(rows[i].used, rows[i].available) == rows[i].crossed, "row %zu",
			      i);
		ck_assert_uint_eq(told(), rows[i].crossed ? 1 : 0);
	}
}
END_TEST

/* The host can ask not to be told, and a thick unit has nothing to tell. */
START_TEST(not_wanted)
{
	COVERS("SU-020");
	for (int thick = 0; thick < 2; thick++) {
		plan_setup();
		if (thick)
			fx_lu.geo.thin = false;
		else
			fx_lu.mode_current[MODE_SLOT_RECOVERY_7] = MODE_LBPERE;
		ck_assert_uint_eq(look(400 * M, 65 * M), SPACE_USED);
		ck_assert_uint_eq(told(), 0);
	}
}
END_TEST

START_TEST(without_thresholds)
{
	const struct space_report r = { .used = UINT64_MAX - 1, .available = 0 };

	plan_setup();
	ck_assert_uint_eq(lu_space_report(&fx_lu, &r), 0);
	ck_assert_uint_eq(told(), 0);
}
END_TEST

/* Mode page 1Ch/02h and VPD page B2h speak of the same sets. */
START_TEST(mode_page)
{
	COVERS("SM-021 SI-024");
	static const uint8_t want[36] = { 35, 0, 0x10, 0,  0x5c, 2, 0, 28, [20] = 0x80, 1, 0, 0,
					  0,  0, 0,    64, 0x81, 2, 0, 0,  0,           0, 1, 64 };

	plan_setup();
	look(0, SPACE_UNKNOWN);
	ck_answer(PLAN(0x1a, 8, 0x1c, 2, 255), want, 36);
	PLAN(0x12, 1, 0xb2, 0, 255);
	ck_assert_uint_eq(1u << fx_answer[4], M / fx_lu.geo.block_size);
	fx_lu.geo.block_size = 4096;
	PLAN(0x12, 1, 0xb2, 0, 255);
	ck_assert_uint_eq(fx_answer[4], 8);
	fx_lu.geo.thin = false;
	ck_sense(PLAN(0x1a, 8, 0x1c, 2, 255), 5, 0x2400);
}
END_TEST

UNIT_MAIN("scsi/provision", crossings, not_wanted, without_thresholds, mode_page)
