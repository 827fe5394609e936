/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Task management (RFC 7143 11.5, 11.6). What concerns this session's tasks on the wire is done
 * here, so that none of them answers after the function did; the rest is scsi/tmf.c's.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/stats.h"
#include "scsi/exec.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/pdu.h"
#include "transport/iscsi/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_MASK 0x7f
#define ANY_LUN       (SCSI_LUN_INVALID - 1) /* no LUN is so large */

enum tmf_scope {
	SCOPE_NONE,
	SCOPE_TASK,
	SCOPE_LUN, /* from here on it stops several tasks */
	SCOPE_NEXUS,
	SCOPE_TARGET
};

/* What a function reaches, and what the SCSI layer calls it. */
struct tmf_row {
	uint8_t scope;    /* enum tmf_scope */
	uint8_t function; /* enum scsi_tmf_function; 0: answered here */
	uint8_t answer;   /* if function is 0 */
	bool waits;       /* not before all commands with lower CmdSN are here (4.2.3.3) */
	uint8_t level;    /* iSCSIProtocolLevel that it needs (RFC 7144 4.1) */
};

/* clang-format off */
static const struct tmf_row rows[] = {
	[ISCSI_TMF_ABORT_TASK]     = { SCOPE_TASK,   TMF_ABORT_TASK,        0, false },
	[ISCSI_TMF_ABORT_TASK_SET] = { SCOPE_LUN,    TMF_ABORT_TASK_SET,    0, true },
	[ISCSI_TMF_CLEAR_ACA]      = { SCOPE_NONE,   TMF_CLEAR_ACA,         0, false },
	[ISCSI_TMF_CLEAR_TASK_SET] = { SCOPE_LUN,    TMF_CLEAR_TASK_SET,    0, true },
	[ISCSI_TMF_LU_RESET]       = { SCOPE_LUN,    TMF_LU_RESET,          0, true },
	[ISCSI_TMF_WARM_RESET]     = { SCOPE_TARGET, TMF_TARGET_WARM_RESET, 0, false },
	[ISCSI_TMF_COLD_RESET]     = { SCOPE_TARGET, TMF_TARGET_COLD_RESET, 0, false },
	[ISCSI_TMF_TASK_REASSIGN]  = { SCOPE_NONE,   0, ISCSI_TMF_RSP_NO_REASSIGN, false },
	[ISCSI_TMF_QUERY_TASK]     = { SCOPE_NONE,   TMF_QUERY_TASK,        0, false, ISCSI_LEVEL_SAM5 },
	[ISCSI_TMF_QUERY_TASK_SET] = { SCOPE_NONE,   TMF_QUERY_TASK_SET,    0, false, ISCSI_LEVEL_SAM5 },
	[ISCSI_TMF_NEXUS_RESET]    = { SCOPE_NEXUS,  TMF_I_T_NEXUS_RESET,   0, true,  ISCSI_LEVEL_SAM5 },
	[ISCSI_TMF_QUERY_ASYNC_EVENT] = { SCOPE_NONE, TMF_QUERY_ASYNC_EVENT, 0, false, ISCSI_LEVEL_SAM5 },
};
/* clang-format on */

static const struct tmf_row unknown_function = { .answer = ISCSI_TMF_RSP_NOT_SUPPORTED };

static const struct tmf_row not_authorized = { .answer = ISCSI_TMF_RSP_NOT_AUTHORIZED };

static const struct tmf_row *row_of(const struct iscsi_conn *c, const struct bhs_tmf_request *h)
{
	unsigned f = h->function & FUNCTION_MASK;

	if (!f || f >= sizeof(rows) / sizeof(rows[0]) || rows[f].level > c->keys.protocol_level)
		return &unknown_function;
	return &rows[f];
}

/* Resets of the target end what others do there: not for who may only read (11.5.1). */
static const struct tmf_row *row_for(const struct iscsi_conn *c, const struct bhs_tmf_request *h)
{
	const struct tmf_row *row = row_of(c, h);
	const struct iscsi_rule *rule = c->session->rule;

	return row->scope == SCOPE_TARGET && rule && rule->read_only ? &not_authorized : row;
}

bool ffp_tmf_waits(const struct iscsi_conn *c, const struct iscsi_rx *rx)
{
	return row_of(c, (const void *)rx->bhs)->waits;
}

static struct ffp_tmf *find_tmf(struct iscsi_session *s, uint32_t itt)
{
	struct list *pos;

	list_for_each (pos, &s->tmfs) {
		struct ffp_tmf *tmf = list_entry(pos, struct ffp_tmf, node);

		if (tmf->itt == itt)
			return tmf;
	}
	return NULL;
}

