/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What commands have changed and a restart must not: saved mode pages, a FORMAT UNIT or SANITIZE
 * that has not ended. The daemon is killed, not stopped.
 */
#include "tests/protocol/protocol.h"

#include <dirent.h>

#define DISK     BASE "kept"
#define UA(code) (0x060000u | (code))

static const char *config_kept(const struct server *s)
{
	static char text[2048];

	snprintf(
	    text, sizeof(text),
	    "daemon = { socket = \"%s/admin.sock\"; state_dir = \"%s/state\"; reactors = 2;\n"
	    "  space_period_s = 1; };\n"
	    "portals = ( { address = \"127.0.0.1\"; port = %u; group = 1; } );\n"
	    "lus = ( { name = \"disk\"; type = \"file\"; path = \"%s/disk.img\"; create = true;\n"
	    "    size = \"8MiB\"; },\n"
	    "  { name = \"slow\"; type = \"file\"; path = \"%s/slow.img\"; create = true;\n"
	    "    size = \"4MiB\"; fault = \"hang kind=write+zero skip=2\"; } );\n"
	    "targets = ( { name = \"" DISK "\"; access = ( { any = true; } );\n"
	    "  luns = ( { lun = 0; lu = \"disk\"; }, { lun = 3; lu = \"slow\"; } ); } );\n",
	    s->dir, s->dir, s->port, s->dir, s->dir);
	return text;
}

static struct ini *disk_of(const struct server *s)
{
	struct ini_login l = { .initiator = BASE "host", .target = DISK };
	struct ini *i = connect_to(s->port);

	ck_assert_int_eq(try_login(i, &l), 0);
	ready(i, 0);
	return i;
}

static unsigned result_of(struct ini *i, struct ini_scsi *c)
{
	int rc = ini_scsi(i, c);

	ck_assert_msg(!rc, "opcode %02x: %s", c->cdb[0], strerror(-rc));
	return c->status == 2 ? ini_sense(c) : c->status;
}

static unsigned plain(struct ini *i, const char *cdb)
{
	struct ini_scsi c;

	cdb_of(&c, cdb);
	return result_of(i, &c);
}

/* MODE SELECT(6) of one page. */
static unsigned mode_select(struct ini *i, bool save, const uint8_t *page, unsigned length)
{
	struct ini_scsi c = { .cdb = { 0x15, save ? 0x11 : 0x10, 0, 0, (uint8_t)(4 + length) },
			      .cdb_length = 6 };
	uint8_t list[64] = { 0 };

	memcpy(list + 4, page, length);
	c.out = list;
	c.edtl = 4 + length;
	return result_of(i, &c);
}

/* Byte of a page; pc: 0 current, 2 default, 3 saved. */
static uint8_t mode_byte(struct ini *i, uint8_t code, unsigned pc, unsigned byte)
{
	struct ini_scsi c = { .cdb = { 0x1a, 8, (uint8_t)(pc << 6 | code), 0, 64 },
			      .cdb_length = 6 };
	uint8_t b[64] = { 0 };

	c.in = b;
	c.edtl = sizeof(b);
	run_good(i, &c);
	return b[4 + byte];
}

static const uint8_t cache_off[20] = { 0x08, 0x12, 0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff };
#define CONTROL(byte2, byte4) 0x0a, 0x0a, byte2, 0x10, byte4, 0, 0, 0, 0xff, 0xff, 0, 0

