/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the executor: exec.c (gate, plan, data), exec_order.c (task set),
 * exec_io.c (buffers and store), exec_abort.c (stop and detach), compound*.c.
 *
 * Threads: the session's reactor. Ownership: a function that ends a task has handed it to the port;
 * its memory may be gone when the function returns.
 */
#ifndef HAWSER_SCSI_EXEC_INTERNAL_H
#define HAWSER_SCSI_EXEC_INTERNAL_H

#include "daemon/base/stats.h"
#include "scsi/exec.h"
#include "scsi/home.h"
#include "scsi/nexus.h"
#include "scsi/opcodes.h"

#define exec_unlikely(x) __builtin_expect(!!(x), 0)

/* Ends: the status goes out, alone or behind data. */
void exec_status(struct scsi_task *t, enum scsi_status status);
void exec_fail(struct scsi_task *t, struct scsi_sense sense);
void exec_send(struct scsi_task *t);   /* t->buf[0..data_in_length) and t->status */
void exec_answer(struct scsi_task *t); /* PLAN_ANSWER: the bytes are in home->answer */

/* Ends with the sense of a failed I/O; the first byte of it goes into INFORMATION. */
void exec_io_failed(struct scsi_task *t, const struct backing_io *io);

/* The beginning (exec.c): a clean task; what a plan may look at; does a gate, the state of the
 * medium forbid it? False: the task has ended. */
void exec_begin(struct scsi_task *t);
struct scsi_request exec_request(const struct scsi_task *t);
bool exec_gate_pass(struct scsi_task *t, uint32_t gate);
bool exec_medium_ready(struct scsi_task *t);

/* What the CDB asks for and how much of it moves. */
void exec_set_data_in(struct scsi_task *t, uint32_t length);
void exec_set_data_out(struct scsi_task *t, uint32_t length);

/* Buffers for length bytes, now or when they come, then exec_have_buffers. */
void exec_take(struct scsi_task *t, size_t length);
void exec_have_buffers(struct scsi_task *t);
void exec_put_buffers(struct scsi_task *t);

void exec_read(struct scsi_task *t);
void exec_write(struct scsi_task *t);
/* Of a WRITE: data_out_length and plan.length are the blocks that the initiator has for us. False:
 * there are none, the task has ended. */
bool exec_take_offer(struct scsi_task *t);
/* Data is there: in order, and no detached write in the way? Then exec_start. */
void exec_enable(struct scsi_task *t);
void exec_start(struct scsi_task *t);
void exec_start_io(struct scsi_task *t); /* READ, WRITE and FLUSH */
void exec_mapped_written(struct scsi_task *t);
bool exec_durable(const struct scsi_task *t);
bool exec_overlaps_detached(struct scsi_task *t, uint64_t offset, uint64_t length);

/* The state of the target port forbids it (SPC-4 5.15): t->status and sense say what. */
bool exec_wrong_path(struct scsi_task *t);
/* Something forbids it that came while its data was on the way, or while it waited (SPC-4 5.13:
 * what is not enabled yet conflicts): t->status and sense say what. */
bool exec_held_up(struct scsi_task *t, uint32_t gate);
/* A WRITE is about to go to the store; gate as it is now. Compound commands say it of each piece.
 */
void exec_touch(struct scsi_task *t, uint32_t gate);
/* A READ or WRITE while ranges are in use (exec_range.c). True: it waits, exec_start follows. */
bool exec_range_enter(struct scsi_task *t);
void exec_range_leave(struct scsi_task *t); /* t->ranged */
/* The ranges of an LU from here: answers for what is under way, starts what is granted. */
void exec_range_look(struct scsi_lu *lu, struct reactor *r);
/* A range waits for the I/O in flight: it is told when that ends. */
void exec_io_watch(struct scsi_task *t);

/* The task set. False: it is full. */
bool order_join(struct scsi_task *t, struct itl *itl);
void order_join_own(struct scsi_task *t, struct itl *itl); /* beside every limit and order */
void order_leave(struct scsi_task *t);
bool order_enabled(const struct scsi_task *t);
void order_block(struct scsi_task *t);
void order_unblock(struct itl *itl);

/* The store, or the port, has let go of a detached task. */
void exec_detached_done(struct scsi_task *t);

/* A counter of this reactor's line. */
#define exec_count(t, field, n)                                                                    \
	do {                                                                                       \
		uint64_t *counter_ = &(t)->lu->counters[(t)->home->index].field;                   \
		__atomic_store_n(counter_, *counter_ + (n), __ATOMIC_RELAXED);                     \
	} while (0)

/* A READ or WRITE that went well, in the counters of LU and reactor. */
static inline void exec_count_read(const struct scsi_task *t, uint64_t bytes)
{
	exec_count(t, reads, 1);
	exec_count(t, read_bytes, bytes);
	stats_add(t->home->stats, STAT_READS, 1);
	stats_add(t->home->stats, STAT_READ_BYTES, bytes);
}

static inline void exec_count_write(const struct scsi_task *t, uint64_t bytes)
{
	exec_count(t, writes, 1);
	exec_count(t, write_bytes, bytes);
	stats_add(t->home->stats, STAT_WRITES, 1);
	stats_add(t->home->stats, STAT_WRITTEN_BYTES, bytes);
}

/* A flush that goes on after its status went out. */
struct early_flush {
	struct backing_io io;
	struct scsi_lu *lu;
	struct scsi_home *home;
};

size_t compound_size(void);                          /* bytes of the state of a compound command */
void compound_serve_scratch(struct scsi_home *home); /* those that wait for scratch go on */

#endif
