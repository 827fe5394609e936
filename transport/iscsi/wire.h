/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PDUs of RFC 7143 section 11 as they stand on the wire: basic header segments of byte arrays,
 * flags, reasons and status codes. Nothing here depends on the rest of hawser but bytes.h.
 *
 * Threads: none. Ownership: none.
 */
#ifndef HAWSER_ISCSI_WIRE_H
#define HAWSER_ISCSI_WIRE_H

#include <stdint.h>

#define ISCSI_BHS_SIZE     48
#define ISCSI_AHS_MAX      1020 /* TotalAHSLength counts words in one byte */
#define ISCSI_DIGEST_SIZE  4
#define ISCSI_NAME_MAX     223 /* RFC 7143 4.2.7.1, bytes */
#define ISCSI_TAG_RESERVED 0xffffffffu
#define ISCSI_TEXT_DEFAULT 8192u /* MaxRecvDataSegmentLength before it is negotiated */
#define ISCSI_DEFAULT_PORT 3260

enum iscsi_opcode {
	ISCSI_OP_NOP_OUT = 0x00,
	ISCSI_OP_SCSI_COMMAND = 0x01,
	ISCSI_OP_TMF_REQUEST = 0x02,
	ISCSI_OP_LOGIN_REQUEST = 0x03,
	ISCSI_OP_TEXT_REQUEST = 0x04,
	ISCSI_OP_DATA_OUT = 0x05,
	ISCSI_OP_LOGOUT_REQUEST = 0x06,
	ISCSI_OP_SNACK = 0x10,
	ISCSI_OP_NOP_IN = 0x20,
	ISCSI_OP_SCSI_RESPONSE = 0x21,
	ISCSI_OP_TMF_RESPONSE = 0x22,
	ISCSI_OP_LOGIN_RESPONSE = 0x23,
	ISCSI_OP_TEXT_RESPONSE = 0x24,
	ISCSI_OP_DATA_IN = 0x25,
	ISCSI_OP_LOGOUT_RESPONSE = 0x26,
	ISCSI_OP_R2T = 0x31,
	ISCSI_OP_ASYNC = 0x32,
	ISCSI_OP_REJECT = 0x3f,
};

#define ISCSI_OPCODE_MASK 0x3f
#define ISCSI_IMMEDIATE   0x40 /* in byte 0 of requests */
#define ISCSI_FINAL       0x80 /* byte 1: F; in login: T */
#define ISCSI_CONTINUE    0x40 /* byte 1 of text and login: C */

/* SCSI Command, byte 1 (11.3.1) */
#define ISCSI_CMD_READ      0x40
#define ISCSI_CMD_WRITE     0x20
#define ISCSI_CMD_ATTR_MASK 0x07

/* SCSI Response and Data-In, byte 1 (11.4.1, 11.7.1) */
#define ISCSI_RSP_BIDI_OVERFLOW  0x10
#define ISCSI_RSP_BIDI_UNDERFLOW 0x08
#define ISCSI_RSP_OVERFLOW       0x04
#define ISCSI_RSP_UNDERFLOW      0x02
#define ISCSI_DATA_IN_ACK        0x40
#define ISCSI_DATA_IN_STATUS     0x01

enum iscsi_response {
	ISCSI_RSP_COMPLETED = 0x00,
	ISCSI_RSP_TARGET_FAILURE = 0x01,
};

/* Login, byte 1 (11.12) */
#define ISCSI_LOGIN_CSG(flags) (((flags) >> 2) & 3)
#define ISCSI_LOGIN_NSG(flags) ((flags)&3)
enum iscsi_stage {
	STAGE_SECURITY = 0,
	STAGE_OPERATIONAL = 1,
	STAGE_RESERVED = 2,
	STAGE_FULL_FEATURE = 3
};

/* Status-Class << 8 | Status-Detail (11.13.5) */
enum iscsi_login_status {
	LOGIN_SUCCESS = 0x0000,
	LOGIN_MOVED_TEMPORARILY = 0x0101,
	LOGIN_MOVED_PERMANENTLY = 0x0102,
	LOGIN_INITIATOR_ERROR = 0x0200,
	LOGIN_AUTHENTICATION_FAILURE = 0x0201,
	LOGIN_AUTHORIZATION_FAILURE = 0x0202,
	LOGIN_NOT_FOUND = 0x0203,
	LOGIN_TARGET_REMOVED = 0x0204,
	LOGIN_UNSUPPORTED_VERSION = 0x0205,
	LOGIN_TOO_MANY_CONNECTIONS = 0x0206,
	LOGIN_MISSING_PARAMETER = 0x0207,
	LOGIN_CANNOT_INCLUDE = 0x0208,
	LOGIN_SESSION_TYPE = 0x0209,
	LOGIN_NO_SESSION = 0x020a,
	LOGIN_INVALID_REQUEST = 0x020b,
	LOGIN_TARGET_ERROR = 0x0300,
	LOGIN_UNAVAILABLE = 0x0301,
	LOGIN_OUT_OF_RESOURCES = 0x0302,
};

