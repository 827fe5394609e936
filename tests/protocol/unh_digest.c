/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, groups 5 and 18: digests that are wrong (full text). */
#include "tests/protocol/unh.h"

#define CRC_ERROR 0x0b4705

static uint8_t data[4096], before[4096];

static struct ini *with_digest(const char *keys)
{
	struct ini *i = unh_session(keys);

	fill(before, 2048, 18);
	fill(data, 2048, 19);
	unh_write(i, UNH_BLOCK, 4, before);
	return i;
}

#define IMMEDIATE_512 "ImmediateData=Yes\nInitialR2T=Yes\nFirstBurstLength=512\n"

/* A WRITE of n blocks with 512 bytes of immediate data, not sent yet. */
static void make_write(struct ini *i, uint16_t blocks, struct bhs_scsi_command *h)
{
	struct ini_scsi c;

	rw10(&c, WRITE10, LUN_RAM, UNH_BLOCK, blocks, NULL);
	ini_command(i, h, LUN_RAM, ISCSI_CMD_WRITE, c.edtl, c.cdb, c.cdb_length);
}

/* The same PDU again, now with the right digest: as if it came for the first time. */
START_TEST(command_retry)
{
	COVERS("U-007 E-003 E-006 P-162");
	struct ini *i = with_digest("ImmediateData=Yes\nDataDigest=CRC32C\n" TRY_LEVEL_1);
	struct bhs_scsi_command h;
	const struct ini_pdu *p;

	ck_assert(i->data_digest);
	make_write(i, 1, &h);
	i->corrupt_data_digest = true;
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 512));
	i->corrupt_data_digest = false;
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_DATA_DIGEST);
	ck_assert_uint_eq(be32_of(p, bhs_reject, exp_cmdsn), get_be32(h.cmdsn));
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 512));
	expect_status(i, get_be32(h.itt), 0);
	expect_content(i, LUN_RAM, UNH_BLOCK, 1, data);
}
END_TEST

/* The header digest left out: what follows cannot be understood. */
START_TEST(no_header_digest)
{
	COVERS("U-079 E-002 T-058");
	struct ini *i = with_digest("HeaderDigest=CRC32C\n" IMMEDIATE_512);
	struct bhs_scsi_command h;
	struct ini_pdu p;

	ck_assert(i->header_digest);
	make_write(i, 1, &h);
	i->header_digest = false;
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 512));
	i->header_digest = true;
	/* The PDU may be dropped as well; ours closes, as 7.3 advises. */
	ck_assert_int_eq(ini_receive(i, &p, patience(INI_WAIT_MS)), -ENOTCONN);
	expect_content(unh_session(NULL), LUN_RAM, UNH_BLOCK, 1, before);
}
END_TEST

/* The CmdSN of the PDU is not taken: the next one with it runs. */
START_TEST(data_digest_of_a_command)
{
	COVERS("U-080 E-003 E-006 P-158 P-162");
	struct ini *i = with_digest("DataDigest=CRC32C\n" IMMEDIATE_512);
	struct bhs_scsi_command h;

	make_write(i, 1, &h);
	i->corrupt_data_digest = true;
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 512));
	i->corrupt_data_digest = false;
	expect_reject(i, REJECT_DATA_DIGEST);
	expect_content(unh_session(NULL), LUN_RAM, UNH_BLOCK, 4, before);
	i->cmdsn--;
	unh_write(i, UNH_BLOCK, 4, data);
	expect_content(i, LUN_RAM, UNH_BLOCK, 4, data);
}
END_TEST

START_TEST(data_digest_of_data_out)
{
	COVERS("U-081 E-003 E-004 E-007 P-072");
	struct ini *i = with_digest("DataDigest=CRC32C\n" SOLICITED);
	struct data_out d = { .length = 512 };
	struct ini_scsi c;

	/* A file: nothing of a write is there before all of it is. */
	ready(i, LUN_FILE);
	rw10(&c, WRITE10, LUN_FILE, UNH_BLOCK, 4, before);
	run_good(i, &c);
	d.itt = start_write(i, LUN_FILE, UNH_BLOCK, 4, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	for (; d.datasn < 4; d.datasn++) {
		d.offset = 512 * d.datasn;
		d.data = data + d.offset;
		d.final = d.datasn == 3;
		i->corrupt_data_digest = d.datasn == 0;
		send_data_out(i, &d);
		if (!d.datasn)
			expect_reject(i, REJECT_DATA_DIGEST);
		if (!d.final) /* no status before F */
			expect_nothing(i);
	}
	ck_assert(!unh_fails(i, d.itt, CRC_ERROR, CRC_ERROR));
	expect_nothing(i);
	expect_content(i, LUN_FILE, UNH_BLOCK, 4, before);
}
END_TEST

void unh_digest_suite(TCase *c)
{
	add(c, command_retry);
	add(c, no_header_digest);
	add(c, data_digest_of_a_command);
	add(c, data_digest_of_data_out);
}
