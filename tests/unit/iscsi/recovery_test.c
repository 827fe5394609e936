/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ErrorRecoveryLevel 1: what is kept until it is acknowledged, for how long, and that one
 * connection keeps nothing at the cost of another.
 */
#include "transport/iscsi/recovery.c"

#include "tests/unit/iscsi/ffp_fixture.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/policy.h"

#define R      ISCSI_CMD_READ
#define W      ISCSI_CMD_WRITE
#define KIB    1024u
#define PIECE  (64 * KIB)
#define ARENA  (8192 * KIB) /* of the fake datamover */
#define MOST   (ARENA / KEPT_PART)
#define FLOOR  (ARENA / KEPT_FLOOR)
#define LEVEL1 "ErrorRecoveryLevel=1\nInitialR2T=Yes\nImmediateData=No\n"

static struct rig rig;
static uint8_t cdb[16], ahead[PIECE];
static unsigned n_again; /* Data-In sent again */

static struct iscsi_reactor *ir(void)
{
	return iscsi_reactor_of(rig.net.reactor);
}

static struct conn_kept *kept(const struct fake_initiator *i)
{
	return &i->fc->c->kept;
}

static int resend(struct iscsi_task *t, uint32_t begrun, uint32_t runlength, uint32_t *ret_next)
{
	(void)t;
	(void)begrun;
	(void)runlength;
	*ret_next = 0;
	n_again++;
	return 0;
}

static void level_1(struct iscsi_policy *p)
{
	p->targets[0].keys.error_recovery_level = 1;
	p->targets[0].keys.max_connections = 4;
}

static void setup(void)
{
	fake_datamover.error_recovery_level = 1;
	fake_datamover.resend = resend;
	n_again = 0;
	rig_start(&rig, level_1);
}

/* Nothing stays: with their connections gone so is all that was kept. */
static void end(void)
{
	struct list *pos;

	list_for_each (pos, &rig.net.conns)
		fake_hang_up(list_entry(pos, struct fake_conn, node));
	ck_assert_uint_eq(ir()->n_kept, 0);
	ck_assert_uint_eq(ir()->kept_bytes, 0);
	ck_assert_uint_eq(ir()->n_keepers, 0);
	ck_assert_uint_eq(pool_in_use(ir()->tasks), 0);
	ck_assert_uint_eq(pool_in_use(ir()->pdus), 0);
	rig_stop(&rig);
}

/* The next PDU, but for the question why nothing is acknowledged. */
static struct fake_pdu *next(struct fake_initiator *i)
{
	struct fake_pdu *p = fake_next(i->fc);

	while (p && p->bhs[0] == ISCSI_OP_NOP_IN && rig_itt(p) == ISCSI_TAG_RESERVED) {
		free(p);
		p = fake_next(i->fc);
	}
	return p;
}

/* A READ to its status, not acknowledged; its tag. */
static uint32_t read_bytes(struct fake_initiator *i, uint32_t bytes)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = bytes };
	struct fake_pdu *p;

	rig_read10(cdb, 0, (uint16_t)(bytes / RIG_BLOCK));
	ck_assert_int_eq(rig_send(i, &q), 0);
	p = next(i);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	free(p);
	check_good(next(i));
	return i->itt;
}

static void read_times(struct fake_initiator *i, unsigned n, uint32_t bytes)
{
	while (n--)
		read_bytes(i, bytes);
}

static void acknowledge(struct fake_initiator *i)
{
	ck_assert_int_eq(rig_acknowledge(i, ISCSI_TAG_RESERVED), 0);
	fake_turn(&rig.net, 2);
}

/* SNACK; the answer, NULL: none. */
static struct fake_pdu *snack(struct fake_initiator *i, uint8_t type, uint32_t itt, uint32_t begrun)
{
	struct bhs_snack h = { .opcode = ISCSI_OP_SNACK, .flags = (uint8_t)(ISCSI_FINAL | type) };
	uint8_t bytes[48];

