/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods daemon.*: see docs/admin-protocol.md.
 */
#include "daemon/daemon.h"
#include "backing/backing.h"
#include "daemon/admin/request.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/boot.h"
#include "daemon/stop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void daemon_status(struct admin_request *rq)
{
	const struct daemon *d = rq->daemon;
	const struct config *c = d->node.config;
	const char *why = NULL;
	bool uring = backing_have_uring(&why);
	json_t *j = json_pack("{s:s, s:i, s:I, s:i, s:s, s:s}", "version", HAWSER_VERSION, "pid",
			      (int)getpid(), "uptime_s",
			      (json_int_t)((reactor_now_ms(d->control) - d->started_ms) / 1000),
			      "io_threads", (int)d->n_io, "config", d->config_path, "state_dir",
			      d->settings.state_dir);
	unsigned torn = 0;
	struct list *l;
	int out = 0;

	json_object_set_new(j, "condition",
			    json_string(d->stop         ? "stopping"
					: d->started_ms ? "serving"
							: "starting"));
	json_object_set_new(j, "targets", json_integer(c ? c->n_targets : 0));
	json_object_set_new(j, "portals", json_integer(c ? c->n_portals : 0));
	json_object_set_new(j, "luns", json_integer(c ? c->n_lus : 0));
	list_for_each (l, &d->node.lus)
		out += !list_entry(l, struct node_lu, node)->store;
	json_object_set_new(j, "luns_out_of_service", json_integer(out));
	for (unsigned k = 0; k < STATE_KINDS; k++)
		torn += state_torn(d->state, (enum state_kind)k);
	json_object_set_new(j, "damaged_state_files", json_integer(torn));
	json_object_set_new(j, "io_uring", json_boolean(uring));
	if (!uring && why)
		json_object_set_new(j, "io_uring_why", json_string(why));
	json_object_set_new(j, "changes_waiting", json_integer(d->apply.n_queued));
	admin_reply(rq, j);
}

static json_t *counters_json(const struct daemon *d)
{
	json_t *j = json_object();

	for (unsigned i = 0; i < STATS; i++) {
		uint64_t sum = 0;

		for (unsigned k = 0; k < d->n_io; k++)
			sum += stats_get(reactor_counters(d->io[k].reactor), (enum stat_id)i);
		json_object_set_new(j, stats_name((enum stat_id)i), json_integer((json_int_t)sum));
	}
	return j;
}

static void daemon_stats(struct admin_request *rq)
{
	const struct daemon *d = rq->daemon;
	json_t *threads = json_array();

	for (unsigned k = 0; k < d->n_io; k++) {
		struct reactor_stats s;

		reactor_get_stats(d->io[k].reactor, &s);
		json_array_append_new(threads, json_pack("{s:i, s:I, s:I, s:I, s:I}", "thread",
							 (int)k, "turns", (json_int_t)s.turns,
							 "events", (json_int_t)s.events, "messages",
							 (json_int_t)s.messages, "longest_turn_us",
							 (json_int_t)s.longest_turn_us));
	}
	admin_reply(rq, json_pack("{s:o, s:o}", "counters", counters_json(d), "threads", threads));
}

static const char *const subsystems[LOG_SUBSYSTEMS] = {
	[LOG_BASE] = "base",   [LOG_DAEMON] = "daemon",   [LOG_CONFIG] = "config",
	[LOG_ADMIN] = "admin", [LOG_SCSI] = "scsi",       [LOG_ISCSI] = "iscsi",
	[LOG_TCP] = "tcp",     [LOG_BACKING] = "backing",
};

static void daemon_log_level(struct admin_request *rq)
{
	enum log_subsystem which = LOG_SUBSYSTEMS;
	const char *level_name = NULL, *name = NULL;
	enum log_level level;
	json_t *j;

	if (!admin_optional_text(rq, "level", &level_name) ||
	    !admin_optional_text(rq, "subsystem", &name))
		return;
	if (name && log_subsystem_parse(name, &which)) {
		admin_fail(rq, ADMIN_INVALID_PARAMS,
			   "there is no subsystem \"%.32s\"; known are base daemon config admin "
			   "scsi iscsi tcp backing",
			   name);
		return;
	}
	if (level_name && log_level_parse(level_name, &level)) {
		admin_fail(rq, ADMIN_INVALID_PARAMS,
			   "there is no level \"%.32s\"; known are error warn info debug",
			   level_name);
		return;
	}
	if (level_name)
		log_set_level(which, level);
	j = json_object();
	for (unsigned i = 0; i < LOG_SUBSYSTEMS; i++)
		json_object_set_new(
		    j, subsystems[i],
		    json_string(log_level_name(log_get_level((enum log_subsystem)i))));
	admin_reply(rq, json_pack("{s:o}", "levels", j));
}

static void daemon_stop(struct admin_request *rq)
{
	struct daemon *d = rq->daemon;

	admin_reply(rq, NULL);
	stop_begin(d, "told so by the administrator");
}

static void reloaded(void *arg, int result, const char *why, unsigned n_changes)
{
	struct admin_request *rq = arg;

	if (result)
		admin_fail(rq, ADMIN_REFUSED, "%s; everything stays as it was", why);
	else
		admin_reply(rq, json_pack("{s:i}", "changes", (int)n_changes));
}

static void daemon_reload(struct admin_request *rq)
{
	if (boot_reload(rq->daemon, reloaded, rq))
		admin_fail(rq, ADMIN_FAILED, "no memory");
}

const struct admin_method admin_daemon_methods[] = {
	{ "daemon.status", ADMIN_READ, daemon_status, "",
	  "version, condition, numbers of objects" },
	{ "daemon.stats", ADMIN_READ, daemon_stats, "", "counters, summed over the I/O threads" },
	{ "daemon.log_level", ADMIN_CHANGE, daemon_log_level, "[level] [subsystem]",
	  "shows or sets how much is logged, until the next start" },
	{ "daemon.stop", ADMIN_CHANGE, daemon_stop, "", "stops in order, as SIGTERM" },
	{ "daemon.reload", ADMIN_CHANGE, daemon_reload, "", "reads hawser.conf again, as SIGHUP" },
	{ 0 },
};
