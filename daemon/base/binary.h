/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes written as text (RFC 7143 6.1): "0x" and hexadecimal digits, or "0b" and base64. Used for
 * keys of a login and for secrets in the configuration.
 *
 * Threads: pure functions. Ownership: results go to the caller's buffer.
 */
#ifndef HAWSER_BASE_BINARY_H
#define HAWSER_BASE_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins with 0x, 0X, 0b or 0B. */
bool binary_is(const char *text);
/* 0 and the number of bytes; -EINVAL: not well-formed; -EMSGSIZE: more than size bytes. Nothing is
 * ever written behind `size`. An odd hexadecimal digit stands for a byte below 16. */
int binary_parse(const char *text, uint8_t *bytes, size_t size, size_t *ret_length);
/* "0x" and lower-case digits, which every initiator reads. text has room for 2n + 3. */
void binary_format(const uint8_t *bytes, size_t n, char *text);

#endif