	put_be32(h.itt, itt);
	put_be32(h.ttt, ISCSI_TAG_RESERVED);
	put_be32(h.begrun, begrun);
	put_be32(h.runlength, 1);
	put_be32(h.exp_statsn, i->exp_statsn);
	memcpy(bytes, &h, sizeof(bytes));
	ck_assert_int_eq(fake_feed(i->fc, bytes, NULL, 0), 0);
	return fake_next(i->fc);
}

static void check_refused(struct fake_initiator *i, uint32_t itt, uint8_t reason)
{
	unsigned before = n_again;

	check_rejected(snack(i, SNACK_DATA_R2T, itt, 0), reason, NULL);
	ck_assert_uint_eq(n_again, before);
}

static void check_had(struct fake_initiator *i, uint32_t itt)
{
	unsigned before = n_again;

	ck_assert_ptr_null(snack(i, SNACK_DATA_R2T, itt, 0));
	ck_assert_uint_eq(n_again, before + 1);
}

START_TEST(until_acknowledged)
{
	struct fake_initiator i;
	uint32_t itt, second;

	setup();
	i = rig_login(&rig, LEVEL1);
	acknowledge(&i);
	itt = read_bytes(&i, 512);
	ck_assert_uint_eq(i.fc->c->session->n_tasks, 0);
	ck_assert_uint_eq(ir()->n_kept, 1);
	ck_assert_uint_eq(ir()->kept_bytes, 4096); /* that much memory is taken */
	check_had(&i, itt);
	second = read_bytes(&i, PIECE);
	ck_assert_uint_eq(ir()->kept_bytes, 4096 + PIECE);
	i.exp_statsn = i.fc->c->statsn - 1; /* the first of them */
	rig_ping(&i, ISCSI_TAG_RESERVED, NULL, 0);
	ck_assert_uint_eq(ir()->kept_bytes, PIECE);
	check_had(&i, second);
	acknowledge(&i);
	ck_assert_uint_eq(ir()->n_kept, 0);
	check_refused(&i, second, REJECT_PROTOCOL_ERROR);
	end();
}
END_TEST

/* Data that was given up for others is told apart from data that never was. */
START_TEST(given_up)
{
	struct fake_initiator i;
	uint32_t first;

	setup();
	i = rig_login(&rig, LEVEL1);
	acknowledge(&i);
	first = read_bytes(&i, PIECE);
	read_times(&i, MOST / PIECE, PIECE);
	ck_assert_uint_eq(ir()->kept_bytes, MOST);
	check_refused(&i, first, REJECT_SNACK);
	check_refused(&i, i.itt + 1, REJECT_PROTOCOL_ERROR);
	check_had(&i, first + 1);
	end();
}
END_TEST

/* One that acknowledges nothing has what others leave, and never what they need. */
START_TEST(shares)
{
	struct fake_initiator hog, other, third;
	uint32_t first;

	setup();
	hog = rig_login_isid(&rig, 1, LEVEL1);
	other = rig_login_isid(&rig, 2, LEVEL1);
	third = rig_login_isid(&rig, 3, LEVEL1);
	read_times(&hog, 100, PIECE);
	ck_assert_uint_eq(kept(&hog)->bytes, MOST);
	first = read_bytes(&other, PIECE);
	read_times(&other, 3, PIECE);
	read_times(&hog, 100, PIECE);
	ck_assert_uint_eq(kept(&other)->n, 4);
	ck_assert_uint_eq(kept(&hog)->bytes, MOST - 4 * PIECE);
	check_had(&other, first);
	read_times(&other, MOST / 2 / PIECE - 4, PIECE); /* as much as is its own */
	read_times(&hog, 100, PIECE);
	check_had(&other, first);
	ck_assert_uint_eq(kept(&other)->bytes, MOST / 2);
	read_times(&third, 2, PIECE);
	read_times(&hog, 100, PIECE);
	ck_assert_uint_eq(kept(&third)->n, 2);
	ck_assert_uint_ge(kept(&other)->bytes, MOST / 3 / PIECE * PIECE);
	ck_assert_uint_le(ir()->kept_bytes, MOST);
	ck_assert_uint_eq(ir()->n_keepers, 3);
	fake_hang_up(hog.fc);
	ck_assert_uint_eq(ir()->n_keepers, 2);
	end();
}
END_TEST

