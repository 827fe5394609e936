/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command table: one row says all there is to say about a command. Dispatch, CDB length,
 * rejection of reserved bits, access checks and REPORT SUPPORTED OPERATION CODES are read from it.
 * The zero value of each column means "not filled in" and a unit test refuses it.
 *
 * Threads: const data and pure functions.
 */
#ifndef HAWSER_SCSI_OPCODES_H
#define HAWSER_SCSI_OPCODES_H

#include "scsi/lu.h"
#include "scsi/nexus.h"
#include "scsi/task.h"

/* With what a command conflicts: the reservations of another nexus (SPC-4 table 47, SBC-3 table 13,
 * SPC-2 table 10). */
enum scsi_access {
	ACCESS_UNSET,
	ACCESS_ANY,     /* with nothing, be it RESERVE(6) */
	ACCESS_ALWAYS,  /* with RESERVE(6) only; whatever else is reserved */
	ACCESS_READ,    /* with exclusive access, too */
	ACCESS_WRITE,   /* with write exclusive, too */
	ACCESS_START,   /* START STOP UNIT: WRITE, but ALWAYS where it only starts the unit */
	ACCESS_PREVENT, /* PREVENT ALLOW MEDIUM REMOVAL: WRITE, but ANY where it allows */
	ACCESSES
};

/* The class of this CDB: ANY, ALWAYS, READ or WRITE; and the gate bits that it conflicts with. */
enum scsi_access scsi_access_class(const struct scsi_op *op, const uint8_t *cdb);
uint32_t scsi_access_conflicts(const struct scsi_op *op, const uint8_t *cdb);

/* In which access states of the target port a command can be used (SPC-4 5.15.2.4). The zero value
 * is what forbids most, so that forgetting fails closed. */
enum scsi_path {
	PATH_ACTIVE,  /* where all commands can */
	PATH_STANDBY, /* in standby, too */
	PATH_BUFFER, /* READ and WRITE BUFFER: the echo buffer in all of them, the rest as ACTIVE */
	PATH_SET,    /* SET TARGET PORT GROUPS: in all but transitioning, where it gets BUSY */
	PATH_ANY,    /* in all of them */
};

/* Bits of scsi_op.flags. */
enum scsi_op_flags {
	OP_NO_LUN =
	    1,        /* answered even where no LU is mapped: INQUIRY, REPORT LUNS, REQUEST SENSE */
	OP_NO_UA = 2, /* does not report or clear a pending unit attention */
	OP_MEDIUM = 4,      /* needs the medium: NOT READY when stopped, ejected or without store */
	OP_CHANGES = 8,     /* changes the medium: refused with 7/27/00 on a read-only LU, before
			       any field is looked at */
	OP_THIN = 16,       /* offered only on a thin LU */
	OP_REMOVABLE = 32,  /* offered only with RMB=1 */
	OP_UNMAP = 64,      /* offered only where the store can give space back */
	OP_LUN_BITS = 128,  /* bits 7..5 of byte 1 may hold a SCSI-2 LUN and are ignored (ESX) */
	OP_SHARED = 256,    /* changes what all nexuses of the LU share: refused with 7/27/00 for a
			       nexus whose LUN map is read-only; not for a read-only LU, nor with
			       SWP=1, which MODE SELECT takes back */
	OP_NONE = 512,      /* filled in, and nothing of the others */
	OP_MENDS = 2048,    /* also where a FORMAT UNIT or SANITIZE has failed */
	OP_ATOMIC = 1024,   /* offered only where the store never tears a write */
	OP_ALUA = 4096,     /* offered only where there are target port groups */
	OP_EXPLICIT = 8192, /* offered only where initiators may set their states */
};

