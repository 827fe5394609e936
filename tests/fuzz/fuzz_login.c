/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an unknown peer may send, as it stands on the wire without digests: headers, each followed
 * by its AHS and data. Login first, and whatever comes after it if it succeeds: two LUs are there.
 * A second initiator looks on, and what it reads must stay right.
 *
 * Threads: one. Ownership: none.
 */
#include "daemon/base/bytes.h"
#include "tests/fuzz/witness.h"
#include "tests/lib/covers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PDUS_MAX 256

static void drain(struct fake_conn *fc)
{
	struct fake_pdu *p;

	while ((p = fake_next(fc)))
		free(p);
}

/* A mutated length takes what is there; a transport would wait for the rest. */
static size_t feed_one(struct fake_conn *fc, const uint8_t *data, size_t size)
{
	static const uint8_t filler[1u << 16];
	uint8_t bhs[ISCSI_BHS_SIZE];
	size_t ahs, length, padded;

	memcpy(bhs, data, sizeof(bhs));
	data += sizeof(bhs);
	size -= sizeof(bhs);
	ahs = bhs[4] * 4u <= size ? bhs[4] * 4u : 0;
	length = get_be24(bhs + 5);
	if (length > size - ahs)
		length = size - ahs;
	if (length > sizeof(filler))
		length = sizeof(filler);
	fake_feed_ahs(fc, bhs, data, (uint16_t)ahs, data + ahs, (uint32_t)length);
	while (fake_fill(fc, filler, sizeof(filler)))
		;
	padded = (length + 3) & ~(size_t)3;
	if (padded > size - ahs)
		padded = size - ahs;
	return sizeof(bhs) + ahs + padded;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rig rig;
	static unsigned runs;
	struct fake_conn *fc;

	if (!runs)
		rig_start(&rig, any_number_of_sessions);
	if (runs++ % 16 == 0)
		witness_check(&rig);
	fc = fake_connect(&rig.net, NULL);
	if (!fc)
		abort(); /* connections have leaked */
	for (unsigned n = 0; n < PDUS_MAX && size >= ISCSI_BHS_SIZE && fc->c; n++) {
		size_t used = feed_one(fc, data, size);

		data += used;
		size -= used;
		if (n % 4 == 3)
			drain(fc); /* and sometimes several arrive at once */
	}
	drain(fc);
	fake_hang_up(fc);
	if (fc->c)
		abort(); /* the iSCSI layer has not let go */
	fake_forget(fc);
	return 0;
}

SUITE_COVERS("fault-A05");
