/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Get_Data over TCP: R2Ts and the Data-Out PDUs that answer them (RFC 7143 11.7, 11.8). Nothing of
 * it is seen above this folder but the end, or the first breach of the rules.
 */
#include "daemon/base/bytes.h"
#include "transport/iscsi/recovery.h"
#include "transport/tcp/private.h"

#include <errno.h>

#define LATE_TTTS 65536u /* as long as a tag is known to have been ours */

void tcp_get_data(struct iscsi_task *t, uint32_t offset, uint32_t length)
{
	struct tcp_conn *c = tcp_conn_of(t->conn);
	struct tcp_task *tt = tcp_task_of(t);

	tt->state = TCP_TASK_GET;
	tt->at = offset;
	tt->end = offset + length;
	tt->missing = length;
	tt->n_r2ts = 0;
	tt->ceased = false;
	tt->recovers = t->conn->holds;
	tt->n_holes = tt->fruitless = 0;
	tt->hopeless = false;
	tt->missing_then = 0;
	for (unsigned i = 0; i < TCP_R2T_MAX; i++)
		tt->r2t[i].busy = false;
	list_add_tail(&c->r2ts, &tt->node);
	tcp_kick(c);
}

static struct iscsi_task *find_task(struct tcp_conn *c, uint32_t itt)
{
	struct iscsi_task *t = session_find_task(c->conn->session, itt);

	return t && t->conn == c->conn && tcp_task_of(t)->state == TCP_TASK_GET ? t : NULL;
}

static int find_r2t(const struct tcp_task *tt, uint32_t ttt)
{
	for (int i = 0; i < TCP_R2T_MAX; i++) {
		if (tt->r2t[i].busy && tt->r2t[i].ttt == ttt)
			return i;
	}
	return -1;
}

bool tcp_cease(struct iscsi_task *t)
{
	struct tcp_task *tt = tcp_task_of(t);
	struct tcp_conn *c = tcp_conn_of(t->conn);

	list_del(&tt->node); /* no R2T any more */
	tt->ceased = true;
	tt->at = tt->end; /* a SNACK may bring it back into the list */
	tt->n_holes = 0;
	if (c->dout == t || (c->rx.task == t && c->phase != RX_BHS))
		c->sink.n = 0;
	if (tt->n_r2ts)
		return false;
	tt->state = TCP_TASK_IDLE;
	return true;
}

/* Refuses the PDU; its data, if any, is dropped. That of a sequence counts for its F bit yet: the
 * layer above ends the task by tcp_cease. */
static int refuse(struct tcp_conn *c, struct iscsi_task *t, enum iscsi_reject reason)
{
	c->sink.n = 0;
	c->dout_refused = true;
	iscsi_data_out_bad(c->conn, t, c->rx.bhs, (uint8_t)reason);
	return 0;
}

/* Is this transfer being waited for, by whatever task? */
static bool is_outstanding(const struct tcp_conn *c, uint32_t ttt)
{
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		struct list *pos;

		list_for_each (pos, &c->conn->session->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (t->conn == c->conn && tcp_task_of(t)->state == TCP_TASK_GET &&
			    find_r2t(tcp_task_of(t), ttt) >= 0)
				return true;
		}
	}
	return false;
}

/*
 * A PDU for a transfer that we asked for and no longer know is what is still on its way of an
 * aborted task: dropped in silence (RFC 7143 10.7). One with another task's tag is not that.
 */
static bool is_late(const struct tcp_conn *c, uint32_t ttt)
{
	return c->next_ttt - ttt - 1u < LATE_TTTS && !is_outstanding(c, ttt);
}

/* Level 1: a gap in DataSN is what was lost (RFC 7143 7.9); it is asked for again. */
static void skip_lost(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r)
{
	const struct bhs_data_out *d = (const void *)c->rx.bhs;
	uint32_t offset = get_be32(d->buffer_offset), datasn = get_be32(d->datasn);

	if (sna_diff(datasn, r->next_datasn) <= 0 || offset <= r->offset || offset >= r->end)
		return;
	tcp_note_hole(tt, r->offset, offset);
	r->offset = offset;
	r->next_datasn = datasn;
}

