/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/reactor.h"

#include "daemon/base/stats.h"
#include "daemon/base/turn_watch.h"
#include "daemon/base/wheel.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH = 256,     /* descriptors taken from one epoll_wait */
	JOB_ROUNDS = 16, /* then descriptors get their turn, and what is left runs after them */
	NAME_SIZE = 16,  /* the kernel's limit for a thread's name, with NUL */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the mailbox has its own cache line. */
struct reactor {
	/* Written by other threads. */
	_Alignas(64) _Atomic(struct reactor_msg *) mailbox; /* newest first */
	atomic_bool asleep;                                 /* in epoll_wait, or about to */
	atomic_bool stop;

	_Alignas(64) int epoll_fd;
	unsigned index;
	uint64_t now_ms;
	struct reactor_fd wake; /* eventfd, edge-triggered: never needs to be read */
	struct list stages[REACTOR_STAGES];
	struct epoll_event *batch; /* what is left of this turn's events: [at..end) */
	int batch_at, batch_end;
	void *slots[REACTOR_SLOTS];
	_Atomic pthread_t owner;
	_Atomic uint64_t turns, events, messages, longest_turn_us;
	char name[NAME_SIZE];
	struct stats counters;
	struct turn_watch watch;
	struct wheel wheel;
	struct epoll_event events_buf[BATCH];
};

struct reactor_broadcast_slot {
	struct reactor_msg msg;
	struct reactor_broadcast *broadcast;
	struct reactor *reactor;
};

static uint64_t clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* A counter of one writer: no locked instruction. */
static void count(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t v = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, v + n, memory_order_relaxed);
}

/* The edge woke epoll_wait and that was its purpose; the count is left to grow. */
static void wake_ready(struct reactor_fd *rfd, uint32_t events)
{
	(void)rfd;
	(void)events;
}

static void wake(struct reactor *r)
{
	static const uint64_t one = 1;

	/* Fails only when the count is at its limit, and then the reactor has edges enough. */
	if (write(r->wake.fd, &one, sizeof(one)) < 0)
		return;
}

static void claim(struct reactor *r)
{
	atomic_store_explicit(&r->owner, pthread_self(), memory_order_relaxed);
}

int reactor_create(unsigned index, const char *name, struct reactor **ret)
{
	struct reactor *r = aligned_alloc(64, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->index = index;
	r->wake.fd = r->epoll_fd = -1;
	r->wake.ready = wake_ready;
	for (int i = 0; i < REACTOR_STAGES; i++)
		list_init(&r->stages[i]);
	if (name)
		memcpy(r->name, name, strnlen(name, NAME_SIZE - 1));
	claim(r);
	r->now_ms = clock_us() / 1000;
	wheel_init(&r->wheel, r->now_ms);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		goto fail;
	r->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake.fd < 0)
		goto fail;
	rc = reactor_fd_add(r, &r->wake, EPOLLIN | EPOLLET);
	if (rc < 0) {
		errno = -rc;
		goto fail;
	}
	*ret = r;
	return 0;
fail:
	rc = -errno;
	reactor_destroy(r);
	return rc;
}

void reactor_destroy(struct reactor *r)
{
	if (!r)
		return;
	if (r->wake.fd >= 0)
		close(r->wake.fd);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	free(r);
}

unsigned reactor_index(const struct reactor *r)
{
	return r->index;
}

uint64_t reactor_now_ms(const struct reactor *r)
{
	return r->now_ms;
}

bool reactor_is_current(const struct reactor *r)
{
	return pthread_equal(atomic_load_explicit(&r->owner, memory_order_relaxed), pthread_self());
}

void reactor_set_slot(struct reactor *r, enum reactor_slot slot, void *object)
{
	r->slots[slot] = object;
}

void *reactor_slot(const struct reactor *r, enum reactor_slot slot)
{
	return r->slots[slot];
}

struct stats *reactor_counters(struct reactor *r)
{
	return &r->counters;
}

uint64_t reactor_stuck_turns(const struct reactor *r)
{
	return r->watch.stuck;
}

void reactor_get_stats(const struct reactor *r, struct reactor_stats *ret)
{
	ret->turns = atomic_load_explicit(&r->turns, memory_order_relaxed);
	ret->events = atomic_load_explicit(&r->events, memory_order_relaxed);
	ret->messages = atomic_load_explicit(&r->messages, memory_order_relaxed);
	ret->longest_turn_us = atomic_load_explicit(&r->longest_turn_us, memory_order_relaxed);
}

/* Descriptors. */

static int fd_control(struct reactor *r, int op, struct reactor_fd *rfd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = rfd };

	return epoll_ctl(r->epoll_fd, op, rfd->fd, &ev) < 0 ? -errno : 0;
}

