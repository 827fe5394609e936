/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for many tasks wait for the data of R2Ts that are open (RFC 7143 4.2.3.3 a), though not
 * for ever. What comes of it reaches nothing.
 */
#include "tests/protocol/mcs.h"

#define LIMIT_MS 1000 /* the daemon's */
#define BLOCK    70
#define KEYS     USUAL("65536", "Yes", "No") "\niSCSIProtocolLevel=2"

static uint8_t before[1024], data[512];

/* Two writes of a block each whose R2Ts are not answered yet. */
static void start_two(struct ini *i, struct data_out d[static 2])
{
	struct ini_scsi c;

	ready(i, 0);
	fill(before, sizeof(before), 81);
	fill(data, sizeof(data), 82);
	rw10(&c, WRITE10, 0, BLOCK, 2, before);
	run_good(i, &c);
	for (unsigned n = 0; n < 2; n++) {
		d[n] = (struct data_out){ .length = 512, .data = data, .final = true };
		d[n].itt = start_write(i, 0, BLOCK + n, 1, true, NULL, 0);
		d[n].ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	}
}

static void expect_response(struct ini *i, const struct bhs_tmf_request *h)
{
	const struct ini_pdu *p = expect(i, ISCSI_OP_TMF_RESPONSE);

	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h->itt));
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
}

/* The function and a ping in one piece: the ping is answered first. */
static void request_and_ping(struct ini *i, struct bhs_tmf_request *h, uint8_t function)
{
	uint8_t both[2 * ISCSI_BHS_SIZE];
	struct bhs_nop nop;

	ini_tmf(i, h, function, 0);
	ini_nop(i, &nop, true);
	memcpy(both, h, ISCSI_BHS_SIZE);
	memcpy(both + ISCSI_BHS_SIZE, &nop, ISCSI_BHS_SIZE);
	ck_assert(!ini_send_bytes(i, both, sizeof(both)));
	ck_assert_uint_eq(be32_of(expect(i, ISCSI_OP_NOP_IN), bhs_nop, itt), get_be32(nop.itt));
}

/* The next PDU is the response, because the limit is over: this test was held up, and has nothing
 * more to show. */
static bool is_late(const struct ini_pdu *p, int64_t begin)
{
	ck_assert_ptr_nonnull(p);
	if (p->bhs[0] != ISCSI_OP_TMF_RESPONSE)
		return false;
	ck_assert_int_ge((int)(clock_ms() - begin), LIMIT_MS - 50);
	return true;
}

static const struct function {
	uint8_t function;
	bool closes; /* its session */
} functions[] = {
	{ ISCSI_TMF_ABORT_TASK_SET },   { ISCSI_TMF_CLEAR_TASK_SET },
	{ ISCSI_TMF_LU_RESET },         { ISCSI_TMF_WARM_RESET },
	{ ISCSI_TMF_COLD_RESET, true }, { ISCSI_TMF_NEXUS_RESET, true },
};

/* Answered with the last Data-Out, and not with the first. */
START_TEST(waits_for_data)
{
	COVERS("E-024 E-028 E-034 F-015 P-104");
	const struct function *f = &functions[_i];
	struct ini *i = session_keys(T_RESET, KEYS);
	struct bhs_tmf_request h;
	const struct ini_pdu *p;
	struct data_out d[2];
	struct bhs_nop nop;
	int64_t begin;

	start_two(i, d);
	begin = clock_ms();
	request_and_ping(i, &h, f->function);
	send_data_out(i, &d[1]);
	ini_nop(i, &nop, true);
	ck_assert(!ini_send(i, (uint8_t *)&nop, NULL, 0));
	p = await_pdu(i, patience(INI_WAIT_MS));
	if (is_late(p, begin))
		return;
	ck_assert_uint_eq(be32_of(p, bhs_nop, itt), get_be32(nop.itt));
	send_data_out(i, &d[0]);
	expect_response(i, &h);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(LIMIT_MS));
	if (f->closes) {
		expect_close(i);
		i = session(T_RESET);
	}
	ready(i, 0);
	expect_content(i, 0, BLOCK, 2, before);
	expect_nothing(i);
}
END_TEST

