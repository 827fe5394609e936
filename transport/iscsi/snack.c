/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SNACK (RFC 7143 11.16): requests to send something again, and DataACK. Data and R2Ts are the
 * transport's, statuses are kept by recovery.c.
 */
#include "daemon/base/bytes.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/recovery.h"

#include <errno.h>

#define ASC_SNACK_REJECTED 0x1113

uint8_t snack_check(struct iscsi_conn *c, const struct iscsi_rx *rx)
{
	(void)rx;
	/* Not "SNACK Reject": that would end the command too (7.8). */
	return c->holds ? REJECT_NONE : REJECT_NOT_SUPPORTED;
}

/* The status of this task, still kept; the latest, as a tag may have been used again. */
static struct iscsi_pdu *find_status(struct iscsi_conn *c, uint32_t itt)
{
	for (struct list *pos = c->held.prev; pos != &c->held; pos = pos->prev) {
		struct iscsi_pdu *p = list_entry(pos, struct iscsi_pdu, held_node);
		const struct bhs *h = (const void *)p->bhs;

		if ((h->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_SCSI_RESPONSE &&
		    get_be32(h->itt) == itt)
			return p;
	}
	return NULL;
}

/* Protocol error, with the number that would come next (11.17.2). */
static int refuse_number(struct iscsi_conn *c, const struct iscsi_rx *rx, uint32_t next)
{
	return pdu_reject_number(c, rx, REJECT_PROTOCOL_ERROR, next);
}

/* What is asked for can not be sent again: a command that has no status yet ends so (7.8). */
static int refuse_data(struct iscsi_conn *c, const struct iscsi_rx *rx, struct iscsi_task *t)
{
	if (t && t->session && t->answer != ANSWER_STATUS && !t->response) {
		t->failed = true;
		t->failure = sense_make(SENSE_ABORTED_COMMAND, ASC_SNACK_REJECTED);
	}
	return pdu_reject_full(c, rx, REJECT_SNACK);
}

/* The task that a data SNACK names, live or kept. 0, or the Reject has been sent: its result in
 * *ret_err. */
static struct iscsi_task *find_task(struct iscsi_conn *c, const struct iscsi_rx *rx, int *ret_err)
{
	const struct bhs_snack *h = (const void *)rx->bhs;
	struct iscsi_task *t = session_find_task(c->session, get_be32(h->itt));
	const struct iscsi_pdu *p;

	if (t && t->conn == c) /* else it goes to the wrong connection (4.2.5.1) */
		return t;
	p = t ? NULL : find_status(c, get_be32(h->itt));
	if (p && p->task)
		return p->task;
	if (p && get_be32(((const struct bhs_scsi_response *)(const void *)p->bhs)->exp_datasn))
		*ret_err = refuse_data(c, rx, NULL); /* its memory was needed elsewhere */
	else
		*ret_err = refuse_number(c, rx, 0);
	return NULL;
}

static int data_or_r2t(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_snack *h = (const void *)rx->bhs;
	uint32_t next = 0;
	int err = 0;
	struct iscsi_task *t;

	if (get_be32(h->ttt) != ISCSI_TAG_RESERVED)
		return pdu_reject_full(c, rx, REJECT_INVALID_PDU_FIELD);
	t = find_task(c, rx, &err);
	if (!t)
		return err;
	switch (c->dm->resend(t, get_be32(h->begrun), get_be32(h->runlength), &next)) {
	case 0:
		return 0;
	case -ERANGE:
		return refuse_number(c, rx, next);
	default:
		return refuse_data(c, rx, t);
	}
}

static int status(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_snack *h = (const void *)rx->bhs;
	uint32_t begin = get_be32(h->begrun), run = get_be32(h->runlength);
	bool all = !begin && !run;
	struct list *pos;

	if (get_be32(h->ttt) != ISCSI_TAG_RESERVED || get_be32(h->itt) != ISCSI_TAG_RESERVED)
		return pdu_reject_full(c, rx, REJECT_INVALID_PDU_FIELD);
	if (all && list_empty(&c->held))
		return 0; /* all that is not acknowledged (11.16.6), which is nothing */
	if (all)
		begin = list_entry(list_first(&c->held), struct iscsi_pdu, held_node)->statsn;
	/* Those that are held have one number after the other, up to what was sent last. */
	if (c->statsn - begin - 1 >= c->n_held || run > c->statsn - begin)
		return refuse_number(c, rx, 0);
	list_for_each (pos, &c->held) {
		struct iscsi_pdu *p = list_entry(pos, struct iscsi_pdu, held_node);
		uint32_t at = p->statsn - begin;

		if (at < c->n_held && (!run || at < run))
			recovery_send_again(p);
	}
	return 0;
}

static bool acknowledges(struct iscsi_task *t, const struct bhs_snack *h)
{
	return !memcmp(h->lun, t->lun, sizeof(t->lun)) &&
	       t->conn->dm->data_ack(t, get_be32(h->ttt), get_be32(h->begrun));
}

static bool take_data_ack(struct iscsi_conn *c, const struct bhs_snack *h)
{
	struct list *pos;

	for (unsigned i = 0; i < SESSION_ITT_BUCKETS; i++) {
		list_for_each (pos, &c->session->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if (t->conn == c && acknowledges(t, h))
				return true;
		}
	}
	list_for_each (pos, &c->held) {
		const struct iscsi_pdu *p = list_entry(pos, struct iscsi_pdu, held_node);

		if (p->task && p->task->kept && acknowledges(p->task, h))
			return true;
	}
	return false;
}

static int data_ack(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_snack *h = (const void *)rx->bhs;

	if (get_be32(h->itt) == ISCSI_TAG_RESERVED && !get_be32(h->runlength) &&
	    get_be32(h->ttt) != ISCSI_TAG_RESERVED && take_data_ack(c, h))
		return 0;
	return pdu_reject_full(c, rx, REJECT_INVALID_DATA_ACK);
}

/* All that is not acknowledged anew, in pieces of what is declared now, then the status with this
 * tag (11.16.3). */
static int r_data(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_snack *h = (const void *)rx->bhs;
	uint32_t tag = get_be32(h->ttt);
	struct iscsi_task *t;
	int err = 0;

	if (!tag || tag == ISCSI_TAG_RESERVED || get_be32(h->begrun) || get_be32(h->runlength))
		return pdu_reject_full(c, rx, REJECT_INVALID_PDU_FIELD);
	t = find_task(c, rx, &err);
	if (!t)
		return err;
	if (!t->scsi.read)
		return refuse_number(c, rx, 0);
	t->snack_tag = tag;
	if (t->response)
		put_be32(((struct bhs_scsi_response *)(void *)t->response->bhs)->snack_tag, tag);
	if (t->data_in_pdus)
		c->dm->restart(t);
	else if (t->response)
		recovery_send_again(t->response);
	return 0;
}

static int (*const types[])(struct iscsi_conn *c, struct iscsi_rx *rx) = {
	[SNACK_DATA_R2T] = data_or_r2t,
	[SNACK_STATUS] = status,
	[SNACK_DATA_ACK] = data_ack,
	[SNACK_R_DATA] = r_data,
};

int snack_run(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_snack *h = (const void *)rx->bhs;
	uint8_t type = h->flags & SNACK_TYPE_MASK;

	if (type >= sizeof(types) / sizeof(types[0]))
		return pdu_reject_full(c, rx, REJECT_PROTOCOL_ERROR);
	return types[type](c, rx);
}
