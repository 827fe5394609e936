/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state in memory and its commits; see state.h.
 */
#include "daemon/state.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/state_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int sys_open(void *arg, int dirfd, const char *path, int flags, unsigned mode)
{
	(void)arg;
	return openat(dirfd, path, flags, mode);
}

static long sys_write(void *arg, int fd, const void *data, size_t length)
{
	(void)arg;
	return write(fd, data, length);
}

static int sys_fsync(void *arg, int fd)
{
	(void)arg;
	return fsync(fd);
}

static int sys_close(void *arg, int fd)
{
	(void)arg;
	return close(fd);
}

static int sys_rename(void *arg, int dirfd, const char *from, const char *to)
{
	(void)arg;
	return renameat(dirfd, from, dirfd, to);
}

static int sys_unlink(void *arg, int dirfd, const char *path)
{
	(void)arg;
	return unlinkat(dirfd, path, 0);
}

const struct state_sys state_sys_default = {
	.open = sys_open,
	.write = sys_write,
	.fsync = sys_fsync,
	.close = sys_close,
	.rename = sys_rename,
	.unlink = sys_unlink,
};

/* Makes the folder and what leads to it. */
static int make_folders(const char *dir)
{
	char path[4096];

	if (strlen(dir) >= sizeof(path))
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%s", dir);
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

static int open_folder(struct state *s)
{
	int r = make_folders(s->dir);

	if (r)
		return r;
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0)
		return -errno;
	for (unsigned k = 0; k < STATE_KINDS; k++)
		if (mkdirat(s->dirfd, state_kinds[k].folder, 0700) && errno != EEXIST)
			return -errno;
	return fsync(s->dirfd) ? -errno : 0;
}

/* One daemon for one folder. The lock goes with the process. */
static int lock_folder(struct state *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(s->dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &lock)) {
		int r = -errno;

		close(fd);
		return r == -EACCES ? -EAGAIN : r;
	}
	s->lockfd = fd;
	return 0;
}

static int fail(struct state *s, int r, char *why, size_t whysize)
{
	if (r == -EAGAIN)
		snprintf(why, whysize,
			 "state folder %s is used by another daemon; stop it or set state_dir",
			 s->dir);
	else if (r == -EBADMSG)
		snprintf(why, whysize,
			 "%s/journal is damaged; keep a copy, remove it and start again: the last "
			 "change before the crash may be missing",
			 s->dir);
	else if (!*why)
		snprintf(why, whysize,
			 "state folder %s cannot be used: %s; make it writable or set state_dir",
			 s->dir, text_errno(-r));
	state_close(s);
	return r;
}

int state_open(const char *dir, const struct state_sys *sys, struct state **ret, char *why,
	       size_t whysize)
{
	struct state *s = calloc(1, sizeof(*s));
	unsigned replayed;
	int r;

	*why = '\0';
	if (!s)
		return -ENOMEM;
	s->dirfd = s->lockfd = -1;
	s->sys = sys ? sys : &state_sys_default;
	list_init(&s->objects);
	list_init(&s->torn);
	list_init(&s->commits);
	s->dir = strdup(dir);
	if (!s->dir)
		return fail(s, -ENOMEM, why, whysize);
	r = open_folder(s);
	if (!r)
		r = lock_folder(s);
	if (!r)
		r = journal_replay(s->dirfd, s->sys, &replayed);
	if (r)
		return fail(s, r, why, whysize);
	if (replayed)
		log_info(LOG_DAEMON, "%s: a change of %u files was completed after a crash", dir,
			 replayed);
	r = state_load(s, why, whysize);
	if (r)
		return fail(s, r, why, whysize);
	*ret = s;
	return 0;
}

void state_close(struct state *s)
{
	struct list *n, *next;

	if (!s)
		return;
	list_for_each_safe (n, next, &s->objects)
		state_object_free(list_entry(n, struct state_object, node));
	list_for_each_safe (n, next, &s->torn)
		free(list_entry(n, struct state_torn, node));
	offload_queue_destroy(s->queue);
	if (s->lockfd >= 0)
		close(s->lockfd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->dir);
	free(s);
}

unsigned state_torn(const struct state *s, enum state_kind kind)
{
	return s->n_torn[kind];
}

uint16_t state_port_last(const struct state *s)
{
	return s->last_port;
}

const void *state_find(const struct state *s, enum state_kind kind, const char *key)
{
	const struct state_object *o = state_lookup(&s->objects, kind, key);

	return o ? o->object : NULL;
}

void state_each(const struct state *s, enum state_kind kind,
		void (*each)(const void *object, void *arg), void *arg)
{
	struct list *n;

	list_for_each (n, &s->objects) {
		const struct state_object *o = list_entry(n, struct state_object, node);

		if (o->kind == kind)
			each(o->object, arg);
	}
}

