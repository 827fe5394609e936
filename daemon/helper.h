/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The privileged helper: a process forked before any thread, which opens stores for a daemon that
 * has given up its privileges. Requests are a fixed table; a path must lie below one of the
 * folders named by store_paths in the configuration that the helper read itself.
 *
 * Threads: helper_open on any thread, it blocks. Ownership: the daemon owns the object; the
 * process ends when the socket closes.
 */
#ifndef HAWSER_DAEMON_HELPER_H
#define HAWSER_DAEMON_HELPER_H

struct config_daemon;
struct helper;
struct state;

/* Forks it. Before any thread. 0 or a negative errno. */
int helper_start(const struct config_daemon *d, struct helper **ret);
void helper_stop(struct helper *h); /* NULL allowed */

/* As open(2), done by the helper: a descriptor, or a negative errno. arg: the helper. */
int helper_open(void *arg, const char *path, int flags, unsigned mode);

/* Becomes the user, keeping no capability; the state folder is given to it. After everything that
 * needs privileges has been opened. 0, or a negative errno and why. */
int helper_drop_privileges(const struct config_daemon *d, struct state *s, char *why,
			   unsigned whysize);

#endif
