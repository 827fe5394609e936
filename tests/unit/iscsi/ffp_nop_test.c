/* SPDX-License-Identifier: BSD-2-Clause */
/* NOP both ways, logout, asynchronous messages, and what bounds a peer that does not read. */
#include "transport/iscsi/ffp_nop.c"

#include "daemon/base/pool.h"
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/policy.h"

#define R ISCSI_CMD_READ
#define W ISCSI_CMD_WRITE

static struct rig rig;
static uint8_t cdb[16];
static uint8_t data[20000];

static int feed_nop(struct fake_initiator *i, uint8_t opcode, uint32_t itt, uint32_t ttt)
{
	struct bhs_nop h = { .opcode = opcode, .flags = ISCSI_FINAL };
	uint8_t bytes[48];

	put_be32(h.itt, itt);
	put_be32(h.ttt, ttt);
	memcpy(bytes, &h, 48);
	return rig_feed(i, bytes, NULL, 0);
}

START_TEST(ping)
{
	static const uint32_t lengths[] = { 0, 1, 2, 3, 5, 512, 8192, 20000 };
	struct fake_initiator i;
	uint32_t statsn;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "MaxRecvDataSegmentLength=8192\n");
	for (size_t n = 0; n < sizeof(data); n++)
		data[n] = (uint8_t)(n * 13);
	for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
		uint32_t echoed = lengths[n] < 8192 ? lengths[n] : 8192;
		struct fake_pdu *p;

		statsn = i.fc->c->statsn;
		p = rig_ping(&i, 0x300 + (uint32_t)n, data, lengths[n]);
		ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
		ck_assert_uint_eq(rig_itt(p), 0x300 + n);
		ck_assert_uint_eq(get_be32(p->bhs + 20), ISCSI_TAG_RESERVED);
		ck_assert_uint_eq(p->length, echoed);
		ck_assert_mem_eq(p->data, data, echoed);
		ck_assert_uint_eq(rig_statsn(p), statsn);
		ck_assert_uint_eq(i.fc->c->statsn, statsn + 1);
		ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
		free(p);
	}
	ck_assert_uint_eq(i.fc->c->pdu_bytes, 0);
	rig_stop(&rig);
}
END_TEST

START_TEST(without_tag)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	ck_assert_int_eq(feed_nop(&i, ISCSI_IMMEDIATE, ISCSI_TAG_RESERVED, ISCSI_TAG_RESERVED), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_int_eq(feed_nop(&i, ISCSI_IMMEDIATE, ISCSI_TAG_RESERVED, 0x1234), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_int_eq(feed_nop(&i, 0, ISCSI_TAG_RESERVED, ISCSI_TAG_RESERVED), 0);
	i.cmdsn--;
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	free(p);
	rig_stop(&rig);
}
END_TEST

static void eager(struct iscsi_policy *p)
{
	p->nop_interval_s = 1;
	p->nop_timeout_s = 1;
}

static void strict(struct iscsi_policy *p)
{
	eager(p);
	p->nop_strict = true;
}

/* Turns until something goes out or the connection is gone; at most 5 s. */
static struct fake_pdu *await(struct fake_initiator *i)
{
	for (unsigned n = 0; n < 500 && list_empty(&i->fc->sent) && i->fc->c; n++)
		reactor_turn(rig.net.reactor, 10);
	return fake_next(i->fc);
}

/* Silence: a ping; an answer: peace; more silence: the end. */
START_TEST(keep_alive)
{
	struct fake_initiator i;
	struct fake_pdu *p;
	uint32_t ttt;

	rig_start(&rig, eager);
	i = rig_login(&rig, NULL);
	p = await(&i);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(rig_itt(p), ISCSI_TAG_RESERVED);
	ttt = get_be32(p->bhs + 20);
	ck_assert_uint_ne(ttt, ISCSI_TAG_RESERVED);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_eq(rig_statsn(p), i.fc->c->statsn); /* not advanced */
	free(p);
	ck_assert_int_eq(feed_nop(&i, ISCSI_IMMEDIATE, ISCSI_TAG_RESERVED, ttt), 0);
	ck_assert_uint_eq(i.fc->c->ping_ttt, ISCSI_TAG_RESERVED);
	p = await(&i); /* the next one */
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_NOP_IN);
	free(p);
	ck_assert_ptr_null(await(&i));
	ck_assert(fake_closed(i.fc));
	rig_stop(&rig);
}
END_TEST

