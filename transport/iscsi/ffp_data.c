/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data of a command: what comes unasked with it and behind it, what is asked for, and when all of
 * it is there. Solicited data is the transport's own business but for its end.
 */
#include "daemon/base/bytes.h"
#include "scsi/exec.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"

#include <errno.h>

void ffp_data_out(struct scsi_task *st)
{
	struct iscsi_task *t = iscsi_task_of(st);

	t->collecting = true;
	t->session->writes++;
	t->session->write_bytes += st->data_out_length;
	if (st->data_out_length <= t->unsolicited_end)
		return;
	/* All that does not come by itself is asked for at once (4.2.5.2). */
	t->soliciting = true;
	t->conn->dm->get_data(t, t->unsolicited_end, st->data_out_length - t->unsolicited_end);
}

void ffp_data_progress(struct iscsi_task *t)
{
	if (t->stopped && !t->soliciting) {
		ffp_abort(&t->scsi);
		return;
	}
	if (!ffp_drained(t) || t->soliciting || t->releasing || t->answer == ANSWER_GIVEN)
		return;
	if (t->answer) {
		ffp_answer(t);
		return;
	}
	if (!t->collecting)
		return;
	t->collecting = false;
	if (t->failed)
		scsi_data_failed(&t->scsi, t->failure);
	else
		scsi_data_received(&t->scsi);
}

/* Data arrives and has no place: the command gets no further. False: it is beyond that. */
static void give_up_place(struct iscsi_task *t, uint8_t status)
{
	t->dropping = true;
	if (t->submitted && !t->answer)
		scsi_refuse(&t->scsi, status);
}

void ffp_place_data(struct iscsi_task *t, struct iscsi_rx *rx)
{
	if (!rx->length)
		return;
	if (!t->dropping && !t->collecting)
		give_up_place(t, SCSI_TASK_SET_FULL);
	if (t->dropping || t->unsolicited_got >= t->scsi.buf.length)
		return;
	/* What lies behind the buffer, because the CDB asks for less, is dropped by the transport.
	 */
	rx->iov = t->scsi.buf.iov;
	rx->iovcnt = t->scsi.buf.n;
	rx->skip = t->unsolicited_got;
}

int ffp_scsi_data(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_scsi_command *h = (const void *)rx->bhs;
	struct iscsi_task *t = rx->task;

	(void)c;
	if (!t)
		return 0;
	t->unsolicited_got += rx->length;
	if ((h->flags & ISCSI_FINAL) || t->unsolicited_got >= t->unsolicited_end)
		t->unsolicited_final = true;
	ffp_data_progress(t);
	return 0;
}

/*
 * The data of a task has gone wrong: no more is asked for, and what still comes is dropped to its
 * end, that of the R2Ts too; then the task ends with this sense (RFC 7143 7.8, 11.4.2, 11.17.1).
 */
static void fail(struct iscsi_task *t, uint16_t asc_ascq)
{
	if (t->failed || t->answer == ANSWER_GIVEN)
		return;
	t->failed = true;
	t->failure = sense_make(SENSE_ABORTED_COMMAND, asc_ascq);
	if (t->soliciting && t->conn->dm->cease)
		t->soliciting = !t->conn->dm->cease(t);
	if (!t->collecting)
		give_up_place(t, SCSI_BUSY);
	t->dropping = true;
}

/* An initiator that sends unasked what it may not has lost count, and may not answer R2Ts: those
 * are not waited for. */
static void fail_unasked(struct iscsi_task *t, uint16_t asc_ascq)
{
	if (asc_ascq != ASC_PROTOCOL_SERVICE_CRC_ERROR && t->soliciting && !t->failed) {
		t->soliciting = false;
		t->releasing = !t->conn->dm->release(t);
	}
	fail(t, asc_ascq);
}

static void note_final(struct iscsi_task *t)
{
	t->unsolicited_final = true;
	t->unsolicited_end = t->unsolicited_got;
}

/* What an unsolicited Data-Out has to look like (11.7); REJECT_NONE: as it should. */
static uint8_t check(const struct iscsi_task *t, const struct bhs_data_out *h, uint32_t length)
{
	if (t->unsolicited_final || get_be32(h->datasn) != t->next_datasn)
		return REJECT_PROTOCOL_ERROR;
	if (get_be32(h->buffer_offset) != t->unsolicited_got ||
	    length > t->unsolicited_end - t->unsolicited_got)
		return REJECT_INVALID_PDU_FIELD;
	return REJECT_NONE;
}

/* No task: it is gone, or waits for its turn, or there never was one. */
static int orphan(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_data_out *h = (const void *)rx->bhs;
	bool final = h->flags & ISCSI_FINAL;
	uint32_t itt = get_be32(h->itt);
	struct iscsi_parked *parked = ffp_find_parked(c->session, itt);

	if (ffp_is_late(c, itt, final))
		return 0;
	if (parked && parked->conn == c) {
		parked->lost = true;
		parked->final |= final;
		return 0;
	}
	return pdu_reject_full(c, rx, REJECT_INVALID_PDU_FIELD);
}

/* Data that comes unasked behind all that may: the command fails, unless it is too late to do harm
 * because its data is complete. */
