/* SPDX-License-Identifier: BSD-2-Clause */
/* Actions end here instead of in the executor. */
#define scsi_action_done  action_ended
#define scsi_action_flush action_flushes
#include "scsi/mode.c"
#include "scsi/mode_select.c"

#include "tests/unit/scsi/plan_fixture.h"

static unsigned ended;
static struct scsi_sense end_sense;

void action_ended(struct scsi_task *t, const struct scsi_sense *sense)
{
	ck_assert_ptr_eq(t->lu, &fx_lu);
	ended++;
	end_sense = sense ? *sense : sense_make(SENSE_NO_SENSE, 0);
}

void action_flushes(struct scsi_task *t)
{
	action_ended(t, NULL);
}

/* The pages, as a disk with a volatile cache has them. */
static const uint8_t golden[] = {
	/* clang-format off */
	0x81, 0x0a, 0xc0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0,
	0x02, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x07, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x88, 0x12, 0x04, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0,
	0x8a, 0x0a, 0x22, 0x10, 0, 0, 0, 0, 0xff, 0xff, 0, 0,
	0x4a, 0x01, 0x00, 0x1c, 0x06, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x1a, 0x26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x1c, 0x0a, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x5c, 0x02, 0x00, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0,
	/* clang-format on */
};

static const struct golden_page {
	uint8_t code, subpage, at, length;
} golden_pages[] = {
	{ 0x01, 0, 0, 12 },   { 0x02, 0, 12, 16 },  { 0x07, 0, 28, 12 },
	{ 0x08, 0, 40, 20 },  { 0x0a, 0, 60, 12 },  { 0x0a, 1, 72, 32 },
	{ 0x1a, 0, 104, 40 }, { 0x1c, 0, 144, 12 }, { 0x1c, 2, 156, 32 },
};
#define N_GOLDEN (sizeof(golden_pages) / sizeof(golden_pages[0]))

/* What MODE SENSE(6) and (10) must give for a page code and a subpage code. */
static void ck_pages(uint8_t code, uint8_t subpage)
{
	uint8_t want6[256] = { 0, 0, 0x10, 8, 0, 0x20, 0, 0, 0, 0, 2, 0 };
	uint8_t want10[256] = { 0, 0, 0, 0x10, 0, 0, 0, 8, 0, 0x20, 0, 0, 0, 0, 2, 0 };
	size_t n = 0;

	for (size_t i = 0; i < N_GOLDEN; i++) {
		const struct golden_page *g = &golden_pages[i];

		if ((code != 0x3f && g->code != code) || (subpage != 0xff && g->subpage != subpage))
			continue;
		memcpy(want6 + 12 + n, golden + g->at, g->length);
		memcpy(want10 + 16 + n, golden + g->at, g->length);
		n += g->length;
	}
	if (!n) {
		ck_sense(PLAN(0x1a, 0, code, subpage, 255), 5, 0x2400);
		ck_sense(PLAN(0x5a, 0, code, subpage, 0, 0, 0, 1, 0), 5, 0x2400);
		return;
	}
	want6[0] = (uint8_t)(12 + n - 1);
	want10[1] = (uint8_t)(16 + n - 2);
	ck_answer(PLAN(0x1a, 0, code, subpage, 255), want6, 12 + n);
	ck_answer(PLAN(0x1a, 0, (uint8_t)(0x80 | code), subpage, 255), want6, 12 + n);
	ck_answer(PLAN(0x5a, 0, code, subpage, 0, 0, 0, 1, 0), want10, 16 + n);
	/* DBD */
	memmove(want6 + 4, want6 + 12, n);
	memmove(want10 + 8, want10 + 16, n);
	want6[3] = want10[7] = 0;
	want6[0] = (uint8_t)(4 + n - 1);
	want10[1] = (uint8_t)(8 + n - 2);
	ck_answer(PLAN(0x1a, 0x08, code, subpage, 255), want6, 4 + n);
	ck_answer(PLAN(0x5a, 0x08, code, subpage, 0, 0, 0, 1, 0), want10, 8 + n);
}

START_TEST(every_page_and_subpage)
{
	plan_setup();
	for (unsigned code = 0; code < 0x40; code++) {
		ck_pages((uint8_t)code, 0x00);
		ck_pages((uint8_t)code, 0xff);
		if (code != 0x3f)
			ck_pages((uint8_t)code, 0x01);
	}
	ck_field(PLAN(0x1a, 0, 0x3f, 0x01, 255), 3, -1);
	ck_field(PLAN(0x1a, 0, 0x0a, 0x02, 255), 3, -1);
	ck_field(PLAN(0x1a, 0, 0x19, 0x00, 255), 2, 5);
}
END_TEST

