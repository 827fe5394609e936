/* SPDX-License-Identifier: BSD-2-Clause */
/* What every store must do, each engine, cache and file system through the same tests. */
#include "tests/unit/backing/support.h"

#include <fcntl.h>

#define KIB ((uint64_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)
/* ThreadSanitizer leaves hardly more than one TiB of addresses, and not always in one piece. */
#ifdef __SANITIZE_THREAD__
#define HUGE_SIZE (TIB / 8)
#else
#define HUGE_SIZE TIB
#endif

struct variant {
	const char *name, *type, *dir, *engine;
	enum backing_cache cache;
	bool preallocate;
};

static const struct variant variants[] = {
	{ "uring buffered", "file", "/tmp", "uring", BACKING_CACHE_BUFFERED, false },
	{ "uring direct", "file", "/tmp", "uring", BACKING_CACHE_DIRECT, false },
	{ "uring direct reserved", "file", "/tmp", "uring", BACKING_CACHE_DIRECT, true },
	{ "uring tmpfs", "file", "/dev/shm", "uring", BACKING_CACHE_BUFFERED, false },
	{ "aio buffered", "file", "/tmp", "aio", BACKING_CACHE_BUFFERED, false },
	{ "aio direct", "file", "/tmp", "aio", BACKING_CACHE_DIRECT, false },
	{ "aio direct reserved", "file", "/tmp", "aio", BACKING_CACHE_DIRECT, true },
	{ "aio tmpfs", "file", "/dev/shm", "aio", BACKING_CACHE_BUFFERED, false },
	{ "offload buffered", "file", "/tmp", "offload", BACKING_CACHE_BUFFERED, false },
	{ "offload direct", "file", "/tmp", "offload", BACKING_CACHE_DIRECT, false },
	{ "ram", "ram", NULL, NULL, BACKING_CACHE_BUFFERED, false },
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

/* False where the variant is left out. */
static bool start(struct rig *r, int i, uint64_t size)
{
	const struct variant *v = &variants[i];
	struct backing_params p = { .type = v->type,
				    .size = size,
				    .create = true,
				    .preallocate = v->preallocate,
				    .cache = v->cache,
				    .engine = v->engine,
				    .block_size = 512 };

	if (v->engine && !engine_wanted(v->engine) && strcmp(v->engine, "offload") != 0)
		return false;
	if (v->cache == BACKING_CACHE_DIRECT && !has_direct_io(v->dir))
		return false;
	rig_start(r);
	if (v->dir)
		p.path = temp_path(v->dir, "store");
	rig_open(r, &p);
	if (p.path)
		unlink(p.path);
	return true;
}

static uint64_t allocated(struct rig *r)
{
	uint64_t n = 0;

	ck_assert_int_eq(backing_allocated(r->b, &n), 0);
	return n;
}

START_TEST(what_is_written_is_read)
{
	static const size_t lengths[] = { 512, 4096, 4608, 65536, 1 << 20, 5 << 20 };
	struct rig r;

	if (!start(&r, _i, 16 * MIB))
		return;
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		char *out = aligned(lengths[k]), *in = aligned(lengths[k]);
		uint64_t at = 512 * (k + 1) * 7;

		if (r.b->info.logical_block == 4096 && (lengths[k] % 4096 || at % 4096))
			at = lengths[k] % 4096 ? UINT64_MAX : 4096 * k;
		if (at != UINT64_MAX) {
			fill(out, lengths[k], k);
			ck_assert_int_eq(do_rw(&r, BACKING_WRITE, at, out, lengths[k], k & 1), 0);
			ck_assert_int_eq(do_rw(&r, BACKING_READ, at, in, lengths[k], false), 0);
			ck_assert_mem_eq(in, out, lengths[k]);
		}
		free(out);
		free(in);
	}
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	rig_end(&r);
}
END_TEST

