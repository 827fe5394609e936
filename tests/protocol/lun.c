/* SPDX-License-Identifier: BSD-2-Clause */
/* Logical unit numbers on the wire, and units of all kinds behind them. */
#include "tests/protocol/protocol.h"

static uint8_t data[8192];

/* A command with the eight bytes of LUN as given. */
static const struct ini_pdu *run_at(struct ini *i, uint64_t lun, const char *hex, uint32_t edtl)
{
	struct bhs_scsi_command h;
	struct ini_scsi c;

	cdb_of(&c, hex);
	ini_command(i, &h, 0, edtl ? ISCSI_CMD_READ : 0, edtl, c.cdb, c.cdb_length);
	put_be64(h.lun, lun);
	start(i, &h);
	return await_pdu(i, patience(INI_WAIT_MS));
}

static const struct address {
	const char *name;
	uint64_t lun;
	uint8_t qualifier; /* byte 0 of INQUIRY data */
} addresses[] = {
	{ "0, peripheral", 0x0000000000000000, 0x00 },
	{ "1, peripheral", 0x0001000000000000, 0x00 },
	{ "1, flat", 0x4001000000000000, 0x00 },
	{ "300, flat", 0x412c000000000000, 0x00 },
	{ "99, peripheral", 0x0063000000000000, 0x7f },
	{ "255, peripheral", 0x00ff000000000000, 0x7f },
	{ "16383, flat", 0x7fff000000000000, 0x7f },
	{ "bus 1", 0x0101000000000000, 0x7f },
	{ "second level", 0x0001000100000000, 0x7f },
	{ "logical unit addressing", 0x8001000000000000, 0x7f },
	{ "extended", 0xc101000000000000, 0x7f },
	{ "none", 0xffffffffffffffff, 0x7f },
};

START_TEST(addressing)
{
	COVERS("P-001 fault-E15");
	const struct address *a = &addresses[_i];
	struct ini *i = session(T_MAIN);
	const struct ini_pdu *p = run_at(i, a->lun, "12 00 00 00 24 00", 36);

	ck_assert(p != NULL);
	ck_assert_msg(p->bhs[0] == ISCSI_OP_DATA_IN && p->length == 36, "%s: opcode %02x", a->name,
		      p->bhs[0]);
	ck_assert_msg(p->data[0] == a->qualifier, "%s: byte 0 is %02x", a->name, p->data[0]);
	if (!a->qualifier)
		return;
	/* There is nothing: REPORT LUNS is answered, other commands are not. */
	p = run_at(i, a->lun, "a0 00 00 00 00 00 00 00 00 10 00 00", 16);
	ck_assert_msg(p && p->bhs[0] == ISCSI_OP_DATA_IN, "%s: REPORT LUNS", a->name);
	p = run_at(i, a->lun, "00 00 00 00 00 00", 0);
	ck_assert_msg(p && sense_of(p) == 0x052500, "%s: sense %06x", a->name, p ? sense_of(p) : 0);
	p = run_at(i, a->lun, "28 00 00 00 00 00 00 00 01 00", 512);
	ck_assert_msg(p && sense_of(p) == 0x052500, "%s: sense %06x", a->name, p ? sense_of(p) : 0);
}
END_TEST

/* ESXi on a target without a LUN 0; the old LUN bits of the CDB do not count. */
START_TEST(without_lun_0)
{
	COVERS("P-003");
	struct ini *i = session(T_NO_ZERO);
	struct ini_scsi c;

	cdb_of(&c, "12 00 00 00 ff 00");
	c.in = data;
	c.edtl = 255;
	run_good(i, &c);
	ck_assert_uint_ne(data[0] >> 5, 0);
	cdb_of(&c, "00 00 00 00 00 00");
	run_sense(i, &c, 0x052500);
	cdb_of(&c, "a0 00 00 00 00 00 00 00 10 00 00 00");
	c.in = data;
	c.edtl = 4096;
	run_good(i, &c);
	ck_assert_uint_eq(get_be32(data), 8);
	ck_assert_uint_eq(get_be64(data + 8), 0x0001000000000000);
	cdb_of(&c, "12 20 00 00 ff 00");
	c.lun = 1;
	c.in = data;
	c.edtl = 255;
	run_good(i, &c);
	ck_assert_uint_eq(data[0], 0);
	ready(i, 1);
	cdb_of(&c, "12 00 00 00 24 00");
	c.lun = 1;
	c.in = data;
	c.edtl = 36;
	run_good(i, &c);
	ck_assert(!memcmp(data + 8, "HAWSER  VIRTUAL-DISK    ", 24));
}
END_TEST

