/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/fault.h"

#include "daemon/base/text.h"

#include <errno.h>
#include <string.h>

#define ALL_KINDS (~0u)
#define BIT(kind) (1u << (kind))

struct word {
	const char *name;
	int value;
};

static const struct word actions[] = {
	{ "error", FAULT_ERROR }, { "enospc", FAULT_ERROR },
	{ "torn", FAULT_TORN },   { "delay", FAULT_DELAY },
	{ "hang", FAULT_HANG },   { "release", FAULT_RELEASE },
	{ "clear", FAULT_CLEAR }, { NULL, 0 },
};

static const struct word kinds[] = {
	{ "read", BACKING_READ },
	{ "write", BACKING_WRITE },
	{ "flush", BACKING_FLUSH },
	{ "trim", BACKING_TRIM },
	{ "zero", BACKING_ZERO },
	{ "extents", BACKING_EXTENTS },
	{ NULL, 0 },
};

static const struct word codes[] = {
	{ "EIO", EIO },         { "ENOSPC", ENOSPC },
	{ "ENODATA", ENODATA }, { "EREMOTEIO", EREMOTEIO },
	{ "EILSEQ", EILSEQ },   { "ETIMEDOUT", ETIMEDOUT },
	{ "ENOMEM", ENOMEM },   { "EBUSY", EBUSY },
	{ "EAGAIN", EAGAIN },   { "EROFS", EROFS },
	{ "ENODEV", ENODEV },   { NULL, 0 },
};

static int find(const struct word *table, const char *name, int *ret)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0) {
			*ret = table->value;
			return 0;
		}
	return -EINVAL;
}

static int parse_kinds(char *text, unsigned *ret)
{
	unsigned bits = 0;
	char *save, *word;
	int kind;

	for (word = strtok_r(text, "+", &save); word; word = strtok_r(NULL, "+", &save)) {
		if (find(kinds, word, &kind) < 0)
			return -EINVAL;
		bits |= BIT(kind);
	}
	*ret = bits;
	return bits ? 0 : -EINVAL;
}

static int parse_key(struct fault_rule *r, const char *key, char *value)
{
	uint64_t n;
	int code;

	if (strcmp(key, "kind") == 0)
		return parse_kinds(value, &r->kinds);
	if (strcmp(key, "from") == 0)
		return text_parse_size(value, &r->from);
	if (strcmp(key, "length") == 0)
		return text_parse_size(value, &r->length);
	if (strcmp(key, "skip") == 0)
		return text_parse_u64(value, UINT64_MAX - 1, &r->skip);
	if (strcmp(key, "count") == 0)
		return text_parse_u64(value, UINT64_MAX - 1, &r->left);
	if (strcmp(key, "ms") == 0 && r->action == FAULT_DELAY) {
		if (text_parse_u64(value, 86400000, &n) < 0)
			return -EINVAL;
		r->ms = (uint32_t)n;
		return 0;
	}
	if (strcmp(key, "code") == 0 && r->action == FAULT_ERROR) {
		if (find(codes, value, &code) < 0)
			return -EINVAL;
		r->error = -code;
		return 0;
	}
	return -EINVAL;
}

static int parse_rule(char *text, struct fault_rule *r)
{
	char *save, *word = strtok_r(text, " \t", &save);
	int action;

	if (find(actions, word, &action) < 0)
		return -EINVAL;
	*r = (struct fault_rule){ .action = (enum fault_action)action,
				  .kinds = ALL_KINDS,
				  .length = UINT64_MAX,
				  .left = UINT64_MAX,
				  .error = -EIO };
	if (strcmp(word, "enospc") == 0) {
		r->error = -ENOSPC;
		r->kinds = BIT(BACKING_WRITE) | BIT(BACKING_ZERO);
	}
	if (action == FAULT_TORN)
		r->kinds = BIT(BACKING_WRITE);
	while ((word = strtok_r(NULL, " \t", &save))) {
		char *equals = strchr(word, '=');

		if (!equals || action == FAULT_RELEASE || action == FAULT_CLEAR)
			return -EINVAL;
		*equals = '\0';
		if (parse_key(r, word, equals + 1) < 0)
			return -EINVAL;
	}
	return action == FAULT_DELAY && !r->ms ? -EINVAL : 0;
}

int fault_spec_parse(const char *text, struct fault_rule *rules, unsigned max)
{
	char copy[4096], *save, *rule;
	unsigned n = 0;

	if (text_copy(copy, sizeof(copy), text) < 0)
		return -E2BIG;
	for (rule = strtok_r(copy, ";\n", &save); rule; rule = strtok_r(NULL, ";\n", &save)) {
		if (!rule[strspn(rule, " \t")])
			continue;
		if (n == max)
			return -E2BIG;
		if (parse_rule(rule, &rules[n++]) < 0)
			return -EINVAL;
	}
	return (int)n;
}

static bool touches(const struct fault_rule *r, const struct backing_io *io)
{
	if (!(r->kinds & BIT(io->kind)))
		return false;
	if (r->action == FAULT_TORN && io->kind != BACKING_WRITE)
		return false;
	if (io->kind == BACKING_FLUSH)
		return true;
	if (io->offset >= r->from)
		return io->offset - r->from < r->length;
	return io->length > r->from - io->offset;
}

struct fault_rule fault_decide(struct fault_rule *rules, unsigned n, const struct backing_io *io,
			       uint32_t *ret_ms)
{
	*ret_ms = 0;
	for (unsigned i = 0; i < n; i++) {
		struct fault_rule *r = &rules[i];

		if (!r->left || !touches(r, io))
			continue;
		if (r->skip) {
			r->skip--;
			continue;
		}
		if (r->left != UINT64_MAX)
			r->left--;
		if (r->action != FAULT_DELAY)
			return *r;
		*ret_ms += r->ms;
	}
	return (struct fault_rule){ .action = FAULT_NONE };
}
