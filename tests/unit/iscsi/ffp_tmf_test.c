/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Task management: which tasks are stopped, what is answered and in which order, with tasks in the
 * store, in the transport and half collected.
 */
#include "transport/iscsi/ffp_tmf.c"

#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

#define R ISCSI_CMD_READ
#define W ISCSI_CMD_WRITE

static struct rig rig;
static uint8_t cdb[16];
static uint8_t block[4096];

static unsigned tmf(struct fake_initiator *i, uint8_t function, uint8_t lun, uint32_t task)
{
	return rig_tmf(
	    i, &(struct rig_tmf){
		   .function = function, .lun = lun, .task = task, .ref_cmdsn = i->cmdsn - 1 });
}

static uint32_t hold_read(struct fake_initiator *i, uint8_t lun)
{
	rig.store[lun]->hold = true;
	rig_read10(cdb, 0, 1);
	ck_assert_int_eq(
	    rig_send(i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512, .lun = lun }),
	    0);
	return i->itt;
}

static unsigned in_progress(struct fake_initiator *i)
{
	return i->fc->c->session->n_tasks;
}

static void check_quiet(struct fake_initiator *i)
{
	struct fake_pdu *p = rig_ping(i, 0x7777, NULL, 0);

	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_itt(p), 0x7777);
	free(p);
	ck_assert_ptr_null(fake_next(i->fc));
}

static void let_all(void)
{
	for (unsigned n = 0; n < RIG_LUS; n++) {
		rig.store[n]->hold = false;
		fake_store_let(rig.store[n]);
	}
	fake_turn(&rig.net, 2);
}

/* In the store: answered at once, and the late completion says nothing to anybody. */
START_TEST(abort_in_store)
{
	struct fake_initiator i;
	struct fake_pdu *p;
	uint32_t itt;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	itt = hold_read(&i, 0);
	rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
					    .task = itt,
					    .ref_cmdsn = i.cmdsn - 1 });
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[1], 0x80);
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(rig_itt(p), i.itt);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_eq(p->bhs[4], 0);
	ck_assert_uint_eq(rig_max_cmdsn(p) - rig_exp_cmdsn(p) + 1, 128);
	free(p);
	ck_assert_uint_eq(in_progress(&i), 0);
	ck_assert_uint_gt(pool_in_use(i.fc->c->ir->tasks), 0);
	let_all();
	ck_assert_uint_eq(pool_in_use(i.fc->c->ir->tasks), 0);
	check_quiet(&i);
	/* Again: still complete. */
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 0, itt), ISCSI_TMF_RSP_COMPLETE);
	rig_stop(&rig);
}
END_TEST

/* While its data is collected: nothing of it is written, what still comes is dropped in silence. */
START_TEST(abort_collecting)
{
	struct fake_initiator i;
	uint32_t itt;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\n");
	rig_write10(cdb, 0, 8);
	ck_assert_int_eq(rig_send(&i, &(struct rig_command){ .cdb = cdb,
							     .flags = W,
							     .edtl = 4096,
							     .data = block,
							     .length = 512,
							     .no_final = true }),
			 0);
	itt = i.itt;
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 0, itt), ISCSI_TMF_RSP_COMPLETE);
	ck_assert_int_eq(
	    rig_data_out(
		&i, &(struct rig_data){ .itt = itt, .offset = 512, .data = block, .length = 1024 }),
	    0);
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = itt,
							      .datasn = 1,
							      .offset = 1536,
							      .data = block,
							      .length = 2560,
							      .final = true }),
			 0);
	check_quiet(&i);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
	/* After its last Data-Out the tag means nothing again. */
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = itt,
							      .datasn = 2,
							      .data = block,
							      .length = 512,
							      .final = true }),
			 0);
	{
		struct fake_pdu *p = fake_next(i.fc);

		ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
		free(p);
	}
	ck_assert_uint_eq(pool_in_use(i.fc->c->ir->tasks), 0);
	rig_stop(&rig);
}
END_TEST

START_TEST(abort_soliciting)
{
	struct fake_initiator i;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_write10(cdb, 0, 8);
	ck_assert_int_eq(
	    rig_send(&i, &(struct rig_command){ .cdb = cdb, .flags = W, .edtl = 4096 }), 0);
	ck_assert(!list_empty(&i.fc->wants));
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 0, i.itt), ISCSI_TMF_RSP_COMPLETE);
	ck_assert(list_empty(&i.fc->wants)); /* released */
	ck_assert_uint_eq(in_progress(&i), 0);
	check_quiet(&i);
	rig_stop(&rig);
}
END_TEST

