/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that came ahead of their CmdSN (RFC 7143 4.2.2.1): kept whole until the gap is closed,
 * then run through the opcode table as if they came now. The window bounds their number, a limit
 * of its own their data; a command whose data found no room is answered TASK SET FULL in its turn.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/pool.h"
#include "daemon/base/reactor.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/recovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARKED_BYTES_MAX (1u << 20) /* data kept for one session */
#define PARKED_IMMEDIATE 32u        /* beyond the window */

static struct arena *arena_of(const struct iscsi_session *s)
{
	return reactor_slot(s->ir->reactor, REACTOR_ARENA);
}

static void drop_data(struct iscsi_session *s, struct iscsi_parked *p)
{
	if (!p->data.length)
		return;
	s->parked_bytes -= p->data.length;
	arena_put(arena_of(s), &p->data);
	p->data.length = 0;
	p->data.n = 0;
}

static void parked_free(struct iscsi_session *s, struct iscsi_parked *p)
{
	list_del(&p->node);
	s->n_parked--;
	drop_data(s, p);
	free(p->ahs);
	free(p);
}

/* Keeps the list in order; an immediate one comes before the request with its CmdSN. False: the
 * CmdSN is there already. */
static bool insert(struct iscsi_session *s, struct iscsi_parked *p)
{
	struct list *pos = s->parked.prev;

	for (; pos != &s->parked; pos = pos->prev) {
		struct iscsi_parked *before = list_entry(pos, struct iscsi_parked, node);
		int32_t d = sna_diff(p->cmdsn, before->cmdsn);

		if (!d && !p->immediate && !before->immediate)
			return false;
		if (d > 0 || (!d && before->immediate))
			break;
	}
	list_add_head(pos, &p->node);
	s->n_parked++;
	return true;
}

static struct iscsi_parked *parked_create(struct iscsi_conn *c, uint32_t cmdsn)
{
	struct iscsi_session *s = c->session;
	struct iscsi_parked *p;

	if (s->n_parked > s->max_cmdsn - s->exp_cmdsn + 1 + PARKED_IMMEDIATE)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	list_init(&p->node);
	p->conn = c;
	p->cmdsn = cmdsn;
	return p;
}

static void place(struct iscsi_session *s, struct iscsi_parked *p, struct iscsi_rx *rx)
{
	p->length = rx->length;
	if (!rx->length)
		return;
	p->lost = s->parked_bytes + rx->length > PARKED_BYTES_MAX ||
		  recovery_get(s->ir, rx->length, &p->data);
	if (p->lost)
		return;
	s->parked_bytes += rx->length;
	rx->iov = p->data.iov;
	rx->iovcnt = p->data.n;
}

int ffp_park(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs *h = (const void *)rx->bhs;
	struct iscsi_session *s = c->session;
	struct iscsi_parked *p = parked_create(c, get_be32(h->cmdsn));

	if (!p)
		return -ENOBUFS;
	p->itt = get_be32(h->itt);
	p->immediate = h->opcode & ISCSI_IMMEDIATE;
	p->final = h->flags & ISCSI_FINAL;
	memcpy(p->bhs, rx->bhs, sizeof(p->bhs));
	if (!insert(s, p)) { /* a second one with this number: ignored in silence */
		free(p);
		c->rx_op = NULL;
		return 0;
	}
	c->rx_parked = p;
	if (rx->ahs_length) {
		p->ahs = malloc(rx->ahs_length);
		if (!p->ahs) {
			parked_free(s, p);
			c->rx_parked = NULL;
			return -ENOMEM;
		}
		memcpy(p->ahs, rx->ahs, rx->ahs_length);
		p->ahs_length = rx->ahs_length;
	}
	place(s, p, rx);
	return 0;
}

void ffp_park_data(struct iscsi_conn *c, struct iscsi_rx *rx, bool digest_good)
{
	struct iscsi_parked *p = c->rx_parked;

	(void)rx;
	c->rx_parked = NULL;
	c->rx_counted = false;
	if (!digest_good) {
		parked_free(c->session, p);
		return;
	}
	p->whole = true;
	/* The gap may have been closed over another connection while the data came in. */
	ffp_run_parked(c->session);
}

struct iscsi_parked *ffp_find_parked(struct iscsi_session *s, uint32_t itt)
{
	struct list *pos;

	list_for_each (pos, &s->parked) {
		struct iscsi_parked *p = list_entry(pos, struct iscsi_parked, node);

		if (p->itt == itt && !p->skip)
			return p;
	}
	return NULL;
}

