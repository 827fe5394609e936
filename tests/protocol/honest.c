/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An honest initiator with a thread of its own: it writes and reads blocks of the witness' unit and
 * verifies all it reads, as long as a test does its worst to the daemon.
 */
#include "tests/protocol/protocol.h"

#include <pthread.h>
#include <stdatomic.h>

#define FIRST_LBA   1024u /* the witness itself uses what is before */
#define SLOTS       64u
#define SLOT_BLOCKS 64u

static struct {
	pthread_t thread;
	atomic_bool stop, failed;
	atomic_ulong rounds;
	uint32_t version[SLOTS]; /* what was written last; 0: nothing */
	uint16_t blocks[SLOTS];
	uint64_t state;
	char why[400];
} honest;

static uint32_t chance(uint32_t below)
{
	honest.state = honest.state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(honest.state >> 33) % below;
}

static bool fails(const char *what, uint32_t slot, long value)
{
	snprintf(honest.why, sizeof(honest.why), "%s, slot %u, version %u: %ld", what, slot,
		 honest.version[slot], value);
	atomic_store(&honest.failed, true);
	return false;
}

static bool transfer(struct ini *i, uint8_t opcode, uint32_t slot, uint8_t *bytes)
{
	struct ini_scsi c;
	int rc;

	rw10(&c, opcode, 0, FIRST_LBA + slot * SLOT_BLOCKS, honest.blocks[slot], bytes);
	rc = ini_scsi(i, &c);
	if (rc)
		return fails("connection or time", slot, rc);
	return c.status ? fails("status", slot, c.status) : true;
}

static bool write_one(struct ini *i, uint32_t slot, uint8_t *bytes)
{
	honest.version[slot]++;
	honest.blocks[slot] = (uint16_t)(1 + chance(SLOT_BLOCKS));
	fill(bytes, honest.blocks[slot] * 512u, honest.version[slot] * SLOTS + slot);
	return transfer(i, WRITE10, slot, bytes);
}

static bool read_one(struct ini *i, uint32_t slot, uint8_t *bytes)
{
	static uint8_t want[SLOT_BLOCKS * 512];
	size_t length = honest.blocks[slot] * 512u;

	if (!honest.version[slot])
		return true;
	if (!transfer(i, READ10, slot, bytes))
		return false;
	fill(want, length, honest.version[slot] * SLOTS + slot);
	return !memcmp(bytes, want, length) ? true : fails("wrong data", slot, (long)length);
}

/* On the thread of the test. */
static void log_in(struct ini *i)
{
	struct ini_login l = { .initiator = BASE "honest", .target = T_WITNESS };
	struct ini_scsi c = { .cdb_length = 6 }; /* TEST UNIT READY: takes unit attentions */
	int rc = ini_open(i, "127.0.0.1", server.port);

	if (!rc)
		rc = ini_login(i, &l, NULL);
	for (int tries = 0; !rc && tries < 4; tries++) {
		rc = ini_scsi(i, &c);
		if (!rc && !c.status)
			return;
	}
	ck_abort_msg("the honest initiator cannot log in: %d, status %u", rc, c.status);
}

static void *work(void *arg)
{
	static uint8_t bytes[SLOT_BLOCKS * 512];
	struct ini *i = arg;

	while (!atomic_load(&honest.stop)) {
		if (!write_one(i, chance(SLOTS), bytes) || !read_one(i, chance(SLOTS), bytes))
			break;
		if (i->violations) {
			fails(i->violation, 0, 0);
			break;
		}
		atomic_fetch_add(&honest.rounds, 1);
	}
	ini_close(i);
	return NULL;
}

void honest_begin(uint64_t seed)
{
	static struct ini i;

	memset(&honest, 0, sizeof(honest));
	honest.state = seed;
	log_in(&i);
	ck_assert(!pthread_create(&honest.thread, NULL, work, &i));
}

const char *honest_failure(void)
{
	return atomic_load(&honest.failed) ? honest.why : NULL;
}

unsigned long honest_end(void)
{
	atomic_store(&honest.stop, true);
	pthread_join(honest.thread, NULL);
	return atomic_load(&honest.rounds);
}
