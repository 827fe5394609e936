/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building PDUs into a batch. Sequence numbers are stamped here, in the order of the wire.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/crc32c.h"
#include "daemon/base/stats.h"
#include "transport/tcp/private.h"

static bool has_room(const struct tcp_batch *b, unsigned iovs)
{
	return b->n_heads < TCP_BATCH_PDUS && b->n_owed < TCP_BATCH_PDUS &&
	       b->n_iov + iovs + 2 <= TCP_BATCH_IOV && b->left < TCP_BATCH_SIZE;
}

static void add_iov(struct tcp_batch *b, const void *p, size_t n)
{
	struct iovec *last = b->n_iov ? &b->iov[b->n_iov - 1] : NULL, *v;

	b->left += n;
	if (last && (uint8_t *)last->iov_base + last->iov_len == p) {
		last->iov_len += n;
		return;
	}
	v = &b->iov[b->n_iov++];
	memcpy(&v->iov_base, &p, sizeof(p)); /* sendmsg only reads it, whatever the type says */
	v->iov_len = n;
}

static struct tcp_head *add_head(struct tcp_batch *b, bool digest)
{
	struct tcp_head *h = &b->heads[b->n_heads++];

	if (digest)
		crc32c_put(h->digest,
			   crc32c_final(crc32c_update(CRC32C_INIT, h->bhs, ISCSI_BHS_SIZE)));
	add_iov(b, h->bhs, ISCSI_BHS_SIZE + (digest ? ISCSI_DIGEST_SIZE : 0u));
	return h;
}

/* Padding and digest behind a data segment. */
static void add_tail(struct tcp_batch *b, struct tcp_head *h, size_t length, bool digest,
		     uint32_t crc)
{
	unsigned pad = (unsigned)(-length & 3);

	if (!pad && !digest)
		return;
	memset(h->tail, 0, 3);
	if (digest) {
		crc = crc32c_update(crc, h->tail, pad);
		crc32c_put(h->tail + pad, crc32c_final(crc));
	}
	add_iov(b, h->tail, pad + (digest ? ISCSI_DIGEST_SIZE : 0u));
}

static void fill_control(struct tcp_conn *c)
{
	struct tcp_batch *b = c->batch;

	while (!list_empty(&c->control) && has_room(b, 1)) {
		struct iscsi_pdu *pdu = list_entry(list_pop(&c->control), struct iscsi_pdu, node);
		bool header_digest = pdu->dm_flags & 1, data_digest = pdu->dm_flags & 2;
		struct tcp_head *h = &b->heads[b->n_heads];

		iscsi_stamp(c->conn, pdu->bhs, pdu->takes_statsn);
		memcpy(h->bhs, pdu->bhs, ISCSI_BHS_SIZE);
		add_head(b, header_digest);
		if (pdu->length) {
			uint32_t crc =
			    data_digest ? crc32c_update(CRC32C_INIT, pdu->data, pdu->length) : 0;

			add_iov(b, pdu->data, pdu->length);
			add_tail(b, h, pdu->length, data_digest, crc);
		}
		b->owed[b->n_owed++] = (struct tcp_owed){ .pdu = pdu };
	}
}

static struct tcp_r2t *free_r2t(struct tcp_task *tt)
{
	for (unsigned i = 0; i < TCP_R2T_MAX; i++) {
		if (!tt->r2t[i].busy)
			return &tt->r2t[i];
	}
	return NULL;
}

static void build_r2t(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r)
{
	struct tcp_batch *b = c->batch;
	struct bhs_r2t *h = (void *)b->heads[b->n_heads].bhs;
	uint32_t burst = c->conn->keys.max_burst_length;
	uint32_t length = tt->end - tt->at < burst ? tt->end - tt->at : burst;

	if (c->next_ttt == ISCSI_TAG_RESERVED)
		c->next_ttt = 0;
	*r = (struct tcp_r2t){
		.ttt = c->next_ttt++, .offset = tt->at, .end = tt->at + length, .busy = true
	};
	memset(h, 0, sizeof(*h));
	h->opcode = ISCSI_OP_R2T;
	h->flags = ISCSI_FINAL;
	memcpy(h->lun, tt->task->lun, sizeof(h->lun));
	put_be32(h->itt, tt->task->itt);
	put_be32(h->ttt, r->ttt);
	put_be32(h->r2tsn, tt->sn++);
	put_be32(h->buffer_offset, tt->at);
	put_be32(h->desired_length, length);
	iscsi_stamp(c->conn, b->heads[b->n_heads].bhs, false);
	tt->at += length;
	tt->n_r2ts++;
	add_head(b, c->header_digest);
}

