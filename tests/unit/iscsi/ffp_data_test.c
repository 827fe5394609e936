/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data of commands on the real SCSI layer: immediate, unsolicited and solicited, what is wrong with
 * it, and what there is no room for.
 */
#include "transport/iscsi/ffp_data.c"

#include "tests/unit/iscsi/ffp_fixture.h"
#include "tests/unit/unit.h"

#define R ISCSI_CMD_READ
#define W ISCSI_CMD_WRITE

static struct rig rig;
static uint8_t cdb[16];
static uint8_t block[64 * RIG_BLOCK];

static void fill(uint8_t seed)
{
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(seed + i * 7 + i / 251);
}

/* Solicited: all that did not come with the command is asked for at once. */
START_TEST(solicited)
{
	struct fake_initiator i;
	struct fake_want *w;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "ImmediateData=Yes\nInitialR2T=Yes\nFirstBurstLength=512\n");
	fill(2);
	rig_write10(cdb, 0, 8);
	ck_assert_int_eq(
	    rig_send(&i,
		     &(struct rig_command){
			 .cdb = cdb, .flags = W, .edtl = 4096, .data = block, .length = 512 }),
	    0);
	ck_assert(!list_empty(&i.fc->wants));
	w = list_entry(list_first(&i.fc->wants), struct fake_want, node);
	ck_assert_uint_eq(w->offset, 512);
	ck_assert_uint_eq(w->length, 3584);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert(fake_fill(i.fc, block + 512, 3584));
	check_good(fake_next(i.fc));
	ck_assert_mem_eq(rig.store[0]->bytes, block, 4096);
	rig_stop(&rig);
}
END_TEST

/* As ESXi: immediate data, then Data-Out to the first burst, the rest by R2T. */
START_TEST(unsolicited)
{
	struct fake_initiator i;
	struct fake_want *w;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "ImmediateData=Yes\nInitialR2T=No\nFirstBurstLength=4096\n");
	fill(3);
	rig_write10(cdb, 16, 16);
	ck_assert_int_eq(rig_send(&i, &(struct rig_command){ .cdb = cdb,
							     .flags = W,
							     .edtl = 8192,
							     .data = block,
							     .length = 1024,
							     .no_final = true }),
			 0);
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt, .offset = 1024 }), 0);
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt,
							      .datasn = 1,
							      .offset = 1024,
							      .data = block + 1024,
							      .length = 1024 }),
			 0);
	w = list_entry(list_first(&i.fc->wants), struct fake_want, node);
	ck_assert_uint_eq(w->offset, 4096);
	ck_assert_uint_eq(w->length, 4096);
	ck_assert(fake_fill(i.fc, block + 4096, 4096));
	ck_assert_ptr_null(fake_next(i.fc)); /* the unsolicited part is not there yet */
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt,
							      .datasn = 2,
							      .offset = 2048,
							      .data = block + 2048,
							      .length = 2048,
							      .final = true }),
			 0);
	check_good(fake_next(i.fc));
	ck_assert_mem_eq(rig.store[0]->bytes + 16 * RIG_BLOCK, block, 8192);
	rig_stop(&rig);
}
END_TEST

/* clang-format off */
static const struct {
	const char *what;
	const char *keys;
	uint32_t edtl, length; /* of the command */
	uint32_t datasn, offset, out; /* of the one Data-Out, F=1 */
	bool rejected;
	uint32_t sense;
} bad_data[] = {
	{ "InitialR2T=Yes", "InitialR2T=Yes\n", 2048, 0, 0, 0, 2048, true, 0x0b0c0c },
	{ "InitialR2T=Yes, some with it", "InitialR2T=Yes\n", 2048, 512, 0, 512, 1536, true, 0x0b0c0c },
	{ "ImmediateData=No", "ImmediateData=No\nInitialR2T=No\n", 2048, 512, 0, 512, 1536, false, 0x0b0c0c },
	{ "beyond FirstBurstLength", "ImmediateData=Yes\nInitialR2T=No\nFirstBurstLength=512\n", 2048, 1024, 0, 1024, 1024, false, 0x0b0c0c },
	{ "short burst", "InitialR2T=No\n", 2048, 512, 0, 512, 512, false, 0x0b0c0d },
	{ "too much", "InitialR2T=No\n", 2048, 512, 0, 512, 2048, true, 0x0b0c0d },
	{ "offset too high", "InitialR2T=No\n", 2048, 512, 0, 1024, 1024, true, 0x0b0c0d },
	{ "offset again", "InitialR2T=No\n", 2048, 512, 0, 0, 1536, true, 0x0b0c0d },
	{ "DataSN not 0", "InitialR2T=No\n", 2048, 512, 5, 512, 1536, true, 0x0b4705 },
};
/* clang-format on */

