/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile and unlucky initiators: random requests in random order over stores that hang and come
 * back, transports that let go late, connections lost and policies changed in between. Nothing may
 * crash or leak, and a well-behaved session reads its own data all the while.
 */
#include "daemon/base/bytes.h"
#include "daemon/base/pool.h"
#include "scsi/exec.h"
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/policy.h"

#include <stdio.h>

#define R       ISCSI_CMD_READ
#define W       ISCSI_CMD_WRITE
#define STEPS   30000u
#define PEERS   3u
#define LATE    64u
#define SAFE    4096u /* the good session's block: nobody else writes from here on */
#define PATTERN 0x5c

static struct rig rig;
static uint64_t state;
static uint8_t junk[16384];

/* Tasks whose release was answered "later". */
static struct iscsi_task *late[LATE];
static unsigned n_late;
static bool (*release_at_once)(struct iscsi_task *t);

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static bool release_late(struct iscsi_task *t)
{
	release_at_once(t);
	if (n_late == LATE || rnd(2))
		return true;
	late[n_late++] = t;
	return false;
}

static void let_go(void)
{
	while (n_late) {
		struct iscsi_task *t = late[--n_late];

		iscsi_task_released(t);
	}
}

static struct fake_initiator enter(unsigned n)
{
	static const char *const keys[] = {
		"InitialR2T=No\nImmediateData=Yes\nFirstBurstLength=4096\nDefaultTime2Retain=0\n",
		"InitialR2T=Yes\nImmediateData=No\nDefaultTime2Retain=0\n",
		"DataDigest=CRC32C\nInitialR2T=No\nDefaultTime2Retain=0\n",
	};

	return rig_login_isid(&rig, (uint8_t)(10 + n), keys[rnd(3)]);
}

static void random_command(struct fake_initiator *i)
{
	static const uint8_t opcodes[] = { 0x28, 0x2a, 0x28, 0x2a, 0x00, 0x12, 0x25, 0x35,
					   0x42, 0x93, 0xa0, 0x1a, 0x15, 0x2f, 0x2e, 0x8a };
	uint8_t cdb[16] = { opcodes[rnd(sizeof(opcodes))] };
	uint8_t ahs[16];
	struct rig_command q = { .cdb = cdb, .data = junk, .lun = (uint8_t)rnd(3) };

	if (rnd(4)) {
		put_be32(cdb + 2, rnd(64));
		put_be16(cdb + 7, (uint16_t)rnd(20));
	} else {
		for (unsigned k = 1; k < 16; k++)
			cdb[k] = (uint8_t)(rnd(3) ? 0 : rnd(256));
		if (cdb[0] == 0x2a || cdb[0] == 0x8a || cdb[0] == 0x2e || cdb[0] == 0x93)
			memset(cdb + 2, 0, 8); /* keeps off the safe block */
	}
	q.flags = (uint8_t)(rnd(8) ? (rnd(2) ? R : W) | 1 : rnd(256) & 0x7f);
	q.edtl = rnd(6) ? rnd(20) * 512 : rnd(20000);
	q.no_final = (q.flags & W) && !rnd(3);
	q.immediate = !rnd(6);
	if ((q.flags & W) && rnd(2))
		q.length = rnd(q.edtl + 1) % 8192;
	if (!rnd(12)) {
		for (unsigned k = 0; k < sizeof(ahs); k++)
			ahs[k] = (uint8_t)rnd(rnd(2) ? 4 : 256);
		q.ahs = ahs;
		q.ahs_length = (uint16_t)(4 * (1 + rnd(4)));
	}
	if (!rnd(10)) {
		q.keep_cmdsn = true;
		q.cmdsn = i->cmdsn + rnd(6) - 2;
	}
	if (!rnd(10))
		q.itt = i->itt - rnd(4);
	rig_send(i, &q);
}

