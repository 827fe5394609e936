/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reactor turned by hand, an arena, one fake store with an LU of 512-byte blocks on it, and
 * nexuses of one LUN.
 *
 * Threads: one. Ownership: static; fx_setup and fx_teardown.
 */
#ifndef HAWSER_TESTS_EXEC_FIXTURE_H
#define HAWSER_TESTS_EXEC_FIXTURE_H

#include "daemon/base/bytes.h"
#include "scsi/home.h"
#include "scsi/lu.h"
#include "scsi/scsi.h"
#include "tests/unit/fake_port.h"
#include "tests/unit/fake_store.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define FX_SIZE    (16u << 20)
#define FX_ARENA   (8u << 20)
#define FX_BLOCK   512u
#define FX_AT(lba) ((size_t)(lba)*FX_BLOCK) /* byte of the medium */
#define FX_NEXUS   3
#define FX_FILE    (BACKING_VOLATILE_CACHE | BACKING_CAN_TRIM | BACKING_TRIM_ZEROES | BACKING_THIN)

static struct reactor *fx_reactor;
static struct arena *fx_arena;
static struct fake_store *fx_store;
static struct scsi_lu *fx_lu;
static struct scsi_lun_map *fx_map;
static struct it_nexus fx_nexus[FX_NEXUS];
static bool fx_lu_gone;

static void fx_destroyed(struct scsi_lu *lu, void *arg)
{
	(void)lu;
	(void)arg;
	fx_lu_gone = true;
}

static struct scsi_lu *fx_new_lu(struct fake_store *s)
{
	const struct lu_params p = { .block_size = FX_BLOCK, .thin = true, .removable = true };
	struct scsi_lu *lu;
	const char *why;

	ck_assert_int_eq(lu_create(&p, s ? &s->b : NULL, &lu, &why), 0);
	return lu;
}

static void fx_take_ua(struct it_nexus *n)
{
	uint16_t ua;

	for (unsigned i = 0; i < n->n_itls; i++)
		while (itl_ua_take(n->itls[i], &ua))
			;
}

static void fx_setup_arena(unsigned flags, size_t arena)
{
	struct scsi_lun_entry e;

	ck_assert_int_eq(reactor_create(0, "test", &fx_reactor), 0);
	ck_assert_int_eq(arena_create(arena, &fx_arena), 0);
	ck_assert_int_eq(scsi_reactor_start(fx_reactor, fx_arena), 0);
	fx_store = fake_store_new(FX_SIZE, flags);
	fx_lu = fx_new_lu(fx_store);
	fx_lu->destroyed = fx_destroyed;
	e = (struct scsi_lun_entry){ .lun = 0, .lu = fx_lu };
	fx_map = lun_map_create(&e, 1);
	for (int i = 0; i < FX_NEXUS; i++) {
		memset(&fx_nexus[i], 0, sizeof(fx_nexus[i]));
		fx_nexus[i].max_tasks = 8;
		snprintf(fx_nexus[i].initiator_port, SCSI_PORT_NAME,
			 "iqn.2026-01.org.example:host%d,i,0x00023d00000%d", i, i);
		snprintf(fx_nexus[i].target_port, SCSI_PORT_NAME,
			 "iqn.2026-01.org.example:disk,t,0x0001");
		fx_nexus[i].relative_port = 7;
		ck_assert_int_eq(nexus_init(&fx_nexus[i], fx_reactor, fx_map, ASC_POWER_ON), 0);
		fx_take_ua(&fx_nexus[i]);
	}
}

static inline void fx_setup(unsigned flags)
{
	fx_setup_arena(flags, FX_ARENA);
}

