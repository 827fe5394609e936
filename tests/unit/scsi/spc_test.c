/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/spc.c"

#include "scsi/mode.h"

#include "tests/unit/scsi/plan_fixture.h"

START_TEST(standard_inquiry)
{
	uint8_t want[96] = "\0\0\x06\x12\x5b\x38\x10\x02"
			   "HAWSER  VIRTUAL-DISK    0100";

	memset(want + 36, 0, 60);
	memcpy(want + 58, "\x00\xa0\x09\x61\x04\x60\x04\xc0", 8);
	plan_setup();
	fx_nexus.transport_version = 0x0961;
	ck_answer(PLAN(0x12, 0, 0, 1, 4), want, 96);
	ck_answer(PLAN(0x12, 0, 0, 0, 36), want, 36);
	fx_lu.geo.removable = true;
	want[1] = 0x80;
	ck_answer(PLAN(0x12, 0, 0, 0, 96), want, 96);
	fx_lu.not_ready = LU_NO_STORE; /* needs no medium */
	ck_answer(PLAN(0x12, 0, 0, 0, 96), want, 96);
	ck_field(PLAN(0x12, 0, 0x80, 0, 96), 2, -1);
}
END_TEST

START_TEST(odd_text)
{
	plan_setup();
	memcpy(fx_lu.id.vendor, "\tA\x80", 4);
	memcpy(fx_lu.id.product, "SIXTEENCHARACTER", 17);
	PLAN(0x12, 0, 0, 0, 96);
	ck_assert(!memcmp(fx_answer + 8, " A      SIXTEENCHARACTER", 24));
}
END_TEST

START_TEST(inquiry_without_lu)
{
	plan_setup();
	plan_without_lu();
	ck_assert_uint_eq(PLAN(0x12, 0, 0, 0, 96).data_length, 96);
	ck_assert_uint_eq(fx_answer[0], 0x7f);
	ck_assert_uint_eq(fx_answer[4], 91);
}
END_TEST

/* A map of n LUs, LUN i * 3. */
static struct scsi_lun_map *map_of(unsigned n)
{
	struct scsi_lun_map *map = calloc(1, sizeof(*map) + n * sizeof(map->entries[0]));

	ck_assert_ptr_nonnull(map);
	map->n = n;
	for (unsigned i = 0; i < n; i++)
		map->entries[i] = (struct scsi_lun_entry){ .lun = i * 3ull, .lu = &fx_lu };
	fx_nexus.map = map;
	return map;
}

START_TEST(report_luns)
{
	uint8_t want[8 + 8 * 100] = { 0, 0, 3, 0x20 };
	struct scsi_lun_map *map;

	plan_setup();
	map = map_of(100);
	for (unsigned i = 0; i < 100; i++) {
		unsigned lun = i * 3;

		want[8 + 8 * i] = (uint8_t)(lun < 256 ? 0 : 0x40 | lun >> 8);
		want[9 + 8 * i] = (uint8_t)lun;
	}
	ck_answer(PLAN(0xa0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), want, sizeof(want));
	ck_answer(PLAN(0xa0, 0, 2, 0, 0, 0, 0, 0, 0xff, 0xff), want, sizeof(want));
	ck_answer(PLAN(0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16), want, 16);
	ck_answer(PLAN(0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 8), want, 8);
	ck_answer(PLAN(0xa0), want, 0);
	ck_answer(PLAN(0xa0, 0, 1, 0, 0, 0, 0, 0, 1, 0), (const uint8_t[8]){ 0 }, 8);
	for (unsigned select = 3; select < 256; select++)
		ck_field(PLAN(0xa0, 0, (uint8_t)select, 0, 0, 0, 0, 0, 1, 0), 2, -1);
	free(map);
}
END_TEST

START_TEST(report_luns_of_nothing)
{
	struct scsi_lun_map *map;

	plan_setup();
	ck_answer(PLAN(0xa0, 0, 0, 0, 0, 0, 0, 0, 1, 0), (const uint8_t[8]){ 0 }, 8);
	map = map_of(0);
	plan_without_lu();
	ck_answer(PLAN(0xa0, 0, 2, 0, 0, 0, 0, 0, 1, 0), (const uint8_t[8]){ 0 }, 8);
	free(map);
}
END_TEST

