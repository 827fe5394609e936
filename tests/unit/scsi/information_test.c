/* SPDX-License-Identifier: BSD-2-Clause */
/* Identifying information and the time: what is there, what is refused, who is told. */
#include "tests/unit/scsi/exec_fixture.h"

#include <time.h>

#define REPORT 0xa3
#define SET    0xa4
enum { INFORMATION_OF_REPORT = 0x05, INFORMATION_OF_SET = 0x06, TIMESTAMP = 0x0f };

static struct fake_task *command(uint8_t opcode, uint8_t action, uint8_t type, uint32_t length)
{
	uint8_t cdb[12] = { opcode, action };

	put_be32(cdb + 6, length);
	cdb[10] = (uint8_t)(type << 1);
	return fx_task(&fx_nexus[0], cdb, sizeof(cdb));
}

/* The answer's bytes, in out; their number. */
static size_t report(uint8_t action, uint8_t type, uint8_t *out, uint32_t allocation)
{
	struct fake_task *f = command(REPORT, action, type, allocation);
	size_t n;

	fake_task_in(f, allocation);
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(f->status, 0);
	n = f->in_length;
	memcpy(out, f->in, n);
	fake_task_free(f);
	return n;
}

/* Sense, or 0. */
static unsigned set(uint8_t action, uint8_t type, const void *list, uint32_t length)
{
	struct fake_task *f = command(SET, action, type, length);
	unsigned sense;

	if (length)
		fake_task_out(f, list, length);
	scsi_submit(&f->t);
	fx_run(f);
	sense = f->status ? (unsigned)f->sense.key << 16 | f->sense.asc_ascq : 0;
	fake_task_free(f);
	return sense;
}

/* The unit attention of another nexus; none for the one that asked. */
static uint16_t told(void)
{
	uint16_t ua = 0, own;

	ck_assert(!itl_ua_take(nexus_find(&fx_nexus[0], 0), &own));
	return itl_ua_take(nexus_find(&fx_nexus[1], 0), &ua) ? ua : 0;
}

START_TEST(identifying_information)
{
	uint8_t out[512], longest[257];
	static const uint8_t supported[] = { 0, 0, 0, 8, 0, 0, 0, 64, 4, 0, 1, 0 };

	COVERS("SO-008 SU-019 OP-071 OP-077");
	fx_setup(FX_FILE);
	memset(longest, 'x', sizeof(longest));
	longest[255] = 0;
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 0x7f, out, 512), sizeof(supported));
	ck_assert_mem_eq(out, supported, sizeof(supported));
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 0, out, 512), 4);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 0, longest, 64), 0);
	ck_assert_uint_eq(told(), 0x3f05);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 2, longest, 256), 0);
	ck_assert_uint_eq(told(), 0x3f05);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 2, longest, 256), 0); /* the same */
	ck_assert_uint_eq(told(), 0);
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 0, out, 512), 68);
	ck_assert(get_be32(out) == 64 && !memcmp(out + 4, longest, 64));
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 2, out, 512), 260);
	ck_assert(get_be32(out) == 256 && !memcmp(out + 4, longest, 256));
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 2, out, 10), 10);
	ck_assert_uint_eq(get_be32(out), 256);
	/* Refused, with nothing changed: too long, no NUL at the end, types that are not there. */
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 0, longest, 65), 0x052400);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 2, longest, 257), 0x052400);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 2, longest, 255), 0x052600);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 1, longest, 1), 0x052400);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 0x7f, longest, 1), 0x052400);
	ck_assert_uint_eq(told(), 0);
	fx_expect(command(REPORT, INFORMATION_OF_REPORT, 3, 64), SENSE_ILLEGAL_REQUEST, 0x2400);
	/* Shorter leaves nothing of what was longer; without a list it goes. */
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 2, "ab", 3), 0);
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 2, out, 512), 7);
	ck_assert_str_eq((char *)out + 4, "ab");
	ck_assert_uint_eq(told(), 0x3f05);
	ck_assert_uint_eq(set(INFORMATION_OF_SET, 2, NULL, 0), 0);
	ck_assert_uint_eq(report(INFORMATION_OF_REPORT, 2, out, 512), 4);
	ck_assert_uint_eq(told(), 0x3f05);
	fx_teardown();
}
END_TEST

START_TEST(timestamp)
{
	uint8_t out[16], list[12] = { 0 };
	uint64_t now = (uint64_t)time(NULL) * 1000;

	COVERS("SO-010 SU-019 OP-076 OP-080");
	fx_setup(FX_FILE);
	ck_assert_uint_eq(report(TIMESTAMP, 0, out, 16), 12);
	ck_assert_uint_eq(get_be16(out), 10);
	ck_assert_uint_eq(out[2], 3);
	ck_assert(get_be48(out + 4) >= now && get_be48(out + 4) < now + 600000);
	put_be48(list + 4, 5000000);
	ck_assert_uint_eq(set(TIMESTAMP, 0, list, 12), 0);
	ck_assert_uint_eq(told(), 0x2a10);
	report(TIMESTAMP, 0, out, 16);
	ck_assert_uint_eq(out[2], 2);
	ck_assert(get_be48(out + 4) >= 5000000 && get_be48(out + 4) < 5600000);
	ck_assert_uint_eq(set(TIMESTAMP, 0, NULL, 0), 0);
	ck_assert_uint_eq(set(TIMESTAMP, 0, list, 11), 0x051a00);
	ck_assert_uint_eq(set(TIMESTAMP, 0, list, 13), 0x052400);
	list[11] = 1;
	ck_assert_uint_eq(set(TIMESTAMP, 0, list, 12), 0x052600);
	ck_assert_uint_eq(told(), 0);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/information", identifying_information, timestamp)
