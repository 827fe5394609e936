/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/tmf.h"

#include "scsi/exec_internal.h"
#include "scsi/mode.h"
#include "scsi/pr.h"
#include "scsi/scsi.h"

enum { WRITES_TIMEOUT_MS = 10000 }; /* below every host's timer for resets */

static struct reactor *const *reactors; /* set once, before the first session */
static unsigned n_reactors;

void scsi_tmf_set_reactors(struct reactor *const *set, unsigned n)
{
	reactors = set;
	n_reactors = n;
}

int scsi_broadcast(struct reactor *self, struct reactor_broadcast *b)
{
	return reactor_broadcast(n_reactors ? reactors : &self, n_reactors ? n_reactors : 1, b);
}

static void finish(struct scsi_tmf *tmf, enum scsi_tmf_response response)
{
	reactor_timer_disarm(&tmf->timer);
	lun_map_unref(tmf->map);
	tmf->map = NULL;
	tmf->response = response;
	tmf->done(tmf);
}

/* The victims' last write: until it has ended it could overwrite what comes after the reset. */
static void wait_writes(struct scsi_tmf *tmf)
{
	for (; tmf->at < tmf->end; tmf->at++) {
		if (!lu_wait_writes(tmf->map->entries[tmf->at].lu, &tmf->waiter))
			continue;
		if (!tmf->timed_out)
			return;
		/* The message may be on its way already; then it finds the time out again. */
		if (lu_unwait_writes(tmf->map->entries[tmf->at].lu, &tmf->waiter))
			finish(tmf, TMF_FAILED);
		return;
	}
	finish(tmf, TMF_COMPLETE);
}

static void writes_ended(struct reactor_msg *msg)
{
	wait_writes(container_of(msg, struct scsi_tmf, waiter.msg));
}

static void waited_long(struct reactor_timer *timer)
{
	struct scsi_tmf *tmf = container_of(timer, struct scsi_tmf, timer);

	tmf->timed_out = true;
	if (lu_unwait_writes(tmf->map->entries[tmf->at].lu, &tmf->waiter))
		finish(tmf, TMF_FAILED);
}

static void begin_waiting(struct scsi_tmf *tmf)
{
	reactor_timer_arm(tmf->reactor, &tmf->timer, WRITES_TIMEOUT_MS);
	wait_writes(tmf);
}

static bool is_target_reset(const struct scsi_tmf *tmf)
{
	return tmf->function == TMF_TARGET_WARM_RESET || tmf->function == TMF_TARGET_COLD_RESET;
}

/* One nexus' part of a reset (SAM-5 6.3.3): tasks, PREVENT, RESERVE(6), then the unit attention:
 * who has heard of the reset may reserve again, and keeps that. */
static void reset_itl(struct itl *itl, void *arg)
{
	const struct nexus_neighbours *near = itl->nexus->neighbours;
	struct scsi_tmf *tmf = arg;

	if (itl->nexus != tmf->nexus && itl->ntasks && near && near->will_abort)
		near->will_abort(itl);
	itl_abort_tasks(itl, false);
	itl_set_prevent(itl, false);
	lu_release6(itl->lu, itl);
	/* To the sender as well: it may have been another program of that host (SAM-5 6.3.3). */
	itl_ua(itl, is_target_reset(tmf) ? ASC_BUS_RESET : ASC_DEVICE_RESET);
}

static void reset_here(struct reactor_broadcast *b, struct reactor *r)
{
	struct scsi_tmf *tmf = container_of(b, struct scsi_tmf, broadcast);

	for (unsigned i = tmf->at; i < tmf->end; i++)
		lu_each_itl_here(tmf->map->entries[i].lu, r, reset_itl, tmf);
	reactor_broadcast_ack(b);
}

static void reset_everywhere(struct reactor_broadcast *b)
{
	struct scsi_tmf *tmf = container_of(b, struct scsi_tmf, broadcast);

	for (unsigned i = tmf->at; i < tmf->end; i++)
		mode_reset(tmf->map->entries[i].lu);
	begin_waiting(tmf);
}

static void reset(struct scsi_tmf *tmf)
{
	tmf->broadcast.each = reset_here;
	tmf->broadcast.done = reset_everywhere;
	tmf->broadcast.reply_to = tmf->reactor;
	if (scsi_broadcast(tmf->reactor, &tmf->broadcast) < 0)
		finish(tmf, TMF_FAILED);
}