/* In the middle of a data segment: the rest of it is dropped. */
START_TEST(abort_receiving)
{
	struct bhs_scsi_command h = { .opcode = ISCSI_OP_SCSI_COMMAND, .flags = ISCSI_FINAL | W };
	struct iscsi_rx rx = { .length = 512 };
	struct fake_initiator i;
	struct iscsi_task *t;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_write10(cdb, 0, 1);
	put_be32(h.itt, 0x900);
	put_be32(h.edtl, 512);
	put_be32(h.cmdsn, i.cmdsn++);
	memcpy(h.cdb, cdb, 16);
	put_be24(h.data_segment_length, 512);
	memcpy(rx.bhs, &h, 48);
	ck_assert_int_eq(iscsi_rx_header(i.fc->c, &rx), 0);
	ck_assert_uint_eq(rx.iovcnt, 1);
	t = session_find_task(i.fc->c->session, 0x900);
	ck_assert_ptr_nonnull(t);
	ffp_abort(&t->scsi); /* as a reset by another nexus does */
	ck_assert_uint_eq(rx.iovcnt, 0);
	ck_assert_int_eq(iscsi_rx_data(i.fc->c, &rx, true), 0);
	check_quiet(&i);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
	rig_stop(&rig);
}
END_TEST

/* Answered, but not out yet: either before the response of the function, or never. */
START_TEST(abort_sending)
{
	struct fake_initiator i;
	struct fake_pdu *p;
	uint32_t itt;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	i.fc->hold = true;
	ck_assert_int_eq(rig_send(&i, &(struct rig_command){ .cdb = (uint8_t[16]){ 0 } }), 0);
	itt = i.itt;
	ck_assert_uint_eq(in_progress(&i), 1);
	rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_LU_RESET });
	fake_turn(&rig.net, 3);
	ck_assert_uint_eq(in_progress(&i), 0);
	i.fc->hold = false;
	p = rig_ping(&i, 0x300, NULL, 0);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(rig_itt(p), itt);
	free(p);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* Answered already: no such task, unless it took so long that the function may have crossed the
 * status. */
START_TEST(abort_answered)
{
	struct fake_initiator i;
	uint32_t itt;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	itt = hold_read(&i, 0);
	let_all();
	free(fake_next(i.fc));
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 0, itt), ISCSI_TMF_RSP_NO_TASK);
	itt = hold_read(&i, 0);
	for (unsigned n = 0; n < 120; n++)
		reactor_turn(rig.net.reactor, 10);
	let_all();
	free(fake_next(i.fc));
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 0, itt), ISCSI_TMF_RSP_COMPLETE);
	rig_stop(&rig);
}
END_TEST

START_TEST(wrong_targets)
{
	struct fake_initiator i;
	uint32_t itt;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	itt = hold_read(&i, 0);
	/* another LUN than the task's */
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 1, itt), ISCSI_TMF_RSP_NO_TASK);
	ck_assert_uint_eq(in_progress(&i), 1);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK_SET, 99, 0), ISCSI_TMF_RSP_NO_LUN);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_CLEAR_TASK_SET, 99, 0), ISCSI_TMF_RSP_NO_LUN);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_LU_RESET, 99, 0), ISCSI_TMF_RSP_NO_LUN);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_TASK_REASSIGN, 0, itt), ISCSI_TMF_RSP_NO_REASSIGN);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_CLEAR_ACA, 0, 0), ISCSI_TMF_RSP_NOT_SUPPORTED);
	for (uint8_t f = 9; f < 127; f += 9)
		ck_assert_uint_eq(tmf(&i, f, 0, 0), ISCSI_TMF_RSP_NOT_SUPPORTED);
	ck_assert_uint_eq(tmf(&i, 0, 0, 0), ISCSI_TMF_RSP_NOT_SUPPORTED);
	ck_assert_uint_eq(in_progress(&i), 1);
	let_all();
	rig_stop(&rig);
}
END_TEST

/* Only this LUN, only this session. */
START_TEST(abort_task_set)
{
	struct fake_initiator i, other;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	other = rig_login_isid(&rig, 2, NULL);
	hold_read(&i, 0);
	hold_read(&i, 0);
	hold_read(&i, 1);
	hold_read(&other, 0);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK_SET, 0, 0), ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(in_progress(&i), 1);
	ck_assert_uint_eq(in_progress(&other), 1);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_CLEAR_TASK_SET, 1, 0), ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(in_progress(&i), 0);
	let_all();
	p = fake_next(other.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	free(p);
	check_quiet(&i);
	rig_stop(&rig);
}
END_TEST

/* A reset reaches the other nexus, which hears of it by a unit attention. */
START_TEST(lu_reset)
{
	static const uint8_t test_unit_ready[16];
	struct fake_initiator i, other;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	other = rig_login_isid(&rig, 2, NULL);
	hold_read(&i, 0);
	hold_read(&other, 0);
	hold_read(&other, 1);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_LU_RESET, 0, 0), ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(in_progress(&i), 0);
	ck_assert_uint_eq(in_progress(&other), 1); /* that of the other LU */
	let_all();
	free(fake_next(other.fc));
	p = rig_command(&other, &(struct rig_command){ .cdb = test_unit_ready });
	ck_assert_uint_eq(rig_sense(p), 0x062903);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* A write stuck in the store: the reset is answered when it has ended, not before. */
