/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main function of a unit test: UNIT_MAIN("folder/file", test_a, test_b). Each test runs in a
 * process of its own unless CK_FORK=no.
 */
#ifndef HAWSER_UNIT_H
#define HAWSER_UNIT_H

#include "tests/lib/covers.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

/* Runs all; the exit status. */
static inline int unit_end(SRunner *runner)
{
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (failed)
		return EXIT_FAILURE;
	covers_suite();
	return EXIT_SUCCESS;
}

static inline int unit_run(const char *name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < n; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return unit_end(runner);
}

#define UNIT_MAIN(name, ...)                                                                       \
	int main(void)                                                                             \
	{                                                                                          \
		const TTest *const tests[] = { __VA_ARGS__ };                                      \
                                                                                                   \
		return unit_run(name, tests, sizeof(tests) / sizeof(tests[0]));                    \
	}

#endif
