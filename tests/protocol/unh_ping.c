/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, group 15: NOP-Out and NOP-In (full text). */
#include "tests/protocol/unh.h"

static uint8_t data[65536];

static const struct ping {
	const char *ids, *keys; /* NULL: the usual */
	uint32_t length, returned;
	bool immediate;
} pings[] = {
	{ "U-040 P-105 P-114", NULL, 0, 0, true },
	{ "U-041 P-105 P-108 P-114", NULL, 0, 0, false },
	{ "U-042 P-105 P-106 P-108 P-114", NULL, 1000, 1000, false },
	{ "U-043 P-105 P-106 P-114", NULL, 1000, 1000, true },
	{ "U-044 P-105 P-106 P-114 T-072", "MaxRecvDataSegmentLength=512", 65536, 512, true },
	{ "U-045 P-105 P-106 P-108 P-114 T-072", "MaxRecvDataSegmentLength=512", 65536, 512,
	  false },
};

/* A ping, then a SCSI command with the next StatSN. */
START_TEST(echo)
{
	const struct ping *g = &pings[_i];
	COVERS(g->ids);
	struct ini *i = unh_session(g->keys);
	const struct ini_pdu *p;
	struct bhs_nop h;
	struct ini_scsi c;
	uint32_t statsn, cmdsn = i->cmdsn;

	fill(data, sizeof(data), 15);
	ini_nop(i, &h, g->immediate);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, g->length));
	p = expect(i, ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(be32_of(p, bhs_nop, itt), get_be32(h.itt));
	ck_assert_uint_eq(be32_of(p, bhs_nop, ttt), ISCSI_TAG_RESERVED);
	ck_assert_uint_eq(p->length, g->returned);
	ck_assert(!memcmp(p->data, data, p->length));
	ck_assert_uint_eq(i->exp_cmdsn, cmdsn + !g->immediate);
	statsn = get_be32(p->bhs + 24);
	cdb_of(&c, "00 00 00 00 00 00");
	ck_assert(!ini_scsi_start(i, &c));
	ck_assert_uint_eq(get_be32(expect_status(i, c.itt, 0)->statsn), statsn + 1);
}
END_TEST

static struct ini *strict_session(void)
{
	struct ini *i = connect_to(strict.port);

	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN }), 0);
	unh_prep(i);
	return i;
}

START_TEST(by_the_target)
{
	COVERS("U-046 P-038 P-111 P-113 P-114");
	struct ini *i = strict_session();
	uint32_t statsn = i->exp_statsn;
	const struct ini_pdu *p = await_pdu(i, patience(NOP_INTERVAL_S * 1000 + 1000));
	struct bhs_nop h;
	struct ini_scsi c;

	ck_assert(p != NULL);
	ck_assert_uint_eq(p->bhs[0], ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(be32_of(p, bhs_nop, itt), ISCSI_TAG_RESERVED);
	ck_assert_uint_ne(be32_of(p, bhs_nop, ttt), ISCSI_TAG_RESERVED);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_eq(get_be32(p->bhs + 24), statsn);
	ini_nop(i, &h, true);
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	put_be32(h.ttt, be32_of(p, bhs_nop, ttt));
	memcpy(h.lun, bhs_of(p, bhs_nop)->lun, 8);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	cdb_of(&c, "00 00 00 00 00 00");
	ck_assert(!ini_scsi_start(i, &c));
	ck_assert_uint_eq(get_be32(expect_status(i, c.itt, 0)->statsn), statsn);
}
END_TEST

/* The window closes and opens again. A NOP-In that says so, if one comes, wants no answer. */
START_TEST(closed_window)
{
	COVERS("U-047 P-034 P-035");
	struct ini *i = strict_session();
	uint32_t statsn, open = 0;
	const struct ini_pdu *p;

	ready(i, LUN_FAULT);
	statsn = i->exp_statsn;
	ping(i);
	while (sna_diff(i->max_cmdsn, i->cmdsn) >= 0) {
		unh_start_read(i, LUN_FAULT, FAULT_SLOW, 1);
		open++;
	}
	ck_assert_uint_eq(open, STRICT_WINDOW);
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->max_cmdsn + 1);
	while (open) {
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert(p != NULL);
		if (p->bhs[0] == ISCSI_OP_NOP_IN) {
			ck_assert_uint_eq(be32_of(p, bhs_nop, itt), ISCSI_TAG_RESERVED);
			continue;
		}
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_DATA_IN);
		open--;
	}
	ck_assert_int_ge(sna_diff(i->max_cmdsn, i->exp_cmdsn), 0);
	ck_assert_uint_eq(i->exp_statsn, statsn + 2 + STRICT_WINDOW);
	ready(i, LUN_RAM);
}
END_TEST

void unh_ping_suite(TCase *c)
{
	add_table(c, echo, pings);
	add(c, by_the_target);
	add(c, closed_window);
}