/* Buffers as the arena hands them out, and as nobody should: 272 pieces, odd ones, empty ones. */
START_TEST(any_shape_of_buffers)
{
	enum { MAX = ARENA_IOV_MAX };
	struct iovec iov[MAX];
	struct arena_buf buf;
	size_t total = 0;
	struct rig r;
	char *out, *in;

	if (!start(&r, _i, 64 * MIB))
		return;
	out = aligned(KIB * 4 * MAX);
	in = aligned(KIB * 4 * MAX);
	fill(out, KIB * 4 * MAX, 1);
	for (int i = 0; i < MAX; i++) { /* every other piece, so that none are neighbours */
		iov[i] = (struct iovec){ out + 4 * KIB * (size_t)(MAX - 1 - i), 4 * KIB };
		total += iov[i].iov_len;
	}
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_WRITE,
							.offset = 4096,
							.length = total,
							.iov = iov,
							.iovcnt = MAX }),
			 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 4096, in, total, false), 0);
	for (int i = 0; i < MAX; i++)
		ck_assert_mem_eq(in + 4 * KIB * (size_t)i, iov[i].iov_base, 4 * KIB);

	/* Odd lengths and addresses: through a bounce buffer where direct I/O wants more. */
	iov[0] = (struct iovec){ in + 1, 100 };
	iov[1] = (struct iovec){ in + 4096, 0 };
	iov[2] = (struct iovec){ in + 8193, 8192 - 100 };
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_READ,
							.offset = 4096,
							.length = 8192,
							.iov = iov,
							.iovcnt = 3 }),
			 0);
	ck_assert_mem_eq(in + 1, out + 4 * KIB * (MAX - 1), 100);
	ck_assert_mem_eq(in + 8193, out + 4 * KIB * (MAX - 1) + 100, 4096 - 100);

	/* The arena's own, several chunks: registered memory where the engine has that. */
	ck_assert_int_eq(arena_get(r.arena, 3 * MIB + 68 * KIB, &buf), 0);
	for (unsigned i = 0; i < buf.n; i++)
		fill(buf.iov[i].iov_base, buf.iov[i].iov_len, i + 77);
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_WRITE,
							.offset = 8 * MIB,
							.length = buf.length,
							.iov = buf.iov,
							.iovcnt = buf.n }),
			 0);
	free(in);
	in = aligned(buf.length);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 8 * MIB, in, buf.length, false), 0);
	total = 0;
	for (unsigned i = 0; i < buf.n; i++) {
		ck_assert_mem_eq(in + total, buf.iov[i].iov_base, buf.iov[i].iov_len);
		memset(buf.iov[i].iov_base, 0, buf.iov[i].iov_len);
		total += buf.iov[i].iov_len;
	}
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_READ,
							.offset = 8 * MIB,
							.length = buf.length,
							.iov = buf.iov,
							.iovcnt = buf.n }),
			 0);
	total = 0;
	for (unsigned i = 0; i < buf.n; i++) {
		ck_assert_mem_eq(in + total, buf.iov[i].iov_base, buf.iov[i].iov_len);
		total += buf.iov[i].iov_len;
	}
	arena_put(r.arena, &buf);
	free(in);
	free(out);
	rig_end(&r);
}
END_TEST

START_TEST(bad_requests_are_refused)
{
	struct rig r;
	struct iovec iov;
	char *buf;

	if (!start(&r, _i, 16 * MIB))
		return;
	buf = aligned(8192);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 16 * MIB, buf, 4096, false), -EINVAL);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 16 * MIB - 4096, buf, 8192, false), -EINVAL);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, UINT64_MAX - 4095, buf, 8192, false), -EINVAL);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 4096, UINT64_MAX - 4095), -EINVAL);
	ck_assert_int_eq(do_plain(&r, BACKING_ZERO, UINT64_MAX & ~4095ull, 4096), -EINVAL);
	ck_assert_int_eq(do_plain(&r, BACKING_EXTENTS, 0, 4096), -EINVAL); /* no array */
	ck_assert_int_eq(do_plain(&r, (enum backing_kind)0, 0, 4096), -EINVAL);
	ck_assert_int_eq(do_plain(&r, (enum backing_kind)99, 0, 4096), -EINVAL);
	iov = (struct iovec){ buf, 4096 };
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_READ,
							.length = 8192,
							.iov = &iov,
							.iovcnt = 1 }),
			 -EINVAL);
	if (r.b->info.logical_block > 1)
		ck_assert_int_eq(do_plain(&r, BACKING_ZERO, 1, 511), -EINVAL);
	/* Nothing to do is done. */
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 4096, buf, 0, false), 0);
	ck_assert_int_eq(do_plain(&r, BACKING_ZERO, 16 * MIB, 0), 0);
	free(buf);
	rig_end(&r);
}
END_TEST

