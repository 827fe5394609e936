/* SPDX-License-Identifier: BSD-2-Clause */
/* FORMAT UNIT and SANITIZE: what is refused, what is there afterwards, and what happens meanwhile.
 */
#include "scsi/media.h"

#include "tests/unit/scsi/compound_fixture.h"

static struct fake_task *media(const uint8_t *cdb, uint16_t length, uint32_t list)
{
	struct fake_task *f = fx_task(&fx_nexus[0], cdb, length);

	if (list)
		fake_task_out(f, data, list);
	return f;
}

static struct fake_task *sanitize(uint8_t flags, uint16_t list)
{
	uint8_t cdb[10] = { 0x48, flags };

	put_be16(cdb + 7, list);
	return media(cdb, 10, list);
}

static struct fake_task *format(uint8_t flags, uint32_t list)
{
	const uint8_t cdb[6] = { 0x04, flags };

	return media(cdb, 6, list);
}

static void turns(unsigned n)
{
	while (n--)
		fx_turn();
}

static void all_is(uint8_t byte)
{
	ck_assert_uint_eq(fx_store->bytes[0], byte);
	ck_assert_mem_eq(fx_store->bytes, fx_store->bytes + 1, FX_SIZE - 1);
}

START_TEST(format_zeroes)
{
	COVERS("SD-007 SD-009 SP-018 OP-003");
	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
		fill_medium(1);
		fx_expect(format(0, 0), 0, 0);
		all_is(0);
		ck_assert_uint_eq(fx_store->allocated[5], 0); /* thin: given back */
		ck_assert_uint_eq(fx_store->log[fx_store->n_log - 1].kind, BACKING_FLUSH);
		fx_expect(fx_write(&fx_nexus[1], 0, 8, before), 0, 0);
		ck_assert_uint_eq(atomic_load(&nexus_find(&fx_nexus[0], 0)->gate), 0);
		fx_teardown();
	}
}
END_TEST

START_TEST(format_refused)
{
	static const struct {
		uint8_t flags, list[8];
		uint32_t length;
		uint16_t asc;
	} rows[] = {
		{ 0x08, { 0 }, 0, 0x2400 },          /* CMPLST without FMTDATA */
		{ 0x20, { 0 }, 0, 0x2400 },          /* LONGLIST */
		{ 0x05, { 0 }, 0, 0x2400 },          /* a format */
		{ 0x50, { 0 }, 4, 0x2400 },          /* FMTPINFO */
		{ 0x10, { 0 }, 3, 0x1a00 },          /* half a header */
		{ 0x30, { 0 }, 4, 0x1a00 },          /* LONGLIST */
		{ 0x10, { 0x01 }, 4, 0x2600 },       /* PROTECTION FIELD USAGE */
		{ 0x10, { 0, 0x40 }, 4, 0x2600 },    /* DPRY without FOV */
		{ 0x10, { 0, 0x88 }, 4, 0x2600 },    /* IP */
		{ 0x10, { 0, 0, 0, 8 }, 4, 0x2600 }, /* a defect list */
		{ 0x30, { 0, 0, 0, 1 }, 8, 0x2600 }, /* PROTECTION INTERVAL EXPONENT */
		{ 0x30, { [7] = 16 }, 8, 0x2600 },   /* a defect list */
	};

	COVERS("SD-007 OP-003");
	fx_setup(FX_FILE);
	fill_medium(1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(data, rows[i].list, 8);
		fx_expect(format(rows[i].flags, rows[i].length), SENSE_ILLEGAL_REQUEST,
			  rows[i].asc);
	}
	others_untouched(0, 0);
	memcpy(data, (const uint8_t[8]){ 0, 0xf0 }, 8); /* FOV with all it may bring */
	fx_expect(format(0x38, 8), 0, 0);
	all_is(0);
	fx_teardown();
}
END_TEST

