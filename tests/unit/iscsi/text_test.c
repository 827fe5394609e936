/* SPDX-License-Identifier: BSD-2-Clause */
/* Key=value text: cursor, collecting, cutting, numbers, lists. */
#include "transport/iscsi/text.c"

#include "tests/unit/unit.h"

/* Puts bytes in, in parts of `step`. */
static void put_in(struct text_in *in, const char *bytes, size_t length, size_t step)
{
	for (size_t at = 0; at < length; at += step) {
		size_t n = length - at < step ? length - at : step;

		ck_assert_int_eq(text_in_reserve(in, (uint32_t)n), 0);
		memcpy(in->iov.iov_base, bytes + at, n);
		text_in_append(in, (uint32_t)n);
	}
}

START_TEST(pairs)
{
	static const char text[] = "\0\0MaxBurstLength=131072\0X-com.example=a=b\0Empty=\0\0last=1";
	struct text_in in = { 0 };
	struct text_pair p;
	struct text_cursor c;
	int error;

	put_in(&in, text, sizeof(text) - 1, 1000); /* without the final NUL */
	c = text_cursor_on(&in);
	ck_assert(text_next(&c, &p, &error));
	ck_assert_str_eq(p.key, "MaxBurstLength");
	ck_assert_str_eq(p.value, "131072");
	ck_assert_uint_eq(p.value_length, 6);
	ck_assert(text_next(&c, &p, &error));
	ck_assert_str_eq(p.key, "X-com.example");
	ck_assert_str_eq(p.value, "a=b");
	ck_assert(text_next(&c, &p, &error));
	ck_assert_str_eq(p.key, "Empty");
	ck_assert_str_eq(p.value, "");
	ck_assert(text_next(&c, &p, &error));
	ck_assert_str_eq(p.key, "last");
	ck_assert_str_eq(p.value, "1");
	ck_assert(!text_next(&c, &p, &error));
	ck_assert_int_eq(error, 0);
	text_in_free(&in);
}
END_TEST

/* Each way of cutting a text into PDUs gives the same pairs. */
START_TEST(cut_anywhere)
{
	static const char text[] = "MaxBurstLength=131072\0ErrorRecoveryLevel=0";

	for (size_t step = 1; step < sizeof(text); step++) {
		struct text_in in = { 0 };
		struct text_pair p;
		struct text_cursor c;
		int error;

		put_in(&in, text, sizeof(text), step);
		c = text_cursor_on(&in);
		ck_assert(text_next(&c, &p, &error));
		ck_assert_str_eq(p.key, "MaxBurstLength");
		ck_assert_str_eq(p.value, "131072");
		ck_assert(text_next(&c, &p, &error));
		ck_assert_str_eq(p.key, "ErrorRecoveryLevel");
		ck_assert_str_eq(p.value, "0");
		ck_assert(!text_next(&c, &p, &error));
		text_in_free(&in);
	}
}
END_TEST

START_TEST(bad_pairs)
{
	char longest[TEXT_KEY_MAX + 2], too_long[TEXT_KEY_MAX + 3], huge[8000];
	const char *const bad[] = { "Foo", "=1", too_long, huge };
	struct text_in in = { 0 };
	struct text_pair p;
	struct text_cursor c;
	int error;

	memset(longest, 'k', sizeof(longest));
	strcpy(longest + TEXT_KEY_MAX, "=");
	memset(too_long, 'k', sizeof(too_long));
	strcpy(too_long + TEXT_KEY_MAX + 1, "=");
	memset(huge, 'k', sizeof(huge));
	strcpy(huge + sizeof(huge) - 2, "=");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_in(&in, bad[i], strlen(bad[i]) + 1, 8192);
		c = text_cursor_on(&in);
		ck_assert_msg(!text_next(&c, &p, &error) && error == -EPROTO, "%u: %.70s", i,
			      bad[i]);
		text_in_reset(&in);
	}
	put_in(&in, longest, strlen(longest) + 1, 8192);
	c = text_cursor_on(&in);
	ck_assert(text_next(&c, &p, &error));
	ck_assert_uint_eq(strlen(p.key), TEXT_KEY_MAX);
	text_in_free(&in);
}
END_TEST

