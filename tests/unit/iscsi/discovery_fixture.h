/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The net that the tests of discovery and text requests run on: its targets and addresses, what is
 * listed of them, and what is said of an answer.
 *
 * Threads: one, the test's. Ownership: setup and teardown around each test.
 */
#ifndef HAWSER_TESTS_DISCOVERY_FIXTURE_H
#define HAWSER_TESTS_DISCOVERY_FIXTURE_H

#include "tests/unit/fake_initiator.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

#define FINAL 0x80
#define MORE  0x40
#define NEW   ISCSI_TAG_RESERVED

static struct fake_net net;
static struct iscsi_policy *policy;

static const struct iscsi_address addresses[] = {
	{ ISCSI_ADDRESS_ANY, AF_INET, 3260, 1, "" },
	{ ISCSI_ADDRESS_FIXED, AF_INET, 3260, 1, "192.0.2.10" },
	{ ISCSI_ADDRESS_ANY, AF_INET6, 3260, 1, "" },
	{ ISCSI_ADDRESS_FIXED, AF_INET6, 3261, 1, "[2001:db8::1]" },
	{ ISCSI_ADDRESS_FIXED, AF_INET, 860, 0, "198.51.100.1" },
	{ ISCSI_ADDRESS_FIXED, AF_INET, 860, 65535, "198.51.100.2" },
	{ ISCSI_ADDRESS_FIXED, AF_INET, 3260, 1, "127.0.0.2" }, /* nobody comes by it */
};

/* Targets: disk admits all; hidden somebody else; plain all, at group 1. */
static void setup(void)
{
	struct iscsi_target *t;

	policy = policy_alloc(3);
	t = policy->targets;
	fake_policy_target(policy, 0, FAKE_TARGET, 1);
	fake_policy_target(policy, 1, FAKE_TARGET "-hidden", 1);
	strcpy(t[1].rules[0].initiator, "iqn.2001-04.com.example:other");
	fake_policy_target(policy, 2, FAKE_TARGET "-plain", 1);
	for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		fake_policy_address(policy, &addresses[i]);
	fake_policy_group(&t[0], 1);
	fake_policy_group(&t[0], 0);
	fake_policy_group(&t[0], 65535);
	fake_policy_group(&t[2], 1);
	policy->all_families = true;
	fake_net_start(&net, policy);
}

static void teardown(void)
{
	fake_net_stop(&net);
}

static void check_final(struct fake_pdu *p, const char *text, size_t length)
{
	ck_assert_uint_eq(fake_opcode(p), ISCSI_OP_TEXT_RESPONSE);
	ck_assert_uint_eq(p->bhs[1], FINAL);
	ck_assert_uint_eq(fake_ttt(p), NEW);
	ck_assert_msg(p->length == length && !memcmp(p->data, text, length),
		      "%u bytes beginning with %s", p->length, (const char *)p->data);
	free(p);
}
#define CHECK_FINAL(p, text) check_final(p, text, sizeof(text) - 1)

static void check_reject(struct fake_pdu *p, unsigned reason)
{
	ck_assert_uint_eq(fake_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], reason);
	free(p);
}

#define DISK                                                                                       \
	"TargetName=" FAKE_TARGET "\0TargetAddress=192.0.2.10:3260,1\0"                            \
	"TargetAddress=[2001:db8::1]:3261,1\0TargetAddress=198.51.100.1:860,0\0"                   \
	"TargetAddress=198.51.100.2:860,65535\0"
#define PLAIN                                                                                      \
	"TargetName=" FAKE_TARGET "-plain\0TargetAddress=192.0.2.10:3260,1\0"                      \
	"TargetAddress=[2001:db8::1]:3261,1\0"

#endif
