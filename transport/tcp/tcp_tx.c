/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending: queues, one gather write for a batch, and what is owed when a batch is out.
 */
#include "daemon/base/pool.h"
#include "daemon/base/stats.h"
#include "transport/tcp/private.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

void tcp_send_control(struct iscsi_conn *conn, struct iscsi_pdu *pdu)
{
	struct tcp_conn *c = tcp_conn_of(conn);

	/* Digests as they are in force now: the final Login Response goes without (RFC 7143 6.3).
	 */
	pdu->dm_flags = (uint8_t)((c->header_digest ? 1 : 0) | (c->data_digest ? 2 : 0));
	list_add_tail(&c->control, &pdu->node);
	tcp_kick(c);
}

void tcp_put_data(struct iscsi_task *t, uint32_t offset, uint32_t length, bool with_status)
{
	struct tcp_conn *c = tcp_conn_of(t->conn);
	struct tcp_task *tt = tcp_task_of(t);

	tt->state = TCP_TASK_PUT;
	tt->with_status = with_status;
	tt->end = offset + length;
	tt->put = (struct tcp_put){ .at = offset,
				    .burst = t->conn->keys.max_burst_length,
				    .from = sink_at(t->scsi.buf.iov, t->scsi.buf.n, offset) };
	if (t->conn->holds)
		tcp_put_base(tt);
	list_add_tail(&c->data, &tt->node);
	tcp_kick(c);
}

bool tcp_release(struct iscsi_task *t)
{
	struct tcp_task *tt = tcp_task_of(t);
	struct tcp_conn *c = tcp_conn_of(t->conn);

	list_del(&tt->node);
	tt->state = TCP_TASK_IDLE;
	tt->n_runs = 0;
	if (c->dout == t) {
		c->dout = NULL;
		c->sink.n = 0; /* the rest of the PDU is dropped */
	}
	if (c->rx.task == t && c->phase != RX_BHS)
		c->sink.n = 0;
	if (!tt->in_batch)
		return true;
	tt->releasing = true;
	return false;
}

/* The batch is out (or lost): pays what it owes. One payment may give up a task that is owed one
 * further on: that counts as in the batch until its turn. */
static void settle(struct tcp_conn *c, struct tcp_batch *b)
{
	for (unsigned i = 0; i < b->n_owed; i++) {
		struct tcp_owed *o = &b->owed[i];
		struct tcp_task *tt;

		if (!o->task) {
			iscsi_control_sent(c->conn, o->pdu);
			continue;
		}
		tt = tcp_task_of(o->task);
		tt->in_batch = false;
		if (tt->releasing) {
			tt->releasing = false;
			iscsi_task_released(o->task);
		} else if (o->last) {
			tt->state = TCP_TASK_IDLE;
			iscsi_data_complete(o->task);
		}
	}
}

static struct tcp_batch *batch_get(struct tcp_conn *c)
{
	struct tcp_batch *b = pool_get(c->tr->batches);

	if (b)
		b->n_iov = b->first_iov = b->n_heads = b->n_owed = 0, b->left = 0;
	return b;
}

/* Moves the batch forward by what the kernel took; true when all of it is out. */
static bool batch_advance(struct tcp_batch *b, size_t sent)
{
	b->left -= sent;
	while (sent) {
		struct iovec *v = &b->iov[b->first_iov];

		if (sent < v->iov_len) {
			v->iov_base = (uint8_t *)v->iov_base + sent;
			v->iov_len -= sent;
			break;
		}
		sent -= v->iov_len;
		b->first_iov++;
	}
	return !b->left;
}

/* 1: the batch is out; 0: the socket is full; or a negative errno. */
static int batch_send(struct tcp_conn *c)
{
	struct tcp_batch *b = c->batch;

	while (b->left) {
		struct msghdr msg = { .msg_iov = b->iov + b->first_iov,
				      .msg_iovlen = b->n_iov - b->first_iov };
		ssize_t n = sendmsg(c->rfd.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		c->sent_bytes += (size_t)n;
		stats_add(reactor_counters(c->conn->reactor), STAT_BYTES_OUT, (size_t)n);
		batch_advance(b, (size_t)n);
	}
	return 1;
}

static void set_blocked(struct tcp_conn *c, bool blocked)
{
	uint32_t in = c->shut || !c->draining ? EPOLLIN : 0;

	c->blocked = blocked;
	reactor_fd_mod(c->conn->reactor, &c->rfd, in | (blocked ? (uint32_t)EPOLLOUT : 0));
}

/* Everything is out and the connection is to end: our side is closed, the peer's end is awaited so
 * that the last response is not lost to a reset. */
static void finish_drain(struct tcp_conn *c)
{
	c->shut = true;
	if (shutdown(c->rfd.fd, SHUT_WR))
		tcp_fail(c, 0);
	else
		reactor_fd_mod(c->conn->reactor, &c->rfd, EPOLLIN);
}

static void send_all(struct tcp_conn *c)
{
	for (;;) {
		struct tcp_batch *b;
		int rc;

		if (!c->batch) {
			if (tcp_tx_idle(c))
				return;
			c->batch = batch_get(c);
			if (!c->batch) { /* all batches are with slow peers: next turn */
				tcp_kick(c);
				return;
			}
			tcp_fill(c);
		}
		rc = batch_send(c);
		if (rc < 0) {
			tcp_fail(c, rc);
			return;
		}
		if (!rc) {
			set_blocked(c, true);
			return;
		}
		b = c->batch;
		c->batch = NULL;
		stats_add(reactor_counters(c->conn->reactor), STAT_PDUS_OUT, b->n_heads);
		settle(c, b);
		pool_put(c->tr->batches, b);
		if (c->down)
			return;
	}
}

void tcp_send_job(struct reactor_job *job)
{
	struct tcp_conn *c = container_of(job, struct tcp_conn, send_job);

	if (c->down)
		return;
	send_all(c);
	if (c->draining && !c->shut && !c->down && tcp_tx_idle(c))
		finish_drain(c);
}

void tcp_writable(struct tcp_conn *c)
{
	if (!c->blocked || c->down)
		return;
	set_blocked(c, false);
	tcp_kick(c);
}

static void forget_tasks(struct list *head)
{
	struct list *n;

	while ((n = list_pop(head))) {
		struct tcp_task *tt = list_entry(n, struct tcp_task, node);

		tt->state = TCP_TASK_IDLE;
		tt->n_runs = 0;
	}
}

void tcp_tx_clear(struct tcp_conn *c)
{
	struct tcp_batch *b = c->batch;
	struct list *n;

	forget_tasks(&c->r2ts);
	forget_tasks(&c->data);
	c->batch = NULL;
	if (b) {
		for (unsigned i = 0; i < b->n_owed; i++)
			b->owed[i].last = false;
		settle(c, b);
		pool_put(c->tr->batches, b);
	}
	while ((n = list_pop(&c->control)))
		iscsi_control_sent(c->conn, list_entry(n, struct iscsi_pdu, node));
}
