/* SPDX-License-Identifier: BSD-2-Clause */
/* POPULATE TOKEN, WRITE USING TOKEN: what arrives, what is refused, what hosts are told. */
#include "tests/unit/scsi/odx_fixture.h"

static const struct ox_range some[] = { { 100, 8 }, { 5000, 0 }, { 10, 40 }, { 20000, 80 } };

START_TEST(copies)
{
	static const struct ox_range to[] = { { 7, 100 }, { 0, 1 }, { 300, 27 } };
	uint8_t *want = malloc(FX_AT(128));

	COVERS("SX-019 SX-021");
	for (unsigned s = 0; s < 2; s++) {
		ox_setup(fx_stores[s]);
		ox_fetch(1, some, 4);
		memcpy(want, fx_store->bytes + FX_AT(100), FX_AT(8));
		memcpy(want + FX_AT(8), fx_store->bytes + FX_AT(10), FX_AT(40));
		memcpy(want + FX_AT(48), fx_store->bytes + FX_AT(20000), FX_AT(80));
		fx_expect(ox_write(1, 1, 2, to, 3), 0, 0);
		ck_assert_mem_eq(cx_store->bytes + FX_AT(7), want, FX_AT(100));
		ck_assert_mem_eq(cx_store->bytes, want + FX_AT(100), FX_AT(1));
		ck_assert_mem_eq(cx_store->bytes + FX_AT(300), want + FX_AT(101), FX_AT(27));
		ck_assert_mem_eq(cx_store->bytes + FX_AT(327), cx_before + FX_AT(327),
				 FX_SIZE - FX_AT(327));
		ox_expect(1, 1, 2, COPY_DONE, 128);
		/* From the middle of it, to its very end, within the LU it came from. */
		ox_offset = 45;
		fx_expect(ox_write(0, 0, 3, &(struct ox_range){ 1000, 83 }, 1), 0, 0);
		ck_assert_mem_eq(fx_store->bytes + FX_AT(1000), want + FX_AT(45), FX_AT(83));
		ox_offset = 128;
		fx_expect(ox_write(0, 1, 4, &(struct ox_range){ 1000, 0 }, 1), 0, 0);
		ox_expect(0, 1, 4, COPY_DONE, 0);
		cx_teardown();
	}
	free(want);
}
END_TEST

/* More runs than one job has: a token of odd pieces over a list of odd pieces. */
START_TEST(many_ranges)
{
	struct ox_range from[ROD_RANGES_MAX], to[ROD_RANGES_MAX];

	for (unsigned s = 0; s < 2; s++) {
		ox_setup(fx_stores[s]);
		for (unsigned i = 0; i < ROD_RANGES_MAX; i++) {
			from[i] = (struct ox_range){ 3 + i * 5, 2 };
			to[i] = (struct ox_range){ 9000 - i * 7, i == 63 ? 1 : 2 };
		}
		ox_fetch(1, from, ROD_RANGES_MAX);
		ox_offset = 1;
		fx_expect(ox_write(0, 1, 1, to, ROD_RANGES_MAX), 0, 0);
		ox_expect(0, 1, 1, COPY_DONE, 127);
		ck_assert_uint_eq(get_be16(ox_info + 24), ROD_RANGES_MAX);
		for (unsigned i = 0; i < 127; i++)
			ck_assert_mem_eq(
			    cx_store->bytes + FX_AT(to[i / 2].lba + i % 2),
			    fx_store->bytes + FX_AT(from[(i + 1) / 2].lba + (i + 1) % 2), FX_BLOCK);
		cx_teardown();
	}
}
END_TEST

START_TEST(zeros)
{
	static const struct ox_range to[] = { { 8, 4096 }, { 3, 2 }, { 10000, 1 } };
	static const uint8_t none[FX_AT(4096)];

	COVERS("SX-022");
	for (unsigned s = 0; s < 2; s++) {
		ox_setup(fx_stores[s]);
		ox_zero_token();
		memset(ox_token + 8, 0x5a, 100); /* reserved */
		fx_expect(ox_write(0, 1, 9, to, 3), 0, 0);
		ox_expect(0, 1, 9, COPY_DONE, 4099);
		ck_assert_mem_eq(cx_store->bytes + FX_AT(8), none, FX_AT(4096));
		ck_assert_mem_eq(cx_store->bytes + FX_AT(3), none, FX_AT(2));
		ck_assert_mem_eq(cx_store->bytes + FX_AT(5), cx_before + FX_AT(5), FX_AT(3));
		ck_assert_uint_eq(cx_store->allocated[1], 0); /* space is given back */
		ck_assert_uint_eq(fx_store->count[BACKING_READ], 0);
		cx_teardown();
	}
}
END_TEST