START_TEST(overwrite)
{
	COVERS("SD-010 OP-030");
	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
		fill_medium(1);
		memcpy(data, (const uint8_t[]){ 0x02, 0, 0, 1, 0xa5 }, 5);
		fx_expect(sanitize(0x01, 5), 0, 0);
		all_is(0xa5);
		ck_assert_uint_eq(fx_store->count[BACKING_FLUSH], 2);
		memcpy(data, (const uint8_t[]){ 0x82, 0, 0, 3, 1, 2, 3 }, 7); /* INVERT, twice */
		fx_expect(sanitize(0x01, 7), 0, 0);
		for (unsigned i = 0; i < FX_SIZE; i += 997)
			ck_assert_uint_eq(fx_store->bytes[i], (uint8_t) ~(i % FX_BLOCK % 3 + 1));
		fx_teardown();
	}
}
END_TEST

START_TEST(sanitize_refused)
{
	static const struct {
		uint8_t flags;
		uint16_t length;
		uint8_t list[4];
	} rows[] = {
		{ 0x01, 0, { 1, 0, 0, 1 } },
		{ 0x01, 4, { 1, 0, 0, 1 } },
		{ 0x01, 517, { 1, 0, 0, 1 } },
		{ 0x01, 8, { 0, 0, 0, 4 } },
		{ 0x01, 8, { 1, 0, 0, 0 } },
		{ 0x01, 8, { 1, 0, 0, 5 } },
		{ 0x01, 8, { 0x21, 0, 0, 4 } },
		{ 0x02, 1, { 0 } },
		{ 0x1f, 1, { 0 } },
		{ 0x03, 0, { 0 } },
		{ 0x00, 0, { 0 } },
		{ 0x42, 0, { 0 } },
	};

	COVERS("SD-010 SD-012 OP-030");
	fx_setup(FX_FILE);
	fill_medium(1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(data, rows[i].list, 4);
		fx_expect(sanitize(rows[i].flags, rows[i].length), SENSE_ILLEGAL_REQUEST, 0x2400);
	}
	fx_lu->geo.read_only = true;
	fx_expect(sanitize(0x02, 0), SENSE_DATA_PROTECT, 0x2700);
	fx_lu->geo.read_only = false;
	others_untouched(0, 0);
	ck_assert_int_eq(atomic_load(&fx_lu->not_ready), LU_READY);
	fx_expect(sanitize(0x1f, 0), 0, 0); /* nothing has failed */
	fx_teardown();
}
END_TEST

static const uint8_t tur[6], request_sense[6] = { 0x03, 0, 0, 0, 252 },
			     inquiry[6] = { 0x12, 0, 0, 0, 96 }, stop[6] = { 0x1b },
			     mode_select[6] = { 0x15, 0x10 };

/* It waits for I/O of all nexuses; then the LU tells of it, and of nothing else. */
START_TEST(meanwhile)
{
	struct fake_task *old, *erase, *late, *f;

	COVERS("SD-011 SD-013 SO-013");
	fx_setup(FX_FILE);
	fill_medium(1);
	fx_store->hold = true;
	old = fx_write(&fx_nexus[1], 0, 8, before);
	scsi_submit(&old->t);
	late = fx_write(&fx_nexus[1], 0, 8, before);
	late->hold_data = true;
	scsi_submit(&late->t);
	erase = sanitize(0x82, 0); /* IMMED */
	scsi_submit(&erase->t);
	turns(4);
	ck_assert(erase->ended && erase->status == SCSI_GOOD);
	fake_task_free(erase);
	ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 0);
	fake_task_deliver(late); /* it had not begun */
	ck_assert(late->ended && late->sense.asc_ascq == 0x041b);
	fake_store_let(fx_store);
	turns(4);
	ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 1);
	fx_expect(media(tur, 6, 0), SENSE_NOT_READY, 0x041b);
	fx_expect(media(stop, 6, 0), SENSE_NOT_READY, 0x041b);
	fx_expect(media(mode_select, 6, 0), SENSE_NOT_READY, 0x041b);
	fx_expect(fx_read(&fx_nexus[2], 0, 8), SENSE_NOT_READY, 0x041b);
	fx_expect(sanitize(0x02, 0), SENSE_NOT_READY, 0x041b);
	fx_expect(media(inquiry, 6, 0), 0, 0);
	f = fx_task(&fx_nexus[2], request_sense, 6);
	fake_task_in(f, 252);
	scsi_submit(&f->t);
	ck_assert(f->ended && f->in_length == 18);
	ck_assert((f->in[2] & 15) == SENSE_NOT_READY && get_be16(f->in + 12) == 0x041b);
	ck_assert(f->in[15] & 0x80);
	fake_task_free(f);
	nexus_destroy(&fx_nexus[0]); /* who began it */
	fx_store->hold = false;
	fake_store_let(fx_store);
	turns(20);
	all_is(0);
	fx_expect(fx_read(&fx_nexus[2], 0, 8), 0, 0);
	fake_task_free(old);
	fake_task_free(late);
	fx_teardown();
}
END_TEST

