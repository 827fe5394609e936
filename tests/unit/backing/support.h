/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the stores share: a reactor on the test's own thread with engines and an
 * arena, an io that is waited for, patterns, temporary places. HAWSER_TEST_ENGINES, a list joined
 * by commas, restricts the engines (TSan and valgrind do not understand io_uring).
 *
 * Threads: the test's own. Ownership: rig_end frees all.
 */
#ifndef HAWSER_TEST_BACKING_SUPPORT_H
#define HAWSER_TEST_BACKING_SUPPORT_H

#include "backing/backing.h"
#include "backing/offload.h"
#include "daemon/base/pool.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct rig {
	struct reactor *reactor;
	struct arena *arena;
	struct backing *b;
	struct backing_queue *q;
};

static inline bool engine_wanted(const char *name)
{
	const char *list = getenv("HAWSER_TEST_ENGINES"), *why;

	if (strcmp(name, "uring") == 0 && !backing_have_uring(&why))
		return false;
	return !list || strstr(list, name);
}

static inline uint64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* A path below dir that nothing has; the same buffer each time. */
static inline const char *temp_path(const char *dir, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/hawser-test-%d-%s", dir, (int)getpid(), name);
	return path;
}

/* False, and says so, where the file system of dir has no direct I/O. */
static inline bool has_direct_io(const char *dir)
{
	const char *path = temp_path(dir, "direct");
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);

	if (fd < 0)
		printf("%s has no direct I/O: it is not tried there\n", dir);
	else
		close(fd);
	unlink(path);
	return fd >= 0;
}

static inline void rig_start(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	ck_assert_int_eq(offload_start(8), 0);
	ck_assert_int_eq(reactor_create(0, "test", &r->reactor), 0);
	ck_assert_int_eq(arena_create((size_t)64 << 20, &r->arena), 0);
	ck_assert_int_eq(backing_reactor_start(r->reactor, r->arena), 0);
}

static inline void rig_open(struct rig *r, const struct backing_params *p)
{
	char *why = NULL;
	int rc = backing_open(p, &r->b, &why);

	ck_assert_msg(rc == 0, "open %s: %d %s", p->path ? p->path : p->type, rc, why ? why : "");
	ck_assert_int_eq(backing_queue_open(r->b, r->reactor, &r->q), 0);
}

static inline void rig_shut(struct rig *r)
{
	backing_queue_close(r->q);
	backing_close(r->b);
	r->q = NULL;
	r->b = NULL;
}

static inline void rig_end(struct rig *r)
{
	rig_shut(r);
	backing_reactor_stop(r->reactor);
	arena_destroy(r->arena);
	reactor_turn(r->reactor, 0); /* what was sent to it */
	reactor_destroy(r->reactor);
	ck_assert(offload_stop(5000));
}

/* An io and whether it has ended. */
struct
try {
	struct backing_io io;
	bool ended;
	bool inside; /* done ran within submit */
	bool submitting;
	struct iovec one;
};

static inline void try_done(struct backing_io *io)
{
	struct try *t = container_of(io, struct try, io);

	ck_assert_msg(!t->ended, "done ran twice");
	t->ended = true;
	t->inside = t->submitting;
}

static inline void try_submit(struct rig *r, struct try *t)
{
	t->ended = false;
	t->submitting = true;
	t->io.done = try_done;
	backing_submit(r->q, &t->io);
	t->submitting = false;
	if (!(r->b->info.flags & BACKING_INLINE))
		ck_assert_msg(!t->inside, "done ran inside submit");
}

/* Turns until it has ended; a test's own time limit ends what never does. */
static inline int try_wait(struct rig *r, struct try *t)
{
	while (!t->ended)
		reactor_turn(r->reactor, 1000);
	return t->io.result;
}

static inline struct try make_try(enum backing_kind kind, uint64_t offset, uint64_t length)
{
	return (struct try){ .io = { .kind = kind, .offset = offset, .length = length } };
}

static inline int do_io(struct rig *r, struct backing_io io)
{
	struct try t = { .io = io };

	try_submit(r, &t);
	return try_wait(r, &t);
}

static inline int do_rw(struct rig *r, enum backing_kind kind, uint64_t offset, void *buf,
			size_t length, bool durable)
{
	struct iovec iov = { buf, length };

	return do_io(r, (struct backing_io){ .kind = kind,
					     .offset = offset,
					     .length = length,
					     .iov = &iov,
					     .iovcnt = 1,
					     .durable = durable });
}

static inline int do_plain(struct rig *r, enum backing_kind kind, uint64_t offset, uint64_t length)
{
	return do_io(r, (struct backing_io){ .kind = kind, .offset = offset, .length = length });
}

static inline void *aligned(size_t length)
{
	void *p = NULL;

	ck_assert_int_eq(posix_memalign(&p, 4096, length ? length : 1), 0);
	memset(p, 0, length);
	return p;
}

static inline void fill(void *to, size_t length, uint64_t seed)
{
	uint8_t *p = to;

	for (size_t i = 0; i < length; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		p[i] = (uint8_t)(seed >> 56) | 1; /* never zero */
	}
}

static inline bool is_zero(const void *at, size_t length)
{
	const char *p = at;

	return !length || (p[0] == 0 && memcmp(p, p + 1, length - 1) == 0);
}

/* Runs a command in a shell; its exit status, -1 if it had none. */
static inline int run_shell(const char *command)
{
	FILE *f = popen(command, "r");
	int rc = f ? pclose(f) : -1;

	return rc >= 0 && WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

/* Runs a suite; 0 or 1 for exit. */
static inline int run_suite(Suite *s)
{
	SRunner *sr = srunner_create(s);

	return unit_end(sr);
}

#endif
