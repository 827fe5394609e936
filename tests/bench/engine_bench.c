/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which engine is the better default? 4 KiB (or -b) random reads and writes at queue depth 32 (or
 * -q) through backing/ alone, each engine in turns within one run, so that what else the machine
 * does strikes all alike. Prints IOPS, CPU microseconds per I/O of the whole process (kernel
 * workers included), and both relative to the first engine.
 *
 *   hawser-bench-engine_bench [-d FOLDER] [-s MIB] [-b BYTES] [-q DEPTH] [-t MS] [-r ROUNDS]
 */
#include "backing/backing.h"
#include "backing/offload.h"
#include "backing/why.h"
#include "daemon/base/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char *const engines[] = { "uring", "aio", "offload" };
enum { N_ENGINES = sizeof(engines) / sizeof(engines[0]), DEPTH_MAX = 1024 };

static struct options {
	const char *folder;
	unsigned mib, block, depth, ms, rounds;
} options = { "/tmp", 512, 4096, 32, 700, 3 };

struct mix {
	const char *name;
	enum backing_cache cache;
	bool preallocate;
	enum backing_kind kind;
};

static const struct mix mixes[] = {
	{ "direct read, reserved file", BACKING_CACHE_DIRECT, true, BACKING_READ },
	{ "direct write, reserved file", BACKING_CACHE_DIRECT, true, BACKING_WRITE },
	{ "direct read, thin file", BACKING_CACHE_DIRECT, false, BACKING_READ },
	{ "direct write, thin file", BACKING_CACHE_DIRECT, false, BACKING_WRITE },
	{ "buffered read, cached", BACKING_CACHE_BUFFERED, false, BACKING_READ },
	{ "buffered write", BACKING_CACHE_BUFFERED, false, BACKING_WRITE },
};
enum { N_MIXES = sizeof(mixes) / sizeof(mixes[0]) };

struct slot {
	struct backing_io io;
	struct arena_buf buf;
	struct bench *bench;
};

struct bench {
	struct reactor *reactor;
	struct arena *arena;
	struct backing *b;
	struct backing_queue *q;
	struct slot slots[DEPTH_MAX];
	enum backing_kind kind;
	uint64_t random, count, until_ns;
	unsigned running;
};

static void die(const char *what, int rc)
{
	fprintf(stderr, "engine_bench: %s: %s\n", what, error_text(-rc));
	_Exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
}

static void next(struct slot *s)
{
	struct bench *b = s->bench;

	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	s->io.kind = b->kind;
	s->io.offset = (b->random >> 20) % (b->b->info.size / options.block) * options.block;
	s->io.length = options.block;
	s->io.iov = s->buf.iov;
	s->io.iovcnt = s->buf.n;
	backing_submit(b->q, &s->io);
}

static void done(struct backing_io *io)
{
	struct slot *s = container_of(io, struct slot, io);
	struct bench *b = s->bench;

	if (io->result < 0)
		die("i/o", io->result);
	b->count++;
	if ((b->count & 63) == 0 && now_ns(CLOCK_MONOTONIC) >= b->until_ns)
		b->until_ns = 0;
	if (b->until_ns)
		next(s);
	else
		b->running--;
}

static void run(struct bench *b, enum backing_kind kind, double *ret_iops, double *ret_us)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC), cpu = cpu_ns();

	b->kind = kind;
	b->count = 0;
	b->until_ns = begin + options.ms * (uint64_t)1000000;
	b->running = options.depth;
	for (unsigned i = 0; i < options.depth; i++)
		next(&b->slots[i]);
	while (b->running)
		reactor_turn(b->reactor, 1000);
	*ret_iops = (double)b->count * 1e9 / (double)(now_ns(CLOCK_MONOTONIC) - begin);
	*ret_us = (double)(cpu_ns() - cpu) / 1e3 / (double)b->count;
}

