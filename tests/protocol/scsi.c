/* SPDX-License-Identifier: BSD-2-Clause */
/* What initiators ask of a disk when they find it, in their own order. */
#include "tests/protocol/protocol.h"

static uint8_t data[65536];

/* Runs a command that reads up to edtl bytes; what came. */
static uint32_t ask(struct ini *i, uint64_t lun, const char *hex, uint32_t edtl)
{
	struct ini_scsi c;

	cdb_of(&c, hex);
	c.lun = lun;
	c.in = data;
	c.edtl = edtl;
	memset(data, 0xee, edtl);
	run_good(i, &c);
	return c.received;
}

static void refused(struct ini *i, uint64_t lun, const char *hex, uint32_t edtl, uint32_t sense)
{
	struct ini_scsi c;

	cdb_of(&c, hex);
	c.lun = lun;
	c.in = edtl ? data : NULL;
	c.edtl = edtl;
	run_sense(i, &c, sense);
}

/* The order in which Linux asks. */
START_TEST(linux_order)
{
	COVERS("N-010 N-012 P-063 P-066");
	struct ini *i = session(T_MAIN);
	bool port = false, name = false;

	ask(i, LUN_RAM, "12 00 00 00 24 00", 36);
	ask(i, LUN_RAM, "12 00 00 00 60 00", 96);
	ready(i, LUN_RAM);
	ask(i, LUN_RAM, "12 01 00 00 ff 00", 255);
	ck_assert(memchr(data + 4, 0x83, data[3]) && memchr(data + 4, 0xb2, data[3]));
	ask(i, LUN_RAM, "12 01 b0 00 ff 00", 255);
	ck_assert(data[1] == 0xb0 && get_be16(data + 2) == 0x3c);
	ask(i, LUN_RAM, "12 01 b1 00 ff 00", 255);
	ck_assert_uint_eq(data[1], 0xb1);
	ask(i, LUN_RAM, "12 01 b2 00 ff 00", 255);
	ck_assert_uint_eq(data[1], 0xb2);
	ask(i, LUN_RAM, "12 01 80 00 ff 00", 255);
	ck_assert_uint_eq(data[1], 0x80);
	ask(i, LUN_RAM, "12 01 83 00 ff 00", 255);
	for (uint32_t at = 4; at + 4 <= get_be16(data + 2) + 4u; at += 4u + data[at + 3]) {
		const char *text = (char *)data + at + 4;

		port |= (data[at + 1] & 0x3f) == 0x18 && !strcmp(text, T_MAIN ",t,0x0001");
		name |= (data[at + 1] & 0x3f) == 0x28 && !strcmp(text, T_MAIN);
	}
	ck_assert_msg(port, "no name of the target port");
	ck_assert_msg(name, "no name of the target device");
	ask(i, LUN_RAM, "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00", 32);
	ck_assert_uint_eq(get_be64(data), RAM_BLOCKS - 1);
	ask(i, LUN_RAM, "1a 00 3f 00 04 00", 4);
	ask(i, LUN_RAM, "1a 00 08 00 04 00", 4);
	ask(i, LUN_RAM, "1a 08 08 00 20 00", 32);
	ask(i, LUN_RAM, "1a 08 0a 00 10 00", 16);
	ask(i, LUN_RAM, "a3 0c 01 12 00 00 00 00 02 00 00 00", 512);
	ck_assert_uint_eq(data[1] & 7, 3);
	ask(i, LUN_RAM, "a3 0c 01 41 00 00 00 00 02 00 00 00", 512);
	ck_assert_uint_eq(data[1] & 7, 3);
	ask(i, LUN_RAM, "a3 0c 01 fe 00 00 00 00 02 00 00 00", 512);
	ck_assert_uint_eq(data[1] & 7, 1);
	refused(i, LUN_RAM, "1a 08 3e 00 ff 00", 255, 0x052400);
	refused(i, LUN_RAM, "85 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", 0, 0x052000);
}
END_TEST

