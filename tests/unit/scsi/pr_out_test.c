/* SPDX-License-Identifier: BSD-2-Clause */
/* Each service action of PERSISTENT RESERVE OUT, its keys, its effect and who hears of it. */
#include "tests/unit/scsi/pr_fixture.h"

START_TEST(register_and_change)
{
	COVERS("SR-017 SR-019 SR-021 SR-039 OP-038");
	fx_setup(BACKING_INLINE);
	ck_assert_uint_eq(pr_generation(), 0);
	pr_good(A, PR_REGISTER, 0, 0, 0); /* no effect */
	ck_result(pr_out(A, PR_REGISTER, 0, KEY_A, KEY_A), CONFLICT);
	ck_assert_uint_eq(pr_count(KEY_A), 0);
	ck_assert_uint_eq(pr_generation(), 1);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	ck_assert_uint_eq(pr_count(KEY_A), 1);
	ck_result(pr_out(A, PR_REGISTER, 0, 0, KEY_B), CONFLICT);
	ck_result(pr_out(A, PR_REGISTER, 0, KEY_B, KEY_B), CONFLICT);
	ck_assert_uint_eq(pr_generation(), 2);
	pr_good(A, PR_RESERVE, 1, KEY_A, 0);
	ck_assert_uint_eq(pr_generation(), 2);
	pr_good(A, PR_REGISTER, 0, KEY_A, KEY_B); /* keeps what it holds */
	ck_held(1, KEY_B);
	ck_assert_uint_eq(pr_generation(), 3);
	pr_good(A, PR_REGISTER, 0, KEY_B, 0);
	ck_held(0, 0);
	ck_assert_uint_eq(pr_count(KEY_B), 0);
	ck_no_ua();
	fx_teardown();
}
END_TEST

START_TEST(register_and_ignore)
{
	COVERS("SR-020");
	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER_IGNORE, 0, 0x1234, 0); /* Windows cleans up like that */
	pr_good(A, PR_REGISTER_IGNORE, 0, 0x1234, KEY_A);
	pr_good(A, PR_REGISTER_IGNORE, 0, 0x5678, KEY_B);
	ck_assert_uint_eq(pr_count(KEY_A), 0);
	ck_assert_uint_eq(pr_count(KEY_B), 1);
	pr_good(A, PR_REGISTER_IGNORE, 0, 0x9abc, 0);
	ck_assert_uint_eq(pr_count(KEY_B), 0);
	ck_assert_uint_eq(pr_generation(), 4);
	fx_teardown();
}
END_TEST

/* The rest is for those who are registered. */
START_TEST(strangers_and_wrong_keys)
{
	COVERS("SR-015 SR-017 SR-050");
	static const uint8_t actions[] = { PR_RESERVE, PR_RELEASE,           PR_CLEAR,
					   PR_PREEMPT, PR_PREEMPT_AND_ABORT, PR_REGISTER_AND_MOVE };

	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(A, PR_RESERVE, 1, KEY_A, 0);
	for (unsigned i = 0; i < sizeof(actions); i++) {
		for (int scope_type = 0; scope_type < 256; scope_type += 51) {
			uint8_t st = (uint8_t)scope_type;

			ck_result(pr_out(B, actions[i], st, 0, KEY_A), CONFLICT);
			ck_result(pr_out(B, actions[i], st, KEY_A, KEY_A), CONFLICT);
			ck_result(pr_out(A, actions[i], st, KEY_B, KEY_A), CONFLICT);
		}
	}
	ck_held(1, KEY_A);
	ck_assert_uint_eq(pr_generation(), 1);
	pr_good(B, PR_REGISTER, 0, 0, KEY_B); /* anybody may register */
	fx_teardown();
}
END_TEST

START_TEST(scope_and_type)
{
	COVERS("SR-018");
	static const uint8_t actions[] = { PR_RESERVE, PR_RELEASE, PR_PREEMPT,
					   PR_PREEMPT_AND_ABORT };

	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	for (unsigned i = 0; i < sizeof(actions); i++) {
		for (unsigned st = 0; st < 256; st++) {
			bool good = st < 16 && pr_type_valid((uint8_t)st);
			unsigned want = good ? 0 : 0x052400;

			if (actions[i] >= PR_PREEMPT)
				pr_good(A, PR_RESERVE, PR_WRITE_EXCLUSIVE, KEY_A, 0);
			ck_result(pr_out(A, actions[i], (uint8_t)st, KEY_A, KEY_A), want);
			pr_good(A, PR_REGISTER_IGNORE, 0, 0, 0);
			pr_good(A, PR_REGISTER_IGNORE, 0, 0, KEY_A);
		}
	}
	/* Where they mean nothing they are not looked at: registrations are preempted, too. */
	pr_good(A, PR_PREEMPT, 0xff, KEY_A, KEY_A);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(A, PR_PREEMPT_AND_ABORT, 0x00, KEY_A, KEY_A);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(A, PR_REGISTER, 0xff, KEY_A, KEY_A);
	pr_good(A, PR_CLEAR, 0xff, KEY_A, 0);
	fx_teardown();
}
END_TEST