int reactor_fd_add(struct reactor *r, struct reactor_fd *rfd, uint32_t events)
{
	int rc = fd_control(r, EPOLL_CTL_ADD, rfd, events);

	if (rc < 0)
		return rc;
	rfd->events = events;
	rfd->removed = false;
	return 0;
}

int reactor_fd_mod(struct reactor *r, struct reactor_fd *rfd, uint32_t events)
{
	int rc;

	if (rfd->events == events)
		return 0;
	rc = fd_control(r, EPOLL_CTL_MOD, rfd, events);
	if (rc < 0)
		return rc;
	rfd->events = events;
	return 0;
}

void reactor_fd_del(struct reactor *r, struct reactor_fd *rfd)
{
	if (rfd->removed)
		return;
	/* Fails only for a descriptor that was never added or is closed: nothing to undo then. */
	(void)fd_control(r, EPOLL_CTL_DEL, rfd, 0);
	rfd->removed = true;
	rfd->events = 0;
	/* The caller may free it now: the events of this turn must not lead there any more. */
	for (int i = r->batch_at; i < r->batch_end; i++)
		if (r->batch[i].data.ptr == rfd)
			r->batch[i].data.ptr = NULL;
}

static void run_descriptors(struct reactor *r, int n)
{
	r->batch = r->events_buf;
	r->batch_end = n;
	for (r->batch_at = 0; r->batch_at < r->batch_end;) {
		struct epoll_event *ev = &r->batch[r->batch_at++];
		struct reactor_fd *rfd = ev->data.ptr;

		if (rfd)
			rfd->ready(rfd, ev->events);
	}
	r->batch_at = r->batch_end = 0;
}

/* Timers. */

void reactor_timer_init(struct reactor_timer *t, void (*fire)(struct reactor_timer *))
{
	list_init(&t->node);
	t->due_ms = 0;
	t->fire = fire;
}

/*
 * Counts from the moment of the call, not from the begin of the turn, and past the millisecond
 * that has begun: a timer may be late, never early.
 */
void reactor_timer_arm(struct reactor *r, struct reactor_timer *t, uint64_t delay_ms)
{
	uint64_t now_ms = clock_us() / 1000;

	list_del(&t->node);
	if (!delay_ms)
		t->due_ms = r->wheel.now; /* as soon as timers run; no sleep before */
	else if (delay_ms > UINT64_MAX - now_ms - 1)
		t->due_ms = UINT64_MAX;
	else
		t->due_ms = now_ms + delay_ms + 1;
	wheel_add(&r->wheel, t);
}

void reactor_timer_disarm(struct reactor_timer *t)
{
	list_del(&t->node);
}

static void run_timers(struct reactor *r)
{
	struct list due, *n;

	list_init(&due);
	wheel_advance(&r->wheel, r->now_ms, &due);
	while ((n = list_pop(&due))) {
		struct reactor_timer *t = list_entry(n, struct reactor_timer, node);

		t->fire(t);
	}
}

/* Jobs. */

void reactor_job_init(struct reactor_job *j, void (*run)(struct reactor_job *))
{
	list_init(&j->node);
	j->run = run;
}

void reactor_defer(struct reactor *r, enum reactor_stage stage, struct reactor_job *job)
{
	if (list_empty(&job->node))
		list_add_tail(&r->stages[stage], &job->node);
}

void reactor_job_cancel(struct reactor_job *job)
{
	list_del(&job->node);
}

static bool jobs_pending(const struct reactor *r)
{
	for (int i = 0; i < REACTOR_STAGES; i++)
		if (!list_empty(&r->stages[i]))
			return true;
	return false;
}

/* What a job defers while its stage runs waits for the next round. */
static void run_stage(struct list *stage)
{
	struct list now, *n;

	list_init(&now);
	list_splice_tail(&now, stage);
	while ((n = list_pop(&now))) {
		struct reactor_job *job = list_entry(n, struct reactor_job, node);

		job->run(job);
	}
}

static void run_jobs(struct reactor *r)
{
	for (int round = 0; round < JOB_ROUNDS && jobs_pending(r); round++)
		for (int i = 0; i < REACTOR_STAGES; i++)
			run_stage(&r->stages[i]);
}

/* Messages. */

/*
 * The receiver says "asleep", then looks into its mailbox; the sender puts the message in, then
 * looks whether the receiver sleeps. In the one order of sequentially consistent operations at
 * least one of them sees the other, so no message is slept over, and a busy receiver costs the
 * sender no system call.
 */
void reactor_send(struct reactor *to, struct reactor_msg *msg)
{
	struct reactor_msg *newest = atomic_load_explicit(&to->mailbox, memory_order_relaxed);

	do
		atomic_store_explicit(&msg->next, newest, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&to->mailbox, &newest, msg));
	if (atomic_load(&to->asleep) && atomic_exchange(&to->asleep, false))
		wake(to);
}

