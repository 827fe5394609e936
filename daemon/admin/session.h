/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions as JSON, for methods session.* (session_json.c).
 *
 * Threads: the control reactor. Ownership: the caller's.
 */
#ifndef HAWSER_DAEMON_ADMIN_SESSION_H
#define HAWSER_DAEMON_ADMIN_SESSION_H

#include <jansson.h>

struct session_info;

/* A row of session.list. */
json_t *session_row_json(const struct session_info *s);
/* session.show: the session, as its first entry has it, and the connections of all. */
json_t *session_whole_json(const struct session_info *s, unsigned n);

#endif
