/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/conn.h"

#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "daemon/base/pool.h"
#include "daemon/base/stats.h"
#include "daemon/base/text.h"
#include "transport/iscsi/crowd.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/login.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/recovery.h"
#include "transport/portal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_MAX     16384u /* of one reactor; beyond: TASK SET FULL */
#define TASKS_RESERVE 256u   /* to take in and drop the data of those refused */
#define OBJECT_ALIGN  64u    /* of a transport's private bytes */
#define SILENT_MS     2000   /* in login, before others are let in instead */
#define LOGOUT_MS     5000   /* after a Logout Response, for the peer to close */

/* Of the whole process, since that is how the limits are configured. */
static _Atomic unsigned total_conns, total_unauthenticated;
static _Atomic uint64_t last_id;

static size_t aligned(size_t bytes)
{
	return (bytes + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
}

int iscsi_reactor_start(struct reactor *r, const struct datamover_ops *const *dms,
			const struct iscsi_policy *policy)
{
	struct iscsi_reactor *ir = calloc(1, sizeof(*ir));
	size_t task_size;

	if (!ir)
		return -ENOMEM;
	for (; *dms; dms++) {
		if ((*dms)->task_size > ir->task_private)
			ir->task_private = (*dms)->task_size;
	}
	task_size = FFP_TASK_SIZE + ir->task_private;
	if (pool_create("iscsi tasks", task_size, 64, TASKS_MAX + TASKS_RESERVE, &ir->tasks) ||
	    pool_create("iscsi pdus", sizeof(struct iscsi_pdu), 64, PDUS_MAX, &ir->pdus)) {
		pool_destroy(ir->tasks);
		free(ir);
		return -ENOMEM;
	}
	ir->task_limit = TASKS_MAX;
	ir->reactor = r;
	ir->index = reactor_index(r);
	ir->policy = policy;
	ir->stats = reactor_counters(r);
	list_init(&ir->conns);
	list_init(&ir->sessions);
	list_init(&ir->keepers);
	stall_init(ir);
	reactor_set_slot(r, REACTOR_ISCSI, ir);
	return 0;
}

static void reap(struct reactor_job *job)
{
	struct iscsi_conn *c = container_of(job, struct iscsi_conn, reap);

	portal_unref(c->portal);
	free(c);
}

/* Connections have gone before; what is left are sessions that waited for their initiator, and
 * tasks whose I/O a hung store has not given back: their memory must stay. */
void iscsi_reactor_stop(struct reactor *r)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct list *pos, *next;

	if (!ir)
		return;
	reactor_timer_disarm(&ir->stall);
	list_for_each_safe (pos, next, &ir->sessions)
		session_end(list_entry(pos, struct iscsi_session, node), "the target stops");
	session_reap_all(ir);
	reactor_set_slot(r, REACTOR_ISCSI, NULL);
	policy_unref(ir->policy);
	if (pool_in_use(ir->tasks) || pool_in_use(ir->pdus)) {
		log_warn(LOG_ISCSI, "%u tasks are still with their stores; they are left to them",
			 pool_in_use(ir->tasks));
		return;
	}
	pool_destroy(ir->tasks);
	pool_destroy(ir->pdus);
	free(ir);
}

unsigned iscsi_reactor_count(const struct reactor *r)
{
	const struct iscsi_reactor *ir = iscsi_reactor_of(r);

	return ir ? ir->n_conns : 0;
}

const char *conn_describe(const struct iscsi_conn *c, char *buf, size_t size)
{
	const char *name = c->session ? c->session->initiator : "";
	char escaped[ISCSI_NAME_MAX + 16], peer[64];

	portal_format(&c->peer, peer, sizeof(peer));
	text_escape(name, strlen(name), escaped, sizeof(escaped));
	if (*name)
		snprintf(buf, size, "%s from %s", escaped, peer);
	else
		snprintf(buf, size, "initiator at %s", peer);
	return buf;
}

static void drop_silent(struct iscsi_conn *c, const char *what)
{
	char name[400];

	log_peer(LOG_ISCSI, LOG_LEVEL_WARN, "%s: %s; connection closed",
		 conn_describe(c, name, sizeof(name)), what);
	iscsi_conn_terminate(c, false);
}

static bool in_login(const struct iscsi_conn *c)
{
	return c->state == CONN_XPT_UP || c->state == CONN_IN_LOGIN;
}

/* Drops the oldest connection that has not logged in and says nothing; one whose login waits for
 * us has a session. False: there is none here. */
static bool make_room(struct iscsi_reactor *ir)
{
	uint64_t now = reactor_now_ms(ir->reactor);
	struct list *pos;

	list_for_each (pos, &ir->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, node);

		if (!in_login(c) || c->terminating || c->session || now - c->last_rx_ms < SILENT_MS)
			continue;
		drop_silent(c, "says nothing, and others want to log in");
		return true;
	}
	return false;
}

