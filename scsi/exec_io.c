/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers, the store's own memory, and the moves between buffers and the store. */
#include "scsi/compound.h"
#include "scsi/exec_internal.h"
#include "scsi/iov.h"
#include "scsi/media.h"
#include "scsi/mode.h"
#include "scsi/rod.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <string.h>

/* What is asked again before a task starts. */
#define GATES_HELD_UP (GATE_NO_WRITE | GATE_NO_READ | GATE_RESERVED | GATE_NOT_READY | GATE_PATH)

static void buffers_ready(struct arena_waiter *w)
{
	struct scsi_task *t = container_of(w, struct scsi_task, waiter);

	exec_have_buffers(t);
}

void exec_take(struct scsi_task *t, size_t length)
{
	int rc = arena_get(t->home->arena, length, &t->buf);

	if (!rc) {
		exec_have_buffers(t);
		return;
	}
	if (rc != -EAGAIN) { /* the arena is smaller than that and will never have it */
		exec_status(t, SCSI_BUSY);
		return;
	}
	stats_add(t->home->stats, STAT_BUFFER_WAITS, 1);
	t->state = TASK_WAIT_BUFFER;
	t->waiter.buf = &t->buf;
	t->waiter.length = length;
	t->waiter.ready = buffers_ready;
	arena_wait(t->home->arena, &t->waiter);
}

/* An answer that waited. */
static void send_saved(struct scsi_task *t)
{
	iov_copy_in(t->buf.iov, t->buf.n, 0, t->priv, t->data_in_length);
	pool_put(t->home->saved, t->priv);
	t->priv = NULL;
	exec_send(t);
}

void exec_have_buffers(struct scsi_task *t)
{
	if (t->priv) {
		send_saved(t);
	} else if (t->data_out_length) {
		t->state = TASK_COLLECTING;
		t->port->data_out(t);
	} else {
		exec_enable(t);
	}
}

void exec_put_buffers(struct scsi_task *t)
{
	if (t->mapped) {
		if (exec_unlikely(atomic_load(&t->lu->keeps_memory)))
			lu_range_poke(t->lu, t->home->reactor);
		t->buf.n = 0;
		t->buf.length = 0;
		t->mapped = false;
	} else if (t->buf.n) {
		arena_put(t->home->arena, &t->buf);
	}
}

/* Without a volatile cache a store makes everything durable by itself. */
bool exec_durable(const struct scsi_task *t)
{
	return t->plan.fua || mode_write_through(t->lu);
}

static bool volatile_cache(const struct scsi_task *t)
{
	return t->itl->queue->backing->info.flags & BACKING_VOLATILE_CACHE;
}

/*
 * The store's own memory instead of a buffer, where it has some and nothing asks for waiting or
 * for data that stands still (digests).
 */
static bool map(struct scsi_task *t, uint64_t length, bool write)
{
	const uint32_t waits = GATE_ORDERED | GATE_RANGE | GATE_TOKEN;
	struct backing_queue *q = t->itl->queue;
	void *p;

	if (!q->ops->map || t->nexus->stable_data || atomic_load(&t->lu->keeps_memory) ||
	    atomic_load_explicit(&t->itl->gate, memory_order_relaxed) & waits ||
	    (exec_durable(t) && volatile_cache(t)))
		return false;
	p = backing_map(q, t->plan.offset, length, write);
	if (!p)
		return false;
	t->buf.inl[0] = (struct iovec){ .iov_base = p, .iov_len = length };
	t->buf.n = 1;
	t->buf.length = length;
	t->mapped = true;
	t->started = true;
	return true;
}

/* Whole blocks are read; what the initiator expects of them is sent. */
void exec_read(struct scsi_task *t)
{
	uint32_t block = t->lu->geo.block_size;
	size_t length;

	exec_set_data_in(t, t->plan.data_length);
	if (!t->data_in_length) {
		exec_status(t, SCSI_GOOD);
		return;
	}
	length = (size_t)t->data_in_length + block - 1;
	length -= length % block;
	t->plan.length = length;
	if (map(t, length, false)) {
		exec_count_read(t, t->data_in_length);
		exec_send(t);
		return;
	}
	exec_take(t, length);
}

