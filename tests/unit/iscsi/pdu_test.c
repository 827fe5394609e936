/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that nobody reads: limited for each connection, and none of them takes all. */
#include "transport/iscsi/pdu.c"

#include "tests/unit/rig.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/policy.h"

#define HOGS    120
#define SEGMENT 262144u

static struct rig rig;
static struct fake_initiator hog[HOGS];
static struct iscsi_pdu **taken;
static unsigned n_taken;

static struct iscsi_reactor *ir(void)
{
	return iscsi_reactor_of(rig.net.reactor);
}

static void setup(void)
{
	rig_start(&rig, NULL);
	n_taken = 0;
	taken = calloc(HOGS * (CONN_PDUS_MAX + 1), sizeof(struct iscsi_pdu *));
	ck_assert_ptr_nonnull(taken);
}

static void end(void)
{
	while (n_taken)
		pdu_put(taken[--n_taken]);
	free(taken);
	ck_assert_uint_eq(ir()->pdus_shared, 0);
	ck_assert_uint_eq(ir()->bytes_shared, 0);
	rig_stop(&rig);
}

/* Answers with so much data until no more are given. */
static unsigned take(const struct fake_initiator *i, unsigned most, uint32_t bytes)
{
	unsigned n = 0;

	for (; n < most; n++) {
		struct iscsi_pdu *p = pdu_get(i->fc->c, ISCSI_OP_NOP_IN, 1);

		if (p && bytes && !pdu_data(p, bytes)) {
			pdu_put(p);
			p = NULL;
		}
		if (!p)
			break;
		taken[n_taken++] = p;
	}
	return n;
}

START_TEST(limit_of_one)
{
	setup();
	hog[0] = rig_login(&rig, NULL);
	ck_assert_uint_eq(take(&hog[0], 5000, 0), CONN_PDUS_MAX);
	end();
}
END_TEST

START_TEST(limit_of_bytes)
{
	setup();
	hog[0] = rig_login(&rig, NULL);
	ck_assert_uint_eq(take(&hog[0], 5000, SEGMENT), CONN_BYTES_MAX / SEGMENT);
	end();
}
END_TEST

static void many(uint32_t bytes)
{
	setup();
	for (unsigned i = 0; i < HOGS; i++)
		hog[i] = rig_login_isid(&rig, (uint8_t)(i + 1), NULL);
	for (unsigned i = 0; i < HOGS; i++)
		take(&hog[i], 5000, bytes);
}

/* More than there are for all: each gets its own, and one that comes last as well. */
START_TEST(none_takes_all)
{
	struct fake_initiator last;

	many(0);
	ck_assert_uint_gt(n_taken, PDUS_SHARED / 2);
	ck_assert_uint_lt(ir()->pdus_shared, PDUS_SHARED);
	ck_assert_uint_lt(hog[HOGS - 1].fc->c->pdus_out, CONN_PDUS_MAX);
	for (unsigned i = 0; i < HOGS; i++)
		ck_assert_uint_ge(hog[i].fc->c->pdus_out, PDUS_OWN);
	last = rig_login_isid(&rig, 200, NULL);
	ck_assert_uint_ge(take(&last, 200, 0), PDUS_OWN);
	end();
}
END_TEST

/* What is a connection's own it has even when nothing is left to share. */
START_TEST(own_ones)
{
	struct fake_initiator i;

	setup();
	i = rig_login(&rig, NULL);
	ir()->pdus_shared = PDUS_SHARED;
	ir()->bytes_shared = BYTES_SHARED;
	ck_assert_uint_eq(take(&i, 200, 0), PDUS_OWN);
	while (n_taken)
		pdu_put(taken[--n_taken]);
	ck_assert_uint_eq(take(&i, 200, SEGMENT), 1);
	i.fc->c->holds = true; /* level 1 */
	while (n_taken)
		pdu_put(taken[--n_taken]);
	ck_assert_uint_eq(take(&i, 500, 0), PDUS_OWN + i.fc->c->session->window);
	i.fc->c->holds = false;
	ir()->pdus_shared -= PDUS_SHARED;
	ir()->bytes_shared -= BYTES_SHARED;
	end();
}
END_TEST

START_TEST(bytes_for_all)
{
	struct fake_initiator last;

	many(SEGMENT);
	ck_assert_uint_lt(ir()->bytes_shared, BYTES_SHARED);
	ck_assert_uint_gt(ir()->bytes_shared, BYTES_SHARED / 2);
	ck_assert_uint_eq(hog[0].fc->c->pdu_bytes, CONN_BYTES_MAX);
	ck_assert_uint_lt(hog[HOGS - 1].fc->c->pdu_bytes, CONN_BYTES_MAX);
	last = rig_login_isid(&rig, 200, NULL);
	ck_assert_uint_ge(take(&last, 200, SEGMENT), 1);
	end();
}
END_TEST

UNIT_MAIN("iscsi/pdu", limit_of_one, limit_of_bytes, none_takes_all, own_ones, bytes_for_all)
