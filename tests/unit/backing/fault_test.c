/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault store: grammar, each action, at run time, on an inline and on a deferred store. */
#include "tests/unit/backing/support.h"

#include "backing/fault.h"

#include <pthread.h>

#define MIB ((uint64_t)1 << 20)

static void start(struct rig *r, int i, const char *spec)
{
	struct backing_params p = { .type = i ? "file" : "ram",
				    .path = i ? temp_path("/tmp", "fault") : NULL,
				    .size = 8 * MIB,
				    .create = true,
				    .cache = BACKING_CACHE_BUFFERED,
				    .engine = engine_wanted("uring") ? NULL : "aio",
				    .block_size = 512,
				    .fault_spec = spec };

	rig_start(r);
	rig_open(r, &p);
	if (p.path)
		unlink(p.path);
}

static int rw(struct rig *r, enum backing_kind kind, uint64_t offset)
{
	static _Alignas(4096) char buf[4096];

	return do_rw(r, kind, offset, buf, sizeof(buf), false);
}

START_TEST(grammar)
{
	static const struct {
		const char *text;
		int n;
	} rows[] = {
		{ "", 0 },
		{ " ; ;\n", 0 },
		{ "error", 1 },
		{ "error kind=read+write from=1M length=64KiB skip=2 count=3 code=ENODATA", 1 },
		{ "delay ms=200 kind=read; hang kind=flush\ntorn;enospc;release;clear", 6 },
		{ "erro", -EINVAL },
		{ "error kind=", -EINVAL },
		{ "error kind=reed", -EINVAL },
		{ "error from", -EINVAL },
		{ "error from=x", -EINVAL },
		{ "error count=-1", -EINVAL },
		{ "error code=EWHAT", -EINVAL },
		{ "error ms=5", -EINVAL },
		{ "delay", -EINVAL },
		{ "hang code=EIO", -EINVAL },
		{ "release kind=read", -EINVAL },
		{ "error; error; error; error; error", -E2BIG },
	};
	struct fault_rule rules[6];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned max = rows[i].n == -E2BIG ? 4 : 6;
		int n = fault_spec_parse(rows[i].text, rules, max);

		ck_assert_msg(n == rows[i].n, "\"%s\": %d", rows[i].text, n);
	}
	ck_assert_int_eq(fault_spec_parse("error from=1M length=64K code=EILSEQ", rules, 6), 1);
	ck_assert_uint_eq(rules[0].from, MIB);
	ck_assert_uint_eq(rules[0].length, 65536);
	ck_assert_int_eq(rules[0].error, -EILSEQ);
}
END_TEST

START_TEST(bad_text_opens_nothing)
{
	struct backing_params p = {
		.type = "ram", .size = MIB, .block_size = 512, .fault_spec = "nonsense"
	};
	struct backing *b = NULL;
	char *why = NULL;

	ck_assert_int_eq(offload_start(2), 0);
	ck_assert_int_eq(backing_open(&p, &b, &why), -EINVAL);
	ck_assert_ptr_nonnull(why);
	ck_assert_ptr_nonnull(strstr(why, "nonsense"));
	free(why);
	ck_assert(offload_stop(5000));
}
END_TEST

START_TEST(errors_by_kind_range_and_count)
{
	struct rig r;

	start(&r, _i, "error kind=read from=1M length=64K skip=1 count=2 code=ENODATA");
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB), 0); /* spared */
	ck_assert_int_eq(rw(&r, BACKING_WRITE, MIB), 0);
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB - 4096), 0); /* the neighbours are fine */
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB + 65536), 0);
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB - 512), -ENODATA); /* overlaps */
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB + 61440), -ENODATA);
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB), 0); /* spent */
	ck_assert_int_eq(backing_control(r.b, "enospc; error kind=flush"), 0);
	ck_assert_int_eq(rw(&r, BACKING_WRITE, 0), -ENOSPC);
	ck_assert_int_eq(do_plain(&r, BACKING_ZERO, 0, 4096), -ENOSPC);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 0, 4096), 0);
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), -EIO);
	ck_assert_int_eq(backing_control(r.b, "clear; nonsense"), -EINVAL);
	ck_assert_int_eq(rw(&r, BACKING_WRITE, 0), -ENOSPC); /* nothing was changed */
	ck_assert_int_eq(backing_control(r.b, "clear"), 0);
	ck_assert_int_eq(rw(&r, BACKING_WRITE, 0), 0);
	rig_end(&r);
}
END_TEST

