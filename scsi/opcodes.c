/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command table and its look-up in constant time.
 *
 * Threads: const data and pure functions. Ownership: none.
 */
#include "scsi/opcodes.h"

/* Rows by name, so that the index below cannot point at the wrong one unseen (a test compares the
 * two). Order: opcode, then service action. */
enum row {
	ROW_TEST_UNIT_READY,
	ROW_REQUEST_SENSE,
	ROW_FORMAT_UNIT,
	ROW_READ6,
	ROW_WRITE6,
	ROW_INQUIRY,
	ROW_MODE_SELECT6,
	ROW_RESERVE6,
	ROW_RELEASE6,
	ROW_MODE_SENSE6,
	ROW_START_STOP_UNIT,
	ROW_RECEIVE_DIAGNOSTIC,
	ROW_SEND_DIAGNOSTIC,
	ROW_PREVENT_ALLOW,
	ROW_READ_CAPACITY10,
	ROW_READ10,
	ROW_WRITE10,
	ROW_WRITE_VERIFY10,
	ROW_VERIFY10,
	ROW_PRE_FETCH10,
	ROW_SYNC_CACHE10,
	ROW_READ_DEFECT10,
	ROW_WRITE_BUFFER,
	ROW_READ_BUFFER,
	ROW_WRITE_SAME10,
	ROW_UNMAP,
	ROW_SANITIZE_OVERWRITE,
	ROW_SANITIZE_BLOCK_ERASE,
	ROW_SANITIZE_EXIT_FAILURE,
	ROW_LOG_SENSE,
	ROW_MODE_SELECT10,
	ROW_RESERVE10,
	ROW_RELEASE10,
	ROW_MODE_SENSE10,
	ROW_PR_READ_KEYS,
	ROW_PR_READ_RESERVATION,
	ROW_PR_REPORT_CAPABILITIES,
	ROW_PR_READ_FULL_STATUS,
	ROW_PR_REGISTER,
	ROW_PR_RESERVE,
	ROW_PR_RELEASE,
	ROW_PR_CLEAR,
	ROW_PR_PREEMPT,
	ROW_PR_PREEMPT_AND_ABORT,
	ROW_PR_REGISTER_IGNORE,
	ROW_PR_REGISTER_AND_MOVE,
	ROW_POPULATE_TOKEN,
	ROW_WRITE_USING_TOKEN,
	ROW_ROD_TOKEN_INFORMATION,
	ROW_REPORT_ROD_TOKENS,
	ROW_READ16,
	ROW_COMPARE_WRITE,
	ROW_WRITE16,
	ROW_OR_WRITE,
	ROW_WRITE_VERIFY16,
	ROW_VERIFY16,
	ROW_PRE_FETCH16,
	ROW_SYNC_CACHE16,
	ROW_WRITE_SAME16,
	ROW_WRITE_ATOMIC,
	ROW_READ_CAPACITY16,
	ROW_GET_LBA_STATUS,
	ROW_REPORT_LUNS,
	ROW_REPORT_INFORMATION,
	ROW_REPORT_GROUPS,
	ROW_REPORT_OPCODES,
	ROW_REPORT_TMFS,
	ROW_REPORT_TIMESTAMP,
	ROW_SET_INFORMATION,
	ROW_SET_GROUPS,
	ROW_SET_TIMESTAMP,
	ROW_READ12,
	ROW_WRITE12,
	ROW_WRITE_VERIFY12,
	ROW_VERIFY12,
	ROW_READ_DEFECT12,
	ROWS
};

/* clang-format off */
#define FF2 0xff, 0xff
#define FF3 FF2, 0xff
#define FF4 FF2, FF2
#define FF8 FF4, FF4

#define ID(op)        .opcode = (op)
#define ID_SA(op, sa) .opcode = (op), .has_action = true, .action = (sa)
#define WRITES        (OP_MEDIUM | OP_CHANGES)

#define SANITIZE(more)                                                                             \
	.cdb_length = 10, .direction = DIR_OUT, .access = ACCESS_WRITE,                            \
	.flags = WRITES | OP_MENDS | (more), .timeout_s = 3600, .plan = media_plan_sanitize

