/* SPDX-License-Identifier: BSD-2-Clause */
/* NOP-Out and NOP-In. */
#include "tests/protocol/protocol.h"

#include <sys/socket.h>
#include <sys/time.h>

static const struct ini_pdu *ping_with(struct ini *i, const void *data, uint32_t length,
				       bool immediate)
{
	const struct ini_pdu *p;
	struct bhs_nop h;

	ini_nop(i, &h, immediate);
	put_be64(h.lun, 0x0003000000000000);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, length));
	p = expect(i, ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(be32_of(p, bhs_nop, itt), get_be32(h.itt));
	ck_assert_uint_eq(be32_of(p, bhs_nop, ttt), ISCSI_TAG_RESERVED);
	ck_assert(!memcmp(bhs_of(p, bhs_nop)->lun, h.lun, 8));
	return p;
}

START_TEST(echo)
{
	COVERS("P-005 P-006 P-105 P-106 P-114 P-010 P-001");
	static const uint32_t lengths[] = { 0, 1, 2, 3, 4, 5, 511, 512, 513, 8191, 8192, 65536 };
	struct ini *i = session(T_MAIN);
	static uint8_t data[65536];

	fill(data, sizeof(data), 1);
	for (unsigned n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
		uint32_t statsn = i->exp_statsn;
		const struct ini_pdu *p = ping_with(i, data, lengths[n], n % 2);

		ck_assert_uint_eq(p->length, lengths[n]);
		ck_assert(!memcmp(p->data, data, lengths[n]));
		ck_assert_uint_eq(i->exp_statsn, statsn + 1);
	}
}
END_TEST

START_TEST(echo_cut_to_what_was_declared)
{
	COVERS("P-106 T-072");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=512");
	uint8_t data[4096];
	const struct ini_pdu *p;

	fill(data, sizeof(data), 2);
	p = ping_with(i, data, sizeof(data), true);
	ck_assert_uint_eq(p->length, 512);
	ck_assert(!memcmp(p->data, data, 512));
	still_works(i);
}
END_TEST

START_TEST(immediate_takes_no_cmdsn)
{
	COVERS("P-028 P-114");
	struct ini *i = session(T_MAIN);

	for (unsigned n = 0; n < 5; n++) {
		ping_with(i, NULL, 0, true);
		ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	}
	ping_with(i, NULL, 0, false);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	ck_assert_uint_eq(i->cmdsn, 2);
}
END_TEST

START_TEST(without_a_tag)
{
	COVERS("P-107 P-109 P-110");
	static const uint32_t ttts[] = { ISCSI_TAG_RESERVED, 0, 0x12345678 };
	struct ini *i = session(T_MAIN);
	struct bhs_nop h;

	for (unsigned n = 0; n < 3; n++) {
		ini_nop(i, &h, true);
		put_be32(h.itt, ISCSI_TAG_RESERVED);
		put_be32(h.ttt, ttts[n]);
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
		expect_nothing(i);
	}
	/* It must be immediate. */
	ini_nop(i, &h, false);
	i->cmdsn--;
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	if (!expect_reject_or_close(i, REJECT_PROTOCOL_ERROR))
		still_works(i);
}
END_TEST

START_TEST(waits_for_its_turn)
{
	COVERS("P-108 P-021");
	struct ini *i = session(T_MAIN);
	struct bhs_nop first, second;

	ini_nop(i, &first, false);
	ini_nop(i, &second, false);
	ck_assert(!ini_send(i, (uint8_t *)&second, "two", 3));
	expect_nothing(i);
	ck_assert_uint_eq(i->exp_cmdsn, get_be32(first.sn1));
	ck_assert(!ini_send(i, (uint8_t *)&first, "one", 3));
	ck_assert(!memcmp(expect(i, ISCSI_OP_NOP_IN)->data, "one", 3));
	ck_assert(!memcmp(expect(i, ISCSI_OP_NOP_IN)->data, "two", 3));
}
END_TEST

/* A store that does not answer holds up no ping. */
START_TEST(while_the_store_stalls)
{
	COVERS("P-030");
	struct ini *i = session(T_MAIN);
	uint8_t block[512];
	struct ini_scsi c;
	int64_t begin;

	ready(i, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, block);
	ck_assert(!ini_scsi_start(i, &c));
	begin = clock_ms();
	ping_with(i, "abc", 3, true);
	ping_with(i, "abc", 3, false);
	ck_assert_int_lt((int)(clock_ms() - begin), 1000);
	ck_assert(!ini_scsi_finish(i, &c));
	ck_assert_uint_eq(c.status, 0);
	ck_assert_int_ge((int)(clock_ms() - begin), STALL_MS - 100);
}
END_TEST

/* One that asks and never listens is not listened to for ever, and costs nobody anything. */
START_TEST(deaf)
{
	COVERS("P-030 E-019");
	struct ini *i = session(T_MAIN), *other = session(T_MAIN);
	struct timeval tv = { .tv_usec = 300000 };
	static uint8_t data[65536];
	size_t taken = 0;
	struct bhs_nop h;

	setsockopt(i->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	for (; taken < 64u << 20; taken += sizeof(data)) {
		ini_nop(i, &h, true);
		if (ini_send(i, (uint8_t *)&h, data, sizeof(data)))
			break;
	}
	ck_assert_msg(taken < 64u << 20, "64 MiB of pings were taken, no answer read");
	ready(other, LUN_RAM);
}
END_TEST

void nop_suite(TCase *c)
{
	add(c, echo);
	add(c, echo_cut_to_what_was_declared);
	add(c, immediate_takes_no_cmdsn);
	add(c, without_a_tag);
	add(c, waits_for_its_turn);
	add(c, while_the_store_stalls);
	add(c, deaf);
}
