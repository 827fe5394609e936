/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * I_T nexus (one session of one initiator port with one target port) and its I_T_L nexuses, with
 * the gate word: the one thing that an I/O tests before it runs.
 *
 * Threads: a nexus and its itls belong to the session's reactor; gate bits and unit attentions
 * are set from anywhere under lu->lock. Ownership: the session owns the nexus; nexus owns itls.
 */
#ifndef HAWSER_SCSI_NEXUS_H
#define HAWSER_SCSI_NEXUS_H

#include "daemon/base/list.h"
#include "scsi/task.h"

#include <stdatomic.h>

struct alua_table;
struct reactor;
struct scsi_home;
struct scsi_lun_map;

/* Bits of itl->gate; zero: go ahead. */
enum itl_gate {
	GATE_UA = 1 << 0,        /* a unit attention is pending */
	GATE_NO_WRITE = 1 << 1,  /* a reservation forbids writing */
	GATE_NO_READ = 1 << 2,   /* and reading */
	GATE_RANGE = 1 << 3,     /* exclusive ranges or detached writes on the LU: look at them */
	GATE_PATH = 1 << 4,      /* the target port is not active (alua.h) */
	GATE_LEAVING = 1 << 5,   /* the LU is being taken away: 5/25/00 */
	GATE_ORDERED = 1 << 6,   /* ORDERED or HEAD OF QUEUE tasks in the set: order matters */
	GATE_NOT_READY = 1 << 7, /* no store, stopped, or medium out: lu->not_ready says which */
	GATE_RESERVED = 1 << 8,  /* another nexus has the LU by RESERVE(6) or (10) */
	GATE_TOKEN = 1 << 16,    /* there are ROD tokens of the LU: a write may revoke them */
};

#define SCSI_PORT_NAME 264 /* bytes of a port's name, with its end */

#define ITL_UA_MAX      8
#define ECHO_MAX        4096 /* bytes of the echo buffer (WRITE BUFFER) */
#define NEXUS_BY_LUN    256
#define NEXUS_MAX_TASKS 128 /* unless the port says otherwise */

struct itl {
	_Atomic uint32_t gate;
	struct scsi_lu *lu;
	struct it_nexus *nexus;
	uint64_t lun;
	bool read_only;              /* by this nexus' LUN map */
	bool prevent;                /* PREVENT ALLOW MEDIUM REMOVAL in force; under lu->lock */
	bool preempted;              /* PREEMPT AND ABORT: its tasks go; under lu->lock */
	unsigned ntasks;             /* in the task set (TST=001b: a set for each nexus) */
	unsigned n_ordered;          /* of them ORDERED or HEAD OF QUEUE */
	unsigned n_own;              /* of them by scsi_submit_own */
	struct list tasks;           /* scsi_task.node, in order of arrival */
	struct list blocked;         /* scsi_task.wait_node: behind an ORDERED task */
	struct backing_queue *queue; /* of lu on this reactor; NULL: no store */
	uint8_t *echo;               /* ECHO_MAX bytes, from the first WRITE BUFFER on */
	uint16_t echo_length;
	struct list copies;      /* copy_entry.node */
	struct list lu_node;     /* lu->itls, under lu->lock */
	struct list walk_node;   /* a walk of tmf.c over the itls of one reactor */
	struct list settle_node; /* home->settle: blocked tasks to look at, or to be freed */
	struct list leave_node;  /* nexus->leaving */
	uint16_t ua[ITL_UA_MAX]; /* pending ASC/ASCQ in order, under lu->lock */
	unsigned n_ua;
};

/* What a nexus knows of its surroundings. Its reactor. */
struct nexus_neighbours {
	/* The target ports of its SCSI device, itself included: identifier and name of number i;
	 * false: there are no more. */
	bool (*target_port)(struct it_nexus *n, unsigned i, uint16_t *ret_relative,
			    char ret_name[static SCSI_PORT_NAME]);
	/* May an initiator of this name log in to the target at all? */
	bool (*admits)(struct it_nexus *n, const char *initiator);
	/* A task management function of another nexus is about to abort the tasks of this one of
	 * its itls: the port may end some itself, and tell its initiator. Optional. */
	void (*will_abort)(struct itl *itl);
};

