/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One setting of one object: assigning with type and range check, reading, default.
 */
#include "config/schema.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *member(const struct config_setting *s, void *object)
{
	return (char *)object + s->at;
}

static const void *const_member(const struct config_setting *s, const void *object)
{
	return (const char *)object + s->at;
}

/* The place of a word in a list parted by blanks; -1: not in it. */
static int word_index(const char *choices, const char *word)
{
	size_t length = strlen(word);
	int i = 0;

	for (const char *p = choices; *p; i++) {
		size_t n = strcspn(p, " ");

		if (length && n == length && !memcmp(p, word, n))
			return i;
		p += n;
		p += strspn(p, " ");
	}
	return -1;
}

static const char *word_at(const char *choices, int index, char *buf, size_t bufsize)
{
	const char *p = choices;

	for (; index > 0; index--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	snprintf(buf, bufsize, "%.*s", (int)strcspn(p, " "), p);
	return buf;
}

const char *config_describe_type(const struct config_setting *s, char *buf, size_t bufsize)
{
	switch (s->type) {
	case CONFIG_BOOL:
	case CONFIG_TRISTATE:
		snprintf(buf, bufsize, "true or false");
		break;
	case CONFIG_NUMBER:
	case CONFIG_NUMBERS:
		snprintf(buf, bufsize, "%s from %llu to %llu",
			 s->type == CONFIG_NUMBERS ? "numbers" : "a number",
			 (unsigned long long)s->min, (unsigned long long)s->max);
		break;
	case CONFIG_SIZE:
		snprintf(buf, bufsize, "a size from %llu to %llu bytes, such as \"64MiB\"",
			 (unsigned long long)s->min, (unsigned long long)s->max);
		break;
	case CONFIG_TEXT:
		snprintf(buf, bufsize, "text in quotes, at most %llu bytes",
			 (unsigned long long)s->max);
		break;
	case CONFIG_WORD:
	case CONFIG_ENUM:
		snprintf(buf, bufsize, "one of: %s", s->choices);
		break;
	case CONFIG_WORDS:
		snprintf(buf, bufsize, "texts out of: %s", s->choices);
		break;
	case CONFIG_GROUP:
		snprintf(buf, bufsize, "a group in { }");
		break;
	case CONFIG_LIST:
		snprintf(buf, bufsize, "a list of groups, ( { }, { } )");
		break;
	}
	return buf;
}

/* The words of a text that are parted by blanks or commas, each one of the choices, with one blank
 * between. NULL and *ret: 0 no memory, or -EINVAL. */
static char *normal_words(const char *choices, const char *text, int *ret)
{
	char *out = malloc(strlen(text) + 1), word[32];
	size_t used = 0;

	*ret = 0;
	if (!out)
		return NULL;
	for (const char *p = text + strspn(text, " ,"); *p;) {
		size_t n = strcspn(p, " ,");

		snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : 0), p);
		if (word_index(choices, word) < 0) {
			free(out);
			*ret = -EINVAL;
			return NULL;
		}
		if (used)
			out[used++] = ' ';
		memcpy(out + used, p, n);
		used += n;
		p += n;
		p += strspn(p, " ,");
	}
	out[used] = '\0';
	return out;
}

static int wrong(const struct config_setting *s, char *why, size_t whysize)
{
	char type[256];

	snprintf(why, whysize, "\"%s\" must be %s", s->name,
		 config_describe_type(s, type, sizeof(type)));
	return -EINVAL;
}

static void store_number(const struct config_setting *s, void *object, uint64_t v)
{
	void *p = member(s, object);

	if (s->width == sizeof(uint16_t))
		*(uint16_t *)p = (uint16_t)v;
	else if (s->width == sizeof(uint32_t))
		*(uint32_t *)p = (uint32_t)v;
	else
		*(uint64_t *)p = v;
}

static uint64_t load_number(const struct config_setting *s, const void *object)
{
	const void *p = const_member(s, object);

	if (s->width == sizeof(uint16_t))
		return *(const uint16_t *)p;
	if (s->width == sizeof(uint32_t))
		return *(const uint32_t *)p;
	return *(const uint64_t *)p;
}

static int assign_number(const struct config_setting *s, void *object, const struct config_value *v,
			 char *why, size_t whysize)
{
	uint64_t n = v->i;

	if (v->kind == VALUE_TEXT && s->type == CONFIG_SIZE) {
		if (text_parse_size(v->s, &n))
			return wrong(s, why, whysize);
	} else if (v->kind != VALUE_INT || v->negative) {
		return wrong(s, why, whysize);
	}
	/* Zero is also what "the default" is written as, where that is the default. */
	if ((n < s->min || n > s->max) && !(n == 0 && s->def && !strcmp(s->def, "0")))
		return wrong(s, why, whysize);
	store_number(s, object, n);
	return 0;
}

void config_unset(const struct config_setting *s, void *object)
{
	char **p = member(s, object);

	if (s->type != CONFIG_TEXT && s->type != CONFIG_WORD && s->type != CONFIG_WORDS)
		return;
	if (s->secret && *p)
		explicit_bzero(*p, strlen(*p));
	free(*p);
	*p = NULL;
}