/* An initiator that cannot answer pings (iPXE) but works on; and the strict way. */
START_TEST(keep_alive_strict)
{
	for (unsigned n = 0; n < 2; n++) {
		struct fake_initiator i;

		rig_start(&rig, n ? strict : eager);
		i = rig_login(&rig, NULL);
		free(await(&i));
		for (unsigned k = 0; k < 150 && i.fc->c; k++) {
			struct fake_pdu *p;

			reactor_turn(rig.net.reactor, 10);
			p = i.fc->c ? rig_ping(&i, 0x300, NULL, 0) : NULL;
			free(p);
		}
		ck_assert_int_eq(!i.fc->c, n);
		rig_stop(&rig);
	}
}
END_TEST

static void busy(struct fake_initiator *i)
{
	rig.store[0]->hold = true;
	rig_write10(cdb, 0, 1);
	ck_assert_int_eq(
	    rig_send(i,
		     &(struct rig_command){
			 .cdb = cdb, .flags = W, .edtl = 512, .data = data, .length = 512 }),
	    0);
	rig_write10(cdb, 8, 8);
	ck_assert_int_eq(rig_send(i, &(struct rig_command){ .cdb = cdb, .flags = W, .edtl = 4096 }),
			 0);
}

/* Reasons 0 and 1 with commands in progress: none answers, then the response, then the end. */
START_TEST(logout)
{
	for (uint8_t reason = 0; reason < 2; reason++) {
		struct fake_initiator i;
		struct fake_pdu *p;

		rig_start(&rig, NULL);
		i = rig_login(&rig, "DefaultTime2Wait=3\nDefaultTime2Retain=0\n");
		busy(&i);
		p = rig_logout(&i, reason, 0);
		ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_LOGOUT_RESPONSE);
		ck_assert_uint_eq(p->bhs[1], 0x80);
		ck_assert_uint_eq(p->bhs[2], LOGOUT_RSP_SUCCESS);
		ck_assert_uint_eq(p->length, 0);
		ck_assert_uint_eq(get_be16(p->bhs + 40), 3);
		ck_assert_uint_eq(get_be16(p->bhs + 42), 0);
		free(p);
		ck_assert(fake_closed(i.fc));
		ck_assert(i.fc->graceful);
		ck_assert(list_empty(&i.fc->sent)); /* nothing behind the response */
		ck_assert(list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
		rig_stop(&rig);
	}
}
END_TEST

START_TEST(logout_refused)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	p = rig_logout(&i, LOGOUT_CLOSE_CONNECTION, 77);
	ck_assert_uint_eq(p->bhs[2], LOGOUT_RSP_NO_CID);
	free(p);
	p = rig_logout(&i, 5, 0);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_PROTOCOL_ERROR);
	free(p);
	p = rig_logout(&i, LOGOUT_RECOVERY, 0);
	ck_assert_uint_eq(p->bhs[2], LOGOUT_RSP_NO_RECOVERY);
	free(p);
	rig_stop(&rig);
}
END_TEST

/* An orderly stop: each initiator is asked to leave; who does not is dropped with a word. */
START_TEST(asked_to_leave)
{
	struct fake_initiator polite, deaf, discovery;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	polite = rig_login_isid(&rig, 1, NULL);
	deaf = rig_login_isid(&rig, 2, "DefaultTime2Wait=4\n");
	discovery = fake_logged_in(&rig.net, FAKE_DISCOVERY);
	iscsi_reactor_request_logout(rig.net.reactor, 1);
	ck_assert(fake_closed(discovery.fc));
	p = fake_next(polite.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_ASYNC);
	ck_assert_uint_eq(p->bhs[1], 0x80);
	ck_assert_uint_eq(rig_itt(p), ISCSI_TAG_RESERVED);
	ck_assert_uint_eq(p->bhs[36], ASYNC_LOGOUT_REQUEST);
	ck_assert_uint_eq(get_be16(p->bhs + 42), 1);
	ck_assert_uint_eq(p->length, 0);
	ck_assert_uint_eq(rig_statsn(p) + 1, polite.fc->c->statsn);
	free(p);
	free(fake_next(deaf.fc));
	p = rig_logout(&polite, LOGOUT_CLOSE_SESSION, 0);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_LOGOUT_RESPONSE);
	free(p);
	ck_assert(fake_closed(polite.fc));
	p = await(&deaf);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_ASYNC);
	ck_assert_uint_eq(p->bhs[36], ASYNC_CONNECTION_DROP);
	ck_assert_uint_eq(get_be16(p->bhs + 38), 0); /* CID */
	ck_assert_uint_eq(get_be16(p->bhs + 40), 4);
	free(p);
	ck_assert(fake_closed(deaf.fc));
	ck_assert(list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
	rig_stop(&rig);
}
END_TEST