static void set_up(struct bench *b)
{
	int rc = reactor_create(0, NULL, &b->reactor);

	if (!rc)
		rc = offload_start(16);
	if (!rc)
		rc = arena_create((size_t)256 << 20, &b->arena);
	if (!rc)
		rc = backing_reactor_start(b->reactor, b->arena);
	b->random = 1;
	for (unsigned i = 0; !rc && i < options.depth; i++) {
		rc = arena_get(b->arena, options.block, &b->slots[i].buf);
		b->slots[i].io.done = done;
		b->slots[i].bench = b;
	}
	if (rc)
		die("start", rc);
}

/* The same file for all; written whole by whoever comes first. */
static void open_store(struct bench *b, const struct mix *m, const char *engine, const char *path)
{
	struct backing_params p = { .type = "file",
				    .path = path,
				    .size = (uint64_t)options.mib << 20,
				    .create = true,
				    .preallocate = m->preallocate,
				    .cache = m->cache,
				    .engine = engine,
				    .block_size = 512 };
	char *why = NULL;
	int rc = backing_open(&p, &b->b, &why);

	if (rc < 0) {
		fprintf(stderr, "engine_bench: %s\n", why ? why : error_text(-rc));
		_Exit(1);
	}
	rc = backing_queue_open(b->b, b->reactor, &b->q);
	if (rc < 0)
		die("queue", rc);
}

static void close_store(struct bench *b)
{
	backing_queue_close(b->q);
	backing_close(b->b);
}

static void fill(const char *path)
{
	static char zeros[1 << 20];
	FILE *f = fopen(path, "w");

	memset(zeros, 1, sizeof(zeros));
	for (unsigned i = 0; f && i < options.mib; i++)
		if (fwrite(zeros, sizeof(zeros), 1, f) != 1)
			die("filling the file", -errno);
	if (!f || fclose(f))
		die("filling the file", -errno);
}

static void measure(struct bench *b, const struct mix *m, const char *path)
{
	double iops[N_ENGINES] = { 0 }, us[N_ENGINES] = { 0 };

	for (unsigned round = 0; round < options.rounds; round++)
		for (unsigned e = 0; e < N_ENGINES; e++) {
			double i, u;

			open_store(b, m, engines[e], path);
			run(b, m->kind, &i, &u);
			close_store(b);
			iops[e] = i > iops[e] ? i : iops[e];
			us[e] = !us[e] || u < us[e] ? u : us[e];
		}
	printf("%s\n", m->name);
	for (unsigned e = 0; e < N_ENGINES; e++)
		printf("  %-8s %9.0f IOPS (x%4.2f) %7.2f CPU us/IO (x%4.2f)\n", engines[e], iops[e],
		       iops[e] / iops[0], us[e], us[e] / us[0]);
	fflush(stdout);
}

static void parse(int argc, char **argv)
{
	const struct {
		const char *name;
		unsigned *value;
	} numbers[] = { { "-s", &options.mib },
			{ "-b", &options.block },
			{ "-q", &options.depth },
			{ "-t", &options.ms },
			{ "-r", &options.rounds } };
	int i = 1;

	for (; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "-d") == 0)
			options.folder = argv[i + 1];
		for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
			if (strcmp(argv[i], numbers[n].name) == 0)
				*numbers[n].value = (unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	if (i != argc || !options.mib || !options.block || options.block % 512 || !options.depth ||
	    options.depth > DEPTH_MAX || !options.ms || !options.rounds) {
		fprintf(stderr, "engine_bench: nothing of that kind can be measured\n");
		_Exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct bench b;
	char path[4096];

	parse(argc, argv);
	snprintf(path, sizeof(path), "%s/hawser-bench-%d", options.folder, (int)getpid());
	set_up(&b);
	fill(path);
	for (unsigned i = 0; i < N_MIXES; i++)
		measure(&b, &mixes[i], path);
	unlink(path);
	for (unsigned i = 0; i < options.depth; i++)
		arena_put(b.arena, &b.slots[i].buf);
	backing_reactor_stop(b.reactor);
	arena_destroy(b.arena);
	reactor_destroy(b.reactor);
	return offload_stop(5000) ? 0 : 1;
}
