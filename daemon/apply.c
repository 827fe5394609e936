/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of a request, in order; each calls the next, some from a callback:
 *
 *   next ▶ prepare, check, diff ▶ wait for paths ▶ open stores ▶ listen ▶ build policy ▶ commit
 * state ▶ publish ▶ switch ▶ wait for leaving stores ▶ open what had to wait ▶ finish
 *
 * Up to and with the commit everything can be undone. At the start listening comes first, and who
 * logs in is told to try again (0301), however long the stores take; but sockets that the service
 * manager has opened come last: initiators that have woken us wait there.
 */
#include "daemon/apply.h"
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/isns/isns.h"
#include "transport/iscsi/login.h"
#include "transport/iscsi/policy.h"

#include "config/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_WAIT_MS 5000
#define OPEN_WAIT_MS  10000

void apply_init(struct apply *a)
{
	*a = (struct apply){ .open_wait_ms = OPEN_WAIT_MS, .close_wait_ms = CLOSE_WAIT_MS };
	list_init(&a->queue);
}

enum apply_result apply_refuse(struct apply_request *r, enum apply_result result,
			       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, above */
	vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
	r->result = result;
	return result;
}

static void next(struct daemon *d);

static void finish(struct apply_run *run, enum apply_result result)
{
	struct apply_request *r = run->request;
	struct daemon *d = run->daemon;

	r->result = result;
	reactor_timer_disarm(&run->timer);
	/* Refused before the switch: portals that were to leave listen again. */
	if (result != APPLY_DONE && r->desired && !r->boot)
		apply_unlisten(run);
	apply_discard(run);
	free(run);
	d->apply.run = NULL;
	config_free(r->desired);
	r->desired = NULL;
	state_change_free(r->change);
	r->change = NULL;
	r->done(r);
	if (!d->apply.run)
		next(d);
}

/* What could not be put into service: the request fails with the first reason if it was about
 * just that, else it is said in the log, as it has been. */
static void end(struct apply_run *run)
{
	struct apply_request *r = run->request;
	const struct node_lu *l =
	    r->retry_lu ? node_find_lu(&run->daemon->node, r->retry_lu) : NULL;

	if (l && l->why)
		finish(run, apply_refuse(r, APPLY_FAILED, "%s", l->why));
	else
		finish(run, APPLY_DONE);
}

static void publish(struct apply_run *run, void (*done)(struct iscsi_publish *p))
{
	struct daemon *d = run->daemon;

	run->policy->generation = ++d->apply.generation;
	run->publish.policy = run->policy;
	run->publish.done = done;
	run->publish.arg = run;
	if (!iscsi_publish(d->set, d->n_io, d->control, &run->publish))
		return;
	log_error(LOG_DAEMON, "no memory to publish a change; restart the daemon to carry it out");
	finish(run, apply_refuse(run->request, APPLY_FAILED,
				 "no memory to carry the change out; the state has it, restart the "
				 "daemon"));
}

/* Others than the reactors that shall know of what is in force. */
static void tell_others(struct apply_run *run)
{
	isns_update(run->daemon->isns, run->policy, &apply_wanted(run)->daemon);
}

static void republished(struct iscsi_publish *p)
{
	struct apply_run *run = p->arg;

	tell_others(run);
	policy_unref(run->policy);
	run->policy = NULL;
	end(run);
}

/* Discovery must name the ports that the kernel chose for portals with port 0. */
static void republish(struct apply_run *run)
{
	const struct config *c = run->daemon->node.config;
	bool chosen = false;

	for (unsigned i = 0; i < c->n_portals; i++)
		chosen |= !c->portals[i].port;
	if (chosen) {
		run->policy = apply_policy(run);
		if (run->policy) {
			publish(run, republished);
			return;
		}
	}
	end(run);
}

static void listen_late(struct apply_run *run)
{
	if (!run->request->boot) {
		end(run);
		return;
	}
	if (apply_listen_inherited(run) != APPLY_DONE) {
		finish(run, run->request->result);
		return;
	}
	republish(run);
}

