/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The datamover's table, and the life of a connection: begin, enable, terminate, tear down.
 */
#include "transport/tcp/tcp.h"
#include "daemon/base/log.h"
#include "daemon/base/pool.h"
#include "transport/portal.h"
#include "transport/tcp/listen.h"
#include "transport/tcp/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINGER_MS 5000 /* for the peer to take the last response and close */

int tcp_reactor_start(struct reactor *r)
{
	struct tcp_reactor *tr = calloc(1, sizeof(*tr));

	if (!tr)
		return -ENOMEM;
	tr->reactor = r;
	tr->buffer =
	    mmap(NULL, TCP_RX_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (tr->buffer == MAP_FAILED) {
		free(tr);
		return -ENOMEM;
	}
	if (pool_create("tcp batches", sizeof(struct tcp_batch), 4, 4096, &tr->batches)) {
		munmap(tr->buffer, TCP_RX_BUFFER);
		free(tr);
		return -ENOMEM;
	}
	reactor_set_slot(r, REACTOR_TCP, tr);
	return 0;
}

void tcp_reactor_stop(struct reactor *r)
{
	struct tcp_reactor *tr = reactor_slot(r, REACTOR_TCP);

	if (!tr)
		return;
	reactor_set_slot(r, REACTOR_TCP, NULL);
	pool_destroy(tr->batches);
	munmap(tr->buffer, TCP_RX_BUFFER);
	free(tr);
}

static void tear_down(struct reactor_job *job)
{
	struct tcp_conn *c = container_of(job, struct tcp_conn, down_job);
	struct reactor *r = c->conn->reactor;

	reactor_timer_disarm(&c->linger);
	reactor_timer_disarm(&c->sequence);
	reactor_job_cancel(&c->send_job);
	reactor_fd_del(r, &c->rfd);
	close(c->rfd.fd);
	tcp_tx_clear(c);
	portal_unplace(r);
	iscsi_conn_down(c->conn, c->why);
}

void tcp_fail(struct tcp_conn *c, int why)
{
	if (c->down)
		return;
	c->down = true;
	c->why = why;
	reactor_defer(c->conn->reactor, REACTOR_STAGE_REAP, &c->down_job);
}

static void linger_over(struct reactor_timer *timer)
{
	tcp_fail(container_of(timer, struct tcp_conn, linger), 0);
}

/* After an orderly end of our side whatever still comes is read and forgotten. */
static void discard(struct tcp_conn *c)
{
	ssize_t n = recv(c->rfd.fd, c->tr->buffer, TCP_RX_BUFFER, MSG_DONTWAIT);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		tcp_fail(c, 0);
}

static void ready(struct reactor_fd *rfd, uint32_t events)
{
	struct tcp_conn *c = container_of(rfd, struct tcp_conn, rfd);

	if (c->down)
		return;
	if (events & EPOLLOUT)
		tcp_writable(c);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	if (c->shut)
		discard(c);
	else if (!c->draining)
		tcp_readable(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		tcp_fail(c, 0);
}

void tcp_conn_begin(struct reactor *r, struct portal *portal, int fd,
		    const struct sockaddr_storage *peer)
{
	struct sockaddr_storage local = { .ss_family = AF_UNSPEC };
	socklen_t length = sizeof(local);
	struct iscsi_conn *conn = NULL;
	struct tcp_conn *c;

	if (!getsockname(fd, (struct sockaddr *)&local, &length))
		conn = iscsi_conn_create(r, &tcp_datamover, portal, peer, &local);
	if (!conn) {
		close(fd);
		portal_unplace(r);
		return;
	}
	c = tcp_conn_of(conn);
	c->conn = conn;
	c->tr = reactor_slot(r, REACTOR_TCP);
	c->rfd = (struct reactor_fd){ .fd = fd, .ready = ready };
	reactor_job_init(&c->send_job, tcp_send_job);
	reactor_job_init(&c->down_job, tear_down);
	reactor_timer_init(&c->linger, linger_over);
	reactor_timer_init(&c->sequence, tcp_sequence_timer);
	list_init(&c->control);
	list_init(&c->r2ts);
	list_init(&c->data);
	tcp_rx_reset(c);
	if (reactor_fd_add(r, &c->rfd, EPOLLIN))
		tcp_fail(c, -ENOMEM);
}

static int enable(struct iscsi_conn *conn)
{
	struct tcp_conn *c = tcp_conn_of(conn);

	c->header_digest = conn->keys.header_digest;
	c->data_digest = conn->keys.data_digest;
	return 0;
}

static void terminate(struct iscsi_conn *conn, bool graceful)
{
	struct tcp_conn *c = tcp_conn_of(conn);

	if (c->down)
		return;
	if (!graceful) {
		tcp_fail(c, 0);
		return;
	}
	if (c->draining)
		return;
	c->draining = true;
	reactor_fd_mod(conn->reactor, &c->rfd, c->blocked ? EPOLLOUT : 0);
	reactor_timer_arm(conn->reactor, &c->linger, LINGER_MS);
	tcp_kick(c);
}

static void init_task(struct iscsi_task *t)
{
	struct tcp_task *tt = tcp_task_of(t);

	list_init(&tt->node);
	tt->task = t;
	tt->state = TCP_TASK_IDLE;
	tt->in_batch = false;
	tt->releasing = false;
	tt->put.sn = tt->base.sn = tt->sn = 0;
	tt->n_runs = tt->n_holes = 0;
	tt->recovers = false;
}

static void describe(struct iscsi_conn *conn, struct conn_info *ret)
{
	struct tcp_conn *c = tcp_conn_of(conn);

	*ret = (struct conn_info){ .received_bytes = c->received_bytes,
				   .sent_bytes = c->sent_bytes,
				   .queued_bytes = c->batch ? (uint32_t)c->batch->left : 0 };
	portal_format(&conn->peer, ret->peer, sizeof(ret->peer));
	portal_format(&conn->local, ret->local, sizeof(ret->local));
}

const struct datamover_ops tcp_datamover = {
	.name = "tcp",
	.conn_size = sizeof(struct tcp_conn),
	.task_size = sizeof(struct tcp_task),
	.digests = true,
	.lends_data = true,
	.max_connections = 8,
	.error_recovery_level = 1,
	.max_recv_data_segment_length = 256u << 10,
	.listen = tcp_listen,
	.unlisten = tcp_unlisten,
	.enable = enable,
	.send_control = tcp_send_control,
	.put_data = tcp_put_data,
	.init_task = init_task,
	.get_data = tcp_get_data,
	.cease = tcp_cease,
	.resend = tcp_resend,
	.restart = tcp_restart,
	.data_ack = tcp_data_ack,
	.recover = tcp_recover,
	.release = tcp_release,
	.terminate = terminate,
	.describe = describe,
	.move = tcp_move,
};
