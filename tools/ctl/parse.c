/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line to a call: noun, verb, words in their order, options by name.
 */
#include "daemon/base/text.h"
#include "tools/ctl/ctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_PATH "/run/hawser/admin.sock"

static __attribute__((format(printf, 1, 2))) enum ctl_status usage(const char *format, ...)
{
	va_list args;

	fputs("hawserctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; see \"hawserctl help\"\n", stderr);
	return CTL_USAGE;
}

/* A row of words or options, taken apart. */
struct param {
	char name[48]; /* as written: "read-only" */
	char kind;     /* 's' text, 'n' number, 'b' flag, 't' yes or no, see ctl.h */
	bool optional;
};

/* The i-th of them; false: there are not so many. */
static bool param_at(const char *spec, unsigned i, struct param *ret)
{
	const char *p = spec;
	size_t n;

	for (; i && *p; i--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	if (!*p)
		return false;
	ret->optional = *p == '[';
	p += ret->optional;
	n = strcspn(p, " :]");
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)n, p);
	ret->kind = 's';
	if (p[n] == ':')
		ret->kind = p[n + 1];
	return true;
}

static bool find_option(const struct ctl_verb *v, const char *name, size_t length,
			struct param *ret)
{
	for (unsigned i = 0; param_at(v->options, i, ret); i++)
		if (strlen(ret->name) == length && !memcmp(ret->name, name, length))
			return true;
	return false;
}

/* "1,2": an array. NULL: something in it is no number. */
static json_t *numbers(const char *text)
{
	json_t *list = json_array();
	const char *p = text;
	char word[24];
	uint64_t n;

	do {
		size_t length = strcspn(p, ",");

		snprintf(word, sizeof(word), "%.*s", (int)length, p);
		if (length >= sizeof(word) || text_parse_u64(word, INT64_MAX, &n)) {
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, json_integer((json_int_t)n));
		p += length;
	} while (*p++ == ',');
	return list;
}

static json_t *to_json(const struct param *p, const char *text)
{
	uint64_t n;

	if (p->kind == 'N')
		return numbers(text);
	if (p->kind == 'n')
		return text_parse_u64(text, INT64_MAX, &n) ? NULL : json_integer((json_int_t)n);
	if (p->kind == 't' && (!strcmp(text, "yes") || !strcmp(text, "true")))
		return json_true();
	if (p->kind == 't' && (!strcmp(text, "no") || !strcmp(text, "false")))
		return json_false();
	return p->kind == 't' ? NULL : json_string(text);
}

/* A secret, wherever it comes from, under its name without "-file". */
static enum ctl_status set_secret(json_t *params, const struct param *p, json_t *secret)
{
	char key[sizeof(p->name)];
	size_t n = strlen(p->name);

	if (!secret)
		return CTL_USAGE;
	snprintf(key, sizeof(key), "%s", "secret");
	if (n > 5 && !strcmp(p->name + n - 5, "-file"))
		snprintf(key, sizeof(key), "%.*s", (int)n - 5, p->name);
	for (char *c = key; *c; c++)
		if (*c == '-')
			*c = '_';
	if (json_object_get(params, key)) {
		json_decref(secret);
		return usage("%s is said twice", key);
	}
	json_object_set_new(params, key, secret);
	return CTL_DONE;
}

static enum ctl_status set(json_t *params, const struct param *p, const char *text)
{
	static const char *const wanted[] = {
		['n'] = "a number", ['t'] = "yes or no", ['N'] = "numbers parted by commas"
	};
	json_t *value;
	char key[sizeof(p->name)];

	if (p->kind == 'g')
		return set_secret(params, p, ctl_secret_generate(text));
	if (p->kind == 'p' || p->kind == 'P')
		return set_secret(params, p, ctl_secret_file(text));
	value = p->kind == 'b' ? json_true() : to_json(p, text);
	if (!value)
		return usage("%s: \"%s\" is not %s", p->name, text,
			     p->kind == 's' ? "UTF-8 text" : wanted[(unsigned char)p->kind]);
	snprintf(key, sizeof(key), "%s", p->name);
	for (char *c = key; *c; c++)
		if (*c == '-')
			*c = '_';
	if (json_object_get(params, key)) {
		json_decref(value);
		return usage("%s is said twice", p->name);
	}
	json_object_set_new(params, key, value);
	return CTL_DONE;
}

struct cursor {
	int argc, at;
	char **argv;
};

static enum ctl_status parse_option(struct ctl_call *call, struct cursor *c, const char *arg)
{
	size_t length = strcspn(arg, "=");
	const char *value = arg[length] ? arg + length + 1 : NULL;
	struct param p;