/* Wrong unsolicited data: taken in to its end, then the command fails and nothing is written. */
START_TEST(wrong_data_out)
{
	for (size_t n = 0; n < sizeof(bad_data) / sizeof(bad_data[0]); n++) {
		struct fake_initiator i;
		struct fake_pdu *p;

		rig_start(&rig, NULL);
		i = rig_login(&rig, bad_data[n].keys);
		fill(4);
		rig_write10(cdb, 0, 4);
		ck_assert_int_eq(rig_send(&i, &(struct rig_command){ .cdb = cdb,
								     .flags = W,
								     .edtl = bad_data[n].edtl,
								     .data = block,
								     .length = bad_data[n].length,
								     .no_final = true }),
				 0);
		ck_assert_ptr_null(fake_next(i.fc));
		ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt,
								      .datasn = bad_data[n].datasn,
								      .offset = bad_data[n].offset,
								      .data = block,
								      .length = bad_data[n].out,
								      .final = true }),
				 0);
		p = fake_next(i.fc);
		if (bad_data[n].rejected) {
			ck_assert_msg(rig_opcode(p) == ISCSI_OP_REJECT, "%s", bad_data[n].what);
			free(p);
			p = fake_next(i.fc);
		}
		ck_assert_msg(rig_sense(p) == bad_data[n].sense, "%s: %06x", bad_data[n].what,
			      rig_sense(p));
		ck_assert_uint_eq(p->bhs[3], SCSI_CHECK_CONDITION);
		free(p);
		ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
		check_quiet(&i);
		rig_stop(&rig);
	}
}
END_TEST

/* The status waits for the last unsolicited Data-Out. */
START_TEST(failing_write_drains)
{
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\n");
	rig_write10(cdb, RIG_SIZE / RIG_BLOCK, 4);
	ck_assert_int_eq(rig_send(&i, &(struct rig_command){ .cdb = cdb,
							     .flags = W,
							     .edtl = 2048,
							     .data = block,
							     .length = 512,
							     .no_final = true }),
			 0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_int_eq(
	    rig_data_out(
		&i,
		&(struct rig_data){ .itt = i.itt, .offset = 512, .data = block, .length = 512 }),
	    0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt,
							      .datasn = 1,
							      .offset = 1024,
							      .data = block,
							      .length = 1024,
							      .final = true }),
			 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(p->bhs[3], SCSI_CHECK_CONDITION);
	ck_assert_uint_eq(rig_sense(p), 0x052100);
	ck_assert_uint_eq(get_be16(p->data) + 2, p->length); /* SenseLength */
	free(p);
	rig_stop(&rig);
}
END_TEST

/* All data sent, F forgotten: complete, or refused where none was agreed; no hang. */
START_TEST(forgotten_final)
{
	static const struct {
		const char *keys;
		unsigned sense;
	} rows[] = {
		{ "InitialR2T=No\n", 0 },
		{ "InitialR2T=Yes\n", 0 },
		{ "ImmediateData=No\n", 0x0b0c0c },
	};
	struct rig_command q = {
		.cdb = cdb, .flags = W, .edtl = 512, .data = block, .length = 512, .no_final = true
	};

	rig_start(&rig, NULL);
	rig_write10(cdb, 0, 1);
	for (unsigned n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct fake_initiator i = rig_login_isid(&rig, (uint8_t)(n + 1), rows[n].keys);
		struct fake_pdu *p = rig_command(&i, &q);

		ck_assert_msg(rig_opcode(p) == ISCSI_OP_SCSI_RESPONSE, "no answer: %s",
			      rows[n].keys);
		ck_assert_uint_eq(rig_sense(p), rows[n].sense);
		free(p);
	}
	rig_stop(&rig);
}
END_TEST

