/* SPDX-License-Identifier: BSD-2-Clause */
/* A disk's requests are shared by its stores, and none is lost. */
#include "backing/admit.c"

#include "tests/unit/backing/support.h"

#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum { N = 600, BLOCK = 4096 };

static const char *const engines[] = { "uring", "aio" };

/* The requests of a file system that is on no disk are nobody's: nothing to be tried. */
static bool on_disk(void)
{
	struct statfs fs;
	bool on = statfs("/tmp", &fs) == 0 &&
		  (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC);

	if (!on)
		printf("/tmp is neither ext4 nor xfs: its disk is not tried\n");
	return on && has_direct_io("/tmp");
}

static bool start(struct rig *r, const char *engine, const char *name)
{
	struct backing_params p = { .type = "file",
				    .size = (uint64_t)N * BLOCK,
				    .create = true,
				    .preallocate = true,
				    .cache = BACKING_CACHE_DIRECT,
				    .engine = engine,
				    .block_size = 512 };

	p.path = temp_path("/tmp", name);
	rig_open(r, &p);
	unlink(p.path);
	return container_of(r->b, struct fd_store, b)->disk != NULL;
}

static struct fd_disk *disk_of(const struct rig *r)
{
	return container_of(r->b, struct fd_store, b)->disk;
}

static void submit_all(struct rig *r, struct try *t, void *buf)
{
	for (unsigned i = 0; i < N; i++) {
		t[i] = make_try(i % 2 ? BACKING_WRITE : BACKING_READ, (uint64_t)i * BLOCK, BLOCK);
		t[i].one = (struct iovec){ (char *)buf + (size_t)i * BLOCK, BLOCK };
		t[i].io.iov = &t[i].one;
		t[i].io.iovcnt = 1;
		try_submit(r, &t[i]);
	}
}

START_TEST(stores_share_the_requests_of_their_disk)
{
	struct try *t = calloc(2 * N, sizeof(*t));
	void *buf = aligned((size_t)N * BLOCK);
	struct rig a, b;
	struct fd_disk *d;

	if (!engine_wanted(engines[_i]) || !on_disk())
		goto out;
	rig_start(&a);
	b = a; /* one reactor for both */
	ck_assert(start(&a, engines[_i], "a"));
	ck_assert(start(&b, engines[_i], "b"));
	d = disk_of(&a);
	ck_assert_ptr_eq(d, disk_of(&b));
	ck_assert_uint_eq(d->users, 2);
	submit_all(&a, t, buf);
	submit_all(&b, t + N, buf);
	for (unsigned i = 0; i < 2 * N; i++) {
		ck_assert_uint_le(d->used, d->budget);
		ck_assert_int_eq(try_wait(&a, &t[i]), 0);
	}
	ck_assert_uint_eq(d->used, 0);
	rig_shut(&b);
	rig_end(&a);
	ck_assert(list_empty(&disks));
out:
	free(t);
	free(buf);
}
END_TEST

/* Others have used up the disk, and hang: what comes now is done by threads, which may wait. */
START_TEST(a_busy_disk_sends_to_threads)
{
	struct try *t = calloc(N, sizeof(*t));
	void *buf = aligned((size_t)N * BLOCK);
	struct fd_disk *d;
	struct rig r;

	if (!engine_wanted(engines[_i]) || !on_disk())
		goto out;
	rig_start(&r);
	ck_assert(start(&r, engines[_i], "a"));
	d = disk_of(&r);
	d->used = d->budget - 1; /* room for one: the others wait for it, or for a thread */
	submit_all(&r, t, buf);
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(try_wait(&r, &t[i]), 0);
	ck_assert_uint_eq(d->used, d->budget - 1);
	d->used = d->budget;
	submit_all(&r, t, buf);
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(try_wait(&r, &t[i]), 0);
	ck_assert_uint_eq(d->used, d->budget);
	/* One that is larger than the whole budget goes when nothing else does. */
	d->used = 0;
	d->max_io = 512;
	d->budget = 4;
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 0, buf, (size_t)N * BLOCK, false), 0);
	ck_assert_uint_eq(d->used, 0);
	rig_end(&r);
out:
	free(t);
	free(buf);
}
END_TEST

START_TEST(unknown_disks_have_a_budget)
{
	struct fd_disk *a, *b;

	ck_assert_int_eq(fd_disk_get(makedev(0, 12345), &a), 0);
	ck_assert_int_eq(fd_disk_get(makedev(0, 12345), &b), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_eq(a->budget, REQUESTS_UNKNOWN * 3 / 4);
	fd_disk_put(a);
	fd_disk_put(b);
	fd_disk_put(NULL);
	ck_assert(list_empty(&disks));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admit");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, stores_share_the_requests_of_their_disk, 0, 2);
	tcase_add_loop_test(tc, a_busy_disk_sends_to_threads, 0, 2);
	tcase_add_test(tc, unknown_disks_have_a_budget);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
