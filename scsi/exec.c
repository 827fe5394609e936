/* SPDX-License-Identifier: BSD-2-Clause */
/* From the CDB to a plan, and from the plan to its data: everything before the store. */
#include "scsi/exec.h"

#include "scsi/alua.h"
#include "scsi/compound.h"
#include "scsi/exec_internal.h"
#include "scsi/iov.h"
#include "scsi/media.h"
#include "scsi/mode.h"
#include "scsi/scsi.h"

#include <string.h>

enum { OPCODE_REQUEST_SENSE = 0x03, OPCODE_INQUIRY = 0x12, OPCODE_REPORT_LUNS = 0xa0 };

void exec_begin(struct scsi_task *t)
{
	struct scsi_home *home = t->nexus->home;

	t->home = home;
	t->itl = NULL;
	t->lu = NULL;
	t->op = NULL;
	t->priv = NULL;
	t->status = SCSI_GOOD;
	t->data_length = 0;
	t->data_in_length = t->data_out_length = 0;
	t->buf.iov = t->buf.inl;
	t->buf.n = 0;
	t->buf.length = 0;
	t->mapped = t->aborted = t->write_io = t->started = t->collected = false;
	t->ranged = false;
	t->state = TASK_NEW;
	t->step = 0;
	t->plan.kind = PLAN_UNSET;
	list_init(&t->node);
	list_init(&t->wait_node);
	t->started_ns = reactor_now_ms(home->reactor) * 1000000;
}

struct scsi_request exec_request(const struct scsi_task *t)
{
	return (struct scsi_request){
		.cdb = t->cdb,
		.cdb_length = t->cdb_length,
		.lun = t->lun,
		.geo = t->lu ? &t->lu->geo : NULL,
		.lu = t->lu,
		.itl = t->itl,
		.nexus = t->nexus,
		.read_only = t->lu && (t->itl->read_only || t->lu->geo.read_only ||
				       mode_write_protected(t->lu)),
		.answer = t->home->answer,
	};
}

/* Status alone. What an initiator sent or wanted beyond it is the port's to drop and count. */
void exec_status(struct scsi_task *t, enum scsi_status status)
{
	t->status = (uint8_t)status;
	t->state = TASK_SENDING;
	t->write_io = false;
	if (status != SCSI_GOOD && status != SCSI_CONDITION_MET) {
		t->data_in_length = 0;
		if (!t->collected)
			t->data_length = 0; /* nothing moved: all of EDTL is the residual */
	}
	t->port->done(t);
}

void exec_fail(struct scsi_task *t, struct scsi_sense sense)
{
	t->sense = sense;
	exec_status(t, SCSI_CHECK_CONDITION);
}

void exec_send(struct scsi_task *t)
{
	t->state = TASK_SENDING;
	t->port->data_in(t);
}

void exec_set_data_in(struct scsi_task *t, uint32_t length)
{
	uint32_t wanted = t->read ? t->edtl : 0;

	/* Data of the other direction is expected: none of that moves. */
	t->data_length = t->read || !t->edtl ? length : 0;
	t->data_in_length = length < wanted ? length : wanted;
}

void exec_set_data_out(struct scsi_task *t, uint32_t length)
{
	uint32_t offered = t->write ? t->edtl : 0;

	t->data_length = length;
	t->data_out_length = length < offered ? length : offered;
}

/* No buffer: the answer is kept until one comes. A long one, or one too many, gets BUSY. */
static void answer_wait(struct scsi_task *t)
{
	t->priv = t->data_in_length <= HOME_SAVED ? pool_get(t->home->saved) : NULL;
	if (!t->priv) {
		exec_status(t, SCSI_BUSY);
		return;
	}
	memcpy(t->priv, t->home->answer, t->data_in_length);
	exec_take(t, t->data_in_length);
}

void exec_answer(struct scsi_task *t)
{
	if (!t->collected)
		exec_set_data_in(t, t->plan.data_length);
	t->status = t->plan.condition_met ? SCSI_CONDITION_MET : SCSI_GOOD;
	if (!t->data_in_length) {
		exec_status(t, t->status);
		return;
	}
	if (arena_get(t->home->arena, t->data_in_length, &t->buf) < 0) {
		answer_wait(t);
		return;
	}
	iov_copy_in(t->buf.iov, t->buf.n, 0, t->home->answer, t->data_in_length);
	exec_send(t);
}

/*
 * A parameter list that comes short of what the CDB announces is refused before it is fetched: half
 * a list must not be obeyed.
 */
static void exec_collect(struct scsi_task *t)
{
	uint32_t length = t->plan.data_length;

	exec_set_data_out(t, length);
	if (t->data_out_length < length || length > SCSI_SMALL_MAX) {
		exec_fail(t, sense_parameter_list_length());
		return;
	}
	if (!length) {
		t->collected = true;
		scsi_data_received(t);
		return;
	}
	exec_take(t, length);
}

