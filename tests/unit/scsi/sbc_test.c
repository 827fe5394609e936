/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/sbc.c"

#include "tests/unit/scsi/plan_fixture.h"

/* A CDB of the shape that the opcode's group has. */
static struct scsi_plan rw(uint8_t opcode, uint8_t flags, uint64_t lba, uint32_t n)
{
	uint8_t c[16] = { opcode, flags };

	switch (opcode >> 5) {
	case 0:
		put_be24(c + 1, (uint32_t)lba);
		c[4] = (uint8_t)n;
		break;
	case 4:
		put_be64(c + 2, lba);
		put_be32(c + 10, n);
		break;
	case 5:
		put_be32(c + 2, (uint32_t)lba);
		put_be32(c + 6, n);
		break;
	default:
		put_be32(c + 2, (uint32_t)lba);
		put_be16(c + 7, (uint16_t)n);
	}
	return plan_bytes(c, sizeof(c));
}

static void ck_move(struct scsi_plan p, enum plan_kind kind, uint64_t offset, uint64_t length)
{
	ck_assert_msg(p.kind == kind, "%02x: plan %d %x/%04x", fx_cdb[0], p.kind, p.sense.key,
		      p.sense.asc_ascq);
	ck_assert_uint_eq(p.offset, offset);
	ck_assert_uint_eq(p.length, length);
}

static const struct {
	uint8_t opcode;
	uint8_t kind; /* enum plan_kind */
	bool long_lba;
	uint16_t length_field;
} movers[] = {
	{ 0x28, PLAN_READ, false, 7 },     { 0x88, PLAN_READ, true, 10 },
	{ 0xa8, PLAN_READ, false, 6 },     { 0x2a, PLAN_WRITE, false, 7 },
	{ 0x8a, PLAN_WRITE, true, 10 },    { 0xaa, PLAN_WRITE, false, 6 },
	{ 0x2e, PLAN_COMPOUND, false, 7 }, { 0x8e, PLAN_COMPOUND, true, 10 },
	{ 0xae, PLAN_COMPOUND, false, 6 }, { 0x8b, PLAN_COMPOUND, true, 10 },
};

START_TEST(moves_at_the_boundaries)
{
	plan_setup();
	for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++) {
		uint8_t op = movers[i].opcode;
		struct scsi_plan p;

		ck_move(rw(op, 0, 0, 1), movers[i].kind, 0, 512);
		p = rw(op, 0, BLOCKS - 1, 1);
		ck_move(p, movers[i].kind, (BLOCKS - 1) * 512ull, 512);
		ck_assert_uint_eq(p.data_length, 512);
		ck_move(rw(op, 0, BLOCKS - 2, 2), movers[i].kind, (BLOCKS - 2) * 512ull, 1024);
		ck_sense(rw(op, 0, BLOCKS - 1, 2), 5, 0x2100);
		ck_sense(rw(op, 0, BLOCKS, 1), 5, 0x2100);
		/* No blocks: no data, but not beyond last + 1. */
		ck_good(rw(op, 0, 0, 0));
		ck_good(rw(op, 0, BLOCKS, 0));
		ck_sense(rw(op, 0, BLOCKS + 1, 0), 5, 0x2100);
		ck_sense(rw(op, 0, 0x80000000, 0), 5, 0x2100);
		ck_sense(rw(op, 0, UINT32_MAX, 1), 5, 0x2100);
		/* MAXIMUM TRANSFER LENGTH. */
		ck_move(rw(op, 0, 0, 32768), movers[i].kind, 0, 32768 * 512ull);
		ck_field(rw(op, 0, 0, 32769), movers[i].length_field, -1);
		if (!movers[i].long_lba)
			continue;
		for (uint32_t n = 0; n < 3; n++) {
			ck_sense(rw(op, 0, 1ull << 63, n), 5, 0x2100);
			ck_sense(rw(op, 0, UINT64_MAX, n), 5, 0x2100);
			ck_sense(rw(op, 0, 1ull << 55, n), 5, 0x2100); /* times 512: 2^64 */
		}
		ck_sense(rw(op, 0, UINT64_MAX, UINT32_MAX), 5, 0x2100);
		ck_sense(rw(op, 0, 1, UINT32_MAX), 5, 0x2100);
	}
}
END_TEST

