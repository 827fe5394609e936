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

/* For people: secrets are left out. */
struct dump {
	FILE *f;
	bool hide;
};

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

static void put_words(FILE *f, const struct config_setting *s, const void *object)
{
	const char *words = config_read_value(s, object).s;

	fprintf(f, "%s = [", s->name);
	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");

		fprintf(f, "%s\"%.*s\"", p == words ? " " : ", ", (int)n, p);
		p += n;
		p += strspn(p, " ");
	}
	fputs(" ];\n", f);
}

/* Where a secret stands that is not shown. One that was read from a file needs no word: its
 * secret_file is printed. */
static void put_hidden(FILE *f, const struct config_setting *s, const struct config_scope *scope,
		       const void *object)
{
	const struct config_origin *o = scope->has_origin ? object : NULL;
	const struct config_setting *from;
	char name[64];

	snprintf(name, sizeof(name), "%.50s_file", s->name);
	from = config_setting_find(scope, name);
	if (from && config_read_value(from, object).kind == VALUE_TEXT)
		fprintf(f, "# %s: read from %s\n", s->name, config_read_value(from, object).s);
	else if (o && o->file)
		fprintf(f, "# %s: not shown; it stands in %s line %u\n", s->name, o->file, o->line);
	else
		fprintf(f, "# %s: not shown; it is kept in the state folder\n", s->name);
}

static void put_settings(const struct dump *d, const struct config_scope *scope, const void *object,
			 unsigned depth);

static void put_list(const struct dump *d, const struct config_setting *s, const void *object,
		     unsigned depth)
{
	FILE *f = d->f;
	unsigned n = *(const unsigned *)(const void *)((const char *)object + s->count_at);

	fprintf(f, "%s = (", s->name);
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "%s{\n", i ? ", " : " ");
		put_settings(d, s->scope, config_list_at(s, object, i), depth + 1);
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

static void put_settings(const struct dump *d, const struct config_scope *scope, const void *object,
			 unsigned depth)
{
	FILE *f = d->f;

	for (const struct config_setting *s = scope->settings; s->name; s++) {
		if (is_empty(s, object))
			continue;
		indent(f, depth);
		if (s->type == CONFIG_LIST) {
			put_list(d, s, object, depth);
		} else if (s->secret && d->hide) {
			put_hidden(f, s, scope, object);
		} else if (s->type == CONFIG_WORDS) {
			put_words(f, s, object);
		} else if (s->type == CONFIG_NUMBERS) {
			put_numbers(f, s, object);
		} else if (s->type == CONFIG_GROUP) {
			fprintf(f, "%s = {\n", s->name);
			put_settings(d, s->scope, (const char *)object + s->at, depth + 1);
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
static char *dump(const struct config_scope *scope, const void *object, const char *name, bool hide)
{
	struct dump d = { .hide = hide };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (name)
		fprintf(f, "%s = ( {\n", name);
	d.f = f;
	put_settings(&d, scope, object, name ? 1 : 0);
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
	return dump(scope, object, NULL, false);
}

char *config_dump(const struct config *c)
{
	return dump(&config_root_scope, c, NULL, true);
}

char *config_dump_lu(const struct config_lu *lu)
{
	return dump(&config_lu_scope, lu, "lus", true);
}

char *config_dump_target(const struct config_target *t)
{
	return dump(&config_target_scope, t, "targets", true);
}

char *config_dump_portal(const struct config_portal *p)
{
	return dump(&config_portal_scope, p, "portals", true);
}