uint8_t ffp_tmf_check(struct iscsi_conn *c, const struct iscsi_rx *rx)
{
	const struct bhs_tmf_request *h = (const void *)rx->bhs;
	struct iscsi_session *s = c->session;
	uint32_t itt = get_be32(h->itt);
	struct iscsi_task *t = session_find_task(s, itt);

	if ((t && !ffp_stop_give_way(t)) || find_tmf(s, itt))
		return REJECT_TASK_IN_PROGRESS;
	if (s->n_tmfs >= SESSION_TMF_MAX)
		return h->opcode & ISCSI_IMMEDIATE ? REJECT_IMMEDIATE : REJECT_OUT_OF_RESOURCES;
	return REJECT_NONE;
}

static struct iscsi_pdu *answer_create(struct iscsi_conn *c, uint32_t itt, uint8_t response)
{
	struct iscsi_pdu *p = pdu_get(c, ISCSI_OP_TMF_RESPONSE, itt);

	if (p)
		((struct bhs_tmf_response *)(void *)p->bhs)->response = response;
	return p;
}

static int answer(struct iscsi_conn *c, uint32_t itt, uint8_t response)
{
	struct iscsi_pdu *p = answer_create(c, itt, response);

	if (!p)
		return -ENOBUFS;
	pdu_send(p);
	return 0;
}

static uint8_t response_of(enum scsi_tmf_response r)
{
	switch (r) {
	case TMF_COMPLETE:
		return ISCSI_TMF_RSP_COMPLETE;
	case TMF_SUCCEEDED:
		return ISCSI_TMF_RSP_SUCCEEDED;
	case TMF_NO_TASK:
		return ISCSI_TMF_RSP_NO_TASK;
	case TMF_NO_LUN:
		return ISCSI_TMF_RSP_NO_LUN;
	case TMF_UNSUPPORTED:
		return ISCSI_TMF_RSP_NOT_SUPPORTED;
	case TMF_FAILED:
		break;
	}
	return ISCSI_TMF_RSP_REJECTED;
}

/*
 * COLD RESET, as after power on: every connection of every session with this target closes
 * (11.5.1). I_T NEXUS RESET: those of this session, whatever Time2Wait and Time2Retain say (RFC
 * 7144 6.1).
 */
static void close_connections(const struct ffp_tmf *tmf, struct iscsi_pdu *answer)
{
	if (tmf->function != ISCSI_TMF_COLD_RESET && tmf->function != ISCSI_TMF_NEXUS_RESET)
		return;
	logout_close_others(answer->conn);
	answer->close_after = true;
	if (tmf->function == ISCSI_TMF_COLD_RESET)
		directory_end_others(tmf->session, "TARGET COLD RESET by another initiator");
}

/* The function ends, with its response if there is a connection for it. */
static void end(struct ffp_tmf *tmf)
{
	const struct scsi_tmf *scsi = &tmf->scsi;
	struct iscsi_session *s = tmf->session;
	struct iscsi_conn *c = tmf->conn;
	struct iscsi_pdu *p;

	list_del(&tmf->node);
	s->n_tmfs--;
	if (!s->ending && tmf->holds_slot)
		session_free_slot(s);
	if (c) {
		p = answer_create(c, tmf->itt, response_of(scsi->response));
		if (p)
			memcpy(((struct bhs_tmf_response *)(void *)p->bhs)->information,
			       scsi->information, sizeof(scsi->information));
		if (p && scsi->response == TMF_COMPLETE)
			close_connections(tmf, p);
		/* Other responses of the session keep their place before and behind it (4.2.3.3 d).
		 */
		if (p && tmf->function != ISCSI_TMF_ABORT_TASK)
			ffp_fence_send(p);
		else if (p)
			pdu_send(p);
		else
			iscsi_conn_terminate(c, false);
	}
	session_maybe_free(s);
	free(tmf);
}

static void executed(struct scsi_tmf *scsi)
{
	struct ffp_tmf *tmf = container_of(scsi, struct ffp_tmf, scsi);

	tmf->executed = true;
	if (!tmf->n_open)
		end(tmf);
}

static struct ffp_tmf *find_ended(struct iscsi_session *s)
{
	struct list *pos;

	list_for_each (pos, &s->tmfs) {
		struct ffp_tmf *tmf = list_entry(pos, struct ffp_tmf, node);

		if (tmf->executed && !tmf->n_open)
			return tmf;
	}
	return NULL;
}

void ffp_tmf_look(struct iscsi_session *s)
{
	struct ffp_tmf *tmf;

	while ((tmf = find_ended(s)))
		end(tmf);
}

