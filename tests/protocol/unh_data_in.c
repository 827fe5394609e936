/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, groups 8.2 and 9: Data-In (full text). */
#include "tests/protocol/unh.h"

static struct unh_piece pieces[UNH_PIECES];

START_TEST(tags)
{
	COVERS("U-012 P-083 P-085");
	struct ini *i = unh_session("InitialR2T=No\nImmediateData=No\n" TRY_LEVEL_1);
	unsigned n;

	ready(i, LUN_4K);
	n = unh_read(i, LUN_4K, 0, 8, pieces);
	ck_assert_uint_gt(n, 1);
	while (n--) {
		/* Nothing asks for an acknowledgement below level 1. */
		ck_assert_uint_eq(pieces[n].flags & ISCSI_DATA_IN_ACK, 0);
		ck_assert_uint_eq(pieces[n].ttt, ISCSI_TAG_RESERVED);
		ck_assert_uint_eq(pieces[n].lun, 0);
	}
}
END_TEST

START_TEST(status)
{
	COVERS("U-013 P-080 P-082");
	struct ini *i = unh_session(NULL);
	unsigned count = unh_read(i, LUN_RAM, UNH_BLOCK, 128, pieces);

	for (unsigned n = 0; n < count; n++) {
		if (!(pieces[n].flags & ISCSI_DATA_IN_STATUS))
			continue;
		ck_assert_uint_eq(n, count - 1);
		ck_assert(pieces[n].flags & ISCSI_FINAL);
		ck_assert_uint_eq(pieces[n].status, 0);
	}
	expect_nothing(i); /* and no SCSI Response behind it */
}
END_TEST

START_TEST(final)
{
	COVERS("U-014 P-076");
	struct ini *i = unh_session("MaxBurstLength=4096\nFirstBurstLength=4096\n"
				    "MaxRecvDataSegmentLength=1024");

	ck_assert_uint_eq(unh_read(i, LUN_RAM, UNH_BLOCK, 2, pieces), 1);
	ck_assert(pieces[0].flags & ISCSI_FINAL);
	ck_assert_uint_eq(unh_read(i, LUN_RAM, UNH_BLOCK, 20, pieces), 10);
	for (unsigned n = 0; n < 10; n++)
		ck_assert_uint_eq((pieces[n].flags & ISCSI_FINAL) != 0, n == 3 || n == 7 || n == 9);
}
END_TEST

#define SMALL_PIECES                                                                               \
	SOLICITED "MaxRecvDataSegmentLength=512\nDataPDUInOrder=Yes\nDataSequenceInOrder=Yes"

START_TEST(length_number_and_offset)
{
	COVERS("U-015 U-018 U-019 T-072 P-076 P-077 P-078 P-079");
	struct ini *i = unh_session(SMALL_PIECES);
	uint32_t at = 0;
	unsigned count = unh_read(i, LUN_RAM, UNH_BLOCK, 16, pieces);

	ck_assert_uint_ge(count, 16);
	for (unsigned n = 0; n < count; n++) {
		ck_assert_uint_le(pieces[n].length, 512);
		ck_assert_uint_eq(pieces[n].datasn, n);
		ck_assert_uint_eq(pieces[n].offset, at);
		at += pieces[n].length;
	}
	ck_assert_uint_eq(at, 8192);
}
END_TEST

START_TEST(whole_words)
{
	COVERS("U-017 P-086");
	struct ini *i = unh_session(_i ? SOLICITED "MaxRecvDataSegmentLength=1023" : SMALL_PIECES);
	unsigned count = unh_read(i, LUN_RAM, UNH_BLOCK, 16, pieces);

	ck_assert_uint_gt(count, 4);
	for (unsigned n = 0; n < count; n++) {
		if (!(pieces[n].flags & ISCSI_FINAL))
			ck_assert_uint_eq(pieces[n].length % 4, 0);
	}
}
END_TEST

void unh_data_in_suite(TCase *c)
{
	add(c, tags);
	add(c, status);
	add(c, final);
	add(c, length_number_and_offset);
	add_rows(c, whole_words, 2);
}
