/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MODE SELECT, 6 and 10 (SPC-4 6.11, 6.12). With SP=1 what it leaves is written down before it is
 * answered, and is there after a restart and a reset.
 *
 * A list is parsed twice by the same function: by the plan, to refuse it whole, and by the action,
 * to carry it out under lu->lock.
 *
 * Threads: the session's reactor; values change under lu->lock. Ownership: a saving frees itself.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/exec.h"
#include "scsi/home.h"
#include "scsi/iov.h"
#include "scsi/kept.h"
#include "scsi/mode.h"
#include "scsi/opcodes.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPCODE_MODE_SELECT6 0x15
#define PAGE_FORMAT         0x10 /* PF */
#define SAVE_PAGES          0x01 /* SP */

/* What a MODE SELECT brings. */
struct select_input {
	bool six;
	const uint8_t *list;
	size_t length; /* 0: no list */
};

/* A position in a MODE SELECT list. */
struct select_list {
	const struct lu_geometry *geo;
	const uint8_t *list;
	size_t length, at;
	uint8_t *flips; /* MODE_SLOTS bytes, changed as the list is read */
};

/* The descriptor may only say what is so, or leave it open: 0 blocks, or, short, all ones. */
static bool take_descriptor(struct select_list *s, size_t length, bool long_lba,
			    struct scsi_sense *ret)
{
	const uint8_t *d = s->list + s->at;
	uint64_t blocks, capacity = atomic_load_explicit(&s->geo->blocks, memory_order_relaxed);
	uint32_t size;

	if (length > s->length - s->at) {
		*ret = sense_parameter_list_length();
		return false;
	}
	blocks = long_lba ? get_be64(d) : get_be32(d);
	size = long_lba ? get_be32(d + 12) : get_be24(d + 5);
	if (blocks && blocks != capacity &&
	    !(!long_lba && blocks == UINT32_MAX && capacity > UINT32_MAX)) {
		*ret = sense_invalid_parameter((uint16_t)s->at);
		return false;
	}
	if (size != s->geo->block_size) {
		*ret = sense_invalid_parameter((uint16_t)(s->at + (long_lba ? 12 : 5)));
		return false;
	}
	s->at += length;
	return true;
}

static bool take_header(struct select_list *s, bool six, struct scsi_sense *ret)
{
	size_t header = six ? 4 : 8, descriptor;
	bool long_lba = !six && s->length > 4 && (s->list[4] & 0x01);
	unsigned type_at = six ? 1 : 2;

	if (s->length < header) {
		*ret = sense_parameter_list_length();
		return false;
	}
	/* MODE DATA LENGTH is reserved here and WP is ignored: hosts send back what they read. */
	if (s->list[type_at]) {
		*ret = sense_invalid_parameter((uint16_t)type_at);
		return false;
	}
	descriptor = six ? s->list[3] : get_be16(s->list + 6);
	s->at = header;
	if (!descriptor)
		return true;
	if (descriptor != (long_lba ? MODE_DESCRIPTOR_LONG : MODE_DESCRIPTOR_SHORT)) {
		*ret = sense_invalid_parameter(six ? 3 : 6);
		return false;
	}
	return take_descriptor(s, descriptor, long_lba, ret);
}

/* Reads the bits that may be changed into s->flips; any other bit must be as it is. */
static bool take_values(struct select_list *s, const struct mode_page *page, struct scsi_sense *ret)
{
	uint8_t is[MODE_PAGE_MAX], defaults[MODE_PAGE_MAX], mask[MODE_PAGE_MAX] = { 0 };
	const uint8_t *want = s->list + s->at;

	mode_page_build(page, s->geo, MODE_PC_CURRENT, s->flips, is);
	mode_page_build(page, s->geo, MODE_PC_DEFAULT, s->flips, defaults);
	for (unsigned i = 0; i < 2; i++)
		mask[page->changeable[i].byte] |= mode_mask(page, i, s->geo);
	for (unsigned i = page->subpage ? 4 : 2; i < page->length; i++) {
		unsigned bad = (want[i] ^ is[i]) & ~(unsigned)mask[i];

		if (!bad)
			continue;
		*ret = sense_invalid_parameter_bit((uint16_t)(s->at + i),
						   (uint8_t)(31 - __builtin_clz(bad)));
		return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		unsigned byte = page->changeable[i].byte;

		if (mode_mask(page, i, s->geo))
			s->flips[page->changeable[i].slot] =
			    (uint8_t)((want[byte] ^ defaults[byte]) & mask[byte]);
	}
	return true;
}

static bool take_page(struct select_list *s, struct scsi_sense *ret)
{
	const uint8_t *p = s->list + s->at;
	size_t left = s->length - s->at;
	bool sub = p[0] & 0x40; /* SPF */
	const struct mode_page *page;

	if (left < (sub ? 4u : 2u)) {
		*ret = sense_parameter_list_length();
		return false;
	}
	/* PS is reserved in MODE SELECT; a host that forgot to clear it means no harm. */
	page = mode_page_find(p[0] & 0x3f, sub ? p[1] : 0);
	if (!page || !mode_page_offered(page, s->geo) || sub != (page->subpage != 0)) {
		*ret = sense_invalid_parameter((uint16_t)s->at);
		return false;
	}
	if ((sub ? get_be16(p + 2) + 4u : p[1] + 2u) != page->length) {
		*ret = sense_invalid_parameter((uint16_t)(s->at + (sub ? 2 : 1)));
		return false;
	}
	if (left < page->length) {
		*ret = sense_parameter_list_length();
		return false;
	}
	if (!take_values(s, page, ret))
		return false;
	s->at += page->length;
	return true;
}

