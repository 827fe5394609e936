/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/arena.c"

#include "tests/unit/unit.h"

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

static struct arena *make(size_t bytes)
{
	struct arena *a;

	ck_assert_int_eq(arena_create(bytes, &a), 0);
	return a;
}

/* The vector describes the length exactly, inside the arena, in pages. */
static void check_buf(struct arena *a, const struct arena_buf *buf, size_t length)
{
	size_t sum = 0, bytes;
	void *base;

	arena_memory(a, &base, &bytes);
	ck_assert_uint_eq(buf->length, length);
	for (unsigned i = 0; i < buf->n; i++) {
		size_t at = (size_t)((uint8_t *)buf->iov[i].iov_base - (uint8_t *)base);

		ck_assert_uint_eq(at % 4096, 0);
		ck_assert_uint_le(at + buf->iov[i].iov_len, bytes);
		sum += buf->iov[i].iov_len;
	}
	ck_assert_uint_eq(sum, length);
	ck_assert_uint_le(buf->n, ARENA_IOV_MAX);
}

static void stamp(const struct arena_buf *buf, uint8_t mark)
{
	for (unsigned i = 0; i < buf->n; i++)
		memset(buf->iov[i].iov_base, mark, buf->iov[i].iov_len);
}

static void check_stamp(const struct arena_buf *buf, uint8_t mark)
{
	for (unsigned i = 0; i < buf->n; i++) {
		const uint8_t *p = buf->iov[i].iov_base;
		size_t n = buf->iov[i].iov_len;

		ck_assert(p[0] == mark && p[n / 2] == mark && p[n - 1] == mark);
		ck_assert(!memcmp(p, p + 1, n - 1));
	}
}

START_TEST(lengths_of_all_kinds)
{
	static const size_t lengths[] = {
		1,        512,      4095,      4096,          4097,         60 * KIB,   61 * KIB,
		64 * KIB, 65 * KIB, 128 * KIB, 132 * KIB + 1, 1020 * KIB,   1021 * KIB, MIB - 1,
		MIB,      MIB + 1,  3 * MIB,   5 * MIB + 77,  16 * MIB - 1, 16 * MIB,
	};
	struct arena *a = make(20 * MIB);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct arena_buf buf;

		ck_assert_int_eq(arena_get(a, lengths[i], &buf), 0);
		check_buf(a, &buf, lengths[i]);
		stamp(&buf, 1);
		if (lengths[i] <= 64 * KIB || lengths[i] % MIB == 0)
			ck_assert_uint_eq(buf.n, 1); /* contiguous in an empty arena */
		arena_put(a, &buf);
		ck_assert_uint_eq(arena_free_bytes(a), 20 * MIB);
		ck_assert_uint_eq(buf.n, 0);
	}
	arena_destroy(a);
}
END_TEST

START_TEST(nothing_costs_nothing)
{
	struct arena *a = make(MIB);
	struct arena_buf buf;

	ck_assert_int_eq(arena_get(a, 0, &buf), 0);
	check_buf(a, &buf, 0);
	ck_assert_uint_eq(arena_free_bytes(a), MIB);
	arena_put(a, &buf);
	arena_destroy(a);
	arena_destroy(NULL);
}
END_TEST

START_TEST(impossible_lengths_are_refused)
{
	struct arena *a = make(2 * MIB), *big = make(32 * MIB), *none = NULL;
	struct arena_buf buf;

	ck_assert_int_eq(arena_get(a, 2 * MIB + 1, &buf), -EMSGSIZE);
	ck_assert_int_eq(arena_get(big, 16 * MIB + 1, &buf), -EMSGSIZE);
	ck_assert_int_eq(arena_get(a, SIZE_MAX, &buf), -EMSGSIZE);
	ck_assert_int_eq(arena_create(0, &none), -EINVAL);
	ck_assert_int_eq(arena_create(SIZE_MAX, &none), -EINVAL);
	arena_destroy(a);
	arena_destroy(big);
}
END_TEST

START_TEST(all_or_nothing)
{
	struct arena *a = make(4 * MIB);
	struct arena_buf b1, b2, b3;

	ck_assert_int_eq(arena_get(a, 3 * MIB, &b1), 0);
	ck_assert_int_eq(arena_get(a, 4 * KIB, &b2), 0);
	ck_assert_int_eq(arena_get(a, MIB, &b3), -EAGAIN);
	ck_assert_uint_eq(arena_free_bytes(a), MIB - 4 * KIB);
	ck_assert_int_eq(arena_get(a, MIB - 4 * KIB, &b3), 0); /* all the rest, in small pieces */
	check_buf(a, &b3, MIB - 4 * KIB);
	ck_assert_uint_eq(arena_free_bytes(a), 0);
	arena_put(a, &b1);
	arena_put(a, &b2);
	arena_put(a, &b3);
	arena_destroy(a);
}
END_TEST

