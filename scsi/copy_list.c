/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/copy_list.h"

#include "daemon/base/bytes.h"
#include "scsi/nexus.h"
#include "scsi/scsi.h"
#include "scsi/sense.h"

#include <stdlib.h>
#include <string.h>

#define ASC_OPERATION_IN_PROGRESS  0x0016
#define ASC_INSUFFICIENT_RESOURCES 0x5503
#define POLL_MS                    100u /* ESTIMATED STATUS UPDATE DELAY of what is under way */

static struct copy_entry *entry_of(struct list *n)
{
	return list_entry(n, struct copy_entry, node);
}

static bool running(const struct copy_entry *e)
{
	return copy_status_running((enum copy_status)e->status);
}

struct copy_entry *copy_list_find(const struct itl *itl, uint32_t id)
{
	struct list *pos;

	list_for_each (pos, &itl->copies)
		if (entry_of(pos)->id == id)
			return entry_of(pos);
	return NULL;
}

static void forget(struct copy_entry *e)
{
	list_del(&e->node);
	free(e);
}

/* Those of one kind; the one of them that stands first in *ret_first. */
static unsigned count(const struct itl *itl, bool is_running, struct copy_entry **ret_first)
{
	struct list *pos;
	unsigned n = 0;

	*ret_first = NULL;
	list_for_each (pos, &itl->copies) {
		if (running(entry_of(pos)) != is_running)
			continue;
		if (!n++)
			*ret_first = entry_of(pos);
	}
	return n;
}

struct copy_entry *copy_list_begin(struct itl *itl, uint32_t id, uint8_t action,
				   struct scsi_sense *ret)
{
	struct copy_entry *e = copy_list_find(itl, id), *first;

	if (e && running(e)) {
		*ret = sense_make(SENSE_ILLEGAL_REQUEST, ASC_OPERATION_IN_PROGRESS);
		return NULL;
	}
	if (e)
		forget(e);
	e = count(itl, true, &first) < COPY_LIST_RUNNING ? calloc(1, sizeof(*e)) : NULL;
	if (!e) {
		*ret = sense_make(SENSE_ILLEGAL_REQUEST, ASC_INSUFFICIENT_RESOURCES);
		return NULL;
	}
	e->id = id;
	e->action = action;
	e->status = COPY_FOREGROUND;
	list_add_tail(&itl->copies, &e->node);
	return e;
}

void copy_list_end(struct itl *itl, struct copy_entry *e, enum copy_status status)
{
	struct copy_entry *first;

	e->status = (uint8_t)status;
	e->cancel = NULL;
	e->op = NULL;
	list_del(&e->node);
	list_add_tail(&itl->copies, &e->node);
	if (count(itl, false, &first) > COPY_LIST_HELD)
		forget(first);
}

void copy_list_free(struct itl *itl)
{
	struct list *pos, *next;

	list_for_each_safe (pos, next, &itl->copies) {
		struct copy_entry *e = entry_of(pos);

		if (e->cancel)
			e->cancel(e);
		forget(e);
	}
}

/* SPC-4 6.24.2 and 6.28.2: the same up to the sense data. */
struct status_data {
	uint8_t available[4], action, status, counter[2], delay_ms[4], completion;
	uint8_t sense_field_length, sense_length, units, count[8], segments[2], reserved[6];
};
_Static_assert(sizeof(struct status_data) == 32, "SPC-4 6.24.2");

#define UNITS_BLOCKS 0xf1

size_t copy_list_put_status(const struct copy_entry *e, size_t more, uint8_t *out)
{
	struct status_data *d = (void *)out;
	size_t length = sizeof(*d);

	memset(d, 0, sizeof(*d));
	d->action = e->action;
	d->status = e->status;
	put_be16(d->counter, e->moves);
	put_be32(d->delay_ms, running(e) ? POLL_MS : 0);
	d->completion = e->completion;
	d->units = UNITS_BLOCKS;
	put_be64(d->count, e->blocks);
	put_be16(d->segments, e->segments);
	if (e->completion == SCSI_CHECK_CONDITION) {
		size_t n = sense_encode(&e->sense, false, out + length);

		d->sense_field_length = d->sense_length = (uint8_t)n;
		length += n;
	}
	put_be32(d->available, (uint32_t)(length + more - sizeof(d->available)));
	return length;
}