/* Dropped by the administrator: announced. */
START_TEST(dropped_by_administrator)
{
	struct session_info info[4];
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	busy(&i);
	ck_assert_uint_eq(iscsi_reactor_sessions(rig.net.reactor, SESSIONS_ALL, info, 4), 1);
	ck_assert_str_eq(info[0].initiator, FAKE_NAME);
	ck_assert_str_eq(info[0].target, FAKE_TARGET);
	ck_assert_uint_eq(info[0].outstanding, 2);
	ck_assert_uint_eq(info[0].tsih, i.tsih);
	ck_assert(!iscsi_reactor_drop(rig.net.reactor, info[0].id + 1, "no"));
	ck_assert(iscsi_reactor_drop(rig.net.reactor, info[0].id, "an administrator ended it"));
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_ASYNC);
	ck_assert_uint_eq(p->bhs[36], ASYNC_SESSION_DROP);
	free(p);
	ck_assert(fake_closed(i.fc));
	ck_assert_uint_eq(iscsi_reactor_sessions(rig.net.reactor, SESSIONS_ALL, info, 4), 0);
	rig_stop(&rig);
}
END_TEST

/* Requests without end and nobody reads the answers: the connection goes, memory does not. */
START_TEST(flood)
{
	for (unsigned large = 0; large < 2; large++) {
		struct fake_initiator i;
		unsigned n = 0;
		int err = 0;

		rig_start(&rig, NULL);
		i = rig_login(&rig, "MaxRecvDataSegmentLength=16384\n");
		i.fc->hold = true;
		for (; n < 5000 && !err; n++) {
			struct bhs_nop h = { .opcode = ISCSI_IMMEDIATE };
			uint8_t bytes[48];

			put_be32(h.itt, n);
			put_be32(h.ttt, ISCSI_TAG_RESERVED);
			memcpy(bytes, &h, 48);
			err = rig_feed(&i, bytes, data, large ? 16384 : 4);
		}
		ck_assert_int_lt(err, 0);
		ck_assert_uint_le(n, large ? 130 : 1026);
		ck_assert(fake_closed(i.fc));
		rig_stop(&rig);
	}
}
END_TEST

/* A ping of which only the header has come when the connection goes: nothing of it stays. */
START_TEST(lost_in_the_middle)
{
	struct bhs_nop h = { .opcode = ISCSI_IMMEDIATE, .flags = ISCSI_FINAL };
	struct iscsi_rx rx = { .length = 8192 };
	struct iscsi_reactor *ir;
	struct fake_initiator i;

	for (unsigned ended = 0; ended < 2; ended++) {
		rig_start(&rig, NULL);
		i = rig_login(&rig, NULL);
		ir = iscsi_reactor_of(rig.net.reactor);
		put_be32(h.itt, 1);
		put_be32(h.ttt, ISCSI_TAG_RESERVED);
		memcpy(rx.bhs, &h, 48);
		ck_assert_int_eq(iscsi_rx_header(i.fc->c, &rx), 0);
		ck_assert_uint_eq(rx.iovcnt, 1);
		ck_assert_uint_eq(pool_in_use(ir->pdus), 1);
		if (ended) { /* the session ends, the rest of the ping comes all the same */
			session_end(i.fc->c->session, "test");
			ck_assert_int_eq(iscsi_rx_data(i.fc->c, &rx, true), 0);
		} else {
			fake_hang_up(i.fc);
		}
		ck_assert(fake_closed(i.fc));
		ck_assert_uint_eq(pool_in_use(ir->pdus), 0);
		rig_stop(&rig);
	}
}
END_TEST

SUITE_COVERS("P-037 P-038 P-105 P-106 P-107 P-109 P-110 P-111 P-112 P-113 P-114 P-130 P-131 "
	     "P-133 P-135 P-136 P-137 P-139 P-141 P-142 P-143 P-145 P-146 P-148 S-013 S-031 "
	     "S-039 E-046");

UNIT_MAIN("iscsi/ffp_nop", ping, without_tag, keep_alive, keep_alive_strict, logout, logout_refused,
	  asked_to_leave, dropped_by_administrator, flood, lost_in_the_middle)
