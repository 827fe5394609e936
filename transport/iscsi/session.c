/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/session.h"

#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "scsi/alua.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SPC-4 unit attentions of a nexus that begins. Power on is told by 29h/00h, which covers it:
 * iscsi-ls tries again after that one, but fails at 29h/01h. */
#define UA_POWER_ON   0x2900
#define UA_NEXUS_LOSS 0x2907

static _Atomic uint64_t last_id;

static void session_free(struct iscsi_session *s)
{
	s->ir->window_grown -= s->window - s->first_window;
	reactor_timer_disarm(&s->timer);
	reactor_timer_disarm(&s->fence.timer);
	ffp_stop_end(s);
	reactor_job_cancel(&s->reap);
	list_del(&s->node);
	policy_unref(s->policy);
	free(s);
}

static void reap(struct reactor_job *job)
{
	session_free(container_of(job, struct iscsi_session, reap));
}

static void retention_over(struct reactor_timer *timer)
{
	session_end(container_of(timer, struct iscsi_session, timer),
		    "no connection came back within Time2Retain");
}

struct iscsi_session *session_create(struct iscsi_conn *leading, const struct iscsi_target *target)
{
	struct iscsi_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ir = leading->ir;
	s->policy = leading->ir->policy;
	policy_ref(s->policy);
	s->target = target;
	s->discovery = !target;
	s->id = atomic_fetch_add(&last_id, 1) + 1;
	s->created_ms = reactor_now_ms(leading->reactor);
	s->local = leading->local;
	list_init(&s->dir_node);
	list_init(&s->conns);
	list_init(&s->parked);
	list_init(&s->tmfs);
	ffp_fence_init(s);
	ffp_stop_init(s);
	list_init(&s->claims);
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++)
		list_init(&s->tasks[i]);
	reactor_timer_init(&s->timer, retention_over);
	reactor_job_init(&s->reap, reap);
	list_add_tail(&s->ir->sessions, &s->node);
	list_add_tail(&s->conns, &leading->session_node);
	s->window = s->first_window = s->policy->window;
	s->n_conns = 1;
	leading->session = s;
	return s;
}

void session_maybe_free(struct iscsi_session *s)
{
	if (s->ending && !s->n_conns && !s->n_tmfs)
		reactor_defer(s->ir->reactor, REACTOR_STAGE_REAP, &s->reap);
}

void session_reap_all(struct iscsi_reactor *ir)
{
	struct list *pos, *next;

	list_for_each_safe (pos, next, &ir->sessions) {
		struct iscsi_session *s = list_entry(pos, struct iscsi_session, node);

		if (s->ending && !s->n_conns && !s->n_tmfs)
			session_free(s);
	}
}

/* The map to be shown, with a reference; NULL: no memory. */
static const struct scsi_lun_map *shown_map(const struct iscsi_session *s)
{
	const struct scsi_lun_map *map = policy_map(s->target, s->rule);
	struct scsi_lun_entry *entries;
	struct scsi_lun_map *copy;

	if (!map)
		return lun_map_create(NULL, 0);
	if (!s->rule || !s->rule->read_only) {
		lun_map_ref(map);
		return map;
	}
	entries = calloc(map->n ? map->n : 1, sizeof(*entries));
	if (!entries)
		return NULL;
	for (unsigned i = 0; i < map->n; i++) {
		entries[i] = map->entries[i];
		entries[i].read_only = true;
	}
	copy = lun_map_create(entries, map->n);
	free(entries);
	return copy;
}

static bool target_port(struct it_nexus *n, unsigned i, uint16_t *ret_relative,
			char ret_name[static SCSI_PORT_NAME])
{
	const struct iscsi_session *s = container_of(n, struct iscsi_session, nexus);
	const struct iscsi_target *t = s->target;

	if (!t || i >= t->n_groups)
		return false;
	*ret_relative = t->groups[i].relative_port;
	snprintf(ret_name, SCSI_PORT_NAME, "%s,t,0x%04x", s->target_name, t->groups[i].tpgt);
	return true;
}

