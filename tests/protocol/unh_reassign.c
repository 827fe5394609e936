/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, group 11.2: TASK REASSIGN (full text). It belongs to level 2, which
 * is not offered: response 4, and the task is where it was. And recovery that is given up. */
#include "tests/protocol/mcs.h"
#include "tests/protocol/unh.h"

static void reassign(struct ini *i, uint32_t itt)
{
	struct bhs_tmf_request h;
	const struct ini_pdu *p;

	ini_tmf(i, &h, ISCSI_TMF_TASK_REASSIGN, LUN_FAULT);
	put_be32(h.referenced_tag, itt);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	do {
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert(p != NULL);
	} while (p->bhs[0] == ISCSI_OP_ASYNC);
	ck_assert_uint_eq(p->bhs[0], ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_NO_REASSIGN);
}

/* Two connections, "ERL 2 tried", and a READ that runs on the first. */
static uint32_t two_with_a_read(struct mcs *m)
{
	mcs_open(m, 2, USUAL("65536", "No", "Yes") "\nErrorRecoveryLevel=2");
	unh_prep(mcs_on(m, 0));
	unh_prep(mcs_on(m, 1));
	ready(mcs_on(m, 0), LUN_FAULT);
	return unh_start_read(mcs_on(m, 0), LUN_FAULT, FAULT_SLOW, 1);
}

START_TEST(after_logout)
{
	COVERS("U-022 E-012 P-133");
	struct mcs m;
	uint32_t itt = two_with_a_read(&m);

	ck_assert_uint_eq(mcs_logout(&m, 0, LOGOUT_RECOVERY, 0)->response, LOGOUT_RSP_NO_RECOVERY);
	reassign(mcs_on(&m, 1), itt);
}
END_TEST

START_TEST(still_allegiant)
{
	COVERS("U-023 E-012");
	struct mcs m;
	uint32_t itt = two_with_a_read(&m);

	reassign(mcs_on(&m, 1), itt);
	ck_assert_uint_eq(be32_of(expect(mcs_on(&m, 0), ISCSI_OP_DATA_IN), bhs_data_in, itt), itt);
}
END_TEST

START_TEST(after_a_lost_connection)
{
	COVERS("U-024 E-012");
	struct mcs m;
	uint32_t itt = two_with_a_read(&m);

	mcs_kill(&m, 0, 1);
	reassign(mcs_on(&m, 1), itt);
}
END_TEST

/* One connection is lost, and may come back; then the initiator gives up the others too, and
 * begins anew: that goes before. */
START_TEST(given_up)
{
	COVERS("S-028");
	struct mcs m;
	struct ini *next;

	two_with_a_read(&m);
	mcs_kill(&m, 0, 1);
	ini_close(m.c[1]);
	next = connect_to(server.port);
	memcpy(next->isid, m.c[0]->isid, sizeof(next->isid));
	ck_assert_int_eq(try_login(next, &(struct ini_login){ .target = T_MCS }), 0);
	ready(next, LUN_RAM);
	expect_nothing(next);
	ck_assert_int_eq(mcs_join(&m, 0), LOGIN_NO_SESSION);
}
END_TEST

void unh_reassign_suite(TCase *c)
{
	add(c, after_logout);
	add(c, still_allegiant);
	add(c, after_a_lost_connection);
	add(c, given_up);
}
