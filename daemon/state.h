/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was changed at run time, kept in a folder: one object a file, each written new, fsynced and
 * renamed; a change of several files goes through a journal that the next start replays.
 *
 * Threads: the control reactor; state_open blocks and is for the start, before any I/O thread;
 * commits write on an offload thread and end on the control reactor.
 * Ownership: the state owns its objects; a change set is the caller's until it is committed.
 */
#ifndef HAWSER_DAEMON_STATE_H
#define HAWSER_DAEMON_STATE_H

#include "backing/offload.h"
#include "config/schema.h"
#include "daemon/base/list.h"
#include "scsi/kept.h"

struct state;
struct state_sys;

enum state_kind {
	STATE_ACCOUNT,  /* accounts/: struct config_account */
	STATE_LU,       /* lus/: struct config_lu */
	STATE_TARGET,   /* targets/: struct config_target */
	STATE_PORTAL,   /* portals/: struct config_portal */
	STATE_IDENTITY, /* identities/: struct state_identity, of every LU whose settings have none
			 */
	STATE_PORT,     /* ports/: struct state_port */
	STATE_PR,       /* pr/: struct state_pr, of every LU with registrations that are kept */
	STATE_ACCESS,   /* access/: struct state_access, of port groups that differ from their
			   settings */
	STATE_UNIT,     /* units/: struct state_unit, of every LU that keeps anything else */
	STATE_KINDS
};

struct state_identity {
	char *name, *naa, *serial; /* naa, serial: NULL where the settings have them */
	bool opened;               /* its store was open once */
};

/* The relative target port identifier (SPC-4) of a target in a portal group; never re-used. */
struct state_port {
	char *target;
	uint16_t group, id;
};

/* What was changed at run time of a target port group, over what its target says. */
struct state_access {
	char *target;
	uint16_t group;    /* target port group */
	char *state;       /* access state; NULL: as the target says */
	int preferred;     /* -1: as the target says */
	bool by_initiator; /* SET TARGET PORT GROUPS made the last change */
};

/* Persistent reservations of an LU (APTPL). */
struct state_registration {
	char *initiator, *target; /* ports by name: "name,i,0xISID", "name,t,0xTAG" */
	char *key;                /* "0x0123456789abcdef" */
	uint16_t port;            /* relative target port identifier */
	bool holder;
};
struct state_pr {
	char *naa;
	uint16_t type; /* of the reservation, as SPC-4 numbers them; 0: none */
	struct state_registration *registrations;
	unsigned n_registrations;
};

/* What else an LU keeps. */
struct state_unit {
	char *naa;
	uint16_t mode[KEPT_MODE]; /* bytes; see scsi/mode.h */
	/* A FORMAT UNIT or SANITIZE that has not ended, or has failed; see scsi/kept.h. */
	char *media;      /* formatting, sanitizing, format_failed, sanitize_failed; NULL: none */
	char *media_path; /* the store that it is about */
	bool unrestricted, invert;
	uint16_t passes;
	char *pattern; /* hexadecimal; NULL: none */
	/* Identifying information, hexadecimal; NULL: none. */
	char *peripheral_information, *text_information;
};

/* Reads the folder, made when it is not there. Replays a journal first. A file that is torn is set
 * aside (renamed *.torn) and counted; a file of a newer version is an error that names it.
 * 0, or a negative errno and why. sys NULL: the system's calls. */
int state_open(const char *dir, const struct state_sys *sys, struct state **ret, char *why,
	       size_t whysize);
void state_close(struct state *s); /* NULL allowed */
/* Gives folder and files to a user, for a daemon that is about to become that user. Blocking. */
int state_give(struct state *s, unsigned uid, unsigned gid);

/* Files of this kind that were set aside by this or an earlier start and are still there. */
unsigned state_torn(const struct state *s, enum state_kind kind);

/* Was the file of this very object set aside? For kinds whose files are named by key: STATE_PR,
 * STATE_UNIT. */
bool state_lost(const struct state *s, enum state_kind kind, const char *key);

/* The object with this key, NULL if there is none. Keys: name; for portals state_portal_key; for
 * ports and access states state_port_key; for reservations and units the NAA identifier in
 * hexadecimal. */
const void *state_find(const struct state *s, enum state_kind kind, const char *key);
void state_each(const struct state *s, enum state_kind kind,
		void (*each)(const void *object, void *arg), void *arg);
const char *state_portal_key(const struct config_portal *p, char buf[static 128]);
const char *state_port_key(const char *target, uint16_t group, char buf[static 300]);
/* Largest identifier given out so far. */
uint16_t state_port_last(const struct state *s);

/* Appends what was made at run time to c. 0 or -ENOMEM. */
int state_add_objects(const struct state *s, struct config *c);

struct state_change;
struct state_change *state_change_new(void);
void state_change_free(struct state_change *ch); /* NULL allowed */
bool state_change_is_empty(const struct state_change *ch);
/* Deep copies. 0 or -ENOMEM. A later entry of the same key replaces an earlier one. */
int state_change_put(struct state_change *ch, enum state_kind kind, const void *object);
int state_change_delete(struct state_change *ch, enum state_kind kind, const char *key);
/* What the change says about this key: the object, or NULL and *ret_known. */
const void *state_change_find(const struct state_change *ch, enum state_kind kind, const char *key,
			      bool *ret_known);

/* Writes a change. Blocking; for tests and before the reactors run. 0 or a negative errno: then
 * neither files nor memory have changed (what a crash leaves is settled by the journal). */
int state_commit_now(struct state *s, struct state_change *ch);

struct state_commit {
	struct offload_job job;
	struct list node; /* state.commits */
	struct reactor *control;
	struct state *state;
	struct state_change *change; /* borrowed until done */
	int result;
	void (*done)(struct state_commit *c); /* on the control reactor */
	void *arg;
};
/* The same on an offload thread; several come one after another. */
void state_commit_begin(struct state *s, struct reactor *control, struct state_commit *c);
/* The queue that commits run on. */
int state_start(struct state *s);

/* The calls that change files; a test makes each fail in turn. */
struct state_sys {
	void *arg;
	/* Writes path (relative to dirfd) anew and makes it durable under its final name. */
	int (*open)(void *arg, int dirfd, const char *path, int flags, unsigned mode);
	long (*write)(void *arg, int fd, const void *data, size_t length);
	int (*fsync)(void *arg, int fd);
	int (*close)(void *arg, int fd);
	int (*rename)(void *arg, int dirfd, const char *from, const char *to);
	int (*unlink)(void *arg, int dirfd, const char *path);
};
extern const struct state_sys state_sys_default;

#endif
