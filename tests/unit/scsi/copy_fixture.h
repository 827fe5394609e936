/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two LUs on stores of their own, LUN 0 and LUN 1 of every nexus, and a copy job between them.
 *
 * Threads: one. Ownership: static, see exec_fixture.h.
 */
#ifndef HAWSER_TESTS_COPY_FIXTURE_H
#define HAWSER_TESTS_COPY_FIXTURE_H

#include "scsi/copy_internal.h"
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

#define CX_BLOCKS (FX_SIZE / FX_BLOCK)

static struct fake_store *cx_store;
static struct scsi_lu *cx_lu;
static uint8_t cx_before[FX_SIZE]; /* of the destination store */
static struct copy_job cx_job;
static struct copy_range cx_range;
static unsigned cx_done;

/* The LUNs that all nexuses see from now on; LUN 1 read-only if asked for. */
static inline void cx_remap(bool second, bool read_only)
{
	struct scsi_lun_entry e[2] = { { .lun = 0, .lu = fx_lu },
				       { .lun = 1, .lu = cx_lu, .read_only = read_only } };
	struct scsi_lun_map *map = lun_map_create(e, second ? 2 : 1);

	for (int i = 0; i < FX_NEXUS; i++) {
		ck_assert_int_eq(nexus_remap(&fx_nexus[i], map), 0);
		fx_take_ua(&fx_nexus[i]);
	}
	lun_map_unref(fx_map);
	fx_map = map;
}

static inline void cx_setup(unsigned flags, size_t arena)
{
	fx_setup_arena(flags, arena);
	cx_store = fake_store_new(FX_SIZE, flags);
	cx_lu = fx_new_lu(cx_store);
	memcpy(cx_lu->id.naa, "\x6zzzzzzzzzzzzzz2", 16);
	cx_remap(true, false);
	fx_pattern(fx_store->bytes, FX_SIZE, 1);
	memset(fx_store->allocated, 1, FX_SIZE / FAKE_STORE_UNIT);
	fx_pattern(cx_store->bytes, FX_SIZE, 77);
	memset(cx_store->allocated, 1, FX_SIZE / FAKE_STORE_UNIT);
	memcpy(cx_before, cx_store->bytes, FX_SIZE);
	cx_done = 0;
}

static inline void cx_teardown(void)
{
	for (int i = 0; i < FX_NEXUS; i++)
		nexus_destroy(&fx_nexus[i]);
	lun_map_unref(fx_map);
	fx_map = NULL;
	ck_assert_uint_eq(atomic_load(&cx_lu->refs), 1);
	ck_assert_uint_eq(atomic_load(&cx_lu->copy_bytes), 0);
	ck_assert_uint_eq(atomic_load(&fx_lu->copy_bytes), 0);
	ck_assert_uint_eq(scsi_home(fx_reactor)->copy_bytes, 0);
	ck_assert_uint_eq(pool_in_use(scsi_home(fx_reactor)->copies), 0);
	lu_unref(cx_lu);
	fx_teardown();
	fake_store_free(cx_store);
}

static inline void cx_ended(struct copy_job *job)
{
	ck_assert_ptr_null(job->copy);
	cx_done++;
}

/* One range of LUN 0 to LUN 1, or within LUN 0; begun. */
static inline void cx_start(uint64_t from, uint64_t to, uint64_t blocks, bool within)
{
	cx_range = (struct copy_range){ from, to, blocks };
	cx_job = (struct copy_job){ .nexus = &fx_nexus[0],
				    .source = fx_lu,
				    .destination_lun = within ? 0 : 1,
				    .destination = within ? fx_lu : cx_lu,
				    .ranges = &cx_range,
				    .n_ranges = 1,
				    .done = cx_ended };
	cx_done = 0;
	ck_assert_int_eq(copy_start(&cx_job), 0);
	ck_assert(!cx_done);
}

static inline void cx_finish(void)
{
	for (int i = 0; i < 10000 && !cx_done; i++)
		fx_turn();
	ck_assert_uint_eq(cx_done, 1);
}

static inline void cx_expect_good(void)
{
	cx_finish();
	ck_assert_uint_eq(cx_job.side, COPY_NEITHER);
	ck_assert_uint_eq(cx_job.status, SCSI_GOOD);
	ck_assert_uint_eq(cx_job.bytes, FX_AT(cx_range.blocks));
}

/* Failed by a side with CHECK CONDITION and this sense, or with a status alone. */
static inline void cx_expect_failure(enum copy_side side, uint8_t key_or_status, uint16_t asc)
{
	cx_finish();
	ck_assert_uint_eq(cx_job.side, side);
	if (!asc) {
		ck_assert_uint_eq(cx_job.status, key_or_status);
		return;
	}
	ck_assert_uint_eq(cx_job.status, SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(cx_job.sense.key, key_or_status);
	ck_assert_uint_eq(cx_job.sense.asc_ascq, asc);
}

/* The destination differs from what it was in these blocks only. */
static inline void cx_others_untouched(uint64_t lba, uint64_t blocks)
{
	fx_others_untouched(cx_store, cx_before, lba, blocks);
}

#endif
