/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MODE SENSE and MODE SELECT, 6 and 10 (SPC-4 6.11 to 6.14). Mode parameters are shared by all
 * nexuses; nothing can be saved.
 *
 * A MODE SELECT list is parsed twice by the same function: by the plan, to refuse it whole, and by
 * the action, to carry it out under lu->lock.
 *
 * Threads: the session's reactor; values change under lu->lock. Ownership: none.
 */
#include "scsi/mode.h"

#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/exec.h"
#include "scsi/home.h"
#include "scsi/iov.h"
#include "scsi/opcodes.h"

#include <string.h>

#define OPCODE_MODE_SENSE6  0x1a
#define OPCODE_MODE_SELECT6 0x15
#define DBD                 0x08
#define LLBAA               0x10
#define PAGE_FORMAT         0x10 /* PF of MODE SELECT */

/* Block descriptors (SBC-3 6.5.2): short, and long with 64 bits of LBA. */
#define DESCRIPTOR_SHORT 8
#define DESCRIPTOR_LONG  16

static void read_flips(const struct scsi_lu *lu, uint8_t flips[static MODE_SLOTS])
{
	for (unsigned i = 0; i < MODE_SLOTS; i++)
		flips[i] = mode_slot_get(lu, (enum mode_slot)i);
}

static uint64_t size_of(const struct lu_geometry *geo)
{
	return atomic_load_explicit(&geo->blocks, memory_order_relaxed);
}

static size_t put_descriptor(const struct lu_geometry *geo, bool long_lba, uint8_t *out)
{
	uint64_t blocks = size_of(geo);

	if (long_lba) {
		put_be64(out, blocks);
		put_be32(out + 8, 0);
		put_be32(out + 12, geo->block_size);
		return DESCRIPTOR_LONG;
	}
	put_be32(out, blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX);
	put_be32(out + 4, geo->block_size); /* a reserved byte and 24 bits */
	return DESCRIPTOR_SHORT;
}

/* Is this page among those that PAGE CODE and SUBPAGE CODE ask for? (SPC-4 table 6.13.1) */
static bool page_wanted(const struct mode_page *page, uint8_t code, uint8_t subpage)
{
	if (code != MODE_PAGE_ALL && page->code != code)
		return false;
	return subpage == MODE_SUBPAGE_ALL || page->subpage == subpage;
}

struct mode_request {
	bool six, no_descriptor, long_lba;
	uint8_t code, subpage;
	enum mode_pc pc;
	uint32_t allocation;
};

static struct mode_request parse_sense(const uint8_t *cdb)
{
	bool six = cdb[0] == OPCODE_MODE_SENSE6;

	return (struct mode_request){
		.six = six,
		.no_descriptor = cdb[1] & DBD,
		.long_lba = !six && (cdb[1] & LLBAA),
		.code = cdb[2] & 0x3f,
		.pc = (enum mode_pc)(cdb[2] >> 6),
		.subpage = cdb[3],
		.allocation =
		    six ? cdb[offsetof(struct cdb_mode_sense6, allocation_length)]
			: get_be16(cdb + offsetof(struct cdb_mode_sense10, allocation_length)),
	};
}

/* Which of the two fields is wrong: the code is unknown, or only its subpage. */
static struct scsi_plan no_such_page(const struct mode_request *m)
{
	for (unsigned i = 0; i < mode_n_pages; i++)
		if (m->code == MODE_PAGE_ALL || mode_pages[i].code == m->code)
			return plan_fail(
			    sense_invalid_field(offsetof(struct cdb_mode_sense6, subpage)));
	return plan_fail(sense_invalid_field_bit(offsetof(struct cdb_mode_sense6, page), 5));
}

struct scsi_plan mode_plan_sense(const struct scsi_request *rq)
{
	struct mode_request m = parse_sense(rq->cdb);
	uint8_t flips[MODE_SLOTS];
	uint8_t *out = rq->answer;
	size_t header = m.six ? 4 : 8, descriptor = 0, n;
	uint8_t specific;
	unsigned pages = 0;

