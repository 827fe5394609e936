/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/opcodes.c"

#include "tests/unit/scsi/plan_fixture.h"

START_TEST(every_row_is_filled_in)
{
	for (unsigned i = 0; i < ROWS; i++) {
		const struct scsi_op *op = &rows[i];
		static const uint8_t by_group[8] = { 6, 10, 10, 0, 16, 12, 0, 0 };

		ck_assert_msg(op->name && *op->name, "row %u", i);
		ck_assert_msg(op->plan, "%s: plan", op->name);
		ck_assert_msg(op->direction != DIR_UNSET, "%s: direction", op->name);
		ck_assert_msg(op->access != ACCESS_UNSET, "%s: access", op->name);
		ck_assert_msg(op->flags, "%s: flags", op->name);
		ck_assert_msg(!(op->flags & OP_NONE) || op->flags == OP_NONE, "%s", op->name);
		ck_assert_msg(op->timeout_s, "%s: timeout", op->name);
		ck_assert_msg(op->cdb_length == by_group[op->opcode >> 5], "%s: %u bytes", op->name,
			      op->cdb_length);
		ck_assert_msg(op->usage[0] == op->opcode, "%s: usage[0]", op->name);
		if (op->has_action)
			ck_assert_msg((op->usage[1] & 0x1f) == op->action, "%s", op->name);
		for (unsigned b = op->cdb_length; b < 16; b++)
			ck_assert_msg(!op->usage[b], "%s: usage[%u] beyond the CDB", op->name, b);
		ck_assert_msg(!op->usage[op->cdb_length - 1], "%s: CONTROL", op->name);
		/* What changes the medium needs it, and conflicts with every reservation. */
		if (op->flags & OP_CHANGES)
			ck_assert_msg(op->access == ACCESS_WRITE && (op->flags & OP_MEDIUM),
				      "%s: changes the medium", op->name);
	}
}
END_TEST

START_TEST(order_and_index_agree_with_the_rows)
{
	for (unsigned i = 1; i < ROWS; i++) {
		unsigned before = rows[i - 1].opcode << 8 | rows[i - 1].action;

		ck_assert_msg(before < (unsigned)(rows[i].opcode << 8 | rows[i].action), "%s",
			      rows[i].name);
	}
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		unsigned first = ROWS;

		for (unsigned i = ROWS; i--;)
			if (rows[i].opcode == opcode)
				first = i;
		ck_assert_uint_eq(first_row[opcode], first == ROWS ? 0 : first + 1);
	}
}
END_TEST

/* What the reservation classes of the standard's table say for the commands that are there. */
START_TEST(writers_are_writers)
{
	static const uint8_t writers[] = { 0x04, 0x0a, 0x2a, 0x2e, 0x41, 0x42, 0x48, 0x89,
					   0x8a, 0x8b, 0x8e, 0x93, 0x9c, 0xaa, 0xae };

	for (unsigned i = 0; i < ROWS; i++) {
		bool changes = rows[i].flags & OP_CHANGES;
		bool expected = memchr(writers, rows[i].opcode, sizeof(writers));

		if (rows[i].opcode == 0x83) /* the others write elsewhere, or nothing */
			expected = rows[i].action == 0x11;
		ck_assert_msg(changes == expected, "%s", rows[i].name);
	}
}
END_TEST

START_TEST(every_opcode_and_service_action)
{
	unsigned found = 0;

	plan_setup();
	fx_lu.geo.removable = true; /* every row is offered */
	for (unsigned opcode = 0; opcode < 256; opcode++)
		for (unsigned action = 0; action < 32; action++) {
			struct scsi_sense sense = { 0 };
			const struct scsi_op *op;

			memset(fx_cdb, 0, sizeof(fx_cdb));
			fx_cdb[0] = (uint8_t)opcode;
			fx_cdb[1] = (uint8_t)action;
			op = scsi_op_lookup(&fx_rq, &sense);
			if (!first_row[opcode])
				ck_assert(!op && sense.asc_ascq == 0x2000);
			else if (!rows[first_row[opcode] - 1].has_action)
				ck_assert(op && op->opcode == opcode);
			else if (!op)
				ck_assert(sense.asc_ascq == 0x2400 && sense.field == 1 &&
					  sense.bit_valid && sense.bit == 4);
			else
				ck_assert(op->action == action && op->opcode == opcode);
			found += op && (op->has_action || !action);
		}
	ck_assert_uint_eq(found, ROWS);
}
END_TEST

