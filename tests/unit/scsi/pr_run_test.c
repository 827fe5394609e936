/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of reservations on their way: one after another, kept on disk, fenced, handed over. */
#include "tests/unit/scsi/pr_fixture.h"

#include "scsi/tmf.h"

#include <errno.h>
#include <pthread.h>

static uint8_t data[1 << 16];

/* A keeper that answers when the test says so. */
static struct pr_keep *kept;
static const struct pr_table *kept_table;
static unsigned n_kept;

static void keep(struct pr_keep *k, void *arg)
{
	(void)arg;
	kept = k;
	kept_table = k->table;
	n_kept++;
}

static void keep_answer(int result)
{
	struct pr_keep *k = kept;

	ck_assert_ptr_nonnull(k);
	kept = NULL;
	k->result = result;
	k->done(k);
}

static struct fake_task *out_task(struct it_nexus *n, unsigned action, uint8_t type, uint64_t key,
				  uint64_t action_key, uint8_t flags)
{
	struct fake_task *f;

	pr_keys(key, action_key, flags);
	f = pr_task(n, action, type, 24);
	scsi_submit(&f->t);
	return f;
}

static unsigned end(struct fake_task *f)
{
	unsigned result;

	for (int i = 0; i < 10000 && !f->ended; i++)
		reactor_turn(fx_reactor, 1); /* the fence looks every millisecond */
	ck_assert(f->ended);
	result = f->status == SCSI_CHECK_CONDITION
		     ? (unsigned)f->sense.key << 16 | f->sense.asc_ascq
		     : f->status;
	fake_task_free(f);
	return result;
}

START_TEST(kept_before_the_answer)
{
	COVERS("SR-025");
	struct fake_task *f;

	scsi_set_pr_keeper(keep, NULL);
	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A); /* without APTPL nothing is kept */
	ck_assert_uint_eq(n_kept, 0);
	f = out_task(A, PR_REGISTER, 0, KEY_A, KEY_B, APTPL);
	ck_assert(n_kept == 1 && !f->ended);
	ck_assert_uint_eq(kept_table->regs[0].key, KEY_B);
	ck_assert(kept_table->aptpl);
	ck_assert_uint_eq(pr_count(KEY_A), 1); /* not so yet */
	keep_answer(0);
	ck_result(end(f), 0);
	ck_assert_uint_eq(pr_count(KEY_B), 1);
	f = out_task(A, PR_RESERVE, 5, KEY_B, 0, 0); /* now all changes are */
	ck_assert_uint_eq(n_kept, 2);
	ck_result(pr_writes(B), 0);
	keep_answer(0);
	ck_result(end(f), 0);
	ck_result(pr_writes(B), CONFLICT);
	f = out_task(B, PR_REGISTER_IGNORE, 0, 0, 0, 0); /* has no effect, not on APTPL either */
	ck_assert(n_kept == 3 && kept_table && kept_table->aptpl);
	keep_answer(0);
	ck_result(end(f), 0);
	f = out_task(B, PR_REGISTER, 0, 0, KEY_B, 0); /* the last one says: no more */
	ck_assert(n_kept == 4 && !kept_table);
	keep_answer(0);
	ck_result(end(f), 0);
	pr_good(A, PR_CLEAR, 0, KEY_B, 0);
	ck_assert_uint_eq(n_kept, 4);
	fx_teardown();
}
END_TEST

