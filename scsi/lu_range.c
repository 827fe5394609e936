/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detached tasks and what their writes may still change. While a detached write exists, every
 * overlapping command of any nexus gets BUSY, so that a write that hung in the store can never
 * overwrite its own retry.
 */
#include "scsi/lu.h"
#include "scsi/nexus.h"

static void gates_set(struct scsi_lu *lu, uint32_t bit)
{
	struct list *pos;

	list_for_each (pos, &lu->itls)
		atomic_fetch_or(&list_entry(pos, struct itl, lu_node)->gate, bit);
}

static void gates_clear(struct scsi_lu *lu, uint32_t bit)
{
	struct list *pos;

	list_for_each (pos, &lu->itls)
		atomic_fetch_and(&list_entry(pos, struct itl, lu_node)->gate, ~bit);
}

void lu_detach_begin(struct scsi_lu *lu, struct lu_range *range, bool write)
{
	pthread_mutex_lock(&lu->lock);
	lu->n_detached++;
	if (write) {
		range->detached = true;
		list_add_tail(&lu->ranges, &range->node);
		lu->n_detached_writes++;
		gates_set(lu, GATE_RANGE);
	}
	pthread_mutex_unlock(&lu->lock);
}

void lu_detach_end(struct scsi_lu *lu, struct lu_range *range, bool write)
{
	struct list *n;
	bool idle;

	pthread_mutex_lock(&lu->lock);
	if (write) {
		list_del(&range->node);
		lu->n_detached_writes--;
		if (list_empty(&lu->ranges))
			gates_clear(lu, GATE_RANGE);
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
	struct list *pos;
	bool busy = false;

	pthread_mutex_lock(&lu->lock);
	list_for_each (pos, &lu->ranges) {
		const struct lu_range *r = list_entry(pos, struct lu_range, node);

		if (r->detached && offset < r->offset + r->length && r->offset < offset + length)
			busy = true;
	}
	pthread_mutex_unlock(&lu->lock);
	return busy;
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
