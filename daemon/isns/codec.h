/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the Internet Storage Name Service (RFC 4171): building what a target sends, taking
 * apart what it gets. Pure: no sockets, no clock.
 *
 * Threads: none of its own. Ownership: a message borrows its buffer; attributes point into it.
 */
#ifndef HAWSER_DAEMON_ISNS_CODEC_H
#define HAWSER_DAEMON_ISNS_CODEC_H

#include "daemon/base/cursor.h"

#define ISNS_PORT        3205
#define ISNS_HEADER_SIZE 12u
#define ISNS_PAYLOAD_MAX 65532u /* a multiple of four (5.1.4) */

/* Functions (4.1); an answer has the highest bit set. */
enum isns_function {
	ISNS_REGISTER = 0x0001,   /* DevAttrReg */
	ISNS_DEREGISTER = 0x0004, /* DevDereg */
	ISNS_SCN_REGISTER = 0x0005,
	ISNS_SCN = 0x0008,
	ISNS_ESI = 0x000d,
	ISNS_ANSWER = 0x8000,
};

/* Flags (5.1.4) */
#define ISNS_CLIENT  0x8000u
#define ISNS_SERVER  0x4000u
#define ISNS_REPLACE 0x1000u
#define ISNS_LAST    0x0800u
#define ISNS_FIRST   0x0400u

/* Tags (6.1) */
enum isns_tag {
	ISNS_DELIMITER = 0,
	ISNS_ENTITY_ID = 1,
	ISNS_ENTITY_PROTOCOL = 2,
	ISNS_TIMESTAMP = 4,
	ISNS_PERIOD = 6,
	ISNS_PORTAL_ADDRESS = 16,
	ISNS_PORTAL_PORT = 17,
	ISNS_ESI_INTERVAL = 19,
	ISNS_ESI_PORT = 20,
	ISNS_SCN_PORT = 23,
	ISNS_NODE_NAME = 32,
	ISNS_NODE_TYPE = 33,
	ISNS_NODE_ALIAS = 34,
	ISNS_SCN_BITMAP = 35,
	ISNS_GROUP_ADDRESS = 49,
	ISNS_GROUP_PORT = 50,
	ISNS_GROUP_TAG = 51,
};

#define ISNS_PROTOCOL_ISCSI 2u
#define ISNS_NODE_TARGET    1u
/* Which changes a node is told of (6.4.4). */
#define ISNS_SCN_SELF    0x80u
#define ISNS_SCN_REMOVED 0x10u
#define ISNS_SCN_ADDED   0x08u
#define ISNS_SCN_UPDATED 0x04u

struct isns_header {
	uint16_t version, function, length, flags, xid, sequence;
};

/* A message being built; broken when the buffer was too small. */
struct isns_message {
	struct writer w;
};

void isns_begin(struct isns_message *m, void *buffer, size_t size, uint16_t function,
		uint16_t flags);
void isns_put(struct isns_message *m, uint32_t tag, const void *value, uint32_t length);
void isns_put_text(struct isns_message *m, uint32_t tag, const char *text);
void isns_put_number(struct isns_message *m, uint32_t tag, uint32_t value);
/* 0 and the bytes of the whole, or -EMSGSIZE. */
int isns_end(struct isns_message *m, size_t *ret_length);
void isns_set_xid(void *message, uint16_t xid);

/* 0, or -EPROTO: not iSNS version 1, or a length that cannot be. */
int isns_parse_header(const uint8_t bytes[static ISNS_HEADER_SIZE], struct isns_header *ret);

struct isns_attribute {
	uint32_t tag, length;
	const uint8_t *value;
};
/* The next attribute; false at the end, or *ret_error -EPROTO when it does not fit in. */
bool isns_next(struct reader *r, struct isns_attribute *ret, int *ret_error);

/* The answer to an ESI or SCN: status 0 and what RFC 4171 5.7.5 wants back. Whole length, or a
 * negative errno: not one of the two, or too long. */
int isns_answer(const struct isns_header *h, const uint8_t *payload, void *buffer, size_t size);
/* A state-change notice tells that something was removed. Ill-formed ones tell nothing. */
bool isns_scn_removes(const uint8_t *payload, size_t length);

#endif
