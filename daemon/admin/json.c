/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of the configuration as JSON and back, by the rows of their scope.
 */
#include "daemon/admin/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *admin_origin_json(const struct config_origin *o)
{
	if (!o->file)
		return json_string("run time");
	return json_sprintf("%s:%u", o->file, o->line);
}

static unsigned count_of(const struct config_setting *s, const void *object)
{
	return *(const unsigned *)(const void *)((const char *)object + s->count_at);
}

static json_t *words_json(const char *words)
{
	json_t *list = json_array();

	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");

		json_array_append_new(list, json_stringn(p, n));
		p += n;
		p += strspn(p, " ");
	}
	return list;
}

static json_t *scalar_json(const struct config_setting *s, const void *object)
{
	struct config_value v = config_read_value(s, object);

	if (s->secret && v.kind == VALUE_TEXT)
		return json_string("(not shown)");
	if (s->type == CONFIG_WORDS && v.kind == VALUE_TEXT)
		return words_json(v.s);
	switch (v.kind) {
	case VALUE_NONE:
		return NULL;
	case VALUE_BOOL:
		return json_boolean(v.b);
	case VALUE_INT:
		return json_integer((json_int_t)v.i);
	case VALUE_TEXT:
		return json_string(v.s);
	}
	return NULL;
}

static json_t *list_json(const struct config_setting *s, const void *object)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < count_of(s, object); i++)
		json_array_append_new(list,
				      admin_object_json(s->scope, config_list_at(s, object, i)));
	return list;
}

static json_t *numbers_json(const struct config_setting *s, const void *object)
{
	const uint16_t *n = *(uint16_t *const *)(const void *)((const char *)object + s->at);
	json_t *list = json_array();

	for (unsigned i = 0; i < count_of(s, object); i++)
		json_array_append_new(list, json_integer(n[i]));
	return list;
}

json_t *admin_object_json(const struct config_scope *scope, const void *object)
{
	json_t *o = json_object();

	for (const struct config_setting *s = scope->settings; s->name; s++) {
		json_t *v;

		if (s->type == CONFIG_LIST)
			v = list_json(s, object);
		else if (s->type == CONFIG_NUMBERS)
			v = numbers_json(s, object);
		else if (s->type == CONFIG_GROUP)
			v = admin_object_json(s->scope, (const char *)object + s->at);
		else
			v = scalar_json(s, object);
		if (v)
			json_object_set_new(o, s->name, v);
	}
	if (scope->has_origin)
		json_object_set_new(o, "origin", admin_origin_json(object));
	return o;
}

static struct config_value value_of(const json_t *j)
{
	struct config_value v = { .kind = VALUE_NONE };

	switch (json_typeof(j)) {
	case JSON_TRUE:
	case JSON_FALSE:
		v.kind = VALUE_BOOL;
		v.b = json_is_true(j);
		break;
	case JSON_INTEGER:
		v.kind = VALUE_INT;
		v.negative = json_integer_value(j) < 0;
		v.i = v.negative ? 0 : (uint64_t)json_integer_value(j);
		break;
	case JSON_STRING:
		/* A text with a NUL inside would be cut: it is none. */
		if (strlen(json_string_value(j)) == json_string_length(j)) {
			v.kind = VALUE_TEXT;
			v.s = json_string_value(j);
		}
		break;
	case JSON_REAL:
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return v;
}

static int list_from_json(const struct config_setting *s, json_t *j, void *object, char *why,
			  size_t whysize)
{
	json_t *e;
	size_t i;

	if (!json_is_array(j) || json_array_size(j) > s->max) {
		snprintf(why, whysize, "\"%s\" must be an array of at most %llu objects", s->name,
			 (unsigned long long)s->max);
		return -EINVAL;
	}
	json_array_foreach(j, i, e)
	{
		void *o = json_is_object(e) ? config_list_append(s, object) : NULL;
		int r;

		if (!json_is_object(e)) {
			snprintf(why, whysize, "\"%s\" must be an array of objects", s->name);
			return -EINVAL;
		}
		if (!o)
			return -ENOMEM;
		r = admin_object_from_json(s->scope, e, "", o, why, whysize);
		if (r)
			return r;
	}
	return 0;
}

static int numbers_from_json(const struct config_setting *s, json_t *j, void *object, char *why,
			     size_t whysize)
{
	size_t n = json_array_size(j);
	uint16_t *numbers = NULL;

	if (!json_is_array(j) || n > 256)
		goto wrong;
	numbers = calloc(n ? n : 1, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		json_int_t v = json_integer_value(json_array_get(j, i));

		if (v < (json_int_t)s->min || v > (json_int_t)s->max)
			goto wrong;
		numbers[i] = (uint16_t)v;
	}
	*(uint16_t **)(void *)((char *)object + s->at) = numbers;
	*config_count(s, object) = (unsigned)n;
	return 0;
wrong:
	free(numbers);
	snprintf(why, whysize, "\"%s\" must be an array of at most 256 numbers from %llu to %llu",
		 s->name, (unsigned long long)s->min, (unsigned long long)s->max);
	return -EINVAL;
}

/* An array of texts, or one text with commas. */
static int words_from_json(const struct config_setting *s, json_t *j, void *object, char *why,
			   size_t whysize)
{
	struct config_value v = value_of(j);
	char text[400] = "";
	size_t used = 0, i;
	json_t *e;

	if (json_is_array(j))
		v = (struct config_value){ .kind = VALUE_TEXT, .s = text };
	json_array_foreach(j, i, e)
	{
		const char *word = json_string_value(e) ?: "?";

		if (used + strlen(word) + 2 > sizeof(text))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", word);
	}
	return config_assign(s, object, &v, why, whysize);
}

static bool is_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");

		if (n == length && !memcmp(p, word, n))
			return true;
		p += n;
		p += strspn(p, " ");
	}
	return false;
}

int admin_object_from_json(const struct config_scope *scope, json_t *params, const char *skip,
			   void *object, char *why, size_t whysize)
{
	const char *name;
	json_t *j;

	json_object_foreach(params, name, j)
	{
		const struct config_setting *s = config_setting_find(scope, name);
		struct config_value v;
		int r;

		if (is_word(skip, name))
			continue;
		if (!s) {
			snprintf(why, whysize, "a %s has no setting \"%.64s\"", scope->name, name);
			return -EINVAL;
		}
		v = value_of(j);
		if (s->type == CONFIG_LIST)
			r = list_from_json(s, j, object, why, whysize);
		else if (s->type == CONFIG_NUMBERS)
			r = numbers_from_json(s, j, object, why, whysize);
		else if (s->type == CONFIG_WORDS)
			r = words_from_json(s, j, object, why, whysize);
		else
			r = config_assign(s, object, &v, why, whysize);
		if (r)
			return r;
	}
	for (const struct config_setting *s = scope->settings; s->name; s++) {
		if (!s->required || json_object_get(params, s->name) || is_word(skip, s->name))
			continue;
		snprintf(why, whysize, "\"%s\" is missing", s->name);
		return -EINVAL;
	}
	return 0;
}