/* All that a plan may look at. */
struct scsi_request {
	const uint8_t *cdb;
	uint16_t cdb_length;
	uint64_t lun;
	const struct lu_geometry *geo; /* of lu; NULL where no LU is mapped */
	struct scsi_lu *lu;            /* NULL where no LU is mapped */
	struct itl *itl;               /* NULL where no LU is mapped */
	struct it_nexus *nexus;
	bool read_only;  /* LU or this nexus' map */
	uint8_t *answer; /* room for SCSI_SMALL_MAX bytes, not cleared */
};

struct scsi_op {
	uint8_t opcode;
	uint8_t action;     /* service action, if has_action */
	bool has_action;    /* CDB byte 1 bits 4..0, or bytes 8-9 of a variable-length CDB */
	uint8_t cdb_length; /* bytes */
	uint8_t direction;  /* enum scsi_direction */
	uint8_t access;     /* enum scsi_access */
	uint8_t path;       /* enum scsi_path */
	uint16_t flags;     /* enum scsi_op_flags; OP_NONE if none */
	uint16_t timeout_s; /* recommended command timeout for RCTD */
	const char *name;
	struct scsi_plan (*plan)(const struct scsi_request *rq);
	/* After PLAN_COLLECT: the parameter list, whole and contiguous. */
	struct scsi_plan (*params)(const struct scsi_request *rq, const uint8_t *list,
				   size_t length);
	uint8_t usage[16]; /* CDB bits that may be set, as REPORT SUPPORTED OPERATION CODES gives
			      them; others set: 5/24/00 with the field pointer */
};

/* The row for a CDB that is offered on this LU; NULL: *ret is 5/20/00 or 5/24/00. rq->lu may be
 * NULL. Also checks cdb_length and reserved bits. */
const struct scsi_op *scsi_op_find(const struct scsi_request *rq, struct scsi_sense *ret);

/* The two halves of scsi_op_find, for who has something to ask in between (unit attentions go
 * before the look at fields). lookup: opcode and service action, whether it is offered. check:
 * OP_CHANGES on a read-only LU, OP_SHARED, length, reserved bits; false: *ret says why. */
const struct scsi_op *scsi_op_lookup(const struct scsi_request *rq, struct scsi_sense *ret);
bool scsi_op_check(const struct scsi_op *op, const struct scsi_request *rq, struct scsi_sense *ret);

/* Rows in order of opcode and service action; for RSOC and tests. */
const struct scsi_op *scsi_op_table(unsigned *ret_n);
/* The first row of an opcode, NULL: there is none; others of it follow, up to the end at most. */
const struct scsi_op *scsi_op_first(uint8_t opcode, const struct scsi_op **ret_end);
bool scsi_op_offered(const struct scsi_op *op, const struct scsi_request *rq);

/* Constructors of plans. */
static inline struct scsi_plan plan_fail(struct scsi_sense sense)
{
	return (
	    struct scsi_plan){ .kind = PLAN_FAIL, .status = SCSI_CHECK_CONDITION, .sense = sense };
}

/* length bytes are in rq->answer; the allocation length cuts what is sent. */
static inline struct scsi_plan plan_answer(size_t length, uint32_t allocation_length)
{
	return (struct scsi_plan){ .kind = PLAN_ANSWER,
				   .data_length = length < allocation_length ? (uint32_t)length
									     : allocation_length };
}

static inline struct scsi_plan plan_good(void)
{
	return (struct scsi_plan){ .kind = PLAN_ANSWER };
}

static inline struct scsi_plan plan_collect(uint32_t length)
{
	return (struct scsi_plan){ .kind = PLAN_COLLECT, .data_length = length };
}

