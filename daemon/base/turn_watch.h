/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds calls that block a reactor: in debug builds a turn that is long and in which the thread
 * slept is an error in the log and is counted. Time alone would accuse a busy machine; a thread
 * that was only kept from its processor has not given it up of its own accord.
 *
 * Threads: the reactor's own. Ownership: embedded in the reactor.
 */
#ifndef HAWSER_BASE_TURN_WATCH_H
#define HAWSER_BASE_TURN_WATCH_H

#include <stdint.h>

#define TURN_WATCH_US 20000

struct turn_watch {
	long slept;     /* voluntary context switches of the thread before the turn */
	uint64_t stuck; /* turns found */
};

#if HAWSER_TURN_WATCH
void turn_watch_begin(struct turn_watch *w);
void turn_watch_end(struct turn_watch *w, const char *reactor, uint64_t took_us);
#else
static inline void turn_watch_begin(struct turn_watch *w)
{
	(void)w;
}
static inline void turn_watch_end(struct turn_watch *w, const char *reactor, uint64_t took_us)
{
	(void)w;
	(void)reactor;
	(void)took_us;
}
#endif

#endif