struct it_nexus {
	uint64_t id; /* never used twice; 0: has none */
	struct reactor *reactor;
	struct scsi_home *home;              /* of reactor, see home.h */
	char initiator_port[SCSI_PORT_NAME]; /* "name,i,0xISID" as SPC-4 writes it */
	char target_port[SCSI_PORT_NAME];    /* "name,t,0xTPGT" */
	uint64_t port_hash;                  /* of both names; nexus_init */
	uint16_t relative_port;              /* relative target port identifier */
	uint16_t transport_version;          /* version descriptor of the transport, for INQUIRY */
	uint8_t access_state;                /* of the target port, enum alua_state */
	const struct alua_table *alua;       /* NULL: no target port groups; nexus_set_alua */
	bool has_queries;   /* its transport carries QUERY TASK and the rest of SAM-5's later
			       functions */
	bool stable_data;   /* data being moved must not change: no mapped transfers (digests) */
	unsigned max_tasks; /* per itl; beyond: TASK SET FULL */
	/* The port's answers to PERSISTENT RESERVE OUT; NULL: there is no other port, and every
	 * initiator may come. */
	const struct nexus_neighbours *neighbours;
	const struct scsi_lun_map *map;
	unsigned n_itls; /* sorted by LUN */
	struct itl **itls;
	struct itl **by_lun; /* for LUN < 256, else look in itls; NULL: not mapped */
	struct list leaving; /* leave_node of itls whose LUN is gone while tasks still run */
	struct list copies;  /* scsi_copy.node: under way on its behalf */
};

/* Fills a zeroed nexus and its itls from a LUN map (referenced); UA 29/01 power on or 29/07 as
 * told. Returns 0 or -ENOMEM. Reactor thread. */
int nexus_init(struct it_nexus *n, struct reactor *r, const struct scsi_lun_map *map,
	       uint16_t first_ua);

/* Aborts every task (scsi_abort; ports' rule there), leaves the LUs. "nexus loss": reservations of
 * RESERVE(6) and PREVENT end. */
void nexus_destroy(struct it_nexus *n);

/* The map has changed: itls come and go; a change sets UA 3F/0E on the others. */
int nexus_remap(struct it_nexus *n, const struct scsi_lun_map *map);

struct itl *nexus_find_high(const struct it_nexus *n, uint64_t lun);         /* LUN >= 256 */
static inline struct itl *nexus_find(const struct it_nexus *n, uint64_t lun) /* NULL: not mapped */
{
	return lun < NEXUS_BY_LUN ? n->by_lun[lun] : nexus_find_high(n, lun);
}

/* Aborts every task of the itl (port->abort). One whose data or status has been handed to the port
 * has ended as far as task management goes: it is left alone unless all is asked for. Its
 * reactor. */
void itl_abort_tasks(struct itl *itl, bool all);
/* Calls each for the itls of an LU that live on this reactor; each may end some of them. Not within
 * another such walk. Its reactor. */
void lu_each_itl_here(struct scsi_lu *lu, struct reactor *r,
		      void (*each)(struct itl *itl, void *arg), void *arg);
/* PREVENT ALLOW MEDIUM REMOVAL. Its reactor. */
void itl_set_prevent(struct itl *itl, bool prevent);
/* Opens the queue of an LU that had no store when the nexus came. NULL: still none. */
struct backing_queue *itl_open_queue(struct itl *itl);

/* Decodes 8 bytes (SAM-5 4.6): peripheral and flat addressing; SCSI_LUN_INVALID otherwise. */
uint64_t scsi_lun_decode(const uint8_t lun[static 8]);
void scsi_lun_encode(uint64_t lun, uint8_t out[static 8]);

/* Under no lock; takes lu->lock. except may be NULL. */
void lu_ua_all(struct scsi_lu *lu, uint16_t asc_ascq, const struct it_nexus *except);
void itl_ua(struct itl *itl, uint16_t asc_ascq);
/* Drops one unit attention from all itls of a nexus: REPORT LUNS answers 3F/0E. */
void nexus_ua_clear(struct it_nexus *n, uint16_t asc_ascq);
/* The unit attention that would be taken next, left where it is; how many are pending. */
unsigned itl_ua_peek(struct itl *itl, uint16_t *ret_asc_ascq);
/* Takes the oldest pending unit attention; false if there is none. */
bool itl_ua_take(struct itl *itl, uint16_t *ret_asc_ascq);

#endif
