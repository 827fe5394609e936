/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses of the machine that others can reach, for portals that listen at all of them. The
 * kernel says when they change, and then the reactors get the new ones.
 *
 * Threads: the control reactor; reading is an offload job, since the kernel may keep it waiting.
 * Ownership: the daemon's.
 */
#ifndef HAWSER_DAEMON_INTERFACES_H
#define HAWSER_DAEMON_INTERFACES_H

struct daemon;
struct interfaces;
struct iscsi_interface;

/* Reads them, which may block, and watches them. 0 or a negative errno. */
int interfaces_start(struct daemon *d, struct interfaces **ret);
void interfaces_stop(struct interfaces *i); /* no job runs any more; NULL allowed */
/* A copy for a policy; none if i is NULL. 0 or -ENOMEM. */
int interfaces_copy(const struct interfaces *i, struct iscsi_interface **ret, unsigned *ret_n);

#endif
