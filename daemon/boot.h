/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration from files: hawser.conf and what was made at run time, together. At the start, at
 * a reload, and for hawserd --check.
 *
 * Threads: the control reactor, or before it. Ownership: results go to the caller.
 */
#ifndef HAWSER_DAEMON_BOOT_H
#define HAWSER_DAEMON_BOOT_H

#include "config/config.h"

struct apply_request;
struct daemon;
struct state;

/* Reads and checks the file alone. 0, or -EINVAL / errno with *err. */
int boot_read_file(const char *path, struct config **ret, struct config_error *err);

/* Adds the objects of the state, and stand-ins for LUs whose files were torn. The whole is checked
 * by apply. 0 or -ENOMEM. */
int boot_add_state(const struct state *s, struct config *c);

/* The first configuration; done as for any request. */
void boot_apply(struct daemon *d, struct config *from_file, void (*done)(struct apply_request *r));

/* hawser.conf again; the file is read by a job. done may be NULL. 0 or -ENOMEM. */
int boot_reload(struct daemon *d,
		void (*done)(void *arg, int result, const char *why, unsigned n_changes),
		void *arg);

#endif
