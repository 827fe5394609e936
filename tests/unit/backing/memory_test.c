/* SPDX-License-Identifier: BSD-2-Clause */
/* What only ram and null do; all else of ram is in store_test.c. */
#include "tests/unit/backing/support.h"

#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)

static void start(struct rig *r, const char *type, uint64_t size)
{
	struct backing_params p = { .type = type, .size = size, .block_size = 512 };

	rig_start(r);
	rig_open(r, &p);
	ck_assert(r->b->info.flags & BACKING_INLINE);
	ck_assert(!(r->b->info.flags & BACKING_VOLATILE_CACHE));
}

START_TEST(null_forgets)
{
	struct backing_extent e[2];
	struct try t = make_try(BACKING_EXTENTS, 0, TIB);
	char buf[4096];
	uint64_t n;
	struct rig r;
	char *at;

	start(&r, "null", TIB);
	fill(buf, sizeof(buf), 1);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, TIB - 4096, buf, 4096, true), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, TIB - 4096, buf, 4096, false), 0);
	ck_assert(is_zero(buf, 4096));
	ck_assert_int_eq(do_rw(&r, BACKING_READ, TIB, buf, 4096, false), -EINVAL);
	at = backing_map(r.q, MIB, MIB, false);
	ck_assert_ptr_nonnull(at);
	ck_assert(is_zero(at, MIB));
	ck_assert_ptr_null(backing_map(r.q, MIB, MIB, true));
	ck_assert_ptr_null(backing_map(r.q, 0, TIB, false));
	t.io.extents = e;
	t.io.max_extents = 2;
	try_submit(&r, &t);
	ck_assert_int_eq(try_wait(&r, &t), 0);
	ck_assert(t.io.n_extents == 1 && !e[0].allocated && e[0].length == TIB);
	ck_assert_int_eq(backing_allocated(r.b, &n), 0);
	ck_assert_uint_eq(n, 0);
	rig_end(&r);
}
END_TEST

START_TEST(ram_is_thin)
{
	uint64_t n;
	char *at;
	struct rig r;

	start(&r, "ram", 4ull << 30);
	ck_assert_int_eq(backing_allocated(r.b, &n), 0);
	ck_assert_uint_lt(n, MIB);
	at = backing_map(r.q, 2ull << 30, 8 * MIB, true);
	ck_assert_ptr_nonnull(at);
	memset(at, 1, 8 * MIB);
	ck_assert_int_eq(backing_allocated(r.b, &n), 0);
	ck_assert_uint_ge(n, 8 * MIB);
	/* A mapping stays good when the store grows. */
	ck_assert_int_eq(backing_resize(r.b, 8ull << 30), 0);
	ck_assert_ptr_eq(backing_map(r.q, 2ull << 30, 8 * MIB, true), at);
	/* Up to what is done at once, and beyond it on a thread; edges inside a page. */
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, (2ull << 30) + 100, 5000), 0);
	ck_assert(at[99] == 1 && at[5100] == 1 && is_zero(at + 100, 5000));
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, (2ull << 30) + 300, 10), 0);
	ck_assert_int_eq(do_plain(&r, BACKING_ZERO, (2ull << 30) + 6000, 7 * MIB), 0);
	ck_assert_int_eq(backing_allocated(r.b, &n), 0);
	ck_assert_uint_le(n, 4 * MIB);
	ck_assert(at[5999] == 1 && at[7 * MIB + 6000] == 1 && is_zero(at + 6000, 7 * MIB));
	rig_end(&r);
}
END_TEST

/* Reading takes no memory, and does not make a hole something that is allocated. */
START_TEST(ram_holes_stay_holes)
{
	struct backing_extent e[4];
	struct try t = {
		.io = { .kind = BACKING_EXTENTS, .length = 4 * MIB, .extents = e, .max_extents = 4 }
	};
	struct rig r;
	char *at;

	start(&r, "ram", 64 * MIB);
	at = backing_map(r.q, 0, 4 * MIB, true);
	ck_assert_ptr_nonnull(at);
	memset(at, 1, 2 * MIB);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, MIB, MIB), 0);
	ck_assert(is_zero(at + MIB, 3 * MIB)); /* looked at */
	try_submit(&r, &t);
	ck_assert_int_eq(try_wait(&r, &t), 0);
	ck_assert_uint_eq(t.io.n_extents, 2);
	ck_assert(e[0].allocated && e[0].length == MIB);
	ck_assert(!e[1].allocated && e[1].length == 3 * MIB);
	rig_end(&r);
}
END_TEST

START_TEST(size_must_be_given_and_fit)
{
	struct backing_params p = { .type = "ram", .block_size = 512 };
	struct backing *b;
	char *why = NULL;

	ck_assert_int_eq(offload_start(1), 0);
	ck_assert_int_eq(backing_open(&p, &b, &why), -EINVAL);
	free(why);
	p.type = "null";
	ck_assert_int_eq(backing_open(&p, &b, NULL), -EINVAL);
	p.size = UINT64_MAX - 511;
	ck_assert_int_eq(backing_open(&p, &b, NULL), -EFBIG);
	p.size = 1000;
	ck_assert_int_eq(backing_open(&p, &b, NULL), -EINVAL);
	p.type = "ram";
	p.size = (uint64_t)INT64_MAX + 1 - 4096; /* more than there are addresses */
	ck_assert_int_lt(backing_open(&p, &b, &why), 0);
	ck_assert_ptr_nonnull(why);
	free(why);
	ck_assert(offload_stop(5000));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("memory");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, null_forgets);
	tcase_add_test(tc, ram_is_thin);
	tcase_add_test(tc, ram_holes_stay_holes);
	tcase_add_test(tc, size_must_be_given_and_fit);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
