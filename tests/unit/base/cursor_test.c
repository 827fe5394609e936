/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/cursor.h"
#include "tests/unit/unit.h"

START_TEST(reads_in_order)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct reader r = reader_on(bytes, sizeof(bytes));

	ck_assert_uint_eq(reader_u8(&r), 1);
	ck_assert_uint_eq(reader_be16(&r), 0x0203);
	ck_assert_uint_eq(reader_be32(&r), 0x04050607);
	ck_assert_uint_eq(reader_be64(&r), 0x08090a0b0c0d0e0full);
	ck_assert_uint_eq(r.left, 0);
	ck_assert(!r.broken);
}
END_TEST

START_TEST(read_past_the_end_breaks_for_good)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct reader r = reader_on(bytes, sizeof(bytes));

	ck_assert_uint_eq(reader_be32(&r), 0);
	ck_assert(r.broken);
	/* Three bytes are there, but who reads on after an error gets nothing. */
	ck_assert_uint_eq(reader_u8(&r), 0);
	ck_assert_ptr_null(reader_take(&r, 0));
}
END_TEST

START_TEST(absurd_lengths_do_not_wrap)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct reader r = reader_on(bytes, sizeof(bytes));
	uint8_t out[4];
	struct writer w = writer_on(out, sizeof(out));

	ck_assert_ptr_null(reader_take(&r, SIZE_MAX));
	ck_assert(r.broken);
	ck_assert_ptr_null(writer_room(&w, SIZE_MAX));
	ck_assert(w.broken);
}
END_TEST

START_TEST(empty_is_not_broken)
{
	struct reader r = reader_on("", 0);

	ck_assert_ptr_nonnull(reader_take(&r, 0));
	ck_assert(!r.broken);
	reader_u8(&r);
	ck_assert(r.broken);
}
END_TEST

START_TEST(writes_what_a_reader_reads)
{
	uint8_t out[18];
	struct writer w = writer_on(out, sizeof(out));
	struct reader r;

	writer_u8(&w, 0xfe);
	writer_be16(&w, 0x1234);
	writer_be32(&w, 0x56789abc);
	writer_be64(&w, 0x0123456789abcdefull);
	writer_bytes(&w, "ab", 2);
	writer_zeros(&w, 1);
	ck_assert(!w.broken);
	ck_assert_uint_eq(writer_length(&w), sizeof(out));
	r = reader_on(out, sizeof(out));
	ck_assert_uint_eq(reader_u8(&r), 0xfe);
	ck_assert_uint_eq(reader_be16(&r), 0x1234);
	ck_assert_uint_eq(reader_be32(&r), 0x56789abc);
	ck_assert_uint_eq(reader_be64(&r), 0x0123456789abcdefull);
	ck_assert_mem_eq(reader_take(&r, 3), "ab\0", 3);
}
END_TEST

START_TEST(write_past_the_end_writes_nothing)
{
	uint8_t out[6] = { 7, 7, 7, 7, 7, 7 };
	struct writer w = writer_on(out, 4);

	writer_be16(&w, 0x0102);
	writer_be32(&w, 0xffffffff); /* two bytes are left */
	ck_assert(w.broken);
	writer_u8(&w, 9);
	ck_assert_uint_eq(writer_length(&w), 2);
	ck_assert_mem_eq(out, "\1\2\7\7\7\7", 6);
}
END_TEST

START_TEST(words_of_all_sizes)
{
	uint8_t b[8];

	put_be24(b, 0x00abcdef);
	ck_assert_mem_eq(b, "\xab\xcd\xef", 3);
	ck_assert_uint_eq(get_be24(b), 0xabcdef);
	put_be48(b, 0x0000123456789abcull);
	ck_assert_mem_eq(b, "\x12\x34\x56\x78\x9a\xbc", 6);
	ck_assert_uint_eq(get_be48(b), 0x123456789abcull);
	put_be64(b, 0x0102030405060708ull);
	ck_assert_mem_eq(b, "\1\2\3\4\5\6\7\10", 8);
	ck_assert_uint_eq(get_be64(b), 0x0102030405060708ull);
}
END_TEST

UNIT_MAIN("base/cursor", reads_in_order, read_past_the_end_breaks_for_good,
	  absurd_lengths_do_not_wrap, empty_is_not_broken, writes_what_a_reader_reads,
	  write_past_the_end_writes_nothing, words_of_all_sizes)