START_TEST(six_bytes)
{
	plan_setup();
	ck_move(rw(0x08, 0, 0x1234, 3), PLAN_READ, 0x1234 * 512ull, 3 * 512ull);
	ck_move(rw(0x0a, 0, 0x1234, 3), PLAN_WRITE, 0x1234 * 512ull, 3 * 512ull);
	ck_move(rw(0x08, 0, 0, 0), PLAN_READ, 0, 256 * 512ull);
	ck_move(rw(0x0a, 0, 0, 0), PLAN_WRITE, 0, 256 * 512ull);
	ck_move(rw(0x08, 0, 0x1fffff, 1), PLAN_READ, 0x1fffffull * 512, 512);
	ck_sense(rw(0x08, 0, 0x1fffff, 2), 5, 0x2100);
	ck_sense(rw(0x0a, 0, BLOCKS - 255, 0), 5, 0x2100); /* 0 is 256 */
}
END_TEST

START_TEST(large_units)
{
	plan_setup();
	fx_lu.geo.blocks = 1ull << 40;
	fx_lu.geo.block_size = 4096;
	fx_lu.geo.max_blocks = 4096;
	ck_move(rw(0x88, 0, (1ull << 40) - 4096, 4096), PLAN_READ, (1ull << 52) - (1 << 24),
		1 << 24);
	ck_sense(rw(0x88, 0, (1ull << 40) - 4095, 4096), 5, 0x2100);
	/* The short forms reach their 32 bits and no further. */
	ck_move(rw(0x28, 0, UINT32_MAX, 1), PLAN_READ, 0xffffffffull * 4096, 4096);
	ck_move(rw(0xaa, 0, UINT32_MAX, 2), PLAN_WRITE, 0xffffffffull * 4096, 8192);
	fx_lu.geo.max_write_same = 1u << 31;
	/* 8 TiB in one command: nothing is multiplied in 32 bits. */
	ck_move(rw(0x93, 0x09, 0, 1u << 31), PLAN_COMPOUND, 0, 1ull << 43);
}
END_TEST

START_TEST(fua_and_dpo)
{
	static const uint8_t reads[] = { 0x28, 0x88, 0xa8 }, writes[] = { 0x2a, 0x8a, 0xaa };

	plan_setup();
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(!rw(reads[i], 0x10, 0, 1).fua);
		ck_assert(rw(reads[i], 0x08, 0, 1).fua);
		ck_assert(rw(reads[i], 0x18, 0, 1).fua);
		ck_assert_int_eq(rw(reads[i], 0x04, 0, 1).kind, PLAN_READ); /* RARC: ignored */
		ck_assert(!rw(writes[i], 0x10, 0, 1).fua);
		ck_assert(rw(writes[i], 0x08, 0, 1).fua);
	}
	ck_assert(!rw(0x0a, 0, 0, 1).fua);
	ck_assert(rw(0x2e, 0, 0, 1).fua); /* verified data is on the medium */
}
END_TEST

START_TEST(cache_switched_off)
{
	plan_setup();
	fx_lu.mode_current[MODE_SLOT_CACHING_2] = MODE_WCE; /* differs from the default */
	ck_assert(rw(0x0a, 0, 0, 1).fua);
	ck_assert(rw(0x2a, 0, 0, 1).fua);
	ck_assert(rw(0x93, 0, 0, 1).fua);
	ck_assert(!rw(0x28, 0, 0, 1).fua);
	fx_lu.mode_current[MODE_SLOT_CACHING_2] = 0;
	ck_assert(!rw(0x2a, 0, 0, 1).fua);
	ck_assert(!rw(0x93, 0, 0, 1).fua);
}
END_TEST