/* Each bit of each CDB: let pass if the usage map has it, else refused with a pointer at it. */
START_TEST(every_bit_of_every_cdb)
{
	plan_setup();
	for (unsigned i = 0; i < ROWS; i++) {
		const struct scsi_op *op = &rows[i];

		for (unsigned bit = 8; bit < op->cdb_length * 8u; bit++) {
			unsigned byte = bit / 8, mask = 1u << bit % 8;
			struct scsi_sense s = { 0 };
			bool ok, lun = (op->flags & OP_LUN_BITS) && byte == 1 && mask > 0x10;

			memset(fx_cdb, 0, sizeof(fx_cdb));
			fx_cdb[0] = op->opcode;
			fx_cdb[1] = op->action;
			if (byte == 1 && op->has_action && mask < 0x20)
				continue; /* another service action */
			fx_cdb[byte] |= (uint8_t)mask;
			ok = scsi_op_check(op, &fx_rq, &s);
			ck_assert_msg(ok == (lun || (op->usage[byte] & mask)), "%s: byte %u %02x",
				      op->name, byte, mask);
			if (ok)
				continue;
			ck_assert(s.key == SENSE_ILLEGAL_REQUEST && s.asc_ascq == 0x2400);
			ck_assert(s.field_valid && s.field_in_cdb && s.field == byte);
			ck_assert(s.bit_valid && s.bit == bit % 8);
		}
	}
}
END_TEST

START_TEST(what_follows_a_short_cdb_is_ignored)
{
	struct scsi_sense sense;

	plan_setup();
	memset(fx_cdb, 0xff, sizeof(fx_cdb));
	memset(fx_cdb, 0, 6);
	ck_assert_ptr_eq(scsi_op_find(&fx_rq, &sense), &rows[ROW_TEST_UNIT_READY]);
}
END_TEST

START_TEST(short_cdb_is_refused)
{
	struct scsi_sense sense;

	plan_setup();
	memset(fx_cdb, 0, sizeof(fx_cdb));
	fx_cdb[0] = 0x28;
	fx_rq.cdb_length = 9;
	ck_assert_ptr_null(scsi_op_find(&fx_rq, &sense));
	ck_assert_uint_eq(sense.asc_ascq, 0x2400);
	fx_rq.cdb_length = 10;
	ck_assert_ptr_nonnull(scsi_op_find(&fx_rq, &sense));
}
END_TEST

START_TEST(obsolete_bits)
{
	plan_setup();
	ck_field(PLAN(0x12, 0x02, 0, 0, 36), 1, 1);                     /* CMDDT */
	ck_assert_int_eq(PLAN(0x12, 0xe0, 0, 0, 36).kind, PLAN_ANSWER); /* LUN 7 in SCSI-2 */
	ck_field(PLAN(0x00, 0, 0, 0, 0, 0x04), 5, 2);                   /* NACA */
	ck_field(PLAN(0x00, 0, 0, 0, 0, 0x01), 5, 0);                   /* LINK */
	ck_field(PLAN(0x25, 0, 0, 0, 0, 1), 5, 0);                      /* LBA */
	ck_field(PLAN(0x25, 0, 0, 0, 0, 0, 0, 0, 1), 8, 0);             /* PMI */
	ck_field(PLAN(0x93, 0x02), 1, 1);                               /* LBDATA */
	ck_field(PLAN(0x93, 0x04), 1, 2);                               /* PBDATA */
	ck_field(PLAN(0x93, 0x10), 1, 4);                               /* ANCHOR */
	ck_field(PLAN(0x41, 0x01), 1, 0);                               /* NDOB in (10) */
	ck_field(PLAN(0x28, 0x20), 1, 5);                               /* RDPROTECT */
	ck_field(PLAN(0x8a, 0xe0), 1, 7);                               /* WRPROTECT */
	ck_field(PLAN(0x2a, 0x02), 1, 1);                               /* FUA_NV */
	ck_field(PLAN(0x28, 0, 0, 0, 0, 0, 0x20), 6, 5);
	ck_good(PLAN(0x34, 0, 0, 0, 0, 0, 0x1f)); /* GROUP NUMBER */
}
END_TEST

