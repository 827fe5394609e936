/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic change of several files in one folder tree. The wanted contents are first written to one
 * journal file; once that is durable the change has happened, and what is missing of it is carried
 * out, now or at the next start.
 *
 * Threads: blocking; one thread at a time for one folder. Ownership: entries are the caller's.
 */
#ifndef HAWSER_DAEMON_JOURNAL_H
#define HAWSER_DAEMON_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

struct state_sys;

struct journal_entry {
	char path[160]; /* relative: "lus/1f00..." */
	char *text;     /* NULL: the file is removed */
};

/* Makes the files so. 0, or a negative errno: nothing has happened (call journal_forget before the
 * next change), unless *ret_decided: the journal is durable and journal_replay carries it out. */
int journal_write(int dirfd, const struct state_sys *sys, const struct journal_entry *entries,
		  unsigned n, bool *ret_decided);

/* Carries out a journal left by a crash; an unfinished one is removed. *ret_replayed: files
 * written or removed. 0 or a negative errno. */
int journal_replay(int dirfd, const struct state_sys *sys, unsigned *ret_replayed);

/* Removes a journal of a change that was refused. */
int journal_forget(int dirfd, const struct state_sys *sys);

/* The whole file, NUL-terminated, at most 1 MiB. 0 or a negative errno. */
int journal_read_file(int dirfd, const char *path, char **ret, size_t *ret_length);

#endif
