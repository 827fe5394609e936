/* SPDX-License-Identifier: BSD-2-Clause */
/* Task management, on one reactor by hand and over two threads. */
#include "scsi/tmf.h"

#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>
#include <pthread.h>

static uint8_t data[1 << 16];
static unsigned n_done;

static void tmf_done(struct scsi_tmf *tmf)
{
	(void)tmf;
	n_done++;
}

static void start(struct scsi_tmf *tmf, enum scsi_tmf_function function, struct it_nexus *n,
		  uint64_t lun, struct fake_task *task)
{
	memset(tmf, 0, sizeof(*tmf));
	tmf->function = function;
	tmf->nexus = n;
	tmf->lun = lun;
	tmf->task = task ? &task->t : NULL;
	tmf->done = tmf_done;
	n_done = 0;
	scsi_tmf(tmf);
}

static enum scsi_tmf_response run(enum scsi_tmf_function function, struct it_nexus *n, uint64_t lun,
				  struct fake_task *task)
{
	struct scsi_tmf tmf;

	start(&tmf, function, n, lun, task);
	for (int i = 0; i < 100 && !n_done; i++)
		fx_turn();
	ck_assert_uint_eq(n_done, 1);
	return tmf.response;
}

static struct fake_task *hung(struct it_nexus *n, uint64_t lba, bool write)
{
	struct fake_task *f = write ? fx_write(n, lba, 8, data) : fx_read(n, lba, 8);

	fx_store->hold = true;
	scsi_submit(&f->t);
	fx_store->hold = false;
	ck_assert_uint_eq(f->t.state, TASK_IO);
	return f;
}

START_TEST(abort_task)
{
	COVERS("SA-013 fault-D13 F-009");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *f, *g;

	fx_setup(0);
	f = hung(n, 0, true);
	g = hung(n, 8, true);
	ck_assert_uint_eq(run(TMF_QUERY_TASK, n, 0, f), TMF_SUCCEEDED);
	ck_assert_uint_eq(run(TMF_ABORT_TASK, n, 0, f), TMF_COMPLETE); /* although it hangs */
	ck_assert(f->detached && !g->aborted);
	ck_assert_uint_eq(run(TMF_ABORT_TASK, n, 0, NULL), TMF_NO_TASK);
	ck_assert_uint_eq(run(TMF_QUERY_TASK, n, 0, NULL), TMF_COMPLETE);
	fake_store_let(fx_store);
	ck_assert(f->over && g->ended);
	fake_task_free(f);
	fake_task_free(g);
	fx_teardown();
}
END_TEST

START_TEST(abort_task_set)
{
	COVERS("SA-013 E-042 F-012");
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *f[3], *foreign;

	fx_setup(0);
	ck_assert_uint_eq(run(TMF_QUERY_TASK_SET, n, 0, NULL), TMF_COMPLETE);
	for (int i = 0; i < 3; i++)
		f[i] = hung(n, 8 * (uint64_t)i, i == 1);
	foreign = hung(&fx_nexus[1], 80, true);
	ck_assert_uint_eq(run(TMF_QUERY_TASK_SET, n, 0, NULL), TMF_SUCCEEDED);
	ck_assert_uint_eq(run(TMF_ABORT_TASK_SET, n, 7, NULL), TMF_NO_LUN);
	ck_assert_uint_eq(run(TMF_ABORT_TASK_SET, n, 0, NULL), TMF_COMPLETE);
	ck_assert_uint_eq(run(TMF_QUERY_TASK_SET, n, 0, NULL), TMF_COMPLETE);
	ck_assert(!foreign->aborted);
	fake_store_let(fx_store);
	for (int i = 0; i < 3; i++) {
		ck_assert(f[i]->over && !f[i]->ended);
		fake_task_free(f[i]);
	}
	fake_task_free(foreign);
	fx_expect(fx_tur(&fx_nexus[1]), 0, 0); /* and nobody else hears of it */
	fx_teardown();
}
END_TEST

