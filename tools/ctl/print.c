/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers for people: tables and lists of members; or the answer itself with --json.
 */
#include "tools/ctl/ctl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 12

void ctl_format_bytes(json_int_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1024 && unit < 6) {
		value /= 1024;
		unit++;
	}
	if (value == (double)(json_int_t)value)
		snprintf(buf, size, "%lld %s", (long long)value, units[unit]);
	else
		snprintf(buf, size, "%.1f %s", value, units[unit]);
}

static void format_list(const json_t *list, char *buf, size_t size);

/* What a peer has said of itself (its alias) must not reach the terminal as orders: '?' for what is
 * no character, C1 (in UTF-8 c2 80 to c2 9f) included. */
static void make_harmless(char *s)
{
	for (unsigned char *p = (unsigned char *)s; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
	}
}

static void format_value(const json_t *j, char *buf, size_t size)
{
	switch (j ? json_typeof(j) : JSON_NULL) {
	case JSON_STRING:
		snprintf(buf, size, "%s", json_string_value(j));
		make_harmless(buf);
		break;
	case JSON_INTEGER:
		snprintf(buf, size, "%lld", (long long)json_integer_value(j));
		break;
	case JSON_REAL:
		snprintf(buf, size, "%g", json_real_value(j));
		break;
	case JSON_TRUE:
		snprintf(buf, size, "yes");
		break;
	case JSON_FALSE:
		snprintf(buf, size, "no");
		break;
	case JSON_NULL:
		snprintf(buf, size, "-");
		break;
	case JSON_ARRAY:
		format_list(j, buf, size);
		break;
	case JSON_OBJECT: {
		char *text = json_dumps(j, JSON_COMPACT);

		snprintf(buf, size, "%s", text ? text : "");
		free(text);
		break;
	}
	}
}

/* Where an LU is mapped reads "target lun 0", other things as they are. */
static void format_list(const json_t *list, char *buf, size_t size)
{
	size_t used = 0, i;
	json_t *e;

	snprintf(buf, size, "-");
	json_array_foreach(list, i, e)
	{
		const char *target = json_string_value(json_object_get(e, "target"));
		json_t *lun = json_object_get(e, "lun");
		char one[400];

		if (target && lun)
			snprintf(one, sizeof(one), "%.300s lun %lld", target,
				 (long long)json_integer_value(lun));
		else
			format_value(e, one, sizeof(one));
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", one);
		if (used >= size)
			return;
	}
}

struct column {
	char member[32], heading[24];
	bool bytes;
	size_t width;
};

static unsigned read_columns(const char *spec, struct column *c)
{
	unsigned n = 0;

	for (const char *p = spec; *p && n < COLUMNS_MAX; n++) {
		size_t length = strcspn(p, " ");
		char kind[8] = "";

		memset(&c[n], 0, sizeof(c[n]));
		if (sscanf(p, "%31[^: ]:%23[^: ]:%7[^: ]", c[n].member, c[n].heading, kind) < 2)
			break;
		c[n].bytes = !strcmp(kind, "size");
		c[n].width = strlen(c[n].heading);
		p += length;
		p += strspn(p, " ");
	}
	return n;
}

static void cell(const struct column *c, const json_t *row, char *buf, size_t size)
{
	const json_t *j = json_object_get(row, c->member);

	if (c->bytes && json_is_integer(j))
		ctl_format_bytes(json_integer_value(j), buf, size);
	else
		format_value(j, buf, size);
}

void ctl_print_table(const json_t *rows, const char *columns, FILE *to)
{
	struct column c[COLUMNS_MAX];
	unsigned n = read_columns(columns, c);
	char buf[1024];
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		for (unsigned k = 0; k < n; k++) {
			cell(&c[k], row, buf, sizeof(buf));
			c[k].width = strlen(buf) > c[k].width ? strlen(buf) : c[k].width;
		}
	}
	for (unsigned k = 0; k < n; k++)
		fprintf(to, "%-*s%s", k + 1 < n ? (int)c[k].width : 0, c[k].heading,
			k + 1 < n ? "  " : "\n");
	json_array_foreach(rows, i, row)
	{
		for (unsigned k = 0; k < n; k++) {
			cell(&c[k], row, buf, sizeof(buf));
			fprintf(to, "%-*s%s", k + 1 < n ? (int)c[k].width : 0, buf,
				k + 1 < n ? "  " : "\n");
		}
	}
}

static bool is_bytes(const char *name)
{
	return !strcmp(name, "size") || !strcmp(name, "allocated") || !strcmp(name, "size_before");
}

static void print_member(const char *name, const json_t *j, unsigned depth, FILE *to)
{
	char buf[1024];
	json_t *e;
	size_t i;

	if (json_is_object(j)) {
		fprintf(to, "%*s%s:\n", (int)depth * 2, "", name);
		ctl_print_members(j, depth + 1, to);
		return;
	}
	if (json_is_array(j) && json_is_object(json_array_get(j, 0))) {
		fprintf(to, "%*s%s:\n", (int)depth * 2, "", name);
		json_array_foreach(j, i, e)
		{
			if (i)
				fputc('\n', to);
			ctl_print_members(e, depth + 1, to);
		}
		return;
	}
	if (json_is_integer(j) && is_bytes(name))
		ctl_format_bytes(json_integer_value(j), buf, sizeof(buf));
	else
		format_value(j, buf, sizeof(buf));
	fprintf(to, "%*s%s: %s\n", (int)depth * 2, "", name, buf);
}

void ctl_print_members(const json_t *object, unsigned depth, FILE *to)
{
	union {
		const json_t *given;
		json_t *object; /* jansson has no iterator for const; nothing is changed */
	} u = { .given = object };
	const char *name;
	json_t *j;

	json_object_foreach(u.object, name, j) print_member(name, j, depth, to);
}

enum ctl_status ctl_print(const struct ctl_call *call, const json_t *result)
{
	const struct ctl_verb *v = call->verb;

	if (call->json) {
		json_dumpf(result, stdout, JSON_INDENT(2));
		fputc('\n', stdout);
		return CTL_DONE;
	}
	if (json_object_get(result, "unclosed"))
		fprintf(stderr,
			"hawserctl: the store of lu %s has not closed yet, a command in it has not "
			"ended; until then its file or device stays in use\n",
			json_string_value(json_object_get(result, "unclosed")));
	if (v->show)
		return v->show(result, call->params);
	if (v->list)
		ctl_print_table(json_object_get(result, v->list), v->columns, stdout);
	else
		ctl_print_members(result, 0, stdout);
	return CTL_DONE;
}
