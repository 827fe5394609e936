/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of one session over several connections (RFC 7143 4.2.2.1, 4.2.5.1, 7.6). */
#include "tests/protocol/mcs.h"

#include <poll.h>

static uint8_t data[65536];

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

/* Writes of one block by turns: the last CmdSN stays, in whatever order they come. */
START_TEST(last_number_wins)
{
	COVERS("P-021 P-022");
	static uint8_t blocks[MCS_MAX][4096];
	struct bhs_scsi_command h[MCS_MAX];
	struct mcs m;
	struct ini_scsi c;

	mcs_open(&m, MCS_MAX, NULL);
	ready(mcs_on(&m, 0), LUN_RAM);
	rw10(&c, WRITE10, LUN_RAM, 300, 8, NULL);
	for (unsigned round = 0; round < 20; round++) {
		unsigned turn = (round * 5 + 3) % MCS_MAX;

		for (unsigned k = 0; k < MCS_MAX; k++) {
			fill(blocks[k], 4096, round * 100 + k);
			ini_command(mcs_on(&m, k), &h[k], LUN_RAM, ISCSI_CMD_WRITE, 4096, c.cdb,
				    10);
		}
		for (unsigned n = 0; n < MCS_MAX; n++) {
			unsigned k = (turn + 3 * n) % MCS_MAX;

			ck_assert(!ini_send(m.c[k], (uint8_t *)&h[k], blocks[k], 4096));
		}
		for (unsigned k = 0; k < MCS_MAX; k++)
			expect_status(m.c[k], get_be32(h[k].itt), 0);
		expect_content(mcs_on(&m, turn), LUN_RAM, 300, 8, blocks[MCS_MAX - 1]);
	}
}
END_TEST

/* Data of a command comes on its own connection, or is refused and harms nothing. */
START_TEST(data_elsewhere)
{
	COVERS("S-040 P-020");
	struct mcs m;
	struct data_out d = {
		.length = 512, .data = data, .final = true, .ttt = ISCSI_TAG_RESERVED
	};
	bool solicited = _i;

	mcs_open(&m, 2, solicited ? USUAL("65536", "Yes", "No") : USUAL("65536", "No", "No"));
	ready(mcs_on(&m, 0), LUN_RAM);
	fill(data, 512, 31);
	d.itt = start_write(mcs_on(&m, 0), LUN_RAM, 310, 1, solicited, NULL, 0);
	if (solicited)
		d.ttt = be32_of(expect(m.c[0], ISCSI_OP_R2T), bhs_r2t, ttt);
	ping(m.c[0]);
	send_data_out(m.c[1], &d);
	expect(m.c[1], ISCSI_OP_REJECT);
	send_data_out(m.c[0], &d);
	expect_status(m.c[0], d.itt, 0);
	expect_content(mcs_on(&m, 1), LUN_RAM, 310, 1, data);
}
END_TEST

