/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See boot.h.
 */
#include "daemon/boot.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "daemon/service.h"
#include "daemon/state.h"
#include "transport/iscsi/login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name that made-up names are built from. */
static int set_node_name(struct config *c)
{
	char name[256] = "";

	if (c->daemon.node_name)
		return 0;
	if (gethostname(name, sizeof(name) - 1) || !*name)
		snprintf(name, sizeof(name), "localhost");
	c->daemon.node_name = strdup(name);
	return c->daemon.node_name ? 0 : -ENOMEM;
}

int boot_read_file(const char *path, struct config **ret, struct config_error *err)
{
	struct config *c;
	int r = config_parse_file(path, &c, err);

	if (r)
		return r;
	r = config_check(c, err);
	if (!r)
		r = set_node_name(c);
	if (r) {
		if (!err->file[0])
			snprintf(err->file, sizeof(err->file), "%s", path);
		config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

static int stand_in(struct config *c, const char *name)
{
	struct config_lu *l;

	if (config_find_lu(c, name))
		return 0;
	l = config_add_lu(c);
	if (!l)
		return -ENOMEM;
	l->name = strdup(name);
	l->lost = true;
	return l->name ? 0 : -ENOMEM;
}

static int stand_ins(struct config *c, const struct config_lun *luns, unsigned n)
{
	int r = 0;

	for (unsigned i = 0; i < n && !r; i++)
		r = stand_in(c, luns[i].lu);
	return r;
}

static int lost_account(struct config *c, const char *name)
{
	struct config_account *a;

	if (!name || config_find_account(c, name))
		return 0;
	a = config_add_account(c);
	if (!a)
		return -ENOMEM;
	a->name = strdup(name);
	a->lost = true;
	return a->name ? 0 : -ENOMEM;
}

/* Accounts whose files were torn: their rules stay, and nobody can satisfy them. */
static int lost_accounts(const struct state *s, struct config *c)
{
	int r = 0;

	for (unsigned i = 0; i < c->n_targets && !r && state_torn(s, STATE_ACCOUNT); i++)
		for (unsigned j = 0; j < c->targets[i].n_access && !r; j++)
			r = lost_account(c, c->targets[i].access[j].account);
	return r;
}

static void warn_of_shared_secrets(const struct config *c)
{
	for (unsigned i = 0; i < c->n_accounts; i++) {
		const struct config_account *other = config_same_secret(c, &c->accounts[i]);

		if (!other)
			continue;
		log_warn(LOG_CONFIG,
			 "account %s: has the same secret as account %s; whoever knows one is both",
			 c->accounts[i].name, other->name);
		return;
	}
}

int boot_add_state(const struct state *s, struct config *c)
{
	int r = state_add_objects(s, c);

	if (!r)
		r = lost_accounts(s, c);
	/* A torn file's LU is known only by those who map it: they keep it, out of service. */
	if (r || !state_torn(s, STATE_LU))
		return r;
	for (unsigned i = 0; i < c->n_targets && !r; i++) {
		const struct config_target *t = &c->targets[i];

		if (t->origin.file)
			continue;
		r = stand_ins(c, t->luns, t->n_luns);
		for (unsigned j = 0; j < t->n_access && !r; j++)
			r = stand_ins(c, t->access[j].luns, t->access[j].n_luns);
	}
	return r;
}

struct boot {
	struct apply_request request;
	struct config *file;
	void (*applied)(struct apply_request *r);
	/* reload */
	struct offload_job job;
	struct offload_queue *queue;
	struct daemon *daemon;
	struct config_error err;
	int result;
	void (*done)(void *arg, int result, const char *why, unsigned n_changes);
	void *arg;
};

static void boot_free(struct boot *b)
{
	config_free(b->file);
	offload_queue_destroy(b->queue);
	free(b);
}

static enum apply_result prepare(struct apply_request *r)
{
	struct boot *b = list_entry(r, struct boot, request);
	struct config *c = b->file;

	if (boot_add_state(r->daemon->state, c))
		return apply_refuse(r, APPLY_FAILED, "no memory; nothing was changed");
	warn_of_shared_secrets(c);
	config_free(r->desired);
	r->desired = c;
	b->file = NULL;
	return APPLY_DONE;
}

static void applied(struct apply_request *r)
{
	struct boot *b = list_entry(r, struct boot, request);

	b->applied(r);
	boot_free(b);
}

void boot_apply(struct daemon *d, struct config *from_file, void (*done)(struct apply_request *r))
{
	struct boot *b = calloc(1, sizeof(*b));

	if (!b) {
		struct apply_request none = { .daemon = d };

		config_free(from_file);
		apply_refuse(&none, APPLY_FAILED, "no memory");
		done(&none);
		return;
	}
	b->file = from_file;
	b->applied = done;
	b->request.boot = true;
	b->request.prepare = prepare;
	b->request.done = applied;
	apply_submit(d, &b->request);
}

static void reload_end(struct boot *b, int result, const char *why, unsigned n_changes)
{
	iscsi_set_condition(ISCSI_SERVING);
	if (result)
		log_error(LOG_CONFIG, "reload refused, everything stays as it was: %s", why);
	else
		log_info(LOG_CONFIG, "reloaded %s: %u objects changed", b->daemon->config_path,
			 n_changes);
	if (b->daemon->service && !b->daemon->stop)
		service_ready(b->daemon->service);
	if (b->done)
		b->done(b->arg, result, why, n_changes);
	boot_free(b);
}

static void reload_applied(struct apply_request *r)
{
	struct boot *b = list_entry(r, struct boot, request);

	reload_end(b, r->result == APPLY_DONE ? 0 : -EINVAL, r->why, r->n_changes);
}

static void reload_work(struct offload_job *job)
{
	struct boot *b = list_entry(job, struct boot, job);

	b->result = boot_read_file(b->daemon->config_path, &b->file, &b->err);
}

static void reload_read(struct offload_job *job)
{
	struct boot *b = list_entry(job, struct boot, job);
	char why[800];

	if (b->result) {
		snprintf(why, sizeof(why), "%s:%u: %s", b->err.file, b->err.line, b->err.text);
		reload_end(b, b->result, why, 0);
		return;
	}
	b->request.lenient = true;
	b->request.retry = true;
	b->request.prepare = prepare;
	b->request.done = reload_applied;
	apply_submit(b->daemon, &b->request);
}

int boot_reload(struct daemon *d,
		void (*done)(void *arg, int result, const char *why, unsigned n_changes), void *arg)
{
	struct boot *b = calloc(1, sizeof(*b));

	if (!b || offload_queue_create("reload", 1, &b->queue)) {
		free(b);
		return -ENOMEM;
	}
	if (d->service)
		service_reloading(d->service);
	iscsi_set_condition(ISCSI_RELOADING);
	b->daemon = d;
	b->done = done;
	b->arg = arg;
	b->job = (struct offload_job){ .work = reload_work,
				       .done = reload_read,
				       .reply_to = d->control };
	offload_submit(b->queue, &b->job);
	return 0;
}
