/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ErrorRecoveryLevel 1: what has been sent is kept until the initiator acknowledges it (RFC 7143
 * 4.2.2.2, 7.1.4). PDUs with a status are kept as they are, and with the status of a read the data
 * that went before it. Unacknowledged PDUs count with those not sent yet (pdu.c), so a connection
 * has a limited number of them. When data is given up before its time, a SNACK for it is refused,
 * as 7.8 allows.
 *
 * The memory for data is that of all. Connections that keep data have equal shares of a part of
 * it; more than its share a connection keeps while others do not need theirs, and what is over a
 * smaller share while nobody waits for buffers. So one that acknowledges nothing takes nothing
 * from the others but what they do not use.
 *
 * At level 0 conn->holds is false and nothing of this runs.
 */
#include "transport/iscsi/recovery.h"

#include "daemon/base/bytes.h"
#include "daemon/base/pool.h"
#include "scsi/exec.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"

#include <errno.h>
#include <stdlib.h>

#define HELD_PING  256u /* statuses not acknowledged: the initiator is asked for it */
#define KEPT_PART  4    /* of the reactor's buffers is kept at most */
#define KEPT_FLOOR 16   /* is kept also while somebody waits for buffers */
#define KEPT_TASKS 4096u
#define CHUNK      4096u /* the smallest that the arena gives out */

static struct arena *arena_of(const struct iscsi_reactor *ir)
{
	return reactor_slot(ir->reactor, REACTOR_ARENA);
}

void iscsi_stamp_control(struct iscsi_conn *c, struct iscsi_pdu *p)
{
	if (p->held) { /* a replica, but for ExpCmdSN and MaxCmdSN (11.16) */
		iscsi_stamp(c, p->bhs, false);
		put_be32(((struct bhs *)(void *)p->bhs)->cmdsn, p->statsn);
		return;
	}
	if (c->holds && p->takes_statsn &&
	    (p->bhs[0] & ISCSI_OPCODE_MASK) != ISCSI_OP_LOGIN_RESPONSE) {
		p->held = true;
		p->statsn = c->statsn;
		list_add_tail(&c->held, &p->held_node);
		c->n_held++;
	}
	if (p->tells)
		ffp_stop_told(c, ((const struct bhs_async *)(const void *)p->bhs)->lun, c->statsn);
	iscsi_stamp(c, p->bhs, p->takes_statsn);
}

void recovery_send_again(struct iscsi_pdu *p)
{
	if (p->queued) {
		p->again = true;
		return;
	}
	pdu_send(p);
}

static size_t memory_of(const struct iscsi_task *t)
{
	return (t->scsi.buf.length + CHUNK - 1) / CHUNK * CHUNK;
}

static void count_in(struct iscsi_task *t)
{
	struct conn_kept *k = &t->conn->kept;
	struct iscsi_reactor *ir = t->ir;

	if (!k->n++) {
		list_add_tail(&ir->keepers, &k->node);
		ir->n_keepers++;
	}
	list_add_tail(&k->tasks, &t->kept_node);
	k->bytes += memory_of(t);
	ir->kept_bytes += memory_of(t);
	ir->n_kept++;
}

static void count_out(struct iscsi_task *t)
{
	struct conn_kept *k = &t->conn->kept;
	struct iscsi_reactor *ir = t->ir;

	list_del(&t->kept_node);
	k->bytes -= memory_of(t);
	ir->kept_bytes -= memory_of(t);
	ir->n_kept--;
	if (!--k->n) {
		list_del(&k->node);
		ir->n_keepers--;
	}
}

/* Forgets the data of a task whose status has gone out. */
static void kept_end(struct iscsi_task *t)
{
	count_out(t);
	t->response->task = NULL;
	t->response = NULL;
	t->over = true;
	t->releasing = !t->conn->dm->release(t);
	if (!t->releasing)
		recovery_give_back(t);
}

void recovery_give_back(struct iscsi_task *t)
{
	struct arena *arena = arena_of(t->ir);
	struct arena_buf buf = t->scsi.buf;

	if (buf.iov == t->scsi.buf.inl)
		buf.iov = buf.inl;
	pool_put(t->ir->tasks, t);
	arena_put(arena, &buf); /* others go on with it */
}