START_TEST(read_only_comes_before_any_field)
{
	plan_setup();
	fx_rq.read_only = true;
	for (unsigned i = 0; i < ROWS; i++) {
		struct scsi_sense s = { 0 };
		bool changes = rows[i].flags & OP_CHANGES;

		memset(fx_cdb, 0xff, sizeof(fx_cdb));
		fx_cdb[0] = rows[i].opcode;
		ck_assert(!scsi_op_check(&rows[i], &fx_rq, &s));
		ck_assert_msg(s.key == (changes ? SENSE_DATA_PROTECT : SENSE_ILLEGAL_REQUEST) &&
				  s.asc_ascq == (changes ? 0x2700 : 0x2400),
			      "%s: %x/%04x", rows[i].name, s.key, s.asc_ascq);
	}
	ck_assert_int_eq(PLAN(0x28, 0, 0, 0, 0, 0, 0, 0, 1).kind, PLAN_READ);
	ck_sense(PLAN(0x93, 0xff), SENSE_DATA_PROTECT, 0x2700);
}
END_TEST

/* What one nexus does to all others is not for one that may only read. A read-only LU, or SWP, is
 * another matter: MODE SELECT is how SWP is taken back. */
START_TEST(read_only_nexus_changes_nothing_shared)
{
	plan_setup();
	fx_rq.read_only = true;
	ck_assert_int_eq(PLAN(0x1b, 0, 0, 0, 0x01).kind, PLAN_ACTION);
	ck_good(PLAN(0x15, 0x10, 0, 0, 0));
	fx_itl.read_only = true;
	ck_sense(PLAN(0x1b, 0, 0, 0, 0x00), SENSE_DATA_PROTECT, 0x2700); /* stop */
	ck_sense(PLAN(0x1b, 0, 0, 0, 0x01), SENSE_DATA_PROTECT, 0x2700); /* start */
	ck_sense(PLAN(0x15, 0x10, 0, 0, 24), SENSE_DATA_PROTECT, 0x2700);
	ck_sense(PLAN(0x55, 0x10, 0, 0, 0, 0, 0, 0, 24), SENSE_DATA_PROTECT, 0x2700);
	ck_assert_int_eq(PLAN(0x1a, 0x08, 0x3f, 0, 0xff).kind, PLAN_ANSWER); /* MODE SENSE */
	ck_assert_int_ne(PLAN(0x35).kind, PLAN_FAIL);                        /* flush */
	ck_good(PLAN(0x00));
}
END_TEST