static void check_zeroed(struct rig *r, enum backing_kind kind, bool may_trim, bool durable)
{
	size_t n = 4 * MIB;
	char *out = aligned(n), *in = aligned(n);

	fill(out, n, 3);
	ck_assert_int_eq(do_rw(r, BACKING_WRITE, MIB, out, n, false), 0);
	/* Edges that are no multiple of anything but the sector. */
	ck_assert_int_eq(do_io(r, (struct backing_io){ .kind = kind,
						       .offset = 2 * MIB + 512,
						       .length = MIB + 1024,
						       .may_trim = may_trim,
						       .durable = durable }),
			 0);
	ck_assert_int_eq(do_rw(r, BACKING_READ, MIB, in, n, false), 0);
	ck_assert_mem_eq(in, out, MIB + 512);
	ck_assert(is_zero(in + MIB + 512, MIB + 1024));
	ck_assert_mem_eq(in + 2 * MIB + 1536, out + 2 * MIB + 1536, n - 2 * MIB - 1536);
	free(out);
	free(in);
}

START_TEST(zero_and_trim_read_as_zeros)
{
	struct rig r;

	if (!start(&r, _i, 16 * MIB))
		return;
	if (r.b->info.logical_block == 512 || r.b->info.logical_block == 1) {
		check_zeroed(&r, BACKING_ZERO, false, false);
		check_zeroed(&r, BACKING_ZERO, true, true);
		if (r.b->info.flags & BACKING_TRIM_ZEROES)
			check_zeroed(&r, BACKING_TRIM, true, true);
	}
	if (!(r.b->info.flags & BACKING_CAN_TRIM))
		ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 0, 4096), -EOPNOTSUPP);
	rig_end(&r);
}
END_TEST

/* fault-G02: space really goes back; and what is reserved stays. */
START_TEST(space_goes_back)
{
	size_t n = 8 * MIB;
	uint64_t before, full;
	struct rig r;
	char *out;

	if (!start(&r, _i, 32 * MIB))
		return;
	out = aligned(n);
	fill(out, n, 4);
	before = allocated(&r);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 4 * MIB, out, n, true), 0);
	full = allocated(&r);
	if (r.b->info.flags & BACKING_THIN) {
		ck_assert(r.b->info.flags & BACKING_CAN_TRIM);
		ck_assert_uint_lt(before, MIB);
		ck_assert_uint_ge(full, before + n);
		ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 4 * MIB, n / 2), 0);
		ck_assert_uint_le(allocated(&r), full - n / 2 + 65536);
		ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_ZERO,
								.offset = 8 * MIB,
								.length = n / 2,
								.may_trim = true }),
				 0);
		ck_assert_uint_lt(allocated(&r), MIB);
	} else {
		ck_assert_uint_ge(before, 32 * MIB);
		ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_ZERO,
								.offset = 4 * MIB,
								.length = n,
								.may_trim = true }),
				 0);
		ck_assert_uint_ge(allocated(&r), 32 * MIB);
	}
	free(out);
	rig_end(&r);
}
END_TEST

