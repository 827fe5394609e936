/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of SNACK share: a session of level 1 on known content.
 *
 * Threads: none. Ownership: sessions end with the test (protocol.h).
 */
#ifndef HAWSER_TESTS_SNACK_H
#define HAWSER_TESTS_SNACK_H

#include "tests/protocol/protocol.h"

#define LEVEL_1(segment)                                                                           \
	"ErrorRecoveryLevel=1\nMaxRecvDataSegmentLength=" segment                                  \
	"\nMaxBurstLength=8192\nFirstBurstLength=8192\n"
#define BLOCK  60000u
#define BLOCKS 32u /* 16 KiB: 16 Data-In of 1 KiB in two sequences */
#define BYTES  (BLOCKS * 512)
#define PIECES 16u

static uint8_t content[BYTES];

struct snack {
	enum iscsi_snack type;
	uint32_t itt, ttt, begrun, runlength;
};

static inline void send_snack(struct ini *i, const struct snack *s)
{
	struct bhs_snack h = { .opcode = ISCSI_OP_SNACK,
			       .flags = (uint8_t)(ISCSI_FINAL | s->type) };

	put_be32(h.itt, s->itt);
	put_be32(h.ttt, s->ttt ? s->ttt : ISCSI_TAG_RESERVED);
	put_be32(h.begrun, s->begrun);
	put_be32(h.runlength, s->runlength);
	put_be32(h.exp_statsn, ini_ack(i));
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
}

static inline struct ini *level_1(const char *keys)
{
	struct ini *i = session_keys(T_LEVEL_1, keys);
	struct ini_scsi c;

	ck_assert(i->recovery);
	ready(i, LUN_RAM);
	fill(content, BYTES, 71);
	rw10(&c, WRITE10, LUN_RAM, BLOCK, BLOCKS, content);
	run_good(i, &c);
	return i;
}

/* From here on nothing is acknowledged. */
static inline void withhold(struct ini *i)
{
	if (!i->withholds)
		i->acked = i->exp_statsn;
	i->withholds = true;
}

#endif
