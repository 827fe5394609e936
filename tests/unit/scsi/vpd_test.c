/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/vpd.c"

#include "tests/unit/scsi/plan_fixture.h"

#define VPD(page) PLAN(0x12, 0x01, page, 0xff, 0xff)

START_TEST(supported_pages)
{
	plan_setup();
	ck_answer(VPD(0x00),
		  (const uint8_t[]){ 0, 0, 0, 10, 0x00, 0x80, 0x83, 0x86, 0x87, 0x88, 0x8f, 0xb0,
				     0xb1, 0xb2 },
		  14);
	fx_lu.geo.thin = false;
	ck_answer(
	    VPD(0x00),
	    (const uint8_t[]){ 0, 0, 0, 9, 0x00, 0x80, 0x83, 0x86, 0x87, 0x88, 0x8f, 0xb0, 0xb1 },
	    13);
}
END_TEST

/* A page is answered if and only if it is listed, and says its own code and length. */
START_TEST(listed_pages_and_no_others)
{
	uint8_t list[64];
	unsigned n, last = 0;

	plan_setup();
	VPD(0x00);
	n = fx_answer[3];
	memcpy(list, fx_answer + 4, n);
	for (unsigned i = 1; i < n; i++, last = list[i - 1])
		ck_assert_uint_lt(last, list[i]);
	for (unsigned page = 0; page < 256; page++) {
		struct scsi_plan p = VPD((uint8_t)page);

		if (!memchr(list, (int)page, n)) {
			ck_field(p, 2, -1);
			continue;
		}
		ck_assert_int_eq(p.kind, PLAN_ANSWER);
		ck_assert_uint_eq(fx_answer[0], 0);
		ck_assert_uint_eq(fx_answer[1], page);
		ck_assert_uint_eq(get_be16(fx_answer + 2) + 4u, p.data_length);
		ck_assert_uint_le(p.data_length, VPD_MAX);
		ck_assert_uint_eq(fx_answer[p.data_length], 0xa5); /* not a byte too many */
	}
}
END_TEST

START_TEST(serial)
{
	plan_setup();
	ck_answer(VPD(0x80),
		  (const uint8_t *)"\0\x80\0\x20"
				   "0123456789abcdef0123456789abcdef",
		  36);
	memcpy(fx_lu.id.serial, "A-1", 4);
	ck_answer(VPD(0x80),
		  (const uint8_t *)"\0\x80\0\x03"
				   "A-1",
		  7);
}
END_TEST

START_TEST(identification)
{
	static const uint8_t want[] =
	    "\x00\x83\x00\xa0"
	    /* LU: NAA */
	    "\x01\x03\x00\x10\x61\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
	    /* LU: T10 vendor id; the tail begins with what differs most */
	    "\x02\x01\x00\x28HAWSER  100f0e0d0c0b0a090807060504030261"
	    /* port: relative target port */
	    "\x51\x94\x00\x04\x00\x00\x00\x07"
	    /* port: target port group */
	    "\x51\x95\x00\x04\x00\x00\x00\x01"
	    /* port: SCSI name string */
	    "\x53\x98\x00\x28iqn.2026-01.org.example:disk,t,0x0001\0\0\0"
	    /* device: SCSI name string */
	    "\x53\xa8\x00\x20iqn.2026-01.org.example:disk\0\0\0\0";

	plan_setup();
	ck_assert_uint_eq(sizeof(want) - 1, 4 + 0xa0);
	ck_answer(VPD(0x83), want, sizeof(want) - 1);
}
END_TEST

/* What names the LU is the same from wherever it is asked; what names the port is not. */
START_TEST(identification_of_another_port)
{
	uint8_t first[512];

	plan_setup();
	VPD(0x83);
	memcpy(first, fx_answer, sizeof(first));
	fx_nexus.relative_port = 8;
	snprintf(fx_nexus.target_port, sizeof(fx_nexus.target_port), "iqn.2026-01.x:y,t,0x0002");
	VPD(0x83);
	ck_assert(!memcmp(first + 4, fx_answer + 4, 20 + 44));
	ck_assert_uint_eq(fx_answer[4 + 64 + 7], 8);
	ck_assert_uint_eq(fx_answer[4 + 64 + 8 + 7], 2);
	ck_assert(memcmp(first + 80, fx_answer + 80, 64));
}
END_TEST