/* With its connection a number is lost: what comes behind waits, until the hole is plugged. */
START_TEST(hole)
{
	COVERS("P-021");
	struct bhs_scsi_command lost, kept[2];
	struct bhs_nop plug;
	struct mcs m;
	struct ini_scsi c;

	mcs_open(&m, 3, NULL);
	ready(mcs_on(&m, 0), LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 1, NULL);
	ini_nop(mcs_on(&m, 0), &plug, false);
	ini_command(mcs_on(&m, 1), &lost, LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	ini_command(mcs_on(&m, 2), &kept[0], LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	ini_command(mcs_on(&m, 0), &kept[1], LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	start(m.c[1], &lost); /* has come, waits for its turn, and goes with its connection */
	start(m.c[2], &kept[0]);
	start(m.c[0], &kept[1]);
	ping(m.c[1]);
	mcs_kill(&m, 1, 0);
	ck_assert(!ini_send(m.c[0], (uint8_t *)&plug, NULL, 0));
	expect(m.c[0], ISCSI_OP_NOP_IN);
	expect_nothing(m.c[2]);
	ck_assert_uint_eq(m.c[2]->exp_cmdsn, get_be32(lost.cmdsn));
	put_be32(plug.sn1, get_be32(lost.cmdsn));
	put_be32(plug.itt, get_be32(lost.itt));
	ck_assert(!ini_send(m.c[2], (uint8_t *)&plug, NULL, 0));
	expect(m.c[2], ISCSI_OP_NOP_IN);
	expect(m.c[2], ISCSI_OP_DATA_IN);
	expect(m.c[0], ISCSI_OP_DATA_IN);
	m.last->cmdsn = get_be32(kept[1].cmdsn) + 1;
	ready(mcs_on(&m, 2), LUN_RAM);
}
END_TEST

/* One that does not read its answers holds up none of the others. */
START_TEST(one_does_not_read)
{
	struct bhs_scsi_command h;
	struct mcs m;
	struct ini_scsi c;

	mcs_open(&m, 3, NULL);
	ready(mcs_on(&m, 0), LUN_NULL);
	ready(mcs_on(&m, 0), LUN_RAM);
	rw10(&c, READ10, LUN_NULL, 0, 2048, NULL);
	for (unsigned n = 0; n < 12; n++) {
		ini_command(mcs_on(&m, 1), &h, LUN_NULL, ISCSI_CMD_READ, 1 << 20, c.cdb, 10);
		start(m.c[1], &h);
	}
	for (unsigned n = 0; n < 200; n++) {
		rw10(&c, WRITE10, LUN_RAM, 320 + n, 1, data);
		run_good(mcs_on(&m, n % 2 * 2), &c);
	}
}
END_TEST

/* A ping, which asks for an acknowledgement; answered only by `acknowledge`. */
static uint32_t asked(struct ini *i)
{
	uint32_t ttt = be32_of(expect(i, ISCSI_OP_NOP_IN), bhs_nop, ttt);

	ck_assert_uint_ne(ttt, ISCSI_TAG_RESERVED);
	return ttt;
}

static void acknowledge(struct ini *i, uint32_t ttt)
{
	struct bhs_nop h;

	ini_nop(i, &h, true);
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	put_be32(h.ttt, ttt);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
}

/* Nothing within a while; the connections are not used, for that would acknowledge. */
static void silent(struct ini *i)
{
	struct pollfd p = { .fd = i->fd, .events = POLLIN };

	ck_assert_msg(!poll(&p, 1, 150), "something has come");
}

/* The next request goes by connection 1, and what has come by connection 0 is not acknowledged
 * first, as mcs_on does. */
static void unsaid(struct mcs *m)
{
	m->c[1]->cmdsn = m->c[0]->cmdsn;
	m->c[1]->itt = m->c[0]->itt;
	m->last = m->c[1];
}

/* The response of a function that stops many tasks comes behind all statuses before it, wherever
 * they went, and before all that come later; the initiator is asked for what is missing. */
START_TEST(fenced_function)
{
	COVERS("E-029 E-030 E-043 E-048 E-049 E-051 E-052 E-059");
	struct bhs_tmf_request t;
	struct bhs_scsi_command h;
	const struct ini_pdu *p;
	struct ini_scsi c;
	uint32_t ttt;
	struct mcs m;

	mcs_open(&m, 2, NULL);
	ready(mcs_on(&m, 0), LUN_RAM);
	ready(mcs_on(&m, 1), LUN_RAM);
	mcs_on(&m, 0);
	rw10(&c, READ10, LUN_RAM, 0, 1, data);
	run_good(m.c[0], &c); /* not acknowledged */
	unsaid(&m);
	ini_tmf(m.c[1], &t, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	ck_assert(!ini_send(m.c[1], (uint8_t *)&t, NULL, 0));
	ttt = asked(m.c[0]);
	silent(m.c[1]);
	acknowledge(m.c[0], ttt);
	p = expect(m.c[1], ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(t.itt));
	ck_assert_uint_eq(p->bhs[2], 0);
	m.c[0]->cmdsn = m.c[1]->cmdsn;
	m.c[0]->itt = m.c[1]->itt;
	m.last = m.c[0];
	ini_command(m.c[0], &h, LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	start(m.c[0], &h);
	ttt = asked(m.c[1]);
	silent(m.c[0]);
	acknowledge(m.c[1], ttt);
	expect(m.c[0], ISCSI_OP_DATA_IN);
	ready(mcs_on(&m, 1), LUN_RAM);
}
END_TEST

/* The answer to a ping may have crossed the status: the initiator is asked once more. */
START_TEST(fence_asks_again)
{
	COVERS("E-048");
	struct bhs_tmf_request t;
	struct ini_scsi c;
	struct mcs m;

	mcs_open(&m, 2, NULL);
	ready(mcs_on(&m, 1), LUN_RAM);
	ready(mcs_on(&m, 0), LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 1, data);
	m.c[0]->acked = m.c[0]->exp_statsn;
	m.c[0]->withholds = true;
	run_good(m.c[0], &c);
	unsaid(&m);
	ini_tmf(m.c[1], &t, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	ck_assert(!ini_send(m.c[1], (uint8_t *)&t, NULL, 0));
	acknowledge(m.c[0], asked(m.c[0]));
	m.c[0]->withholds = false;
	acknowledge(m.c[0], asked(m.c[0]));
	ck_assert_uint_eq(expect(m.c[1], ISCSI_OP_TMF_RESPONSE)->bhs[2], 0);
}
END_TEST

/* A READ by connection 1 that meets another's reset, while what connection 0 got last is not
 * acknowledged. Returns the tag by which connection 0 is asked. */
static uint32_t read_after_reset(struct mcs *m, struct ini *other, struct bhs_scsi_command *h)
{
	struct ini_scsi c;

	ready(mcs_on(m, 0), LUN_RAM);
	ready(mcs_on(m, 1), LUN_RAM);
	mcs_on(m, 0);
	rw10(&c, READ10, LUN_RAM, 0, 1, data);
	run_good(m->c[0], &c);
	tmf(other, ISCSI_TMF_LU_RESET, LUN_RAM, 0);
	unsaid(m);
	ini_command(m->c[1], h, LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, 10);
	start(m->c[1], h);
	return asked(m->c[0]);
}

/* The unit attention that another's reset leaves behind. */
START_TEST(fenced_unit_attention)
{
	COVERS("E-030 E-052");
	struct ini *other = session(T_MCS);
	struct bhs_scsi_command h;
	uint32_t ttt;
	struct mcs m;

	ready(other, LUN_RAM);
	mcs_open(&m, 2, NULL);
	ttt = read_after_reset(&m, other, &h);
	silent(m.c[1]);
	acknowledge(m.c[0], ttt);
	ck_assert_uint_eq(sense_of(expect(m.c[1], ISCSI_OP_SCSI_RESPONSE)), 0x062903);
	ready(mcs_on(&m, 0), LUN_RAM);
}
END_TEST

/* Level 1: a response that waits for its fence is not queued once more by a SNACK. */
START_TEST(fenced_and_asked_for)
{
	COVERS("E-030");
	struct bhs_snack s = { .opcode = ISCSI_OP_SNACK, .flags = ISCSI_FINAL | SNACK_R_DATA };
	struct ini *other = session(T_MCS);
	struct bhs_scsi_command h;
	const struct ini_pdu *p;
	uint32_t ttt;
	struct mcs m;

	ready(other, LUN_RAM);
	mcs_open(&m, 2, USUAL("65536", "No", "Yes") "\nErrorRecoveryLevel=1");
	m.c[1]->recovery = m.c[0]->recovery;
	ttt = read_after_reset(&m, other, &h);
	memcpy(s.itt, h.itt, sizeof(s.itt));
	put_be32(s.ttt, 0x1234);
	put_be32(s.exp_statsn, ini_ack(m.c[1]));
	ck_assert(!ini_send(m.c[1], (uint8_t *)&s, NULL, 0));
	silent(m.c[1]);
	acknowledge(m.c[0], ttt);
	for (unsigned n = 0; n < 2; n++) { /* and then again, as asked */
		p = expect(m.c[1], ISCSI_OP_SCSI_RESPONSE);
		ck_assert_uint_eq(sense_of(p), 0x062903);
		ck_assert_uint_eq(be32_of(p, bhs_scsi_response, snack_tag), 0x1234);
	}
	ready(mcs_on(&m, 0), LUN_RAM);
	ready(mcs_on(&m, 1), LUN_RAM);
}
END_TEST

/* A connection that is lost is waited for no more. */
START_TEST(fence_without_the_lost)
{
	COVERS("E-053");
	struct bhs_tmf_request t;
	struct ini_scsi c;
	struct mcs m;

	mcs_open(&m, 3, NULL);
	for (unsigned k = 0; k < 3; k++)
		ready(mcs_on(&m, k), LUN_RAM);
	mcs_on(&m, 0);
	rw10(&c, READ10, LUN_RAM, 0, 1, data);
	run_good(m.c[0], &c);
	unsaid(&m);
	ini_tmf(m.c[1], &t, ISCSI_TMF_LU_RESET, LUN_RAM);
	ck_assert(!ini_send(m.c[1], (uint8_t *)&t, NULL, 0));
	asked(m.c[0]);
	silent(m.c[1]);
	ini_close(m.c[0]);
	mcs_event(m.c[1], ASYNC_CONNECTION_DROP);
	ck_assert_uint_eq(expect(m.c[1], ISCSI_OP_TMF_RESPONSE)->bhs[2], 0);
	ready(mcs_on(&m, 2), LUN_RAM);
}
END_TEST

/* A function ahead of a command that is still to come on the other connection. */
START_TEST(function_waits_for_command)
{
	COVERS("P-173 U-026 E-025 E-028");
	struct bhs_scsi_command first, second;
	struct bhs_tmf_request t;
	struct bhs_nop n;
	struct ini_scsi c;
	struct mcs m;

	mcs_open(&m, 2, NULL);
	ready(mcs_on(&m, 1), LUN_FAULT);
	ready(mcs_on(&m, 0), LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL, 1, NULL);
	ini_command(mcs_on(&m, 0), &first, LUN_FAULT, ISCSI_CMD_READ, 512, c.cdb, 10);
	ini_command(mcs_on(&m, 1), &second, LUN_FAULT, ISCSI_CMD_READ, 512, c.cdb, 10);
	ini_tmf(mcs_on(&m, 0), &t, ISCSI_TMF_ABORT_TASK_SET, LUN_FAULT);
	start(m.c[0], &first);
	ck_assert(!ini_send(m.c[0], (uint8_t *)&t, NULL, 0));
	expect_nothing(m.c[0]);
	start(m.c[1], &second);
	acknowledge(m.c[0], asked(m.c[0])); /* the answer to our ping */
	ck_assert_uint_eq(expect(m.c[0], ISCSI_OP_TMF_RESPONSE)->bhs[2], 0);
	ini_nop(m.c[0], &n, false);
	ck_assert(!ini_send(m.c[0], (uint8_t *)&n, NULL, 0));
	ck_assert_uint_eq(be32_of(expect(m.c[0], ISCSI_OP_NOP_IN), bhs_nop, itt), get_be32(n.itt));
	silent(m.c[1]);
}
END_TEST

void mcs_io_suite(TCase *c)
{
	add(c, allegiance);
	add(c, last_number_wins);
	add_rows(c, data_elsewhere, 2);
	add(c, hole);
	add(c, one_does_not_read);
	add(c, fenced_function);
	add(c, fence_asks_again);
	add(c, fenced_unit_attention);
	add(c, fenced_and_asked_for);
	add(c, fence_without_the_lost);
	add(c, function_waits_for_command);
}