/* Every second page is taken: what is left is as scattered as can be and is handed out all the
 * same, up to the length of the vector. */
START_TEST(scattered_pages_serve)
{
	static struct arena_buf pages[512];
	struct arena *a = make(2 * MIB);
	struct arena_buf buf, more;

	for (int i = 0; i < 512; i++)
		ck_assert_int_eq(arena_get(a, 4096, &pages[i]), 0);
	ck_assert_uint_eq(arena_free_bytes(a), 0);
	for (int i = 0; i < 512; i += 2) {
		stamp(&pages[i + 1], 7);
		arena_put(a, &pages[i]);
	}
	ck_assert_int_eq(arena_get(a, 256 * KIB, &buf), 0);
	check_buf(a, &buf, 256 * KIB);
	ck_assert_uint_gt(buf.n, ARENA_IOV_INLINE);
	stamp(&buf, 9);
	ck_assert_int_eq(arena_get(a, 768 * KIB, &more), 0); /* the other 192 pages */
	ck_assert_int_eq(arena_get(a, 1, &pages[0]), -EAGAIN);
	stamp(&more, 8);
	check_stamp(&buf, 9);
	arena_put(a, &buf);
	arena_put(a, &more);
	for (int i = 1; i < 512; i += 2) {
		check_stamp(&pages[i], 7);
		arena_put(a, &pages[i]);
	}
	ck_assert_uint_eq(arena_free_bytes(a), 2 * MIB);
	ck_assert_uint_eq(pool_in_use(a->vectors), 0);
	ck_assert_int_eq(arena_get(a, 2 * MIB, &buf), 0); /* whole slabs again */
	arena_put(a, &buf);
	arena_destroy(a);
}
END_TEST

/* All that is left lies in chunks of 64 KiB: pages are cut from one of them. */
START_TEST(a_large_chunk_serves_as_pages)
{
	struct arena *a = make(MIB);
	struct arena_buf large, small, rest;

	ck_assert_int_eq(arena_get(a, 960 * KIB, &large), 0);
	ck_assert_int_eq(arena_get(a, 5000, &small), 0);
	check_buf(a, &small, 5000);
	stamp(&large, 1);
	stamp(&small, 2);
	check_stamp(&large, 1);
	ck_assert_uint_eq(arena_free_bytes(a), 0); /* held whole */
	ck_assert_int_eq(arena_get(a, 1, &rest), -EAGAIN);
	arena_put(a, &small);
	ck_assert_uint_eq(arena_free_bytes(a), 64 * KIB);
	arena_put(a, &large);
	ck_assert_uint_eq(arena_free_bytes(a), MIB);
	arena_destroy(a);
}
END_TEST

/* More pieces than a vector holds: refused, and nothing stays behind. */
START_TEST(vector_is_bounded)
{
	static struct arena_buf pages[1024];
	struct arena *a = make(4 * MIB);
	struct arena_buf buf;

	for (int i = 0; i < 1024; i++)
		ck_assert_int_eq(arena_get(a, 4096, &pages[i]), 0);
	for (int i = 0; i < 1024; i += 2)
		arena_put(a, &pages[i]);
	ck_assert_int_eq(arena_get(a, 4 * KIB * (ARENA_IOV_MAX + 1), &buf), -EAGAIN);
	ck_assert_uint_eq(arena_free_bytes(a), 2 * MIB);
	ck_assert_uint_eq(pool_in_use(a->vectors), 0);
	ck_assert_int_eq(arena_get(a, 4 * KIB * ARENA_IOV_MAX, &buf), 0);
	ck_assert_uint_eq(buf.n, ARENA_IOV_MAX);
	arena_put(a, &buf);
	for (int i = 1; i < 1024; i += 2)
		arena_put(a, &pages[i]);
	arena_destroy(a);
}
END_TEST

struct wait {
	struct arena_waiter w;
	struct arena_buf buf;
	struct arena *arena;
	unsigned served; /* 1: the first that was served */
	bool put_at_once;
};

static unsigned n_served;
static bool inside_ready;

static void wait_ready(struct arena_waiter *w)
{
	struct wait *wait = container_of(w, struct wait, w);

	ck_assert(!inside_ready);
	inside_ready = true;
	wait->served = ++n_served;
	check_buf(wait->arena, &wait->buf, w->length);
	if (wait->put_at_once)
		arena_put(wait->arena, &wait->buf); /* from inside: must not serve recursively */
	inside_ready = false;
}

