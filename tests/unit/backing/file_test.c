/* SPDX-License-Identifier: BSD-2-Clause */
/* What only the file store does: making, sizes, locks against others, full file systems. */
#include "tests/unit/backing/support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MIB ((uint64_t)1 << 20)

static struct backing_params params(const char *path)
{
	return (struct backing_params){ .type = "file",
					.path = path,
					.size = 4 * MIB,
					.create = true,
					.cache = BACKING_CACHE_BUFFERED,
					.engine = engine_wanted("uring") ? NULL : "aio",
					.block_size = 512 };
}

/* Opens, and if that works closes again. The reason must name the path when it fails. */
static int attempt(const struct backing_params *p)
{
	struct backing *b = NULL;
	char *why = NULL;
	int rc;

	ck_assert_int_eq(offload_start(2), 0);
	rc = backing_open(p, &b, &why);
	if (rc < 0) {
		ck_assert_ptr_null(b);
		ck_assert_ptr_nonnull(why);
		if (p->path && *p->path)
			ck_assert_msg(strstr(why, p->path), "\"%s\" lacks the path", why);
	} else {
		ck_assert_ptr_null(why);
	}
	free(why);
	backing_close(b);
	ck_assert(offload_stop(5000));
	return rc;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

START_TEST(is_made_only_when_asked)
{
	const char *path = temp_path("/tmp", "made");
	struct backing_params p = params(path);

	p.create = false;
	ck_assert_int_eq(attempt(&p), -ENOENT);
	p.create = true;
	p.size = 0;
	ck_assert_int_eq(attempt(&p), -EINVAL);
	ck_assert_int_eq(size_of(path), -1); /* nothing is left behind */
	p.size = 4 * MIB;
	ck_assert_int_eq(attempt(&p), 0);
	ck_assert_int_eq(size_of(path), 4 * (off_t)MIB);
	p.size = 8 * MIB;
	ck_assert_int_eq(attempt(&p), 0);
	ck_assert_int_eq(size_of(path), 8 * (off_t)MIB); /* grown */
	p.size = 4 * MIB;
	ck_assert_int_eq(attempt(&p), 0);
	ck_assert_int_eq(size_of(path), 8 * (off_t)MIB); /* never shrunk */
	p.create = false;
	ck_assert_int_eq(attempt(&p), 0);
	unlink(path);
}
END_TEST

START_TEST(refusals_say_why)
{
	const char *path = temp_path("/tmp", "refused");
	struct backing_params p = params(path);
	int fd;

	ck_assert_int_eq(attempt(&p), 0);
	ck_assert_int_eq(truncate(path, 4 * (off_t)MIB + 512), 0);
	p.create = false;
	p.size = 0;
	p.block_size = 4096;
	ck_assert_int_eq(attempt(&p), -EINVAL); /* size and block size */
	p.block_size = 512;
	ck_assert_int_eq(attempt(&p), 0);
	p.engine = "nonesuch";
	ck_assert_int_eq(attempt(&p), -ENOTSUP);
	p.engine = "aio";
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert_int_eq(attempt(&p), -EINVAL); /* empty */
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	p.read_only = true; /* opening a FIFO for reading must not hang */
	ck_assert_int_eq(attempt(&p), -EINVAL);
	unlink(path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_lt(attempt(&p), 0);
	rmdir(path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	unlink(path);
	p = params("");
	ck_assert_int_eq(attempt(&p), -EINVAL);
	p = params(path);
	p.block_size = 513;
	p.path = NULL;
	ck_assert_int_eq(attempt(&p), -EINVAL);
	p = params(NULL);
	p.type = "tape";
	ck_assert_int_eq(attempt(&p), -EINVAL);
}
END_TEST

START_TEST(one_writer_any_readers)
{
	const char *path = temp_path("/tmp", "lock");
	struct backing_params writer = params(path), reader = params(path);
	struct backing *a = NULL, *b = NULL;
	char *why = NULL;

	reader.read_only = true;
	reader.create = false;
	ck_assert_int_eq(offload_start(2), 0);
	ck_assert_int_eq(backing_open(&writer, &a, &why), 0);
	ck_assert_int_eq(attempt(&writer), -EBUSY);
	ck_assert_int_eq(attempt(&reader), -EBUSY);
	backing_close(a);
	ck_assert_int_eq(backing_open(&reader, &a, &why), 0);
	ck_assert_int_eq(backing_open(&reader, &b, &why), 0);
	ck_assert(a->info.flags & BACKING_READ_ONLY);
	ck_assert_int_eq(attempt(&writer), -EBUSY);
	backing_close(a);
	ck_assert_int_eq(attempt(&writer), -EBUSY);
	backing_close(b);
	ck_assert_int_eq(attempt(&writer), 0);
	ck_assert(offload_stop(5000));
	unlink(path);
}
END_TEST

/* Runs words with the path between them in a shell; its exit status. */
static int shell(const char *before, const char *path, const char *after)
{
	char command[512];

	snprintf(command, sizeof(command), "%s%s%s", before, path, after);
	return run_shell(command);
}

/* Each refuses the other: the lock bytes are QEMU's. */
START_TEST(qemu_and_we_refuse_each_other)
{
	const char *path = temp_path("/tmp", "qemu");
	struct backing_params p = params(path);
	struct backing *b = NULL;
	char *why = NULL;
	FILE *qemu;
	char line[300], command[700];

	if (shell("command -v qemu-io >/dev/null", "", "") != 0) {
		printf("qemu-io is not installed: its locks are not tried\n");
		return;
	}
	ck_assert_int_eq(offload_start(2), 0);
	ck_assert_int_eq(backing_open(&p, &b, &why), 0);
	ck_assert_int_ne(shell("qemu-io -f raw -c 'read 0 512' ", path, " >/dev/null 2>&1"), 0);
	backing_close(b);
	ck_assert_int_eq(shell("qemu-io -f raw -c 'read 0 512' ", path, " >/dev/null 2>&1"), 0);

	/* It holds the file open until its input ends. */
	snprintf(command, sizeof(command),
		 "{ echo 'read 0 512'; read -r _ < %s.go; } 2>/dev/null | qemu-io -f raw %s 2>&1",
		 path, path);
	snprintf(line, sizeof(line), "%s.go", path);
	ck_assert_int_eq(mkfifo(line, 0600), 0);
	qemu = popen(command, "r");
	ck_assert_ptr_nonnull(qemu);
	while (fgets(line, sizeof(line), qemu) && !strstr(line, "512"))
		;
	ck_assert_int_eq(attempt(&p), -EBUSY);
	ck_assert_int_eq(shell("echo go > ", path, ".go"), 0);
	pclose(qemu);
	ck_assert_int_eq(attempt(&p), 0);
	snprintf(line, sizeof(line), "%s.go", path);
	unlink(line);
	unlink(path);
}
END_TEST

/* A full file system is ENOSPC, whatever the verb and the engine; reads go on. */
START_TEST(full_is_enospc)
{
	static const char *const engines[] = { "uring", "aio" };
	const char *path = temp_path("/tmp", "limit");
	struct backing_params p = params(path);
	char dir[300];
	struct rig r;
	char *buf;
	int rc = 0;

	if (!engine_wanted(engines[_i]))
		return;
	snprintf(dir, sizeof(dir), "%s.d", path);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	if (mount("none", dir, "tmpfs", 0, "size=8m") < 0) {
		printf("no tmpfs can be mounted (%s): a full one is not tried\n",
		       strerrordesc_np(errno));
		rmdir(dir);
		return;
	}
	snprintf(dir, sizeof(dir), "%s.d/file", path);
	p.path = dir;
	p.size = 64 * MIB;
	p.engine = engines[_i];
	rig_start(&r);
	rig_open(&r, &p);
	buf = aligned(MIB);
	fill(buf, MIB, 1);
	for (uint64_t at = 0; !rc && at < 64 * MIB; at += MIB)
		rc = do_rw(&r, BACKING_WRITE, at, buf, MIB, false);
	ck_assert_int_eq(rc, -ENOSPC);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, buf, MIB, false), 0);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 0, 2 * MIB), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 0, buf, MIB, false), 0);
	free(buf);
	rig_end(&r);
	p.preallocate = true;
	ck_assert_int_eq(attempt(&p), -ENOSPC);
	snprintf(dir, sizeof(dir), "%s.d", path);
	ck_assert_int_eq(umount(dir), 0);
	rmdir(dir);
}
END_TEST

