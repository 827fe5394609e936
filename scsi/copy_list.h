/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copy operations of an I_T_L nexus, by the list identifier that the host gave them (SPC-4 5.17.4):
 * those under way, and what has become of the last ones, for RECEIVE ROD TOKEN INFORMATION and its
 * relatives. Commands of every kind share the identifiers.
 *
 * What has ended is kept until its identifier is used anew, COPY_LIST_HELD others have ended since,
 * or the nexus goes.
 *
 * Threads: the reactor of the nexus. Ownership: the I_T_L nexus owns the entries. Who has begun an
 * operation may use its entry until it has called copy_list_end, or its cancel has been called.
 */
#ifndef HAWSER_SCSI_COPY_LIST_H
#define HAWSER_SCSI_COPY_LIST_H

#include "daemon/base/list.h"
#include "scsi/opcodes.h"
#include "scsi/rod.h"

struct scsi_home;

#define COPY_LIST_RUNNING 128u /* operations under way */
#define COPY_LIST_HELD    64u

/* COPY OPERATION STATUS (SPC-4 table 275). */
enum copy_status {
	COPY_DONE = 0x01,
	COPY_ERROR = 0x02,
	COPY_DONE_RESIDUAL = 0x04, /* what has been done is good, but it is not all of it */
	COPY_FOREGROUND = 0x11,    /* under way */
	COPY_BACKGROUND = 0x12,
	COPY_TERMINATED = 0x60,
};

static inline bool copy_status_running(enum copy_status s)
{
	return s == COPY_FOREGROUND || s == COPY_BACKGROUND;
}

struct copy_entry {
	struct list node; /* itl->copies, in order of beginning, then of end */
	uint32_t id;
	uint8_t action;          /* service action of THIRD-PARTY COPY OUT that began it */
	uint8_t status;          /* enum copy_status */
	uint8_t completion;      /* enum scsi_status it ended with */
	struct scsi_sense sense; /* with CHECK CONDITION */
	uint64_t blocks;         /* TRANSFER COUNT */
	uint16_t segments;       /* processed */
	uint16_t moves;          /* OPERATION COUNTER */
	bool has_token;
	uint8_t token[ROD_TOKEN_SIZE];
	/* The I_T_L nexus goes while the operation is under way. No done of it is called any more;
	 * the entry goes as well. */
	void (*cancel)(struct copy_entry *e);
	void *op; /* whose entry it is */
};

/* Enters an operation. NULL: *ret says why not (5/00/16: the identifier is in use by one that is
 * under way; 5/55/03: too many). */
struct copy_entry *copy_list_begin(struct itl *itl, uint32_t id, uint8_t action,
				   struct scsi_sense *ret);
/* It has ended, the way its fields say. */
void copy_list_end(struct itl *itl, struct copy_entry *e, enum copy_status status);
/* NULL: no such identifier. */
struct copy_entry *copy_list_find(const struct itl *itl, uint32_t id);
/* All of them: the I_T_L nexus goes. */
void copy_list_free(struct itl *itl);

/* The parameter data that RECEIVE COPY STATUS (LID4) and RECEIVE ROD TOKEN INFORMATION begin with
 * (SPC-4 6.24, 6.28), sense data included; AVAILABLE DATA stands for more bytes behind it. The
 * length, at most COPY_LIST_STATUS_MAX. */
#define COPY_LIST_STATUS_MAX 128u
size_t copy_list_put_status(const struct copy_entry *e, size_t more, uint8_t *out);

#endif
