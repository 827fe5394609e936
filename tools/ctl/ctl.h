/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl: a table of verbs. One row says which method a verb calls, which words and options it
 * takes, and how its answer is shown; parsing, help and printing are loops over the rows.
 *
 * Threads: one. Ownership: constant tables; JSON by reference counts.
 */
#ifndef HAWSER_TOOLS_CTL_H
#define HAWSER_TOOLS_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit statuses, part of the contract. */
enum ctl_status { CTL_DONE, CTL_REFUSED, CTL_USAGE, CTL_UNREACHABLE };

/* One word or option: "name", or with its kind behind a colon: "lun:n" number, "read-only:b" flag,
 * "online:t" true or false, "groups:N" numbers parted by commas. "secret-file:p" is a file whose
 * line becomes "secret", with :P it is asked for on the terminal when it is not given; "generate:g"
 * makes it. In JSON '-' becomes '_'. */
struct ctl_verb {
	const char *noun, *verb;
	const char *method;
	const char *words;   /* in their order; an optional one in [] */
	const char *options; /* --name VALUE */
	const char *help;
	const char *list;    /* member of the answer that is shown as a table; NULL: all members */
	const char *columns; /* of the table: "member:HEADING", ":size" behind it for bytes */
	enum ctl_status (*show)(const json_t *result, const json_t *params); /* else of these */
};

/* Ends with a row without noun. */
extern const struct ctl_verb ctl_target_verbs[], ctl_lun_verbs[], ctl_portal_verbs[],
    ctl_acl_verbs[], ctl_account_verbs[], ctl_session_verbs[], ctl_reservation_verbs[],
    ctl_daemon_verbs[], ctl_isns_verbs[], ctl_config_verbs[], ctl_alua_verbs[];

const struct ctl_verb *ctl_find(const char *noun, const char *verb);
void ctl_each(void (*each)(const struct ctl_verb *v, void *arg), void *arg);

/* What was said on the command line. */
struct ctl_call {
	const struct ctl_verb *verb; /* NULL: help or version was asked for and printed */
	const char *socket;
	bool json;
	json_t *params;
};
/* CTL_DONE, or CTL_USAGE with the reason printed. */
enum ctl_status ctl_parse(int argc, char **argv, struct ctl_call *ret);

/* Secrets; NULL: the reason is printed. */
json_t *ctl_secret_file(const char *path); /* "-": the standard input */
json_t *ctl_secret_prompt(const char *name);
json_t *ctl_secret_generate(const char *length); /* printed, since nothing shows it later */

/* Sends one request. CTL_DONE: *ret_result; else the reason is printed. */
enum ctl_status ctl_request(const char *socket, const char *method, json_t *params,
			    json_t **ret_result);

enum ctl_status ctl_print(const struct ctl_call *call, const json_t *result);
void ctl_print_table(const json_t *rows, const char *columns, FILE *to);
void ctl_print_members(const json_t *object, unsigned depth, FILE *to);
void ctl_format_bytes(json_int_t bytes, char *buf, size_t size);

/* noun, verb: NULL for all. CTL_USAGE: no such noun or verb. */
enum ctl_status ctl_help(const char *noun, const char *verb, FILE *to);

#endif