static void reserve_of(int row)
{
	uint8_t type = pr_types[row], other = pr_types[(row + 1) % PR_TYPES];
	bool all = pr_all_registrants(type);

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RESERVE, type, KEY_A, 0);
	ck_held(type, all ? 0 : KEY_A);
	pr_good(A, PR_RESERVE, type, KEY_A, 0);
	ck_result(pr_out(A, PR_RESERVE, other, KEY_A, 0), CONFLICT);
	ck_result(pr_out(B, PR_RESERVE, type, KEY_B, 0), all ? 0u : CONFLICT);
	ck_result(pr_out(B, PR_RESERVE, other, KEY_B, 0), CONFLICT);
	ck_held(type, all ? 0 : KEY_A);
	ck_no_ua();
	fx_teardown();
}

START_TEST(reserve)
{
	COVERS("SR-027 SR-041");
	for (int i = 0; i < PR_TYPES; i++)
		reserve_of(i);
}
END_TEST

static void release_of(int row)
{
	uint8_t type = pr_types[row], other = pr_types[(row + 1) % PR_TYPES];
	bool all = pr_all_registrants(type);
	uint16_t heard = pr_registrants(type) ? ASC_RESERVATIONS_RELEASED : 0;

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RELEASE, type, KEY_A, 0); /* none is held */
	pr_good(A, PR_RESERVE, type, KEY_A, 0);
	ck_result(pr_out(A, PR_RELEASE, other, KEY_A, 0), 0x052604);
	if (!all)
		pr_good(B, PR_RELEASE, type, KEY_B, 0); /* not the holder: no effect */
	ck_held(type, all ? 0 : KEY_A);
	ck_no_ua();
	pr_good(A, PR_RELEASE, type, KEY_A, 0);
	ck_held(0, 0);
	ck_assert_uint_eq(pr_ua(A), 0);
	ck_assert_uint_eq(pr_ua(B), heard);
	ck_assert_uint_eq(pr_ua(C), heard);
	ck_assert_uint_eq(pr_generation(), 3);
	fx_teardown();
}

START_TEST(release_)
{
	COVERS("SR-028 SR-029");
	for (int i = 0; i < PR_TYPES; i++)
		release_of(i);
}
END_TEST

static void holder_unregisters_of(int row)
{
	uint8_t type = pr_types[row];
	bool all = pr_all_registrants(type);
	uint16_t heard = pr_registrants(type) && !all ? ASC_RESERVATIONS_RELEASED : 0;

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RESERVE, type, KEY_A, 0);
	pr_good(A, PR_REGISTER, 0, KEY_A, 0);
	ck_held(all ? type : 0, 0);
	ck_assert_uint_eq(pr_ua(A), 0);
	ck_assert_uint_eq(pr_ua(B), heard);
	ck_assert_uint_eq(pr_ua(C), heard);
	pr_good(B, PR_REGISTER, 0, KEY_B, 0);
	ck_held(all ? type : 0, 0);
	pr_good(C, PR_REGISTER, 0, KEY_C, 0);
	ck_held(0, 0);
	ck_no_ua();
	fx_teardown();
}

START_TEST(holder_unregisters)
{
	COVERS("SR-022");
	for (int i = 0; i < PR_TYPES; i++)
		holder_unregisters_of(i);
}
END_TEST

START_TEST(clear)
{
	COVERS("SR-030 fault-F11");
	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(B, PR_REGISTER, 0, 0, KEY_B);
	pr_good(A, PR_RESERVE, 3, KEY_A, 0);
	pr_good(B, PR_CLEAR, 0, KEY_B, 0);
	ck_assert_uint_eq(pr_ua(A), ASC_RESERVATIONS_PREEMPTED);
	ck_assert_uint_eq(pr_ua(B), 0);
	ck_assert_uint_eq(pr_ua(C), 0); /* was not registered */
	ck_held(0, 0);
	ck_assert_uint_eq(pr_count(KEY_A) + pr_count(KEY_B), 0);
	ck_assert_uint_eq(pr_generation(), 3);
	ck_result(pr_writes(C), 0);
	fx_teardown();
}
END_TEST

static void preempt_the_holder_of(int row)
{
	uint8_t type = pr_types[row / PR_TYPES], new = pr_types[row % PR_TYPES];
	bool all = pr_all_registrants(type);

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RESERVE, type, KEY_A, 0);
	/* Of all registrants, one key does not take the reservation; zero does. */
	pr_good(B, PR_PREEMPT, new, KEY_B, all ? 0 : KEY_A);
	ck_assert_uint_eq(pr_ua(A), ASC_REGISTRATIONS_PREEMPTED);
	ck_assert_uint_eq(pr_ua(B), 0);
	if (all)
		ck_assert_uint_eq(pr_ua(C), ASC_REGISTRATIONS_PREEMPTED);
	else
		ck_assert_uint_eq(pr_ua(C), new == type ? 0 : ASC_RESERVATIONS_RELEASED);
	ck_held(new, pr_all_registrants(new) ? 0 : KEY_B);
	ck_assert_uint_eq(pr_count(KEY_A), 0);
	ck_assert_uint_eq(pr_count(KEY_B), 1);
	ck_assert_uint_eq(pr_count(KEY_C), !all);
	ck_assert_uint_eq(pr_generation(), 4);
	ck_result(pr_writes(A), CONFLICT);
	ck_result(pr_writes(B), 0);
	fx_teardown();
}