int tcp_dataout_header(struct tcp_conn *c)
{
	const struct bhs_data_out *d = (const void *)c->rx.bhs;
	uint32_t ttt = get_be32(d->ttt), offset = get_be32(d->buffer_offset);
	struct iscsi_task *t = find_task(c, get_be32(d->itt));
	int i = t ? find_r2t(tcp_task_of(t), ttt) : -1;
	struct tcp_r2t *r;

	conn_acknowledge(c->conn, get_be32(d->exp_statsn));
	c->dout = NULL;
	c->dout_refused = false;
	c->sink.n = 0;
	if (i < 0)
		return is_late(c, ttt) ? 0 : refuse(c, t, REJECT_INVALID_PDU_FIELD);
	r = &tcp_task_of(t)->r2t[i];
	c->dout = t;
	c->dout_r2t = (uint8_t)i;
	r->ticks = 0;
	if (tcp_task_of(t)->ceased)
		return 0;
	if (tcp_task_of(t)->recovers)
		skip_lost(c, tcp_task_of(t), r);
	/* Order within a sequence is Yes for PDUs and data alike; LUN is not looked at, the TTT
	 * decides (the Windows initiator leaves it zero). */
	if (c->rx.ahs_length || get_be32(d->datasn) != r->next_datasn || offset != r->offset)
		return refuse(c, t, REJECT_PROTOCOL_ERROR);
	/* Another amount than was asked for (11.4.7.2). */
	if (c->rx.length > r->end - r->offset ||
	    ((d->flags & ISCSI_FINAL) && c->rx.length != r->end - r->offset))
		return refuse(c, t, REJECT_INVALID_PDU_FIELD);
	c->sink = sink_at(t->scsi.buf.iov, t->scsi.buf.n, offset);
	return 0;
}

void tcp_sequence_over(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r)
{
	bool over;

	r->busy = false;
	tt->n_r2ts--;
	/* The answer of a task that has failed waits for the F bit of every R2T (RFC 7143 7.8,
	 * 11.4.2). */
	over = tt->ceased ? !tt->n_r2ts : !tt->missing;
	if (over) {
		list_del(&tt->node);
		tt->state = TCP_TASK_IDLE;
		iscsi_data_complete(tt->task);
	} else if ((tt->at < tt->end || tt->n_holes) && list_empty(&tt->node) && !tt->ceased) {
		list_add_tail(&c->r2ts, &tt->node);
		tcp_kick(c);
	}
}

int tcp_dataout_done(struct tcp_conn *c, bool digest_good)
{
	const struct bhs_data_out *d = (const void *)c->rx.bhs;
	struct iscsi_task *t = c->dout;
	struct tcp_task *tt;
	struct tcp_r2t *r;

	if (!t)
		return 0;
	tt = tcp_task_of(t);
	r = &tt->r2t[c->dout_r2t];
	if (!digest_good && !c->dout_refused) {
		if (tt->recovers && !tt->ceased) {
			tcp_note_hole(tt, r->offset, r->offset + c->rx.length);
			tt->missing += c->rx.length; /* taken off below */
			iscsi_data_out_lost(c->conn, c->rx.bhs);
		} else {
			refuse(c, t, REJECT_DATA_DIGEST);
		}
	}
	if (tt->ceased || c->dout_refused) {
		if (tt->ceased && (d->flags & ISCSI_FINAL))
			tcp_sequence_over(c, tt, r);
		return 0;
	}
	r->next_datasn++;
	r->offset += c->rx.length;
	tt->missing -= c->rx.length;
	if (r->offset == r->end)
		tcp_sequence_over(c, tt, r);
	return 0;
}