START_TEST(changeable_and_saved)
{
	uint8_t control[16] = { 15, 0, 0x10, 0, 0x8a, 0x0a, 0x04, 0, 0x08 };
	uint8_t recovery[16] = { 15, 0, 0x10, 0, 0x81, 0x0a, [11] = 0x80 };
	uint8_t caching[24] = { 23, 0, 0x10, 0, 0x88, 0x12, 0x04 };

	plan_setup();
	ck_answer(PLAN(0x1a, 8, 0x41, 0, 255), recovery, 16);
	ck_answer(PLAN(0x1a, 8, 0x4a, 0, 255), control, 16);
	ck_answer(PLAN(0x1a, 8, 0x48, 0, 255), caching, 24);
	fx_lu.geo.write_cache = false;
	caching[4] = 0x08;
	caching[6] = 0;
	ck_answer(PLAN(0x1a, 8, 0x48, 0, 255), caching, 24);
	/* Every other page: nothing can be changed. */
	for (unsigned i = 0; i < N_GOLDEN; i++) {
		const struct golden_page *g = &golden_pages[i];

		if (g->code == 0x01 || g->code == 0x08 || (g->code == 0x0a && !g->subpage))
			continue;
		PLAN(0x1a, 8, (uint8_t)(0x40 | g->code), g->subpage, 255);
		for (unsigned b = g->subpage ? 4 : 2; b < g->length; b++)
			ck_assert_uint_eq(fx_answer[4 + b], 0);
	}
}
END_TEST

START_TEST(device_specific_and_cache)
{
	plan_setup();
	PLAN(0x1a, 8, 0x08, 0, 255);
	ck_assert_uint_eq(fx_answer[2], 0x10);
	ck_assert_uint_eq(fx_answer[6], 0x04);
	fx_rq.read_only = true;
	fx_lu.geo.write_cache = false;
	PLAN(0x1a, 8, 0x08, 0, 255);
	ck_assert_uint_eq(fx_answer[2], 0x90);
	ck_assert_uint_eq(fx_answer[6], 0x00);
}
END_TEST

START_TEST(block_descriptors)
{
	plan_setup();
	fx_lu.geo.blocks = 1ull << 33;
	fx_lu.geo.block_size = 4096;
	PLAN(0x1a, 0, 0x1c, 0, 255);
	ck_assert(!memcmp(fx_answer + 3, "\x08\xff\xff\xff\xff\0\0\x10\0", 9));
	PLAN(0x5a, 0x10, 0x1c, 0, 0, 0, 0, 1, 0);
	ck_assert(!memcmp(fx_answer + 4, "\x01\0\0\x10\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\x10\0", 20));
	PLAN(0x5a, 0x18, 0x1c, 0, 0, 0, 0, 1, 0);
	ck_assert(!memcmp(fx_answer + 4, "\0\0\0\0\x1c", 5));
}
END_TEST

static struct it_nexus other;
static struct itl second;

static void setup_two(void)
{
	plan_setup();
	memset(&second, 0, sizeof(second));
	second.lu = &fx_lu;
	second.nexus = &other;
	list_add_tail(&fx_lu.itls, &second.lu_node);
}

static uint8_t select_flags = PAGE_FORMAT;

/* MODE SELECT(6) or (10) of a list; ASC/ASCQ of the end. Cut in two pieces if asked for. */
static uint16_t select_list(bool six, const uint8_t *list, size_t n, bool cut)
{
	struct scsi_task t = { .cdb = fx_cdb, .lu = &fx_lu, .itl = &fx_itl, .nexus = &fx_nexus };
	static struct scsi_home home;
	static uint8_t copy[256];
	struct scsi_plan p;

	p = six ? PLAN(0x15, select_flags, 0, 0, (uint8_t)n)
		: PLAN(0x55, select_flags, 0, 0, 0, 0, 0, (uint8_t)(n >> 8), (uint8_t)n);
	if (p.kind != PLAN_COLLECT)
		return p.sense.asc_ascq;
	ck_assert_uint_eq(p.data_length, n);
	p = fx_op->params(&fx_rq, list, n);
	if (p.kind == PLAN_FAIL) {
		end_sense = p.sense;
		return p.sense.asc_ascq;
	}
	ck_assert_int_eq(p.kind, PLAN_ACTION);
	memcpy(copy, list, n);
	t.home = &home;
	t.collected = true;
	t.buf.iov = t.buf.inl;
	t.buf.n = cut ? 2 : 1;
	t.buf.length = n;
	t.buf.inl[0] = (struct iovec){ copy, cut ? 5 : n };
	t.buf.inl[1] = (struct iovec){ copy + 5, n - 5 };
	ended = 0;
	p.action(&t);
	ck_assert_uint_eq(ended, 1);
	return end_sense.asc_ascq;
}

