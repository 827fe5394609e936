/* SPDX-License-Identifier: BSD-2-Clause */
/* The block store on a loop device; left out, with the reason, where none can be made. */
#include "tests/unit/backing/support.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#define MIB ((uint64_t)1 << 20)

struct loop {
	int fd, file;
	char path[32], image[300];
};

/* False and says why. */
static bool loop_make(struct loop *l, uint64_t size)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n;

	l->file = -1;
	for (int attempt = 0; control >= 0 && attempt < 20; attempt++) {
		n = ioctl(control, LOOP_CTL_GET_FREE);
		if (n < 0)
			break;
		snprintf(l->path, sizeof(l->path), "/dev/loop%d", n);
		snprintf(l->image, sizeof(l->image), "%s", temp_path("/tmp", "loop"));
		l->fd = open(l->path, O_RDWR | O_CLOEXEC);
		if (l->file < 0) {
			l->file = open(l->image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			unlink(l->image);
			ck_assert_int_eq(ftruncate(l->file, (off_t)size), 0);
		}
		if (l->fd >= 0 && ioctl(l->fd, LOOP_SET_FD, l->file) == 0) {
			close(control);
			return true;
		}
		if (l->fd >= 0)
			close(l->fd); /* somebody else was quicker */
	}
	printf("no loop device can be made (%s): the block store is not tried\n",
	       strerrordesc_np(errno));
	if (control >= 0)
		close(control);
	if (l->file >= 0)
		close(l->file);
	return false;
}

static void loop_end(struct loop *l)
{
	ioctl(l->fd, LOOP_CLR_FD);
	close(l->fd);
	close(l->file);
}

static struct backing_params params(const struct loop *l)
{
	return (struct backing_params){
		.type = "block", .path = l->path, .cache = BACKING_CACHE_DIRECT, .block_size = 512
	};
}

static uint64_t image_allocated(const struct loop *l)
{
	struct stat st;

	ck_assert_int_eq(fsync(l->fd), 0);
	ck_assert_int_eq(fsync(l->file), 0);
	ck_assert_int_eq(fstat(l->file, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static const struct {
	const char *engine;
	enum backing_cache cache;
} variants[] = {
	{ "uring", BACKING_CACHE_DIRECT },
	{ "uring", BACKING_CACHE_BUFFERED },
	{ "aio", BACKING_CACHE_DIRECT },
	{ "aio", BACKING_CACHE_BUFFERED },
};

START_TEST(moves_bytes_and_gives_space_back)
{
	struct backing_params p;
	struct backing_extent e[4];
	struct try t = make_try(BACKING_EXTENTS, MIB, 8 * MIB);
	struct loop l;
	struct rig r;
	char *out, *in;

	if (!engine_wanted(variants[_i].engine) || !loop_make(&l, 32 * MIB))
		return;
	p = params(&l);
	p.engine = variants[_i].engine;
	p.cache = variants[_i].cache;
	rig_start(&r);
	rig_open(&r, &p);
	ck_assert_uint_eq(r.b->info.size, 32 * MIB);
	ck_assert_uint_eq(r.b->info.logical_block, 512);
	ck_assert(r.b->info.flags & BACKING_VOLATILE_CACHE);
	ck_assert(r.b->info.flags & BACKING_CAN_TRIM);
	ck_assert(r.b->info.flags & BACKING_TRIM_ZEROES);
	ck_assert_uint_ge(r.b->info.trim_granularity, 512);
	out = aligned(8 * MIB);
	in = aligned(8 * MIB);
	fill(out, 8 * MIB, 1);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, MIB, out, 8 * MIB, true), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, in, 8 * MIB, false), 0);
	ck_assert_mem_eq(in, out, 8 * MIB);
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	ck_assert_uint_ge(image_allocated(&l), 8 * MIB);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, MIB + 512, 6 * MIB), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, in, 8 * MIB, false), 0);
	ck_assert_mem_eq(in, out, 512);
	ck_assert(is_zero(in + 512, 6 * MIB));
	ck_assert_mem_eq(in + 6 * MIB + 512, out + 6 * MIB + 512, 2 * MIB - 512);
	ck_assert_uint_le(image_allocated(&l), 4 * MIB);
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_ZERO,
							.offset = MIB,
							.length = 8 * MIB,
							.durable = true }),
			 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, in, 8 * MIB, false), 0);
	ck_assert(is_zero(in, 8 * MIB));
	/* A device cannot say what is allocated: all of it may be. */
	t.io.extents = e;
	t.io.max_extents = 4;
	try_submit(&r, &t);
	ck_assert_int_eq(try_wait(&r, &t), 0);
	ck_assert(t.io.n_extents == 1 && e[0].allocated && e[0].length == 8 * MIB);
	free(out);
	free(in);
	rig_end(&r);
	loop_end(&l);
}
END_TEST