static bool admits(struct it_nexus *n, const char *initiator)
{
	const struct iscsi_session *s = container_of(n, struct iscsi_session, nexus);
	char lower[ISCSI_NAME_MAX + 1];

	return s->target && !iscsi_name_check(initiator, lower) && !strcmp(initiator, lower) &&
	       policy_knows(s->target, initiator);
}

static void will_abort(struct itl *itl)
{
	ffp_stop_for_other(container_of(itl->nexus, struct iscsi_session, nexus), itl);
}

static const struct nexus_neighbours neighbours = { target_port, admits, will_abort };

int session_start_nexus(struct iscsi_session *s)
{
	const struct scsi_lun_map *map = shown_map(s);
	struct it_nexus *n = &s->nexus;
	int err;

	if (!map)
		return -ENOMEM;
	/* SPC-4 7.6.4.2: names of the initiator and target port. */
	snprintf(n->initiator_port, sizeof(n->initiator_port), "%s,i,0x%012llx", s->initiator,
		 (unsigned long long)get_be48(s->isid));
	snprintf(n->target_port, sizeof(n->target_port), "%s,t,0x%04x", s->target_name, s->tpgt);
	for (unsigned i = 0; i < s->target->n_groups; i++) {
		if (s->target->groups[i].tpgt == s->tpgt)
			n->relative_port = s->target->groups[i].relative_port;
	}
	n->neighbours = &neighbours;
	n->id = s->id;
	nexus_set_alua(n, s->target->alua);
	/* Never less than the window: TASK SET FULL is for what no window prevents. */
	n->max_tasks = s->window + SESSION_IMMEDIATE_MAX;
	err = nexus_init(n, s->ir->reactor, map, s->reinstates ? UA_NEXUS_LOSS : UA_POWER_ON);
	lun_map_unref(map);
	s->nexus_live = !err;
	return err;
}

int session_remap(struct iscsi_session *s)
{
	const struct scsi_lun_map *map;
	int err;

	if (!s->nexus_live)
		return 0;
	map = s->target ? shown_map(s) : lun_map_create(NULL, 0);
	if (!map)
		return -ENOMEM;
	err = map == s->nexus.map ? 0 : nexus_remap(&s->nexus, map);
	lun_map_unref(map);
	return err;
}

struct iscsi_conn *session_find_conn(struct iscsi_session *s, uint16_t cid)
{
	struct list *pos;

	list_for_each (pos, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);

		if (c->cid == cid)
			return c;
	}
	return NULL;
}

unsigned session_live_conns(const struct iscsi_session *s)
{
	struct list *pos;
	unsigned n = 0;

	list_for_each (pos, &s->conns)
		n += conn_is_full_feature(list_entry(pos, struct iscsi_conn, session_node));
	return n;
}

struct iscsi_conn *session_any_conn(const struct iscsi_session *s)
{
	struct list *pos;

	list_for_each (pos, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);

		if (conn_is_full_feature(c) && !c->terminating)
			return c;
	}
	return NULL;
}

/* RFC 7143 8.2: a connection that has failed waits for its cleanup, by a Logout on another or by a
 * new one with its CID. At level 0 nothing of it is left to be cleaned but the memory of its name.
 */
static void remember_lost(struct iscsi_session *s, uint16_t cid)
{
	uint64_t s_kept = (uint64_t)s->keys.default_time2wait + s->keys.default_time2retain;

	session_forget_lost(s, cid);
	s->lost[s->n_lost++ % SESSION_LOST_CIDS] = (struct session_lost_cid){
		.cid = cid,
		.until_ms = reactor_now_ms(s->ir->reactor) + s_kept * 1000,
	};
}