/*
 * What is offered but cannot be written is not passed over in silence. data_length stays: the
 * residual says how much the CDB asked for.
 */
static void refuse_offer(struct scsi_task *t)
{
	t->sense = sense_make(SENSE_ILLEGAL_REQUEST, ASC_INFORMATION_UNIT);
	t->status = SCSI_CHECK_CONDITION;
	t->data_out_length = 0;
	t->state = TASK_SENDING;
	t->port->done(t);
}

/*
 * A shorter EDTL is an overflow, not an error (RFC 7143 11.4.5.1): as many blocks as come are
 * written. A part of a block, or a WRITE that the initiator takes for something else, is one, of
 * the kind that FCP-4 9.4.2 has for it.
 */
bool exec_take_offer(struct scsi_task *t)
{
	exec_set_data_out(t, t->plan.data_length);
	t->plan.length = t->data_out_length;
	if (exec_unlikely(!t->write || t->data_out_length % t->lu->geo.block_size)) {
		refuse_offer(t);
		return false;
	}
	if (t->data_out_length)
		return true;
	exec_status(t, SCSI_GOOD);
	return false;
}

void exec_write(struct scsi_task *t)
{
	if (!exec_take_offer(t))
		return;
	if (map(t, t->data_out_length, true)) {
		t->write_io = true;
		t->state = TASK_COLLECTING;
		t->port->data_out(t);
		return;
	}
	exec_take(t, t->data_out_length);
}

void exec_mapped_written(struct scsi_task *t)
{
	exec_count_write(t, t->data_out_length);
	exec_status(t, SCSI_GOOD);
}

bool exec_overlaps_detached(struct scsi_task *t, uint64_t offset, uint64_t length)
{
	return atomic_load(&t->itl->gate) & GATE_RANGE && lu_range_busy(t->lu, offset, length);
}

/*
 * False: it waits, or has ended. A compound command waits piece by piece, not here; UNMAP has many
 * ranges and looks at each when it starts; a flush touches no data.
 */
static bool range_is_free(struct scsi_task *t)
{
	bool plain = t->plan.kind == PLAN_READ || t->plan.kind == PLAN_WRITE;
	bool compound = t->plan.kind == PLAN_COMPOUND && t->plan.compound != COMPOUND_UNMAP;

	if ((plain || compound) && lu_range_busy(t->lu, t->plan.offset, t->plan.length)) {
		exec_status(t, SCSI_BUSY);
		return false;
	}
	if (!plain || !exec_range_enter(t))
		return true;
	t->state = TASK_BLOCKED;
	return false;
}

void exec_touch(struct scsi_task *t, uint32_t gate)
{
	if (gate & GATE_TOKEN && t->plan.kind == PLAN_WRITE)
		rod_touch(t->lu, t->plan.offset, t->plan.length, reactor_now_ms(t->home->reactor));
}

bool exec_held_up(struct scsi_task *t, uint32_t gate)
{
	const unsigned flags = t->op->flags;

	if (gate & GATE_PATH && exec_wrong_path(t))
		return true;
	if (gate & scsi_access_conflicts(t->op, t->cdb)) {
		t->status = SCSI_RESERVATION_CONFLICT;
		return true;
	}
	if (gate & GATE_NOT_READY && flags & OP_MEDIUM && !(flags & OP_MENDS) &&
	    media_state(atomic_load(&t->lu->not_ready))) {
		t->status = SCSI_CHECK_CONDITION;
		t->sense = media_not_ready(t->lu);
		return true;
	}
	return false;
}

