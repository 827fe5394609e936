/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asymmetric logical unit access (SPC-4 5.15): the target ports of a SCSI device fall into target
 * port groups, each in one access state, which says what a nexus through such a port may do. A
 * state belongs to the device, so it is the same for all of its LUs.
 *
 * All that is known of a device's groups is an immutable table. Its owner gives each nexus another
 * one when something has changed; the nexus then sets the gates of its itls and tells the
 * initiator.
 *
 * Threads: tables are immutable; the rest belongs to the nexus' reactor. Ownership: a table belongs
 * to whoever made it and outlives its use by a nexus.
 */
#ifndef HAWSER_SCSI_ALUA_H
#define HAWSER_SCSI_ALUA_H

#include "daemon/base/reactor.h"
#include "scsi/nexus.h"
#include "scsi/sense.h"

struct scsi_op;

/* As REPORT TARGET PORT GROUPS writes them (SPC-4 6.37). */
enum alua_state {
	ALUA_ACTIVE_OPTIMIZED = 0x0,
	ALUA_ACTIVE_NON_OPTIMIZED = 0x1,
	ALUA_STANDBY = 0x2,
	ALUA_UNAVAILABLE = 0x3,
	ALUA_OFFLINE = 0xe,
	ALUA_TRANSITIONING = 0xf,
};

/* Who changes states: the value of TPGS in INQUIRY data, and its bits. */
enum alua_tpgs {
	ALUA_NONE = 0,     /* there are no groups to be seen */
	ALUA_IMPLICIT = 1, /* the administrator */
	ALUA_EXPLICIT = 2, /* initiators, by SET TARGET PORT GROUPS */
};

/* What made the last change: STATUS CODE of REPORT TARGET PORT GROUPS. */
enum alua_status { ALUA_AS_CONFIGURED, ALUA_BY_INITIATOR, ALUA_BY_ADMINISTRATOR };

struct alua_group {
	uint16_t id;
	uint8_t state;  /* enum alua_state */
	uint8_t status; /* enum alua_status */
	bool preferred;
};

struct alua_port {
	uint16_t relative; /* relative target port identifier */
	uint16_t group;    /* index */
};

#define ALUA_PORTS_MAX 255u /* of a group: TARGET PORT COUNT is one byte */

struct alua_table {
	uint8_t tpgs; /* enum alua_tpgs */
	/* The I_T_L nexus whose SET TARGET PORT GROUPS has led to this table: it is not told of
	 * what it did. nexus 0: none has. */
	uint64_t changed_by, changed_lun;
	unsigned n_groups, n_ports;
	struct alua_group *groups; /* each with a port */
	struct alua_port *ports;
};

/* With room for as many, zeroed, and the counts zero. NULL: no memory. */
struct alua_table *alua_table_new(unsigned groups, unsigned ports);
void alua_table_free(struct alua_table *t); /* NULL allowed */

/* "active-optimized", as settings name it. */
const char *alua_state_name(uint8_t state);
/* -1: there is no such state. */
int alua_state_find(const char *name);

/* NULL: no such group, or (t NULL) none at all. */
const struct alua_group *alua_group_find(const struct alua_table *t, uint16_t id);
/* How the nexus' target port stands. NULL: its device has no groups, or the port is in none. */
const struct alua_group *alua_group_of(const struct it_nexus *n);
/* May any command come this way? */
static inline bool alua_is_active(uint8_t state)
{
	return state == ALUA_ACTIVE_OPTIMIZED || state == ALUA_ACTIVE_NON_OPTIMIZED;
}
/* May this one, in this state of the port (scsi_op.path)? */
bool alua_allows(uint8_t state, const struct scsi_op *op, const uint8_t *cdb);
/* Why a command may not. */
struct scsi_sense alua_not_ready(uint8_t state);

/* The nexus has this table from now on (NULL: none): gates, unit attentions for what has changed.
 * The old table is not used after this. Also before nexus_init. */
void nexus_set_alua(struct it_nexus *n, const struct alua_table *t);

/* What SET TARGET PORT GROUPS asks of those who keep the states. */
struct alua_change {
	uint64_t nexus, lun; /* who asks */
	char initiator_port[SCSI_PORT_NAME];
	char target_port[SCSI_PORT_NAME]; /* "name,t,0xTAG": of the device that is meant */
	unsigned n;
	struct alua_group *groups; /* id and state count */
	struct reactor *reactor;
	int result;                          /* 0, -EBUSY (not now) or another negative errno */
	void (*done)(struct alua_change *c); /* on reactor */
	struct reactor_msg msg;
	void *priv; /* the keeper's own */
};
/* Set once, before the first session. Done follows when every nexus of the device has the new
 * states, or nothing has changed. */
void scsi_set_alua_keeper(void (*change)(struct alua_change *c, void *arg), void *arg);

#endif