static void random_bytes(struct fake_initiator *i)
{
	uint8_t bhs[48];

	for (unsigned k = 0; k < sizeof(bhs); k++)
		bhs[k] = (uint8_t)(rnd(2) ? rnd(256) : 0);
	bhs[0] = (uint8_t)(rnd(3) ? rnd(7) | (rnd(2) ? 0x40 : 0) : rnd(256));
	if ((bhs[0] & 0x3f) == ISCSI_OP_SCSI_COMMAND)
		memset(bhs + 32, 0, 16);
	if ((bhs[0] & 0x3f) == ISCSI_OP_TMF_REQUEST && (bhs[1] & 0x7f) == ISCSI_TMF_COLD_RESET)
		bhs[1] = 0; /* would end the good session */
	if ((bhs[0] & 0x3f) == ISCSI_OP_DATA_OUT)
		put_be32(bhs + 20, ISCSI_TAG_RESERVED); /* solicited never comes up */
	if (rnd(2))
		put_be32(bhs + 16, i->itt - rnd(5));
	put_be32(bhs + 24, i->cmdsn + rnd(3));
	fake_feed(i->fc, bhs, junk, rnd(4) ? 0 : rnd(5000));
}

/* The header and perhaps never the data. */
static void half_a_pdu(struct fake_initiator *i)
{
	struct bhs_scsi_command h = { .opcode = ISCSI_OP_SCSI_COMMAND, .flags = ISCSI_FINAL | W };
	static struct iscsi_rx rx;
	struct rig_tmf q = { .function = ISCSI_TMF_LU_RESET };

	rx = (struct iscsi_rx){ .length = 4096 };
	put_be32(h.itt, ++i->itt);
	put_be32(h.edtl, 4096);
	put_be32(h.cmdsn, i->cmdsn++);
	h.cdb[0] = 0x2a;
	h.cdb[8] = 8;
	memcpy(rx.bhs, &h, 48);
	if (i->fc->closing || iscsi_rx_header(i->fc->c, &rx))
		return;
	switch (rnd(4)) {
	case 0:
		fake_hang_up(i->fc);
		return;
	case 1: /* a reset by itself stands in for one by another nexus */
		if (session_find_task(i->fc->c->session, i->itt))
			ffp_abort(&session_find_task(i->fc->c->session, i->itt)->scsi);
		(void)q;
		break;
	case 2:
		iscsi_rx_data(i->fc->c, &rx, false);
		return;
	default:
		break;
	}
	iscsi_rx_data(i->fc->c, &rx, true);
}

static void random_store(void)
{
	struct fake_store *s = rig.store[rnd(RIG_LUS)];

	s->hold = rnd(2);
	if (!s->hold || rnd(2))
		fake_store_let(s);
}

static void adopted(struct iscsi_publish *p)
{
	free(p);
}

/* The target's LUN 0 goes or comes back; LUN 1, where the good session is, stays. */
static void random_policy(void)
{
	struct iscsi_publish *p = calloc(1, sizeof(*p));
	struct iscsi_policy *policy = rig_policy(&rig);
	struct scsi_lun_entry one = { .lun = 1, .lu = rig.lu[1] };

	if (!p)
		abort();
	if (rnd(2)) {
		lun_map_unref(policy->targets[0].map);
		policy->targets[0].map = lun_map_create(&one, 1);
	}
	p->policy = policy;
	p->done = adopted;
	ck_assert_int_eq(iscsi_publish(&rig.net.reactor, 1, rig.net.reactor, p), 0);
	policy_unref(policy);
	rig.store[0]->mapping = rnd(2);
}

static void swallow(struct fake_initiator *i)
{
	while (!list_empty(&i->fc->sent))
		free(list_entry(list_pop(&i->fc->sent), struct fake_pdu, node));
}

