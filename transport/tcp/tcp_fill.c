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

		iscsi_stamp_control(c->conn, pdu);
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

static void write_r2t(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r)
{
	struct tcp_batch *b = c->batch;
	struct bhs_r2t *h = (void *)b->heads[b->n_heads].bhs;

	memset(h, 0, sizeof(*h));
	h->opcode = ISCSI_OP_R2T;
	h->flags = ISCSI_FINAL;
	memcpy(h->lun, tt->task->lun, sizeof(h->lun));
	put_be32(h->itt, tt->task->itt);
	put_be32(h->ttt, r->ttt);
	put_be32(h->r2tsn, r->r2tsn);
	put_be32(h->buffer_offset, r->offset);
	put_be32(h->desired_length, r->end - r->offset);
	iscsi_stamp(c->conn, b->heads[b->n_heads].bhs, false);
	add_head(b, c->header_digest);
	r->again = false;
}

static void build_r2t(struct tcp_conn *c, struct tcp_task *tt, struct tcp_r2t *r)
{
	uint32_t burst = c->conn->keys.max_burst_length;
	struct tcp_hole range = { tt->at, tt->end - tt->at < burst ? tt->end : tt->at + burst };

	if (!tt->n_holes)
		tt->at = range.end;
	else if (!tcp_take_hole(tt, &range))
		return;
	if (c->next_ttt == ISCSI_TAG_RESERVED)
		c->next_ttt = 0;
	*r = (struct tcp_r2t){ .ttt = c->next_ttt++,
			       .offset = range.offset,
			       .end = range.end,
			       .r2tsn = tt->sn++,
			       .busy = true };
	tt->n_r2ts++;
	write_r2t(c, tt, r);
}

/* One that a SNACK asks for. */
static struct tcp_r2t *lost_r2t(struct tcp_task *tt)
{
	for (unsigned i = 0; i < TCP_R2T_MAX; i++) {
		if (tt->r2t[i].busy && tt->r2t[i].again)
			return &tt->r2t[i];
	}
	return NULL;
}

static void fill_r2ts(struct tcp_conn *c)
{
	uint32_t max = c->conn->keys.max_outstanding_r2t;
	unsigned built = 0;

	if (max > TCP_R2T_MAX)
		max = TCP_R2T_MAX;
	while (!list_empty(&c->r2ts) && has_room(c->batch, 0)) {
		struct tcp_task *tt = list_entry(list_first(&c->r2ts), struct tcp_task, node);
		struct tcp_r2t *r = tt->recovers ? lost_r2t(tt) : NULL;

		if (r) {
			write_r2t(c, tt, r);
			continue;
		}
		r = tt->n_r2ts < max && (tt->n_holes || tt->at < tt->end) ? free_r2t(tt) : NULL;
		if (r) {
			build_r2t(c, tt, r);
			built++;
		}
		if (!r || (tt->at == tt->end && !tt->n_holes))
			list_del(&tt->node); /* comes back when an R2T has been answered */
	}
	if (c->conn->holds && built)
		tcp_sequence_watch(c);
	stats_add(reactor_counters(c->conn->reactor), STAT_R2TS, built);
}

/* Adds [at, at + length) of the task's buffer; the digest runs along while it is in the cache. */
static uint32_t add_payload(struct tcp_batch *b, struct tcp_put *put, uint32_t length, bool digest)
{
	uint32_t crc = CRC32C_INIT;

	while (length && put->from.n) {
		const uint8_t *p = (uint8_t *)put->from.iov->iov_base + put->from.skip;
		size_t here = put->from.iov->iov_len - put->from.skip;
		size_t take = length < here ? length : here;

		if (digest)
			crc = crc32c_update(crc, p, take);
		add_iov(b, p, take);
		sink_advance(&put->from, take);
		length -= (uint32_t)take;
	}
	return crc;
}

