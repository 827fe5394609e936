/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LOG SENSE (SPC-4 6.7, 7.3): what the LU counts, and that it has no informational exception.
 * There is no LOG SELECT: nothing here can be set, and counters that one host resets mislead the
 * others.
 *
 * Threads: the session's reactor; counters of other reactors are read word by word. Ownership:
 * answers go to rq->answer.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/opcodes.h"
#include "scsi/provision.h"

#include <string.h>

#define SUBPAGE_ALL 0xff
/* Bit 6 of byte 0 of a page (SPF): byte 1 is a subpage code. */
#define SPF 0x40

/* PC of the CDB: which values of a counter are asked for (SPC-4 table 200). */
enum log_pc { LOG_THRESHOLD, LOG_CUMULATIVE, LOG_DEFAULT_THRESHOLD, LOG_DEFAULT_CUMULATIVE };

/* Control byte of a parameter (SPC-4 7.3.2.2.2): FORMAT AND LINKING. */
enum log_format {
	LOG_COUNTER = 0x02, /* unbounded data counter */
	LOG_LIST = 0x03,    /* binary list */
};

/* A page under construction. */
struct log_writer {
	uint8_t *out;
	size_t length;
	enum log_pc pc;
	uint16_t from; /* PARAMETER POINTER: lower codes are left out */
	uint16_t last; /* the highest code of the page */
};

static void put_parameter(struct log_writer *w, uint16_t code, enum log_format format,
			  const uint8_t *bytes, uint8_t length)
{
	uint8_t *p = w->out + w->length;

	w->last = code;
	if (code < w->from)
		return;
	put_be16(p, code);
	p[2] = (uint8_t)format;
	p[3] = length;
	memcpy(p + 4, bytes, length);
	w->length += 4u + length;
}

/* A counter has no threshold: none is ever reached. */
static void put_counter(struct log_writer *w, uint16_t code, uint64_t value)
{
	uint8_t bytes[8];

	if (w->pc == LOG_THRESHOLD || w->pc == LOG_DEFAULT_THRESHOLD)
		value = UINT64_MAX;
	else if (w->pc == LOG_DEFAULT_CUMULATIVE)
		value = 0;
	put_be64(bytes, value);
	put_parameter(w, code, LOG_COUNTER, bytes, sizeof(bytes));
}

/* Error counters, SPC-4 7.3.8: of the standard's parameters those that a store can know. */
enum error_parameter { TOTAL_BYTES_PROCESSED = 0x0005, TOTAL_UNCORRECTED_ERRORS = 0x0006 };

static void build_write_errors(const struct scsi_request *rq, struct log_writer *w)
{
	struct lu_counters n;

	lu_get_counters(rq->lu, &n);
	put_counter(w, TOTAL_BYTES_PROCESSED, n.write_bytes);
	put_counter(w, TOTAL_UNCORRECTED_ERRORS, n.write_errors);
}

static void build_read_errors(const struct scsi_request *rq, struct log_writer *w)
{
	struct lu_counters n;

	lu_get_counters(rq->lu, &n);
	put_counter(w, TOTAL_BYTES_PROCESSED, n.read_bytes);
	put_counter(w, TOTAL_UNCORRECTED_ERRORS, n.errors - n.write_errors);
}

/* Self-test results, SPC-4 7.3.19: twenty, none of a test that is kept. */
enum { SELF_TESTS = 20, SELF_TEST_LENGTH = 16 };

static void build_self_tests(const struct scsi_request *rq, struct log_writer *w)
{
	static const uint8_t none[SELF_TEST_LENGTH];

	(void)rq;
	for (unsigned code = 1; code <= SELF_TESTS; code++)
		put_parameter(w, (uint16_t)code, LOG_LIST, none, sizeof(none));
}

/* Informational exceptions, SPC-4 7.3.11: none, and no thermometer. */
static void build_exceptions(const struct scsi_request *rq, struct log_writer *w)
{
	static const uint8_t none[4] = { 0x00, 0x00, 0xff, 0xff };

	(void)rq;
	put_parameter(w, 0x0000, LOG_LIST, none, sizeof(none));
}