/* Keeps the LUs: the nexus may go before the function ends. -1: no such LUN. */
static int hold_lus(struct scsi_tmf *tmf)
{
	const struct scsi_lun_map *map = tmf->nexus->map;
	unsigned i = 0;

	if (is_target_reset(tmf)) {
		tmf->at = 0;
		tmf->end = map->n;
	} else {
		while (i < map->n && map->entries[i].lun != tmf->lun)
			i++;
		if (i == map->n)
			return -1;
		tmf->at = i;
		tmf->end = i + 1;
	}
	lun_map_ref(map);
	tmf->map = map;
	return 0;
}

static void nexus_reset(struct scsi_tmf *tmf)
{
	struct it_nexus *n = tmf->nexus;

	for (unsigned i = 0; i < n->n_itls; i++) {
		itl_abort_tasks(n->itls[i], false);
		itl_set_prevent(n->itls[i], false);
		lu_release6(n->itls[i]->lu, n->itls[i]);
		itl_ua(n->itls[i], ASC_NEXUS_LOSS);
	}
	finish(tmf, TMF_COMPLETE);
}

/* SAM-5 7.10: byte 0 is UADE DEPTH (01b: one, 10b: more) and the sense key, then ASC and ASCQ. */
static void query_async_event(struct scsi_tmf *tmf, struct itl *itl)
{
	uint16_t ua;
	unsigned depth = itl_ua_peek(itl, &ua);

	if (!depth) {
		finish(tmf, TMF_COMPLETE);
		return;
	}
	tmf->information[0] = (uint8_t)((depth > 1 ? 0x20 : 0x10) | SENSE_UNIT_ATTENTION);
	tmf->information[1] = (uint8_t)(ua >> 8);
	tmf->information[2] = (uint8_t)ua;
	finish(tmf, TMF_SUCCEEDED);
}

static void of_task(struct scsi_tmf *tmf)
{
	struct scsi_task *t = tmf->task;

	if (tmf->function == TMF_QUERY_TASK) {
		finish(tmf, t ? TMF_SUCCEEDED : TMF_COMPLETE);
		return;
	}
	if (!t) {
		finish(tmf, TMF_NO_TASK);
		return;
	}
	t->port->abort(t);
	finish(tmf, TMF_COMPLETE);
}

static void of_itl(struct scsi_tmf *tmf, struct itl *itl)
{
	switch (tmf->function) {
	case TMF_ABORT_TASK_SET:
		itl_abort_tasks(itl, false);
		finish(tmf, TMF_COMPLETE);
		return;
	case TMF_CLEAR_TASK_SET: /* TST=001b: the set is this nexus' own */
		itl_abort_tasks(itl, false);
		if (hold_lus(tmf) < 0)
			finish(tmf, TMF_NO_LUN);
		else
			begin_waiting(tmf);
		return;
	case TMF_LU_RESET:
		if (hold_lus(tmf) < 0)
			finish(tmf, TMF_NO_LUN);
		else
			reset(tmf);
		return;
	case TMF_QUERY_TASK_SET:
		finish(tmf, itl->ntasks ? TMF_SUCCEEDED : TMF_COMPLETE);
		return;
	case TMF_QUERY_ASYNC_EVENT:
		query_async_event(tmf, itl);
		return;
	default: /* CLEAR ACA: NORMACA=0 */
		finish(tmf, TMF_UNSUPPORTED);
		return;
	}
}

void scsi_tmf(struct scsi_tmf *tmf)
{
	struct itl *itl;

	tmf->reactor = tmf->nexus->reactor;
	tmf->waiter.reactor = tmf->reactor;
	tmf->waiter.msg.run = writes_ended;
	list_init(&tmf->waiter.node);
	reactor_timer_init(&tmf->timer, waited_long);
	tmf->map = NULL;
	tmf->timed_out = false;
	switch (tmf->function) {
	case TMF_ABORT_TASK:
	case TMF_QUERY_TASK:
		of_task(tmf);
		return;
	case TMF_I_T_NEXUS_RESET:
		nexus_reset(tmf);
		return;
	case TMF_TARGET_WARM_RESET:
	case TMF_TARGET_COLD_RESET:
		(void)hold_lus(tmf);
		reset(tmf);
		return;
	default:
		break;
	}
	itl = nexus_find(tmf->nexus, tmf->lun);
	if (itl)
		of_itl(tmf, itl);
	else
		finish(tmf, TMF_NO_LUN);
}
