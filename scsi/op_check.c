/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a CDB to its row of the command table, and against it: whether it is offered, what it
 * conflicts with, its length, its bits.
 *
 * Threads: pure functions. Ownership: none.
 */
#include "scsi/alua.h"
#include "scsi/opcodes.h"

#include <string.h>

enum scsi_access scsi_access_class(const struct scsi_op *op, const uint8_t *cdb)
{
	switch ((enum scsi_access)op->access) {
	case ACCESS_START: /* START=1 with POWER CONDITION 0 (SBC-3 table 13) */
		return (cdb[4] & 0xf1) == 0x01 ? ACCESS_ALWAYS : ACCESS_WRITE;
	case ACCESS_PREVENT:
		return cdb[4] & 0x03 ? ACCESS_WRITE : ACCESS_ANY;
	default:
		return op->access;
	}
}

uint32_t scsi_access_conflicts(const struct scsi_op *op, const uint8_t *cdb)
{
	static const uint32_t conflicts[ACCESSES] = {
		[ACCESS_ALWAYS] = GATE_RESERVED,
		[ACCESS_READ] = GATE_RESERVED | GATE_NO_READ,
		[ACCESS_WRITE] = GATE_RESERVED | GATE_NO_READ | GATE_NO_WRITE,
	};

	return conflicts[scsi_access_class(op, cdb)];
}

/* Points at the first bit that may not be set; false: it lies beyond this CDB. */
static bool reserved_bit(const struct scsi_op *op, const uint8_t *cdb, struct scsi_sense *ret)
{
	for (uint16_t i = 1; i < op->cdb_length; i++) {
		unsigned bad = cdb[i] & ~(unsigned)op->usage[i];

		if (i == 1 && (op->flags & OP_LUN_BITS))
			bad &= 0x1f;
		if (!bad)
			continue;
		/* SPC-4 4.5.2.4.2: the leftmost bit of the field in error. */
		*ret = sense_invalid_field_bit(i, (uint8_t)(31 - __builtin_clz(bad)));
		return true;
	}
	return false;
}

bool scsi_op_check(const struct scsi_op *op, const struct scsi_request *rq, struct scsi_sense *ret)
{
	uint64_t cdb[2], usage[2];

	if (((op->flags & OP_CHANGES) && rq->read_only) ||
	    ((op->flags & OP_SHARED) && rq->itl && rq->itl->read_only)) {
		*ret = sense_write_protected();
		return false;
	}
	if (rq->cdb_length < op->cdb_length) {
		*ret = sense_make(SENSE_ILLEGAL_REQUEST, 0x2400);
		return false;
	}
	/* Two words hold every CDB of the table (16 bytes are always there); only what has a bit
	 * too many, be it behind the end of a shorter CDB, is looked at byte by byte. */
	memcpy(cdb, rq->cdb, sizeof(cdb));
	memcpy(usage, op->usage, sizeof(usage));
	if (!((cdb[0] & ~usage[0]) | (cdb[1] & ~usage[1])))
		return true;
	return !reserved_bit(op, rq->cdb, ret);
}

/* Who changes the states of target port groups: bits of enum alua_tpgs. */
static unsigned tpgs_of(const struct scsi_request *rq)
{
	return rq->nexus->alua ? rq->nexus->alua->tpgs : ALUA_NONE;
}

bool scsi_op_offered(const struct scsi_op *op, const struct scsi_request *rq)
{
	const unsigned conditional =
	    OP_THIN | OP_UNMAP | OP_REMOVABLE | OP_ATOMIC | OP_ALUA | OP_EXPLICIT;
	const struct lu_geometry *geo = rq->geo;

	if (!(op->flags & conditional) || !geo)
		return true;
	if ((op->flags & OP_ALUA) && !tpgs_of(rq))
		return false;
	if ((op->flags & OP_EXPLICIT) && !(tpgs_of(rq) & ALUA_EXPLICIT))
		return false;
	if ((op->flags & OP_THIN) && !geo->thin)
		return false;
	if ((op->flags & OP_UNMAP) && !geo->unmap_granularity)
		return false;
	if ((op->flags & OP_ATOMIC) && !geo->max_atomic)
		return false;
	return !(op->flags & OP_REMOVABLE) || geo->removable;
}

const struct scsi_op *scsi_op_lookup(const struct scsi_request *rq, struct scsi_sense *ret)
{
	uint8_t opcode = rq->cdb[0];
	const struct scsi_op *end, *op = scsi_op_first(opcode, &end);
	bool any = false;

	if (!op) {
		*ret = sense_invalid_opcode();
		return NULL;
	}
	for (; op < end && op->opcode == opcode; op++) {
		if (!scsi_op_offered(op, rq))
			continue;
		if (!op->has_action || op->action == (rq->cdb[1] & 0x1f))
			return op;
		any = true;
	}
	/* SPC-4 4.2: an opcode with other service actions is there, so the field is at fault. */
	*ret = any ? sense_invalid_field_bit(1, 4) : sense_invalid_opcode();
	return NULL;
}

const struct scsi_op *scsi_op_find(const struct scsi_request *rq, struct scsi_sense *ret)
{
	const struct scsi_op *op = scsi_op_lookup(rq, ret);

	return op && scsi_op_check(op, rq, ret) ? op : NULL;
}