/* What has its status already has ended. */
START_TEST(answered_tasks_are_left_alone)
{
	COVERS("F-016");
	struct fake_task *f;

	fx_setup(0);
	f = fx_read(&fx_nexus[0], 0, 8);
	f->hold_finish = true;
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(run(TMF_ABORT_TASK_SET, &fx_nexus[0], 0, NULL), TMF_COMPLETE);
	ck_assert_uint_eq(run(TMF_LU_RESET, &fx_nexus[0], 0, NULL), TMF_COMPLETE);
	ck_assert(!f->aborted);
	fake_task_finish(f);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* The answer waits for the last write of the victims. */
START_TEST(clear_task_set)
{
	COVERS("SA-013");
	struct scsi_tmf tmf;
	struct fake_task *f;

	fx_setup(0);
	f = hung(&fx_nexus[0], 0, true);
	start(&tmf, TMF_CLEAR_TASK_SET, &fx_nexus[0], 0, NULL);
	fx_turn();
	ck_assert(f->detached && !n_done);
	fake_store_let(fx_store);
	ck_assert(f->over);
	fx_turn();
	ck_assert_uint_eq(n_done, 1);
	ck_assert_uint_eq(tmf.response, TMF_COMPLETE);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

START_TEST(lu_reset)
{
	COVERS("SA-017 SU-007 E-036 fault-D08 SD-015");
	static const uint8_t prevent[6] = { 0x1e, 0, 0, 0, 1 };
	struct scsi_tmf tmf;
	struct fake_task *f[3], *late;

	fx_setup(0);
	fx_expect(fx_task(&fx_nexus[2], prevent, 6), 0, 0);
	ck_assert(lu_prevented(fx_lu));
	for (int i = 0; i < 3; i++)
		f[i] = hung(&fx_nexus[i], 8 * (uint64_t)i, i == 1);
	start(&tmf, TMF_LU_RESET, &fx_nexus[0], 0, NULL);
	for (int i = 0; i < 5; i++)
		fx_turn();
	for (int i = 0; i < 3; i++)
		ck_assert(f[i]->detached);
	ck_assert(!n_done); /* a write is still out */
	ck_assert(!lu_prevented(fx_lu));
	fx_expect(fx_tur(&fx_nexus[0]), SENSE_UNIT_ATTENTION, ASC_DEVICE_RESET);
	late = fx_read(&fx_nexus[0], 800, 8); /* commands go on meanwhile */
	fx_expect(late, 0, 0);
	fake_store_let(fx_store);
	fx_turn();
	ck_assert_uint_eq(n_done, 1);
	ck_assert_uint_eq(tmf.response, TMF_COMPLETE);
	for (unsigned i = 1; i < 3; i++) {
		fx_expect(fx_tur(&fx_nexus[i]), SENSE_UNIT_ATTENTION, ASC_DEVICE_RESET);
		fx_expect(fx_tur(&fx_nexus[i]), 0, 0);
	}
	for (int i = 0; i < 3; i++) {
		ck_assert(f[i]->over && !f[i]->ended);
		fake_task_free(f[i]);
	}
	fx_teardown();
}
END_TEST

/* Mode values go back to what was saved. */
START_TEST(lu_reset_restores_mode)
{
	COVERS("SA-017");
	fx_setup(FX_FILE);
	fx_lu->mode_current[0] = 0x04;
	fx_lu->kept.mode[0] = 0;
	ck_assert_uint_eq(run(TMF_LU_RESET, &fx_nexus[0], 0, NULL), TMF_COMPLETE);
	ck_assert_uint_eq(fx_lu->mode_current[0], 0);
	fx_teardown();
}
END_TEST

/* A write that does not come back: an honest failure in time, and the tmf's nexus may be gone. */
START_TEST(reset_gives_up)
{
	struct scsi_tmf tmf;
	struct fake_task *f;

	fx_setup(0);
	f = hung(&fx_nexus[1], 0, true);
	start(&tmf, TMF_LU_RESET, &fx_nexus[0], 0, NULL);
	fx_turn();
	fx_turn();
	ck_assert(f->detached && !n_done);
	nexus_destroy(&fx_nexus[0]);
	tmf.timer.fire(&tmf.timer); /* ten seconds later */
	ck_assert_uint_eq(n_done, 1);
	ck_assert_uint_eq(tmf.response, TMF_FAILED);
	fake_store_let(fx_store);
	fx_turn();
	ck_assert_uint_eq(n_done, 1);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* Time is up when the last write has just ended: the answer is the good one. */
START_TEST(reset_just_in_time)
{
	struct scsi_tmf tmf;
	struct fake_task *f;

	fx_setup(0);
	f = hung(&fx_nexus[1], 0, true);
	start(&tmf, TMF_LU_RESET, &fx_nexus[0], 0, NULL);
	fx_turn();
	fx_turn();
	fake_store_let(fx_store);
	tmf.timer.fire(&tmf.timer);
	ck_assert_uint_eq(n_done, 0);
	fx_turn();
	ck_assert_uint_eq(n_done, 1);
	ck_assert_uint_eq(tmf.response, TMF_COMPLETE);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

/* All LUs that the sender sees. */
START_TEST(target_reset)
{
	COVERS("E-037 E-061");
	static const enum scsi_tmf_function functions[] = { TMF_TARGET_WARM_RESET,
							    TMF_TARGET_COLD_RESET };

	for (int i = 0; i < 2; i++) {
		struct fake_store *s = fake_store_new(1 << 20, 0);
		struct scsi_lun_entry e[2] = { { .lun = 0 }, { .lun = 1 } };
		static const uint8_t tur[6];
		struct scsi_lun_map *map;
		struct fake_task *f;
		struct scsi_lu *lu;

		fx_setup(0);
		lu = fx_new_lu(s);
		e[0].lu = fx_lu;
		e[1].lu = lu;
		map = lun_map_create(e, 2);
		ck_assert_int_eq(nexus_remap(&fx_nexus[0], map), 0);
		ck_assert_int_eq(nexus_remap(&fx_nexus[1], map), 0);
		fx_take_ua(&fx_nexus[0]);
		fx_take_ua(&fx_nexus[1]);
		f = hung(&fx_nexus[2], 0, false);
		ck_assert_uint_eq(run(functions[i], &fx_nexus[0], 0, NULL), TMF_COMPLETE);
		ck_assert(f->detached);
		for (uint64_t lun = 0; lun < 2; lun++) {
			fx_expect(fake_task_new(&fx_nexus[0], lun, tur, 6), SENSE_UNIT_ATTENTION,
				  ASC_BUS_RESET);
			fx_expect(fake_task_new(&fx_nexus[1], lun, tur, 6), SENSE_UNIT_ATTENTION,
				  ASC_BUS_RESET);
		}
		fx_expect(fx_tur(&fx_nexus[2]), SENSE_UNIT_ATTENTION, ASC_BUS_RESET);
		fake_store_let(fx_store);
		fake_task_free(f);
		lun_map_unref(map);
		lu_unref(lu);
		nexus_destroy(&fx_nexus[0]);
		nexus_destroy(&fx_nexus[1]);
		fake_store_free(s);
		fx_teardown();
	}
}
END_TEST

START_TEST(nexus_reset)
{
	COVERS("F-014 SA-018 SU-008");
	struct fake_task *f, *foreign;

	fx_setup(0);
	f = hung(&fx_nexus[0], 0, true);
	foreign = hung(&fx_nexus[1], 80, true);
	ck_assert_uint_eq(run(TMF_I_T_NEXUS_RESET, &fx_nexus[0], 0, NULL), TMF_COMPLETE);
	ck_assert(f->detached && !foreign->aborted);
	fx_expect(fx_tur(&fx_nexus[0]), SENSE_UNIT_ATTENTION, ASC_NEXUS_LOSS);
	fx_expect(fx_tur(&fx_nexus[1]), 0, 0);
	fake_store_let(fx_store);
	fake_task_free(f);
	fake_task_free(foreign);
	fx_teardown();
}
END_TEST

START_TEST(queries_and_the_unsupported)
{
	COVERS("F-013 E-040");
	struct scsi_tmf tmf;

	fx_setup(0);
	ck_assert_uint_eq(run(TMF_CLEAR_ACA, &fx_nexus[0], 0, NULL), TMF_UNSUPPORTED);
	ck_assert_uint_eq(run(TMF_QUERY_ASYNC_EVENT, &fx_nexus[0], 0, NULL), TMF_COMPLETE);
	itl_ua(nexus_find(&fx_nexus[0], 0), ASC_CAPACITY_CHANGED);
	for (int i = 0; i < 2; i++) { /* asking does not clear it */
		start(&tmf, TMF_QUERY_ASYNC_EVENT, &fx_nexus[0], 0, NULL);
		ck_assert_uint_eq(tmf.response, TMF_SUCCEEDED);
		ck_assert_uint_eq(tmf.information[0] & 0x0f, SENSE_UNIT_ATTENTION);
		ck_assert_uint_eq(get_be16(tmf.information + 1), ASC_CAPACITY_CHANGED);
	}
	ck_assert_uint_eq(run(TMF_QUERY_ASYNC_EVENT, &fx_nexus[0], 9, NULL), TMF_NO_LUN);
	fx_teardown();
}
END_TEST

/* A second reactor on a thread of its own, with one nexus that writes without pause. */
struct other {
	struct reactor *r;
	struct arena *arena;
	struct fake_store *store; /* only the queues' owner touches what is held: none is */
	struct it_nexus nexus;
	struct reactor_timer tick;
	struct fake_task *f;
	_Atomic unsigned aborted, attentions, written;
	_Atomic bool stop;
	pthread_t thread;
};

static struct other other;

static void next_write(struct reactor_timer *timer)
{
	struct fake_task *f = other.f;

	(void)timer;
	if (f && f->over) {
		if (f->aborted)
			other.aborted++;
		else if (f->status == SCSI_CHECK_CONDITION)
			other.attentions += f->sense.asc_ascq == ASC_DEVICE_RESET;
		else
			other.written++;
		fake_task_free(f);
		other.f = f = NULL;
	}
	if (!f && !other.stop) {
		other.f = fx_write(&other.nexus, 64, 8, data);
		other.f->hold_data = true; /* stays in its state until the next tick */
		scsi_submit(&other.f->t);
	} else if (f && f->t.state == TASK_COLLECTING) {
		fake_task_deliver(f);
	}
	if (other.stop && !other.f) {
		nexus_destroy(&other.nexus);
		reactor_stop(other.r);
		return;
	}
	reactor_timer_arm(other.r, &other.tick, 0);
}

static void *other_thread(void *arg)
{
	(void)arg;
	ck_assert_int_eq(scsi_reactor_start(other.r, other.arena), 0);
	other.nexus.max_tasks = 8;
	ck_assert_int_eq(nexus_init(&other.nexus, other.r, fx_map, ASC_POWER_ON), 0);
	reactor_timer_init(&other.tick, next_write);
	reactor_timer_arm(other.r, &other.tick, 0);
	reactor_run(other.r);
	scsi_reactor_stop(other.r);
	return NULL;
}

START_TEST(over_two_reactors)
{
	COVERS("SU-007 E-036 fault-D08 SA-017");
	struct reactor *set[2];
	struct scsi_tmf tmf;

	fx_setup(BACKING_INLINE);
	ck_assert_int_eq(reactor_create(1, "other", &other.r), 0);
	ck_assert_int_eq(arena_create(1 << 20, &other.arena), 0);
	set[0] = fx_reactor;
	set[1] = other.r;
	scsi_tmf_set_reactors(set, 2);
	ck_assert_int_eq(pthread_create(&other.thread, NULL, other_thread, NULL), 0);
	while (!other.written)
		fx_turn();
	/* Until every kind of moment has been met: its tasks are aborted and it hears of it. */
	for (int i = 0; i < 300 || !other.attentions || !other.aborted; i++) {
		start(&tmf, TMF_LU_RESET, &fx_nexus[0], 0, NULL);
		while (!n_done)
			reactor_turn(fx_reactor, 10);
		ck_assert_uint_eq(tmf.response, TMF_COMPLETE);
		fx_expect(fx_write(&fx_nexus[0], 128, 8, data), SENSE_UNIT_ATTENTION,
			  ASC_DEVICE_RESET);
		fx_expect(fx_write(&fx_nexus[0], 128, 8, data), 0, 0);
		for (int k = 0; k < i % 4; k++) /* out of step with the other */
			reactor_turn(fx_reactor, 1);
	}
	other.stop = true;
	pthread_join(other.thread, NULL);
	scsi_tmf_set_reactors(NULL, 0);
	arena_destroy(other.arena);
	reactor_destroy(other.r);
	fx_teardown();
}
END_TEST

static struct scsi_lun_map *no_luns;
static _Atomic unsigned n_gone;

static void gone(struct scsi_lu *lu, void *arg)
{
	(void)lu;
	(void)arg;
	n_gone++;
}

static void lose_lun(struct reactor_msg *msg)
{
	(void)msg;
	ck_assert_int_eq(nexus_remap(&other.nexus, no_luns), 0);
}

/*
 * The unit is taken away while another reactor writes to it: the writes end, then it goes, on
 * whichever thread lets go of it last.
 */
START_TEST(unit_goes_while_others_write)
{
	COVERS("SN-017 fault-K03");
	struct fake_store *s = fake_store_new(1 << 20, BACKING_INLINE);
	struct reactor_msg msg = { .run = lose_lun };
	struct scsi_lun_map *theirs;
	struct scsi_lun_entry e = { .lun = 0 };

	fx_setup(BACKING_INLINE);
	theirs = fx_map;
	e.lu = fx_new_lu(s);
	e.lu->destroyed = gone;
	fx_map = lun_map_create(&e, 1);
	no_luns = lun_map_create(NULL, 0);
	ck_assert_int_eq(reactor_create(1, "other", &other.r), 0);
	ck_assert_int_eq(arena_create(1 << 20, &other.arena), 0);
	ck_assert_int_eq(pthread_create(&other.thread, NULL, other_thread, NULL), 0);
	while (other.written < 10)
		fx_turn();
	reactor_send(other.r, &msg);
	lun_map_unref(fx_map);
	lu_unref(e.lu);
	while (!n_gone)
		reactor_turn(fx_reactor, 1);
	other.stop = true;
	pthread_join(other.thread, NULL);
	ck_assert_uint_eq(other.aborted, 0);
	fx_map = theirs;
	lun_map_unref(no_luns);
	fake_store_free(s);
	arena_destroy(other.arena);
	reactor_destroy(other.r);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/tmf", abort_task, abort_task_set, answered_tasks_are_left_alone, clear_task_set,
	  lu_reset, lu_reset_restores_mode, reset_gives_up, reset_just_in_time, target_reset,
	  nexus_reset, queries_and_the_unsupported, over_two_reactors, unit_goes_while_others_write)