static void fill_r2ts(struct tcp_conn *c)
{
	uint32_t max = c->conn->keys.max_outstanding_r2t;
	unsigned built = 0;

	if (max > TCP_R2T_MAX)
		max = TCP_R2T_MAX;
	while (!list_empty(&c->r2ts) && has_room(c->batch, 0)) {
		struct tcp_task *tt = list_entry(list_first(&c->r2ts), struct tcp_task, node);
		struct tcp_r2t *r = tt->n_r2ts < max ? free_r2t(tt) : NULL;

		if (r) {
			build_r2t(c, tt, r);
			built++;
		}
		if (!r || tt->at == tt->end)
			list_del(&tt->node); /* comes back when an R2T has been answered */
	}
	stats_add(reactor_counters(c->conn->reactor), STAT_R2TS, built);
}

/* Adds [at, at + length) of the task's buffer; the digest runs along while it is in the cache. */
static uint32_t add_payload(struct tcp_batch *b, struct tcp_task *tt, uint32_t length, bool digest)
{
	uint32_t crc = CRC32C_INIT;

	while (length && tt->from.n) {
		const uint8_t *p = (uint8_t *)tt->from.iov->iov_base + tt->from.skip;
		size_t here = tt->from.iov->iov_len - tt->from.skip;
		size_t take = length < here ? length : here;

		if (digest)
			crc = crc32c_update(crc, p, take);
		add_iov(b, p, take);
		sink_advance(&tt->from, take);
		length -= (uint32_t)take;
	}
	return crc;
}

/* Entries that `length` bytes from here on take, at most limit + 1. */
static unsigned count_pieces(const struct tcp_task *tt, uint32_t length, unsigned limit)
{
	struct sink s = tt->from;
	unsigned n = 0;

	while (length && s.n && n <= limit) {
		size_t here = s.iov->iov_len - s.skip;
		size_t take = length < here ? length : here;

		sink_advance(&s, take);
		length -= (uint32_t)take;
		n++;
	}
	return n;
}

static void build_data_in(struct tcp_conn *c, struct tcp_task *tt, uint32_t length)
{
	struct tcp_batch *b = c->batch;
	struct tcp_head *head = &b->heads[b->n_heads];
	struct bhs_data_in *h = (void *)head->bhs;
	struct iscsi_task *t = tt->task;
	bool last = length == tt->end - tt->at;
	bool status = last && tt->with_status;
	uint32_t residual = 0, crc;

	memset(h, 0, sizeof(*h));
	h->opcode = ISCSI_OP_DATA_IN;
	if (last || length == tt->burst)
		h->flags = ISCSI_FINAL;
	put_be24(h->data_segment_length, length);
	put_be32(h->itt, t->itt);
	put_be32(h->ttt, ISCSI_TAG_RESERVED);
	put_be32(h->datasn, tt->sn++);
	t->data_in_pdus++;
	put_be32(h->buffer_offset, tt->at);
	iscsi_stamp(c->conn, head->bhs, status);
	if (status) {
		h->flags =
		    (uint8_t)(h->flags | ISCSI_DATA_IN_STATUS | iscsi_residual(t, &residual));
		h->status = t->scsi.status;
		put_be32(h->residual, residual);
	} else {
		put_be32(h->statsn, 0); /* reserved without status, RFC 7143 11.7.4 */
	}
	add_head(b, c->header_digest);
	crc = add_payload(b, tt, length, c->data_digest);
	if (length)
		add_tail(b, head, length, c->data_digest, crc);
	tt->at += length;
	tt->burst -= length;
	if (!tt->burst)
		tt->burst = c->conn->keys.max_burst_length;
}

/* The next Data-In PDUs of one task; true when the batch has no room for its next one. */
static bool fill_task(struct tcp_conn *c, struct tcp_task *tt)
{
	uint32_t segment = c->conn->keys.max_send_data_segment_length;
	struct tcp_owed *owed = &c->batch->owed[c->batch->n_owed];

	while (tt->at < tt->end) {
		uint32_t length = tt->end - tt->at;

		/* Within a sequence whole words (RFC 7143 11.7.7), whatever was declared. */
		if (length > segment)
			length = segment & ~3u;
		if (length > tt->burst)
			length = tt->burst;
		if (!has_room(c->batch, count_pieces(tt, length, TCP_BATCH_IOV)))
			break;
		if (!tt->in_batch) {
			tt->in_batch = true;
			*owed = (struct tcp_owed){ .task = tt->task };
			c->batch->n_owed++;
		}
		build_data_in(c, tt, length);
	}
	if (tt->at < tt->end)
		return true;
	owed->last = true;
	list_del(&tt->node);
	return false;
}

void tcp_fill(struct tcp_conn *c)
{
	fill_control(c);
	fill_r2ts(c);
	while (!list_empty(&c->data) && has_room(c->batch, 1)) {
		if (fill_task(c, list_entry(list_first(&c->data), struct tcp_task, node)))
			return;
	}
}