/* Reject reasons (11.17.1) */
enum iscsi_reject {
	REJECT_NONE = 0,
	REJECT_DATA_DIGEST = 0x02,
	REJECT_SNACK = 0x03,
	REJECT_PROTOCOL_ERROR = 0x04,
	REJECT_NOT_SUPPORTED = 0x05,
	REJECT_IMMEDIATE = 0x06,
	REJECT_TASK_IN_PROGRESS = 0x07,
	REJECT_INVALID_DATA_ACK = 0x08,
	REJECT_INVALID_PDU_FIELD = 0x09,
	REJECT_OUT_OF_RESOURCES = 0x0a,
	REJECT_NEGOTIATION_RESET = 0x0b,
	REJECT_WAITING_FOR_LOGOUT = 0x0c,
};

/* Task management functions and responses (11.5.1, 11.6.1) */
enum iscsi_tmf {
	ISCSI_TMF_ABORT_TASK = 1,
	ISCSI_TMF_ABORT_TASK_SET = 2,
	ISCSI_TMF_CLEAR_ACA = 3,
	ISCSI_TMF_CLEAR_TASK_SET = 4,
	ISCSI_TMF_LU_RESET = 5,
	ISCSI_TMF_WARM_RESET = 6,
	ISCSI_TMF_COLD_RESET = 7,
	ISCSI_TMF_TASK_REASSIGN = 8,
	ISCSI_TMF_QUERY_TASK = 9, /* from here on RFC 7144 6.1 */
	ISCSI_TMF_QUERY_TASK_SET = 10,
	ISCSI_TMF_NEXUS_RESET = 11,
	ISCSI_TMF_QUERY_ASYNC_EVENT = 12,
};
enum iscsi_tmf_response {
	ISCSI_TMF_RSP_COMPLETE = 0,
	ISCSI_TMF_RSP_NO_TASK = 1,
	ISCSI_TMF_RSP_NO_LUN = 2,
	ISCSI_TMF_RSP_TASK_ALLEGIANT = 3,
	ISCSI_TMF_RSP_NO_REASSIGN = 4,
	ISCSI_TMF_RSP_NOT_SUPPORTED = 5,
	ISCSI_TMF_RSP_NOT_AUTHORIZED = 6,
	ISCSI_TMF_RSP_SUCCEEDED = 7, /* RFC 7144 6.2 */
	ISCSI_TMF_RSP_REJECTED = 255,
};

/* Logout (11.14.1, 11.15.1) */
enum iscsi_logout_reason {
	LOGOUT_CLOSE_SESSION = 0,
	LOGOUT_CLOSE_CONNECTION = 1,
	LOGOUT_RECOVERY = 2
};
enum iscsi_logout_response {
	LOGOUT_RSP_SUCCESS = 0,
	LOGOUT_RSP_NO_CID = 1,
	LOGOUT_RSP_NO_RECOVERY = 2,
	LOGOUT_RSP_CLEANUP_FAILED = 3,
};

/* Asynchronous events (11.9.1) */
enum iscsi_async_event {
	ASYNC_SCSI_EVENT = 0,
	ASYNC_LOGOUT_REQUEST = 1,
	ASYNC_CONNECTION_DROP = 2,
	ASYNC_SESSION_DROP = 3,
	ASYNC_NEGOTIATION_REQUEST = 4,
	ASYNC_TASK_TERMINATION = 5,
};

#define ISCSI_AHS_EXTENDED_CDB   1
#define ISCSI_AHS_BIDI_READ_EDTL 2

/* What all headers share; responses have StatSN, ExpCmdSN, MaxCmdSN where shown. */
struct bhs {
	uint8_t opcode, flags, specific[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4];
	uint8_t word20[4];
	uint8_t cmdsn[4];      /* requests; StatSN in responses */
	uint8_t exp_statsn[4]; /* requests; ExpCmdSN in responses */
	uint8_t max_cmdsn[4];  /* responses */
	uint8_t word36[12];
};

struct bhs_scsi_command { /* 11.3 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], edtl[4];
	uint8_t cmdsn[4], exp_statsn[4];
	uint8_t cdb[16];
};

struct bhs_scsi_response { /* 11.4 */
	uint8_t opcode, flags, response, status;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t reserved[8];
	uint8_t itt[4], snack_tag[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4];
	uint8_t exp_datasn[4], bidi_residual[4], residual[4];
};

struct bhs_tmf_request { /* 11.5 */
	uint8_t opcode, function, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], referenced_tag[4];
	uint8_t cmdsn[4], exp_statsn[4];
	uint8_t ref_cmdsn[4], exp_datasn[4], reserved2[8];
};

