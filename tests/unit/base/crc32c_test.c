/* SPDX-License-Identifier: BSD-2-Clause */
/* The source itself, to reach each of the ways, not only the one that this CPU chooses. */
#include "daemon/base/crc32c.c"

#include "tests/unit/unit.h"

static uint8_t bytes[12304];

static void fill(void)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		seed = seed * 1103515245u + 12345u;
		bytes[i] = (uint8_t)(seed >> 16);
	}
}

/* RFC 3720 B.4 and RFC 7143 Appendix A, in the order of the bytes on the wire. */
START_TEST(vectors_of_the_standard)
{
	static const uint8_t read_10[48] = {
		0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
		0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	static const struct {
		const char *what;
		uint8_t wire[4];
	} rows[] = {
		{ "zeros", { 0xaa, 0x36, 0x91, 0x8a } }, { "ones", { 0x43, 0xab, 0xa8, 0x62 } },
		{ "up", { 0x4e, 0x79, 0xdd, 0x46 } },    { "down", { 0x5c, 0xdb, 0x3f, 0x11 } },
		{ "read", { 0x56, 0x3a, 0x96, 0xd9 } },
	};
	uint8_t in[5][48] = { { 0 } }, wire[4];

	memset(in[1], 0xff, 32);
	for (uint8_t i = 0; i < 32; i++) {
		in[2][i] = i;
		in[3][i] = (uint8_t)(31 - i);
	}
	memcpy(in[4], read_10, 48);
	for (int i = 0; i < 5; i++) {
		size_t n = i == 4 ? 48 : 32;

		crc32c_put(wire, crc32c_final(crc32c_update(CRC32C_INIT, in[i], n)));
		ck_assert_msg(!memcmp(wire, rows[i].wire, 4), "%s: %02x %02x %02x %02x",
			      rows[i].what, wire[0], wire[1], wire[2], wire[3]);
		ck_assert_uint_eq(crc32c_get(wire),
				  crc32c_final(update_table(CRC32C_INIT, in[i], n)));
	}
}
END_TEST

START_TEST(check_value)
{
	ck_assert_uint_eq(crc32c_final(crc32c_update(CRC32C_INIT, "123456789", 9)), 0xe3069283u);
	ck_assert_uint_eq(crc32c_update(CRC32C_INIT, "", 0), CRC32C_INIT);
}
END_TEST

/* One bit after the other, straight from the definition. */
static uint32_t by_definition(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
	}
	return crc;
}

static void compare(const char *name, update_fn *way)
{
	for (size_t n = 0; n < 2200; n++) {
		const uint8_t *p = bytes + n % 11; /* no alignment is assumed */

		ck_assert_msg(way(CRC32C_INIT, p, n) == by_definition(CRC32C_INIT, p, n),
			      "%s differs at %zu bytes", name, n);
	}
	for (size_t n = 4000; n <= sizeof(bytes); n += 37)
		ck_assert_msg(way(0x12345678, bytes, n) == by_definition(0x12345678, bytes, n),
			      "%s differs at %zu bytes", name, n);
}

START_TEST(all_ways_agree)
{
	fill();
	crc32c_update(CRC32C_INIT, bytes, 1); /* initialises */
	compare("table", update_table);
	compare("chosen", atomic_load(&update));
#ifdef __x86_64__
	if (choose() != update_table)
		compare("streams", update_streams);
#endif
}
END_TEST

START_TEST(in_steps_as_in_one)
{
	uint32_t whole, steps = CRC32C_INIT;

	fill();
	whole = crc32c_update(CRC32C_INIT, bytes, sizeof(bytes));
	for (size_t at = 0, n = 1; at < sizeof(bytes); at += n, n = n * 2 + 3) {
		if (n > sizeof(bytes) - at)
			n = sizeof(bytes) - at;
		steps = crc32c_update(steps, bytes + at, n);
	}
	ck_assert_uint_eq(steps, whole);
}
END_TEST

SUITE_COVERS("T-056");

UNIT_MAIN("base/crc32c", vectors_of_the_standard, check_value, all_ways_agree, in_steps_as_in_one)
