/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Primary commands (SPC-4 6): what every kind of device answers. INQUIRY with EVPD=1 is in vpd.c,
 * mode parameters are in mode.c.
 *
 * Threads: the session's reactor. Pure but for REQUEST SENSE and REPORT LUNS, which take unit
 * attentions of their own nexus, as SAM-5 5.14 says. Ownership: answers go to rq->answer.
 */
#include "daemon/base/bytes.h"
#include "scsi/alua.h"
#include "scsi/cdb.h"
#include "scsi/media.h"
#include "scsi/opcodes.h"
#include "scsi/scsi.h"
#include "scsi/vpd.h"

#include <string.h>

#define INQUIRY_LENGTH 96

struct scsi_plan spc_plan_test_unit_ready(const struct scsi_request *rq)
{
	(void)rq;
	return plan_good(); /* what stands against it has been found by the gate (OP_MEDIUM) */
}

/* Left aligned, filled with spaces; what is not printable ASCII becomes a space (SPC-4 4.3.1). */
static void put_text(uint8_t *out, size_t size, const char *text)
{
	size_t i = 0;

	for (; i < size && text[i]; i++)
		out[i] = text[i] >= 0x20 && text[i] <= 0x7e ? (uint8_t)text[i] : ' ';
	memset(out + i, ' ', size - i);
}

static size_t inquiry_standard(const struct scsi_request *rq, uint8_t *out)
{
	const uint16_t versions[] = { 0x00a0 /* SAM-5 */, rq->nexus->transport_version,
				      0x0460 /* SPC-4 */, 0x04c0 /* SBC-3 */ };

	memset(out, 0, INQUIRY_LENGTH);
	out[0] = vpd_peripheral(rq);
	out[2] = 0x06; /* SPC-4 */
	out[3] = 0x12; /* HISUP, response data format 2 */
	out[4] = INQUIRY_LENGTH - 5;
	out[6] = 0x10; /* MULTIP: every portal group is a port */
	out[7] = 0x02; /* CMDQUE */
	if (rq->lu) {
		out[1] = rq->geo->removable ? 0x80 : 0x00;
		out[5] =
		    (uint8_t)(0x08 /* 3PC */ | (rq->nexus->alua ? rq->nexus->alua->tpgs << 4 : 0));
		put_text(out + 8, 8, rq->lu->id.vendor);
		put_text(out + 16, 16, rq->lu->id.product);
		put_text(out + 32, 4, rq->lu->id.revision);
	} else {
		put_text(out + 8, 8, "HAWSER");
		put_text(out + 16, 16, "VIRTUAL-DISK");
		put_text(out + 32, 4, "");
	}
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		put_be16(out + 58 + 2 * i, versions[i]);
	return INQUIRY_LENGTH;
}

struct scsi_plan spc_plan_inquiry(const struct scsi_request *rq)
{
	const uint8_t *cdb = rq->cdb;
	uint8_t page = cdb[offsetof(struct cdb_inquiry, page)];
	uint16_t allocation = get_be16(cdb + offsetof(struct cdb_inquiry, allocation_length));
	size_t length;

	if (cdb[1] & 0x01) { /* EVPD */
		length = vpd_page(rq, page, rq->answer);
		if (!length)
			return plan_fail(sense_invalid_field(offsetof(struct cdb_inquiry, page)));
		return plan_answer(length, allocation);
	}
	if (page)
		return plan_fail(sense_invalid_field(offsetof(struct cdb_inquiry, page)));
	return plan_answer(inquiry_standard(rq, rq->answer), allocation);
}

/* SPC-4 6.33. An inventory longer than the answer's room (8191 LUs) is cut like one longer than
 * the allocation length: LUN LIST LENGTH tells the whole. */
struct scsi_plan spc_plan_report_luns(const struct scsi_request *rq)
{
	const struct scsi_lun_map *map = rq->nexus->map;
	uint8_t select = rq->cdb[offsetof(struct cdb_report_luns, select_report)];
	uint32_t allocation =
	    get_be32(rq->cdb + offsetof(struct cdb_report_luns, allocation_length));
	uint8_t *out = rq->answer;
	size_t length = 8;
	unsigned n;

	/* 00h: no well known LUs; 01h: only these, and there are none; 02h: all. */
	if (select > 0x02)
		return plan_fail(
		    sense_invalid_field(offsetof(struct cdb_report_luns, select_report)));
	n = select == 0x01 || !map ? 0 : map->n;
	put_be32(out, n * 8);
	put_be32(out + 4, 0);
	for (unsigned i = 0; i < n && length + 8 <= SCSI_SMALL_MAX; i++, length += 8)
		scsi_lun_encode(map->entries[i].lun, out + length);

	/* SAM-5 5.14: the report clears the news of its own change, and nothing else. */
	nexus_ua_clear(rq->nexus, ASC_LUNS_CHANGED);
	return plan_answer(length, allocation);
}

/* SPC-4 6.39: what there is to say comes as data with status GOOD. */
struct scsi_plan spc_plan_request_sense(const struct scsi_request *rq)
{
	bool descriptor = rq->cdb[1] & 0x01;
	uint8_t allocation = rq->cdb[offsetof(struct cdb_request_sense, allocation_length)];
	struct scsi_sense sense;
	uint16_t asc_ascq;

