/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/pool.c"

#include "tests/unit/unit.h"

#include <signal.h>

START_TEST(objects_are_aligned_and_apart)
{
	struct pool *p;
	uint8_t *o[300];

	ck_assert_int_eq(pool_create("t", 100, 10, 300, &p), 0);
	for (int i = 0; i < 300; i++) {
		o[i] = pool_get(p);
		ck_assert_ptr_nonnull(o[i]);
		ck_assert_uint_eq((uintptr_t)o[i] % 64, 0);
		memset(o[i], i, 100);
	}
	ck_assert_uint_eq(pool_in_use(p), 300);
	for (int i = 0; i < 300; i++) {
		for (int n = 0; n < 100; n++)
			ck_assert_uint_eq(o[i][n], (uint8_t)i);
		pool_put(p, o[i]);
	}
	ck_assert_uint_eq(pool_in_use(p), 0);
	pool_destroy(p);
}
END_TEST

START_TEST(limit_holds_and_recovers)
{
	struct pool *p;
	void *a, *b;

	ck_assert_int_eq(pool_create("t", 24, 0, 2, &p), 0);
	a = pool_get(p);
	b = pool_get(p);
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_null(pool_get(p));
	ck_assert_uint_eq(pool_in_use(p), 2);
	pool_put(p, a);
	ck_assert_ptr_eq(pool_get(p), a); /* the warm one */
	ck_assert_ptr_null(pool_get(p));
	pool_put(p, a);
	pool_put(p, b);
	pool_destroy(p);
}
END_TEST

START_TEST(large_objects)
{
	struct pool *p;
	void *o[3];

	ck_assert_int_eq(pool_create("t", 200000, 1, 3, &p), 0);
	for (int i = 0; i < 3; i++) {
		o[i] = pool_get(p);
		ck_assert_ptr_nonnull(o[i]);
		memset(o[i], i, 200000);
	}
	ck_assert_ptr_null(pool_get(p));
	for (int i = 0; i < 3; i++)
		pool_put(p, o[i]);
	pool_destroy(p);
}
END_TEST

START_TEST(absurd_sizes_are_refused)
{
	struct pool *p = NULL;

	ck_assert_int_eq(pool_create("t", 0, 0, 1, &p), -EINVAL);
	ck_assert_int_eq(pool_create("t", SIZE_MAX, 0, 1, &p), -EINVAL);
	ck_assert_int_eq(pool_create("t", 8, 2, 1, &p), -EINVAL);
	ck_assert_ptr_null(p);
	pool_destroy(NULL);
}
END_TEST

/* Own mistakes end the program in debug builds; only there is something to be tested. */
#ifndef NDEBUG
START_TEST(put_twice_aborts)
{
	struct pool *p;
	void *o;

	ck_assert_int_eq(pool_create("t", 64, 0, 2, &p), 0);
	o = pool_get(p);
	pool_put(p, o);
	pool_put(p, o);
}
END_TEST

START_TEST(put_elsewhere_aborts)
{
	struct pool *p, *q;
	void *o;

	ck_assert_int_eq(pool_create("p", 64, 0, 2, &p), 0);
	ck_assert_int_eq(pool_create("q", 64, 0, 2, &q), 0);
	o = pool_get(p);
	ck_assert_ptr_nonnull(pool_get(q));
	pool_put(q, o);
}
END_TEST

START_TEST(write_after_put_is_noticed)
{
	struct pool *p;
	uint8_t *o;

	ck_assert_int_eq(pool_create("t", 64, 0, 2, &p), 0);
	o = pool_get(p);
	pool_put(p, o);
	base_unpoison(o, 64); /* AddressSanitizer would speak first */
	o[40] = 1;
	pool_get(p);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("base/pool");
	SRunner *runner = srunner_create(suite);
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, objects_are_aligned_and_apart);
	tcase_add_test(tcase, limit_holds_and_recovers);
	tcase_add_test(tcase, large_objects);
	tcase_add_test(tcase, absurd_sizes_are_refused);
#ifndef NDEBUG
	tcase_add_test_raise_signal(tcase, put_twice_aborts, SIGABRT);
	tcase_add_test_raise_signal(tcase, put_elsewhere_aborts, SIGABRT);
	tcase_add_test_raise_signal(tcase, write_after_put_is_noticed, SIGABRT);
#endif
	suite_add_tcase(suite, tcase);
	return unit_end(runner);
}
