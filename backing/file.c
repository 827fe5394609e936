/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `file` store: a regular file, sparse (thin) or with its space reserved, through the page
 * cache or by direct I/O. Its size is the size of the store; its content has no format.
 */
#include "backing/fdstore.h"
#include "backing/stores.h"
#include "backing/why.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { BLOCK_DEFAULT = 4096, BLOCK_MAX = 65536, SECTOR = 512 };

/* Opens; falls back to reading on a read-only file system. *created says whether it is new. */
static int open_file(const struct backing_params *p, struct fd_store *s, bool *created)
{
	/* O_NONBLOCK: do not hang on what turns out to be a FIFO; taken back below. */
	int common = O_NONBLOCK | (p->cache == BACKING_CACHE_DIRECT ? O_DIRECT : 0);
	int fd = fd_open_path(p, common | (p->read_only ? O_RDONLY : O_RDWR), 0);

	*created = false;
	if (fd == -ENOENT && p->create && !p->read_only) {
		fd = fd_open_path(p, common | O_RDWR | O_CREAT | O_EXCL, 0600);
		*created = fd >= 0;
	}
	if (p->read_only)
		s->b.info.flags |= BACKING_READ_ONLY;
	if (fd == -EROFS) {
		fd = fd_open_path(p, common | O_RDONLY, 0);
		s->b.info.flags |= BACKING_READ_ONLY;
	}
	return fd;
}

static int why_not_opened(const struct backing_params *p, int rc, char **ret_why)
{
	if (rc == -ENOENT)
		return why(ret_why, rc, "%s: does not exist; create it, or say create = true",
			   p->path);
	if (rc == -EINVAL && p->cache == BACKING_CACHE_DIRECT)
		return why(ret_why, rc, "%s: its file system has no direct I/O; use cache buffered",
			   p->path);
	return why(ret_why, rc, "%s: cannot be opened: %s", p->path, error_text(-rc));
}

/*
 * File systems that wait for nobody but a disk of this machine, and whose RWF_NOWAIT holds. On
 * others (FUSE, NFS, what is not known) a server may stop answering: for direct I/O io_uring_enter
 * was seen to wait for a FUSE server, on 6.18.
 */
static bool is_local(long type)
{
	static const unsigned long locals[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
						BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC };

	for (size_t i = 0; i < sizeof(locals) / sizeof(locals[0]); i++)
		if ((unsigned long)type == locals[i])
			return true;
	return false;
}

static int check_kind(struct fd_store *s, const struct backing_params *p, char **ret_why)
{
	struct statfs fs;
	struct stat st;
	int flags = fcntl(s->fd, F_GETFL);

	if (fstat(s->fd, &st) < 0)
		return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	if (S_ISBLK(st.st_mode))
		return why(ret_why, -EINVAL, "%s: is a block device; use a store of type block",
			   p->path);
	if (!S_ISREG(st.st_mode))
		return why(ret_why, -EINVAL, "%s: is not a regular file; name one", p->path);
	if (flags < 0 || fcntl(s->fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	if (fstatfs(s->fd, &fs) == 0) {
		s->memory = fs.f_type == TMPFS_MAGIC;
		s->local = is_local(fs.f_type);
	}
	return 0;
}

/* Memory and offset alignment of direct I/O, by asking the kernel (6.1) or by trying. */
static int direct_alignment(struct fd_store *s, uint32_t *ret_memory, uint32_t *ret_offset)
{
	struct statx st;
	void *buf = NULL;
	int rc = -EINVAL;

	if (statx(s->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
	    (st.stx_mask & STATX_DIOALIGN)) {
		*ret_memory = st.stx_dio_mem_align;
		*ret_offset = st.stx_dio_offset_align;
		return st.stx_dio_offset_align ? 0 : -EINVAL;
	}
	if (posix_memalign(&buf, BLOCK_DEFAULT, BLOCK_DEFAULT))
		return -ENOMEM;
	for (uint32_t unit = SECTOR; rc < 0 && unit <= BLOCK_DEFAULT; unit *= 8)
		if (pread(s->fd, buf, unit, 0) >= 0) {
			*ret_memory = *ret_offset = unit;
			rc = 0;
		}
	free(buf);
	return rc;
}

static int set_geometry(struct fd_store *s, const struct backing_params *p, char **ret_why)
{
	uint32_t memory = SECTOR, offset = SECTOR;
	struct stat st;
	uint64_t n;

	if (fstat(s->fd, &st) < 0)
		return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	if (s->direct && direct_alignment(s, &memory, &offset) < 0)
		return why(ret_why, -EINVAL,
			   "%s: its file system has no direct I/O; use cache buffered", p->path);
	n = (uint64_t)st.st_blksize;
	if (n < SECTOR || n > BLOCK_MAX || (n & (n - 1)))
		n = BLOCK_DEFAULT;
	s->memory_unit = memory;
	s->b.info.size = (uint64_t)st.st_size;
	s->b.info.logical_block = offset < SECTOR ? SECTOR : offset;
	s->b.info.physical_block = (uint32_t)n;
	if (n < s->b.info.logical_block)
		s->b.info.physical_block = s->b.info.logical_block;
	s->b.info.flags |= BACKING_VOLATILE_CACHE;
	if (!sysfs_block_u64(st.st_dev, "queue/rotational", &n) && n)
		s->b.info.flags |= BACKING_ROTATIONAL;
	return 0;
}

static int reserve(int fd, uint64_t size)
{
	int rc;

	do
		rc = fallocate(fd, 0, 0, (off_t)size);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

/* A new file is there after a crash only if its folder was synced. */
static void sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd); /* not every file system can; the file itself is synced */
		close(fd);
	}
	free(folder);
}

static int grow(struct fd_store *s, const struct backing_params *p, bool created, char **ret_why)
{
	bool writable = !(s->b.info.flags & BACKING_READ_ONLY);
	struct stat st;
	int rc;

	if (fstat(s->fd, &st) < 0)
		return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	if (created && !p->size)
		return why(ret_why, -EINVAL, "%s: does not exist and no size is given", p->path);
	if (p->create && writable && (uint64_t)st.st_size < p->size) {
		if (ftruncate(s->fd, (off_t)p->size) < 0)
			return why(ret_why, -errno, "%s: cannot grow it: %s", p->path,
				   error_text(errno));
		st.st_size = (off_t)p->size;
	}
	if (p->preallocate && writable && st.st_size) {
		rc = reserve(s->fd, (uint64_t)st.st_size);
		if (rc < 0)
			return why(ret_why, rc, "%s: cannot reserve %lld bytes: %s%s", p->path,
				   (long long)st.st_size, error_text(-rc),
				   rc == -EOPNOTSUPP ? "; use a thin one (preallocate = false)"
						     : "; free space or use a thin one");
	}
	if (created) {
		if (fsync(s->fd) < 0)
			return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
		sync_folder(p->path);
	}
	return 0;
}

/* Punching beyond the end changes nothing and tells whether the file system can. */
static bool can_punch(const struct fd_store *s)
{
	return fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)s->b.info.size,
			 BLOCK_DEFAULT) == 0;
}

