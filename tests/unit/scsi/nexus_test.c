/* SPDX-License-Identifier: BSD-2-Clause */
/* Nexuses, their maps, and unit attentions. */
#include "tests/unit/scsi/exec_fixture.h"

static struct itl *itl0(unsigned nexus)
{
	return nexus_find(&fx_nexus[nexus], 0);
}

/* Everything pending, in the order in which it is told. */
static void expect_ua(struct itl *itl, unsigned n, const uint16_t *codes)
{
	uint16_t ua;

	for (unsigned i = 0; i < n; i++) {
		ck_assert(atomic_load(&itl->gate) & GATE_UA);
		ck_assert(itl_ua_peek(itl, &ua));
		ck_assert_uint_eq(ua, codes[i]);
		ck_assert(itl_ua_take(itl, &ua));
		ck_assert_uint_eq(ua, codes[i]);
	}
	ck_assert(!(atomic_load(&itl->gate) & GATE_UA));
	ck_assert(!itl_ua_take(itl, &ua) && !itl_ua_peek(itl, &ua));
}

START_TEST(order_of_unit_attentions)
{
	COVERS("SU-009");
	static const struct {
		unsigned n_raised;
		uint16_t raised[6];
		unsigned n;
		uint16_t told[6];
	} rows[] = {
		{ 3, { 0x2a01, 0x2a09, 0x3f0e }, 3, { 0x2a01, 0x2a09, 0x3f0e } },
		{ 3, { 0x2a01, 0x2a01, 0x2a01 }, 1, { 0x2a01 } },
		{ 3, { 0x2a01, 0x2903, 0x3f0e }, 3, { 0x2903, 0x2a01, 0x3f0e } },
		{ 3, { 0x2903, 0x2902, 0x2907 }, 1, { 0x2902 } },
		{ 2, { 0x2907, 0x2903 }, 1, { 0x2903 } },
		{ 2, { 0x2902, 0x2903 }, 1, { 0x2902 } },
		{ 3, { 0x2a01, 0x2903, 0x2901 }, 1, { 0x2901 } },
		{ 3, { 0x2a01, 0x2900, 0x2a09 }, 2, { 0x2900, 0x2a09 } },
		{ 2, { 0x2900, 0x2901 }, 1, { 0x2900 } },
	};

	fx_setup(FX_FILE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned r = 0; r < rows[i].n_raised; r++)
			itl_ua(itl0(0), rows[i].raised[r]);
		expect_ua(itl0(0), rows[i].n, rows[i].told);
	}
	fx_teardown();
}
END_TEST

START_TEST(unit_attentions_overflow)
{
	COVERS("SU-010");
	static const uint16_t all[] = { ASC_RESET };
	uint16_t ua;

	fx_setup(FX_FILE);
	for (unsigned i = 0; i <= ITL_UA_MAX; i++)
		itl_ua(itl0(0), (uint16_t)(0x2a00 + i));
	expect_ua(itl0(0), 1, all);
	for (unsigned i = 0; i < 1000; i++)
		itl_ua(itl0(0), (uint16_t)(0x2a00 + i % 100));
	ck_assert(itl_ua_take(itl0(0), &ua));
	ck_assert_uint_eq(ua, ASC_RESET);
	fx_take_ua(&fx_nexus[0]);
	/* A reset that finds the queue full stands for all of it. */
	for (unsigned i = 0; i < ITL_UA_MAX; i++)
		itl_ua(itl0(0), (uint16_t)(0x2a00 + i));
	itl_ua(itl0(0), ASC_DEVICE_RESET);
	expect_ua(itl0(0), 1, all);
	fx_teardown();
}
END_TEST

START_TEST(unit_attentions_of_all)
{
	COVERS("SU-022 SU-013");
	static const uint16_t one[] = { 0x2a01 };

	fx_setup(FX_FILE);
	lu_ua_all(fx_lu, 0x2a01, &fx_nexus[1]);
	expect_ua(itl0(0), 1, one);
	expect_ua(itl0(1), 0, NULL);
	expect_ua(itl0(2), 1, one);
	fx_teardown();
}
END_TEST