/* Is t one of the tasks that the function stops? One that came behind it, which an immediate
 * function may overtake, is not (11.5.1). */
static bool reaches(const struct bhs_tmf_request *h, const struct iscsi_task *t)
{
	return t->immediate || sna_diff(t->cmdsn, get_be32(h->cmdsn)) < 0;
}

static void stop_on(struct ffp_tmf *tmf, const struct bhs_tmf_request *h, uint64_t lun)
{
	struct iscsi_session *s = tmf->session;

	ffp_stop_begin(s);
	for (unsigned i = 0; i < SESSION_ITT_BUCKETS && s->n_tasks; i++) {
		struct list *pos, *next;

		list_for_each_safe (pos, next, &s->tasks[i]) {
			struct iscsi_task *t = list_entry(pos, struct iscsi_task, itt_node);

			if ((lun == ANY_LUN || t->scsi.lun == lun) && reaches(h, t))
				ffp_stop(t, tmf);
		}
	}
}

/* Stops what this session has in progress there, LU by LU. */
static void stop_tasks(struct ffp_tmf *tmf, const struct tmf_row *row,
		       const struct bhs_tmf_request *h)
{
	struct iscsi_session *s = tmf->session;

	if (row->scope == SCOPE_LUN) {
		stop_on(tmf, h, tmf->scsi.lun);
		return;
	}
	for (unsigned i = 0; i < s->nexus.n_itls; i++) {
		if (s->nexus.itls[i]->ntasks)
			stop_on(tmf, h, s->nexus.itls[i]->lun);
	}
	stop_on(tmf, h, ANY_LUN); /* what is in no task set */
}

/*
 * Executes what the row leaves to the SCSI layer, which may be done at once. The tasks of this
 * session stop first: then none of them answers behind the function.
 */
static int begin(struct iscsi_conn *c, const struct bhs_tmf_request *h, const struct tmf_row *row,
		 struct iscsi_task *t)
{
	struct iscsi_session *s = c->session;
	struct ffp_tmf *tmf = calloc(1, sizeof(*tmf));

	if (!tmf)
		return -ENOMEM;
	tmf->session = s;
	tmf->conn = c;
	tmf->itt = get_be32(h->itt);
	tmf->function = h->function & FUNCTION_MASK;
	tmf->holds_slot = !(h->opcode & ISCSI_IMMEDIATE);
	tmf->scsi.function = row->function;
	tmf->scsi.nexus = &s->nexus;
	tmf->scsi.lun = scsi_lun_decode(h->lun);
	tmf->scsi.task = t ? &t->scsi : NULL;
	tmf->scsi.done = executed;
	list_add_tail(&s->tmfs, &tmf->node);
	s->n_tmfs++;
	if (row->scope >= SCOPE_LUN)
		stop_tasks(tmf, row, h);
	if (row->function != TMF_ABORT_TASK_SET) {
		scsi_tmf(&tmf->scsi);
		return 0;
	}
	/* Of another session nothing is reached, so nothing is left for the SCSI layer to do. */
	tmf->scsi.response = nexus_find(&s->nexus, tmf->scsi.lun) ? TMF_COMPLETE : TMF_NO_LUN;
	executed(&tmf->scsi);
	return 0;
}

void ffp_remember_over(struct iscsi_session *s, uint32_t itt)
{
	s->over[s->n_over++ % SESSION_OVER] = itt;
}

static bool is_over(const struct iscsi_session *s, uint32_t itt)
{
	unsigned n = s->n_over < SESSION_OVER ? s->n_over : SESSION_OVER;

	while (n--) {
		if (s->over[n] == itt)
			return true;
	}
	return false;
}

/* The command has not come, but its place in the window says that it may (11.6.1). */
static bool is_announced(const struct iscsi_session *s, const struct bhs_tmf_request *h)
{
	uint32_t ref = get_be32(h->ref_cmdsn);

	return sna_diff(ref, s->exp_cmdsn) >= 0 && sna_diff(ref, s->max_cmdsn) <= 0 &&
	       sna_diff(ref, get_be32(h->cmdsn)) < 0;
}

/*
 * ABORT TASK of a tag that is not in progress (11.6.1). Announced and not here yet: never to be
 * run. Answered: no such task; but complete if it has been aborted before, or if it took so long
 * that the function crossed the status. For ESXi takes "no such task" for a broken target then and
 * goes on to resets.
 */
