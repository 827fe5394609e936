/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to the ranges of tokens: whoever is about to change bytes of a LU says so here. */
#include "scsi/lu.h"
#include "scsi/nexus.h"
#include "scsi/nexus_internal.h"
#include "scsi/rod.h"

void rod_end(struct rod *r, enum rod_state state)
{
	int valid = ROD_VALID;

	(void)atomic_compare_exchange_strong(&r->state, &valid, state);
}

/* Under lu->lock. */
static void take_off(struct scsi_lu *lu, struct rod *r)
{
	list_del(&r->lu_node);
	if (list_empty(&lu->rods))
		lu_gates_clear(lu, GATE_TOKEN);
}

void rod_watch(struct rod *r)
{
	struct scsi_lu *lu = r->lu;

	pthread_mutex_lock(&lu->lock);
	list_add_tail(&lu->rods, &r->lu_node);
	lu_gates_set(lu, GATE_TOKEN);
	pthread_mutex_unlock(&lu->lock);
}

void rod_unwatch(struct rod *r)
{
	struct scsi_lu *lu = r->lu;

	if (!lu)
		return;
	pthread_mutex_lock(&lu->lock);
	if (!list_empty(&r->lu_node))
		take_off(lu, r);
	pthread_mutex_unlock(&lu->lock);
}

static bool overlaps(const struct rod *r, uint64_t offset, uint64_t length)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct rod_range *own = &r->ranges[i];

		if (own->length && offset < own->offset + own->length &&
		    (offset >= own->offset || own->offset - offset < length))
			return true;
	}
	return false;
}

/* Tokens that have expired go with it, or the gate would stay shut after the last copy. */
void rod_touch(struct scsi_lu *lu, uint64_t offset, uint64_t length, uint64_t now_ms)
{
	struct list *pos, *next;

	pthread_mutex_lock(&lu->lock);
	list_for_each_safe (pos, next, &lu->rods) {
		struct rod *r = list_entry(pos, struct rod, lu_node);

		if (overlaps(r, offset, length))
			rod_end(r, ROD_REVOKED);
		else if (now_ms >= atomic_load(&r->expires_ms))
			rod_end(r, ROD_EXPIRED);
		else
			continue;
		take_off(lu, r);
	}
	pthread_mutex_unlock(&lu->lock);
}

void rod_touch_all(struct scsi_lu *lu)
{
	rod_touch(lu, 0, UINT64_MAX, 0);
}
