/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving: bytes to PDUs. Every length in a header is checked before a byte of what it announces
 * is taken. RFC 7143 11.2.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/crc32c.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "transport/tcp/private.h"

#include <errno.h>
#include <sys/socket.h>

bool sink_advance(struct sink *s, size_t bytes)
{
	while (bytes && s->n) {
		size_t here = s->iov->iov_len - s->skip;

		if (bytes < here) {
			s->skip += bytes;
			return true;
		}
		bytes -= here;
		s->iov++;
		s->n--;
		s->skip = 0;
	}
	return !bytes;
}

struct sink sink_at(const struct iovec *iov, unsigned n, size_t offset)
{
	struct sink s = { .iov = iov, .n = n };

	sink_advance(&s, offset);
	return s;
}

void tcp_rx_reset(struct tcp_conn *c)
{
	c->phase = RX_BHS;
	c->got = 0;
	c->need = ISCSI_BHS_SIZE;
	c->sink.n = 0;
	c->solicited = false;
	c->dout = NULL;
}

/* Copies to the place, as far as there is one. */
static void sink_copy(struct sink *s, const uint8_t *p, size_t n)
{
	while (n && s->n) {
		size_t here = s->iov->iov_len - s->skip;
		size_t take = n < here ? n : here;

		memcpy((uint8_t *)s->iov->iov_base + s->skip, p, take);
		sink_advance(s, take);
		p += take;
		n -= take;
	}
}

/* Folds what a direct read has put at the place into the digest. */
static void sink_digest(struct tcp_conn *c, struct sink s, size_t n)
{
	while (n && s.n) {
		size_t here = s.iov->iov_len - s.skip;
		size_t take = n < here ? n : here;

		c->crc = crc32c_update(c->crc, (uint8_t *)s.iov->iov_base + s.skip, take);
		sink_advance(&s, take);
		n -= take;
	}
}

