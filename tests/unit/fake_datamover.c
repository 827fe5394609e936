/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/fake_datamover.h"

#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_ARENA ((size_t)8 << 20)

/* A put_data whose completion is told at the end of the turn. */
struct fake_put {
	struct list node;
	struct iscsi_task *task;
};

struct fake_private {
	struct fake_conn *fc;
};

static struct fake_conn *fake_of(const struct iscsi_conn *c)
{
	return ((struct fake_private *)c->dm_private)->fc;
}

static void collect(struct fake_conn *fc, const uint8_t bhs[static 48], const void *data,
		    uint32_t length, bool after_enable)
{
	struct fake_pdu *p = calloc(1, sizeof(*p) + length + 1);

	if (!p)
		abort();
	memcpy(p->bhs, bhs, sizeof(p->bhs));
	if (length)
		memcpy(p->data, data, length);
	p->length = length;
	p->after_enable = after_enable;
	list_add_tail(&fc->sent, &p->node);
}

static void send_one(struct fake_conn *fc, struct iscsi_pdu *pdu)
{
	iscsi_stamp_control(fc->c, pdu);
	collect(fc, pdu->bhs, pdu->data, pdu->length, pdu->dm_flags);
	iscsi_control_sent(fc->c, pdu);
}

static void drop_wants(struct fake_conn *fc, const struct iscsi_task *t)
{
	struct list *pos, *tmp;

	list_for_each_safe (pos, tmp, &fc->wants) {
		struct fake_want *w = list_entry(pos, struct fake_want, node);

		if (t && w->task != t)
			continue;
		list_del(&w->node);
		free(w);
	}
	list_for_each_safe (pos, tmp, &fc->puts) {
		struct fake_put *w = list_entry(pos, struct fake_put, node);

		if (t && w->task != t)
			continue;
		list_del(&w->node);
		free(w);
	}
}

static void go_down(struct fake_conn *fc)
{
	struct iscsi_conn *c = fc->c;
	struct list *n;

	while ((n = list_pop(&fc->queued)))
		iscsi_control_sent(c, list_entry(n, struct iscsi_pdu, node));
	drop_wants(fc, NULL);
	fc->c = NULL;
	iscsi_conn_down(c, fc->why);
}

static void flush(struct reactor_job *job)
{
	struct fake_conn *fc = container_of(job, struct fake_conn, flush);
	struct list *n;

	if (!fc->c)
		return;
	while (!(fc->closing && !fc->graceful) && !fc->hold && (n = list_pop(&fc->queued)))
		send_one(fc, list_entry(n, struct iscsi_pdu, node));
	while (!fc->hold && (n = list_pop(&fc->puts))) {
		struct fake_put *put = list_entry(n, struct fake_put, node);
		struct iscsi_task *t = put->task;

		free(put);
		iscsi_data_complete(t);
	}
	if (fc->closing)
		go_down(fc);
}

static void wake(struct fake_conn *fc)
{
	reactor_defer(fc->net->reactor, REACTOR_STAGE_SEND, &fc->flush);
}

static int fake_listen(struct portal *p)
{
	(void)p;
	return 0;
}

static void fake_unlisten(struct portal *p)
{
	(void)p;
}

static int fake_enable(struct iscsi_conn *c)
{
	fake_of(c)->enabled = true;
	return 0;
}

static void fake_send_control(struct iscsi_conn *c, struct iscsi_pdu *pdu)
{
	struct fake_conn *fc = fake_of(c);

	pdu->dm_flags = fc->enabled;
	list_add_tail(&fc->queued, &pdu->node);
	wake(fc);
}

static void gather(const struct iscsi_task *t, uint32_t offset, uint8_t *to, uint32_t length)
{
	for (unsigned i = 0; i < t->scsi.buf.n && length; i++) {
		const struct iovec *v = &t->scsi.buf.iov[i];
		size_t n;

		if (offset >= v->iov_len) {
			offset -= (uint32_t)v->iov_len;
			continue;
		}
		n = v->iov_len - offset < length ? v->iov_len - offset : length;
		memcpy(to, (uint8_t *)v->iov_base + offset, n);
		to += n;
		length -= (uint32_t)n;
		offset = 0;
	}
}

static void fake_put_data(struct iscsi_task *t, uint32_t offset, uint32_t length, bool with_status)
{
	struct fake_conn *fc = fake_of(t->conn);
	struct bhs_data_in h = { .opcode = ISCSI_OP_DATA_IN, .flags = ISCSI_FINAL };
	uint8_t bytes[ISCSI_BHS_SIZE], *data = calloc(1, (size_t)length + 1);
	struct fake_put *put = calloc(1, sizeof(*put));
	uint32_t residual;

	if (!data || !put)
		abort();
	gather(t, offset, data, length);
	put_be24(h.data_segment_length, length);
	put_be32(h.itt, t->itt);
	put_be32(h.ttt, ISCSI_TAG_RESERVED);
	put_be32(h.buffer_offset, offset);
	if (with_status) {
		h.flags |= ISCSI_DATA_IN_STATUS | iscsi_residual(t, &residual);
		h.status = t->scsi.status;
		put_be32(h.residual, residual);
	}
	memcpy(bytes, &h, sizeof(bytes));
	iscsi_stamp(fc->c, bytes, with_status);
	collect(fc, bytes, data, length, true);
	free(data);
	t->data_in_pdus++;
	put->task = t;
	list_add_tail(&fc->puts, &put->node);
	wake(fc);
}

