/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small text helpers: sizes with units, bounded copies, escaping of names that a peer chose.
 *
 * Threads: pure functions. Ownership: results go to the caller's buffer.
 */
#ifndef HAWSER_BASE_TEXT_H
#define HAWSER_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "512", "64K", "1MiB", "10G", "2T" (powers of 1024; "10GB" is 10^10). 0, -EINVAL or -ERANGE. */
int text_parse_size(const char *text, uint64_t *ret);

/* Decimal without sign, space or trailing text, at most max. 0, -EINVAL or -ERANGE. */
int text_parse_u64(const char *text, uint64_t max, uint64_t *ret);

/* The shortest exact form: 1073741824 -> "1GiB", 1000 -> "1000". Returns buf. */
const char *text_format_size(uint64_t size, char *buf, size_t bufsize);

/* Copies at most size-1 bytes and ends with NUL. 0, or -ENAMETOOLONG with nothing but NUL copied.
 */
int text_copy(char *to, size_t size, const char *from);

/* Printable ASCII stays, all else becomes \xNN; cut with "..." when it does not fit. Returns buf.
 */
const char *text_escape(const char *from, size_t length, char *buf, size_t bufsize);

/* As strerror, for any thread; error is positive. */
const char *text_errno(int error);

/* The value of a hexadecimal digit of either case; -1: it is none. */
int text_hex_digit(char c);
/* Two lower case digits for each byte, and NUL. */
void text_hex(char *to, const uint8_t *from, size_t length);
/* And back: the number of bytes, as far as there is room; ends before what is no pair of digits. */
size_t text_unhex(uint8_t *to, size_t size, const char *from);

/* Shell-style match of '*' and '?' only; case-sensitive. */
bool text_match(const char *pattern, const char *text);

#endif
