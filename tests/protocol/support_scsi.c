/* SPDX-License-Identifier: BSD-2-Clause */
/* SCSI commands of the tests, whole and in pieces. */
#include "tests/protocol/protocol.h"

void rw10(struct ini_scsi *c, uint8_t opcode, uint64_t lun, uint32_t lba, uint16_t blocks,
	  void *buffer)
{
	uint32_t block_size = lun == LUN_4K ? 4096 : 512;

	memset(c, 0, sizeof(*c));
	c->lun = lun;
	c->cdb_length = 10;
	c->cdb[0] = opcode;
	put_be32(c->cdb + 2, lba);
	put_be16(c->cdb + 7, blocks);
	c->edtl = blocks * block_size;
	if (opcode == READ10)
		c->in = buffer;
	else
		c->out = buffer;
}

void cdb_of(struct ini_scsi *c, const char *hex)
{
	char *end;

	memset(c, 0, sizeof(*c));
	while (*hex) {
		c->cdb[c->cdb_length++] = (uint8_t)strtoul(hex, &end, 16);
		hex = end;
		ck_assert(c->cdb_length <= 16);
	}
}

void ready(struct ini *i, uint64_t lun)
{
	struct ini_scsi c;

	for (int tries = 0; tries < 8; tries++) {
		cdb_of(&c, "00 00 00 00 00 00");
		c.lun = lun;
		ck_assert(!ini_scsi(i, &c));
		if (!c.status)
			return;
		ck_assert_msg(ini_sense(&c) >> 16 == 6, "TEST UNIT READY: sense %06x",
			      ini_sense(&c));
	}
	ck_abort_msg("LUN %u does not get ready", (unsigned)lun);
}

void run_good(struct ini *i, struct ini_scsi *c)
{
	int rc = ini_scsi(i, c);

	ck_assert_msg(!rc, "opcode %02x: %s, Reject %02x", c->cdb[0], strerror(-rc), c->response);
	ck_assert_msg(!c->response && !c->status, "opcode %02x: status %02x sense %06x", c->cdb[0],
		      c->status, ini_sense(c));
}

void run_sense(struct ini *i, struct ini_scsi *c, uint32_t sense)
{
	int rc = ini_scsi(i, c);

	ck_assert_msg(!rc, "opcode %02x: %s, Reject %02x", c->cdb[0], strerror(-rc), c->response);
	ck_assert_msg(c->status == 2 && ini_sense(c) == sense,
		      "opcode %02x: status %02x sense %06x, wanted %06x", c->cdb[0], c->status,
		      ini_sense(c), sense);
}

void start(struct ini *i, struct bhs_scsi_command *h)
{
	ck_assert(!ini_send(i, (uint8_t *)h, NULL, 0));
}

void fill(uint8_t *p, size_t n, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)(x >> 24);
	}
}

void expect_content(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks, const uint8_t *want)
{
	size_t n = blocks * (lun == LUN_4K ? 4096u : 512u);
	uint8_t *got = malloc(n);
	struct ini_scsi c;
	size_t at = 0;

	rw10(&c, READ10, lun, lba, blocks, got);
	run_good(i, &c);
	ck_assert_uint_eq(c.received, n);
	while (at < n && got[at] == want[at])
		at++;
	ck_assert_msg(at == n, "LBA %u: byte %zu of %zu is %02x, wanted %02x", lba, at, n,
		      at < n ? got[at] : 0, at < n ? want[at] : 0);
	free(got);
}

const struct bhs_scsi_response *expect_status(struct ini *i, uint32_t itt, uint8_t status)
{
	const struct ini_pdu *p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	const struct bhs_scsi_response *r = bhs_of(p, bhs_scsi_response);

	ck_assert_msg(get_be32(r->itt) == itt, "response for task %x, wanted %x", get_be32(r->itt),
		      itt);
	ck_assert_msg(r->status == status, "status %02x (sense %06x), wanted %02x", r->status,
		      sense_of(p), status);
	return r;
}

uint32_t sense_of(const struct ini_pdu *p)
{
	struct ini_scsi c = { 0 };

	if (p->length <= 2)
		return 0;
	c.sense_length = get_be16(p->data);
	if (c.sense_length > sizeof(c.sense) || c.sense_length > p->length - 2)
		return 0;
	memcpy(c.sense, p->data + 2, c.sense_length);
	return ini_sense(&c);
}

void send_data_out(struct ini *i, const struct data_out *d)
{
	struct bhs_data_out h = { .opcode = ISCSI_OP_DATA_OUT };

	h.flags = d->final ? ISCSI_FINAL : 0;
	put_be64(h.lun, d->lun_field);
	put_be32(h.itt, d->itt);
	put_be32(h.ttt, d->ttt);
	put_be32(h.exp_statsn, ini_ack(i));
	put_be32(h.datasn, d->datasn);
	put_be32(h.buffer_offset, d->offset);
	ck_assert(!ini_send(i, (uint8_t *)&h, d->data, d->length));
}

/* NOLINTNEXTLINE(readability-function-size): the fields of one PDU */
uint32_t start_write(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks, bool final,
		     const uint8_t *immediate, uint32_t immediate_length)
{
	struct bhs_scsi_command h;
	struct ini_scsi c;

	rw10(&c, WRITE10, lun, lba, blocks, NULL);
	ini_command(i, &h, lun, ISCSI_CMD_WRITE, c.edtl, c.cdb, c.cdb_length);
	if (!final)
		h.flags &= (uint8_t)~ISCSI_FINAL;
	ck_assert(!ini_send(i, (uint8_t *)&h, immediate, immediate_length));
	return get_be32(h.itt);
}

void absent_write(struct ini *i, uint32_t lba, struct absent *ret)
{
	struct ini_scsi c;

	ret->lba = lba;
	fill(ret->before, sizeof(ret->before), lba);
	rw10(&c, WRITE10, LUN_RAM, lba, 1, ret->before);
	run_good(i, &c);
	ini_command(i, &ret->h, LUN_RAM, ISCSI_CMD_WRITE, sizeof(ret->before), c.cdb, c.cdb_length);
}

void absent_function(struct ini *i, const struct absent *a, uint8_t function,
		     struct bhs_tmf_request *ret)
{
	ini_tmf(i, ret, function, LUN_RAM);
	memcpy(ret->referenced_tag, a->h.itt, sizeof(ret->referenced_tag));
	memcpy(ret->ref_cmdsn, a->h.cmdsn, sizeof(ret->ref_cmdsn));
}

void absent_is_never_run(struct ini *i, const struct absent *a)
{
	struct bhs_scsi_command h = a->h;
	uint8_t other[sizeof(a->before)];

	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, i->cmdsn);
	fill(other, sizeof(other), a->lba + 1);
	ck_assert(!ini_send(i, (uint8_t *)&h, other, i->immediate_data ? sizeof(other) : 0));
	expect_nothing(i);
	expect_content(i, LUN_RAM, a->lba, 1, a->before);
}
