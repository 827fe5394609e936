/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of what an LU keeps: one after another, written down first, and gone over to its heir. */
#include "scsi/kept.h"

#include "scsi/media.h"
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

#define WAITING 4

static struct kept_op *kept_ops[WAITING];
static unsigned n_kept, n_done;

static void keeper(struct kept_op *op, void *arg)
{
	(void)arg;
	kept_ops[n_kept++] = op;
}

static void count_up(struct kept_op *op, struct lu_kept *kept)
{
	(void)op;
	kept->mode[0]++;
}

static void counted(struct kept_op *op)
{
	(void)op;
	n_done++;
}

static void told(void *arg)
{
	*(bool *)arg = true;
}

static void setup(void)
{
	fx_setup(FX_FILE);
	n_kept = n_done = 0;
	scsi_set_keeper(keeper, NULL);
}

static void teardown(void)
{
	scsi_set_keeper(NULL, NULL);
	fx_teardown();
}

static void begin(struct kept_op *op)
{
	*op = (struct kept_op){
		.lu = fx_lu, .reactor = fx_reactor, .edit = count_up, .done = counted
	};
	lu_keep(op);
}

static void answer(unsigned i, int result)
{
	kept_ops[i]->result = result;
	kept_done(kept_ops[i]);
	fx_turn();
}

/* Each sees what the one before has left, and one that was not written has left nothing. */
START_TEST(one_after_another)
{
	static struct kept_op ops[3];

	setup();
	for (unsigned i = 0; i < 3; i++)
		begin(&ops[i]);
	fx_turn();
	ck_assert(n_kept == 1 && n_done == 0);
	ck_assert_uint_eq(kept_ops[0]->want.mode[0], 1);
	ck_assert_uint_eq(fx_lu->kept.mode[0], 0);
	answer(0, 0);
	ck_assert(n_kept == 2 && n_done == 1);
	ck_assert_uint_eq(fx_lu->kept.mode[0], 1);
	answer(1, -EIO);
	ck_assert(n_kept == 3 && n_done == 2);
	ck_assert_int_eq(ops[1].result, -EIO);
	ck_assert_uint_eq(kept_ops[2]->want.mode[0], 2);
	answer(2, 0);
	ck_assert_uint_eq(fx_lu->kept.mode[0], 2);
	teardown();
}
END_TEST

/* The heir gets what has been written by then; the old object changes nothing after that. A medium
 * that is being sanitized is so in its next object, unless that has another store. */
START_TEST(heirs)
{
	static struct kept_op ops[2];

	for (int other_store = 0; other_store < 2; other_store++) {
		struct scsi_lu *heir;
		struct kept_heir h = { .other_store = other_store };
		bool done = false;

		setup();
		heir = fx_new_lu(NULL);
		fx_lu->kept.media.state = LU_SANITIZING;
		h.from = fx_lu;
		h.to = heir;
		h.reactor = fx_reactor;
		h.done = told;
		h.arg = &done;
		begin(&ops[0]);
		ck_assert_int_eq(lu_kept_hand_over(&h), 0);
		begin(&ops[1]);
		fx_turn();
		ck_assert(!done && n_kept == 1);
		answer(0, 0);
		fx_turn();
		ck_assert(done && n_done == 2 && n_kept == 1);
		ck_assert_int_eq(ops[1].result, -EBUSY);
		ck_assert_uint_eq(heir->kept.mode[0], 1);
		ck_assert_uint_eq(heir->mode_current[0], 1);
		ck_assert_uint_eq(heir->kept.media.state, other_store ? 0 : LU_SANITIZING);
		lu_unref(heir);
		teardown();
	}
}
END_TEST

/* A store that comes to an LU with an interrupted command does not make it ready. */
START_TEST(attached)
{
	const struct lu_params p = { .block_size = FX_BLOCK, .thin = true };
	struct lu_kept kept = { .media = { .state = LU_SANITIZING } };
	struct fake_store *store;
	struct scsi_lu *lu;
	const char *why;

	setup();
	scsi_set_keeper(NULL, NULL);
	store = fake_store_new(FX_SIZE, FX_FILE);
	memset(store->bytes, 0xaa, FX_SIZE);
	lu = fx_new_lu(NULL);
	lu_kept_restore(lu, &kept);
	ck_assert_int_eq(atomic_load(&lu->not_ready), LU_NO_STORE);
	ck_assert_int_eq(lu_attach(lu, &p, &store->b, &why), 0);
	ck_assert_int_eq(atomic_load(&lu->not_ready), LU_SANITIZING);
	ck_assert(!lu_change_state(lu, LU_IN(LU_READY), LU_STOPPED));
	media_resume(lu, fx_reactor);
	for (unsigned i = 0; i < 1000 && atomic_load(&lu->not_ready) != LU_READY; i++)
		fx_turn();
	ck_assert_int_eq(atomic_load(&lu->not_ready), LU_READY);
	ck_assert_uint_eq(lu->kept.media.state, 0);
	ck_assert_uint_eq(store->bytes[FX_SIZE - 1], 0);
	ck_assert_uint_eq(atomic_load(&lu->refs), 1);
	lu_unref(lu);
	fake_store_free(store);
	teardown();
}
END_TEST

UNIT_MAIN("scsi/kept", one_after_another, heirs, attached)
