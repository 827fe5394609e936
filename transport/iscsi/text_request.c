/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text Requests of full-feature phase (RFC 7143 6.4, 11.10, 11.11): one negotiation at a time on a
 * connection, identified by the initiator's task tag and our target transfer tag. Values change
 * when it has ended well, never before.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/text.h"
#include "transport/iscsi/discovery.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/login.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/session.h"
#include "transport/iscsi/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_PART_MAX 262144u /* of one response, whatever the initiator could take */

struct iscsi_text {
	uint32_t itt;
	uint32_t ttt; /* expected in the next request; reserved: none is expected */
	bool immediate;
	uint8_t flags;   /* of the request being answered */
	uint8_t refusal; /* enum iscsi_reject found in the header */
	bool keep;       /* a refusal that leaves the negotiation as it was */
	bool answering;  /* a response with the C bit waits for an empty request */
	bool alias_known;
	unsigned n_pairs;
	char alias[TEXT_VALUE_MAX + 1];
	struct key_negotiation keys;
	struct text_in in;
	struct text_out out;
};

void text_free(struct iscsi_conn *c)
{
	struct iscsi_text *t = c->text;

	c->text = NULL;
	if (!t)
		return;
	text_in_free(&t->in);
	text_out_free(&t->out);
	free(t);
}

static struct iscsi_text *text_begin(struct iscsi_conn *c, const struct bhs_text *h)
{
	struct iscsi_text *t;

	text_free(c); /* 11.10.4: a request without TTT begins anew */
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->itt = get_be32(h->itt);
	t->ttt = ISCSI_TAG_RESERVED;
	t->immediate = h->opcode & ISCSI_IMMEDIATE;
	t->out.limit = TEXT_LIST_MAX;
	keys_begin(&t->keys, &c->ir->policy->keys);
	t->keys.phase = KEY_FULL_FEATURE;
	t->keys.keys = c->keys;
	c->text = t;
	return t;
}

/* REJECT_NONE, or why a request cannot go on with this negotiation. */
static uint8_t check_header(const struct iscsi_text *t, const struct bhs_text *h, uint32_t length)
{
	bool more = h->flags & ISCSI_CONTINUE;

	if (t->itt != get_be32(h->itt) || t->immediate != !!(h->opcode & ISCSI_IMMEDIATE))
		return REJECT_INVALID_PDU_FIELD; /* 11.10.3 */
	if (more && (h->flags & ISCSI_FINAL))
		return REJECT_PROTOCOL_ERROR; /* 11.10.2 */
	if (t->answering && (length || more))
		return REJECT_PROTOCOL_ERROR; /* 6.2: we are not done yet */
	return REJECT_NONE;
}

int text_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_text *h = (const void *)rx->bhs;
	uint32_t ttt = get_be32(h->ttt);
	struct iscsi_text *t = c->text;
	int r;

	rx->iovcnt = 0;
	if (ttt == ISCSI_TAG_RESERVED || !t)
		t = text_begin(c, h);
	if (!t)
		return -ENOMEM;
	t->flags = h->flags;
	t->keep = t->ttt != ttt && t->ttt != ISCSI_TAG_RESERVED;
	t->refusal = t->ttt != ttt ? REJECT_INVALID_PDU_FIELD : check_header(t, h, rx->length);
	if (t->refusal)
		return 0;
	if (t->answering)
		text_in_reset(&t->in); /* a long list may take any number of requests */
	r = text_in_reserve(&t->in, rx->length);
	if (r == -EMSGSIZE)
		t->refusal = REJECT_OUT_OF_RESOURCES;
	if (r)
		return r == -EMSGSIZE ? 0 : r;
	rx->iov = &t->in.iov;
	rx->iovcnt = rx->length ? 1 : 0;
	rx->skip = 0;
	return 0;
}

static int reject(struct iscsi_conn *c, const struct iscsi_rx *rx, uint8_t reason)
{
	if (!(rx->bhs[0] & ISCSI_IMMEDIATE) && !ffp_uncount(c, rx->bhs))
		session_free_slot(c->session);
	if (c->text->keep)
		c->text->refusal = REJECT_NONE;
	else
		text_free(c);
	return pdu_reject(c, rx->bhs, reason);
}

