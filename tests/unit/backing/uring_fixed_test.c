/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is registered with io_uring is pinned: so no more than I/O has been done with. */
#if HAWSER_WITH_URING
#include "backing/uring.h"
#endif
#include "tests/unit/backing/support.h"
#include "tests/unit/unit.h"

#define MIB    ((size_t)1 << 20)
#define LENGTH (11 * MIB) /* in one piece, over chunks of 4 MiB */

#if HAWSER_WITH_URING

static bool start(struct rig *r)
{
	struct backing_params p = { .type = "file",
				    .path = temp_path("/tmp", "fixed"),
				    .size = 64 * MIB,
				    .create = true,
				    .cache = BACKING_CACHE_DIRECT,
				    .engine = "uring",
				    .block_size = 4096 };

	if (!engine_wanted("uring") || !has_direct_io("/tmp"))
		return false;
	p.path = temp_path("/tmp", "fixed");
	rig_start(r);
	rig_open(r, &p);
	unlink(p.path);
	return true;
}

static struct uring *ring_of(const struct rig *r)
{
	return ((struct engine_host *)reactor_slot(r->reactor, REACTOR_ENGINE))->uring;
}

static unsigned registered(const struct rig *r)
{
	const struct uring *u = ring_of(r);
	unsigned n = 0;

	for (size_t i = 0; i <= (u->fixed_bytes - 1) >> u->chunk_shift; i++)
		n += u->chunks[i] == CHUNK_REGISTERED;
	return n;
}

static void move(struct rig *r, enum backing_kind kind, uint64_t offset,
		 const struct arena_buf *buf)
{
	ck_assert_int_eq(do_io(r, (struct backing_io){ .kind = kind,
						       .offset = offset,
						       .length = buf->length,
						       .iov = buf->iov,
						       .iovcnt = buf->n }),
			 0);
}

/* Writes LENGTH bytes from the arena and reads them back into it. */
static void there_and_back(struct rig *r, uint64_t seed)
{
	uint8_t *want = aligned(LENGTH);
	struct arena_buf buf;

	fill(want, LENGTH, seed);
	ck_assert_int_eq(arena_get(r->arena, LENGTH, &buf), 0);
	ck_assert_uint_eq(buf.n, 1);
	memcpy(buf.iov[0].iov_base, want, LENGTH);
	move(r, BACKING_WRITE, 4096, &buf);
	memset(buf.iov[0].iov_base, 0, LENGTH);
	move(r, BACKING_READ, 4096, &buf);
	ck_assert_mem_eq(buf.iov[0].iov_base, want, LENGTH);
	arena_put(r->arena, &buf);
	free(want);
}

START_TEST(as_much_as_is_used)
{
	struct arena_buf small;
	struct rig r;

	if (!start(&r))
		return;
	ck_assert_ptr_nonnull(ring_of(&r)->fixed);
	/* Linux before 5.19 has no empty table. */
	if (ring_of(&r)->chunk_shift == URING_CHUNK_SHIFT) {
		ck_assert_uint_eq(registered(&r), 0);
		for (unsigned i = 0; i < 100; i++) {
			ck_assert_int_eq(arena_get(r.arena, 4096, &small), 0);
			move(&r, BACKING_READ, i * 4096, &small);
			arena_put(r.arena, &small);
		}
		ck_assert_uint_eq(registered(&r), 1);
	}
	there_and_back(&r, 1);
	if (ring_of(&r)->chunk_shift == URING_CHUNK_SHIFT)
		ck_assert_uint_le(registered(&r), 4);
	ck_assert_uint_ge(registered(&r), 1);
	rig_end(&r);
}
END_TEST

/* As where locked memory is short: plain buffers serve, also beside registered ones. */
START_TEST(some_are_refused)
{
	struct uring *u;
	struct rig r;

	if (!start(&r))
		return;
	u = ring_of(&r);
	if (u->chunk_shift == URING_CHUNK_SHIFT) {
		u->chunks[1] = CHUNK_REFUSED;
		there_and_back(&r, 2);
		memset(u->chunks, CHUNK_REFUSED, u->fixed_bytes >> u->chunk_shift);
		there_and_back(&r, 3);
		ck_assert_uint_eq(registered(&r), 0);
	}
	rig_end(&r);
}
END_TEST

UNIT_MAIN("backing/uring_fixed", as_much_as_is_used, some_are_refused)

#else

START_TEST(no_uring)
{
	const char *why = NULL;

	ck_assert(!backing_have_uring(&why) && why);
}
END_TEST

UNIT_MAIN("backing/uring_fixed", no_uring)

#endif
