/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/logstore.h"

#include "daemon/base/bytes.h"
#include "daemon/base/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1, RECORD_MAGIC = 0x52454331 };
enum { FLAG_DURABLE = 1, FLAG_MAY_TRIM = 2, FLAG_FAILED = 4 };
/* Longer than any io of this program; a length beyond it is damage. */
#define DATA_MAX ((uint64_t)256 << 20)

struct logstore_reader {
	int fd;
	uint64_t size, at, next_number;
	char *data;
	size_t room;
};

void logstore_put_header(uint8_t to[LOGSTORE_HEADER], uint64_t size)
{
	memset(to, 0, LOGSTORE_HEADER);
	memcpy(to, "HAWSRLOG", 8);
	put_be32(to + 8, VERSION);
	put_be64(to + 16, size);
}

void logstore_put_record(uint8_t to[LOGSTORE_HEADER], const struct logstore_record *record,
			 uint32_t data_crc)
{
	memset(to, 0, LOGSTORE_HEADER);
	put_be32(to, RECORD_MAGIC);
	to[4] = (uint8_t)record->kind;
	to[5] =
	    (uint8_t)((record->durable ? FLAG_DURABLE : 0) |
		      (record->may_trim ? FLAG_MAY_TRIM : 0) | (record->failed ? FLAG_FAILED : 0));
	put_be64(to + 8, record->number);
	put_be64(to + 16, record->offset);
	put_be64(to + 24, record->length);
	put_be64(to + 32, record->covers);
	put_be32(to + 40, data_crc);
	put_be32(to + 60, crc32c_final(crc32c_update(CRC32C_INIT, to, 60)));
}

/* 1: all there, 0: the file ends before, or a negative errno. */
static int read_all(int fd, void *to, size_t length, uint64_t at)
{
	char *p = to;

	while (length) {
		ssize_t n = pread(fd, p, length, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		p += n;
		at += (uint64_t)n;
		length -= (size_t)n;
	}
	return 1;
}

int logstore_reader_open(const char *path, struct logstore_reader **ret)
{
	struct logstore_reader *r = calloc(1, sizeof(*r));
	uint8_t header[LOGSTORE_HEADER];
	int rc;

	if (!r)
		return -ENOMEM;
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	rc = r->fd < 0 ? -errno : read_all(r->fd, header, sizeof(header), 0);
	if (rc == 0 ||
	    (rc > 0 && (memcmp(header, "HAWSRLOG", 8) != 0 || get_be32(header + 8) != VERSION)))
		rc = -EPROTO;
	if (rc < 0) {
		logstore_reader_close(r);
		return rc;
	}
	r->size = get_be64(header + 16);
	logstore_rewind(r);
	*ret = r;
	return 0;
}

void logstore_reader_close(struct logstore_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r->data);
	free(r);
}

uint64_t logstore_size(const struct logstore_reader *r)
{
	return r->size;
}

void logstore_rewind(struct logstore_reader *r)
{
	r->at = LOGSTORE_HEADER;
	r->next_number = 1;
}

uint64_t logstore_position(const struct logstore_reader *r)
{
	return r->at;
}

static bool header_is_sound(const struct logstore_reader *r, const uint8_t *h)
{
	return get_be32(h) == RECORD_MAGIC && h[4] >= BACKING_READ && h[4] <= BACKING_EXTENTS &&
	       get_be32(h + 60) == crc32c_final(crc32c_update(CRC32C_INIT, h, 60)) &&
	       get_be64(h + 8) == r->next_number;
}

static int read_data(struct logstore_reader *r, uint64_t length, uint32_t crc)
{
	int rc;

	if (length > DATA_MAX)
		return 0;
	if (length > r->room) {
		char *data = realloc(r->data, length);

		if (!data)
			return -ENOMEM;
		r->data = data;
		r->room = length;
	}
	rc = read_all(r->fd, r->data, length, r->at + LOGSTORE_HEADER);
	if (rc <= 0)
		return rc;
	return crc32c_final(crc32c_update(CRC32C_INIT, r->data, length)) == crc;
}

int logstore_next(struct logstore_reader *r, struct logstore_record *ret)
{
	uint8_t h[LOGSTORE_HEADER];
	int rc = read_all(r->fd, h, sizeof(h), r->at);
	uint64_t data = 0;

	if (rc <= 0)
		return rc;
	if (!header_is_sound(r, h))
		return 0;
	if (h[4] == BACKING_WRITE) {
		data = get_be64(h + 24);
		rc = read_data(r, data, get_be32(h + 40));
		if (rc <= 0)
			return rc;
	}
	*ret = (struct logstore_record){
		.kind = (enum backing_kind)h[4],
		.durable = h[5] & FLAG_DURABLE,
		.may_trim = h[5] & FLAG_MAY_TRIM,
		.failed = h[5] & FLAG_FAILED,
		.number = r->next_number++,
		.offset = get_be64(h + 16),
		.length = get_be64(h + 24),
		.covers = get_be64(h + 32),
		.data = data ? r->data : NULL,
	};
	r->at += LOGSTORE_HEADER + data;
	return 1;
}

static int write_all(int fd, const char *p, uint64_t length, uint64_t at)
{
	while (length) {
		ssize_t n = pwrite(fd, p, length, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		at += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return 0;
}

int logstore_apply(const struct logstore_record *record, int fd)
{
	if (record->failed)
		return 0;
	switch (record->kind) {
	case BACKING_WRITE:
		return write_all(fd, record->data, record->length, record->offset);
	case BACKING_TRIM:
	case BACKING_ZERO:
		return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 (off_t)record->offset, (off_t)record->length) < 0
			   ? -errno
			   : 0;
	case BACKING_READ:
	case BACKING_FLUSH:
	case BACKING_EXTENTS:
		break;
	}
	return 0;
}

int logstore_replay(const char *path, uint64_t n, int fd)
{
	struct logstore_record record;
	struct logstore_reader *r;
	int rc = logstore_reader_open(path, &r);

	if (rc < 0)
		return rc;
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)r->size) < 0)
		rc = -errno;
	while (rc >= 0 && n--) {
		rc = logstore_next(r, &record);
		if (rc <= 0)
			break;
		rc = logstore_apply(&record, fd);
	}
	logstore_reader_close(r);
	return rc < 0 ? rc : 0;
}
