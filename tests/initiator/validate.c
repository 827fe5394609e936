/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of RFC 7143 that hold for every PDU of a target. */
#include "daemon/base/bytes.h"
#include "tests/initiator/internal.h"

#include <stdarg.h>
#include <stdio.h>

void ini_violation(struct ini *i, const char *format, ...)
{
	va_list args;

	if (i->violations++)
		return;
	va_start(args, format);
	vsnprintf(i->violation, sizeof(i->violation), format, args);
	va_end(args);
}

static struct ini_track *slot(struct ini *i, uint32_t itt)
{
	return &i->track[itt % INI_TRACKS];
}

void ini_track(struct ini *i, const uint8_t bhs[static 48])
{
	const struct bhs_scsi_command *h = (const void *)bhs;
	uint32_t itt = get_be32(h->itt);
	struct ini_track *t = slot(i, itt);

	if (!i->full_feature || (h->opcode & ISCSI_OPCODE_MASK) != ISCSI_OP_SCSI_COMMAND)
		return;
	if (t->open && t->itt == itt)
		return; /* sent twice on purpose */
	*t = (struct ini_track){ .itt = itt,
				 .open = true,
				 .counted = !(h->opcode & ISCSI_IMMEDIATE),
				 .cmdsn = get_be32(h->cmdsn),
				 .edtl = get_be32(h->edtl) };
}

/* Does this PDU take a StatSN? (RFC 7143 4.2.2.2, 11.x) */
static bool takes_statsn(const struct bhs *h)
{
	switch (h->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_R2T:
		return false;
	case ISCSI_OP_DATA_IN:
		return h->flags & ISCSI_DATA_IN_STATUS;
	case ISCSI_OP_NOP_IN:
		return get_be32(h->itt) != ISCSI_TAG_RESERVED;
	default:
		return true;
	}
}

static bool is_refusal(const struct bhs *h)
{
	const struct bhs_login_response *r = (const void *)h;

	return h->opcode == ISCSI_OP_LOGIN_RESPONSE && r->status_class;
}

/* Level 1: sent again, because a SNACK asked for it (11.16). */
static bool is_replica(const struct ini *i, const struct bhs *h, uint32_t statsn)
{
	return i->recovery && takes_statsn(h) && sna_diff(statsn, i->exp_statsn) < 0;
}

