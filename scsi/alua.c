/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/alua.h"

#include "scsi/cdb.h"
#include "scsi/lu.h"
#include "scsi/opcodes.h"
#include "scsi/scsi.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	enum alua_state state;
	const char *name;
} names[] = {
	{ ALUA_ACTIVE_OPTIMIZED, "active-optimized" },
	{ ALUA_ACTIVE_NON_OPTIMIZED, "active-non-optimized" },
	{ ALUA_STANDBY, "standby" },
	{ ALUA_UNAVAILABLE, "unavailable" },
	{ ALUA_OFFLINE, "offline" },
	{ ALUA_TRANSITIONING, "transitioning" },
};

#define NAMES (sizeof(names) / sizeof(names[0]))

const char *alua_state_name(uint8_t state)
{
	for (size_t i = 0; i < NAMES; i++)
		if (names[i].state == state)
			return names[i].name;
	return "unknown";
}

int alua_state_find(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (!strcmp(names[i].name, name))
			return (int)names[i].state;
	return -1;
}

struct alua_table *alua_table_new(unsigned groups, unsigned ports)
{
	struct alua_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->groups = calloc(groups ? groups : 1, sizeof(*t->groups));
	t->ports = calloc(ports ? ports : 1, sizeof(*t->ports));
	if (t->groups && t->ports)
		return t;
	alua_table_free(t);
	return NULL;
}

void alua_table_free(struct alua_table *t)
{
	if (!t)
		return;
	free(t->groups);
	free(t->ports);
	free(t);
}

static const struct alua_group *find_port(const struct alua_table *t, uint16_t relative)
{
	for (unsigned i = 0; t && i < t->n_ports; i++)
		if (t->ports[i].relative == relative)
			return &t->groups[t->ports[i].group];
	return NULL;
}

const struct alua_group *alua_group_find(const struct alua_table *t, uint16_t id)
{
	for (unsigned i = 0; t && t->groups && i < t->n_groups; i++)
		if (t->groups[i].id == id)
			return &t->groups[i];
	return NULL;
}

const struct alua_group *alua_group_of(const struct it_nexus *n)
{
	return find_port(n->alua, n->relative_port);
}

/* The echo buffer and its descriptor (SPC-4 6.20, 6.49). */
static bool uses_echo_buffer(const uint8_t *cdb)
{
	uint8_t mode = cdb[offsetof(struct cdb_buffer, mode)] & 0x1f;

	return mode == 0x0a || (mode == 0x0b && cdb[0] == 0x3c);
}

/*
 * SPC-4 5.15.2.4: standby leaves what manages unit and path, unavailable and transitioning only
 * what tells of them. Offline is taken for unavailable with another name.
 */
bool alua_allows(uint8_t state, const struct scsi_op *op, const uint8_t *cdb)
{
	if (alua_is_active(state))
		return true;
	switch ((enum scsi_path)op->path) {
	case PATH_ANY:
		return true;
	case PATH_SET:
		return state != ALUA_TRANSITIONING;
	case PATH_STANDBY:
		return state == ALUA_STANDBY;
	case PATH_BUFFER:
		return uses_echo_buffer(cdb);
	case PATH_ACTIVE:
		break;
	}
	return false;
}

struct scsi_sense alua_not_ready(uint8_t state)
{
	switch ((enum alua_state)state) {
	case ALUA_STANDBY:
		return sense_make(SENSE_NOT_READY, 0x040b);
	case ALUA_TRANSITIONING:
		return sense_make(SENSE_NOT_READY, 0x040a);
	case ALUA_OFFLINE:
		return sense_make(SENSE_NOT_READY, 0x0412);
	default:
		return sense_make(SENSE_NOT_READY, 0x040c);
	}
}

/* What hosts read in REPORT TARGET PORT GROUPS is another. */
static bool states_differ(const struct alua_table *old, const struct alua_table *t)
{
	bool differ = old->n_groups != t->n_groups;

	for (unsigned i = 0; t->groups && i < t->n_groups && !differ; i++) {
		const struct alua_group *g = &t->groups[i], *was = alua_group_find(old, g->id);

		differ = !was || was->state != g->state || was->preferred != g->preferred;
	}
	return differ;
}

static void set_gate(struct itl *itl, bool active)
{
	if (active)
		atomic_fetch_and(&itl->gate, ~(uint32_t)GATE_PATH);
	else
		atomic_fetch_or(&itl->gate, GATE_PATH);
}

/*
 * SPC-4 5.15.2.7: every nexus is told of a change, but for the one that asked for it. That asked
 * one unit; that its others have changed too is news to it.
 */
static bool is_news(const struct it_nexus *n, const struct itl *itl)
{
	return n->alua->changed_by != n->id || n->alua->changed_lun != itl->lun || !n->id;
}

void nexus_set_alua(struct it_nexus *n, const struct alua_table *t)
{
	const struct alua_table *old = n->alua;
	const struct alua_group *was = alua_group_of(n), *is;
	bool moved, changed;

	n->alua = t;
	is = alua_group_of(n);
	/* A portal that is no more leaves its sessions as they are. */
	if (is || !t)
		n->access_state = is ? is->state : ALUA_ACTIVE_OPTIMIZED;
	/* VPD page 83h names the group, INQUIRY data who changes states. */
	moved = !was != !is || (was && is && was->id != is->id) ||
		(old ? old->tpgs : ALUA_NONE) != (t ? t->tpgs : ALUA_NONE);
	changed = old && t && states_differ(old, t);
	for (unsigned i = 0; i < n->n_itls; i++) {
		struct itl *itl = n->itls[i];

		set_gate(itl, alua_is_active(n->access_state));
		if (moved)
			itl_ua(itl, ASC_INQUIRY_CHANGED);
		if (changed && is_news(n, itl))
			itl_ua(itl, ASC_ACCESS_STATE_CHANGED);
	}
}