void exec_enable(struct scsi_task *t)
{
	uint32_t gate = atomic_load_explicit(&t->itl->gate, memory_order_acquire);

	if (exec_unlikely(gate & GATE_ORDERED) && !order_enabled(t)) {
		order_block(t);
		return;
	}
	if (exec_unlikely(gate & GATES_HELD_UP) && exec_held_up(t, gate)) {
		exec_status(t, t->status);
		return;
	}
	if (exec_unlikely(gate & (GATE_RANGE | GATE_TOKEN))) {
		if (gate & GATE_RANGE && !range_is_free(t))
			return;
		exec_touch(t, gate);
	}
	exec_start(t);
}

void exec_start(struct scsi_task *t)
{
	t->started = true;
	if (t->plan.kind == PLAN_COMPOUND) {
		compound_start(t);
	} else if (t->plan.kind == PLAN_ACTION) {
		t->state = TASK_IO;
		t->plan.action(t);
	} else {
		exec_start_io(t);
	}
}

/* The bytes of a failed I/O that lie beyond a store that has shrunk meanwhile are out of range; the
 * LU may hear of it a moment later. */
static struct scsi_sense io_sense(const struct scsi_task *t, const struct backing_io *io)
{
	uint64_t size = __atomic_load_n(&t->lu->backing->info.size, __ATOMIC_RELAXED);
	bool write = io->kind != BACKING_READ && io->kind != BACKING_EXTENTS;
	struct scsi_sense sense;

	if (io->result == -EINVAL && io->offset + io->length > size)
		return sense_lba_out_of_range();
	sense = sense_from_errno(io->result, write);
	if (io->kind != BACKING_FLUSH && !sense.info_valid &&
	    (sense.key == SENSE_MEDIUM_ERROR || sense.key == SENSE_HARDWARE_ERROR ||
	     sense.key == SENSE_ABORTED_COMMAND)) {
		sense.info_valid = true;
		sense.info = io->offset / t->lu->geo.block_size;
	}
	return sense;
}

static void count_error(const struct scsi_task *t, bool write)
{
	exec_count(t, errors, 1);
	if (write)
		exec_count(t, write_errors, 1);
}

void exec_io_failed(struct scsi_task *t, const struct backing_io *io)
{
	count_error(t, io->kind != BACKING_READ && io->kind != BACKING_EXTENTS);
	exec_fail(t, io_sense(t, io));
}

static void submit(struct scsi_task *t, enum backing_kind kind);

/* Of a READ of several blocks, one at least cannot be read: the first of them is looked for. */
static bool locate(struct scsi_task *t)
{
	if (t->io.kind != BACKING_READ || t->io.length <= t->lu->geo.block_size ||
	    sense_from_errno(t->io.result, false).key != SENSE_MEDIUM_ERROR)
		return false;
	t->plan.kind = PLAN_COMPOUND;
	t->plan.compound = COMPOUND_LOCATE;
	compound_start(t);
	return true;
}

static void io_done(struct backing_io *io)
{
	struct scsi_task *t = container_of(io, struct scsi_task, io);

	if (exec_unlikely(t->state == TASK_DETACHED)) {
		exec_detached_done(t);
		return;
	}
	if (exec_unlikely(io->result < 0)) {
		if (!locate(t))
			exec_io_failed(t, io);
		return;
	}
	switch (io->kind) {
	case BACKING_READ:
		exec_count_read(t, io->length);
		exec_send(t);
		return;
	case BACKING_WRITE:
		exec_count_write(t, io->length);
		exec_status(t, SCSI_GOOD);
		return;
	default:
		exec_count(t, flushes, 1);
		if (t->plan.kind == PLAN_READ)
			submit(t, BACKING_READ); /* FUA: the cache is on the medium now */
		else if (t->plan.action)
			t->plan.action(t);
		else
			exec_status(t, SCSI_GOOD);
		return;
	}
}