static void fake_get_data(struct iscsi_task *t, uint32_t offset, uint32_t length)
{
	struct fake_want *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->task = t;
	w->offset = offset;
	w->length = length;
	list_add_tail(&fake_of(t->conn)->wants, &w->node);
}

static bool fake_release(struct iscsi_task *t)
{
	if (t->conn && fake_of(t->conn)->c)
		drop_wants(fake_of(t->conn), t);
	return true;
}

static void fake_terminate(struct iscsi_conn *c, bool graceful)
{
	struct fake_conn *fc = fake_of(c);

	fc->graceful = fc->closing ? fc->graceful && graceful : graceful;
	fc->closing = true;
	fc->hold = false;
	wake(fc);
}

/* One whose initiator has gone while it was on its way is not shown to the layer above again. */
static void arrive(struct reactor_msg *msg)
{
	struct fake_conn *fc = container_of(msg, struct fake_conn, move_msg);

	list_add_tail(&fc->net->conns, &fc->node);
	if (fc->closing)
		wake(fc);
	else
		iscsi_conn_arrive(fc->c);
}

static void leave(struct reactor_job *job)
{
	struct fake_conn *fc = container_of(job, struct fake_conn, move_job);

	if (fc->closing)
		return;
	if (!list_empty(&fc->queued)) {
		fc->why = -EPROTO;
		fc->closing = true;
		wake(fc);
		return;
	}
	reactor_job_cancel(&fc->flush);
	list_del(&fc->node);
	fc->net = fc->to;
	iscsi_conn_leave(fc->c, fc->to->reactor);
	reactor_send(fc->to->reactor, &fc->move_msg);
}

static void fake_move(struct iscsi_conn *c, struct reactor *to)
{
	struct fake_conn *fc = fake_of(c);

	fc->to = reactor_slot(to, REACTOR_TCP);
	fc->move_msg.run = arrive;
	reactor_job_init(&fc->move_job, leave);
	reactor_defer(c->reactor, REACTOR_STAGE_REAP, &fc->move_job);
}

static void fake_describe(struct iscsi_conn *c, struct conn_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	portal_format(&c->peer, ret->peer, sizeof(ret->peer));
	portal_format(&c->local, ret->local, sizeof(ret->local));
}

struct datamover_ops fake_datamover = {
	.name = "fake",
	.conn_size = sizeof(struct fake_private),
	.task_size = 64,
	.digests = true,
	.lends_data = false,
	.max_connections = 8,
	.max_recv_data_segment_length = 262144,
	.listen = fake_listen,
	.unlisten = fake_unlisten,
	.enable = fake_enable,
	.send_control = fake_send_control,
	.put_data = fake_put_data,
	.get_data = fake_get_data,
	.release = fake_release,
	.terminate = fake_terminate,
	.describe = fake_describe,
	.move = fake_move,
};

static void set_address(struct sockaddr_storage *s, const char *address, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)s;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)s;

	memset(s, 0, sizeof(*s));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	} else {
		abort();
	}
}

void fake_net_start(struct fake_net *n, const struct iscsi_policy *policy)
{
	static const struct datamover_ops *const dms[] = { &fake_datamover, NULL };

	log_set_level(LOG_SUBSYSTEMS, LOG_LEVEL_ERROR); /* refusals are what tests are about */
	memset(n, 0, sizeof(*n));
	list_init(&n->conns);
	n->port = 1024;
	if (reactor_create(0, "fake", &n->reactor) || arena_create(FAKE_ARENA, &n->arena))
		abort();
	reactor_set_slot(n->reactor, REACTOR_ARENA, n->arena);
	reactor_set_slot(n->reactor, REACTOR_TCP, n); /* the transport here is this one */
	n->portal.refs = 1;
	n->portal.dm = &fake_datamover;
	set_address(&n->portal.address, "192.0.2.10", ISCSI_DEFAULT_PORT);
	n->portal.address_length = sizeof(struct sockaddr_in);
	n->portal.port = ISCSI_DEFAULT_PORT;
	n->portal.tpgt = 1;
	n->portal.control = n->reactor;
	n->portal.inherited_fd = -1;
	portal_format(&n->portal.address, n->portal.text, sizeof(n->portal.text));
	if (iscsi_reactor_start(n->reactor, dms, policy))
		abort();
}

