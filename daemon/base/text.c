/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *suffix; /* case does not matter */
	uint64_t factor;
} units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", 1ull << 10 },
	{ "M", 1ull << 20 },
	{ "G", 1ull << 30 },
	{ "T", 1ull << 40 },
	{ "P", 1ull << 50 },
	{ "KiB", 1ull << 10 },
	{ "MiB", 1ull << 20 },
	{ "GiB", 1ull << 30 },
	{ "TiB", 1ull << 40 },
	{ "PiB", 1ull << 50 },
	{ "KB", 1000ull },
	{ "MB", 1000ull * 1000 },
	{ "GB", 1000ull * 1000 * 1000 },
	{ "TB", 1000ull * 1000 * 1000 * 1000 },
	{ "PB", 1000ull * 1000 * 1000 * 1000 * 1000 },
};

/* The digits at the begin of text; *ret_rest is what follows them. */
static int parse_digits(const char *text, uint64_t *ret, const char **ret_rest)
{
	uint64_t v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	}
	if (p == text)
		return -EINVAL;
	*ret = v;
	*ret_rest = p;
	return 0;
}

int text_parse_size(const char *text, uint64_t *ret)
{
	const char *rest;
	uint64_t v;
	int rc = parse_digits(text, &v, &rest);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(rest, units[i].suffix) != 0)
			continue;
		if (__builtin_mul_overflow(v, units[i].factor, &v))
			return -ERANGE;
		*ret = v;
		return 0;
	}
	return -EINVAL;
}

int text_parse_u64(const char *text, uint64_t max, uint64_t *ret)
{
	const char *rest;
	uint64_t v;
	int rc = parse_digits(text, &v, &rest);

	if (rc < 0)
		return rc;
	if (*rest)
		return -EINVAL;
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

const char *text_format_size(uint64_t size, char *buf, size_t bufsize)
{
	static const char *const names[] = { "", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = 0;

	while (size && size % 1024 == 0 && unit + 1 < sizeof(names) / sizeof(names[0])) {
		size /= 1024;
		unit++;
	}
	snprintf(buf, bufsize, "%llu%s", (unsigned long long)size, names[unit]);
	return buf;
}

int text_copy(char *to, size_t size, const char *from)
{
	size_t n = strlen(from);

	if (n >= size) {
		if (size)
			to[0] = '\0';
		return -ENAMETOOLONG;
	}
	memcpy(to, from, n + 1);
	return 0;
}

/* Writes the form of one byte and returns its length: itself, or \xNN. */
static size_t escape_byte(unsigned char c, char form[static 4])
{
	static const char hex[] = "0123456789abcdef";

	if (c >= 0x20 && c < 0x7f) {
		form[0] = (char)c;
		return 1;
	}
	form[0] = '\\';
	form[1] = 'x';
	form[2] = hex[c >> 4];
	form[3] = hex[c & 15];
	return 4;
}

const char *text_escape(const char *from, size_t length, char *buf, size_t bufsize)
{
	size_t at = 0, cut = 0; /* cut: the last place where "..." and NUL still fit behind */

	if (!bufsize)
		return buf;
	for (size_t i = 0; i < length; i++) {
		char form[4];
		size_t n = escape_byte((unsigned char)from[i], form);

		if (n >= bufsize - at) { /* room for NUL is not counted as room */
			at = cut;
			for (int dots = 0; dots < 3 && at + 1 < bufsize; dots++)
				buf[at++] = '.';
			break;
		}
		memcpy(buf + at, form, n);
		at += n;
		if (bufsize > 3 && at < bufsize - 3)
			cut = at;
	}
	buf[at] = '\0';
	return buf;
}

bool text_match(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL; /* the last '*', and where it may end next */

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

const char *text_errno(int error)
{
	const char *text = strerrordesc_np(error);

	return text ? text : "unknown error";
}

int text_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void text_hex(char *to, const uint8_t *from, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	*to = '\0';
}

size_t text_unhex(uint8_t *to, size_t size, const char *from)
{
	size_t n = 0;

	while (n < size && text_hex_digit(from[0]) >= 0 && text_hex_digit(from[1]) >= 0) {
		to[n++] = (uint8_t)(text_hex_digit(from[0]) << 4 | text_hex_digit(from[1]));
		from += 2;
	}
	return n;
}