START_TEST(extents_tell_what_is_allocated)
{
	struct backing_extent e[8];
	struct try t = make_try(BACKING_EXTENTS, 0, 32 * MIB);
	uint64_t at = 0, data = 0;
	struct rig r;
	char *out;

	if (!start(&r, _i, 32 * MIB))
		return;
	out = aligned(MIB);
	fill(out, MIB, 5);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 4 * MIB, out, MIB, true), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 16 * MIB, out, MIB, true), 0);
	t.io.extents = e;
	t.io.max_extents = 8;
	try_submit(&r, &t);
	ck_assert_int_eq(try_wait(&r, &t), 0);
	for (unsigned i = 0; i < t.io.n_extents; i++) {
		ck_assert_uint_eq(e[i].offset, at);
		ck_assert_uint_gt(e[i].length, 0);
		at += e[i].length;
		data += e[i].allocated ? e[i].length : 0;
	}
	ck_assert_uint_eq(at, 32 * MIB);
	if (!(r.b->info.flags & BACKING_THIN)) {
		ck_assert_uint_eq(data, 32 * MIB);
	} else if (strcmp(r.b->ops->name, "ram") == 0) {
		/* A huge page may have come for each. */
		ck_assert_uint_ge(data, 2 * MIB);
		ck_assert_uint_le(data, 8 * MIB);
	} else {
		ck_assert_uint_eq(t.io.n_extents, 5);
		ck_assert_uint_eq(data, 2 * MIB);
		ck_assert(!e[0].allocated && e[1].allocated && e[1].offset == 4 * MIB);
	}
	/* From the middle of one, and with too small an array: the beginning, without gaps. */
	t.io.offset = 4 * MIB + 512 * KIB;
	t.io.length = 20 * MIB;
	t.io.max_extents = 1;
	try_submit(&r, &t);
	ck_assert_int_eq(try_wait(&r, &t), 0);
	ck_assert_uint_eq(t.io.n_extents, 1);
	ck_assert_uint_eq(e[0].offset, 4 * MIB + 512 * KIB);
	ck_assert(e[0].allocated);
	ck_assert_uint_le(e[0].length, 20 * MIB);
	free(out);
	rig_end(&r);
}
END_TEST

/* More than any ring or context takes, random places, each block's content tells its story. */
START_TEST(thousands_at_once)
{
	enum { N = 3000, BLOCK = 4096 };
	struct try *t;
	char *buf, *model;
	struct rig r;

	if (!start(&r, _i, (uint64_t)N * BLOCK))
		return;
	t = calloc(N, sizeof(*t));
	buf = aligned((size_t)N * BLOCK);
	model = aligned((size_t)N * BLOCK);
	fill(model, (size_t)N * BLOCK, 6);
	for (int round = 0; round < 2; round++) {
		enum backing_kind kind = round ? BACKING_READ : BACKING_WRITE;

		if (!round)
			memcpy(buf, model, (size_t)N * BLOCK);
		for (unsigned i = 0; i < N; i++) {
			unsigned place = i * 7919u % N; /* 7919 is prime to N: each once */

			t[i] = make_try(kind, (uint64_t)place * BLOCK, BLOCK);
			t[i].one = (struct iovec){ buf + (size_t)place * BLOCK, BLOCK };
			t[i].io.iov = &t[i].one;
			t[i].io.iovcnt = 1;
			try_submit(&r, &t[i]);
		}
		for (unsigned i = 0; i < N; i++)
			ck_assert_int_eq(try_wait(&r, &t[i]), 0);
		if (!round)
			memset(buf, 0, (size_t)N * BLOCK);
	}
	ck_assert_mem_eq(buf, model, (size_t)N * BLOCK);
	free(t);
	free(buf);
	free(model);
	rig_end(&r);
}
END_TEST