START_TEST(format_meanwhile)
{
	struct fake_task *f;

	COVERS("SD-008");
	fx_setup(FX_FILE);
	fx_store->hold = true;
	memcpy(data, (const uint8_t[]){ 0, 0x02, 0, 0 }, 4);
	f = format(0x10, 4);
	scsi_submit(&f->t);
	ck_assert(f->ended && f->status == SCSI_GOOD);
	fake_task_free(f);
	fx_expect(media(tur, 6, 0), SENSE_NOT_READY, 0x0404);
	fx_expect(media(inquiry, 6, 0), 0, 0);
	turns(2);
	fake_store_let_one(fx_store, -EIO);
	turns(2);
	fx_expect(media(tur, 6, 0), SENSE_MEDIUM_ERROR, 0x3101);
	fx_expect(fx_read(&fx_nexus[1], 0, 1), SENSE_MEDIUM_ERROR, 0x3101);
	fx_store->hold = false;
	fx_expect(format(0, 0), 0, 0);
	fx_expect(media(tur, 6, 0), 0, 0);
	fx_teardown();
}
END_TEST

/* AUSE decides whether a host may take the failed medium back. */
START_TEST(failed)
{
	COVERS("SD-012");
	for (uint8_t ause = 0; ause <= 0x20; ause += 0x20) {
		fx_setup(FX_FILE);
		fill_medium(1);
		fx_store->error = -EIO;
		fx_store->error_kind = BACKING_ZERO;
		fx_expect(sanitize(0x02 | ause, 0), SENSE_MEDIUM_ERROR, 0x3103);
		fx_expect(media(tur, 6, 0), SENSE_MEDIUM_ERROR, 0x3103);
		fx_expect(fx_write(&fx_nexus[1], 0, 1, before), SENSE_MEDIUM_ERROR, 0x3103);
		if (ause) {
			fx_expect(sanitize(0x1f, 0), 0, 0);
		} else {
			fx_expect(sanitize(0x1f, 0), SENSE_ILLEGAL_REQUEST, 0x2400);
			fx_store->error = 0;
			fx_expect(sanitize(0x02, 0), 0, 0);
			all_is(0);
		}
		fx_expect(media(tur, 6, 0), 0, 0);
		fx_teardown();
	}
}
END_TEST

/* The task goes, the operation stays. */
START_TEST(aborted)
{
	struct fake_task *f;

	COVERS("SD-011");
	fx_setup(FX_FILE);
	fill_medium(1);
	fx_store->hold = true;
	f = sanitize(0x02, 0);
	scsi_submit(&f->t);
	turns(2);
	fake_task_abort(f);
	ck_assert(f->detached && !f->over);
	fx_expect(media(tur, 6, 0), SENSE_NOT_READY, 0x041b);
	fx_store->hold = false;
	fake_store_let(fx_store);
	turns(20);
	ck_assert(f->over && !f->ended);
	all_is(0);
	fx_expect(media(tur, 6, 0), 0, 0);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/media", format_zeroes, format_refused, overwrite, sanitize_refused, meanwhile,
	  format_meanwhile, failed, aborted)
