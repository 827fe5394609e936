/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A login with CHAP, step by step, by the test initiator.
 *
 * Threads: none. Ownership: PDUs end with the test (protocol.h).
 */
#ifndef HAWSER_TESTS_CHAP_WAY_H
#define HAWSER_TESTS_CHAP_WAY_H

#include "tests/protocol/protocol.h"

struct chap_way {
	const char *name, *secret;
	int algorithm;
	uint8_t flags; /* of each request; 0: T only in the last */
	bool base64, mutual;
	const char *target; /* NULL: T_CHAP */
	const char *first;  /* all of the first request */
};

/* To where CHAP_R is awaited; the challenge. */
const struct ini_pdu *chap_challenge(struct ini *i, const struct chap_way *w);
/* To the end; the answer to CHAP_R. */
const struct ini_pdu *chap_answer(struct ini *i, const struct chap_way *w);

#endif