/* Opens, closes if it worked. */
static int attempt(const struct backing_params *p)
{
	struct backing *b;
	char *why = NULL;
	int rc;

	ck_assert_int_eq(offload_start(2), 0);
	rc = backing_open(p, &b, &why);
	if (rc == 0)
		backing_close(b);
	else
		ck_assert_ptr_nonnull(why);
	free(why);
	ck_assert(offload_stop(5000));
	return rc;
}

START_TEST(what_is_in_use_is_refused)
{
	struct backing_params p;
	struct backing *b;
	char command[400], dir[300];
	struct loop l;

	if (!loop_make(&l, 32 * MIB))
		return;
	p = params(&l);
	ck_assert_int_eq(attempt(&p), 0);
	ck_assert_int_eq(offload_start(2), 0);
	ck_assert_int_eq(backing_open(&p, &b, NULL), 0);
	ck_assert_int_eq(attempt(&p), -EBUSY); /* by another store */
	backing_close(b);
	p.block_size = 65536;
	ck_assert_int_eq(attempt(&p), 0);
	p.block_size = 512;
	snprintf(command, sizeof(command), "mkfs.ext4 -q %s >/dev/null 2>&1", l.path);
	snprintf(dir, sizeof(dir), "%s", temp_path("/tmp", "mnt"));
	if (run_shell(command) == 0 && mkdir(dir, 0700) == 0) {
		if (mount(l.path, dir, "ext4", 0, NULL) == 0) {
			ck_assert_int_eq(attempt(&p), -EBUSY); /* mounted */
			p.force = true;
			ck_assert_int_eq(attempt(&p), 0);
			p.force = false;
			ck_assert_int_eq(umount(dir), 0);
			ck_assert_int_eq(attempt(&p), 0);
		} else {
			printf("cannot mount (%s): a mounted device is not tried\n",
			       strerrordesc_np(errno));
		}
		rmdir(dir);
	}
	loop_end(&l);
}
END_TEST

START_TEST(not_a_device_is_refused)
{
	struct backing_params p = { .type = "block", .block_size = 512, .path = "/etc/passwd" };

	ck_assert_int_eq(attempt(&p), -ENOTBLK);
	p.path = "/dev/null";
	ck_assert_int_eq(attempt(&p), -ENOTBLK);
	p.path = "/nonexistent";
	ck_assert_int_eq(attempt(&p), -ENOENT);
	p.path = NULL;
	ck_assert_int_eq(attempt(&p), -EINVAL);
}
END_TEST

START_TEST(growth_is_seen)
{
	struct backing_params p;
	struct backing *b;
	struct loop l;

	if (!loop_make(&l, 16 * MIB))
		return;
	p = params(&l);
	ck_assert_int_eq(offload_start(2), 0);
	ck_assert_int_eq(backing_open(&p, &b, NULL), 0);
	ck_assert_int_eq(ftruncate(l.file, 24 * (off_t)MIB), 0);
	ck_assert_int_eq(ioctl(l.fd, LOOP_SET_CAPACITY), 0);
	ck_assert_int_eq(backing_refresh(b), 0);
	ck_assert_uint_eq(b->info.size, 24 * MIB);
	backing_close(b);
	ck_assert(offload_stop(5000));
	loop_end(&l);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("block");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, moves_bytes_and_gives_space_back, 0,
			    sizeof(variants) / sizeof(variants[0]));
	tcase_add_test(tc, what_is_in_use_is_refused);
	tcase_add_test(tc, not_a_device_is_refused);
	tcase_add_test(tc, growth_is_seen);
	suite_add_tcase(s, tc);
	return s;
}

SUITE_COVERS("fault-G11");

int main(void)
{
	return run_suite(suite());
}
