/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/protocol/unh.h"

void unh_prep(struct ini *i)
{
	static const struct {
		const char *cdb;
		uint32_t edtl;
	} rows[] = {
		{ "12 00 00 00 24 00", 36 },
		{ "00 00 00 00 00 00", 0 },
		{ "25 00 00 00 00 00 00 00 00 00", 8 },
	};
	struct ini_scsi c;
	uint8_t in[36];

	for (unsigned n = 0; n < 3; n++) {
		cdb_of(&c, rows[n].cdb);
		c.edtl = rows[n].edtl;
		c.in = c.edtl ? in : NULL;
		ck_assert(!ini_scsi(i, &c));
		/* The nexus is new: one of them may get that unit attention. */
		ck_assert_msg(!c.status || ini_sense(&c) >> 16 == 6, "opcode %02x: sense %06x",
			      c.cdb[0], ini_sense(&c));
	}
	ready(i, LUN_RAM);
}

struct ini *unh_session(const char *keys)
{
	struct ini *i = keys ? session_keys(T_MAIN, keys) : session(T_MAIN);

	unh_prep(i);
	return i;
}

void unh_finish_write(struct ini *i, uint32_t itt, const uint8_t *data)
{
	const struct ini_pdu *p;

	for (;;) {
		p = await_pdu(i, patience(INI_WAIT_MS));
		ck_assert_msg(p != NULL, "nothing comes for write %x", itt);
		ck_assert_uint_eq(get_be32(p->bhs + 16), itt);
		if (p->bhs[0] != ISCSI_OP_R2T)
			break;
		ck_assert(!ini_answer_r2t(i, p, data, 0));
	}
	ck_assert_uint_eq(p->bhs[0], ISCSI_OP_SCSI_RESPONSE);
	ck_assert_msg(!p->bhs[3], "write %x: sense %06x", itt, sense_of(p));
}

void unh_write(struct ini *i, uint32_t lba, uint16_t blocks, const uint8_t *data)
{
	unh_finish_write(i, start_write(i, LUN_RAM, lba, blocks, true, NULL, 0), data);
}

bool unh_fails(struct ini *i, uint32_t itt, uint32_t sense, uint32_t or_sense)
{
	struct ini_pdu p;
	uint32_t got;
	int rc;

	do {
		rc = ini_receive(i, &p, patience(INI_WAIT_MS));
		if (rc == -ENOTCONN)
			return true;
		ck_assert_msg(rc == 1, "no end of task %x: %d", itt, rc);
		got = sense_of(&p);
		ini_pdu_free(&p);
	} while (p.bhs[0] == ISCSI_OP_REJECT || p.bhs[0] == ISCSI_OP_R2T ||
		 p.bhs[0] == ISCSI_OP_ASYNC);
	ck_assert_uint_eq(p.bhs[0], ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(get_be32(p.bhs + 16), itt);
	ck_assert_msg(p.bhs[3] == 2 && (got == sense || got == or_sense), "status %02x, sense %06x",
		      p.bhs[3], got);
	return false;
}

uint32_t unh_start_read(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks)
{
	struct bhs_scsi_command h;
	struct ini_scsi c;

	rw10(&c, READ10, lun, lba, blocks, NULL);
	ini_command(i, &h, lun, ISCSI_CMD_READ, c.edtl, c.cdb, c.cdb_length);
	start(i, &h);
	return get_be32(h.itt);
}

unsigned unh_read(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks,
		  struct unh_piece pieces[static UNH_PIECES])
{
	uint32_t itt = unh_start_read(i, lun, lba, blocks);
	unsigned n = 0;

	for (;;) {
		const struct ini_pdu *p = await_pdu(i, patience(INI_WAIT_MS));
		const struct bhs_data_in *d;

		ck_assert_msg(p != NULL, "read %x does not end", itt);
		ck_assert_uint_eq(get_be32(p->bhs + 16), itt);
		if (p->bhs[0] == ISCSI_OP_SCSI_RESPONSE) {
			ck_assert_uint_eq(p->bhs[3], 0);
			return n;
		}
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_DATA_IN);
		ck_assert_uint_lt(n, UNH_PIECES);
		d = bhs_of(p, bhs_data_in);
		pieces[n++] = (struct unh_piece){
			.itt = itt,
			.datasn = get_be32(d->datasn),
			.offset = get_be32(d->buffer_offset),
			.length = p->length,
			.ttt = get_be32(d->ttt),
			.lun = get_be64(d->lun),
			.flags = d->flags,
			.status = d->status,
		};
		if (d->flags & ISCSI_DATA_IN_STATUS)
			return n;
	}
}

uint32_t unh_largest_data_in(struct ini *i)
{
	struct unh_piece pieces[UNH_PIECES];
	uint32_t largest = 0;

	for (unsigned n = unh_read(i, LUN_RAM, UNH_BLOCK, 4, pieces); n--;)
		largest = pieces[n].length > largest ? pieces[n].length : largest;
	return largest;
}
