/* SPDX-License-Identifier: BSD-2-Clause */
/* Login and whole SCSI commands of the test initiator. */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_KEYS                                                                                 \
	"HeaderDigest=None\nDataDigest=None\nInitialR2T=No\nImmediateData=Yes\n"                   \
	"MaxBurstLength=262144\nFirstBurstLength=65536\nMaxOutstandingR2T=1\n"                     \
	"MaxRecvDataSegmentLength=262144\nErrorRecoveryLevel=0\nMaxConnections=1\n"                \
	"DefaultTime2Wait=2\nDefaultTime2Retain=0\nDataPDUInOrder=Yes\nDataSequenceInOrder=Yes"

static void take_number(const struct ini_pdu *p, const char *key, uint32_t *to)
{
	const char *v = ini_value(p, key);

	if (v)
		*to = (uint32_t)strtoul(v, NULL, 0);
}

static void take_bool(const struct ini_pdu *p, const char *key, bool *to)
{
	const char *v = ini_value(p, key);

	if (v)
		*to = !strcmp(v, "Yes");
}

static void take_answers(struct ini *i, const struct ini_pdu *p)
{
	const char *v;

	take_number(p, "MaxRecvDataSegmentLength", &i->max_send);
	take_number(p, "MaxBurstLength", &i->max_burst);
	take_number(p, "FirstBurstLength", &i->first_burst);
	take_number(p, "MaxOutstandingR2T", &i->max_r2t);
	v = ini_value(p, "ErrorRecoveryLevel");
	i->recovery = v ? *v == '1' : i->recovery;
	take_bool(p, "InitialR2T", &i->initial_r2t);
	v = ini_value(p, "TaskReporting");
	i->fast_abort = v ? !strcmp(v, "FastAbort") : i->fast_abort;
	take_bool(p, "ImmediateData", &i->immediate_data);
}

static bool is_crc(const struct ini_pdu *p, const char *key)
{
	const char *v = ini_value(p, key);

	return v && !strcmp(v, "CRC32C");
}

/* One request and its response. Status, or a negative errno. */
static int exchange(struct ini *i, struct bhs_login_request *h, const uint8_t *text,
		    uint32_t length, struct ini_pdu *answer)
{
	const struct bhs_login_response *r = (const void *)answer->bhs;
	int rc = ini_send(i, (uint8_t *)h, text, length);

	if (rc)
		return rc;
	rc = ini_receive(i, answer, INI_WAIT_MS);
	if (rc != 1)
		return rc ? rc : -ETIMEDOUT;
	if ((r->opcode & ISCSI_OPCODE_MASK) != ISCSI_OP_LOGIN_RESPONSE) {
		ini_pdu_free(answer);
		return -EPROTO;
	}
	take_answers(i, answer);
	return r->status_class << 8 | r->status_detail;
}

/* The declaration counts for what the target sends from now on. */
static void declare(struct ini *i, const char *keys)
{
	const char *v = strstr(keys, "MaxRecvDataSegmentLength=");

	if (v)
		i->max_recv = (uint32_t)strtoul(v + strlen("MaxRecvDataSegmentLength="), NULL, 0);
}

/* A target that offers keys of its own (tgtd does) wants one more round before it lets us through;
 * what it offers is taken. */
static int press_on(struct ini *i, int rc, struct ini_pdu *p)
{
	struct bhs_login_request h;

	for (int round = 0; !rc && round < 4 && !(p->bhs[1] & ISCSI_FINAL); round++) {
		ini_pdu_free(p);
		ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
		rc = exchange(i, &h, NULL, 0, p);
	}
	return rc;
}

