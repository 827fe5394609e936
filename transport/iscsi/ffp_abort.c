/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stopping tasks: out of the transport, out of the session, and out of the SCSI layer, which frees
 * them at once or when their I/O comes back. A stopped task never answers.
 */
#include "daemon/base/pool.h"
#include "daemon/base/stats.h"
#include "scsi/exec.h"
#include "scsi/scsi.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/recovery.h"

#include <stdlib.h>
#include <string.h>

void ffp_unlink(struct iscsi_task *t)
{
	struct iscsi_session *s = t->session;

	if (!s)
		return;
	list_del(&t->itt_node);
	s->n_tasks--;
	s->n_immediate -= t->immediate;
	t->conn->n_tasks--;
	if (t->holds_slot)
		session_free_slot(s);
	t->holds_slot = false;
	t->session = NULL;
}

static bool is_received(const struct iscsi_task *t)
{
	const struct iscsi_rx *rx = t->conn ? t->conn->rx : NULL;

	return rx && rx->task == t;
}

/* Nothing more goes into or comes out of its buffers, but for what releasing says. */
static void stop_moving(struct iscsi_task *t)
{
	bool received = is_received(t);

	if (t->stopped && t->submitted) /* by ffp_stop, which keeps its R2Ts */
		return;
	/* At level 1 something may be on its way once more. */
	if (!received && !t->soliciting && !t->sending && !t->conn->holds)
		return;
	t->soliciting = t->sending = false;
	/* The transport looks at rx->task itself, so it goes first. */
	if (!t->releasing && !t->conn->dm->release(t))
		t->releasing = true;
	if (received) {
		ffp_count_rx(t->conn);
		t->conn->rx->task = NULL;
		t->conn->rx->iovcnt = 0;
	}
}

bool ffp_release(struct scsi_task *st)
{
	struct iscsi_task *t = iscsi_task_of(st);

	stop_moving(t);
	return !t->releasing;
}

/* RFC 7143 10.7: what is still on its way is not worth a Reject. */
static void remember_late(struct iscsi_conn *c, uint32_t itt)
{
	if (c->down)
		return;
	if (c->n_late == CONN_LATE)
		memmove(c->late, c->late + 1, sizeof(c->late) - sizeof(c->late[0]));
	else
		c->n_late++;
	c->late[c->n_late - 1] = itt;
}

bool ffp_is_late(struct iscsi_conn *c, uint32_t itt, bool final)
{
	for (unsigned i = 0; i < c->n_late; i++) {
		if (c->late[i] != itt)
			continue;
		if (final) {
			memmove(c->late + i, c->late + i + 1,
				(c->n_late - i - 1) * sizeof(c->late[0]));
			c->n_late--;
		}
		return true;
	}
	return false;
}

static void task_give_back(struct iscsi_task *t)
{
	if (t->kept) {
		recovery_give_back(t);
		return;
	}
	free(t->long_cdb);
	pool_put(t->ir->tasks, t);
}

void ffp_abort(struct scsi_task *st)
{
	struct iscsi_task *t = iscsi_task_of(st);
	struct iscsi_session *s = t->session;
	bool over = true;

	if (!s)
		return; /* it is stopped already */
	stop_moving(t);
	if (!t->unsolicited_final)
		remember_late(t->conn, t->itt);
	if (t->response) /* on its way before the answer to whoever stops the task */
		t->response->task = NULL;
	t->response = NULL;
	ffp_unlink(t);
	if (t->stopped)
		ffp_stop_over(s, t);
	else
		stats_add(t->ir->stats, STAT_TASKS_ABORTED, 1);
	if (s->fence.state != FENCE_OPEN)
		ffp_stop_settle(s);
	if (t->submitted)
		over = scsi_abort(&t->scsi);
	t->conn = NULL;
	t->over = over;
	if (over && !t->releasing)
		task_give_back(t);
	if (!s->ending)
		ffp_tell_window(s);
}

void ffp_detached_done(struct scsi_task *st)
{
	task_give_back(iscsi_task_of(st));
}

void iscsi_task_released(struct iscsi_task *t)
{
	t->releasing = false;
	if (t->session) /* its data has failed, it goes on to its end */
		ffp_data_progress(t);
	else if (t->over)
		task_give_back(t);
	else
		scsi_released(&t->scsi);
}

/* A command whose immediate data was damaged has not been received (RFC 7143 7.8). */
void ffp_scsi_undo(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	struct iscsi_task *t = rx->task;

	(void)c;
	if (!t)
		return;
	t->holds_slot = false; /* its CmdSN is taken back too */
	ffp_abort(&t->scsi);
}

/* With a connection ends what it began; a nexus that lives on is told (RFC 7143 11.14.5). */
static void tell_cleared(const struct iscsi_task *t)
{
	if (t->submitted && t->scsi.itl)
		itl_ua(t->scsi.itl, ASC_CLEARED_BY_ISCSI);
}

void ffp_abort_all(struct iscsi_session *s, const struct iscsi_conn *c)
{
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS && s->n_tasks; i++) {
		struct list *pos, *next;

		list_for_each_safe (pos, next, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (c && t->conn != c)
				continue;
			if (c)
				tell_cleared(t);
			ffp_abort(&t->scsi);
		}
	}
}