struct bhs_tmf_response { /* 11.6 */
	uint8_t opcode, flags, response, reserved;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t information[3], reserved2[5]; /* RFC 7144 6.2: additional response information */
	uint8_t itt[4], reserved3[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4], reserved4[12];
};

struct bhs_data_out { /* 11.7 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], ttt[4];
	uint8_t reserved2[4], exp_statsn[4], reserved3[4];
	uint8_t datasn[4], buffer_offset[4], reserved4[4];
};

struct bhs_data_in { /* 11.7 */
	uint8_t opcode, flags, reserved, status;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], ttt[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4];
	uint8_t datasn[4], buffer_offset[4], residual[4];
};

struct bhs_r2t { /* 11.8 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], ttt[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4];
	uint8_t r2tsn[4], buffer_offset[4], desired_length[4];
};

struct bhs_async { /* 11.9 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t tag[4], reserved2[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4];
	uint8_t event, vcode, parameter1[2], parameter2[2], parameter3[2], reserved3[4];
};

struct bhs_text { /* 11.10 request; 11.11 response has StatSN, ExpCmdSN, MaxCmdSN from byte 24 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], ttt[4];
	uint8_t sn1[4], sn2[4], sn3[4], reserved2[12];
};

struct bhs_login_request { /* 11.12 */
	uint8_t opcode, flags, version_max, version_min;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t isid[6], tsih[2];
	uint8_t itt[4], cid[2], reserved[2];
	uint8_t cmdsn[4], exp_statsn[4], reserved2[16];
};

struct bhs_login_response { /* 11.13 */
	uint8_t opcode, flags, version_max, version_active;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t isid[6], tsih[2];
	uint8_t itt[4], reserved[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4];
	uint8_t status_class, status_detail, reserved2[10];
};

struct bhs_logout_request { /* 11.14 */
	uint8_t opcode, reason, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t reserved2[8];
	uint8_t itt[4], cid[2], reserved3[2];
	uint8_t cmdsn[4], exp_statsn[4], reserved4[16];
};

struct bhs_logout_response { /* 11.15 */
	uint8_t opcode, flags, response, reserved;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t reserved2[8];
	uint8_t itt[4], reserved3[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4], reserved4[4];
	uint8_t time2wait[2], time2retain[2], reserved5[4];
};

enum iscsi_snack { /* 11.16.1 */
		   SNACK_DATA_R2T = 0,
		   SNACK_STATUS = 1,
		   SNACK_DATA_ACK = 2,
		   SNACK_R_DATA = 3,
};
#define SNACK_TYPE_MASK 0x0f

struct bhs_snack { /* 11.16 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], ttt[4]; /* Target Transfer Tag or SNACK Tag */
	uint8_t reserved2[4], exp_statsn[4];
	uint8_t reserved3[8];
	uint8_t begrun[4], runlength[4];
};

struct bhs_reject { /* 11.17 */
	uint8_t opcode, flags, reason, reserved;
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t reserved2[8];
	uint8_t itt[4], reserved3[4];
	uint8_t statsn[4], exp_cmdsn[4], max_cmdsn[4];
	uint8_t datasn[4], reserved4[8];
};

struct bhs_nop { /* 11.18 NOP-Out; 11.19 NOP-In has StatSN, ExpCmdSN, MaxCmdSN from byte 24 */
	uint8_t opcode, flags, reserved[2];
	uint8_t ahs_words;
	uint8_t data_segment_length[3];
	uint8_t lun[8];
	uint8_t itt[4], ttt[4];
	uint8_t sn1[4], sn2[4], sn3[4], reserved2[12];
};

#define BHS_IS_48(type) _Static_assert(sizeof(struct type) == ISCSI_BHS_SIZE, "a BHS is 48 bytes")
BHS_IS_48(bhs);
BHS_IS_48(bhs_scsi_command);
BHS_IS_48(bhs_scsi_response);
BHS_IS_48(bhs_tmf_request);
BHS_IS_48(bhs_tmf_response);
BHS_IS_48(bhs_data_out);
BHS_IS_48(bhs_data_in);
BHS_IS_48(bhs_r2t);
BHS_IS_48(bhs_async);
BHS_IS_48(bhs_text);
BHS_IS_48(bhs_login_request);
BHS_IS_48(bhs_login_response);
BHS_IS_48(bhs_logout_request);
BHS_IS_48(bhs_logout_response);
BHS_IS_48(bhs_snack);
BHS_IS_48(bhs_reject);
BHS_IS_48(bhs_nop);

/* Serial number arithmetic of RFC 1982 with 32 bits, as RFC 7143 4.2.2.1 wants it. */
static inline int32_t sna_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

#endif
