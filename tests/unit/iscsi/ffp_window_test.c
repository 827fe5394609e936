/* SPDX-License-Identifier: BSD-2-Clause */
/* The command window: what it promises, that it opens by what is answered, that it grows. */
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

#define R ISCSI_CMD_READ

static struct rig rig;
static uint8_t cdb[16];

static void small_window(struct iscsi_policy *p)
{
	p->window = 4;
}

/* The window closes when all it promises is in use and opens by what answers. */
START_TEST(window)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512 };
	uint32_t max, told = 0;
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, small_window);
	i = rig_login(&rig, NULL);
	rig_read10(cdb, 0, 1);
	rig.store[0]->hold = true;
	max = i.fc->c->session->max_cmdsn;
	for (unsigned n = 0; n < 4; n++)
		ck_assert_int_eq(rig_send(&i, &q), 0);
	ck_assert_uint_eq(i.fc->c->session->exp_cmdsn, max + 1);
	ck_assert_ptr_null(rig_command(&i, &q)); /* one more is ignored */
	i.cmdsn--;
	p = rig_ping(&i, 0x300, NULL, 0); /* but immediate ones are not */
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_exp_cmdsn(p), rig_max_cmdsn(p) + 1);
	free(p);
	rig.store[0]->hold = false;
	fake_store_let(rig.store[0]);
	for (unsigned n = 0; n < 4; n++) {
		p = fake_next(i.fc);
		ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
		ck_assert_int_ge((int32_t)(rig_max_cmdsn(p) - told), told ? 0 : INT32_MIN);
		told = rig_max_cmdsn(p);
		free(p);
	}
	ck_assert_uint_eq(told,
			  max + 4 + 4); /* the last answer tells all of it, and it has doubled */
	rig_stop(&rig);
}
END_TEST

/* A session that uses all of its window is promised more, up to eight times the first, and keeps
 * it; one that does not stays as it is. */
START_TEST(window_grows)
{
	static const unsigned sizes[] = { 4, 8, 16, 32, 32 };
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512 };
	struct fake_initiator i;
	struct iscsi_session *s;

	rig_start(&rig, small_window);
	i = rig_login(&rig, NULL);
	s = i.fc->c->session;
	rig_read10(cdb, 0, 1);
	free(rig_command(&i, &q));
	for (unsigned round = 0; round < 5; round++) {
		ck_assert_uint_eq(s->max_cmdsn - s->exp_cmdsn + 1, sizes[round]);
		rig.store[0]->hold = true;
		for (unsigned n = 0; n < sizes[round]; n++)
			ck_assert_int_eq(rig_send(&i, &q), 0);
		ck_assert_uint_eq(s->max_cmdsn + 1, s->exp_cmdsn);
		rig.store[0]->hold = false;
		fake_store_let(rig.store[0]);
		for (unsigned n = 0; n < sizes[round]; n++) {
			struct fake_pdu *p = fake_next(i.fc);

			ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
			free(p);
		}
		fake_turn(&rig.net, 2);
	}
	ck_assert_uint_eq(i.fc->c->ir->window_grown, 28);
	rig_stop(&rig);
}
END_TEST

/* The window opens without an answer to go with it: a NOP-In says so. */
START_TEST(window_told)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512 };
	struct fake_initiator i, other;
	struct fake_pdu *p;

	rig_start(&rig, small_window);
	i = rig_login(&rig, NULL);
	other = rig_login_isid(&rig, 2, NULL);
	rig_read10(cdb, 0, 1);
	rig.store[0]->hold = true;
	for (unsigned n = 0; n < 4; n++)
		ck_assert_int_eq(rig_send(&i, &q), 0);
	ck_assert_uint_eq(rig_tmf(&other, &(struct rig_tmf){ .function = ISCSI_TMF_LU_RESET }), 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_itt(p), ISCSI_TAG_RESERVED);
	ck_assert_uint_eq(get_be32(p->bhs + 20), ISCSI_TAG_RESERVED);
	ck_assert_int_ge((int32_t)(rig_max_cmdsn(p) - rig_exp_cmdsn(p)), 0);
	free(p);
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("P-026 P-027 P-034 P-035");

UNIT_MAIN("iscsi/ffp_window", window, window_grows, window_told)
