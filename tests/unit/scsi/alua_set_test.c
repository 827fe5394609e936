/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/alua_set.c"

#include "tests/unit/scsi/exec_fixture.h"

static struct alua_group groups[3];
static struct alua_port ports[3];
static struct alua_table table;
static struct alua_change *asked; /* the last one, not answered yet */
static unsigned n_asked;

static void keep(struct alua_change *c, void *arg)
{
	ck_assert_ptr_eq(arg, &table);
	asked = c;
	n_asked++;
}

static void setup(void)
{
	fx_setup(FX_FILE);
	for (unsigned i = 0; i < 3; i++) {
		groups[i] = (struct alua_group){ .id = (uint16_t)(i + 1) };
		ports[i] =
		    (struct alua_port){ .relative = (uint16_t)(i + 7), .group = (uint16_t)i };
	}
	table = (struct alua_table){
		.tpgs = 3, .n_groups = 3, .n_ports = 3, .groups = groups, .ports = ports
	};
	for (unsigned i = 0; i < FX_NEXUS; i++) {
		fx_nexus[i].id = 40 + i;
		nexus_set_alua(&fx_nexus[i], &table);
		fx_take_ua(&fx_nexus[i]);
	}
	n_asked = 0;
	scsi_set_alua_keeper(keep, &table);
}

static void teardown(void)
{
	scsi_set_alua_keeper(NULL, NULL);
	fx_teardown();
}

static struct fake_task *task(const uint8_t *list, uint32_t announced)
{
	uint8_t cdb[12] = { 0xa4, 0x0a };
	struct fake_task *f;

	put_be32(cdb + 6, announced);
	f = fx_task(&fx_nexus[0], cdb, 12);
	fake_task_out(f, list, announced);
	return f;
}

#define SET(...)                                                                                   \
	task((const uint8_t[]){ 0, 0, 0, 0, __VA_ARGS__ },                                         \
	     sizeof((const uint8_t[]){ 0, 0, 0, 0, __VA_ARGS__ }))

/* Submits one that asks the keeper, who has then answered with result. */
static struct fake_task *answered(struct fake_task *f, int result)
{
	asked = NULL;
	scsi_submit(&f->t);
	for (int i = 0; i < 100 && !asked; i++)
		fx_turn();
	ck_assert_ptr_nonnull(asked);
	ck_assert(!f->ended);
	asked->result = result;
	asked->done(asked);
	fx_run(f);
	return f;
}

START_TEST(asks_for_all_of_the_list)
{
	struct fake_task *f;

	COVERS("SQ-004 OP-078");
	setup();
	f = SET(0x02, 0, 0, 2, 0x01, 0, 0, 1);
	asked = NULL;
	scsi_submit(&f->t);
	for (int i = 0; i < 100 && !asked; i++)
		fx_turn();
	ck_assert_ptr_nonnull(asked);
	ck_assert_uint_eq(asked->nexus, 40);
	ck_assert_uint_eq(asked->lun, 0);
	ck_assert_str_eq(asked->target_port, fx_nexus[0].target_port);
	ck_assert_uint_eq(asked->n, 2);
	ck_assert_uint_eq(asked->groups[0].id, 2);
	ck_assert_uint_eq(asked->groups[0].state, ALUA_STANDBY);
	ck_assert_uint_eq(asked->groups[1].id, 1);
	ck_assert_uint_eq(asked->groups[1].state, ALUA_ACTIVE_NON_OPTIMIZED);
	asked->done(asked);
	fx_run(f);
	ck_assert_uint_eq(f->status, SCSI_GOOD);
	fake_task_free(f);
	teardown();
}
END_TEST

/* Nobody is asked where all is as it shall be. */
START_TEST(nothing_to_change)
{
	setup();
	groups[1].state = ALUA_STANDBY;
	fx_expect(SET(0x02, 0, 0, 2), 0, 0);
	fx_expect(task((const uint8_t[4]){ 0 }, 4), 0, 0);
	fx_expect(task(NULL, 0), 0, 0);
	ck_assert_uint_eq(n_asked, 0);
	teardown();
}
END_TEST

