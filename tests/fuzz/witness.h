/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An honest initiator beside the one that a harness plays: what it reads of LUN 1 must be what the
 * store has. Each harness includes this once.
 *
 * Threads: one. Ownership: none.
 */
#ifndef HAWSER_TESTS_FUZZ_WITNESS_H
#define HAWSER_TESTS_FUZZ_WITNESS_H

#include "tests/unit/rig.h"

#include <stdlib.h>
#include <string.h>

#define WITNESS_LBA    64
#define WITNESS_LENGTH 4096u

/* The answer to a READ: Data-In with status, or a response. */
static struct fake_pdu *witness_read(struct fake_initiator *w)
{
	uint8_t cdb[16];
	struct rig_command q = {
		.cdb = cdb, .flags = ISCSI_CMD_READ, .edtl = WITNESS_LENGTH, .lun = 1
	};
	struct fake_pdu *p;

	rig_read10(cdb, WITNESS_LBA, WITNESS_LENGTH / RIG_BLOCK);
	p = rig_command(w, &q);
	while (p && fake_opcode(p) != ISCSI_OP_DATA_IN &&
	       fake_opcode(p) != ISCSI_OP_SCSI_RESPONSE) {
		free(p); /* asynchronous messages, pings */
		p = fake_next(w->fc);
	}
	return p;
}

static struct fake_initiator witness;

/* A peer may reset or reserve what the witness reads, as any initiator may: then it gets a status.
 * But if it gets data, it is what the store has. */
static void witness_check(struct rig *rig)
{
	const uint8_t *stored = rig->store[1]->bytes + (size_t)WITNESS_LBA * RIG_BLOCK;
	struct fake_pdu *p;

	if (witness.fc && !witness.fc->c) {
		fake_forget(witness.fc);
		witness.fc = NULL;
	}
	if (!witness.fc)
		witness = rig_login_isid(rig, 0x77, "DefaultTime2Retain=0\n");
	p = witness_read(&witness);
	if (!p && witness.fc->c)
		abort(); /* no answer, and not for want of a connection */
	if (fake_opcode(p) == ISCSI_OP_DATA_IN &&
	    (p->length != WITNESS_LENGTH || memcmp(p->data, stored, WITNESS_LENGTH) != 0))
		abort();
	free(p);
}

static void any_number_of_sessions(struct iscsi_policy *policy)
{
	policy->max_sessions = 0;
}

#endif
