/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long one 4 KiB READ after the other takes, while something else goes on: one session, or with
 * --raw a connection to hawser-bench-limit, which gets the same bytes. Prints the number, the
 * median, the 99th of a hundred and the longest, in microseconds.
 *
 *   hawser-bench-probe PORT TARGET|--raw LUN SECONDS
 */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BYTES 4096u
#define MANY  4000000u

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int open_session(struct ini *i, const char *target, uint64_t lun)
{
	struct ini_login l = { .target = target };
	struct ini_scsi ready = { .lun = lun };
	int err = ini_login(i, &l, NULL);

	for (unsigned n = 0; n < 8 && !err; n++) { /* unit attentions */
		err = ini_scsi(i, &ready);
		if (!err && !ready.status)
			return 0;
	}
	return err ? err : -1;
}

/* Header and data in one PDU, status with it, or by itself: that is for the target to choose. */
static int read_one(struct ini *i, uint64_t lun)
{
	uint8_t cdb[16] = { 0x28, [8] = BYTES / 512 }, in[ISCSI_BHS_SIZE + BYTES];
	struct bhs_scsi_command h;
	size_t want = sizeof(in);

	ini_command(i, &h, lun, ISCSI_CMD_READ, BYTES, cdb, 10);
	if (ini_send(i, (uint8_t *)&h, NULL, 0) ||
	    recv(i->fd, in, want, MSG_WAITALL) != (ssize_t)want || in[0] != ISCSI_OP_DATA_IN)
		return -1;
	i->exp_statsn = get_be32(((struct bhs_data_in *)(void *)in)->statsn) + 1;
	return in[1] & ISCSI_DATA_IN_STATUS && get_be24(in + 5) == BYTES ? 0 : -1;
}

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	float *took = calloc(MANY, sizeof(*took));
	uint64_t lun = argc == 5 ? strtoull(argv[3], NULL, 0) : 0;
	double end, begin;
	struct ini i;
	size_t n = 0;
	int one = 1;

	if (argc != 5 || !took) {
		fprintf(stderr, "usage: %s PORT TARGET|--raw LUN SECONDS\n", argv[0]);
		return 2;
	}
	if (ini_open(&i, "127.0.0.1", (uint16_t)strtoul(argv[1], NULL, 10)) ||
	    (strcmp(argv[2], "--raw") != 0 && open_session(&i, argv[2], lun))) {
		fprintf(stderr, "hawser-bench-probe: no session\n");
		return 1;
	}
	setsockopt(i.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	end = now_us() + strtod(argv[4], NULL) * 1e6;
	while ((begin = now_us()) < end && n < MANY) {
		if (read_one(&i, lun)) {
			fprintf(stderr, "hawser-bench-probe: a READ failed\n");
			return 1;
		}
		took[n++] = (float)(now_us() - begin);
	}
	qsort(took, n, sizeof(*took), ascending);
	if (n)
		printf("n %zu p50 %.0f p99 %.0f longest %.0f\n", n, (double)took[n / 2],
		       (double)took[n * 99 / 100], (double)took[n - 1]);
	ini_close(&i);
	free(took);
	return 0;
}