static void step(struct fake_initiator *i)
{
	switch (rnd(20)) {
	case 0:
		random_bytes(i);
		break;
	case 1:
		half_a_pdu(i);
		break;
	case 2:
		rig_send_tmf(i, &(struct rig_tmf){ .function = (uint8_t)rnd(7), /* no cold reset */
						   .lun = (uint8_t)rnd(3),
						   .ordered = rnd(2),
						   .task = i->itt - rnd(4),
						   .ref_cmdsn = i->cmdsn - rnd(4) });
		break;
	case 3:
		free(rig_ping(i, i->itt + 0x10000, junk, rnd(9000)));
		break;
	case 4:
	case 5:
	case 6:
		rig_data_out(i, &(struct rig_data){ .itt = i->itt - rnd(2),
						    .datasn = rnd(3),
						    .offset = rnd(3) * 512,
						    .data = junk,
						    .length = rnd(3) * 512,
						    .final = rnd(2) });
		break;
	case 7:
	case 8:
		fake_fill(i->fc, junk, sizeof(junk));
		break;
	case 9:
		random_store();
		break;
	case 10:
		i->fc->hold = rnd(2);
		break;
	case 11:
		let_go();
		break;
	case 12:
		if (!rnd(8))
			free(rig_logout(i, (uint8_t)rnd(4), (uint16_t)rnd(2)));
		break;
	case 13:
		if (!rnd(8))
			fake_hang_up(i->fc);
		break;
	default:
		random_command(i);
	}
}

/* Reads the safe block, past unit attentions and what resets and full task sets bring. */
static void check_good_session(struct fake_initiator *good)
{
	uint8_t cdb[16];

	rig.store[1]->hold = false;
	fake_store_let(rig.store[1]);
	rig_read10(cdb, SAFE, 1);
	for (unsigned n = 0;; n++) {
		struct fake_pdu *p = rig_command(
		    good, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512, .lun = 1 });
		bool data = rig_opcode(p) == ISCSI_OP_DATA_IN;

		ck_assert_ptr_nonnull(good->fc->c); /* no answer: stopped by somebody's reset */
		for (unsigned k = 0; data && k < 512; k++)
			ck_assert_uint_eq(p->data[k], PATTERN);
		free(p);
		if (data)
			return;
		ck_assert_uint_lt(n, 20);
	}
}

static void run(uint64_t seed)
{
	struct fake_initiator peer[PEERS], good;
	struct list *pos;

	state = seed;
	rig_start(&rig, NULL);
	memset(rig.store[1]->bytes + (size_t)SAFE * RIG_BLOCK, PATTERN, 512);
	good = rig_login_isid(&rig, 1, NULL);
	for (unsigned n = 0; n < PEERS; n++)
		peer[n] = enter(n);
	for (unsigned k = 0; k < STEPS; k++) {
		unsigned n = rnd(PEERS);

		if (!peer[n].fc->c || peer[n].fc->closing) {
			swallow(&peer[n]);
			for (unsigned s = 0; s < RIG_LUS; s++) {
				rig.store[s]->hold = false;
				fake_store_let(rig.store[s]);
			}
			let_go();
			fake_turn(&rig.net, 4);
			peer[n] = enter(n);
		}
		step(&peer[n]);
		if (!rnd(8))
			fake_turn(&rig.net, 1);
		if (!rnd(16))
			swallow(&peer[n]);
		if (!rnd(300))
			random_policy();
		if (!rnd(300) && peer[n].fc->c && peer[n].fc->c->session)
			iscsi_reactor_drop(rig.net.reactor, peer[n].fc->c->session->id, "random");
		if (!rnd(500))
			check_good_session(&good);
	}
	for (unsigned s = 0; s < RIG_LUS; s++) {
		rig.store[s]->hold = false;
		fake_store_let(rig.store[s]);
	}
	list_for_each (pos, &rig.net.conns)
		fake_hang_up(list_entry(pos, struct fake_conn, node));
	fake_turn(&rig.net, 4);
	let_go();
	fake_turn(&rig.net, 4);
	ck_assert_uint_eq(pool_in_use(iscsi_reactor_of(rig.net.reactor)->tasks), 0);
	ck_assert_uint_eq(pool_in_use(iscsi_reactor_of(rig.net.reactor)->pdus), 0);
	rig_stop(&rig);
}

START_TEST(random_peers)
{
	const char *seed = getenv("HAWSER_SEED"); // NOLINT(concurrency-mt-unsafe): one thread

	release_at_once = fake_datamover.release;
	fake_datamover.release = release_late;
	fake_datamover.lends_data = true;
	for (uint64_t n = 1; n <= 3; n++)
		run(seed ? strtoull(seed, NULL, 0) : n);
}
END_TEST

SUITE_COVERS("E-019 P-054 S-033 fault-A05 fault-M02 fault-N01");

UNIT_MAIN("iscsi/ffp_random", random_peers)
