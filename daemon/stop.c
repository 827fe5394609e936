/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Phases of the orderly end, walked by a timer; see stop.h. Each phase is told once to begin and
 * then asked whether it is over.
 */
#include "daemon/stop.h"
#include "daemon/admin/admin.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "daemon/flush.h"
#include "daemon/isns/isns.h"
#include "daemon/service.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/session.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS            50
#define LOGOUT_MAX_MS      5000 /* that initiators get to log out by themselves */
#define GOODBYE_MAX_MS     1000 /* that iSNS servers get to answer */
#define LAST_RESORT_MORE_S 2

struct stop {
	struct daemon *daemon;
	unsigned phase;
	uint64_t phase_ms, deadline_ms;
	uint64_t logout_ms; /* of the whole time at most half, the rest is for the stores */
	struct reactor_timer timer;
	struct reactor_broadcast broadcast;
	bool busy; /* a broadcast is on its way */
	atomic_uint count;
	struct iscsi_publish publish;
	struct flush *flush;
	bool flushed;
};

static uint64_t phase_age_ms(const struct stop *s)
{
	return reactor_now_ms(s->daemon->control) - s->phase_ms;
}

static void broadcast_done(struct reactor_broadcast *b)
{
	list_entry(b, struct stop, broadcast)->busy = false;
}

static void broadcast(struct stop *s, void (*each)(struct reactor_broadcast *, struct reactor *))
{
	struct daemon *d = s->daemon;

	s->broadcast = (struct reactor_broadcast){ .each = each,
						   .done = broadcast_done,
						   .reply_to = d->control };
	s->busy = !reactor_broadcast(d->set, d->n_io, &s->broadcast);
}

/* A change in progress is let finish: the tree must be whole. */
static void begin_quiet(struct stop *s)
{
	s->daemon->apply.closed = true;
}

static bool is_quiet(struct stop *s)
{
	return !s->daemon->apply.run && !s->daemon->apply.n_queued;
}

static void begin_deafness(struct stop *s)
{
	struct list *l;

	list_for_each (l, &s->daemon->node.portals) {
		node_portal_unlisten(list_entry(l, struct node_portal, node));
	}
}

static void begin_goodbye(struct stop *s)
{
	isns_say_goodbye(s->daemon->isns);
}

/* They forget us by themselves if this takes too long. */
static bool said_goodbye(struct stop *s)
{
	return isns_is_idle(s->daemon->isns) || phase_age_ms(s) > GOODBYE_MAX_MS;
}

static bool always(struct stop *s)
{
	(void)s;
	return true;
}

static void request_logout(struct reactor_broadcast *b, struct reactor *r)
{
	const struct stop *s = list_entry(b, struct stop, broadcast);

	iscsi_reactor_request_logout(r, (unsigned)(s->logout_ms + 999) / 1000);
	reactor_broadcast_ack(b);
}

static void begin_logout(struct stop *s)
{
	atomic_store(&s->count, 1);
	broadcast(s, request_logout);
}

static void count_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct stop *s = list_entry(b, struct stop, broadcast);

	atomic_fetch_add(&s->count, iscsi_reactor_count(r));
	reactor_broadcast_ack(b);
}

/* Asks for the number of connections, and answers with the last one known. */
static bool no_connection(struct stop *s)
{
	if (s->busy)
		return false;
	if (atomic_load(&s->count) == 0)
		return true;
	atomic_store(&s->count, 0);
	broadcast(s, count_each);
	/* Until the answer is there nobody reads it: busy. */
	return false;
}

static bool logged_out(struct stop *s)
{
	return no_connection(s) || phase_age_ms(s) > s->logout_ms;
}

static void published(struct iscsi_publish *p)
{
	((struct stop *)p->arg)->busy = false;
}

/* A policy without targets: every session is told to leave. */
static void begin_ending_sessions(struct stop *s)
{
	struct daemon *d = s->daemon;
	struct iscsi_policy *empty = policy_alloc(0);

	if (!empty)
		return;
	empty->generation = ++d->apply.generation;
	s->publish.policy = empty;
	s->publish.done = published;
	s->publish.arg = s;
	s->busy = !iscsi_publish(d->set, d->n_io, d->control, &s->publish);
	policy_unref(empty);
}

static bool not_busy(struct stop *s)
{
	return !s->busy;
}

static void end_connections(struct reactor_broadcast *b, struct reactor *r)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct list *l, *tmp;

	list_for_each_safe (l, tmp, &ir->conns)
		iscsi_conn_terminate(list_entry(l, struct iscsi_conn, node), false);
	reactor_broadcast_ack(b);
}

static void begin_ending_connections(struct stop *s)
{
	atomic_store(&s->count, 1);
	broadcast(s, end_connections);
}

static void flushed(struct flush *f, unsigned failed)
{
	struct stop *s = flush_arg(f);

	if (failed)
		log_error(LOG_DAEMON,
			  "%u stores could not be flushed; their last writes may be "
			  "lost in a power cut",
			  failed);
	s->flushed = true;
	s->flush = NULL;
}

