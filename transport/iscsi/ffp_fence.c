/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Response fences (RFC 7143 4.2.2.3): over several connections responses overtake each other, and
 * some must not. Such a response is sent when the initiator has acknowledged every status before
 * it, on all connections, and later statuses wait until it has acknowledged this one. Statuses of
 * the whole session wait, not only those of the LU: fences are rare. NOP-In asks a silent
 * connection for its acknowledgement; one that gives none in FENCE_MS is dropped, so a dead
 * path delays a task management function, but never holds it (10.7).
 *
 * A session with one connection needs none of this: TCP keeps the order.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"

#define FENCE_MS 10000u

/* PREEMPT AND ABORT: what it has stopped must not seem to answer behind it. */
static bool is_preempt_and_abort(const struct iscsi_task *t)
{
	return t->cdb[0] == 0x5f && (t->cdb[1] & 0x1f) == 5;
}

/* What a function that stops many tasks leaves for the other nexuses. */
static bool tells_of_abort(uint16_t asc_ascq)
{
	switch (asc_ascq) {
	case 0x2902: /* target reset */
	case 0x2903: /* LU reset */
	case 0x2a03: /* reservations preempted */
	case 0x2a05: /* registrations preempted */
	case 0x2f00: /* commands cleared */
		return true;
	default:
		return false;
	}
}

bool ffp_fence_wanted(const struct iscsi_task *t)
{
	if (t->session->n_conns < 2 || t->failed)
		return false;
	if (t->scsi.status == SCSI_CHECK_CONDITION)
		return t->scsi.sense.key == SENSE_UNIT_ATTENTION &&
		       tells_of_abort(t->scsi.sense.asc_ascq);
	return is_preempt_and_abort(t);
}

/* Statuses of this connection that have been handed to the transport and are not out yet. */
static bool has_given(struct iscsi_session *s, const struct iscsi_conn *c)
{
	for (unsigned i = 0; c->n_tasks && i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos;

		list_for_each (pos, &s->tasks[i]) {
			const struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (t->conn == c && t->answer == ANSWER_GIVEN &&
			    !(t->response && t->response->fenced))
				return true;
		}
	}
	return false;
}

/* Has all that was sent here before the fence been acknowledged? If not, the initiator is asked,
 * once. */
static bool is_acknowledged(struct iscsi_session *s, struct iscsi_conn *c)
{
	if (!conn_is_full_feature(c) || c->terminating)
		return true;
	if (!c->fence_noted) {
		if (has_given(s, c))
			return false;
		c->fence_noted = true;
		c->fence_statsn = c->statsn;
		if (sna_diff(c->exp_statsn, c->fence_statsn) < 0 && !ffp_ping(c))
			iscsi_conn_terminate(c, false);
	}
	return sna_diff(c->exp_statsn, c->fence_statsn) >= 0;
}

static bool is_clear(struct iscsi_session *s)
{
	bool clear = true;
	struct list *pos;

	if (s->fence.state == FENCE_SENDING)
		return false;
	if (s->fence.state == FENCE_BEHIND)
		return !s->fence.conn || is_acknowledged(s, s->fence.conn);
	if (session_live_conns(s) < 2) /* TCP keeps the order on one */
		return true;
	list_for_each (pos, &s->conns)
		clear &= is_acknowledged(s, list_entry(pos, struct iscsi_conn, session_node));
	return clear;
}

/* Something waits: the initiator is asked, and given a time. One that has nothing to say to us is
 * left alone until then. */
static void hurry(struct iscsi_session *s)
{
	if (s->fence.hurried)
		return;
	s->fence.hurried = true;
	reactor_timer_arm(s->ir->reactor, &s->fence.timer, FENCE_MS);
	if (s->fence.state == FENCE_BEHIND && s->fence.conn && !ffp_ping(s->fence.conn))
		iscsi_conn_terminate(s->fence.conn, false);
}

static void begin(struct iscsi_session *s, enum fence_state state)
{
	struct list *pos;

	s->fence.hurried = false;
	reactor_timer_disarm(&s->fence.timer);
	list_for_each (pos, &s->conns)
		list_entry(pos, struct iscsi_conn, session_node)->fence_noted = false;
	s->fence.state = state;
	if (state == FENCE_BEFORE)
		hurry(s);
}

static void send_first(struct iscsi_session *s)
{
	struct list *first = list_pop(&s->fence.queue);
	struct iscsi_pdu *p;

	if (!first) { /* its connection has gone */
		begin(s, FENCE_BEHIND);
		s->fence.conn = NULL;
		return;
	}
	p = list_entry(first, struct iscsi_pdu, node);
	begin(s, FENCE_SENDING);
	s->fence.conn = p->conn; /* it has some time for what is queued before, as any response */
	pdu_send(p);
}

