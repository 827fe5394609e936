/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/log.c"

#include "tests/unit/scsi/plan_fixture.h"

#define LOG(page, subpage) PLAN(0x4d, 0, page, subpage, 0, 0, 0, 0xff, 0xff)

static const uint8_t exceptions[] = { 0x2f, 0, 0, 8, 0, 0, 0x03, 4, 0, 0, 0xff, 0xff };

START_TEST(lists_of_pages)
{
	COVERS("SL-003 SL-004");
	plan_setup();
	ck_answer(LOG(0x00, 0x00),
		  (const uint8_t[]){ 0x00, 0, 0, 6, 0x00, 0x02, 0x03, 0x0c, 0x10, 0x2f }, 10);
	ck_answer(LOG(0x00, 0xff),
		  (const uint8_t[]){ 0x40, 0xff, 0, 14, 0, 0, 0, 0xff, 0x02, 0, 0x03, 0, 0x0c, 0,
				     0x10, 0, 0x2f, 0 },
		  18);
	fx_lu.geo.thin = false;
	ck_answer(LOG(0x00, 0x00), (const uint8_t[]){ 0x00, 0, 0, 5, 0x00, 0x02, 0x03, 0x10, 0x2f },
		  9);
}
END_TEST

/* Counts of 1 MiB; what the store does not tell is left out. */
START_TEST(provisioning)
{
	COVERS("SL-005 SL-004");
	plan_setup();
	atomic_store(&fx_lu.space.available, (300ull << 20) + 5);
	atomic_store(&fx_lu.space.used, 20ull << 20);
	ck_answer(LOG(0x0c, 0x00),
		  (const uint8_t[]){ 0x0c, 0, 0, 24, 0, 1, 3, 8, 0, 0,  1, 44, 2, 0,
				     0,    0, 0, 2,  3, 8, 0, 0, 0, 20, 1, 0,  0, 0 },
		  28);
	atomic_store(&fx_lu.space.available, SPACE_UNKNOWN);
	atomic_store(&fx_lu.space.used, 1ull << 60);
	ck_answer(
	    LOG(0x0c, 0x00),
	    (const uint8_t[]){ 0x0c, 0, 0, 12, 0, 2, 3, 8, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0 },
	    16);
	fx_lu.geo.thin = false;
	ck_field(LOG(0x0c, 0x00), 2, 5);
}
END_TEST

/* Parameters 1 to 20, all of zeros: no self-test is remembered. */
START_TEST(self_tests)
{
	uint8_t want[4 + 400] = { 0x10, 0, 400 >> 8, 400 & 0xff };

	plan_setup();
	for (unsigned i = 0; i < 20; i++) {
		want[4 + 20 * i + 1] = (uint8_t)(i + 1);
		want[4 + 20 * i + 2] = 0x03;
		want[4 + 20 * i + 3] = 16;
	}
	ck_answer(PLAN(0x4d, 0, 0x50, 0, 0, 0, 0, 2, 0), want, sizeof(want));
}
END_TEST

/* A page is answered if and only if it is listed, and its parameters fill it exactly. */
START_TEST(listed_pages_and_no_others)
{
	uint8_t list[64];
	unsigned n;

	COVERS("SL-001 SL-003 SL-004 SL-006");
	plan_setup();
	LOG(0x00, 0x00);
	n = fx_answer[3];
	memcpy(list, fx_answer + 4, n);
	for (unsigned page = 0; page < 64; page++) {
		struct scsi_plan p = LOG((uint8_t)page, 0);
		size_t at = 4;

		if (!memchr(list, (int)page, n)) {
			ck_field(p, 2, 5);
			continue;
		}
		ck_assert_int_eq(p.kind, PLAN_ANSWER);
		ck_assert_uint_eq(fx_answer[0], page);
		ck_assert_uint_eq(get_be16(fx_answer + 2) + 4u, p.data_length);
		while (page && at < p.data_length)
			at += 4u + fx_answer[at + 3];
		ck_assert(!page || at == p.data_length);
		for (unsigned subpage = 1; subpage < (page ? 256 : 255); subpage++)
			ck_field(LOG((uint8_t)page, (uint8_t)subpage), 3, -1);
	}
}
END_TEST

