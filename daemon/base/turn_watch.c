/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/turn_watch.h"

#if HAWSER_TURN_WATCH

#include "daemon/base/log.h"

#include <sys/resource.h>

static long slept(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

void turn_watch_begin(struct turn_watch *w)
{
	w->slept = slept();
}

void turn_watch_end(struct turn_watch *w, const char *reactor, uint64_t took_us)
{
	if (took_us < TURN_WATCH_US || slept() == w->slept)
		return;
	w->stuck++;
	/* A warning: nobody has lost anything yet, and a machine that swaps does the same. */
	log_warn(LOG_BASE,
		 "reactor %s: a turn took %llu ms and slept in it; a call in it blocks, and every "
		 "connection of the reactor with it",
		 reactor, (unsigned long long)took_us / 1000);
}

#endif