START_TEST(limits)
{
	struct text_in in = { 0 };
	unsigned n = 0;

	while (text_in_reserve(&in, 8192) == 0) {
		memset(in.iov.iov_base, 'x', 8192);
		text_in_append(&in, 8192);
		ck_assert_uint_lt(++n, 100);
	}
	ck_assert_uint_eq(n, TEXT_IN_MAX / 8192);
	ck_assert_int_eq(text_in_reserve(&in, 8192), -EMSGSIZE);
	ck_assert_uint_le(in.size, 2 * TEXT_IN_MAX);
	text_in_reset(&in);
	for (n = 0; text_in_reserve(&in, 1) == 0; n++)
		text_in_append(&in, 0);
	ck_assert_uint_eq(n, TEXT_IN_PDUS);
	text_in_free(&in);
}
END_TEST

START_TEST(output)
{
	struct text_out out = { .limit = 64 };
	uint32_t length;
	const char *part;
	bool more;

	text_put(&out, "A", "b");
	text_put_number(&out, "Number", 18446744073709551615ull);
	ck_assert_uint_eq(out.length, 4 + 28);
	ck_assert_mem_eq(out.bytes, "A=b\0Number=18446744073709551615\0", 32);
	part = text_out_part(&out, 20, &length, &more);
	ck_assert_uint_eq(length, 20);
	ck_assert(more);
	ck_assert_mem_eq(part, "A=b\0Number=184467440", 20);
	part = text_out_part(&out, 20, &length, &more);
	ck_assert_uint_eq(length, 12);
	ck_assert(!more);
	ck_assert_mem_eq(part, "73709551615", 12); /* with the NUL of the last pair */
	text_put(&out, "Key", "a value that has no room any more");
	ck_assert_int_eq(out.error, -EMSGSIZE);
	ck_assert_uint_eq(out.length, 32);
	text_put(&out, "A", "b");
	ck_assert_uint_eq(out.length, 32);
	text_out_free(&out);
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} rows[] = {
		{ "0", 0, 0 },
		{ "131072", 0, 131072 },
		{ "0x20000", 0, 131072 },
		{ "0X2000f", 0, 0x2000f },
		{ "0xFf", 0, 255 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709552128", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "007", -EINVAL, 0 },
		{ "00", -EINVAL, 0 },
		{ "+5", -EINVAL, 0 },
		{ "-5", -EINVAL, 0 },
		{ "5 ", -EINVAL, 0 },
		{ " 5", -EINVAL, 0 },
		{ "5x", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "0xg", -EINVAL, 0 },
		{ "512~1024", -EINVAL, 0 },
		{ "ff", -EINVAL, 0 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t v = 0;
		int r = text_number(rows[i].text, &v);

		ck_assert_msg(r == rows[i].r && v == rows[i].value, "\"%s\": %d, %llu",
			      rows[i].text, r, (unsigned long long)v);
	}
}
END_TEST

START_TEST(lists)
{
	char item[TEXT_VALUE_MAX + 1], text[TEXT_VALUE_MAX + 32];
	const char *list = text;

	memset(text, 'x', TEXT_VALUE_MAX + 1);
	strcpy(text + TEXT_VALUE_MAX + 1, ",None,,CRC32C");
	ck_assert(text_list_next(&list, item));
	ck_assert_str_eq(item, "None");
	ck_assert(text_list_next(&list, item));
	ck_assert_str_eq(item, "");
	ck_assert(text_list_next(&list, item));
	ck_assert_str_eq(item, "CRC32C");
	ck_assert(!text_list_next(&list, item));
}
END_TEST

SUITE_COVERS("T-003 T-004 T-005 T-006 T-007 T-008 T-010 T-011 T-012 T-002 L-080");

int main(void)
{
	Suite *s = suite_create("text");
	TCase *t = tcase_create("text");
	SRunner *r = srunner_create(s);

	tcase_add_test(t, pairs);
	tcase_add_test(t, cut_anywhere);
	tcase_add_test(t, bad_pairs);
	tcase_add_test(t, limits);
	tcase_add_test(t, output);
	tcase_add_test(t, numbers);
	tcase_add_test(t, lists);
	suite_add_tcase(s, t);
	return unit_end(r);
}