START_TEST(verify)
{
	static const struct {
		uint8_t opcode;
		bool long_lba;
		uint16_t length_field;
	} ops[] = { { 0x2f, false, 7 }, { 0x8f, true, 10 }, { 0xaf, false, 6 } };

	plan_setup();
	for (unsigned i = 0; i < 3; i++) {
		uint8_t op = ops[i].opcode;
		struct scsi_plan p = rw(op, 0x00, 2, 4);

		ck_move(p, PLAN_COMPOUND, 1024, 2048);
		ck_assert(p.compound == COMPOUND_VERIFY_MEDIUM && !p.data_length);
		p = rw(op, 0x12, 2, 4);
		ck_move(p, PLAN_COMPOUND, 1024, 2048);
		ck_assert(p.compound == COMPOUND_VERIFY_DATA && p.data_length == 2048);
		p = rw(op, 0x06, 2, 4);
		ck_move(p, PLAN_COMPOUND, 1024, 2048);
		ck_assert(p.compound == COMPOUND_VERIFY_BLOCK && p.data_length == 512);
		ck_field(rw(op, 0x04, 2, 4), 1, 2);
		for (uint8_t bytchk = 0; bytchk <= 6; bytchk = (uint8_t)(bytchk ? bytchk + 4 : 2)) {
			ck_good(rw(op, bytchk, BLOCKS, 0));
			ck_sense(rw(op, bytchk, BLOCKS + 1, 0), 5, 0x2100);
			ck_sense(rw(op, bytchk, BLOCKS - 1, 2), 5, 0x2100);
			if (ops[i].long_lba) {
				ck_sense(rw(op, bytchk, 1ull << 63, 1), 5, 0x2100);
				ck_sense(rw(op, bytchk, UINT64_MAX, 2), 5, 0x2100);
			}
		}
		/* Only data that moves is limited. */
		ck_field(rw(op, 0x02, 0, 32769), ops[i].length_field, -1);
		ck_assert_int_eq(rw(op, 0x00, 0, 32769).kind, PLAN_COMPOUND);
		ck_assert_int_eq(rw(op, 0x06, 0, 65535).kind, PLAN_COMPOUND);
	}
}
END_TEST

START_TEST(write_and_verify)
{
	static const uint8_t ops[] = { 0x2e, 0x8e, 0xae };

	plan_setup();
	for (unsigned i = 0; i < 3; i++) {
		struct scsi_plan p = rw(ops[i], 0x02, 2, 4);

		ck_move(p, PLAN_COMPOUND, 1024, 2048);
		ck_assert(p.compound == COMPOUND_WRITE_VERIFY && p.data_length == 2048);
		ck_assert_int_eq(rw(ops[i], 0x10, 2, 4).compound, COMPOUND_WRITE_VERIFY);
		ck_field(rw(ops[i], 0x04, 2, 4), 1, 2);
		ck_field(rw(ops[i], 0x06, 2, 4), 1, 2);
	}
}
END_TEST

START_TEST(write_same)
{
	static const struct {
		uint8_t opcode;
		uint16_t length_field;
	} ops[] = { { 0x41, 7 }, { 0x93, 10 } };

	plan_setup();
	for (unsigned i = 0; i < 2; i++) {
		uint8_t op = ops[i].opcode;
		struct scsi_plan p = rw(op, 0, 8, 16);

		ck_move(p, PLAN_COMPOUND, 4096, 8192);
		ck_assert(p.compound == COMPOUND_WRITE_SAME && p.data_length == 512 && !p.may_trim);
		p = rw(op, 0x08, 8, 16);
		ck_assert(p.compound == COMPOUND_WRITE_SAME && p.data_length == 512 && p.may_trim);
		/* WSNZ=1 */
		ck_field(rw(op, 0, 0, 0), ops[i].length_field, -1);
		ck_field(rw(op, 0, BLOCKS - 1, 0), ops[i].length_field, -1);
		ck_move(rw(op, 0, BLOCKS - 1, 1), PLAN_COMPOUND, (BLOCKS - 1) * 512ull, 512);
		ck_sense(rw(op, 0, BLOCKS, 0), 5, 0x2100);
		ck_sense(rw(op, 0, BLOCKS + 1, 0), 5, 0x2100);
		ck_sense(rw(op, 0, BLOCKS - 1, 2), 5, 0x2100);
		ck_sense(rw(op, 0, UINT32_MAX, 1), 5, 0x2100);
	}
	ck_field(rw(0x93, 0, 0, 0x80001), 10, -1);
	ck_move(rw(0x93, 0, 0, 0x80000), PLAN_COMPOUND, 0, 0x80000 * 512ull);
	ck_sense(rw(0x93, 0, 1ull << 63, 0), 5, 0x2100);
	ck_sense(rw(0x93, 0, UINT64_MAX, 0), 5, 0x2100);
	ck_sense(rw(0x93, 0, UINT64_MAX, 1), 5, 0x2100);
}
END_TEST