START_TEST(saved_pages)
{
	COVERS("SM-004 SM-009 SU-011 SA-017");
	static const uint8_t descriptors[] = { CONTROL(0x26, 0) }, usual[] = { CONTROL(0x22, 0) };
	struct server mine = { 0 };
	struct ini *a, *b;

	ck_assert(!server_start(&mine, config_kept));
	a = disk_of(&mine);
	b = disk_of(&mine);
	ck_assert_uint_eq(mode_select(a, true, cache_off, sizeof(cache_off)), 0);
	ck_assert_uint_eq(plain(b, "00 00 00 00 00 00"), UA(0x2a01));
	ck_assert_uint_eq(plain(a, "00 00 00 00 00 00"), 0);
	/* Not saved: over a reset it goes, and what was saved comes back. */
	ck_assert_uint_eq(mode_select(b, false, descriptors, sizeof(descriptors)), 0);
	ck_assert_uint_eq(mode_byte(b, 0x0a, 0, 2), 0x26);
	ck_assert_uint_eq(mode_byte(b, 0x0a, 3, 2), 0x22);
	ck_assert_uint_eq(mode_byte(b, 0x08, 3, 2), 0);
	ck_assert_uint_eq(mode_byte(b, 0x08, 2, 2), 0x04);
	tmf(b, 5, 0, 0);
	ready(b, 0);
	ck_assert_uint_eq(mode_byte(b, 0x0a, 0, 2), 0x22);
	ck_assert_uint_eq(mode_byte(b, 0x08, 0, 2), 0);
	ck_assert(!server_kill_and_restart(&mine));
	a = disk_of(&mine);
	ck_assert_uint_eq(mode_byte(a, 0x08, 0, 2), 0);
	ck_assert_uint_eq(mode_byte(a, 0x08, 3, 2), 0);
	ck_assert_uint_eq(mode_byte(a, 0x0a, 0, 2), 0x22);
	/* Saving one page saves all as they are: the cache stays off, descriptors are on. */
	ck_assert_uint_eq(mode_select(a, true, descriptors, sizeof(descriptors)), 0);
	ck_assert_uint_eq(mode_select(a, false, usual, sizeof(usual)), 0);
	ck_assert(!server_kill_and_restart(&mine));
	a = disk_of(&mine);
	ck_assert_uint_eq(mode_byte(a, 0x08, 0, 2), 0);
	ck_assert_uint_eq(mode_byte(a, 0x0a, 0, 2), 0x26);
	server_stop(&mine);
}
END_TEST

/* SET IDENTIFYING INFORMATION, text. */
static unsigned name_it(struct ini *i, const char *name)
{
	struct ini_scsi c = { .cdb = { 0xa4, 0x06, [10] = 0x04 }, .cdb_length = 12 };

	put_be32(c.cdb + 6, (uint32_t)strlen(name) + 1);
	c.out = name;
	c.edtl = (uint32_t)strlen(name) + 1;
	return result_of(i, &c);
}

START_TEST(identifying_information)
{
	COVERS("SO-008 SU-019");
	struct ini_scsi report;
	struct server mine = { 0 };
	uint8_t b[64] = { 0 };
	struct ini *a, *other;

	ck_assert(!server_start(&mine, config_kept));
	a = disk_of(&mine);
	other = disk_of(&mine);
	ck_assert_uint_eq(name_it(a, "rack 7"), 0);
	ck_assert_uint_eq(plain(other, "00 00 00 00 00 00"), UA(0x3f05));
	ck_assert(!server_kill_and_restart(&mine));
	a = disk_of(&mine);
	cdb_of(&report, "a3 05 00 00 00 00 00 00 00 40 04 00");
	report.in = b;
	report.edtl = sizeof(b);
	run_good(a, &report);
	ck_assert_uint_eq(get_be32(b), 7);
	ck_assert_str_eq((char *)b + 4, "rack 7");
	server_stop(&mine);
}
END_TEST