static void begin_flush(struct stop *s)
{
	s->flush = flush_begin(s->daemon, flushed, s);
	s->flushed = !s->flush;
}

static bool is_flushed(struct stop *s)
{
	return s->flushed;
}

static void begin_closing(struct stop *s)
{
	struct list *l, *tmp;

	list_for_each_safe (l, tmp, &s->daemon->node.portals)
		node_portal_free(list_entry(l, struct node_portal, node));
	list_for_each_safe (l, tmp, &s->daemon->node.lus)
		node_lu_free(list_entry(l, struct node_lu, node));
}

static bool all_closed(struct stop *s)
{
	return !s->daemon->node.n_stores;
}

static void name_unflushed_one(const char *lu, void *arg)
{
	(void)arg;
	log_error(
	    LOG_DAEMON,
	    "lu %s: its store has not answered to the flush; its last writes may be lost in a "
	    "power cut",
	    lu);
}

static void name_unflushed(const struct stop *s)
{
	if (s->flush)
		flush_each_pending(s->flush, name_unflushed_one, NULL);
}

static void name_open(const struct stop *s)
{
	struct list *l;

	list_for_each (l, &s->daemon->node.stores) {
		const struct node_store *st = list_entry(l, struct node_store, node);

		log_error(LOG_DAEMON, "lu %s: its store%s%s has not closed; it has been flushed",
			  st->name, st->path ? " " : "", st->path ? st->path : "");
	}
}

/* Who holds the end up can be named in some phases; whoever else has a store open is not at fault.
 */
static const struct stop_phase {
	const char *name;
	void (*begin)(struct stop *s);
	bool (*over)(struct stop *s);
	void (*blame)(const struct stop *s);
} phases[] = {
	{ "a change in progress", begin_quiet, is_quiet, NULL },
	{ "portals", begin_deafness, always, NULL },
	{ "iSNS servers", begin_goodbye, said_goodbye, NULL },
	{ "initiators that were asked to log out", begin_logout, logged_out, NULL },
	{ "sessions", begin_ending_sessions, not_busy, NULL },
	{ "connections", begin_ending_connections, no_connection, NULL },
	{ "flushing of stores", begin_flush, is_flushed, name_unflushed },
	{ "closing of stores", begin_closing, all_closed, name_open },
};
#define N_PHASES (sizeof(phases) / sizeof(phases[0]))

static void give_up(struct stop *s)
{
	log_error(LOG_DAEMON, "stopping takes too long (waiting for %s); leaving at once",
		  phases[s->phase].name);
	if (phases[s->phase].blame)
		phases[s->phase].blame(s);
	admin_remove_socket(s->daemon->admin);
	_exit(1);
}

static void tick(struct reactor_timer *t)
{
	struct stop *s = list_entry(t, struct stop, timer);
	struct daemon *d = s->daemon;

	while (phases[s->phase].over(s)) {
		if (++s->phase == N_PHASES) {
			reactor_stop(d->control);
			return;
		}
		s->phase_ms = reactor_now_ms(d->control);
		phases[s->phase].begin(s);
	}
	if (reactor_now_ms(d->control) > s->deadline_ms)
		give_up(s);
	reactor_timer_arm(d->control, &s->timer, TICK_MS);
}

/* Joining threads cannot be given a limit: this ends the process when even that hangs. */
static void *last_resort(void *arg)
{
	struct timespec left = { .tv_sec = (time_t)(uintptr_t)arg };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
	static const char text[] = "hawserd: threads do not end; leaving at once\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	_exit(1);
}

static void start_last_resort(unsigned seconds)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, last_resort, (void *)(uintptr_t)seconds)) // NOLINT
		log_warn(LOG_DAEMON, "no thread to watch over the end of the process");
	pthread_attr_destroy(&attr);
}

void stop_begin(struct daemon *d, const char *why)
{
	struct stop *s;
	unsigned seconds;

	if (d->stop)
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		d->exit_status = 1;
		reactor_stop(d->control);
		return;
	}
	log_info(LOG_DAEMON, "stopping: %s", why);
	seconds = d->node.config ? d->node.config->daemon.shutdown_timeout_s
				 : d->settings.shutdown_timeout_s;
	d->stop = s;
	s->daemon = d;
	s->phase_ms = reactor_now_ms(d->control);
	s->deadline_ms = s->phase_ms + seconds * 1000ULL;
	s->logout_ms = seconds * 500ULL < LOGOUT_MAX_MS ? seconds * 500ULL : LOGOUT_MAX_MS;
	start_last_resort(seconds + LAST_RESORT_MORE_S);
	if (d->service) {
		service_stopping(d->service);
		service_unwatch(d->service);
	}
	reactor_timer_init(&s->timer, tick);
	phases[0].begin(s);
	tick(&s->timer);
}