/* What cannot be kept has not happened. */
START_TEST(not_kept)
{
	COVERS("SR-025");
	struct fake_task *f;
	uint8_t b[8];

	scsi_set_pr_keeper(keep, NULL);
	fx_setup(BACKING_INLINE);
	f = out_task(A, PR_REGISTER, 0, 0, KEY_A, APTPL);
	keep_answer(-ENOSPC);
	ck_result(end(f), 0x044400);
	ck_assert_uint_eq(pr_count(KEY_A), 0);
	ck_assert_uint_eq(pr_generation(), 0);
	f = out_task(A, PR_REGISTER, 0, 0, KEY_A, APTPL);
	keep_answer(0);
	ck_result(end(f), 0);
	f = out_task(A, PR_RESERVE, 3, KEY_A, 0, 0);
	keep_answer(-EIO);
	ck_result(end(f), 0x044400);
	ck_held(0, 0);
	ck_result(pr_reads(B), 0);
	ck_assert_uint_eq(pr_in(A, 2, 8, b), 8);
	ck_assert_uint_eq(b[2], 0x1d); /* PTPL_C */
	ck_assert_uint_eq(b[3], 0x91); /* PTPL_A */
	fx_teardown();
}
END_TEST

/* A second command waits for the first one; an aborted one that waits does nothing. */
START_TEST(one_after_another)
{
	COVERS("SR-049");
	struct fake_task *first, *second, *third, *reset;

	scsi_set_pr_keeper(keep, NULL);
	fx_setup(BACKING_INLINE);
	pr_good(B, PR_REGISTER, 0, 0, KEY_B);
	first = out_task(A, PR_REGISTER, 0, 0, KEY_A, APTPL);
	second = out_task(B, PR_PREEMPT, 1, KEY_B, KEY_A, 0); /* nobody has this key yet */
	third = out_task(C, PR_REGISTER, 0, 0, KEY_C, 0);
	reset = fx_task(C, (const uint8_t[]){ 0x16, 0, 0, 0, 0, 0 }, 6);
	scsi_submit(&reset->t);
	fx_turn();
	ck_assert(!second->ended && !third->ended && !reset->ended && n_kept == 1);
	fake_task_abort(third);
	ck_assert(third->detached);
	keep_answer(0);
	ck_result(end(first), 0);
	fx_turn();
	ck_assert_uint_eq(n_kept, 2);
	keep_answer(0);
	ck_result(end(second), 0);
	fx_turn();
	ck_assert(third->over && !third->ended);
	fake_task_free(third);
	ck_result(end(reset), CONFLICT); /* somebody is registered */
	fx_take_ua(A);
	ck_assert_uint_eq(pr_count(KEY_A), 0);
	ck_assert_uint_eq(pr_count(KEY_C), 0);
	fx_teardown();
}
END_TEST

/* The nexus goes while its command is being kept: it is done all the same. */
START_TEST(nexus_goes_meanwhile)
{
	struct fake_task *f;

	scsi_set_pr_keeper(keep, NULL);
	fx_setup(BACKING_INLINE);
	f = out_task(C, PR_REGISTER, 0, 0, KEY_C, APTPL);
	nexus_destroy(C);
	ck_assert(f->aborted && !f->over);
	keep_answer(0);
	fx_turn();
	ck_assert(f->over && !f->ended);
	fake_task_free(f);
	ck_assert_uint_eq(pr_count(KEY_C), 1);
	/* It comes back by the same names, and is registered (SR-045). */
	ck_assert_int_eq(nexus_init(C, fx_reactor, fx_map, ASC_NEXUS_LOSS), 0);
	fx_take_ua(C);
	f = out_task(C, PR_RESERVE, 3, KEY_C, 0, 0);
	keep_answer(0);
	ck_result(end(f), 0);
	ck_result(pr_writes(C), 0);
	nexus_destroy(C);
	ck_result(pr_reads(A), CONFLICT);
	ck_assert_int_eq(nexus_init(C, fx_reactor, fx_map, ASC_NEXUS_LOSS), 0);
	fx_take_ua(C);
	ck_result(pr_writes(C), 0);
	ck_result(pr_reads(B), CONFLICT);
	fx_teardown();
}
END_TEST

static void tmf_done(struct scsi_tmf *tmf)
{
	tmf->function = 0;
}

