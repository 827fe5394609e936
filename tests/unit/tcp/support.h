/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of transport/tcp: a connection on one end of a socket pair, and an iSCSI layer that
 * only takes notes. Each test program includes this once.
 *
 * Threads: one. Ownership: the rig's, until rig_stop.
 */
#ifndef HAWSER_UNIT_TCP_SUPPORT_H
#define HAWSER_UNIT_TCP_SUPPORT_H

#include "daemon/base/bytes.h"
#include "daemon/base/crc32c.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/recovery.h"
#include "transport/tcp/listen.h"
#include "transport/tcp/private.h"
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOTES 64

struct rig {
	struct reactor *r;
	struct portal portal;
	struct iscsi_conn *conn; /* NULL: gone */
	struct iscsi_session session;
	int fd; /* the initiator's end */
	/* where the next data segment goes; n_iov 0: dropped */
	struct iovec iov[8];
	unsigned n_iov;
	/* notes */
	struct {
		uint8_t bhs[ISCSI_BHS_SIZE], ahs[64];
		uint16_t ahs_length;
		uint32_t length;
		bool digest_good;
	} rx[NOTES];
	unsigned n_headers, n_rx;
	unsigned n_sent, n_complete, n_released, n_down, n_bad;
	uint8_t bad_reason;
	struct iscsi_task *bad_task;
	int why;
	struct reactor *move_to; /* at the next PDU */
	unsigned n_left, n_arrived;
};

static struct rig rig;

struct iscsi_conn *iscsi_conn_create(struct reactor *r, const struct datamover_ops *dm,
				     struct portal *portal, const struct sockaddr_storage *peer,
				     const struct sockaddr_storage *local)
{
	struct iscsi_conn *c = calloc(1, sizeof(*c) + 64 + dm->conn_size);

	ck_assert(c != NULL);
	c->reactor = r;
	c->dm = dm;
	c->portal = portal;
	c->peer = *peer;
	c->local = *local;
	c->state = CONN_LOGGED_IN;
	c->session = &rig.session;
	c->dm_private = (uint8_t *)c + (sizeof(*c) + 63) / 64 * 64;
	c->keys.max_recv_data_segment_length = 262144;
	c->keys.max_send_data_segment_length = 8192;
	c->keys.max_burst_length = 65536;
	c->keys.max_outstanding_r2t = 1;
	rig.conn = c;
	return c;
}

void iscsi_conn_down(struct iscsi_conn *c, int why)
{
	rig.n_down++;
	rig.why = why;
	rig.conn = NULL;
	free(c);
}

int iscsi_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	ck_assert(c == rig.conn && rig.n_headers < NOTES && rx->ahs_length <= 64);
	memcpy(rig.rx[rig.n_headers].bhs, rx->bhs, ISCSI_BHS_SIZE);
	memcpy(rig.rx[rig.n_headers].ahs, rx->ahs, rx->ahs_length);
	rig.rx[rig.n_headers].ahs_length = rx->ahs_length;
	rig.rx[rig.n_headers].length = rx->length;
	rig.n_headers++;
	rx->iov = rig.iov;
	rx->iovcnt = rig.n_iov;
	rx->skip = 0;
	return 0;
}

int iscsi_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx, bool digest_good)
{
	ck_assert(c == rig.conn && rig.n_rx + 1 == rig.n_headers);
	ck_assert_uint_eq(rx->length, rig.rx[rig.n_rx].length);
	rig.rx[rig.n_rx++].digest_good = digest_good;
	if (rig.move_to)
		c->dm->move(c, rig.move_to);
	rig.move_to = NULL;
	return 0;
}

void iscsi_conn_leave(struct iscsi_conn *c, struct reactor *to)
{
	rig.n_left++;
	c->reactor = to;
}

void iscsi_conn_arrive(struct iscsi_conn *c)
{
	ck_assert(c == rig.conn && rig.n_left == rig.n_arrived + 1);
	rig.n_arrived++;
}

void iscsi_control_sent(struct iscsi_conn *c, struct iscsi_pdu *pdu)
{
	(void)c;
	(void)pdu;
	rig.n_sent++;
}

void iscsi_data_complete(struct iscsi_task *t)
{
	(void)t;
	rig.n_complete++;
}

void iscsi_task_released(struct iscsi_task *t)
{
	(void)t;
	rig.n_released++;
}

void iscsi_data_out_bad(struct iscsi_conn *c, struct iscsi_task *t, const uint8_t bhs[static 48],
			uint8_t reject)
{
	(void)c;
	(void)bhs;
	rig.n_bad++;
	rig.bad_task = t;
	rig.bad_reason = reject;
}