/* SPC-4 6.28, byte by byte. */
START_TEST(information)
{
	static const uint8_t unknown[16] = { 0x84, 0x07, 0, 0, 0, 8, [13] = 255 };
	struct fake_task *f;

	COVERS("SX-019 SX-020");
	ox_setup(FX_FILE);
	fx_expect(ox_populate(0, 0, 0x01020304, some, 4), 0, 0);
	ck_assert_uint_eq(ox_receive(0, 0, 0x01020304), 550);
	ck_assert_uint_eq(ox_info[4], 0x10);
	ck_assert_uint_eq(ox_info[5], 0x01);
	ck_assert_uint_eq(get_be32(ox_info + 8), 0);     /* nothing to wait for */
	ck_assert_uint_eq(get_be32(ox_info + 12), 0xf1); /* GOOD, no sense data, blocks */
	ck_assert_uint_eq(get_be64(ox_info + 16), 128);
	ck_assert_uint_eq(get_be16(ox_info + 24), 4);
	ck_assert_uint_eq(get_be32(ox_info + 32), 514);
	ck_assert_uint_eq(get_be16(ox_info + 36), 0);
	ck_assert_uint_eq(get_be32(ox_info + 38), ROD_CHANGE_VULNERABLE);
	ck_assert_uint_eq(get_be16(ox_info + 44), 0x1f8);
	ck_assert_uint_eq(ox_receive(0, 0, 0x01020304), 550); /* as often as it is asked for */

	for (uint32_t n = 0; n <= 551; n++) { /* every allocation length */
		uint8_t cdb[16] = { 0x84, 0x07, 1, 2, 3, 4 };

		put_be32(cdb + 10, n);
		f = fx_task(&fx_nexus[0], cdb, 16);
		fake_task_in(f, n);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->status, SCSI_GOOD);
		ck_assert_uint_eq(f->in_length, n < 550 ? n : 550);
		if (n)
			ck_assert_mem_eq(f->in, ox_info, f->in_length);
		fake_task_free(f);
	}

	/* Another nexus, another LU, another identifier know nothing of it. */
	for (int i = 0; i < 3; i++) {
		uint8_t cdb[16];

		memcpy(cdb, unknown, sizeof(cdb));
		if (i < 2)
			put_be32(cdb + 2, 0x01020304);
		f = fake_task_new(&fx_nexus[i == 0], i == 1, cdb, 16);
		fake_task_in(f, 255);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.asc_ascq, 0x2400);
		ck_assert(f->sense.field_in_cdb && f->sense.field == 2);
		fake_task_free(f);
	}

	/* The identifier anew, with an error; then without a token. */
	memcpy(ox_token, ox_info + 38, sizeof(ox_token));
	fx_store->error_kind = BACKING_READ;
	fx_store->error = -EIO;
	fx_expect(ox_write(0, 1, 5, &some[0], 1), SENSE_COPY_ABORTED, 0x0d01);
	ck_assert_uint_eq(ox_receive(0, 1, 5), 32 + 18 + 4);
	ck_assert_uint_eq(ox_info[4], 0x11);
	ck_assert_uint_eq(ox_info[5], COPY_ERROR);
	ck_assert_uint_eq(ox_info[12], SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(ox_info[13], 18);
	ck_assert_uint_eq(ox_info[14], 18);
	ck_assert_uint_eq(ox_info[32 + 2], SENSE_COPY_ABORTED);
	ck_assert_uint_eq(get_be32(ox_info + 50), 0);
	cx_teardown();
}
END_TEST