static bool refuse_peer(struct iscsi_reactor *ir, const struct sockaddr_storage *peer,
			const char *why)
{
	char text[64];

	portal_format(peer, text, sizeof(text));
	log_peer(LOG_ISCSI, LOG_LEVEL_WARN, "%s: refused: %s", text, why);
	stats_add(ir->stats, STAT_CONNECTIONS_REFUSED, 1);
	return false;
}

/* True: it counts as one of its address. */
static bool may_connect(struct iscsi_reactor *ir, const struct sockaddr_storage *peer)
{
	const struct iscsi_policy *policy = ir->policy;
	unsigned conns = atomic_load(&total_conns), fresh = atomic_load(&total_unauthenticated);

	if (policy->max_connections && conns >= policy->max_connections)
		return refuse_peer(ir, peer, "there are max_connections");
	if (!crowd_enter(peer, policy->max_unauthenticated_per_address))
		return refuse_peer(ir, peer,
				   "its address has max_unauthenticated_per_address connections "
				   "before the end of login");
	/* Others make room only for who has not too many of his own. */
	if (!policy->max_unauthenticated || fresh < policy->max_unauthenticated || make_room(ir))
		return true;
	crowd_leave(peer);
	return refuse_peer(ir, peer,
			   "there are max_unauthenticated connections before the end of login");
}

static void set_deadline(struct iscsi_conn *c, uint64_t delay_ms)
{
	c->deadline_ms = reactor_now_ms(c->reactor) + delay_ms;
	reactor_timer_arm(c->reactor, &c->timer, delay_ms);
}

/* Discovery sessions get no NOP-In (RFC 7143 7.4.3): one that has been silent for as long as would
 * end another is dropped. */
static void keep_discovery(struct iscsi_conn *c, uint64_t idle, uint64_t limit)
{
	if (idle >= limit)
		drop_silent(c, "idle discovery session");
	else
		reactor_timer_arm(c->reactor, &c->timer, limit - idle);
}

/*
 * Keep-alive (RFC 7143 7.14, 11.19). Silence for nop_interval: a ping. Silence for nop_timeout
 * more: the peer is gone. Old iPXE cannot answer pings, so any PDU counts as an answer unless
 * nop_strict.
 */
static void keep_alive(struct iscsi_conn *c)
{
	const struct iscsi_policy *policy = c->session->policy;
	uint64_t now = reactor_now_ms(c->reactor), idle = now - c->last_rx_ms;
	uint64_t interval = policy->nop_interval_s * 1000ull;
	uint64_t timeout = policy->nop_timeout_s * 1000ull;
	bool pinged = c->ping_ttt != ISCSI_TAG_RESERVED;

	if (!interval)
		return;
	if (c->session->discovery) {
		keep_discovery(c, idle, interval + timeout);
		return;
	}
	if (pinged && now >= c->deadline_ms) {
		if (policy->nop_strict || idle >= timeout) {
			drop_silent(c, "no answer to a NOP-In");
			return;
		}
		c->ping_ttt = ISCSI_TAG_RESERVED;
		pinged = false;
	}
	if (!pinged && idle >= interval) {
		if (!ffp_ping(c)) {
			iscsi_conn_terminate(c, false);
			return;
		}
		set_deadline(c, timeout);
		return;
	}
	reactor_timer_arm(c->reactor, &c->timer,
			  pinged            ? c->deadline_ms - now
			  : idle < interval ? interval - idle
					    : interval);
}

static void timer_fired(struct reactor_timer *timer)
{
	struct iscsi_conn *c = container_of(timer, struct iscsi_conn, timer);

	switch (c->state) {
	case CONN_XPT_UP:
	case CONN_IN_LOGIN:
		drop_silent(c, "login has not ended in time");
		break;
	case CONN_LOGGED_IN:
		keep_alive(c);
		break;
	case CONN_LOGOUT_REQUESTED: /* RFC 7143 11.9.1: "... if it does not comply" */
		async_drop_conn(c);
		break;
	case CONN_IN_LOGOUT:
		iscsi_conn_terminate(c, false);
		break;
	case CONN_CLEANUP:
		break;
	}
}

struct iscsi_conn *iscsi_conn_create(struct reactor *r, const struct datamover_ops *dm,
				     struct portal *portal, const struct sockaddr_storage *peer,
				     const struct sockaddr_storage *local)
{
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct iscsi_conn *c;

	if (!ir || !may_connect(ir, peer))
		return NULL;
	c = calloc(1, aligned(sizeof(*c)) + dm->conn_size);
	if (!c) {
		crowd_leave(peer);
		return NULL;
	}
	c->dm_private = (uint8_t *)c + aligned(sizeof(*c));
	c->reactor = r;
	c->ir = ir;
	c->dm = dm;
	c->portal = portal;
	portal_ref(portal);
	c->peer = *peer;
	c->local = *local;
	c->state = CONN_XPT_UP;
	c->id = atomic_fetch_add(&last_id, 1) + 1;
	c->ping_ttt = ISCSI_TAG_RESERVED;
	c->last_rx_ms = reactor_now_ms(r);
	keys_defaults(&c->keys);
	list_init(&c->session_node);
	list_init(&c->held);
	list_init(&c->kept.node);
	list_init(&c->kept.tasks);
	reactor_job_init(&c->reap, reap);
	reactor_timer_init(&c->timer, timer_fired);
	set_deadline(c, ir->policy->login_timeout_s * 1000ull);
	list_add_tail(&ir->conns, &c->node);
	ir->n_conns++;
	ir->n_unauthenticated++;
	atomic_fetch_add(&total_conns, 1);
	atomic_fetch_add(&total_unauthenticated, 1);
	stats_add(ir->stats, STAT_CONNECTIONS_OPENED, 1);
	return c;
}

