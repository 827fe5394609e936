/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCSI Commands: from the header to a task, from its end to status on the wire. All of a READ that
 * happens here happens between iscsi_rx_header and put_data, so nothing here allocates or clears
 * more than it needs.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/pool.h"
#include "daemon/base/stats.h"
#include "scsi/exec.h"
#include "scsi/mode.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/recovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_MS 1000u /* no initiator gives up sooner */

static void data_in(struct scsi_task *st);
static void done(struct scsi_task *st);

const struct scsi_port_ops ffp_port = {
	.data_in = data_in,
	.data_out = ffp_data_out,
	.done = done,
	.detached_done = ffp_detached_done,
	.release = ffp_release,
	.abort = ffp_abort,
};

static bool tmf_uses(const struct iscsi_session *s, uint32_t itt)
{
	struct list *pos;

	list_for_each (pos, &s->tmfs) {
		if (list_entry(pos, struct ffp_tmf, node)->itt == itt)
			return true;
	}
	return false;
}

/* RFC 7143 11.3: flags, lengths and segments that contradict each other; a tag that is in use. */
uint8_t ffp_scsi_check(struct iscsi_conn *c, const struct iscsi_rx *rx)
{
	const struct bhs_scsi_command *h = (const void *)rx->bhs;
	bool reads = h->flags & ISCSI_CMD_READ, writes = h->flags & ISCSI_CMD_WRITE;
	bool immediate = h->opcode & ISCSI_IMMEDIATE;
	struct iscsi_session *s = c->session;
	uint32_t itt = get_be32(h->itt);
	struct iscsi_task *t;
	struct ffp_ahs ahs;

	if ((h->flags & ISCSI_CMD_ATTR_MASK) > ATTR_ACA)
		return REJECT_PROTOCOL_ERROR;
	if (!writes && (!(h->flags & ISCSI_FINAL) || rx->length))
		return REJECT_INVALID_PDU_FIELD;
	if (!writes && !reads && get_be32(h->edtl))
		return REJECT_INVALID_PDU_FIELD;
	if (rx->length > get_be32(h->edtl))
		return REJECT_INVALID_PDU_FIELD;
	if (rx->ahs_length && ffp_ahs_parse(rx->ahs, rx->ahs_length, h->cdb, &ahs))
		return REJECT_INVALID_PDU_FIELD;
	if (reads && writes && (!rx->ahs_length || !ahs.bidirectional))
		return REJECT_INVALID_PDU_FIELD;
	/* The tag comes before the order: a retry of what is in progress is no second command. */
	t = session_find_task(s, itt);
	if (t && !ffp_stop_give_way(t))
		return !immediate && !t->immediate && t->cmdsn == get_be32(h->cmdsn)
			   ? FFP_DROP
			   : REJECT_TASK_IN_PROGRESS;
	if (tmf_uses(s, itt))
		return REJECT_TASK_IN_PROGRESS;
	if (immediate && s->n_immediate >= SESSION_IMMEDIATE_MAX)
		return REJECT_IMMEDIATE;
	return REJECT_NONE;
}

/* The SCSI layer fills in its own part in scsi_submit. */
static struct iscsi_task *task_create(struct iscsi_conn *c, const struct bhs_scsi_command *h)
{
	struct iscsi_session *s = c->session;
	struct iscsi_task *t = pool_get(c->ir->tasks);

	if (!t)
		return NULL;
	t->ir = c->ir;
	t->conn = c;
	t->session = s;
	t->itt = get_be32(h->itt);
	t->cmdsn = get_be32(h->cmdsn);
	memcpy(t->lun, h->lun, sizeof(t->lun));
	memcpy(t->cdb, h->cdb, sizeof(t->cdb));
	t->long_cdb = NULL;
	t->immediate = h->opcode & ISCSI_IMMEDIATE;
	t->holds_slot = !t->immediate;
	t->submitted = t->collecting = t->soliciting = t->sending = t->releasing = false;
	t->dropping = t->failed = t->over = t->held = t->stopped = false;
	t->unsolicited_final = h->flags & ISCSI_FINAL;
	t->answer = ANSWER_NONE;
	t->unsolicited_end = t->unsolicited_got = 0;
	t->next_datasn = t->data_in_pdus = 0;
	t->response = NULL;
	t->kept = false;
	t->snack_tag = 0;
	t->dm_private = (uint8_t *)t + FFP_TASK_SIZE;
	if (c->dm->init_task)
		c->dm->init_task(t);
	list_add_head(&s->tasks[t->itt % SESSION_ITT_BUCKETS], &t->itt_node);
	s->n_tasks++;
	s->n_immediate += t->immediate;
	c->n_tasks++;
	return t;
}

