/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access states of target ports: which command each lets pass, what is told of a change.
 */
#include "scsi/alua.c"

#include "tests/unit/scsi/exec_fixture.h"

enum { N_STATES = NAMES };

/* By opcode and service action, in the order of SPC-4 5.15.2.4: A only where the port is active, S
 * in standby too, E the echo buffer everywhere, T all but transitioning, * everywhere. What is not
 * here is A. */
static const struct {
	uint8_t opcode, action;
	char where;
} expected[] = {
	{ 0x03, 0, '*' },    { 0x12, 0, '*' },    { 0x15, 0, 'S' },    { 0x1a, 0, 'S' },
	{ 0x1c, 0, 'S' },    { 0x1d, 0, 'S' },    { 0x25, 0, 'S' },    { 0x3b, 0, 'E' },
	{ 0x3c, 0, 'E' },    { 0x4c, 0, 'S' },    { 0x4d, 0, 'S' },    { 0x55, 0, 'S' },
	{ 0x5a, 0, 'S' },    { 0x5e, 0xff, 'S' }, { 0x5f, 0xff, 'S' }, { 0x9e, 0x10, 'S' },
	{ 0xa0, 0, '*' },    { 0xa3, 0x0a, '*' }, { 0xa3, 0x0c, 'S' }, { 0xa4, 0x0a, 'T' },
	{ 0xa3, 0x0d, 'S' },
};

static char expect(const struct scsi_op *op)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (expected[i].opcode != op->opcode)
			continue;
		if (!op->has_action || expected[i].action == op->action ||
		    expected[i].action == 0xff)
			return expected[i].where;
	}
	return 'A';
}

static bool may(char where, uint8_t state, bool echo)
{
	if (alua_is_active(state))
		return true;
	switch (where) {
	case '*':
		return true;
	case 'S':
		return state == ALUA_STANDBY;
	case 'T':
		return state != ALUA_TRANSITIONING;
	case 'E':
		return echo;
	default:
		return false;
	}
}

START_TEST(each_state_and_command)
{
	COVERS("SQ-005 SQ-006");
	const struct scsi_op *op;
	unsigned n;

	for (op = scsi_op_table(&n); n; n--, op++) {
		for (unsigned s = 0; s < N_STATES; s++) {
			for (unsigned mode = 0; mode < 32; mode++) {
				const uint8_t cdb[16] = { op->opcode, (uint8_t)mode };
				bool echo = mode == 0x0a || (mode == 0x0b && op->opcode == 0x3c);

				ck_assert_msg(alua_allows(names[s].state, op, cdb) ==
						  may(expect(op), names[s].state, echo),
					      "%s in %s, byte 1 %02x", op->name, names[s].name,
					      mode);
			}
		}
	}
}
END_TEST

/* Three classes of command through the executor, with what refuses them. */
START_TEST(states_at_the_gate)
{
	static const struct {
		uint8_t state;
		uint16_t active, standby, any; /* ASC and ASCQ of TEST UNIT READY, MODE SENSE ... */
	} rows[] = {
		{ ALUA_ACTIVE_OPTIMIZED, 0, 0, 0 },  { ALUA_ACTIVE_NON_OPTIMIZED, 0, 0, 0 },
		{ ALUA_STANDBY, 0x040b, 0, 0 },      { ALUA_UNAVAILABLE, 0x040c, 0x040c, 0 },
		{ ALUA_OFFLINE, 0x0412, 0x0412, 0 }, { ALUA_TRANSITIONING, 0x040a, 0x040a, 0 },
	};
	static const uint8_t mode_sense[6] = { 0x1a, 0, 0x08, 0, 64 };
	static const uint8_t report_luns[12] = { 0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 64 };

	COVERS("SQ-005 SQ-006");
	fx_setup(FX_FILE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct alua_group g = { .id = 1, .state = rows[i].state };
		struct alua_port p = { .relative = 7 };
		const struct alua_table t = {
			.tpgs = 1, .n_groups = 1, .n_ports = 1, .groups = &g, .ports = &p
		};
		uint8_t key = rows[i].active ? SENSE_NOT_READY : 0;

		nexus_set_alua(&fx_nexus[0], &t);
		fx_take_ua(&fx_nexus[0]);
		fx_expect(fx_tur(&fx_nexus[0]), key, rows[i].active);
		fx_expect(fx_read(&fx_nexus[0], 0, 1), key, rows[i].active);
		fx_expect(fx_task(&fx_nexus[0], mode_sense, 6),
			  rows[i].standby ? SENSE_NOT_READY : 0, rows[i].standby);
		fx_expect(fx_task(&fx_nexus[0], report_luns, 12), 0, 0);
		fx_expect(fx_tur(&fx_nexus[1]), 0, 0); /* by another port */
		nexus_set_alua(&fx_nexus[0], NULL);
		fx_take_ua(&fx_nexus[0]);
	}
	fx_teardown();
}
END_TEST

