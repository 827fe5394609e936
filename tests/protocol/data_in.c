/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of reads, cut as the initiator wants it. The validator looks at every PDU. */
#include "tests/protocol/protocol.h"

static uint8_t data[1 << 20];

static const struct cut {
	const char *keys;
	uint32_t blocks;
	unsigned pdus;
} cuts[] = {
	{ "MaxRecvDataSegmentLength=512", 128, 128 },
	{ "MaxRecvDataSegmentLength=8192", 128, 8 },
	{ "MaxRecvDataSegmentLength=8192\nMaxBurstLength=4096", 128, 16 },
	{ "MaxRecvDataSegmentLength=262144\nMaxBurstLength=512", 64, 64 },
	{ "MaxRecvDataSegmentLength=1000\nMaxBurstLength=3000", 100, 52 },
	{ "MaxRecvDataSegmentLength=1021\nMaxBurstLength=2041", 20, 0 },
	{ "MaxRecvDataSegmentLength=262144\nMaxBurstLength=262144", 2048, 4 },
	{ "MaxRecvDataSegmentLength=16777215\nMaxBurstLength=16777215", 2048, 0 },
	{ "InitialR2T=Yes", 1024, 64 },
};

START_TEST(cut_as_agreed)
{
	COVERS("P-076 P-077 P-078 P-079 P-080 P-082 P-083 P-085 P-086 P-039 P-032 P-069 T-071 "
	       "T-072 T-075 P-002 P-007 P-008");
	const struct cut *k = &cuts[_i];
	struct ini *w = session(T_MAIN), *i = session_keys(T_MAIN, k->keys);
	struct ini_scsi c;

	ready(w, LUN_RAM);
	fill(data, sizeof(data), (uint32_t)_i);
	rw10(&c, WRITE10, LUN_RAM, 20000, (uint16_t)k->blocks, data);
	run_good(w, &c);
	ready(i, LUN_RAM);
	expect_content(i, LUN_RAM, 20000, (uint16_t)k->blocks, data);
	rw10(&c, READ10, LUN_RAM, 20000, (uint16_t)k->blocks, data);
	run_good(i, &c);
	if (k->pdus)
		ck_assert_msg(c.n_data_in == k->pdus, "%s: %u PDUs", k->keys, c.n_data_in);
	/* Other data than a medium's: cut as well. */
	cdb_of(&c, "12 00 00 00 ff 00");
	c.in = data;
	c.edtl = 255;
	run_good(i, &c);
	ck_assert_uint_ge(c.received, 36);
}
END_TEST

/* The last one, with the status, too: BufferOffset goes on. */
START_TEST(offset_of_the_last)
{
	COVERS("P-078 fault-A11");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=8192");
	struct bhs_scsi_command h;
	struct ini_scsi c;

	ready(i, LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 512, data);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, 262144, c.cdb, 10);
	start(i, &h);
	for (uint32_t n = 0; n < 32; n++) {
		const struct ini_pdu *p = expect(i, ISCSI_OP_DATA_IN);
		const struct bhs_data_in *d = bhs_of(p, bhs_data_in);

		ck_assert_uint_eq(get_be32(d->buffer_offset), n * 8192);
		ck_assert_uint_eq(get_be32(d->datasn), n);
		ck_assert_uint_eq(d->flags, n == 31 ? 0x81 : 0);
		ck_assert_uint_eq(p->length, 8192);
	}
}
END_TEST

/* An error in the midst: status and sense apart from the data, and what comes is right. */
START_TEST(error_at_the_end)
{
	COVERS("P-056 P-059 P-068 P-074 P-080 E-045 F-007");
	struct ini *i = session(T_MAIN);
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_READ - 8, 16, data);
	ck_assert(!ini_scsi(i, &c));
	ck_assert_uint_eq(c.response, 0);
	ck_assert_uint_eq(c.status, 2);
	ck_assert_uint_eq(ini_sense(&c) >> 16, 3);
	ck_assert_uint_eq(ini_sense(&c) & 0xff00, 0x1100);
	rw10(&c, READ10, LUN_FAULT, FAULT_READ - 8, 8, data);
	run_good(i, &c);
	rw10(&c, WRITE10, LUN_FAULT, FAULT_WRITE, 8, data);
	ck_assert(!ini_scsi(i, &c));
	ck_assert_uint_eq(ini_sense(&c) & 0xffff00, 0x030c00);
	still_works(i);
}
END_TEST

/* Many at a time, small and large: each whole. */
START_TEST(many_reads_at_once)
{
	COVERS("P-077 P-037");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=16384");
	unsigned done = 0;

	ready(i, LUN_RAM);
	for (unsigned n = 0; n < 64; n++) {
		uint16_t blocks = n % 4 ? 1 : 256;
		struct bhs_scsi_command h;
		struct ini_scsi c;

		rw10(&c, READ10, LUN_RAM, n * 100, blocks, data);
		ini_command(i, &h, LUN_RAM, ISCSI_CMD_READ, c.edtl, c.cdb, 10);
		start(i, &h);
	}
	while (done < 64)
		done += expect(i, ISCSI_OP_DATA_IN)->bhs[1] & 1;
	expect_nothing(i);
}
END_TEST

void data_in_suite(TCase *c)
{
	add_table(c, cut_as_agreed, cuts);
	add(c, offset_of_the_last);
	add(c, error_at_the_end);
	add(c, many_reads_at_once);
}
