/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text requests of full-feature phase. The first byte's low bit: a discovery session; then, again
 * and again, a byte with F, C and in its low bits which TTT (0: reserved, 1: the last, 2: another),
 * two bytes of length, the text.
 *
 * Threads: one. Ownership: none.
 */
#include "daemon/base/cursor.h"
#include "tests/unit/fake_initiator.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct fake_initiator *i, uint8_t control, const uint8_t *text, uint16_t length,
		 uint32_t *ttt)
{
	struct bhs_text h = {
		.opcode = ISCSI_OP_TEXT_REQUEST | ISCSI_IMMEDIATE,
		.flags = control & (ISCSI_FINAL | ISCSI_CONTINUE),
	};
	/* A new limit is for what comes after the response that agrees to it. */
	uint32_t limit = i->fc->c->keys.max_send_data_segment_length;
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct fake_pdu *p;

	put_be32(h.ttt, (control & 3) == 0   ? ISCSI_TAG_RESERVED
			: (control & 3) == 1 ? *ttt
					     : *ttt + 1);
	put_be32(h.sn1, i->cmdsn);
	memcpy(bhs, &h, sizeof(bhs));
	fake_feed(i->fc, bhs, text, length);
	while ((p = fake_next(i->fc))) {
		if (fake_opcode(p) == ISCSI_OP_TEXT_RESPONSE) {
			*ttt = fake_ttt(p);
			if (p->length > limit)
				abort();
		}
		free(p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_net net;
	static bool started;
	struct reader r = reader_on(data, size);
	struct fake_initiator i;
	uint32_t ttt = ISCSI_TAG_RESERVED;

	if (!started)
		fake_net_start(&net, fake_policy(1));
	started = true;
	i = fake_logged_in(&net, reader_u8(&r) & 1 ? FAKE_DISCOVERY "MaxRecvDataSegmentLength=512\n"
						   : FAKE_NORMAL "DefaultTime2Retain=0\n");
	while (r.left && i.fc->c) {
		uint8_t control = reader_u8(&r);
		uint16_t length = reader_be16(&r);

		if (length > r.left)
			length = (uint16_t)r.left;
		feed(&i, control, reader_take(&r, length), length, &ttt);
	}
	fake_hang_up(i.fc);
	if (i.fc->c)
		abort();
	fake_forget(i.fc);
	return 0;
}