/* A port that is not active conflicts with nothing: its host shall go on by another path. */
START_TEST(path_before_reservation)
{
	struct alua_group g = { .id = 1, .state = ALUA_STANDBY };
	struct alua_port p = { .relative = 7 };
	const struct alua_table t = {
		.tpgs = 1, .n_groups = 1, .n_ports = 1, .groups = &g, .ports = &p
	};

	fx_setup(FX_FILE);
	nexus_set_alua(&fx_nexus[0], &t);
	fx_take_ua(&fx_nexus[0]);
	atomic_fetch_or(&nexus_find(&fx_nexus[0], 0)->gate, GATE_NO_READ | GATE_NO_WRITE);
	fx_expect(fx_read(&fx_nexus[0], 0, 1), SENSE_NOT_READY, 0x040b);
	/* And a unit attention before both. */
	itl_ua(nexus_find(&fx_nexus[0], 0), ASC_ACCESS_STATE_CHANGED);
	fx_expect(fx_read(&fx_nexus[0], 0, 1), SENSE_UNIT_ATTENTION, 0x2a06);
	nexus_set_alua(&fx_nexus[0], NULL);
	fx_teardown();
}
END_TEST

/* What still waits for its data when the port leaves the active states is not carried out. */
START_TEST(data_that_comes_too_late)
{
	static uint8_t data[FX_BLOCK] = { 1, 2, 3 };
	struct alua_group g = { .id = 1, .state = ALUA_STANDBY };
	struct alua_port p = { .relative = 7 };
	const struct alua_table t = {
		.tpgs = 1, .n_groups = 1, .n_ports = 1, .groups = &g, .ports = &p
	};
	struct fake_task *f;

	fx_setup(FX_FILE);
	f = fx_write(&fx_nexus[0], 0, 1, data);
	f->hold_data = true;
	scsi_submit(&f->t);
	fx_turn();
	ck_assert(!f->ended);
	nexus_set_alua(&fx_nexus[0], &t);
	fake_task_deliver(f);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(f->sense.asc_ascq, 0x040b);
	ck_assert_uint_eq(fx_store->bytes[0], 0);
	fake_task_free(f);
	nexus_set_alua(&fx_nexus[0], NULL);
	fx_teardown();
}
END_TEST

static unsigned taken(struct it_nexus *n, uint16_t ret[static 2])
{
	struct itl *itl = nexus_find(n, 0);
	unsigned i = 0;

	while (i < 2 && itl_ua_take(itl, &ret[i]))
		i++;
	return i;
}