/*
 * How much of its data a compound command must get. The one block of WRITE SAME and of VERIFY with
 * BYTCHK=11b, and all of what VERIFY compares, must come whole and nothing else; WRITE AND VERIFY
 * writes the whole blocks that came, as WRITE does.
 */
static void exec_compound(struct scsi_task *t)
{
	struct scsi_plan *p = &t->plan;

	/* Two instances of no blocks are no data: who sends some meant another number of blocks. */
	if (!p->length && p->compound == COMPOUND_COMPARE_WRITE && t->write && t->edtl) {
		exec_fail(t, sense_make(SENSE_ILLEGAL_REQUEST, 0x2400));
		return;
	}
	if (!p->length && p->compound != COMPOUND_LBA_STATUS && p->compound != COMPOUND_UNMAP) {
		exec_set_data_out(t, p->data_length);
		t->data_out_length = 0;
		exec_status(t, SCSI_GOOD);
		return;
	}
	if (p->compound == COMPOUND_LBA_STATUS || t->collected) {
		exec_enable(t);
		return;
	}
	if (p->compound == COMPOUND_WRITE_VERIFY) {
		if (exec_take_offer(t))
			exec_take(t, t->data_out_length);
		return;
	}
	exec_set_data_out(t, p->data_length);
	if (!p->data_length) {
		exec_enable(t);
		return;
	}
	if (!t->write || t->edtl != p->data_length) {
		exec_fail(t, sense_make(SENSE_ILLEGAL_REQUEST, 0x2400));
		return;
	}
	exec_take(t, t->data_out_length);
}

static void exec_planned(struct scsi_task *t)
{
	switch (t->plan.kind) {
	case PLAN_FAIL:
		t->sense = t->plan.sense;
		exec_status(t, t->plan.status);
		return;
	case PLAN_ANSWER:
		exec_answer(t);
		return;
	case PLAN_COLLECT:
		exec_collect(t);
		return;
	case PLAN_READ:
		exec_read(t);
		return;
	case PLAN_WRITE:
		exec_write(t);
		return;
	case PLAN_COMPOUND:
		exec_compound(t);
		return;
	case PLAN_FLUSH:
	case PLAN_ACTION:
		exec_enable(t);
		return;
	case PLAN_UNSET:
		break;
	}
	exec_fail(t, sense_make(SENSE_HARDWARE_ERROR, ASC_INTERNAL_FAILURE));
}

/* The LU can be read and written, or the task has been told why not. */
bool exec_medium_ready(struct scsi_task *t)
{
	int state = atomic_load(&t->lu->not_ready);

	bool usable = state == LU_READY || (media_failed(state) && t->op->flags & OP_MENDS);

	if (usable && itl_open_queue(t->itl))
		return true;
	exec_fail(t, usable ? sense_make(SENSE_NOT_READY, ASC_NOT_READY) : media_not_ready(t->lu));
	return false;
}

/* SET TARGET PORT GROUPS gets BUSY while states change: Windows gives up after two times "in
 * transition". */
bool exec_wrong_path(struct scsi_task *t)
{
	uint8_t state = t->nexus->access_state;

	if (alua_allows(state, t->op, t->cdb))
		return false;
	t->status = t->op->path == PATH_SET ? SCSI_BUSY : SCSI_CHECK_CONDITION;
	t->sense = alua_not_ready(state);
	return true;
}

/* Unit attention before reservation conflict (SAM-5 5.3.3). False: the task has ended. */
bool exec_gate_pass(struct scsi_task *t, uint32_t gate)
{
	uint16_t ua;

	if (gate & GATE_UA && !(t->op->flags & OP_NO_UA) && itl_ua_take(t->itl, &ua)) {
		exec_fail(t, sense_unit_attention(ua));
		return false;
	}
	/* Before reservations: a host that may not come this way goes on by another path, where a
	 * conflict would end its command. */
	if (gate & GATE_PATH && exec_wrong_path(t)) {
		exec_status(t, t->status);
		return false;
	}
	if (gate & scsi_access_conflicts(t->op, t->cdb)) {
		exec_status(t, SCSI_RESERVATION_CONFLICT);
		return false;
	}
	/* Being formatted or sanitized it does nothing but tell of itself (SBC-3 4.11). */
	if (gate & GATE_NOT_READY && t->op->flags & (OP_SHARED | OP_REMOVABLE) &&
	    media_state(atomic_load(&t->lu->not_ready))) {
		exec_fail(t, media_not_ready(t->lu));
		return false;
	}
	return true;
}

/* Commands that run without an LU and in spite of a unit attention, where no row was found. */
static bool opcode_ignores_ua(uint8_t opcode)
{
	return opcode == OPCODE_INQUIRY || opcode == OPCODE_REPORT_LUNS ||
	       opcode == OPCODE_REQUEST_SENSE;
}

