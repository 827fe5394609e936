/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What PERSISTENT RESERVE OUT makes of a table of registrations (SPC-4 5.13.5 to 5.13.11, 6.16).
 *
 * Threads: pure functions. Ownership: the outcome's table is the caller's.
 */
#include "scsi/pr_internal.h"
#include "scsi/scsi.h"

/* Offsets in the parameter list, and in the CDB, for field pointers. */
enum { LIST_ACTION_KEY = 8, CDB_TYPE = 2 };

struct decision {
	const struct pr_table *now;
	const struct pr_request *rq;
	struct pr_outcome *out;
	int own; /* index, or -1 */
};

static void conflict(struct decision *d)
{
	d->out->status = SCSI_RESERVATION_CONFLICT;
}

static void refuse(struct decision *d, struct scsi_sense sense)
{
	d->out->status = SCSI_CHECK_CONDITION;
	d->out->sense = sense;
}

/* The copy on which a decision works. NULL: refused for lack of memory. */
static struct pr_table *change(struct decision *d, unsigned room)
{
	d->out->table = pr_table_copy(d->now, room);
	if (!d->out->table)
		refuse(d, sense_make(SENSE_ILLEGAL_REQUEST, ASC_REGISTRATION_RESOURCES));
	return d->out->table;
}

static uint8_t type_held(const struct decision *d)
{
	return d->now ? d->now->type : PR_NONE;
}

static void release(struct pr_table *t)
{
	t->type = PR_NONE;
	t->holder = 0;
}

/* 5.13.11.3: a registration that goes takes with it the reservation that it holds; where all
 * registrants hold, the last one does. True: registrants are to be told. */
static bool unregister(struct pr_table *t, unsigned index)
{
	uint8_t type = t->type;
	bool held = pr_all_registrants(type) ? t->n == 1 : pr_is_holder(t, (int)index);

	if (held)
		release(t);
	pr_remove(t, index);
	return held && pr_registrants(type);
}

/* Room was made for all by change(). */
static void add(struct pr_table *t, const struct pr_nexus *n, uint64_t key)
{
	t->regs[t->n].nexus = *n;
	t->regs[t->n++].key = key;
}

static bool fits(struct decision *d, const struct pr_table *t)
{
	if (t->n <= PR_REGISTRATIONS_MAX)
		return true;
	pr_table_put(d->out->table);
	d->out->table = NULL;
	refuse(d, sense_make(SENSE_ILLEGAL_REQUEST, ASC_REGISTRATION_RESOURCES));
	return false;
}

/* As if the same request had come through that nexus (ALL_TG_PT): where it is registered by
 * another key it has been somebody else's, and stays. False: it has no effect. */
static bool register_one(struct decision *d, struct pr_table *t, const struct pr_nexus *n)
{
	const struct pr_request *rq = d->rq;
	int i = pr_find(t, n);

	if (i < 0 && rq->action_key) {
		add(t, n, rq->action_key);
		return true;
	}
	if (i < 0 || (rq->action != PR_REGISTER_IGNORE && t->regs[i].key != rq->key))
		return false;
	if (rq->action_key)
		t->regs[i].key = rq->action_key;
	else if (unregister(t, (unsigned)i))
		d->out->ua_others = ASC_RESERVATIONS_RELEASED;
	return true;
}

/* SPC-4 tables 66 and 67: REGISTER, REGISTER AND IGNORE EXISTING KEY. */
static void do_register(struct decision *d)
{
	const struct pr_request *rq = d->rq;
	uint64_t have = d->own >= 0 ? d->now->regs[d->own].key : 0;
	struct pr_table *t;
	bool effect;

	if (rq->action == PR_REGISTER && rq->key != have) {
		conflict(d);
		return;
	}
	if (rq->has_sense) {
		refuse(d, rq->sense);
		return;
	}
	/* Others are registered along with oneself only. */
	if (rq->spec_i_pt && (d->own >= 0 || !rq->action_key)) {
		refuse(d, d->own >= 0 ? sense_invalid_parameter_bit(20, 3)
				      : sense_invalid_parameter(LIST_ACTION_KEY));
		return;
	}
	t = change(d, 1 + rq->n_others);
	if (!t)
		return;
	effect = register_one(d, t, &rq->own);
	for (unsigned i = 0; i < rq->n_others; i++) {
		if (rq->others_own)
			effect |= register_one(d, t, &rq->others[i]);
		else if (pr_find(t, &rq->others[i]) < 0)
			add(t, &rq->others[i], rq->action_key);
	}
	if (!fits(d, t))
		return;
	/* Nothing to unregister: what others have asked to be kept stays kept. */
	if (effect)
		t->aptpl = rq->aptpl;
	t->generation++;
}

/* SCOPE and TYPE, where they mean something. */
static bool type_right(struct decision *d)
{
	if (d->rq->scope) { /* 0h: the LU; the others are obsolete */
		refuse(d, sense_invalid_field_bit(CDB_TYPE, 7));
		return false;
	}
	if (!pr_type_valid(d->rq->type)) {
		refuse(d, sense_invalid_field_bit(CDB_TYPE, 3));
		return false;
	}
	return true;
}

static void do_reserve(struct decision *d)
{
	struct pr_table *t;

	if (!type_right(d))
		return;
	if (type_held(d) != PR_NONE) {
		if (!pr_is_holder(d->now, d->own) || d->now->type != d->rq->type)
			conflict(d);
		return;
	}
	t = change(d, 0);
	if (!t)
		return;
	t->type = d->rq->type;
	t->holder = (unsigned)d->own;
}

