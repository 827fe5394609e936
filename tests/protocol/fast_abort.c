/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TaskReporting (RFC 7143 13.23): functions for many tasks that wait for no data, and tell other
 * connections and sessions of it (4.2.3.4, 4.2.3.5); fences where they are needed.
 */
#include "tests/protocol/mcs.h"

#define BLOCK  90
#define WINDOW 128
#define KEYS   USUAL("65536", "Yes", "No") "\niSCSIProtocolLevel=2"
#define FAST   KEYS "\nTaskReporting=FastAbort,ResponseFence,RFC3720"
#define FENCE  KEYS "\nTaskReporting=ResponseFence,RFC3720"

static uint8_t data[512], before[512];

/* A write of a block whose R2T is open. */
static struct data_out open_write(struct ini *i, uint64_t lun)
{
	struct data_out d = { .length = 512, .data = data, .final = true };

	d.itt = start_write(i, lun, BLOCK, 1, true, NULL, 0);
	d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	return d;
}

/* The block, before and as a write would have it. */
static void prepare(struct ini *i, uint64_t lun)
{
	struct ini_scsi c;

	ready(i, lun);
	fill(before, sizeof(before), 91);
	fill(data, sizeof(data), 92);
	rw10(&c, WRITE10, lun, BLOCK, 1, before);
	run_good(i, &c);
}

/* The block is what it was. */
static void expect_before(struct ini *i, uint64_t lun)
{
	static uint8_t block[512];
	struct ini_scsi c;

	rw10(&c, READ10, lun, BLOCK, 1, block);
	run_good(i, &c);
	ck_assert_mem_eq(block, before, sizeof(block));
}

static void send_function(struct ini *i, struct bhs_tmf_request *h, uint8_t function, uint64_t lun)
{
	ini_tmf(i, h, function, lun);
	ck_assert(!ini_send(i, (uint8_t *)h, NULL, 0));
}

static void expect_response(struct ini *i, const struct bhs_tmf_request *h)
{
	const struct ini_pdu *p = expect(i, ISCSI_OP_TMF_RESPONSE);

	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h->itt));
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
}

/* The message of tasks that are ended; its LUN field. */
static uint64_t told(struct ini *i)
{
	const struct bhs_async *a = mcs_event(i, ASYNC_TASK_TERMINATION);

	ck_assert_uint_eq(get_be32(a->tag), ISCSI_TAG_RESERVED);
	return get_be64(a->lun);
}

/* Acknowledges, as 11.9.1 has it for such a message, or as any initiator may at any time. */
static void acknowledge(struct ini *i, uint64_t lun_field)
{
	struct bhs_nop h;

	ini_nop(i, &h, true);
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	put_be64(h.lun, lun_field);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
}

/* What the target has taken and not ended. */
static uint32_t places_taken(struct ini *i)
{
	ping(i);
	return WINDOW - (i->max_cmdsn - i->exp_cmdsn + 1);
}

static const uint8_t functions[] = {
	ISCSI_TMF_ABORT_TASK_SET,
	ISCSI_TMF_CLEAR_TASK_SET,
	ISCSI_TMF_LU_RESET,
	ISCSI_TMF_WARM_RESET,
};

/* Answered without the data, which is dropped when it comes; nobody is told by the connection that
 * has asked for it. */
START_TEST(answered_at_once)
{
	COVERS("E-031 E-032 E-034 E-054 E-055 E-056 T-090");
	struct ini *i = session_keys(T_RESET, FAST);
	struct bhs_tmf_request h;
	struct data_out d[2];
	struct bhs_nop gap;

	prepare(i, 0);
	d[0] = open_write(i, 0);
	d[1] = open_write(i, 0);
	if (functions[_i] != ISCSI_TMF_WARM_RESET) { /* what was sent before it has to come */
		ini_nop(i, &gap, false);
		send_function(i, &h, functions[_i], 0);
		expect_nothing(i);
		ck_assert(!ini_send(i, (uint8_t *)&gap, NULL, 0));
		expect(i, ISCSI_OP_NOP_IN);
	} else {
		send_function(i, &h, functions[_i], 0);
	}
	expect_response(i, &h);
	ck_assert_uint_eq(places_taken(i), 0);
	send_data_out(i, &d[0]);
	send_data_out(i, &d[1]);
	expect_nothing(i);
	ready(i, 0);
	expect_before(i, 0);
}
END_TEST