static int add_object(struct config *c, const struct state_object *o)
{
	const struct config_scope *scope = state_kinds[o->kind].scope;
	void *to;

	switch (o->kind) {
	case STATE_ACCOUNT:
		to = config_add_account(c);
		break;
	case STATE_LU:
		to = config_add_lu(c);
		break;
	case STATE_TARGET:
		to = config_add_target(c);
		break;
	case STATE_PORTAL:
		to = config_add_portal(c);
		break;
	case STATE_IDENTITY:
	case STATE_PORT:
	case STATE_ACCESS:
	case STATE_PR:
	case STATE_UNIT:
	case STATE_KINDS:
	default:
		return 0;
	}
	if (!to)
		return -ENOMEM;
	config_object_clear(scope, to);
	return config_object_copy(scope, to, o->object);
}

int state_add_objects(const struct state *s, struct config *c)
{
	struct list *n;

	list_for_each (n, &s->objects)
		if (add_object(c, list_entry(n, struct state_object, node)))
			return -ENOMEM;
	return 0;
}

/* After the files say so: memory follows. Takes the change's objects over; cannot fail. */
static void adopt(struct state *s, struct state_change *ch)
{
	struct list *n;

	while ((n = list_pop(&ch->objects))) {
		struct state_object *o = list_entry(n, struct state_object, node);
		struct state_object *old = state_lookup(&s->objects, o->kind, o->key);

		if (old) {
			list_del(&old->node);
			state_object_free(old);
		}
		if (!o->object) {
			state_object_free(o);
			continue;
		}
		if (o->kind == STATE_PORT) {
			const struct state_port *p = o->object;

			s->last_port = p->id > s->last_port ? p->id : s->last_port;
		}
		list_add_tail(&s->objects, &o->node);
	}
}

static int new_id(char id[static 17])
{
	uint8_t bytes[8];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		snprintf(id + (size_t)2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Text of each file that changes. The number of entries, or a negative errno. */
static int build_entries(const struct state *s, struct state_change *ch,
			 struct journal_entry *entries)
{
	struct list *l;
	int n = 0;

	list_for_each (l, &ch->objects) {
		struct state_object *o = list_entry(l, struct state_object, node);
		const struct state_object *old = state_lookup(&s->objects, o->kind, o->key);
		struct journal_entry *e = &entries[n];

		if (!old && !o->object)
			continue;
		if (old)
			memcpy(o->id, old->id, sizeof(o->id));
		else if (!state_id_of_key(o->kind, o->key, o->id) && new_id(o->id))
			return -EIO;
		snprintf(e->path, sizeof(e->path), "%s/%s", state_kinds[o->kind].folder, o->id);
		e->text = o->object ? state_encode(o->kind, o->object) : NULL;
		if (o->object && !e->text)
			return -ENOMEM;
		n++;
	}
	return n;
}

/* The last change's leftovers first: its journal would be overwritten. */
static int settle(struct state *s)
{
	unsigned replayed;
	int r = 0;

	if (s->unfinished)
		r = journal_replay(s->dirfd, s->sys, &replayed);
	else if (s->stale)
		r = journal_forget(s->dirfd, s->sys);
	if (!r)
		s->unfinished = s->stale = false;
	return r;
}

/* Files only. */
static int write_files(struct state *s, struct state_change *ch)
{
	struct journal_entry *entries;
	unsigned count = 0;
	bool decided = false;
	struct list *l;
	int n, r;

	r = settle(s);
	if (r)
		return r;
	list_for_each (l, &ch->objects)
		count++;
	entries = calloc(count ? count : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	n = build_entries(s, ch, entries);
	r = n > 0 ? journal_write(s->dirfd, s->sys, entries, (unsigned)n, &decided) : n;
	if (r) {
		s->unfinished = decided;
		s->stale = !decided;
		/* Decided: it has happened, and is carried out with the next change or start. */
		if (decided)
			log_error(LOG_DAEMON, "%s: %s; the change is kept in its journal", s->dir,
				  text_errno(-r));
	}
	for (unsigned i = 0; i < count; i++)
		free(entries[i].text);
	free(entries);
	return decided ? 0 : r;
}

int state_commit_now(struct state *s, struct state_change *ch)
{
	int r = write_files(s, ch);

	if (!r)
		adopt(s, ch);
	return r;
}

static void commit_work(struct offload_job *job)
{
	struct state_commit *c = list_entry(job, struct state_commit, job);

	c->result = write_files(c->state, c->change);
}

static void commit_first(struct state *s);

static void commit_done(struct offload_job *job)
{
	struct state_commit *c = list_entry(job, struct state_commit, job);

	if (!c->result)
		adopt(c->state, c->change);
	list_del(&c->node);
	commit_first(c->state);
	c->done(c);
}

/* One at a time: writing reads the objects, adopting changes them. */
static void commit_first(struct state *s)
{
	struct state_commit *c;

	if (list_empty(&s->commits))
		return;
	c = list_entry(s->commits.next, struct state_commit, node);
	c->job = (struct offload_job){ .work = commit_work,
				       .done = commit_done,
				       .reply_to = c->control };
	offload_submit(s->queue, &c->job);
}

int state_start(struct state *s)
{
	return offload_queue_create("state", 1, &s->queue);
}

void state_commit_begin(struct state *s, struct reactor *control, struct state_commit *c)
{
	bool first = list_empty(&s->commits);

	c->state = s;
	c->control = control;
	list_add_tail(&s->commits, &c->node);
	if (first)
		commit_first(s);
}