/* How ESXi claims a disk, and asks what may be left to it (VAAI). */
START_TEST(esx_claims)
{
	COVERS("fault-Q04");
	static const char *const offered[] = {
		"a3 0c 01 89 00 00 00 00 02 00 00 00", /* COMPARE AND WRITE */
		"a3 0c 01 93 00 00 00 00 02 00 00 00", /* WRITE SAME(16) */
		"a3 0c 01 42 00 00 00 00 02 00 00 00", /* UNMAP */
	};
	struct ini *i = session(T_MAIN);

	ready(i, LUN_FILE);
	ask(i, LUN_FILE, "12 00 00 00 24 00", 36);
	ck_assert(data[0] == 0 && data[2] >= 5);
	ask(i, LUN_FILE, "12 01 00 00 ff 00", 255);
	ck_assert(memchr(data + 4, 0x80, data[3]) && memchr(data + 4, 0xb0, data[3]));
	ck_assert_uint_gt(ask(i, LUN_FILE, "12 01 80 00 ff 00", 255), 4);
	ck_assert_uint_gt(ask(i, LUN_FILE, "12 01 83 00 ff 00", 255), 4);
	ask(i, LUN_FILE, "12 01 b0 00 ff 00", 255);
	ck_assert_uint_gt(data[5], 0);                /* MAXIMUM COMPARE AND WRITE LENGTH */
	ck_assert_uint_gt(get_be32(data + 20), 0);    /* MAXIMUM UNMAP LBA COUNT */
	ck_assert_uint_le(get_be32(data + 28), 2048); /* granularity: 1 MiB for VMFS 6 */
	ask(i, LUN_FILE, "12 01 b1 00 ff 00", 255);
	ask(i, LUN_FILE, "12 01 b2 00 ff 00", 255);
	ck_assert_uint_eq(data[5] & 0x80, 0x80); /* LBPU */
	ask(i, 0, "a0 00 00 00 00 00 00 00 10 00 00 00", 4096);
	ask(i, LUN_FILE, "1a 00 08 00 ff 00", 255);
	ask(i, LUN_FILE, "1a 00 0a 00 ff 00", 255);
	ask(i, LUN_FILE, "5a 00 3f ff 00 00 00 00 ff 00", 255);
	ask(i, LUN_FILE, "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00", 32);
	ck_assert_uint_eq(data[14] & 0xc0, 0xc0); /* LBPME, LBPRZ */
	for (size_t n = 0; n < sizeof(offered) / sizeof(offered[0]); n++) {
		ask(i, LUN_FILE, offered[n], 512);
		ck_assert_msg((data[1] & 7) == 3, "%s", offered[n]);
	}
}
END_TEST

START_TEST(report_luns)
{
	COVERS("P-066 fault-E03");
	static const struct {
		const char *cdb;
		uint32_t edtl, received;
	} rows[] = {
		{ "a0 00 00 00 00 00 00 00 00 00 00 00", 0, 0 },
		{ "a0 00 00 00 00 00 00 00 00 08 00 00", 8, 8 },
		{ "a0 00 00 00 00 00 00 00 00 10 00 00", 16, 16 },
		{ "a0 00 00 00 00 00 00 00 08 08 00 00", 2056, 80 },
		{ "a0 00 02 00 00 00 00 00 10 00 00 00", 4096, 80 },
	};
	struct ini *i = session(T_MAIN);

	for (unsigned n = 0; n < 5; n++) {
		ck_assert_uint_eq(ask(i, 0, rows[n].cdb, rows[n].edtl), rows[n].received);
		if (rows[n].received >= 4)
			ck_assert_uint_eq(get_be32(data), 72);
	}
	ck_assert_uint_eq(get_be64(data + 8), 0);
	ck_assert_uint_eq(get_be64(data + 72), 0x412c000000000000);
	ck_assert_uint_eq(ask(i, 0, "a0 00 01 00 00 00 00 00 10 00 00 00", 4096), 8);
	refused(i, 0, "a0 00 03 00 00 00 00 00 10 00 00 00", 4096, 0x052400);
}
END_TEST

/* The identity is the same by each portal, and that of another unit is another one. */
START_TEST(identity)
{
	COVERS("N-010 N-013 fault-E18");
	struct ini *i = session(T_MAIN), *j = connect_to(server.port2);
	uint8_t lun0[64], other[64];
	uint32_t n;

	ck_assert_int_eq(try_login(j, &(struct ini_login){ .target = T_MAIN }), 0);
	ask(i, LUN_RAM, "12 01 83 00 ff 00", 255);
	memcpy(lun0, data + 4, 20);
	ck_assert(data[4] == 1 && data[5] == 3 && data[7] == 16 && data[8] >> 4 == 6);
	ask(j, LUN_RAM, "12 01 83 00 ff 00", 255);
	ck_assert(!memcmp(lun0, data + 4, 20));
	n = 4;
	while (n < get_be16(data + 2) + 4u && strcmp((char *)data + n + 4, T_MAIN ",t,0x0002") != 0)
		n += 4u + data[n + 3];
	ck_assert_msg(n < get_be16(data + 2) + 4u, "no name of target port group 2");
	ask(i, LUN_4K, "12 01 83 00 ff 00", 255);
	memcpy(other, data + 4, 20);
	ck_assert(memcmp(lun0, other, 20));
	ask(i, LUN_RAM, "12 01 80 00 ff 00", 255);
	memcpy(lun0, data, 64);
	ask(j, LUN_RAM, "12 01 80 00 ff 00", 255);
	ck_assert(!memcmp(lun0, data, 4 + lun0[3]));
}
END_TEST

/* More than 2^32 blocks; blocks of 4096 bytes. */

START_TEST(capacities)
{
	struct ini *i = session(T_MAIN);

	ready(i, LUN_HUGE);
	ready(i, LUN_4K);
	ask(i, LUN_HUGE, "25 00 00 00 00 00 00 00 00 00", 8);
	ck_assert_uint_eq(get_be32(data), 0xffffffff);
	ask(i, LUN_HUGE, "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00", 32);
	ck_assert_uint_eq(get_be64(data), (3ull << 40) / 512 - 1);
	ask(i, LUN_4K, "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00", 32);
	ck_assert_uint_eq(get_be64(data), 4095);
	ck_assert_uint_eq(get_be32(data + 8), 4096);
}
END_TEST

