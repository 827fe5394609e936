/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Target port groups of the daemon's targets: what hawser.conf says of them, with what was changed
 * at run time over it. Changes come from the administrator (admin/alua.c) and from initiators, by
 * SET TARGET PORT GROUPS (alua.c); both are kept in the state and published as any other change.
 *
 * Threads: the control reactor. Ownership: nothing is handed over.
 */
#ifndef HAWSER_DAEMON_ALUA_H
#define HAWSER_DAEMON_ALUA_H

#include "config/config.h"
#include "scsi/alua.h"

struct daemon;
struct state;
struct state_change;

/* Before the first session: SET TARGET PORT GROUPS is carried out from now on. */
void alua_start(struct daemon *d);

/* apply_alua.c */
/* The groups of a target: those that it names, or the one that stands for all. At least one. */
unsigned alua_groups(const struct config_target *t, const struct config_port_group **ret);
/* NULL: it has no such group. */
const struct config_port_group *alua_find(const struct config_target *t, uint16_t id);
/* The one that has this portal group. */
const struct config_port_group *alua_of_portal_group(const struct config_target *t, uint16_t group);
/* Who sets states: enum alua_tpgs. */
unsigned alua_tpgs_of(const struct config_target *t);
/* A group with what the state, and before it a change (may be NULL), says of it. */
struct alua_group alua_in_force(const struct state *s, const struct state_change *ch,
				const char *target, const struct config_port_group *g);
/* Into the change: a group that the target has shall be like this. 0 or -ENOMEM. */
int alua_put(struct state_change *ch, const struct config_target *t, const struct alua_group *want);

#endif