/* Reservations are managed whatever is reserved; who may do what is decided in scsi/pr*.c. */
#define RESERVES(op, text, len)                                                                    \
	{ ID(op), .name = (text), .cdb_length = (len), .direction = DIR_NONE,                      \
	  .access = ACCESS_ANY, .flags = OP_NONE, .timeout_s = 10, .plan = pr_plan_reserve,        \
	  .usage = { (op) } }
#define PR_IN(sa, text)                                                                            \
	{ ID_SA(0x5e, sa), .name = "PERSISTENT RESERVE IN, " text, .cdb_length = 10,               \
	  .direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_STANDBY, .flags = OP_NONE,    \
	  .timeout_s = 10, .plan = pr_plan_in, .usage = { 0x5e, sa, 0, 0, 0, 0, 0, FF2 } }
/* SCOPE and TYPE are looked at after the key, and ignored where they mean nothing. */
#define PR_OUT(sa, text)                                                                           \
	{ ID_SA(0x5f, sa), .name = "PERSISTENT RESERVE OUT, " text, .cdb_length = 10,              \
	  .direction = DIR_OUT, .access = ACCESS_ALWAYS, .path = PATH_STANDBY, .flags = OP_NONE,   \
	  .timeout_s = 30, .plan = pr_plan_out, .params = pr_params_out,                           \
	  .usage = { 0x5f, sa, 0xff, 0, 0, FF4 } }

/*
 * Usage: RDPROTECT, WRPROTECT and VRPROTECT are zero without protection information, ANCHOR
 * without ANC_SUP, NACA with NORMACA=0. GROUP NUMBER is taken (GROUP_SUP=1 in VPD page 86h) and
 * means nothing here; iscsi-test-cu Prefetch10.Flags sends it. RARC is ignored where rebuild
 * assist is not supported (SBC-3 5.8); SYNC_NV (obsolete) asks for less than is done.
 */
