/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/alua_report.c"

#include "tests/unit/scsi/plan_fixture.h"

#define REPORT(format, n) PLAN(0xa3, (uint8_t)((format) << 5 | 0x0a), 0, 0, 0, 0, 0, 0, 0, n)

/* Two groups, the second with two ports. */
static const uint8_t groups[] = {
	0x80, 0xcf, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7,                  /* preferred */
	0x02, 0xcf, 0, 2, 0, 1, 0, 2, 0, 0, 0, 8, 0, 0, 0x01, 0x03 /* standby, by an initiator */
};

static void setup(void)
{
	static struct alua_port ports[] = { { 7, 0 }, { 8, 1 }, { 0x103, 1 } };

	plan_setup();
	fx_groups[0].preferred = true;
	fx_groups[1].state = ALUA_STANDBY;
	fx_groups[1].status = ALUA_BY_INITIATOR;
	fx_alua.ports = ports;
	fx_alua.n_ports = 3;
}

START_TEST(both_formats)
{
	uint8_t want[8 + sizeof(groups)] = { 0, 0, 0, sizeof(groups) };

	COVERS("SQ-002 OP-072");
	setup();
	memcpy(want + 4, groups, sizeof(groups));
	ck_answer(REPORT(0, 0xff), want, 4 + sizeof(groups));
	want[3] += 4;
	memcpy(want + 4, (const uint8_t[]){ 0x10, 60, 0, 0 }, 4);
	memcpy(want + 8, groups, sizeof(groups));
	ck_answer(REPORT(1, 0xff), want, 8 + sizeof(groups));
	for (unsigned format = 2; format < 8; format++)
		ck_field(REPORT((uint8_t)format, 0xff), 1, 7);
}
END_TEST

/* The length tells of the whole, however little is wanted. */
START_TEST(allocation_lengths)
{
	COVERS("SQ-002 OP-072");
	setup();
	for (unsigned format = 0; format < 2; format++) {
		size_t whole = 4 + 4 * (size_t)format + sizeof(groups);

		for (uint8_t n = 0; n < 64; n++) {
			struct scsi_plan p = REPORT((uint8_t)format, n);

			ck_assert_uint_eq(p.data_length, n < whole ? n : whole);
			ck_assert_uint_eq(get_be32(fx_answer), whole - 4);
		}
	}
}
END_TEST

/* 5/20/00, or 5/24/00 where the opcode has other service actions. */
static void ck_not_there(struct scsi_plan p)
{
	ck_assert_int_eq(p.kind, PLAN_FAIL);
	ck_assert_uint_eq(p.sense.key, SENSE_ILLEGAL_REQUEST);
	ck_assert(p.sense.asc_ascq == 0x2000 || p.sense.asc_ascq == 0x2400);
}

/* TPGS says which of the two commands are there. */
START_TEST(true_to_tpgs)
{
	static const uint8_t set[] = { 0xa4, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0 };

	COVERS("SQ-001 SQ-004");
	plan_setup();
	for (uint8_t tpgs = 0; tpgs < 4; tpgs++) {
		fx_alua.tpgs = tpgs;
		if (tpgs)
			ck_assert_int_eq(REPORT(0, 0xff).kind, PLAN_ANSWER);
		else
			ck_field(REPORT(0, 0xff), 1, 4);
		if (tpgs & ALUA_EXPLICIT)
			ck_good(plan_bytes(set, sizeof(set)));
		else
			ck_not_there(plan_bytes(set, sizeof(set)));
		PLAN(0x12, 0, 0, 0, 96);
		ck_assert_int_eq(fx_answer[5] & 0x30, tpgs << 4);
	}
	fx_nexus.alua = NULL;
	ck_field(REPORT(0, 0xff), 1, 4);
	PLAN(0x12, 0, 0, 0, 96);
	ck_assert_int_eq(fx_answer[5] & 0x30, 0);
}
END_TEST

/* The group and port of page 83h are among those reported, with the same ports in it. */
START_TEST(agrees_with_identification)
{
	uint16_t group, port;

	COVERS("SQ-003 SI-014");
	setup();
	for (unsigned i = 0; i < fx_alua.n_ports; i++) {
		const uint8_t *d;

		fx_nexus.relative_port = fx_alua.ports[i].relative;
		PLAN(0x12, 0x01, 0x83, 0x02, 0);
		port = get_be16(fx_answer + 4 + 64 + 6);
		group = get_be16(fx_answer + 4 + 64 + 8 + 6);
		ck_assert_uint_eq(port, fx_alua.ports[i].relative);
		REPORT(0, 0xff);
		d = fx_answer + 4;
		while (get_be16(d + 2) != group)
			d += 8 + 4 * d[7];
		ck_assert(d < fx_answer + 4 + sizeof(groups));
		ck_assert_msg(get_be16(d + 10) == port || (d[7] > 1 && get_be16(d + 14) == port),
			      "port %u is not in group %u", port, group);
	}
}
END_TEST

/* SPC-4 5.15.2.4.5: as long as the port is unavailable the unit is not connected. */
START_TEST(peripheral_qualifier)
{
	static const struct {
		uint8_t state, byte;
	} rows[] = { { ALUA_ACTIVE_NON_OPTIMIZED, 0 },
		     { ALUA_STANDBY, 0 },
		     { ALUA_TRANSITIONING, 0 },
		     { ALUA_UNAVAILABLE, 0x20 },
		     { ALUA_OFFLINE, 0x20 } };

	plan_setup();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_nexus.access_state = rows[i].state;
		PLAN(0x12, 0, 0, 0, 96);
		ck_assert_uint_eq(fx_answer[0], rows[i].byte);
		PLAN(0x12, 1, 0x83, 0, 96);
		ck_assert_uint_eq(fx_answer[0], rows[i].byte);
	}
}
END_TEST

UNIT_MAIN("scsi/alua_report", both_formats, allocation_lengths, true_to_tpgs,
	  agrees_with_identification, peripheral_qualifier)
