/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command moves against what its initiator expects (RFC 7143 11.4.5). */
#include "tests/protocol/protocol.h"

#define U ISCSI_RSP_UNDERFLOW
#define O ISCSI_RSP_OVERFLOW

static const struct residual {
	const char *cdb;
	uint8_t direction; /* ISCSI_CMD_READ, ISCSI_CMD_WRITE, 0 */
	uint32_t edtl;
	uint8_t flags;
	uint32_t residual;
	uint32_t received;
	uint32_t lun;
} residuals[] = {
	/* READ(10) of 8 blocks */
	{ "28 00 00 00 00 00 00 00 08 00", ISCSI_CMD_READ, 4096, 0, 0, 4096, 0 },
	{ "28 00 00 00 00 00 00 00 08 00", ISCSI_CMD_READ, 2048, O, 2048, 2048, 0 },
	{ "28 00 00 00 00 00 00 00 08 00", ISCSI_CMD_READ, 1000, O, 3096, 1000, 0 },
	{ "28 00 00 00 00 00 00 00 08 00", ISCSI_CMD_READ, 8192, U, 4096, 4096, 0 },
	{ "28 00 00 00 00 00 00 00 08 00", ISCSI_CMD_READ, 0, O, 4096, 0, 0 },
	{ "28 00 00 00 00 00 00 00 01 00", 0, 0, O, 512, 0, 0 },
	{ "28 00 00 00 00 00 00 00 00 00", ISCSI_CMD_READ, 512, U, 512, 0, 0 },
	{ "28 00 00 00 00 00 00 00 01 00", ISCSI_CMD_READ, 4096, 0, 0, 4096, LUN_4K },
	/* WRITE(10) of 8 blocks */
	{ "2a 00 00 00 10 00 00 00 08 00", ISCSI_CMD_WRITE, 4096, 0, 0, 0, 0 },
	{ "2a 00 00 00 10 00 00 00 08 00", ISCSI_CMD_WRITE, 8192, U, 4096, 0, 0 },
	{ "2a 00 00 00 10 00 00 00 08 00", ISCSI_CMD_WRITE, 2048, O, 2048, 0, 0 },
	{ "2a 00 00 00 10 00 00 00 08 00", ISCSI_CMD_WRITE, 0, O, 4096, 0, 0 },
	{ "2a 00 00 00 10 00 00 00 00 00", ISCSI_CMD_WRITE, 512, U, 512, 0, 0 },
	/* data of the target's own: its length and the allocation length, whatever is less */
	{ "12 00 00 00 24 00", ISCSI_CMD_READ, 255, U, 219, 36, 0 },
	{ "12 00 00 00 24 00", ISCSI_CMD_READ, 36, 0, 0, 36, 0 },
	{ "12 00 00 00 05 00", ISCSI_CMD_READ, 5, 0, 0, 5, 0 },
	{ "12 00 00 00 00 00", ISCSI_CMD_READ, 16, U, 16, 0, 0 },
	{ "a0 00 00 00 00 00 00 00 00 10 00 00", ISCSI_CMD_READ, 16, 0, 0, 16, 0 },
	{ "a0 00 00 00 00 00 00 00 10 00 00 00", ISCSI_CMD_READ, 4096, U, 4016, 80, 0 },
	{ "a0 00 00 00 00 00 00 00 00 00 00 00", ISCSI_CMD_READ, 16, U, 16, 0, 0 },
	{ "25 00 00 00 00 00 00 00 00 00", ISCSI_CMD_READ, 8, 0, 0, 8, 0 },
	{ "25 00 00 00 00 00 00 00 00 00", ISCSI_CMD_READ, 4, O, 4, 4, 0 },
	{ "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00", ISCSI_CMD_READ, 32, 0, 0, 32, 0 },
	{ "1a 00 3f 00 04 00", ISCSI_CMD_READ, 4, 0, 0, 4, 0 },
	{ "03 00 00 00 12 00", ISCSI_CMD_READ, 18, 0, 0, 18, 0 },
	/* nothing is moved at all */
	{ "28 00 00 00 00 00 00 00 01 00", ISCSI_CMD_WRITE, 512, U, 512, 0, 0 },
	{ "00 00 00 00 00 00", ISCSI_CMD_READ, 0, 0, 0, 0, 0 },
	{ "00 00 00 00 00 00", ISCSI_CMD_READ, 16, U, 16, 0, 0 },
	{ "00 00 00 00 00 00", 0, 0, 0, 0, 0, 0 },
};

