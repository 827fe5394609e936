/* SPDX-License-Identifier: BSD-2-Clause */
/* VERIFY, WRITE AND VERIFY, WRITE SAME: what is on the medium afterwards. */
#include "tests/unit/scsi/compound_fixture.h"

START_TEST(verify_medium)
{
	COVERS("SB-013 SB-041");
	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
		fill_medium(1);
		fx_expect(cmd(0x8f, 0, 5, 10000), 0, 0);
		ck_assert_uint_eq(fx_store->log[0].kind, BACKING_FLUSH);
		ck_assert_uint_eq(fx_store->longest, COMPOUND_PIECE); /* never all at once */
		fx_expect(cmd(0x8f, 0, MEDIUM, 0), 0, 0);
		fx_expect(cmd(0x8f, 0, MEDIUM - 1, 2), SENSE_ILLEGAL_REQUEST, 0x2100);
		others_untouched(0, 0);
		fx_teardown();
	}
}
END_TEST

START_TEST(verify_data)
{
	COVERS("SB-013 SS-006");
	for (int s = 0; s < 2; s++) {
		struct fake_task *f;

		fx_setup(fx_stores[s]);
		fill_medium(1);
		memcpy(data, fx_store->bytes + FX_AT(5), FX_AT(3000));
		fx_expect(cmd_out(0x8f, 0x02, 5, 3000, FX_AT(3000)), 0, 0);
		data[FX_AT(2500) + 17] ^= 1;
		f = cmd_out(0x8f, 0x02, 5, 3000, FX_AT(3000));
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.key, SENSE_MISCOMPARE);
		ck_assert_uint_eq(f->sense.asc_ascq, 0x1d00);
		ck_assert(f->sense.info_valid && f->sense.info == FX_AT(2500) + 17);
		fake_task_free(f);
		fx_expect(cmd_out(0x8f, 0x02, 5, 2, FX_BLOCK), SENSE_ILLEGAL_REQUEST, 0x2400);
		others_untouched(0, 0);
		fx_teardown();
	}
}
END_TEST

START_TEST(verify_one_block)
{
	COVERS("SB-013");
	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
		fill_medium(1);
		fx_pattern(data, FX_BLOCK, 99);
		for (int i = 0; i < 5000; i++)
			memcpy(fx_store->bytes + FX_AT(i + 7), data, FX_BLOCK);
		fx_expect(cmd_out(0x8f, 0x06, 7, 5000, FX_BLOCK), 0, 0);
		fx_expect(cmd_out(0x8f, 0x06, 6, 5000, FX_BLOCK), SENSE_MISCOMPARE, 0x1d00);
		fx_store->bytes[FX_AT(5006) + 511] ^= 0x80;
		fx_expect(cmd_out(0x8f, 0x06, 7, 5000, FX_BLOCK), SENSE_MISCOMPARE, 0x1d00);
		fx_expect(cmd_out(0x8f, 0x06, 7, 5, 2 * FX_BLOCK), SENSE_ILLEGAL_REQUEST, 0x2400);
		fx_teardown();
	}
}
END_TEST

START_TEST(write_and_verify)
{
	COVERS("SB-015");
	for (int s = 0; s < 2; s++) {
		for (uint8_t bytchk = 0; bytchk < 4; bytchk += 2) {
			fx_setup(fx_stores[s]);
			fill_medium(1);
			fx_pattern(data, sizeof(data), 50);
			fx_expect(cmd_out(0x8e, bytchk, 9, 3000, FX_AT(3000)), 0, 0);
			ck_assert_mem_eq(fx_store->bytes + FX_AT(9), data, FX_AT(3000));
			others_untouched(9, 3000);
			ck_assert_uint_eq(fx_store->durable, 1);
			ck_assert_uint_ge(fx_store->count[BACKING_READ], 2);
			fx_teardown();
		}
	}
}
END_TEST