START_TEST(more_luns_than_room)
{
	struct scsi_lun_map *map;
	struct scsi_plan p;

	plan_setup();
	map = map_of(9000);
	p = PLAN(0xa0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff);
	ck_assert(p.kind == PLAN_ANSWER && p.data_length == SCSI_SMALL_MAX);
	ck_assert_uint_eq(get_be32(fx_answer), 9000u * 8ull);
	free(map);
}
END_TEST

START_TEST(report_luns_clears_its_own_news)
{
	uint16_t ua;

	plan_setup();
	itl_ua(&fx_itl, 0x2a09);
	itl_ua(&fx_itl, 0x3f0e);
	PLAN(0xa0, 0, 0, 0, 0, 0, 0, 0, 1, 0);
	ck_assert(fx_itl.gate & GATE_UA);
	ck_assert(itl_ua_take(&fx_itl, &ua) && ua == 0x2a09);
	ck_assert(!itl_ua_take(&fx_itl, &ua));
	ck_assert(!(fx_itl.gate & GATE_UA));
}
END_TEST

START_TEST(request_sense)
{
	plan_setup();
	ck_answer(PLAN(0x03, 0, 0, 0, 252), (const uint8_t[18]){ 0x70, 0, 0, 0, 0, 0, 0, 10 }, 18);
	ck_answer(PLAN(0x03, 1, 0, 0, 252), (const uint8_t[8]){ 0x72 }, 8);
	itl_ua(&fx_itl, 0x2901);
	ck_answer(PLAN(0x03, 1, 0, 0, 252), (const uint8_t[8]){ 0x72, 6, 0x29, 0x01 }, 8);
	ck_answer(PLAN(0x03, 1, 0, 0, 252), (const uint8_t[8]){ 0x72 }, 8); /* taken */
	fx_lu.not_ready = LU_STOPPED;
	ck_answer(PLAN(0x03, 1, 0, 0, 252), (const uint8_t[8]){ 0x72, 2, 0x04, 0x02 }, 8);
	plan_without_lu();
	ck_answer(PLAN(0x03, 0, 0, 0, 252),
		  (const uint8_t[18]){ 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x25 }, 18);
}
END_TEST

START_TEST(test_unit_ready)
{
	plan_setup();
	ck_good(PLAN(0x00));
}
END_TEST

static struct scsi_plan rsoc(uint8_t options, uint8_t opcode, uint16_t action)
{
	return PLAN(0xa3, 0x0c, options, opcode, (uint8_t)(action >> 8), (uint8_t)action, 0, 0,
		    0xff, 0xff);
}

START_TEST(all_opcodes)
{
	unsigned n, seen = 0;
	const struct scsi_op *ops = scsi_op_table(&n);
	struct scsi_plan p;

	plan_setup();
	p = rsoc(0x00, 0xff, 0xffff); /* what is requested is ignored */
	ck_assert_uint_eq(get_be32(fx_answer) + 4, p.data_length);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *d = fx_answer + 4 + (size_t)8 * seen;

		if (!scsi_op_offered(&ops[i], &fx_rq))
			continue;
		seen++;
		ck_assert_uint_eq(d[0], ops[i].opcode);
		ck_assert_uint_eq(get_be16(d + 2), ops[i].has_action ? ops[i].action : 0);
		ck_assert_uint_eq(d[5], ops[i].has_action ? 1 : 0);
		ck_assert_uint_eq(get_be16(d + 6), ops[i].cdb_length);
		ck_assert(!d[1] && !d[4]);
	}
	ck_assert_uint_eq(get_be32(fx_answer), seen * 8ull);
	ck_assert_uint_eq(seen, n - 1); /* PREVENT ALLOW is for removable media */
	p = PLAN(0xa3, 0x0c, 0, 0, 0, 0, 0, 0, 0, 7);
	ck_assert_uint_eq(p.data_length, 7);
	ck_assert_uint_eq(get_be32(fx_answer), seen * 8ull);
}
END_TEST

