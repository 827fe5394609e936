/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a host waits for its lock: COMPARE AND WRITE of one block, again and again, while a
 * second session gives back the region around it by UNMAP, again and again. Only those that meet an
 * UNMAP count. Prints one JSON object, latencies in milliseconds.
 *
 *   hawser-bench-ats PORT TARGET LUN MIB ROUNDS
 *
 * Before each round the region is filled. Other load comes from hawser-bench-load.
 */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK        512u
#define SAME_BLOCKS  0x8000u   /* of one WRITE SAME, as VPD page B0h has it */
#define UNMAP_BLOCKS 0x100000u /* of one UNMAP */
#define SAMPLES_MAX  (1u << 20)

struct bench {
	uint16_t port;
	const char *target;
	uint64_t lun, blocks;
	unsigned rounds;
	_Atomic bool unmapping, over, failed;
	double unmap_ms; /* of all rounds */
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool log_in(struct ini *i, const struct bench *b, const char *name)
{
	struct ini_login l = { .target = b->target, .initiator = name };
	struct ini_scsi ready = { .lun = b->lun, .cdb_length = 6 };

	if (ini_open(i, "127.0.0.1", b->port) || ini_login(i, &l, NULL))
		return false;
	for (int n = 0; n < 8; n++) /* unit attentions */
		if (!ini_scsi(i, &ready) && !ready.status)
			return true;
	return false;
}

static bool good(struct ini *i, struct ini_scsi *c)
{
	int rc = ini_scsi(i, c);

	if (!rc && !c->status)
		return true;
	fprintf(stderr, "hawser-bench-ats: opcode %02x: %s, status %02x, sense %06x\n", c->cdb[0],
		strerror(-rc), c->status, ini_sense(c));
	return false;
}

/* WRITE SAME(16) of what is not zero. */
static bool fill(struct ini *i, const struct bench *b)
{
	uint8_t block[BLOCK];
	bool ok = true;

	memset(block, 0x5a, sizeof(block));
	for (uint64_t at = 0; ok && at < b->blocks; at += SAME_BLOCKS) {
		struct ini_scsi c = { .lun = b->lun,
				      .cdb = { 0x93 },
				      .cdb_length = 16,
				      .out = block,
				      .edtl = BLOCK };

		put_be64(c.cdb + 2, at);
		put_be32(c.cdb + 10, SAME_BLOCKS);
		ok = good(i, &c);
	}
	return ok;
}

static bool unmap(struct ini *i, const struct bench *b)
{
	bool ok = true;

	for (uint64_t at = 0; ok && at < b->blocks; at += UNMAP_BLOCKS) {
		uint64_t left = b->blocks - at;
		uint8_t list[24] = { 0, 22, 0, 16 };
		struct ini_scsi c = { .lun = b->lun,
				      .cdb = { 0x42, [8] = sizeof(list) },
				      .cdb_length = 10,
				      .out = list,
				      .edtl = sizeof(list) };

		put_be64(list + 8, at);
		put_be32(list + 16, (uint32_t)(left < UNMAP_BLOCKS ? left : UNMAP_BLOCKS));
		ok = good(i, &c);
	}
	return ok;
}

static void *give_back(void *arg)
{
	struct bench *b = arg;
	struct ini i;
	bool ok = log_in(&i, b, "iqn.2026-01.org.example:unmap");

	for (unsigned n = 0; ok && n < b->rounds; n++) {
		double begin;

		ok = fill(&i, b);
		begin = now_ms();
		b->unmapping = true;
		ok = ok && unmap(&i, b);
		b->unmapping = false;
		b->unmap_ms += now_ms() - begin;
	}
	b->failed = !ok;
	b->over = true;
	ini_close(&i);
	return NULL;
}

/* One lock or its release. The block may have been given back meanwhile: then it is zero, and the
 * answer is a miscompare. */
static bool lock(struct ini *i, const struct bench *b, uint8_t *have)
{
	uint8_t data[2 * BLOCK];
	struct ini_scsi c = { .lun = b->lun,
			      .cdb = { 0x89, [13] = 1 },
			      .cdb_length = 16,
			      .out = data,
			      .edtl = sizeof(data) };
	int rc;

	memset(data, *have, BLOCK);
	memset(data + BLOCK, *have + 1, BLOCK);
	put_be64(c.cdb + 2, b->blocks / 2);
	rc = ini_scsi(i, &c);
	if (!rc && !c.status) {
		*have += 1;
		return true;
	}
	*have = *have == 0x5a ? 0 : 0x5a;
	return !rc && ini_sense(&c) >> 16 == 0x0e;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const struct bench *b, double *ms, unsigned n)
{
	qsort(ms, n, sizeof(*ms), by_value);
	printf("{\"locks\": %u, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f, "
	       "\"unmap_ms\": %.0f}\n",
	       n, n ? ms[n / 2] : 0, n ? ms[(size_t)n * 99 / 100] : 0, n ? ms[n - 1] : 0,
	       b->unmap_ms / b->rounds);
}

static bool measure(struct bench *b)
{
	double *ms = calloc(SAMPLES_MAX, sizeof(*ms));
	uint8_t have = 0;
	unsigned n = 0;
	struct ini i;
	bool ok = ms && log_in(&i, b, "iqn.2026-01.org.example:ats");

	while (ok && !b->over) {
		bool meets = b->unmapping;
		double begin = now_ms();

		ok = lock(&i, b, &have);
		if ((meets || b->unmapping) && n < SAMPLES_MAX)
			ms[n++] = now_ms() - begin;
	}
	if (ok)
		report(b, ms, n);
	free(ms);
	return ok;
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	pthread_t thread;
	bool ok;

	if (argc != 6) {
		fprintf(stderr, "hawser-bench-ats PORT TARGET LUN MIB ROUNDS\n");
		return 2;
	}
	b.port = (uint16_t)strtoul(argv[1], NULL, 0);
	b.target = argv[2];
	b.lun = strtoul(argv[3], NULL, 0);
	b.blocks = (uint64_t)strtoul(argv[4], NULL, 0) << 11;
	b.rounds = (unsigned)strtoul(argv[5], NULL, 0);
	if (!b.blocks || !b.rounds || pthread_create(&thread, NULL, give_back, &b))
		return 1;
	ok = measure(&b);
	pthread_join(thread, NULL);
	return ok && !b.failed ? 0 : 1;
}