/* The statuses that have waited. One of them may be another fence. */
static void let_go(struct iscsi_session *s)
{
	reactor_timer_disarm(&s->fence.timer);
	s->fence.state = FENCE_OPEN;
	s->fence.conn = NULL;
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos, *next;

		list_for_each_safe (pos, next, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (!t->held)
				continue;
			t->held = false;
			ffp_answer(t);
		}
	}
}

void ffp_fence_look(struct iscsi_session *s)
{
	while (s->fence.state != FENCE_OPEN && !s->ending && is_clear(s)) {
		if (s->fence.state == FENCE_BEFORE)
			send_first(s);
		else if (!list_empty(&s->fence.queue))
			begin(s, FENCE_BEFORE);
		else
			let_go(s);
	}
}

void ffp_fence_send(struct iscsi_pdu *p)
{
	struct iscsi_session *s = p->conn->session;

	if (!s || s->ending || (s->fence.state == FENCE_OPEN && s->n_conns < 2)) {
		pdu_send(p);
		return;
	}
	p->fenced = p->queued = true;
	list_add_tail(&s->fence.queue, &p->node);
	if (s->fence.state == FENCE_OPEN)
		begin(s, FENCE_BEFORE);
	else
		hurry(s);
	ffp_fence_look(s);
}

void ffp_fence_sent(struct iscsi_conn *c, uint32_t statsn)
{
	struct iscsi_session *s = c->session;
	bool waited;

	if (!s || s->fence.state != FENCE_SENDING || s->fence.conn != c)
		return;
	waited = s->fence.hurried || !list_empty(&s->fence.queue);
	begin(s, FENCE_BEHIND);
	c->fence_noted = true;
	c->fence_statsn = statsn + 1;
	if (waited)
		hurry(s);
	ffp_fence_look(s);
}

void ffp_fence_hold(struct iscsi_task *t)
{
	t->held = true;
	hurry(t->session);
}

void ffp_fence_ask_again(struct iscsi_conn *c)
{
	const struct session_fence *f = &c->session->fence;

	if (f->state != FENCE_OPEN && f->hurried && c->fence_noted &&
	    sna_diff(c->exp_statsn, c->fence_statsn) < 0 && !ffp_ping(c))
		iscsi_conn_terminate(c, false);
}

void ffp_fence_forget(struct iscsi_session *s, struct iscsi_conn *c)
{
	struct list *pos, *next;

	list_for_each_safe (pos, next, &s->fence.queue) {
		struct iscsi_pdu *p = list_entry(pos, struct iscsi_pdu, node);

		if (c && p->conn != c)
			continue;
		list_del(&p->node);
		p->fenced = false; /* it is not what the fence waits for */
		iscsi_control_sent(p->conn, p);
	}
	if (s->fence.state == FENCE_OPEN || (c && s->fence.conn != c))
		return;
	s->fence.conn = NULL;
	if (s->fence.state == FENCE_SENDING)
		s->fence.state = FENCE_BEHIND;
	if (!c)
		reactor_timer_disarm(&s->fence.timer);
}

static void too_late(struct reactor_timer *timer)
{
	struct iscsi_session *s = container_of(timer, struct iscsi_session, fence.timer);
	struct list *pos, *next;
	char name[400];

	list_for_each_safe (pos, next, &s->conns) {
		struct iscsi_conn *c = list_entry(pos, struct iscsi_conn, session_node);
		bool concerned = s->fence.state == FENCE_BEFORE || c == s->fence.conn;
		bool waits =
		    c->fence_noted ? sna_diff(c->exp_statsn, c->fence_statsn) < 0 : has_given(s, c);

		/* One that has not been asked, since what was given is gone, is asked below. */
		if (!concerned || !waits)
			continue;
		log_peer(
		    LOG_ISCSI, LOG_LEVEL_WARN,
		    "%s: does not acknowledge responses that a task management function of its "
		    "session waits for; connection closed",
		    conn_describe(c, name, sizeof(name)));
		iscsi_conn_terminate(c, false);
	}
	reactor_timer_arm(s->ir->reactor, &s->fence.timer, FENCE_MS);
	ffp_fence_look(s);
}

void ffp_fence_init(struct iscsi_session *s)
{
	list_init(&s->fence.queue);
	reactor_timer_init(&s->fence.timer, too_late);
}
