/* SPDX-License-Identifier: BSD-2-Clause */
/* LUs and LUN maps. */
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

static const struct lu_params thin = { .block_size = 512, .thin = true };

/* One field of it: an atomic field of a value cannot be read in place. */
#define GEO(p, i, field)                                                                           \
	({                                                                                         \
		struct lu_geometry geo_ = geometry(p, i);                                          \
		atomic_load(&geo_.field);                                                          \
	})

START_TEST(what_does_not_fit)
{
	static const struct {
		uint32_t block, physical, store_block;
		uint64_t size;
		bool fits;
	} rows[] = {
		{ 512, 0, 1, 4096, true },       { 4096, 0, 1, 4096, true },
		{ 512, 4096, 512, 4096, true },  { 520, 0, 1, 4096, false },
		{ 1024, 0, 1, 4096, false },     { 0, 0, 1, 4096, false },
		{ 4096, 512, 1, 4096, false },   { 512, 3000, 1, 4096, false },
		{ 512, 131072, 1, 4096, false }, { 512, 0, 4096, 4096, false },
		{ 4096, 0, 4096, 4095, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lu_params p = { .block_size = rows[i].block,
				       .physical_block = rows[i].physical };
		struct backing b = { .info = { .size = rows[i].size,
					       .logical_block = rows[i].store_block } };
		const char *why = NULL;
		struct scsi_lu *lu;
		int rc = lu_create(&p, &b, &lu, &why);

		ck_assert_int_eq(rc, rows[i].fits ? 0 : -EINVAL);
		if (rc)
			ck_assert_ptr_nonnull(why);
		else
			lu_unref(lu);
	}
}
END_TEST

static struct lu_geometry geometry(const struct lu_params *p, const struct backing_info *info)
{
	struct backing b = { .info = *info };
	struct lu_geometry g;
	struct scsi_lu *lu;
	const char *why;

	ck_assert_int_eq(lu_create(p, &b, &lu, &why), 0);
	g = lu->geo;
	lu_unref(lu);
	return g;
}

/* What a store cannot do is not offered. */
START_TEST(thin_is_what_the_store_can)
{
	COVERS("fault-G07 fault-G03 SP-001 SP-010");
	struct backing_info i = { .size = 1 << 20,
				  .logical_block = 512,
				  .physical_block = 4096,
				  .trim_granularity = 65536,
				  .trim_alignment = 4096,
				  .flags = BACKING_CAN_TRIM | BACKING_TRIM_ZEROES };
	struct lu_params thick = { .block_size = 512 };
	struct lu_geometry g = geometry(&thin, &i);

	ck_assert(g.thin && g.zeroes_after_unmap);
	ck_assert_uint_eq(g.unmap_granularity, 128);
	ck_assert_uint_eq(g.unmap_alignment, 8);
	ck_assert_uint_eq(g.physical_exponent, 3);
	ck_assert_uint_ge(g.max_unmap_descriptors, 2);
	ck_assert_uint_le(g.max_unmap_descriptors, 256);
	i.trim_granularity = 1;
	ck_assert_uint_eq(GEO(&thin, &i, unmap_granularity), 1);
	i.trim_granularity = 1000;
	ck_assert(!GEO(&thin, &i, thin));
	i.trim_granularity = 4096;
	i.flags = BACKING_CAN_TRIM;
	ck_assert(!GEO(&thin, &i, zeroes_after_unmap));
	i.flags = 0;
	g = geometry(&thin, &i);
	ck_assert(!g.thin && !g.unmap_granularity && !g.max_unmap_blocks);
	i.flags = BACKING_CAN_TRIM;
	g = geometry(&thick, &i);
	ck_assert(!g.thin && !g.unmap_granularity);
}
END_TEST

START_TEST(flags_of_the_store)
{
	COVERS("SB-010");
	struct backing_info i = { .size = 1 << 20, .logical_block = 1 };
	struct lu_params p = { .block_size = 4096, .physical_block = 32768 };
	struct lu_geometry g = geometry(&p, &i);

	ck_assert(!g.read_only && !g.write_cache && !g.rotational);
	ck_assert_uint_eq(g.blocks, 256);
	ck_assert_uint_eq(g.physical_exponent, 3);
	i.flags = BACKING_READ_ONLY | BACKING_VOLATILE_CACHE | BACKING_ROTATIONAL;
	g = geometry(&p, &i);
	ck_assert(g.read_only && g.write_cache && g.rotational);
	p.has_rotation = true;
	ck_assert(!GEO(&p, &i, rotational));
}
END_TEST

START_TEST(lun_formats)
{
	COVERS("SN-001 SN-002 SN-003 SN-004 SN-005 fault-E15");
	static const struct {
		uint8_t bytes[8];
		uint64_t lun;
	} rows[] = {
		{ { 0, 0 }, 0 },
		{ { 0, 1 }, 1 },
		{ { 0, 255 }, 255 },
		{ { 0x40, 0 }, 0 },
		{ { 0x40, 1 }, 1 },
		{ { 0x41, 0 }, 256 },
		{ { 0x7f, 0xff }, 16383 },
		{ { 1, 0 }, SCSI_LUN_INVALID },
		{ { 0x3f, 0 }, SCSI_LUN_INVALID },
		{ { 0x80, 0 }, SCSI_LUN_INVALID },
		{ { 0xc1, 0x01 }, SCSI_LUN_INVALID },
		{ { 0xd2, 0, 1 }, SCSI_LUN_INVALID },
		{ { 0, 1, 0, 1 }, SCSI_LUN_INVALID },
		{ { 0, 0, 0, 0, 0, 0, 0, 1 }, SCSI_LUN_INVALID },
	};
	uint8_t out[8];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_uint_eq(scsi_lun_decode(rows[i].bytes), rows[i].lun);
	for (uint64_t lun = 0; lun < 16384; lun++) {
		scsi_lun_encode(lun, out);
		ck_assert_uint_eq(scsi_lun_decode(out), lun);
		ck_assert_uint_eq(out[0] & 0xc0, lun < 256 ? 0 : 0x40);
	}
}
END_TEST

static unsigned n_destroyed;

static void destroyed(struct scsi_lu *lu, void *arg)
{
	(void)lu;
	n_destroyed++;
	ck_assert_ptr_eq(arg, &n_destroyed);
}

START_TEST(maps_hold_units)
{
	struct scsi_lun_entry e[2];
	struct scsi_lun_map *a, *b;
	const char *why;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(lu_create(&thin, NULL, &e[i].lu, &why), 0);
		e[i].lun = (uint64_t)i;
		e[i].read_only = false;
		e[i].lu->destroyed = destroyed;
		e[i].lu->destroyed_arg = &n_destroyed;
	}
	a = lun_map_create(e, 2);
	b = lun_map_create(e, 1);
	lu_unref(e[0].lu);
	lu_unref(e[1].lu);
	lun_map_ref(a);
	lun_map_unref(a);
	ck_assert_uint_eq(n_destroyed, 0);
	lun_map_unref(a);
	ck_assert_uint_eq(n_destroyed, 1);
	lun_map_unref(b);
	ck_assert_uint_eq(n_destroyed, 2);
	lun_map_unref(NULL);
}
END_TEST

