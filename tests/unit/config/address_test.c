/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses as people write them, and as initiators are told them. */
#include "config/address.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

START_TEST(parsed_and_formatted)
{
	static const struct {
		const char *text, *formatted; /* NULL: ill-formed */
		enum config_address_kind kind;
	} rows[] = {
		{ "192.0.2.7", "192.0.2.7", ADDRESS_V4 },
		{ "192.0.2.7:3261", "192.0.2.7:3261", ADDRESS_V4 },
		{ "2001:DB8:0:0::7", "[2001:db8::7]", ADDRESS_V6 },
		{ "[2001:db8::7]", "[2001:db8::7]", ADDRESS_V6 },
		{ "[2001:db8::7]:65535", "[2001:db8::7]:65535", ADDRESS_V6 },
		{ "::", "[::]", ADDRESS_V6 },
		{ "storage.example.org:3260", "storage.example.org:3260", ADDRESS_NAME },
		{ "node-1", "node-1", ADDRESS_NAME },
		{ "", NULL, 0 },
		{ ":3260", NULL, 0 },
		{ "[]", NULL, 0 },
		{ "[::1", NULL, 0 },
		{ "[::1]3260", NULL, 0 },
		{ "[::1]:", NULL, 0 },
		{ "[192.0.2.7]:3260", NULL, 0 },
		{ "192.0.2.7:0", NULL, 0 },
		{ "192.0.2.7:65536", NULL, 0 },
		{ "192.0.2.7:3260,1", NULL, 0 },
		{ "192.0.2.256", NULL, 0 },
		{ "1.2", NULL, 0 },
		{ "2001:db8::7::", NULL, 0 },
		{ "fe80::1%eth0", NULL, 0 },
		{ "two words", NULL, 0 },
		{ "-a.example", NULL, 0 },
		{ "a-.example", NULL, 0 },
		{ "a..example", NULL, 0 },
		{ "example.", NULL, 0 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[CONFIG_ADDRESS_MAX];
		struct config_address a;
		int r = config_parse_address(rows[i].text, &a);

		ck_assert_msg(r == (rows[i].formatted ? 0 : -EINVAL), "\"%s\": %d", rows[i].text,
			      r);
		if (r)
			continue;
		config_format_address(&a, text);
		ck_assert_str_eq(text, rows[i].formatted);
		ck_assert_int_eq(a.kind, rows[i].kind);
	}
}
END_TEST

START_TEST(longest)
{
	char host[CONFIG_HOST_MAX + 2], text[CONFIG_ADDRESS_MAX];
	struct config_address a;

	memset(host, 'a', sizeof(host));
	host[CONFIG_HOST_MAX + 1] = '\0';
	ck_assert_int_eq(config_parse_address(host, &a), -EINVAL);
	host[CONFIG_HOST_MAX] = '\0';
	ck_assert_int_eq(config_parse_address(host, &a), 0);
	a.port = 65535;
	config_format_address(&a, text);
	ck_assert_uint_eq(strlen(text), CONFIG_HOST_MAX + 6);
}
END_TEST

START_TEST(wildcards)
{
	static const struct {
		const char *text;
		bool wildcard;
	} rows[] = {
		{ "0.0.0.0", true },    { "[::]:3260", true }, { "0:0:0:0:0:0:0:0", true },
		{ "127.0.0.1", false }, { "::1", false },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_address a;

		ck_assert_int_eq(config_parse_address(rows[i].text, &a), 0);
		ck_assert(config_address_is_wildcard(&a) == rows[i].wildcard);
	}
}
END_TEST

UNIT_MAIN("config/address", parsed_and_formatted, longest, wildcards)