static int beyond(struct iscsi_conn *c, struct iscsi_task *t, struct iscsi_rx *rx)
{
	const struct bhs_data_out *h = (const void *)rx->bhs;

	if (pdu_reject_full(c, rx, REJECT_INVALID_PDU_FIELD))
		return -ENOBUFS;
	if (!t->collecting)
		return 0;
	rx->task = t;
	fail_unasked(t, c->keys.initial_r2t ? ASC_UNEXPECTED_UNSOLICITED_DATA
					    : ASC_INCORRECT_AMOUNT_OF_DATA);
	if (h->flags & ISCSI_FINAL)
		return 0;
	/* The rest of it is taken before the command is answered. */
	t->unsolicited_final = false;
	t->unsolicited_end = UINT32_MAX;
	return 0;
}

/* Level 1: unsolicited data that was lost is asked for. */
static bool recovers(const struct iscsi_task *t)
{
	return t->conn->holds && t->collecting && !t->dropping && t->conn->dm->recover;
}

static void recover(struct iscsi_task *t, uint32_t offset, uint32_t end)
{
	if (end > t->scsi.data_out_length) /* more than the command wants */
		end = t->scsi.data_out_length;
	if (offset >= end)
		return;
	t->soliciting = true;
	t->conn->dm->recover(t, offset, end - offset);
}

/* A gap in DataSN (7.9). */
static void skip_lost(struct iscsi_task *t, const struct bhs_data_out *h, uint32_t length)
{
	uint32_t offset = get_be32(h->buffer_offset), datasn = get_be32(h->datasn);

	if (t->unsolicited_final || sna_diff(datasn, t->next_datasn) <= 0 ||
	    offset <= t->unsolicited_got || offset >= t->unsolicited_end ||
	    length > t->unsolicited_end - offset)
		return;
	recover(t, t->unsolicited_got, offset);
	t->unsolicited_got = offset;
	t->next_datasn = datasn;
}

int ffp_data_out_header(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_data_out *h = (const void *)rx->bhs;
	struct iscsi_task *t = session_find_task(c->session, get_be32(h->itt));
	uint8_t reason;

	if (!t)
		return orphan(c, rx);
	if (t->conn != c) /* of a command of another connection (4.2.5.1) */
		return pdu_reject_full(c, rx, REJECT_PROTOCOL_ERROR);
	if (t->unsolicited_final && !rx->length)
		return 0;
	if (recovers(t))
		skip_lost(t, h, rx->length);
	reason = t->dropping ? REJECT_NONE : check(t, h, rx->length);
	if (t->unsolicited_final)
		return beyond(c, t, rx);
	rx->task = t;
	if (reason) {
		if (pdu_reject_full(c, rx, reason))
			return -ENOBUFS;
		fail_unasked(t, reason == REJECT_PROTOCOL_ERROR ? ASC_PROTOCOL_SERVICE_CRC_ERROR
								: ASC_INCORRECT_AMOUNT_OF_DATA);
		return 0;
	}
	t->next_datasn++;
	/* "... MUST be either FirstBurstLength or the whole" (4.2.5.2) */
	if (!t->dropping && (h->flags & ISCSI_FINAL) &&
	    t->unsolicited_got + rx->length != t->unsolicited_end)
		fail_unasked(t, ASC_INCORRECT_AMOUNT_OF_DATA);
	ffp_place_data(t, rx);
	return 0;
}

int ffp_data_out_data(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_data_out *h = (const void *)rx->bhs;
	struct iscsi_task *t = rx->task;

	(void)c;
	if (!t)
		return 0;
	if (rx->length <= t->unsolicited_end - t->unsolicited_got)
		t->unsolicited_got += rx->length;
	if ((h->flags & ISCSI_FINAL) || (!t->dropping && t->unsolicited_got == t->unsolicited_end))
		note_final(t);
	ffp_data_progress(t);
	return 0;
}

/* Its digest was wrong: the command ends with that (RFC 7143 7.8), or the data is asked for. */
void ffp_data_out_undo(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	struct iscsi_task *t = rx->task;

	if (!t)
		return;
	if (recovers(t))
		recover(t, t->unsolicited_got, t->unsolicited_got + rx->length);
	else
		fail(t, ASC_PROTOCOL_SERVICE_CRC_ERROR);
	ffp_data_out_data(c, rx);
}

void iscsi_data_out_lost(struct iscsi_conn *c, const uint8_t bhs[static 48])
{
	if (pdu_reject(c, bhs, REJECT_DATA_DIGEST))
		iscsi_conn_terminate(c, false);
}

void iscsi_data_out_given_up(struct iscsi_task *t)
{
	fail(t, ASC_PROTOCOL_SERVICE_CRC_ERROR);
	ffp_data_progress(t);
}

void iscsi_data_out_bad(struct iscsi_conn *c, struct iscsi_task *t, const uint8_t bhs[static 48],
			uint8_t reject)
{
	if (pdu_reject(c, bhs, reject)) {
		iscsi_conn_terminate(c, false);
		return;
	}
	if (!t || t->conn != c)
		return;
	fail(t, reject == REJECT_INVALID_PDU_FIELD ? ASC_INCORRECT_AMOUNT_OF_DATA
						   : ASC_PROTOCOL_SERVICE_CRC_ERROR);
	ffp_data_progress(t);
}