/* A file that becomes shorter behind our back is an error, not a hang and not stale data. */
START_TEST(a_cut_file_is_an_error)
{
	static const struct {
		const char *engine;
		enum backing_cache cache;
	} v[] = { { "uring", BACKING_CACHE_BUFFERED },
		  { "uring", BACKING_CACHE_DIRECT },
		  { "aio", BACKING_CACHE_BUFFERED },
		  { "aio", BACKING_CACHE_DIRECT } };
	const char *path = temp_path("/tmp", "cut");
	struct backing_params p = params(path);
	struct rig r;
	char *buf;

	if (!engine_wanted(v[_i].engine) ||
	    (v[_i].cache == BACKING_CACHE_DIRECT && !has_direct_io("/tmp")))
		return;
	p.engine = v[_i].engine;
	p.cache = v[_i].cache;
	rig_start(&r);
	rig_open(&r, &p);
	buf = aligned(8192);
	ck_assert_int_eq(truncate(path, MIB + 4096), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, buf, 8192, false), -EIO);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 2 * MIB, buf, 8192, false), -EIO);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, buf, 4096, false), 0);
	ck_assert_int_eq(backing_refresh(r.b), 0);
	ck_assert_uint_eq(r.b->info.size, MIB + 4096);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, MIB, buf, 8192, false), -EINVAL);
	ck_assert_int_eq(truncate(path, 8 * MIB + 100), 0);
	ck_assert_int_eq(backing_refresh(r.b), 0);
	ck_assert_uint_eq(r.b->info.size, 8 * MIB);
	free(buf);
	rig_end(&r);
	unlink(path);
}
END_TEST

