/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/protocol/reserve.h"

unsigned result_of(const struct ini_scsi *c)
{
	return c->status == 2 ? ini_sense(c) : c->status;
}

unsigned pr_out(struct ini *i, enum action action, uint8_t type, uint64_t key, uint64_t action_key,
		uint8_t flags)
{
	uint8_t list[24] = { 0 };
	struct ini_scsi c = { .cdb = { 0x5f, (uint8_t)action, type }, .cdb_length = 10 };

	put_be32(c.cdb + 5, sizeof(list));
	put_be64(list, key);
	put_be64(list + 8, action_key);
	list[20] = flags;
	c.out = list;
	c.edtl = sizeof(list);
	ck_assert(!ini_scsi(i, &c));
	return result_of(&c);
}

uint32_t pr_in(struct ini *i, uint8_t action, uint8_t *out, uint16_t length)
{
	struct ini_scsi c = { .cdb = { 0x5e, action }, .cdb_length = 10 };

	put_be16(c.cdb + 7, length);
	c.in = out;
	c.edtl = length;
	run_good(i, &c);
	return c.received;
}

unsigned count_keys(struct ini *i, uint64_t key)
{
	uint8_t b[1024];
	uint32_t n = pr_in(i, 0, b, sizeof(b));
	unsigned found = 0;

	for (uint32_t at = 8; at + 8 <= n; at += 8)
		found += get_be64(b + at) == key;
	return found;
}

uint8_t held(struct ini *i, uint64_t *ret_key)
{
	uint8_t b[24] = { 0 };
	uint32_t n = pr_in(i, 1, b, sizeof(b));

	*ret_key = n == 24 ? get_be64(b + 8) : 0;
	return n == 24 ? b[21] : 0;
}

unsigned rw(struct ini *i, uint8_t opcode)
{
	static uint8_t block[512];
	struct ini_scsi c;

	rw10(&c, opcode, 0, 77, 1, block);
	ck_assert(!ini_scsi(i, &c));
	return result_of(&c);
}

unsigned plain(struct ini *i, const char *cdb)
{
	struct ini_scsi c;

	cdb_of(&c, cdb);
	ck_assert(!ini_scsi(i, &c));
	return result_of(&c);
}

struct ini *node(const char *name)
{
	struct ini *i = session_as(name, T_PR);

	ready(i, 0);
	return i;
}

void tidy(struct ini *i)
{
	ck_assert_uint_eq(pr_out(i, REGISTER_IGNORE, 0, 0, 0x99, 0), 0);
	ck_assert_uint_eq(pr_out(i, CLEAR, 0, 0x99, 0, 0), 0);
}
