/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator's side of login and text for tests on the fake datamover: builds requests, reads
 * keys out of answers. In texts a newline stands for the NUL that ends a pair.
 *
 * Threads: one. Ownership: PDUs belong to the caller (free).
 */
#ifndef HAWSER_TESTS_FAKE_INITIATOR_H
#define HAWSER_TESTS_FAKE_INITIATOR_H

#include "tests/unit/fake_datamover.h"

struct fake_initiator {
	struct fake_conn *fc;
	uint8_t isid[6];
	uint16_t tsih, cid;
	uint32_t itt, cmdsn, exp_statsn;
	uint8_t version_max, version_min;
};

#define FAKE_NAME      "iqn.2001-04.com.example:initiator"
#define FAKE_TARGET    "iqn.2001-04.com.example:disk"
#define FAKE_NORMAL    "InitiatorName=" FAKE_NAME "\nTargetName=" FAKE_TARGET "\n"
#define FAKE_DISCOVERY "InitiatorName=" FAKE_NAME "\nSessionType=Discovery\n"

/* Byte 1 of Login Requests: T, C, CSG, NSG. */
#define FAKE_T       0x80
#define FAKE_C       0x40
#define FAKE_OP_FFP  0x87 /* T, operational to full-feature */
#define FAKE_SEC_OP  0x81 /* T, security to operational */
#define FAKE_SEC_FFP 0x83
#define FAKE_OP      0x04 /* stay in operational */
#define FAKE_SEC     0x00

/* One target FAKE_TARGET that admits anybody, no LUNs; more can be set before it is handed over. */
struct iscsi_policy *fake_policy(unsigned n_targets);
/* Gives target i a name and n rules, zeroed: they admit anybody. */
void fake_policy_target(struct iscsi_policy *p, unsigned i, const char *name, unsigned n_rules);
/* One portal group more by which it can be reached, and one address of a group. */
void fake_policy_group(struct iscsi_target *t, uint16_t tpgt);
void fake_policy_address(struct iscsi_policy *p, const struct iscsi_address *a);

/* Connects, ISID 00 02 3d 00 00 01, CmdSN 1. */
struct fake_initiator fake_initiator(struct fake_net *n);
/* A Login Request; length of text -1: strlen. The answer, NULL: none. */
struct fake_pdu *fake_login_bytes(struct fake_initiator *i, uint8_t flags, const void *text,
				  uint32_t length);
/* The request alone: what fake_feed returned. */
int fake_login_send(struct fake_initiator *i, uint8_t flags, const char *text);
struct fake_pdu *fake_login(struct fake_initiator *i, uint8_t flags, const char *text);
/* Connects and logs in with this text in one exchange; aborts the test program if refused. */
struct fake_initiator fake_logged_in(struct fake_net *n, const char *text);
/* A Text Request; flags: F 0x80, C 0x40. Immediate. */
struct fake_pdu *fake_text(struct fake_initiator *i, uint8_t flags, uint32_t ttt, const char *text);

/* Of an answer. */
unsigned
fake_status(const struct fake_pdu *p); /* class << 8 | detail; 0xffff: not a login answer */
unsigned fake_opcode(const struct fake_pdu *p); /* 0xff: NULL */
uint32_t fake_ttt(const struct fake_pdu *p);
/* The value of a key, NULL: not there. Valid as long as p. */
const char *fake_value(const struct fake_pdu *p, const char *key);
unsigned fake_count(const struct fake_pdu *p, const char *key); /* NULL: of all pairs */

#endif