int ffp_skip_cmdsn(struct iscsi_session *s, uint32_t cmdsn)
{
	struct list *pos;
	struct iscsi_parked *p;

	if (s->incoming && cmdsn == s->exp_cmdsn)
		return 0; /* it is coming, under another tag */
	list_for_each (pos, &s->parked) {
		p = list_entry(pos, struct iscsi_parked, node);
		if (p->cmdsn == cmdsn && !p->immediate)
			return 0; /* it has come after all, under another tag */
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	list_init(&p->node);
	p->cmdsn = cmdsn;
	p->skip = p->whole = true;
	insert(s, p);
	ffp_run_parked(s);
	return 0;
}

void ffp_abort_parked(struct iscsi_session *s, struct iscsi_parked *p)
{
	drop_data(s, p);
	p->skip = p->whole = true;
	ffp_run_parked(s);
}

void ffp_drop_parked(struct iscsi_session *s, const struct iscsi_conn *c)
{
	struct list *pos, *next;

	list_for_each_safe (pos, next, &s->parked) {
		struct iscsi_parked *p = list_entry(pos, struct iscsi_parked, node);

		if (c && p->conn != c)
			continue;
		if (p->conn && p->conn->rx_parked == p) {
			p->conn->rx_parked = NULL;
			p->conn->rx_op = NULL;
			p->conn->rx->iovcnt = 0;
		}
		parked_free(s, p);
	}
}

static void copy_iov(const struct iovec *to, unsigned n_to, size_t skip,
		     const struct arena_buf *from)
{
	size_t at = 0;

	for (unsigned i = 0; i < from->n; i++) {
		const uint8_t *p = from->iov[i].iov_base;
		size_t left = from->iov[i].iov_len;

		while (left && n_to) {
			size_t here = to->iov_len - at, n;

			if (skip >= here) { /* only in front: skip is used up there */
				skip -= here;
				to++;
				n_to--;
				at = 0;
				continue;
			}
			at += skip;
			here -= skip;
			skip = 0;
			n = left < here ? left : here;
			memcpy((uint8_t *)to->iov_base + at, p, n);
			p += n;
			left -= n;
			at += n;
			if (at == to->iov_len) {
				to++;
				n_to--;
				at = 0;
			}
		}
	}
}

/* A command whose data could not be kept: what had come of it counts as dropped. */
static int replay_lost(struct iscsi_conn *c, struct iscsi_rx *rx, bool final)
{
	int err = ffp_scsi_lost(c, rx, final);

	return err ? err : ffp_scsi_data(c, rx);
}

/* The request again, whole, in its turn. */
static int replay(struct iscsi_parked *p)
{
	struct iscsi_rx rx = { .ahs = p->ahs, .ahs_length = p->ahs_length, .length = p->length };
	struct iscsi_conn *c = p->conn;
	const struct ffp_op *op = &ffp_ops[p->bhs[0] & ISCSI_OPCODE_MASK];
	struct iscsi_rx *receiving = c->rx;
	uint8_t reason;
	int err;

	memcpy(rx.bhs, p->bhs, sizeof(rx.bhs));
	reason = op->check ? op->check(c, &rx) : REJECT_NONE; /* its tag may be in use by now */
	if (!reason && p->lost && !op->has_ahs)
		reason = REJECT_OUT_OF_RESOURCES;
	if (reason) {
		/* A Reject leaves its CmdSN to be sent again (RFC 7143 7.3). */
		if (!p->immediate && (reason == FFP_DROP || !ffp_uncount(c, rx.bhs)))
			session_free_slot(c->session);
		return reason == FFP_DROP ? 0 : pdu_reject_full(c, &rx, reason);
	}
	if (p->lost)
		return replay_lost(c, &rx, p->final);
	c->rx = &rx;
	err = op->header(c, &rx);
	if (!err && rx.iovcnt)
		copy_iov(rx.iov, rx.iovcnt, rx.skip, &p->data);
	c->rx = receiving;
	if (!err && op->data)
		err = op->data(c, &rx);
	return err;
}

static void replay_counted(struct iscsi_parked *p)
{
	struct iscsi_conn *c = p->conn;
	bool counted = c->rx_counted; /* of what it receives now */

	c->rx_counted = !p->immediate;
	if (replay(p))
		iscsi_conn_terminate(c, false);
	c->rx_counted = counted;
}

/* Takes off what comes next, if it has come whole and its number is reached. */
static struct iscsi_parked *take_due(struct iscsi_session *s)
{
	struct list *first = s->ending ? NULL : list_first(&s->parked);
	struct iscsi_parked *p;

	if (!first)
		return NULL;
	p = list_entry(first, struct iscsi_parked, node);
	if (!p->whole || sna_diff(p->cmdsn, s->exp_cmdsn) > 0)
		return NULL;
	/* list_del by hand: the static analyser does not see that it moves the head. */
	s->parked.next = first->next;
	first->next->prev = &s->parked;
	list_init(first);
	return p;
}

void ffp_run_parked(struct iscsi_session *s)
{
	struct iscsi_parked *p;

	while ((p = take_due(s))) {
		struct iscsi_conn *c = p->conn;

		if (!p->immediate)
			s->exp_cmdsn++;
		if (p->skip)
			session_free_slot(s);
		else if (conn_is_full_feature(c))
			replay_counted(p);
		parked_free(s, p);
	}
}

/* Doubles it. A window never shrinks (RFC 7143 4.2.2.1), so half of the pool is kept for others. */
void session_grow_window(struct iscsi_session *s)
{
	uint32_t most = s->first_window * SESSION_WINDOW_GROWTH;
	uint32_t more = s->window <= most / 2 ? s->window : most - s->window;

	if (!more || s->ending || s->holds || s->ir->window_grown + more > s->ir->task_limit / 2)
		return;
	s->window += more;
	s->ir->window_grown += more;
	s->max_cmdsn += more;
	s->nexus.max_tasks = s->window + SESSION_IMMEDIATE_MAX;
}

void ffp_tell_window(struct iscsi_session *s)
{
	struct iscsi_conn *c;

	/* RFC 7143 11.4.11: the initiator would wait for ever for a window it has seen closed. */
	if (sna_diff(s->told_max_cmdsn, s->exp_cmdsn) >= 0)
		return;
	c = session_any_conn(s);
	if (c)
		ffp_nop_in(c, ISCSI_TAG_RESERVED);
}
