/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks that a function for many has stopped while the transport waits for their data. */
#include "daemon/base/pool.h"
#include "tests/unit/iscsi/ffp_fixture.h"
#include "tests/unit/unit.h"

static struct rig rig;
static uint8_t cdb[16];

static bool cease_later(struct iscsi_task *t)
{
	(void)t;
	return false;
}

/* A function for many waits for what has been asked for: the task is none any more, not even if its
 * answer has waited for a fence, but its tag is taken. */
START_TEST(waits_for_r2ts)
{
	struct fake_initiator i;
	struct iscsi_task *t;
	struct fake_pdu *p;
	uint32_t write;

	fake_datamover.cease = cease_later;
	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_write10(cdb, 0, 8);
	ck_assert_int_eq(
	    rig_send(&i,
		     &(struct rig_command){ .cdb = cdb, .flags = ISCSI_CMD_WRITE, .edtl = 4096 }),
	    0);
	write = i.itt;
	t = session_find_task(i.fc->c->session, write);
	t->held = true;
	rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK_SET });
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert(t->stopped && !t->held && !t->submitted);
	ck_assert_uint_eq(i.fc->c->session->n_tasks, 1);
	ck_assert_int_eq(rig_send(&i, &(struct rig_command){ .cdb = cdb, .itt = write }), 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_TASK_IN_PROGRESS);
	free(p);
	iscsi_data_complete(t);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	free(p);
	ck_assert_uint_eq(i.fc->c->session->n_tasks, 0);
	ck_assert_uint_eq(pool_in_use(i.fc->c->ir->tasks), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("E-024");

UNIT_MAIN("iscsi/ffp_stop", waits_for_r2ts)
