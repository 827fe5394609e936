/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal: see journal.h.
 *
 * Format: "hawser-journal 1\n", then for each file "write PATH LENGTH\n" and LENGTH bytes, or
 * "remove PATH\n", and at the end "end CRC32C\n" over all before. Written as "journal.new",
 * fsynced, renamed to "journal", folder fsynced: from then on it counts.
 */
#include "daemon/journal.h"
#include "daemon/base/crc32c.h"
#include "daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL     "journal"
#define JOURNAL_NEW "journal.new"
#define MAGIC       "hawser-journal 1\n"
#define FILE_MAX    (64u << 20)

static int fsync_folder(int dirfd, const struct state_sys *sys, const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[160];
	int fd, r;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	fd = sys->open(sys->arg, dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = sys->fsync(sys->arg, fd) ? -errno : 0;
	sys->close(sys->arg, fd);
	return r;
}

static int write_all(const struct state_sys *sys, int fd, const char *data, size_t length)
{
	while (length) {
		long n = sys->write(sys->arg, fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		length -= (size_t)n;
	}
	return 0;
}

/* New, whole and durable under a name that nobody reads yet. */
static int write_new(int dirfd, const struct state_sys *sys, const char *path, const char *data,
		     size_t length)
{
	int fd = sys->open(sys->arg, dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(sys, fd, data, length);
	if (!r && sys->fsync(sys->arg, fd))
		r = -errno;
	if (sys->close(sys->arg, fd) && !r)
		r = -errno;
	return r;
}

static int replace_file(int dirfd, const struct state_sys *sys, const char *path, const char *text,
			size_t length)
{
	char new_path[sizeof(((struct journal_entry *)0)->path) + 8];
	int r;

	snprintf(new_path, sizeof(new_path), "%s.new", path);
	r = write_new(dirfd, sys, new_path, text, length);
	if (!r && sys->rename(sys->arg, dirfd, new_path, path))
		r = -errno;
	if (!r)
		r = fsync_folder(dirfd, sys, path);
	return r;
}

static int remove_file(int dirfd, const struct state_sys *sys, const char *path)
{
	if (sys->unlink(sys->arg, dirfd, path) && errno != ENOENT)
		return -errno;
	return fsync_folder(dirfd, sys, path);
}

static char *journal_text(const struct journal_entry *entries, unsigned n, size_t *ret_length)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	uint32_t crc;

	if (!f)
		return NULL;
	fputs(MAGIC, f);
	for (unsigned i = 0; i < n; i++) {
		if (entries[i].text)
			fprintf(f, "write %s %zu\n%s", entries[i].path, strlen(entries[i].text),
				entries[i].text);
		else
			fprintf(f, "remove %s\n", entries[i].path);
	}
	if (fflush(f)) {
		fclose(f);
		free(text);
		return NULL;
	}
	crc = crc32c_final(crc32c_update(CRC32C_INIT, text, length));
	fprintf(f, "end %08x\n", crc);
	if (ferror(f) | fclose(f)) {
		free(text);
		return NULL;
	}
	*ret_length = length;
	return text;
}

int journal_write(int dirfd, const struct state_sys *sys, const struct journal_entry *entries,
		  unsigned n, bool *ret_decided)
{
	size_t length;
	char *text;
	int r;

	*ret_decided = false;
	text = journal_text(entries, n, &length);
	if (!text)
		return -ENOMEM;
	r = write_new(dirfd, sys, JOURNAL_NEW, text, length);
	free(text);
	if (r)
		return r;
	if (sys->rename(sys->arg, dirfd, JOURNAL_NEW, JOURNAL))
		return -errno;
	/* The name may or may not be on the disk if this fails: it is taken back, so that a crash
	 * cannot bring about what was refused. */
	r = fsync_folder(dirfd, sys, JOURNAL);
	if (r) {
		sys->unlink(sys->arg, dirfd, JOURNAL);
		return r;
	}
	*ret_decided = true;
	for (unsigned i = 0; i < n; i++) {
		r = entries[i].text ? replace_file(dirfd, sys, entries[i].path, entries[i].text,
						   strlen(entries[i].text))
				    : remove_file(dirfd, sys, entries[i].path);
		if (r)
			return r;
	}
	return journal_forget(dirfd, sys);
}

/* Not fsynced: should the name come back after a crash, it says what the files say already, or the
 * next change has renamed its own journal over it. */
int journal_forget(int dirfd, const struct state_sys *sys)
{
	if (sys->unlink(sys->arg, dirfd, JOURNAL) && errno != ENOENT)
		return -errno;
	return 0;
}

int journal_read_file(int dirfd, const char *path, char **ret, size_t *ret_length)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	size_t got = 0;
	char *text;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		close(fd);
		return -EINVAL;
	}
	text = malloc((size_t)st.st_size + 1);
	while (text && got < (size_t)st.st_size) {
		ssize_t n = read(fd, text + got, (size_t)st.st_size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	close(fd);
	if (!text)
		return -ENOMEM;
	if (got != (size_t)st.st_size) {
		free(text);
		return -EIO;
	}
	text[got] = '\0';
	*ret = text;
	*ret_length = got;
	return 0;
}

/* Whole and unaltered? Sets *ret_end to where its last line begins. */
static bool journal_is_whole(const char *text, size_t length, size_t *ret_end)
{
	const size_t tail = sizeof("end 01234567\n") - 1;
	uint32_t crc;
	char *after;

	if (length < sizeof(MAGIC) - 1 + tail || strlen(text) != length ||
	    strncmp(text, MAGIC, sizeof(MAGIC) - 1) != 0)
		return false;
	*ret_end = length - tail;
	if (strncmp(text + *ret_end, "end ", 4) != 0)
		return false;
	crc = (uint32_t)strtoul(text + *ret_end + 4, &after, 16);
	return after == text + length - 1 &&
	       crc == crc32c_final(crc32c_update(CRC32C_INIT, text, *ret_end));
}

/* A path that the journal may name: "folder/name", nothing that leads elsewhere. */
static bool path_is_good(const char *path)
{
	const char *slash = strchr(path, '/');

	return path[0] != '/' && path[0] != '.' && slash && !strchr(slash + 1, '/') &&
	       slash[1] != '.' && slash[1];
}

/* "write PATH LENGTH" and its text, or "remove PATH"; *at moves behind it. */
static int replay_entry(int dirfd, const struct state_sys *sys, const char **at, const char *end)
{
	const char *line = *at, *text = memchr(line, '\n', (size_t)(end - line));
	bool writes = !strncmp(line, "write ", 6);
	size_t skip = writes ? 6 : 7, n;
	unsigned long length;
	char path[152], *after;

	if (!text || (!writes && strncmp(line, "remove ", 7) != 0))
		return -EINVAL;
	n = strcspn(line + skip, " \n");
	if (n >= sizeof(path))
		return -EINVAL;
	memcpy(path, line + skip, n);
	path[n] = '\0';
	if (!path_is_good(path))
		return -EINVAL;
	*at = ++text;
	if (!writes)
		return remove_file(dirfd, sys, path);
	length = strtoul(line + skip + n, &after, 10);
	if (after != text - 1 || length > (size_t)(end - text))
		return -EINVAL;
	*at = text + length;
	return replace_file(dirfd, sys, path, text, length);
}

int journal_replay(int dirfd, const struct state_sys *sys, unsigned *ret_replayed)
{
	size_t length = 0, end = 0;
	const char *at;
	char *text = NULL;
	int r;

	*ret_replayed = 0;
	if (sys->unlink(sys->arg, dirfd, JOURNAL_NEW) && errno != ENOENT)
		return -errno;
	r = journal_read_file(dirfd, JOURNAL, &text, &length);
	if (r)
		return r == -ENOENT ? 0 : r;
	if (!journal_is_whole(text, length, &end)) {
		free(text);
		return -EBADMSG;
	}
	at = text + sizeof(MAGIC) - 1;
	while (!r && at < text + end) {
		r = replay_entry(dirfd, sys, &at, text + end);
		(*ret_replayed)++;
	}
	free(text);
	return r ? r : journal_forget(dirfd, sys);
}
