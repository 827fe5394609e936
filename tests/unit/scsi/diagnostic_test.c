/* SPDX-License-Identifier: BSD-2-Clause */
/* Diagnostics, buffers, defect lists: answers, allocation lengths from 0, lists cut short. */
#include "tests/unit/scsi/exec_fixture.h"

/* Runs a CDB with a list, or with room for an answer; the task is the caller's. */
static struct fake_task *run(const uint8_t *cdb, uint16_t length, const uint8_t *list,
			     uint32_t edtl)
{
	struct fake_task *f = fx_task(&fx_nexus[0], cdb, length);

	if (list)
		fake_task_out(f, list, edtl);
	else
		fake_task_in(f, edtl);
	scsi_submit(&f->t);
	fx_run(f);
	return f;
}

static void expect(struct fake_task *f, uint8_t key, uint16_t asc)
{
	ck_assert_msg(f->status == (key ? SCSI_CHECK_CONDITION : SCSI_GOOD),
		      "%02x %02x: status %02x sense %x/%04x", f->cdb[0], f->cdb[1], f->status,
		      f->sense.key, f->sense.asc_ascq);
	if (key) {
		ck_assert_uint_eq(f->sense.key, key);
		ck_assert_uint_eq(f->sense.asc_ascq, asc);
	}
	fake_task_free(f);
}

/* Every allocation length cuts the same answer. */
static void cut(uint8_t *cdb, uint16_t length, unsigned at, const uint8_t *want, uint32_t n)
{
	for (uint32_t allocation = 0; allocation <= n + 2; allocation++) {
		uint32_t sent = allocation < n ? allocation : n;
		struct fake_task *f;

		cdb[at] = (uint8_t)allocation;
		f = run(cdb, length, NULL, 255);
		ck_assert_uint_eq(f->status, SCSI_GOOD);
		ck_assert_uint_eq(f->in_length, sent);
		ck_assert_mem_eq(sent ? f->in : want, want, sent);
		fake_task_free(f);
	}
}

START_TEST(send_diagnostic)
{
	static const struct {
		uint8_t cdb[6], list[8];
		uint32_t edtl;
		uint8_t key;
		uint16_t asc;
	} rows[] = {
		{ { 0x1d, 0x04 }, { 0 }, 0, 0, 0 },
		{ { 0x1d, 0x00 }, { 0 }, 0, 0, 0 },
		{ { 0x1d, 0x03 }, { 0 }, 0, 0, 0 },
		{ { 0x1d, 0x24 }, { 0 }, 0, 5, 0x2400 },
		{ { 0x1d, 0x20 }, { 0 }, 0, 5, 0x2400 },
		{ { 0x1d, 0xc0 }, { 0 }, 0, 5, 0x2400 },
		{ { 0x1d, 0x08 }, { 0 }, 0, 5, 0x2400 },
		{ { 0x1d, 0x04, 0, 0, 4 }, { 0 }, 4, 5, 0x2400 },
		{ { 0x1d, 0x10, 0, 0, 1 }, { 0 }, 1, 5, 0x1a00 },
		{ { 0x1d, 0x10, 0, 0, 3 }, { 0 }, 3, 5, 0x1a00 },
		{ { 0x1d, 0x10, 0, 0, 4 }, { 0 }, 3, 5, 0x1a00 },
		{ { 0x1d, 0x10, 0, 0, 4 }, { 0 }, 4, 0, 0 },
		{ { 0x1d, 0x10, 0, 0, 4 }, { 0x3f }, 4, 5, 0x2600 },
		{ { 0x1d, 0x10, 0, 0, 4 }, { 0, 0, 0, 1 }, 4, 5, 0x2600 },
		{ { 0x1d, 0x10, 0, 0, 5 }, { 0 }, 5, 5, 0x2600 },
	};

	COVERS("SD-001 SD-002 OP-014");
	fx_setup(FX_FILE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect(run(rows[i].cdb, 6, rows[i].list, rows[i].edtl), rows[i].key, rows[i].asc);
	fx_teardown();
}
END_TEST

START_TEST(receive_diagnostic)
{
	static const uint8_t want[] = { 0, 0, 0, 1, 0 };
	uint8_t pcv[6] = { 0x1c, 1 }, last[6] = { 0x1c }, other[6] = { 0x1c, 1, 1, 0, 4 };

	COVERS("SD-002 SD-003 OP-013");
	fx_setup(FX_FILE);
	cut(pcv, 6, 4, want, 5);
	cut(last, 6, 4, want, 5);
	expect(run(other, 6, NULL, 4), 5, 0x2400);
	fx_teardown();
}
END_TEST

START_TEST(buffers)
{
	static const uint8_t none[4], echo[4] = { 0, 0, 0x10, 0 };
	uint8_t cdb[10] = { 0x3c, 0x0b }, write[10] = { 0x3b, 0x0a }, list[5000];

	COVERS("SD-004 SD-005 SD-006 OP-024 OP-025");
	fx_setup(FX_FILE);
	cut(cdb, 10, 8, echo, 4);
	cdb[1] = 0x03;
	cut(cdb, 10, 8, none, 4);
	cdb[1] = 0x0a;
	expect(run(cdb, 10, NULL, 4), 5, 0x2c00); /* nothing has been written */
	fx_pattern(list, sizeof(list), 7);
	put_be24(write + 6, 60);
	expect(run(write, 10, list, 60), 0, 0);
	cut(cdb, 10, 8, list, 60);
	expect(run(write, 10, list, 59), 5, 0x1a00);
	put_be24(write + 6, 4097);
	expect(run(write, 10, list, 4097), 5, 0x2400);
	put_be24(write + 6, 4096);
	expect(run(write, 10, list, 4096), 0, 0);
	put_be24(write + 6, 0);
	expect(run(write, 10, list, 0), 0, 0);
	for (uint8_t mode = 0; mode < 32; mode++) {
		cdb[1] = write[1] = mode;
		if (mode != 0x0a) /* microcode among them */
			expect(run(write, 10, list, 0), 5, 0x2400);
		if (mode != 0x0a && mode != 0x0b && mode != 0x03)
			expect(run(cdb, 10, NULL, 4), 5, 0x2400);
	}
	/* Each nexus has its own. */
	cdb[1] = 0x0a;
	fx_expect(fx_task(&fx_nexus[1], cdb, 10), 5, 0x2c00);
	fx_teardown();
}
END_TEST

START_TEST(defect_lists)
{
	COVERS("SB-033 OP-023 OP-086");
	fx_setup(FX_FILE);
	for (uint8_t asked = 0; asked < 32; asked++) {
		uint8_t ten[10] = { 0x37, 0, asked, [8] = 4 },
			twelve[12] = { 0xb7, asked, [9] = 8 };
		const uint8_t want[8] = { 0, asked };

		if ((asked & 7) < 6) {
			cut(ten, 10, 8, want, 4);
			cut(twelve, 12, 9, want, 8);
		} else {
			expect(run(ten, 10, NULL, 4), SENSE_RECOVERED_ERROR, 0x1c00);
			expect(run(twelve, 12, NULL, 8), SENSE_RECOVERED_ERROR, 0x1c00);
		}
	}
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/diagnostic", send_diagnostic, receive_diagnostic, buffers, defect_lists)