/* Out of service until the store is there. */
START_TEST(store_comes_later)
{
	COVERS("SS-013 SU-021 fault-K05");
	struct lu_params p = { .block_size = 512, .thin = true };
	struct scsi_lun_entry e[2] = { { .lun = 0 }, { .lun = 1 } };
	static const uint8_t tur[6];
	struct scsi_lun_map *map;
	struct it_nexus *n = &fx_nexus[0];
	struct fake_store *s = fake_store_new(1 << 20, FX_FILE);
	struct scsi_lu *lu;
	const char *why;

	fx_setup(FX_FILE);
	ck_assert_int_eq(lu_create(&p, NULL, &lu, &why), 0);
	e[0].lu = fx_lu;
	e[1].lu = lu;
	map = lun_map_create(e, 2);
	ck_assert_int_eq(nexus_remap(n, map), 0);
	fx_take_ua(n);
	fx_expect(fake_task_new(n, 1, tur, 6), SENSE_NOT_READY, 0x0403);
	fx_expect(fake_task_new(n, 0, tur, 6), 0, 0);
	ck_assert_int_eq(lu_attach(lu, &p, &s->b, &why), 0);
	ck_assert_int_eq(lu_attach(lu, &p, &s->b, &why), -EINVAL);
	fx_expect(fake_task_new(n, 1, tur, 6), SENSE_UNIT_ATTENTION, ASC_NOT_READY_TO_READY);
	fx_expect(fake_task_new(n, 1, tur, 6), SENSE_UNIT_ATTENTION, ASC_CAPACITY_CHANGED);
	fx_expect(fake_task_new(n, 1, tur, 6), 0, 0);
	ck_assert_uint_eq(s->queues, 1);
	ck_assert_uint_eq(lu->geo.blocks, 2048);
	nexus_destroy(n);
	ck_assert_uint_eq(s->queues, 0);
	lun_map_unref(map);
	lu_unref(lu);
	fake_store_free(s);
	fx_teardown();
}
END_TEST