static void fill_port_part(struct iscsi_task *t, const struct bhs_scsi_command *h)
{
	struct scsi_task *st = &t->scsi;

	st->port = &ffp_port;
	st->nexus = &t->session->nexus;
	st->lun = scsi_lun_decode(h->lun);
	st->cdb = t->cdb;
	st->cdb_length = sizeof(t->cdb);
	st->attribute = h->flags & ISCSI_CMD_ATTR_MASK;
	st->read = h->flags & ISCSI_CMD_READ;
	st->write = h->flags & ISCSI_CMD_WRITE;
	st->edtl = get_be32(h->edtl);
}

/* A CDB longer than the header; with it the rare malloc of this path. 0 or -ENOMEM. */
static int take_long_cdb(struct iscsi_task *t, const struct iscsi_rx *rx, bool *ret_bidirectional)
{
	struct ffp_ahs ahs;

	ffp_ahs_parse(rx->ahs, rx->ahs_length, t->cdb, &ahs); /* checked before */
	*ret_bidirectional = ahs.bidirectional;
	if (!ahs.cdb)
		return 0;
	t->long_cdb = malloc(ahs.cdb_length);
	if (!t->long_cdb)
		return -ENOMEM;
	memcpy(t->long_cdb, t->cdb, sizeof(t->cdb));
	memcpy(t->long_cdb + sizeof(t->cdb), ahs.cdb, ahs.cdb_length - sizeof(t->cdb));
	t->scsi.cdb = t->long_cdb;
	t->scsi.cdb_length = ahs.cdb_length;
	return 0;
}

/* Ends a task that the SCSI layer has not seen, once all that comes unasked has been dropped. */
static void refuse_task(struct iscsi_task *t, struct iscsi_rx *rx, uint8_t status, bool final)
{
	t->dropping = true;
	t->scsi.status = status;
	t->scsi.lu = NULL;
	t->scsi.data_length = t->scsi.edtl; /* no statement about a residual */
	t->unsolicited_final = final;
	t->unsolicited_end = final ? rx->length : UINT32_MAX;
	t->answer = ANSWER_STATUS;
	rx->task = t;
}

static void refuse_with_sense(struct iscsi_task *t, struct iscsi_rx *rx, struct scsi_sense sense)
{
	t->scsi.sense = sense;
	refuse_task(t, rx, SCSI_CHECK_CONDITION, t->unsolicited_final);
}

/* No task left: the status goes out without one, if nothing else is to come for it. */
static int refuse_without_task(struct iscsi_conn *c, const struct bhs_scsi_command *h)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_SCSI_RESPONSE, get_be32(h->itt));

	if (!p)
		return -ENOBUFS;
	((struct bhs_scsi_response *)(void *)p->bhs)->status = SCSI_TASK_SET_FULL;
	stats_add(c->ir->stats, STAT_TASK_SET_FULL, 1);
	if (!(h->opcode & ISCSI_IMMEDIATE))
		session_free_slot(c->session);
	pdu_send(p);
	return 0;
}

int ffp_scsi_lost(struct iscsi_conn *c, struct iscsi_rx *rx, bool final)
{
	const struct bhs_scsi_command *h = (const void *)rx->bhs;
	struct iscsi_task *t;

	if (final && !rx->length)
		return refuse_without_task(c, h);
	t = task_create(c, h);
	if (!t)
		return -ENOBUFS;
	fill_port_part(t, h);
	refuse_task(t, rx, SCSI_TASK_SET_FULL, final);
	return 0;
}