/* The task is over for all but SNACKs: its buffer is taken from it. */
static void keep(struct iscsi_task *t)
{
	struct arena_buf buf = t->scsi.buf;
	struct iscsi_session *s = t->session;

	ffp_unlink(t);
	t->scsi.buf.n = 0;
	t->scsi.buf.length = 0;
	if (t->submitted)
		scsi_finish(&t->scsi);
	t->scsi.buf = buf;
	free(t->long_cdb);
	t->long_cdb = NULL;
	t->submitted = false;
	t->kept = true;
	count_in(t);
	if (s && s->fence.state != FENCE_OPEN)
		ffp_fence_look(s);
}

static size_t part_of_buffers(const struct iscsi_reactor *ir, size_t part)
{
	void *base;
	size_t bytes;

	arena_memory(arena_of(ir), &base, &bytes);
	return bytes / part;
}

/* The oldest of a connection that keeps more than its share. There is one as long as all together
 * keep more; those that were looked at before it come last from now on. */
static struct iscsi_task *over_share(struct iscsi_reactor *ir, size_t bytes, unsigned tasks)
{
	for (;;) {
		struct list *first = list_first(&ir->keepers);
		struct conn_kept *k = list_entry(first, struct conn_kept, node);

		if ((ir->kept_bytes > bytes && k->bytes > bytes / ir->n_keepers) ||
		    (ir->n_kept > tasks && k->n > tasks / ir->n_keepers))
			return list_entry(list_first(&k->tasks), struct iscsi_task, kept_node);
		list_del(first);
		list_add_tail(&ir->keepers, first);
	}
}

static bool buffers_wanted(const struct iscsi_reactor *ir)
{
	return ir->n_kept && arena_has_waiters(arena_of(ir));
}

void recovery_spare(struct iscsi_reactor *ir)
{
	size_t floor = part_of_buffers(ir, KEPT_FLOOR);

	while (buffers_wanted(ir) && ir->kept_bytes > floor)
		kept_end(over_share(ir, floor, KEPT_TASKS));
}

int recovery_get(struct iscsi_reactor *ir, size_t length, struct arena_buf *ret)
{
	size_t floor = part_of_buffers(ir, KEPT_FLOOR);
	int err;

	while ((err = arena_get(arena_of(ir), length, ret)) == -EAGAIN && ir->kept_bytes > floor)
		kept_end(over_share(ir, floor, KEPT_TASKS));
	return err;
}

void recovery_give_up(struct iscsi_reactor *ir)
{
	while (buffers_wanted(ir))
		kept_end(over_share(ir, 0, 0));
}

static void limit_kept(struct iscsi_reactor *ir)
{
	size_t most = part_of_buffers(ir, KEPT_PART);

	while (ir->kept_bytes > most || ir->n_kept > KEPT_TASKS)
		kept_end(over_share(ir, most, KEPT_TASKS));
	recovery_spare(ir);
}

static void free_pdu(struct iscsi_pdu *p)
{
	if (p->task)
		kept_end(p->task);
	pdu_put(p);
}

void recovery_sent(struct iscsi_conn *c, struct iscsi_pdu *p)
{
	struct iscsi_task *t = p->task;

	if (t && !t->kept && t->data_in_pdus && !t->scsi.mapped) {
		keep(t);
		limit_kept(c->ir);
	} else if (t && !t->kept) {
		p->task = NULL;
		t->response = NULL;
		ffp_task_free(t);
	}
	if (!p->held) { /* acknowledged meanwhile, or there is nothing to acknowledge */
		free_pdu(p);
		return;
	}
	if (p->again) {
		p->again = false;
		pdu_send(p);
	} else if (c->n_held >= HELD_PING && conn_is_full_feature(c) && !ffp_ping(c)) {
		iscsi_conn_terminate(c, false);
	}
}

static void let_go(struct iscsi_conn *c, struct iscsi_pdu *p)
{
	list_del(&p->held_node);
	p->held = p->again = false;
	c->n_held--;
	if (!p->queued)
		free_pdu(p);
}

void recovery_acknowledge(struct iscsi_conn *c)
{
	struct list *first;

	while ((first = list_first(&c->held))) {
		struct iscsi_pdu *p = list_entry(first, struct iscsi_pdu, held_node);

		if (sna_diff(p->statsn, c->exp_statsn) >= 0)
			break;
		let_go(c, p);
	}
}

void recovery_forget(struct iscsi_conn *c)
{
	struct list *first;

	while ((first = list_first(&c->held)))
		let_go(c, list_entry(first, struct iscsi_pdu, held_node));
}
