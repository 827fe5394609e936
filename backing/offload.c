/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One mutex guards everything here; it is held for a few list operations at a time, never during
 * work. A queue that has a job to start is on the ready list, once, and goes to its end after each
 * job, so that queues take turns. A queue of which nothing runs may always start a thread: hung
 * queues can use up max_threads but not the thread of the next queue.
 */
#include "backing/offload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IDLE_SECONDS = 10, STACK_SIZE = 256 * 1024 };

struct offload_queue {
	struct list jobs;
	struct list ready_node; /* on pool.ready while a job may be started */
	unsigned width, running;
	char name[32];
};

struct worker {
	pthread_t thread;
	struct list node; /* on pool.ended */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, idle; /* a queue is ready; a job or thread has ended */
	struct list ready;
	struct list ended; /* workers for offload_stop to join */
	unsigned max_threads, threads, waiting;
	unsigned unstarted; /* jobs queued */
	unsigned running;
	bool started, stopping;
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.ready = LIST_INIT(pool.ready),
	.ended = LIST_INIT(pool.ended),
};

static struct timespec after(unsigned ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

/* lock held */
static void make_ready(struct offload_queue *q)
{
	if (list_empty(&q->ready_node) && !list_empty(&q->jobs) && q->running < q->width)
		list_add_tail(&pool.ready, &q->ready_node);
}

static void *thread_main(void *arg);

/* lock held */
static int start_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	struct worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	list_init(&w->node);

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the main thread */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	rc = pthread_create(&w->thread, &attr, thread_main, w);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		free(w);
		return -rc;
	}
	pool.threads++;
	return 0;
}

/*
 * lock held. The queue whose job is to run next, or NULL: one of which nothing runs comes first,
 * whatever max_threads says; the others share max_threads.
 */
static struct offload_queue *pick(void)
{
	struct list *n;

	list_for_each (n, &pool.ready) {
		struct offload_queue *q = list_entry(n, struct offload_queue, ready_node);

		if (!q->running)
			return q;
	}
	n = list_first(&pool.ready);
	if (!n || pool.running >= pool.max_threads)
		return NULL;
	return list_entry(n, struct offload_queue, ready_node);
}

/* lock held. Each thread that takes a job makes sure that there is one for the next job. */
static void call_thread(void)
{
	if (!pick())
		return;
	if (pool.waiting)
		pthread_cond_signal(&pool.work);
	else
		(void)start_thread(); /* if not: the job waits for a thread that is there */
}

/* lock held; unlocks for the work. Nothing of job or queue is touched after the reply is sent:
 * whoever gets it may free both. */
static void run_one(struct offload_queue *q)
{
	struct offload_job *job = list_entry(list_pop(&q->jobs), struct offload_job, node);

	list_del(&q->ready_node);
	pool.unstarted--;
	pool.running++;
	q->running++;
	make_ready(q);
	call_thread();
	pthread_mutex_unlock(&pool.lock);
	job->work(job);
	pthread_mutex_lock(&pool.lock);
	q->running--;
	pool.running--;
	make_ready(q);
	if (pool.stopping)
		pthread_cond_broadcast(&pool.idle);
	reactor_send(job->reply_to, &job->reply);
}

/* lock held; NULL: this thread shall end */
static struct offload_queue *wait_for_work(void)
{
	struct timespec until = after(IDLE_SECONDS * 1000);
	struct offload_queue *q;

	while (!(q = pick())) {
		int rc;

		if (pool.stopping && list_empty(&pool.ready))
			return NULL;
		pool.waiting++;
		rc = pthread_cond_timedwait(&pool.work, &pool.lock, &until);
		pool.waiting--;
		/* One stays, so that a job can run even when no thread can be made. */
		if (rc == ETIMEDOUT && list_empty(&pool.ready)) {
			if (pool.threads > 1)
				return NULL;
			until = after(IDLE_SECONDS * 1000);
		}
	}
	return q;
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	struct offload_queue *q;

	(void)pthread_setname_np(pthread_self(), "offload");
	pthread_mutex_lock(&pool.lock);
	while ((q = wait_for_work()))
		run_one(q);
	pool.threads--;
	if (pool.stopping) {
		list_add_tail(&pool.ended, &w->node);
	} else { /* it was idle; w->thread was set before the lock was free */
		pthread_detach(w->thread);
		free(w);
	}
	pthread_cond_broadcast(&pool.idle);
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static void init_conditions(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool.work, &attr);
	pthread_cond_init(&pool.idle, &attr);
	pthread_condattr_destroy(&attr);
}

int offload_start(unsigned max_threads)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int rc = 0;

	pthread_once(&once, init_conditions);
	pthread_mutex_lock(&pool.lock);
	pool.max_threads = max_threads ? max_threads : 1;
	pool.stopping = false;
	if (!pool.threads)
		rc = start_thread();
	pool.started = !rc;
	pthread_mutex_unlock(&pool.lock);
	return rc;
}

/* They hold nothing any more and are on their last instructions. */
static void join_ended(struct list *ended)
{
	struct list *n;

	while ((n = list_pop(ended))) {
		struct worker *w = list_entry(n, struct worker, node);

		pthread_join(w->thread, NULL);
		free(w);
	}
}

bool offload_stop(unsigned timeout_ms)
{
	struct timespec until = after(timeout_ms);
	struct list ended;
	bool clean;
	int rc = 0;

	pthread_mutex_lock(&pool.lock);
	if (!pool.started) {
		pthread_mutex_unlock(&pool.lock);
		return true;
	}
	while (!rc && (pool.unstarted || pool.running)) {
		pool.stopping = true; /* threads end when nothing is left to start */
		rc = pthread_cond_timedwait(&pool.idle, &pool.lock, &until);
	}
	pool.stopping = true;
	pthread_cond_broadcast(&pool.work);
	while (!rc && pool.threads)
		rc = pthread_cond_timedwait(&pool.idle, &pool.lock, &until);
	clean = !pool.threads;
	pool.started = !clean;
	list_init(&ended);
	list_splice_tail(&ended, &pool.ended);
	pthread_mutex_unlock(&pool.lock);
	join_ended(&ended);
	return clean;
}

int offload_queue_create(const char *name, unsigned width, struct offload_queue **ret)
{
	struct offload_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	list_init(&q->jobs);
	list_init(&q->ready_node);
	q->width = width ? width : 1;
	(void)strncpy(q->name, name, sizeof(q->name) - 1);
	*ret = q;
	return 0;
}

void offload_queue_destroy(struct offload_queue *q)
{
	if (!q)
		return;
	/* The thread that ran the last job may still be about to unlock. */
	pthread_mutex_lock(&pool.lock);
	list_del(&q->ready_node);
	pthread_mutex_unlock(&pool.lock);
	free(q);
}

/* On the submitter's reactor. */
static void reply(struct reactor_msg *msg)
{
	struct offload_job *job = container_of(msg, struct offload_job, reply);

	job->done(job);
}

void offload_submit(struct offload_queue *q, struct offload_job *job)
{
	job->queue = q;
	job->reply.run = reply;
	pthread_mutex_lock(&pool.lock);
	list_add_tail(&q->jobs, &job->node);
	pool.unstarted++;
	make_ready(q);
	call_thread();
	pthread_mutex_unlock(&pool.lock);
}
