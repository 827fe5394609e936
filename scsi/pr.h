/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reservations (SPC-4 5.13, and RESERVE and RELEASE of SPC-2): who is registered with an LU, who
 * holds it, and what that forbids to each I_T nexus. The rules are compiled into gate bits when
 * something changes; an I/O only loads its gate word.
 *
 * What is registered at one moment is an immutable table, shared by reference. A command that
 * changes it decides on a copy (pr_out.c), has the copy kept on disk where APTPL asks for it, puts
 * it in the place of the old one and waits until every reactor obeys it (pr_run.c, pr_fence.c).
 * Such commands come one after another for each LU.
 *
 * Registrations belong to the names of ports, not to sessions: they outlive these.
 *
 * Threads: lu->pr is under lu->lock; tables are read anywhere by who holds a reference.
 * Ownership: the LU holds a reference on its table.
 */
#ifndef HAWSER_SCSI_PR_H
#define HAWSER_SCSI_PR_H

#include "daemon/base/reactor.h"
#include "scsi/nexus.h"

#define PR_REGISTRATIONS_MAX 1024u /* of an LU; one more: 5/55/04 */

enum pr_type {
	PR_NONE,
	PR_WRITE_EXCLUSIVE = 1,
	PR_EXCLUSIVE_ACCESS = 3,
	PR_WRITE_EXCLUSIVE_RO = 5, /* registrants only */
	PR_EXCLUSIVE_ACCESS_RO = 6,
	PR_WRITE_EXCLUSIVE_AR = 7, /* all registrants */
	PR_EXCLUSIVE_ACCESS_AR = 8,
};

/* An I_T nexus by name. */
struct pr_nexus {
	char initiator[SCSI_PORT_NAME]; /* "name,i,0xISID" */
	char target[SCSI_PORT_NAME];    /* "name,t,0xTAG" */
	uint64_t hash;                  /* of both */
	uint16_t relative_port;
};

struct pr_registration {
	struct pr_nexus nexus;
	uint64_t key;
};

struct pr_table {
	_Atomic unsigned refs;
	uint32_t generation; /* PRGENERATION */
	uint8_t type;        /* enum pr_type; PR_NONE: not reserved */
	bool aptpl;          /* kept over a loss of power */
	unsigned holder;     /* index; without meaning where all registrants hold */
	unsigned n;
	struct pr_registration regs[];
};

bool pr_type_valid(uint8_t type);
static inline bool pr_all_registrants(uint8_t type)
{
	return type == PR_WRITE_EXCLUSIVE_AR || type == PR_EXCLUSIVE_ACCESS_AR;
}
static inline bool pr_registrants(uint8_t type) /* those registered are not restricted */
{
	return type >= PR_WRITE_EXCLUSIVE_RO;
}

uint64_t pr_hash(const char *initiator, const char *target);
/* Fills hash. False: a name is too long. */
bool pr_nexus_set(struct pr_nexus *to, const char *initiator, const char *target,
		  uint16_t relative_port);
bool pr_nexus_same(const struct pr_nexus *a, const struct pr_nexus *b);

/* A copy with room for more registrations and one reference; from may be NULL. NULL: no memory. */
struct pr_table *pr_table_copy(const struct pr_table *from, unsigned room);
void pr_table_put(const struct pr_table *t); /* NULL allowed */
/* Index, or -1. t may be NULL. */
int pr_find(const struct pr_table *t, const struct pr_nexus *n);
bool pr_is_holder(const struct pr_table *t, int index);
/* Keeps holder right; the reservation of a holder that goes is the caller's business. */
void pr_remove(struct pr_table *t, unsigned index);

/* The table with a reference, NULL: nobody has ever registered. Any thread. */
const struct pr_table *lu_pr_get(struct scsi_lu *lu);
/* The initiator port that has the LU by RESERVE(6) or (10); false: none has. Any thread. */
bool lu_reserved6(struct scsi_lu *lu, char ret_initiator[static SCSI_PORT_NAME]);
/* The unit has become another object, or comes back after a restart: it has this table from now
 * on (the reference is taken over). Before any nexus has come. */
void lu_pr_restore(struct scsi_lu *lu, const struct pr_table *t);

/* Under lu->lock: gate bits of one itl as they should be; and all itls set to that. The second says
 * whether something is forbidden now that was not. */
uint32_t lu_pr_gate(const struct scsi_lu *lu, const struct itl *itl);
bool lu_pr_set_gates(struct scsi_lu *lu);
/* Under lu->lock. */
int lu_pr_find(const struct pr_table *t, const struct itl *itl);

/* Ends a reservation made by RESERVE(6) or (10): a reset of the LU, or (itl not NULL) the loss of
 * the nexus that holds it. Takes lu->lock. */
void lu_release6(struct scsi_lu *lu, const struct itl *itl);

/* Keeping a table on disk. Set once, before the first session; without it APTPL is not offered. */
struct pr_keep {
	struct scsi_lu *lu;           /* known by its NAA identifier */
	const struct pr_table *table; /* NULL: to be forgotten */
	struct reactor *reactor;
	int result;                      /* 0 or a negative errno: as it was before */
	void (*done)(struct pr_keep *k); /* on reactor */
	struct reactor_msg msg;
	void *priv; /* the keeper's own */
};
void scsi_set_pr_keeper(void (*keep)(struct pr_keep *k, void *arg), void *arg);
bool pr_can_keep(void);

/* The unit becomes another object (its settings have changed): the registrations go to it, and
 * commands for the old one that would change them get BUSY from now on. done as below. */
int lu_pr_hand_over(struct scsi_lu *from, struct scsi_lu *to, struct reactor *reactor,
		    void (*done)(void *arg, int result), void *arg);

/* The administrator's CLEAR, which also ends RESERVE(6). done runs on reactor; result 0 or a
 * negative errno. -ENOMEM: not begun. */
int lu_pr_clear(struct scsi_lu *lu, struct reactor *reactor, void (*done)(void *arg, int result),
		void *arg);

#endif