START_TEST(unknown_tags)
{
	struct fake_initiator i;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\n");
	ck_assert_int_eq(
	    rig_data_out(
		&i,
		&(struct rig_data){ .itt = 0x4711, .data = block, .length = 512, .final = true }),
	    0);
	check_rejected(fake_next(i.fc), REJECT_INVALID_PDU_FIELD, NULL);
	check_quiet(&i);
	rig_stop(&rig);
}
END_TEST

static void command_bytes(struct fake_initiator *i, uint8_t bytes[static 48], uint32_t edtl,
			  uint8_t flags)
{
	struct bhs_scsi_command h = { .opcode = ISCSI_OP_SCSI_COMMAND, .flags = flags };

	put_be32(h.itt, 0x900);
	put_be32(h.edtl, edtl);
	put_be32(h.cmdsn, i->cmdsn);
	memcpy(h.cdb, cdb, 16);
	memcpy(bytes, &h, 48);
}

/* Immediate data with a wrong digest: Reject, nothing written, the CmdSN is free again. */
START_TEST(damaged_immediate_data)
{
	struct fake_initiator i;
	uint8_t bytes[48];
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "DataDigest=CRC32C\n");
	rig_write10(cdb, 0, 1);
	fill(7);
	command_bytes(&i, bytes, 512, ISCSI_FINAL | W);
	ck_assert_int_eq(rig_feed_damaged(&i, bytes, block, 512), 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	check_rejected(p, REJECT_DATA_DIGEST, bytes);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
	ck_assert_uint_eq(i.fc->c->session->n_tasks, 0);
	p = rig_command(&i,
			&(struct rig_command){
			    .cdb = cdb, .flags = W, .edtl = 512, .data = block, .length = 512 });
	ck_assert_int_eq(rig_max_cmdsn(p) - rig_exp_cmdsn(p) + 1, 128);
	check_good(p);
	rig_stop(&rig);
}
END_TEST

/* An immediate one has not advanced ExpCmdSN, so it does not take it back. */
START_TEST(damaged_immediate_request)
{
	struct fake_initiator i;
	uint8_t bytes[48];
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "DataDigest=CRC32C\n");
	rig_write10(cdb, 0, 1);
	i.cmdsn--; /* that of the request before */
	command_bytes(&i, bytes, 512, ISCSI_FINAL | W);
	bytes[0] |= ISCSI_IMMEDIATE;
	ck_assert_int_eq(rig_feed_damaged(&i, bytes, block, 512), 0);
	i.cmdsn++;
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_exp_cmdsn(p), i.cmdsn);
	check_rejected(p, REJECT_DATA_DIGEST, bytes);
	rig_stop(&rig);
}
END_TEST

/* Damaged unsolicited data: Reject, then the command fails when all has passed. */
START_TEST(damaged_data_out)
{
	struct bhs_data_out h = { .opcode = ISCSI_OP_DATA_OUT };
	struct fake_initiator i;
	struct fake_pdu *p;
	uint8_t bytes[48];

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\nDataDigest=CRC32C\n");
	rig_write10(cdb, 0, 4);
	ck_assert_int_eq(rig_send(&i,
				  &(struct rig_command){
				      .cdb = cdb, .flags = W, .edtl = 2048, .no_final = true }),
			 0);
	put_be32(h.itt, i.itt);
	put_be32(h.ttt, ISCSI_TAG_RESERVED);
	memcpy(bytes, &h, 48);
	ck_assert_int_eq(rig_feed_damaged(&i, bytes, block, 1024), 0);
	check_rejected(fake_next(i.fc), REJECT_DATA_DIGEST, bytes);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_int_eq(rig_data_out(&i, &(struct rig_data){ .itt = i.itt,
							      .datasn = 1,
							      .offset = 1024,
							      .data = block,
							      .length = 1024,
							      .final = true }),
			 0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_sense(p), 0x0b4705);
	free(p);
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
	rig_stop(&rig);
}
END_TEST