/* Said to who has asked: the file or device is in use as long. */
static void closed(struct apply_run *run)
{
	const struct node_store *s = apply_awaited(run);

	if (s) {
		log_warn(LOG_DAEMON,
			 "lu %s: its store %s has not closed yet; a command in it has "
			 "not ended",
			 s->name, s->path ? s->path : "");
		snprintf(run->request->unclosed, sizeof(run->request->unclosed), "%s", s->name);
	}
	apply_open(run, true);
}

static void published(struct iscsi_publish *p)
{
	struct apply_run *run = p->arg;

	tell_others(run);
	policy_unref(run->policy);
	run->policy = NULL;
	apply_note_leaving(run);
	apply_switch(run);
	if (run->request->boot)
		iscsi_set_condition(ISCSI_SERVING);
	apply_await(run, closed);
}

static void publish_first(struct apply_run *run)
{
	publish(run, published);
}

static void committed(struct state_commit *c)
{
	struct apply_run *run = c->arg;

	if (c->result) {
		finish(run, apply_refuse(run->request, APPLY_FAILED,
					 "the state folder %s cannot be written: %s; nothing was "
					 "changed",
					 run->daemon->settings.state_dir, text_errno(-c->result)));
		return;
	}
	apply_hand_over(run, publish_first);
}

static void commit(struct apply_run *run)
{
	struct apply_request *r = run->request;

	if (state_change_is_empty(r->change)) {
		apply_hand_over(run, publish_first);
		return;
	}
	run->commit.change = r->change;
	run->commit.done = committed;
	run->commit.arg = run;
	state_commit_begin(run->daemon->state, run->daemon->control, &run->commit);
}

static void committed_late(struct state_commit *c)
{
	struct apply_run *run = c->arg;

	/* The LUs serve all the same; only the note that they have is missing. */
	if (c->result)
		log_error(LOG_DAEMON, "the state folder %s cannot be written: %s",
			  run->daemon->settings.state_dir, text_errno(-c->result));
	listen_late(run);
}

/* Stores that were opened after the switch. */
static void commit_late(struct apply_run *run)
{
	struct apply_request *r = run->request;

	if (apply_note_opened(run) || state_change_is_empty(r->change)) {
		listen_late(run);
		return;
	}
	run->commit.change = r->change;
	run->commit.done = committed_late;
	run->commit.arg = run;
	state_commit_begin(run->daemon->state, run->daemon->control, &run->commit);
}

void apply_opened(struct apply_run *run, bool late)
{
	struct apply_request *r = run->request;

	if (late) {
		commit_late(run);
		return;
	}
	if (r->result != APPLY_DONE || (!r->boot && apply_listen(run) != APPLY_DONE)) {
		finish(run, r->result);
		return;
	}
	if (apply_forget_access(r)) {
		finish(run, apply_refuse(r, APPLY_FAILED, "no memory; nothing was changed"));
		return;
	}
	if (apply_number_ports(run) != APPLY_DONE) {
		finish(run, r->result);
		return;
	}
	run->policy = apply_policy(run);
	if (!run->policy || apply_note_opened(run)) {
		finish(run, apply_refuse(r, APPLY_FAILED, "no memory; nothing was changed"));
		return;
	}
	commit(run);
}

/* Names as the protocol compares them (RFC 3722): "iqn.EXAMPLE" and "iqn.example" are one. */
static enum apply_result normalise(struct apply_request *r)
{
	for (unsigned i = 0; i < r->desired->n_targets; i++) {
		char lower[ISCSI_NAME_MAX + 1], *name;

		if (iscsi_name_check(r->desired->targets[i].name, lower))
			continue; /* config_check says what is wrong with it */
		name = strdup(lower);
		if (!name)
			return apply_refuse(r, APPLY_FAILED, "no memory; nothing was changed");
		free(r->desired->targets[i].name);
		r->desired->targets[i].name = name;
	}
	return APPLY_DONE;
}

