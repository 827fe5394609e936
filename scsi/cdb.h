/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts of CDBs and parameter data: byte arrays in wire order, so that no field can be used
 * without a swap and offsetof gives the field pointer of an error.
 *
 * Threads: types only. Ownership: none.
 */
#ifndef HAWSER_SCSI_CDB_H
#define HAWSER_SCSI_CDB_H

#include <stdint.h>

/* READ, WRITE, VERIFY, WRITE AND VERIFY, WRITE SAME, PRE-FETCH and SYNCHRONIZE CACHE share these
 * four shapes (SBC-3 5). */
struct cdb_rw6 {
	uint8_t opcode, lba[3]; /* 21 bits */
	uint8_t length;         /* 0: 256 */
	uint8_t control;
};
_Static_assert(sizeof(struct cdb_rw6) == 6, "6-byte CDB");

struct cdb_rw10 {
	uint8_t opcode, flags, lba[4], group, length[2], control;
};
_Static_assert(sizeof(struct cdb_rw10) == 10, "10-byte CDB");

struct cdb_rw12 {
	uint8_t opcode, flags, lba[4], length[4], group, control;
};
_Static_assert(sizeof(struct cdb_rw12) == 12, "12-byte CDB");

struct cdb_rw16 {
	uint8_t opcode, flags, lba[8], length[4], group, control;
};
_Static_assert(sizeof(struct cdb_rw16) == 16, "16-byte CDB");

struct cdb_compare_write {
	uint8_t opcode, flags, lba[8], reserved[3], blocks, group, control;
};
_Static_assert(sizeof(struct cdb_compare_write) == 16, "SBC-3 5.2");

struct cdb_write_atomic {
	uint8_t opcode, flags, lba[8], boundary[2], length[2], group, control;
};
_Static_assert(sizeof(struct cdb_write_atomic) == 16, "SBC-4 5.48");

/* Bits of byte 1. */
enum cdb_flags {
	CDB_DPO = 0x10,
	CDB_FUA = 0x08,
	CDB_BYTCHK = 0x06,
	CDB_BYTCHK_SHIFT = 1,
	CDB_WS_UNMAP = 0x08, /* WRITE SAME */
	CDB_WS_NDOB = 0x01,  /* WRITE SAME(16) */
	CDB_IMMED = 0x02,    /* SYNCHRONIZE CACHE, PRE-FETCH */
};

struct cdb_inquiry {
	uint8_t opcode, flags, page, allocation_length[2], control;
};
_Static_assert(sizeof(struct cdb_inquiry) == 6, "SPC-4 6.6");

struct cdb_request_sense {
	uint8_t opcode, flags, reserved[2], allocation_length, control;
};
_Static_assert(sizeof(struct cdb_request_sense) == 6, "SPC-4 6.39");

struct cdb_report_luns {
	uint8_t opcode, reserved, select_report, reserved2[3], allocation_length[4], reserved3;
	uint8_t control;
};
_Static_assert(sizeof(struct cdb_report_luns) == 12, "SPC-4 6.33");

struct cdb_report_opcodes {
	uint8_t opcode, service_action, options, requested_opcode, requested_action[2];
	uint8_t allocation_length[4], reserved, control;
};
_Static_assert(sizeof(struct cdb_report_opcodes) == 12, "SPC-4 6.35");

struct cdb_target_port_groups {
	uint8_t opcode, service_action, reserved[4], length[4], reserved2, control;
};
_Static_assert(sizeof(struct cdb_target_port_groups) == 12, "SPC-4 6.37 and 6.45");

/* Of REPORT TARGET PORT GROUPS; ports follow. */
struct target_port_group {
	uint8_t state, supported, id[2], reserved, status, vendor, ports;
};
_Static_assert(sizeof(struct target_port_group) == 8, "SPC-4 6.37");

struct target_port {
	uint8_t reserved[2], relative[2];
};
_Static_assert(sizeof(struct target_port) == 4, "SPC-4 6.37");

/* Of SET TARGET PORT GROUPS, behind 4 reserved bytes. */
struct set_target_port_group {
	uint8_t state, reserved, id[2];
};
_Static_assert(sizeof(struct set_target_port_group) == 4, "SPC-4 6.45");

struct cdb_report_tmfs {
	uint8_t opcode, service_action, repd, reserved[3], allocation_length[4], reserved2;
	uint8_t control;
};
_Static_assert(sizeof(struct cdb_report_tmfs) == 12, "SPC-4 6.36");

