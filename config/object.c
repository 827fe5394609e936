/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole objects, by the rows of their scope: defaults, copies, comparison, freeing, lists.
 */
#include "config/schema.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The member's place; whoever gives a const object only reads there. */
static void *at(const struct config_setting *s, const void *object)
{
	union {
		const void *given;
		char *bytes;
	} u = { .given = object };

	return u.bytes + s->at;
}

static unsigned count_of(const struct config_setting *s, const void *object)
{
	return *(const unsigned *)(const void *)((const char *)object + s->count_at);
}

void *config_list_at(const struct config_setting *s, const void *object, unsigned i)
{
	char *array = *(char **)at(s, object);

	return array + (size_t)i * s->scope->size;
}

static int init_setting(const struct config_setting *s, void *object)
{
	struct config_value v = { .kind = VALUE_TEXT, .s = s->def };
	char why[256];

	if (s->type == CONFIG_GROUP)
		return config_object_init(s->scope, at(s, object));
	if (s->type == CONFIG_TRISTATE)
		*(int *)at(s, object) = -1;
	if (!s->def)
		return 0;
	if (s->type == CONFIG_BOOL)
		v = (struct config_value){ .kind = VALUE_BOOL, .b = !strcmp(s->def, "true") };
	if (s->type == CONFIG_NUMBER) {
		v.kind = VALUE_INT;
		if (text_parse_u64(s->def, UINT64_MAX, &v.i))
			return -EINVAL;
	}
	return config_assign(s, object, &v, why, sizeof(why));
}

int config_object_init(const struct config_scope *scope, void *object)
{
	memset(object, 0, scope->size);
	for (const struct config_setting *s = scope->settings; s->name; s++) {
		int r = init_setting(s, object);

		if (r) {
			config_object_clear(scope, object);
			return r;
		}
	}
	return 0;
}

static void clear_setting(const struct config_setting *s, void *object)
{
	void *p = at(s, object);

	switch (s->type) {
	case CONFIG_TEXT:
	case CONFIG_WORD:
	case CONFIG_WORDS:
		if (s->secret && *(char **)p)
			explicit_bzero(*(char **)p, strlen(*(char **)p));
		free(*(void **)p);
		break;
	case CONFIG_NUMBERS:
		free(*(void **)p);
		break;
	case CONFIG_GROUP:
		config_object_clear(s->scope, p);
		break;
	case CONFIG_LIST:
		for (unsigned i = 0; i < count_of(s, object); i++)
			config_object_clear(s->scope, config_list_at(s, object, i));
		free(*(void **)p);
		break;
	case CONFIG_BOOL:
	case CONFIG_TRISTATE:
	case CONFIG_NUMBER:
	case CONFIG_SIZE:
	case CONFIG_ENUM:
		break;
	}
}

void config_object_clear(const struct config_scope *scope, void *object)
{
	for (const struct config_setting *s = scope->settings; s->name; s++)
		clear_setting(s, object);
	if (scope->has_origin)
		free(((struct config_origin *)object)->file);
	memset(object, 0, scope->size);
}

static int copy_list(const struct config_setting *s, void *to, const void *from)
{
	unsigned n = count_of(s, from);
	void **array = at(s, to);

	if (!n)
		return 0;
	*array = calloc(n, s->scope->size);
	if (!*array)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		/* The count grows with what is whole, so that a failed copy can be freed. */
		if (config_object_copy(s->scope, config_list_at(s, to, i),
				       config_list_at(s, from, i)))
			return -ENOMEM;
		(*config_count(s, to))++;
	}
	return 0;
}

static int copy_setting(const struct config_setting *s, void *to, const void *from)
{
	const void *p = at(s, from);
	void **q = at(s, to);

	switch (s->type) {
	case CONFIG_TEXT:
	case CONFIG_WORD:
	case CONFIG_WORDS:
		if (!*(char *const *)p)
			return 0;
		*q = strdup(*(char *const *)p);
		return *q ? 0 : -ENOMEM;
	case CONFIG_NUMBERS:
		if (!count_of(s, from))
			return 0;
		*q = calloc(count_of(s, from), sizeof(uint16_t));
		if (!*q)
			return -ENOMEM;
		memcpy(*q, *(void *const *)p, count_of(s, from) * sizeof(uint16_t));
		*config_count(s, to) = count_of(s, from);
		return 0;
	case CONFIG_GROUP:
		return config_object_copy(s->scope, q, p);
	case CONFIG_LIST:
		return copy_list(s, to, from);
	case CONFIG_BOOL:
	case CONFIG_TRISTATE:
	case CONFIG_NUMBER:
	case CONFIG_SIZE:
	case CONFIG_ENUM:
		break;
	}
	return 0;
}

