/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service manager: readiness, status, reload, watchdog, inherited sockets; and limits of the
 * process. Without one (no NOTIFY_SOCKET, no LISTEN_FDS) everything here does nothing.
 *
 * Threads: the control reactor. Ownership: the daemon owns the object.
 */
#ifndef HAWSER_DAEMON_SERVICE_H
#define HAWSER_DAEMON_SERVICE_H

#include <stdbool.h>
#include <sys/socket.h>

struct daemon;
struct service;

/* Takes over inherited descriptors. Before any other descriptor is opened. */
int service_create(struct service **ret);
void service_destroy(struct service *s); /* NULL allowed; closes sockets that nobody took */

/* Raises limits of open files and locked memory as far as allowed. */
void service_raise_limits(void);
/* Is stderr the journal's stream? */
bool service_stderr_is_journal(void);

/* An inherited listening socket with this address, or -1. Port 0 matches any port of that address.
 * The caller owns it. */
int service_take_socket(struct service *s, const struct sockaddr_storage *address);
/* An inherited Unix socket, for the admin protocol; -1: none. */
int service_take_admin_socket(struct service *s);
/* Inherited sockets that no portal has: named in the log and closed. */
void service_close_rest(struct service *s);

void service_ready(struct service *s);
void service_reloading(struct service *s); /* followed by service_ready */
void service_stopping(struct service *s);
void service_status(struct service *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Begins to feed the watchdog, if the manager wants it: only while every reactor answers. */
void service_watch(struct service *s, struct daemon *d);
void service_unwatch(struct service *s);

#endif
