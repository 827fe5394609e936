/* SPDX-License-Identifier: BSD-2-Clause */
/* The privileged helper opens what lies below the configured folders, by the kernel's own view of
 * the path, and nothing else. */
#include "config/config.h"
#include "daemon/helper.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct helper *helper;

static void start(void)
{
	char folders[200], path[200];
	struct config_daemon d = { .store_paths = folders };

	snprintf(dir, sizeof(dir), "/tmp/hawser-helper-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(folders, sizeof(folders), "/nonexistent:%s/in/:", dir);
	snprintf(path, sizeof(path), "%s/in", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/inside", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(helper_start(&d, &helper), 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void end(void)
{
	helper_stop(helper);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int ask(const char *name, int flags)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return helper_open(helper, path, flags, 0600);
}

START_TEST(below_is_opened)
{
	char c = 0;
	int fd, again;

	start();
	ck_assert_int_eq(ask("in/a", O_RDWR), -ENOENT);
	fd = ask("in/a", O_RDWR | O_CREAT | O_EXCL);
	ck_assert_int_ge(fd, 0);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	again = ask("in/a", O_RDONLY);
	ck_assert_int_ge(again, 0);
	ck_assert_int_eq(read(again, &c, 1), 1);
	ck_assert_int_eq(c, 'x');
	ck_assert_int_eq(ask("in/a", O_RDWR | O_CREAT | O_EXCL), -EEXIST);
	close(fd);
	close(again);
	end();
}
END_TEST

START_TEST(elsewhere_is_refused)
{
	char target[200], link[200];

	start();
	ck_assert_int_eq(ask("a", O_RDWR | O_CREAT | O_EXCL), -EACCES);
	ck_assert_int_eq(ask("inside/a", O_RDWR | O_CREAT | O_EXCL), -EACCES);
	ck_assert_int_eq(ask("in/../a", O_RDWR | O_CREAT | O_EXCL), -EACCES);
	ck_assert_int_eq(ask("in/", O_RDONLY), -EACCES);
	ck_assert_int_eq(helper_open(helper, "/etc/passwd", O_RDONLY, 0), -EACCES);
	ck_assert_int_eq(helper_open(helper, "passwd", O_RDONLY, 0), -EACCES);
	ck_assert_int_eq(helper_open(helper, "", O_RDONLY, 0), -EACCES);
	/* Links that lead out: of the file, and of a folder on the way. */
	snprintf(link, sizeof(link), "%s/in/link", dir);
	ck_assert_int_eq(symlink("/etc/passwd", link), 0);
	ck_assert_int_eq(ask("in/link", O_RDONLY), -EACCES);
	snprintf(target, sizeof(target), "%s/inside", dir);
	snprintf(link, sizeof(link), "%s/in/folder", dir);
	ck_assert_int_eq(symlink(target, link), 0);
	ck_assert_int_eq(ask("in/folder/a", O_RDWR | O_CREAT | O_EXCL), -EACCES);
	snprintf(target, sizeof(target), "%s/inside/a", dir);
	ck_assert_int_eq(access(target, F_OK), -1);
	/* And one to what is not there: nothing is made behind it. */
	snprintf(link, sizeof(link), "%s/in/nowhere", dir);
	ck_assert_int_eq(symlink(target, link), 0);
	ck_assert_int_eq(ask("in/nowhere", O_RDWR | O_CREAT), -EACCES);
	ck_assert_int_eq(ask("in/nowhere", O_RDWR | O_CREAT | O_EXCL), -EEXIST);
	ck_assert_int_eq(access(target, F_OK), -1);
	end();
}
END_TEST

START_TEST(only_files_and_devices)
{
	char path[200];

	start();
	snprintf(path, sizeof(path), "%s/in/d", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(ask("in/d", O_RDONLY), -EINVAL);
	snprintf(path, sizeof(path), "%s/in/fifo", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(ask("in/fifo", O_RDONLY | O_NONBLOCK), -EINVAL);
	ck_assert_int_eq(ask("in/x", O_RDWR | O_CREAT | O_TRUNC), -EACCES);
	end();
}
END_TEST

/* A path that hangs (a FIFO without a writer) must not hold those who come after. */
START_TEST(hanging_path_holds_nobody_else)
{
	char path[200];
	pid_t pid;
	int fd;

	start();
	snprintf(path, sizeof(path), "%s/in/fifo", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	pid = fork();
	if (!pid) {
		ask("in/fifo", O_RDONLY);
		_exit(0);
	}
	fd = ask("in/a", O_RDWR | O_CREAT | O_EXCL);
	ck_assert_int_ge(fd, 0);
	close(fd);
	/* The writer comes: the first is answered, too. */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	close(fd);
	end();
	ck_assert_int_gt(pid, 0);
}
END_TEST

START_TEST(too_long_is_refused)
{
	char path[5000];

	start();
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(helper_open(helper, path, O_RDONLY, 0), -ENAMETOOLONG);
	end();
}
END_TEST

UNIT_MAIN("daemon/helper", below_is_opened, elsewhere_is_refused, only_files_and_devices,
	  hanging_path_holds_nobody_else, too_long_is_refused)
