/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libconfig to struct config, driven by the rows of schema.c. Unknown keys, wrong types and ranges
 * are refused with file and line; duplicate keys are refused by libconfig's own parser.
 */
#include "config/config.h"
#include "config/scan.h"
#include "config/schema.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <libconfig.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (16 << 20)

struct parse {
	struct config_error *err;
	const char *name; /* file, when libconfig does not know one */
};

static __attribute__((format(printf, 3, 4))) int refuse(struct parse *p, const config_setting_t *at,
							const char *format, ...)
{
	const char *file = at ? config_setting_source_file(at) : NULL;
	va_list args;

	snprintf(p->err->file, sizeof(p->err->file), "%s", file ? file : p->name);
	p->err->line = at ? (unsigned)config_setting_source_line(at) : 0;
	va_start(args, format);
	vsnprintf(p->err->text, sizeof(p->err->text), format, args);
	va_end(args);
	return -EINVAL;
}

static struct config_value scalar_value(const config_setting_t *from)
{
	struct config_value v = { .kind = VALUE_NONE };
	long long n;

	switch (config_setting_type(from)) {
	case CONFIG_TYPE_BOOL:
		v.kind = VALUE_BOOL;
		v.b = config_setting_get_bool(from);
		break;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		n = config_setting_get_int64(from);
		v.kind = VALUE_INT;
		v.negative = n < 0;
		v.i = n < 0 ? 0 : (uint64_t)n;
		break;
	case CONFIG_TYPE_STRING:
		v.kind = VALUE_TEXT;
		v.s = config_setting_get_string(from);
		break;
	}
	return v;
}

static int parse_object(struct parse *p, const config_setting_t *from,
			const struct config_scope *scope, void *object);

static int parse_list(struct parse *p, const config_setting_t *from, const struct config_setting *s,
		      void *object)
{
	int n = config_setting_length(from);

	/* An empty list may be written () or []. */
	if (!config_setting_is_list(from) && !(config_setting_is_array(from) && n == 0))
		return refuse(p, from, "\"%s\" must be a list of groups: %s = ( { ... } );",
			      s->name, s->name);
	if ((uint64_t)n > s->max)
		return refuse(p, from, "\"%s\" has %d entries, at most %llu are allowed", s->name,
			      n, (unsigned long long)s->max);
	for (int i = 0; i < n; i++) {
		const config_setting_t *e = config_setting_get_elem(from, (unsigned)i);
		void *o;
		int r;

		if (!config_setting_is_group(e))
			return refuse(p, e, "entry %d of \"%s\" must be a group in { }", i + 1,
				      s->name);
		o = config_list_append(s, object);
		if (!o)
			return -ENOMEM;
		r = parse_object(p, e, s->scope, o);
		if (r)
			return r;
	}
	return 0;
}