/* So with the number of tasks. */
START_TEST(shares_of_tasks)
{
	struct fake_initiator hog, other;

	setup();
	other = rig_login_isid(&rig, 2, LEVEL1);
	read_times(&other, 5, 512);
	hog = rig_login_isid(&rig, 1, LEVEL1);
	read_times(&hog, 20, 512);
	while (ir()->n_kept > 12)
		kept_end(over_share(ir(), SIZE_MAX, 12));
	ck_assert_uint_eq(kept(&other)->n, 5);
	ck_assert_uint_eq(kept(&hog)->n, 7);
	end();
}
END_TEST

/* All buffers but what is kept are taken by WRITEs whose data does not come, and more are wanted.
 */
static void want_all(struct fake_initiator *i)
{
	for (unsigned n = 0; n < ARENA / PIECE; n++) {
		rig_write10(cdb, 0, PIECE / RIG_BLOCK);
		ck_assert_int_eq(
		    rig_send(i, &(struct rig_command){ .cdb = cdb, .flags = W, .edtl = PIECE }), 0);
	}
	ck_assert(arena_has_waiters(rig.net.arena));
}

/* Somebody needs the memory: a small share stays as long as he has not waited for long. */
START_TEST(memory_is_short)
{
	struct fake_initiator hog, other, writer;
	uint32_t first;

	setup();
	hog = rig_login_isid(&rig, 1, LEVEL1);
	other = rig_login_isid(&rig, 2, LEVEL1);
	writer = rig_login_isid(&rig, 3, LEVEL1);
	first = read_bytes(&other, PIECE);
	read_times(&other, FLOOR / 2 / PIECE - 1, PIECE);
	read_times(&hog, 100, PIECE);
	want_all(&writer);
	ck_assert_uint_eq(ir()->kept_bytes, FLOOR);
	ck_assert_uint_eq(kept(&hog)->bytes, FLOOR / 2);
	check_had(&other, first);
	ck_assert(!list_empty(&ir()->stall.node)); /* armed when he began to wait */
	reactor_timer_disarm(&ir()->stall);
	ir()->stall.fire(&ir()->stall);
	ck_assert_uint_eq(ir()->kept_bytes, 0);
	ck_assert(!arena_has_waiters(rig.net.arena));
	check_refused(&other, first, REJECT_SNACK);
	end();
}
END_TEST

/* Commands ahead of their turn cannot wait: their data takes the place of what is kept, but for the
 * small share. */
START_TEST(parked_data)
{
	struct rig_command q = { .cdb = cdb,
				 .flags = W,
				 .edtl = PIECE,
				 .length = PIECE,
				 .data = ahead,
				 .keep_cmdsn = true };
	struct arena_buf *taken = calloc(ARENA / PIECE, sizeof(*taken));
	struct fake_initiator hog, writers[2];
	unsigned n = 0, room = (MOST - FLOOR) / PIECE;
	size_t parked = 0;

	setup();
	hog = rig_login_isid(&rig, 1, LEVEL1);
	for (unsigned k = 0; k < 2; k++)
		writers[k] = rig_login_isid(&rig, (uint8_t)(2 + k), "FirstBurstLength=65536\n");
	read_times(&hog, MOST / PIECE, PIECE);
	while (!arena_get(rig.net.arena, PIECE, &taken[n]))
		n++;
	ck_assert_uint_eq(ir()->kept_bytes, MOST);
	rig_write10(cdb, 0, PIECE / RIG_BLOCK);
	for (unsigned k = 0; k <= room; k++) {
		q.cmdsn = writers[k % 2].cmdsn + 1 + k;
		ck_assert_int_eq(rig_send(&writers[k % 2], &q), 0);
	}
	ck_assert_uint_eq(ir()->kept_bytes, FLOOR);
	for (unsigned k = 0; k < 2; k++)
		parked += writers[k].fc->c->session->parked_bytes;
	ck_assert_uint_eq(parked, room * PIECE); /* the last one has found no place */
	while (n--)
		arena_put(rig.net.arena, &taken[n]);
	free(taken);
	end();
}
END_TEST