/* A reset of a session: every session with FastAbort that loses tasks by it is told, for each LU,
 * whatever the one that resets has negotiated. What is open stays so until that is acknowledged. */
START_TEST(third_party)
{
	COVERS("E-031 E-056 E-057 E-058 E-060 E-034");
	struct ini *a = session_keys(T_RESET, _i ? KEYS : FAST), *b = session_keys(T_RESET, FAST);
	struct ini *idle = session_keys(T_RESET, FAST);
	struct bhs_tmf_request h;
	struct data_out d[2];
	uint64_t lun[2];

	for (unsigned n = 0; n < 2; n++) {
		ready(a, n);
		prepare(b, n);
		d[n] = open_write(b, n);
		ready(idle, n);
	}
	send_function(a, &h, ISCSI_TMF_WARM_RESET, 0);
	expect_response(a, &h);
	lun[0] = told(b);
	lun[1] = told(b);
	ck_assert_uint_eq(lun[0] + lun[1], 1ull << 48); /* LUN 0 and LUN 1, in either order */
	ck_assert_uint_ne(lun[0], lun[1]);
	ck_assert_uint_eq(places_taken(b), 2);
	expect_nothing(idle);
	acknowledge(b, lun[1]);
	ck_assert_uint_eq(places_taken(b), 1);
	acknowledge(b, lun[1]);
	ck_assert_uint_eq(places_taken(b), 1);
	/* The last data is as good as the acknowledgement. */
	send_data_out(b, &d[lun[0] ? 1 : 0]);
	ck_assert_uint_eq(places_taken(b), 0);
	send_data_out(b, &d[lun[0] ? 0 : 1]);
	expect_nothing(b);
	acknowledge(b, lun[0]);
	for (unsigned n = 0; n < 2; n++) {
		ready(b, n);
		expect_before(b, n);
	}
}
END_TEST

/* An acknowledgement that is not one: of what came before the message, and with a ping's tag. */
START_TEST(not_acknowledged)
{
	COVERS("E-058");
	struct ini *a = session_keys(T_RESET, FAST), *b = session_keys(T_RESET, FAST);
	struct bhs_tmf_request h;

	ready(a, 0);
	prepare(b, 0);
	open_write(b, 0);
	b->acked = b->exp_statsn;
	b->withholds = true;
	send_function(a, &h, ISCSI_TMF_LU_RESET, 0);
	expect_response(a, &h);
	ck_assert_uint_eq(told(b), 0);
	acknowledge(b, 0);
	ck_assert_uint_eq(places_taken(b), 1);
	b->withholds = false;
	acknowledge(b, 1ull << 48); /* another LU */
	ck_assert_uint_eq(places_taken(b), 1);
	acknowledge(b, 0);
	ck_assert_uint_eq(places_taken(b), 0);
	ready(b, 0);
}
END_TEST

/* Sessions that have not agreed on FastAbort are told nothing. */
START_TEST(not_for_others)
{
	COVERS("E-033");
	struct ini *a = session_keys(T_RESET, FAST), *b = session_keys(T_RESET, _i ? FENCE : KEYS);
	struct bhs_tmf_request h;
	struct data_out d;

	ready(a, 0);
	prepare(b, 0);
	d = open_write(b, 0);
	send_function(a, &h, ISCSI_TMF_LU_RESET, 0);
	expect_response(a, &h);
	expect_nothing(b);
	send_data_out(b, &d);
	expect_nothing(b);
	ready(b, 0);
	expect_before(b, 0);
}
END_TEST

/* Several connections: those that have tasks but have not sent the function are told, and the
 * response waits for acknowledgements as under ResponseFence, for data not. */