static void wait_for(struct arena *a, struct wait *wait, size_t length)
{
	memset(wait, 0, sizeof(*wait));
	wait->arena = a;
	wait->w.buf = &wait->buf;
	wait->w.length = length;
	wait->w.ready = wait_ready;
	arena_wait(a, &wait->w);
}

START_TEST(first_come_first_served)
{
	struct arena *a = make(2 * MIB);
	struct arena_buf b1, b2, late;
	struct wait large, small;

	n_served = 0;
	ck_assert_int_eq(arena_get(a, MIB, &b1), 0);
	ck_assert_int_eq(arena_get(a, 512 * KIB, &b2), 0);
	ck_assert_int_eq(arena_get(a, 2 * MIB, &late), -EAGAIN);
	wait_for(a, &large, 2 * MIB);
	wait_for(a, &small, 4 * KIB);
	/* Enough is free, but nobody overtakes. */
	ck_assert_int_eq(arena_get(a, 4 * KIB, &late), -EAGAIN);
	ck_assert_int_eq(arena_get(a, 0, &late), 0);
	arena_put(a, &b1);
	ck_assert_uint_eq(large.served, 0);
	ck_assert_uint_eq(small.served, 0);
	arena_put(a, &b2);
	ck_assert_uint_eq(large.served, 1);
	ck_assert_uint_eq(small.served, 0); /* nothing left for it */
	arena_put(a, &large.buf);
	ck_assert_uint_eq(small.served, 2);
	arena_put(a, &small.buf);
	ck_assert_uint_eq(arena_free_bytes(a), 2 * MIB);
	arena_destroy(a);
}
END_TEST

START_TEST(ready_may_put_at_once)
{
	static struct wait waits[100];
	struct arena *a = make(MIB);
	struct arena_buf buf;

	n_served = 0;
	ck_assert_int_eq(arena_get(a, MIB, &buf), 0);
	for (int i = 0; i < 100; i++) {
		wait_for(a, &waits[i], MIB);
		waits[i].put_at_once = true;
	}
	arena_put(a, &buf);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_uint_eq(waits[i].served, i + 1);
	ck_assert_uint_eq(arena_free_bytes(a), MIB);
	arena_destroy(a);
}
END_TEST

START_TEST(who_gives_up_is_not_served)
{
	struct arena *a = make(MIB);
	struct arena_buf buf;
	struct wait gone, stays, never = { 0 };

	n_served = 0;
	ck_assert_int_eq(arena_get(a, MIB, &buf), 0);
	wait_for(a, &gone, MIB);
	wait_for(a, &stays, 4096);
	arena_unwait(&gone.w);
	arena_unwait(&gone.w);
	arena_unwait(&never.w);
	arena_put(a, &buf);
	ck_assert_uint_eq(gone.served, 0);
	ck_assert_uint_eq(stays.served, 1);
	arena_unwait(&stays.w);
	arena_put(a, &stays.buf);
	arena_destroy(a);
}
END_TEST

/* Random lengths come and go for a while; buffers never overlap, and all comes back. */
START_TEST(random_use)
{
	static struct arena_buf bufs[64];
	static bool held[64];
	struct arena *a = make(24 * MIB);
	unsigned seed = 42;

	for (int step = 0; step < 1500; step++) {
		unsigned i = (unsigned)rand_r(&seed) % 64;
		size_t length = (size_t)1 << (unsigned)rand_r(&seed) % 23;

		if (held[i]) {
			check_stamp(&bufs[i], (uint8_t)i);
			arena_put(a, &bufs[i]);
			held[i] = false;
			continue;
		}
		length += (unsigned)rand_r(&seed) % length;
		if (arena_get(a, length, &bufs[i]) == 0) {
			check_buf(a, &bufs[i], length);
			stamp(&bufs[i], (uint8_t)i);
			held[i] = true;
		}
	}
	for (unsigned i = 0; i < 64; i++)
		if (held[i])
			arena_put(a, &bufs[i]);
	ck_assert_uint_eq(arena_free_bytes(a), 24 * MIB);
	arena_destroy(a);
}
END_TEST

UNIT_MAIN("base/arena", lengths_of_all_kinds, nothing_costs_nothing, impossible_lengths_are_refused,
	  all_or_nothing, scattered_pages_serve, a_large_chunk_serves_as_pages, vector_is_bounded,
	  first_come_first_served, ready_may_put_at_once, who_gives_up_is_not_served, random_use)
