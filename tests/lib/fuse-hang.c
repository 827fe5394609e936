/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file system of one file, "disk", that can hang:
 *
 *   hawser-test-fuse MOUNTPOINT FOLDER
 *
 * speaks to /dev/fuse itself, so it needs no library. As long as FOLDER has a file named open,
 * read, write, fsync or flush (close), such requests are held and answered when it is gone; all
 * others go on. It mounts, stays in the foreground, and ends with SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define DISK_SIZE (16u << 20)
#define MESSAGE   (256u << 10)
#define HELD_MAX  64
#define DISK_NODE 2

static int device;
static const char *folder;
static unsigned char disk[DISK_SIZE];
static struct {
	char *request; /* NULL: free */
	const char *name;
} held[HELD_MAX];

static void answer(const struct fuse_in_header *in, int error, const void *body, size_t length)
{
	static char buffer[MESSAGE + sizeof(struct fuse_out_header)];
	struct fuse_out_header out = { .len = (unsigned)(sizeof(out) + length),
				       .error = error,
				       .unique = in->unique };

	memcpy(buffer, &out, sizeof(out));
	if (length)
		memcpy(buffer + sizeof(out), body, length);
	/* A request that was interrupted is gone: nobody waits for it. */
	if (write(device, buffer, out.len) < 0 && errno != ENOENT)
		perror("fuse");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == DISK_NODE ? S_IFREG | 0666 : S_IFDIR | 0755;
	a.size = node == DISK_NODE ? DISK_SIZE : 0;
	a.blocks = a.size / 512;
	return a;
}

static void answer_init(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = init->max_readahead,
				     .max_write = MESSAGE / 2,
				     .max_background = HELD_MAX,
				     .congestion_threshold = HELD_MAX };

	answer(in, 0, &out, sizeof(out));
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .nodeid = DISK_NODE,
				      .entry_valid = 60,
				      .attr_valid = 60,
				      .attr = attributes(DISK_NODE) };

	answer(in, strcmp(name, "disk") != 0 ? -ENOENT : 0, &out,
	       strcmp(name, "disk") != 0 ? 0 : sizeof(out));
}

static void read_disk(const struct fuse_in_header *in, const struct fuse_read_in *r)
{
	uint64_t offset = r->offset < DISK_SIZE ? r->offset : DISK_SIZE;
	uint64_t n = r->size < DISK_SIZE - offset ? r->size : DISK_SIZE - offset;

	answer(in, 0, disk + offset, n);
}

static void write_disk(const struct fuse_in_header *in, const struct fuse_write_in *w)
{
	struct fuse_write_out out = { .size = w->size };

	if (w->offset > DISK_SIZE || w->size > DISK_SIZE - w->offset) {
		answer(in, -ENOSPC, NULL, 0);
		return;
	}
	memcpy(disk + w->offset, w + 1, w->size);
	answer(in, 0, &out, sizeof(out));
}

static const char *name_of(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_OPEN:
		return "open";
	case FUSE_READ:
		return "read";
	case FUSE_WRITE:
		return "write";
	case FUSE_FSYNC:
		return "fsync";
	case FUSE_FLUSH:
		return "flush";
	default:
		return NULL;
	}
}

static void serve(const struct fuse_in_header *in)
{
	const void *body = in + 1;
	struct fuse_attr_out attr = { .attr_valid = 60, .attr = attributes(in->nodeid) };
	struct fuse_open_out open_out = { .fh = 1, .open_flags = FOPEN_DIRECT_IO };
	struct fuse_statfs_out statfs = { .st = { .bsize = 4096, .frsize = 4096, .namelen = 255 } };

	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(in, body);
		break;
	case FUSE_LOOKUP:
		look_up(in, body);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		read_disk(in, body);
		break;
	case FUSE_WRITE:
		write_disk(in, body);
		break;
	case FUSE_STATFS:
		answer(in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_FSYNC:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

static int is_to_hang(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

static void take(const char *message, size_t length)
{
	const struct fuse_in_header *in = (const void *)message;
	const char *name = name_of(in->opcode);

	for (unsigned i = 0; name && is_to_hang(name) && i < HELD_MAX; i++) {
		if (held[i].request)
			continue;
		held[i].request = malloc(length);
		if (!held[i].request)
			break;
		memcpy(held[i].request, message, length);
		held[i].name = name;
		return;
	}
	serve(in);
}

static void let_go(void)
{
	for (unsigned i = 0; i < HELD_MAX; i++) {
		char *request = held[i].request;

		if (!request || is_to_hang(held[i].name))
			continue;
		held[i].request = NULL;
		serve((const void *)request);
		free(request);
	}
}

int main(int argc, char **argv)
{
	static char message[MESSAGE + 4096] __attribute__((aligned(8)));
	struct pollfd p;
	char options[128];

	if (argc != 3)
		return 2;
	folder = argv[2];
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (device < 0 || mount("hawser-test", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("cannot mount");
		return 77;
	}
	p = (struct pollfd){ .fd = device, .events = POLLIN };
	for (;;) {
		ssize_t n;

		if (poll(&p, 1, 20) > 0) {
			n = read(device, message, sizeof(message));
			if (n < 0 && errno == ENODEV)
				return 0; /* unmounted */
			if (n >= (ssize_t)sizeof(struct fuse_in_header))
				take(message, (size_t)n);
		}
		let_go();
	}
}