/* A pair of the request. -EPROTO: the negotiation has failed. */
static int take_pair(struct iscsi_conn *c, struct iscsi_text *t, const struct text_pair *p)
{
	enum key_id id;

	t->n_pairs++;
	if (keys_offer(&t->keys, p, &id))
		return -EPROTO;
	if (c->session->discovery && id != KEY_SEND_TARGETS)
		return -EPROTO; /* 4.3 */
	/* Who looks for SendTargets as LIO has it gets LIO's Reject as well, in place of
	 * NotUnderstood (6.2): libiscsi gives up its connection at that. */
	if (id == KEY_NONE && c->ir->policy->all_in_normal_sessions)
		return -EPROTO;
	if (t->keys.seen & (1ull << KEY_SEND_TARGETS)) {
		/* Appendix C: nothing else beside it */
		if (t->n_pairs != 1)
			return -EPROTO;
		return discovery_send_targets(c, p->value, &t->out);
	}
	if (id == KEY_INITIATOR_ALIAS) {
		t->alias_known = true;
		return text_copy(t->alias, sizeof(t->alias), p->value) ? -EPROTO : 0;
	}
	keys_answer(&t->keys, p, &t->out);
	return 0;
}

static uint8_t take_text(struct iscsi_conn *c, struct iscsi_text *t)
{
	struct text_cursor cursor = text_cursor_on(&t->in);
	struct text_pair p;
	int error;

	t->keys.limits = c->session->target ? &c->session->target->keys : &c->ir->policy->keys;
	while (text_next(&cursor, &p, &error))
		if (take_pair(c, t, &p))
			return REJECT_PROTOCOL_ERROR;
	text_in_reset(&t->in);
	if (error)
		return REJECT_PROTOCOL_ERROR;
	return t->out.error ? REJECT_OUT_OF_RESOURCES : REJECT_NONE;
}

/* Both sides have said F: what was agreed on is in force from the next PDU. */
static void commit(struct iscsi_conn *c, const struct iscsi_text *t)
{
	c->keys.max_send_data_segment_length = t->keys.keys.max_send_data_segment_length;
	if (t->alias_known)
		memcpy(c->session->initiator_alias, t->alias, sizeof(t->alias));
}

static uint32_t part_limit(const struct iscsi_conn *c)
{
	uint32_t limit = c->keys.max_send_data_segment_length;

	return limit < TEXT_PART_MAX ? limit : TEXT_PART_MAX;
}

/* The next part of the answer; empty if there is none yet. */
static int respond(struct iscsi_conn *c, struct iscsi_text *t)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_TEXT_RESPONSE, t->itt);
	struct bhs_text *h;
	uint32_t length;
	const char *part;
	uint8_t *data;
	bool final;

	if (!p)
		return -ENOBUFS;
	part = text_out_part(&t->out, part_limit(c), &length, &t->answering);
	data = pdu_data(p, length);
	if (!data) {
		pdu_put(p);
		return -ENOBUFS;
	}
	if (length)
		memcpy(data, part, length);
	final = (t->flags & ISCSI_FINAL) && !t->answering;
	/* Another number than any tag before it: StatSN moves on with each response. */
	t->ttt = final ? ISCSI_TAG_RESERVED : c->statsn & 0x7fffffff;
	h = (void *)p->bhs;
	h->flags = final ? ISCSI_FINAL : t->answering ? ISCSI_CONTINUE : 0;
	put_be32(h->ttt, t->ttt);
	p->takes_statsn = true;
	pdu_send(p);
	if (!t->answering)
		text_out_reset(&t->out);
	if (final) {
		commit(c, t);
		text_free(c);
	}
	return 0;
}

int text_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	struct iscsi_text *t = c->text;
	uint8_t reason;

	if (!t)
		return -EPROTO;
	if (t->refusal)
		return reject(c, rx, t->refusal);
	text_in_append(&t->in, rx->length);
	if (!t->answering && !(t->flags & ISCSI_CONTINUE)) {
		reason = take_text(c, t);
		if (reason)
			return reject(c, rx, reason);
	}
	if (!(rx->bhs[0] & ISCSI_IMMEDIATE))
		session_free_slot(c->session); /* told by the answer */
	return respond(c, t);
}
