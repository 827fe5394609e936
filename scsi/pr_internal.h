/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the reservations: pr_list.c (parameter list to request), pr_out.c (request
 * and table to outcome, pure), pr_run.c (one after another, carried out), pr_fence.c (obeyed on
 * every reactor).
 *
 * Threads: as marked. Ownership: a request owns its list of others; an outcome the table it made.
 */
#ifndef HAWSER_SCSI_PR_INTERNAL_H
#define HAWSER_SCSI_PR_INTERNAL_H

#include "scsi/opcodes.h"
#include "scsi/pr.h"

enum pr_action {
	PR_REGISTER,
	PR_RESERVE,
	PR_RELEASE,
	PR_CLEAR,
	PR_PREEMPT,
	PR_PREEMPT_AND_ABORT,
	PR_REGISTER_IGNORE,
	PR_REGISTER_AND_MOVE,
	/* and what is no service action of PERSISTENT RESERVE OUT */
	PR_RESERVE6,
	PR_RELEASE6,
	PR_ADMIN_CLEAR,
	PR_HAND_OVER,
};

/* All that a decision depends on, but for the table. */
struct pr_request {
	enum pr_action action;
	uint8_t scope, type;
	uint64_t key, action_key; /* RESERVATION KEY, SERVICE ACTION RESERVATION KEY */
	bool spec_i_pt, aptpl, unreg;
	bool has_sense; /* what is wrong with the rest of the list: told after the key is right */
	struct scsi_sense sense;
	struct pr_nexus own;
	/* SPEC_I_PT: nexuses that are registered too. ALL_TG_PT: the initiator port's on other
	 * ports (others_own: their keys change with that of own). REGISTER AND MOVE: the new
	 * holder. */
	struct pr_nexus *others;
	unsigned n_others;
	bool others_own;
};

/* Fills a zeroed request from a parameter list that pr_params_out has let pass. 0 or -ENOMEM. The
 * nexus' reactor. */
int pr_request_parse(struct pr_request *rq, struct it_nexus *n, struct scsi_lu *lu,
		     const uint8_t *cdb, const uint8_t *list, size_t length);
void pr_request_clear(struct pr_request *rq);

/* An iSCSI TransportID (SPC-4 7.6.4.6), written with ISID; the bytes used, a multiple of 4. */
size_t pr_put_transport_id(const char *initiator_port, uint8_t *out, size_t room);
#define PR_TRANSPORT_ID_MAX (4u + SCSI_PORT_NAME)

struct pr_outcome {
	uint8_t status; /* enum scsi_status */
	struct scsi_sense sense;
	struct pr_table *table; /* how it will be; NULL: as it is */
	/* Unit attentions, 0: none; never to the nexus that sent the command. */
	uint16_t ua_removed; /* to those that are registered no more */
	uint16_t ua_others;  /* to those that still are */
	bool abort;          /* the tasks of those that are registered no more */
};

void pr_decide(const struct pr_table *now, const struct pr_request *rq, struct pr_outcome *ret);

/* Waits until every reactor obeys the gates of an LU. */
struct pr_fence {
	struct scsi_lu *lu;
	struct reactor *reactor;
	bool abort; /* and until the tasks of itls marked `preempted` are gone */
	void (*done)(struct pr_fence *f, bool in_time); /* on reactor */
	/* pr_fence.c */
	struct reactor_broadcast broadcast;
	struct reactor_timer timer;
	struct lu_waiter waiter;
	bool timed_out;
};
void pr_fence(struct pr_fence *f);

/* Carries a request out for a task (PLAN_ACTION), then ends it. Takes the request over. */
void pr_run_task(struct scsi_task *t, struct pr_request *rq);

#endif
