/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reason of a refusal, for the operator: object, fact, remedy. Kept once: the first reason is
 * the one that counts.
 */
#ifndef HAWSER_BACKING_WHY_H
#define HAWSER_BACKING_WHY_H

#include <string.h>

/* As strerror, for any thread. */
static inline const char *error_text(int error)
{
	const char *text = strerrordesc_np(error);

	return text ? text : "unknown error";
}

/* Sets *ret to malloc'ed text if it is NULL; returns rc. */
int why(char **ret, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