static const struct scsi_op rows[ROWS] = {
	[ROW_TEST_UNIT_READY] = {
		ID(0x00), .name = "TEST UNIT READY", .cdb_length = 6, .direction = DIR_NONE,
		.access = ACCESS_ALWAYS, .flags = OP_MEDIUM, .timeout_s = 10,
		.plan = spc_plan_test_unit_ready, .usage = { 0x00 } },
	[ROW_REQUEST_SENSE] = {
		ID(0x03), .name = "REQUEST SENSE", .cdb_length = 6, .direction = DIR_IN,
		.access = ACCESS_ANY, .path = PATH_ANY, .flags = OP_NO_LUN | OP_NO_UA, .timeout_s = 10,
		.plan = spc_plan_request_sense, .usage = { 0x03, 0x01, 0, 0, 0xff } },
	[ROW_FORMAT_UNIT] = {
		ID(0x04), .name = "FORMAT UNIT", .cdb_length = 6, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES | OP_MENDS, .timeout_s = 3600,
		.plan = media_plan_format, .params = media_params_format,
		.usage = { 0x04, 0x3f } },
	[ROW_READ6] = {
		ID(0x08), .name = "READ(6)", .cdb_length = 6, .direction = DIR_IN,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = sbc_plan_read, .usage = { 0x08, 0x1f, FF3 } },
	[ROW_WRITE6] = {
		ID(0x0a), .name = "WRITE(6)", .cdb_length = 6, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 30,
		.plan = sbc_plan_write, .usage = { 0x0a, 0x1f, FF3 } },
	[ROW_INQUIRY] = {
		ID(0x12), .name = "INQUIRY", .cdb_length = 6, .direction = DIR_IN,
		.access = ACCESS_ANY, .path = PATH_ANY, .flags = OP_NO_LUN | OP_NO_UA | OP_LUN_BITS,
		.timeout_s = 10, .plan = spc_plan_inquiry, .usage = { 0x12, 0x01, FF3 } },
	[ROW_MODE_SELECT6] = {
		ID(0x15), .name = "MODE SELECT(6)", .cdb_length = 6, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .path = PATH_STANDBY, .flags = OP_SHARED, .timeout_s = 30,
		.plan = mode_plan_select, .params = mode_params_select,
		.usage = { 0x15, 0x11, 0, 0, 0xff } },
	[ROW_RESERVE6] = RESERVES(0x16, "RESERVE(6)", 6),
	[ROW_RELEASE6] = RESERVES(0x17, "RELEASE(6)", 6),
	[ROW_MODE_SENSE6] = {
		ID(0x1a), .name = "MODE SENSE(6)", .cdb_length = 6, .direction = DIR_IN,
		.access = ACCESS_READ, .path = PATH_STANDBY,
		.flags = OP_NONE, .timeout_s = 10,
		.plan = mode_plan_sense, .usage = { 0x1a, 0x08, FF3 } },
	[ROW_START_STOP_UNIT] = {
		ID(0x1b), .name = "START STOP UNIT", .cdb_length = 6, .direction = DIR_NONE,
		.access = ACCESS_START, .flags = OP_SHARED, .timeout_s = 60,
		.plan = sbc_plan_start_stop, .usage = { 0x1b, 0x01, 0, 0x0f, 0xf7 } },
	[ROW_RECEIVE_DIAGNOSTIC] = {
		ID(0x1c), .name = "RECEIVE DIAGNOSTIC RESULTS", .cdb_length = 6,
		.direction = DIR_IN, .access = ACCESS_READ, .path = PATH_STANDBY,
		.flags = OP_NONE, .timeout_s = 10,
		.plan = spc_plan_receive_diagnostic, .usage = { 0x1c, 0x01, FF3 } },
	[ROW_SEND_DIAGNOSTIC] = {
		ID(0x1d), .name = "SEND DIAGNOSTIC", .cdb_length = 6, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .path = PATH_STANDBY, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = spc_plan_send_diagnostic, .params = spc_params_send_diagnostic,
		.usage = { 0x1d, 0xf7, 0, FF2 } },
	[ROW_PREVENT_ALLOW] = {
		ID(0x1e), .name = "PREVENT ALLOW MEDIUM REMOVAL", .cdb_length = 6,
		.direction = DIR_NONE, .access = ACCESS_PREVENT, .flags = OP_REMOVABLE,
		.timeout_s = 10, .plan = sbc_plan_prevent_allow,
		.usage = { 0x1e, 0, 0, 0, 0x03 } },
	[ROW_READ_CAPACITY10] = {
		ID(0x25), .name = "READ CAPACITY(10)", .cdb_length = 10, .direction = DIR_IN,
		.access = ACCESS_ALWAYS, .path = PATH_STANDBY, .flags = OP_MEDIUM, .timeout_s = 10,
		.plan = sbc_plan_read_capacity10, .usage = { 0x25 } },
	[ROW_READ10] = {
		ID(0x28), .name = "READ(10)", .cdb_length = 10, .direction = DIR_IN,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = sbc_plan_read, .usage = { 0x28, 0x1c, FF4, 0x1f, FF2 } },
	[ROW_WRITE10] = {
		ID(0x2a), .name = "WRITE(10)", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 30,
		.plan = sbc_plan_write, .usage = { 0x2a, 0x18, FF4, 0x1f, FF2 } },
	[ROW_WRITE_VERIFY10] = {
		ID(0x2e), .name = "WRITE AND VERIFY(10)", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 60,
		.plan = sbc_plan_write_verify, .usage = { 0x2e, 0x16, FF4, 0x1f, FF2 } },
	[ROW_VERIFY10] = {
		ID(0x2f), .name = "VERIFY(10)", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 60,
		.plan = sbc_plan_verify, .usage = { 0x2f, 0x16, FF4, 0x1f, FF2 } },
	[ROW_PRE_FETCH10] = {
		ID(0x34), .name = "PRE-FETCH(10)", .cdb_length = 10, .direction = DIR_NONE,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = sbc_plan_prefetch, .usage = { 0x34, 0x02, FF4, 0x1f, FF2 } },
	[ROW_SYNC_CACHE10] = {
		ID(0x35), .name = "SYNCHRONIZE CACHE(10)", .cdb_length = 10,
		.direction = DIR_NONE, .access = ACCESS_WRITE, .flags = OP_MEDIUM,
		.timeout_s = 60, .plan = sbc_plan_sync_cache,
		.usage = { 0x35, 0x06, FF4, 0x1f, FF2 } },
	[ROW_READ_DEFECT10] = {
		ID(0x37), .name = "READ DEFECT DATA(10)", .cdb_length = 10, .direction = DIR_IN,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 10,
		.plan = sbc_plan_read_defect, .usage = { 0x37, 0, 0x1f, 0, 0, 0, 0, FF2 } },
	[ROW_WRITE_BUFFER] = {
		ID(0x3b), .name = "WRITE BUFFER", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .path = PATH_BUFFER, .flags = OP_NONE, .timeout_s = 10,
		.plan = spc_plan_write_buffer, .params = spc_params_write_buffer,
		.usage = { 0x3b, 0x1f, FF4, FF3 } },
	[ROW_READ_BUFFER] = {
		ID(0x3c), .name = "READ BUFFER(10)", .cdb_length = 10, .direction = DIR_IN,
		.access = ACCESS_READ, .path = PATH_BUFFER, .flags = OP_NONE, .timeout_s = 10,
		.plan = spc_plan_read_buffer, .usage = { 0x3c, 0x1f, FF4, FF3 } },
	[ROW_WRITE_SAME10] = {
		ID(0x41), .name = "WRITE SAME(10)", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 120,
		.plan = sbc_plan_write_same, .usage = { 0x41, 0x08, FF4, 0x1f, FF2 } },
	[ROW_UNMAP] = {
		ID(0x42), .name = "UNMAP", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES | OP_THIN | OP_UNMAP, .timeout_s = 60,
		.plan = sbc_plan_unmap, .params = sbc_params_unmap,
		.usage = { 0x42, 0, 0, 0, 0, 0, 0x1f, FF2 } },
	[ROW_SANITIZE_OVERWRITE] = {
		ID_SA(0x48, 0x01), .name = "SANITIZE, OVERWRITE", SANITIZE(0),
		.params = media_params_overwrite, .usage = { 0x48, 0xa1, 0, 0, 0, 0, 0, FF2 } },
	[ROW_SANITIZE_BLOCK_ERASE] = {
		ID_SA(0x48, 0x02), .name = "SANITIZE, BLOCK ERASE", SANITIZE(OP_UNMAP),
		.usage = { 0x48, 0xa2, 0, 0, 0, 0, 0, FF2 } },
	[ROW_SANITIZE_EXIT_FAILURE] = {
		ID_SA(0x48, 0x1f), .name = "SANITIZE, EXIT FAILURE MODE", SANITIZE(0),
		.usage = { 0x48, 0xbf, 0, 0, 0, 0, 0, FF2 } },
	[ROW_LOG_SENSE] = {
		ID(0x4d), .name = "LOG SENSE", .cdb_length = 10, .direction = DIR_IN,
		.access = ACCESS_ANY, .path = PATH_STANDBY,
		.flags = OP_NONE, .timeout_s = 10,
		.plan = log_plan_sense, .usage = { 0x4d, 0, FF2, 0, FF2, FF2 } },
	[ROW_MODE_SELECT10] = {
		ID(0x55), .name = "MODE SELECT(10)", .cdb_length = 10, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .path = PATH_STANDBY, .flags = OP_SHARED, .timeout_s = 30,
		.plan = mode_plan_select, .params = mode_params_select,
		.usage = { 0x55, 0x11, 0, 0, 0, 0, 0, FF2 } },
	[ROW_RESERVE10] = RESERVES(0x56, "RESERVE(10)", 10),
	[ROW_RELEASE10] = RESERVES(0x57, "RELEASE(10)", 10),
	[ROW_MODE_SENSE10] = {
		ID(0x5a), .name = "MODE SENSE(10)", .cdb_length = 10, .direction = DIR_IN,
		.access = ACCESS_READ, .path = PATH_STANDBY,
		.flags = OP_NONE, .timeout_s = 10,
		.plan = mode_plan_sense, .usage = { 0x5a, 0x18, FF2, 0, 0, 0, FF2 } },
	[ROW_PR_READ_KEYS] = PR_IN(0x00, "READ KEYS"),
	[ROW_PR_READ_RESERVATION] = PR_IN(0x01, "READ RESERVATION"),
	[ROW_PR_REPORT_CAPABILITIES] = PR_IN(0x02, "REPORT CAPABILITIES"),
	[ROW_PR_READ_FULL_STATUS] = PR_IN(0x03, "READ FULL STATUS"),
	[ROW_PR_REGISTER] = PR_OUT(0x00, "REGISTER"),
	[ROW_PR_RESERVE] = PR_OUT(0x01, "RESERVE"),
	[ROW_PR_RELEASE] = PR_OUT(0x02, "RELEASE"),
	[ROW_PR_CLEAR] = PR_OUT(0x03, "CLEAR"),
	[ROW_PR_PREEMPT] = PR_OUT(0x04, "PREEMPT"),
	[ROW_PR_PREEMPT_AND_ABORT] = PR_OUT(0x05, "PREEMPT AND ABORT"),
	[ROW_PR_REGISTER_IGNORE] = PR_OUT(0x06, "REGISTER AND IGNORE EXISTING KEY"),
	[ROW_PR_REGISTER_AND_MOVE] = PR_OUT(0x07, "REGISTER AND MOVE"),
	[ROW_POPULATE_TOKEN] = {
		ID_SA(0x83, 0x10), .name = "POPULATE TOKEN", .cdb_length = 16,
		.direction = DIR_OUT, .access = ACCESS_WRITE, .flags = OP_MEDIUM,
		.timeout_s = 30, .plan = odx_plan, .params = odx_params,
		.usage = { 0x83, 0x10, 0, 0, 0, 0, FF4, FF4, 0x1f } },
	[ROW_WRITE_USING_TOKEN] = {
		ID_SA(0x83, 0x11), .name = "WRITE USING TOKEN", .cdb_length = 16,
		.direction = DIR_OUT, .access = ACCESS_WRITE, .flags = WRITES,
		.timeout_s = 60, .plan = odx_plan, .params = odx_params,
		.usage = { 0x83, 0x11, 0, 0, 0, 0, FF4, FF4, 0x1f } },
	[ROW_ROD_TOKEN_INFORMATION] = {
		ID_SA(0x84, 0x07), .name = "RECEIVE ROD TOKEN INFORMATION", .cdb_length = 16,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .flags = OP_NONE, .timeout_s = 10,
		.plan = odx_plan_information,
		.usage = { 0x84, 0x07, FF4, 0, 0, 0, 0, FF4 } },
	[ROW_REPORT_ROD_TOKENS] = {
		ID_SA(0x84, 0x08), .name = "REPORT ALL ROD TOKENS", .cdb_length = 16,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .flags = OP_NONE, .timeout_s = 10,
		.plan = odx_plan_report, .usage = { 0x84, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, FF4 } },
	[ROW_READ16] = {
		ID(0x88), .name = "READ(16)", .cdb_length = 16, .direction = DIR_IN,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = sbc_plan_read, .usage = { 0x88, 0x1c, FF8, FF4, 0x1f } },
	[ROW_COMPARE_WRITE] = {
		ID(0x89), .name = "COMPARE AND WRITE", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 30,
		.plan = sbc_plan_compare_write,
		.usage = { 0x89, 0x18, FF8, 0, 0, 0, 0xff, 0x1f } },
	[ROW_WRITE16] = {
		ID(0x8a), .name = "WRITE(16)", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 30,
		.plan = sbc_plan_write, .usage = { 0x8a, 0x18, FF8, FF4, 0x1f } },
	[ROW_OR_WRITE] = {
		ID(0x8b), .name = "ORWRITE(16)", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 30,
		.plan = sbc_plan_or_write, .usage = { 0x8b, 0x18, FF8, FF4, 0x1f } },
	[ROW_WRITE_VERIFY16] = {
		ID(0x8e), .name = "WRITE AND VERIFY(16)", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 60,
		.plan = sbc_plan_write_verify, .usage = { 0x8e, 0x16, FF8, FF4, 0x1f } },
	[ROW_VERIFY16] = {
		ID(0x8f), .name = "VERIFY(16)", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 60,
		.plan = sbc_plan_verify, .usage = { 0x8f, 0x16, FF8, FF4, 0x1f } },
	[ROW_PRE_FETCH16] = {
		ID(0x90), .name = "PRE-FETCH(16)", .cdb_length = 16, .direction = DIR_NONE,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = sbc_plan_prefetch, .usage = { 0x90, 0x02, FF8, FF4, 0x1f } },
	[ROW_SYNC_CACHE16] = {
		ID(0x91), .name = "SYNCHRONIZE CACHE(16)", .cdb_length = 16,
		.direction = DIR_NONE, .access = ACCESS_WRITE, .flags = OP_MEDIUM,
		.timeout_s = 60, .plan = sbc_plan_sync_cache, .usage = { 0x91, 0x06, FF8, FF4, 0x1f } },
	[ROW_WRITE_SAME16] = {
		ID(0x93), .name = "WRITE SAME(16)", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 120,
		.plan = sbc_plan_write_same, .usage = { 0x93, 0x09, FF8, FF4, 0x1f } },
	[ROW_WRITE_ATOMIC] = {
		ID(0x9c), .name = "WRITE ATOMIC(16)", .cdb_length = 16, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES | OP_ATOMIC, .timeout_s = 30,
		.plan = sbc_plan_write_atomic, .usage = { 0x9c, 0x18, FF8, 0, 0, FF2, 0x1f } },
	[ROW_READ_CAPACITY16] = {
		ID_SA(0x9e, 0x10), .name = "READ CAPACITY(16)", .cdb_length = 16,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_STANDBY, .flags = OP_MEDIUM,
		.timeout_s = 10, .plan = sbc_plan_read_capacity16,
		.usage = { 0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, FF4 } },
	[ROW_GET_LBA_STATUS] = {
		ID_SA(0x9e, 0x12), .name = "GET LBA STATUS", .cdb_length = 16,
		.direction = DIR_IN, .access = ACCESS_READ, .flags = OP_MEDIUM | OP_THIN,
		.timeout_s = 30, .plan = sbc_plan_get_lba_status,
		.usage = { 0x9e, 0x12, FF8, FF4 } },
	[ROW_REPORT_LUNS] = {
		ID(0xa0), .name = "REPORT LUNS", .cdb_length = 12, .direction = DIR_IN,
		.access = ACCESS_ANY, .path = PATH_ANY, .flags = OP_NO_LUN | OP_NO_UA, .timeout_s = 10,
		.plan = spc_plan_report_luns, .usage = { 0xa0, 0, 0xff, 0, 0, 0, FF4 } },
	[ROW_REPORT_INFORMATION] = {
		ID_SA(0xa3, 0x05), .name = "REPORT IDENTIFYING INFORMATION", .cdb_length = 12,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_ACTIVE,
		.flags = OP_NONE, .timeout_s = 10, .plan = info_plan_report,
		.usage = { 0xa3, 0x05, 0, 0, FF2, FF4, 0xfe } },
	[ROW_REPORT_GROUPS] = {
		ID_SA(0xa3, 0x0a), .name = "REPORT TARGET PORT GROUPS", .cdb_length = 12,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_ANY, .flags = OP_ALUA,
		.timeout_s = 10, .plan = alua_plan_report,
		.usage = { 0xa3, 0xea, 0, 0, 0, 0, FF4 } },
	[ROW_REPORT_OPCODES] = {
		ID_SA(0xa3, 0x0c), .name = "REPORT SUPPORTED OPERATION CODES", .cdb_length = 12,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_STANDBY,
		.flags = OP_NONE, .timeout_s = 10,
		.plan = spc_plan_report_opcodes,
		.usage = { 0xa3, 0x0c, 0x87, FF3, FF4 } },
	[ROW_REPORT_TMFS] = {
		ID_SA(0xa3, 0x0d), .name = "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
		.cdb_length = 12, .direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_STANDBY,
		.flags = OP_NONE, .timeout_s = 10, .plan = spc_plan_report_tmfs,
		.usage = { 0xa3, 0x0d, 0x80, 0, 0, 0, FF4 } },
	[ROW_REPORT_TIMESTAMP] = {
		ID_SA(0xa3, 0x0f), .name = "REPORT TIMESTAMP", .cdb_length = 12,
		.direction = DIR_IN, .access = ACCESS_ALWAYS, .path = PATH_ACTIVE,
		.flags = OP_NONE, .timeout_s = 10, .plan = time_plan_report,
		.usage = { 0xa3, 0x0f, 0, 0, 0, 0, FF4 } },
	[ROW_SET_INFORMATION] = {
		ID_SA(0xa4, 0x06), .name = "SET IDENTIFYING INFORMATION", .cdb_length = 12,
		.direction = DIR_OUT, .access = ACCESS_WRITE, .path = PATH_ACTIVE,
		.flags = OP_SHARED, .timeout_s = 30, .plan = info_plan_set,
		.params = info_params_set, .usage = { 0xa4, 0x06, 0, 0, FF2, FF4, 0xfe } },
	[ROW_SET_GROUPS] = {
		ID_SA(0xa4, 0x0a), .name = "SET TARGET PORT GROUPS", .cdb_length = 12,
		.direction = DIR_OUT, .access = ACCESS_WRITE, .path = PATH_SET,
		.flags = OP_EXPLICIT, .timeout_s = 60, .plan = alua_plan_set,
		.params = alua_params_set, .usage = { 0xa4, 0x0a, 0, 0, 0, 0, FF4 } },
	[ROW_SET_TIMESTAMP] = {
		ID_SA(0xa4, 0x0f), .name = "SET TIMESTAMP", .cdb_length = 12,
		.direction = DIR_OUT, .access = ACCESS_WRITE, .path = PATH_ACTIVE,
		.flags = OP_SHARED, .timeout_s = 10, .plan = time_plan_set,
		.params = time_params_set, .usage = { 0xa4, 0x0f, 0, 0, 0, 0, FF4 } },
	[ROW_READ12] = {
		ID(0xa8), .name = "READ(12)", .cdb_length = 12, .direction = DIR_IN,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 30,
		.plan = sbc_plan_read, .usage = { 0xa8, 0x1c, FF4, FF4, 0x1f } },
	[ROW_WRITE12] = {
		ID(0xaa), .name = "WRITE(12)", .cdb_length = 12, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 30,
		.plan = sbc_plan_write, .usage = { 0xaa, 0x18, FF4, FF4, 0x1f } },
	[ROW_WRITE_VERIFY12] = {
		ID(0xae), .name = "WRITE AND VERIFY(12)", .cdb_length = 12, .direction = DIR_OUT,
		.access = ACCESS_WRITE, .flags = WRITES, .timeout_s = 60,
		.plan = sbc_plan_write_verify, .usage = { 0xae, 0x16, FF4, FF4, 0x1f } },
	[ROW_VERIFY12] = {
		ID(0xaf), .name = "VERIFY(12)", .cdb_length = 12, .direction = DIR_OUT,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 60,
		.plan = sbc_plan_verify, .usage = { 0xaf, 0x16, FF4, FF4, 0x1f } },
	[ROW_READ_DEFECT12] = {
		ID(0xb7), .name = "READ DEFECT DATA(12)", .cdb_length = 12, .direction = DIR_IN,
		.access = ACCESS_READ, .flags = OP_MEDIUM, .timeout_s = 10,
		.plan = sbc_plan_read_defect, .usage = { 0xb7, 0x1f, FF4, FF4 } },
};