static enum apply_result check(struct apply_request *r)
{
	struct config_error err;

	if (normalise(r) != APPLY_DONE)
		return r->result;
	if (!config_check(r->desired, &err))
		return APPLY_DONE;
	if (err.file[0])
		return apply_refuse(r, APPLY_INVALID, "%s:%u: %s", err.file, err.line, err.text);
	return apply_refuse(r, APPLY_INVALID, "%s", err.text);
}

static enum apply_result prepare(struct daemon *d, struct apply_request *r)
{
	r->desired = d->node.config ? config_copy(d->node.config) : config_new();
	r->change = state_change_new();
	if (!r->desired || !r->change)
		return apply_refuse(r, APPLY_FAILED, "no memory; nothing was changed");
	r->result = r->prepare(r);
	return r->result == APPLY_DONE ? check(r) : r->result;
}

/* A new unit on a path that one which was removed before still has open: refused, not put in place
 * without a store. */
static void paths_free(struct apply_run *run)
{
	const struct node_store *s = apply_awaited(run);
	struct list *l;

	if (s) {
		finish(run, apply_refuse(run->request, APPLY_CONFLICT,
					 "%s is still open for lu %s, which has been removed: a "
					 "command in it has not ended; try again when it has",
					 s->path, s->name));
		return;
	}
	list_for_each (l, &run->lus) {
		struct apply_lu *al = list_entry(l, struct apply_lu, node);

		al->after_close = al->retry || apply_path_is_held(run, al);
	}
	apply_open(run, false);
}

static void begin(struct daemon *d, struct apply_request *r)
{
	struct apply_run *run = calloc(1, sizeof(*run));

	if (!run) {
		apply_refuse(r, APPLY_FAILED, "no memory; nothing was changed");
		r->done(r);
		return;
	}
	run->daemon = d;
	run->request = r;
	run->lenient = r->boot || r->lenient;
	list_init(&run->lus);
	list_init(&run->portals);
	list_init(&run->timer.node);
	d->apply.run = run;
	if (prepare(d, r) != APPLY_DONE || apply_diff(run) != APPLY_DONE) {
		finish(run, r->result);
		return;
	}
	if (!r->boot && !r->n_changes && state_change_is_empty(r->change) &&
	    list_empty(&run->lus)) {
		/* Only lines moved, if anything: keep them for "where does it stem from". */
		config_free(d->node.config);
		d->node.config = r->desired;
		r->desired = NULL;
		finish(run, APPLY_DONE);
		return;
	}
	if (r->boot) {
		iscsi_set_condition(ISCSI_STARTING);
		if (apply_listen(run) != APPLY_DONE) {
			finish(run, r->result);
			return;
		}
	}
	/* Without an administrator who waits, units go out of service instead. */
	if (run->lenient || r->retry)
		apply_open(run, false);
	else
		apply_await(run, paths_free);
}

static void next(struct daemon *d)
{
	struct list *n;

	while (!d->apply.run && (n = list_pop(&d->apply.queue))) {
		d->apply.n_queued--;
		begin(d, list_entry(n, struct apply_request, node));
	}
}

void apply_submit(struct daemon *d, struct apply_request *r)
{
	r->daemon = d;
	r->result = APPLY_DONE;
	r->why[0] = r->unclosed[0] = '\0';
	r->n_changes = 0;
	r->desired = NULL;
	r->change = NULL;
	if (d->apply.closed) {
		apply_refuse(r, APPLY_FAILED, "the daemon is stopping; nothing was changed");
		r->done(r);
		return;
	}
	if (d->apply.n_queued >= APPLY_QUEUE_MAX) {
		apply_refuse(r, APPLY_FAILED,
			     "%u changes wait already, perhaps for a slow store; try again later",
			     d->apply.n_queued);
		r->done(r);
		return;
	}
	list_add_tail(&d->apply.queue, &r->node);
	d->apply.n_queued++;
	next(d);
}