/* s->flips: the values as they are; as they shall be when this returns true. */
static bool parse_select(struct select_list *s, bool six, struct scsi_sense *ret)
{
	if (!take_header(s, six, ret))
		return false;
	while (s->at < s->length)
		if (!take_page(s, ret))
			return false;
	return true;
}

/* The values that a list makes of flips; without a list (SP=1) they stay. */
/* NOLINTNEXTLINE(readability-non-const-parameter): changed by way of the list */
static bool select_values(uint8_t *flips, const struct lu_geometry *geo,
			  const struct select_input *in, struct scsi_sense *ret)
{
	struct select_list s = {
		.geo = geo, .list = in->list, .length = in->length, .flips = flips
	};

	return !in->length || parse_select(&s, in->six, ret);
}

/* Puts a list into force; false: *ret. *ret_flush: a host flushes no more once WCE is 0, so nothing
 * may be left in the cache. */
static bool put_in_force(struct scsi_task *t, const struct select_input *in, struct scsi_sense *ret,
			 bool *ret_flush)
{
	struct scsi_lu *lu = t->lu;
	uint8_t flips[MODE_SLOTS];
	bool ok, changed = false, cached = !mode_write_through(lu);

	pthread_mutex_lock(&lu->lock);
	mode_current(lu, flips);
	ok = select_values(flips, &lu->geo, in, ret);
	for (unsigned i = 0; ok && i < MODE_SLOTS; i++) {
		changed |= lu->mode_current[i] != flips[i];
		__atomic_store_n(&lu->mode_current[i], flips[i], __ATOMIC_RELAXED);
	}
	if (changed)
		lu->mode_generation++;
	pthread_mutex_unlock(&lu->lock);
	if (changed) /* to all others (SPC-4 6.11) */
		lu_ua_all(lu, ASC_MODE_CHANGED, t->nexus);
	*ret_flush = ok && cached && mode_write_through(lu);
	return ok;
}

static void select_now(struct scsi_task *t, const struct select_input *in)
{
	struct scsi_sense sense;
	bool flush, ok = put_in_force(t, in, &sense, &flush);

	/* Nobody waits for what a stopped task flushes. */
	if (flush && t->state != TASK_DETACHED)
		scsi_action_flush(t);
	else
		scsi_action_done(t, ok ? NULL : &sense);
}

/* MODE SELECT with SP=1 while its values are written down. */
struct saving {
	struct kept_op op;
	struct scsi_task *t;
	struct select_input in;
	bool ok; /* the list fits the unit as it was when its turn came */
	uint8_t list[];
};

/* All pages are saved, those that have not been sent with their current values (SPC-4 6.11). */
static void save_edit(struct kept_op *op, struct lu_kept *kept)
{
	struct saving *s = container_of(op, struct saving, op);
	uint8_t flips[MODE_SLOTS];
	struct scsi_sense ignored;

	mode_current(op->lu, flips);
	s->ok = select_values(flips, &op->lu->geo, &s->in, &ignored);
	if (s->ok)
		memcpy(kept->mode, flips, sizeof(flips));
}

static void saved(struct kept_op *op)
{
	struct saving *s = container_of(op, struct saving, op);
	struct scsi_sense sense = kept_failure(op->result);

	if (op->result)
		scsi_action_done(s->t, &sense);
	else
		select_now(s->t, &s->in);
	free(s);
}

static void save_action(struct scsi_task *t, const struct select_input *in)
{
	struct saving *s = calloc(1, sizeof(*s) + in->length);
	struct scsi_sense sense = sense_from_errno(-ENOMEM, true);

	if (!s) {
		scsi_action_done(t, &sense);
		return;
	}
	s->t = t;
	s->in = *in;
	s->in.list = s->list;
	if (in->length)
		memcpy(s->list, in->list, in->length);
	s->op = (struct kept_op){
		.lu = t->lu, .reactor = t->home->reactor, .edit = save_edit, .done = saved
	};
	lu_keep(&s->op);
}

static void select_action(struct scsi_task *t)
{
	struct select_input in = { .six = t->cdb[0] == OPCODE_MODE_SELECT6 };

	if (t->collected) {
		in.length = t->buf.length;
		in.list = t->home->answer;
		if (t->buf.n == 1)
			in.list = t->buf.iov[0].iov_base;
		else
			iov_copy_out(t->buf.iov, t->buf.n, 0, t->home->answer, in.length);
	}
	if (t->cdb[1] & SAVE_PAGES)
		save_action(t, &in);
	else
		select_now(t, &in);
}

struct scsi_plan mode_plan_select(const struct scsi_request *rq)
{
	const uint8_t *cdb = rq->cdb;
	bool six = cdb[0] == OPCODE_MODE_SELECT6;
	uint32_t length = six ? cdb[offsetof(struct cdb_mode_select6, list_length)]
			      : get_be16(cdb + offsetof(struct cdb_mode_select10, list_length));

	if (!(cdb[1] & PAGE_FORMAT)) /* vendor specific pages: there are none */
		return plan_fail(sense_invalid_field_bit(1, 4));
	if (length)
		return plan_collect(length);
	if (cdb[1] & SAVE_PAGES)
		return (struct scsi_plan){ .kind = PLAN_ACTION, .action = select_action };
	return plan_good();
}

struct scsi_plan mode_params_select(const struct scsi_request *rq, const uint8_t *list,
				    size_t length)
{
	const struct select_input in = { .six = rq->cdb[0] == OPCODE_MODE_SELECT6,
					 .list = list,
					 .length = length };
	uint8_t flips[MODE_SLOTS];
	struct scsi_sense sense;

	mode_current(rq->lu, flips);
	if (!select_values(flips, rq->geo, &in, &sense))
		return plan_fail(sense);
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = select_action };
}
