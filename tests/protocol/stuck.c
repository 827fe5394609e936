/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store that does not answer: who stops a write lets go of it at once, and nothing that overlaps
 * it gets by before it has ended, so that it cannot overwrite its own retry.
 */
#include "tests/protocol/mcs.h"

#define LUN_STUCK 2 /* of T_RESET */
#define BLOCK     100
#define BUSY      0x08
#define KEYS                                                                                       \
	USUAL("65536", "No", "Yes")                                                                \
	"\niSCSIProtocolLevel=2\nDefaultTime2Wait=0"                                               \
	"\nDefaultTime2Retain=0"

static uint8_t data_a[512], data_b[512];

static void store(const char *rules)
{
	char params[128];

	snprintf(params, sizeof(params), "\"name\":\"stuck\",\"rules\":\"%s\"", rules);
	change(&server, "lun.fault", params);
}

static struct ini *user(void)
{
	struct ini *i = session_keys(T_RESET, KEYS);

	ready(i, LUN_STUCK);
	return i;
}

/* Takes the place of a session, at once. */
static struct ini *reinstate(const struct ini *old)
{
	struct ini *i = connect_to(server.port);
	int64_t begin = clock_ms();

	memcpy(i->isid, old->isid, 6);
	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_RESET, .keys = KEYS }), 0);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(500));
	ready(i, LUN_STUCK);
	return i;
}

static uint8_t status_of(struct ini *i, uint8_t opcode, uint8_t *block)
{
	struct ini_scsi c;

	rw10(&c, opcode, LUN_STUCK, BLOCK, 1, block);
	ck_assert(!ini_scsi(i, &c));
	ck_assert_uint_eq(c.response, 0);
	return c.status;
}

/* Write A, which its store holds. */
static uint32_t start_a(struct ini *i)
{
	uint32_t itt;

	fill(data_a, 512, 101);
	fill(data_b, 512, 102);
	store("hang kind=write count=1");
	itt = start_write(i, LUN_STUCK, BLOCK, 1, true, data_a, 512);
	ping(i);
	return itt;
}

/* BUSY. What a function has done to others they are told when it is answered at the latest, so one
 * that waits may not have told yet when `ready` asked. */
static void busy(struct ini *i, uint8_t opcode, uint8_t *block, bool *may_be_told)
{
	struct ini_scsi c;

	rw10(&c, opcode, LUN_STUCK, BLOCK, 1, block);
	ck_assert(!ini_scsi(i, &c));
	if (*may_be_told && c.status == 2) {
		ck_assert_uint_eq(ini_sense(&c) >> 16, 6);
		*may_be_told = false;
		ck_assert(!ini_scsi(i, &c));
	}
	ck_assert_uint_eq(c.response, 0);
	ck_assert_uint_eq(c.status, BUSY);
}

/* Everybody is told to wait for A; waits: a function does, too. */
static void expect_busy(struct ini *i, bool waits)
{
	static uint8_t block[512];

	busy(i, WRITE10, data_b, &waits);
	busy(i, READ10, block, &waits);
}

/* A has reached the medium, then B, which stays. */
static void expect_a_then_b(struct ini *writer, struct ini *other)
{
	int64_t end = clock_ms() + patience(5000);
	static uint8_t block[512];
	uint8_t status;

	while ((status = status_of(other, READ10, block)) == BUSY && clock_ms() < end)
		;
	ck_assert_uint_eq(status, 0);
	ck_assert_mem_eq(block, data_a, 512);
	ck_assert_uint_eq(status_of(writer, WRITE10, data_b), 0);
	expect_content(other, LUN_STUCK, BLOCK, 1, data_b);
	expect_content(writer, LUN_STUCK, BLOCK, 1, data_b);
	expect_nothing(writer);
}

enum end { STAYS, CLOSES, REINSTATED, LOST };