/* Handlers, by file; each is named in exactly one row. */
struct scsi_plan spc_plan_test_unit_ready(const struct scsi_request *rq);
struct scsi_plan spc_plan_inquiry(const struct scsi_request *rq);
struct scsi_plan spc_plan_report_luns(const struct scsi_request *rq);
struct scsi_plan spc_plan_request_sense(const struct scsi_request *rq);
struct scsi_plan spc_plan_report_opcodes(const struct scsi_request *rq);
struct scsi_plan spc_plan_report_tmfs(const struct scsi_request *rq);
struct scsi_plan alua_plan_report(const struct scsi_request *rq);
struct scsi_plan alua_plan_set(const struct scsi_request *rq);
struct scsi_plan alua_params_set(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan spc_plan_send_diagnostic(const struct scsi_request *rq);
struct scsi_plan spc_params_send_diagnostic(const struct scsi_request *rq, const uint8_t *list,
					    size_t n);
struct scsi_plan spc_plan_receive_diagnostic(const struct scsi_request *rq);
struct scsi_plan spc_plan_read_buffer(const struct scsi_request *rq);
struct scsi_plan spc_plan_write_buffer(const struct scsi_request *rq);
struct scsi_plan spc_params_write_buffer(const struct scsi_request *rq, const uint8_t *list,
					 size_t n);
struct scsi_plan sbc_plan_read_defect(const struct scsi_request *rq);
struct scsi_plan media_plan_format(const struct scsi_request *rq);
struct scsi_plan media_params_format(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan media_plan_sanitize(const struct scsi_request *rq);
struct scsi_plan media_params_overwrite(const struct scsi_request *rq, const uint8_t *list,
					size_t n);
struct scsi_plan info_plan_report(const struct scsi_request *rq);
struct scsi_plan info_plan_set(const struct scsi_request *rq);
struct scsi_plan info_params_set(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan time_plan_report(const struct scsi_request *rq);
struct scsi_plan time_plan_set(const struct scsi_request *rq);
struct scsi_plan time_params_set(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan mode_plan_sense(const struct scsi_request *rq);
struct scsi_plan mode_plan_select(const struct scsi_request *rq);
struct scsi_plan mode_params_select(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan log_plan_sense(const struct scsi_request *rq);
struct scsi_plan pr_plan_in(const struct scsi_request *rq);
struct scsi_plan pr_plan_out(const struct scsi_request *rq);
struct scsi_plan pr_params_out(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan pr_plan_reserve(const struct scsi_request *rq); /* and RELEASE; 6 and 10 */
struct scsi_plan odx_plan(const struct scsi_request *rq); /* POPULATE TOKEN, WRITE USING TOKEN */
struct scsi_plan odx_params(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan odx_plan_information(const struct scsi_request *rq);
struct scsi_plan odx_plan_report(const struct scsi_request *rq);
struct scsi_plan sbc_plan_read_capacity10(const struct scsi_request *rq);
struct scsi_plan sbc_plan_read_capacity16(const struct scsi_request *rq);
struct scsi_plan sbc_plan_read(const struct scsi_request *rq);  /* 6, 10, 12, 16 */
struct scsi_plan sbc_plan_write(const struct scsi_request *rq); /* 6, 10, 12, 16 */
struct scsi_plan sbc_plan_verify(const struct scsi_request *rq);
struct scsi_plan sbc_plan_write_verify(const struct scsi_request *rq);
struct scsi_plan sbc_plan_write_same(const struct scsi_request *rq);
struct scsi_plan sbc_plan_compare_write(const struct scsi_request *rq);
struct scsi_plan sbc_plan_or_write(const struct scsi_request *rq);
struct scsi_plan sbc_plan_write_atomic(const struct scsi_request *rq);
struct scsi_plan sbc_plan_sync_cache(const struct scsi_request *rq);
struct scsi_plan sbc_plan_prefetch(const struct scsi_request *rq);
struct scsi_plan sbc_plan_unmap(const struct scsi_request *rq);
struct scsi_plan sbc_params_unmap(const struct scsi_request *rq, const uint8_t *list, size_t n);
struct scsi_plan sbc_plan_get_lba_status(const struct scsi_request *rq);
struct scsi_plan sbc_plan_start_stop(const struct scsi_request *rq);
struct scsi_plan sbc_plan_prevent_allow(const struct scsi_request *rq);

#endif