int ini_login(struct ini *i, const struct ini_login *l, struct ini_pdu *last)
{
	const char *keys = l->keys ? l->keys : USUAL_KEYS;
	const char *name = l->initiator ? l->initiator : "iqn.2004-01.example:test";
	struct bhs_login_request h;
	uint8_t text[8192];
	char lines[8192];
	struct ini_pdu p;
	bool header = false, data = false;
	int csg = l->security ? STAGE_SECURITY : STAGE_OPERATIONAL, rc;

	i->recovery = false;
	snprintf(lines, sizeof(lines), "InitiatorName=%s\nSessionType=%s%s%s\n%s%s", name,
		 l->target ? "Normal" : "Discovery", l->target ? "\nTargetName=" : "",
		 l->target ? l->target : "", l->security ? "AuthMethod=None\n" : "",
		 l->security ? "" : keys);
	ini_login_header(i, &h, csg, l->security ? STAGE_OPERATIONAL : STAGE_FULL_FEATURE, true);
	rc = exchange(i, &h, text, ini_pairs(lines, text, sizeof(text)), &p);
	if (!rc && l->security) {
		ini_pdu_free(&p);
		ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
		rc = exchange(i, &h, text, ini_pairs(keys, text, sizeof(text)), &p);
	}
	rc = press_on(i, rc, &p);
	if (rc < 0)
		return rc;
	header = is_crc(&p, "HeaderDigest");
	data = is_crc(&p, "DataDigest");
	if (!rc) {
		const struct bhs_login_response *r = (const void *)p.bhs;

		i->tsih = get_be16(r->tsih);
		i->full_feature = true;
		i->header_digest = header;
		i->data_digest = data;
		i->itt++;
		declare(i, keys);
	}
	if (last)
		*last = p;
	else
		ini_pdu_free(&p);
	return rc;
}