/* Whatever a read-only store is asked to change it refuses. */
START_TEST(read_only_is_kept)
{
	const char *path = temp_path("/tmp", "ro");
	struct backing_params p = params(path);
	char buf[512] = { 0 };
	struct rig r;

	ck_assert_int_eq(attempt(&p), 0);
	p.read_only = true;
	rig_start(&r);
	rig_open(&r, &p);
	ck_assert(r.b->info.flags & BACKING_READ_ONLY);
	ck_assert(!(r.b->info.flags & BACKING_CAN_TRIM));
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 0, buf, 512, false), -EROFS);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, 0, 512), -EROFS);
	ck_assert_int_eq(do_plain(&r, BACKING_ZERO, 0, 512), -EROFS);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 0, buf, 512, false), 0);
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	ck_assert_int_eq(backing_resize(r.b, 8 * MIB), -EROFS);
	rig_end(&r);
	unlink(path);
}
END_TEST

/* The privileged helper opens for us. */
struct opener {
	unsigned calls;
	int answer; /* 0: really open */
};

static int open_for_us(void *arg, const char *path, int flags, unsigned mode)
{
	struct opener *o = arg;
	int fd;

	o->calls++;
	if (o->answer)
		return o->answer;
	fd = open(path, flags, mode);
	return fd < 0 ? -errno : fd;
}

START_TEST(paths_are_opened_by_the_hook)
{
	struct backing_params p = params(temp_path("/tmp", "hook"));
	struct opener o = { 0 };

	p.open_path = open_for_us;
	p.open_arg = &o;
	ck_assert_int_eq(attempt(&p), 0);
	ck_assert_uint_eq(o.calls, 2); /* is it there? then made */
	o.answer = -EACCES;
	ck_assert_int_eq(attempt(&p), -EACCES);
	unlink(p.path);
}
END_TEST

START_TEST(no_descriptor_is_lost)
{
	struct backing_params p = params(temp_path("/tmp", "fds"));
	int before = dup(0), after;

	ck_assert_int_ge(before, 0);
	close(before);
	for (int i = 0; i < 100; i++) {
		p.block_size = i & 1 ? 512 : 65536;
		p.size = i & 1 ? 4 * MIB + 512 : 4 * MIB;
		(void)attempt(&p);
	}
	after = dup(0);
	ck_assert_int_eq(after, before);
	close(after);
	unlink(p.path);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("file");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, is_made_only_when_asked);
	tcase_add_test(tc, refusals_say_why);
	tcase_add_test(tc, one_writer_any_readers);
	tcase_add_test(tc, qemu_and_we_refuse_each_other);
	tcase_add_loop_test(tc, full_is_enospc, 0, 2);
	tcase_add_loop_test(tc, a_cut_file_is_an_error, 0, 4);
	tcase_add_test(tc, read_only_is_kept);
	tcase_add_test(tc, paths_are_opened_by_the_hook);
	tcase_add_test(tc, no_descriptor_is_lost);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