START_TEST(all_opcodes_with_timeouts)
{
	struct scsi_plan p;

	plan_setup();
	p = rsoc(0x80, 0, 0);
	ck_assert_uint_eq(get_be32(fx_answer) + 4, p.data_length);
	ck_assert_uint_eq((p.data_length - 4) % 20, 0);
	for (uint32_t at = 4; at < p.data_length; at += 20) {
		ck_assert(fx_answer[at + 5] & 0x02);
		ck_assert_uint_eq(get_be16(fx_answer + at + 8), 0x000a);
		ck_assert_uint_ge(get_be32(fx_answer + at + 16), get_be32(fx_answer + at + 12));
	}
}
END_TEST

START_TEST(one_opcode)
{
	plan_setup();
	ck_answer(rsoc(0x01, 0x28, 0xffff),
		  (const uint8_t[]){ 0, 3, 0, 10, 0x28, 0x1c, 0xff, 0xff, 0xff, 0xff, 0x1f, 0xff,
				     0xff, 0 },
		  14);
	ck_answer(rsoc(0x81, 0x12, 0),
		  (const uint8_t[]){ 0,  0x83, 0, 6, 0x12, 0x01, 0xff, 0xff, 0xff, 0, 0,
				     10, 0,    0, 0, 0,    0,    1,    0,    0,    0, 10 },
		  22);
	ck_answer(rsoc(0x02, 0xa3, 0x0c),
		  (const uint8_t[]){ 0, 3, 0, 12, 0xa3, 0x0c, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff,
				     0xff, 0xff, 0, 0 },
		  16);
	/* Not there. */
	ck_answer(rsoc(0x01, 0xff, 0), (const uint8_t[]){ 0, 1, 0, 0 }, 4);
	ck_answer(rsoc(0x81, 0x1e, 0), (const uint8_t[]){ 0, 1, 0, 0 }, 4);
	ck_answer(rsoc(0x02, 0x9e, 0x1f), (const uint8_t[]){ 0, 1, 0, 0 }, 4);
	ck_answer(rsoc(0x02, 0xff, 0x1f), (const uint8_t[]){ 0, 1, 0, 0 }, 4);
	/* Asked in the wrong way. */
	ck_field(rsoc(0x01, 0x9e, 0x10), 3, -1);
	ck_field(rsoc(0x02, 0x28, 0), 3, -1);
	/* In either way. */
	ck_assert_uint_eq(rsoc(0x03, 0x28, 0).data_length, 14);
	ck_assert_uint_eq(rsoc(0x03, 0x9e, 0x10).data_length, 20);
	ck_answer(rsoc(0x03, 0x28, 1), (const uint8_t[]){ 0, 1, 0, 0 }, 4);
	for (uint8_t option = 4; option < 8; option++)
		ck_field(rsoc(option, 0x28, 0), 2, 2);
}
END_TEST

/* The usage map of one command is what the checks let pass. */
START_TEST(usage_is_what_is_accepted)
{
	unsigned n;
	const struct scsi_op *op = scsi_op_table(&n);

	plan_setup();
	fx_lu.geo.removable = true;
	for (; n; n--, op++) {
		struct scsi_sense sense;

		ck_assert_uint_eq(rsoc(0x03, op->opcode, op->action).data_length,
				  4u + op->cdb_length);
		memset(fx_cdb, 0, sizeof(fx_cdb));
		memcpy(fx_cdb, fx_answer + 4, op->cdb_length);
		ck_assert_ptr_eq(scsi_op_find(&fx_rq, &sense), op);
	}
}
END_TEST

START_TEST(report_tmfs)
{
	plan_setup();
	ck_answer(PLAN(0xa3, 0x0d, 0, 0, 0, 0, 0, 0, 0, 255), (const uint8_t[]){ 0xda, 0, 0, 0 },
		  4);
	ck_answer(PLAN(0xa3, 0x0d, 0x80, 0, 0, 0, 0, 0, 0, 255),
		  (const uint8_t[]){ 0xda, 0, 0, 12, 1, 0, 0x1a, 0, 0, 0, 0, 150, 0, 0, 0, 50 },
		  16);
	ck_assert_uint_eq(PLAN(0xa3, 0x0d, 0x80, 0, 0, 0, 0, 0, 0, 5).data_length, 5);
	fx_nexus.has_queries = true;
	ck_answer(PLAN(0xa3, 0x0d, 0, 0, 0, 0, 0, 0, 0, 255), (const uint8_t[]){ 0xde, 7, 0, 0 },
		  4);
}
END_TEST

