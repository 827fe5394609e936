/* SPDX-License-Identifier: BSD-2-Clause */
/* The validator of the test initiator: it must find what it is there to find. */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ITT 0x100

static struct ini ini;
static int target; /* the other end */

/* A command for 8192 bytes is under way; CmdSN 1, StatSN 7 is next. */
static void setup(void)
{
	uint8_t cdb[16] = { 0 };
	struct bhs_scsi_command h;
	int fds[2];

	memset(&ini, 0, sizeof(ini));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ini.fd = fds[0];
	target = fds[1];
	ini.full_feature = true;
	ini.itt = ITT;
	ini.cmdsn = 1;
	ini.max_recv = 8192;
	ini.max_burst = 16384;
	ini.statsn_known = ini.window_known = true;
	ini.exp_statsn = 7;
	ini.exp_cmdsn = 1;
	ini.max_cmdsn = 32;
	ini_command(&ini, &h, 0, ISCSI_CMD_READ, 8192, cdb, sizeof(cdb));
	ck_assert_int_eq(ini_send(&ini, (uint8_t *)&h, NULL, 0), 0);
}

/* A byte of a PDU that is right without it, and what is said of it then. */
static const struct row {
	uint8_t opcode;
	uint8_t at[2], value[2];
	uint32_t length;
	const char *says; /* NULL: nothing is wrong */
} rows[] = {
	{ ISCSI_OP_NOP_IN, { 0 }, { 0 }, 0, NULL },
	{ ISCSI_OP_NOP_IN, { 2 }, { 1 }, 0, "reserved byte 2" },
	{ ISCSI_OP_NOP_IN, { 40 }, { 1 }, 0, "reserved byte 40" },
	{ ISCSI_OP_NOP_IN, { 4 }, { 1 }, 0, "AHS" },
	{ ISCSI_OP_NOP_IN, { 27 }, { 8 }, 0, "StatSN 8, expected 7" },
	{ ISCSI_OP_NOP_IN, { 31 }, { 0 }, 0, "ExpCmdSN went back" },
	{ ISCSI_OP_NOP_IN, { 35 }, { 31 }, 0, "MaxCmdSN went back" },
	{ ISCSI_OP_NOP_IN, { 31 }, { 60 }, 0, "below ExpCmdSN" },
	{ ISCSI_OP_NOP_IN, { 1 }, { 0 }, 0, "flags 00" },
	{ ISCSI_OP_NOP_IN, { 23 }, { 1 }, 0, "TTT" },
	{ ISCSI_OP_NOP_IN, { 0 }, { 0 }, 8196, "8192 declared" },
	{ 0x05, { 0 }, { 0 }, 0, "is not a target's" },
	{ 0x60, { 0 }, { 0 }, 0, "is not a target's" },
	{ ISCSI_OP_DATA_IN, { 1 }, { 0x81 }, 8192, NULL },
	{ ISCSI_OP_DATA_IN, { 1, 39 }, { 0x81, 1 }, 8192, "DataSN 1, expected 0" },
	{ ISCSI_OP_DATA_IN, { 1, 42 }, { 0x81, 2 }, 8192, "expected at 0" },
	{ ISCSI_OP_DATA_IN, { 1 }, { 0 }, 511, "within a sequence" },
	{ ISCSI_OP_DATA_IN, { 1 }, { 0xc0 }, 512, "acknowledgement" },
	{ ISCSI_OP_DATA_IN, { 1 }, { 0x01 }, 512, "flags 01" },
	{ ISCSI_OP_DATA_IN, { 1, 3 }, { 0x81, 2 }, 512, "status 02" },
	{ ISCSI_OP_DATA_IN, { 1, 47 }, { 0x80, 2 }, 512, "without S" },
	{ ISCSI_OP_DATA_IN, { 1, 19 }, { 0x81, 1 }, 512, "not there" },
	{ ISCSI_OP_R2T, { 46 }, { 2 }, 0, NULL },
	{ ISCSI_OP_R2T, { 0 }, { 0 }, 0, "R2T for 0 bytes" },
	{ ISCSI_OP_R2T, { 46 }, { 0x21 }, 0, "MaxBurstLength" },
	{ ISCSI_OP_R2T, { 46, 39 }, { 2, 1 }, 0, "R2TSN 1" },
	{ ISCSI_OP_R2T, { 46, 19 }, { 2, 9 }, 0, "not there" },
	{ ISCSI_OP_SCSI_RESPONSE, { 0 }, { 0 }, 0, NULL },
	{ ISCSI_OP_SCSI_RESPONSE, { 1 }, { 0x86 }, 0, "flags 86" },
	{ ISCSI_OP_SCSI_RESPONSE, { 47 }, { 1 }, 0, "residual count" },
	{ ISCSI_OP_SCSI_RESPONSE, { 3 }, { 2 }, 0, "status 02 with 0" },
	{ ISCSI_OP_SCSI_RESPONSE, { 39 }, { 1 }, 0, "ExpDataSN" },
	{ ISCSI_OP_SCSI_RESPONSE, { 8 }, { 1 }, 0, "reserved byte 8" },
	{ ISCSI_OP_SCSI_RESPONSE, { 31 }, { 1 }, 0, "status for CmdSN 1" },
	{ ISCSI_OP_REJECT, { 2, 16 }, { 4, 0xff }, 48, NULL },
	{ ISCSI_OP_REJECT, { 2, 16 }, { 4, 0xff }, 4, "with 4 bytes" },
	{ ISCSI_OP_REJECT, { 2, 16 }, { 11, 0xff }, 48, "reason 0b" },
	{ ISCSI_OP_TMF_RESPONSE, { 0 }, { 0 }, 4, "4 bytes" },
	{ ISCSI_OP_LOGIN_RESPONSE, { 36, 37 }, { 2, 12 }, 0, "status 020c" },
	{ ISCSI_OP_LOGIN_RESPONSE, { 36, 37 }, { 1, 3 }, 0, "status 0103" },
	{ ISCSI_OP_LOGIN_RESPONSE, { 36, 37 }, { 4, 0 }, 0, "status 0400" },
	{ ISCSI_OP_TEXT_RESPONSE, { 1 }, { 0x80 }, 0, NULL },
	{ ISCSI_OP_TEXT_RESPONSE, { 1 }, { 0x00 }, 0, "TTT" },
	{ ISCSI_OP_ASYNC, { 36, 16 }, { 1, 0xff }, 0, NULL },
	{ ISCSI_OP_ASYNC, { 36, 16 }, { 5, 0xff }, 0, "event 5" },
};