static void do_tmf(struct it_nexus *n, enum scsi_tmf_function function)
{
	struct scsi_tmf tmf = { .function = function, .nexus = n, .done = tmf_done };

	scsi_tmf(&tmf);
	for (int i = 0; i < 100 && tmf.function; i++)
		fx_turn();
	ck_assert_uint_eq(tmf.response, TMF_COMPLETE);
	for (int i = 0; i < FX_NEXUS; i++)
		fx_take_ua(&fx_nexus[i]);
}

START_TEST(survive_resets)
{
	COVERS("SR-045");
	static const enum scsi_tmf_function resets[] = { TMF_LU_RESET, TMF_TARGET_WARM_RESET,
							 TMF_TARGET_COLD_RESET,
							 TMF_I_T_NEXUS_RESET };

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RESERVE, 3, KEY_A, 0);
	for (unsigned i = 0; i < 4; i++) {
		do_tmf(A, resets[i]);
		ck_held(3, KEY_A);
		ck_result(pr_reads(B), CONFLICT);
		ck_assert_uint_eq(pr_count(KEY_B), 1);
	}
	fx_teardown();
}
END_TEST

static unsigned six(struct it_nexus *n, uint8_t opcode)
{
	uint8_t cdb[10] = { opcode };

	return pr_result(fx_task(n, cdb, opcode & 0x40 ? 10 : 6));
}

