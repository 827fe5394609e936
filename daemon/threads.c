/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The I/O threads: one reactor each, with arena, engine, SCSI, iSCSI and transport on it, started
 * from the bottom up and stopped from the top down.
 */
#include "backing/backing.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"
#include "scsi/exec.h"
#include "scsi/tmf.h"
#include "transport/iscsi/conn.h"
#include "transport/iscsi/policy.h"
#include "transport/portal.h"
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

unsigned io_threads_default(void)
{
	cpu_set_t cpus;
	int n;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	n = CPU_COUNT(&cpus);
	return n < 1 ? 1 : n > LU_REACTORS_MAX ? LU_REACTORS_MAX : (unsigned)n;
}

/* Nobody may log in before the configuration has been applied. */
static int start_iscsi(struct io_thread *t)
{
	struct iscsi_policy *empty = policy_alloc(0);
	int r;

	if (!empty)
		return -ENOMEM;
	r = iscsi_reactor_start(t->reactor, t->daemon->transports, empty);
	if (r)
		policy_unref(empty);
	return r;
}

static int start_arena(struct io_thread *t)
{
	int r = arena_create(t->daemon->settings.buffer_memory, &t->arena);

	if (!r)
		reactor_set_slot(t->reactor, REACTOR_ARENA, t->arena);
	return r;
}

static int start_engine(struct io_thread *t)
{
	return backing_reactor_start(t->reactor, t->arena);
}

static int start_scsi(struct io_thread *t)
{
	return scsi_reactor_start(t->reactor, t->arena);
}

static int start_tcp(struct io_thread *t)
{
	return tcp_reactor_start(t->reactor);
}

static void stop_arena(struct io_thread *t)
{
	arena_destroy(t->arena);
}

static void stop_engine(struct io_thread *t)
{
	backing_reactor_stop(t->reactor);
}

static void stop_scsi(struct io_thread *t)
{
	scsi_reactor_stop(t->reactor);
}

static void stop_iscsi(struct io_thread *t)
{
	iscsi_reactor_stop(t->reactor);
}

static void stop_tcp(struct io_thread *t)
{
	tcp_reactor_stop(t->reactor);
}

static const struct io_part {
	const char *name;
	int (*start)(struct io_thread *t);
	void (*stop)(struct io_thread *t);
} parts[] = {
	{ "data buffers (daemon: buffer_memory)", start_arena, stop_arena },
	{ "I/O engine", start_engine, stop_engine },
	{ "SCSI layer", start_scsi, stop_scsi },
	{ "iSCSI layer", start_iscsi, stop_iscsi },
	{ "TCP transport", start_tcp, stop_tcp },
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static void pin(const struct io_thread *t)
{
	unsigned nth = t->index;
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	nth %= (unsigned)CPU_COUNT(&all);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || nth--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one))
			log_warn(LOG_DAEMON, "I/O thread %u cannot be bound to core %u", t->index,
				 cpu);
		return;
	}
}

static void *io_main(void *arg)
{
	struct io_thread *t = arg;
	unsigned n = 0;

	if (t->daemon->settings.pin)
		pin(t);
	while (n < N_PARTS && !t->result) {
		t->result = parts[n].start(t);
		if (t->result)
			t->what = parts[n].name;
		else
			n++;
	}
	reactor_send(t->daemon->control, &t->started);
	reactor_run(t->reactor);
	while (n--)
		parts[n].stop(t);
	return NULL;
}

static void started(struct reactor_msg *msg)
{
	struct io_thread *t = list_entry(msg, struct io_thread, started);
	struct daemon *d = t->daemon;
	int result = 0;

	if (t->result)
		log_error(LOG_DAEMON, "I/O thread %u: %s cannot be started: %s", t->index, t->what,
			  text_errno(-t->result));
	if (++d->n_started < d->n_io)
		return;
	for (unsigned i = 0; i < d->n_io; i++)
		result = result ? result : d->io[i].result;
	d->io_ready(d, result);
}

static int start_one(struct daemon *d, unsigned i)
{
	struct io_thread *t = &d->io[i];
	char name[16];
	int r;

	t->daemon = d;
	t->index = i;
	t->started.run = started;
	snprintf(name, sizeof(name), "io-%u", i);
	r = reactor_create(i, name, &t->reactor);
	d->set[i] = t->reactor;
	return r;
}

int io_threads_start(struct daemon *d, void (*ready)(struct daemon *d, int result))
{
	int r = 0;

	d->n_io = d->settings.reactors ? d->settings.reactors : io_threads_default();
	d->io_ready = ready;
	for (unsigned i = 0; i < d->n_io && !r; i++)
		r = start_one(d, i);
	if (r)
		return r;
	scsi_tmf_set_reactors(d->set, d->n_io);
	portal_set_reactors(d->set, d->n_io);
	for (unsigned i = 0; i < d->n_io; i++) {
		r = pthread_create(&d->io[i].thread, NULL, io_main, &d->io[i]);
		if (r)
			return -r;
		d->io[i].running = true;
	}
	return 0;
}

void io_threads_stop(struct daemon *d)
{
	for (unsigned i = 0; i < d->n_io; i++)
		if (d->io[i].running)
			reactor_stop(d->io[i].reactor);
	for (unsigned i = 0; i < d->n_io; i++) {
		if (d->io[i].running)
			pthread_join(d->io[i].thread, NULL);
		d->io[i].running = false;
		reactor_destroy(d->io[i].reactor);
		d->io[i].reactor = NULL;
	}
}