START_TEST(residual)
{
	COVERS("P-044 P-048 P-056 P-057 P-061 P-062 P-063 P-064 P-065 P-066 P-079");
	const struct residual *r = &residuals[_i];
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	static uint8_t data[65536];
	struct ini_scsi c;

	ready(i, r->lun);
	fill(data, sizeof(data), (uint32_t)_i);
	cdb_of(&c, r->cdb);
	c.lun = r->lun;
	c.edtl = r->edtl;
	if (r->direction == ISCSI_CMD_READ)
		c.in = data;
	if (r->direction == ISCSI_CMD_WRITE)
		c.out = data;
	run_good(i, &c);
	ck_assert_msg((c.flags & 0x1e) == r->flags && c.residual == r->residual,
		      "%s EDTL %u: flags %02x residual %u, wanted %02x %u", r->cdb, r->edtl,
		      c.flags, c.residual, r->flags, r->residual);
	ck_assert_msg(c.received == r->received, "%s EDTL %u: %u bytes came", r->cdb, r->edtl,
		      c.received);
	if (c.cdb[0] == WRITE10)
		ck_assert_uint_eq(c.n_r2t, r->edtl && c.cdb[8] ? 1 : 0);
}
END_TEST

/* Eight blocks at 3000 as they are before, and other data for them. */
static void prepare(struct ini *i, uint8_t before[static 4096], uint8_t data[static 4096])
{
	struct ini_scsi c;

	ready(i, LUN_RAM);
	fill(before, 4096, 1);
	fill(data, 4096, 2);
	rw10(&c, WRITE10, LUN_RAM, 3000, 8, before);
	run_good(i, &c);
}

/* What is written is what came, no more. */
START_TEST(write_with_less)
{
	COVERS("P-065 P-048");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "Yes"));
	static uint8_t before[4096], data[4096], want[4096];
	struct ini_scsi c;

	prepare(i, before, data);
	rw10(&c, WRITE10, LUN_RAM, 3000, 8, data);
	c.edtl = 1024;
	ck_assert(!ini_scsi(i, &c));
	ck_assert_uint_eq(c.flags & 6, O);
	ck_assert_uint_eq(c.residual, 3072);
	/* Two blocks, or, with a CHECK CONDITION, none. */
	memcpy(want, before, sizeof(want));
	if (!c.status)
		memcpy(want, data, 1024);
	expect_content(i, LUN_RAM, 3000, 8, want);
}
END_TEST

/* What is offered and cannot be written is refused, with the residual of what was asked for. */
static const struct unwritable {
	const char *cdb; /* at block 3000 */
	uint8_t direction;
	uint32_t edtl, residual;
} unwritables[] = {
	{ "2a 00 00 00 0b b8 00 00 01 00", ISCSI_CMD_WRITE, 256, 256 },
	{ "2a 00 00 00 0b b8 00 00 08 00", ISCSI_CMD_WRITE, 1000, 3096 },
	{ "0a 00 0b b8 02 00", ISCSI_CMD_WRITE, 1, 1023 },
	{ "8a 00 00 00 00 00 00 00 0b b8 00 00 00 01 00 00", ISCSI_CMD_WRITE, 511, 1 },
	{ "8e 00 00 00 00 00 00 00 0b b8 00 00 00 01 00 00", ISCSI_CMD_WRITE, 511, 1 },
	{ "2a 00 00 00 0b b8 00 00 01 00", 0, 0, 512 },
	{ "2a 00 00 00 0b b8 00 00 02 00", ISCSI_CMD_READ, 512, 512 },
};

START_TEST(unwritable)
{
	COVERS("P-065 P-048 SG-013");
	const struct unwritable *u = &unwritables[_i];
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "Yes"));
	static uint8_t before[4096], data[4096];
	struct ini_scsi c;

	prepare(i, before, data);
	cdb_of(&c, u->cdb);
	c.lun = LUN_RAM;
	c.edtl = u->edtl;
	if (u->direction == ISCSI_CMD_READ)
		c.in = data;
	if (u->direction == ISCSI_CMD_WRITE)
		c.out = data;
	run_sense(i, &c, 0x050e03);
	ck_assert_uint_eq(c.flags & 6, O);
	ck_assert_uint_eq(c.residual, u->residual);
	expect_content(i, LUN_RAM, 3000, 8, before);
}
END_TEST

void residual_suite(TCase *c)
{
	add_table(c, residual, residuals);
	add(c, write_with_less);
	add_table(c, unwritable, unwritables);
}
