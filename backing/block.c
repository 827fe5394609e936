/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `block` store: a whole disk, partition or logical volume. It is opened exclusively, so that
 * the kernel refuses one that is mounted or claimed, and mounting it later; `force` leaves that
 * out. Trimming zeroes only where the kernel guarantees it (write zeroes with unmap, asked for by
 * FALLOC_FL_PUNCH_HOLE); a device that can only discard makes no promise about the content.
 */
#include "backing/fdstore.h"
#include "backing/stores.h"
#include "backing/why.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* By what way a device was opened. */
static int open_device(const struct backing_params *p, struct fd_store *s)
{
	int common = (p->force ? 0 : O_EXCL) | (s->direct ? O_DIRECT : 0);
	int fd = fd_open_path(p, common | (p->read_only ? O_RDONLY : O_RDWR), 0);

	if (p->read_only)
		s->b.info.flags |= BACKING_READ_ONLY;
	if (fd == -EROFS || ((fd == -EACCES || fd == -EPERM) && !p->read_only)) {
		/* A write-protected device says EACCES, EPERM or EROFS, depending on the driver. */
		int reader = fd_open_path(p, common | O_RDONLY, 0);
		int protected = 0;

		if (reader >= 0 && ioctl(reader, BLKROGET, &protected) == 0 && protected) {
			s->b.info.flags |= BACKING_READ_ONLY;
			return reader;
		}
		if (reader >= 0)
			close(reader);
	}
	return fd;
}

/* A path that is no device must not be opened with O_EXCL, whose meaning is undefined there. */
static int check_path(const struct backing_params *p, char **ret_why)
{
	struct stat st;

	if (!p->path || !*p->path)
		return why(ret_why, -EINVAL, "block store: no path is given");
	if (stat(p->path, &st) < 0)
		return errno == EACCES && p->open_path
			   ? 0 /* the helper can reach what this process cannot */
			   : why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	if (!S_ISBLK(st.st_mode))
		return why(ret_why, -ENOTBLK, "%s: is not a block device; use a store of type file",
			   p->path);
	return 0;
}

static int why_not_opened(const struct backing_params *p, int rc, char **ret_why)
{
	if (rc == -EBUSY)
		return why(ret_why, rc,
			   "%s: is mounted or in use; unmount it or stop what uses it, or say "
			   "force = true",
			   p->path);
	return why(ret_why, rc, "%s: cannot be opened: %s", p->path, error_text(-rc));
}

static int set_geometry(struct fd_store *s, const struct backing_params *p, char **ret_why)
{
	struct backing_info *info = &s->b.info;
	unsigned physical = 0;
	int logical = 0;

	if (ioctl(s->fd, BLKGETSIZE64, &info->size) < 0 || ioctl(s->fd, BLKSSZGET, &logical) < 0)
		return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	info->logical_block = (uint32_t)logical;
	info->physical_block = (uint32_t)logical;
	if (ioctl(s->fd, BLKPBSZGET, &physical) == 0 && physical > info->physical_block)
		info->physical_block = physical;
	s->memory_unit = (uint32_t)logical;
	info->flags |= BACKING_VOLATILE_CACHE;
	return 0;
}

static uint64_t limit(dev_t dev, const char *name)
{
	uint64_t n = 0;

	return sysfs_block_u64(dev, name, &n) < 0 ? 0 : n;
}

/* What of the space can be given back, and in which steps: the queue's limits. */
static void set_space(struct fd_store *s, dev_t dev)
{
	struct backing_info *info = &s->b.info;
	bool writable = !(info->flags & BACKING_READ_ONLY);
	uint64_t discard = limit(dev, "queue/discard_max_bytes");
	uint64_t zeroes = limit(dev, "queue/write_zeroes_max_bytes");
	uint64_t granularity = limit(dev, "queue/discard_granularity");

	/* Write zeroes alone may write them: it counts as trimming only beside discard. */
	fd_space_setup(s, writable && discard && zeroes, writable && discard);
	if (info->flags & BACKING_CAN_TRIM) {
		info->trim_granularity = granularity && granularity <= UINT32_MAX
					     ? (uint32_t)granularity
					     : info->logical_block;
		info->trim_alignment = (uint32_t)limit(dev, "discard_alignment");
		info->flags |= BACKING_THIN;
	}
	info->max_trim = info->max_zero = FD_DEVICE_PIECE;
	if (limit(dev, "queue/rotational"))
		info->flags |= BACKING_ROTATIONAL;
}

static int set_up(struct fd_store *s, const struct backing_params *p, char **ret_why)
{
	struct stat st;
	int rc;

	if (fstat(s->fd, &st) < 0)
		return why(ret_why, -errno, "%s: %s", p->path, error_text(errno));
	if (!S_ISBLK(st.st_mode))
		return why(ret_why, -ENOTBLK, "%s: is not a block device", p->path);
	rc = p->force ? 0 : fd_lock(s->fd, s->b.info.flags & BACKING_READ_ONLY);
	if (rc < 0)
		return why(ret_why, rc,
			   "%s: is in use by another store, hawserd or qemu, which "
			   "locks it; stop that one first",
			   p->path);
	rc = set_geometry(s, p, ret_why);
	if (rc < 0)
		return rc;
	set_space(s, st.st_rdev);
	return fd_store_setup(s, p, ret_why);
}

static int block_open(const struct backing_params *p, struct backing **ret, char **ret_why)
{
	struct fd_store *s;
	int rc = check_path(p, ret_why);

	if (rc < 0)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->b.ops = &block_ops;
	s->device = s->preallocated = s->local = true;
	s->direct = p->cache == BACKING_CACHE_DIRECT;
	s->fd = open_device(p, s);
	rc = s->fd < 0 ? why_not_opened(p, s->fd, ret_why) : set_up(s, p, ret_why);
	if (rc < 0) {
		fd_store_free(s);
		return rc;
	}
	*ret = &s->b;
	return 0;
}

/* A logical volume or a disk may have grown. */
static int block_refresh(struct backing *b)
{
	struct fd_store *s = container_of(b, struct fd_store, b);
	uint64_t size;

	if (ioctl(s->fd, BLKGETSIZE64, &size) < 0)
		return -errno;
	__atomic_store_n(&b->info.size, size - size % s->block_size, __ATOMIC_RELAXED);
	return 0;
}

const struct backing_ops block_ops = {
	.name = "block",
	.open = block_open,
	.close = fd_store_close,
	.queue_open = fd_queue_open,
	.queue_close = fd_queue_close,
	.submit = fd_submit,
	.refresh = block_refresh,
};