/* Pointers of the raw copy are not ours yet: forget them before anything can fail. */
static void forget_pointers(const struct config_scope *scope, void *object)
{
	for (const struct config_setting *s = scope->settings; s->name; s++) {
		bool list = s->type == CONFIG_LIST || s->type == CONFIG_NUMBERS;

		if (s->type == CONFIG_GROUP)
			forget_pointers(s->scope, at(s, object));
		if (list)
			*config_count(s, object) = 0;
		if (list || s->type == CONFIG_TEXT || s->type == CONFIG_WORD ||
		    s->type == CONFIG_WORDS)
			*(void **)at(s, object) = NULL;
	}
	if (scope->has_origin)
		((struct config_origin *)object)->file = NULL;
}

int config_object_copy(const struct config_scope *scope, void *to, const void *from)
{
	int r = 0;

	memcpy(to, from, scope->size);
	forget_pointers(scope, to);
	if (scope->has_origin && ((const struct config_origin *)from)->file) {
		char *file = strdup(((const struct config_origin *)from)->file);

		((struct config_origin *)to)->file = file;
		r = file ? 0 : -ENOMEM;
	}
	for (const struct config_setting *s = scope->settings; s->name && !r; s++)
		r = copy_setting(s, to, from);
	if (r)
		config_object_clear(scope, to);
	return r;
}

static bool lists_equal(const struct config_setting *s, const void *a, const void *b)
{
	if (count_of(s, a) != count_of(s, b))
		return false;
	if (s->type == CONFIG_NUMBERS)
		return !count_of(s, a) || !memcmp(*(void **)at(s, a), *(void **)at(s, b),
						  count_of(s, a) * sizeof(uint16_t));
	for (unsigned i = 0; i < count_of(s, a); i++)
		if (!config_object_equal(s->scope, config_list_at(s, a, i),
					 config_list_at(s, b, i)))
			return false;
	return true;
}

static bool setting_equal(const struct config_setting *s, const void *a, const void *b)
{
	struct config_value v, w;

	if (s->type == CONFIG_GROUP)
		return config_object_equal(s->scope, at(s, a), at(s, b));
	if (s->type == CONFIG_LIST || s->type == CONFIG_NUMBERS)
		return lists_equal(s, a, b);
	v = config_read_value(s, a);
	w = config_read_value(s, b);
	if (v.kind != w.kind)
		return false;
	if (v.kind == VALUE_TEXT)
		return !strcmp(v.s, w.s);
	return v.kind == VALUE_NONE || (v.kind == VALUE_BOOL ? v.b == w.b : v.i == w.i);
}

bool config_object_equal(const struct config_scope *scope, const void *a, const void *b)
{
	for (const struct config_setting *s = scope->settings; s->name; s++)
		if (!setting_equal(s, a, b))
			return false;
	return true;
}

bool config_object_same(const struct config_scope *scope, const void *a, const void *b)
{
	for (const struct config_setting *s = scope->settings; s->name; s++)
		if (!s->live && !setting_equal(s, a, b))
			return false;
	return true;
}

int config_object_take_live(const struct config_scope *scope, void *to, const void *from)
{
	int changed = 0;

	for (const struct config_setting *s = scope->settings; s->name; s++) {
		struct config_value v;
		char why[200];

		if (!s->live || setting_equal(s, to, from))
			continue;
		changed = 1;
		v = config_read_value(s, from);
		if (v.kind == VALUE_NONE)
			config_unset(s, to);
		else if (config_assign(s, to, &v, why, sizeof(why)))
			return -ENOMEM;
	}
	return changed;
}

void *config_list_append(const struct config_setting *s, void *object)
{
	unsigned n = count_of(s, object);
	void **array = at(s, object);
	char *grown = reallocarray(*array, (size_t)n + 1, s->scope->size);

	if (!grown)
		return NULL;
	*array = grown;
	if (config_object_init(s->scope, grown + (size_t)n * s->scope->size))
		return NULL;
	*config_count(s, object) = n + 1;
	return grown + (size_t)n * s->scope->size;
}

void config_list_remove(const struct config_setting *s, void *object, unsigned i)
{
	unsigned n = count_of(s, object);
	char *removed;

	if (i >= n)
		return;
	removed = config_list_at(s, object, i);
	config_object_clear(s->scope, removed);
	memmove(removed, removed + s->scope->size, (n - i - 1) * s->scope->size);
	*config_count(s, object) = n - 1;
}
