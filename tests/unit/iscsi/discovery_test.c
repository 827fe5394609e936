/* SPDX-License-Identifier: BSD-2-Clause */
/* The text requests of full-feature phase. */
#include "transport/iscsi/text_request.c"

#include "tests/unit/iscsi/discovery_fixture.h"

#include <stdio.h>

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

SUITE_COVERS("N-017 N-018 N-028 T-002 T-004 T-009 T-015 T-016 T-017 T-020 T-024 T-037 T-038 "
	     "T-039 T-040 T-041 T-042 T-043 T-044 T-045 T-046 T-049 T-050 T-053 T-063 T-071 "
	     "T-074 T-096 T-104 I-032");

int main(void)
{
	Suite *s = suite_create("discovery");
	TCase *t = tcase_create("discovery");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, only_send_targets);
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