static void set_space(struct fd_store *s)
{
	bool read_only = s->b.info.flags & BACKING_READ_ONLY;

	fd_space_setup(s, !read_only && can_punch(s), false);
	if (!s->preallocated)
		s->b.info.flags |= BACKING_THIN;
	if (s->b.info.flags & BACKING_CAN_TRIM)
		s->b.info.trim_granularity = s->b.info.physical_block;
	s->b.info.max_trim = s->b.info.max_zero = FD_HOLE_PIECE;
}

static int set_up(struct fd_store *s, const struct backing_params *p, bool created, char **ret_why)
{
	int rc = check_kind(s, p, ret_why);

	if (rc < 0)
		return rc;
	rc = fd_lock(s->fd, s->b.info.flags & BACKING_READ_ONLY);
	if (rc < 0)
		return why(ret_why, rc,
			   "%s: is in use by another store, hawserd or qemu, which locks it; "
			   "stop that one first",
			   p->path);
	rc = grow(s, p, created, ret_why);
	if (!rc)
		rc = set_geometry(s, p, ret_why);
	if (!rc)
		set_space(s);
	return rc < 0 ? rc : fd_store_setup(s, p, ret_why);
}

static int file_open(const struct backing_params *p, struct backing **ret, char **ret_why)
{
	struct fd_store *s;
	bool created;
	int rc;

	if (!p->path || !*p->path)
		return why(ret_why, -EINVAL, "file store: no path is given");
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->b.ops = &file_ops;
	s->direct = p->cache == BACKING_CACHE_DIRECT;
	s->preallocated = p->preallocate;
	s->fd = open_file(p, s, &created);
	rc = s->fd < 0 ? why_not_opened(p, s->fd, ret_why) : set_up(s, p, created, ret_why);
	if (rc < 0) {
		if (created)
			unlink(p->path); /* it was not there before, and nothing is in it */
		fd_store_free(s);
		return rc;
	}
	*ret = &s->b;
	return 0;
}

static void set_size(struct backing *b, uint64_t size)
{
	__atomic_store_n(&b->info.size, size, __ATOMIC_RELAXED);
}

static int file_refresh(struct backing *b)
{
	struct fd_store *s = container_of(b, struct fd_store, b);
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return -errno;
	set_size(b, (uint64_t)st.st_size - (uint64_t)st.st_size % s->block_size);
	return 0;
}

static int file_allocated(struct backing *b, uint64_t *ret)
{
	struct fd_store *s = container_of(b, struct fd_store, b);
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return -errno;
	*ret = (uint64_t)st.st_blocks * SECTOR;
	return 0;
}

/* What a user without privileges would get: the rest is for the administrator's rescue. */
static int file_space(struct backing *b, uint64_t *ret_total, uint64_t *ret_free)
{
	struct fd_store *s = container_of(b, struct fd_store, b);
	struct statvfs fs;

	if (fstatvfs(s->fd, &fs) < 0)
		return -errno;
	*ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
	*ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	return 0;
}

static int file_resize(struct backing *b, uint64_t size)
{
	struct fd_store *s = container_of(b, struct fd_store, b);
	int rc;

	if (!size || size % s->block_size || size > (uint64_t)INT64_MAX)
		return -EINVAL;
	if (b->info.flags & BACKING_READ_ONLY)
		return -EROFS;
	if (size < b->info.size) /* nobody may reach what is about to go */
		set_size(b, size);
	if (ftruncate(s->fd, (off_t)size) < 0)
		return -errno;
	rc = s->preallocated ? reserve(s->fd, size) : 0;
	if (!rc)
		rc = fd_sync_result(s, &(const struct backing_io){ .kind = BACKING_FLUSH },
				    fsync(s->fd) < 0 ? -errno : 0);
	if (!rc)
		set_size(b, size);
	return rc;
}

const struct backing_ops file_ops = {
	.name = "file",
	.open = file_open,
	.close = fd_store_close,
	.queue_open = fd_queue_open,
	.queue_close = fd_queue_close,
	.submit = fd_submit,
	.refresh = file_refresh,
	.allocated = file_allocated,
	.space = file_space,
	.resize = file_resize,
};
