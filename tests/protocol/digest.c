/* SPDX-License-Identifier: BSD-2-Clause */
/* Header and data digests (RFC 7143 13.1, 7.8). */
#include "tests/protocol/protocol.h"

static uint8_t data[300000];

static struct ini *digests(const char *header, const char *payload)
{
	static char keys[256];

	snprintf(keys, sizeof(keys), "HeaderDigest=%s\nDataDigest=%s\n" USUAL("65536", "No", "Yes"),
		 header, payload);
	return session_keys(T_MAIN, keys);
}

static struct ini *both(void)
{
	return digests("CRC32C", "CRC32C");
}

START_TEST(combinations)
{
	COVERS("T-054 T-055 T-057 T-058 T-059 T-052");
	struct ini *i = digests(_i & 1 ? "CRC32C" : "None", _i & 2 ? "CRC32C" : "None");
	struct ini_scsi c;
	struct bhs_nop h;

	ck_assert(i->header_digest == !!(_i & 1) && i->data_digest == !!(_i & 2));
	ready(i, LUN_RAM);
	fill(data, sizeof(data), (uint32_t)_i);
	rw10(&c, WRITE10, LUN_RAM, 30000, 512, data);
	run_good(i, &c);
	ck_assert_uint_ge(c.n_r2t, 1);
	expect_content(i, LUN_RAM, 30000, 512, data);
	/* Odd lengths, and none. */
	for (uint32_t n = 0; n < 6; n++) {
		const struct ini_pdu *p;

		ini_nop(i, &h, n % 2);
		ck_assert(!ini_send(i, (uint8_t *)&h, data, n));
		p = expect(i, ISCSI_OP_NOP_IN);
		ck_assert(p->length == n && !memcmp(p->data, data, n));
	}
	cdb_of(&c, "12 00 00 00 05 00");
	c.in = data;
	c.edtl = 5;
	run_good(i, &c);
	/* Sense data and a Reject have digests, too. */
	cdb_of(&c, "ff 00 00 00 00 00");
	run_sense(i, &c, 0x052000);
	{
		struct bhs_scsi_command odd;

		ini_command(i, &odd, 0, 0, 0, c.cdb, 6);
		i->cmdsn--;
		odd.opcode = 0x1c;
		ck_assert(!ini_send(i, (uint8_t *)&odd, NULL, 0));
		expect(i, ISCSI_OP_REJECT);
	}
	still_works(i);
}
END_TEST

/* Two sessions of one initiator with different digests. */
START_TEST(of_each_connection)
{
	COVERS("T-052");
	struct ini *a = both(), *b = digests("None", "CRC32C"), *c = digests("CRC32C", "None");

	ready(a, LUN_RAM);
	ready(b, LUN_RAM);
	ready(c, LUN_RAM);
	still_works(a);
}
END_TEST

START_TEST(bad_header_digest)
{
	COVERS("E-002 E-019");
	struct ini *i = both(), *other = both();
	struct bhs_nop h;

	ini_nop(i, &h, true);
	i->corrupt_header_digest = true;
	ck_assert(!ini_send(i, (uint8_t *)&h, "data", _i ? 4 : 0));
	expect_close(i);
	still_works(other);
}
END_TEST

START_TEST(bad_data_digest_of_requests)
{
	COVERS("E-003 E-006 P-158 P-162");
	struct ini *i = both();
	struct bhs_text t;
	struct bhs_nop h;
	const struct ini_pdu *p;

	i->corrupt_data_digest = true;
	ini_nop(i, &h, false);
	ck_assert(!ini_send(i, (uint8_t *)&h, "data", 4));
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert_uint_eq(p->bhs[2], REJECT_DATA_DIGEST);
	ck_assert_uint_eq(get_be32(p->bhs + 28), get_be32(h.sn1));
	i->corrupt_data_digest = false;
	ck_assert(!ini_send(i, (uint8_t *)&h, "data", 4));
	ck_assert_uint_eq(expect(i, ISCSI_OP_NOP_IN)->length, 4);
	ini_text(i, &t, true);
	i->corrupt_data_digest = true;
	ck_assert(!ini_send(i, (uint8_t *)&t, "FooBar=1", 9));
	expect_reject(i, REJECT_DATA_DIGEST);
	i->corrupt_data_digest = false;
	ck_assert(!ini_send(i, (uint8_t *)&t, "FooBar=1", 9));
	expect(i, ISCSI_OP_TEXT_RESPONSE);
	still_works(i);
}
END_TEST