static unsigned files_in(const struct server *s, const char *folder)
{
	char path[200];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/state/%s", s->dir, folder);
	d = opendir(path);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A unit that is deleted while such commands run leaves nothing behind, and its name begins anew.
 */
START_TEST(deleted_while_saving)
{
	COVERS("fault-F07");
	struct server mine = { 0 };
	struct ini *i;

	ck_assert(!server_start(&mine, config_kept));
	for (unsigned round = 0; round < 4; round++) {
		uint8_t reg[24] = { [15] = 1, [20] = 1 };
		struct ini_scsi save = { .cdb = { 0x15, 0x11, 0, 0, 24 }, .cdb_length = 6 };
		struct ini_scsi keep = { .cdb = { 0x5f, 6, [8] = 24 }, .cdb_length = 10 };
		uint8_t list[24] = { 0 };

		change(&mine, "target.create", "\"name\":\"" BASE "gone\"");
		change(&mine, "access.add", "\"target\":\"" BASE "gone\",\"any\":true");
		change(&mine, "lun.create",
		       "\"name\":\"gone\",\"type\":\"ram\",\"size\":\"1MiB\",\"target\":\"" BASE
		       "gone\"");
		i = connect_to(mine.port);
		ck_assert_int_eq(try_login(i, &(struct ini_login){ .initiator = BASE "host",
								   .target = BASE "gone" }),
				 0);
		ready(i, 0);
		memcpy(list + 4, (const uint8_t[]){ CONTROL(0x26, 0) }, 12);
		save.cdb[4] = 16;
		save.out = list;
		save.edtl = 16;
		keep.out = reg;
		keep.edtl = 24;
		if (!round) {
			ck_assert_uint_eq(result_of(i, &save), 0);
			ck_assert_uint_eq(result_of(i, &keep), 0);
			ck_assert_uint_eq(files_in(&mine, "units"), 1);
			ck_assert_uint_eq(files_in(&mine, "pr"), 1);
		} else {
			ck_assert(!ini_scsi_start(i, &save));
			ck_assert(!ini_scsi_start(i, &keep));
		}
		change(&mine, "lun.delete", "\"name\":\"gone\",\"unmap\":true");
		if (round) {
			(void)ini_scsi_finish(i, &save);
			(void)ini_scsi_finish(i, &keep);
		}
		change(&mine, "target.delete", "\"name\":\"" BASE "gone\"");
	}
	ck_assert(!server_kill_and_restart(&mine)); /* commits that were under way have ended */
	ck_assert_uint_eq(files_in(&mine, "units"), 0);
	ck_assert_uint_eq(files_in(&mine, "pr"), 0);
	server_stop(&mine);
}
END_TEST

#define SLOW        3 /* LUN */
#define SLOW_BLOCKS 8192

static unsigned slow(struct ini *i, const char *cdb)
{
	struct ini_scsi c;

	cdb_of(&c, cdb);
	c.lun = SLOW;
	return result_of(i, &c);
}

/* A session whose unit attention for that LUN has been told. */
static struct ini *slow_of(const struct server *s)
{
	struct ini *i = disk_of(s);

	ck_assert_uint_eq(slow(i, "00 00 00 00 00 00"), UA(0x2900));
	return i;
}

/* SANITIZE OVERWRITE with IMMED and AUSE. */
static unsigned overwrite(struct ini *i, uint8_t passes, const char *pattern)
{
	struct ini_scsi c = { .cdb = { 0x48, 0xa1 }, .cdb_length = 10, .lun = SLOW };
	uint8_t list[64] = { passes };
	size_t n = strlen(pattern);

	put_be16(list + 2, (uint16_t)n);
	memcpy(list + 4, pattern, n);
	put_be16(c.cdb + 7, (uint16_t)(4 + n));
	c.out = list;
	c.edtl = (uint32_t)(4 + n);
	return result_of(i, &c);
}

static void release(const struct server *s, const char *rules)
{
	char params[200];

	snprintf(params, sizeof(params), "\"name\":\"slow\",\"rules\":\"release; clear; %s\"",
		 rules);
	change(s, "lun.fault", params);
}

/* It is what the command said all through, and then ready, or as it ended. */
static unsigned ends_from(struct ini *i, unsigned meanwhile)
{
	int64_t end = clock_ms() + patience(10000);
	unsigned is;

	while ((is = slow(i, "00 00 00 00 00 00")) == meanwhile)
		ck_assert(clock_ms() < end);
	return is;
}

/* Killed in the middle, the unit comes back with the command under way: the old content never shows
 * again, and all of the pattern is there in the end. */
START_TEST(sanitize_goes_on)
{
	COVERS("SD-011 SS-013 SO-013");
	static uint8_t block[512], want[512];
	struct server mine = { 0 };
	struct ini_scsi c;
	struct ini *i;

	ck_assert(!server_start(&mine, config_kept));
	i = slow_of(&mine);
	ck_assert_uint_eq(overwrite(i, 1, "abcde"), 0);
	ck_assert(!server_kill_and_restart(&mine));
	for (unsigned round = 0; round < 2; round++) {
		uint8_t sense[18];

		i = slow_of(&mine);
		ck_assert_uint_eq(slow(i, "00 00 00 00 00 00"), 0x02041b);
		ck_assert_uint_eq(slow(i, "28 00 00 00 00 00 00 00 01 00"), 0x02041b);
		ck_assert_uint_eq(slow(i, "1b 00 00 00 00 00"), 0x02041b); /* STOP */
		cdb_of(&c, "03 00 00 00 12 00");
		c.lun = SLOW;
		c.in = sense;
		c.edtl = sizeof(sense);
		run_good(i, &c);
		ck_assert_uint_eq(get_be16(sense + 12), 0x041b);
		ck_assert_uint_eq(sense[15] & 0x80, 0x80); /* with its progress */
		if (!round)
			ck_assert(!server_kill_and_restart(&mine));
	}
	release(&mine, "");
	ck_assert_uint_eq(ends_from(i, 0x02041b), 0);
	for (unsigned b = 0; b < sizeof(want); b++)
		want[b] = (uint8_t) "abcde"[b % 5];
	for (unsigned lba = 0; lba < SLOW_BLOCKS; lba += 1023) {
		rw10(&c, READ10, SLOW, lba, 1, block);
		run_good(i, &c);
		ck_assert_mem_eq(block, want, sizeof(want));
	}
	rw10(&c, WRITE10, SLOW, 5, 1, block);
	run_good(i, &c);
	/* What has ended does not begin again. */
	ck_assert(!server_kill_and_restart(&mine));
	i = slow_of(&mine);
	ck_assert_uint_eq(slow(i, "00 00 00 00 00 00"), 0);
	server_stop(&mine);
}
END_TEST

/* What has failed is so after a restart, until it is repeated or taken back. */
START_TEST(failures_stay)
{
	COVERS("SD-012 SD-007");
	struct server mine = { 0 };
	struct ini *i;

	ck_assert(!server_start(&mine, config_kept));
	i = slow_of(&mine);
	release(&mine, "error kind=write+zero");
	ck_assert_uint_eq(slow(i, "04 00 00 00 00 00"), 0x033101);
	ck_assert(!server_kill_and_restart(&mine));
	release(&mine, "error kind=write+zero");
	i = slow_of(&mine);
	ck_assert_uint_eq(slow(i, "00 00 00 00 00 00"), 0x033101);
	ck_assert_uint_eq(overwrite(i, 1, "x"), 0);
	ck_assert_uint_eq(ends_from(i, 0x02041b), 0x033103);
	ck_assert(!server_kill_and_restart(&mine));
	release(&mine, "");
	i = slow_of(&mine);
	ck_assert_uint_eq(slow(i, "28 00 00 00 00 00 00 00 01 00"), 0x033103);
	ck_assert_uint_eq(slow(i, "48 1f 00 00 00 00 00 00 00 00"), 0); /* AUSE was said */
	ck_assert_uint_eq(slow(i, "00 00 00 00 00 00"), 0);
	ck_assert(!server_kill_and_restart(&mine));
	i = slow_of(&mine);
	ck_assert_uint_eq(slow(i, "00 00 00 00 00 00"), 0);
	server_stop(&mine);
}
END_TEST

void kept_suite(TCase *c)
{
	add(c, saved_pages);
	add(c, identifying_information);
	add(c, deleted_while_saving);
	add(c, sanitize_goes_on);
	add(c, failures_stay);
}
