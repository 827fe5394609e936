/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that are under way in some place when a reservation comes, or when it ends. */
#include "tests/unit/scsi/pr_fixture.h"

#include "scsi/tmf.h"

#include <pthread.h>

/* Its fence takes its time. */
static void ends_good(struct fake_task *f)
{
	scsi_submit(&f->t);
	for (int i = 0; i < 10000 && !f->ended; i++)
		reactor_turn(fx_reactor, 1);
	ck_assert(f->ended);
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	fake_task_free(f);
}

static void a_reserves(void)
{
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_keys(KEY_A, 0, 0);
	ends_good(pr_task(A, PR_RESERVE, PR_WRITE_EXCLUSIVE, 24));
}

/* Its list is still to come: what it says must not happen any more. */
START_TEST(list_comes_late)
{
	COVERS("SR-012");
	static const uint8_t list[] = { 0, 0, 0, 0, 0x0a, 0x0a, 0x26, 0x10,
					0, 0, 0, 0, 0xff, 0xff, 0,    0 };
	const uint8_t cdb[6] = { 0x15, 0x10, 0, 0, sizeof(list) };
	struct fake_task *f;
	uint32_t generation;

	fx_setup(BACKING_INLINE);
	generation = fx_lu->mode_generation;
	f = fx_task(B, cdb, sizeof(cdb));
	fake_task_out(f, list, sizeof(list));
	f->hold_data = true;
	scsi_submit(&f->t);
	ck_assert(f->asked && !f->ended);
	a_reserves();
	fake_task_deliver(f);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_RESERVATION_CONFLICT);
	ck_assert_uint_eq(fx_lu->mode_generation, generation);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* It waits for its blocks, and for longer than the one who reserves does. */
START_TEST(exclusive_waits)
{
	COVERS("SR-012 SB-017");
	static uint8_t data[2 * FX_BLOCK];
	struct fake_task *old, *caw;
	uint8_t cdb[16];

	fx_setup(FX_FILE);
	memset(data + FX_BLOCK, 0x55, FX_BLOCK);
	fx_store->hold = true;
	old = fx_read(C, 0, 8);
	scsi_submit(&old->t);
	fx_rw(cdb, 0x89, 0, 1);
	caw = fx_task(B, cdb, 16);
	fake_task_out(caw, data, sizeof(data));
	scsi_submit(&caw->t);
	a_reserves();
	ck_assert(!caw->ended);
	fx_store->hold = false;
	fake_store_let(fx_store);
	fx_run(caw);
	ck_assert_uint_eq(caw->status, SCSI_RESERVATION_CONFLICT);
	ck_assert(old->ended && !fx_store->bytes[0]);
	ck_assert_uint_eq(atomic_load(&nexus_find(A, 0)->gate), 0);
	fake_task_free(old);
	fake_task_free(caw);
	fx_teardown();
}
END_TEST

/* A second reactor that is slow: a reset has reached this one already. */
static struct reactor *slow;
static _Atomic bool go, gone;

static void *slow_thread(void *arg)
{
	(void)arg;
	while (!go)
		sched_yield();
	while (!gone)
		reactor_turn(slow, 1);
	return NULL;
}

static bool reset_over;

static void tmf_done(struct scsi_tmf *tmf)
{
	ck_assert_uint_eq(tmf->response, TMF_COMPLETE);
	reset_over = true;
}

/* A reservation of before the reset goes; one that was made with the reset known stays. */
START_TEST(reserved_after_a_reset)
{
	COVERS("SR-046");
	struct scsi_tmf tmf = { .function = TMF_LU_RESET, .done = tmf_done };
	static const uint8_t reserve[6] = { 0x16 };
	struct reactor *set[2];
	pthread_t thread;

	fx_setup(BACKING_INLINE);
	ck_assert_int_eq(reactor_create(1, "slow", &slow), 0);
	set[0] = fx_reactor;
	set[1] = slow;
	go = gone = reset_over = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, slow_thread, NULL), 0);
	ends_good(fx_task(A, reserve, 6));
	scsi_tmf_set_reactors(set, 2);
	tmf.nexus = B;
	scsi_tmf(&tmf);
	fx_turn();
	ck_assert(!reset_over);
	ck_assert_uint_eq(pr_ua(B), ASC_DEVICE_RESET);
	ck_assert_uint_eq(pr_ua(A), ASC_DEVICE_RESET);
	fx_take_ua(C);
	go = true; /* the fence of RESERVE needs it, too: the reset ends in between */
	ends_good(fx_task(B, reserve, 6));
	while (!reset_over)
		reactor_turn(fx_reactor, 1);
	ck_result(pr_writes(A), CONFLICT);
	ck_result(pr_writes(B), 0);
	gone = true;
	pthread_join(thread, NULL);
	scsi_tmf_set_reactors(NULL, 0);
	reactor_destroy(slow);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/pr_late", list_comes_late, exclusive_waits, reserved_after_a_reset)
