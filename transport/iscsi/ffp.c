/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Full-feature phase: what each request opcode may look like, and the order in which requests are
 * taken up (RFC 7143 4.2.2.1).
 */
#include "transport/iscsi/ffp.h"

#include "daemon/base/bytes.h"
#include "daemon/base/log.h"
#include "transport/iscsi/login.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/recovery.h"
#include "transport/portal.h"

#include <errno.h>

/* Login requests before full-feature phase; nothing of it is looked at but by login.c. */
static const struct ffp_op login_op = { .name = "Login",
					.header = login_rx_header,
					.data = login_rx_data };

static int nothing(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	(void)c;
	(void)rx;
	return 0;
}

/* clang-format off */
const struct ffp_op ffp_ops[ISCSI_OPCODE_MASK + 1] = {
	[ISCSI_OP_NOP_OUT] = {
		.name = "NOP-Out", .sessions = FFP_NORMAL, .ordered = true, .has_data = true,
		.check = ffp_nop_check, .header = ffp_nop_header, .data = ffp_nop_data, .undo = ffp_nop_undo },
	[ISCSI_OP_SCSI_COMMAND] = {
		.name = "SCSI Command", .sessions = FFP_NORMAL, .ordered = true, .has_ahs = true, .has_data = true,
		.needs_itt = true, .check = ffp_scsi_check, .header = ffp_scsi_header, .data = ffp_scsi_data,
		.undo = ffp_scsi_undo },
	[ISCSI_OP_TMF_REQUEST] = {
		.name = "Task Management", .sessions = FFP_NORMAL, .ordered = true, .needs_itt = true,
		.check = ffp_tmf_check, .header = nothing, .data = ffp_tmf_run },
	[ISCSI_OP_LOGIN_REQUEST] = {
		.name = "Login", .sessions = FFP_ANY, .has_data = true, .refusal = REJECT_PROTOCOL_ERROR },
	[ISCSI_OP_TEXT_REQUEST] = {
		.name = "Text", .sessions = FFP_ANY, .ordered = true, .has_data = true, .needs_itt = true,
		.judged_late = true,
		.header = text_rx_header, .data = text_rx_data },
	[ISCSI_OP_DATA_OUT] = {
		.name = "Data-Out", .sessions = FFP_NORMAL, .has_data = true, .needs_itt = true,
		.header = ffp_data_out_header, .data = ffp_data_out_data, .undo = ffp_data_out_undo },
	[ISCSI_OP_LOGOUT_REQUEST] = {
		.name = "Logout", .sessions = FFP_ANY, .ordered = true, .needs_itt = true,
		.check = ffp_logout_check, .header = nothing, .data = ffp_logout_run },
	[ISCSI_OP_SNACK] = {
		.name = "SNACK", .sessions = FFP_NORMAL, .check = snack_check, .header = nothing, .data = snack_run },
};
/* clang-format on */

/* Refused: nothing of it counts, its data is dropped. */
static int refuse(struct iscsi_conn *c, struct iscsi_rx *rx, uint8_t reason)
{
	c->rx_op = NULL;
	rx->iovcnt = 0;
	return pdu_reject_full(c, rx, reason);
}

/* What can be said without knowing the request; REJECT_NONE: nothing is wrong. */
static uint8_t check_row(const struct iscsi_conn *c, const struct ffp_op *op,
			 const struct iscsi_rx *rx)
{
	const struct bhs *h = (const void *)rx->bhs;
	uint8_t where = c->session->discovery ? FFP_DISCOVERY : FFP_NORMAL;

	if (!op->name)
		return REJECT_NOT_SUPPORTED;
	if (op->refusal)
		return op->refusal;
	if (!(op->sessions & where))
		return REJECT_PROTOCOL_ERROR;
	if ((rx->ahs_length && !op->has_ahs) || (rx->length && !op->has_data))
		return REJECT_INVALID_PDU_FIELD;
	if (op->needs_itt && get_be32(h->itt) == ISCSI_TAG_RESERVED)
		return REJECT_INVALID_PDU_FIELD;
	return REJECT_NONE;
}

/* A PDU before full-feature phase: login.c refuses what is not a Login Request. */
static int early_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	if (c->state != CONN_XPT_UP && c->state != CONN_IN_LOGIN)
		return 0; /* leaving: dropped */
	c->rx_op = &login_op;
	return login_rx_header(c, rx);
}

/* RFC 7143 4.2.2.1: in order, ahead (kept), or outside of the window (ignored in silence). */
static int ordered_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs *h = (const void *)rx->bhs;
	struct iscsi_session *s = c->session;
	uint32_t cmdsn = get_be32(h->cmdsn);
	int32_t ahead = sna_diff(cmdsn, s->exp_cmdsn);

	if (h->opcode & ISCSI_IMMEDIATE) {
		if (ahead > 0 && (h->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_TMF_REQUEST &&
		    ffp_tmf_waits(c, rx))
			return ffp_park(c, rx);
		return c->rx_op->header(c, rx);
	}
	if (ahead < 0 || sna_diff(cmdsn, s->max_cmdsn) > 0 || (!ahead && s->incoming)) {
		c->rx_op = NULL;
		return 0;
	}
	if (ahead > 0)
		return ffp_park(c, rx);
	if (c->rx_op->judged_late || (rx->length && c->keys.data_digest)) {
		s->incoming = c;
	} else {
		s->exp_cmdsn++;
		c->rx_counted = true;
	}
	return c->rx_op->header(c, rx);
}

