/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compound commands on a medium whose content is known before and compared afterwards.
 *
 * Threads: one. Ownership: static, see exec_fixture.h.
 */
#ifndef HAWSER_TESTS_COMPOUND_FIXTURE_H
#define HAWSER_TESTS_COMPOUND_FIXTURE_H

#include "scsi/compound_internal.h"
#include "tests/unit/scsi/exec_fixture.h"

#include <errno.h>

#define MEDIUM (FX_SIZE / FX_BLOCK)

static uint8_t data[4 << 20], before[FX_SIZE];

static inline struct fake_task *cmd(uint8_t opcode, uint8_t flags, uint64_t lba, uint32_t blocks)
{
	uint8_t cdb[16];

	fx_rw(cdb, opcode, lba, blocks);
	cdb[1] = flags;
	return fx_task(&fx_nexus[0], cdb, 16);
}

static inline struct fake_task *cmd_out(uint8_t opcode, uint8_t flags, uint64_t lba,
					uint32_t blocks, uint32_t length)
{
	struct fake_task *f = cmd(opcode, flags, lba, blocks);

	fake_task_out(f, data, length);
	return f;
}

static inline void fill_medium(unsigned seed)
{
	fx_pattern(fx_store->bytes, FX_SIZE, seed);
	memcpy(before, fx_store->bytes, FX_SIZE);
	memset(fx_store->allocated, 1, FX_SIZE / FAKE_STORE_UNIT);
}

/* Nothing but these blocks has changed. */
static inline void others_untouched(uint64_t lba, uint64_t blocks)
{
	fx_others_untouched(fx_store, before, lba, blocks);
}

#endif
