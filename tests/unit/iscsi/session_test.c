/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions: reinstatement with work in progress and over reactors, retention and continuation,
 * several connections, what a lost connection leaves behind.
 */
#include "transport/iscsi/session.c"

#include "daemon/base/pool.h"
#include "scsi/exec.h"
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/login.h"

#define R ISCSI_CMD_READ
#define W ISCSI_CMD_WRITE

static struct rig rig;
static uint8_t cdb[16];
static uint8_t block[4096];

static unsigned count(struct reactor *r)
{
	struct list *pos;
	unsigned n = 0;

	list_for_each (pos, &iscsi_reactor_of(r)->sessions)
		n++;
	return n;
}

static unsigned sessions(void)
{
	return count(rig.net.reactor);
}

static unsigned tasks(void)
{
	return pool_in_use(iscsi_reactor_of(rig.net.reactor)->tasks);
}

static uint32_t write_blocks(struct fake_initiator *i, uint32_t lba, uint16_t n, bool with_data)
{
	struct rig_command q = { .cdb = cdb, .flags = W, .edtl = n * RIG_BLOCK };

	rig_write10(cdb, lba, n);
	if (with_data) {
		q.data = block;
		q.length = q.edtl;
	}
	ck_assert_int_eq(rig_send(i, &q), 0);
	return i->itt;
}

static unsigned attention(struct fake_initiator *i)
{
	static const uint8_t test_unit_ready[16];
	struct fake_pdu *p = rig_command(i, &(struct rig_command){ .cdb = test_unit_ready });
	unsigned sense = rig_sense(p);

	free(p);
	return sense;
}

/* Again with the same ISID: the old one goes with its writes half done, none of which answers or
 * is applied later; what the store still holds keeps others off its blocks. */
START_TEST(reinstated)
{
	struct fake_initiator old, new;
	struct fake_pdu *p;
	uint16_t tsih;

	rig_start(&rig, NULL);
	old = rig_login(&rig, NULL);
	tsih = old.tsih;
	rig.store[0]->hold = true;
	memset(block, 0xaa, sizeof(block));
	write_blocks(&old, 0, 1, true);
	write_blocks(&old, 8, 8, false);
	ck_assert_uint_eq(old.fc->c->session->n_tasks, 2);

	new = fake_initiator(&rig.net);
	p = fake_login(&new, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(p), 0);
	new.tsih = get_be16(p->bhs + 14);
	new.itt = 100;
	free(p);
	ck_assert_uint_ne(new.tsih, 0);
	ck_assert_uint_ne(new.tsih, tsih);
	ck_assert(fake_closed(old.fc));
	ck_assert(list_empty(&old.fc->sent));
	ck_assert_uint_eq(sessions(), 1);
	ck_assert_uint_eq(attention(&new), 0x062907);
	/* Detached, not forgotten: the write could still overwrite a new one. */
	rig_write10(cdb, 0, 1);
	p = rig_command(&new,
			&(struct rig_command){
			    .cdb = cdb, .flags = W, .edtl = 512, .data = block, .length = 512 });
	ck_assert_uint_eq(p->bhs[3], SCSI_BUSY);
	free(p);
	rig.store[0]->hold = false;
	fake_store_let(rig.store[0]);
	fake_turn(&rig.net, 2);
	ck_assert_ptr_null(fake_next(new.fc));
	ck_assert_uint_eq(tasks(), 0);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 1);
	rig_stop(&rig);
}
END_TEST

/* Another ISID is another session; a login that fails hurts none. */
START_TEST(side_by_side)
{
	struct fake_initiator one, two, bad;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	one = rig_login_isid(&rig, 1, NULL);
	two = rig_login_isid(&rig, 2, NULL);
	bad = fake_initiator(&rig.net);
	p = fake_login(&bad, FAKE_OP_FFP, FAKE_NORMAL "MaxBurstLength=Irrelevant\n");
	ck_assert_uint_ne(fake_status(p), 0);
	free(p);
	ck_assert(fake_closed(bad.fc));
	ck_assert_uint_eq(sessions(), 2);
	ck_assert_uint_ne(one.tsih, two.tsih);
	ck_assert_uint_eq(attention(&one), 0);
	ck_assert_uint_eq(attention(&two), 0);
	rig_stop(&rig);
}
END_TEST