/* The transport reports a solicited Data-Out that breaks the rules. */
START_TEST(bad_solicited_data)
{
	struct fake_initiator i;
	struct iscsi_task *t;
	struct fake_pdu *p;
	uint8_t bytes[48] = { ISCSI_OP_DATA_OUT };

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	rig_write10(cdb, 0, 4);
	ck_assert_int_eq(
	    rig_send(&i, &(struct rig_command){ .cdb = cdb, .flags = W, .edtl = 2048 }), 0);
	t = session_find_task(i.fc->c->session, i.itt);
	ck_assert_ptr_nonnull(t);
	iscsi_data_out_bad(i.fc->c, t, bytes, REJECT_PROTOCOL_ERROR);
	check_rejected(fake_next(i.fc), REJECT_PROTOCOL_ERROR, bytes);
	ck_assert_ptr_null(fake_next(i.fc)); /* until all that was asked for has come */
	ck_assert(fake_fill(i.fc, block, 2048));
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_sense(p), 0x0b4705);
	free(p);
	iscsi_data_out_bad(i.fc->c, NULL, bytes, REJECT_INVALID_PDU_FIELD);
	check_rejected(fake_next(i.fc), REJECT_INVALID_PDU_FIELD, bytes);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_uint_eq(rig.store[0]->count[BACKING_WRITE], 0);
	rig_stop(&rig);
}
END_TEST

/* No tasks left: TASK SET FULL, also where data is still to come; nothing hangs or is lost. */
START_TEST(out_of_tasks)
{
	struct rig_command q = { .cdb = cdb, .flags = W, .edtl = 1024, .no_final = true };
	struct fake_initiator i;
	struct fake_pdu *p;

	rig_start(&rig, NULL);
	i = rig_login(&rig, "InitialR2T=No\n");
	i.fc->c->ir->task_limit = 0;
	rig_write10(cdb, 0, 2);
	ck_assert_int_eq(rig_send(&i, &q), 0);
	ck_assert_ptr_null(fake_next(i.fc));
	ck_assert_int_eq(
	    rig_data_out(
		&i,
		&(struct rig_data){ .itt = i.itt, .data = block, .length = 1024, .final = true }),
	    0);
	p = fake_next(i.fc);
	ck_assert_uint_eq(p->bhs[3], SCSI_TASK_SET_FULL);
	ck_assert_int_eq(rig_max_cmdsn(p) - rig_exp_cmdsn(p) + 1, 128);
	free(p);
	rig_read10(cdb, 0, 1);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb, .flags = R, .edtl = 512 });
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(p->bhs[3], SCSI_TASK_SET_FULL);
	free(p);
	check_quiet(&i);
	rig_stop(&rig);
}
END_TEST

/* No buffers while unsolicited data arrives: the command is refused, not the connection. */
START_TEST(out_of_buffers)
{
	static const size_t sizes[] = { 1 << 20, 1 << 16, 4096 };
	static struct arena_buf all[4096];
	struct fake_initiator i;
	struct fake_pdu *p;
	unsigned n = 0;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	for (unsigned s = 0; s < 3; s++)
		while (n < 4096 && !arena_get(rig.net.arena, sizes[s], &all[n]))
			n++;
	ck_assert_uint_lt(n, 4096);
	rig_write10(cdb, 0, 64);
	p = rig_command(&i, &(struct rig_command){ .cdb = cdb,
						   .flags = W,
						   .edtl = sizeof(block),
						   .data = block,
						   .length = sizeof(block) });
	while (n--)
		arena_put(rig.net.arena, &all[n]);
	ck_assert_uint_eq(p->bhs[3], SCSI_TASK_SET_FULL);
	free(p);
	check_quiet(&i);
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("P-047 P-050 P-051 P-052 P-053 P-060 P-068 P-070 P-071 P-087 P-097 P-102 P-103 "
	     "P-159 P-161 P-162 E-003 E-004 E-006 E-007 E-008 fault-A13");

UNIT_MAIN("iscsi/ffp_data", solicited, unsolicited, wrong_data_out, failing_write_drains,
	  forgotten_final, unknown_tags, damaged_immediate_request, damaged_immediate_data,
	  damaged_data_out, bad_solicited_data, out_of_tasks, out_of_buffers)
