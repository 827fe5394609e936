/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process as one object: reactors, the live tree, the state, who administers it. There is one
 * for the life of the process; it is handed down, never looked up.
 *
 * Threads: the control reactor (the main thread), but for what is set once before the I/O threads
 * start. Ownership: main() owns it.
 */
#ifndef HAWSER_DAEMON_DAEMON_H
#define HAWSER_DAEMON_DAEMON_H

#include "config/config.h"
#include "daemon/apply.h"
#include "daemon/base/pool.h"
#include "daemon/base/reactor.h"
#include "daemon/node.h"
#include "scsi/lu.h"
#include "transport/datamover.h"

#include <pthread.h>

struct admin;
struct helper;
struct interfaces;
struct isns;
struct service;
struct space;
struct state;
struct stop;

/* One I/O thread: a reactor and what lives on it. */
struct io_thread {
	struct daemon *daemon;
	unsigned index;
	pthread_t thread;
	bool running; /* the thread exists */
	struct reactor *reactor;
	struct arena *arena;
	int result;       /* of its start */
	const char *what; /* failed */
	struct reactor_msg started;
};

struct daemon {
	struct reactor *control;
	struct io_thread io[LU_REACTORS_MAX];
	struct reactor *set[LU_REACTORS_MAX]; /* the same reactors, for broadcasts */
	unsigned n_io, n_started;
	void (*io_ready)(struct daemon *d, int result);
	const struct datamover_ops *const *transports; /* ends with NULL */
	const char *config_path;
	struct config_daemon settings; /* as of the start; what can change is in node.config */
	struct node node;
	struct apply apply;
	struct state *state;
	struct admin *admin; /* NULL: no socket */
	struct service *service;
	struct helper *helper;         /* NULL: stores are opened by the process itself */
	struct interfaces *interfaces; /* NULL: not watched */
	struct isns *isns;             /* NULL: not there */
	struct space *space;           /* NULL: nobody looks at the space of stores */
	struct stop *stop;             /* not NULL: the process is ending */
	uint64_t started_ms;
	int exit_status;
};

/* Creates and starts the I/O threads; ready runs on the control reactor when each has started or
 * failed. 0 or a negative errno. */
int io_threads_start(struct daemon *d, void (*ready)(struct daemon *d, int result));
void io_threads_stop(struct daemon *d); /* tells them and waits */

/* Cores that this process may use, at least 1. */
unsigned io_threads_default(void);

#endif