#define SELECT6(...)                                                                               \
	select_list(true, (const uint8_t[]){ __VA_ARGS__ },                                        \
		    sizeof((const uint8_t[]){ __VA_ARGS__ }), false)
#define SELECT10(...)                                                                              \
	select_list(false, (const uint8_t[]){ __VA_ARGS__ },                                       \
		    sizeof((const uint8_t[]){ __VA_ARGS__ }), false)
#define CONTROL(b2, b4) 0x0a, 0x0a, b2, 0x10, b4, 0, 0, 0, 0xff, 0xff, 0, 0

START_TEST(select_changes_what_can_be_changed)
{
	static const uint8_t cut[] = { 0, 0, 0, 0, CONTROL(0x22, 0) };
	uint16_t ua;

	setup_two();
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, CONTROL(0x26, 0x08)), 0);
	ck_assert(mode_descriptor_sense(&fx_lu) && mode_write_protected(&fx_lu));
	PLAN(0x1a, 8, 0x0a, 0, 255);
	ck_assert(fx_answer[2] == 0x90 && fx_answer[6] == 0x26 && fx_answer[8] == 0x08);
	PLAN(0x1a, 8, 0x8a, 0, 255); /* the default stays */
	ck_assert(fx_answer[6] == 0x22 && fx_answer[8] == 0x00);
	ck_assert(!itl_ua_take(&fx_itl, &ua));
	ck_assert(itl_ua_take(&second, &ua) && ua == 0x2a01);
	/* The same again is no change. */
	ck_assert_uint_eq(SELECT10(0, 0, 0, 0, 0, 0, 0, 0, CONTROL(0x26, 0x08)), 0);
	ck_assert(!itl_ua_take(&second, &ua));
	ck_assert_uint_eq(select_list(true, cut, sizeof(cut), true), 0);
	ck_assert(!mode_descriptor_sense(&fx_lu) && !mode_write_protected(&fx_lu));
	ck_assert(itl_ua_take(&second, &ua) && ua == 0x2a01);
}
END_TEST

START_TEST(select_several_pages)
{
	setup_two();
	ck_assert_uint_eq(SELECT6(0, 0, 0x90, 8, 0, 0x20, 0, 0, 0, 0, 2, 0, CONTROL(0x26, 0), 0x08,
				  0x12, 0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
				  0, 0, 0, 0),
			  0);
	ck_assert(mode_descriptor_sense(&fx_lu) && mode_write_through(&fx_lu));
	PLAN(0x1a, 8, 0x08, 0, 255);
	ck_assert_uint_eq(fx_answer[6], 0);
	/* One bad page, and none of them is obeyed. */
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, CONTROL(0x22, 0), 0x19, 0x06), 0x2600);
	ck_assert(mode_descriptor_sense(&fx_lu));
	mode_reset(&fx_lu);
	ck_assert(!mode_descriptor_sense(&fx_lu) && !mode_write_through(&fx_lu));
}
END_TEST

/* Everything that MODE SENSE gives is taken back as it is. */
START_TEST(what_was_read_can_be_written)
{
	uint8_t list[256];
	size_t n;
	uint16_t ua;

	setup_two();
	for (unsigned form = 0; form < 4; form++) {
		bool six = form < 2;

		n = six ? PLAN(0x1a, form & 1 ? 8 : 0, 0x3f, 0xff, 255).data_length
			: PLAN(0x5a, form & 1 ? 0x10 : 0, 0x3f, 0xff, 0, 0, 0, 1, 0).data_length;
		memcpy(list, fx_answer, n);
		ck_assert_uint_eq(select_list(six, list, n, form == 3), 0);
		ck_assert(!itl_ua_take(&second, &ua));
	}
}
END_TEST

