/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See scan.h. Knows libconfig's comments, strings, numbers and @include; nothing else.
 */
#include "config/scan.h"
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCLUDES_MAX 10
#define FILE_MAX     (16 << 20)

struct scan {
	const char *at;
	const char *name, *folder; /* folder: of included files; NULL: they are not looked at */
	unsigned line, depth;
	struct config_error *err;
};

static int scan_file(const char *path, const char *folder, unsigned depth,
		     struct config_error *err);

static void skip_until(struct scan *s, const char *end)
{
	while (*s->at && strncmp(s->at, end, strlen(end)) != 0) {
		s->line += *s->at == '\n';
		s->at++;
	}
}

static void skip_string(struct scan *s)
{
	for (s->at++; *s->at && *s->at != '"'; s->at++) {
		s->line += *s->at == '\n';
		if (*s->at == '\\' && s->at[1])
			s->at++;
	}
	s->at += *s->at == '"';
}

/* True: a comment was skipped. */
static bool skip_comment(struct scan *s)
{
	if (*s->at == '#' || !strncmp(s->at, "//", 2)) {
		skip_until(s, "\n");
		return true;
	}
	if (strncmp(s->at, "/*", 2) != 0)
		return false;
	skip_until(s, "*/");
	s->at += *s->at ? 2 : 0;
	return true;
}

/* A whole word of letters, digits and what numbers are made of. */
static int scan_word(struct scan *s)
{
	size_t n = 0;
	unsigned long long value;
	char *end;

	while (isalnum((unsigned char)s->at[n]) || (s->at[n] && strchr("_.-+*", s->at[n])))
		n++;
	if (!isdigit((unsigned char)*s->at)) {
		s->at += n ? n : 1;
		return 0;
	}
	errno = 0;
	value = strtoull(s->at, &end, 0);
	/* "10L" has 64 bits, "1.5" and "1e9" are no integers, "0x..." may use all 32 bits. */
	if (end == s->at + n && (errno || value > (s->at[1] == 'x' ? 0xffffffffULL : 0x7fffffff))) {
		memset(s->err, 0, sizeof(*s->err));
		snprintf(s->err->file, sizeof(s->err->file), "%s", s->name);
		s->err->line = s->line;
		snprintf(s->err->text, sizeof(s->err->text),
			 "the number %.*s is too large to be written so; write a size as text, "
			 "\"20GiB\", or put an L behind it",
			 (int)(n > 40 ? 40 : n), s->at);
		return -EINVAL;
	}
	s->at += n;
	return 0;
}

static int scan_include(struct scan *s)
{
	char path[4096];
	size_t n;

	skip_until(s, "\"");
	if (!*s->at || !s->folder)
		return 0;
	n = strcspn(s->at + 1, "\"\n");
	snprintf(path, sizeof(path), "%s%s%.*s", s->at[1] == '/' ? "" : s->folder,
		 s->at[1] == '/' ? "" : "/", (int)(n > 2000 ? 2000 : n), s->at + 1);
	skip_string(s);
	return scan_file(path, s->folder, s->depth + 1, s->err);
}

static int scan(struct scan *s)
{
	int r = 0;

	while (*s->at && !r) {
		if (skip_comment(s))
			continue;
		if (*s->at == '\n') {
			s->line++;
			s->at++;
		} else if (*s->at == '"') {
			skip_string(s);
		} else if (!strncmp(s->at, "@include", 8)) {
			r = scan_include(s);
		} else {
			r = scan_word(s);
		}
	}
	return r;
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(FILE_MAX + 1) : NULL;
	size_t n;

	if (text) {
		n = fread(text, 1, FILE_MAX, f);
		text[n] = '\0';
	}
	if (f)
		fclose(f);
	return text;
}

static int scan_file(const char *path, const char *folder, unsigned depth, struct config_error *err)
{
	char *text = depth < INCLUDES_MAX ? read_file(path) : NULL;
	struct scan s = {
		.at = text, .name = path, .folder = folder, .line = 1, .depth = depth, .err = err
	};
	int r = text ? scan(&s) : 0;

	free(text);
	return r;
}

int config_scan_text(const char *text, const char *name, struct config_error *err)
{
	struct scan s = { .at = text, .name = name, .line = 1, .err = err };

	return scan(&s);
}

int config_scan_file(const char *path, struct config_error *err)
{
	const char *slash = strrchr(path, '/');
	char folder[4096] = ".";

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return scan_file(path, folder, 0, err);
}
