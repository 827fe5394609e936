/* SPDX-License-Identifier: BSD-2-Clause */
/* Space of a thin unit on a file: thresholds that are reached, and what LOG SENSE says of it. */
#include "tests/protocol/protocol.h"

#define DISK BASE "thin"
#define M    (1u << 20)

static const char *config_thin(const struct server *s)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "daemon = { socket = \"%s/admin.sock\"; state_dir = \"%s/state\"; reactors = 1;\n"
		 "  space_period_s = 1; };\n"
		 "portals = ( { address = \"127.0.0.1\"; port = %u; group = 1; } );\n"
		 "targets = ( { name = \"" DISK "\"; access = ( { any = true; } ); } );\n",
		 s->dir, s->dir, s->port);
	return text;
}

static unsigned tur(struct ini *i)
{
	struct ini_scsi c;

	cdb_of(&c, "00 00 00 00 00 00");
	ck_assert(!ini_scsi(i, &c));
	return c.status ? ini_sense(&c) : 0;
}

/* Within a few looks. */
static void await_told(struct ini *i)
{
	int64_t end = clock_ms() + patience(10000);
	unsigned is;

	while (!(is = tur(i)))
		ck_assert(clock_ms() < end);
	ck_assert_uint_eq(is, 0x063807);
}

/* Megabytes from the beginning. */
static void write_mib(struct ini *i, unsigned n)
{
	static uint8_t data[64 * 512];
	struct ini_scsi c;

	fill(data, sizeof(data), 7);
	for (uint32_t lba = 0; lba < n * (M / 512); lba += 64) {
		rw10(&c, WRITE10, 0, lba, 64, data);
		run_good(i, &c);
	}
}

/* RESOURCE COUNT of a parameter of log page 0Ch; UINT32_MAX: it is not there. */
static uint32_t resources(struct ini *i, uint16_t code)
{
	struct ini_scsi c;
	uint8_t b[64] = { 0 };

	cdb_of(&c, "4d 00 4c 00 00 00 00 00 40 00");
	c.in = b;
	c.edtl = sizeof(b);
	run_good(i, &c);
	for (unsigned at = 4; at < get_be16(b + 2) + 4u; at += 4u + b[at + 3])
		if (get_be16(b + at) == code)
			return get_be32(b + at + 4);
	return UINT32_MAX;
}

/* Told once to each nexus, again when it has been below, not while LBPERE is off; and by hawserctl
 * kept over a restart. */
START_TEST(used)
{
	COVERS("SU-020 SL-005 SP-017 SM-021");
	struct server mine = { 0 };
	struct ini_login l = { .initiator = BASE "host", .target = DISK };
	struct ini *i, *other;
	struct ini_scsi c;
	char params[200];

	ck_assert(!server_start(&mine, config_thin));
	snprintf(params, sizeof(params),
		 "\"name\":\"disk\",\"type\":\"file\",\"path\":\"%s/thin.img\",\"size\":\"64MiB\"",
		 mine.dir);
	change(&mine, "lun.create", params);
	change(&mine, "target.create", "\"name\":\"" BASE "thin2\"");
	change(&mine, "lun.map", "\"name\":\"disk\",\"target\":\"" BASE "thin2\"");
	change(&mine, "access.add", "\"target\":\"" BASE "thin2\",\"any\":true");
	change(&mine, "lun.threshold", "\"name\":\"disk\",\"used\":\"3%\"");
	l.target = BASE "thin2";
	i = connect_to(mine.port);
	ck_assert_int_eq(try_login(i, &l), 0);
	other = connect_to(mine.port);
	ck_assert_int_eq(try_login(other, &l), 0);
	ready(i, 0);
	ready(other, 0);
	write_mib(i, 3);
	await_told(i);
	await_told(other);
	ck_assert_uint_ge(resources(i, 2), 2);
	ck_assert_uint_ne(resources(i, 1), UINT32_MAX);
	ck_assert_uint_eq(tur(i), 0);
	/* UNMAP of all of it: below, and reached again. */
	cdb_of(&c, "93 08 00 00 00 00 00 00 00 00 00 00 18 00 00 00"); /* WRITE SAME with UNMAP */
	c.out = (uint8_t[512]){ 0 };
	c.edtl = 512;
	run_good(i, &c);
	for (int64_t end = clock_ms() + patience(10000); resources(i, 2);)
		ck_assert(clock_ms() < end);
	ck_assert_uint_eq(tur(i), 0);
	write_mib(i, 3);
	await_told(i);
	/* More room, without the sessions noticing. */
	change(&mine, "lun.threshold", "\"name\":\"disk\",\"used\":\"40MiB\"");
	await_told(other);
	ck_assert_uint_eq(tur(other), 0);
	ck_assert(!server_kill_and_restart(&mine));
	i = connect_to(mine.port);
	ck_assert_int_eq(try_login(i, &l), 0);
	ready(i, 0);
	cdb_of(&c, "1a 08 1c 02 24 00");
	c.in = (uint8_t[36]){ 0 };
	c.edtl = 36;
	for (int64_t end = clock_ms() + patience(10000);;) {
		run_good(i, &c);
		if (get_be32((uint8_t *)c.in + 32) == 40)
			break;
		ck_assert(clock_ms() < end);
	}
	server_stop(&mine);
}
END_TEST

void space_suite(TCase *c)
{
	add(c, used);
}