void ffp_count_rx(struct iscsi_conn *c)
{
	struct iscsi_session *s = c->session;

	if (!s || s->incoming != c || !c->rx)
		return;
	s->incoming = NULL;
	s->exp_cmdsn++;
	c->rx_counted = true;
}

bool ffp_uncount(struct iscsi_conn *c, const uint8_t bhs[static ISCSI_BHS_SIZE])
{
	const struct bhs *h = (const void *)bhs;
	struct iscsi_session *s = c->session;

	if (!c->rx_counted || s->exp_cmdsn != get_be32(h->cmdsn) + 1)
		return false;
	s->exp_cmdsn--;
	c->rx_counted = false;
	return true;
}

static int request_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs *h = (const void *)rx->bhs;
	const struct ffp_op *op;
	uint8_t reason;

	if (!conn_is_full_feature(c))
		return early_header(c, rx);
	op = &ffp_ops[h->opcode & ISCSI_OPCODE_MASK];
	reason = check_row(c, op, rx);
	if (!reason)
		conn_acknowledge(c, get_be32(h->exp_statsn));
	if (!reason && op->check)
		reason = op->check(c, rx);
	if (reason == FFP_DROP)
		return 0;
	if (reason)
		return refuse(c, rx, reason);
	c->rx_op = op;
	return op->ordered ? ordered_header(c, rx) : op->header(c, rx);
}

int iscsi_rx_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	int err;

	rx->iovcnt = 0;
	rx->skip = 0;
	rx->task = NULL;
	rx->pdu = NULL;
	c->rx = rx;
	c->rx_op = NULL;
	c->rx_parked = NULL;
	c->rx_counted = false;
	c->last_rx_ms = reactor_now_ms(c->reactor);
	err = request_header(c, rx);
	if (err) /* no more of it is read */
		c->rx = NULL;
	return err;
}

void ffp_forget_rx(struct iscsi_conn *c)
{
	if (!c->rx)
		return;
	pdu_put(c->rx->pdu);
	c->rx->pdu = NULL;
	c->rx = NULL;
}

/* With the connection goes what it had not sent whole. A SCSI command's place in the window is its
 * task's; other requests hold theirs until they are answered, and these never will be. */
void ffp_give_up_rx(struct iscsi_conn *c)
{
	struct iscsi_session *s = c->session;
	bool scsi = c->rx && (c->rx->bhs[0] & ISCSI_OPCODE_MASK) == ISCSI_OP_SCSI_COMMAND;

	if (scsi)
		ffp_count_rx(c);
	else if (c->rx && c->rx_op && c->rx_counted)
		session_free_slot(s);
	c->rx_counted = false;
	if (s->incoming == c)
		s->incoming = NULL;
}

/* RFC 7143 7.8: rejected, and as if it had not come. */
static int bad_digest(struct iscsi_conn *c, struct iscsi_rx *rx, const struct ffp_op *op)
{
	if (c->session->incoming == c)
		c->session->incoming = NULL;
	rx->ahs_length = 0; /* not there any more */
	if (pdu_reject_full(c, rx, REJECT_DATA_DIGEST))
		return -ENOBUFS;
	if (op->undo)
		op->undo(c, rx);
	return 0;
}

static int take_data(struct iscsi_conn *c, struct iscsi_rx *rx, bool digest_good)
{
	const struct ffp_op *op = c->rx_op;
	int err = 0;

	c->rx_op = NULL;
	if (op && op != &login_op && !conn_is_full_feature(c)) {
		ffp_forget_rx(c); /* the session has ended meanwhile */
		return 0;
	}
	if (op && op != &login_op && digest_good)
		ffp_count_rx(c);
	c->rx = NULL;
	if (!op)
		return 0;
	if (op == &login_op)
		return login_rx_data(c, rx);
	if (c->rx_parked) {
		ffp_park_data(c, rx, digest_good);
		return digest_good ? 0 : bad_digest(c, rx, op);
	}
	if (!digest_good)
		return bad_digest(c, rx, op);
	if (op->data)
		err = op->data(c, rx);
	if (!err && c->rx_counted && conn_is_full_feature(c) && !list_empty(&c->session->parked))
		ffp_run_parked(c->session);
	return err;
}

int iscsi_rx_data(struct iscsi_conn *c, struct iscsi_rx *rx, bool digest_good)
{
	int err = take_data(c, rx, digest_good);

	/* An acknowledgement has come, or what a fence waits for has been stopped. */
	if (!err && c->session && c->session->fence.state != FENCE_OPEN)
		ffp_fence_look(c->session);
	return err;
}