/* Every buffer has come back and the LU is gone with its last user. */
static void fx_teardown(void)
{
	size_t bytes;
	void *base;

	for (int i = 0; i < FX_NEXUS; i++)
		nexus_destroy(&fx_nexus[i]);
	lun_map_unref(fx_map);
	lu_unref(fx_lu);
	ck_assert(fx_lu_gone);
	arena_memory(fx_arena, &base, &bytes);
	ck_assert_uint_eq(arena_free_bytes(fx_arena), bytes);
	scsi_reactor_stop(fx_reactor);
	arena_destroy(fx_arena);
	fake_store_free(fx_store);
	reactor_destroy(fx_reactor);
}

static void fx_turn(void)
{
	reactor_turn(fx_reactor, 0);
}

/* Turns until it has ended; a task that never ends fails the test. */
static void fx_run(struct fake_task *f)
{
	for (int i = 0; i < 10000 && !f->ended; i++)
		fx_turn();
	ck_assert(f->ended);
}

static struct fake_task *fx_task(struct it_nexus *n, const uint8_t *cdb, uint16_t length)
{
	return fake_task_new(n, 0, cdb, length);
}

static void fx_rw(uint8_t cdb[16], uint8_t opcode, uint64_t lba, uint32_t blocks)
{
	memset(cdb, 0, 16);
	cdb[0] = opcode;
	put_be64(cdb + 2, lba);
	put_be32(cdb + 10, blocks);
}

/* READ(16) and WRITE(16) that expect what they ask for. */
static inline struct fake_task *fx_read(struct it_nexus *n, uint64_t lba, uint32_t blocks)
{
	struct fake_task *f;
	uint8_t cdb[16];

	fx_rw(cdb, 0x88, lba, blocks);
	f = fx_task(n, cdb, 16);
	fake_task_in(f, blocks * FX_BLOCK);
	return f;
}

static inline struct fake_task *fx_write(struct it_nexus *n, uint64_t lba, uint32_t blocks,
					 const uint8_t *data)
{
	struct fake_task *f;
	uint8_t cdb[16];

	fx_rw(cdb, 0x8a, lba, blocks);
	f = fx_task(n, cdb, 16);
	fake_task_out(f, data, blocks * FX_BLOCK);
	return f;
}

static inline struct fake_task *fx_tur(struct it_nexus *n)
{
	static const uint8_t cdb[6];

	return fx_task(n, cdb, sizeof(cdb));
}

/* Submits, turns to the end, checks key, ASC and ASCQ (0: GOOD), frees. */
static inline void fx_expect(struct fake_task *f, uint8_t key, uint16_t asc)
{
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_msg(f->status == (key ? SCSI_CHECK_CONDITION : SCSI_GOOD),
		      "opcode %02x: status %02x, sense %x/%04x", f->cdb[0], f->status, f->sense.key,
		      f->sense.asc_ascq);
	if (key) {
		ck_assert_uint_eq(f->sense.key, key);
		ck_assert_uint_eq(f->sense.asc_ascq, asc);
	}
	fake_task_free(f);
}

static inline void fx_expect_status(struct fake_task *f, enum scsi_status status)
{
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(f->status, status);
	fake_task_free(f);
}

/* Every block differs from its neighbours; repeats itself after 256 blocks. */
static inline void fx_pattern(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n && i < FX_AT(256); i++)
		p[i] = (uint8_t)((i / FX_BLOCK) * 31 + i * 7 + seed);
	for (size_t i = FX_AT(256); i < n; i += FX_AT(256))
		memcpy(p + i, p, n - i < FX_AT(256) ? n - i : FX_AT(256));
}

/* The store is as it was before, but perhaps in these blocks. */
static inline void fx_others_untouched(const struct fake_store *store, const uint8_t *before,
				       uint64_t lba, uint64_t blocks)
{
	const uint64_t from = FX_AT(lba), to = FX_AT(lba + blocks);

	ck_assert_mem_eq(store->bytes, before, from);
	ck_assert_mem_eq(store->bytes + to, before + to, FX_SIZE - to);
}

/* Every kind of store: at once, and later. */
static const unsigned fx_stores[] = { BACKING_INLINE | FX_FILE, FX_FILE };

#endif