/* No word at all is the same as no setting. */
static int assign_words(const struct config_setting *s, char **p, const char *text, char *why,
			size_t whysize)
{
	int r;
	char *copy = normal_words(s->choices, text, &r);

	if (!copy)
		return r ? wrong(s, why, whysize) : -ENOMEM;
	free(*p);
	*p = copy;
	if (!*copy) {
		free(copy);
		*p = NULL;
	}
	return 0;
}

static int assign_text(const struct config_setting *s, void *object, const struct config_value *v,
		       char *why, size_t whysize)
{
	char **p = member(s, object), *copy;

	if (v->kind != VALUE_TEXT)
		return wrong(s, why, whysize);
	if (s->type == CONFIG_WORD && word_index(s->choices, v->s) < 0)
		return wrong(s, why, whysize);
	if (s->type == CONFIG_TEXT && strlen(v->s) > s->max)
		return wrong(s, why, whysize);
	if (s->type == CONFIG_WORDS)
		return assign_words(s, p, v->s, why, whysize);
	for (const char *c = v->s; *c; c++) {
		if ((unsigned char)*c >= 0x20 && *c != 0x7f)
			continue;
		snprintf(why, whysize, "\"%s\" contains a control character; remove it", s->name);
		return -EINVAL;
	}
	copy = strdup(v->s);
	if (!copy)
		return -ENOMEM;
	if (s->secret && *p)
		explicit_bzero(*p, strlen(*p));
	free(*p);
	*p = copy;
	return 0;
}

int config_assign(const struct config_setting *s, void *object, const struct config_value *v,
		  char *why, size_t whysize)
{
	switch (s->type) {
	case CONFIG_BOOL:
		if (v->kind != VALUE_BOOL)
			return wrong(s, why, whysize);
		*(bool *)member(s, object) = v->b;
		return 0;
	case CONFIG_TRISTATE:
		if (v->kind != VALUE_BOOL)
			return wrong(s, why, whysize);
		*(int *)member(s, object) = v->b;
		return 0;
	case CONFIG_NUMBER:
	case CONFIG_SIZE:
		return assign_number(s, object, v, why, whysize);
	case CONFIG_TEXT:
	case CONFIG_WORD:
	case CONFIG_WORDS:
		return assign_text(s, object, v, why, whysize);
	case CONFIG_ENUM: {
		int i = v->kind == VALUE_TEXT ? word_index(s->choices, v->s) : -1;

		if (i < 0)
			return wrong(s, why, whysize);
		*(int *)member(s, object) = i - 1;
		return 0;
	}
	case CONFIG_NUMBERS:
	case CONFIG_GROUP:
	case CONFIG_LIST:
		break;
	}
	return wrong(s, why, whysize);
}

/* The words of an ENUM live as long as the program: one buffer for each value would be needed, so
 * they are looked up in this table of what occurs. */
static const char *enum_word(const struct config_setting *s, int value)
{
	static const char *const words[] = { "default", "none", "crc32c" };
	char word[32];

	word_at(s->choices, value + 1, word, sizeof(word));
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], word))
			return words[i];
	return NULL;
}

struct config_value config_read_value(const struct config_setting *s, const void *object)
{
	struct config_value v = { .kind = VALUE_NONE };
	const void *p = const_member(s, object);

	switch (s->type) {
	case CONFIG_BOOL:
		v.kind = VALUE_BOOL;
		v.b = *(const bool *)p;
		break;
	case CONFIG_TRISTATE:
		if (*(const int *)p < 0)
			break;
		v.kind = VALUE_BOOL;
		v.b = *(const int *)p > 0;
		break;
	case CONFIG_NUMBER:
	case CONFIG_SIZE:
		v.kind = VALUE_INT;
		v.i = load_number(s, object);
		break;
	case CONFIG_TEXT:
	case CONFIG_WORD:
	case CONFIG_WORDS:
		v.s = *(char *const *)p;
		v.kind = v.s ? VALUE_TEXT : VALUE_NONE;
		break;
	case CONFIG_ENUM:
		v.s = enum_word(s, *(const int *)p);
		v.kind = v.s ? VALUE_TEXT : VALUE_NONE;
		break;
	case CONFIG_NUMBERS:
	case CONFIG_GROUP:
	case CONFIG_LIST:
		break;
	}
	return v;
}

bool config_is_default(const struct config_setting *s, const void *object)
{
	struct config_value v = config_read_value(s, object);
	uint64_t n = 0;

	switch (v.kind) {
	case VALUE_NONE:
		return true;
	case VALUE_BOOL:
		return s->type == CONFIG_BOOL && v.b == (s->def && !strcmp(s->def, "true"));
	case VALUE_INT:
		return s->def && !text_parse_size(s->def, &n) && n == v.i;
	case VALUE_TEXT:
		return s->def && !strcmp(s->def, v.s);
	}
	return false;
}