/* Every command that answers with data cuts it, and changes nothing in what it does send. */
START_TEST(allocation_lengths)
{
	static const struct {
		uint8_t cdb[16];
		unsigned at, bytes; /* ALLOCATION LENGTH */
	} commands[] = {
		{ { 0x12 }, 3, 2 },
		{ { 0x12, 1, 0x00 }, 3, 2 },
		{ { 0x12, 1, 0x80 }, 3, 2 },
		{ { 0x12, 1, 0x83 }, 3, 2 },
		{ { 0x12, 1, 0x86 }, 3, 2 },
		{ { 0x12, 1, 0xb0 }, 3, 2 },
		{ { 0x12, 1, 0xb1 }, 3, 2 },
		{ { 0x12, 1, 0xb2 }, 3, 2 },
		{ { 0x03 }, 4, 1 },
		{ { 0x03, 1 }, 4, 1 },
		{ { 0x1a, 0, 0x3f }, 4, 1 },
		{ { 0x1a, 8, 0x08 }, 4, 1 },
		{ { 0x5a, 0, 0x3f }, 7, 2 },
		{ { 0x5a, 0x10, 0x0a, 0xff }, 7, 2 },
		{ { 0x9e, 0x10 }, 10, 4 },
		{ { 0xa0 }, 6, 4 },
		{ { 0xa3, 0x0c }, 6, 4 },
		{ { 0xa3, 0x0c, 0x80 }, 6, 4 },
		{ { 0xa3, 0x0c, 1, 0x28 }, 6, 4 },
		{ { 0xa3, 0x0d, 0x80 }, 6, 4 },
	};
	static const uint16_t lengths[] = { 0, 1, 3, 4, 5, 7, 8, 15, 16, 254, 65535 };
	static uint8_t full[4096];
	struct scsi_lun_map *map;

	plan_setup();
	map = map_of(5);
	for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++) {
		unsigned at = commands[c].at, bytes = commands[c].bytes;
		uint8_t cdb[16];
		uint32_t whole;

		memcpy(cdb, commands[c].cdb, 16);
		memset(cdb + at + (bytes == 4 ? 2 : 0), 0xff, bytes == 4 ? 2 : bytes);
		whole = plan_bytes(cdb, 16).data_length;
		ck_assert_uint_gt(whole, 4);
		memcpy(full, fx_answer, whole);
		for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
			uint32_t want = lengths[l];
			struct scsi_plan p;

			if (bytes == 1 && want > 255)
				continue;
			memset(cdb + at, 0, bytes);
			cdb[at + bytes - 1] = (uint8_t)want;
			if (bytes > 1)
				cdb[at + bytes - 2] = (uint8_t)(want >> 8);
			p = plan_bytes(cdb, 16);
			ck_assert_int_eq(p.kind, PLAN_ANSWER);
			ck_assert_uint_eq(p.data_length, want < whole ? want : whole);
			ck_assert(!memcmp(full, fx_answer, p.data_length));
		}
	}
	free(map);
}
END_TEST

SUITE_COVERS("SI-001 SI-004 SI-005 SI-006 SI-007 SI-008 SI-009 SG-005 SN-007 SN-008 SN-009 "
	     "SN-010 SN-013 SN-014 SN-016 SN-018 SU-003 SU-004 SO-001 SO-002 SO-003 SO-004 "
	     "SO-005 SO-006 SO-007 SO-012 SO-017 SB-038 fault-E03 fault-E04 fault-E06");

UNIT_MAIN("scsi/spc", standard_inquiry, odd_text, inquiry_without_lu, report_luns,
	  report_luns_of_nothing, more_luns_than_room, report_luns_clears_its_own_news,
	  request_sense, test_unit_ready, all_opcodes, all_opcodes_with_timeouts, one_opcode,
	  usage_is_what_is_accepted, report_tmfs, allocation_lengths)
