/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit attentions (SAM-5 5.14): a short queue for each I_T_L nexus, under lu->lock, announced by
 * GATE_UA. Resets come first and in their order of precedence; the queue cannot lose an event: when
 * it is full, "power on, reset, or bus device reset occurred" stands for all of them.
 */
#include "scsi/lu.h"
#include "scsi/nexus.h"
#include "scsi/nexus_internal.h"
#include "scsi/scsi.h"

#include <string.h>

/* Precedence of the 29h family; lower goes first. Everything else: 0xff. */
static unsigned rank(uint16_t code)
{
	static const uint16_t order[] = { ASC_RESET,     ASC_POWER_ON,     ASC_INTERNAL_RESET,
					  ASC_BUS_RESET, ASC_DEVICE_RESET, ASC_NEXUS_LOSS };

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i] == code)
			return i;
	return 0xff;
}

static void insert_first(struct itl *itl, uint16_t code)
{
	memmove(&itl->ua[1], &itl->ua[0], itl->n_ua * sizeof(itl->ua[0]));
	itl->ua[0] = code;
	itl->n_ua++;
}

/* A reset: at most one of the family is pending, the highest; power on covers all that is older. */
static void add_reset(struct itl *itl, uint16_t code)
{
	if (itl->n_ua && rank(itl->ua[0]) <= rank(code))
		return;
	if (itl->n_ua && rank(itl->ua[0]) != 0xff)
		memmove(&itl->ua[0], &itl->ua[1], --itl->n_ua * sizeof(itl->ua[0]));
	if (code == ASC_RESET || code == ASC_POWER_ON)
		itl->n_ua = 0;
	if (itl->n_ua == ITL_UA_MAX) {
		itl->n_ua = 0;
		code = ASC_RESET;
	}
	insert_first(itl, code);
}

void itl_ua_locked(struct itl *itl, uint16_t code)
{
	for (unsigned i = 0; i < itl->n_ua; i++)
		if (itl->ua[i] == code)
			return;
	if (rank(code) != 0xff)
		add_reset(itl, code);
	else if (itl->n_ua < ITL_UA_MAX)
		itl->ua[itl->n_ua++] = code;
	else
		add_reset(itl, ASC_RESET);
	atomic_fetch_or(&itl->gate, GATE_UA);
}

void itl_ua(struct itl *itl, uint16_t asc_ascq)
{
	pthread_mutex_lock(&itl->lu->lock);
	itl_ua_locked(itl, asc_ascq);
	pthread_mutex_unlock(&itl->lu->lock);
}

void lu_ua_all(struct scsi_lu *lu, uint16_t asc_ascq, const struct it_nexus *except)
{
	struct list *pos;

	pthread_mutex_lock(&lu->lock);
	list_for_each (pos, &lu->itls) {
		struct itl *itl = list_entry(pos, struct itl, lu_node);

		if (itl->nexus != except)
			itl_ua_locked(itl, asc_ascq);
	}
	pthread_mutex_unlock(&lu->lock);
}

static void remove_locked(struct itl *itl, unsigned at)
{
	itl->n_ua--;
	memmove(&itl->ua[at], &itl->ua[at + 1], (itl->n_ua - at) * sizeof(itl->ua[0]));
	if (!itl->n_ua)
		atomic_fetch_and(&itl->gate, ~(uint32_t)GATE_UA);
}

bool itl_ua_take(struct itl *itl, uint16_t *ret_asc_ascq)
{
	bool found;

	pthread_mutex_lock(&itl->lu->lock);
	found = itl->n_ua;
	if (found) {
		*ret_asc_ascq = itl->ua[0];
		remove_locked(itl, 0);
	}
	pthread_mutex_unlock(&itl->lu->lock);
	return found;
}

unsigned itl_ua_peek(struct itl *itl, uint16_t *ret_asc_ascq)
{
	unsigned n;

	pthread_mutex_lock(&itl->lu->lock);
	n = itl->n_ua;
	if (n)
		*ret_asc_ascq = itl->ua[0];
	pthread_mutex_unlock(&itl->lu->lock);
	return n;
}

void nexus_ua_clear(struct it_nexus *n, uint16_t asc_ascq)
{
	for (unsigned i = 0; i < n->n_itls; i++) {
		struct itl *itl = n->itls[i];

		if (!(atomic_load_explicit(&itl->gate, memory_order_relaxed) & GATE_UA))
			continue;
		pthread_mutex_lock(&itl->lu->lock);
		for (unsigned u = 0; u < itl->n_ua; u++)
			if (itl->ua[u] == asc_ascq)
				remove_locked(itl, u);
		pthread_mutex_unlock(&itl->lu->lock);
	}
}