/* fault-E20: lengths beyond 32 bits; and others come in between the pieces. */
START_TEST(huge_trim_does_not_hold_up_others)
{
	struct try trim = make_try(BACKING_TRIM, 0, HUGE_SIZE);
	uint64_t begin, longest = 0;
	unsigned reads = 0;
	struct rig r;
	char *buf;

	if (!start(&r, _i, variants[_i].preallocate ? 16 * MIB : HUGE_SIZE))
		return;
	if (!(r.b->info.flags & BACKING_CAN_TRIM)) {
		rig_end(&r);
		return;
	}
	buf = aligned(MIB);
	fill(buf, MIB, 8);
	for (uint64_t at = 5 * GIB; at < 7 * GIB; at += 256 * MIB)
		ck_assert_int_eq(do_rw(&r, BACKING_WRITE, at, buf, MIB, true), 0);
	ck_assert_uint_ge(allocated(&r), 8 * MIB);
	begin = clock_ms();
	try_submit(&r, &trim);
	while (!trim.ended) {
		uint64_t t0 = clock_ms(), took;

		ck_assert_int_eq(do_rw(&r, BACKING_READ, 8 * GIB, buf, 4096, false), 0);
		took = clock_ms() - t0;
		longest = took > longest ? took : longest;
		reads++;
		reactor_turn(r.reactor, 0); /* an inline store's reads do not turn it */
	}
	ck_assert_int_eq(trim.io.result, 0);
	printf("%s: all trimmed in %llu ms, %u reads meanwhile, longest %llu ms\n",
	       variants[_i].name, (unsigned long long)(clock_ms() - begin), reads,
	       (unsigned long long)longest);
	ck_assert_uint_gt(reads, 1);
	ck_assert_uint_lt(allocated(&r), 4 * MIB); /* ram: where was read, a huge page of zeros */
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 5 * GIB, buf, MIB, false), 0);
	ck_assert(is_zero(buf, MIB));
	free(buf);
	rig_end(&r);
}
END_TEST

START_TEST(size_can_change)
{
	struct rig r;
	char *buf;

	if (!start(&r, _i, 8 * MIB))
		return;
	buf = aligned(4096);
	fill(buf, 4096, 9);
	ck_assert_int_eq(backing_resize(r.b, 16 * MIB), 0);
	ck_assert_uint_eq(r.b->info.size, 16 * MIB);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 16 * MIB - 4096, buf, 4096, false), 0);
	if (!(r.b->info.flags & BACKING_THIN))
		ck_assert_uint_ge(allocated(&r), 16 * MIB);
	ck_assert_int_eq(backing_resize(r.b, 8 * MIB), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 16 * MIB - 4096, buf, 4096, false), -EINVAL);
	/* What was cut off does not come back. */
	ck_assert_int_eq(backing_resize(r.b, 16 * MIB), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 16 * MIB - 4096, buf, 4096, false), 0);
	ck_assert(is_zero(buf, 4096));
	ck_assert_int_eq(backing_resize(r.b, 0), -EINVAL);
	free(buf);
	rig_end(&r);
}
END_TEST

START_TEST(map_leads_to_the_same_bytes)
{
	struct rig r;
	char *at, *buf;

	if (!start(&r, _i, 8 * MIB))
		return;
	at = backing_map(r.q, 4096, 4096, true);
	if (at) {
		buf = aligned(4096);
		fill(at, 4096, 10);
		ck_assert_int_eq(do_rw(&r, BACKING_READ, 4096, buf, 4096, false), 0);
		ck_assert_mem_eq(buf, at, 4096);
		free(buf);
	}
	ck_assert_int_eq(at != NULL, strcmp(r.b->ops->name, "ram") == 0);
	rig_end(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("store");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, what_is_written_is_read, 0, N_VARIANTS);
	tcase_add_loop_test(tc, any_shape_of_buffers, 0, N_VARIANTS);
	tcase_add_loop_test(tc, bad_requests_are_refused, 0, N_VARIANTS);
	tcase_add_loop_test(tc, zero_and_trim_read_as_zeros, 0, N_VARIANTS);
	tcase_add_loop_test(tc, space_goes_back, 0, N_VARIANTS);
	tcase_add_loop_test(tc, extents_tell_what_is_allocated, 0, N_VARIANTS);
	tcase_add_loop_test(tc, thousands_at_once, 0, N_VARIANTS);
	tcase_add_loop_test(tc, huge_trim_does_not_hold_up_others, 0, N_VARIANTS);
	tcase_add_loop_test(tc, size_can_change, 0, N_VARIANTS);
	tcase_add_loop_test(tc, map_leads_to_the_same_bytes, 0, N_VARIANTS);
	suite_add_tcase(s, tc);
	return s;
}

SUITE_COVERS("fault-E20 fault-G02");

int main(void)
{
	return run_suite(suite());
}
