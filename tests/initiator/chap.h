/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator's side of CHAP for tests: reads a challenge as text, writes the response as text.
 * Its digests come from the library by another way than the target's.
 *
 * Threads: pure functions; texts are static and last until the next call. Ownership: none.
 */
#ifndef HAWSER_TESTS_INITIATOR_CHAP_H
#define HAWSER_TESTS_INITIATOR_CHAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The response to CHAP_I and CHAP_C (hexadecimal) by IANA's number of an algorithm. */
const char *ini_chap_response(int algorithm, const char *identifier, const char *challenge,
			      const char *secret, bool in_base64);
/* Bytes as "0b..." */
const char *ini_chap_base64(const uint8_t *bytes, size_t n);

#endif