/* SPC-2 RESERVE and RELEASE, both lengths, and what ends a reservation. */
START_TEST(reserve6)
{
	COVERS("SR-046 OP-009 OP-010 OP-034 OP-035");
	static const enum scsi_tmf_function resets[] = { TMF_LU_RESET, TMF_TARGET_WARM_RESET,
							 TMF_TARGET_COLD_RESET,
							 TMF_I_T_NEXUS_RESET };

	fx_setup(BACKING_INLINE);
	for (uint8_t r = 0x16; r <= 0x56; r += 0x40) {
		ck_result(six(A, r), 0);
		ck_result(six(A, r), 0);
		ck_result(six(B, r), CONFLICT);
		ck_result(pr_writes(A), 0);
		ck_result(pr_writes(B), CONFLICT);
		ck_result(pr_reads(B), CONFLICT);
		ck_result(six(B, r + 1), 0); /* not the holder: nothing happens */
		ck_result(pr_reads(B), CONFLICT);
		ck_result(six(A, r + 1), 0);
		ck_result(six(A, r + 1), 0);
		ck_result(pr_writes(B), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		ck_result(six(A, 0x16), 0);
		do_tmf(i < 3 ? B : A, resets[i]);
		ck_result(pr_writes(B), 0);
	}
	ck_result(six(C, 0x16), 0);
	nexus_destroy(C);
	ck_result(pr_writes(B), 0);
	fx_teardown();
}
END_TEST

/* Third party and extents, obsolete since SPC-3. */
START_TEST(reserve6_third_party)
{
	COVERS("OP-009 OP-010 OP-034 OP-035");
	char name[SCSI_PORT_NAME];

	fx_setup(BACKING_INLINE);
	for (unsigned op = 0; op < 4; op++) {
		static const uint8_t opcodes[] = { 0x16, 0x17, 0x56, 0x57 };
		uint16_t n = opcodes[op] & 0x40 ? 10 : 6;

		for (unsigned bit = 8; bit < n * 8u; bit++) {
			uint8_t cdb[10] = { opcodes[op] };

			cdb[bit / 8] = (uint8_t)(1u << bit % 8);
			ck_result(pr_result(fx_task(A, cdb, n)), 0x052400);
		}
	}
	ck_assert(!lu_reserved6(fx_lu, name));
	ck_result(six(B, 0x16), 0);
	ck_assert(lu_reserved6(fx_lu, name));
	ck_assert_str_eq(name, B->initiator_port);
	fx_teardown();
}
END_TEST

/* The two kinds do not mix, but for CRH=1. */
START_TEST(both_kinds)
{
	COVERS("SR-047 SR-048");
	uint8_t b[8], in[10] = { 0x5e, [8] = 8 };
	struct fake_task *f;

	fx_setup(BACKING_INLINE);
	ck_result(six(A, 0x16), 0);
	ck_result(pr_out(A, PR_REGISTER, 0, 0, KEY_A), CONFLICT);
	ck_result(pr_out(B, PR_REGISTER, 0, 0, KEY_A), CONFLICT);
	f = fx_task(B, in, 10);
	fake_task_in(f, 8);
	ck_result(pr_result(f), CONFLICT);
	ck_assert_uint_eq(pr_in(A, 0, 8, b), 8);
	ck_result(six(A, 0x17), 0);

	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(B, PR_REGISTER, 0, 0, KEY_B);
	for (uint8_t op = 0x16; op <= 0x17; op++)
		for (int i = 0; i < FX_NEXUS; i++)
			ck_result(six(&fx_nexus[i], op), CONFLICT);
	for (int i = 0; i < PR_TYPES; i++) {
		bool registrants = pr_registrants(pr_types[i]);

		pr_good(A, PR_RESERVE, pr_types[i], KEY_A, 0);
		for (uint8_t op = 0x16; op <= 0x17; op++) {
			ck_result(six(A, op), 0);
			ck_result(six(B, op), registrants ? 0u : CONFLICT);
			ck_result(six(C, op), CONFLICT);
		}
		ck_result(pr_writes(B), registrants ? 0u : CONFLICT); /* nothing was reserved */
		pr_good(A, PR_RELEASE, pr_types[i], KEY_A, 0);
		fx_take_ua(B);
	}
	fx_teardown();
}
END_TEST

/* Whose data comes after the reservation has come too late; who is with the store is waited for. */
START_TEST(late_data_conflicts)
{
	COVERS("SR-013 SR-014");
	struct fake_task *w, *f;

	fx_setup(0);
	fx_pattern(data, sizeof(data), 1);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	w = fx_write(B, 64, 8, data);
	w->hold_data = true;
	scsi_submit(&w->t);
	ck_assert_uint_eq(w->t.state, TASK_COLLECTING);
	pr_good(A, PR_RESERVE, 1, KEY_A, 0);
	fake_task_deliver(w);
	fx_run(w);
	ck_assert_uint_eq(w->status, SCSI_RESERVATION_CONFLICT);
	ck_assert(!w->sense.key);
	for (size_t i = 0; i < FX_AT(8); i++)
		ck_assert_uint_eq(fx_store->bytes[FX_AT(64) + i], 0);
	fake_task_free(w);
	pr_good(A, PR_RELEASE, 1, KEY_A, 0);

	fx_store->hold = true;
	w = fx_write(B, 64, 8, data);
	scsi_submit(&w->t);
	ck_assert_uint_eq(w->t.state, TASK_IO);
	f = out_task(A, PR_RESERVE, 1, KEY_A, 0, 0);
	for (int i = 0; i < 5; i++)
		reactor_turn(fx_reactor, 2);
	ck_assert(!f->ended);
	fx_store->hold = false;
	fake_store_let(fx_store);
	fx_run(w);
	ck_assert_uint_eq(w->status, SCSI_GOOD);
	ck_result(end(f), 0);
	fake_task_free(w);
	fx_teardown();
}
END_TEST

/* A store that hangs holds a reservation up for a moment only; PREEMPT AND ABORT until it ends. */
START_TEST(hung_write)
{
	COVERS("SR-036");
	struct fake_task *w, *other, *f;

	fx_setup(0);
	pr_three();
	fx_store->hold = true;
	w = fx_write(B, 64, 8, data);
	scsi_submit(&w->t);
	other = fx_write(C, 128, 8, data);
	scsi_submit(&other->t);
	fx_store->hold = false;
	f = out_task(A, PR_RESERVE, 1, KEY_A, 0, 0);
	for (int i = 0; i < 2000 && !f->ended; i++)
		reactor_turn(fx_reactor, 5);
	ck_result(end(f), 0);
	ck_assert(!w->ended);
	f = out_task(A, PR_PREEMPT_AND_ABORT, 1, KEY_A, KEY_B, 0);
	for (int i = 0; i < 2000 && !w->aborted; i++)
		reactor_turn(fx_reactor, 5);
	ck_assert(w->aborted && w->detached && !other->aborted);
	for (int i = 0; i < 200; i++)
		reactor_turn(fx_reactor, 4);
	ck_assert(!f->ended); /* it could still land */
	fake_store_let(fx_store);
	ck_result(end(f), 0);
	ck_assert(w->over && !w->ended);
	fx_run(other);
	ck_assert_uint_eq(other->status, SCSI_GOOD);
	fake_task_free(w);
	fake_task_free(other);
	ck_assert_uint_eq(pr_ua(B), ASC_REGISTRATIONS_PREEMPTED);
	fx_teardown();
}
END_TEST

static unsigned n_done;

static void done(void *arg, int result)
{
	(void)arg;
	ck_assert_int_eq(result, 0);
	n_done++;
}

START_TEST(administrator_clears)
{
	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RESERVE, 8, KEY_A, 0);
	ck_assert_int_eq(lu_pr_clear(fx_lu, fx_reactor, done, NULL), 0);
	for (int i = 0; i < 10; i++)
		fx_turn();
	ck_assert_uint_eq(n_done, 1);
	for (int i = 0; i < FX_NEXUS; i++)
		ck_assert_uint_eq(pr_ua(&fx_nexus[i]), ASC_RESERVATIONS_PREEMPTED);
	ck_held(0, 0);
	ck_result(six(B, 0x16), 0);
	ck_assert_int_eq(lu_pr_clear(fx_lu, fx_reactor, done, NULL), 0);
	for (int i = 0; i < 10; i++)
		fx_turn();
	ck_result(pr_writes(A), 0);
	fx_teardown();
}
END_TEST