static void free_conn(struct fake_conn *fc)
{
	struct list *n;

	while ((n = list_pop(&fc->sent)))
		free(list_entry(n, struct fake_pdu, node));
	reactor_job_cancel(&fc->flush);
	list_del(&fc->node);
	free(fc);
}

void fake_forget(struct fake_conn *fc)
{
	if (!fc->c)
		free_conn(fc);
}

void fake_net_stop(struct fake_net *n)
{
	struct list *pos;

	list_for_each (pos, &n->conns)
		fake_hang_up(list_entry(pos, struct fake_conn, node));
	fake_turn(n, 8);
	while ((pos = list_first(&n->conns)))
		free_conn(list_entry(pos, struct fake_conn, node));
	iscsi_reactor_stop(n->reactor);
	fake_turn(n, 2);
	arena_destroy(n->arena);
	reactor_destroy(n->reactor);
}

void fake_turn(struct fake_net *n, unsigned times)
{
	while (times--)
		reactor_turn(n->reactor, 0);
}

struct fake_conn *fake_connect(struct fake_net *n, const char *address)
{
	struct fake_conn *fc = calloc(1, sizeof(*fc));
	struct sockaddr_storage peer, local;

	if (!fc)
		abort();
	fc->net = n;
	list_init(&fc->queued);
	list_init(&fc->sent);
	list_init(&fc->wants);
	list_init(&fc->puts);
	reactor_job_init(&fc->flush, flush);
	set_address(&peer, address ? address : "192.0.2.1", (uint16_t)n->port++);
	set_address(&local, "192.0.2.10", ISCSI_DEFAULT_PORT);
	fc->c = iscsi_conn_create(n->reactor, &fake_datamover, &n->portal, &peer, &local);
	if (!fc->c) {
		free(fc);
		return NULL;
	}
	((struct fake_private *)fc->c->dm_private)->fc = fc;
	list_add_tail(&n->conns, &fc->node);
	return fc;
}

/* What goes beyond the place is dropped, as datamover.h says. */
static void scatter(const struct iscsi_rx *rx, const uint8_t *data, uint32_t length)
{
	size_t skip = rx->skip;

	for (unsigned i = 0; i < rx->iovcnt && length; i++) {
		size_t n;

		if (skip >= rx->iov[i].iov_len) {
			skip -= rx->iov[i].iov_len;
			continue;
		}
		n = rx->iov[i].iov_len - skip < length ? rx->iov[i].iov_len - skip : length;
		memcpy((uint8_t *)rx->iov[i].iov_base + skip, data, n);
		data += n;
		length -= (uint32_t)n;
		skip = 0;
	}
}

int fake_feed_ahs(struct fake_conn *fc, uint8_t bhs[static 48], const void *ahs,
		  uint16_t ahs_length, const void *data, uint32_t length)
{
	struct iscsi_rx rx = { .ahs = ahs, .ahs_length = ahs_length, .length = length };
	int r;

	if (!fc->c || fc->closing)
		return -ENOTCONN;
	bhs[4] = (uint8_t)(ahs_length / 4);
	put_be24(bhs + 5, length);
	memcpy(rx.bhs, bhs, sizeof(rx.bhs));
	r = iscsi_rx_header(fc->c, &rx);
	if (!r) {
		scatter(&rx, data, length);
		r = iscsi_rx_data(fc->c, &rx, true);
	}
	if (r && !fc->closing) {
		fc->why = r;
		fake_terminate(fc->c, true);
	}
	return r;
}

int fake_feed(struct fake_conn *fc, uint8_t bhs[static 48], const void *data, uint32_t length)
{
	return fake_feed_ahs(fc, bhs, NULL, 0, data, length);
}

struct fake_pdu *fake_next(struct fake_conn *fc)
{
	for (unsigned i = 0; i < 8 && list_empty(&fc->sent); i++)
		fake_turn(fc->net, 1);
	if (list_empty(&fc->sent))
		return NULL;
	return list_entry(list_pop(&fc->sent), struct fake_pdu, node);
}

bool fake_fill(struct fake_conn *fc, const void *data, uint32_t length)
{
	struct iscsi_rx rx = { 0 };
	struct fake_want *w;
	struct iscsi_task *t;

	if (list_empty(&fc->wants))
		return false;
	w = list_entry(list_pop(&fc->wants), struct fake_want, node);
	t = w->task;
	rx.iov = t->scsi.buf.iov;
	rx.iovcnt = t->scsi.buf.n;
	rx.skip = w->offset;
	scatter(&rx, data, length < w->length ? length : w->length);
	free(w);
	iscsi_data_complete(t);
	return true;
}

void fake_hang_up(struct fake_conn *fc)
{
	if (!fc->c)
		return;
	fc->closing = true;
	fc->graceful = false;
	wake(fc);
	fake_turn(fc->net, 4);
}

bool fake_closed(struct fake_conn *fc)
{
	for (unsigned i = 0; i < 8 && fc->c; i++)
		fake_turn(fc->net, 1);
	return !fc->c;
}