	if (!rq->lu)
		sense = sense_lun_not_supported();
	else if (itl_ua_take(rq->itl, &asc_ascq))
		sense = sense_unit_attention(asc_ascq);
	else
		sense = media_not_ready(rq->lu);
	return plan_answer(sense_encode(&sense, descriptor, rq->answer), allocation);
}

/* Command timeouts descriptor (SPC-4 6.35.4). */
static size_t put_timeouts(const struct scsi_op *op, uint8_t *out)
{
	memset(out, 0, 12);
	put_be16(out, 0x000a);
	put_be32(out + 4, 1);             /* nominal, seconds */
	put_be32(out + 8, op->timeout_s); /* recommended */
	return 12;
}

static size_t report_all_opcodes(const struct scsi_request *rq, bool timeouts, uint8_t *out)
{
	unsigned n;
	const struct scsi_op *op = scsi_op_table(&n);
	size_t length = 4;

	for (; n; n--, op++) {
		uint8_t *d = out + length;

		if (!scsi_op_offered(op, rq))
			continue;
		memset(d, 0, 8);
		d[0] = op->opcode;
		put_be16(d + 2, op->has_action ? op->action : 0);
		d[5] = (uint8_t)((timeouts ? 0x02 : 0) | (op->has_action ? 0x01 : 0));
		put_be16(d + 6, op->cdb_length);
		length += 8;
		if (timeouts)
			length += put_timeouts(op, out + length);
	}
	put_be32(out, (uint32_t)(length - 4));
	return length;
}

/* One command, or, op being NULL, that it is not supported (SPC-4 6.35.3). */
static size_t report_one_opcode(const struct scsi_op *op, bool timeouts, uint8_t *out)
{
	size_t length = 4;

	memset(out, 0, length);
	if (!op) {
		out[1] = 0x01;
		return length;
	}
	out[1] = (uint8_t)(0x03 | (timeouts ? 0x80 : 0));
	put_be16(out + 2, op->cdb_length);
	memcpy(out + length, op->usage, op->cdb_length);
	length += op->cdb_length;
	if (timeouts)
		length += put_timeouts(op, out + length);
	return length;
}

/* The row asked for; *ret_actions: the opcode has service actions. */
static const struct scsi_op *find_requested(const struct scsi_request *rq, uint8_t opcode,
					    uint16_t action, bool *ret_actions)
{
	unsigned n;
	const struct scsi_op *op = scsi_op_table(&n), *found = NULL;

	*ret_actions = false;
	for (; n; n--, op++) {
		if (op->opcode != opcode || !scsi_op_offered(op, rq))
			continue;
		*ret_actions = op->has_action;
		if (!op->has_action || op->action == action)
			found = op;
	}
	return found;
}

struct scsi_plan spc_plan_report_opcodes(const struct scsi_request *rq)
{
	const uint8_t *cdb = rq->cdb;
	bool timeouts = cdb[2] & 0x80; /* RCTD */
	uint8_t option = cdb[2] & 0x07;
	uint8_t opcode = cdb[offsetof(struct cdb_report_opcodes, requested_opcode)];
	uint16_t action = get_be16(cdb + offsetof(struct cdb_report_opcodes, requested_action));
	uint32_t allocation =
	    get_be32(cdb + offsetof(struct cdb_report_opcodes, allocation_length));
	const uint16_t opcode_field = offsetof(struct cdb_report_opcodes, requested_opcode);
	const struct scsi_op *op;
	bool actions;

	if (option == 0)
		return plan_answer(report_all_opcodes(rq, timeouts, rq->answer), allocation);
	if (option > 3)
		return plan_fail(sense_invalid_field_bit(2, 2));
	op = find_requested(rq, opcode, action, &actions);
	if (option == 1 && actions)
		return plan_fail(sense_invalid_field(opcode_field));
	/* An opcode that is not there at all has no service actions to find fault with. */
	if (option == 2 && op && !actions)
		return plan_fail(sense_invalid_field(opcode_field));
	if (option == 3 && op && !actions && action)
		op = NULL;
	return plan_answer(report_one_opcode(op, timeouts, rq->answer), allocation);
}

/* SPC-4 6.36: what scsi/tmf.c carries out. */
struct scsi_plan spc_plan_report_tmfs(const struct scsi_request *rq)
{
	uint8_t *out = rq->answer;
	bool extended = rq->cdb[offsetof(struct cdb_report_tmfs, repd)] & 0x80;
	uint32_t allocation =
	    get_be32(rq->cdb + offsetof(struct cdb_report_tmfs, allocation_length));

	memset(out, 0, 16);
	out[0] = 0xda; /* ATS, ATSS, CTSS, LURS, TRS */
	if (rq->nexus->has_queries) {
		out[0] |= 0x04; /* QTS */
		out[1] = 0x07;  /* QAES, QTSS, ITNRS */
	}
	if (!extended)
		return plan_answer(4, allocation);
	out[3] = 16 - 4;
	out[4] = 0x01;          /* TMFTMOV: the timeouts are valid */
	out[6] = 0x1a;          /* CTSTS, LURTS, TRTS: the long one, the others the short one */
	put_be32(out + 8, 150); /* long, in 100 ms: resets wait up to 10 s for writes to end */
	put_be32(out + 12, 50); /* short */
	return plan_answer(16, allocation);
}
