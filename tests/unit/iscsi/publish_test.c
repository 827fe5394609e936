/* SPDX-License-Identifier: BSD-2-Clause */
/* A new policy under sessions at work: LUNs come and go, access and targets are withdrawn. */
#include "daemon/base/log.h"

static unsigned lines; /* that publish.c has logged */
#define log_write(...) (void)lines++

#include "transport/iscsi/publish.c"

#include "daemon/base/bytes.h"
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

#define R ISCSI_CMD_READ

static struct rig rig;
static uint8_t cdb[16];
static unsigned adoptions;

static void counted(struct iscsi_publish *p)
{
	(void)p;
	adoptions++;
}

/* Gives the policy to the reactor and its reference up. */
static void publish(struct iscsi_policy *policy)
{
	static struct iscsi_publish p;
	unsigned before = adoptions;

	p = (struct iscsi_publish){ .policy = policy, .done = counted };
	ck_assert_int_eq(iscsi_publish(&rig.net.reactor, 1, rig.net.reactor, &p), 0);
	policy_unref(policy);
	for (unsigned n = 0; n < 10 && adoptions == before; n++)
		fake_turn(&rig.net, 1);
	ck_assert_uint_eq(adoptions, before + 1);
}

/* LUN 0 only. */
static struct iscsi_policy *one_lun(void)
{
	struct iscsi_policy *p = rig_policy(&rig);
	struct scsi_lun_entry e = { .lun = 0, .lu = rig.lu[0] };

	lun_map_unref(p->targets[0].map);
	p->targets[0].map = lun_map_create(&e, 1);
	return p;
}

static uint32_t read_sense(struct fake_initiator *i, uint8_t lun, unsigned *ret_opcode)
{
	struct fake_pdu *p;
	uint32_t sense;

	rig_read10(cdb, 0, 1);
	p = rig_command(i,
			&(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512, .lun = lun });
	sense = rig_sense(p);
	*ret_opcode = rig_opcode(p);
	free(p);
	return sense;
}

START_TEST(lun_goes_and_comes)
{
	struct fake_initiator i;
	unsigned opcode;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	publish(one_lun());
	ck_assert_uint_eq(read_sense(&i, 1, &opcode), 0x052500);
	ck_assert_uint_eq(read_sense(&i, 0, &opcode), 0x063f0e);
	ck_assert_uint_eq(read_sense(&i, 0, &opcode), 0);
	ck_assert_uint_eq(opcode, ISCSI_OP_DATA_IN);
	publish(rig_policy(&rig));
	ck_assert_uint_eq(read_sense(&i, 0, &opcode), 0x063f0e);
	while (read_sense(&i, 1, &opcode) >> 16 == 6)
		;
	ck_assert_uint_eq(opcode, ISCSI_OP_DATA_IN);
	/* The same again says nothing. */
	publish(rig_policy(&rig));
	ck_assert_uint_eq(read_sense(&i, 0, &opcode), 0);
	rig_stop(&rig);
}
END_TEST

/* A LUN goes while its store holds a read: done at once, and the read ends with nobody. */
START_TEST(lun_goes_busy)
{
	struct fake_initiator i;
	unsigned opcode;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig.store[1]->hold = true;
	rig_read10(cdb, 0, 1);
	ck_assert_int_eq(
	    rig_send(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512, .lun = 1 }),
	    0);
	publish(one_lun());
	rig.store[1]->hold = false;
	fake_store_let(rig.store[1]);
	fake_turn(&rig.net, 2);
	while (list_first(&i.fc->sent))
		free(fake_next(i.fc));
	ck_assert_uint_eq(read_sense(&i, 1, &opcode), 0x052500);
	ck_assert_uint_eq(i.fc->c->session->n_tasks, 0);
	rig_stop(&rig);
}
END_TEST