/* Two LUNs do not share their blocks. */
START_TEST(each_its_own)
{
	COVERS("fault-E15");
	static const uint64_t luns[] = { LUN_RAM, LUN_4K, LUN_FILE, LUN_FAULT, LUN_FLAT };
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;

	for (unsigned n = 0; n < 5; n++) {
		ready(i, luns[n]);
		fill(data, 4096, 100 + n);
		rw10(&c, WRITE10, luns[n], 7, luns[n] == LUN_4K ? 1 : 8, data);
		run_good(i, &c);
	}
	for (unsigned n = 0; n < 5; n++) {
		fill(data, 4096, 100 + n);
		expect_content(i, luns[n], 7, luns[n] == LUN_4K ? 1 : 8, data);
	}
}
END_TEST

START_TEST(read_only)
{
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;

	ready(i, LUN_READ_ONLY);
	rw10(&c, WRITE10, LUN_READ_ONLY, 0, 8, data);
	run_sense(i, &c, 0x072700);
	cdb_of(&c, "1a 08 3f 00 ff 00");
	c.lun = LUN_READ_ONLY;
	c.in = data;
	c.edtl = 255;
	run_good(i, &c);
	ck_assert_uint_eq(data[2] & 0x80, 0x80);
	rw10(&c, READ10, LUN_READ_ONLY, 0, 8, data);
	run_good(i, &c);
}
END_TEST

/* A medium that is ejected, seen by the other session as well. */

START_TEST(removable)
{
	struct ini *i = session(T_MAIN), *j = session(T_MAIN);
	struct ini_scsi c;

	ready(i, LUN_REMOVABLE);
	ready(j, LUN_REMOVABLE);
	cdb_of(&c, "1b 00 00 00 02 00");
	c.lun = LUN_REMOVABLE;
	run_good(i, &c);
	rw10(&c, READ10, LUN_REMOVABLE, 0, 1, data);
	run_sense(i, &c, 0x023a00);
	rw10(&c, READ10, LUN_REMOVABLE, 0, 1, data);
	ck_assert(!ini_scsi(j, &c));
	ck_assert_uint_eq(c.status, 2);
	cdb_of(&c, "1b 00 00 00 03 00");
	c.lun = LUN_REMOVABLE;
	run_good(i, &c);
	ready(i, LUN_REMOVABLE);
	ready(j, LUN_REMOVABLE);
}
END_TEST

/* The device is the same by whatever portal: hosts pair their paths by that. */
START_TEST(same_by_each_portal)
{
	COVERS("S-038");
	static const char *const cdbs[] = { "12 00 00 00 60 00", "12 01 80 00 ff 00",
					    "a0 00 00 00 00 00 00 00 10 00 00 00",
					    "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00" };
	uint16_t ports[] = { server.port, server.port2, server.port6 };
	static uint8_t first[4][4096], in[4096];

	for (unsigned n = 0; n < 3 && ports[n]; n++) {
		struct ini *i = connect_to(ports[n]);

		ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN }), 0);
		ready(i, LUN_RAM);
		for (unsigned k = 0; k < 4; k++) {
			struct ini_scsi s;

			cdb_of(&s, cdbs[k]);
			memset(in, 0, sizeof(in));
			s.in = n ? in : first[k];
			s.edtl = sizeof(in);
			run_good(i, &s);
			ck_assert(s.received);
			ck_assert_msg(!n || !memcmp(in, first[k], sizeof(in)), "%s at portal %u",
				      cdbs[k], n);
		}
	}
}
END_TEST

void lun_suite(TCase *c)
{
	add(c, same_by_each_portal);
	add_table(c, addressing, addresses);
	add(c, without_lun_0);
	add(c, each_its_own);
	add(c, read_only);
	add(c, removable);
}