START_TEST(own_connections)
{
	COVERS("E-029 E-043 E-056 E-059");
	struct bhs_scsi_command again;
	struct bhs_tmf_request h;
	struct data_out d;
	struct ini_scsi c;
	uint32_t ttt;
	struct mcs m;

	mcs_open(&m, 3, FAST);
	prepare(mcs_on(&m, 0), LUN_RAM);
	open_write(m.c[0], LUN_RAM);
	d = open_write(mcs_on(&m, 1), LUN_RAM);
	rw10(&c, READ10, LUN_RAM, 0, 1, data);
	run_good(mcs_on(&m, 2), &c); /* not acknowledged */
	m.c[0]->cmdsn = m.c[1]->cmdsn = m.c[2]->cmdsn;
	m.c[0]->itt = m.c[1]->itt = m.c[2]->itt;
	m.last = m.c[0];
	send_function(m.c[0], &h, ISCSI_TMF_ABORT_TASK_SET, LUN_RAM);
	ck_assert_uint_eq(told(m.c[1]), 0);
	ttt = be32_of(expect(m.c[2], ISCSI_OP_NOP_IN), bhs_nop, ttt); /* asks for it */
	ck_assert_uint_ne(ttt, ISCSI_TAG_RESERVED);
	expect_nothing(m.c[0]);
	acknowledge(m.c[2], 0);
	expect_response(m.c[0], &h);
	/* The tag of a task that is over may be used again, acknowledged or not. */
	acknowledge(m.c[0], 1ull << 48);
	rw10(&c, READ10, LUN_RAM, BLOCK, 1, NULL);
	m.c[0]->itt = d.itt;
	m.c[1]->track[d.itt % INI_TRACKS].open = false;
	ini_command(m.c[0], &again, LUN_RAM, ISCSI_CMD_READ, 512, c.cdb, c.cdb_length);
	m.c[0]->itt += 16;
	start(m.c[0], &again);
	ck_assert_mem_eq(expect(m.c[0], ISCSI_OP_DATA_IN)->data, before, 512);
	send_data_out(m.c[1], &d);
	acknowledge(m.c[1], 0);
	expect_nothing(m.c[1]);
	expect_nothing(m.c[2]);
	expect_before(mcs_on(&m, 1), LUN_RAM);
}
END_TEST

/* On a single connection no response waits for acknowledgements, and none is asked for. */
START_TEST(one_connection_needs_no_fence)
{
	COVERS("E-050 T-090");
	struct ini *i = session_keys(T_RESET, _i ? FAST : FENCE);
	struct bhs_tmf_request h;

	prepare(i, 0);
	i->acked = i->exp_statsn;
	i->withholds = true;
	expect_before(i, 0);
	send_function(i, &h, ISCSI_TMF_LU_RESET, 0);
	expect_response(i, &h);
	i->withholds = false;
	expect_nothing(i);
	ready(i, 0);
}
END_TEST

/* Whatever the reporting, a reset meets no task twice: one in the store is stopped as well. */
START_TEST(mixed_tasks)
{
	COVERS("E-056 E-028");
	struct ini *a = session_keys(T_RESET, FAST), *b = session_keys(T_RESET, FAST);
	struct bhs_scsi_command slow;
	struct bhs_tmf_request h;
	struct ini_scsi c;

	ready(a, 1);
	prepare(b, 1);
	rw10(&c, READ10, 1, 2048, 1, NULL); /* slow there */
	ini_command(b, &slow, 1, ISCSI_CMD_READ, 512, c.cdb, c.cdb_length);
	start(b, &slow);
	open_write(b, 1);
	open_write(b, 1);
	send_function(a, &h, ISCSI_TMF_LU_RESET, 1);
	expect_response(a, &h);
	ck_assert_uint_eq(told(b), 1ull << 48); /* once for all three */
	ck_assert_uint_eq(places_taken(b), 2);
	acknowledge(b, 1ull << 48);
	ck_assert_uint_eq(places_taken(b), 0);
	ready(b, 1);
	expect_before(b, 1);
}
END_TEST

void fast_abort_suite(TCase *c)
{
	add_table(c, answered_at_once, functions);
	add_rows(c, third_party, 2);
	add(c, not_acknowledged);
	add_rows(c, not_for_others, 2);
	add(c, own_connections);
	add_rows(c, one_connection_needs_no_fence, 2);
	add(c, mixed_tasks);
}