	if (!find_option(call->verb, arg, length, &p))
		return usage("%s %s has no option --%.*s", call->verb->noun, call->verb->verb,
			     (int)length, arg);
	if (p.kind == 'b' && value)
		return usage("--%s takes no value", p.name);
	if (p.kind != 'b' && !value) {
		if (c->at >= c->argc)
			return usage("--%s needs a value", p.name);
		value = c->argv[c->at++];
	}
	return set(call->params, &p, value);
}

/* Options of the tool itself, which may stand anywhere. 1: it was one. */
static int global_option(struct ctl_call *call, struct cursor *c, const char *arg)
{
	if (!strcmp(arg, "--json")) {
		call->json = true;
		return 1;
	}
	if (!strncmp(arg, "--socket=", 9)) {
		call->socket = arg + 9;
		return 1;
	}
	if (strcmp(arg, "-s") != 0 && strcmp(arg, "--socket") != 0)
		return 0;
	if (c->at >= c->argc)
		return -1;
	call->socket = c->argv[c->at++];
	return 1;
}

static enum ctl_status check_words(const struct ctl_verb *v, unsigned given)
{
	struct param p;

	if (param_at(v->words, given, &p) && !p.optional)
		return usage("%s %s: %s is missing", v->noun, v->verb, p.name);
	return CTL_DONE;
}

/* The secret that the verb cannot do without. */
static enum ctl_status ask_secret(struct ctl_call *call)
{
	struct param p;

	for (unsigned i = 0; param_at(call->verb->options, i, &p); i++)
		if (p.kind == 'P' && !json_object_get(call->params, "secret"))
			return set_secret(call->params, &p, ctl_secret_prompt("the secret"));
	return CTL_DONE;
}

/* What follows noun and verb. */
static enum ctl_status parse_rest(struct ctl_call *call, struct cursor *c)
{
	enum ctl_status status = CTL_DONE;
	unsigned words = 0;
	struct param p;

	while (c->at < c->argc && status == CTL_DONE) {
		const char *arg = c->argv[c->at++];
		int global = global_option(call, c, arg);

		if (global < 0)
			return usage("%s needs a value", arg);
		if (global)
			continue;
		if (!strcmp(arg, "--help")) {
			status = ctl_help(call->verb->noun, call->verb->verb, stdout);
			call->verb = NULL;
			return status;
		}
		if (!strncmp(arg, "--", 2))
			status = parse_option(call, c, arg + 2);
		else if (param_at(call->verb->words, words++, &p))
			status = set(call->params, &p, arg);
		else
			status = usage("%s %s: \"%s\" is one word too many", call->verb->noun,
				       call->verb->verb, arg);
	}
	if (status == CTL_DONE)
		status = check_words(call->verb, words);
	return status == CTL_DONE ? ask_secret(call) : status;
}

static enum ctl_status help(struct cursor *c)
{
	const char *noun = c->at < c->argc ? c->argv[c->at++] : NULL;
	const char *verb = c->at < c->argc ? c->argv[c->at++] : NULL;

	return ctl_help(noun, verb, stdout);
}

enum ctl_status ctl_parse(int argc, char **argv, struct ctl_call *ret)
{
	struct cursor c = { .argc = argc, .at = 1, .argv = argv };
	const char *env = getenv("HAWSER_SOCKET"); // NOLINT(concurrency-mt-unsafe): one thread
	const char *noun, *verb;

	*ret = (struct ctl_call){ .socket = env && *env ? env : SOCKET_PATH };
	for (noun = NULL; c.at < argc && !noun;) {
		const char *arg = argv[c.at++];
		int global = global_option(ret, &c, arg);

		if (global < 0)
			return usage("%s needs a value", arg);
		if (!global)
			noun = arg;
	}
	if (!noun) {
		ctl_help(NULL, NULL, stderr);
		return CTL_USAGE;
	}
	if (!strcmp(noun, "help") || !strcmp(noun, "--help") || !strcmp(noun, "-h"))
		return help(&c);
	if (!strcmp(noun, "--version")) {
		puts("hawserctl " HAWSER_VERSION);
		return CTL_DONE;
	}
	if (c.at >= argc) {
		ctl_help(noun, NULL, stderr);
		return CTL_USAGE;
	}
	verb = argv[c.at++];
	ret->verb = ctl_find(noun, verb);
	if (!ret->verb)
		return usage("there is no \"%s %s\"", noun, verb);
	ret->params = json_object();
	return parse_rest(ret, &c);
}
