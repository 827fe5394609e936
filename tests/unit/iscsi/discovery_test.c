/* SPDX-License-Identifier: BSD-2-Clause */
/* SendTargets and the text requests of full-feature phase. */
#include "transport/iscsi/text_request.c"

#include "tests/unit/fake_initiator.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>

#define FINAL 0x80
#define MORE  0x40
#define NEW   ISCSI_TAG_RESERVED

static struct fake_net net;
static struct iscsi_policy *policy;

/* Targets: disk admits all; hidden somebody else; plain all, without portals of its own. */
static void setup(void)
{
	struct iscsi_target *t;

	policy = policy_alloc(3);
	t = policy->targets;
	fake_policy_target(policy, 0, FAKE_TARGET, 1);
	fake_policy_target(policy, 1, FAKE_TARGET "-hidden", 1);
	strcpy(t[1].rules[0].initiator, "iqn.2001-04.com.example:other");
	fake_policy_target(policy, 2, FAKE_TARGET "-plain", 1);
	fake_policy_portals(&t[0], 6);
	t[0].portals[0] = (struct iscsi_target_portal){ "0.0.0.0", 3260, 1, 1 };
	t[0].portals[1] = (struct iscsi_target_portal){ "192.0.2.10", 3260, 1, 1 };
	t[0].portals[2] = (struct iscsi_target_portal){ "[::]", 3260, 1, 1 };
	t[0].portals[3] = (struct iscsi_target_portal){ "[2001:db8::1]", 3261, 1, 1 };
	t[0].portals[4] = (struct iscsi_target_portal){ "198.51.100.1", 860, 0, 2 };
	t[0].portals[5] = (struct iscsi_target_portal){ "198.51.100.2", 860, 65535, 3 };
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
#define PLAIN "TargetName=" FAKE_TARGET "-plain\0TargetAddress=192.0.2.10:3260,1\0"

START_TEST(send_targets_all)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);

	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=All\n"), DISK PLAIN);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "-plain\n"), PLAIN);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "-hidden\n"), "");
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "-unknown\n"), "");
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=foo bar\n"), "");
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=\n"), "");
}
END_TEST

/* What the connection's own address makes of wildcards. */
START_TEST(wildcards)
{
	static const struct {
		const char *local, *first;
	} rows[] = {
		{ "192.0.2.77", "192.0.2.77:3260,1" },
		{ "::ffff:192.0.2.77", "192.0.2.77:3260,1" },
		{ "2001:db8::7", "[2001:db8::7]:3260,1" },
		{ "fe80::7", "[2001:db8::1]:3261,1" },
	};

	/* without the fixed IPv4 address in front */
	policy->targets[0].portals[1] = policy->targets[0].portals[3];
	for (unsigned n = 0; n < 4; n++) {
		struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);
		struct sockaddr_in *v4 = (void *)&i.fc->c->local;
		struct sockaddr_in6 *v6 = (void *)&i.fc->c->local;
		struct fake_pdu *p;
		const char *address;

		memset(&i.fc->c->local, 0, sizeof(i.fc->c->local));
		if (inet_pton(AF_INET, rows[n].local, &v4->sin_addr) == 1) {
			v4->sin_family = AF_INET;
		} else {
			ck_assert_int_eq(inet_pton(AF_INET6, rows[n].local, &v6->sin6_addr), 1);
			v6->sin6_family = AF_INET6;
		}
		p = fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "\n");
		/* for a wildcard comes before the others, where it stands for an address */
		address = fake_value(p, "TargetAddress");
		if (n == 2) {
			const char *second = address + strlen(address) + 1;

			ck_assert_ptr_nonnull(strstr(second, rows[n].first));
		} else {
			ck_assert_str_eq(address, rows[n].first);
		}
		for (const char *a = (const char *)p->data; a < (const char *)p->data + p->length;
		     a += strlen(a) + 1) {
			ck_assert_ptr_null(strstr(a, "0.0.0.0"));
			ck_assert_ptr_null(strstr(a, "[::]"));
			ck_assert_ptr_null(strstr(a, "fe80"));
		}
		free(p);
	}
}
END_TEST

START_TEST(initiator_without_targets)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);

	for (unsigned n = 0; n < 3; n++)
		strcpy(policy->targets[n].rules[0].initiator, "iqn.2001-04.com.example:other");
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=All\n"), "");
}
END_TEST