/* REPORT and SET IDENTIFYING INFORMATION, and, without a type, TIMESTAMP. */
struct cdb_information {
	uint8_t opcode, service_action, reserved[2], restricted[2], length[4], type, control;
};
_Static_assert(sizeof(struct cdb_information) == 12, "SPC-4 6.32, 6.37, 6.43, 6.46");

struct cdb_mode_sense6 {
	uint8_t opcode, flags, page, subpage, allocation_length, control;
};
_Static_assert(sizeof(struct cdb_mode_sense6) == 6, "SPC-4 6.13");

struct cdb_mode_sense10 {
	uint8_t opcode, flags, page, subpage, reserved[3], allocation_length[2], control;
};
_Static_assert(sizeof(struct cdb_mode_sense10) == 10, "SPC-4 6.14");

struct cdb_mode_select6 {
	uint8_t opcode, flags, reserved[2], list_length, control;
};
_Static_assert(sizeof(struct cdb_mode_select6) == 6, "SPC-4 6.11");

struct cdb_mode_select10 {
	uint8_t opcode, flags, reserved[5], list_length[2], control;
};
_Static_assert(sizeof(struct cdb_mode_select10) == 10, "SPC-4 6.12");

struct cdb_log_sense {
	uint8_t opcode, flags, page, subpage, reserved, parameter_pointer[2], allocation_length[2];
	uint8_t control;
};
_Static_assert(sizeof(struct cdb_log_sense) == 10, "SPC-4 6.7");

struct cdb_read_capacity16 {
	uint8_t opcode, service_action, lba[8], allocation_length[4], reserved, control;
};
_Static_assert(sizeof(struct cdb_read_capacity16) == 16, "SBC-3 5.17");

struct cdb_get_lba_status {
	uint8_t opcode, service_action, lba[8], allocation_length[4], reserved, control;
};
_Static_assert(sizeof(struct cdb_get_lba_status) == 16, "SBC-3 5.5");

struct cdb_unmap {
	uint8_t opcode, flags, reserved[4], group, list_length[2], control;
};
_Static_assert(sizeof(struct cdb_unmap) == 10, "SBC-3 5.33");

struct unmap_header {
	uint8_t data_length[2], descriptors_length[2], reserved[4];
};
_Static_assert(sizeof(struct unmap_header) == 8, "SBC-3 5.33.2");

struct unmap_descriptor {
	uint8_t lba[8], blocks[4], reserved[4];
};
_Static_assert(sizeof(struct unmap_descriptor) == 16, "SBC-3 5.33.2");

struct cdb_start_stop {
	uint8_t opcode, immed, reserved, modifier, power, control;
};
_Static_assert(sizeof(struct cdb_start_stop) == 6, "SBC-3 5.31");

enum start_stop_flags {
	START_STOP_START = 0x01,
	START_STOP_LOEJ = 0x02,
	START_STOP_NO_FLUSH = 0x04,
	START_STOP_CONDITION_SHIFT = 4,
};

struct cdb_diagnostic {
	uint8_t opcode, flags, page, length[2], control;
};
_Static_assert(sizeof(struct cdb_diagnostic) == 6, "SPC-4 6.42 and 6.26");

struct cdb_buffer {
	uint8_t opcode, mode, id, offset[3], length[3], control;
};
_Static_assert(sizeof(struct cdb_buffer) == 10, "SPC-4 6.20 and 6.49");

struct cdb_sanitize {
	uint8_t opcode, flags, reserved[5], length[2], control;
};
_Static_assert(sizeof(struct cdb_sanitize) == 10, "SBC-3 5.28");

/* POPULATE TOKEN and WRITE USING TOKEN, SBC-3 5.11 and 5.46. */
struct cdb_token_out {
	uint8_t opcode, action, reserved[4], list_id[4], list_length[4], group, control;
};
_Static_assert(sizeof(struct cdb_token_out) == 16, "SBC-3 5.11");

/* RECEIVE ROD TOKEN INFORMATION and its relatives with a list identifier of 4 bytes; REPORT ALL ROD
 * TOKENS, which has none. */
struct cdb_copy_in {
	uint8_t opcode, action, list_id[4], reserved[4], allocation_length[4], reserved2, control;
};
_Static_assert(sizeof(struct cdb_copy_in) == 16, "SPC-4 6.28");

struct cdb_prevent_allow {
	uint8_t opcode, reserved[3], prevent, control;
};
_Static_assert(sizeof(struct cdb_prevent_allow) == 6, "SBC-3 5.15");

#endif
