/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MODE SENSE, 6 and 10 (SPC-4 6.13, 6.14). Mode parameters are shared by all nexuses.
 *
 * Threads: the session's reactor. Ownership: none.
 */
#include "scsi/mode.h"

#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/opcodes.h"

#include <string.h>

#define OPCODE_MODE_SENSE6 0x1a
#define DBD                0x08
#define LLBAA              0x10

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
		return MODE_DESCRIPTOR_LONG;
	}
	put_be32(out, blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX);
	put_be32(out + 4, geo->block_size); /* a reserved byte and 24 bits */
	return MODE_DESCRIPTOR_SHORT;
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

	if (m.code == MODE_PAGE_ALL && m.subpage != 0 && m.subpage != MODE_SUBPAGE_ALL)
		return no_such_page(&m);
	memset(out, 0, header);
	n = header;
	if (!m.no_descriptor)
		descriptor = put_descriptor(rq->geo, m.long_lba, out + n);
	n += descriptor;
	if (m.pc == MODE_PC_SAVED)
		mode_saved(rq->lu, flips);
	else
		mode_current(rq->lu, flips);
	for (unsigned i = 0; i < mode_n_pages; i++) {
		if (!page_wanted(&mode_pages[i], m.code, m.subpage) ||
		    !mode_page_offered(&mode_pages[i], rq->geo))
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
