/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of registrations, and the gate bits that follow from them (SPC-4 5.13, table 47). */
#include "scsi/lu.h"
#include "scsi/pr.h"

#include <stdlib.h>
#include <string.h>

bool pr_type_valid(uint8_t type)
{
	switch (type) {
	case PR_WRITE_EXCLUSIVE:
	case PR_EXCLUSIVE_ACCESS:
	case PR_WRITE_EXCLUSIVE_RO:
	case PR_EXCLUSIVE_ACCESS_RO:
	case PR_WRITE_EXCLUSIVE_AR:
	case PR_EXCLUSIVE_ACCESS_AR:
		return true;
	default: /* 00h, and the obsolete ones of SPC-2 */
		return false;
	}
}

/* FNV-1a; only for speed, names are compared when it matches. */
static uint64_t hash_text(uint64_t h, const char *s)
{
	do {
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	} while (*s++);
	return h;
}

uint64_t pr_hash(const char *initiator, const char *target)
{
	return hash_text(hash_text(0xcbf29ce484222325u, initiator), target);
}

bool pr_nexus_set(struct pr_nexus *to, const char *initiator, const char *target,
		  uint16_t relative_port)
{
	size_t i = strlen(initiator) + 1, t = strlen(target) + 1;

	if (i > sizeof(to->initiator) || t > sizeof(to->target))
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to->initiator, initiator, i);
	memcpy(to->target, target, t);
	to->hash = pr_hash(initiator, target);
	to->relative_port = relative_port;
	return true;
}

bool pr_nexus_same(const struct pr_nexus *a, const struct pr_nexus *b)
{
	return a->hash == b->hash && !strcmp(a->initiator, b->initiator) &&
	       !strcmp(a->target, b->target);
}

struct pr_table *pr_table_copy(const struct pr_table *from, unsigned room)
{
	unsigned n = from ? from->n : 0;
	struct pr_table *t = calloc(1, sizeof(*t) + ((size_t)n + room) * sizeof(t->regs[0]));

	if (!t)
		return NULL;
	if (from) {
		t->generation = from->generation;
		t->type = from->type;
		t->aptpl = from->aptpl;
		t->holder = from->holder;
		t->n = n;
		memcpy(t->regs, from->regs, n * sizeof(t->regs[0]));
	}
	atomic_init(&t->refs, 1);
	return t;
}

/* A table is immutable but for its count. */
static struct pr_table *writable(const struct pr_table *t)
{
	union {
		const struct pr_table *in;
		struct pr_table *out;
	} u = { .in = t };

	return u.out;
}

void pr_table_put(const struct pr_table *t)
{
	if (t && atomic_fetch_sub(&writable(t)->refs, 1) == 1)
		free(writable(t));
}

int pr_find(const struct pr_table *t, const struct pr_nexus *n)
{
	for (unsigned i = 0; t && i < t->n; i++)
		if (pr_nexus_same(&t->regs[i].nexus, n))
			return (int)i;
	return -1;
}

int lu_pr_find(const struct pr_table *t, const struct itl *itl)
{
	const struct it_nexus *n = itl->nexus;

	for (unsigned i = 0; t && i < t->n; i++) {
		const struct pr_nexus *r = &t->regs[i].nexus;

		if (r->hash == n->port_hash && !strcmp(r->initiator, n->initiator_port) &&
		    !strcmp(r->target, n->target_port))
			return (int)i;
	}
	return -1;
}

bool pr_is_holder(const struct pr_table *t, int index)
{
	if (!t || t->type == PR_NONE || index < 0)
		return false;
	return pr_all_registrants(t->type) || t->holder == (unsigned)index;
}

void pr_remove(struct pr_table *t, unsigned index)
{
	t->n--;
	memmove(&t->regs[index], &t->regs[index + 1], (t->n - index) * sizeof(t->regs[0]));
	if (t->holder > index)
		t->holder--;
}

const struct pr_table *lu_pr_get(struct scsi_lu *lu)
{
	const struct pr_table *t;

	pthread_mutex_lock(&lu->lock);
	t = lu->pr.table;
	if (t)
		atomic_fetch_add(&writable(t)->refs, 1);
	pthread_mutex_unlock(&lu->lock);
	return t;
}

bool lu_reserved6(struct scsi_lu *lu, char ret_initiator[static SCSI_PORT_NAME])
{
	bool reserved;

	pthread_mutex_lock(&lu->lock);
	reserved = lu->pr.reserved_by;
	if (reserved)
		memcpy(ret_initiator, lu->pr.reserved_by->nexus->initiator_port, SCSI_PORT_NAME);
	pthread_mutex_unlock(&lu->lock);
	return reserved;
}

void lu_pr_restore(struct scsi_lu *lu, const struct pr_table *t)
{
	const struct pr_table *old;

	pthread_mutex_lock(&lu->lock);
	old = lu->pr.table;
	lu->pr.table = t;
	(void)lu_pr_set_gates(lu);
	pthread_mutex_unlock(&lu->lock);
	pr_table_put(old);
}

static uint32_t gate_of_type(const struct pr_table *t, int index)
{
	if (!t || t->type == PR_NONE || pr_is_holder(t, index) ||
	    (pr_registrants(t->type) && index >= 0))
		return 0;
	switch (t->type) {
	case PR_EXCLUSIVE_ACCESS:
	case PR_EXCLUSIVE_ACCESS_RO:
	case PR_EXCLUSIVE_ACCESS_AR:
		return GATE_NO_WRITE | GATE_NO_READ;
	default:
		return GATE_NO_WRITE;
	}
}

uint32_t lu_pr_gate(const struct scsi_lu *lu, const struct itl *itl)
{
	const struct pr_table *t = lu->pr.table;
	uint32_t gate = 0;

	if (t && t->type != PR_NONE)
		gate = gate_of_type(t, lu_pr_find(t, itl));
	if (lu->pr.reserved_by && lu->pr.reserved_by != itl)
		gate |= GATE_RESERVED;
	return gate;
}

bool lu_pr_set_gates(struct scsi_lu *lu)
{
	const uint32_t all = GATE_NO_WRITE | GATE_NO_READ | GATE_RESERVED;
	bool restricts = false;
	struct list *pos;

	list_for_each (pos, &lu->itls) {
		struct itl *itl = list_entry(pos, struct itl, lu_node);
		uint32_t want = lu_pr_gate(lu, itl), have = atomic_load(&itl->gate) & all;

		if (want & ~have)
			atomic_fetch_or(&itl->gate, want);
		if (have & ~want)
			atomic_fetch_and(&itl->gate, ~(have & ~want));
		restricts |= want & ~have;
	}
	return restricts;
}

void lu_release6(struct scsi_lu *lu, const struct itl *itl)
{
	pthread_mutex_lock(&lu->lock);
	if (lu->pr.reserved_by && (!itl || lu->pr.reserved_by == itl)) {
		lu->pr.reserved_by = NULL;
		(void)lu_pr_set_gates(lu);
	}
	pthread_mutex_unlock(&lu->lock);
}