START_TEST(longest_names_fit)
{
	plan_setup();
	memset(fx_nexus.target_port, 'x', sizeof(fx_nexus.target_port) - 1);
	fx_nexus.target_port[sizeof(fx_nexus.target_port) - 1] = 0;
	ck_assert_uint_le(VPD(0x83).data_length, VPD_MAX);
}
END_TEST

START_TEST(extended_inquiry)
{
	uint8_t want[64] = { 0, 0x86, 0, 0x3c, 0, 0x17, 0x01, 0x01 };

	plan_setup();
	ck_answer(VPD(0x86), want, 64);
	fx_lu.geo.write_cache = false;
	want[6] = 0;
	ck_answer(VPD(0x86), want, 64);
}
END_TEST

START_TEST(block_limits)
{
	uint8_t want[64] = {
		0,    0xb0, 0,    0x3c, 1, 128,  0,    8, /* WSNZ=1, granularity 4 KiB */
		0,    0,    0x80, 0,    0, 0,    8,    0, /* 16 MiB, 1 MiB */
		0,    0,    0,    0,    0, 0x10, 0,    0, /* unmap: blocks */
		0,    0,    1,    0,    0, 0,    0,    8, /* descriptors, granularity */
		0x80, 0,    0,    0,    0, 0,    0,    0, /* UGAVALID */
		0,    8,    0,    0,    0, 0,    0x80, 0, /* WRITE SAME, atomic: */
		0,    0,    0,    8,    0, 0,    0,    8
	}; /* alignment, granularity */

	plan_setup();
	ck_answer(VPD(0xb0), want, 64);
	fx_lu.geo.unmap_alignment = 5;
	want[35] = 5;
	ck_answer(VPD(0xb0), want, 64);
	/* No UNMAP: all of its fields are zero. */
	fx_lu.geo.unmap_granularity = 0;
	memset(want + 20, 0, 16);
	ck_answer(VPD(0xb0), want, 64);
	fx_lu.geo.unmap_granularity = 8;
	fx_lu.geo.thin = false;
	ck_answer(VPD(0xb0), want, 64);
	fx_lu.geo.max_atomic = 0;
	memset(want + 44, 0, 20);
	ck_answer(VPD(0xb0), want, 64);
}
END_TEST

START_TEST(block_limits_of_4k)
{
	plan_setup();
	fx_lu.geo.block_size = 4096;
	fx_lu.geo.physical_exponent = 0;
	fx_lu.geo.max_blocks = 4096;
	VPD(0xb0);
	ck_assert_uint_eq(get_be16(fx_answer + 6), 1);
	ck_assert_uint_eq(get_be32(fx_answer + 8), 4096);
	ck_assert_uint_eq(get_be32(fx_answer + 12), 256);
	/* 512 with no larger physical block: still 4 KiB, for the page cache. */
	fx_lu.geo.block_size = 512;
	VPD(0xb0);
	ck_assert_uint_eq(get_be16(fx_answer + 6), 8);
	fx_lu.geo.physical_exponent = 7;
	VPD(0xb0);
	ck_assert_uint_eq(get_be16(fx_answer + 6), 128);
	fx_lu.geo.max_blocks = 100; /* never more than the maximum */
	VPD(0xb0);
	ck_assert_uint_eq(get_be32(fx_answer + 12), 100);
	fx_lu.geo.max_unmap_blocks = 1ull << 40;
	VPD(0xb0);
	ck_assert_uint_eq(get_be32(fx_answer + 20), UINT32_MAX);
}
END_TEST

