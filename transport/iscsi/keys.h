/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text keys of RFC 7143 section 13 and RFC 7145 section 6, one row for each: rule, range, default,
 * phases, senders and fields. Offering, answering and committing are loops over the table.
 *
 * Threads: pure functions on values. Ownership: none.
 */
#ifndef HAWSER_ISCSI_KEYS_H
#define HAWSER_ISCSI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_out;
struct text_pair;

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
	uint32_t task_reporting; /* enum task_reporting */
};

/* RFC 7143 13.23: how tasks are reported that a function for many has stopped. */
enum task_reporting { REPORTING_RFC3720, REPORTING_RESPONSE_FENCE, REPORTING_FAST_ABORT };

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

enum key_id {
	KEY_NONE, /* not a key that we know */
	KEY_INITIATOR_NAME,
	KEY_INITIATOR_ALIAS,
	KEY_TARGET_NAME,
	KEY_TARGET_ALIAS,
	KEY_TARGET_ADDRESS,
	KEY_TARGET_PORTAL_GROUP_TAG,
	KEY_SESSION_TYPE,
	KEY_SEND_TARGETS,
	KEY_AUTH_METHOD,
	KEY_CHAP_A,
	KEY_CHAP_I,
	KEY_CHAP_C,
	KEY_CHAP_N,
	KEY_CHAP_R,
	KEY_HEADER_DIGEST,
	KEY_DATA_DIGEST,
	KEY_MAX_CONNECTIONS,
	KEY_INITIAL_R2T,
	KEY_IMMEDIATE_DATA,
	KEY_MAX_RECV_DATA_SEGMENT_LENGTH,
	KEY_MAX_BURST_LENGTH,
	KEY_FIRST_BURST_LENGTH,
	KEY_DEFAULT_TIME2WAIT,
	KEY_DEFAULT_TIME2RETAIN,
	KEY_MAX_OUTSTANDING_R2T,
	KEY_DATA_PDU_IN_ORDER,
	KEY_DATA_SEQUENCE_IN_ORDER,
	KEY_ERROR_RECOVERY_LEVEL,
	KEY_PROTOCOL_LEVEL,
	KEY_TASK_REPORTING,
	KEY_NODE_ARCHITECTURE,
	KEY_OF_MARKER,
	KEY_IF_MARKER,
	KEY_OF_MARK_INT,
	KEY_IF_MARK_INT,
	KEY_RDMA_EXTENSIONS,
	KEY_TARGET_RECV_DATA_SEGMENT_LENGTH,
	KEY_INITIATOR_RECV_DATA_SEGMENT_LENGTH,
	KEY_MAX_OUTSTANDING_UNEXPECTED_PDUS,
	KEY_MAX_AHS_LENGTH,
	KEY_TAGGED_BUFFER_FOR_SOLICITED_DATA_ONLY,
	KEY_ISER_HELLO_REQUIRED,
	KEY_COUNT
};
_Static_assert(KEY_COUNT <= 64, "key_negotiation.seen has a bit for each");

enum key_rule {
	KEY_RULE_UNSET,
	KEY_RULE_MIN,        /* number: the smaller of both */
	KEY_RULE_MAX,        /* number: the larger */
	KEY_RULE_AND,        /* Yes or No */
	KEY_RULE_OR,         /* Yes or No */
	KEY_RULE_DIGEST,     /* list: the first that both can */
	KEY_RULE_LIST,       /* list: the first that is among row->choices */
	KEY_RULE_DECLARE,    /* number of the sender, answered by ours */
	KEY_RULE_NUMBER,     /* number, checked and not answered */
	KEY_RULE_TEXT,       /* text, for login.c */
	KEY_RULE_REJECT,     /* obsolete */
	KEY_RULE_IRRELEVANT, /* belongs to a transport that this is not */
};

enum key_phase { KEY_SECURITY = 1, KEY_OPERATIONAL = 2, KEY_FULL_FEATURE = 4 };
#define KEY_LOGIN (KEY_SECURITY | KEY_OPERATIONAL)
#define KEY_ANY   (KEY_LOGIN | KEY_FULL_FEATURE)

struct key_row {
	const char *name;
	enum key_rule rule;
	uint8_t phases;    /* enum key_phase: where an initiator may send it */
	bool target_only;  /* no initiator may send it */
	bool leading_only; /* LO: fixed by the first connection of the session */
	bool may_repeat;   /* the same value again is harmless */
	uint16_t length;   /* of a value, in bytes; 0: TEXT_VALUE_MAX */
	uint64_t min, max; /* of numbers; booleans are 0 and 1 */
	uint32_t def;      /* before negotiation */
	uint16_t value;    /* offset in iscsi_keys + 1; 0: not kept there */
	uint16_t limit;    /* offset in key_limits + 1; 0: row->fixed is our side */
	uint32_t fixed;
	const char *const *choices; /* KEY_RULE_LIST: names of the values from 0 on, then NULL */
};
extern const struct key_row key_table[KEY_COUNT];

enum key_id key_find(const char *name);
/* What is in force; of rows that have a value. */
uint32_t keys_value(const struct iscsi_keys *k, enum key_id id);

/* One login, or one text negotiation of full-feature phase. */
struct key_negotiation {
	const struct key_limits *limits;
	enum key_phase phase;
	bool leading;   /* first connection of its session */
	bool discovery; /* MaxConnections=1, ErrorRecoveryLevel=0 whatever limits say */
	bool digests;   /* the transport can */
	uint32_t max_recv_data_segment_length; /* the transport's limit */
	uint32_t max_connections;              /* likewise */
	uint32_t error_recovery_level;         /* likewise */
	uint64_t seen;                         /* bit n: key n was offered */
	uint64_t rejected;                     /* bit n: answered Reject, value as before */
	struct iscsi_keys keys;                /* agreed on so far */
};

/* dm's side is filled in by the caller afterwards. */
void keys_begin(struct key_negotiation *n, const struct key_limits *limits);

/*
 * Takes an offer or declaration. 0: *ret_id says which (KEY_NONE: not understood) and the value is
 * in n->keys, or n->rejected has its bit; -EPROTO: the negotiation has failed (wrong phase or
 * sender, offered twice, a reserved word as a value, a bad declaration).
 */
int keys_offer(struct key_negotiation *n, const struct text_pair *p, enum key_id *ret_id);
/* All offers of this round are in: the rules between keys (RFC 7143 13.14, 13.19). */
void keys_settle(struct key_negotiation *n);
/* Appends the answer to an offer that keys_offer has taken; texts of login.c have none here. */
void keys_answer(const struct key_negotiation *n, const struct text_pair *p, struct text_out *out);
/* Whether what is in force is allowed by the limits: a digest that was required may be missing. */
bool keys_acceptable(const struct key_negotiation *n);

#endif
