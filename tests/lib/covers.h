/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which requirements (ids of tests/standards/, fault-X00 of tests/faults.tsv) a test checks: said
 * by the test as it runs, appended to the file that HAWSER_COVERAGE names, one line
 * "<source file without .c> TAB <test> TAB <ids>" each. tests/run counts those whose test has
 * passed, in all of its rows.
 *
 *   START_TEST(x) { COVERS("L-012 L-013"); ... }    for the test that runs, or for its row
 *   SUITE_COVERS("T-001 T-002");                    at file scope: where every test of the program
 *                                                   has its part in it; counts if all have passed
 */
#ifndef HAWSER_TESTS_COVERS_H
#define HAWSER_TESTS_COVERS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of a test's function ends with "_fn" (check.h). */
static inline void covers_record(const char *file, const char *function, const char *ids)
{
	const char *path = getenv("HAWSER_COVERAGE");
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	size_t length = strlen(function);
	char line[4096];
	int fd, n;

	if (!path || !ids)
		return;
	if (length > 3 && !strcmp(function + length - 3, "_fn"))
		length -= 3;
	n = snprintf(line, sizeof(line), "%.*s\t%.*s\t%s\n", (int)strcspn(base, "."), base,
		     (int)length, function, ids);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	/* Half a line would be counted as something else. */
	if (n >= (int)sizeof(line) || fd < 0 || write(fd, line, (size_t)n) != n) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	close(fd);
}

#define COVERS(ids) covers_record(__FILE__, __func__, ids)

/* Weak: not every program has one. */
extern const char suite_covers[] __attribute__((weak));
#define SUITE_COVERS(ids) const char suite_covers[] = ids

/* For the main function: all tests of the program have passed. */
static inline void covers_suite(void)
{
	if (suite_covers)
		covers_record("*", "*", suite_covers);
}

#endif