/* A medium that does not keep what it is given. */
START_TEST(write_and_verify_finds_fault)
{
	COVERS("SB-015");
	struct fake_task *f;

	fx_setup(FX_FILE);
	fx_store->hold = true;
	f = cmd_out(0x8e, 0x02, 9, 8, 8 * FX_BLOCK);
	scsi_submit(&f->t);
	fake_store_let_one(fx_store, 0);
	fx_store->bytes[FX_AT(9) + 1000] ^= 1;
	fake_store_let(fx_store);
	fx_run(f);
	ck_assert_uint_eq(f->sense.key, SENSE_MISCOMPARE);
	ck_assert_uint_eq(f->sense.info, 1000);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* What is written are the blocks that came; with a part of one, none. */
START_TEST(write_and_verify_short)
{
	COVERS("SB-006 fault-E02");
	static const struct {
		uint32_t edtl, moves;
		uint16_t asc;
	} rows[] = { { 0, 0, 0 },         { 200, 0, 0x0e03 }, { 512, 512, 0 },
		     { 1000, 0, 0x0e03 }, { 1024, 1024, 0 },  { 9999, 1024, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_task *f;

		fx_setup(FX_FILE | BACKING_INLINE);
		fill_medium(1);
		fx_pattern(data, 4096, 7);
		f = cmd_out(0x8e, 0x02, 3, 2, rows[i].edtl);
		scsi_submit(&f->t);
		ck_assert(f->ended);
		ck_assert_uint_eq(f->status, rows[i].asc ? SCSI_CHECK_CONDITION : SCSI_GOOD);
		if (rows[i].asc)
			ck_assert_uint_eq(f->sense.asc_ascq, rows[i].asc);
		ck_assert_uint_eq(f->data_length, 1024);
		ck_assert_mem_eq(fx_store->bytes + FX_AT(3), data, rows[i].moves);
		others_untouched(3, rows[i].moves / FX_BLOCK);
		fake_task_free(f);
		fx_teardown();
	}
}
END_TEST

START_TEST(write_same_pattern)
{
	COVERS("SB-023 fault-E12");
	for (int s = 0; s < 2; s++) {
		fx_setup(fx_stores[s]);
		fill_medium(1);
		fx_pattern(data, FX_BLOCK, 200);
		fx_expect(cmd_out(0x93, 0, 11, 5001, FX_BLOCK), 0, 0);
		for (unsigned i = 0; i < 5001; i++)
			ck_assert_mem_eq(fx_store->bytes + FX_AT(11 + i), data, FX_BLOCK);
		others_untouched(11, 5001);
		ck_assert_uint_eq(fx_store->longest, COMPOUND_PIECE);
		ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 0);
		fx_teardown();
	}
}
END_TEST

/* Zeros go to the store as such; with UNMAP the space may go. */
START_TEST(write_same_zeros)
{
	COVERS("SB-024 SB-025");
	static const struct {
		uint8_t flags;
		bool data;
	} rows[] = { { 0, true }, { 0x08, true }, { 0x01, false }, { 0x09, false } };
	unsigned wrong;

	memset(data, 0, FX_BLOCK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_setup(fx_stores[i % 2]);
		fill_medium(1);
		fx_expect(cmd_out(0x93, rows[i].flags, 8, 4000, rows[i].data ? FX_BLOCK : 0), 0, 0);
		wrong = 0; /* counted: a check tells its place to the parent each time */
		for (unsigned b = 8 * FX_BLOCK; b < 4008 * FX_BLOCK; b++)
			wrong += fx_store->bytes[b] != 0;
		ck_assert_uint_eq(wrong, 0);
		others_untouched(8, 4000);
		ck_assert_uint_eq(fx_store->count[BACKING_WRITE], 0);
		ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 1);
		ck_assert_uint_eq(fx_store->may_trim, (rows[i].flags & 0x08) != 0);
		fx_teardown();
	}
}
END_TEST

/* One zero byte less is a pattern. */
START_TEST(write_same_almost_zero)
{
	COVERS("SB-025");
	fx_setup(FX_FILE);
	fill_medium(1);
	memset(data, 0, FX_BLOCK);
	data[FX_BLOCK - 1] = 1;
	fx_expect(cmd_out(0x93, 0x08, 8, 100, FX_BLOCK), 0, 0);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_mem_eq(fx_store->bytes + FX_AT(8 + i), data, FX_BLOCK);
	ck_assert_uint_eq(fx_store->count[BACKING_ZERO], 0);
	fx_teardown();
}
END_TEST