/* Identifiers that have ended are kept, but not without end. */
START_TEST(results_are_bounded)
{
	ox_setup(BACKING_INLINE | FX_FILE);
	for (uint32_t id = 0; id <= COPY_LIST_HELD; id++)
		fx_expect(ox_populate(0, 0, id, some, 1), 0, 0);
	ck_assert_ptr_null(copy_list_find(fx_nexus[0].itls[0], 0));
	ck_assert_ptr_nonnull(copy_list_find(fx_nexus[0].itls[0], 1));
	ck_assert_ptr_nonnull(copy_list_find(fx_nexus[0].itls[0], COPY_LIST_HELD));
	cx_teardown();
}
END_TEST

static void expect_nothing_written(void)
{
	ck_assert_mem_eq(cx_store->bytes, cx_before, FX_SIZE);
	ck_assert_uint_eq(cx_store->count[BACKING_WRITE] + cx_store->count[BACKING_ZERO], 0);
}

START_TEST(refused)
{
	static const struct ox_range to = { 50, 128 }, big = { 50, 129 }, onto = { 107, 1 };
	struct fake_task *f;

	COVERS("SX-021 SX-023");
	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	for (unsigned i = 0; i < ROD_TOKEN_SIZE; i++) { /* forged */
		ox_token[i] ^= 0x80;
		scsi_submit(&(f = ox_write(0, 1, 2, &to, 1))->t);
		fx_run(f);
		ck_assert_uint_eq(f->status, SCSI_CHECK_CONDITION);
		ck_assert_uint_eq(f->sense.key, SENSE_ILLEGAL_REQUEST);
		ck_assert_uint_eq(f->sense.asc_ascq >> 8, 0x23);
		fake_task_free(f);
		ox_token[i] ^= 0x80;
	}
	fx_expect(ox_write(0, 1, 2, &big, 1), SENSE_ILLEGAL_REQUEST, 0x2600);
	ox_offset = 1;
	scsi_submit(&(f = ox_write(0, 1, 2, &to, 1))->t);
	fx_run(f);
	ck_assert(f->sense.asc_ascq == 0x2600 && f->sense.field == 8 && !f->sense.field_in_cdb);
	fake_task_free(f);
	ox_offset = UINT64_MAX;
	fx_expect(ox_write(0, 1, 2, &(struct ox_range){ 0, 0 }, 1), SENSE_ILLEGAL_REQUEST, 0x2600);
	ox_offset = 0;
	scsi_submit(&(f = ox_write(0, 0, 2, &onto, 1))->t); /* onto what it stands for */
	fx_run(f);
	ck_assert(f->sense.asc_ascq == 0x2600 && f->sense.field == 536);
	fake_task_free(f);
	cx_lu->geo.block_size = 4096;
	fx_expect(ox_write(0, 1, 2, &(struct ox_range){ 0, 1 }, 1), SENSE_ILLEGAL_REQUEST, 0x2300);
	cx_lu->geo.block_size = FX_BLOCK;

	cx_remap(true, true); /* read-only destination; a token of it may be had */
	fx_expect(ox_write(0, 1, 2, &to, 1), SENSE_DATA_PROTECT, 0x2700);
	fx_expect(ox_populate(0, 1, 3, &to, 1), 0, 0);
	cx_remap(true, false);
	ck_assert_ptr_null(copy_list_find(nexus_find(&fx_nexus[0], 1), 2)); /* nothing has begun */

	fx_expect(fx_write(&fx_nexus[2], 100, 1, fx_store->bytes), 0, 0); /* the source changes */
	fx_expect(ox_write(0, 1, 2, &to, 1), SENSE_ILLEGAL_REQUEST, 0x2306);
	expect_nothing_written();
	cx_teardown();
}
END_TEST

/* The bytes of a token are of no use to a nexus that has not got its LU. */
START_TEST(strangers)
{
	struct scsi_lun_entry e = { .lun = 1, .lu = NULL };
	struct scsi_lun_map *map;

	COVERS("SX-021");
	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	e.lu = cx_lu;
	map = lun_map_create(&e, 1);
	ck_assert_int_eq(nexus_remap(&fx_nexus[1], map), 0);
	fx_take_ua(&fx_nexus[1]);
	ox_turns();
	fx_expect(ox_write(1, 1, 2, some, 1), SENSE_ILLEGAL_REQUEST, 0x2304);
	expect_nothing_written();
	fx_expect(ox_write(2, 1, 2, some, 1), 0, 0);
	lun_map_unref(map);
	cx_teardown();
}
END_TEST

