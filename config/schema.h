/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings as tables: one row gives name, type, default, range, place in its struct and one
 * line of help. Parsing, dumping, copying, comparing, freeing, the admin protocol's objects and
 * the lint test of hawser.conf(5) are loops over these rows.
 *
 * Threads: constant data and pure functions. Ownership: config_assign replaces heap strings of the
 * object that it is given.
 */
#ifndef HAWSER_CONFIG_SCHEMA_H
#define HAWSER_CONFIG_SCHEMA_H

#include "config/config.h"

enum config_type {
	CONFIG_BOOL = 1, /* bool */
	CONFIG_TRISTATE, /* int: -1 unset, 0, 1; written as a boolean */
	CONFIG_NUMBER,   /* unsigned integer of the member's width */
	CONFIG_SIZE,     /* the same in bytes; texts such as "64MiB" are allowed */
	CONFIG_TEXT,     /* char *, NULL when unset */
	CONFIG_WORD,     /* char *, one of choices */
	CONFIG_WORDS,    /* char *, some of choices parted by blanks; written as a list of texts */
	CONFIG_ENUM,     /* int: index into choices, less one */
	CONFIG_NUMBERS,  /* array of uint16_t with a count */
	CONFIG_GROUP,    /* an object inside this one */
	CONFIG_LIST,     /* array of objects with a count */
};

struct config_setting {
	const char *name;
	enum config_type type;
	size_t at;                        /* offset in the object */
	unsigned width;                   /* bytes of the member */
	size_t count_at;                  /* NUMBERS, LIST: offset of the unsigned count */
	uint64_t min, max;                /* NUMBER, SIZE, NUMBERS: range; TEXT: longest length */
	const char *def;                  /* as text; NULL: zero, unset */
	const char *choices;              /* WORD, WORDS, ENUM: words parted by blanks */
	const struct config_scope *scope; /* GROUP, LIST */
	bool required;
	bool secret;  /* TEXT: never shown to anybody */
	bool restart; /* a change takes effect at the next start only */
	bool live;    /* of an LU: a change does not make it anew */
	const char *help;
};

struct config_scope {
	const char *name;                      /* "lu": for error texts */
	size_t size;                           /* bytes of one object */
	bool has_origin;                       /* its first member is a struct config_origin */
	const struct config_setting *settings; /* ends with a row without name */
};

extern const struct config_scope config_root_scope, config_daemon_scope, config_portal_scope,
    config_account_scope, config_lu_scope, config_target_scope, config_lun_scope,
    config_access_scope, config_port_group_scope;

enum config_value_kind { VALUE_NONE, VALUE_BOOL, VALUE_INT, VALUE_TEXT };
struct config_value {
	enum config_value_kind kind;
	bool b;
	uint64_t i;
	bool negative; /* INT: below zero, i is meaningless */
	const char *s; /* borrowed */
};

/* NULL: no setting of that name in the scope. */
const struct config_setting *config_setting_find(const struct config_scope *scope,
						 const char *name);
/* Sets one scalar. 0, -EINVAL with the fact in why, or -ENOMEM. */
int config_assign(const struct config_setting *s, void *object, const struct config_value *v,
		  char *why, size_t whysize);
/* A text becomes unset. */
void config_unset(const struct config_setting *s, void *object);
/* Reads one scalar; text is borrowed from the object. NONE: unset. */
struct config_value config_read_value(const struct config_setting *s, const void *object);
bool config_is_default(const struct config_setting *s, const void *object);
/* The words that a scalar of this type accepts, for error texts and help. Returns buf. */
const char *config_describe_type(const struct config_setting *s, char *buf, size_t bufsize);

/* Whole objects. The object is config_scope.size bytes. */
int config_object_init(const struct config_scope *scope, void *object); /* defaults */
void config_object_clear(const struct config_scope *scope, void *object);
int config_object_copy(const struct config_scope *scope, void *to, const void *from);
bool config_object_equal(const struct config_scope *scope, const void *a, const void *b);
/* Equal but for what is live; and takes that over: 1, 0 (it was so) or -ENOMEM. */
bool config_object_same(const struct config_scope *scope, const void *a, const void *b);
int config_object_take_live(const struct config_scope *scope, void *to, const void *from);

/* LIST: appends an object with defaults; NULL: no memory. */
void *config_list_append(const struct config_setting *s, void *object);
void config_list_remove(const struct config_setting *s, void *object, unsigned i);
static inline unsigned *config_count(const struct config_setting *s, void *object)
{
	return (unsigned *)(void *)((char *)object + s->count_at);
}
/* The i-th object of a list. */
void *config_list_at(const struct config_setting *s, const void *object, unsigned i);

/* One object's settings as text, without braces around them; and back, with defaults for what is
 * missing. The object is overwritten. 0, -EINVAL with *err, or -ENOMEM. */
char *config_dump_object(const struct config_scope *scope, const void *object);
int config_parse_object(const char *text, const char *name, const struct config_scope *scope,
			void *object, struct config_error *err);

/* "192.0.2.0/24": 0 and the parts, or -EINVAL. ret_bytes gets the masked network. */
int config_parse_network(const char *text, int *ret_family, unsigned *ret_prefix,
			 uint8_t ret_bytes[static 16]);

#endif