/* The rule becomes read-only. */
START_TEST(read_only)
{
	struct iscsi_policy *p;
	struct fake_initiator i;
	unsigned opcode;
	static const uint8_t block[512];
	struct fake_pdu *a;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	p = rig_policy(&rig);
	p->targets[0].rules[0].read_only = true;
	publish(p);
	while (read_sense(&i, 0, &opcode) >> 16 == 6)
		;
	rig_write10(cdb, 0, 1);
	a = rig_command(
	    &i,
	    &(struct rig_command){
		.cdb = cdb, .flags = ISCSI_CMD_WRITE, .edtl = 512, .data = block, .length = 512 });
	ck_assert_uint_eq(rig_sense(a), 0x072700);
	free(a);
	rig_stop(&rig);
}
END_TEST

/* Nobody is admitted any more: no LU is left to see, and the initiator is asked to leave. */
static void check_withdrawn(struct iscsi_policy *p)
{
	struct fake_initiator i;
	struct fake_pdu *a;
	unsigned opcode;

	i = rig_login(&rig, NULL);
	publish(p);
	a = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(a), ISCSI_OP_ASYNC);
	ck_assert_uint_eq(a->bhs[36], ASYNC_LOGOUT_REQUEST);
	free(a);
	ck_assert_uint_eq(read_sense(&i, 0, &opcode), 0x052500);
	a = rig_logout(&i, LOGOUT_CLOSE_SESSION, 0);
	ck_assert_uint_eq(rig_opcode(a), ISCSI_OP_LOGOUT_RESPONSE);
	free(a);
	ck_assert(fake_closed(i.fc));
	ck_assert(list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
}

START_TEST(access_withdrawn)
{
	struct iscsi_policy *p;

	rig_start(&rig, NULL);
	p = rig_policy(&rig);
	strcpy(p->targets[0].rules[0].initiator, "iqn.2001-04.com.example:other");
	check_withdrawn(p);
	rig_stop(&rig);
}
END_TEST

/* Policies come and go while it has not left yet: it is asked and spoken of once, and once more
 * when access was given back and is withdrawn again. */
START_TEST(withdrawn_for_long)
{
	struct fake_initiator i;
	struct fake_pdu *a;
	unsigned opcode;

	rig_start(&rig, NULL);
	log_set_level(LOG_SUBSYSTEMS, LOG_LEVEL_INFO);
	i = rig_login(&rig, NULL);
	for (unsigned n = 0; n < 5; n++)
		publish(fake_policy(0));
	ck_assert_uint_eq(lines, 1);
	a = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(a), ISCSI_OP_ASYNC);
	free(a);
	ck_assert_ptr_null(fake_next(i.fc));
	publish(rig_policy(&rig));
	while (read_sense(&i, 0, &opcode) >> 16 == 6)
		;
	ck_assert_uint_eq(opcode, ISCSI_OP_DATA_IN);
	publish(fake_policy(0));
	ck_assert_uint_eq(lines, 2);
	rig_stop(&rig);
}
END_TEST

START_TEST(target_gone)
{
	struct fake_initiator late;
	struct fake_pdu *a;

	rig_start(&rig, NULL);
	check_withdrawn(fake_policy(0));
	late = fake_initiator(&rig.net);
	a = fake_login(&late, FAKE_OP_FFP, FAKE_NORMAL);
	ck_assert_uint_eq(fake_status(a), LOGIN_NOT_FOUND);
	free(a);
	rig_stop(&rig);
}
END_TEST

static void retaining(struct iscsi_policy *p)
{
	p->targets[0].keys.default_time2retain = 20;
}

/* A session that waits for its initiator goes with its target, and stays with it. */
START_TEST(retained)
{
	struct fake_initiator i;

	rig_start(&rig, retaining);
	i = rig_login(&rig, "DefaultTime2Retain=20\n");
	fake_hang_up(i.fc);
	publish(rig_policy(&rig));
	ck_assert(!list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
	publish(fake_policy(0));
	fake_turn(&rig.net, 2);
	ck_assert(list_empty(&iscsi_reactor_of(rig.net.reactor)->sessions));
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("fault-K02 fault-K03");

UNIT_MAIN("iscsi/publish", lun_goes_and_comes, lun_goes_busy, read_only, access_withdrawn,
	  withdrawn_for_long, target_gone, retained)
