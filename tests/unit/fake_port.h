/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port without a transport: it hands over prepared data-out, keeps what comes as data-in and
 * status, and lets a test hold data, buffers and releases back.
 *
 * Threads: the reactor of the nexus. Ownership: fake_task_new allocates, fake_task_free frees a
 * task that has ended in one way or another.
 */
#ifndef HAWSER_TESTS_FAKE_PORT_H
#define HAWSER_TESTS_FAKE_PORT_H

#include "scsi/exec.h"
#include "scsi/nexus.h"
#include "scsi/task.h"

struct fake_task {
	struct scsi_task t;
	uint8_t cdb[32];
	/* what the test wants */
	const uint8_t *out;                  /* data-out; edtl bytes of it */
	bool hold_data;                      /* data_out is not answered: fake_task_deliver does */
	bool hold_finish;                    /* the buffers stay referred to: fake_task_finish */
	bool keep;                           /* release returns false: scsi_released by the test */
	void (*on_end)(struct fake_task *f); /* called within data_in and done */
	/* what happened */
	bool asked;    /* data_out */
	bool ended;    /* data_in or done */
	bool over;     /* nobody refers to it any more */
	bool aborted;  /* port->abort, or fake_task_abort */
	bool detached; /* scsi_abort returned false */
	uint32_t asked_length;
	uint8_t *in; /* data-in, in_length bytes */
	uint32_t in_length;
	uint8_t status;
	struct scsi_sense sense;
	uint64_t data_length;
	unsigned order; /* tasks of the process in the order in which they ended, from 1 */
	unsigned n_ended;
};

/* SIMPLE; R or W and edtl by fake_task_in and fake_task_out. */
struct fake_task *fake_task_new(struct it_nexus *n, uint64_t lun, const uint8_t *cdb,
				uint16_t length);
void fake_task_in(struct fake_task *f, uint32_t edtl);
void fake_task_out(struct fake_task *f, const uint8_t *data, uint32_t edtl);
void fake_task_deliver(struct fake_task *f);
void fake_task_finish(struct fake_task *f);
/* As a session does on ABORT TASK. */
void fake_task_abort(struct fake_task *f);
void fake_task_free(struct fake_task *f);

#endif