/* What is kept is the connection's: it is asked for and acknowledged there, and goes with it. */
START_TEST(two_connections)
{
	struct fake_initiator one, two;
	uint32_t first, second;

	setup();
	one = rig_login(&rig, LEVEL1 "MaxConnections=4\n");
	two = rig_join(&one, 1, NULL);
	first = read_bytes(&one, 512);
	two.cmdsn = one.cmdsn;
	second = read_bytes(&two, 512);
	ck_assert(kept(&one)->n == 1 && kept(&two)->n == 1);
	check_refused(&two, first, REJECT_PROTOCOL_ERROR); /* 4.2.5.1 */
	check_refused(&one, second, REJECT_PROTOCOL_ERROR);
	acknowledge(&two);
	ck_assert(kept(&one)->n == 1 && kept(&two)->n == 0);
	check_had(&one, first);
	second = read_bytes(&two, 512);
	fake_hang_up(one.fc);
	free(fake_next(two.fc)); /* it is told of that */
	ck_assert_uint_eq(ir()->n_kept, 1);
	check_had(&two, second);
	end();
}
END_TEST

/* A status that is asked for while it waits to be sent goes out once more behind itself, not more
 * often. */
START_TEST(status_again)
{
	static const uint8_t test_unit_ready[16];
	struct fake_initiator i;
	struct fake_pdu *p;
	uint32_t statsn;

	setup();
	i = rig_login(&rig, LEVEL1);
	acknowledge(&i);
	statsn = i.fc->c->statsn;
	check_good(rig_command(&i, &(struct rig_command){ .cdb = test_unit_ready }));
	i.fc->hold = true;
	for (unsigned n = 0; n < 4; n++)
		ck_assert_ptr_null(snack(&i, SNACK_STATUS, ISCSI_TAG_RESERVED, statsn));
	i.fc->hold = false;
	p = rig_ping(&i, 7, NULL, 0);
	ck_assert_uint_eq(rig_statsn(p), statsn);
	check_good(p);
	free(fake_next(i.fc)); /* the ping's answer */
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_statsn(p), statsn);
	check_good(p);
	ck_assert_ptr_null(fake_next(i.fc));
	acknowledge(&i);
	check_rejected(snack(&i, SNACK_STATUS, ISCSI_TAG_RESERVED, statsn), REJECT_PROTOCOL_ERROR,
		       NULL);
	end();
}
END_TEST

/* Statuses that nobody acknowledges: it is asked to, and goes in the end. */
START_TEST(never_acknowledged)
{
	static const uint8_t test_unit_ready[16];
	struct fake_initiator i;
	unsigned pings = 0, n = 0;

	setup();
	i = rig_login(&rig, LEVEL1);
	acknowledge(&i);
	while (!fake_closed(i.fc) && n < 4000) {
		struct rig_command q = { .cdb = test_unit_ready };
		struct fake_pdu *p;

		if (!rig_send(&i, &q))
			n++;
		while ((p = fake_next(i.fc))) {
			pings += rig_opcode(p) == ISCSI_OP_NOP_IN && !pings;
			if (pings)
				ck_assert_uint_ge(n, HELD_PING);
			free(p);
		}
	}
	ck_assert_uint_eq(pings, 1);
	ck_assert_uint_gt(n, 1024);
	ck_assert_uint_lt(n, 4000);
	end();
}
END_TEST

UNIT_MAIN("iscsi/recovery", until_acknowledged, given_up, shares, shares_of_tasks, memory_is_short,
	  parked_data, two_connections, status_again, never_acknowledged)