bool session_forget_lost(struct iscsi_session *s, uint16_t cid)
{
	uint64_t now = reactor_now_ms(s->ir->reactor);
	bool known = false;

	for (unsigned i = 0; i < SESSION_LOST_CIDS; i++) {
		if (s->lost[i].cid != cid)
			continue;
		known |= s->lost[i].until_ms > now;
		s->lost[i].until_ms = 0;
	}
	return known;
}

void session_stop_conn(struct iscsi_conn *c)
{
	ffp_give_up_rx(c);
	ffp_drop_parked(c->session, c);
	ffp_abort_all(c->session, c);
	ffp_tmf_forget(c->session, c);
	ffp_fence_forget(c->session, c);
}

/* Takes the connection out, with all that it began. */
static void detach_conn(struct iscsi_session *s, struct iscsi_conn *c)
{
	session_stop_conn(c);
	list_del(&c->session_node);
	s->n_conns--;
	c->login_cmdsn = s->exp_cmdsn; /* for what is queued and not stamped yet */
	c->session = NULL;
}

int session_join(struct iscsi_session *s, struct iscsi_conn *c)
{
	struct iscsi_conn *old = session_find_conn(s, c->cid);
	bool replaces = old && conn_is_full_feature(old); /* else it is not among the live */

	if (s->ending || session_live_conns(s) - replaces >= s->keys.max_connections)
		return -EMFILE;
	if (old) {
		conn_set_cleanup(old);
		detach_conn(s, old);
		iscsi_conn_terminate(old, false);
	}
	reactor_timer_disarm(&s->timer);
	session_forget_lost(s, c->cid);
	list_add_tail(&s->conns, &c->session_node);
	s->n_conns++;
	c->session = s;
	ffp_fence_look(s);
	return 0;
}

void session_lost_conn(struct iscsi_session *s, struct iscsi_conn *c, bool unexpected)
{
	detach_conn(s, c);
	s->peer = c->peer;
	if (unexpected && !s->ending) {
		remember_lost(s, c->cid);
		async_tell_lost(s, c->cid);
	}
	if (s->ending) {
		session_maybe_free(s);
		return;
	}
	ffp_fence_look(s);
	if (s->n_conns)
		ffp_run_parked(s);
	else if (s->nexus_live && !s->no_retention && s->retain_ms)
		reactor_timer_arm(s->ir->reactor, &s->timer, s->retain_ms);
	else
		session_end(s, "its last connection has gone");
}

static void log_end(const struct iscsi_session *s, const char *why)
{
	char name[ISCSI_NAME_MAX + 16];

	text_escape(s->initiator, strlen(s->initiator), name, sizeof(name));
	log_peer(LOG_ISCSI, LOG_LEVEL_INFO, "%s: session %u with %s has ended: %s", name, s->tsih,
		 s->discovery ? "discovery" : s->target_name, why);
}

/* Tasks, nexus and place are given up; its connections are the caller's. */
static void let_go(struct iscsi_session *s, const char *why)
{
	s->ending = true;
	reactor_timer_disarm(&s->timer);
	ffp_drop_parked(s, NULL);
	ffp_abort_all(s, NULL);
	ffp_tmf_forget(s, NULL);
	ffp_fence_forget(s, NULL);
	if (s->nexus_live)
		nexus_destroy(&s->nexus);
	s->nexus_live = false;
	if (directory_leave(s))
		log_end(s, why);
}

void session_logged_out(struct iscsi_session *s)
{
	if (!s->ending)
		let_go(s, "logged out");
}

void session_end(struct iscsi_session *s, const char *why)
{
	struct list *pos, *next;

	if (s->ending)
		return;
	let_go(s, why);
	list_for_each_safe (pos, next, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);

		conn_set_cleanup(c);
		iscsi_conn_terminate(c, true);
	}
	session_maybe_free(s);
}

void session_drop(struct iscsi_session *s, const char *why)
{
	if (!s->ending)
		async_announce_drop(s);
	session_end(s, why);
}