/* How A is stopped. */
static const struct way {
	const char *name;
	uint8_t function; /* 0: none */
	bool waits;       /* the answer is that A has ended (SAM-5 7.3, 7.5) */
	enum end end;     /* of the session */
} ways[] = {
	{ "ABORT TASK", ISCSI_TMF_ABORT_TASK, false, STAYS },
	{ "ABORT TASK SET", ISCSI_TMF_ABORT_TASK_SET, false, STAYS },
	{ "CLEAR TASK SET", ISCSI_TMF_CLEAR_TASK_SET, true, STAYS },
	{ "LOGICAL UNIT RESET", ISCSI_TMF_LU_RESET, true, STAYS },
	{ "I_T NEXUS RESET", ISCSI_TMF_NEXUS_RESET, false, CLOSES },
	{ "session reinstatement", 0, false, REINSTATED },
	{ "connection loss", 0, false, LOST },
};

static void expect_answer(struct ini *i, const struct bhs_tmf_request *h)
{
	const struct ini_pdu *p = expect(i, ISCSI_OP_TMF_RESPONSE);

	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h->itt));
	ck_assert_uint_eq(p->bhs[2], ISCSI_TMF_RSP_COMPLETE);
}

static void request(struct ini *i, const struct way *w, uint32_t itt, struct bhs_tmf_request *h)
{
	int64_t begin = clock_ms();

	ini_tmf(i, h, w->function, LUN_STUCK);
	if (w->function == ISCSI_TMF_ABORT_TASK) {
		put_be32(h->referenced_tag, itt);
		put_be32(h->ref_cmdsn, i->cmdsn - 1);
	}
	ck_assert(!ini_send(i, (uint8_t *)h, NULL, 0));
	if (w->waits)
		expect_nothing(i);
	else
		expect_answer(i, h);
	ck_assert_int_lt((int)(clock_ms() - begin), patience(500));
}

/* The session that goes on in its place. */
static struct ini *end_of(struct ini *i, const struct way *w)
{
	switch (w->end) {
	case STAYS:
		ready(i, LUN_STUCK);
		return i;
	case CLOSES:
		expect_close(i);
		break;
	case REINSTATED:
		return reinstate(i);
	case LOST:
		ini_close(i);
		break;
	}
	await_sessions(&server, T_RESET, 1);
	return user();
}

/* Each way twice: B comes from who was stopped, and from another session. */
START_TEST(write_stopped)
{
	COVERS("P-120 E-036 E-042 F-014 S-005 S-006 S-042 fault-D03");
	const struct way *w = &ways[_i / 2];
	struct ini *a = user(), *other = user(), *next;
	struct bhs_tmf_request h;
	uint32_t itt;

	await_sessions(&server, T_RESET, 2);
	itt = start_a(a);
	if (w->function)
		request(a, w, itt, &h);
	next = end_of(a, w);
	ready(other, LUN_STUCK);
	expect_busy(next, w->waits);
	expect_busy(other, w->waits);
	if (w->waits)
		expect_nothing(a);
	store("release");
	if (w->waits)
		expect_answer(a, &h);
	if (_i % 2)
		expect_a_then_b(other, next);
	else
		expect_a_then_b(next, other);
}
END_TEST

/* A reset that waits for its store, and a host that loses patience and logs in again. */
START_TEST(reset_then_login)
{
	COVERS("fault-D03 fault-Q08 S-005 S-006");
	struct ini *a = user(), *next;
	struct bhs_tmf_request h;
	static uint8_t block[512];
	struct ini_scsi c;

	await_sessions(&server, T_RESET, 1);
	start_a(a);
	ini_tmf(a, &h, ISCSI_TMF_LU_RESET, LUN_STUCK);
	ck_assert(!ini_send(a, (uint8_t *)&h, NULL, 0));
	expect_nothing(a);
	next = reinstate(a);
	rw10(&c, READ10, LUN_STUCK, BLOCK + 1, 1, block);
	run_good(next, &c);
	expect_busy(next, true);
	store("release");
	expect_a_then_b(next, next);
	expect_close(a);
}
END_TEST