/* Nothing to run: not offered, or wrong. A unit attention is told all the same, and first. */
static void submit_wrong(struct scsi_task *t, uint32_t gate, struct scsi_sense sense)
{
	uint16_t ua;

	if (gate & GATE_UA && !opcode_ignores_ua(t->cdb[0]) && itl_ua_take(t->itl, &ua))
		sense = sense_unit_attention(ua);
	exec_fail(t, sense);
}

/* No LU behind the LUN, or it is being taken away (SPC-4 6.6, 6.33, 6.38; SAM-5 5.10). */
static void submit_absent(struct scsi_task *t)
{
	struct scsi_request rq = exec_request(t);
	struct scsi_sense sense;

	t->op = scsi_op_find(&rq, &sense);
	if (t->op && t->op->flags & OP_NO_LUN) {
		t->plan = t->op->plan(&rq);
		if (t->plan.kind != PLAN_ANSWER && t->plan.kind != PLAN_FAIL)
			t->plan.kind = PLAN_UNSET; /* there is nothing to do it with */
		exec_planned(t);
	} else if (!t->op && opcode_ignores_ua(t->cdb[0])) {
		exec_fail(t, sense);
	} else {
		exec_fail(t, sense_lun_not_supported());
	}
}

void scsi_submit(struct scsi_task *t)
{
	struct itl *itl = nexus_find(t->nexus, t->lun);
	struct scsi_request rq;
	struct scsi_sense sense;
	uint32_t gate = 0;

	exec_begin(t);
	if (itl)
		gate = atomic_load_explicit(&itl->gate, memory_order_acquire);
	if (exec_unlikely(!itl || gate & GATE_LEAVING)) {
		submit_absent(t);
		return;
	}
	if (exec_unlikely(!order_join(t, itl))) {
		exec_status(t, SCSI_TASK_SET_FULL);
		return;
	}
	if (exec_unlikely(t->attribute == ATTR_ACA)) { /* no ACA can be in force: NORMACA=0 */
		exec_fail(t, sense_make(SENSE_ILLEGAL_REQUEST, ASC_INVALID_MESSAGE));
		return;
	}
	rq = exec_request(t);
	t->op = scsi_op_lookup(&rq, &sense);
	if (exec_unlikely(!t->op)) {
		submit_wrong(t, gate, sense);
		return;
	}
	if (exec_unlikely(gate) && !exec_gate_pass(t, gate))
		return;
	if (exec_unlikely(!scsi_op_check(t->op, &rq, &sense))) {
		exec_fail(t, sense);
		return;
	}
	if (t->op->flags & OP_MEDIUM && exec_unlikely(gate & GATE_NOT_READY || !itl->queue) &&
	    !exec_medium_ready(t))
		return;
	t->plan = t->op->plan(&rq);
	exec_planned(t);
}

/* The whole parameter list is there, perhaps in pieces: the handler wants it in one. */
static void list_received(struct scsi_task *t)
{
	struct scsi_request rq = exec_request(t);
	size_t length = t->data_out_length;
	const uint8_t *list = t->home->answer;

	if (t->buf.n == 1)
		list = t->buf.iov[0].iov_base;
	else
		iov_copy_out(t->buf.iov, t->buf.n, 0, t->home->answer, length);
	t->plan = t->op->params(&rq, list, length);
	if (t->plan.kind == PLAN_COLLECT)
		t->plan.kind = PLAN_UNSET; /* asked for once; twice is our own mistake */
	exec_planned(t);
}

void scsi_data_received(struct scsi_task *t)
{
	t->collected = true;
	if (t->plan.kind == PLAN_COLLECT)
		list_received(t);
	else if (t->mapped)
		exec_mapped_written(t);
	else
		exec_enable(t);
}

void scsi_data_failed(struct scsi_task *t, struct scsi_sense sense)
{
	exec_fail(t, sense);
}

bool scsi_refuse(struct scsi_task *t, enum scsi_status status)
{
	if (t->state != TASK_WAIT_BUFFER)
		return false;
	arena_unwait(&t->waiter);
	if (t->priv)
		pool_put(t->home->saved, t->priv);
	t->priv = NULL;
	exec_status(t, status);
	return true;
}

void scsi_action_done(struct scsi_task *t, const struct scsi_sense *sense)
{
	if (t->state == TASK_DETACHED)
		exec_detached_done(t);
	else if (sense)
		exec_fail(t, *sense);
	else
		exec_status(t, SCSI_GOOD);
}

void scsi_finish(struct scsi_task *t)
{
	if (t->itl)
		order_leave(t);
	exec_put_buffers(t); /* others go on with them, so t is out of everything by now */
}