/* An initiator that answers no R2T of what it stops gets its response all the same, and what it
 * then sends is dropped. Meanwhile the tasks are none. */
START_TEST(data_never_comes)
{
	COVERS("E-024 E-034 E-035 P-104 P-012");
	struct ini *i = session_keys(T_RESET, KEYS);
	struct bhs_tmf_request h, q;
	struct bhs_scsi_command again;
	struct data_out d[2];
	int64_t begin;
	struct ini_scsi c;

	start_two(i, d);
	begin = clock_ms();
	request_and_ping(i, &h, ISCSI_TMF_ABORT_TASK_SET);
	ini_tmf(i, &q, ISCSI_TMF_QUERY_TASK_SET, 0);
	ck_assert(!ini_send(i, (uint8_t *)&q, NULL, 0));
	expect_response(i, &q);
	ini_tmf(i, &q, ISCSI_TMF_QUERY_TASK, 0);
	put_be32(q.referenced_tag, d[0].itt);
	put_be32(q.ref_cmdsn, i->cmdsn - 2);
	ck_assert(!ini_send(i, (uint8_t *)&q, NULL, 0));
	expect_response(i, &q);
	ini_tmf(i, &q, ISCSI_TMF_ABORT_TASK, 0);
	put_be32(q.referenced_tag, d[0].itt);
	put_be32(q.ref_cmdsn, i->cmdsn - 2);
	ck_assert(!ini_send(i, (uint8_t *)&q, NULL, 0));
	expect_response(i, &q);
	expect_response(i, &h);
	ck_assert_int_ge((int)(clock_ms() - begin), LIMIT_MS - 50);
	send_data_out(i, &d[0]);
	/* The tag is free again. */
	rw10(&c, READ10, 0, BLOCK, 1, NULL);
	i->itt = d[1].itt;
	i->track[d[1].itt % INI_TRACKS].open = false;
	ini_command(i, &again, 0, ISCSI_CMD_READ, 512, c.cdb, c.cdb_length);
	i->itt += 8;
	send_data_out(i, &d[1]);
	start(i, &again);
	ck_assert_mem_eq(expect(i, ISCSI_OP_DATA_IN)->data, before, 512);
	expect_nothing(i);
}
END_TEST

/* R2Ts of a connection that is lost are not waited for; if the function's own is, nobody is told.
 */
START_TEST(lost_connection)
{
	COVERS("E-024");
	struct data_out d = { .length = 512, .data = data, .final = true };
	unsigned lost = _i ? 0u : 1u, left = 1u - lost;
	const struct bhs_async *a;
	const struct ini_pdu *p;
	struct bhs_tmf_request h;
	int64_t begin;
	struct mcs m;

	mcs_open(&m, 2, USUAL("65536", "Yes", "No"));
	ready(mcs_on(&m, 0), LUN_RAM);
	d.itt = start_write(mcs_on(&m, 1), LUN_RAM, BLOCK, 1, true, NULL, 0);
	d.ttt = be32_of(expect(m.c[1], ISCSI_OP_R2T), bhs_r2t, ttt);
	mcs_on(&m, 0);
	begin = clock_ms();
	request_and_ping(m.c[0], &h, ISCSI_TMF_ABORT_TASK_SET);
	ini_close(m.c[lost]);
	p = await_pdu(mcs_on(&m, left), patience(INI_WAIT_MS));
	if (is_late(p, begin))
		return;
	a = bhs_of(p, bhs_async);
	ck_assert(a->event == ASYNC_CONNECTION_DROP && get_be16(a->parameter1) == lost);
	if (left)
		send_data_out(m.c[1], &d);
	else
		expect_response(m.c[0], &h);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(LIMIT_MS));
	ready(mcs_on(&m, left), LUN_RAM);
}
END_TEST

void tmf_wait_suite(TCase *c)
{
	add_table(c, waits_for_data, functions);
	add(c, data_never_comes);
	add_rows(c, lost_connection, 2);
}