START_TEST(conditional_commands)
{
	plan_setup();
	ck_assert_int_eq(PLAN(0x42, 0, 0, 0, 0, 0, 0, 0, 24).kind, PLAN_COLLECT);
	ck_sense(PLAN(0x1e, 0, 0, 0, 1), SENSE_ILLEGAL_REQUEST, 0x2000);
	fx_lu.geo.removable = true;
	ck_assert_int_eq(PLAN(0x1e, 0, 0, 0, 1).kind, PLAN_ACTION);
	fx_lu.geo.unmap_granularity = 0;
	ck_sense(PLAN(0x42, 0, 0, 0, 0, 0, 0, 0, 24), SENSE_ILLEGAL_REQUEST, 0x2000);
	ck_assert_int_eq(PLAN(0x9e, 0x12).kind, PLAN_COMPOUND);
	fx_lu.geo.thin = false;
	ck_sense(PLAN(0x9e, 0x12), SENSE_ILLEGAL_REQUEST, 0x2400);
	fx_lu.geo.unmap_granularity = 8;
	ck_sense(PLAN(0x42, 0, 0, 0, 0, 0, 0, 0, 24), SENSE_ILLEGAL_REQUEST, 0x2000);
}
END_TEST

/* Whatever a CDB and a parameter list say, a plan stays on the medium and within the limits. */
START_TEST(random_cdbs_and_lists)
{
	uint32_t seed = 12345;
	static uint8_t list[600];

	plan_setup();
	fx_lu.geo.removable = true;
	for (unsigned round = 0; round < 200000; round++) {
		struct scsi_sense sense;
		struct scsi_plan p;

		for (unsigned i = 0; i < 16; i++) {
			seed = seed * 1664525 + 1013904223;
			/* Sparse bits, so that many get through the checks. */
			fx_cdb[i] = (uint8_t)(seed >> 24 & seed >> 16 & (seed & 0x300 ? 0xff : 0));
		}
		fx_cdb[0] = rows[seed >> 8 & 0xffff ? (seed >> 8) % ROWS : 0].opcode;
		fx_op = scsi_op_find(&fx_rq, &sense);
		p = fx_op ? fx_op->plan(&fx_rq) : plan_fail(sense);
		if (p.kind == PLAN_COLLECT) {
			size_t n = p.data_length < sizeof(list) ? p.data_length : sizeof(list);

			for (size_t i = 0; i < n; i++) {
				seed = seed * 1664525 + 1013904223;
				list[i] = (uint8_t)(seed >> 24 & seed >> 16 & seed >> 8);
			}
			p = fx_op->params(&fx_rq, list, n);
			ck_assert_int_ne(p.kind, PLAN_COLLECT);
		}
		ck_assert_int_ne(p.kind, PLAN_UNSET);
		ck_assert_uint_le(p.offset, BLOCKS * 512ull);
		ck_assert_uint_le(p.length, BLOCKS * 512ull - p.offset);
		if (p.kind == PLAN_READ || p.kind == PLAN_WRITE)
			ck_assert_uint_eq(p.length, p.data_length);
		if (p.kind == PLAN_READ || p.kind == PLAN_WRITE || p.kind == PLAN_ANSWER)
			ck_assert_uint_le(p.data_length, 1u << 24);
		if (p.kind == PLAN_FAIL)
			ck_assert_int_ne(p.sense.key, SENSE_NO_SENSE);
	}
}
END_TEST

START_TEST(mandatory_commands_are_there)
{
	static const uint8_t opcodes[] = { 0x00, 0x03, 0x12, 0x25, 0x28, 0x2a, 0x88, 0x8a, 0xa0 };

	for (unsigned i = 0; i < sizeof(opcodes); i++)
		ck_assert_msg(first_row[opcodes[i]], "%02x", opcodes[i]);
}
END_TEST

SUITE_COVERS("SB-009 SG-001 SG-002 SG-003 SG-004 SG-009 SG-010 SI-002 SP-001 SB-008 SB-027 "
	     "SS-012 SO-016 fault-E06");

UNIT_MAIN("scsi/opcodes", every_row_is_filled_in, order_and_index_agree_with_the_rows,
	  writers_are_writers, every_opcode_and_service_action, every_bit_of_every_cdb,
	  what_follows_a_short_cdb_is_ignored, short_cdb_is_refused, obsolete_bits,
	  read_only_comes_before_any_field, read_only_nexus_changes_nothing_shared,
	  conditional_commands, random_cdbs_and_lists, mandatory_commands_are_there)