/* The host has gone with commands in its store; the time that it has to come back ends. */
START_TEST(retained_with_tasks)
{
	COVERS("S-005 fault-D15");
	struct ini_login l = { .target = T_MCS, .keys = "HeaderDigest=None" };
	struct ini *i = session_keys(
	    T_MCS, "DefaultTime2Wait=0\nDefaultTime2Retain=20\n" USUAL("65536", "No", "Yes"));
	struct ini *late = connect_to(server.port), *next;
	int64_t end = clock_ms() + patience(10000);
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	start_write(i, LUN_FAULT, FAULT_STALL + 100, 1, true, data_a, 512);
	rw10(&c, READ10, LUN_FAULT, FAULT_SLOW, 1, data_a);
	ck_assert(!ini_scsi_start(i, &c));
	start_write(i, LUN_FAULT, 100, 1, false, NULL, 0); /* its data never comes */
	ping(i);
	ini_close(i);
	await_pdu(late, MCS_RETAIN_S * 1000 + 400);
	memcpy(late->isid, i->isid, 6);
	late->tsih = i->tsih;
	ck_assert_int_eq(try_login(late, &l), LOGIN_NO_SESSION);
	next = session(T_MCS);
	ready(next, LUN_FAULT);
	do {
		rw10(&c, WRITE10, LUN_FAULT, FAULT_STALL + 100, 1, data_b);
		ck_assert(!ini_scsi(next, &c));
	} while (c.status == BUSY && clock_ms() < end);
	ck_assert_uint_eq(c.status, 0);
	expect_nothing(next);
}
END_TEST

#define DEPTH 64
#define MIB   (1u << 20)

/* Takes what has come until this ping's answer; how many commands have ended meanwhile. */
static unsigned until_pong(struct ini *i, uint32_t itt, const uint8_t *data)
{
	unsigned ended = 0;
	struct ini_pdu p;

	while (true) {
		bool pong;

		ck_assert_int_eq(ini_receive(i, &p, patience(INI_WAIT_MS)), 1);
		pong = p.bhs[0] == ISCSI_OP_NOP_IN && get_be32(p.bhs + 16) == itt;
		if (p.bhs[0] == ISCSI_OP_R2T)
			ck_assert(!ini_answer_r2t(i, &p, data, 0));
		if (p.bhs[0] == ISCSI_OP_SCSI_RESPONSE ||
		    (p.bhs[0] == ISCSI_OP_DATA_IN && p.bhs[1] & 1)) {
			ck_assert_uint_eq(p.bhs[3], 0);
			ended++;
		}
		ini_pdu_free(&p);
		if (pong)
			return ended;
	}
}

/* More large commands than there are buffers for, on a slow disk: pings are answered all the time.
 */
START_TEST(pings_of_a_busy_target)
{
	COVERS("P-030 fault-D11 fault-Q03");
	struct ini *i = session_keys(T_MAIN, USUAL("65536", "Yes", "No"));
	unsigned ended = 0, pings = 0;
	struct bhs_scsi_command h;
	uint8_t *data = calloc(1, MIB);
	struct ini_scsi c;

	ready(i, LUN_FAULT);
	rw10(&c, _i ? WRITE10 : READ10, LUN_FAULT, FAULT_SLOW, FAULT_BLOCKS, data);
	for (unsigned n = 0; n < DEPTH; n++) {
		ini_command(i, &h, LUN_FAULT, _i ? ISCSI_CMD_WRITE : ISCSI_CMD_READ, MIB, c.cdb,
			    10);
		start(i, &h);
	}
	while (ended < DEPTH) {
		int64_t begin = clock_ms();
		struct bhs_nop nop;

		ini_nop(i, &nop, true);
		ck_assert(!ini_send(i, (uint8_t *)&nop, NULL, 0));
		ended += until_pong(i, get_be32(nop.itt), data);
		ck_assert_int_lt((int)(clock_ms() - begin), patience(500));
		pings++;
	}
	ck_assert_uint_ge(pings, 10);
	free(data);
}
END_TEST

void stuck_suite(TCase *c)
{
	add_rows(c, write_stopped, 2 * (int)(sizeof(ways) / sizeof(ways[0])));
	add(c, reset_then_login);
	add(c, retained_with_tasks);
	add_rows(c, pings_of_a_busy_target, 2);
}
