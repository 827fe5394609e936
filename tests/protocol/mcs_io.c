/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of one session over several connections (RFC 7143 4.2.2.1, 4.2.5.1, 7.6). */
#include "tests/protocol/mcs.h"

/* READs of a session over all its connections, the last first: each is answered on its own. */
START_TEST(allegiance)
{
	COVERS("P-020 U-008 P-021 S-002");
	struct bhs_scsi_command h[MCS_MAX];
	struct mcs m;

	mcs_open(&m, MCS_MAX, NULL);
	ready(mcs_on(&m, 0), LUN_RAM);
	for (unsigned k = 0; k < MCS_MAX; k++) {
		struct ini_scsi c;

		rw10(&c, READ10, LUN_RAM, k, 1, NULL);
		ini_command(mcs_on(&m, k), &h[k], LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	}
	for (unsigned k = MCS_MAX; k-- > 1;) {
		start(m.c[k], &h[k]);
		expect_nothing(m.c[k]); /* it waits for those before */
		ck_assert_uint_eq(m.c[k]->exp_cmdsn, get_be32(h[0].cmdsn));
	}
	start(m.c[0], &h[0]);
	for (unsigned k = 0; k < MCS_MAX; k++) {
		ck_assert_uint_eq(be32_of(expect(m.c[k], ISCSI_OP_DATA_IN), bhs_data_in, itt),
				  get_be32(h[k].itt));
		expect_nothing(m.c[k]);
	}
}
END_TEST

void mcs_io_suite(TCase *c)
{
	add(c, allegiance);
}