void iscsi_data_out_lost(struct iscsi_conn *c, const uint8_t bhs[static 48])
{
	(void)c;
	(void)bhs;
	rig.n_bad++;
}

void iscsi_data_out_given_up(struct iscsi_task *t)
{
	rig.bad_task = t;
}

void recovery_acknowledge(struct iscsi_conn *c)
{
	(void)c;
}

void iscsi_stamp_control(struct iscsi_conn *c, struct iscsi_pdu *pdu)
{
	iscsi_stamp(c, pdu->bhs, pdu->takes_statsn);
}

void iscsi_stamp(struct iscsi_conn *c, uint8_t bhs[static 48], bool takes_statsn)
{
	put_be32(bhs + 24, c->statsn);
	c->statsn += takes_statsn;
}

static inline void rig_start(void)
{
	struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
	int fds[2];

	memset(&rig, 0, sizeof(rig));
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++)
		list_init(&rig.session.tasks[i]);
	rig.portal.refs = 1;
	snprintf(rig.portal.text, sizeof(rig.portal.text), "test");
	ck_assert_int_eq(reactor_create(0, "test", &rig.r), 0);
	ck_assert_int_eq(tcp_reactor_start(rig.r), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	rig.fd = fds[1];
	tcp_conn_begin(rig.r, &rig.portal, fds[0], &peer);
	ck_assert(rig.conn != NULL);
}

static inline void turn(void)
{
	reactor_turn(rig.r, 0);
}

static inline void rig_stop(void)
{
	if (rig.conn)
		rig.conn->dm->terminate(rig.conn, false);
	for (unsigned n = 0; n < 4; n++)
		turn();
	ck_assert_uint_eq(rig.n_down, 1);
	close(rig.fd);
	tcp_reactor_stop(rig.r);
	reactor_destroy(rig.r);
}

static inline void set_digests(bool header, bool data)
{
	rig.conn->keys.header_digest = header;
	rig.conn->keys.data_digest = data;
	rig.conn->dm->enable(rig.conn);
}

/* A PDU as it stands on the wire; its size. */
static inline size_t build(uint8_t *to, const uint8_t bhs[static 48], const void *ahs,
			   uint16_t ahs_length, const void *data, uint32_t length)
{
	const struct tcp_conn *c = tcp_conn_of(rig.conn);
	size_t n = ISCSI_BHS_SIZE + ahs_length, pad = -length & 3;

	memcpy(to, bhs, ISCSI_BHS_SIZE);
	to[4] = (uint8_t)(ahs_length / 4);
	put_be24(to + 5, length);
	if (ahs_length)
		memcpy(to + ISCSI_BHS_SIZE, ahs, ahs_length);
	if (c->header_digest) {
		crc32c_put(to + n, crc32c_final(crc32c_update(CRC32C_INIT, to, n)));
		n += ISCSI_DIGEST_SIZE;
	}
	if (!length)
		return n;
	memcpy(to + n, data, length);
	memset(to + n + length, 0, pad);
	n += length + pad;
	if (c->data_digest) {
		crc32c_put(to + n, crc32c_final(crc32c_update(CRC32C_INIT, to + n - length - pad,
							      length + pad)));
		n += ISCSI_DIGEST_SIZE;
	}
	return n;
}

static inline void feed(const void *bytes, size_t n)
{
	ck_assert_int_eq((int)write(rig.fd, bytes, n), (int)n);
	turn();
}

static inline void pattern(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

/* A task in the session, its buffer being iov. */
static inline struct iscsi_task *task_create(uint32_t itt, struct iovec *iov, unsigned n,
					     uint32_t length)
{
	struct iscsi_task *t = calloc(1, sizeof(*t) + 64 + sizeof(struct tcp_task));

	ck_assert(t != NULL);
	t->conn = rig.conn;
	t->session = &rig.session;
	t->itt = itt;
	t->dm_private = (uint8_t *)t + (sizeof(*t) + 63) / 64 * 64;
	t->scsi.buf.iov = iov;
	t->scsi.buf.n = n;
	t->scsi.buf.length = length;
	t->scsi.edtl = length;
	t->scsi.data_length = length;
	list_add_head(&rig.session.tasks[itt % SESSION_ITT_BUCKETS], &t->itt_node);
	rig.conn->dm->init_task(t);
	return t;
}

static inline void task_free(struct iscsi_task *t)
{
	list_del(&t->itt_node);
	free(t);
}

#endif