static int parse_numbers(struct parse *p, const config_setting_t *from,
			 const struct config_setting *s, void *object)
{
	int n = config_setting_length(from);
	uint16_t *numbers;

	if (!config_setting_is_array(from) && !config_setting_is_list(from))
		return refuse(p, from, "\"%s\" must be an array of numbers: %s = [ 1, 2 ];",
			      s->name, s->name);
	if (!n)
		return 0;
	if (n > 256)
		return refuse(p, from, "\"%s\" has %d entries, at most 256 are allowed", s->name,
			      n);
	numbers = calloc((size_t)n, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	*(uint16_t **)(void *)((char *)object + s->at) = numbers;
	*config_count(s, object) = (unsigned)n;
	for (int i = 0; i < n; i++) {
		const config_setting_t *e = config_setting_get_elem(from, (unsigned)i);
		struct config_value v = scalar_value(e);

		if (v.kind != VALUE_INT || v.negative || v.i < s->min || v.i > s->max)
			return refuse(p, from, "\"%s\" must hold numbers from %llu to %llu",
				      s->name, (unsigned long long)s->min,
				      (unsigned long long)s->max);
		numbers[i] = (uint16_t)v.i;
	}
	return 0;
}

/* A list of texts becomes one text. */
static int parse_words(struct parse *p, const config_setting_t *from,
		       const struct config_setting *s, void *object)
{
	struct config_value v = { .kind = VALUE_TEXT };
	char text[400] = "", why[400];
	size_t used = 0;
	int r;

	if (config_setting_type(from) == CONFIG_TYPE_STRING)
		v.s = config_setting_get_string(from);
	for (int i = 0; !v.s && i < config_setting_length(from); i++) {
		const char *word = config_setting_get_string_elem(from, i);

		if (!word || used + strlen(word) + 2 > sizeof(text))
			return refuse(p, from, "\"%s\" must be a list of texts out of: %s", s->name,
				      s->choices);
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", word);
	}
	v.s = v.s ? v.s : text;
	r = config_assign(s, object, &v, why, sizeof(why));
	return r == -EINVAL ? refuse(p, from, "%s", why) : r;
}

static int parse_setting(struct parse *p, const config_setting_t *from,
			 const struct config_setting *s, void *object)
{
	struct config_value v;
	char why[400];
	int r;

	switch (s->type) {
	case CONFIG_GROUP:
		if (!config_setting_is_group(from))
			return refuse(p, from, "\"%s\" must be a group: %s = { ... };", s->name,
				      s->name);
		return parse_object(p, from, s->scope, (char *)object + s->at);
	case CONFIG_LIST:
		return parse_list(p, from, s, object);
	case CONFIG_NUMBERS:
		return parse_numbers(p, from, s, object);
	case CONFIG_WORDS:
		return parse_words(p, from, s, object);
	case CONFIG_BOOL:
	case CONFIG_TRISTATE:
	case CONFIG_NUMBER:
	case CONFIG_SIZE:
	case CONFIG_TEXT:
	case CONFIG_WORD:
	case CONFIG_ENUM:
		break;
	}
	v = scalar_value(from);
	r = config_assign(s, object, &v, why, sizeof(why));
	return r == -EINVAL ? refuse(p, from, "%s", why) : r;
}

static void known_names(const struct config_scope *scope, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (const struct config_setting *s = scope->settings; s->name && used < size; s++)
		used +=
		    (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", s->name);
}

static int set_origin(struct parse *p, const config_setting_t *from, struct config_origin *origin)
{
	const char *file = config_setting_source_file(from);

	origin->file = strdup(file ? file : p->name);
	origin->line = (unsigned)config_setting_source_line(from);
	return origin->file ? 0 : -ENOMEM;
}

static int parse_object(struct parse *p, const config_setting_t *from,
			const struct config_scope *scope, void *object)
{
	char names[350];

	if (scope->has_origin && set_origin(p, from, object))
		return -ENOMEM;
	for (int i = 0; i < config_setting_length(from); i++) {
		const config_setting_t *e = config_setting_get_elem(from, (unsigned)i);
		const struct config_setting *s;
		int r;

		s = config_setting_find(scope, config_setting_name(e));
		if (!s) {
			known_names(scope, names, sizeof(names));
			return refuse(p, e, "unknown setting \"%.64s\" in %s; known are: %s",
				      config_setting_name(e), scope->name, names);
		}
		r = parse_setting(p, e, s, object);
		if (r)
			return r;
	}
	for (const struct config_setting *s = scope->settings; s->name; s++)
		if (s->required && !config_setting_get_member(from, s->name))
			return refuse(p, from, "this %s has no \"%s\"; add it", scope->name,
				      s->name);
	return 0;
}

/* After libconfig has read: its tree to ours. Frees `cfg`; a failed object is cleared. */
static int finish(struct parse *p, config_t *cfg, int good, const struct config_scope *scope,
		  void *object)
{
	int r;

	if (!good) {
		const char *file = config_error_file(cfg);

		snprintf(p->err->file, sizeof(p->err->file), "%s", file ? file : p->name);
		p->err->line = config_error_line(cfg) > 0 ? (unsigned)config_error_line(cfg) : 0;
		snprintf(p->err->text, sizeof(p->err->text), "%s", config_error_text(cfg));
		config_destroy(cfg);
		return -EINVAL;
	}
	r = config_object_init(scope, object);
	if (!r)
		r = parse_object(p, config_root_setting(cfg), scope, object);
	config_destroy(cfg);
	if (r == -ENOMEM)
		refuse(p, NULL, "out of memory while reading it");
	if (r)
		config_object_clear(scope, object);
	return r;
}

/* Relative @include files are looked for beside the file that names them. */
static void set_include_dir(config_t *cfg, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path)) : NULL;

	if (dir)
		config_set_include_dir(cfg, *dir ? dir : "/");
	free(dir);
}

static int check_readable(struct parse *p, const char *path)
{
	struct stat st;
	FILE *f = fopen(path, "re");

	if (!f) {
		int r = -errno;

		refuse(p, NULL, "cannot be opened: %s; name another with -c", text_errno(errno));
		return r;
	}
	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_SIZE_MAX) {
		fclose(f);
		return refuse(p, NULL, "is not a regular file of at most 16 MiB");
	}
	fclose(f);
	return 0;
}

int config_parse_file(const char *path, struct config **ret, struct config_error *err)
{
	struct parse p = { .err = err, .name = path };
	struct config *c;
	config_t cfg;
	int good, r;

	memset(err, 0, sizeof(*err));
	r = check_readable(&p, path);
	if (!r)
		r = config_scan_file(path, err);
	if (r)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	config_init(&cfg);
	set_include_dir(&cfg, path);
	good = config_read_file(&cfg, path);
	r = finish(&p, &cfg, good, &config_root_scope, c);
	if (r) {
		free(c);
		return r;
	}
	r = config_load_secrets(c, err);
	if (r)
		config_free(c);
	else
		*ret = c;
	return r;
}

int config_parse_object(const char *text, const char *name, const struct config_scope *scope,
			void *object, struct config_error *err)
{
	struct parse p = { .err = err, .name = name };
	config_t cfg;
	int good;

	memset(err, 0, sizeof(*err));
	if (config_scan_text(text, name, err))
		return -EINVAL;
	config_init(&cfg);
	good = config_read_string(&cfg, text);
	return finish(&p, &cfg, good, scope, object);
}

int config_parse_text(const char *text, const char *name, struct config **ret,
		      struct config_error *err)
{
	struct config *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = config_parse_object(text, name, &config_root_scope, c, err);
	if (r)
		free(c);
	else
		*ret = c;
	return r;
}