START_TEST(write_same_wrong_data)
{
	COVERS("SB-028 SG-011");
	static const uint32_t lengths[] = { 0, 1, FX_BLOCK - 1, FX_BLOCK + 1, 2 * FX_BLOCK };

	fx_setup(FX_FILE | BACKING_INLINE);
	fill_medium(1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		fx_expect(cmd_out(0x93, 0, 8, 2, lengths[i]), SENSE_ILLEGAL_REQUEST, 0x2400);
	others_untouched(0, 0);
	fx_teardown();
}
END_TEST

/* Between the steps of a long command the reactor does other things. */
START_TEST(long_commands_yield)
{
	COVERS("fault-G10");
	struct fake_task *slow, *quick;

	fx_setup(FX_FILE | BACKING_INLINE);
	fx_pattern(data, FX_BLOCK, 1);
	slow = cmd_out(0x93, 0, 0, MEDIUM - 8, FX_BLOCK);
	scsi_submit(&slow->t);
	ck_assert(!slow->ended);
	quick = fx_read(&fx_nexus[0], MEDIUM - 1, 1);
	scsi_submit(&quick->t);
	ck_assert(quick->ended && !slow->ended);
	fx_run(slow);
	fake_task_free(slow);
	fake_task_free(quick);
	fx_teardown();
}
END_TEST

START_TEST(errors_name_the_piece)
{
	COVERS("SS-005");
	static const struct {
		uint8_t opcode, flags;
		uint32_t length;
		enum backing_kind kind;
		uint16_t asc;
	} rows[] = { { 0x8f, 0, 0, BACKING_READ, 0x1100 },
		     { 0x93, 0, FX_BLOCK, BACKING_WRITE, 0x0c00 } };
	struct fake_task *f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_setup(FX_FILE);
		fx_pattern(data, FX_BLOCK, 3);
		fx_store->error = -EIO;
		fx_store->error_kind = rows[i].kind;
		fx_store->error_from = FX_AT(10) + COMPOUND_PIECE;
		f = cmd_out(rows[i].opcode, rows[i].flags, 10, 5000, rows[i].length);
		scsi_submit(&f->t);
		fx_run(f);
		ck_assert_uint_eq(f->sense.asc_ascq, rows[i].asc);
		ck_assert_uint_eq(f->sense.info, 10 + COMPOUND_PIECE / FX_BLOCK);
		fake_task_free(f);
		fx_teardown();
	}
}
END_TEST

/* The arena has nothing left: they share the reserve, in turns, and all get through. */
START_TEST(without_scratch)
{
	struct fake_task *big, *f[3];

	fx_setup_arena(FX_FILE, 1 << 20);
	fill_medium(1);
	fx_pattern(data, FX_BLOCK, 3);
	fx_store->hold = true;
	f[0] = cmd_out(0x93, 0, 0, 1000, FX_BLOCK);
	f[0]->hold_data = true;
	scsi_submit(&f[0]->t);
	big = fx_read(&fx_nexus[0], 0, 2040);
	scsi_submit(&big->t);
	f[1] = cmd(0x8f, 0, 2000, 1000);
	f[2] = cmd(0x8f, 0, 5000, 1000);
	scsi_submit(&f[1]->t);
	scsi_submit(&f[2]->t);
	fake_task_deliver(f[0]);
	ck_assert_uint_eq(big->t.state, TASK_IO);
	/* The store keeps the big read back and lets everything else go. */
	for (int i = 0; i < 400 && !(f[0]->ended && f[1]->ended && f[2]->ended); i++) {
		struct list *keep = NULL, *n;

		n = list_first(&fx_store->held);
		if (n && list_entry(n, struct backing_io, node) == &big->t.io) {
			keep = list_pop(&fx_store->held);
			fx_store->n_held--;
		}
		fake_store_let(fx_store);
		if (keep) {
			list_add_head(&fx_store->held, keep);
			fx_store->n_held++;
		}
		fx_turn();
	}
	ck_assert(!big->ended);
	for (int i = 0; i < 3; i++) {
		ck_assert(f[i]->ended && f[i]->status == SCSI_GOOD);
		fake_task_free(f[i]);
	}
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_mem_eq(fx_store->bytes + FX_AT(i), data, FX_BLOCK);
	others_untouched(0, 1000);
	fake_store_let(fx_store);
	fake_task_free(big);
	fx_teardown();
}
END_TEST

/* Between two steps nothing is in flight: it is over at once. */
START_TEST(abort_while_yielding)
{
	struct fake_task *f;

	fx_setup(FX_FILE | BACKING_INLINE);
	fx_pattern(data, FX_BLOCK, 3);
	f = cmd_out(0x93, 0, 0, 30000, FX_BLOCK);
	scsi_submit(&f->t);
	fx_turn();
	ck_assert(!f->ended);
	fake_task_abort(f);
	ck_assert(f->over);
	fake_task_free(f);
	fx_turn();
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/compound", verify_medium, verify_data, verify_one_block, write_and_verify,
	  write_and_verify_finds_fault, write_and_verify_short, write_same_pattern,
	  write_same_zeros, write_same_almost_zero, write_same_wrong_data, long_commands_yield,
	  errors_name_the_piece, without_scratch, abort_while_yielding)