static bool is_solicited(const struct tcp_conn *c)
{
	const struct bhs_data_out *d = (const void *)c->rx.bhs;

	return conn_is_full_feature(c->conn) &&
	       (d->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_DATA_OUT &&
	       get_be32(d->ttt) != ISCSI_TAG_RESERVED;
}

static unsigned tail_length(const struct tcp_conn *c)
{
	unsigned pad = -c->rx.length & 3;

	/* A PDU without data segment has no data digest (RFC 7143 11.2.3). */
	return pad + (c->data_digest && c->rx.length ? ISCSI_DIGEST_SIZE : 0);
}

static bool digest_matches(const struct tcp_conn *c, uint32_t crc, const uint8_t *sent)
{
	if (crc32c_final(crc) == crc32c_get(sent))
		return true;
	stats_add(reactor_counters(c->conn->reactor), STAT_DIGEST_ERRORS, 1);
	return false;
}

static int pdu_done(struct tcp_conn *c, bool digest_good)
{
	int err = c->solicited ? tcp_dataout_done(c, digest_good)
			       : iscsi_rx_data(c->conn, &c->rx, digest_good);

	tcp_rx_reset(c);
	return err;
}

/* The data segment, if any, is in; what follows is padding and digest. */
static int data_done(struct tcp_conn *c)
{
	c->need = tail_length(c);
	c->got = 0;
	if (!c->need)
		return pdu_done(c, true);
	c->phase = RX_TAIL;
	return 0;
}

static int tail_done(struct tcp_conn *c)
{
	unsigned pad = -c->rx.length & 3;

	if (!c->data_digest)
		return pdu_done(c, true);
	/* Padding is part of what the digest covers (RFC 7143 11.2.3). */
	c->crc = crc32c_update(c->crc, c->tail, pad);
	return pdu_done(c, digest_matches(c, c->crc, c->tail + pad));
}

static int header_done(struct tcp_conn *c)
{
	int err;

	c->crc = CRC32C_INIT;
	if (is_solicited(c)) {
		c->solicited = true;
		err = tcp_dataout_header(c);
	} else {
		c->rx.iovcnt = 0;
		c->rx.task = NULL;
		c->rx.pdu = NULL;
		c->rx.reject = REJECT_NONE;
		err = iscsi_rx_header(c->conn, &c->rx);
		c->sink = sink_at(c->rx.iov, c->rx.iovcnt, c->rx.skip);
	}
	if (err)
		return err;
	c->data_left = c->rx.length;
	if (!c->data_left)
		return data_done(c);
	c->phase = RX_DATA;
	return 0;
}

static int extra_done(struct tcp_conn *c)
{
	uint32_t crc;

	if (!c->header_digest)
		return header_done(c);
	crc = crc32c_update(CRC32C_INIT, c->rx.bhs, ISCSI_BHS_SIZE);
	crc = crc32c_update(crc, c->extra, c->rx.ahs_length);
	if (digest_matches(c, crc, c->extra + c->rx.ahs_length))
		return header_done(c);
	/* Nothing in the header can be trusted, its length least of all (RFC 7143 7.8). */
	log_peer(LOG_TCP, LOG_LEVEL_WARN, "%s: header digest error; connection closed",
		 c->conn->portal->text);
	return -EBADMSG;
}

/* The 48 bytes are in: are the lengths possible? */
static int bhs_done(struct tcp_conn *c)
{
	const struct bhs *h = (const void *)c->rx.bhs;
	uint32_t limit = conn_is_full_feature(c->conn) ? c->conn->keys.max_recv_data_segment_length
						       : ISCSI_TEXT_DEFAULT;

	c->rx.length = get_be24(h->data_segment_length);
	c->rx.ahs_length = (uint16_t)(h->ahs_words * 4u);
	c->rx.ahs = c->extra;
	if (c->rx.length > limit) {
		log_peer(LOG_TCP, LOG_LEVEL_WARN,
			 "%s: data segment of %u bytes where %u are allowed; connection closed",
			 c->conn->portal->text, c->rx.length, limit);
		return -EPROTO;
	}
	c->got = 0;
	c->need = c->rx.ahs_length + (c->header_digest ? ISCSI_DIGEST_SIZE : 0u);
	if (!c->need)
		return header_done(c);
	c->phase = RX_EXTRA;
	return 0;
}

/* Takes bytes for one of the small buffers; true when it is full. */
static bool fill_small(struct tcp_conn *c, uint8_t *buffer, const uint8_t **p, const uint8_t *end)
{
	size_t want = c->need - c->got, have = (size_t)(end - *p);
	size_t take = want < have ? want : have;

	memcpy(buffer + c->got, *p, take);
	c->got += (unsigned)take;
	*p += take;
	return c->got == c->need;
}

static int take_data(struct tcp_conn *c, const uint8_t **p, const uint8_t *end)
{
	size_t have = (size_t)(end - *p);
	size_t take = c->data_left < have ? c->data_left : have;

	if (c->data_digest)
		c->crc = crc32c_update(c->crc, *p, take);
	sink_copy(&c->sink, *p, take);
	*p += take;
	c->data_left -= take;
	return c->data_left ? 0 : data_done(c);
}

/* Runs the bytes through the phases; 0, or a negative errno that ends the connection. */
static int parse(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;
	unsigned pdus = 0;
	int err = 0;

	while (p < end && !err && !c->down && !c->draining) {
		switch (c->phase) {
		case RX_BHS:
			if (!fill_small(c, c->rx.bhs, &p, end))
				break;
			pdus++;
			err = bhs_done(c);
			break;
		case RX_EXTRA:
			if (fill_small(c, c->extra, &p, end))
				err = extra_done(c);
			break;
		case RX_DATA:
			err = take_data(c, &p, end);
			break;
		case RX_TAIL:
			if (fill_small(c, c->tail, &p, end))
				err = tail_done(c);
			break;
		}
	}
	stats_add(reactor_counters(c->conn->reactor), STAT_PDUS_IN, pdus);
	return err;
}

/* The rest of a large data segment goes straight to its place; what follows it to the buffer. */
static unsigned direct_iov(const struct tcp_conn *c, struct iovec iov[static TCP_RX_IOV + 1],
			   size_t *ret_direct)
{
	struct sink s = c->sink;
	size_t left = c->data_left;
	unsigned n = 0;

	*ret_direct = 0;
	if (c->phase != RX_DATA || left < TCP_RX_DIRECT)
		return 0;
	while (s.n && left && n < TCP_RX_IOV) {
		size_t here = s.iov->iov_len - s.skip;
		size_t take = left < here ? left : here;

		iov[n++] = (struct iovec){ (uint8_t *)s.iov->iov_base + s.skip, take };
		*ret_direct += take;
		left -= take;
		sink_advance(&s, take);
	}
	return n;
}

static int take_direct(struct tcp_conn *c, size_t n)
{
	if (c->data_digest)
		sink_digest(c, c->sink, n);
	sink_advance(&c->sink, n);
	c->data_left -= n;
	return c->data_left ? 0 : data_done(c);
}

/* One read and all that is in it. Returns bytes read, 0 when there is no more now, negative errno
 * at the end of the connection. */
static ssize_t read_once(struct tcp_conn *c, bool *ret_more)
{
	struct iovec iov[TCP_RX_IOV + 1];
	struct msghdr msg = { .msg_iov = iov };
	size_t direct, rest;
	unsigned n_iov = direct_iov(c, iov, &direct);
	ssize_t n;
	int err = 0;

	iov[n_iov++] = (struct iovec){ c->tr->buffer, TCP_RX_BUFFER };
	msg.msg_iovlen = n_iov;
	n = recvmsg(c->rfd.fd, &msg, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ENOTCONN;
	*ret_more = (size_t)n == direct + TCP_RX_BUFFER;
	c->received_bytes += (size_t)n;
	stats_add(reactor_counters(c->conn->reactor), STAT_BYTES_IN, (size_t)n);
	if (direct) {
		size_t in_place = (size_t)n < direct ? (size_t)n : direct;

		err = take_direct(c, in_place);
	}
	rest = (size_t)n > direct ? (size_t)n - direct : 0;
	if (!err && rest)
		err = parse(c, c->tr->buffer, rest);
	return err ? err : n;
}

void tcp_readable(struct tcp_conn *c)
{
	bool more = true;
	unsigned round;

	c->conn->last_rx_ms = reactor_now_ms(c->conn->reactor);
	for (round = 0; round < TCP_RX_ROUNDS && more && !c->down; round++) {
		ssize_t n;

		more = false;
		n = read_once(c, &more);
		if (n < 0) {
			tcp_fail(c, n == -ENOTCONN ? 0 : (int)n);
			return;
		}
	}
}
