/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct config to text, by the rows of schema.c. Values that are the default are left out, so
 * what is printed reads as a person would have written it.
 */
#include "config/config.h"
#include "config/schema.h"
#include "daemon/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void indent(FILE *f, unsigned depth)
{
	for (; depth; depth--)
		fputc('\t', f);
}

static void put_quoted(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

static void put_scalar(FILE *f, const struct config_setting *s, const void *object)
{
	struct config_value v = config_read_value(s, object);
	char buf[64];

	switch (v.kind) {
	case VALUE_NONE:
		return;
	case VALUE_BOOL:
		fputs(v.b ? "true" : "false", f);
		break;
	case VALUE_INT:
		if (s->type == CONFIG_SIZE)
			fprintf(f, "\"%s\"", text_format_size(v.i, buf, sizeof(buf)));
		else
			fprintf(f, "%llu", (unsigned long long)v.i);
		break;
	case VALUE_TEXT:
		put_quoted(f, v.s);
		break;
	}
}

static void put_settings(FILE *f, const struct config_scope *scope, const void *object,
			 unsigned depth);

static void put_list(FILE *f, const struct config_setting *s, const void *object, unsigned depth)
{
	unsigned n = *(const unsigned *)(const void *)((const char *)object + s->count_at);

	fprintf(f, "%s = (", s->name);
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "%s{\n", i ? ", " : " ");
		put_settings(f, s->scope, config_list_at(s, object, i), depth + 1);
		indent(f, depth);
		fputc('}', f);
	}
	fputs(" );\n", f);
}

static void put_numbers(FILE *f, const struct config_setting *s, const void *object)
{
	unsigned n = *(const unsigned *)(const void *)((const char *)object + s->count_at);
	const uint16_t *numbers = *(uint16_t *const *)(const void *)((const char *)object + s->at);

	fprintf(f, "%s = [", s->name);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s%u", i ? ", " : " ", numbers[i]);
	fputs(" ];\n", f);
}

static bool is_empty(const struct config_setting *s, const void *object)
{
	if (s->type == CONFIG_LIST || s->type == CONFIG_NUMBERS)
		return !*(const unsigned *)(const void *)((const char *)object + s->count_at);
	if (s->type == CONFIG_GROUP) {
		const void *inner = (const char *)object + s->at;

		for (const struct config_setting *i = s->scope->settings; i->name; i++)
			if (!is_empty(i, inner))
				return false;
		return true;
	}
	return !s->required && config_is_default(s, object);
}

static void put_settings(FILE *f, const struct config_scope *scope, const void *object,
			 unsigned depth)
{
	for (const struct config_setting *s = scope->settings; s->name; s++) {
		if (is_empty(s, object))
			continue;
		indent(f, depth);
		if (s->type == CONFIG_LIST) {
			put_list(f, s, object, depth);
		} else if (s->type == CONFIG_NUMBERS) {
			put_numbers(f, s, object);
		} else if (s->type == CONFIG_GROUP) {
			fprintf(f, "%s = {\n", s->name);
			put_settings(f, s->scope, (const char *)object + s->at, depth + 1);
			indent(f, depth);
			fputs("};\n", f);
		} else {
			fprintf(f, "%s = ", s->name);
			put_scalar(f, s, object);
			fputs(";\n", f);
		}
	}
}

/* As the only entry of the list `name`, so that config_parse_text reads it. */
static char *dump(const struct config_scope *scope, const void *object, const char *name)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (name)
		fprintf(f, "%s = ( {\n", name);
	put_settings(f, scope, object, name ? 1 : 0);
	if (name)
		fputs("} );\n", f);
	if (ferror(f) | fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

char *config_dump_object(const struct config_scope *scope, const void *object)
{
	return dump(scope, object, NULL);
}

char *config_dump(const struct config *c)
{
	return dump(&config_root_scope, c, NULL);
}

char *config_dump_lu(const struct config_lu *lu)
{
	return dump(&config_lu_scope, lu, "lus");
}

char *config_dump_target(const struct config_target *t)
{
	return dump(&config_target_scope, t, "targets");
}

char *config_dump_portal(const struct config_portal *p)
{
	return dump(&config_portal_scope, p, "portals");
}