/* What the initiator says it sends unasked, against what was negotiated (RFC 7143 4.2.5.2). */
static bool plan_unsolicited(struct iscsi_task *t, const struct iscsi_rx *rx)
{
	const struct iscsi_keys *k = &t->conn->keys;
	uint32_t first =
	    k->first_burst_length < t->scsi.edtl ? k->first_burst_length : t->scsi.edtl;

	/* Nothing is left to come, or may come: F was forgotten (RFC 7143 11.3.1). */
	if (rx->length >= t->scsi.edtl || k->initial_r2t)
		t->unsolicited_final = true;
	if (rx->length && (!k->immediate_data || rx->length > k->first_burst_length))
		return false;
	if (t->unsolicited_final) {
		t->unsolicited_end = rx->length;
		return true;
	}
	t->unsolicited_end = first;
	t->unsolicited_final = rx->length >= first;
	return true;
}

int ffp_scsi_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_scsi_command *h = (const void *)rx->bhs;
	bool bidirectional = false;
	struct iscsi_task *t;

	stats_add(c->ir->stats, STAT_COMMANDS, 1);
	if (pool_in_use(c->ir->tasks) >= c->ir->task_limit)
		return ffp_scsi_lost(c, rx, h->flags & ISCSI_FINAL);
	t = task_create(c, h);
	if (!t)
		return ffp_scsi_lost(c, rx, h->flags & ISCSI_FINAL);
	fill_port_part(t, h);
	if (rx->ahs_length && take_long_cdb(t, rx, &bidirectional)) {
		refuse_task(t, rx, SCSI_BUSY, t->unsolicited_final);
		return 0;
	}
	if (bidirectional) { /* no such command is offered */
		refuse_with_sense(t, rx, sense_invalid_opcode());
		return 0;
	}
	if (t->scsi.write && !plan_unsolicited(t, rx)) {
		refuse_with_sense(
		    t, rx, sense_make(SENSE_ABORTED_COMMAND, ASC_UNEXPECTED_UNSOLICITED_DATA));
		return 0;
	}
	t->submitted = true;
	/* With all data solicited or none the task may be over before scsi_submit returns. */
	if (!rx->length) {
		scsi_submit(&t->scsi);
		stall_watch(c->ir);
		return 0;
	}
	t->unsolicited_final = false; /* its own data segment is still to come */
	rx->task = t;
	scsi_submit(&t->scsi);
	stall_watch(c->ir);
	if (rx->task == t)
		ffp_place_data(t, rx);
	return 0;
}

/* Statuses that tell of trouble. */
static void count_status(struct iscsi_task *t, uint8_t status)
{
	if (status == SCSI_CHECK_CONDITION)
		stats_add(t->ir->stats, STAT_CHECK_CONDITIONS, 1);
	else if (status == SCSI_BUSY)
		stats_add(t->ir->stats, STAT_BUSY, 1);
	else if (status == SCSI_TASK_SET_FULL)
		stats_add(t->ir->stats, STAT_TASK_SET_FULL, 1);
}

static void send_status(struct iscsi_task *t)
{
	struct iscsi_pdu *p = pdu_get(t->conn, ISCSI_OP_SCSI_RESPONSE, t->itt);
	struct bhs_scsi_response *h;
	uint8_t sense[SENSE_MAX];
	uint32_t residual;

	if (!p) { /* the task ends with its connection */
		iscsi_conn_terminate(t->conn, false);
		return;
	}
	h = (void *)p->bhs;
	h->status = t->failed ? (uint8_t)SCSI_CHECK_CONDITION : t->scsi.status;
	count_status(t, h->status);
	h->flags |= iscsi_residual(t, &residual);
	put_be32(h->residual, residual);
	put_be32(h->exp_datasn, t->data_in_pdus);
	put_be32(h->snack_tag, t->snack_tag);
	if (h->status == SCSI_CHECK_CONDITION) {
		size_t n = sense_encode(t->failed ? &t->failure : &t->scsi.sense,
					mode_descriptor_sense(t->scsi.lu), sense);
		uint8_t *data = pdu_data(p, (uint32_t)n + 2u); /* fits PDU_INLINE */

		put_be16(data, (uint16_t)n);
		memcpy(data + 2, sense, n);
	}
	p->task = t;
	t->response = p;
	if (ffp_fence_wanted(t))
		ffp_fence_send(p);
	else
		pdu_send(p);
}
_Static_assert(SENSE_MAX + 2 <= PDU_INLINE, "sense data goes without an allocation");