/* Unsolicited Data-Out after the immediate data, up to FirstBurstLength. */
static int send_unsolicited(struct ini *i, const struct ini_scsi *c, uint32_t from, uint32_t to)
{
	uint32_t sn = 0;

	while (from < to) {
		uint32_t n = to - from < i->max_send ? to - from : i->max_send;
		struct bhs_data_out d = { .opcode = ISCSI_OP_DATA_OUT };
		int rc;

		d.flags = from + n == to ? ISCSI_FINAL : 0;
		put_be32(d.itt, c->itt);
		put_be32(d.ttt, ISCSI_TAG_RESERVED);
		put_be32(d.exp_statsn, ini_ack(i));
		put_be32(d.datasn, sn++);
		put_be32(d.buffer_offset, from);
		rc = ini_send(i, (uint8_t *)&d, (const uint8_t *)c->out + from, n);
		if (rc)
			return rc;
		from += n;
	}
	return 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int ini_scsi_start(struct ini *i, struct ini_scsi *c)
{
	uint8_t flags = (uint8_t)((c->out ? ISCSI_CMD_WRITE : 0) | (c->in ? ISCSI_CMD_READ : 0));
	uint32_t immediate = 0, unsolicited = 0;
	struct bhs_scsi_command h;
	int rc;

	ini_command(i, &h, c->lun, flags, c->edtl, c->cdb, c->cdb_length ? c->cdb_length : 16);
	c->itt = get_be32(h.itt);
	if (c->attribute)
		h.flags = (uint8_t)((h.flags & ~ISCSI_CMD_ATTR_MASK) | c->attribute);
	if (c->immediate) {
		h.opcode |= ISCSI_IMMEDIATE;
		i->cmdsn--;
	}
	if (c->out && i->immediate_data)
		immediate = least(least(c->edtl, i->first_burst), i->max_send);
	if (c->out && !i->initial_r2t)
		unsolicited = least(c->edtl, i->first_burst);
	if (unsolicited > immediate)
		h.flags &= (uint8_t)~ISCSI_FINAL;
	rc = ini_send(i, (uint8_t *)&h, c->out, immediate);
	if (!rc && unsolicited > immediate)
		rc = send_unsolicited(i, c, immediate, unsolicited);
	return rc;
}

int ini_answer_r2t(struct ini *i, const struct ini_pdu *r2t, const uint8_t *data, uint32_t chunk)
{
	const struct bhs_r2t *r = (const void *)r2t->bhs;
	uint32_t offset = get_be32(r->buffer_offset), left = get_be32(r->desired_length), sn = 0;

	if (!chunk || chunk > i->max_send)
		chunk = i->max_send;
	while (left) {
		uint32_t n = least(left, chunk);
		struct bhs_data_out d = { .opcode = ISCSI_OP_DATA_OUT };
		int rc;

		d.flags = n == left ? ISCSI_FINAL : 0;
		memcpy(d.lun, r->lun, sizeof(d.lun));
		memcpy(d.itt, r->itt, sizeof(d.itt));
		memcpy(d.ttt, r->ttt, sizeof(d.ttt));
		put_be32(d.exp_statsn, ini_ack(i));
		put_be32(d.datasn, sn++);
		put_be32(d.buffer_offset, offset);
		rc = ini_send(i, (uint8_t *)&d, data + offset, n);
		if (rc)
			return rc;
		offset += n;
		left -= n;
	}
	return 0;
}

static void take_response(struct ini_scsi *c, const struct ini_pdu *p)
{
	const struct bhs_scsi_response *r = (const void *)p->bhs;

	c->response = r->response;
	c->status = r->status;
	c->flags = r->flags;
	c->residual = get_be32(r->residual);
	if (p->length > 2) {
		c->sense_length = least(get_be16(p->data), least(p->length - 2, sizeof(c->sense)));
		memcpy(c->sense, p->data + 2, c->sense_length);
	}
}

/* 0: goes on; 1: the status is there; negative: broken. */
static int take_data_in(struct ini_scsi *c, const struct ini_pdu *p)
{
	const struct bhs_data_in *d = (const void *)p->bhs;
	uint32_t offset = get_be32(d->buffer_offset);

	if (get_be32(d->datasn) != c->n_data_in || offset != c->received || !c->in ||
	    offset > c->edtl || p->length > c->edtl - offset)
		return -EPROTO;
	memcpy((uint8_t *)c->in + offset, p->data, p->length);
	c->received += p->length;
	c->n_data_in++;
	if (!(d->flags & ISCSI_DATA_IN_STATUS))
		return 0;
	c->status = d->status;
	c->flags = d->flags;
	c->residual = get_be32(d->residual);
	return 1;
}

int ini_scsi_take(struct ini *i, struct ini_scsi *c, const struct ini_pdu *p)
{
	const struct bhs *h = (const void *)p->bhs;
	int rc;

	if ((h->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_REJECT) {
		c->response = h->specific[0];
		return -EBADMSG;
	}
	if (get_be32(h->itt) != c->itt)
		return 0; /* a ping or an event */
	switch (h->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_DATA_IN:
		return take_data_in(c, p);
	case ISCSI_OP_R2T:
		c->n_r2t++;
		rc = ini_answer_r2t(i, p, c->out, 0);
		return rc;
	case ISCSI_OP_SCSI_RESPONSE:
		take_response(c, p);
		return 1;
	default:
		return -EPROTO;
	}
}

int ini_scsi_finish(struct ini *i, struct ini_scsi *c)
{
	for (;;) {
		struct ini_pdu p;
		int rc = ini_receive(i, &p, INI_WAIT_MS);

		if (rc != 1)
			return rc ? rc : -ETIMEDOUT;
		rc = ini_scsi_take(i, c, &p);
		ini_pdu_free(&p);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

int ini_scsi(struct ini *i, struct ini_scsi *c)
{
	int rc = ini_scsi_start(i, c);

	return rc ? rc : ini_scsi_finish(i, c);
}

uint32_t ini_sense(const struct ini_scsi *c)
{
	const uint8_t *s = c->sense;

	if (c->sense_length < 8)
		return 0;
	if ((s[0] & 0x7f) >= 0x72)
		return (uint32_t)((s[1] & 15) << 16 | s[2] << 8 | s[3]);
	return c->sense_length < 14 ? 0 : (uint32_t)((s[2] & 15) << 16 | s[12] << 8 | s[13]);
}