/* First row of each opcode, plus one; zero: not supported. */
#define AT(row) ((row) + 1)
static const uint8_t first_row[256] = {
	[0x00] = AT(ROW_TEST_UNIT_READY),
	[0x03] = AT(ROW_REQUEST_SENSE),
	[0x04] = AT(ROW_FORMAT_UNIT),
	[0x08] = AT(ROW_READ6),
	[0x0a] = AT(ROW_WRITE6),
	[0x12] = AT(ROW_INQUIRY),
	[0x15] = AT(ROW_MODE_SELECT6),
	[0x16] = AT(ROW_RESERVE6),
	[0x17] = AT(ROW_RELEASE6),
	[0x1a] = AT(ROW_MODE_SENSE6),
	[0x1b] = AT(ROW_START_STOP_UNIT),
	[0x1c] = AT(ROW_RECEIVE_DIAGNOSTIC),
	[0x1d] = AT(ROW_SEND_DIAGNOSTIC),
	[0x1e] = AT(ROW_PREVENT_ALLOW),
	[0x25] = AT(ROW_READ_CAPACITY10),
	[0x28] = AT(ROW_READ10),
	[0x2a] = AT(ROW_WRITE10),
	[0x2e] = AT(ROW_WRITE_VERIFY10),
	[0x2f] = AT(ROW_VERIFY10),
	[0x34] = AT(ROW_PRE_FETCH10),
	[0x35] = AT(ROW_SYNC_CACHE10),
	[0x37] = AT(ROW_READ_DEFECT10),
	[0x3b] = AT(ROW_WRITE_BUFFER),
	[0x3c] = AT(ROW_READ_BUFFER),
	[0x41] = AT(ROW_WRITE_SAME10),
	[0x42] = AT(ROW_UNMAP),
	[0x48] = AT(ROW_SANITIZE_OVERWRITE),
	[0x4d] = AT(ROW_LOG_SENSE),
	[0x55] = AT(ROW_MODE_SELECT10),
	[0x56] = AT(ROW_RESERVE10),
	[0x57] = AT(ROW_RELEASE10),
	[0x5a] = AT(ROW_MODE_SENSE10),
	[0x5e] = AT(ROW_PR_READ_KEYS),
	[0x5f] = AT(ROW_PR_REGISTER),
	[0x83] = AT(ROW_POPULATE_TOKEN),
	[0x84] = AT(ROW_ROD_TOKEN_INFORMATION),
	[0x88] = AT(ROW_READ16),
	[0x89] = AT(ROW_COMPARE_WRITE),
	[0x8a] = AT(ROW_WRITE16),
	[0x8b] = AT(ROW_OR_WRITE),
	[0x8e] = AT(ROW_WRITE_VERIFY16),
	[0x8f] = AT(ROW_VERIFY16),
	[0x90] = AT(ROW_PRE_FETCH16),
	[0x91] = AT(ROW_SYNC_CACHE16),
	[0x93] = AT(ROW_WRITE_SAME16),
	[0x9c] = AT(ROW_WRITE_ATOMIC),
	[0x9e] = AT(ROW_READ_CAPACITY16),
	[0xa0] = AT(ROW_REPORT_LUNS),
	[0xa3] = AT(ROW_REPORT_INFORMATION),
	[0xa4] = AT(ROW_SET_INFORMATION),
	[0xa8] = AT(ROW_READ12),
	[0xaa] = AT(ROW_WRITE12),
	[0xae] = AT(ROW_WRITE_VERIFY12),
	[0xaf] = AT(ROW_VERIFY12),
	[0xb7] = AT(ROW_READ_DEFECT12),
};
/* clang-format on */

const struct scsi_op *scsi_op_table(unsigned *ret_n)
{
	*ret_n = ROWS;
	return rows;
}

const struct scsi_op *scsi_op_first(uint8_t opcode, const struct scsi_op **ret_end)
{
	unsigned at = first_row[opcode];

	*ret_end = rows + ROWS;
	return at ? &rows[at - 1] : NULL;
}
