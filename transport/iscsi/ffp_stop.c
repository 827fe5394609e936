/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks that a function for many of them has stopped while R2Ts were open (RFC 7143 4.2.3.3 a).
 * The SCSI layer has let go of such a task and its buffers serve others; what still comes is
 * dropped. But its R2Ts, its tag and its place in the window stay until the initiator has answered
 * the R2Ts, and the function's response waits for that. Not for ever: open-iscsi, as it is usually
 * set, answers no R2T of a task that it stops, and ESXi gives a function 5 s.
 *
 * FastAbort (4.2.3.4): nothing is waited for. On the function's own connection the initiator sends
 * nothing more; each other one, and those of other FastAbort sessions, is told by an asynchronous
 * message for each LU, and the R2Ts stay until a NOP-Out has acknowledged that.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/stats.h"
#include "scsi/exec.h"
#include "transport/iscsi/ffp.h"

#define R2TS_MS 1000u
#define TOLD_MS 10000u /* for the acknowledgement of a message */

/* The transport asks for nothing more; has it asked for something that has not come? */
static bool has_open_r2ts(struct iscsi_task *t)
{
	const struct datamover_ops *dm = t->conn->dm;

	return t->soliciting && t->answer != ANSWER_GIVEN && dm->cease && !dm->cease(t);
}

static void limit(struct iscsi_task *t, unsigned ms)
{
	struct iscsi_session *s = t->session;
	struct reactor_timer *timer = &s->stopped.timer;

	t->stopped_until_ms = reactor_now_ms(s->ir->reactor) + ms;
	if (list_empty(&timer->node) || timer->due_ms > t->stopped_until_ms)
		reactor_timer_arm(s->ir->reactor, timer, ms);
}

/* by: waits for the R2Ts, if there are any; NULL: nobody does. */
static void stop(struct iscsi_task *t, struct ffp_tmf *by)
{
	if (!has_open_r2ts(t)) {
		ffp_abort(&t->scsi);
		return;
	}
	t->stopped = t->dropping = true;
	t->told = t->held = false;
	t->stopped_by = by;
	if (by)
		by->n_open++;
	t->session->stopped.n++;
	limit(t, by ? R2TS_MS : TOLD_MS);
	if (t->conn->rx && t->conn->rx->task == t)
		t->conn->rx->iovcnt = 0;
	/* Without its data it is not with a store, so nothing of it is left there. */
	if (t->submitted)
		scsi_abort(&t->scsi);
	t->submitted = t->collecting = false;
	t->answer = ANSWER_NONE;
	stats_add(t->ir->stats, STAT_TASKS_ABORTED, 1);
}

static bool is_fast(const struct iscsi_session *s)
{
	return s->keys.task_reporting == REPORTING_FAST_ABORT;
}

void ffp_stop_begin(struct iscsi_session *s)
{
	s->stopped.round++;
}

/* Once in a round. */
static void tell(const struct iscsi_task *t)
{
	struct async_event e = { .event = ASYNC_TASK_TERMINATION, .lun = t->lun };
	struct iscsi_conn *c = t->conn;

	if (!t->submitted || c->told_round == t->session->stopped.round)
		return;
	c->told_round = t->session->stopped.round;
	if (!async_send(c, &e))
		iscsi_conn_terminate(c, false);
}

void ffp_stop(struct iscsi_task *t, struct ffp_tmf *by)
{
	if (t->stopped)
		return;
	if (!is_fast(t->session)) {
		stop(t, by);
	} else if (t->conn == by->conn) {
		ffp_abort(&t->scsi);
	} else {
		tell(t);
		stop(t, NULL);
	}
}

/* A task that has its answer goes on (scsi/nexus.h). */
void ffp_stop_for_other(struct iscsi_session *s, const struct itl *itl)
{
	if (!is_fast(s) || s->ending)
		return;
	ffp_stop_begin(s);
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos, *next;

		list_for_each_safe (pos, next, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (!t->submitted || t->scsi.itl != itl || t->answer != ANSWER_NONE)
				continue;
			tell(t);
			stop(t, NULL);
		}
	}
}

