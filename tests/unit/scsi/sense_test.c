/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/sense.c"

#include "tests/unit/unit.h"

static void ck_encoded(struct scsi_sense s, bool descriptor, const uint8_t *want, size_t n)
{
	uint8_t out[SENSE_MAX];
	size_t got;

	memset(out, 0xa5, sizeof(out));
	got = sense_encode(&s, descriptor, out);
	ck_assert_uint_eq(got, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(out[i] == want[i], "byte %zu: %02x instead of %02x", i, out[i],
			      want[i]);
	for (size_t i = n; i < sizeof(out); i++)
		ck_assert_msg(descriptor || out[i] == 0xa5, "byte %zu written", i);
}

#define FIXED(s, ...) ck_encoded(s, false, (const uint8_t[18]){ __VA_ARGS__ }, 18)
#define DESCRIPTOR(s, ...)                                                                         \
	ck_encoded(s, true, (const uint8_t[]){ __VA_ARGS__ },                                      \
		   sizeof((const uint8_t[]){ __VA_ARGS__ }))

START_TEST(plain)
{
	struct scsi_sense s = sense_write_protected();

	FIXED(s, 0x70, 0, 0x07, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0, 0x27, 0x00);
	DESCRIPTOR(s, 0x72, 0x07, 0x27, 0x00, 0, 0, 0, 0);
}
END_TEST

START_TEST(field_pointers)
{
	FIXED(sense_invalid_field(0x0102), 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xc0,
	      0x01, 0x02);
	FIXED(sense_invalid_field_bit(1, 5), 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0,
	      0xcd, 0, 1);
	FIXED(sense_invalid_parameter(9), 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x26, 0, 0, 0x80,
	      0, 9);
	FIXED(sense_invalid_parameter_bit(9, 7), 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x26, 0, 0,
	      0x8f, 0, 9);
	DESCRIPTOR(sense_invalid_field_bit(1, 5), 0x72, 5, 0x24, 0, 0, 0, 0, 8, 0x02, 0x06, 0, 0,
		   0xcd, 0, 1, 0);
}
END_TEST

START_TEST(information)
{
	struct scsi_sense s = sense_miscompare(0x12345678);

	FIXED(s, 0xf0, 0, 0x0e, 0x12, 0x34, 0x56, 0x78, 10, 0, 0, 0, 0, 0x1d, 0x00);
	DESCRIPTOR(s, 0x72, 0x0e, 0x1d, 0x00, 0, 0, 0, 12, 0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0x12,
		   0x34, 0x56, 0x78);
	s.info = 0x100000005; /* does not fit the fixed format */
	FIXED(s, 0x70, 0, 0x0e, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x1d, 0x00);
	DESCRIPTOR(s, 0x72, 0x0e, 0x1d, 0x00, 0, 0, 0, 12, 0x00, 0x0a, 0x80, 0, 0, 0, 0, 1, 0, 0, 0,
		   5);
	s.info = 0xffffffff;
	FIXED(s, 0xf0, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 10, 0, 0, 0, 0, 0x1d, 0x00);
}
END_TEST

START_TEST(progress)
{
	struct scsi_sense s = sense_make(SENSE_NOT_READY, 0x0404);

	s.progress_valid = true;
	s.progress = 0x8001;
	FIXED(s, 0x70, 0, 2, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x04, 0x04, 0, 0x80, 0x80, 0x01);
	DESCRIPTOR(s, 0x72, 2, 0x04, 0x04, 0, 0, 0, 8, 0x02, 0x06, 0, 0, 0x80, 0x80, 0x01, 0);
}
END_TEST

/* All at once is the longest there is, and it fits. */
START_TEST(longest)
{
	struct scsi_sense s = sense_invalid_field(3);
	uint8_t out[SENSE_MAX];

	s.info_valid = true;
	ck_assert_uint_eq(sense_encode(&s, true, out), 8 + 12 + 8);
}
END_TEST

START_TEST(from_errno)
{
	static const struct {
		int error;
		bool write;
		uint8_t key;
		uint16_t asc;
	} cases[] = {
		{ EIO, false, 3, 0x1100 },    { EIO, true, 3, 0x0c00 },
		{ ENOSPC, true, 7, 0x2707 },  { EDQUOT, true, 7, 0x2707 },
		{ ENODEV, false, 4, 0x3e01 }, { ENXIO, true, 4, 0x3e01 },
		{ EROFS, true, 7, 0x2700 },   { ENOMEM, true, 0xb, 0x5503 },
		{ EINVAL, false, 4, 0x4400 }, { ETIMEDOUT, true, 4, 0x4400 },
		{ 9999, true, 4, 0x4400 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scsi_sense s = sense_from_errno(-cases[i].error, cases[i].write);

		ck_assert_msg(s.key == cases[i].key && s.asc_ascq == cases[i].asc,
			      "errno %d: %x/%04x", cases[i].error, s.key, s.asc_ascq);
	}
	/* No error becomes NO SENSE. */
	for (int e = 1; e < 200; e++)
		ck_assert(sense_from_errno(-e, false).key && sense_from_errno(-e, true).key);
}
END_TEST

START_TEST(not_ready)
{
	ck_assert_uint_eq(sense_not_ready(LU_READY).key, SENSE_NO_SENSE);
	ck_assert_uint_eq(sense_not_ready(LU_NO_STORE).asc_ascq, 0x0403);
	ck_assert_uint_eq(sense_not_ready(LU_STOPPED).asc_ascq, 0x0402);
	ck_assert_uint_eq(sense_not_ready(LU_EJECTED).asc_ascq, 0x3a00);
	for (int why = LU_NO_STORE; why <= LU_SANITIZING; why++)
		ck_assert_uint_eq(sense_not_ready(why).key, SENSE_NOT_READY);
	/* What failed half-way is for good. */
	ck_assert_uint_eq(sense_not_ready(LU_FORMAT_FAILED).asc_ascq, 0x3101);
	ck_assert_uint_eq(sense_not_ready(LU_SANITIZE_FAILED).asc_ascq, 0x3103);
	ck_assert_uint_eq(sense_not_ready(LU_SANITIZE_FAILED).key, SENSE_MEDIUM_ERROR);
	ck_assert_uint_eq(sense_not_ready(99).key, SENSE_NOT_READY);
}
END_TEST

START_TEST(constructors)
{
	ck_assert_uint_eq(sense_invalid_opcode().asc_ascq, 0x2000);
	ck_assert_uint_eq(sense_parameter_list_length().asc_ascq, 0x1a00);
	ck_assert_uint_eq(sense_lba_out_of_range().asc_ascq, 0x2100);
	ck_assert_uint_eq(sense_lun_not_supported().asc_ascq, 0x2500);
	ck_assert_uint_eq(sense_medium_not_present().asc_ascq, 0x3a00);
	ck_assert_uint_eq(sense_unit_attention(0x2901).asc_ascq, 0x2901);
	ck_assert_uint_eq(sense_unit_attention(0x2901).key, SENSE_UNIT_ATTENTION);
}
END_TEST

SUITE_COVERS("SS-002 SS-003 SS-004 SS-008 SS-010 SS-011 SS-013 SG-010");

UNIT_MAIN("scsi/sense", plain, field_pointers, information, progress, longest, from_errno,
	  not_ready, constructors)
