/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reason of a refusal, for the operator: object, fact, remedy. Kept once: the first reason is
 * the one that counts.
 */
#ifndef HAWSER_BACKING_WHY_H
#define HAWSER_BACKING_WHY_H

/* Sets *ret to malloc'ed text if it is NULL; returns rc. */
int why(char **ret, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
