/* SPDX-License-Identifier: BSD-2-Clause */
/* ErrorRecoveryLevel 1 in a session of several connections: each has its numbers and its data. */
#include "tests/protocol/mcs.h"
#include "tests/protocol/snack.h"

#define CONNS 3
#define KEYS  "ErrorRecoveryLevel=1\n" USUAL("65536", "No", "Yes")

static void open_all(struct mcs *m)
{
	struct ini_scsi c;

	mcs_open(m, CONNS, KEYS);
	for (unsigned k = 0; k < CONNS; k++) {
		m->c[k]->recovery = true;
		ready(mcs_on(m, k), LUN_RAM);
	}
	fill(content, BYTES, 73);
	rw10(&c, WRITE10, LUN_RAM, BLOCK, BLOCKS, content);
	run_good(mcs_on(m, 0), &c);
}

/* A READ whose status this connection does not acknowledge; its tag. */
static uint32_t read_all(struct mcs *m, unsigned k)
{
	static uint8_t in[BYTES];
	struct ini *i = mcs_on(m, k);
	struct ini_scsi c;

	rw10(&c, READ10, LUN_RAM, BLOCK, BLOCKS, in);
	ping(i);
	withhold(i);
	run_good(i, &c);
	ck_assert(!memcmp(in, content, BYTES));
	return c.itt;
}

static void again(struct mcs *m, unsigned k, uint32_t itt)
{
	struct ini *i = mcs_on(m, k);
	const struct ini_pdu *p;

	send_snack(i, &(struct snack){ .type = SNACK_DATA_R2T, .itt = itt, .runlength = 1 });
	p = expect(i, ISCSI_OP_DATA_IN);
	ck_assert_uint_eq(be32_of(p, bhs_data_in, itt), itt);
	ck_assert(!memcmp(p->data, content, p->length));
}

static void refused(struct mcs *m, unsigned k, uint32_t itt)
{
	struct ini *i = mcs_on(m, k);

	send_snack(i, &(struct snack){ .type = SNACK_DATA_R2T, .itt = itt, .runlength = 1 });
	expect_reject(i, REJECT_PROTOCOL_ERROR);
}

/* Data is to be had on its own connection until that acknowledges it, whatever others do. */
START_TEST(data_of_each)
{
	COVERS("P-152 E-010");
	uint32_t itt[CONNS];
	struct mcs m;

	open_all(&m);
	for (unsigned k = 0; k < CONNS; k++)
		itt[k] = read_all(&m, k);
	refused(&m, 0, itt[1]);
	refused(&m, 2, itt[0]);
	m.c[2]->withholds = false;
	ping(mcs_on(&m, 2));
	refused(&m, 2, itt[2]);
	again(&m, 1, itt[1]);
	mcs_kill(&m, 0, 1);
	again(&m, 1, itt[1]);
	refused(&m, 1, itt[0]);
}
END_TEST

/* StatSN is the connection's: a number asked for on one is that of its own status. */
START_TEST(status_of_each)
{
	COVERS("P-151");
	uint32_t itt[CONNS];
	struct mcs m;

	open_all(&m);
	for (unsigned k = 0; k < CONNS; k++)
		itt[k] = read_all(&m, k);
	for (unsigned k = 0; k < CONNS; k++) {
		struct ini *i = mcs_on(&m, k);
		const struct ini_pdu *p;

		send_snack(i, &(struct snack){ SNACK_STATUS, ISCSI_TAG_RESERVED, 0, i->acked, 1 });
		p = expect(i, ISCSI_OP_SCSI_RESPONSE);
		ck_assert_uint_eq(be32_of(p, bhs_scsi_response, itt), itt[k]);
		ck_assert_uint_eq(be32_of(p, bhs_scsi_response, statsn), i->acked);
	}
}
END_TEST

void snack_mcs_suite(TCase *c)
{
	add(c, data_of_each);
	add(c, status_of_each);
}
