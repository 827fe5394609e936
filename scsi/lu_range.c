/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of an LU: detached writes, exclusive ranges and who waits for them. While a detached write
 * exists, every overlapping command of any nexus gets BUSY, so that a write that hung in the store
 * can never overwrite its own retry.
 *
 * As long as the list is empty no I/O knows of it: GATE_RANGE is clear. An exclusive range sets the
 * bit for all nexuses and then asks each reactor, by a message, for I/O that was let pass before;
 * what comes to that reactor after the message has seen the bit.
 */
#include "scsi/exec_internal.h"
#include "scsi/lu.h"
#include "scsi/nexus.h"
#include "scsi/nexus_internal.h"

void lu_gates_set(struct scsi_lu *lu, uint32_t bit)
{
	struct list *pos;

	list_for_each (pos, &lu->itls)
		atomic_fetch_or(&list_entry(pos, struct itl, lu_node)->gate, bit);
}

void lu_gates_clear(struct scsi_lu *lu, uint32_t bit)
{
	struct list *pos;

	list_for_each (pos, &lu->itls)
		atomic_fetch_and(&list_entry(pos, struct itl, lu_node)->gate, ~bit);
}

static bool overlap(const struct lu_range *r, uint64_t offset, uint64_t length)
{
	return offset < r->offset + r->length && r->offset < offset + length;
}

static void poked(struct reactor_msg *msg)
{
	struct lu_poke *p = container_of(msg, struct lu_poke, msg);
	struct scsi_lu *lu = p->lu;

	atomic_store(&p->sent, false); /* what comes from here on is told again */
	exec_range_look(lu, p->reactor);
	lu_unref(lu);
}

/* Under lu->lock, or on the reactor itself. */
static void poke(struct scsi_lu *lu, unsigned index)
{
	struct lu_poke *p = &lu->pokes[index];

	if (!p->reactor || atomic_exchange(&p->sent, true))
		return;
	lu_ref(lu);
	p->lu = lu;
	p->msg.run = poked;
	reactor_send(p->reactor, &p->msg);
}

void lu_range_poke(struct scsi_lu *lu, struct reactor *r)
{
	poke(lu, reactor_index(r));
}

/* Everybody who waits, for whatever. */
static void poke_waiting(struct scsi_lu *lu)
{
	uint64_t who = 0;
	struct list *pos;

	list_for_each (pos, &lu->ranges) {
		const struct lu_range *r = list_entry(pos, struct lu_range, node);

		if (r->kind != RANGE_DETACHED && !r->granted)
			who |= r->unanswered | (uint64_t)1 << r->reactor;
	}
	for (; who; who &= who - 1)
		poke(lu, (unsigned)__builtin_ctzll(who));
}

/* Takes a range off the list; others may go on. */
static void take_off(struct scsi_lu *lu, struct lu_range *range)
{
	list_del(&range->node);
	if (list_empty(&lu->ranges))
		lu_gates_clear(lu, GATE_RANGE);
	else
		poke_waiting(lu);
}

void lu_detach_begin(struct scsi_lu *lu, struct lu_range *range, bool write)
{
	pthread_mutex_lock(&lu->lock);
	lu->n_detached++;
	list_del(&range->node);
	if (write) {
		range->kind = RANGE_DETACHED;
		list_add_tail(&lu->ranges, &range->node);
		lu->n_detached_writes++;
		lu_gates_set(lu, GATE_RANGE);
	} else if (list_empty(&lu->ranges)) {
		lu_gates_clear(lu, GATE_RANGE);
	}
	poke_waiting(lu);
	pthread_mutex_unlock(&lu->lock);
}

void lu_detach_end(struct scsi_lu *lu, struct lu_range *range, bool write)
{
	struct list *n;
	bool idle;

	pthread_mutex_lock(&lu->lock);
	if (write) {
		lu->n_detached_writes--;
		take_off(lu, range);
	}
	while (!lu->n_detached_writes && (n = list_pop(&lu->waiters))) {
		struct lu_waiter *w = list_entry(n, struct lu_waiter, node);

		reactor_send(w->reactor, &w->msg);
	}
	idle = !--lu->n_detached;
	pthread_mutex_unlock(&lu->lock);
	if (idle && lu->idle)
		lu->idle(lu);
}