/* Told is what hosts would see: another state anywhere, another group, other powers. */
START_TEST(news_of_changes)
{
	struct alua_group a[2] = { { .id = 1 }, { .id = 2 } }, b[2];
	struct alua_port p[2] = { { .relative = 7, .group = 0 }, { .relative = 8, .group = 1 } };
	const struct alua_table old = {
		.tpgs = 1, .n_groups = 2, .n_ports = 2, .groups = a, .ports = p
	};
	struct alua_table t = old;
	struct it_nexus *n = &fx_nexus[0];
	uint16_t ua[2];

	COVERS("SQ-007 SU-018");
	fx_setup(FX_FILE);
	nexus_set_alua(n, &old);
	ck_assert_uint_eq(taken(n, ua), 1);
	ck_assert_uint_eq(ua[0], ASC_INQUIRY_CHANGED);
	memcpy(b, a, sizeof(b));
	t.groups = b;
	nexus_set_alua(n, &t);
	ck_assert_uint_eq(taken(n, ua), 0);
	/* The other group's state; its preference. */
	nexus_set_alua(n, &old);
	b[1].state = ALUA_STANDBY;
	nexus_set_alua(n, &t);
	ck_assert_uint_eq(taken(n, ua), 1);
	ck_assert_uint_eq(ua[0], ASC_ACCESS_STATE_CHANGED);
	ck_assert_uint_eq(n->access_state, ALUA_ACTIVE_OPTIMIZED);
	nexus_set_alua(n, &old);
	fx_take_ua(n);
	b[1] = (struct alua_group){ .id = 2, .preferred = true };
	nexus_set_alua(n, &t);
	ck_assert_uint_eq(taken(n, ua), 1);
	/* Its own port in another group. */
	nexus_set_alua(n, &old);
	fx_take_ua(n);
	b[1] = a[1];
	b[0].id = 5;
	nexus_set_alua(n, &t);
	ck_assert_uint_eq(taken(n, ua), 2);
	ck_assert_uint_eq(ua[0], ASC_INQUIRY_CHANGED);
	ck_assert_uint_eq(ua[1], ASC_ACCESS_STATE_CHANGED);
	nexus_set_alua(n, NULL);
	fx_teardown();
}
END_TEST

/* Who has asked for it is not told; another nexus is, and another unit of the same. */
START_TEST(who_asked_is_not_told)
{
	struct alua_group a = { .id = 1 }, b = { .id = 1, .state = ALUA_ACTIVE_NON_OPTIMIZED };
	struct alua_port p = { .relative = 7 };
	const struct alua_table old = {
		.tpgs = 3, .n_groups = 1, .n_ports = 1, .groups = &a, .ports = &p
	};
	struct alua_table t = old;
	uint16_t ua[2];

	COVERS("SQ-007 SU-018");
	fx_setup(FX_FILE);
	t.groups = &b;
	t.changed_by = 4;
	for (unsigned lun = 0; lun < 2; lun++) {
		t.changed_lun = lun;
		for (unsigned i = 0; i < 2; i++) {
			fx_nexus[i].id = 4 + i;
			nexus_set_alua(&fx_nexus[i], &old);
			fx_take_ua(&fx_nexus[i]);
			nexus_set_alua(&fx_nexus[i], &t);
		}
		ck_assert_uint_eq(taken(&fx_nexus[0], ua), lun);
		ck_assert_uint_eq(taken(&fx_nexus[1], ua), 1);
	}
	fx_teardown();
}
END_TEST

/* Its portal has been removed while the session goes on: that does not open it. */
START_TEST(port_that_is_no_more)
{
	struct alua_group one = { .id = 1, .state = ALUA_STANDBY }, other = { .id = 2 };
	struct alua_port p = { .relative = 7 }, q = { .relative = 8 };
	const struct alua_table with = {
		.tpgs = 1, .n_groups = 1, .n_ports = 1, .groups = &one, .ports = &p
	};
	const struct alua_table without = {
		.tpgs = 1, .n_groups = 1, .n_ports = 1, .groups = &other, .ports = &q
	};

	fx_setup(FX_FILE);
	nexus_set_alua(&fx_nexus[0], &with);
	nexus_set_alua(&fx_nexus[0], &without);
	fx_take_ua(&fx_nexus[0]);
	fx_expect(fx_tur(&fx_nexus[0]), SENSE_NOT_READY, 0x040b);
	nexus_set_alua(&fx_nexus[0], NULL);
	fx_take_ua(&fx_nexus[0]);
	fx_expect(fx_tur(&fx_nexus[0]), 0, 0);
	fx_teardown();
}
END_TEST

START_TEST(names_of_states)
{
	for (size_t i = 0; i < NAMES; i++) {
		ck_assert_int_eq(alua_state_find(names[i].name), (int)names[i].state);
		ck_assert_str_eq(alua_state_name((uint8_t)names[i].state), names[i].name);
	}
	ck_assert_int_eq(alua_state_find("active"), -1);
	ck_assert_str_eq(alua_state_name(0x07), "unknown");
}
END_TEST

UNIT_MAIN("scsi/alua", each_state_and_command, states_at_the_gate, path_before_reservation,
	  data_that_comes_too_late, news_of_changes, who_asked_is_not_told, port_that_is_no_more,
	  names_of_states)
