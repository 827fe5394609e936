/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of all nouns, and help printed from them.
 */
#include "tools/ctl/ctl.h"

#include <string.h>

static const struct ctl_verb *const tables[] = {
	ctl_target_verbs,  ctl_lun_verbs,     ctl_portal_verbs,      ctl_acl_verbs,
	ctl_account_verbs, ctl_session_verbs, ctl_reservation_verbs, ctl_daemon_verbs,
	ctl_isns_verbs,    ctl_config_verbs,  ctl_alua_verbs,
};

void ctl_each(void (*each)(const struct ctl_verb *v, void *arg), void *arg)
{
	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct ctl_verb *v = tables[i]; v->noun; v++)
			each(v, arg);
}

struct search {
	const char *noun, *verb;
	const struct ctl_verb *found;
};

static void match(const struct ctl_verb *v, void *arg)
{
	struct search *s = arg;

	if (!strcmp(v->noun, s->noun) && !strcmp(v->verb, s->verb))
		s->found = v;
}

const struct ctl_verb *ctl_find(const char *noun, const char *verb)
{
	struct search s = { .noun = noun, .verb = verb };

	ctl_each(match, &s);
	return s.found;
}

struct help {
	const char *noun, *verb;
	FILE *to;
	unsigned n;
};

/* "read-only:b" -> "--read-only"; "size" -> "--size SIZE". */
static void print_option(const char *at, size_t n, FILE *to)
{
	size_t name = 0;

	while (name < n && at[name] != ':')
		name++;
	fprintf(to, "  --%.*s", (int)name, at);
	if (name + 1 < n && at[name + 1] == 'b') {
		fputc('\n', to);
		return;
	}
	fputc(' ', to);
	if (name + 1 < n && at[name + 1] == 't')
		fputs("yes|no", to);
	else
		for (size_t i = 0; i < name; i++)
			fputc(at[i] == '-' ? '_' : at[i] & ~0x20, to);
	fputc('\n', to);
}

static void print_words(const char *words, FILE *to)
{
	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");
		bool optional = *p == '[';

		fputs(optional ? " [" : " ", to);
		for (size_t i = optional; i < n && p[i] != ':' && p[i] != ']'; i++)
			fputc(p[i] & ~0x20, to);
		if (optional)
			fputc(']', to);
		p += n;
		p += strspn(p, " ");
	}
}

static void print_one(const struct ctl_verb *v, FILE *to)
{
	fprintf(to, "usage: hawserctl [-s socket] [--json] %s %s", v->noun, v->verb);
	print_words(v->words, to);
	fprintf(to, "%s\n\n%s.\n", *v->options ? " [option ...]" : "", v->help);
	if (*v->options)
		fputs("\noptions:\n", to);
	for (const char *p = v->options; *p;) {
		size_t n = strcspn(p, " ");

		print_option(p, n, to);
		p += n;
		p += strspn(p, " ");
	}
}

static void help_each(const struct ctl_verb *v, void *arg)
{
	struct help *h = arg;

	if (h->noun && strcmp(v->noun, h->noun) != 0)
		return;
	if (h->verb && strcmp(v->verb, h->verb) != 0)
		return;
	h->n++;
	if (h->verb)
		print_one(v, h->to);
	else
		fprintf(h->to, "  %-8s %-10s %s\n", v->noun, v->verb, v->help);
}

enum ctl_status ctl_help(const char *noun, const char *verb, FILE *to)
{
	struct help h = { .noun = noun, .verb = verb, .to = to };

	if (!verb)
		fputs("usage: hawserctl [-s socket] [--json] noun verb [word ...] [option ...]\n"
		      "       hawserctl help [noun [verb]]\n\n",
		      to);
	ctl_each(help_each, &h);
	if (!h.n) {
		fprintf(stderr, "hawserctl: there is no \"%s%s%s\"; see \"hawserctl help\"\n", noun,
			verb ? " " : "", verb ? verb : "");
		return CTL_USAGE;
	}
	return CTL_DONE;
}
