/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ErrorRecoveryLevel 1: Data-In and R2Ts that are sent again (RFC 7143 11.16). Where a Data-In PDU
 * lay follows from its number, as long as the length of PDUs is one and the same.
 */
#include "transport/tcp/private.h"

#include <errno.h>

void tcp_put_base(struct tcp_task *tt)
{
	tt->recovers = true;
	tt->mixed = false;
	tt->n_runs = 0;
	tt->segment = tt->task->conn->keys.max_send_data_segment_length;
	tt->ack_ttt = ISCSI_TAG_RESERVED;
	tt->base = tt->put;
	tt->replay.sn = UINT32_MAX;
}

/* A longer one that is declared meanwhile is for tasks to come. */
uint32_t tcp_fit_segment(struct tcp_task *tt, uint32_t declared)
{
	if (declared < tt->segment) {
		tt->segment = declared;
		tt->mixed |= tt->put.sn != tt->base.sn;
		tt->n_runs = 0; /* the initiator has to send R-Data SNACK now */
	}
	return tt->segment;
}

struct tcp_put tcp_place_of(const struct tcp_task *tt, uint32_t sn)
{
	const struct iscsi_task *t = tt->task;
	uint32_t burst = t->conn->keys.max_burst_length;
	uint32_t segment = tt->segment & ~3u, whole = burst / segment + !!(burst % segment);
	struct tcp_put p = tt->base;

	if (p.burst == burst) { /* whole sequences at once */
		uint32_t n = (sn - p.sn) / whole;

		p.at += n * burst;
		p.sn += n * whole;
	}
	for (; p.sn < sn; p.sn++) {
		uint32_t length = tcp_next_length(tt, &p, tt->segment);

		p.at += length;
		p.burst -= length;
		if (!p.burst)
			p.burst = burst;
	}
	p.from = sink_at(t->scsi.buf.iov, t->scsi.buf.n, p.at);
	return p;
}

static void queue(struct tcp_task *tt, struct list *to)
{
	if (list_empty(&tt->node))
		list_add_tail(to, &tt->node);
	tcp_kick(tcp_conn_of(tt->task->conn));
}

/* Numbers [*begin, *end) of a SNACK; false: not those that are there, [first, next). */
static bool take_run(uint32_t first, uint32_t next, uint32_t *begin, uint32_t runlength,
		     uint32_t *ret_end)
{
	if (!*begin && !runlength)
		*begin = first;
	if (*begin < first || *begin >= next || runlength > next - *begin)
		return false;
	*ret_end = runlength ? *begin + runlength : next;
	return true;
}

/* An R2T is acknowledged by the first data for it. */
static bool is_unanswered(const struct tcp_r2t *r)
{
	return r->busy && !r->next_datasn;
}

static int resend_r2ts(struct tcp_task *tt, uint32_t begrun, uint32_t runlength)
{
	uint32_t first = tt->sn, end;

	/* They are answered in order, so those that are not are the last. */
	for (unsigned i = 0; i < TCP_R2T_MAX; i++) {
		if (is_unanswered(&tt->r2t[i]) && tt->r2t[i].r2tsn < first)
			first = tt->r2t[i].r2tsn;
	}
	if (!take_run(first, tt->sn, &begrun, runlength, &end))
		return -ERANGE;
	for (unsigned i = 0; i < TCP_R2T_MAX; i++) {
		struct tcp_r2t *r = &tt->r2t[i];

		if (is_unanswered(r) && r->r2tsn >= begrun && r->r2tsn < end)
			r->again = true;
	}
	queue(tt, &tcp_conn_of(tt->task->conn)->r2ts);
	return 0;
}

static void add_run(struct tcp_task *tt, uint32_t begin, uint32_t end)
{
	struct tcp_run *last = &tt->runs[TCP_RUNS - 1];

	for (unsigned i = 0; i < tt->n_runs; i++) {
		if (begin >= tt->runs[i].sn && end <= tt->runs[i].end)
			return;
	}
	if (tt->n_runs < TCP_RUNS) {
		tt->runs[tt->n_runs++] = (struct tcp_run){ begin, end };
		return;
	}
	if (begin < last->sn)
		last->sn = begin;
	if (end > last->end)
		last->end = end;
}

int tcp_resend(struct iscsi_task *t, uint32_t begrun, uint32_t runlength, uint32_t *ret_next)
{
	struct tcp_task *tt = tcp_task_of(t);
	uint32_t end;

	*ret_next = tt->put.sn ? tt->put.sn : tt->sn;
	if (tt->state == TCP_TASK_GET)
		return resend_r2ts(tt, begrun, runlength);
	if (!take_run(tt->base.sn, tt->put.sn, &begrun, runlength, &end))
		return -ERANGE;
	tcp_fit_segment(tt, t->conn->keys.max_send_data_segment_length);
	if (tt->mixed)
		return -EOPNOTSUPP;
	add_run(tt, begrun, end);
	queue(tt, &tcp_conn_of(t->conn)->data);
	return 0;
}

void tcp_restart(struct iscsi_task *t)
{
	struct tcp_task *tt = tcp_task_of(t);
	uint32_t ttt = tt->ack_ttt;

	if (!tt->put.sn) /* not begun */
		return;
	if (tt->base.at == tt->end) { /* all is acknowledged: only the status is left */
		if (tt->state == TCP_TASK_IDLE)
			iscsi_data_complete(t);
		return;
	}
	if (tt->in_batch)
		tt->owed->last = false;
	tt->put = tt->base;
	tcp_put_base(tt);
	tt->ack_ttt = ttt;
	tt->state = TCP_TASK_PUT;
	queue(tt, &tcp_conn_of(t->conn)->data);
}

bool tcp_data_ack(struct iscsi_task *t, uint32_t ttt, uint32_t begrun)
{
	struct tcp_task *tt = tcp_task_of(t);

	if (!tt->recovers || tt->ack_ttt == ISCSI_TAG_RESERVED || ttt != tt->ack_ttt ||
	    begrun <= tt->base.sn || begrun > tt->put.sn)
		return false;
	if (!tt->mixed)
		tt->base = tcp_place_of(tt, begrun);
	return true;
}
