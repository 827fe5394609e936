/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Token commands between the two LUs of copy_fixture.h: lists are built here, tokens fetched as a
 * host does.
 *
 * Threads: one. Ownership: static, see exec_fixture.h.
 */
#ifndef HAWSER_TESTS_ODX_FIXTURE_H
#define HAWSER_TESTS_ODX_FIXTURE_H

#include "scsi/odx_internal.h"
#include "tests/unit/scsi/copy_fixture.h"

struct ox_range {
	uint64_t lba;
	uint32_t blocks;
};

static uint8_t ox_list[4][2048]; /* of the last commands, in turns: they may be under way */
static unsigned ox_lists;
static uint8_t ox_token[ROD_TOKEN_SIZE];
static uint8_t ox_info[1024];
static uint8_t ox_flags;   /* byte 2 of the next lists */
static uint64_t ox_offset; /* into the ROD */

static inline void ox_setup(unsigned flags)
{
	cx_setup(flags, FX_ARENA);
	ox_flags = 0;
	ox_offset = 0;
}

static inline struct fake_task *ox_command(int nexus, uint64_t lun, uint8_t action, uint32_t id,
					   size_t header, const struct ox_range *ranges, unsigned n)
{
	uint8_t cdb[16] = { 0x83, action };
	uint8_t *list = ox_list[ox_lists++ % 4];
	size_t length = header + n * 16u;
	struct fake_task *f;

	memset(list, 0, sizeof(ox_list[0]));
	put_be16(list, (uint16_t)(length - 2));
	list[2] = ox_flags;
	put_be16(list + header - 2, (uint16_t)(n * 16));
	for (unsigned i = 0; i < n; i++) {
		put_be64(list + header + i * 16, ranges[i].lba);
		put_be32(list + header + i * 16 + 8, ranges[i].blocks);
	}
	if (action == 0x11) {
		put_be64(list + 8, ox_offset);
		memcpy(list + 16, ox_token, sizeof(ox_token));
	}
	put_be32(cdb + 6, id);
	put_be32(cdb + 10, (uint32_t)length);
	f = fake_task_new(&fx_nexus[nexus], lun, cdb, 16);
	fake_task_out(f, list, (uint32_t)length);
	return f;
}

static inline struct fake_task *ox_populate(int nexus, uint64_t lun, uint32_t id,
					    const struct ox_range *ranges, unsigned n)
{
	return ox_command(nexus, lun, 0x10, id, sizeof(struct odx_populate), ranges, n);
}

static inline struct fake_task *ox_write(int nexus, uint64_t lun, uint32_t id,
					 const struct ox_range *ranges, unsigned n)
{
	return ox_command(nexus, lun, 0x11, id, sizeof(struct odx_write), ranges, n);
}

/* RECEIVE ROD TOKEN INFORMATION into ox_info; its length. */
static inline uint32_t ox_receive(int nexus, uint64_t lun, uint32_t id)
{
	uint8_t cdb[16] = { 0x84, 0x07 };
	struct fake_task *f;
	uint32_t n;

	put_be32(cdb + 2, id);
	put_be32(cdb + 10, sizeof(ox_info));
	f = fake_task_new(&fx_nexus[nexus], lun, cdb, 16);
	fake_task_in(f, sizeof(ox_info));
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	n = f->in_length;
	memset(ox_info, 0, sizeof(ox_info));
	memcpy(ox_info, f->in, n);
	ck_assert_uint_eq(get_be32(ox_info), n - 4);
	fake_task_free(f);
	return n;
}

/* What an operation has come to. */
static inline void ox_expect(int nexus, uint64_t lun, uint32_t id, enum copy_status status,
			     uint64_t blocks)
{
	ox_receive(nexus, lun, id);
	ck_assert_uint_eq(ox_info[5], status);
	ck_assert_uint_eq(get_be64(ox_info + 16), blocks);
}

/* Creates a token of LUN 0 by nexus 0 and fetches it into ox_token. */
static inline void ox_fetch(uint32_t id, const struct ox_range *ranges, unsigned n)
{
	fx_expect(ox_populate(0, 0, id, ranges, n), 0, 0);
	ck_assert_uint_eq(ox_receive(0, 0, id), 32 + 4 + 2 + ROD_TOKEN_SIZE);
	ck_assert_uint_eq(ox_info[5], COPY_DONE);
	memcpy(ox_token, ox_info + 38, sizeof(ox_token));
}

static inline void ox_zero_token(void)
{
	memset(ox_token, 0, sizeof(ox_token));
	memcpy(ox_token, "\xff\xff\x00\x01\x00\x00\x01\xf8", 8);
}

static inline void ox_turns(void)
{
	for (int i = 0; i < 50; i++)
		fx_turn();
}

#endif