/* Failing logins leave nothing. */
START_TEST(failed_logins)
{
	rig_start(&rig, NULL);
	for (unsigned n = 0; n < 50; n++) {
		struct fake_initiator i = fake_initiator(&rig.net);

		free(fake_login(&i, FAKE_OP, FAKE_NORMAL));
		if (n % 2)
			free(fake_login(&i, FAKE_OP_FFP, "MaxBurstLength=Irrelevant\n"));
		fake_hang_up(i.fc);
	}
	ck_assert_uint_eq(sessions(), 0);
	ck_assert_uint_eq(iscsi_reactor_count(rig.net.reactor), 0);
	rig_stop(&rig);
}
END_TEST

/* Lost in each state of a command; no Time2Retain: all of it goes at once. */
START_TEST(lost)
{
	for (unsigned n = 0; n < 5; n++) {
		struct bhs_scsi_command h = { .opcode = ISCSI_OP_SCSI_COMMAND,
					      .flags = ISCSI_FINAL | W };
		struct iscsi_rx rx = { .length = 512 };
		struct fake_initiator i;

		rig_start(&rig, NULL);
		i = rig_login(&rig, "InitialR2T=No\nDefaultTime2Retain=0\n");
		rig.store[0]->hold = n == 0;
		switch (n) {
		case 0: /* in the store */
			write_blocks(&i, 0, 1, true);
			break;
		case 1: /* solicited */
			write_blocks(&i, 0, 8, false);
			break;
		case 2: /* between unsolicited Data-Out */
			rig_write10(cdb, 0, 8);
			rig_send(&i, &(struct rig_command){
					 .cdb = cdb, .flags = W, .edtl = 4096, .no_final = true });
			rig_data_out(
			    &i, &(struct rig_data){ .itt = i.itt, .data = block, .length = 512 });
			break;
		case 3: /* answer not out yet */
			i.fc->hold = true;
			rig_read10(cdb, 0, 1);
			rig_send(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512 });
			break;
		case 4: /* within a data segment */
			rig_write10(cdb, 0, 1);
			put_be32(h.itt, 0x900);
			put_be32(h.edtl, 512);
			put_be32(h.cmdsn, i.cmdsn);
			memcpy(h.cdb, cdb, 16);
			memcpy(rx.bhs, &h, 48);
			ck_assert_int_eq(iscsi_rx_header(i.fc->c, &rx), 0);
			break;
		}
		ck_assert_uint_eq(i.fc->c->session->n_tasks, 1);
		fake_hang_up(i.fc);
		ck_assert_uint_eq(sessions(), 0);
		ck_assert_uint_eq(tasks(), n == 0);
		rig.store[0]->hold = false;
		fake_store_let(rig.store[0]);
		fake_turn(&rig.net, 2);
		ck_assert_uint_eq(tasks(), 0);
		ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], n == 0);
		rig_stop(&rig);
	}
}
END_TEST

static void long_retention(struct iscsi_policy *p)
{
	p->targets[0].keys.default_time2retain = 20;
	p->targets[0].keys.default_time2wait = 0;
	p->targets[0].keys.max_connections = 4;
}

/* Time2Retain: the session waits and goes on under its TSIH, with its CmdSN and its nexus. */
START_TEST(continued)
{
	struct fake_initiator i, again;

	rig_start(&rig, long_retention);
	i = rig_login(&rig, "DefaultTime2Wait=0\nDefaultTime2Retain=10\n");
	write_blocks(&i, 0, 8, false);
	fake_hang_up(i.fc);
	ck_assert_uint_eq(sessions(), 1);
	ck_assert_uint_eq(tasks(), 0); /* level 0: its tasks are gone */
	again = rig_join(&i, 0, "");
	ck_assert_uint_eq(sessions(), 1);
	ck_assert_uint_eq(attention(&again), 0x06477f); /* no nexus loss */
	ck_assert_uint_eq(attention(&again), 0);
	ck_assert_uint_eq(again.fc->c->session->exp_cmdsn, again.cmdsn);
	rig_stop(&rig);
}
END_TEST