/* Immediate data: as if the command had not come. */
START_TEST(bad_immediate_data)
{
	COVERS("E-003 E-006 E-007 P-162");
	struct ini *i = both();
	struct bhs_scsi_command h;
	static uint8_t before[4096];
	struct ini_scsi c;
	uint32_t cmdsn;

	ready(i, LUN_RAM);
	fill(before, sizeof(before), 1);
	rw10(&c, WRITE10, LUN_RAM, 100, 8, before);
	run_good(i, &c);
	fill(data, 4096, 2);
	ini_command(i, &h, LUN_RAM, ISCSI_CMD_WRITE, 4096, c.cdb, 10);
	cmdsn = get_be32(h.cmdsn);
	i->corrupt_data_digest = true;
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 4096));
	expect_reject(i, REJECT_DATA_DIGEST);
	i->corrupt_data_digest = false;
	ping(i);
	ck_assert_uint_eq(i->exp_cmdsn, cmdsn);
	i->cmdsn = cmdsn;
	expect_content(i, LUN_RAM, 100, 8, before);
	put_be32(h.cmdsn, i->cmdsn++);
	put_be32(h.itt, i->itt++);
	ck_assert(!ini_send(i, (uint8_t *)&h, data, 4096));
	expect_status(i, get_be32(h.itt), 0);
	expect_content(i, LUN_RAM, 100, 8, data);
}
END_TEST

/* Data-Out, asked for and not: Reject, then the command ends with a CRC error. */
START_TEST(bad_data_out)
{
	COVERS("E-003 E-004 E-007 P-072 P-159 P-161");
	struct ini *i = both();
	static uint8_t before[65536];
	struct data_out d = { .data = data };
	struct ini_scsi c;
	const struct ini_pdu *p;

	ready(i, LUN_RAM);
	fill(before, sizeof(before), 3);
	rw10(&c, WRITE10, LUN_RAM, 200, 128, before);
	run_good(i, &c);
	fill(data, sizeof(data), 4);
	if (_i) {
		d.itt = start_write(i, LUN_RAM, 200, 128, true, NULL, 0);
		d.ttt = be32_of(expect(i, ISCSI_OP_R2T), bhs_r2t, ttt);
	} else {
		d.itt = start_write(i, LUN_RAM, 200, 128, false, NULL, 0);
		d.ttt = ISCSI_TAG_RESERVED;
	}
	for (d.offset = 0; d.offset < 65536; d.offset += d.length) {
		d.length = 16384;
		d.data = data + d.offset;
		d.final = d.offset == 49152;
		i->corrupt_data_digest = d.offset == 16384;
		send_data_out(i, &d);
		d.datasn++;
	}
	i->corrupt_data_digest = false;
	expect_reject(i, REJECT_DATA_DIGEST);
	p = expect(i, ISCSI_OP_SCSI_RESPONSE);
	ck_assert_uint_eq(sense_of(p), 0x0b4705);
	expect_content(i, LUN_RAM, 200, 128, before);
	expect_nothing(i);
}
END_TEST

void digest_suite(TCase *c)
{
	add_rows(c, combinations, 4);
	add(c, of_each_connection);
	add_rows(c, bad_header_digest, 2);
	add(c, bad_data_digest_of_requests);
	add(c, bad_immediate_data);
	add_rows(c, bad_data_out, 2);
}