/* Any bit that cannot be changed is refused where it stands, in every page. */
START_TEST(every_bit_of_every_page)
{
	uint8_t list[64] = { 0 };

	setup_two();
	for (unsigned i = 0; i < N_GOLDEN; i++) {
		const struct golden_page *g = &golden_pages[i];

		for (unsigned bit = 8 * (g->subpage ? 4 : 2); bit < 8u * g->length; bit++) {
			unsigned byte = bit / 8, mask = 1u << bit % 8;
			bool control = g->code == 0x0a && !g->subpage;
			bool may = (control && byte == 2 && mask == 4) ||
				   (control && byte == 4 && mask == 8) ||
				   (g->code == 0x08 && byte == 2 && mask == 4) ||
				   (g->code == 0x01 && byte == 7 && mask == 0x80);
			uint16_t got;

			memcpy(list + 4, golden + g->at, g->length);
			list[4 + byte] ^= (uint8_t)mask;
			got = select_list(true, list, 4u + g->length, false);
			ck_assert_msg(got == (may ? 0 : 0x2600), "page %02x byte %u bit %u: %04x",
				      g->code, byte, bit % 8, got);
			mode_reset(&fx_lu);
			if (may)
				continue;
			ck_assert(end_sense.field_valid && !end_sense.field_in_cdb);
			ck_assert_uint_eq(end_sense.field, 4 + byte);
			ck_assert(end_sense.bit_valid && end_sense.bit == bit % 8);
		}
	}
}
END_TEST

static struct kept_op *keeps; /* what the keeper was given */

static void keeper_takes(struct kept_op *op, void *arg)
{
	keeps = op;
	op->result = *(const int *)arg;
	kept_done(op);
}

/* With SP=1 all pages are written down before they are in force; what cannot be is not done. */
START_TEST(select_saves)
{
	COVERS("SM-004 SM-005");
	int result = 0;
	uint16_t ua;

	setup_two();
	scsi_set_keeper(keeper_takes, &result);
	keeps = NULL;
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, CONTROL(0x22, 0x08)), 0);
	ck_assert(itl_ua_take(&second, &ua) && ua == 0x2a01);
	ck_assert_ptr_null(keeps); /* SP=0 */
	PLAN(0x1a, 8, 0xca, 0, 255);
	ck_assert(fx_answer[4] == 0x8a && fx_answer[8] == 0x00);
	select_flags = PAGE_FORMAT | SAVE_PAGES;
	result = -ENOSPC;
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, CONTROL(0x26, 0x08)), 0x4400);
	ck_assert(!mode_descriptor_sense(&fx_lu));
	ck_assert(!itl_ua_take(&second, &ua));
	PLAN(0x1a, 8, 0xca, 0, 255);
	ck_assert(fx_answer[6] == 0x22 && fx_answer[8] == 0x00);
	result = 0;
	ck_assert_uint_eq(SELECT10(0, 0, 0, 0, 0, 0, 0, 0, CONTROL(0x26, 0x08)), 0);
	ck_assert(itl_ua_take(&second, &ua) && ua == 0x2a01);
	PLAN(0x1a, 8, 0xca, 0, 255);
	ck_assert(fx_answer[6] == 0x26 && fx_answer[8] == 0x08);
	select_flags = PAGE_FORMAT;
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, CONTROL(0x22, 0)), 0);
	ck_assert(!mode_descriptor_sense(&fx_lu));
	mode_reset(&fx_lu);
	ck_assert(mode_descriptor_sense(&fx_lu) && mode_write_protected(&fx_lu));
	scsi_set_keeper(NULL, NULL);
	ck_assert_uint_eq(atomic_load(&fx_lu.refs), 1);
}
END_TEST

START_TEST(select_cdb)
{
	plan_setup();
	ck_good(PLAN(0x15, 0x10, 0, 0, 0));
	ck_good(PLAN(0x55, 0x10));
	ck_field(PLAN(0x15, 0x00, 0, 0, 16), 1, 4); /* PF=0 */
	ck_field(PLAN(0x15, 0x12, 0, 0, 16), 1, 1);
	ck_assert_int_eq(PLAN(0x55, 0x11).kind, PLAN_ACTION); /* SP without a list */
	ck_assert_uint_eq(PLAN(0x55, 0x10, 0, 0, 0, 0, 0, 0xff, 0xff).data_length, 65535);
}
END_TEST

