/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of the test initiator. Threads and ownership: those of initiator.h. */
#ifndef HAWSER_TESTS_INITIATOR_INTERNAL_H
#define HAWSER_TESTS_INITIATOR_INTERNAL_H

#include "tests/initiator/initiator.h"

__attribute__((format(printf, 2, 3))) void ini_violation(struct ini *i, const char *format, ...);
/* A request goes out: what its answers have to look like. */
void ini_track(struct ini *i, const uint8_t bhs[static 48]);
/* All rules for what a target sends. */
void ini_validate(struct ini *i, const struct ini_pdu *p, const uint8_t *padding, unsigned pad);

#endif