/* Nobody comes back in time. */
START_TEST(retention_ends)
{
	struct fake_initiator i, late;
	struct fake_pdu *p;

	rig_start(&rig, long_retention);
	i = rig_login(&rig, "DefaultTime2Wait=0\nDefaultTime2Retain=1\n");
	rig.store[0]->hold = true;
	write_blocks(&i, 0, 1, true);
	fake_hang_up(i.fc);
	ck_assert_uint_eq(sessions(), 1);
	for (unsigned n = 0; n < 300 && sessions(); n++)
		reactor_turn(rig.net.reactor, 10);
	ck_assert_uint_eq(sessions(), 0);
	late = fake_initiator(&rig.net);
	late.tsih = i.tsih;
	p = fake_login(&late, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(p), LOGIN_NO_SESSION);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* The same CID again: the old connection and its tasks go, the session stays. */
START_TEST(connection_reinstated)
{
	struct fake_initiator i, again;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	write_blocks(&i, 0, 8, false);
	again = rig_join(&i, 0, "");
	ck_assert(fake_closed(i.fc));
	ck_assert_uint_eq(sessions(), 1);
	ck_assert_uint_eq(tasks(), 0);
	ck_assert_uint_eq(attention(&again), 0x06477f);
	ck_assert_uint_eq(attention(&again), 0);
	rig_stop(&rig);
}
END_TEST

/* Two connections of one session: order over both, data where the command came, one closed. */
START_TEST(two_connections)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512, .keep_cmdsn = true };
	struct fake_initiator one, two;
	struct fake_pdu *p;

	rig_start(&rig, long_retention);
	one = rig_login(&rig, "MaxConnections=2\nInitialR2T=No\n");
	two = rig_join(&one, 7, "MaxConnections=2\nInitialR2T=No\n");
	ck_assert_uint_eq(one.fc->c->session->n_conns, 2);
	ck_assert_ptr_eq(one.fc->c->session, two.fc->c->session);
	rig_read10(cdb, 0, 1);
	q.cmdsn = one.cmdsn + 1;
	q.itt = 0x202;
	ck_assert_ptr_null(rig_command(&two, &q));
	q.cmdsn = one.cmdsn;
	q.itt = 0x201;
	ck_assert_int_eq(rig_send(&one, &q), 0);
	p = fake_next(one.fc);
	ck_assert_uint_eq(rig_itt(p), 0x201);
	free(p);
	p = fake_next(two.fc);
	ck_assert_uint_eq(rig_itt(p), 0x202);
	free(p);
	one.cmdsn += 2;
	/* Data-Out belongs to the connection of its command. */
	rig_write10(cdb, 0, 1);
	rig_send(&one,
		 &(struct rig_command){ .cdb = cdb, .flags = W, .edtl = 512, .no_final = true });
	ck_assert_int_eq(
	    rig_data_out(
		&two,
		&(struct rig_data){ .itt = one.itt, .data = block, .length = 512, .final = true }),
	    0);
	p = fake_next(two.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	free(p);
	/* A task is known in the whole session. */
	two.cmdsn = one.cmdsn;
	ck_assert_uint_eq(rig_tmf(&two, &(struct rig_tmf){ .function = ISCSI_TMF_ABORT_TASK,
							   .task = one.itt,
							   .ref_cmdsn = one.cmdsn - 1 }),
			  0);
	ck_assert_uint_eq(tasks(), 0);
	p = rig_logout(&one, LOGOUT_CLOSE_CONNECTION, 7);
	ck_assert_uint_eq(p->bhs[2], LOGOUT_RSP_SUCCESS);
	free(p);
	ck_assert(fake_closed(two.fc));
	ck_assert_uint_eq(one.fc->c->session->n_conns, 1);
	ck_assert_uint_eq(attention(&one), 0);
	rig_stop(&rig);
}
END_TEST

/* One logout closes all connections; what had not had its turn is gone. */
START_TEST(session_closed)
{
	struct rig_command q = { .cdb = cdb, .flags = R, .edtl = 512, .keep_cmdsn = true };
	struct fake_initiator one, two;
	struct fake_pdu *p;

	rig_start(&rig, long_retention);
	one = rig_login(&rig, "MaxConnections=2\n");
	two = rig_join(&one, 7, "MaxConnections=2\n");
	rig_read10(cdb, 0, 1);
	q.cmdsn = one.cmdsn + 1;
	ck_assert_ptr_null(rig_command(&two, &q));
	p = rig_logout(&one, LOGOUT_CLOSE_SESSION, 0);
	ck_assert_uint_eq(p->bhs[2], LOGOUT_RSP_SUCCESS);
	free(p);
	ck_assert(fake_closed(one.fc));
	ck_assert(fake_closed(two.fc));
	ck_assert_uint_eq(sessions(), 0);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_READ], 0);
	rig_stop(&rig);
}
END_TEST

static struct fake_net left, right;