/* The unit becomes another object: registrations go along, in whatever moment. */
START_TEST(handed_over)
{
	struct fake_store *s = fake_store_new(FX_SIZE, BACKING_INLINE);
	struct scsi_lun_entry e = { .lun = 0 };
	struct scsi_lun_map *map;
	struct fake_task *f;

	scsi_set_pr_keeper(keep, NULL);
	fx_setup(BACKING_INLINE);
	e.lu = fx_new_lu(s);
	map = lun_map_create(&e, 1);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	f = out_task(B, PR_REGISTER, 0, 0, KEY_B, APTPL);
	ck_assert_int_eq(lu_pr_hand_over(fx_lu, e.lu, fx_reactor, done, NULL), 0);
	ck_assert_uint_eq(n_done, 0);
	keep_answer(0);
	ck_result(end(f), 0);
	fx_turn();
	ck_assert_uint_eq(n_done, 1);
	ck_result(pr_out(A, PR_RESERVE, 1, KEY_A, 0), SCSI_BUSY);
	ck_result(six(C, 0x16), SCSI_BUSY);
	for (int i = 0; i < FX_NEXUS; i++) {
		ck_assert_int_eq(nexus_remap(&fx_nexus[i], map), 0);
		fx_turn();
		fx_take_ua(&fx_nexus[i]);
	}
	f = out_task(A, PR_RESERVE, 1, KEY_A, 0, 0);
	keep_answer(0);
	ck_result(end(f), 0);
	ck_assert_uint_eq(pr_count(KEY_B), 1);
	ck_result(pr_writes(B), CONFLICT);
	for (int i = 0; i < FX_NEXUS; i++)
		nexus_destroy(&fx_nexus[i]);
	lun_map_unref(map);
	lu_unref(e.lu);
	fake_store_free(s);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/pr_run", kept_before_the_answer, not_kept, one_after_another, nexus_goes_meanwhile,
	  survive_resets, reserve6, reserve6_third_party, both_kinds, late_data_conflicts,
	  hung_write, administrator_clears, handed_over)