static void run_messages(struct reactor *r)
{
	struct reactor_msg *newest, *oldest = NULL;
	uint64_t n = 0;

	if (!atomic_load_explicit(&r->mailbox, memory_order_relaxed))
		return;
	newest = atomic_exchange(&r->mailbox, NULL);
	while (newest) { /* they were stacked; run them in the order of sending */
		struct reactor_msg *next =
		    atomic_load_explicit(&newest->next, memory_order_relaxed);

		atomic_store_explicit(&newest->next, oldest, memory_order_relaxed);
		oldest = newest;
		newest = next;
	}
	while (oldest) {
		struct reactor_msg *msg = oldest;

		oldest = atomic_load_explicit(&msg->next, memory_order_relaxed);
		msg->run(msg); /* may free msg */
		n++;
	}
	count(&r->messages, n);
}

/* The last acknowledgement arrived on reply_to: nobody looks at the slots any more. */
static void broadcast_done(struct reactor_msg *msg)
{
	struct reactor_broadcast *b = container_of(msg, struct reactor_broadcast, reply);

	free(b->slots);
	b->slots = NULL;
	b->done(b);
}

static void broadcast_run(struct reactor_msg *msg)
{
	struct reactor_broadcast_slot *slot = container_of(msg, struct reactor_broadcast_slot, msg);

	slot->broadcast->each(slot->broadcast, slot->reactor);
}

int reactor_broadcast(struct reactor *const *set, unsigned n, struct reactor_broadcast *b)
{
	struct reactor_broadcast_slot *slots = calloc(n ? n : 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	/* One more than the receivers: the sender's own hold, so that an empty set ends too. */
	atomic_store(&b->pending, n + 1);
	b->slots = slots;
	b->reply.run = broadcast_done;
	for (unsigned i = 0; i < n; i++) {
		slots[i].broadcast = b;
		slots[i].reactor = set[i];
		slots[i].msg.run = broadcast_run;
		reactor_send(set[i], &slots[i].msg);
	}
	reactor_broadcast_ack(b);
	return 0;
}

void reactor_broadcast_ack(struct reactor_broadcast *b)
{
	if (atomic_fetch_sub(&b->pending, 1) == 1)
		reactor_send(b->reply_to, &b->reply);
}

/* The loop. */

/* How long epoll_wait may sleep, in ms, given what is to be done without any event. */
static int sleep_ms(struct reactor *r, int timeout_ms, uint64_t now_ms)
{
	uint64_t next, left;

	if (!timeout_ms || jobs_pending(r))
		return 0;
	next = wheel_next(&r->wheel);
	if (next == WHEEL_NEVER)
		return timeout_ms;
	left = next > now_ms ? next - now_ms : 0;
	if (left > INT_MAX)
		left = INT_MAX;
	return timeout_ms < 0 || left < (uint64_t)timeout_ms ? (int)left : timeout_ms;
}

static int wait_events(struct reactor *r, int timeout_ms)
{
	int n, wait = sleep_ms(r, timeout_ms, clock_us() / 1000);

	if (wait) {
		atomic_store(&r->asleep, true);
		if (atomic_load(&r->mailbox) || atomic_load(&r->stop))
			wait = 0;
	}
	n = epoll_wait(r->epoll_fd, r->events_buf, BATCH, wait);
	atomic_store_explicit(&r->asleep, false, memory_order_relaxed);
	return n < 0 ? 0 : n; /* EINTR: a signal; its handler has done what there was to do */
}

void reactor_turn(struct reactor *r, int timeout_ms)
{
	uint64_t begin_us, took_us;
	int n;

	claim(r);
	n = wait_events(r, timeout_ms);
	turn_watch_begin(&r->watch);
	begin_us = clock_us();
	r->now_ms = begin_us / 1000;
	run_descriptors(r, n);
	run_messages(r);
	run_timers(r);
	run_jobs(r);
	took_us = clock_us() - begin_us;
	turn_watch_end(&r->watch, r->name, took_us);
	count(&r->turns, 1);
	count(&r->events, (uint64_t)n);
	if (took_us > atomic_load_explicit(&r->longest_turn_us, memory_order_relaxed))
		atomic_store_explicit(&r->longest_turn_us, took_us, memory_order_relaxed);
}

void reactor_run(struct reactor *r)
{
	if (r->name[0])
		(void)pthread_setname_np(pthread_self(), r->name);
	while (!atomic_load(&r->stop))
		reactor_turn(r, -1);
	/* Messages that were sent before the stop are run. */
	reactor_turn(r, 0);
	atomic_store(&r->stop, false);
}

/* Async-signal-safe. The write is not spared: stop is rare and must not depend on `asleep`. */
void reactor_stop(struct reactor *r)
{
	atomic_store(&r->stop, true);
	wake(r);
}