static void unmap(struct ini *i, struct ini_scsi *c, const uint64_t (*ranges)[2], unsigned n)
{
	static uint8_t list[8 + 16 * 300];

	put_be16(list, (uint16_t)(6 + 16 * n));
	put_be16(list + 2, (uint16_t)(16 * n));
	for (unsigned k = 0; k < n; k++) {
		put_be64(list + 8 + 16 * k, ranges[k][0]);
		put_be32(list + 16 + 16 * k, (uint32_t)ranges[k][1]);
	}
	cdb_of(c, "42 00 00 00 00 00 00 00 00 00");
	c->lun = LUN_FILE;
	c->out = list;
	c->edtl = 8 + 16 * n;
	put_be16(c->cdb + 7, (uint16_t)c->edtl);
	ck_assert(!ini_scsi(i, c));
}

START_TEST(unmap_and_status)
{
	static uint64_t ranges[300][2];
	struct ini *i = session(T_MAIN);
	static uint8_t want[4096 * 3];
	struct ini_scsi c;

	ready(i, LUN_FILE);
	fill(want, sizeof(want), 200);
	rw10(&c, WRITE10, LUN_FILE, 8, 24, want);
	run_good(i, &c);
	ranges[0][0] = 16;
	ranges[0][1] = 8;
	unmap(i, &c, ranges, 1);
	ck_assert_uint_eq(c.status, 0);
	memset(want + 4096, 0, 4096);
	expect_content(i, LUN_FILE, 8, 24, want);
	ask(i, LUN_FILE, "9e 12 00 00 00 00 00 00 00 10 00 00 01 00 00 00", 256);
	ck_assert_uint_eq(get_be64(data + 8), 16);
	ck_assert_uint_ge(get_be32(data + 16), 8);
	ck_assert_uint_ne(data[20] & 15, 0);
	unmap(i, &c, ranges, 0);
	ck_assert_uint_eq(c.status, 0);
	ranges[0][0] = 131072 - 8;
	unmap(i, &c, ranges, 1);
	ck_assert_uint_eq(c.status, 0);
	ranges[0][1] = 9; /* beyond the end */
	unmap(i, &c, ranges, 1);
	ck_assert_uint_eq(ini_sense(&c), 0x052100);
	for (unsigned n = 0; n < 257; n++) {
		ranges[n][0] = 1000 + 16 * n;
		ranges[n][1] = 8;
	}
	unmap(i, &c, ranges, 64);
	ck_assert_uint_eq(c.status, 0);
	unmap(i, &c, ranges, 257);
	ck_assert_msg(c.status == 0 || ini_sense(&c) == 0x052600, "sense %06x", ini_sense(&c));
	/* The last one is wrong: whatever becomes of the others, this one is refused. */
	ranges[1][0] = 1ull << 40;
	unmap(i, &c, ranges, 2);
	ck_assert_uint_eq(ini_sense(&c), 0x052100);
}
END_TEST

static void verify16(struct ini *i, uint32_t lba, const uint8_t *sent, uint32_t sense)
{
	struct ini_scsi c;

	cdb_of(&c, "8f 00 00 00 00 00 00 00 00 00 00 00 00 08 00 00");
	put_be32(c.cdb + 6, lba);
	c.lun = LUN_FILE;
	if (sent) {
		c.cdb[1] = 0x02; /* BYTCHK 01b */
		c.out = sent;
		c.edtl = 4096;
	}
	if (sense)
		run_sense(i, &c, sense);
	else
		run_good(i, &c);
}

/* Blocks that are not mapped read as zeros, compare as what they read, and are mapped by a WRITE.
 */
START_TEST(holes)
{
	static const uint64_t hole[1][2] = { { 512, 16 } };
	static uint8_t want[8192];
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;

	COVERS("SB-039 SB-040 SP-009 SP-015");
	ready(i, LUN_FILE);
	fill(data, 8192, 3);
	rw10(&c, WRITE10, LUN_FILE, 512, 16, data);
	run_good(i, &c);
	unmap(i, &c, hole, 1);
	ck_assert_uint_eq(c.status, 0);
	for (int again = 0; again < 2; again++)
		expect_content(i, LUN_FILE, 512, 16, want);
	verify16(i, 512, NULL, 0);
	verify16(i, 512, want, 0);
	verify16(i, 512, data, 0x0e1d00);
	rw10(&c, WRITE10, LUN_FILE, 515, 1, data);
	run_good(i, &c);
	memcpy(want + 3 * 512, data, 512);
	expect_content(i, LUN_FILE, 512, 16, want);
	ask(i, LUN_FILE, "9e 12 00 00 00 00 00 00 02 00 00 00 00 18 00 00", 24);
	ck_assert_uint_eq(data[20] & 15, 0); /* mapped */
}
END_TEST

void scsi_suite(TCase *c)
{
	add(c, linux_order);
	add(c, esx_claims);
	add(c, report_luns);
	add(c, identity);
	add(c, capacities);
	add(c, unmap_and_status);
	add(c, holes);
}
