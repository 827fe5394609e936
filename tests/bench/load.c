/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A load generator for comparing targets: sessions with a constant number of commands each, one
 * thread, one gather write for all commands of a batch and one read for many answers, so that the
 * target is what is measured. Prints one JSON object: IOPS, MB/s, latency, and the CPU time of the
 * target's process for each I/O.
 *
 *   hawser-load --port N --target IQN [--host A] [--lun N] [--bs BYTES] [--depth N]
 *               [--sessions N] [--read PERCENT] [--sequential] [--seconds S] [--pid PID]
 * [--digests]
 */
#include "tests/bench/stream.h"
#include "tests/initiator/initiator.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct options {
	const char *host, *target;
	uint16_t port;
	uint64_t lun;
	unsigned bs, depth, sessions, read;
	bool sequential, digests;
	double seconds;
	int pid;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* User and system seconds of a whole process, its threads included. */
static double cpu_of(int pid)
{
	unsigned long user = 0, sys = 0;
	char path[64], line[1024], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	if (!p ||
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
		return 0;
	return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "host", 1, NULL, 'h' },       { "port", 1, NULL, 'p' },
		{ "target", 1, NULL, 't' },     { "lun", 1, NULL, 'l' },
		{ "bs", 1, NULL, 'b' },         { "depth", 1, NULL, 'd' },
		{ "sessions", 1, NULL, 's' },   { "read", 1, NULL, 'r' },
		{ "sequential", 0, NULL, 'q' }, { "seconds", 1, NULL, 'S' },
		{ "pid", 1, NULL, 'P' },        { "digests", 0, NULL, 'D' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (c) {
		case 'h':
			o->host = optarg;
			break;
		case 't':
			o->target = optarg;
			break;
		case 'p':
			o->port = (uint16_t)n;
			break;
		case 'l':
			o->lun = n;
			break;
		case 'b':
			o->bs = (unsigned)n;
			break;
		case 'd':
			o->depth = (unsigned)n;
			break;
		case 's':
			o->sessions = (unsigned)n;
			break;
		case 'r':
			o->read = (unsigned)n;
			break;
		case 'q':
			o->sequential = true;
			break;
		case 'S':
			o->seconds = strtod(optarg, NULL);
			break;
		case 'P':
			o->pid = (int)n;
			break;
		case 'D':
			o->digests = true;
			break;
		default:
			return -EINVAL;
		}
	}
	if (!o->target || !o->port || !o->bs || o->bs % 512 || !o->depth || !o->sessions ||
	    o->depth > STREAM_DEPTH_MAX || o->bs > STREAM_BS_MAX || o->read > 100)
		return -EINVAL;
	return 0;
}

/* Runs all streams until the end, or the first that breaks. */
static int run(struct stream *streams, unsigned n, double end)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), rc = 0;

	for (unsigned i = 0; i < n; i++) {
		struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
					  .data.ptr = &streams[i] };

		if (epoll_ctl(ep, EPOLL_CTL_ADD, stream_fd(&streams[i]), &ev))
			return -errno;
	}
	while (!rc && now() < end) {
		struct epoll_event events[64];
		int got = epoll_wait(ep, events, 64, 100);

		for (int i = 0; i < got && !rc; i++)
			rc = stream_turn(events[i].data.ptr);
	}
	close(ep);
	return rc;
}

static void report(const struct options *o, const struct stream *streams, double seconds,
		   double target_cpu, double own_cpu)
{
	uint64_t done = 0, failed = 0;

	for (unsigned i = 0; i < o->sessions; i++) {
		done += streams[i].done;
		failed += streams[i].failed;
	}
	printf(
	    "{\"iops\": %.0f, \"mb_s\": %.1f, \"ios\": %llu, \"errors\": %llu, \"seconds\": %.2f",
	    (double)done / seconds, (double)done * o->bs / seconds / 1e6, (unsigned long long)done,
	    (unsigned long long)failed, seconds);
	if (done)
		printf(", \"client_cpu_us\": %.2f", own_cpu * 1e6 / (double)done);
	if (done && o->pid)
		printf(", \"cpu_us\": %.2f, \"iops_per_cpu_s\": %.0f",
		       target_cpu * 1e6 / (double)done,
		       target_cpu > 0 ? (double)done / target_cpu : 0);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct options o = { .host = "127.0.0.1",
			     .bs = 4096,
			     .depth = 32,
			     .sessions = 1,
			     .read = 100,
			     .seconds = 3 };
	struct stream *streams;
	double begin, cpu, own;
	int rc = 0;

	if (parse(argc, argv, &o)) {
		fprintf(stderr,
			"hawser-load: --port N --target IQN are needed; --bs is a multiple "
			"of 512 up to 1 MiB, --depth at most %u; see the head of load.c\n",
			STREAM_DEPTH_MAX);
		return 2;
	}
	streams = calloc(o.sessions, sizeof(*streams));
	if (!streams)
		return 1;
	for (unsigned i = 0; i < o.sessions && !rc; i++) {
		const struct stream_plan plan = { .host = o.host,
						  .port = o.port,
						  .target = o.target,
						  .lun = o.lun,
						  .bs = o.bs,
						  .depth = o.depth,
						  .read = o.read,
						  .sequential = o.sequential,
						  .digests = o.digests,
						  .seed = i + 1 };

		rc = stream_open(&streams[i], &plan);
	}
	begin = now();
	cpu = o.pid ? cpu_of(o.pid) : 0;
	own = cpu_of(getpid());
	if (!rc)
		rc = run(streams, o.sessions, begin + o.seconds);
	if (rc)
		fprintf(stderr, "hawser-load: %s\n", strerror(-rc));
	else
		report(&o, streams, now() - begin, o.pid ? cpu_of(o.pid) - cpu : 0,
		       cpu_of(getpid()) - own);
	for (unsigned i = 0; i < o.sessions; i++)
		stream_close(&streams[i]);
	free(streams);
	return rc ? 1 : 0;
}
