/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of text keys. A key that is not here is answered NotUnderstood.
 */
#include "transport/iscsi/keys.h"

#define VALUE(field) .value = offsetof(struct iscsi_keys, field) + 1
#define LIMIT(field) .limit = offsetof(struct key_limits, field) + 1
#define BOTH(field)  VALUE(field), LIMIT(field)

#define MAX_24 ((1u << 24) - 1)
#define MAX_32 0xffffffffu

/* Where and by whom; LO: by the leading connection only (RFC 7143 13). */
#define DECLARED    .rule = KEY_RULE_TEXT
#define FROM_TARGET .rule = KEY_RULE_TEXT, .phases = KEY_ANY, .target_only = true
#define OPERATIONAL .phases = KEY_OPERATIONAL
#define LO          .phases = KEY_OPERATIONAL, .leading_only = true
#define CHAP        .rule = KEY_RULE_TEXT, .phases = KEY_SECURITY

static const char *const task_reporting[] = {
	[REPORTING_RFC3720] = "RFC3720",
	[REPORTING_RESPONSE_FENCE] = "ResponseFence",
	[REPORTING_FAST_ABORT] = "FastAbort",
	NULL,
};

/* clang-format off */
const struct key_row key_table[KEY_COUNT] = {
	/* 13.3 to 13.9, 13.21: names and what else login.c understands itself */
	[KEY_INITIATOR_NAME] = { "InitiatorName", DECLARED, .phases = KEY_LOGIN, .may_repeat = true },
	[KEY_INITIATOR_ALIAS] = { "InitiatorAlias", DECLARED, .phases = KEY_ANY },
	[KEY_TARGET_NAME] = { "TargetName", DECLARED, .phases = KEY_LOGIN, .may_repeat = true },
	[KEY_SESSION_TYPE] = { "SessionType", DECLARED, .phases = KEY_LOGIN, .may_repeat = true },
	[KEY_TARGET_ALIAS] = { "TargetAlias", FROM_TARGET },
	[KEY_TARGET_ADDRESS] = { "TargetAddress", FROM_TARGET },
	[KEY_TARGET_PORTAL_GROUP_TAG] = { "TargetPortalGroupTag", FROM_TARGET },
	[KEY_SEND_TARGETS] = { "SendTargets", DECLARED, .phases = KEY_FULL_FEATURE },

	/* 12: lists and binary values may be longer than other values */
	[KEY_AUTH_METHOD] = { "AuthMethod", CHAP, .length = 1024 },
	[KEY_CHAP_A] = { "CHAP_A", CHAP, .length = 1024 },
	[KEY_CHAP_I] = { "CHAP_I", CHAP },
	[KEY_CHAP_C] = { "CHAP_C", CHAP, .length = 8192 },
	[KEY_CHAP_N] = { "CHAP_N", CHAP },
	[KEY_CHAP_R] = { "CHAP_R", CHAP, .length = 8192 },

	/* 13.1 */
	[KEY_HEADER_DIGEST] = { "HeaderDigest", KEY_RULE_DIGEST, OPERATIONAL, .length = 1024, VALUE(header_digest) },
	[KEY_DATA_DIGEST] = { "DataDigest", KEY_RULE_DIGEST, OPERATIONAL, .length = 1024, VALUE(data_digest) },

	/* 13.2, 13.10 to 13.20 */
	[KEY_MAX_CONNECTIONS] = { "MaxConnections", KEY_RULE_MIN, LO, .min = 1, .max = 65535, .def = 1, BOTH(max_connections) },
	[KEY_INITIAL_R2T] = { "InitialR2T", KEY_RULE_OR, LO, .max = 1, .def = 1, BOTH(initial_r2t) },
	[KEY_IMMEDIATE_DATA] = { "ImmediateData", KEY_RULE_AND, LO, .max = 1, .def = 1, BOTH(immediate_data) },
	[KEY_MAX_RECV_DATA_SEGMENT_LENGTH] = { "MaxRecvDataSegmentLength", KEY_RULE_DECLARE,
		.phases = KEY_OPERATIONAL | KEY_FULL_FEATURE, .min = 512, .max = MAX_24, .def = 8192,
		VALUE(max_send_data_segment_length), LIMIT(max_recv_data_segment_length) },
	[KEY_MAX_BURST_LENGTH] = { "MaxBurstLength", KEY_RULE_MIN, LO, .min = 512, .max = MAX_24, .def = 262144, BOTH(max_burst_length) },
	[KEY_FIRST_BURST_LENGTH] = { "FirstBurstLength", KEY_RULE_MIN, LO, .min = 512, .max = MAX_24, .def = 65536, BOTH(first_burst_length) },
	[KEY_DEFAULT_TIME2WAIT] = { "DefaultTime2Wait", KEY_RULE_MAX, LO, .max = 3600, .def = 2, BOTH(default_time2wait) },
	[KEY_DEFAULT_TIME2RETAIN] = { "DefaultTime2Retain", KEY_RULE_MIN, LO, .max = 3600, .def = 20, BOTH(default_time2retain) },
	[KEY_MAX_OUTSTANDING_R2T] = { "MaxOutstandingR2T", KEY_RULE_MIN, LO, .min = 1, .max = 65535, .def = 1, BOTH(max_outstanding_r2t) },
	[KEY_DATA_PDU_IN_ORDER] = { "DataPDUInOrder", KEY_RULE_OR, LO, .max = 1, .def = 1, VALUE(data_pdu_in_order), .fixed = 1 },
	[KEY_DATA_SEQUENCE_IN_ORDER] = { "DataSequenceInOrder", KEY_RULE_OR, LO, .max = 1, .def = 1, VALUE(data_sequence_in_order), .fixed = 1 },
	[KEY_ERROR_RECOVERY_LEVEL] = { "ErrorRecoveryLevel", KEY_RULE_MIN, LO, .max = 2, BOTH(error_recovery_level) },

	/* 13.23, 13.24, 13.26 */
	[KEY_TASK_REPORTING] = { "TaskReporting", KEY_RULE_LIST, LO, .length = 1024, VALUE(task_reporting), .choices = task_reporting },
	[KEY_PROTOCOL_LEVEL] = { "iSCSIProtocolLevel", KEY_RULE_MIN, LO, .max = 31, .def = 1, BOTH(protocol_level) },
	[KEY_NODE_ARCHITECTURE] = { "X#NodeArchitecture", DECLARED, .phases = KEY_LOGIN, .leading_only = true },

	/* 13.25, obsolete. iPXE takes any value Reject for a failure, and No is as good an answer to
	 * the two that it sends. */
	[KEY_OF_MARKER] = { "OFMarker", KEY_RULE_AND, OPERATIONAL, .max = 1 },
	[KEY_IF_MARKER] = { "IFMarker", KEY_RULE_AND, OPERATIONAL, .max = 1 },
	[KEY_OF_MARK_INT] = { "OFMarkInt", KEY_RULE_REJECT, OPERATIONAL },
	[KEY_IF_MARK_INT] = { "IFMarkInt", KEY_RULE_REJECT, OPERATIONAL },

	/* RFC 7145 6, as they are answered where there is no RDMA */
	[KEY_RDMA_EXTENSIONS] = { "RDMAExtensions", KEY_RULE_AND, LO, .max = 1 },
	[KEY_TARGET_RECV_DATA_SEGMENT_LENGTH] = { "TargetRecvDataSegmentLength", KEY_RULE_IRRELEVANT, OPERATIONAL, .min = 512, .max = MAX_24 },
	[KEY_INITIATOR_RECV_DATA_SEGMENT_LENGTH] = { "InitiatorRecvDataSegmentLength", KEY_RULE_IRRELEVANT, OPERATIONAL, .min = 512, .max = MAX_24 },
	[KEY_MAX_OUTSTANDING_UNEXPECTED_PDUS] = { "MaxOutstandingUnexpectedPDUs", KEY_RULE_NUMBER, LO, .max = MAX_32 },
	[KEY_MAX_AHS_LENGTH] = { "MaxAHSLength", KEY_RULE_NUMBER, LO, .max = MAX_32 },
	[KEY_TAGGED_BUFFER_FOR_SOLICITED_DATA_ONLY] = { "TaggedBufferForSolicitedDataOnly", DECLARED, LO },
	[KEY_ISER_HELLO_REQUIRED] = { "iSERHelloRequired", DECLARED, LO },
};
/* clang-format on */