static void fill_in(const struct row *r, uint8_t bhs[static 48])
{
	memset(bhs, 0, 48);
	bhs[0] = r->opcode;
	bhs[1] = 0x80;
	put_be24(bhs + 5, r->length);
	put_be32(bhs + 16, ITT);
	if (r->opcode == ISCSI_OP_NOP_IN || r->opcode == ISCSI_OP_TEXT_RESPONSE ||
	    r->opcode == ISCSI_OP_DATA_IN)
		put_be32(bhs + 20, ISCSI_TAG_RESERVED);
	put_be32(bhs + 24, 7);
	put_be32(bhs + 28, 2);
	put_be32(bhs + 32, 33);
	if (r->opcode == ISCSI_OP_ASYNC || r->opcode == ISCSI_OP_REJECT)
		put_be32(bhs + 16, ISCSI_TAG_RESERVED);
	for (unsigned n = 0; n < 2; n++)
		if (r->at[n])
			bhs[r->at[n]] = r->value[n];
}

START_TEST(finds)
{
	const struct row *r = &rows[_i];
	static uint8_t data[8200];
	uint8_t bhs[48];
	struct ini_pdu p;

	setup();
	fill_in(r, bhs);
	ck_assert_int_eq((int)write(target, bhs, 48), 48);
	ck_assert_int_eq((int)write(target, data, (r->length + 3) & ~3u),
			 (int)((r->length + 3) & ~3u));
	ck_assert_int_eq(ini_receive(&ini, &p, 1000), 1);
	ini_pdu_free(&p);
	if (r->says)
		ck_assert_msg(ini.violations && strstr(ini.violation, r->says),
			      "row %d: \"%s\" instead of \"%s\"", _i, ini.violation, r->says);
	else
		ck_assert_msg(!ini.violations, "row %d: \"%s\"", _i, ini.violation);
	ini_close(&ini);
	close(target);
}
END_TEST

START_TEST(padding)
{
	static const uint8_t data[4] = { 'a', 'b', 0, 1 };
	static const struct row r = { .opcode = ISCSI_OP_NOP_IN, .length = 2 };
	uint8_t bhs[48];
	struct ini_pdu p;

	setup();
	fill_in(&r, bhs);
	ck_assert_int_eq((int)write(target, bhs, 48), 48);
	ck_assert_int_eq((int)write(target, data, 4), 4);
	ck_assert_int_eq(ini_receive(&ini, &p, 1000), 1);
	ini_pdu_free(&p);
	ck_assert_str_eq(ini.violation, "padding is not zero");
	ini_close(&ini);
	close(target);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("initiator/validate");
	SRunner *runner = srunner_create(suite);
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, finds, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(c, padding);
	suite_add_tcase(suite, c);
	return unit_end(runner);
}