/* Two LUs under many numbers. */
static struct scsi_lun_map *map_of(const uint64_t *luns, unsigned n, struct scsi_lu *lu)
{
	struct scsi_lun_entry e[8];

	for (unsigned i = 0; i < n; i++)
		e[i] = (struct scsi_lun_entry){ .lun = luns[i], .lu = lu };
	return lun_map_create(e, n);
}

START_TEST(finds_luns)
{
	COVERS("fault-E15 SN-001 SN-002");
	static const uint64_t luns[] = { 0, 1, 255, 256, 5000, 16383 };
	static const uint64_t absent[] = { 2, 254, 257, 4999, 16384, SCSI_LUN_INVALID };
	struct scsi_lun_map *map;

	fx_setup(FX_FILE);
	map = map_of(luns, 6, fx_lu);
	ck_assert_int_eq(nexus_remap(&fx_nexus[0], map), 0);
	for (int i = 0; i < 6; i++) {
		ck_assert_uint_eq(nexus_find(&fx_nexus[0], luns[i])->lun, luns[i]);
		ck_assert_ptr_null(nexus_find(&fx_nexus[0], absent[i]));
	}
	lun_map_unref(map);
	fx_teardown();
}
END_TEST

START_TEST(remap)
{
	COVERS("SU-014 SU-006 fault-K02 SN-017");
	static const uint64_t three[] = { 0, 1, 300 }, two[] = { 1, 2 };
	static const uint16_t changed[] = { ASC_LUNS_CHANGED }, fresh[] = { ASC_RESET };
	struct it_nexus *n = &fx_nexus[0];
	struct scsi_lun_map *a, *b;
	struct itl *kept;

	fx_setup(FX_FILE);
	a = map_of(three, 3, fx_lu);
	b = map_of(two, 2, fx_lu);
	ck_assert_int_eq(nexus_remap(n, fx_map), 0); /* nothing changes */
	expect_ua(itl0(0), 0, NULL);
	kept = itl0(0);
	ck_assert_int_eq(nexus_remap(n, a), 0);
	ck_assert_ptr_eq(itl0(0), kept);
	expect_ua(itl0(0), 1, changed);
	expect_ua(nexus_find(n, 1), 1, fresh);
	expect_ua(nexus_find(n, 300), 1, fresh);
	expect_ua(itl0(1), 0, NULL); /* the other nexus has its own map */
	kept = nexus_find(n, 1);
	ck_assert_int_eq(nexus_remap(n, b), 0);
	ck_assert_ptr_null(nexus_find(n, 0));
	ck_assert_ptr_null(nexus_find(n, 300));
	ck_assert_ptr_eq(nexus_find(n, 1), kept);
	expect_ua(kept, 1, changed);
	expect_ua(nexus_find(n, 2), 1, fresh);
	fx_turn();
	ck_assert(list_empty(&n->leaving));
	lun_map_unref(a);
	lun_map_unref(b);
	fx_teardown();
}
END_TEST

