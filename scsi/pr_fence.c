/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fence behind a change that forbids something: when it has ended, every reactor has seen the
 * new gates, and no write that was let pass before is still on its way to the medium.
 *
 * On each reactor the commands that are not with the store yet are asked again when their data is
 * there (exec_enable); those that are with it are waited for, within a limit: SPC-4 lets a command
 * finish that was enabled before the reservation, and a host's cluster software waits for ours. A
 * peer that lets a write into the store's own memory hang loses that task.
 *
 * Threads: begun on fence->reactor; the rest as marked. Ownership: the fence is its caller's until
 * done; a watch frees itself.
 */
#include "scsi/exec_internal.h"
#include "scsi/pr_internal.h"
#include "scsi/tmf.h"

#include <stdlib.h>

enum { WATCH_MS = 1, WATCH_LIMIT_MS = 500, ABORTED_WRITES_MS = 10000 };

/* On a reactor that has writes to wait for. */
struct watch {
	struct reactor_timer timer;
	struct pr_fence *fence;
	struct reactor *reactor;
	uint64_t limit_ms;
};

static void abort_preempted(struct itl *itl, void *arg)
{
	bool preempted;

	(void)arg;
	pthread_mutex_lock(&itl->lu->lock);
	preempted = itl->preempted;
	itl->preempted = false;
	pthread_mutex_unlock(&itl->lu->lock);
	if (preempted)
		itl_abort_tasks(itl, false);
}

/* Past the gate, although it would not pass now, and able to change the medium. */
static bool slips_in(const struct scsi_task *t, uint32_t gate)
{
	bool runs = t->state == TASK_IO || (t->state == TASK_COLLECTING && t->mapped);

	return runs && t->started && t->op && scsi_access_class(t->op, t->cdb) == ACCESS_WRITE &&
	       gate & scsi_access_conflicts(t->op, t->cdb);
}

static void count_writes(struct itl *itl, void *arg)
{
	uint32_t gate = atomic_load(&itl->gate);
	unsigned *n = arg;
	struct list *pos;

	list_for_each (pos, &itl->tasks)
		*n += slips_in(list_entry(pos, struct scsi_task, node), gate);
}

/* The transport still fills the store's memory for it, and its data does not come. */
static struct scsi_task *find_stalled(struct itl *itl)
{
	uint32_t gate = atomic_load(&itl->gate);
	struct list *pos;

	list_for_each (pos, &itl->tasks) {
		struct scsi_task *t = list_entry(pos, struct scsi_task, node);

		if (t->mapped && slips_in(t, gate))
			return t;
	}
	return NULL;
}

static void abort_stalled(struct itl *itl, void *arg)
{
	struct scsi_task *t;

	(void)arg;
	while ((t = find_stalled(itl)))
		t->port->abort(t);
}

static void watched(struct reactor_timer *timer)
{
	struct watch *w = container_of(timer, struct watch, timer);
	struct pr_fence *f = w->fence;
	unsigned n = 0;

	lu_each_itl_here(f->lu, w->reactor, count_writes, &n);
	if (n && reactor_now_ms(w->reactor) < w->limit_ms) {
		reactor_timer_arm(w->reactor, timer, WATCH_MS);
		return;
	}
	if (n)
		lu_each_itl_here(f->lu, w->reactor, abort_stalled, NULL);
	free(w);
	reactor_broadcast_ack(&f->broadcast);
}

static void fence_here(struct reactor_broadcast *b, struct reactor *r)
{
	struct pr_fence *f = container_of(b, struct pr_fence, broadcast);
	unsigned n = 0;
	struct watch *w;

	if (f->abort)
		lu_each_itl_here(f->lu, r, abort_preempted, NULL);
	lu_each_itl_here(f->lu, r, count_writes, &n);
	w = n ? calloc(1, sizeof(*w)) : NULL;
	if (!w) { /* nothing to wait for; or no memory: then they finish as SPC-4 lets them */
		reactor_broadcast_ack(b);
		return;
	}
	w->fence = f;
	w->reactor = r;
	w->limit_ms = reactor_now_ms(r) + WATCH_LIMIT_MS;
	reactor_timer_init(&w->timer, watched);
	reactor_timer_arm(r, &w->timer, WATCH_MS);
}

static void finish(struct pr_fence *f, bool in_time)
{
	reactor_timer_disarm(&f->timer);
	f->done(f, in_time);
}

/* What was aborted while the store had it may still change the medium. */
static void wait_writes(struct pr_fence *f)
{
	if (!lu_wait_writes(f->lu, &f->waiter))
		finish(f, true);
	else if (f->timed_out && lu_unwait_writes(f->lu, &f->waiter))
		finish(f, false);
}

static void writes_ended(struct reactor_msg *msg)
{
	wait_writes(container_of(msg, struct pr_fence, waiter.msg));
}

static void waited_long(struct reactor_timer *timer)
{
	struct pr_fence *f = container_of(timer, struct pr_fence, timer);

	f->timed_out = true; /* or the message is on its way already */
	if (lu_unwait_writes(f->lu, &f->waiter))
		finish(f, false);
}

static void fenced(struct reactor_broadcast *b)
{
	struct pr_fence *f = container_of(b, struct pr_fence, broadcast);

	if (!f->abort) {
		finish(f, true);
		return;
	}
	reactor_timer_arm(f->reactor, &f->timer, ABORTED_WRITES_MS);
	wait_writes(f);
}

void pr_fence(struct pr_fence *f)
{
	f->broadcast.each = fence_here;
	f->broadcast.done = fenced;
	f->broadcast.reply_to = f->reactor;
	f->waiter.reactor = f->reactor;
	f->waiter.msg.run = writes_ended;
	list_init(&f->waiter.node);
	reactor_timer_init(&f->timer, waited_long);
	f->timed_out = false;
	if (scsi_broadcast(f->reactor, &f->broadcast) < 0)
		finish(f, false);
}