START_TEST(select_lengths)
{
	static const uint8_t list6[] = { 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 2, 0, CONTROL(0x26, 0) };
	static const uint8_t list10[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0x4a, 1, 0, 0x1c, 0, 0, 0, 0 };

	setup_two();
	for (size_t n = 1; n < sizeof(list6); n++) {
		bool whole = n == 4 + 8; /* header and descriptor: nothing is asked for */

		ck_assert_uint_eq(select_list(true, list6, n, false), whole ? 0 : 0x1a00);
		ck_assert(!mode_descriptor_sense(&fx_lu));
	}
	for (size_t n = 1; n < sizeof(list10); n++)
		ck_assert_uint_eq(select_list(false, list10, n, false), n == 8 ? 0 : 0x1a00);
}
END_TEST

START_TEST(select_descriptors)
{
	setup_two();
	/* As it is, or left open. */
	ck_assert_uint_eq(SELECT6(0, 0, 0, 8, 0, 0x20, 0, 0, 0, 0, 2, 0), 0);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 2, 0), 0);
	/* Another capacity, another block length, another shape. */
	ck_assert_uint_eq(SELECT6(0, 0, 0, 8, 0, 0x20, 0, 1, 0, 0, 2, 0), 0x2600);
	ck_assert_uint_eq(end_sense.field, 4);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0), 0x2600);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 8, 0, 0x20, 0, 0, 0, 0, 0x10, 0), 0x2600);
	ck_assert_uint_eq(end_sense.field, 9);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 16, 0, 0x20, 0, 0, 0, 0, 2, 0), 0x2600);
	ck_assert_uint_eq(end_sense.field, 3);
	ck_assert_uint_eq(SELECT6(0, 1, 0, 0), 0x2600); /* medium type */
	ck_assert_uint_eq(end_sense.field, 1);
	ck_assert_uint_eq(
	    SELECT10(0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0),
	    0);
	ck_assert_uint_eq(
	    SELECT10(0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0),
	    0x2600);
	ck_assert_uint_eq(
	    SELECT10(0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0),
	    0x2600);
	ck_assert_uint_eq(end_sense.field, 8 + 12);
	/* A large LU says all ones in the short form. */
	fx_lu.geo.blocks = 1ull << 40;
	ck_assert_uint_eq(SELECT6(0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0), 0);
}
END_TEST

START_TEST(select_unknown_pages)
{
	setup_two();
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x19, 0x02, 0, 0), 0x2600);
	ck_assert_uint_eq(end_sense.field, 4);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x3f, 0x00), 0x2600);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x4a, 0x00, 0, 0x0a), 0x2600); /* SPF, no subpage */
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x4a, 0x02, 0, 0x1c), 0x2600);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x0a, 0x0b, 0x22), 0x2600); /* page length */
	ck_assert_uint_eq(end_sense.field, 5);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x4a, 0x01, 0, 0x1d), 0x2600);
	ck_assert_uint_eq(end_sense.field, 6);
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x8a, 0x0a, 0x26, 0x10, 0, 0, 0, 0, 0xff, 0xff, 0, 0),
			  0); /* PS */
	ck_assert(mode_descriptor_sense(&fx_lu));
}
END_TEST

START_TEST(no_cache_to_switch)
{
	setup_two();
	fx_lu.geo.write_cache = false;
	ck_assert_uint_eq(SELECT6(0, 0, 0, 0, 0x08, 0x12, 0x04, 0, 0xff, 0xff, 0, 0, 0xff, 0xff,
				  0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0),
			  0x2600);
	ck_assert_uint_eq(end_sense.field, 6);
}
END_TEST

/* All pages together, descriptor and header included, fit the one byte of MODE SENSE(6). */
START_TEST(all_pages_fit_one_byte)
{
	plan_setup();
	ck_assert_uint_lt(PLAN(0x5a, 0x10, 0x3f, 0xff, 0, 0, 0, 0xff, 0xff).data_length, 256);
}
END_TEST

SUITE_COVERS("SM-001 SM-002 SM-003 SM-004 SM-005 SM-006 SM-007 SM-008 SM-009 SM-010 SM-011 "
	     "SM-012 SM-013 SM-015 SM-016 SM-017 SM-018 SM-019 SM-020 SU-011 SG-007 SG-008 "
	     "SG-011 fault-E05");

UNIT_MAIN("scsi/mode", every_page_and_subpage, changeable_and_saved, device_specific_and_cache,
	  block_descriptors, select_saves, select_changes_what_can_be_changed, select_several_pages,
	  what_was_read_can_be_written, every_bit_of_every_page, select_cdb, select_lengths,
	  select_descriptors, select_unknown_pages, no_cache_to_switch, all_pages_fit_one_byte)
