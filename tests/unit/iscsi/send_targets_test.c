/* SPDX-License-Identifier: BSD-2-Clause */
/* SendTargets: who is told of which targets, and of which addresses. */
#include "tests/unit/iscsi/discovery_fixture.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

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

/* As if the initiator had come to this address. */
static void come_to(struct fake_initiator *i, const char *address)
{
	struct sockaddr_in *v4 = (void *)&i->fc->c->local;
	struct sockaddr_in6 *v6 = (void *)&i->fc->c->local;

	memset(&i->fc->c->local, 0, sizeof(i->fc->c->local));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		return;
	}
	ck_assert_int_eq(inet_pton(AF_INET6, address, &v6->sin6_addr), 1);
	v6->sin6_family = AF_INET6;
}

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
	policy->addresses[1] = policy->addresses[3];
	for (unsigned n = 0; n < 4; n++) {
		struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);
		struct fake_pdu *p;
		const char *address;

		come_to(&i, rows[n].local);
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

static void listed(const char *local, const char *want, size_t length)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);

	come_to(&i, local);
	check_final(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "\n"), want, length);
}
#define LISTED(local, want)                                                                        \
	listed(local, "TargetName=" FAKE_TARGET "\0" want,                                         \
	       sizeof("TargetName=" FAKE_TARGET "\0" want) - 1)

/* Who has come by IPv4 is told of IPv4, and the reverse; of the other only if there is none.
 * fault-C02 fault-C10 */
START_TEST(one_family)
{
	policy->all_families = false;
	LISTED("192.0.2.10", "TargetAddress=192.0.2.10:3260,1\0TargetAddress=198.51.100.1:860,0\0"
			     "TargetAddress=198.51.100.2:860,65535\0");
	LISTED("2001:db8::1",
	       "TargetAddress=[2001:db8::1]:3260,1\0TargetAddress=[2001:db8::1]:3261,1\0");
	policy->targets[0].n_groups = 1;
	policy->addresses[0] = policy->addresses[1] = policy->addresses[3];
	LISTED("192.0.2.10", "TargetAddress=[2001:db8::1]:3261,1\0");
}
END_TEST

/* A wildcard stands for what the machine has, but the loopback's users are told no more than that.
 */
START_TEST(interfaces)
{
	static const struct iscsi_interface list[] = {
		{ AF_INET, "192.0.2.10" },
		{ AF_INET, "203.0.113.5" },
		{ AF_INET6, "[2001:db8::5]" },
	};

	policy->all_families = false;
	policy->targets[0].n_groups = 1;
	policy->interfaces = calloc(3, sizeof(*policy->interfaces));
	ck_assert_ptr_nonnull(policy->interfaces);
	memcpy(policy->interfaces, list, sizeof(list));
	policy->n_interfaces = 3;
	LISTED("203.0.113.5",
	       "TargetAddress=203.0.113.5:3260,1\0TargetAddress=192.0.2.10:3260,1\0");
	LISTED("fe80::7",
	       "TargetAddress=[2001:db8::5]:3260,1\0TargetAddress=[2001:db8::1]:3261,1\0");
	LISTED("127.0.0.1", "TargetAddress=127.0.0.1:3260,1\0TargetAddress=192.0.2.10:3260,1\0"
			    "TargetAddress=127.0.0.2:3260,1\0");
	policy->addresses[0].kind = ISCSI_ADDRESS_ANY_HERE;
	policy->addresses[1] = policy->addresses[0];
	LISTED("203.0.113.5", "TargetAddress=203.0.113.5:3260,1\0");
}
END_TEST

/* Not advertised: who has found it may know of it there, elsewhere it is not. */
START_TEST(nowhere_advertised)
{
	policy->n_addresses = 0;
	LISTED("192.0.2.10", "TargetAddress=192.0.2.10:3260,1\0");
	policy->targets[0].groups[0].tpgt = 2;
	policy->targets[0].n_groups = 1;
	{
		struct fake_initiator i = fake_logged_in(&net, FAKE_DISCOVERY);

		CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "\n"), "");
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
	/* what is neither a name nor a word of the standard */
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=Alle\n"), "SendTargets=Reject\0");
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=A\n"), "SendTargets=Reject\0");
}
END_TEST

/* Where it is wanted All is answered, but with no other target than the session's. */
START_TEST(all_in_a_normal_session)
{
	struct fake_initiator i = fake_logged_in(&net, FAKE_NORMAL);

	policy->all_in_normal_sessions = true;
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=All\n"), DISK);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=" FAKE_TARGET "-plain\n"), "");
	check_reject(fake_text(&i, FINAL, NEW, "SendTargets=Alle\n"), REJECT_PROTOCOL_ERROR);
	check_reject(fake_text(&i, FINAL, NEW, "sENDtARGETS=aLL\n"), REJECT_PROTOCOL_ERROR);
	CHECK_FINAL(fake_text(&i, FINAL, NEW, "SendTargets=All\n"), DISK);
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

SUITE_COVERS("N-015 N-020 N-021 N-022 N-023 N-024 N-025 N-026 N-027 N-029 N-030 N-031 N-032 N-033 "
	     "T-105");

int main(void)
{
	Suite *s = suite_create("send_targets");
	TCase *t = tcase_create("send_targets");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, send_targets_all);
	tcase_add_test(t, wildcards);
	tcase_add_test(t, one_family);
	tcase_add_test(t, interfaces);
	tcase_add_test(t, nowhere_advertised);
	tcase_add_test(t, initiator_without_targets);
	tcase_add_test(t, normal_session);
	tcase_add_test(t, all_in_a_normal_session);
	tcase_add_test(t, long_list);
	suite_add_tcase(s, t);
	return unit_end(r);
}