START_TEST(normal_session)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_NORMAL);

	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=All\n"), "SendTargets=Reject\0");
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=\n"), DISK);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "\n"), DISK);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "-plain\n"), "");
}
END_TEST

/* In a discovery session no other request, there and beside SendTargets anywhere no other key. */
START_TEST(only_send_targets)
{
	struct bhs_nop nop = { .opcode = ISCSI_OP_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_FINAL };
	struct fake_initiator d = fake_logged_in(&net, FAKE_DISCOVERY), i;

	check_reject(fake_text(&d, FINAL, NEW, "MaxRecvDataSegmentLength=8192\n"),
		     REJECT_PROTOCOL_ERROR);
	check_reject(fake_text(&d, FINAL, NEW, "X-foo=1\n"), REJECT_PROTOCOL_ERROR);
	put_be32(nop.itt, 7);
	put_be32(nop.ttt, NEW);
	ck_assert_int_eq(fake_feed(d.fc, (uint8_t *)&nop, NULL, 0), 0);
	check_reject(fake_next(d.fc), REJECT_PROTOCOL_ERROR);
	i = fake_logged_in(&net, FAKE_NORMAL);
	check_reject(fake_text(&i, FINAL, NEW, "SendTargets=\nMaxRecvDataSegmentLength=8192\n"),
		     REJECT_PROTOCOL_ERROR);
	check_reject(fake_text(&i, FINAL, NEW, "X-foo=1\nSendTargets=\n"), REJECT_PROTOCOL_ERROR);
	check_reject(fake_text(&i, FINAL, NEW, "SendTargets=\nSendTargets=\n"),
		     REJECT_PROTOCOL_ERROR);
	CHECK_FINAL(fake_text(&d, FINAL, NEW, "SendTargets=" FAKE_TARGET "-plain\n"), PLAIN);
}
END_TEST

/* A list that is longer than the initiator takes at once comes in parts. */
START_TEST(long_list)
{
	struct iscsi_policy *many = policy_alloc(1000);
	struct fake_net other;
	struct fake_initiator i;
	struct fake_pdu *p;
	char *all = calloc(1, 1 << 20), text[64];
	size_t length = 0, expected = 0;
	unsigned parts = 0;

	for (unsigned n = 0; n < 1000; n++) {
		snprintf(text, sizeof(text), "iqn.2001-04.com.example:t%03u", n);
		fake_policy_target(many, n, text, 1);
		expected += sizeof("TargetName=iqn.2001-04.com.example:t000") +
			    sizeof("TargetAddress=192.0.2.10:3260,1");
	}
	fake_net_start(&other, many);
	i = fake_logged_in(&other, FAKE_DISCOVERY "MaxRecvDataSegmentLength=512\n");
	p = fake_text(&i, FINAL, NEW, "SendTargets=All\n");
	for (;;) {
		ck_assert_uint_eq(fake_opcode(p), ISCSI_OP_TEXT_RESPONSE);
		ck_assert_uint_le(p->length, 512);
		memcpy(all + length, p->data, p->length);
		length += p->length;
		parts++;
		if (p->bhs[1] & FINAL)
			break;
		ck_assert_uint_eq(p->bhs[1], MORE);
		ck_assert_uint_ne(fake_ttt(p), NEW);
		ck_assert_uint_eq(p->length, 512);
		{
			uint32_t ttt = fake_ttt(p);

			free(p);
			p = fake_text(&i, FINAL, ttt, "");
		}
	}
	ck_assert_uint_eq(fake_ttt(p), NEW);
	free(p);
	ck_assert_uint_eq(length, expected);
	ck_assert_uint_eq(parts, (expected + 511) / 512);
	ck_assert_int_eq(all[length - 1], 0);
	ck_assert_ptr_nonnull(memmem(all, length, "t999", 4));
	ck_assert_ptr_null(i.fc->c->text);
	free(all);
	/* and text in between ends it */
	p = fake_text(&i, FINAL, NEW, "SendTargets=All\n");
	{
		uint32_t ttt = fake_ttt(p);

		free(p);
		check_reject(fake_text(&i, FINAL, ttt, "X-foo=1\n"), REJECT_PROTOCOL_ERROR);
		check_reject(fake_text(&i, FINAL, ttt, ""), REJECT_INVALID_PDU_FIELD);
	}
	fake_net_stop(&other);
}
END_TEST

