/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of persistent reservations, for tests of several nodes on one LU (target T_PR). */
#ifndef HAWSER_TESTS_PROTOCOL_RESERVE_H
#define HAWSER_TESTS_PROTOCOL_RESERVE_H

#include "tests/protocol/protocol.h"

#define NODE1 BASE "node1"
#define NODE2 BASE "node2"
#define NODE3 BASE "node3"

enum action {
	REGISTER,
	RESERVE,
	RELEASE,
	CLEAR,
	PREEMPT,
	PREEMPT_AND_ABORT,
	REGISTER_IGNORE,
	REGISTER_AND_MOVE
};
enum { ALL_TG_PT = 0x04, APTPL = 0x01 };

#define CONFLICT 0x18u
#define UA(code) (0x060000u | (code))

/* Each sends one command. Sense (key << 16 | ASC << 8 | ASCQ), or the status, or 0. */
unsigned pr_out(struct ini *i, enum action action, uint8_t type, uint64_t key, uint64_t action_key,
		uint8_t flags);
unsigned rw(struct ini *i, uint8_t opcode);
unsigned plain(struct ini *i, const char *cdb);
/* The same of a command that has been answered. */
unsigned result_of(const struct ini_scsi *c);

/* PERSISTENT RESERVE IN, which must succeed: bytes that came. */
uint32_t pr_in(struct ini *i, uint8_t action, uint8_t *out, uint16_t length);
unsigned count_keys(struct ini *i, uint64_t key);
/* Type of the reservation, 0 without one. */
uint8_t held(struct ini *i, uint64_t *ret_key);

#define ck_held(i, type, key)                                                                      \
	do {                                                                                       \
		uint64_t k_;                                                                       \
		ck_assert_uint_eq(held(i, &k_), type);                                             \
		ck_assert_uint_eq(k_, key);                                                        \
	} while (0)

/* A session of that initiator, its unit attentions taken. */
struct ini *node(const char *name);
/* Leaves nobody registered: the next test begins with nothing. */
void tidy(struct ini *i);

#endif
