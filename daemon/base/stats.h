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
	X(AUTHENTICATION_FAILURES, "authentication_failures", \
	  "logins refused because nothing or nothing valid was proved") \
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
