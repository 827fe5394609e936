/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The orderly end: stop listening, ask initiators to log out, end what is left, flush and close
 * the stores. Ends within daemon: shutdown_timeout_s, with a hung store too.
 *
 * Threads: the control reactor. Ownership: the daemon's.
 */
#ifndef HAWSER_DAEMON_STOP_H
#define HAWSER_DAEMON_STOP_H

struct daemon;

/* Begins it; the control reactor stops when it is over. A second call does nothing. */
void stop_begin(struct daemon *d, const char *why);

#endif
