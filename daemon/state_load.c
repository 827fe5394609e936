/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the state at the start. A file that cannot be read is set aside and reported, never
 * dropped; what it held stays out of service.
 */
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/state_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_id(const char *name)
{
	return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && !strcmp(name + n - m, end);
}

/* Without memory for it the LU comes without what was lost: said in the log as all of them are. */
static void note_torn(struct state *s, enum state_kind kind, const char *name)
{
	struct state_torn *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	t->kind = kind;
	snprintf(t->id, sizeof(t->id), "%.16s", name);
	list_add_tail(&s->torn, &t->node);
}

bool state_lost(const struct state *s, enum state_kind kind, const char *key)
{
	struct list *n;
	char id[17];

	if (list_empty(&s->torn) || !state_id_of_key(kind, key, id))
		return false;
	list_for_each (n, &s->torn) {
		const struct state_torn *t = list_entry(n, struct state_torn, node);

		if (t->kind == kind && !strcmp(t->id, id))
			return true;
	}
	return false;
}

static void set_aside(struct state *s, enum state_kind kind, const char *path,
		      const struct config_error *err)
{
	char aside[200];

	snprintf(aside, sizeof(aside), "%s.torn", path);
	s->n_torn[kind]++;
	note_torn(s, kind, strrchr(path, '/') + 1);
	if (renameat(s->dirfd, path, s->dirfd, aside))
		log_error(LOG_DAEMON, "%s/%s: line %u: %s; it is ignored and cannot be renamed: %s",
			  s->dir, path, err->line, err->text, text_errno(errno));
	else
		log_error(LOG_DAEMON,
			  "%s/%s: line %u: %s; set aside as %s, what it described stays out of "
			  "service until it is repaired and the daemon started again",
			  s->dir, path, err->line, err->text, aside);
}

/* What comes from here was made at run time: no file, no line. */
static void forget_origin(enum state_kind kind, void *object)
{
	struct config_origin *origin = object;

	if (!state_kinds[kind].scope->has_origin)
		return;
	free(origin->file);
	*origin = (struct config_origin){ 0 };
}

static int load_file(struct state *s, enum state_kind kind, const char *name, char *why,
		     size_t whysize)
{
	struct config_error err = { .text = "cannot be read" };
	char path[160], key[STATE_KEY_MAX], *text;
	struct state_object *o;
	void *object;
	size_t length;
	int r;

	snprintf(path, sizeof(path), "%s/%.100s", state_kinds[kind].folder, name);
	r = journal_read_file(s->dirfd, path, &text, &length);
	if (!r) {
		r = state_decode(kind, text, path, &object, &err);
		free(text);
	}
	if (!r && state_object_fault(kind, object)) {
		snprintf(err.text, sizeof(err.text), "%s", state_object_fault(kind, object));
		config_object_clear(state_kinds[kind].scope, object);
		free(object);
		r = -EBADMSG;
	}
	if (r == -ENOMEM)
		return r;
	if (r == -ENOTSUP) {
		snprintf(why, whysize, "%s/%s %s", s->dir, path, err.text);
		return r;
	}
	if (r) {
		set_aside(s, kind, path, &err);
		return 0;
	}
	forget_origin(kind, object);
	o = state_object_new(kind, state_object_key(kind, object, key), object);
	if (kind == STATE_PORT && ((struct state_port *)object)->id > s->last_port)
		s->last_port = ((struct state_port *)object)->id;
	config_object_clear(state_kinds[kind].scope, object);
	free(object);
	if (!o)
		return -ENOMEM;
	snprintf(o->id, sizeof(o->id), "%s", name);
	list_add_tail(&s->objects, &o->node);
	return 0;
}

static int load_folder(struct state *s, enum state_kind kind, char *why, size_t whysize)
{
	struct dirent **names;
	int fd, n, r = 0;

	fd = openat(s->dirfd, state_kinds[kind].folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = scandirat(fd, ".", &names, NULL, alphasort);
	if (n < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (is_id(name) && !r) {
			r = load_file(s, kind, name, why, whysize);
		} else if (ends_with(name, ".new")) {
			unlinkat(fd, name, 0); /* of a write that a crash ended */
		} else if (ends_with(name, ".torn")) {
			s->n_torn[kind]++;
			note_torn(s, kind, name);
		}
		free(names[i]);
	}
	free(names);
	close(fd);
	return r;
}

static int give_folder(const struct state *s, const char *folder, uid_t uid, gid_t gid)
{
	int fd = openat(s->dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n, r = 0;
	struct dirent **names;

	if (fd < 0)
		return -errno;
	n = scandirat(fd, ".", &names, NULL, NULL);
	if (fchown(fd, uid, gid) || n < 0)
		r = -errno;
	for (int i = 0; i < n; i++) {
		bool dots = !strcmp(names[i]->d_name, ".") || !strcmp(names[i]->d_name, "..");

		if (!r && !dots && fchownat(fd, names[i]->d_name, uid, gid, AT_SYMLINK_NOFOLLOW))
			r = -errno;
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	close(fd);
	return r;
}

int state_give(struct state *s, unsigned uid, unsigned gid)
{
	int r = give_folder(s, ".", uid, gid);

	for (unsigned k = 0; k < STATE_KINDS && !r; k++)
		r = give_folder(s, state_kinds[k].folder, uid, gid);
	return r;
}

int state_load(struct state *s, char *why, size_t whysize)
{
	for (unsigned k = 0; k < STATE_KINDS; k++) {
		int r = load_folder(s, (enum state_kind)k, why, whysize);

		if (r)
			return r;
	}
	return 0;
}
