/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flushes every store of the tree, all at once, through the queues of the first I/O thread.
 *
 * Threads: the control reactor. Ownership: the object frees itself after done.
 */
#ifndef HAWSER_DAEMON_FLUSH_H
#define HAWSER_DAEMON_FLUSH_H

struct daemon;
struct flush;

/* NULL: there is nothing to flush (done does not run). */
struct flush *flush_begin(struct daemon *d, void (*done)(struct flush *f, unsigned failed),
			  void *arg);
void *flush_arg(const struct flush *f);
/* The names of the LUs whose stores have not answered yet. Before done. */
void flush_each_pending(const struct flush *f, void (*each)(const char *lu, void *arg), void *arg);

#endif