START_TEST(torn_writes_leave_the_first_half)
{
	struct iovec iov[3];
	char *out, *in;
	struct rig r;

	start(&r, _i, "torn count=2");
	out = aligned(8192);
	in = aligned(8192);
	fill(out, 8192, 1);
	iov[0] = (struct iovec){ out, 1024 };
	iov[1] = (struct iovec){ out + 1024, 4096 };
	iov[2] = (struct iovec){ out + 5120, 3072 };
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_WRITE,
							.length = 8192,
							.iov = iov,
							.iovcnt = 3 }),
			 -EIO);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 0, in, 8192, false), 0);
	ck_assert_mem_eq(in, out, 4096);
	ck_assert(is_zero(in + 4096, 4096));
	/* One sector has no half: it is not written at all. */
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, MIB, out, 512, false), -EIO);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, in, 512, false), 0);
	ck_assert(is_zero(in, 512));
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, MIB, out, 512, false), 0);
	free(out);
	free(in);
	rig_end(&r);
}
END_TEST

START_TEST(delays_are_kept)
{
	uint64_t begin;
	struct rig r;

	start(&r, _i, "delay ms=30 kind=write; delay ms=20; error kind=write count=1");
	begin = clock_ms();
	ck_assert_int_eq(rw(&r, BACKING_WRITE, 0), -EIO);
	ck_assert_uint_ge(clock_ms() - begin, 50);
	begin = clock_ms();
	ck_assert_int_eq(rw(&r, BACKING_READ, 0), 0);
	ck_assert_uint_ge(clock_ms() - begin, 20);
	rig_end(&r);
}
END_TEST

static void *release_it(void *arg)
{
	ck_assert_int_eq(backing_control(arg, "release"), 0);
	return NULL;
}

START_TEST(hangs_until_released)
{
	enum { N = 10 };
	static _Alignas(4096) char buf[N][512];
	struct try t[N];
	pthread_t thread;
	struct rig r;

	start(&r, _i, "hang kind=write");
	for (int i = 0; i < N; i++) {
		fill(buf[i], 512, (uint64_t)i);
		t[i] = make_try(BACKING_WRITE, (uint64_t)i * 512, 512);
		t[i].one = (struct iovec){ buf[i], 512 };
		t[i].io.iov = &t[i].one;
		t[i].io.iovcnt = 1;
		try_submit(&r, &t[i]);
	}
	ck_assert_int_eq(rw(&r, BACKING_READ, MIB), 0); /* the others go on */
	reactor_turn(r.reactor, 20);
	for (int i = 0; i < N; i++)
		ck_assert(!t[i].ended);
	ck_assert_int_eq(pthread_create(&thread, NULL, release_it, r.b), 0);
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(try_wait(&r, &t[i]), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(rw(&r, BACKING_WRITE, 0), 0); /* the rule is gone */
	rig_end(&r);
}
END_TEST

/* The message that lets go may still be under way when queue and store end. */
START_TEST(release_while_closing)
{
	struct rig r;

	start(&r, _i, "hang kind=flush");
	ck_assert_int_eq(backing_control(r.b, "release"), 0);
	rig_end(&r);
}
END_TEST

START_TEST(passes_on_what_it_does_not_do)
{
	uint64_t n;
	struct rig r;

	start(&r, _i, "");
	ck_assert_int_eq(backing_allocated(r.b, &n), 0);
	ck_assert_int_eq(backing_resize(r.b, 16 * MIB), 0);
	ck_assert_uint_eq(r.b->info.size, 16 * MIB);
	ck_assert_int_eq(rw(&r, BACKING_WRITE, 16 * MIB - 4096), 0);
	ck_assert_ptr_null(backing_map(r.q, 0, 4096, false)); /* would go round the rules */
	rig_end(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fault");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, grammar);
	tcase_add_test(tc, bad_text_opens_nothing);
	tcase_add_loop_test(tc, errors_by_kind_range_and_count, 0, 2);
	tcase_add_loop_test(tc, torn_writes_leave_the_first_half, 0, 2);
	tcase_add_loop_test(tc, delays_are_kept, 0, 2);
	tcase_add_loop_test(tc, hangs_until_released, 0, 2);
	tcase_add_loop_test(tc, release_while_closing, 0, 2);
	tcase_add_loop_test(tc, passes_on_what_it_does_not_do, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
