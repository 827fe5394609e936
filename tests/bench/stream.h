/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One session under load: keeps `depth` commands outstanding and answers what comes.
 *
 * Threads: one. Ownership: stream_open allocates buffers, stream_close frees them, also of a stream
 * that was never opened (zeroed).
 */
#ifndef HAWSER_TESTS_BENCH_STREAM_H
#define HAWSER_TESTS_BENCH_STREAM_H

#include "tests/initiator/initiator.h"

#include <sys/uio.h>

#define STREAM_DEPTH_MAX 512u
#define STREAM_BS_MAX    (1u << 20)

struct stream_plan {
	const char *host, *target;
	uint16_t port;
	uint64_t lun;
	unsigned bs, depth, read;
	bool sequential, digests;
	uint64_t seed;
};

struct stream {
	struct ini ini;
	struct stream_plan plan;
	uint64_t blocks; /* of plan.bs, on the LU */
	uint64_t next, random;
	uint8_t block_shift; /* log2 of the LU's logical block */
	unsigned outstanding;
	uint64_t done, failed;
	uint8_t *payload, *rx;
	size_t rx_have; /* bytes of an incomplete PDU at the begin of rx */
	size_t rx_skip; /* bytes of payload, padding and digest still to be dropped */
	/* Headers to be sent and their payload: [first, n) */
	unsigned n_iov, first_iov;
	struct iovec *iov;
	struct stream_head {
		uint8_t bhs[ISCSI_BHS_SIZE], header_digest[4], data_digest[4];
	} * heads;
	unsigned n_heads;
	bool out_of_room;
};

int stream_open(struct stream *s, const struct stream_plan *plan); /* logs in, reads capacity */
/* Takes what came, sends what can be sent; until the socket has no more for it. */
int stream_turn(struct stream *s);
void stream_close(struct stream *s);

static inline int stream_fd(const struct stream *s)
{
	return s->ini.fd;
}

#endif
