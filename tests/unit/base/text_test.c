/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/text.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

START_TEST(sizes)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t value;
	} rows[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "512B", 0, 512 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "1MiB", 0, 1048576 },
		{ "10G", 0, 10737418240ull },
		{ "10GB", 0, 10000000000ull },
		{ "1KB", 0, 1000 },
		{ "2T", 0, 2199023255552ull },
		{ "1PiB", 0, 1125899906842624ull },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "16384P", -ERANGE, 0 }, /* 2^64 */
		{ "16383P", 0, 16383ull << 50 },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 K", -EINVAL, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1Kx", -EINVAL, 0 },
		{ "1KiBB", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t v = 77;
		int rc = text_parse_size(rows[i].text, &v);

		ck_assert_msg(rc == rows[i].rc, "'%s': %d", rows[i].text, rc);
		ck_assert_msg(v == (rc ? 77 : rows[i].value), "'%s': %llu", rows[i].text,
			      (unsigned long long)v);
	}
}
END_TEST

START_TEST(numbers)
{
	uint64_t v = 77;

	ck_assert_int_eq(text_parse_u64("65535", 65535, &v), 0);
	ck_assert_uint_eq(v, 65535);
	ck_assert_int_eq(text_parse_u64("65536", 65535, &v), -ERANGE);
	ck_assert_int_eq(text_parse_u64("99999999999999999999", UINT64_MAX, &v), -ERANGE);
	ck_assert_int_eq(text_parse_u64("1x", 10, &v), -EINVAL);
	ck_assert_int_eq(text_parse_u64("", 10, &v), -EINVAL);
	ck_assert_int_eq(text_parse_u64("-1", 10, &v), -EINVAL);
	ck_assert_int_eq(text_parse_u64(" 1", 10, &v), -EINVAL);
	ck_assert_uint_eq(v, 65535);
}
END_TEST

START_TEST(formats_exactly)
{
	static const struct {
		uint64_t size;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 1000, "1000" },
		{ 1023, "1023" },
		{ 1024, "1KiB" },
		{ 1536, "1536" },
		{ 1073741824, "1GiB" },
		{ 1073741824ull * 1536, "1536GiB" },
		{ UINT64_MAX, "18446744073709551615" },
		{ 1ull << 63, "8EiB" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[32];
		uint64_t back;

		ck_assert_str_eq(text_format_size(rows[i].size, buf, sizeof(buf)), rows[i].text);
		if (!strchr(buf, 'E')) {
			ck_assert_int_eq(text_parse_size(buf, &back), 0);
			ck_assert_uint_eq(back, rows[i].size);
		}
	}
}
END_TEST

START_TEST(copies_whole_or_nothing)
{
	char to[4] = "zzz";

	ck_assert_int_eq(text_copy(to, sizeof(to), "abc"), 0);
	ck_assert_str_eq(to, "abc");
	ck_assert_int_eq(text_copy(to, sizeof(to), "abcd"), -ENAMETOOLONG);
	ck_assert_str_eq(to, "");
	to[0] = 'q';
	ck_assert_int_eq(text_copy(to, 0, ""), -ENAMETOOLONG);
	ck_assert_int_eq(to[0], 'q');
}
END_TEST

START_TEST(escapes)
{
	char buf[32];

	ck_assert_str_eq(text_escape("iqn.x:%n%s", 10, buf, sizeof(buf)), "iqn.x:%n%s");
	ck_assert_str_eq(text_escape("a\nb\0c\x7f\xff", 7, buf, sizeof(buf)),
			 "a\\x0ab\\x00c\\x7f\\xff");
	ck_assert_str_eq(text_escape("", 0, buf, sizeof(buf)), "");
}
END_TEST

START_TEST(escape_is_bounded)
{
	char buf[16];

	ck_assert_str_eq(text_escape("0123456789", 10, buf, 11), "0123456789");
	ck_assert_str_eq(text_escape("0123456789", 10, buf, 10), "012345...");
	ck_assert_str_eq(text_escape("012345\n\n", 8, buf, 11), "012345...");
	ck_assert_str_eq(text_escape("\n\n", 2, buf, 8), "\\x0a...");
	for (size_t size = 1; size < sizeof(buf); size++) {
		memset(buf, 'Z', sizeof(buf));
		text_escape("\n\n\n\n\n\n\n\n", 8, buf, size);
		ck_assert_uint_lt(strlen(buf), size);
		ck_assert_int_eq(buf[size], 'Z');
	}
	buf[0] = 'Z';
	text_escape("abc", 3, buf, 0);
	ck_assert_int_eq(buf[0], 'Z');
}
END_TEST

START_TEST(matches)
{
	static const struct {
		const char *pattern, *text;
		bool is;
	} rows[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "anything", true },
		{ "?", "", false },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "iqn.*:x", "iqn.2020-01.y:x", true },
		{ "iqn.*:x", "iqn.x", false },
		{ "*ab*ab", "xababab", true },
		{ "*a*b", "aaaaaaaac", false },
		{ "a*", "A", false },
		{ "[a]", "a", false },
		{ "**x", "x", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(text_match(rows[i].pattern, rows[i].text) == rows[i].is,
			      "'%s' on '%s'", rows[i].pattern, rows[i].text);
}
END_TEST

/* Linear in the number of stars, or this never ends. */
START_TEST(match_of_many_stars_ends)
{
	char text[201];

	memset(text, 'a', 200);
	text[200] = '\0';
	ck_assert(!text_match("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}
END_TEST

START_TEST(hexadecimal)
{
	static const uint8_t bytes[] = { 0x00, 0x7f, 0xa5, 0xff };
	uint8_t back[8];
	char text[9];

	text_hex(text, bytes, 4);
	ck_assert_str_eq(text, "007fa5ff");
	ck_assert_uint_eq(text_unhex(back, sizeof(back), text), 4);
	ck_assert_mem_eq(back, bytes, 4);
	ck_assert_uint_eq(text_unhex(back, 3, text), 3);
	ck_assert_uint_eq(text_unhex(back, sizeof(back), "0aBx"), 1);
	ck_assert_uint_eq(text_unhex(back, sizeof(back), "abc"), 1);
	ck_assert_uint_eq(text_unhex(back, sizeof(back), ""), 0);
}
END_TEST

UNIT_MAIN("base/text", hexadecimal, sizes, numbers, formats_exactly, copies_whole_or_nothing,
	  escapes, escape_is_bounded, matches, match_of_many_stars_ends)