static void count_out_of_login(struct iscsi_conn *c)
{
	if (c->ir)
		c->ir->n_unauthenticated--;
	atomic_fetch_sub(&total_unauthenticated, 1);
	crowd_leave(&c->peer);
}

void iscsi_conn_enter_full_feature(struct iscsi_conn *c)
{
	struct it_nexus *nexus = &c->session->nexus;

	if (!in_login(c))
		return;
	count_out_of_login(c);
	c->state = CONN_LOGGED_IN;
	c->holds = c->session->holds = c->keys.error_recovery_level > 0;
	nexus->transport_version = (uint16_t)(ISCSI_VERSION + c->keys.protocol_level);
	nexus->has_queries = c->keys.protocol_level >= ISCSI_LEVEL_SAM5;
	nexus->stable_data |=
	    c->holds || c->keys.header_digest || c->keys.data_digest || !c->dm->lends_data;
	c->session->retain_ms = (c->keys.default_time2wait + c->keys.default_time2retain) * 1000ull;
	if (!c->keys.default_time2retain)
		c->session->retain_ms = 0;
	reactor_timer_disarm(&c->timer);
	keep_alive(c);
}

void iscsi_conn_terminate(struct iscsi_conn *c, bool graceful)
{
	if (c->down)
		return;
	c->terminating = true;
	c->dm->terminate(c, graceful);
}

void conn_set_cleanup(struct iscsi_conn *c)
{
	if (in_login(c))
		count_out_of_login(c);
	c->state = CONN_CLEANUP;
}

void conn_set_logout(struct iscsi_conn *c)
{
	c->state = CONN_IN_LOGOUT;
	set_deadline(c, LOGOUT_MS);
}

void conn_set_logout_requested(struct iscsi_conn *c, unsigned seconds)
{
	c->state = CONN_LOGOUT_REQUESTED;
	set_deadline(c, seconds * 1000ull);
}

static void maybe_reap(struct iscsi_conn *c)
{
	if (c->down && !c->pdus_out)
		reactor_defer(c->reactor, REACTOR_STAGE_REAP, &c->reap);
}

void iscsi_control_sent(struct iscsi_conn *c, struct iscsi_pdu *pdu)
{
	struct iscsi_task *t = pdu->task;
	bool close_after = pdu->close_after, fenced = pdu->fenced;
	uint32_t statsn = get_be32(((const struct bhs *)(const void *)pdu->bhs)->cmdsn);

	pdu->queued = pdu->fenced = false;
	if (c->holds)
		recovery_sent(c, pdu);
	else
		pdu_put(pdu);
	if (fenced)
		ffp_fence_sent(c, statsn);
	if (t && !c->holds) {
		t->response = NULL;
		ffp_task_free(t);
	}
	if (close_after)
		iscsi_conn_terminate(c, true);
	maybe_reap(c);
}

void iscsi_conn_down(struct iscsi_conn *c, int why)
{
	bool served = conn_is_full_feature(c), lost = served && !c->terminating;
	char name[400];

	if (c->down)
		return;
	c->down = true;
	reactor_timer_disarm(&c->timer);
	if (lost)
		log_peer(LOG_ISCSI, LOG_LEVEL_INFO, "%s: connection lost: %s",
			 conn_describe(c, name, sizeof(name)),
			 why ? strerrordesc_np(-why) : "closed by the initiator without logout");
	login_free(c->login);
	c->login = NULL;
	text_free(c);
	conn_set_cleanup(c);
	if (c->session)
		session_lost_conn(c->session, c, served);
	ffp_forget_rx(c);
	recovery_forget(c);
	list_del(&c->node);
	if (c->ir) /* else it has ended on its way to another reactor */
		c->ir->n_conns--;
	atomic_fetch_sub(&total_conns, 1);
	stats_add(reactor_counters(c->reactor), STAT_CONNECTIONS_CLOSED, 1);
	maybe_reap(c);
}

void iscsi_stamp(struct iscsi_conn *c, uint8_t bhs[static 48], bool takes_statsn)
{
	struct bhs *h = (void *)bhs;
	struct iscsi_session *s = c->session;

	put_be32(h->cmdsn, c->statsn); /* StatSN in responses */
	c->statsn += takes_statsn;
	if (!s) {
		put_be32(h->exp_statsn, c->login_cmdsn);
		put_be32(h->max_cmdsn, c->login_cmdsn);
		return;
	}
	put_be32(h->exp_statsn, s->exp_cmdsn);
	put_be32(h->max_cmdsn, s->max_cmdsn);
	s->told_max_cmdsn = s->max_cmdsn;
}