	if (m.pc == MODE_PC_SAVED) /* SPC-4 6.13.5: saving is not implemented */
		return plan_fail(sense_make(SENSE_ILLEGAL_REQUEST, 0x3900));
	if (m.code == MODE_PAGE_ALL && m.subpage != 0 && m.subpage != MODE_SUBPAGE_ALL)
		return no_such_page(&m);
	memset(out, 0, header);
	n = header;
	if (!m.no_descriptor)
		descriptor = put_descriptor(rq->geo, m.long_lba, out + n);
	n += descriptor;
	read_flips(rq->lu, flips);
	for (unsigned i = 0; i < mode_n_pages; i++) {
		if (!page_wanted(&mode_pages[i], m.code, m.subpage))
			continue;
		mode_page_build(&mode_pages[i], rq->geo, m.pc, flips, out + n);
		n += mode_pages[i].length;
		pages++;
	}
	if (!pages)
		return no_such_page(&m);

	/* WP, and DPOFUA: both bits are taken in READ and WRITE (SBC-3 6.5.1). */
	specific = rq->read_only || mode_write_protected(rq->lu) ? 0x90 : 0x10;
	if (m.six) {
		out[0] = (uint8_t)(n - 1); /* all pages together stay below 256 bytes */
		out[2] = specific;
		out[3] = (uint8_t)descriptor;
	} else {
		put_be16(out, (uint16_t)(n - 2));
		out[3] = specific;
		out[4] = m.long_lba && descriptor ? 0x01 : 0x00; /* LONGLBA */
		put_be16(out + 6, (uint16_t)descriptor);
	}
	return plan_answer(n, m.allocation);
}

struct scsi_plan mode_plan_select(const struct scsi_request *rq)
{
	const uint8_t *cdb = rq->cdb;
	bool six = cdb[0] == OPCODE_MODE_SELECT6;
	uint32_t length = six ? cdb[offsetof(struct cdb_mode_select6, list_length)]
			      : get_be16(cdb + offsetof(struct cdb_mode_select10, list_length));

	if (!(cdb[1] & PAGE_FORMAT)) /* vendor specific pages: there are none */
		return plan_fail(sense_invalid_field_bit(1, 4));
	return length ? plan_collect(length) : plan_good();
}

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
	uint64_t blocks, capacity = size_of(s->geo);
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
	if (descriptor != (long_lba ? DESCRIPTOR_LONG : DESCRIPTOR_SHORT)) {
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
	if (!page || sub != (page->subpage != 0)) {
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

/* The list in one piece. */
static const uint8_t *whole_list(struct scsi_task *t)
{
	if (t->buf.n == 1)
		return t->buf.iov[0].iov_base;
	iov_copy_out(t->buf.iov, t->buf.n, 0, t->home->answer, t->buf.length);
	return t->home->answer;
}

static void select_action(struct scsi_task *t)
{
	struct scsi_lu *lu = t->lu;
	uint8_t flips[MODE_SLOTS];
	struct select_list s = {
		.geo = &lu->geo, .list = whole_list(t), .length = t->buf.length, .flips = flips
	};
	struct scsi_sense sense;
	bool ok, changed = false, cached = !mode_write_through(lu);

	pthread_mutex_lock(&lu->lock);
	read_flips(lu, flips);
	ok = parse_select(&s, t->cdb[0] == OPCODE_MODE_SELECT6, &sense);
	for (unsigned i = 0; ok && i < MODE_SLOTS; i++) {
		changed |= lu->mode_current[i] != flips[i];
		__atomic_store_n(&lu->mode_current[i], flips[i], __ATOMIC_RELAXED);
	}
	if (changed)
		lu->mode_generation++;
	pthread_mutex_unlock(&lu->lock);
	if (changed) /* mode parameters changed, to all others (SPC-4 6.11) */
		lu_ua_all(lu, 0x2a01, t->nexus);
	/* A host flushes no more once WCE is 0, so nothing may be left in the cache. */
	if (ok && cached && mode_write_through(lu))
		scsi_action_flush(t);
	else
		scsi_action_done(t, ok ? NULL : &sense);
}

struct scsi_plan mode_params_select(const struct scsi_request *rq, const uint8_t *list,
				    size_t length)
{
	uint8_t flips[MODE_SLOTS];
	struct select_list s = { .geo = rq->geo, .list = list, .length = length, .flips = flips };
	struct scsi_sense sense;

	read_flips(rq->lu, flips);
	if (!parse_select(&s, rq->cdb[0] == OPCODE_MODE_SELECT6, &sense))
		return plan_fail(sense);
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = select_action };
}