/* As io_done, for I/O that a range waits for, or that has waited itself. */
static void io_done_watched(struct backing_io *io)
{
	struct scsi_task *t = container_of(io, struct scsi_task, io);
	bool last = io->kind != BACKING_FLUSH || io->result < 0; /* READ with FUA: then the READ */

	if (t->state != TASK_DETACHED && last) {
		lu_range_poke(t->lu, t->home->reactor);
		if (t->ranged)
			exec_range_leave(t);
	}
	io_done(io);
}

/* Once for all the I/O of a task: whoever watches its flush waits for the READ behind it. */
static void set_done(struct scsi_task *t)
{
	t->io.done = t->ranged ? io_done_watched : io_done;
}

void exec_io_watch(struct scsi_task *t)
{
	t->io.done = io_done_watched;
}

static void submit(struct scsi_task *t, enum backing_kind kind)
{
	struct backing_io *io = &t->io;
	bool moves = kind != BACKING_FLUSH;

	io->kind = kind;
	io->durable = kind == BACKING_WRITE && exec_durable(t);
	io->may_trim = false;
	io->offset = t->plan.offset;
	io->length = moves ? t->plan.length : 0;
	io->iov = t->buf.iov;
	io->iovcnt = moves ? t->buf.n : 0;
	io->result = 0;
	t->write_io = kind == BACKING_WRITE;
	t->state = TASK_IO;
	backing_submit(t->itl->queue, io);
}

static void early_done(struct backing_io *io)
{
	struct early_flush *f = container_of(io, struct early_flush, io);
	struct scsi_lu *lu = f->lu;
	struct scsi_home *home = f->home;

	if (io->result < 0)
		atomic_store(&lu->flush_error, io->result);
	pool_put(home->flushes, f);
	lu_queue_put(lu, home->reactor);
	lu_unref(lu);
}

/* IMMED: the status goes first. An error that comes later is told to the next flush of the LU. */
static bool flush_early(struct scsi_task *t)
{
	struct early_flush *f = pool_get(t->home->flushes);
	struct backing_queue *q;

	if (!f)
		return false;
	if (lu_queue_get(t->lu, t->home->reactor, &q) < 0) {
		pool_put(t->home->flushes, f);
		return false;
	}
	lu_ref(t->lu);
	f->lu = t->lu;
	f->home = t->home;
	f->io = (struct backing_io){ .kind = BACKING_FLUSH, .done = early_done };
	backing_submit(q, &f->io);
	exec_count(t, flushes, 1);
	exec_status(t, SCSI_GOOD);
	return true;
}

static void start_flush(struct scsi_task *t)
{
	int earlier;

	/* START STOP UNIT comes here without having asked for the medium (OP_MEDIUM). */
	if (!itl_open_queue(t->itl)) {
		exec_fail(t, sense_make(SENSE_NOT_READY, ASC_NOT_READY));
		return;
	}
	earlier = atomic_exchange(&t->lu->flush_error, 0);
	if (earlier) {
		count_error(t, true);
		exec_fail(t, sense_from_errno(earlier, true));
		return;
	}
	if (!t->plan.immed || !flush_early(t))
		submit(t, BACKING_FLUSH);
}

void scsi_action_flush(struct scsi_task *t)
{
	if (atomic_load(&t->lu->not_ready) == LU_NO_STORE) {
		exec_status(t, SCSI_GOOD); /* nothing is cached */
		return;
	}
	t->plan.kind = PLAN_FLUSH;
	t->plan.immed = false;
	t->plan.action = NULL;
	set_done(t);
	start_flush(t);
}

/* A READ with FUA reads from the medium: what is newer in the cache goes there first. */
void exec_start_io(struct scsi_task *t)
{
	set_done(t);
	if (t->plan.kind == PLAN_FLUSH)
		start_flush(t);
	else if (t->plan.kind == PLAN_WRITE)
		submit(t, BACKING_WRITE);
	else if (t->plan.fua && volatile_cache(t))
		submit(t, BACKING_FLUSH);
	else
		submit(t, BACKING_READ);
}
