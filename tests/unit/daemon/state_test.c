/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state in its folder: what was committed comes back; a crash at any call leaves the old or
 * the new whole, never a mixture; damaged and newer files are told apart.
 */
#include "daemon/state.c"
#include "daemon/state_internal.h"
#include "tests/unit/unit.h"

#include <ftw.h>

static char dir[64];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void fresh_folder(void)
{
	snprintf(dir, sizeof(dir), "/tmp/hawser-state-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_folder(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Calls count down; the one that reaches zero fails, and with `dead` all later ones too, as after
 * a crash. A write that fails has written half. */
struct faulty {
	struct state_sys sys;
	unsigned left;
	bool dead, struck;
};

static bool strikes(struct faulty *f)
{
	if (f->struck && f->dead) {
		errno = EIO;
		return true;
	}
	if (f->struck || --f->left)
		return false;
	f->struck = true;
	errno = EIO;
	return true;
}

static int faulty_open(void *arg, int dirfd, const char *path, int flags, unsigned mode)
{
	return strikes(arg) ? -1 : sys_open(NULL, dirfd, path, flags, mode);
}

static long faulty_write(void *arg, int fd, const void *data, size_t length)
{
	struct faulty *f = arg;
	bool before = f->struck;

	if (!strikes(f))
		return sys_write(NULL, fd, data, length);
	if (!before)
		sys_write(NULL, fd, data, length / 2);
	errno = EIO;
	return -1;
}

static int faulty_fsync(void *arg, int fd)
{
	return strikes(arg) ? -1 : sys_fsync(NULL, fd);
}

static int faulty_close(void *arg, int fd)
{
	int r = sys_close(NULL, fd);

	return strikes(arg) ? -1 : r;
}

static int faulty_rename(void *arg, int dirfd, const char *from, const char *to)
{
	return strikes(arg) ? -1 : sys_rename(NULL, dirfd, from, to);
}

static int faulty_unlink(void *arg, int dirfd, const char *path)
{
	return strikes(arg) ? -1 : sys_unlink(NULL, dirfd, path);
}

static void faulty_init(struct faulty *f)
{
	*f = (struct faulty){ .sys = { .arg = f,
				       .open = faulty_open,
				       .write = faulty_write,
				       .fsync = faulty_fsync,
				       .close = faulty_close,
				       .rename = faulty_rename,
				       .unlink = faulty_unlink },
			      .left = UINT32_MAX };
}

static struct state *open_state(const struct state_sys *sys)
{
	struct state *s = NULL;
	char why[512];
	int r = state_open(dir, sys, &s, why, sizeof(why));

	ck_assert_msg(r == 0, "%s", why);
	return s;
}

/* A change of three files that belong together: `value` shows in each. */
static int commit_value(struct state *s, unsigned value)
{
	struct state_change *ch = state_change_new();
	char name[32];
	struct state_identity id = { .name = (char[]){ "disk" }, .serial = name };
	struct config *c = config_new();
	struct config_lu *l = config_add_lu(c);
	struct config_target *t = config_add_target(c);
	int r;

	snprintf(name, sizeof(name), "v%u", value);
	l->name = strdup("disk");
	l->serial = strdup(name);
	t->name = strdup("iqn.2026-01.org.example:t");
	t->alias = strdup(name);
	ck_assert_int_eq(state_change_put(ch, STATE_LU, l), 0);
	ck_assert_int_eq(state_change_put(ch, STATE_TARGET, t), 0);
	ck_assert_int_eq(state_change_put(ch, STATE_IDENTITY, &id), 0);
	r = state_commit_now(s, ch);
	state_change_free(ch);
	config_free(c);
	return r;
}

/* The value that all three show; 0: none of them is there. */
static unsigned read_value(const struct state *s)
{
	const struct config_lu *l = state_find(s, STATE_LU, "disk");
	const struct config_target *t = state_find(s, STATE_TARGET, "iqn.2026-01.org.example:t");
	const struct state_identity *id = state_find(s, STATE_IDENTITY, "disk");

	if (!l && !t && !id)
		return 0;
	ck_assert(l && t && id);
	ck_assert_str_eq(l->serial, t->alias);
	ck_assert_str_eq(l->serial, id->serial);
	return (unsigned)atoi(l->serial + 1);
}

START_TEST(what_was_committed_comes_back)
{
	struct config *c = config_new();
	struct state *s;

	fresh_folder();
	s = open_state(NULL);
	ck_assert_uint_eq(read_value(s), 0);
	ck_assert_int_eq(commit_value(s, 1), 0);
	ck_assert_int_eq(commit_value(s, 2), 0);
	ck_assert_uint_eq(read_value(s), 2);
	state_close(s);
	s = open_state(NULL);
	ck_assert_uint_eq(read_value(s), 2);
	ck_assert_int_eq(state_add_objects(s, c), 0);
	ck_assert(c->n_lus == 1 && c->n_targets == 1);
	ck_assert_ptr_null(c->lus[0].origin.file);
	config_free(c);
	state_close(s);
	remove_folder();
}
END_TEST

START_TEST(removal_is_kept)
{
	struct state_change *ch = state_change_new();
	struct state *s;

	fresh_folder();
	s = open_state(NULL);
	ck_assert_int_eq(commit_value(s, 1), 0);
	ck_assert_int_eq(state_change_delete(ch, STATE_LU, "disk"), 0);
	ck_assert_int_eq(state_change_delete(ch, STATE_LU, "never was"), 0);
	ck_assert_int_eq(state_commit_now(s, ch), 0);
	state_change_free(ch);
	ck_assert_ptr_null(state_find(s, STATE_LU, "disk"));
	state_close(s);
	s = open_state(NULL);
	ck_assert_ptr_null(state_find(s, STATE_LU, "disk"));
	ck_assert_ptr_nonnull(state_find(s, STATE_IDENTITY, "disk"));
	state_close(s);
	remove_folder();
}
END_TEST

/* Crashes at the n-th call of the second change, for every n; true: n was too large. */
static bool crash_at(unsigned n, bool *ret_new)
{
	struct faulty f;
	struct state *s;
	bool over;
	int r;

	fresh_folder();
	faulty_init(&f);
	s = open_state(&f.sys);
	ck_assert_int_eq(commit_value(s, 1), 0);
	f.left = n;
	f.dead = true;
	r = commit_value(s, 2);
	over = !f.struck;
	if (over)
		ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(read_value(s), r ? 1 : 2);
	state_close(s); /* what a crash would do too: the lock goes */
	s = open_state(NULL);
	*ret_new = read_value(s) == 2;
	/* What was answered as done must be there. */
	if (!r)
		ck_assert(*ret_new);
	for (unsigned k = 0; k < STATE_KINDS; k++)
		ck_assert_uint_eq(state_torn(s, (enum state_kind)k), 0);
	/* And the state can be changed again. */
	ck_assert_int_eq(commit_value(s, 3), 0);
	ck_assert_uint_eq(read_value(s), 3);
	state_close(s);
	remove_folder();
	return over;
}

START_TEST(crash_at_every_call_leaves_old_or_new)
{
	unsigned n = 1, n_old = 0, n_new = 0;
	bool is_new;

	while (!crash_at(n, &is_new)) {
		n++;
		*(is_new ? &n_new : &n_old) += 1;
	}
	/* Both kinds occurred, and there were many calls to fail. */
	ck_assert_uint_ge(n_old, 5);
	ck_assert_uint_gt(n_new, 10);
}
END_TEST

/* A call that fails once, without a crash: refused means unchanged, and the next change works. */
START_TEST(single_failure_is_old_or_new_too)
{
	for (unsigned n = 1; n < 200; n++) {
		struct faulty f;
		struct state *s;
		bool struck;
		int r;

		fresh_folder();
		faulty_init(&f);
		s = open_state(&f.sys);
		ck_assert_int_eq(commit_value(s, 1), 0);
		f.left = n;
		r = commit_value(s, 2);
		struck = f.struck;
		f.left = UINT32_MAX;
		ck_assert_uint_eq(read_value(s), r ? 1 : 2);
		ck_assert_int_eq(commit_value(s, 3), 0);
		state_close(s);
		s = open_state(NULL);
		ck_assert_uint_eq(read_value(s), 3);
		state_close(s);
		remove_folder();
		if (!struck)
			return;
	}
	ck_abort_msg("a commit of three files makes more than 200 calls?");
}
END_TEST

static void file_of(enum state_kind kind, const struct state *s, const char *key, char path[200])
{
	const struct state_object *o = state_lookup(&s->objects, kind, key);

	snprintf(path, 200, "%s/%s/%s", dir, state_kinds[kind].folder, o->id);
}

START_TEST(torn_file_is_set_aside)
{
	struct state *s;
	char path[200], aside[220];

	fresh_folder();
	s = open_state(NULL);
	ck_assert_int_eq(commit_value(s, 1), 0);
	file_of(STATE_LU, s, "disk", path);
	state_close(s);
	ck_assert_int_eq(truncate(path, 20), 0);
	s = open_state(NULL);
	ck_assert_uint_eq(state_torn(s, STATE_LU), 1);
	ck_assert_uint_eq(state_torn(s, STATE_TARGET), 0);
	ck_assert_ptr_null(state_find(s, STATE_LU, "disk"));
	ck_assert_ptr_nonnull(state_find(s, STATE_TARGET, "iqn.2026-01.org.example:t"));
	snprintf(aside, sizeof(aside), "%s.torn", path);
	ck_assert_int_eq(access(aside, F_OK), 0);
	state_close(s);
	/* It stays known until somebody has seen to it. */
	s = open_state(NULL);
	ck_assert_uint_eq(state_torn(s, STATE_LU), 1);
	state_close(s);
	remove_folder();
}
END_TEST

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

START_TEST(newer_version_stops_the_start)
{
	struct state *s;
	char path[200], why[512];

	fresh_folder();
	s = open_state(NULL);
	ck_assert_int_eq(commit_value(s, 1), 0);
	file_of(STATE_TARGET, s, "iqn.2026-01.org.example:t", path);
	state_close(s);
	write_file(path, "version = 99;\ncolour = \"blue\";\n# end\n");
	ck_assert_int_eq(state_open(dir, NULL, &s, why, sizeof(why)), -ENOTSUP);
	ck_assert_msg(strstr(why, "targets/") && strstr(why, "99"), "%s", why);
	ck_assert_int_eq(access(path, F_OK), 0);
	remove_folder();
}
END_TEST

START_TEST(damaged_journal_stops_the_start)
{
	struct state *s;
	char path[200], why[512];

	fresh_folder();
	s = open_state(NULL);
	state_close(s);
	snprintf(path, sizeof(path), "%s/journal", dir);
	write_file(path, "hawser-journal 1\nremove ../../etc/passwd\nend 00000000\n");
	ck_assert_int_eq(state_open(dir, NULL, &s, why, sizeof(why)), -EBADMSG);
	ck_assert_msg(strstr(why, "journal"), "%s", why);
	remove_folder();
}
END_TEST

START_TEST(one_daemon_for_one_folder)
{
	struct state *s, *other = NULL;
	char why[512];

	fresh_folder();
	s = open_state(NULL);
	ck_assert_int_eq(state_open(dir, NULL, &other, why, sizeof(why)), -EAGAIN);
	ck_assert_msg(strstr(why, "another daemon"), "%s", why);
	state_close(s);
	s = open_state(NULL);
	state_close(s);
	remove_folder();
}
END_TEST

START_TEST(port_numbers_are_not_used_again)
{
	struct state_change *ch = state_change_new();
	struct state_port p = { .target = (char[]){ "iqn.2026-01.org.example:t" },
				.group = 1,
				.id = 7 };
	struct state *s;
	char key[300];

	fresh_folder();
	s = open_state(NULL);
	ck_assert_int_eq(state_change_put(ch, STATE_PORT, &p), 0);
	ck_assert_int_eq(state_commit_now(s, ch), 0);
	state_change_free(ch);
	state_close(s);
	s = open_state(NULL);
	ck_assert_uint_eq(state_port_last(s), 7);
	ck_assert_ptr_nonnull(state_find(s, STATE_PORT, state_port_key(p.target, 1, key)));
	ck_assert_ptr_null(state_find(s, STATE_PORT, state_port_key(p.target, 2, key)));
	state_close(s);
	remove_folder();
}
END_TEST

UNIT_MAIN("daemon/state", what_was_committed_comes_back, removal_is_kept,
	  crash_at_every_call_leaves_old_or_new, single_failure_is_old_or_new_too,
	  torn_file_is_set_aside, newer_version_stops_the_start, damaged_journal_stops_the_start,
	  one_daemon_for_one_folder, port_numbers_are_not_used_again)
