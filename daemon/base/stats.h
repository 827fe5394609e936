/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters: one row says all there is to say about one. Each reactor has an array of its own,
 * which only its thread adds to; whoever shows them sums the arrays.
 *
 * Threads: stats_add on the reactor's own thread; stats_get on any.
 */
#ifndef HAWSER_BASE_STATS_H
#define HAWSER_BASE_STATS_H

#include <stdatomic.h>
#include <stdint.h>

/* clang-format off */
#define STATS_LIST(X) \
	X(CONNECTIONS_OPENED,  "connections_opened",  "connections accepted") \
	X(CONNECTIONS_CLOSED,  "connections_closed",  "connections ended, by whomever") \
	X(LOGINS,              "logins",              "logins that reached full-feature phase") \
	X(LOGINS_REFUSED,      "logins_refused",      "logins answered with a status other than success") \
	X(LOGINS_0101,         "logins_0101",         "logins sent to another address for now") \
	X(LOGINS_0102,         "logins_0102",         "logins sent to another address for good") \
	X(LOGINS_0200,         "logins_0200",         "logins refused: protocol error of the initiator") \
	X(LOGINS_0201,         "logins_0201",         "logins refused: authentication failed") \
	X(LOGINS_0202,         "logins_0202",         "logins refused: no access rule admits the initiator") \
	X(LOGINS_0203,         "logins_0203",         "logins refused: no such target") \
	X(LOGINS_0204,         "logins_0204",         "logins refused: target removed") \
	X(LOGINS_0205,         "logins_0205",         "logins refused: protocol version") \
	X(LOGINS_0206,         "logins_0206",         "logins refused: too many connections of the session") \
	X(LOGINS_0207,         "logins_0207",         "logins refused: a name is missing") \
	X(LOGINS_0208,         "logins_0208",         "logins refused: the session cannot include the connection") \
	X(LOGINS_0209,         "logins_0209",         "logins refused: session type") \
	X(LOGINS_020A,         "logins_020a",         "logins refused: no such session") \
	X(LOGINS_020B,         "logins_020b",         "logins refused: another request before the end of login") \
	X(LOGINS_0300,         "logins_0300",         "logins refused: error of the target") \
	X(LOGINS_0301,         "logins_0301",         "logins refused: target offline, daemon starting or reloading") \
	X(LOGINS_0302,         "logins_0302",         "logins refused: a limit was reached") \
	X(CONNECTIONS_REFUSED, "connections_refused", "connections closed at once, too many were there") \
	X(AUTHENTICATION_FAILURES, "authentication_failures", \
	  "logins refused because nothing or nothing valid was proved") \
	X(SESSIONS_LIMITED,    "sessions_limited", \
	  "logins refused because a limit of sessions or connections was reached") \
	X(PDUS_IN,             "pdus_in",             "PDUs received") \
	X(PDUS_OUT,            "pdus_out",            "PDUs sent") \
	X(BYTES_IN,            "bytes_in",            "bytes received, headers included") \
	X(BYTES_OUT,           "bytes_out",           "bytes sent, headers included") \
	X(DIGEST_ERRORS,       "digest_errors",       "header or data digests that did not match") \
	X(REJECTS,             "rejects",             "PDUs answered by Reject") \
	X(R2TS,                "r2ts",                "R2Ts sent") \
	X(COMMANDS,            "commands",            "SCSI commands received") \
	X(READS,               "reads",               "READ commands whose data was read") \
	X(READ_BYTES,          "read_bytes",          "bytes of it") \
	X(WRITES,              "writes",              "WRITE commands whose data was written") \
	X(WRITTEN_BYTES,       "written_bytes",       "bytes of it") \
	X(CHECK_CONDITIONS,    "check_conditions",    "commands ended with CHECK CONDITION") \
	X(BUSY,                "busy",                "commands ended with BUSY") \
	X(TASK_SET_FULL,       "task_set_full",       "commands ended with TASK SET FULL") \
	X(TASKS_ABORTED,       "tasks_aborted",       "tasks ended by task management or loss of their connection") \
	X(TMFS,                "tmfs",                "task management functions received") \
	X(BUFFER_WAITS,        "buffer_waits",        "tasks that had to wait for data buffers")
/* clang-format on */

enum stat_id {
#define STATS_ENUM(id, name, help) STAT_##id,
	STATS_LIST(STATS_ENUM)
#undef STATS_ENUM
	    STATS
};

struct stats {
	_Alignas(64) _Atomic uint64_t n[STATS];
};

/* One writer, so a load and a store do; no locked instruction. */
static inline void stats_add(struct stats *s, enum stat_id which, uint64_t n)
{
	uint64_t v = atomic_load_explicit(&s->n[which], memory_order_relaxed);

	atomic_store_explicit(&s->n[which], v + n, memory_order_relaxed);
}

static inline uint64_t stats_get(const struct stats *s, enum stat_id which)
{
	return atomic_load_explicit(&s->n[which], memory_order_relaxed);
}

/* "reads", and what it counts. */
const char *stats_name(enum stat_id which);
const char *stats_help(enum stat_id which);

#endif
