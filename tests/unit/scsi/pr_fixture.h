/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Persistent reservations on the nexuses of exec_fixture.h: commands that are built, run to their
 * end and checked in one line.
 *
 * Threads: one. Ownership: none.
 */
#ifndef HAWSER_TESTS_PR_FIXTURE_H
#define HAWSER_TESTS_PR_FIXTURE_H

#include "scsi/pr_internal.h"
#include "tests/unit/scsi/exec_fixture.h"

#define A (&fx_nexus[0])
#define B (&fx_nexus[1])
#define C (&fx_nexus[2])

#define KEY_A 0xa1a2a3a4a5a6a7a8u
#define KEY_B 0xb1b2b3b4b5b6b7b8u
#define KEY_C 0xc1c2c3c4c5c6c7c8u

#define SPEC_I_PT 0x08
#define ALL_TG_PT 0x04
#define APTPL     0x01

static const uint8_t pr_types[] = { 1, 3, 5, 6, 7, 8 };
#define PR_TYPES ((int)sizeof(pr_types))

/* A sense as key << 16 | ASC << 8 | ASCQ; a status alone; 0: GOOD. */
#define CONFLICT SCSI_RESERVATION_CONFLICT

static uint8_t pr_list[65536]; /* the parameter list of the next command */

static inline unsigned pr_result(struct fake_task *f)
{
	unsigned result;

	scsi_submit(&f->t);
	fx_run(f);
	result = f->status == SCSI_CHECK_CONDITION
		     ? (unsigned)f->sense.key << 16 | f->sense.asc_ascq
		     : f->status;
	fake_task_free(f);
	return result;
}

/* PERSISTENT RESERVE OUT with the list that is there. */
static inline struct fake_task *pr_task(struct it_nexus *n, unsigned action, uint8_t scope_type,
					uint32_t length)
{
	uint8_t cdb[10] = { 0x5f, (uint8_t)action, scope_type };
	struct fake_task *f;

	put_be32(cdb + 5, length);
	f = fx_task(n, cdb, sizeof(cdb));
	fake_task_out(f, pr_list, length);
	return f;
}

static inline void pr_keys(uint64_t key, uint64_t action_key, uint8_t flags)
{
	memset(pr_list, 0, 24);
	put_be64(pr_list, key);
	put_be64(pr_list + 8, action_key);
	pr_list[20] = flags;
}

static inline unsigned pr_out(struct it_nexus *n, unsigned action, uint8_t type, uint64_t key,
			      uint64_t action_key)
{
	pr_keys(key, action_key, 0);
	return pr_result(pr_task(n, action, type, 24));
}

static inline void pr_good(struct it_nexus *n, unsigned action, uint8_t type, uint64_t key,
			   uint64_t action_key)
{
	unsigned r = pr_out(n, action, type, key, action_key);

	ck_assert_msg(!r, "action %u, type %u: %06x", action, type, r);
}

#define ck_result(r, want)                                                                         \
	do {                                                                                       \
		unsigned r_ = (r);                                                                 \
		ck_assert_msg(r_ == (want), "%s: %06x instead of %06x", #r, r_, (unsigned)(want)); \
	} while (0)

/* PERSISTENT RESERVE IN; bytes that came. */
static inline uint32_t pr_in(struct it_nexus *n, unsigned action, uint16_t allocation, uint8_t *out)
{
	uint8_t cdb[10] = { 0x5e, (uint8_t)action };
	struct fake_task *f;
	uint32_t length;

	put_be16(cdb + 7, allocation);
	f = fx_task(n, cdb, sizeof(cdb));
	fake_task_in(f, allocation);
	scsi_submit(&f->t);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	length = f->in_length;
	if (length)
		memcpy(out, f->in, length);
	fake_task_free(f);
	return length;
}

static inline uint32_t pr_generation(void)
{
	uint8_t b[8];

	ck_assert_uint_eq(pr_in(A, 0, 8, b), 8);
	return get_be32(b);
}

/* How often a key is registered. */
static inline unsigned pr_count(uint64_t key)
{
	static uint8_t b[65535];
	uint32_t n = pr_in(A, 0, sizeof(b), b);
	unsigned found = 0;

	ck_assert_uint_eq(n, 8 + get_be32(b + 4));
	for (uint32_t at = 8; at < n; at += 8)
		found += get_be64(b + at) == key;
	return found;
}

/* Type of the reservation (0: none) and its key. */
static inline uint8_t pr_reservation(uint64_t *ret_key)
{
	uint8_t b[24];
	uint32_t n = pr_in(A, 1, sizeof(b), b);

	*ret_key = 0;
	if (n == 8) {
		ck_assert_uint_eq(get_be32(b + 4), 0);
		return 0;
	}
	ck_assert_uint_eq(n, 24);
	ck_assert_uint_eq(get_be32(b + 4), 16);
	*ret_key = get_be64(b + 8);
	return b[21];
}

static inline void ck_held(uint8_t type, uint64_t key)
{
	uint64_t have;

	ck_assert_uint_eq(pr_reservation(&have), type);
	ck_assert_uint_eq(have, key);
}

/* The unit attention that is pending (taken), 0: none. */
static inline uint16_t pr_ua(struct it_nexus *n)
{
	uint16_t ua = 0;

	if (!itl_ua_take(nexus_find(n, 0), &ua))
		return 0;
	return ua;
}

static inline void ck_no_ua(void)
{
	for (int i = 0; i < FX_NEXUS; i++)
		ck_assert_uint_eq(pr_ua(&fx_nexus[i]), 0);
}

static inline unsigned pr_writes(struct it_nexus *n)
{
	static const uint8_t data[FX_BLOCK] = { 0x5a };

	return pr_result(fx_write(n, 9, 1, data));
}

static inline unsigned pr_reads(struct it_nexus *n)
{
	return pr_result(fx_read(n, 9, 1));
}

/* A, B and C registered with their keys, and nobody has anything to hear. */
static inline void pr_three(void)
{
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(B, PR_REGISTER, 0, 0, KEY_B);
	pr_good(C, PR_REGISTER, 0, 0, KEY_C);
	ck_no_ua();
}

#endif