START_TEST(compare_and_write)
{
	struct scsi_plan p;

	COVERS("SB-016 OP-056");
	plan_setup();
	p = rw(0x89, 0, 8, 128);
	ck_move(p, PLAN_COMPOUND, 4096, 65536);
	ck_assert(p.compound == COMPOUND_COMPARE_WRITE && p.data_length == 131072);
	p = rw(0x89, 0x18, BLOCKS, 0); /* no blocks, no data */
	ck_move(p, PLAN_COMPOUND, BLOCKS * 512ull, 0);
	ck_assert_uint_eq(p.data_length, 0);
	ck_field(rw(0x89, 0, 8, 129), 13, -1);
	ck_field(rw(0x89, 0, BLOCKS, 255), 13, -1);
	ck_sense(rw(0x89, 0, BLOCKS, 1), 5, 0x2100);
	ck_sense(rw(0x89, 0, BLOCKS + 1, 0), 5, 0x2100);
	ck_sense(rw(0x89, 0, UINT64_MAX, 1), 5, 0x2100);
	ck_field(rw(0x89, 0x20, 8, 1), 1, 5); /* WRPROTECT */
	ck_field(rw(0x89, 0, 8, 0x101), 12, 0);
}
END_TEST

START_TEST(write_atomic)
{
	static const struct {
		uint64_t lba;
		uint32_t blocks;
		uint16_t field;
	} wrong[] = { { 4, 8, 2 }, { 8, 4, 12 }, { 8, 32776, 12 }, { 8, 65535, 12 } };

	COVERS("SB-029 SB-030 OP-064");
	plan_setup();
	ck_move(rw(0x9c, 0, 8, 32768), PLAN_COMPOUND, 4096, 16 << 20);
	ck_good(rw(0x9c, 0, 5, 0));
	ck_good(rw(0x9c, 0, BLOCKS, 0));
	for (unsigned i = 0; i < 4; i++)
		ck_field(rw(0x9c, 0, wrong[i].lba, wrong[i].blocks), wrong[i].field, -1);
	ck_sense(rw(0x9c, 0, BLOCKS, 8), 5, 0x2100);
	ck_sense(rw(0x9c, 0, BLOCKS - 1, 8), 5, 0x2100);
	ck_field(rw(0x9c, 0, 8, 0x10008), 11, 0); /* ATOMIC BOUNDARY */
	fx_lu.geo.max_atomic = 0;
	ck_sense(rw(0x9c, 0, 8, 8), 5, 0x2000);
}
END_TEST

START_TEST(write_same_without_data)
{
	struct scsi_plan p;

	plan_setup();
	p = rw(0x93, 0x01, 8, 16);
	ck_move(p, PLAN_COMPOUND, 4096, 8192);
	ck_assert(p.compound == COMPOUND_ZERO && !p.data_length && !p.may_trim);
	p = rw(0x93, 0x09, 8, 16);
	ck_assert(p.compound == COMPOUND_ZERO && !p.data_length && p.may_trim);
	ck_field(rw(0x41, 0x01, 8, 16), 1, 0);
	/* ANCHOR, with UNMAP and without. */
	ck_field(rw(0x93, 0x10, 8, 16), 1, 4);
	ck_field(rw(0x93, 0x18, 8, 16), 1, 4);
	ck_field(rw(0x41, 0x10, 8, 16), 1, 4);
	/* Nothing to give back. */
	fx_lu.geo.unmap_granularity = 0;
	ck_field(rw(0x93, 0x08, 8, 16), 1, 3);
	ck_field(rw(0x41, 0x08, 8, 16), 1, 3);
	fx_lu.geo.unmap_granularity = 8;
	fx_lu.geo.thin = false;
	ck_field(rw(0x93, 0x09, 8, 16), 1, 3);
	ck_assert_int_eq(rw(0x93, 0x01, 8, 16).kind, PLAN_COMPOUND);
}
END_TEST

