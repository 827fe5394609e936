/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/pdu.h"

#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "daemon/base/pool.h"
#include "daemon/base/stats.h"
#include "transport/iscsi/conn.h"
#include "transport/iscsi/ffp.h"
#include "transport/portal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What may be queued for a peer that sends requests and does not read the answers. */
#define CONN_PDUS_MAX  1024u
#define CONN_BYTES_MAX (2u << 20)

/*
 * What the connections of a reactor share, and how many PDUs each has before it takes of that: as
 * many as an initiator that reads needs; of data each has one segment. Of what is shared nobody may
 * have more than a part of what is left, so those that do not read take little from each other and
 * nothing of what is another's own.
 */
#define PDUS_OWN     64u /* at level 1, where they wait to be acknowledged, and a window */
#define PDUS_SHARED  65536u
#define BYTES_SHARED ((size_t)64 << 20)
#define SHARE_PART   4u

static bool complain(const struct iscsi_conn *c, const char *why)
{
	if (!c->terminating)
		log_peer(LOG_ISCSI, LOG_LEVEL_WARN,
			 "portal %s: %u responses (%zu bytes) wait for an initiator that does not "
			 "read or acknowledge them%s; connection closed",
			 c->portal->text, c->pdus_out, c->pdu_bytes, why);
	return false;
}

static bool may_share(const struct iscsi_conn *c, size_t has, size_t shared, size_t limit)
{
	return has < (limit - shared) / SHARE_PART || complain(c, ", and others need the room");
}

/* Whether one PDU more may be queued; *ret_shared: it is one of those that all share. */
static bool may_queue(const struct iscsi_conn *c, bool *ret_shared)
{
	/* At level 1 those not acknowledged count too: as much again as may be on its way. */
	unsigned window = c->holds && c->session ? c->session->window : 0;

	if (c->pdus_out >= CONN_PDUS_MAX + 2 * window)
		return complain(c, "");
	*ret_shared = c->pdus_out >= PDUS_OWN + window;
	return !*ret_shared || may_share(c, c->pdus_shared, c->ir->pdus_shared, PDUS_SHARED);
}

static bool may_queue_bytes(const struct iscsi_conn *c, size_t bytes, bool *ret_shared)
{
	if (c->pdu_bytes + bytes > CONN_BYTES_MAX)
		return complain(c, "");
	*ret_shared = c->pdu_bytes > 0;
	return !*ret_shared ||
	       may_share(c, c->bytes_shared + bytes - 1, c->ir->bytes_shared, BYTES_SHARED);
}

struct iscsi_pdu *pdu_get(struct iscsi_conn *c, uint8_t opcode, uint32_t itt)
{
	struct iscsi_pdu *p;
	struct bhs *h;
	bool shared;

	if (!may_queue(c, &shared))
		return NULL;
	p = pool_get(c->ir->pdus);
	if (!p)
		return NULL;
	memset(p, 0, offsetof(struct iscsi_pdu, inl));
	list_init(&p->node);
	list_init(&p->held_node);
	p->conn = c;
	p->takes_statsn = true;
	h = (void *)p->bhs;
	h->opcode = opcode;
	h->flags = ISCSI_FINAL;
	put_be32(h->itt, itt);
	c->pdus_out++;
	p->shared = shared;
	if (shared) {
		c->pdus_shared++;
		c->ir->pdus_shared++;
	}
	return p;
}

static uint8_t *get_heap(struct iscsi_pdu *p, uint32_t length)
{
	struct iscsi_conn *c = p->conn;

	if (!may_queue_bytes(c, length, &p->heap_shared))
		return NULL;
	p->heap = calloc(1, length);
	if (!p->heap)
		return NULL;
	c->pdu_bytes += length;
	if (p->heap_shared) {
		c->bytes_shared += length;
		c->ir->bytes_shared += length;
	}
	return p->heap;
}

static void put_heap(struct iscsi_pdu *p)
{
	struct iscsi_conn *c = p->conn;

	c->pdu_bytes -= p->length;
	if (p->heap_shared) {
		c->bytes_shared -= p->length;
		c->ir->bytes_shared -= p->length;
	}
	free(p->heap);
}

uint8_t *pdu_data(struct iscsi_pdu *p, uint32_t length)
{
	struct bhs *h = (void *)p->bhs;
	uint8_t *room = p->inl;

	if (length > PDU_INLINE) {
		room = get_heap(p, length);
		if (!room)
			return NULL;
	} else {
		memset(room, 0, length);
	}
	p->data = room;
	p->length = length;
	put_be24(h->data_segment_length, length);
	return room;
}

void pdu_put(struct iscsi_pdu *p)
{
	struct iscsi_conn *c;

	if (!p)
		return;
	c = p->conn;
	if (p->heap)
		put_heap(p);
	c->pdus_out--;
	if (p->shared) {
		c->pdus_shared--;
		c->ir->pdus_shared--;
	}
	pool_put(c->ir->pdus, p);
}

void pdu_send(struct iscsi_pdu *p)
{
	p->queued = true;
	p->conn->dm->send_control(p->conn, p);
}

int pdu_reject_number(struct iscsi_conn *c, const struct iscsi_rx *rx, uint8_t reason,
		      uint32_t datasn)
{
	uint32_t ahs_length = rx->ahs ? rx->ahs_length : 0u;
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_REJECT, ISCSI_TAG_RESERVED);
	struct bhs_reject *h;
	uint8_t *data;

	if (!p)
		return -ENOBUFS;
	data = pdu_data(p, ISCSI_BHS_SIZE + ahs_length);
	if (!data) {
		pdu_put(p);
		return -ENOBUFS;
	}
	/* The complete header of what is rejected, RFC 7143 11.17. */
	memcpy(data, rx->bhs, ISCSI_BHS_SIZE);
	if (ahs_length)
		memcpy(data + ISCSI_BHS_SIZE, rx->ahs, ahs_length);
	h = (void *)p->bhs;
	h->reason = reason;
	put_be32(h->datasn, datasn);
	stats_add(c->ir->stats, STAT_REJECTS, 1);
	log_peer(LOG_ISCSI, LOG_LEVEL_DEBUG, "portal %s: opcode 0x%02x rejected, reason 0x%02x",
		 c->portal->text, rx->bhs[0] & ISCSI_OPCODE_MASK, reason);
	pdu_send(p);
	return 0;
}

int pdu_reject_full(struct iscsi_conn *c, const struct iscsi_rx *rx, uint8_t reason)
{
	return pdu_reject_number(c, rx, reason, 0);
}

int pdu_reject(struct iscsi_conn *c, const uint8_t bhs[static ISCSI_BHS_SIZE], uint8_t reason)
{
	struct iscsi_rx rx = { .length = 0 };

	memcpy(rx.bhs, bhs, ISCSI_BHS_SIZE);
	return pdu_reject_full(c, &rx, reason);
}
