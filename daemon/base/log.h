/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines: one line, lower case, naming object, fact and consequence. Four levels; error: an
 * operator must act, warn: something was refused or degraded, info: one line per login, logout and
 * configuration change, debug: per PDU.
 *
 * Threads: any. Lines go to stderr (with <N> priority prefixes when it is the journal's stream) or
 * to syslog. What a peer can provoke is rate-limited by log_peer (counted, "repeated N times").
 */
#ifndef HAWSER_BASE_LOG_H
#define HAWSER_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_subsystem {
	LOG_BASE,
	LOG_DAEMON,
	LOG_CONFIG,
	LOG_ADMIN,
	LOG_SCSI,
	LOG_ISCSI,
	LOG_TCP,
	LOG_BACKING,
	LOG_SUBSYSTEMS
};

enum log_target { LOG_TO_STDERR, LOG_TO_JOURNAL_STREAM, LOG_TO_SYSLOG };

void log_open(enum log_target target, enum log_level level);
void log_set_level(enum log_subsystem s, enum log_level level); /* LOG_SUBSYSTEMS: all */
enum log_level log_get_level(enum log_subsystem s);
int log_level_parse(const char *name, enum log_level *ret); /* 0 or -EINVAL */
int log_subsystem_parse(const char *name, enum log_subsystem *ret);
const char *log_level_name(enum log_level level);

extern unsigned char log_levels[LOG_SUBSYSTEMS]; /* read by the macros; relaxed */
#define log_enabled(s, level) ((level) <= __atomic_load_n(&log_levels[s], __ATOMIC_RELAXED))

void log_write(enum log_subsystem s, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One budget per call site: at most `burst` lines in 10 s, the rest is counted and told once. */
struct log_limit {
	unsigned long window_s;
	unsigned used, suppressed;
};
bool log_limit_pass(struct log_limit *l, unsigned *ret_suppressed);

#define log_at(s, level, ...)                                                                      \
	do {                                                                                       \
		if (log_enabled(s, level))                                                         \
			log_write(s, level, __VA_ARGS__);                                          \
	} while (0)
#define log_error(s, ...) log_at(s, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(s, ...)  log_at(s, LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(s, ...)  log_at(s, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(s, ...) log_at(s, LOG_LEVEL_DEBUG, __VA_ARGS__)

/* For lines that a peer can provoke. */
#define log_peer(s, level, ...)                                                                    \
	do {                                                                                       \
		static struct log_limit limit_;                                                    \
		unsigned dropped_;                                                                 \
		if (log_enabled(s, level) && log_limit_pass(&limit_, &dropped_)) {                 \
			if (dropped_)                                                              \
				log_write(s, level, "the next message was repeated %u times",      \
					  dropped_);                                               \
			log_write(s, level, __VA_ARGS__);                                          \
		}                                                                                  \
	} while (0)

#endif
