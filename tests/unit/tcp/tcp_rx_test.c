/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving: wherever the stream is cut, the same PDUs with the same bytes come up. */
#include "tests/unit/tcp/support.h"

static uint8_t wire[300000], data[262144], got[262144];

static size_t sample(uint32_t length, unsigned seed)
{
	uint8_t bhs[48] = { ISCSI_OP_NOP_OUT, 0x80 }, ahs[8] = { 0, 5, 2, 0, 1, 2, 3, 4 };

	pattern(data, length, seed);
	put_be32(bhs + 16, seed);
	return build(wire, bhs, ahs, sizeof(ahs), data, length);
}

static void expect_sample(uint32_t length, unsigned seed, unsigned at)
{
	ck_assert_uint_eq(rig.n_rx, at + 1);
	ck_assert_uint_eq(get_be32(rig.rx[at].bhs + 16), seed);
	ck_assert_uint_eq(rig.rx[at].ahs_length, 8);
	ck_assert_uint_eq(rig.rx[at].ahs[7], 4);
	ck_assert_uint_eq(rig.rx[at].length, length);
	ck_assert(rig.rx[at].digest_good);
	ck_assert(!memcmp(got, data, length));
}

/* Two pieces, cut at every byte; with and without digests; data of odd length. */
START_TEST(cut_at_every_byte)
{
	COVERS("T-057 P-005");
	rig_start();
	set_digests(_i & 1, _i & 2);
	rig.iov[0] = (struct iovec){ got, 7 };
	rig.iov[1] = (struct iovec){ got + 7, 200 };
	rig.n_iov = 2;
	for (size_t n = sample(61, 1), at = 1; at < n; at++) {
		memset(got, 0, sizeof(data[0]) * 256);
		sample(61, (unsigned)at);
		feed(wire, at);
		ck_assert_uint_eq(rig.n_rx, 0);
		feed(wire + at, n - at);
		expect_sample(61, (unsigned)at, 0);
		rig.n_rx = rig.n_headers = 0;
	}
	rig_stop();
}
END_TEST

START_TEST(byte_by_byte)
{
	rig_start();
	set_digests(true, true);
	rig.iov[0] = (struct iovec){ got, 4096 };
	rig.n_iov = 1;
	for (unsigned pdu = 0; pdu < 3; pdu++) {
		size_t n = sample(13 + pdu, pdu);

		for (size_t at = 0; at < n; at++)
			feed(wire + at, 1);
		expect_sample(13 + pdu, pdu, pdu);
	}
	rig_stop();
}
END_TEST

/* Many in one read. */
START_TEST(all_at_once)
{
	uint8_t bhs[48] = { ISCSI_OP_NOP_OUT, 0x80 };
	size_t n = 0;

	rig_start();
	set_digests(false, true);
	pattern(data, 64, 3);
	rig.iov[0] = (struct iovec){ got, 64 };
	rig.n_iov = 1;
	for (unsigned pdu = 0; pdu < 40; pdu++) {
		put_be32(bhs + 16, pdu);
		n += build(wire + n, bhs, NULL, 0, data, pdu % 5);
	}
	feed(wire, n);
	ck_assert_uint_eq(rig.n_rx, 40);
	for (unsigned pdu = 0; pdu < 40; pdu++) {
		ck_assert_uint_eq(get_be32(rig.rx[pdu].bhs + 16), pdu);
		ck_assert(rig.rx[pdu].digest_good);
	}
	rig_stop();
}
END_TEST

/* A large segment goes to its pieces, whatever of it comes with which read; what has no place is
 * dropped, and the digest is over all of it. */
START_TEST(large_segments)
{
	static const struct {
		uint32_t length, place;
		size_t step;
	} rows[] = {
		{ 200000, 200000, 65536 }, { 200000, 200000, 9999 }, { 100001, 100001, 30011 },
		{ 150000, 40000, 50000 },  { 70000, 0, 20000 },
	};
	uint32_t length = rows[_i].length, place = rows[_i].place;
	size_t n;

	rig_start();
	set_digests(true, true);
	if (place) {
		rig.iov[0] = (struct iovec){ got, 1001 };
		rig.iov[1] = (struct iovec){ got + 1001, 30000 };
		rig.iov[2] = (struct iovec){ got + 31001, place - 31001 };
		rig.n_iov = 3;
	}
	memset(got, 0xee, sizeof(got));
	n = sample(length, 9);
	for (size_t at = 0; at < n; at += rows[_i].step)
		feed(wire + at, n - at < rows[_i].step ? n - at : rows[_i].step);
	for (unsigned k = 0; k < 4; k++)
		turn();
	ck_assert_uint_eq(rig.n_rx, 1);
	ck_assert(rig.rx[0].digest_good);
	ck_assert(!memcmp(got, data, place));
	ck_assert_uint_eq(got[place], 0xee);
	rig_stop();
}
END_TEST

START_TEST(bad_digests)
{
	COVERS("E-002");
	size_t n;

	rig_start();
	set_digests(true, true);
	rig.iov[0] = (struct iovec){ got, 4096 };
	rig.n_iov = 1;
	n = sample(100, 1);
	wire[n - 1] ^= 1;
	feed(wire, n);
	ck_assert_uint_eq(rig.n_rx, 1);
	ck_assert(!rig.rx[0].digest_good);
	n = sample(99, 1);
	wire[n - 10] ^= 1; /* in the data */
	feed(wire, n);
	ck_assert_uint_eq(rig.n_rx, 2);
	ck_assert(!rig.rx[1].digest_good);
	n = sample(100, 1);
	wire[20] ^= 1;
	feed(wire, n);
	turn();
	ck_assert_uint_eq(rig.n_headers, 2);
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_int_eq(rig.why, -EBADMSG);
	rig_stop();
}
END_TEST

START_TEST(too_long)
{
	COVERS("T-073");
	uint8_t bhs[48] = { ISCSI_OP_NOP_OUT, 0x80 };

	rig_start();
	put_be24(bhs + 5, 262145);
	feed(bhs, 48);
	turn();
	ck_assert_uint_eq(rig.n_headers, 0);
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_int_eq(rig.why, -EPROTO);
	rig_stop();
}
END_TEST

/* The peer goes in the midst of each part. */
START_TEST(peer_goes)
{
	size_t n;

	rig_start();
	set_digests(true, true);
	rig.iov[0] = (struct iovec){ got, 4096 };
	rig.n_iov = 1;
	n = sample(50, 1);
	feed(wire, n * (size_t)_i / 8);
	shutdown(rig.fd, SHUT_WR);
	turn();
	turn();
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_int_eq(rig.why, 0);
	rig_stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp/tcp_rx");
	SRunner *runner = srunner_create(suite);
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, cut_at_every_byte, 0, 4);
	tcase_add_test(c, byte_by_byte);
	tcase_add_test(c, all_at_once);
	tcase_add_loop_test(c, large_segments, 0, 5);
	tcase_add_test(c, bad_digests);
	tcase_add_test(c, too_long);
	tcase_add_loop_test(c, peer_goes, 0, 9);
	suite_add_tcase(suite, c);
	return unit_end(runner);
}