START_TEST(characteristics)
{
	uint8_t want[64] = { 0, 0xb1, 0, 0x3c, 0, 1, 0, 0x40, 3 };

	plan_setup();
	ck_answer(VPD(0xb1), want, 64);
	fx_lu.geo.rotational = true;
	put_be16(want + 4, 7200);
	ck_answer(VPD(0xb1), want, 64);
}
END_TEST

START_TEST(provisioning)
{
	plan_setup();
	ck_answer(VPD(0xb2), (const uint8_t[]){ 0, 0xb2, 0, 4, 11, 0xe4, 2, 0 }, 8);
	fx_lu.geo.zeroes_after_unmap = false;
	ck_answer(VPD(0xb2), (const uint8_t[]){ 0, 0xb2, 0, 4, 11, 0xe0, 2, 0 }, 8);
	fx_lu.geo.unmap_granularity = 0;
	ck_answer(VPD(0xb2), (const uint8_t[]){ 0, 0xb2, 0, 4, 11, 0x00, 2, 0 }, 8);
	fx_lu.geo.thin = false;
	ck_field(VPD(0xb2), 2, -1);
}
END_TEST

START_TEST(mode_page_policy)
{
	COVERS("SI-018");
	plan_setup();
	ck_answer(VPD(0x87), (const uint8_t[]){ 0, 0x87, 0, 4, 0x3f, 0xff, 0, 0 }, 8);
}
END_TEST

static bool many_ports(struct it_nexus *n, unsigned i, uint16_t *ret_relative,
		       char ret_name[static SCSI_PORT_NAME])
{
	(void)n;
	*ret_relative = (uint16_t)(i + 1);
	memset(ret_name, 'n', 223);
	snprintf(ret_name + 223, SCSI_PORT_NAME - 223, ",t,0x%04x", i + 1);
	return i < 1000;
}

/* All ports while there is room, each whole and with the name that page 83h gives on it. */
START_TEST(scsi_ports)
{
	static const struct nexus_neighbours near = { .target_port = many_ports };
	struct scsi_plan p;
	unsigned n = 0;
	size_t at = 4;

	COVERS("SI-019");
	plan_setup();
	p = VPD(0x88);
	ck_assert_uint_eq(p.data_length, 4 + 12 + 4 + 40);
	ck_assert_uint_eq(get_be16(fx_answer + 6), fx_nexus.relative_port);
	ck_assert_uint_eq(get_be16(fx_answer + 14), 44);
	ck_assert_mem_eq(fx_answer + 16, "\x53\x98\0\x28", 4);
	ck_assert_str_eq((char *)fx_answer + 20, fx_nexus.target_port);

	fx_nexus.neighbours = &near;
	p = VPD(0x88);
	ck_assert_uint_le(p.data_length, VPD_MAX);
	for (; at < p.data_length; n++) {
		ck_assert_uint_eq(get_be16(fx_answer + at + 2), n + 1);
		ck_assert_uint_eq(get_be16(fx_answer + at + 6), 0); /* no initiator port */
		at += 12u + get_be16(fx_answer + at + 10);
	}
	ck_assert_uint_eq(at, p.data_length);
	ck_assert_uint_gt(n, 50);
}
END_TEST

START_TEST(without_lu)
{
	plan_setup();
	plan_without_lu();
	ck_answer(VPD(0x00), (const uint8_t[]){ 0x7f, 0, 0, 1, 0x00 }, 5);
	ck_field(VPD(0x80), 2, -1);
	ck_field(VPD(0x83), 2, -1);
	ck_field(VPD(0xb0), 2, -1);
}
END_TEST

SUITE_COVERS("SI-003 SI-010 SI-011 SI-012 SI-013 SI-015 SI-017 SI-021 SI-022 SI-023 SI-024 "
	     "SI-025 SI-026 SI-027 fault-E16");

UNIT_MAIN("scsi/vpd", supported_pages, listed_pages_and_no_others, serial, identification,
	  identification_of_another_port, longest_names_fit, extended_inquiry, block_limits,
	  block_limits_of_4k, characteristics, provisioning, mode_page_policy, scsi_ports,
	  without_lu)
