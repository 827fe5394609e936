/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods config.*: what is in force, where it stems from, and how hawser.conf on the disk differs
 * from it. See docs/admin-protocol.md.
 */
#include "daemon/admin/request.h"
#include "daemon/boot.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void config_show(struct admin_request *rq)
{
	const struct config *c = rq->daemon->node.config;

	if (c)
		admin_reply(rq, admin_object_json(&config_root_scope, c));
	else
		admin_fail(rq, ADMIN_FAILED, "the daemon is still starting; try again");
}

static void config_save(struct admin_request *rq)
{
	const struct config *c = rq->daemon->node.config;
	char *text = c ? config_dump(c) : NULL;

	if (text)
		admin_reply(rq, json_pack("{s:s}", "text", text));
	else
		admin_fail(rq, ADMIN_FAILED, "the daemon is still starting; try again");
	free(text);
}

/* A reading of hawser.conf for check and diff. */
struct reading {
	struct offload_job job;
	struct offload_queue *queue;
	struct admin_request *rq;
	struct config *config;
	struct config_error err;
	int result;
	void (*then)(struct reading *rd);
};

static void read_work(struct offload_job *job)
{
	struct reading *rd = list_entry(job, struct reading, job);

	rd->result = boot_read_file(rd->rq->daemon->config_path, &rd->config, &rd->err);
}

static void fail_reading(struct reading *rd)
{
	if (rd->err.file[0])
		admin_fail(rd->rq, ADMIN_REFUSED, "%s:%u: %s", rd->err.file, rd->err.line,
			   rd->err.text);
	else
		admin_fail(rd->rq, ADMIN_REFUSED, "%s", rd->err.text);
}

static void read_done(struct offload_job *job)
{
	struct reading *rd = list_entry(job, struct reading, job);

	/* The file alone is good: now together with what was made at run time. */
	if (!rd->result)
		rd->result = boot_add_state(rd->rq->daemon->state, rd->config);
	if (!rd->result)
		rd->result = config_check(rd->config, &rd->err);
	if (rd->result)
		fail_reading(rd);
	else
		rd->then(rd);
	config_free(rd->config);
	offload_queue_destroy(rd->queue);
	free(rd);
}

static void read_config(struct admin_request *rq, void (*then)(struct reading *rd))
{
	struct reading *rd = calloc(1, sizeof(*rd));

	if (!rd || offload_queue_create("config", 1, &rd->queue)) {
		free(rd);
		admin_fail(rq, ADMIN_FAILED, "no memory");
		return;
	}
	rd->rq = rq;
	rd->then = then;
	rd->job = (struct offload_job){ .work = read_work,
					.done = read_done,
					.reply_to = rq->daemon->control };
	offload_submit(rd->queue, &rd->job);
}

static void checked(struct reading *rd)
{
	const struct config *c = rd->config;

	admin_reply(rd->rq, json_pack("{s:s, s:i, s:i, s:i}", "config", rd->rq->daemon->config_path,
				      "portals", (int)c->n_portals, "luns", (int)c->n_lus,
				      "targets", (int)c->n_targets));
}

static void config_check_method(struct admin_request *rq)
{
	read_config(rq, checked);
}

static const char *key_of(const struct config_scope *scope, const void *object, char buf[128])
{
	if (scope == &config_portal_scope)
		return state_portal_key(object, buf);
	if (scope == &config_account_scope)
		return ((const struct config_account *)object)->name;
	if (scope == &config_lu_scope)
		return ((const struct config_lu *)object)->name;
	return ((const struct config_target *)object)->name;
}

static const void *find(const struct config_setting *s, const struct config *c, const char *key)
{
	unsigned n = *(const unsigned *)(const void *)((const char *)c + s->count_at);
	char buf[128];

	for (unsigned i = 0; i < n; i++) {
		const void *o = config_list_at(s, c, i);

		if (!strcmp(key_of(s->scope, o, buf), key))
			return o;
	}
	return NULL;
}

static void note(json_t *list, const struct config_scope *scope, const char *key, const char *what)
{
	json_array_append_new(
	    list, json_pack("{s:s, s:s, s:s}", "change", what, "kind", scope->name, "name", key));
}

/* What a reload would do, object by object. */
static void diff_list(json_t *list, const struct config_setting *s, const struct config *have,
		      const struct config *want)
{
	unsigned n = *(const unsigned *)(const void *)((const char *)want + s->count_at);
	unsigned m = *(const unsigned *)(const void *)((const char *)have + s->count_at);
	char buf[128];

	for (unsigned i = 0; i < n; i++) {
		const void *w = config_list_at(s, want, i);
		const char *key = key_of(s->scope, w, buf);
		const void *h = find(s, have, key);

		if (!h)
			note(list, s->scope, key, "added");
		else if (!config_object_equal(s->scope, h, w))
			note(list, s->scope, key, "changed");
	}
	for (unsigned i = 0; i < m; i++) {
		const char *key = key_of(s->scope, config_list_at(s, have, i), buf);

		if (!find(s, want, key))
			note(list, s->scope, key, "removed");
	}
}

static void diffed(struct reading *rd)
{
	const struct config *have = rd->rq->daemon->node.config, *want = rd->config;
	json_t *list;

	if (!have) {
		admin_fail(rd->rq, ADMIN_FAILED, "the daemon is still starting; try again");
		return;
	}
	list = json_array();
	if (!config_object_equal(&config_daemon_scope, &have->daemon, &want->daemon))
		note(list, &config_daemon_scope, "", "changed");
	for (const struct config_setting *s = config_root_scope.settings; s->name; s++)
		if (s->type == CONFIG_LIST)
			diff_list(list, s, have, want);
	admin_reply(rd->rq, json_pack("{s:o}", "changes", list));
}

static void config_diff(struct admin_request *rq)
{
	read_config(rq, diffed);
}

const struct admin_method admin_config_methods[] = {
	{ "config.check", ADMIN_READ, config_check_method, "",
	  "reads hawser.conf and checks it together with the state; changes nothing" },
	{ "config.show", ADMIN_READ, config_show, "", "what is in force and where it stems from" },
	{ "config.diff", ADMIN_READ, config_diff, "", "what a reload would change" },
	{ "config.save", ADMIN_READ, config_save, "",
	  "what is in force, as text that could be a hawser.conf" },
	{ 0 },
};