/* Entries that `length` bytes from here on take, at most limit + 1. */
static unsigned count_pieces(const struct tcp_put *put, uint32_t length, unsigned limit)
{
	struct sink s = put->from;
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

/* RFC 7143 11.7.2: once in MaxBurstLength bytes. */
static void ask_for_ack(struct tcp_conn *c, struct tcp_task *tt, struct bhs_data_in *h)
{
	if (tt->ack_ttt == ISCSI_TAG_RESERVED) {
		if (c->next_ttt == ISCSI_TAG_RESERVED)
			c->next_ttt = 0;
		tt->ack_ttt = c->next_ttt++;
	}
	h->flags |= ISCSI_DATA_IN_ACK;
	memcpy(h->lun, tt->task->lun, sizeof(h->lun));
	put_be32(h->ttt, tt->ack_ttt);
}

static void build_data_in(struct tcp_conn *c, struct tcp_task *tt, struct tcp_put *put,
			  uint32_t length)
{
	struct tcp_batch *b = c->batch;
	struct tcp_head *head = &b->heads[b->n_heads];
	struct bhs_data_in *h = (void *)head->bhs;
	struct iscsi_task *t = tt->task;
	bool last = length == tt->end - put->at;
	bool status = last && tt->with_status;
	uint32_t residual = 0, crc;

	memset(h, 0, sizeof(*h));
	h->opcode = ISCSI_OP_DATA_IN;
	if (last || length == put->burst)
		h->flags = ISCSI_FINAL;
	put_be24(h->data_segment_length, length);
	put_be32(h->itt, t->itt);
	put_be32(h->ttt, ISCSI_TAG_RESERVED);
	if (tt->recovers && !last && length == put->burst)
		ask_for_ack(c, tt, h);
	put_be32(h->datasn, put->sn++);
	put_be32(h->buffer_offset, put->at);
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
	crc = add_payload(b, put, length, c->data_digest);
	if (length)
		add_tail(b, head, length, c->data_digest, crc);
	put->at += length;
	put->burst -= length;
	if (!put->burst)
		put->burst = c->conn->keys.max_burst_length;
}

/* Of the next Data-In PDU. */
uint32_t tcp_next_length(const struct tcp_task *tt, const struct tcp_put *put, uint32_t segment)
{
	uint32_t length = tt->end - put->at;

	/* Within a sequence whole words (RFC 7143 11.7.7), whatever was declared. */
	if (length > segment)
		length = segment & ~3u;
	return length > put->burst ? put->burst : length;
}

/* One PDU of the task; false: the batch has no room for it. */
static bool fill_one(struct tcp_conn *c, struct tcp_task *tt, struct tcp_put *put, uint32_t segment)
{
	uint32_t length = tcp_next_length(tt, put, segment);

	if (!has_room(c->batch, count_pieces(put, length, TCP_BATCH_IOV)))
		return false;
	if (!tt->in_batch) {
		tt->in_batch = true;
		tt->owed = &c->batch->owed[c->batch->n_owed++];
		*tt->owed = (struct tcp_owed){ .task = tt->task };
	}
	build_data_in(c, tt, put, length);
	return true;
}

/* What SNACKs ask for; false: the batch has no room for more of it. */
static bool fill_again(struct tcp_conn *c, struct tcp_task *tt)
{
	while (tt->n_runs) {
		struct tcp_run *run = &tt->runs[0];

		if (run->sn < tt->base.sn) /* acknowledged since it was asked for */
			run->sn = tt->base.sn;
		if (tt->replay.sn != run->sn)
			tt->replay = tcp_place_of(tt, run->sn);
		for (; run->sn < run->end; run->sn++) {
			if (!fill_one(c, tt, &tt->replay, tt->segment))
				return false;
		}
		tt->n_runs--;
		memmove(tt->runs, tt->runs + 1, tt->n_runs * sizeof(tt->runs[0]));
	}
	return true;
}

/* The next Data-In PDUs of one task; true when the batch has no room for its next one. */
static bool fill_task(struct tcp_conn *c, struct tcp_task *tt)
{
	uint32_t segment = c->conn->keys.max_send_data_segment_length;

	if (tt->recovers) {
		segment = tcp_fit_segment(tt, segment);
		if (!fill_again(c, tt))
			return true;
	}
	if (tt->state == TCP_TASK_PUT) {
		while (tt->put.at < tt->end) {
			if (!fill_one(c, tt, &tt->put, segment))
				break;
		}
		tt->task->data_in_pdus = tt->put.sn;
		if (tt->put.at < tt->end)
			return true;
		tt->owed->last = true;
	}
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