START_TEST(reserved)
{
	struct fake_task *f;

	COVERS("SR-005");
	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	atomic_fetch_or(&nexus_find(&fx_nexus[0], 0)->gate, GATE_NO_WRITE);
	fx_expect_status(ox_populate(0, 0, 3, some, 1), SCSI_RESERVATION_CONFLICT);
	fx_expect(ox_write(0, 1, 2, some, 1), 0, 0); /* it reads the source */
	atomic_fetch_or(&nexus_find(&fx_nexus[0], 0)->gate, GATE_NO_READ);
	fx_expect(ox_write(0, 1, 2, some, 1), SENSE_COPY_ABORTED, 0x0d01);
	atomic_fetch_and(&nexus_find(&fx_nexus[0], 0)->gate, ~(GATE_NO_WRITE | GATE_NO_READ));

	atomic_fetch_or(&nexus_find(&fx_nexus[0], 1)->gate, GATE_NO_WRITE);
	fx_expect_status(ox_write(0, 1, 2, some, 1), SCSI_RESERVATION_CONFLICT);
	atomic_fetch_and(&nexus_find(&fx_nexus[0], 1)->gate, ~GATE_NO_WRITE);

	/* It comes while the copy is under way. */
	fx_store->hold = true;
	scsi_submit(&(f = ox_write(0, 1, 4, some, 1))->t);
	ox_turns();
	atomic_fetch_or(&nexus_find(&fx_nexus[0], 1)->gate, GATE_NO_WRITE);
	fx_store->hold = false;
	fake_store_let(fx_store);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_RESERVATION_CONFLICT);
	fake_task_free(f);
	atomic_fetch_and(&nexus_find(&fx_nexus[0], 1)->gate, ~GATE_NO_WRITE);
	ox_expect(0, 1, 4, COPY_ERROR, 0);
	ck_assert_uint_eq(ox_info[12], SCSI_RESERVATION_CONFLICT);
	cx_teardown();
}
END_TEST

START_TEST(deletes)
{
	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	ox_flags = ODX_DEL_TKN;
	fx_expect(ox_write(0, 1, 2, some, 1), 0, 0);
	fx_expect(ox_write(0, 1, 2, some, 1), SENSE_ILLEGAL_REQUEST, 0x2309);
	cx_teardown();
}
END_TEST

START_TEST(reports)
{
	uint8_t cdb[16] = { 0x84, 0x08 };
	struct fake_task *f;

	COVERS("SX-026");
	ox_setup(FX_FILE);
	ox_fetch(1, some, 4);
	ox_fetch(2, some, 1);
	for (uint64_t lun = 0; lun < 2; lun++) {
		put_be32(cdb + 10, 1000);
		f = fake_task_new(&fx_nexus[1], lun, cdb, 16);
		fake_task_in(f, 1000);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->in_length, lun ? 8 : 8 + 2 * 96);
		ck_assert_uint_eq(get_be32(f->in), f->in_length - 4);
		if (!lun)
			ck_assert_mem_eq(f->in + 8 + 96, ox_token, 96);
		fake_task_free(f);
	}
	cx_teardown();
}
END_TEST

START_TEST(list_lengths)
{
	struct fake_task *f;

	COVERS("SX-018");
	ox_setup(FX_FILE);
	for (int kind = 0; kind < 2; kind++) {
		uint32_t header = kind ? sizeof(struct odx_write) : sizeof(struct odx_populate);

		for (uint32_t n = 0; n < header + 16; n++) {
			f = kind ? ox_write(0, 1, 2, some, 1) : ox_populate(0, 1, 2, some, 1);
			put_be32(f->cdb + 10, n);
			fake_task_out(f, f->out, n);
			fx_expect(f, n ? SENSE_ILLEGAL_REQUEST : 0, 0x1a00);
		}
		f = kind ? ox_write(0, 1, 2, some, 1) : ox_populate(0, 1, 2, some, 1);
		put_be32(f->cdb + 10, SCSI_SMALL_MAX + 1);
		fx_expect(f, SENSE_ILLEGAL_REQUEST, 0x1a00);
	}
	cx_teardown();
}
END_TEST

UNIT_MAIN("scsi/odx", copies, many_ranges, zeros, information, results_are_bounded, refused,
	  strangers, reserved, deletes, reports, list_lengths)
