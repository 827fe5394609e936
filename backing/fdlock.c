/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's image locking (file-posix): byte 100 + p of the file is read-locked by who uses
 * permission p, byte 200 + p by who does not share it. Whoever opens takes its own locks first,
 * then looks whether somebody else's contradict. The locks belong to the open file description, so
 * a second store of the same process is refused too.
 */
#include "backing/fdstore.h"

#include <errno.h>
#include <fcntl.h>

enum { LOCK_USED = 100, LOCK_UNSHARED = 200 };

/* QEMU's block permissions, by bit number. */
enum { PERM_READ = 0, PERM_WRITE = 1, PERM_RESIZE = 3 };

struct lock_rule {
	int perm;
	bool reader_uses, writer_uses, unshared;
};

static const struct lock_rule rules[] = {
	{ .perm = PERM_READ, .reader_uses = true, .writer_uses = true },
	{ .perm = PERM_WRITE, .writer_uses = true, .unshared = true },
	{ .perm = PERM_RESIZE, .writer_uses = true, .unshared = true },
};

static int lock_byte(int fd, int byte)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) < 0 ? -errno : 0;
}

/* Does anybody else hold the byte? */
static bool byte_is_held(int fd, int byte)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

int fd_lock(int fd, bool read_only)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct lock_rule *r = &rules[i];
		bool uses = read_only ? r->reader_uses : r->writer_uses;
		int rc = uses ? lock_byte(fd, LOCK_USED + r->perm) : 0;

		if (!rc && r->unshared)
			rc = lock_byte(fd, LOCK_UNSHARED + r->perm);
		if (rc == -EAGAIN || rc == -EACCES)
			return -EBUSY;
		if (rc < 0) /* no locks on this file system: QEMU goes on without, too */
			return 0;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct lock_rule *r = &rules[i];
		bool uses = read_only ? r->reader_uses : r->writer_uses;

		if (uses && byte_is_held(fd, LOCK_UNSHARED + r->perm))
			return -EBUSY;
		if (r->unshared && byte_is_held(fd, LOCK_USED + r->perm))
			return -EBUSY;
	}
	return 0;
}

void fd_unlock(int fd)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	(void)fcntl(fd, F_OFD_SETLK, &all);
}
