/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel says once about lost writes is not forgotten: as if the kernel had ended an io
 * with an error, then real flushes.
 */
#include "backing/fdstore.h"
#include "tests/unit/backing/support.h"

#define MIB ((uint64_t)1 << 20)

static const struct {
	enum backing_kind kind;
	bool durable, direct;
	int error;
	bool lost; /* flushes fail from then on */
} cases[] = {
	{ BACKING_FLUSH, false, false, -EIO, true },
	{ BACKING_FLUSH, false, false, -ENOSPC, true },
	{ BACKING_FLUSH, false, true, -EIO, true },
	{ BACKING_FLUSH, false, false, -EINTR, false },
	{ BACKING_FLUSH, false, false, -ECANCELED, false },
	{ BACKING_FLUSH, false, false, -ENOMEM, false },
	{ BACKING_WRITE, true, false, -EIO, true }, /* its sync has taken the news of others */
	{ BACKING_TRIM, true, false, -EIO, true },
	{ BACKING_WRITE, true, true, -EIO, false },
	{ BACKING_WRITE, true, false, -ENOSPC, false },
	{ BACKING_WRITE, false, false, -EIO, false },
	{ BACKING_READ, false, false, -EIO, false },
};

START_TEST(a_lost_write_is_not_forgotten)
{
	struct backing_params p = { .type = "file",
				    .path = temp_path("/tmp", "sync"),
				    .size = MIB,
				    .create = true,
				    .cache = BACKING_CACHE_BUFFERED,
				    .block_size = 512 };
	struct try t = make_try(cases[_i].kind, 0, 512);
	char buf[512] = { 1 };
	struct rig r;

	rig_start(&r);
	rig_open(&r, &p);
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	container_of(r.b, struct fd_store, b)->direct = cases[_i].direct;
	t.io.durable = cases[_i].durable;
	t.io.queue = r.q;
	t.io.done = try_done;
	fd_finish(&t.io, cases[_i].error);
	ck_assert(t.ended);
	ck_assert_int_eq(t.io.result, cases[_i].error);
	container_of(r.b, struct fd_store, b)->direct = false;
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0),
				 cases[_i].lost ? cases[_i].error : 0);
		ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 0, buf, 512, true), 0);
		ck_assert_int_eq(do_rw(&r, BACKING_READ, 0, buf, 512, false), 0);
	}
	rig_shut(&r);
	rig_open(&r, &p); /* anew */
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	rig_end(&r);
	unlink(p.path);
}
END_TEST

/* Flushes that come while one is under way end after it and know what it knows. */
START_TEST(one_flush_at_a_time)
{
	struct backing_params p = { .type = "file",
				    .path = temp_path("/tmp", "sync"),
				    .size = MIB,
				    .create = true,
				    .cache = BACKING_CACHE_BUFFERED,
				    .block_size = 512 };
	const int error = _i ? -EIO : 0;
	struct try first = make_try(BACKING_FLUSH, 0, 0), later[3];
	struct fd_store *s;
	struct rig r;

	COVERS("SB-022");
	rig_start(&r);
	rig_open(&r, &p);
	s = container_of(r.b, struct fd_store, b);
	first.io.queue = r.q; /* the kernel has it */
	first.io.done = try_done;
	ck_assert(fd_flush_begin(s, &first.io));
	for (int i = 0; i < 3; i++) {
		later[i] = make_try(BACKING_FLUSH, 0, 0);
		try_submit(&r, &later[i]);
	}
	for (int i = 0; i < 20; i++)
		reactor_turn(r.reactor, 0);
	ck_assert(!later[0].ended && !later[1].ended && !later[2].ended);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 0, 4096), 0); /* others go on */
	fd_finish(&first.io, error);
	ck_assert(first.ended);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(try_wait(&r, &later[i]), error);
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), error);
	rig_end(&r);
	unlink(p.path);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sync");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_lost_write_is_not_forgotten, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_loop_test(tc, one_flush_at_a_time, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