START_TEST(declare_again)
{
	struct fake_initiator i =
	    fake_logged_in(&net, FAKE_NORMAL "MaxRecvDataSegmentLength=16384\n");
	const struct iscsi_keys *k = &i.fc->c->keys;

	CHECK_FINAL(fake_text(&i, FINAL, NEW, "MaxRecvDataSegmentLength=65536\n"),
		    "MaxRecvDataSegmentLength=262144\0");
	ck_assert_uint_eq(k->max_send_data_segment_length, 65536);
	ck_assert_uint_eq(k->max_recv_data_segment_length, 262144);
	/* negotiations are atomic: with a bad key beside it nothing changes */
	check_reject(fake_text(&i, FINAL, NEW, "MaxRecvDataSegmentLength=512\nMaxConnections=4\n"),
		     REJECT_PROTOCOL_ERROR);
	ck_assert_uint_eq(k->max_send_data_segment_length, 65536);
	check_reject(fake_text(&i, FINAL, NEW, "MaxRecvDataSegmentLength=511\n"),
		     REJECT_PROTOCOL_ERROR);
	check_reject(fake_text(&i, FINAL, NEW,
			       "MaxRecvDataSegmentLength=512\nMaxRecvDataSegmentLength=512\n"),
		     REJECT_PROTOCOL_ERROR);
	ck_assert_uint_eq(k->max_send_data_segment_length, 65536);
}
END_TEST

/* Values change when both sides have said F, not before. */
START_TEST(two_steps)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_NORMAL);
	const struct iscsi_keys *k = &i.fc->c->keys;
	struct fake_pdu *p = fake_text(&i, 0, NEW, "MaxRecvDataSegmentLength=65536\n");
	uint32_t ttt = fake_ttt(p);

	ck_assert_uint_eq(fake_opcode(p), ISCSI_OP_TEXT_RESPONSE);
	ck_assert_uint_eq(p->bhs[1], 0);
	ck_assert_uint_ne(ttt, NEW);
	ck_assert_str_eq(fake_value(p, "MaxRecvDataSegmentLength"), "8192");
	ck_assert_uint_eq(k->max_send_data_segment_length, 8192);
	free(p);
	CHECK_FINAL(fake_text(&i, FINAL, ttt, "InitiatorAlias=new\n"), "");
	ck_assert_uint_eq(k->max_send_data_segment_length, 65536);
	ck_assert_str_eq(i.fc->c->session->initiator_alias, "new");
}
END_TEST

START_TEST(continued_request)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);
	struct fake_pdu *p = fake_text(&i, MORE, NEW, "SendTar");
	uint32_t ttt = fake_ttt(p);

	ck_assert_uint_eq(p->bhs[1], 0);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_ne(ttt, NEW);
	free(p);
	CHECK_FINAL(fake_text(&i, FINAL, ttt, "gets=" FAKE_TARGET "-plain\n"), PLAIN);
	/* begun anew: the part of the old negotiation is forgotten */
	free(fake_text(&i, MORE, NEW, "X-"));
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "-plain\n"), PLAIN);
	check_reject(fake_text(&i, FINAL | MORE, NEW, "SendTargets=All\n"), REJECT_PROTOCOL_ERROR);
}
END_TEST

START_TEST(wrong_tags)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);
	struct fake_pdu *p;
	uint32_t ttt;

	check_reject(fake_text(&i, FINAL, 0x1234, "SendTargets=All\n"), REJECT_INVALID_PDU_FIELD);
	ck_assert_ptr_null(i.fc->c->text);
	p = fake_text(&i, MORE, NEW, "SendTargets=" FAKE_TARGET);
	ttt = fake_ttt(p);
	free(p);
	/* a stale tag does no harm to the negotiation in progress */
	check_reject(fake_text(&i, FINAL, ttt + 1, "foo"), REJECT_INVALID_PDU_FIELD);
	CHECK_FINAL(fake_text(&i, FINAL, ttt, "-plain\n"), PLAIN);
	/* another task tag ends it */
	p = fake_text(&i, MORE, NEW, "SendTargets=");
	ttt = fake_ttt(p);
	free(p);
	i.itt++;
	check_reject(fake_text(&i, FINAL, ttt, "All\n"), REJECT_INVALID_PDU_FIELD);
	check_reject(fake_text(&i, FINAL, ttt, "All\n"), REJECT_INVALID_PDU_FIELD);
	ck_assert_ptr_null(i.fc->c->text);
}
END_TEST

