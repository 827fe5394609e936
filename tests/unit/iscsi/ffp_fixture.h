/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of full-feature phase say of an answer. The PDU is freed.
 *
 * Threads: one, the test's.
 */
#ifndef HAWSER_TESTS_FFP_FIXTURE_H
#define HAWSER_TESTS_FFP_FIXTURE_H

#include "tests/unit/rig.h"

#include <check.h>
#include <stdlib.h>

static inline void check_good(struct fake_pdu *p)
{
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(p->bhs[1] & 0x80, 0x80);
	ck_assert_uint_eq(p->bhs[2], 0);
	ck_assert_msg(!p->bhs[3], "status %02x sense %06x", p->bhs[3], rig_sense(p));
	free(p);
}

static inline void check_rejected(struct fake_pdu *p, uint8_t reason, const uint8_t *bhs)
{
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], reason);
	ck_assert_uint_eq(rig_itt(p), ISCSI_TAG_RESERVED);
	ck_assert_uint_ge(p->length, 48);
	if (bhs)
		ck_assert_mem_eq(p->data, bhs, 48);
	free(p);
}

/* No answer to anything before; the connection answers a ping. */
static inline void check_quiet(struct fake_initiator *i)
{
	struct fake_pdu *p = rig_ping(i, 0x7777, "?", 1);

	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_itt(p), 0x7777);
	free(p);
}

#endif
