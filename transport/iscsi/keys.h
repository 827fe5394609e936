/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text keys of RFC 7143 section 13, one row for each: rule, range, default, scope, phase and
 * field. Offering, answering and committing are loops over the table.
 *
 * Threads: pure functions on values. Ownership: none.
 */
#ifndef HAWSER_ISCSI_KEYS_H
#define HAWSER_ISCSI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Negotiated or declared values in force; booleans and digests are 0 or 1 (digest 1: CRC32C). */
struct iscsi_keys {
	/* connection */
	uint32_t header_digest, data_digest;
	uint32_t max_recv_data_segment_length; /* ours, declared */
	uint32_t max_send_data_segment_length; /* the initiator's declaration */
	/* session */
	uint32_t max_connections;
	uint32_t initial_r2t, immediate_data;
	uint32_t max_burst_length, first_burst_length;
	uint32_t default_time2wait, default_time2retain;
	uint32_t max_outstanding_r2t;
	uint32_t data_pdu_in_order, data_sequence_in_order;
	uint32_t error_recovery_level;
	uint32_t protocol_level; /* iSCSIProtocolLevel */
};

/* What the target is ready to agree to. */
struct key_limits {
	bool header_digest_crc32c, header_digest_none; /* allowed values */
	bool data_digest_crc32c, data_digest_none;
	uint32_t max_recv_data_segment_length;
	uint32_t max_connections;
	uint32_t initial_r2t, immediate_data;
	uint32_t max_burst_length, first_burst_length;
	uint32_t default_time2wait, default_time2retain;
	uint32_t max_outstanding_r2t;
	uint32_t error_recovery_level;
	uint32_t protocol_level;
};

/* The values before any negotiation (RFC 7143 13). */
void keys_defaults(struct iscsi_keys *k);
/* Our side when the administrator says nothing: MRDSL 256 KiB, bursts 1 MiB / 256 KiB, 8 R2Ts... */
void key_limits_defaults(struct key_limits *l);

#endif