static uint8_t abort_absent(struct iscsi_session *s, const struct bhs_tmf_request *h)
{
	if (is_over(s, get_be32(h->referenced_tag)))
		return ISCSI_TMF_RSP_COMPLETE;
	if (!is_announced(s, h))
		return ISCSI_TMF_RSP_NO_TASK;
	return ffp_skip_cmdsn(s, get_be32(h->ref_cmdsn)) ? ISCSI_TMF_RSP_REJECTED
							 : ISCSI_TMF_RSP_COMPLETE;
}

/* An enum iscsi_tmf_response, or negative: *ret_task is to be aborted by the SCSI layer. */
static int abort_task(struct iscsi_session *s, const struct bhs_tmf_request *h,
		      struct iscsi_task **ret_task)
{
	uint32_t itt = get_be32(h->referenced_tag);
	struct iscsi_task *t = session_find_task(s, itt);
	struct iscsi_parked *parked = ffp_find_parked(s, itt);
	uint64_t lun = scsi_lun_decode(h->lun);

	if (find_tmf(s, itt))
		return ISCSI_TMF_RSP_REJECTED; /* a function cannot be aborted (11.5.1) */
	if (t && t->scsi.lun != lun)
		return ISCSI_TMF_RSP_NO_TASK;
	if (t && t->stopped)
		return ISCSI_TMF_RSP_COMPLETE;
	if (t || parked)
		ffp_remember_over(s, itt);
	if (t && t->submitted) {
		*ret_task = t;
		return -1;
	}
	if (t) {
		ffp_abort(&t->scsi);
		return ISCSI_TMF_RSP_COMPLETE;
	}
	if (!parked)
		return abort_absent(s, h);
	if ((parked->bhs[0] & ISCSI_OPCODE_MASK) != ISCSI_OP_SCSI_COMMAND)
		return ISCSI_TMF_RSP_REJECTED;
	if (scsi_lun_decode(((const struct bhs_scsi_command *)(const void *)parked->bhs)->lun) !=
	    lun)
		return ISCSI_TMF_RSP_NO_TASK;
	ffp_abort_parked(s, parked);
	return ISCSI_TMF_RSP_COMPLETE;
}

/*
 * QUERY TASK (RFC 7144 6.1): an enum iscsi_tmf_response. RefCmdSN is used as by ABORT TASK (6.3.3):
 * a command that is announced by it and not here yet counts as received (RFC 7143 11.6.1 b) and is
 * never run, so that "not in the task set" stays true.
 */
static uint8_t query_task(struct iscsi_session *s, const struct bhs_tmf_request *h)
{
	uint32_t itt = get_be32(h->referenced_tag), ref = get_be32(h->ref_cmdsn);
	const struct iscsi_task *t = session_find_task(s, itt);
	uint64_t lun = scsi_lun_decode(h->lun);

	if (find_tmf(s, itt))
		return ISCSI_TMF_RSP_REJECTED;
	if (!nexus_find(&s->nexus, lun))
		return ISCSI_TMF_RSP_NO_LUN;
	if (t)
		return t->scsi.lun == lun && !t->stopped ? ISCSI_TMF_RSP_SUCCEEDED
							 : ISCSI_TMF_RSP_COMPLETE;
	if (ffp_find_parked(s, itt))
		return ISCSI_TMF_RSP_SUCCEEDED;
	if (is_announced(s, h) && ffp_skip_cmdsn(s, ref))
		return ISCSI_TMF_RSP_REJECTED;
	return ISCSI_TMF_RSP_COMPLETE;
}

int ffp_tmf_run(struct iscsi_conn *c, struct iscsi_rx *rx)
{
	const struct bhs_tmf_request *h = (const void *)rx->bhs;
	struct iscsi_session *s = c->session;
	const struct tmf_row *row = row_for(c, h);
	struct iscsi_task *t = NULL;
	int response = row->function ? -1 : row->answer;

	stats_add(c->ir->stats, STAT_TMFS, 1);
	if (row->scope == SCOPE_TASK)
		response = abort_task(s, h, &t);
	if (row->function == TMF_QUERY_TASK)
		response = query_task(s, h);
	if (response < 0)
		return begin(c, h, row, t);
	if (!(h->opcode & ISCSI_IMMEDIATE))
		session_free_slot(s);
	return answer(c, get_be32(h->itt), (uint8_t)response);
}

void ffp_tmf_forget(struct iscsi_session *s, const struct iscsi_conn *c)
{
	struct list *pos, *next;

	list_for_each_safe (pos, next, &s->tmfs) {
		struct ffp_tmf *tmf = list_entry(pos, struct ffp_tmf, node);

		if (c && tmf->conn != c)
			continue;
		list_del(&tmf->node);
		tmf->conn = NULL;
		ffp_stop_forget(tmf);
		if (tmf->executed)
			end(tmf);
	}
}
