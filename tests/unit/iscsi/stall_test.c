/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that keeps buffers from others goes; one that moves, or waits for its store, stays. */
#include "transport/iscsi/stall.c"

#include "tests/unit/rig.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/policy.h"

#define R   ISCSI_CMD_READ
#define W   ISCSI_CMD_WRITE
#define MIB 1048576u

enum { ARENA_MIB = 8 }; /* of the fake datamover */

static struct rig rig;
static uint8_t cdb[16];
static uint8_t data[MIB];
static const struct iscsi_conn *mover; /* on which bytes move */

static void describe(struct iscsi_conn *c, struct conn_info *ret)
{
	static uint64_t n;

	*ret = (struct conn_info){ .sent_bytes = c == mover ? ++n : 0 };
}

static struct iscsi_reactor *ir(void)
{
	return iscsi_reactor_of(rig.net.reactor);
}

/* One takes all buffers, by WRITEs whose data does not come or by READs. */
static struct fake_initiator take_all(bool write)
{
	struct fake_initiator i;

	fake_datamover.describe = describe;
	mover = NULL;
	rig_start(&rig, NULL);
	i = rig_login_isid(&rig, 1, "InitialR2T=Yes\nImmediateData=No\n");
	i.fc->hold = !write;
	for (unsigned n = 0; n < ARENA_MIB; n++) {
		if (write)
			rig_write10(cdb, 0, MIB / RIG_BLOCK);
		else
			rig_read10(cdb, 0, MIB / RIG_BLOCK);
		rig_send(&i,
			 &(struct rig_command){ .cdb = cdb, .flags = write ? W : R, .edtl = MIB });
	}
	ck_assert_uint_eq(arena_free_bytes(rig.net.arena), 0);
	return i;
}

/* Another wants one block and waits. */
static struct fake_initiator want_one(void)
{
	struct fake_initiator i = rig_login_isid(&rig, 2, NULL);

	ck_assert(list_empty(&ir()->stall.node));
	rig_read10(cdb, 0, 1);
	ck_assert_ptr_null(
	    rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512 }));
	ck_assert(!list_empty(&ir()->stall.node));
	return i;
}

static void look_times(unsigned n)
{
	while (n--) {
		reactor_timer_disarm(&ir()->stall);
		look(&ir()->stall);
		fake_turn(&rig.net, 2);
	}
}

static void ck_served(struct fake_initiator *i)
{
	struct fake_pdu *p = fake_next(i->fc);

	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_DATA_IN);
	free(p);
}

START_TEST(idle_one_goes)
{
	for (unsigned write = 0; write < 2; write++) {
		struct fake_initiator one = take_all(write), two = want_one();

		look_times(LOOKS_MAX - 1);
		ck_assert(one.fc->c && two.fc->c);
		look_times(1);
		ck_assert(fake_closed(one.fc));
		ck_served(&two);
		look_times(1);
		ck_assert(list_empty(&ir()->stall.node)); /* nobody waits any more */
		rig_stop(&rig);
	}
}
END_TEST

START_TEST(slow_one_stays)
{
	struct fake_initiator one = take_all(true), two = want_one();

	mover = one.fc->c;
	look_times(3 * LOOKS_MAX);
	mover = NULL;
	look_times(LOOKS_MAX - 1); /* counted from the last byte */
	ck_assert(one.fc->c && two.fc->c);
	ck_assert(fake_fill(one.fc, data, MIB));
	ck_served(&two);
	rig_stop(&rig);
}
END_TEST

START_TEST(store_is_waited_for)
{
	struct fake_initiator one = take_all(true), two;

	rig.store[0]->hold = true;
	while (fake_fill(one.fc, data, MIB))
		;
	two = want_one();
	look_times(3 * LOOKS_MAX);
	ck_assert(one.fc->c && two.fc->c);
	rig.store[0]->hold = false;
	fake_store_let(rig.store[0]);
	ck_served(&two);
	rig_stop(&rig);
}
END_TEST

/* Whoever holds buffers that nobody else wants may hold them. */
START_TEST(alone)
{
	struct fake_initiator one = take_all(true);

	look_times(3 * LOOKS_MAX);
	ck_assert_ptr_nonnull(one.fc->c);
	rig_stop(&rig);
}
END_TEST

UNIT_MAIN("iscsi/stall", idle_one_goes, slow_one_stays, store_is_waited_for, alone)