START_TEST(synchronize_cache)
{
	static const uint8_t ops[] = { 0x35, 0x91 };

	plan_setup();
	for (unsigned i = 0; i < 2; i++) {
		struct scsi_plan p = rw(ops[i], 0, 8, 16);

		ck_move(p, PLAN_FLUSH, 4096, 8192);
		ck_assert(!p.immed && !p.data_length && !p.action);
		ck_move(rw(ops[i], 0, 0, 0), PLAN_FLUSH, 0, BLOCKS * 512ull);
		ck_move(rw(ops[i], 0, 8, 0), PLAN_FLUSH, 4096, BLOCKS * 512ull - 4096);
		ck_assert(rw(ops[i], 0x02, 0, 0).immed);
		ck_assert_int_eq(rw(ops[i], 0x04, 0, 1).kind, PLAN_FLUSH); /* SYNC_NV */
		ck_sense(rw(ops[i], 0, BLOCKS + 1, 0), 5, 0x2100);
		ck_sense(rw(ops[i], 0, BLOCKS - 1, 2), 5, 0x2100);
	}
	ck_sense(rw(0x91, 0, UINT64_MAX, 1), 5, 0x2100);
	ck_sense(rw(0x91, 0, 1ull << 63, 0), 5, 0x2100);
}
END_TEST

START_TEST(prefetch)
{
	static const uint8_t ops[] = { 0x34, 0x90 };

	plan_setup();
	for (unsigned i = 0; i < 2; i++) {
		ck_good(rw(ops[i], 0, 0, 1));
		ck_good(rw(ops[i], 0x02, 0, 0));
		ck_good(rw(ops[i], 0, BLOCKS - 1, 1));
		ck_sense(rw(ops[i], 0, BLOCKS - 1, 2), 5, 0x2100);
		ck_sense(rw(ops[i], 0, BLOCKS + 1, 0), 5, 0x2100);
	}
	ck_sense(rw(0x90, 0, UINT64_MAX, 0), 5, 0x2100);
	ck_sense(rw(0x90, 0, 1ull << 63, 0), 5, 0x2100);
}
END_TEST

struct unmap_case {
	uint64_t lba;
	uint32_t blocks;
};

/* A list of n descriptors; data lengths as given by the caller. */
static struct scsi_plan unmap(const struct unmap_case *d, size_t n, uint16_t descriptors_length,
			      size_t length)
{
	static uint8_t list[8 + 16 * 300];

	memset(list, 0, sizeof(list));
	put_be16(list, (uint16_t)(descriptors_length + 6));
	put_be16(list + 2, descriptors_length);
	for (size_t i = 0; i < n; i++) {
		put_be64(list + 8 + 16 * i, d[i].lba);
		put_be32(list + 16 + 16 * i, d[i].blocks);
	}
	fx_cdb[0] = 0x42;
	return sbc_params_unmap(&fx_rq, list, length);
}

#define UNMAP(...)                                                                                 \
	unmap((const struct unmap_case[]){ __VA_ARGS__ },                                          \
	      sizeof((const struct unmap_case[]){ __VA_ARGS__ }) / sizeof(struct unmap_case),      \
	      (uint16_t)sizeof((const struct unmap_case[]){ __VA_ARGS__ }),                        \
	      8 + sizeof((const struct unmap_case[]){ __VA_ARGS__ }))
_Static_assert(sizeof(struct unmap_case) == 16, "as long as a descriptor");

START_TEST(unmap_lengths)
{
	struct scsi_plan p;

	plan_setup();
	ck_good(PLAN(0x42, 0, 0, 0, 0, 0, 0, 0, 0));
	for (uint8_t n = 1; n < 8; n++) {
		ck_sense(PLAN(0x42, 0, 0, 0, 0, 0, 0, 0, n), 5, 0x1a00);
		ck_sense(unmap(NULL, 0, 0, n), 5, 0x1a00); /* cut short on the way */
	}
	p = PLAN(0x42, 0, 0, 0, 0, 0, 0, 0xff, 0xff);
	ck_assert(p.kind == PLAN_COLLECT && p.data_length == 65535);
	ck_field(PLAN(0x42, 0x01, 0, 0, 0, 0, 0, 0, 24), 1, 0); /* ANCHOR */
	ck_good(unmap(NULL, 0, 0, 8));
}
END_TEST