/* Is t kept until the message about this LU is acknowledged? */
static bool awaits(const struct iscsi_task *t, const struct iscsi_conn *c, uint64_t lun)
{
	return t->stopped && !t->stopped_by && t->conn == c && t->scsi.lun == lun;
}

void ffp_stop_told(struct iscsi_conn *c, const uint8_t lun[static 8], uint32_t statsn)
{
	struct iscsi_session *s = c->session;
	uint64_t number = scsi_lun_decode(lun);

	for (unsigned i = 0; s && i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos;

		list_for_each (pos, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (t->told || !awaits(t, c, number))
				continue;
			t->told = true;
			t->told_statsn = statsn;
		}
	}
}

/* 4.2.3.4 g: the initiator sends nothing for them any more. */
void ffp_stop_acknowledged(struct iscsi_conn *c, const uint8_t lun[static 8])
{
	struct iscsi_session *s = c->session;
	uint64_t number = scsi_lun_decode(lun);

	for (unsigned i = 0; i < SESSION_ITT_BUCKETS && s->stopped.n; i++) {
		struct list *pos, *next;

		list_for_each_safe (pos, next, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (awaits(t, c, number) && t->told &&
			    sna_diff(c->exp_statsn, t->told_statsn) > 0)
				ffp_abort(&t->scsi);
		}
	}
}

/* After the response of the function, which may come before the message on another connection. */
bool ffp_stop_give_way(struct iscsi_task *t)
{
	if (!t->stopped || t->stopped_by)
		return false;
	ffp_abort(&t->scsi);
	return true;
}

void ffp_stop_over(struct iscsi_session *s, struct iscsi_task *t)
{
	s->stopped.n--;
	if (t->stopped_by && !--t->stopped_by->n_open)
		ffp_stop_settle(s);
}

void ffp_stop_forget(struct ffp_tmf *by)
{
	struct iscsi_session *s = by->session;

	for (unsigned i = 0; i < SESSION_ITT_BUCKETS && by->n_open; i++) {
		struct list *pos;

		list_for_each (pos, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (!t->stopped || t->stopped_by != by)
				continue;
			t->stopped_by = NULL;
			by->n_open--;
		}
	}
}

/* Those that have had their time are over; the timer is for the first of the others. */
static void give_up(struct reactor_timer *timer)
{
	struct iscsi_session *s = container_of(timer, struct iscsi_session, stopped.timer);
	uint64_t now = reactor_now_ms(s->ir->reactor), next = UINT64_MAX;

	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos, *after;

		list_for_each_safe (pos, after, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (!t->stopped)
				continue;
			if (t->stopped_until_ms <= now)
				ffp_abort(&t->scsi);
			else if (t->stopped_until_ms < next)
				next = t->stopped_until_ms;
		}
	}
	if (next != UINT64_MAX)
		reactor_timer_arm(s->ir->reactor, timer, next - now);
}

static void settle(struct reactor_job *job)
{
	struct iscsi_session *s = container_of(job, struct iscsi_session, stopped.job);

	if (s->ending)
		return;
	ffp_tmf_look(s);
	ffp_fence_look(s);
}

void ffp_stop_settle(struct iscsi_session *s)
{
	if (!s->ending)
		reactor_defer(s->ir->reactor, REACTOR_STAGE_SUBMIT, &s->stopped.job);
}

void ffp_stop_init(struct iscsi_session *s)
{
	reactor_timer_init(&s->stopped.timer, give_up);
	reactor_job_init(&s->stopped.job, settle);
}

void ffp_stop_end(struct iscsi_session *s)
{
	reactor_timer_disarm(&s->stopped.timer);
	reactor_job_cancel(&s->stopped.job);
}
