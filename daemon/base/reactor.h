/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One event loop per thread: descriptors by epoll, timers, a mailbox for other threads, and jobs
 * that run at the end of a turn so that work is handed to the kernel in batches.
 *
 * A turn: wait for events ▶ descriptors ▶ mailbox ▶ timers ▶ deferred jobs, stage by stage, until
 * no stage has a job left. A receive handler therefore only queues I/O; stage SUBMIT enters the
 * kernel once for all of it and reaps what is complete; stage SEND writes one gather list per
 * connection.
 *
 * Threads: everything here is called on the reactor's own thread, except reactor_send,
 * reactor_broadcast and reactor_stop, which any thread may call. Handlers never block.
 * Ownership: the reactor links what callers embed in their objects and never allocates for them.
 */
#ifndef HAWSER_BASE_REACTOR_H
#define HAWSER_BASE_REACTOR_H

#include "daemon/base/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct reactor;

/* A descriptor watched by epoll; embed it. ready gets the EPOLL* bits. */
struct reactor_fd {
	int fd;
	void (*ready)(struct reactor_fd *rfd, uint32_t events);
	uint32_t events; /* what is watched now; read only outside of reactor.c */
	bool removed;    /* deleted during this turn; later events of the turn are not delivered */
};

struct reactor_timer {
	struct list node; /* reactor.c; list_init it before first use or use reactor_timer_init */
	uint64_t due_ms;
	void (*fire)(struct reactor_timer *timer);
};

/* A message to another reactor; embedded by the sender, belongs to the receiver once sent. */
struct reactor_msg {
	_Atomic(struct reactor_msg *) next;
	void (*run)(struct reactor_msg *msg); /* on the receiving thread; may free msg */
};

/* The order of the stages at the end of a turn. */
enum reactor_stage {
	REACTOR_STAGE_SUBMIT, /* I/O engines: enter the kernel, reap completions */
	REACTOR_STAGE_SEND,   /* transports: write what has been queued */
	REACTOR_STAGE_REAP,   /* free what ended in this turn */
	REACTOR_STAGES
};

struct reactor_job {
	struct list node;
	void (*run)(struct reactor_job *job);
};

/*
 * A message to all reactors of a set that ends in one acknowledgement. The caller fills each,
 * done and reply_to and keeps the object until done runs.
 */
struct reactor_broadcast {
	void (*each)(struct reactor_broadcast *b, struct reactor *r); /* on each reactor; calls
									 reactor_broadcast_ack, now
									 or later, on any thread */
	void (*done)(struct reactor_broadcast *b); /* on reply_to, after the last acknowledgement */
	struct reactor *reply_to;
	void *arg;
	/* reactor.c */
	atomic_uint pending;
	struct reactor_msg reply;
	struct reactor_broadcast_slot *slots;
};

/* Creates a reactor; index is its place in its set. Returns 0 or a negative errno. */
int reactor_create(unsigned index, const char *name, struct reactor **ret);
void reactor_destroy(struct reactor *r); /* NULL allowed; the thread has ended */

/* Runs the loop on the calling thread until reactor_stop; sets the calling thread's name. */
void reactor_run(struct reactor *r);

/* One turn, waiting at most timeout_ms (-1: no limit); for tests and for reactor_run. */
void reactor_turn(struct reactor *r, int timeout_ms);
void reactor_stop(struct reactor *r); /* any thread */

unsigned reactor_index(const struct reactor *r);
uint64_t reactor_now_ms(const struct reactor *r); /* monotonic; read once per turn */
bool reactor_is_current(const struct reactor *r); /* is this its thread? for assertions */

/* The parts of the process that live on a reactor, by slot; set at start by daemon/main.c. */
enum reactor_slot {
	REACTOR_ARENA,
	REACTOR_ISCSI,
	REACTOR_ENGINE,
	REACTOR_TCP,
	REACTOR_SCSI,
	REACTOR_SLOTS
};
void reactor_set_slot(struct reactor *r, enum reactor_slot slot, void *object);
void *reactor_slot(const struct reactor *r, enum reactor_slot slot);

int reactor_fd_add(struct reactor *r, struct reactor_fd *rfd, uint32_t events);
int reactor_fd_mod(struct reactor *r, struct reactor_fd *rfd, uint32_t events);
void reactor_fd_del(struct reactor *r, struct reactor_fd *rfd); /* does not close */

void reactor_timer_init(struct reactor_timer *t, void (*fire)(struct reactor_timer *));
void reactor_timer_arm(struct reactor *r, struct reactor_timer *t, uint64_t delay_ms); /* re-arms */
void reactor_timer_disarm(struct reactor_timer *t); /* may be disarmed already */

void reactor_job_init(struct reactor_job *j, void (*run)(struct reactor_job *));
/* Runs the job at the end of this turn; queueing it twice runs it once. */
void reactor_defer(struct reactor *r, enum reactor_stage stage, struct reactor_job *job);
void reactor_job_cancel(struct reactor_job *job);

void reactor_send(struct reactor *to, struct reactor_msg *msg); /* any thread; never fails */

/* Runs b->each on each of the n reactors. Returns 0 or -ENOMEM. */
int reactor_broadcast(struct reactor *const *set, unsigned n, struct reactor_broadcast *b);
void reactor_broadcast_ack(struct reactor_broadcast *b);

/* This reactor's counters (daemon/base/stats.h): its thread adds, any thread reads. */
struct stats;
struct stats *reactor_counters(struct reactor *r);

/* Counts for the watchdog and for stats. */
struct reactor_stats {
	uint64_t turns, events, messages, longest_turn_us;
};
void reactor_get_stats(const struct reactor *r, struct reactor_stats *ret); /* any thread */
/* Turns in which a call blocked; found in debug builds only (turn_watch.h). Its thread. */
uint64_t reactor_stuck_turns(const struct reactor *r);

#endif