START_TEST(refused_texts)
{
	static const char *const bad[] = {
		"Foo\n",
		"HeaderDigest=CRC32C\n",
		"InitialR2T=No\n",
		"TargetAlias=x\n",
		"TargetAddress=192.0.2.1\n",
		"SessionType=Discovery\n",
		"X#NodeArchitecture=x\n",
		"iSERHelloRequired=Yes\n",
		"MaxRecvDataSegmentLength=Irrelevant\n",
	};
	struct fake_initiator i = fake_logged_in(&net, FAKE_NORMAL);
	char alias[400];

	for (unsigned n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		check_reject(fake_text(&i, FINAL, NEW, bad[n]), REJECT_PROTOCOL_ERROR);
	snprintf(alias, sizeof(alias), "InitiatorAlias=%0256d\n", 0);
	check_reject(fake_text(&i, FINAL, NEW, alias), REJECT_PROTOCOL_ERROR);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "FooBar=1\nX-y=2\n"),
		    "FooBar=NotUnderstood\0X-y=NotUnderstood\0");
}
END_TEST

START_TEST(too_much_text)
{
	static char text[8193];
	struct fake_initiator i = fake_logged_in(&net, FAKE_NORMAL);
	uint32_t ttt = NEW;
	struct fake_pdu *p;
	unsigned n;

	memset(text, 'x', sizeof(text) - 1);
	for (n = 0; n < 100; n++) {
		p = fake_text(&i, MORE, ttt, text);
		if (fake_opcode(p) != ISCSI_OP_TEXT_RESPONSE)
			break;
		ttt = fake_ttt(p);
		free(p);
	}
	ck_assert_uint_eq(n, TEXT_IN_MAX / 8192);
	check_reject(p, REJECT_OUT_OF_RESOURCES);
	ck_assert_ptr_null(i.fc->c->text);
}
END_TEST

/* Not immediate: takes a CmdSN and gives the place in the window back. */
START_TEST(command_number)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);
	struct bhs_text h = { .opcode = ISCSI_OP_TEXT_REQUEST, .flags = FINAL };
	static const char text[] = "SendTargets=" FAKE_TARGET "-plain";
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint32_t max = i.fc->c->session->max_cmdsn;
	struct fake_pdu *p;

	put_be32(h.ttt, NEW);
	put_be32(h.sn1, 1);
	memcpy(bhs, &h, sizeof(bhs));
	ck_assert_int_eq(fake_feed(i.fc, bhs, text, sizeof(text)), 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(get_be32(p->bhs + 28), 2);
	ck_assert_uint_eq(get_be32(p->bhs + 32), max + 1);
	CHECK_FINAL(p, PLAIN);
}
END_TEST

/* No NOP-In there; silence ends it. */
START_TEST(idle)
{
	struct fake_initiator d;

	policy->nop_interval_s = 1;
	policy->nop_timeout_s = 0;
	d = fake_logged_in(&net, FAKE_DISCOVERY);
	for (unsigned n = 0; n < 500 && d.fc->c; n++)
		reactor_turn(net.reactor, 10);
	ck_assert_ptr_null(d.fc->c);
	ck_assert_ptr_null(fake_next(d.fc));
}
END_TEST

SUITE_COVERS("N-015 N-017 N-018 N-020 N-021 N-022 N-023 N-024 N-025 N-026 N-027 N-028 N-029 "
	     "N-030 N-031 N-032 N-033 T-002 T-004 T-009 T-015 T-016 T-017 T-020 T-024 T-037 "
	     "T-038 T-039 T-040 T-041 T-042 T-043 T-044 T-045 T-046 T-049 T-050 T-053 T-063 "
	     "T-071 T-074 T-096 T-104 T-105 I-032");

int main(void)
{
	Suite *s = suite_create("discovery");
	TCase *t = tcase_create("discovery");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, send_targets_all);
	tcase_add_test(t, wildcards);
	tcase_add_test(t, initiator_without_targets);
	tcase_add_test(t, normal_session);
	tcase_add_test(t, only_send_targets);
	tcase_add_test(t, long_list);
	tcase_add_test(t, declare_again);
	tcase_add_test(t, two_steps);
	tcase_add_test(t, continued_request);
	tcase_add_test(t, wrong_tags);
	tcase_add_test(t, refused_texts);
	tcase_add_test(t, too_much_text);
	tcase_add_test(t, command_number);
	tcase_add_test(t, idle);
	suite_add_tcase(s, t);
	return unit_end(r);
}