static void do_release(struct decision *d)
{
	struct pr_table *t;

	if (!type_right(d) || !pr_is_holder(d->now, d->own))
		return;
	if (d->now->type != d->rq->type) {
		refuse(d, sense_make(SENSE_ILLEGAL_REQUEST, ASC_INVALID_RELEASE));
		return;
	}
	t = change(d, 0);
	if (!t)
		return;
	if (pr_registrants(t->type))
		d->out->ua_others = ASC_RESERVATIONS_RELEASED;
	release(t);
}

static void do_clear(struct decision *d)
{
	struct pr_table *t = change(d, 0);

	if (!t)
		return;
	release(t);
	t->n = 0;
	t->generation++;
	d->out->ua_removed = ASC_RESERVATIONS_PREEMPTED;
}

/* Takes out the registrations with this key, or, without one, all; but for `keep`. Its new index.
 */
static int remove_keys(struct pr_table *t, const uint64_t *key, int keep)
{
	for (unsigned i = t->n; i--;) {
		if ((int)i == keep || (key && t->regs[i].key != *key))
			continue;
		pr_remove(t, i);
		if ((int)i < keep)
			keep--;
	}
	return keep;
}

/* 5.13.11.4.3: the reservation passes to the preemptor, who keeps its registration. */
static void preempt_holder(struct decision *d, struct pr_table *t, const uint64_t *key)
{
	uint8_t type = t->type;

	t->holder = (unsigned)remove_keys(t, key, d->own);
	t->type = d->rq->type;
	if (type != t->type)
		d->out->ua_others = ASC_RESERVATIONS_RELEASED;
}

/* 5.13.11.4.4: registrations only; one's own is no exception. */
static void preempt_registrations(struct pr_table *t, uint64_t key)
{
	remove_keys(t, &key, -1);
	if (!t->n)
		release(t);
}

static bool any_has_key(const struct pr_table *t, uint64_t key)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->regs[i].key == key)
			return true;
	return false;
}

/* Is it the reservation that is preempted? Else SCOPE and TYPE are ignored (SPC-4 5.13.11.4.4). */
static bool preempts_holder(const struct pr_table *now, uint64_t key)
{
	if (pr_all_registrants(now->type))
		return !key;
	return now->type != PR_NONE && now->regs[now->holder].key == key;
}

static void do_preempt(struct decision *d)
{
	const struct pr_table *now = d->now;
	uint64_t key = d->rq->action_key;
	bool holder = preempts_holder(now, key);
	struct pr_table *t;

	if (!key && !holder) {
		refuse(d, sense_invalid_parameter(LIST_ACTION_KEY));
		return;
	}
	if (key && !any_has_key(now, key)) {
		conflict(d);
		return;
	}
	if (holder && !type_right(d))
		return;
	t = change(d, 0);
	if (!t)
		return;
	if (holder)
		preempt_holder(d, t, key ? &key : NULL);
	else
		preempt_registrations(t, key);
	t->generation++;
	d->out->ua_removed = ASC_REGISTRATIONS_PREEMPTED;
	d->out->abort = d->rq->action == PR_PREEMPT_AND_ABORT;
}

/* 5.13.8. Where all registrants hold there is nothing that could be moved. */
static void do_move(struct decision *d)
{
	const struct pr_request *rq = d->rq;
	struct pr_table *t;
	int to;

	if (!pr_is_holder(d->now, d->own) || pr_all_registrants(d->now->type)) {
		conflict(d);
		return;
	}
	if (!rq->action_key) {
		refuse(d, sense_invalid_parameter(LIST_ACTION_KEY));
		return;
	}
	if (pr_nexus_same(&rq->own, &rq->others[0])) {
		refuse(d, sense_invalid_parameter(24));
		return;
	}
	t = change(d, 1);
	if (!t)
		return;
	to = pr_find(t, &rq->others[0]);
	if (to < 0) {
		to = (int)t->n;
		add(t, &rq->others[0], 0);
	}
	t->regs[to].key = rq->action_key;
	t->holder = (unsigned)to;
	if (rq->unreg)
		pr_remove(t, (unsigned)d->own);
	if (!fits(d, t))
		return;
	t->aptpl = rq->aptpl;
	t->generation++;
}

void pr_decide(const struct pr_table *now, const struct pr_request *rq, struct pr_outcome *ret)
{
	struct decision d = { .now = now, .rq = rq, .out = ret, .own = pr_find(now, &rq->own) };

	*ret = (struct pr_outcome){ .status = SCSI_GOOD };
	if (rq->action == PR_REGISTER || rq->action == PR_REGISTER_IGNORE) {
		do_register(&d);
		return;
	}
	if (rq->action == PR_ADMIN_CLEAR) {
		do_clear(&d);
		return;
	}
	/* 5.13.6: the rest is for those who are registered, and know their key. */
	if (d.own < 0 || now->regs[d.own].key != rq->key) {
		conflict(&d);
		return;
	}
	if (rq->has_sense) {
		refuse(&d, rq->sense);
		return;
	}
	switch (rq->action) {
	case PR_RESERVE:
		do_reserve(&d);
		return;
	case PR_RELEASE:
		do_release(&d);
		return;
	case PR_CLEAR:
		do_clear(&d);
		return;
	case PR_PREEMPT:
	case PR_PREEMPT_AND_ABORT:
		do_preempt(&d);
		return;
	case PR_REGISTER_AND_MOVE:
		do_move(&d);
		return;
	default:
		return;
	}
}
