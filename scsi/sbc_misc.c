/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block commands that move no medium data: READ CAPACITY, GET LBA STATUS, START STOP UNIT, PREVENT
 * ALLOW MEDIUM REMOVAL (SBC-3 5).
 *
 * Threads: the session's reactor. Plans are pure; what changes the LU's state is an action.
 * Ownership: none.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/compound.h"
#include "scsi/exec.h"
#include "scsi/media.h"
#include "scsi/opcodes.h"
#include "scsi/scsi.h"

#include <string.h>

#define ASC_REMOVAL_PREVENTED 0x5302

static uint64_t size_of(const struct lu_geometry *geo)
{
	return atomic_load_explicit(&geo->blocks, memory_order_relaxed);
}

struct scsi_plan sbc_plan_read_capacity10(const struct scsi_request *rq)
{
	uint64_t last = size_of(rq->geo) - 1;

	/* SBC-3 5.16: all ones send the host to READ CAPACITY(16). */
	put_be32(rq->answer, last < UINT32_MAX ? (uint32_t)last : UINT32_MAX);
	put_be32(rq->answer + 4, rq->geo->block_size);
	return plan_answer(8, UINT32_MAX);
}

struct scsi_plan sbc_plan_read_capacity16(const struct scsi_request *rq)
{
	const struct lu_geometry *geo = rq->geo;
	uint8_t *out = rq->answer;
	bool zeroes = geo->thin && geo->zeroes_after_unmap;

	memset(out, 0, 32);
	put_be64(out, size_of(geo) - 1);
	put_be32(out + 8, geo->block_size);
	out[13] = geo->physical_exponent;
	out[14] = (uint8_t)((geo->thin ? 0x80 : 0) | (zeroes ? 0x40 : 0)); /* LBPME, LBPRZ */
	return plan_answer(
	    32, get_be32(rq->cdb + offsetof(struct cdb_read_capacity16, allocation_length)));
}

struct scsi_plan sbc_plan_get_lba_status(const struct scsi_request *rq)
{
	uint64_t lba = get_be64(rq->cdb + offsetof(struct cdb_get_lba_status, lba));
	uint64_t size = size_of(rq->geo);

	if (lba >= size)
		return plan_fail(sense_lba_out_of_range());
	return (struct scsi_plan){ .kind = PLAN_COMPOUND,
				   .compound = COMPOUND_LBA_STATUS,
				   .offset = lba * rq->geo->block_size,
				   .length = (size - lba) * rq->geo->block_size,
				   .data_length =
				       get_be32(rq->cdb + offsetof(struct cdb_get_lba_status,
								   allocation_length)) };
}

static void prevent_action(struct scsi_task *t)
{
	itl_set_prevent(t->itl, t->cdb[offsetof(struct cdb_prevent_allow, prevent)] & 0x01);
	scsi_action_done(t, NULL);
}

struct scsi_plan sbc_plan_prevent_allow(const struct scsi_request *rq)
{
	/* 10b and 11b belonged to changers and are obsolete (SBC-3 5.15). */
	if (rq->cdb[offsetof(struct cdb_prevent_allow, prevent)] & 0x02)
		return plan_fail(
		    sense_invalid_field_bit(offsetof(struct cdb_prevent_allow, prevent), 1));
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = prevent_action };
}

/* A FORMAT UNIT or SANITIZE may have begun while the cache was flushed. */
static void end_in(struct scsi_task *t, bool good)
{
	struct scsi_sense sense = media_not_ready(t->lu);

	scsi_action_done(t, good ? NULL : &sense);
}

static void stop_action(struct scsi_task *t)
{
	lu_change_state(t->lu, LU_IN(LU_READY), LU_STOPPED);
	end_in(t, !media_state(atomic_load(&t->lu->not_ready)));
}

static void start_action(struct scsi_task *t)
{
	lu_change_state(t->lu, LU_IN(LU_STOPPED), LU_READY);
	end_in(t, atomic_load(&t->lu->not_ready) == LU_READY);
}

static void removal_prevented(struct scsi_task *t)
{
	struct scsi_sense sense = sense_make(SENSE_ILLEGAL_REQUEST, ASC_REMOVAL_PREVENTED);

	scsi_action_done(t, &sense);
}

static void eject_action(struct scsi_task *t)
{
	if (lu_prevented(t->lu)) {
		removal_prevented(t);
		return;
	}
	lu_change_state(t->lu, LU_IN(LU_READY) | LU_IN(LU_STOPPED), LU_EJECTED);
	end_in(t, !media_state(atomic_load(&t->lu->not_ready)));
}

static void load_action(struct scsi_task *t)
{
	if (lu_prevented(t->lu)) {
		removal_prevented(t);
		return;
	}
	/* The others learn of it; this nexus knows (SAM-5 5.14). */
	if (lu_change_state(t->lu, LU_IN(LU_EJECTED), LU_READY))
		lu_ua_all(t->lu, ASC_NOT_READY_TO_READY, t->nexus);
	lu_change_state(t->lu, LU_IN(LU_STOPPED), LU_READY);
	end_in(t, atomic_load(&t->lu->not_ready) == LU_READY);
}

/* What was written must be safe before the medium goes, unless NO_FLUSH says otherwise. */
static struct scsi_plan flush_then(const struct scsi_request *rq,
				   void (*action)(struct scsi_task *t))
{
	bool flush = !(rq->cdb[offsetof(struct cdb_start_stop, power)] & START_STOP_NO_FLUSH);

	if (flush && atomic_load(&rq->lu->not_ready) == LU_READY)
		return (struct scsi_plan){ .kind = PLAN_FLUSH,
					   .action = action,
					   .length = size_of(rq->geo) * rq->geo->block_size };
	if (action)
		return (struct scsi_plan){ .kind = PLAN_ACTION, .action = action };
	return plan_good();
}

/* ACTIVE, IDLE, STANDBY, LU_CONTROL, FORCE_IDLE_0, FORCE_STANDBY_0 (SBC-3 table 5.31.1). */
#define POWER_CONDITIONS (1u << 1 | 1u << 2 | 1u << 3 | 1u << 7 | 1u << 10 | 1u << 11)

/*
 * SBC-3 5.31. A power condition changes nothing here: a store has none, and START and LOEJ are
 * ignored with it. On removable media any value of it is let pass and START=0 without LOEJ does
 * not stop the unit: hosts that test for ejecting (iscsi-test-cu StartStopUnit) expect the medium
 * to stay usable.
 */
struct scsi_plan sbc_plan_start_stop(const struct scsi_request *rq)
{
	uint8_t power = rq->cdb[offsetof(struct cdb_start_stop, power)];
	unsigned condition = power >> START_STOP_CONDITION_SHIFT;
	bool start = power & START_STOP_START, removable = rq->geo->removable;

	if (condition) {
		if (!removable && !(POWER_CONDITIONS & 1u << condition))
			return plan_fail(
			    sense_invalid_field_bit(offsetof(struct cdb_start_stop, power), 7));
		return plan_good();
	}
	if ((power & START_STOP_LOEJ) && !removable)
		return plan_fail(
		    sense_invalid_field_bit(offsetof(struct cdb_start_stop, power), 1));
	if (start)
		return (struct scsi_plan){ .kind = PLAN_ACTION,
					   .action = power & START_STOP_LOEJ ? load_action
									     : start_action };
	if (power & START_STOP_LOEJ)
		return flush_then(rq, eject_action);
	return flush_then(rq, removable ? NULL : stop_action);
}