/* Another reactor that looks meanwhile (INQUIRY asks for no store) sees what was or what is to be,
 * never a value on its way. Under tsan any plain access is found, too. */
struct looker {
	struct scsi_lu *lu;
	_Atomic bool stop;
	_Atomic unsigned looks, wrong;
};

static void *look(void *arg)
{
	struct looker *k = arg;

	while (!atomic_load(&k->stop)) {
		const struct lu_geometry *g = &k->lu->geo;

		/* The store's unit of trimming is odd: it never becomes a thin one. */
		k->wrong += g->thin || g->unmap_granularity || g->max_unmap_blocks;
		k->wrong += g->blocks && g->blocks != 2048;
		k->wrong += g->physical_exponent != 0 && g->physical_exponent != 3;
		k->wrong += !g->read_only;
		k->looks++;
	}
	return NULL;
}

START_TEST(looked_at_while_the_store_comes)
{
	struct lu_params p = { .block_size = 512, .thin = true, .read_only = true };
	struct fake_store *s = fake_store_new(1 << 20, FX_FILE);
	struct looker k = { 0 };
	const char *why;
	pthread_t thread;

	s->b.info.physical_block = 4096;
	s->b.info.trim_granularity = 4096 + 100;
	for (int n = 0; n < 300; n++) {
		unsigned looks = k.looks;

		ck_assert_int_eq(lu_create(&p, NULL, &k.lu, &why), 0);
		k.stop = false;
		ck_assert_int_eq(pthread_create(&thread, NULL, look, &k), 0);
		while (k.looks == looks)
			sched_yield();
		ck_assert_int_eq(lu_attach(k.lu, &p, &s->b, &why), 0);
		k.stop = true;
		pthread_join(thread, NULL);
		lu_unref(k.lu);
	}
	ck_assert_uint_eq(k.wrong, 0);
	fake_store_free(s);
}
END_TEST

/* The first to want the store of a unit that had none is a stop: it flushes before it stops. */
START_TEST(stop_of_a_store_that_came_later)
{
	struct lu_params p = { .block_size = 512 };
	struct scsi_lun_entry e[2] = { { .lun = 0 }, { .lun = 1 } };
	static const uint8_t stop[6] = { 0x1b };
	struct scsi_lun_map *map;
	struct it_nexus *n = &fx_nexus[0];
	struct fake_store *s = fake_store_new(1 << 20, FX_FILE);
	struct scsi_lu *lu;
	const char *why;

	fx_setup(FX_FILE);
	ck_assert_int_eq(lu_create(&p, NULL, &lu, &why), 0);
	e[0].lu = fx_lu;
	e[1].lu = lu;
	map = lun_map_create(e, 2);
	ck_assert_int_eq(nexus_remap(n, map), 0);
	fx_take_ua(n);
	ck_assert_int_eq(lu_attach(lu, &p, &s->b, &why), 0);
	fx_take_ua(n);
	fx_expect(fake_task_new(n, 1, stop, 6), 0, 0);
	ck_assert_uint_eq(s->count[BACKING_FLUSH], 1);
	nexus_destroy(n);
	lun_map_unref(map);
	lu_unref(lu);
	fake_store_free(s);
	fx_teardown();
}
END_TEST

/* One queue for each reactor, open while somebody uses it. */
START_TEST(queues)
{
	struct backing_queue *a, *b;

	fx_setup(FX_FILE);
	ck_assert_uint_eq(fx_store->queues, 1);
	ck_assert_int_eq(lu_queue_get(fx_lu, fx_reactor, &a), 0);
	ck_assert_int_eq(lu_queue_get(fx_lu, fx_reactor, &b), 0);
	ck_assert_ptr_eq(a, b);
	for (int i = 0; i < FX_NEXUS; i++)
		nexus_destroy(&fx_nexus[i]);
	lu_queue_put(fx_lu, fx_reactor);
	ck_assert_uint_eq(fx_store->queues, 1);
	lu_queue_put(fx_lu, fx_reactor);
	ck_assert_uint_eq(fx_store->queues, 0);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/lu", what_does_not_fit, thin_is_what_the_store_can, flags_of_the_store, lun_formats,
	  maps_hold_units, store_comes_later, looked_at_while_the_store_comes,
	  stop_of_a_store_that_came_later, queues)