/* Another unit under the same number, or other rights: not the same thing any more. */
START_TEST(remap_to_another)
{
	struct scsi_lun_entry e = { .lun = 0 };
	struct fake_store *s = fake_store_new(1 << 20, FX_FILE);
	static const uint16_t other[] = { ASC_RESET, ASC_INQUIRY_CHANGED, ASC_CAPACITY_CHANGED };
	static const uint16_t resized[] = { ASC_RESET, ASC_MODE_CHANGED, ASC_CAPACITY_CHANGED };
	static const uint16_t writable[] = { ASC_MODE_CHANGED };
	struct it_nexus *n = &fx_nexus[0];
	struct fake_task *f;
	struct scsi_lun_map *map;
	struct scsi_lu *lu, *larger;
	struct itl *was;

	COVERS("SU-015");
	fx_setup(FX_FILE);
	lu = fx_new_lu(s);
	lu->id.naa[0] = 0x60;
	e.lu = lu;
	map = lun_map_create(&e, 1);
	ck_assert_int_eq(nexus_remap(n, map), 0);
	ck_assert_ptr_eq(itl0(0)->lu, lu);
	expect_ua(itl0(0), 3, other);
	fx_take_ua(n);
	lun_map_unref(map);
	/* Only what may be done with it: the nexus stays, and what it did. */
	was = itl0(0);
	for (int read_only = 1; read_only >= 0; read_only--) {
		e.read_only = read_only;
		map = lun_map_create(&e, 1);
		ck_assert_int_eq(nexus_remap(n, map), 0);
		ck_assert_ptr_eq(itl0(0), was);
		expect_ua(was, 1, writable);
		fx_take_ua(n);
		f = fx_write(n, 0, 1, (uint8_t[FX_BLOCK]){ 0 });
		fx_expect(f, read_only ? SENSE_DATA_PROTECT : 0, read_only ? 0x2700 : 0);
		lun_map_unref(map);
	}
	/* The same unit as another object. */
	larger = fx_new_lu(fx_store);
	larger->id = lu->id;
	larger->geo.read_only = true;
	e.lu = larger;
	map = lun_map_create(&e, 1);
	ck_assert_int_eq(nexus_remap(n, map), 0);
	expect_ua(itl0(0), 3, resized);
	lun_map_unref(map);
	lu_unref(larger);
	lu_unref(lu);
	nexus_destroy(n);
	fake_store_free(s);
	fx_teardown();
}
END_TEST

/* REPORT LUNS answers 3F/0E on all LUs of its nexus, and nothing else. */
START_TEST(report_luns_clears)
{
	COVERS("SU-003");
	static const uint64_t luns[] = { 0, 300 };
	static const uint16_t left[] = { 0x2a09 };
	uint8_t cdb[12] = { 0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 64 };
	struct it_nexus *n = &fx_nexus[0];
	struct scsi_lun_map *map;
	struct fake_task *f;

	fx_setup(FX_FILE);
	map = map_of(luns, 2, fx_lu);
	ck_assert_int_eq(nexus_remap(n, map), 0);
	fx_take_ua(n);
	itl_ua(itl0(0), ASC_LUNS_CHANGED);
	itl_ua(itl0(0), 0x2a09);
	itl_ua(itl0(1), ASC_LUNS_CHANGED);
	itl_ua(nexus_find(n, 300), ASC_LUNS_CHANGED);
	f = fx_task(n, cdb, 12);
	fake_task_in(f, 64);
	fx_expect(f, 0, 0);
	expect_ua(itl0(0), 1, left);
	expect_ua(nexus_find(n, 300), 0, NULL);
	ck_assert(atomic_load(&itl0(1)->gate) & GATE_UA);
	lun_map_unref(map);
	fx_teardown();
}
END_TEST

/* A configuration names its LUNs in any order, and changes it. */
START_TEST(luns_in_any_order)
{
	static const uint64_t orders[][5] = {
		{ 0, 5, 1, 300, 2 }, { 300, 2, 1, 0, 5 }, { 5, 1, 300, 2, 0 }, { 1, 300, 2, 5, 0 }
	};
	struct it_nexus *n = &fx_nexus[0];

	fx_setup(FX_FILE);
	for (unsigned i = 0; i < 4; i++) {
		struct scsi_lun_map *map = map_of(orders[i], 5 - i % 2, fx_lu);

		ck_assert_int_eq(nexus_remap(n, map), 0);
		for (unsigned l = 0; l < map->n; l++) {
			ck_assert(!l || map->entries[l - 1].lun < map->entries[l].lun);
			ck_assert_ptr_nonnull(nexus_find(n, orders[i][l]));
			ck_assert_uint_eq(nexus_find(n, orders[i][l])->lun, orders[i][l]);
		}
		fx_take_ua(n);
		fx_turn(); /* what has left is freed */
		lun_map_unref(map);
	}
	fx_expect(fx_tur(n), SENSE_ILLEGAL_REQUEST, 0x2500);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/nexus", order_of_unit_attentions, unit_attentions_overflow, unit_attentions_of_all,
	  finds_luns, remap, remap_to_another, report_luns_clears, luns_in_any_order)