START_TEST(bits_that_are_not_offered)
{
	COVERS("SL-001 OP-032");
	plan_setup();
	ck_field(PLAN(0x4d, 0x01, 0x2f, 0, 0, 0, 0, 0, 64), 1, 0); /* SP */
	ck_field(PLAN(0x4d, 0x02, 0x2f, 0, 0, 0, 0, 0, 64), 1, 1); /* PPC */
	ck_field(PLAN(0x4d, 0, 0x2f, 0, 0x80, 0, 0, 0, 64), 4, 7);
	ck_sense(PLAN(0x4c), SENSE_ILLEGAL_REQUEST, 0x2000); /* LOG SELECT */
}
END_TEST

START_TEST(allocation_length_cuts)
{
	COVERS("OP-032");
	plan_setup();
	for (uint8_t n = 0; n < 32; n++)
		ck_answer(PLAN(0x4d, 0, 0x2f, 0, 0, 0, 0, 0, n), exceptions,
			  n < sizeof(exceptions) ? n : sizeof(exceptions));
}
END_TEST

START_TEST(parameter_pointer)
{
	COVERS("SL-002");
	plan_setup();
	LOG(0x02, 0x00);
	ck_assert_uint_eq(get_be16(fx_answer + 2), 24);
	PLAN(0x4d, 0, 0x02, 0, 0, 0, 5, 0, 255);
	ck_assert_uint_eq(get_be16(fx_answer + 2), 24);
	PLAN(0x4d, 0, 0x02, 0, 0, 0, 6, 0, 255);
	ck_assert_uint_eq(get_be16(fx_answer + 2), 12);
	ck_assert_uint_eq(get_be16(fx_answer + 4), 6);
	ck_field(PLAN(0x4d, 0, 0x02, 0, 0, 0, 7, 0, 255), 5, -1);
	ck_field(PLAN(0x4d, 0, 0x02, 0, 0, 1, 0, 0, 255), 5, -1);
	ck_field(PLAN(0x4d, 0, 0x00, 0, 0, 0, 1, 0, 255), 5, -1);
}
END_TEST

static void ck_counters(uint8_t page, uint64_t bytes, uint64_t errors)
{
	ck_assert_int_eq(LOG(page, 0).kind, PLAN_ANSWER);
	ck_assert_mem_eq(fx_answer + 4, "\0\5\2\10", 4);
	ck_assert_uint_eq(get_be64(fx_answer + 8), bytes);
	ck_assert_mem_eq(fx_answer + 16, "\0\6\2\10", 4);
	ck_assert_uint_eq(get_be64(fx_answer + 20), errors);
}

/* Sums over reactors; current values, and for want of thresholds those that are never reached. */
START_TEST(counters)
{
	COVERS("SL-006");
	plan_setup();
	fx_lu.counters[0] = (struct lu_counters){
		.read_bytes = 4096, .write_bytes = 512, .errors = 5, .write_errors = 2
	};
	fx_lu.counters[3] = (struct lu_counters){ .read_bytes = 1ull << 40, .errors = 1 };
	ck_counters(0x42, 512, 2);
	ck_counters(0x43, (1ull << 40) + 4096, 4);
	ck_counters(0x02, UINT64_MAX, UINT64_MAX);
	ck_counters(0x83, UINT64_MAX, UINT64_MAX);
	ck_counters(0xc3, 0, 0);
}
END_TEST

UNIT_MAIN("scsi/log", lists_of_pages, provisioning, self_tests, listed_pages_and_no_others,
	  bits_that_are_not_offered, allocation_length_cuts, parameter_pointer, counters)