bool lu_range_busy(struct scsi_lu *lu, uint64_t offset, uint64_t length)
{
	bool busy = false;
	struct list *pos;

	pthread_mutex_lock(&lu->lock);
	list_for_each (pos, &lu->ranges) {
		const struct lu_range *r = list_entry(pos, struct lu_range, node);

		busy |= r->kind == RANGE_DETACHED && overlap(r, offset, length);
	}
	pthread_mutex_unlock(&lu->lock);
	return busy;
}

/* Does range wait for one of those before `end`? Two shared ones never wait for each other. */
static bool held_back(struct scsi_lu *lu, const struct lu_range *range, struct list *end)
{
	struct list *pos;

	for (pos = lu->ranges.next; pos != end; pos = pos->next) {
		const struct lu_range *r = list_entry(pos, struct lu_range, node);

		if (r->kind != RANGE_DETACHED &&
		    (range->kind == RANGE_EXCLUSIVE || r->kind == RANGE_EXCLUSIVE) &&
		    overlap(r, range->offset, range->length))
			return true;
	}
	return false;
}

/* The reactors on which the LU has nexuses; those that come later see the gate from the start. */
static uint64_t reactors_of(struct scsi_lu *lu)
{
	struct list *pos;
	uint64_t set = 0;

	list_for_each (pos, &lu->itls) {
		const struct itl *itl = list_entry(pos, struct itl, lu_node);

		set |= (uint64_t)1 << reactor_index(itl->nexus->reactor);
	}
	return set;
}

bool lu_range_enter(struct scsi_lu *lu, struct lu_range *range)
{
	bool waits = true;

	list_init(&range->wake_node);
	range->granted = false;
	range->unanswered = 0;
	pthread_mutex_lock(&lu->lock);
	if (range->kind == RANGE_EXCLUSIVE) {
		atomic_store(&lu->keeps_memory, true);
		range->unanswered = reactors_of(lu);
		list_add_tail(&lu->ranges, &range->node);
		lu_gates_set(lu, GATE_RANGE);
		poke_waiting(lu);
	} else if (held_back(lu, range, &lu->ranges)) {
		list_add_tail(&lu->ranges, &range->node);
	} else {
		waits = false;
	}
	pthread_mutex_unlock(&lu->lock);
	return waits;
}

void lu_range_leave(struct scsi_lu *lu, struct lu_range *range)
{
	list_del(&range->wake_node);
	pthread_mutex_lock(&lu->lock);
	take_off(lu, range);
	pthread_mutex_unlock(&lu->lock);
}

void lu_range_look(struct scsi_lu *lu, struct reactor *r,
		   bool (*awaited)(struct scsi_lu *, struct reactor *, const struct lu_range *),
		   struct list *granted)
{
	unsigned index = reactor_index(r);
	uint64_t me = (uint64_t)1 << index;
	struct list *pos;

	pthread_mutex_lock(&lu->lock);
	list_for_each (pos, &lu->ranges) {
		struct lu_range *range = list_entry(pos, struct lu_range, node);

		if (range->unanswered & me && !awaited(lu, r, range)) {
			range->unanswered &= ~me;
			if (!range->unanswered && range->reactor != index)
				poke(lu, range->reactor);
		}
		if (range->kind == RANGE_DETACHED || range->reactor != index || range->granted ||
		    range->unanswered || held_back(lu, range, pos))
			continue;
		range->granted = true;
		list_add_tail(granted, &range->wake_node);
	}
	pthread_mutex_unlock(&lu->lock);
}

bool lu_wait_writes(struct scsi_lu *lu, struct lu_waiter *w)
{
	bool wait;

	pthread_mutex_lock(&lu->lock);
	wait = lu->n_detached_writes;
	if (wait)
		list_add_tail(&lu->waiters, &w->node);
	pthread_mutex_unlock(&lu->lock);
	return wait;
}

bool lu_unwait_writes(struct scsi_lu *lu, struct lu_waiter *w)
{
	bool queued;

	pthread_mutex_lock(&lu->lock);
	queued = !list_empty(&w->node);
	list_del(&w->node);
	pthread_mutex_unlock(&lu->lock);
	return queued;
}
