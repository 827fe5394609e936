/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NOP-Out and NOP-In (RFC 7143 11.18, 11.19). A ping is answered from where it is read, behind
 * nothing but what is queued already: initiators give 5 s.
 */
#include "daemon/base/bytes.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/policy.h"

#include <errno.h>
#include <string.h>

uint8_t ffp_nop_check(struct iscsi_conn *c, const struct iscsi_rx *rx)
{
	const struct bhs_nop *h = (const void *)rx->bhs;

	(void)c;
	/* "... MUST be immediate" without a tag to answer to (11.18.1). */
	if (get_be32(h->itt) == ISCSI_TAG_RESERVED && !(h->opcode & ISCSI_IMMEDIATE))
		return REJECT_PROTOCOL_ERROR;
	return REJECT_NONE;
}

/* An answer to our ping, or one that only acknowledges; neither is answered. */
static int pong(struct iscsi_conn *c, const struct bhs_nop *h)
{
	if (get_be32(h->ttt) == ISCSI_TAG_RESERVED)
		ffp_stop_acknowledged(c, h->lun);
	if (get_be32(h->ttt) != c->ping_ttt)
		return 0;
	c->ping_ttt = ISCSI_TAG_RESERVED;
	ffp_fence_ask_again(c);
	return 0;
}

int ffp_nop_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_nop *h = (const void *)rx->bhs;
	uint32_t limit = c->keys.max_send_data_segment_length;
	uint32_t length = rx->length < limit ? rx->length : limit;
	uint32_t itt = get_be32(h->itt);
	struct iscsi_pdu *p;
	struct bhs_nop *answer;
	uint8_t *data;

	if (itt == ISCSI_TAG_RESERVED)
		return pong(c, h);
	p = pdu_get(c, ISCSI_OP_NOP_IN, itt);
	if (!p)
		return -ENOBUFS;
	data = pdu_data(p, length);
	if (!data) {
		pdu_put(p);
		return -ENOBUFS;
	}
	answer = (void *)p->bhs;
	memcpy(answer->lun, h->lun, sizeof(answer->lun));
	put_be32(answer->ttt, ISCSI_TAG_RESERVED);
	rx->pdu = p;
	c->rx_iov = (struct iovec){ .iov_base = data, .iov_len = length };
	rx->iov = &c->rx_iov;
	rx->iovcnt = length ? 1 : 0;
	return 0;
}

int ffp_nop_data(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	if (!rx->pdu)
		return 0;
	if (!(rx->bhs[0] & ISCSI_IMMEDIATE))
		session_free_slot(c->session);
	pdu_send(rx->pdu);
	rx->pdu = NULL;
	return 0;
}

void ffp_nop_undo(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	(void)c;
	pdu_put(rx->pdu);
	rx->pdu = NULL;
}

bool ffp_ping(struct iscsi_conn *c)
{
	if (c->ping_ttt != ISCSI_TAG_RESERVED)
		return true;
	c->next_ping++;
	c->next_ping += c->next_ping == ISCSI_TAG_RESERVED;
	if (!ffp_nop_in(c, c->next_ping))
		return false;
	c->ping_ttt = c->next_ping;
	c->deadline_ms = reactor_now_ms(c->reactor) + c->session->policy->nop_timeout_s * 1000ull;
	return true;
}

bool ffp_nop_in(struct iscsi_conn *c, uint32_t ttt)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_NOP_IN, ISCSI_TAG_RESERVED);

	if (!p)
		return false;
	put_be32(((struct bhs_nop *)(void *)p->bhs)->ttt, ttt);
	p->takes_statsn = false; /* 11.19.2 */
	pdu_send(p);
	return true;
}