START_TEST(what_the_keeper_says)
{
	struct fake_task *f;

	COVERS("SQ-004");
	setup();
	f = answered(SET(0x02, 0, 0, 2), -EIO);
	ck_assert_uint_eq(f->status, SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(f->sense.key, SENSE_HARDWARE_ERROR);
	ck_assert_uint_eq(f->sense.asc_ascq, ASC_SET_GROUPS_FAILED);
	fake_task_free(f);
	f = answered(SET(0x02, 0, 0, 2), -EBUSY);
	ck_assert_uint_eq(f->status, SCSI_BUSY);
	fake_task_free(f);
	scsi_set_alua_keeper(NULL, NULL);
	fx_expect(SET(0x02, 0, 0, 2), SENSE_HARDWARE_ERROR, ASC_SET_GROUPS_FAILED);
	teardown();
}
END_TEST

/* Aborted while the keeper is at it: it ends when that has. */
START_TEST(aborted_under_way)
{
	struct fake_task *f;

	setup();
	for (int result = 0; result >= -EBUSY; result -= EBUSY) {
		asked = NULL;
		f = SET(0x02, 0, 0, 2);
		scsi_submit(&f->t);
		for (int i = 0; i < 100 && !asked; i++)
			fx_turn();
		fake_task_abort(f);
		ck_assert(f->detached && !f->over);
		asked->result = result;
		asked->done(asked);
		ck_assert(f->over && !f->ended);
		fake_task_free(f);
	}
	teardown();
}
END_TEST

START_TEST(lists_that_are_wrong)
{
	static const uint8_t long_list[LIST_MAX + 4];

	COVERS("SQ-004 OP-078");
	setup();
	/* States that initiators cannot set; a group that is not there; the same one twice. */
	for (uint8_t state = 4; state < 16; state++)
		fx_expect(SET(state, 0, 0, 2), SENSE_ILLEGAL_REQUEST, 0x2600);
	fx_expect(SET(0x02, 0, 0, 9), SENSE_ILLEGAL_REQUEST, 0x2600);
	fx_expect(SET(0x02, 0, 1, 2), SENSE_ILLEGAL_REQUEST, 0x2600);
	fx_expect(SET(0x02, 0, 0, 2, 0x01, 0, 0, 2), SENSE_ILLEGAL_REQUEST, 0x2600);
	/* A good one before a bad one changes nothing. */
	fx_expect(SET(0x02, 0, 0, 2, 0x01, 0, 0, 9), SENSE_ILLEGAL_REQUEST, 0x2600);
	for (uint32_t n = 1; n < 24; n++)
		if (n % 4)
			fx_expect(task(long_list, n), SENSE_ILLEGAL_REQUEST, 0x1a00);
	fx_expect(task(long_list, LIST_MAX + 4), SENSE_ILLEGAL_REQUEST, 0x2400);
	ck_assert_uint_eq(n_asked, 0);
	teardown();
}
END_TEST

/* What the administrator has put into one of these is not for initiators to end. */
START_TEST(groups_that_stay)
{
	setup();
	groups[1].state = ALUA_OFFLINE;
	fx_expect(SET(0x00, 0, 0, 2), SENSE_HARDWARE_ERROR, ASC_SET_GROUPS_FAILED);
	groups[1].state = ALUA_TRANSITIONING;
	fx_expect_status(SET(0x00, 0, 0, 2), SCSI_BUSY);
	/* By a port in transition. */
	groups[1].state = ALUA_ACTIVE_OPTIMIZED;
	groups[0].state = ALUA_TRANSITIONING;
	nexus_set_alua(&fx_nexus[0], &table);
	fx_expect_status(SET(0x02, 0, 0, 2), SCSI_BUSY);
	ck_assert_uint_eq(n_asked, 0);
	teardown();
}
END_TEST

UNIT_MAIN("scsi/alua_set", asks_for_all_of_the_list, nothing_to_change, what_the_keeper_says,
	  aborted_under_way, lists_that_are_wrong, groups_that_stay)
