/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ErrorRecoveryLevel 1: Data-Out that was lost is asked for again by a recovery R2T (RFC 7143 7.8,
 * 11.8). That goes out when its sequence has ended, since one R2T may be outstanding; a sequence
 * whose end does not come is taken for ended after a while (7.1.4.1).
 */
#include "transport/tcp/private.h"

#include <string.h>

#define TICK_MS       4000u
#define TICKS_MAX     2  /* 4 to 8 s without data */
#define FRUITLESS_MAX 8u /* R2Ts in a row that have brought nothing */

void tcp_note_hole(struct tcp_task *tt, uint32_t offset, uint32_t end)
{
	struct tcp_hole *last = tt->n_holes ? &tt->holes[tt->n_holes - 1] : NULL;

	if (offset == end)
		return;
	if (last && last->end == offset)
		last->end = end;
	else if (tt->n_holes < TCP_HOLES)
		tt->holes[tt->n_holes++] = (struct tcp_hole){ offset, end };
	else
		tt->hopeless = true;
}

bool tcp_take_hole(struct tcp_task *tt, struct tcp_hole *ret)
{
	uint32_t burst = tt->task->conn->keys.max_burst_length;
	struct tcp_hole *first = &tt->holes[0];

	tt->fruitless = tt->missing == tt->missing_then ? tt->fruitless + 1 : 0;
	tt->missing_then = tt->missing;
	if (tt->hopeless || tt->fruitless > FRUITLESS_MAX) {
		tt->n_holes = 0;
		iscsi_data_out_given_up(tt->task);
		return false;
	}
	*ret = *first;
	if (ret->end - ret->offset > burst) {
		ret->end = first->offset = ret->offset + burst;
		return true;
	}
	tt->n_holes--;
	memmove(first, first + 1, tt->n_holes * sizeof(*first));
	return true;
}

void tcp_recover(struct iscsi_task *t, uint32_t offset, uint32_t length)
{
	struct tcp_task *tt = tcp_task_of(t);
	struct tcp_conn *c = tcp_conn_of(t->conn);

	if (tt->state != TCP_TASK_GET)
		tcp_get_data(t, 0, 0);
	tt->missing += length;
	tcp_note_hole(tt, offset, offset + length);
	if (list_empty(&tt->node))
		list_add_tail(&c->r2ts, &tt->node);
	tcp_kick(c);
}

/* A sequence that is silent. What it has not brought is lost. */
static void give_up_waiting(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r)
{
	if (!tt->ceased)
		tcp_note_hole(tt, r->offset, r->end);
	tcp_sequence_over(c, tt, r);
}

enum look { LOOK_IDLE, LOOK_WAITS, LOOK_GAVE_UP };

/* GAVE_UP: the task may be gone, and with it others that it set free or aborted. */
static enum look look_at(struct tcp_conn *c, struct tcp_task *tt)
{
	for (unsigned i = 0; i < TCP_R2T_MAX; i++) {
		struct tcp_r2t *r = &tt->r2t[i];

		if (!r->busy)
			continue;
		if (c->dout == tt->task && c->dout_r2t == i)
			r->ticks = 0; /* a long one is on its way */
		if (++r->ticks <= TICKS_MAX)
			continue;
		give_up_waiting(c, tt, r);
		return LOOK_GAVE_UP;
	}
	return tt->n_r2ts ? LOOK_WAITS : LOOK_IDLE;
}

void tcp_sequence_watch(struct tcp_conn *c)
{
	if (list_empty(&c->sequence.node))
		reactor_timer_arm(c->conn->reactor, &c->sequence, TICK_MS);
}

/* Tasks of one bucket, until one is given up: the list may be another then, and the rest of it has
 * time until the next tick. */
static bool look_at_bucket(struct tcp_conn *c, struct list *tasks)
{
	bool waits = false;
	struct list *pos;

	list_for_each (pos, tasks) {
		struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);
		struct tcp_task *tt = tcp_task_of(t);
		enum look look = LOOK_IDLE;

		if (t->conn == c->conn && tt->state == TCP_TASK_GET)
			look = look_at(c, tt);
		if (look == LOOK_GAVE_UP)
			return true;
		waits |= look == LOOK_WAITS;
	}
	return waits;
}

void tcp_sequence_timer(struct reactor_timer *timer)
{
	struct tcp_conn *c = container_of(timer, struct tcp_conn, sequence);
	bool waits = false;

	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		if (c->down || !c->conn->session)
			return;
		waits |= look_at_bucket(c, &c->conn->session->tasks[i]);
	}
	if (waits)
		tcp_sequence_watch(c);
}