static void turn_both(void)
{
	for (unsigned n = 0; n < 4; n++) {
		fake_turn(&left, 1);
		fake_turn(&right, 1);
	}
}

static void start_net(struct fake_net *n)
{
	fake_net_start(n, fake_policy(1));
	if (scsi_reactor_start(n->reactor, n->arena))
		abort();
}

static void stop_net(struct fake_net *n)
{
	struct list *pos;

	list_for_each (pos, &n->conns)
		fake_hang_up(list_entry(pos, struct fake_conn, node));
	turn_both();
	iscsi_reactor_stop(n->reactor);
	turn_both();
	scsi_reactor_stop(n->reactor);
}

/* The old session lives on another reactor: it is told, and the login waits for it. */
START_TEST(reinstated_elsewhere)
{
	struct fake_initiator old, new, newer, newest;
	struct fake_pdu *p;

	start_net(&left);
	start_net(&right);
	old = fake_logged_in(&left, FAKE_NORMAL);
	new = fake_initiator(&right);
	ck_assert_ptr_null(fake_login(&new, FAKE_OP_FFP, FAKE_NORMAL)); /* waits */
	ck_assert(old.fc->c);
	turn_both();
	p = fake_next(new.fc);
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	ck_assert(fake_closed(old.fc));
	ck_assert_uint_eq(count(left.reactor), 0);
	ck_assert_uint_eq(count(right.reactor), 1);
	/* Two more at once: the newest has it, the other hears that it has not. */
	newer = fake_initiator(&left);
	newest = fake_initiator(&left);
	ck_assert_ptr_null(fake_login(&newer, FAKE_OP_FFP, FAKE_NORMAL));
	ck_assert_ptr_null(fake_login(&newest, FAKE_OP_FFP, FAKE_NORMAL));
	turn_both();
	p = fake_next(newest.fc);
	ck_assert_uint_eq(fake_status(p), 0);
	free(p);
	p = fake_next(newer.fc);
	ck_assert_uint_ne(fake_status(p), 0);
	free(p);
	ck_assert(fake_closed(new.fc));
	ck_assert(fake_closed(newer.fc));
	ck_assert_uint_eq(count(left.reactor) + count(right.reactor), 1);
	/* The login dies while it waits, before and after it has been told. */
	new = fake_initiator(&right);
	ck_assert_ptr_null(fake_login(&new, FAKE_OP_FFP, FAKE_NORMAL));
	fake_hang_up(new.fc);
	newer = fake_initiator(&right);
	ck_assert_ptr_null(fake_login(&newer, FAKE_OP_FFP, FAKE_NORMAL));
	fake_turn(&left, 2); /* granted; the message is on its way */
	newer.fc->closing = true;
	login_free(newer.fc->c->login);
	newer.fc->c->login = NULL;
	turn_both();
	fake_hang_up(newer.fc);
	turn_both();
	ck_assert_uint_eq(count(left.reactor) + count(right.reactor), 0);
	old = fake_logged_in(&left, FAKE_NORMAL); /* the place is free again */
	stop_net(&left);
	stop_net(&right);
	fake_net_stop(&left);
	fake_net_stop(&right);
}
END_TEST

/* Many at once, and the TSIHs of those that have gone are used again late. */
START_TEST(many)
{
	uint16_t last = 0;

	rig_start(&rig, NULL);
	for (unsigned n = 0; n < 300; n++) {
		struct fake_initiator i = rig_login(&rig, NULL);
		struct fake_pdu *p = rig_logout(&i, LOGOUT_CLOSE_SESSION, 0);

		ck_assert_uint_gt(i.tsih, last);
		last = i.tsih;
		free(p);
		ck_assert(fake_closed(i.fc));
	}
	ck_assert_uint_eq(sessions(), 0);
	ck_assert_uint_eq(tasks(), 0);
	ck_assert_uint_eq(iscsi_reactor_count(rig.net.reactor), 0);
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("P-020 P-132 P-140 P-164 S-001 S-002 S-003 S-004 S-005 S-006 S-007 S-009 S-011 "
	     "S-012 S-014 S-018 S-020 S-022 S-023 S-024 S-025 S-026 S-027 S-029 S-030 S-032 "
	     "S-034 S-040 S-042 fault-D04 fault-D14 fault-D15 fault-L07");

UNIT_MAIN("iscsi/session", reinstated, side_by_side, failed_logins, lost, continued, retention_ends,
	  connection_reinstated, two_connections, session_closed, reinstated_elsewhere, many)
