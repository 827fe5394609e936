/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the state share: objects in memory, kinds, change sets.
 *
 * Threads and ownership: as state.h says.
 */
#ifndef HAWSER_DAEMON_STATE_INTERNAL_H
#define HAWSER_DAEMON_STATE_INTERNAL_H

#include "daemon/journal.h"
#include "daemon/state.h"

#define STATE_VERSION 1
#define STATE_KEY_MAX 300

struct state_kind_info {
	const char *folder;
	const struct config_scope *scope;
};
extern const struct state_kind_info state_kinds[STATE_KINDS];

struct state_object {
	struct list node;
	enum state_kind kind;
	char id[17]; /* its file's name */
	char key[STATE_KEY_MAX];
	void *object; /* NULL in a change set: deleted */
};

/* A file that was set aside, of a kind whose files are named by key. */
struct state_torn {
	struct list node; /* state.torn */
	enum state_kind kind;
	char id[17];
};

struct state {
	int dirfd;
	int lockfd;
	char *dir;
	const struct state_sys *sys;
	struct list objects; /* state_object.node */
	unsigned n_torn[STATE_KINDS];
	struct list torn; /* state_torn.node */
	uint16_t last_port;
	bool unfinished; /* the last change is decided but not carried out */
	bool stale;      /* the journal of a refused change may lie there */
	struct offload_queue *queue;
	struct list commits; /* state_commit.node; the first one is being written */
};

struct state_change {
	struct list objects; /* state_object.node */
};

struct state_object *state_object_new(enum state_kind kind, const char *key, const void *object);
void state_object_free(struct state_object *o); /* NULL allowed */
struct state_object *state_lookup(const struct list *objects, enum state_kind kind,
				  const char *key);
const char *state_object_key(enum state_kind kind, const void *object, char buf[static 300]);

/* The name of an object's file where it follows from the key; false: it is chosen at random. */
bool state_id_of_key(enum state_kind kind, const char *key, char id[static 17]);
/* What only the settings together can say: the fact, NULL if all is well. */
const char *state_object_fault(enum state_kind kind, const void *object);

/* The file of an object as text: version, settings, end mark. NULL: no memory. */
char *state_encode(enum state_kind kind, const void *object);
/* And back. 0, -EBADMSG: torn or unreadable, -ENOTSUP: of a newer version; err says what. */
int state_decode(enum state_kind kind, const char *text, const char *name, void **ret,
		 struct config_error *err);

/* Reads all files of the folder. */
int state_load(struct state *s, char *why, size_t whysize);

#endif
