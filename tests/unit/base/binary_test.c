/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as text: what is well-formed, what is not, and that nothing is written behind the buffer.
 */
#include "daemon/base/binary.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

START_TEST(values)
{
	static const struct {
		const char *text;
		int result;
		size_t length;
		uint8_t bytes[8];
	} rows[] = {
		{ "0x00", 0, 1, { 0 } },
		{ "0xFfaB", 0, 2, { 0xff, 0xab } },
		{ "0X01", 0, 1, { 1 } },
		{ "0x123", 0, 2, { 0x01, 0x23 } },
		{ "0xg0", -EINVAL, 0, { 0 } },
		{ "0x", -EINVAL, 0, { 0 } },
		{ "0b", -EINVAL, 0, { 0 } },
		{ "", -EINVAL, 0, { 0 } },
		{ "0", -EINVAL, 0, { 0 } },
		{ "17", -EINVAL, 0, { 0 } },
		{ "abcd", -EINVAL, 0, { 0 } },
		{ "0bAQIDBA==", 0, 4, { 1, 2, 3, 4 } },
		{ "0BAQIDBA", 0, 4, { 1, 2, 3, 4 } },
		{ "0bAQIDBAU=", 0, 5, { 1, 2, 3, 4, 5 } },
		{ "0b+/+/", 0, 3, { 0xfb, 0xff, 0xbf } },
		{ "0bA", -EINVAL, 0, { 0 } },
		{ "0bAQI=D", -EINVAL, 0, { 0 } },
		{ "0bAQ=", -EINVAL, 0, { 0 } },
		{ "0bAQ===", -EINVAL, 0, { 0 } },
		{ "0bAQID====", -EINVAL, 0, { 0 } },
		{ "0b====", -EINVAL, 0, { 0 } },
		{ "0bAR==", -EINVAL, 0, { 0 } }, /* bits of no byte */
		{ "0bA-ID", -EINVAL, 0, { 0 } },
		{ "0x0102030405060708", 0, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ "0x010203040506070809", -EMSGSIZE, 0, { 0 } },
		{ "0bAQIDBAUGBwg=", 0, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ "0bAQIDBAUGBwgJ", -EMSGSIZE, 0, { 0 } },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t bytes[9] = { [8] = 0x77 };
		size_t length = 0;
		int r = binary_parse(rows[i].text, bytes, 8, &length);

		ck_assert_msg(r == rows[i].result, "%s: %d", rows[i].text, r);
		ck_assert_uint_eq(length, rows[i].length);
		if (!r)
			ck_assert_mem_eq(bytes, rows[i].bytes, length);
		ck_assert_uint_eq(bytes[8], 0x77);
	}
}
END_TEST

START_TEST(there_and_back)
{
	uint8_t bytes[255], again[255];
	char text[2 * 255 + 3];
	size_t length;

	for (unsigned n = 1; n <= 255; n++) {
		for (unsigned i = 0; i < n; i++)
			bytes[i] = (uint8_t)(i * 37 + n);
		binary_format(bytes, n, text);
		ck_assert_uint_eq(strlen(text), 2 + 2 * (size_t)n);
		ck_assert_uint_eq(strspn(text + 2, "0123456789abcdef"), 2 * (size_t)n);
		ck_assert_int_eq(binary_parse(text, again, n, &length), 0);
		ck_assert_uint_eq(length, n);
		ck_assert_mem_eq(bytes, again, n);
		ck_assert_int_eq(binary_parse(text, again, n - 1, &length), -EMSGSIZE);
	}
}
END_TEST

SUITE_COVERS("C-014 C-015 fault-B01");

UNIT_MAIN("base/binary", values, there_and_back)
