/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SET TARGET PORT GROUPS (SPC-4 6.45). The states are not the SCSI layer's: they are kept, and told
 * to every nexus, by whoever has handed the table down.
 *
 * Threads: the session's reactor. Ownership: an operation is freed when it has answered; its task
 * may have been let go of before, and ends with it.
 */
#include "daemon/base/bytes.h"
#include "scsi/alua.h"
#include "scsi/cdb.h"
#include "scsi/exec_internal.h"
#include "scsi/iov.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER   4u
#define STATE    0x0f
#define LIST_MAX (HEADER + 1024u) /* of 256 groups; a target cannot have more */
#define ENTRY    sizeof(struct set_target_port_group)

static struct {
	void (*change)(struct alua_change *c, void *arg);
	void *arg;
} keeper; /* set once, before the first session */

void scsi_set_alua_keeper(void (*change)(struct alua_change *c, void *arg), void *arg)
{
	keeper.change = change;
	keeper.arg = arg;
}

struct alua_op {
	struct alua_change change;
	struct scsi_task *task;
	struct alua_group groups[];
};

static void changed(struct alua_change *c)
{
	struct alua_op *op = container_of(c, struct alua_op, change);
	struct scsi_sense failed = sense_make(SENSE_HARDWARE_ERROR, ASC_SET_GROUPS_FAILED);
	struct scsi_task *t = op->task;
	int result = c->result;

	free(op);
	if (result == -EBUSY && t->state != TASK_DETACHED)
		exec_status(t, SCSI_BUSY);
	else
		scsi_action_done(t, result ? &failed : NULL);
}

/* The device's groups may have become others since the list came. */
static bool in_force(const struct alua_table *t, const struct alua_group *g)
{
	const struct alua_group *is = alua_group_find(t, g->id);

	return is && is->state == g->state;
}

static void fill(struct alua_op *op, struct scsi_task *t, const uint8_t *list)
{
	struct alua_change *c = &op->change;

	op->task = t;
	c->nexus = t->nexus->id;
	c->lun = t->lun;
	memcpy(c->initiator_port, t->nexus->initiator_port, sizeof(c->initiator_port));
	memcpy(c->target_port, t->nexus->target_port, sizeof(c->target_port));
	c->groups = op->groups;
	c->reactor = t->home->reactor;
	c->done = changed;
	for (unsigned i = 0; i < c->n; i++) {
		const uint8_t *entry = list + HEADER + i * ENTRY;

		op->groups[i] = (struct alua_group){
			.id = get_be16(entry + offsetof(struct set_target_port_group, id)),
			.state = entry[0] & STATE,
		};
	}
}

/* PLAN_ACTION; the list has been found to be good. Where nothing changes nobody is asked: hosts
 * send this for each of a device's many units. */
static void set(struct scsi_task *t)
{
	uint8_t list[LIST_MAX];
	unsigned n = (t->data_out_length - HEADER) / ENTRY;
	struct alua_op *op = calloc(1, sizeof(*op) + n * sizeof(op->groups[0]));
	bool differs = false;

	if (!op) {
		exec_fail(t, sense_from_errno(-ENOMEM, false));
		return;
	}
	iov_copy_out(t->buf.iov, t->buf.n, 0, list, t->data_out_length);
	op->change.n = n;
	fill(op, t, list);
	for (unsigned i = 0; i < n; i++)
		differs |= !in_force(t->nexus->alua, &op->groups[i]);
	if (differs && keeper.change) {
		keeper.change(&op->change, keeper.arg);
		return;
	}
	op->change.result = differs ? -ENOSYS : 0;
	changed(&op->change);
}

struct scsi_plan alua_plan_set(const struct scsi_request *rq)
{
	const uint16_t field = offsetof(struct cdb_target_port_groups, length);
	uint32_t length = get_be32(rq->cdb + field);

	if (!length)
		return plan_good();
	if (length > LIST_MAX)
		return plan_fail(sense_invalid_field(field));
	if (length < HEADER || (length - HEADER) % ENTRY)
		return plan_fail(sense_parameter_list_length());
	return plan_collect(length);
}

static bool named_before(const uint8_t *list, size_t at, const uint8_t id[2])
{
	for (size_t i = HEADER; i < at; i += ENTRY)
		if (!memcmp(list + i + offsetof(struct set_target_port_group, id), id, 2))
			return true;
	return false;
}

struct scsi_plan alua_params_set(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	const struct alua_table *t = rq->nexus->alua;

	for (size_t at = HEADER; at < n; at += ENTRY) {
		size_t id = at + offsetof(struct set_target_port_group, id);
		const struct alua_group *g = alua_group_find(t, get_be16(list + id));

		/* Offline and transitioning are not for initiators to set, nor to end. */
		if ((list[at] & STATE) > ALUA_UNAVAILABLE)
			return plan_fail(sense_invalid_parameter_bit((uint16_t)at, 3));
		if (!g || named_before(list, at, list + id))
			return plan_fail(sense_invalid_parameter((uint16_t)id));
		if (g->state == ALUA_TRANSITIONING)
			return (struct scsi_plan){ .kind = PLAN_FAIL, .status = SCSI_BUSY };
		if (g->state == ALUA_OFFLINE)
			return plan_fail(sense_make(SENSE_HARDWARE_ERROR, ASC_SET_GROUPS_FAILED));
	}
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = set };
}
