/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/fdstore.h"

#include "daemon/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int read_u64(const char *path, uint64_t *ret)
{
	char text[32];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text_parse_u64(text, UINT64_MAX, ret);
}

int sysfs_block_u64(unsigned long long dev, const char *name, uint64_t *ret)
{
	/* A partition has no queue of its own; its disk is the folder above. */
	char path[128];
	int rc;

	rc = snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), name);
	rc = rc < (int)sizeof(path) ? read_u64(path, ret) : -ENAMETOOLONG;
	if (rc != -ENOENT)
		return rc;
	rc = snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../%s", major(dev), minor(dev),
		      name);
	return rc < (int)sizeof(path) ? read_u64(path, ret) : -ENAMETOOLONG;
}

unsigned long long sysfs_whole_disk(unsigned long long dev)
{
	char path[128], text[32], *colon;
	uint64_t n, disk_major, disk_minor;
	int fd;

	if (sysfs_block_u64(dev, "partition", &n) < 0)
		return dev;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major(dev), minor(dev));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return dev;
	n = (uint64_t)read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n >= sizeof(text))
		return dev;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	colon = strchr(text, ':');
	if (!colon)
		return dev;
	*colon = '\0';
	if (text_parse_u64(text, UINT32_MAX, &disk_major) < 0 ||
	    text_parse_u64(colon + 1, UINT32_MAX, &disk_minor) < 0)
		return dev;
	return makedev((unsigned)disk_major, (unsigned)disk_minor);
}