START_TEST(preempt_the_holder)
{
	COVERS("SR-031 fault-F11");
	for (int i = 0; i < PR_TYPES * PR_TYPES; i++)
		preempt_the_holder_of(i);
}
END_TEST

static void preempt_registrations_only_of(int row)
{
	uint8_t type = pr_types[row];
	bool all = pr_all_registrants(type);

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(A, PR_RESERVE, type, KEY_A, 0);
	ck_result(pr_out(B, PR_PREEMPT, type, KEY_B, 0x77), CONFLICT);
	if (!all)
		ck_result(pr_out(B, PR_PREEMPT, type, KEY_B, 0), 0x052600);
	ck_assert_uint_eq(pr_generation(), 3);
	pr_good(B, PR_PREEMPT, pr_types[(row + 1) % PR_TYPES], KEY_B, KEY_C);
	ck_held(type, all ? 0 : KEY_A);
	ck_assert_uint_eq(pr_ua(A), 0);
	ck_assert_uint_eq(pr_ua(B), 0);
	ck_assert_uint_eq(pr_ua(C), ASC_REGISTRATIONS_PREEMPTED);
	ck_assert_uint_eq(pr_count(KEY_C), 0);
	pr_good(B, PR_PREEMPT, type, KEY_B, KEY_B); /* its own goes like any */
	ck_assert_uint_eq(pr_count(KEY_B), 0);
	ck_assert_uint_eq(pr_count(KEY_A), 1);
	fx_teardown();
}

START_TEST(preempt_registrations_only)
{
	COVERS("SR-032 SR-033 SR-034");
	for (int i = 0; i < PR_TYPES; i++)
		preempt_registrations_only_of(i);
}
END_TEST

/* The last registrant removes itself. */
START_TEST(preempt_leaves_nobody)
{
	fx_setup(BACKING_INLINE);
	pr_good(B, PR_REGISTER, 0, 0, KEY_B);
	pr_good(B, PR_RESERVE, 7, KEY_B, 0);
	pr_good(B, PR_PREEMPT, 7, KEY_B, KEY_B);
	ck_assert_uint_eq(pr_count(KEY_B), 0);
	ck_held(0, 0);
	ck_result(pr_writes(A), 0);
	fx_teardown();
}
END_TEST

START_TEST(holder_preempts_itself)
{
	COVERS("SR-035");
	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(C, PR_REGISTER, 0, KEY_C, KEY_A); /* another path of the same host */
	pr_good(A, PR_RESERVE, 1, KEY_A, 0);
	pr_good(A, PR_PREEMPT, 6, KEY_A, KEY_A);
	ck_held(6, KEY_A);
	ck_assert_uint_eq(pr_count(KEY_A), 1); /* other nexuses with the key are gone */
	ck_assert_uint_eq(pr_ua(A), 0);
	ck_assert_uint_eq(pr_ua(B), ASC_RESERVATIONS_RELEASED);
	ck_assert_uint_eq(pr_ua(C), ASC_REGISTRATIONS_PREEMPTED);
	fx_teardown();
}
END_TEST

START_TEST(table_is_full)
{
	COVERS("SR-038");
	struct pr_request rq = { .action = PR_REGISTER, .action_key = 1 };
	struct pr_table *t = pr_table_copy(NULL, PR_REGISTRATIONS_MAX);
	struct pr_outcome out;
	char name[SCSI_PORT_NAME];

	for (unsigned i = 0; i < PR_REGISTRATIONS_MAX; i++) {
		snprintf(name, sizeof(name), "iqn.2026-01.org.example:h%u,i,0x000000000000", i);
		ck_assert(pr_nexus_set(&t->regs[t->n].nexus, name, "t", 1));
		t->regs[t->n++].key = 1;
	}
	ck_assert(pr_nexus_set(&rq.own, "one more", "t", 1));
	pr_decide(t, &rq, &out);
	ck_assert_uint_eq(out.status, SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(out.sense.key, SENSE_ILLEGAL_REQUEST);
	ck_assert_uint_eq(out.sense.asc_ascq, 0x5504);
	ck_assert_ptr_null(out.table);
	pr_table_put(t);
}
END_TEST

UNIT_MAIN("scsi/pr_out", register_and_change, register_and_ignore, strangers_and_wrong_keys,
	  scope_and_type, reserve, release_, holder_unregisters, clear, preempt_the_holder,
	  preempt_registrations_only, preempt_leaves_nobody, holder_preempts_itself, table_is_full)