static void validate_numbers(struct ini *i, const struct bhs *h)
{
	uint32_t statsn = get_be32(h->cmdsn);
	uint32_t exp = get_be32(h->exp_statsn), max = get_be32(h->max_cmdsn);
	bool data_without_status = (h->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_DATA_IN &&
				   !(h->flags & ISCSI_DATA_IN_STATUS);

	if (is_refusal(h))
		return; /* they mean nothing there (11.13.5) */
	if (!data_without_status && !is_replica(i, h, statsn)) {
		if (i->statsn_known && statsn != i->exp_statsn)
			ini_violation(i, "opcode %02x: StatSN %u, expected %u", h->opcode, statsn,
				      i->exp_statsn);
		i->statsn_known = true;
		i->exp_statsn = statsn + (takes_statsn(h) ? 1 : 0);
	}
	if (i->window_known && sna_diff(exp, i->exp_cmdsn) < 0)
		ini_violation(i, "ExpCmdSN went back from %u to %u", i->exp_cmdsn, exp);
	if (i->window_known && sna_diff(max, i->max_cmdsn) < 0)
		ini_violation(i, "MaxCmdSN went back from %u to %u", i->max_cmdsn, max);
	if (sna_diff(max, exp - 1) < 0)
		ini_violation(i, "MaxCmdSN %u below ExpCmdSN %u - 1", max, exp);
	i->exp_cmdsn = exp;
	i->max_cmdsn = max;
	i->window_known = true;
}

/* What must be zero: bytes `from` up to but not including `to` of the header. */
static const struct reserved {
	uint8_t opcode, from, to;
} reserved[] = {
	{ ISCSI_OP_NOP_IN, 2, 4 },
	{ ISCSI_OP_NOP_IN, 36, 48 },
	{ ISCSI_OP_SCSI_RESPONSE, 8, 16 },
	{ ISCSI_OP_TMF_RESPONSE, 3, 4 },
	{ ISCSI_OP_TMF_RESPONSE, 11, 16 },
	{ ISCSI_OP_TMF_RESPONSE, 20, 24 },
	{ ISCSI_OP_TMF_RESPONSE, 36, 48 },
	{ ISCSI_OP_LOGIN_RESPONSE, 20, 24 },
	{ ISCSI_OP_LOGIN_RESPONSE, 38, 48 },
	{ ISCSI_OP_TEXT_RESPONSE, 2, 4 },
	{ ISCSI_OP_TEXT_RESPONSE, 36, 48 },
	{ ISCSI_OP_DATA_IN, 2, 3 },
	{ ISCSI_OP_LOGOUT_RESPONSE, 3, 4 },
	{ ISCSI_OP_LOGOUT_RESPONSE, 8, 16 },
	{ ISCSI_OP_LOGOUT_RESPONSE, 20, 24 },
	{ ISCSI_OP_LOGOUT_RESPONSE, 36, 40 },
	{ ISCSI_OP_LOGOUT_RESPONSE, 44, 48 },
	{ ISCSI_OP_R2T, 2, 4 },
	{ ISCSI_OP_ASYNC, 2, 4 },
	{ ISCSI_OP_ASYNC, 20, 24 },
	{ ISCSI_OP_ASYNC, 44, 48 },
	{ ISCSI_OP_REJECT, 3, 4 },
	{ ISCSI_OP_REJECT, 8, 16 },
	{ ISCSI_OP_REJECT, 20, 24 },
	{ ISCSI_OP_REJECT, 40, 48 },
};

static void validate_reserved(struct ini *i, const uint8_t *bhs)
{
	for (unsigned n = 0; n < sizeof(reserved) / sizeof(reserved[0]); n++) {
		if (reserved[n].opcode != bhs[0])
			continue;
		for (unsigned at = reserved[n].from; at < reserved[n].to; at++)
			if (bhs[at])
				ini_violation(i, "opcode %02x: reserved byte %u is %02x", bhs[0],
					      at, bhs[at]);
	}
}

/* A status: never before its command was acknowledged (4.2.2.1). */
static void validate_end(struct ini *i, struct ini_track *t, const struct bhs *h)
{
	if (t->counted && sna_diff(get_be32(h->exp_statsn), t->cmdsn) <= 0)
		ini_violation(i, "status for CmdSN %u while ExpCmdSN is %u", t->cmdsn,
			      get_be32(h->exp_statsn));
	t->open = false;
}

/* The task is there; at level 1 one that has just ended will do. */
static bool is_known(const struct ini *i, const struct ini_track *t, uint32_t itt)
{
	return t->itt == itt && (t->open || i->recovery);
}

static void validate_data_in(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_data_in *d = (const void *)p->bhs;
	struct ini_track *t = slot(i, get_be32(d->itt));
	uint32_t offset = get_be32(d->buffer_offset);
	bool final = d->flags & ISCSI_FINAL, status = d->flags & ISCSI_DATA_IN_STATUS;

	if (!is_known(i, t, get_be32(d->itt))) {
		ini_violation(i, "Data-In for task %x, which is not there", get_be32(d->itt));
		return;
	}
	if (i->recovery && get_be32(d->datasn) < t->datasn)
		return;
	if (get_be32(d->datasn) != t->datasn++)
		ini_violation(i, "DataSN %u, expected %u", get_be32(d->datasn), t->datasn - 1);
	if (offset != t->offset || p->length > t->edtl - t->offset)
		ini_violation(i, "Data-In at %u of %u bytes, expected at %u of %u in all", offset,
			      p->length, t->offset, t->edtl);
	t->offset += p->length;
	t->burst += p->length;
	if (t->burst > i->max_burst)
		ini_violation(i, "a sequence of %u bytes, MaxBurstLength is %u", t->burst,
			      i->max_burst);
	if (final)
		t->burst = 0;
	else if (p->length % 4 || !p->length)
		ini_violation(i, "Data-In of %u bytes within a sequence", p->length);
	if (i->recovery
		? !(d->flags & ISCSI_DATA_IN_ACK) != (get_be32(d->ttt) == ISCSI_TAG_RESERVED) ||
		      ((d->flags & ISCSI_DATA_IN_ACK) && !final)
		: (d->flags & ISCSI_DATA_IN_ACK) || get_be32(d->ttt) != ISCSI_TAG_RESERVED)
		ini_violation(i, "Data-In with flags %02x: acknowledgement by TTT %x", d->flags,
			      get_be32(d->ttt));
	if (status && (!final || (d->status != 0 && d->status != 4)))
		ini_violation(i, "Data-In with flags %02x and status %02x", d->flags, d->status);
	if (!status && (d->status || (d->flags & 6) || get_be32(d->residual)))
		ini_violation(i, "Data-In without S, but with status or residual");
	if (status)
		validate_end(i, t, (const void *)d);
}

static void validate_r2t(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_r2t *r = (const void *)p->bhs;
	struct ini_track *t = slot(i, get_be32(r->itt));
	uint32_t offset = get_be32(r->buffer_offset), length = get_be32(r->desired_length);

	if (!t->open || t->itt != get_be32(r->itt)) {
		ini_violation(i, "R2T for task %x, which is not there", get_be32(r->itt));
		return;
	}
	if (i->recovery && get_be32(r->r2tsn) < t->r2tsn)
		return;
	if (get_be32(r->r2tsn) != t->r2tsn++)
		ini_violation(i, "R2TSN %u, expected %u", get_be32(r->r2tsn), t->r2tsn - 1);
	if (t->r2tsn > 1 && offset != t->asked && !(i->recovery && offset < t->asked))
		ini_violation(i, "R2T at %u, expected at %u", offset, t->asked);
	if (!length || length > i->max_burst || offset > t->edtl || length > t->edtl - offset)
		ini_violation(i, "R2T for %u bytes at %u of %u, MaxBurstLength %u", length, offset,
			      t->edtl, i->max_burst);
	if (get_be32(r->ttt) == ISCSI_TAG_RESERVED || p->length || r->flags != ISCSI_FINAL)
		ini_violation(i, "R2T with TTT %x, flags %02x, %u bytes of data", get_be32(r->ttt),
			      r->flags, p->length);
	if (offset + length > t->asked)
		t->asked = offset + length;
}

static void validate_response(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_scsi_response *r = (const void *)p->bhs;
	struct ini_track *t = slot(i, get_be32(r->itt));

	if (!is_known(i, t, get_be32(r->itt)))
		ini_violation(i, "SCSI Response for task %x, which is not there", get_be32(r->itt));
	else
		validate_end(i, t, (const void *)r);
	if ((r->flags & 0x99) != ISCSI_FINAL || (r->flags & 6) == 6)
		ini_violation(i, "SCSI Response with flags %02x", r->flags);
	if (!(r->flags & 6) && get_be32(r->residual))
		ini_violation(i, "residual count without U or O");
	if (!i->recovery && get_be32(r->snack_tag))
		ini_violation(i, "SCSI Response with SNACK Tag %x", get_be32(r->snack_tag));
	if (r->response && (r->flags & 0x1e))
		ini_violation(i, "residual flags with response code %02x", r->response);
	if ((r->status == 2) != (p->length > 2))
		ini_violation(i, "status %02x with %u bytes of data", r->status, p->length);
	if (p->length > 2 && p->length < get_be16(p->data) + 2u)
		ini_violation(i, "SenseLength %u in %u bytes", get_be16(p->data), p->length);
	if (get_be32(r->exp_datasn) != t->datasn)
		ini_violation(i, "ExpDataSN %u after %u Data-In", get_be32(r->exp_datasn),
			      t->datasn);
}

static void validate_text(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_text *h = (const void *)p->bhs;
	bool final = h->flags & ISCSI_FINAL, more = h->flags & ISCSI_CONTINUE;

	if (final != (get_be32(h->ttt) == ISCSI_TAG_RESERVED) || (final && more))
		ini_violation(i, "Text Response with flags %02x and TTT %x", h->flags,
			      get_be32(h->ttt));
	if (p->length && !more && p->data[p->length - 1])
		ini_violation(i, "Text Response without NUL at its end");
}

/* The highest detail of each class that means something (11.13.5). */
static bool is_login_status(uint8_t class, uint8_t detail)
{
	static const uint8_t highest[] = { 0x00, 0x02, 0x0b, 0x02 };

	return class < sizeof(highest) && detail <= highest[class] && (class != 1 || detail);
}

static void validate_login(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_login_response *r = (const void *)p->bhs;
	bool transit = r->flags & ISCSI_FINAL, more = r->flags & ISCSI_CONTINUE;

	if (r->version_max || r->version_active || (transit && more))
		ini_violation(i, "Login Response with flags %02x, version %02x to %02x", r->flags,
			      r->version_active, r->version_max);
	if (!is_login_status(r->status_class, r->status_detail))
		ini_violation(i, "Login Response with status %02x%02x", r->status_class,
			      r->status_detail);
	if (r->status_class && r->flags)
		ini_violation(i, "login refused, but flags %02x", r->flags);
	if (p->length && !more && p->data[p->length - 1])
		ini_violation(i, "Login Response without NUL at its end");
}

static void validate_nop_in(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_nop *h = (const void *)p->bhs;

	if (h->flags != ISCSI_FINAL)
		ini_violation(i, "NOP-In with flags %02x", h->flags);
	if (get_be32(h->itt) == ISCSI_TAG_RESERVED ? p->length != 0
						   : get_be32(h->ttt) != ISCSI_TAG_RESERVED)
		ini_violation(i, "NOP-In with ITT %x, TTT %x and %u bytes", get_be32(h->itt),
			      get_be32(h->ttt), p->length);
}

static void validate_without_data(struct ini *i, const struct ini_pdu *p)
{
	if (p->length || p->bhs[1] != ISCSI_FINAL)
		ini_violation(i, "opcode %02x with flags %02x and %u bytes", p->bhs[0], p->bhs[1],
			      p->length);
}

static void validate_reject(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_reject *r = (const void *)p->bhs;

	if (get_be32(r->itt) != ISCSI_TAG_RESERVED || r->flags != ISCSI_FINAL)
		ini_violation(i, "Reject with ITT %x, flags %02x", get_be32(r->itt), r->flags);
	if (p->length < ISCSI_BHS_SIZE || r->reason < 2 || r->reason > 12 || r->reason == 11)
		ini_violation(i, "Reject for reason %02x with %u bytes", r->reason, p->length);
}

static void validate_async(struct ini *i, const struct ini_pdu *p)
{
	const struct bhs_async *a = (const void *)p->bhs;

	if (get_be32(a->tag) != ISCSI_TAG_RESERVED || a->flags != ISCSI_FINAL)
		ini_violation(i, "Async with tag %x, flags %02x", get_be32(a->tag), a->flags);
	/* AEN is obsolete, and vendor's events are nobody's. */
	if (a->event == ASYNC_SCSI_EVENT || a->event > ASYNC_TASK_TERMINATION ||
	    (a->event == ASYNC_TASK_TERMINATION && !i->fast_abort))
		ini_violation(i, "Async event %u", a->event);
	if (p->length)
		ini_violation(i, "Async event %u with data", a->event);
}

static void (*const rules[ISCSI_OPCODE_MASK + 1])(struct ini *i, const struct ini_pdu *p) = {
	[ISCSI_OP_NOP_IN] = validate_nop_in,
	[ISCSI_OP_SCSI_RESPONSE] = validate_response,
	[ISCSI_OP_TMF_RESPONSE] = validate_without_data,
	[ISCSI_OP_LOGIN_RESPONSE] = validate_login,
	[ISCSI_OP_TEXT_RESPONSE] = validate_text,
	[ISCSI_OP_DATA_IN] = validate_data_in,
	[ISCSI_OP_LOGOUT_RESPONSE] = validate_without_data,
	[ISCSI_OP_R2T] = validate_r2t,
	[ISCSI_OP_ASYNC] = validate_async,
	[ISCSI_OP_REJECT] = validate_reject,
};

void ini_validate(struct ini *i, const struct ini_pdu *p, const uint8_t *padding, unsigned pad)
{
	const struct bhs *h = (const void *)p->bhs;

	if (h->ahs_words)
		ini_violation(i, "opcode %02x with an AHS", h->opcode);
	if (p->length > i->max_recv)
		ini_violation(i, "opcode %02x with %u bytes of data, %u declared", h->opcode,
			      p->length, i->max_recv);
	for (unsigned n = 0; n < pad; n++) {
		if (padding[n])
			ini_violation(i, "padding is not zero");
	}
	if (h->opcode > ISCSI_OPCODE_MASK || !rules[h->opcode]) {
		ini_violation(i, "opcode %02x is not a target's", h->opcode);
		return;
	}
	if (!i->full_feature && h->opcode != ISCSI_OP_LOGIN_RESPONSE && !i->any_pdu)
		ini_violation(i, "opcode %02x during login", h->opcode);
	validate_numbers(i, h);
	validate_reserved(i, p->bhs);
	rules[h->opcode](i, p);
}