/* Logical block provisioning, SBC-3 6.4.4: resource counts in threshold sets, and their scope. */
static void put_resource(struct log_writer *w, uint16_t code, uint64_t bytes, uint8_t scope)
{
	uint8_t p[8] = { 0 };

	if (bytes == SPACE_UNKNOWN)
		return;
	put_be32(p, provision_sets(bytes));
	p[4] = scope;
	put_parameter(w, code, LOG_LIST, p, sizeof(p));
}

static void build_provisioning(const struct scsi_request *rq, struct log_writer *w)
{
	put_resource(w, 0x0001, atomic_load(&rq->lu->space.available), 0x02 /* shared */);
	put_resource(w, 0x0002, atomic_load(&rq->lu->space.used), 0x01 /* the unit's own */);
}

static void build_pages(const struct scsi_request *rq, struct log_writer *w);
static void build_subpages(const struct scsi_request *rq, struct log_writer *w);

static const struct log_page {
	uint8_t code, subpage;
	bool thin; /* only there on a thin unit */
	/* Appends parameters; pages 00h append the codes of pages. */
	void (*build)(const struct scsi_request *rq, struct log_writer *w);
} pages[] = {
	/* clang-format off */
	{ 0x00, 0x00, false, build_pages },           /* supported log pages, SPC-4 7.3.18 */
	{ 0x00, SUBPAGE_ALL, false, build_subpages },
	{ 0x02, 0x00, false, build_write_errors },    /* SPC-4 7.3.8 */
	{ 0x03, 0x00, false, build_read_errors },
	{ 0x0c, 0x00, true, build_provisioning },
	{ 0x10, 0x00, false, build_self_tests },
	{ 0x2f, 0x00, false, build_exceptions },
	/* clang-format on */
};

#define PAGES (sizeof(pages) / sizeof(pages[0]))

static bool offered(const struct log_page *p, const struct scsi_request *rq)
{
	return !p->thin || rq->geo->thin;
}

static void build_pages(const struct scsi_request *rq, struct log_writer *w)
{
	for (size_t i = 0; i < PAGES; i++)
		if (!pages[i].subpage && offered(&pages[i], rq))
			w->out[w->length++] = pages[i].code;
}

static void build_subpages(const struct scsi_request *rq, struct log_writer *w)
{
	for (size_t i = 0; i < PAGES; i++) {
		if (!offered(&pages[i], rq))
			continue;
		w->out[w->length++] = pages[i].code;
		w->out[w->length++] = pages[i].subpage;
	}
}

/* NULL: *ret_field is at fault, the code if there is no such page at all. */
static const struct log_page *find(const struct scsi_request *rq, uint8_t code, uint8_t subpage,
				   struct scsi_sense *ret)
{
	bool known = false;

	for (size_t i = 0; i < PAGES; i++) {
		if (pages[i].code != code || !offered(&pages[i], rq))
			continue;
		if (pages[i].subpage == subpage)
			return &pages[i];
		known = true;
	}
	*ret = known ? sense_invalid_field(offsetof(struct cdb_log_sense, subpage))
		     : sense_invalid_field_bit(offsetof(struct cdb_log_sense, page), 5);
	return NULL;
}

struct scsi_plan log_plan_sense(const struct scsi_request *rq)
{
	const uint8_t *cdb = rq->cdb;
	uint8_t page = cdb[offsetof(struct cdb_log_sense, page)];
	uint16_t allocation = get_be16(cdb + offsetof(struct cdb_log_sense, allocation_length));
	struct log_writer w = {
		.out = rq->answer,
		.length = 4,
		.pc = (enum log_pc)(page >> 6),
		.from = get_be16(cdb + offsetof(struct cdb_log_sense, parameter_pointer)),
	};
	struct scsi_sense sense;
	const struct log_page *p =
	    find(rq, page & 0x3f, cdb[offsetof(struct cdb_log_sense, subpage)], &sense);

	if (!p)
		return plan_fail(sense);
	p->build(rq, &w);
	if (w.from > w.last)
		return plan_fail(
		    sense_invalid_field(offsetof(struct cdb_log_sense, parameter_pointer)));
	w.out[0] = (uint8_t)(p->code | (p->subpage ? SPF : 0));
	w.out[1] = p->subpage;
	put_be16(w.out + 2, (uint16_t)(w.length - 4));
	return plan_answer(w.length, allocation);
}