static bool rides_on_data(const struct iscsi_task *t)
{
	/* RFC 7143 11.7.3: S only with GOOD or CONDITION MET, never where sense is to go. */
	return !t->conn->holds && !t->failed &&
	       (t->scsi.status == SCSI_GOOD || t->scsi.status == SCSI_CONDITION_MET);
}

/* The initiator may have given up waiting: its ABORT TASK crosses our status. */
static bool was_slow(const struct iscsi_task *t)
{
	return t->submitted &&
	       reactor_now_ms(t->ir->reactor) - t->scsi.started_ns / 1000000 >= SLOW_MS;
}

void ffp_answer(struct iscsi_task *t)
{
	bool with_status = rides_on_data(t);

	if (t->session->fence.state != FENCE_OPEN) {
		ffp_fence_hold(t); /* RFC 7143 4.2.2.3.3 */
		return;
	}
	if (was_slow(t))
		ffp_remember_over(t->session, t->itt);
	if (t->holds_slot && (t->answer == ANSWER_STATUS || with_status)) {
		t->holds_slot = false;
		session_free_slot(t->session);
	}
	if (t->answer == ANSWER_STATUS) {
		t->answer = ANSWER_GIVEN;
		send_status(t);
		return;
	}
	t->answer = ANSWER_GIVEN;
	t->sending = true;
	t->conn->dm->put_data(t, 0, t->scsi.data_in_length, with_status);
}

static void data_in(struct scsi_task *st)
{
	struct iscsi_task *t = iscsi_task_of(st);

	t->answer = st->data_in_length ? ANSWER_DATA : ANSWER_STATUS;
	t->session->reads++;
	t->session->read_bytes += st->data_in_length;
	if (ffp_drained(t))
		ffp_answer(t);
	else
		t->dropping = true;
}

static void done(struct scsi_task *st)
{
	struct iscsi_task *t = iscsi_task_of(st);

	t->answer = ANSWER_STATUS;
	t->collecting = false;
	if (ffp_drained(t))
		ffp_answer(t);
	else
		t->dropping = true; /* the status waits for F (RFC 7143 11.4.2) */
}

void ffp_task_free(struct iscsi_task *t)
{
	struct iscsi_session *s = t->session;

	ffp_unlink(t);
	if (t->submitted)
		scsi_finish(&t->scsi);
	free(t->long_cdb);
	pool_put(t->ir->tasks, t);
	if (s && s->fence.state != FENCE_OPEN)
		ffp_fence_look(s);
}

/* The status behind data that has been sent anew (RFC 7143 11.16.3). */
static void answer_again(struct iscsi_task *t)
{
	struct bhs_scsi_response *h = (void *)t->response->bhs;

	put_be32(h->exp_datasn, t->data_in_pdus);
	recovery_send_again(t->response);
}

void iscsi_data_complete(struct iscsi_task *t)
{
	struct iscsi_session *s = t->session; /* NULL: kept for a SNACK */

	if (t->soliciting) {
		t->soliciting = false;
		ffp_data_progress(t);
		return;
	}
	if (t->response) { /* once more, by an R-Data SNACK */
		answer_again(t);
		return;
	}
	t->sending = false;
	if (rides_on_data(t)) {
		ffp_task_free(t);
		return;
	}
	t->answer = ANSWER_STATUS;
	ffp_answer(t);
	if (s->fence.state != FENCE_OPEN) /* it has waited for this data; now its status waits */
		ffp_fence_look(s);
}