START_TEST(reset_waits_for_write)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig.store[0]->hold = true;
	rig_write10(cdb, 0, 1);
	ck_assert_int_eq(
	    rig_send(&i,
		     &(struct rig_command){
			 .cdb = cdb, .flags = W, .edtl = 512, .data = block, .length = 512 }),
	    0);
	ck_assert_int_eq(rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_LU_RESET }), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_uint_eq(in_progress(&i), 0);
	let_all();
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* The connection goes while a function waits: nobody is answered, nothing leaks. */
START_TEST(lost_while_waiting)
{
	struct fake_initiator i;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig.store[0]->hold = true;
	rig_write10(cdb, 0, 1);
	ck_assert_int_eq(
	    rig_send(&i,
		     &(struct rig_command){
			 .cdb = cdb, .flags = W, .edtl = 512, .data = block, .length = 512 }),
	    0);
	ck_assert_int_eq(rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_LU_RESET }), 0);
	fake_hang_up(i.fc);
	fake_turn(&rig.net, 4);
	let_all();
	fake_turn(&rig.net, 4);
	rig_stop(&rig);
}
END_TEST

START_TEST(target_resets)
{
	struct fake_initiator i, other;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	other = rig_login_isid(&rig, 2, NULL);
	hold_read(&other, 0);
	hold_read(&other, 1);
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_WARM_RESET, 0, 0), ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(in_progress(&other), 0);
	ck_assert(!fake_closed(other.fc));
	rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_COLD_RESET });
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
	free(p);
	ck_assert(fake_closed(i.fc));
	ck_assert(fake_closed(other.fc));
	ck_assert(list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
	let_all();
	rig_stop(&rig);
}
END_TEST

/* A function cannot be aborted, and its tag is in use. */
START_TEST(abort_function)
{
	struct fake_initiator i;
	uint32_t itt;
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512 };
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig.store[0]->hold = true;
	rig_write10(cdb, 0, 1);
	ck_assert_int_eq(
	    rig_send(&i,
		     &(struct rig_command){
			 .cdb = cdb, .flags = W, .edtl = 512, .data = block, .length = 512 }),
	    0);
	ck_assert_int_eq(rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_LU_RESET }), 0);
	itt = i.itt;
	ck_assert_uint_eq(tmf(&i, ISCSI_TMF_ABORT_TASK, 0, itt), ISCSI_TMF_RSP_REJECTED);
	rig_read10(cdb, 0, 1);
	q.itt = itt;
	p = rig_command(&i, &q);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_TASK_IN_PROGRESS);
	free(p);
	let_all();
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(rig_itt(p), itt);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* A task begun by an immediate command. */
START_TEST(abort_immediate_task)
{
	struct fake_initiator i;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_write10(cdb, 0, 8);
	ck_assert_int_eq(rig_send(&i,
				  &(struct rig_command){
				      .cdb = cdb, .flags = W, .edtl = 4096, .immediate = true }),
			 0);
	ck_assert_uint_eq(rig_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
							 .task = i.itt,
							 .ref_cmdsn = i.cmdsn }),
			  ISCSI_TMF_RSP_COMPLETE);
	ck_assert_uint_eq(in_progress(&i), 0);
	ck_assert_uint_eq(i.fc->c->session->n_immediate, 0);
	rig_stop(&rig);
}
END_TEST

/* In its turn: takes a number and gives it back. */
START_TEST(ordered_function)
{
	struct fake_initiator i;
	struct fake_pdu *p;
	uint8_t bytes[48] = { ISCSI_OP_TMF_REQUEST | ISCSI_IMMEDIATE, 0x82 };

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	hold_read(&i, 0);
	rig_send_tmf(&i, &(struct rig_tmf){ .function = ISCSI_TMF_LU_RESET, .ordered = true });
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	ck_assert_uint_eq(rig_max_cmdsn(p) - rig_exp_cmdsn(p) + 1, 128);
	free(p);
	/* A data segment is a format error. */
	bytes[19] = 9;
	ck_assert_int_eq(rig_feed(&i, bytes, "1234", 4), 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_INVALID_PDU_FIELD);
	free(p);
	let_all();
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("P-004 P-030 P-104 P-115 P-116 P-117 P-118 P-119 P-120 P-123 P-124 P-125 P-126 "
	     "P-163 E-012 E-021 E-028 E-034 E-036 E-037 E-038 E-040 E-042 fault-D03");

UNIT_MAIN("iscsi/ffp_tmf", abort_in_store, abort_collecting, abort_soliciting, abort_receiving,
	  abort_sending, abort_answered, wrong_targets, abort_task_set, lu_reset,
	  reset_waits_for_write, lost_while_waiting, target_resets, abort_function,
	  abort_immediate_task, ordered_function)