START_TEST(unmap_descriptors)
{
	const struct unmap_case two[] = { { 8, 8 }, { 64, 8 } };
	struct scsi_plan p;

	plan_setup();
	p = UNMAP({ 8, 8 });
	ck_move(p, PLAN_COMPOUND, 4096, 4096);
	ck_assert(p.compound == COMPOUND_UNMAP && p.may_trim);
	/* Any order, overlapping: the plan spans all. */
	p = UNMAP({ 64, 8 }, { 8, 8 }, { 12, 8 });
	ck_move(p, PLAN_COMPOUND, 4096, 64 * 512ull);
	/* A partial last descriptor is ignored; so is what the list does not hold. */
	ck_move(unmap(two, 2, 31, 8 + 32), PLAN_COMPOUND, 4096, 4096);
	ck_move(unmap(two, 2, 32, 8 + 31), PLAN_COMPOUND, 4096, 4096);
	ck_good(unmap(two, 2, 15, 8 + 32));
	ck_good(unmap(two, 2, 32, 8));
	/* No blocks is no error, up to last + 1. */
	ck_good(UNMAP({ 0, 0 }));
	ck_good(UNMAP({ BLOCKS, 0 }));
	ck_move(UNMAP({ BLOCKS, 0 }, { 8, 8 }), PLAN_COMPOUND, 4096, 4096);
	ck_sense(UNMAP({ BLOCKS + 1, 0 }), 5, 0x2100);
	ck_sense(UNMAP({ BLOCKS, 1 }), 5, 0x2100);
	ck_sense(UNMAP({ 1ull << 63, 1 }), 5, 0x2100);
	ck_sense(UNMAP({ UINT64_MAX, 1 }), 5, 0x2100);
	ck_sense(UNMAP({ UINT64_MAX, UINT32_MAX }), 5, 0x2100);
	/* The last descriptor is at fault: nothing is planned. */
	ck_sense(UNMAP({ 8, 8 }, { BLOCKS - 1, 2 }), 5, 0x2100);
}
END_TEST

START_TEST(unmap_limits)
{
	static struct unmap_case many[257];
	struct scsi_plan p;

	plan_setup();
	for (unsigned i = 0; i < 257; i++)
		many[i] = (struct unmap_case){ i * 8ull, 8 };
	ck_move(unmap(many, 256, 256 * 16, 8 + 256 * 16), PLAN_COMPOUND, 0, 256 * 4096ull);
	p = unmap(many, 257, 257 * 16, 8 + 257 * 16);
	ck_sense(p, 5, 0x2600);
	ck_assert(p.sense.field_valid && !p.sense.field_in_cdb && p.sense.field == 2);
	ck_move(UNMAP({ 0, 0x100000 }), PLAN_COMPOUND, 0, 0x100000ull * 512);
	p = UNMAP({ 0, 0x100000 }, { 0x100000, 1 });
	ck_sense(p, 5, 0x2600);
	ck_assert_uint_eq(p.sense.field, 8 + 16 + 8);
}
END_TEST

SUITE_COVERS("SB-001 SB-002 SB-003 SB-004 SB-005 SB-007 SB-013 SB-014 SB-015 SB-021 SB-022 "
	     "SB-023 SB-024 SB-026 SB-042 SP-002 SP-003 SP-004 SP-005 SP-006 SP-007 SP-008 "
	     "SG-006 SG-007 fault-E13 fault-E20");

UNIT_MAIN("scsi/sbc", moves_at_the_boundaries, six_bytes, large_units, fua_and_dpo,
	  cache_switched_off, verify, write_and_verify, write_same, compare_and_write, write_atomic,
	  write_same_without_data, synchronize_cache, prefetch, unmap_lengths, unmap_descriptors,
	  unmap_limits)
