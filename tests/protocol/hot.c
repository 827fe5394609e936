/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes under sessions that are logged in: each of them is told of just what has changed, once,
 * and nobody sees a size that is not there.
 */
#include "tests/protocol/protocol.h"

#include <jansson.h>

#define HOT      BASE "hot"
#define UA(code) (0x060000u | (code))

static const char *config_hot(const struct server *s)
{
	static char text[1024];

	snprintf(
	    text, sizeof(text),
	    "daemon = { socket = \"%s/admin.sock\"; state_dir = \"%s/state\"; reactors = 2; };\n"
	    "portals = ( { address = \"127.0.0.1\"; port = %u; group = 1; } );\n",
	    s->dir, s->dir, s->port);
	return text;
}

static struct ini *host(const struct server *s, const char *name)
{
	struct ini_login l = { .initiator = name, .target = HOT };
	struct ini *i = connect_to(s->port);

	ck_assert_int_eq(try_login(i, &l), 0);
	return i;
}

static unsigned on(struct ini *i, uint64_t lun, const char *cdb)
{
	struct ini_scsi c;

	cdb_of(&c, cdb);
	c.lun = lun;
	ck_assert(!ini_scsi(i, &c));
	return c.status == 2 ? ini_sense(&c) : c.status;
}

static unsigned tur(struct ini *i, uint64_t lun)
{
	return on(i, lun, "00 00 00 00 00 00");
}

/* These unit attentions, ended by 0, and then it is ready. */
static void ck_told(struct ini *i, uint64_t lun, const uint16_t *codes)
{
	for (; *codes; codes++)
		ck_assert_uint_eq(tur(i, lun), UA(*codes));
	ck_assert_uint_eq(tur(i, lun), 0);
}
#define CK_TOLD(i, lun, ...) ck_told(i, lun, (const uint16_t[]){ __VA_ARGS__, 0 })

static uint64_t blocks_of(struct ini *i, uint64_t lun)
{
	struct ini_scsi c;
	uint8_t b[32] = { 0 };

	cdb_of(&c, "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00");
	c.lun = lun;
	c.in = b;
	c.edtl = sizeof(b);
	run_good(i, &c);
	return get_be64(b) + 1;
}

static unsigned write_at(struct ini *i, uint64_t lun, uint32_t lba)
{
	static uint8_t block[512];
	struct ini_scsi c;

	rw10(&c, WRITE10, lun, lba, 1, block);
	ck_assert(!ini_scsi(i, &c));
	return c.status ? ini_sense(&c) : 0;
}

static void setup(struct server *s, struct ini *i[2])
{
	char params[200];

	ck_assert(!server_start(s, config_hot));
	snprintf(params, sizeof(params),
		 "\"name\":\"disk\",\"type\":\"file\",\"path\":\"%s/hot.img\",\"size\":\"8MiB\"",
		 s->dir);
	change(s, "lun.create", params);
	change(s, "target.create", "\"name\":\"" HOT "\"");
	change(s, "lun.map", "\"name\":\"disk\",\"target\":\"" HOT "\"");
	change(s, "access.add", "\"target\":\"" HOT "\",\"any\":true");
	for (unsigned n = 0; n < 2; n++) {
		i[n] = host(s, n ? BASE "host1" : BASE "host0");
		ready(i[n], 0);
	}
}

/* A LUN that grows: every session is told, and every session can write what is new at once. */
START_TEST(grow)
{
	COVERS("SU-013");
	struct server mine = { 0 };
	struct ini *i[2];

	setup(&mine, i);
	ck_assert_uint_eq(write_at(i[1], 0, 16384), 0x052100);
	change(&mine, "lun.resize", "\"name\":\"disk\",\"size\":\"16MiB\"");
	CK_TOLD(i[0], 0, 0x2a09);
	CK_TOLD(i[1], 0, 0x2a09);
	for (unsigned n = 0; n < 2; n++) {
		ck_assert_uint_eq(blocks_of(i[n], 0), 32768);
		ck_assert_uint_eq(write_at(i[n], 0, 32767), 0);
		ck_assert_uint_eq(write_at(i[n], 0, 32768), 0x052100);
	}
	server_stop(&mine);
}
END_TEST

/* LUNs that come and go: those that stay say so, one that is gone is not supported, and another
 * unit under an old number says that it is another one. */
START_TEST(come_and_go)
{
	COVERS("SU-014 SU-015");
	struct server mine = { 0 };
	struct ini *i[2];

	setup(&mine, i);
	change(&mine, "lun.create",
	       "\"name\":\"more\",\"type\":\"ram\",\"size\":\"4MiB\",\"target\":\"" HOT
	       "\",\"lun\":5");
	for (unsigned n = 0; n < 2; n++) {
		CK_TOLD(i[n], 0, 0x3f0e);
		CK_TOLD(i[n], 5, 0x2900);
		ck_assert_uint_eq(blocks_of(i[n], 5), 8192);
	}
	change(&mine, "lun.unmap", "\"target\":\"" HOT "\",\"lun\":5");
	for (unsigned n = 0; n < 2; n++) {
		CK_TOLD(i[n], 0, 0x3f0e);
		ck_assert_uint_eq(tur(i[n], 5), 0x052500);
	}
	change(&mine, "lun.unmap", "\"target\":\"" HOT "\",\"lun\":0");
	ck_assert_uint_eq(tur(i[0], 0), 0x052500);
	change(&mine, "lun.map", "\"name\":\"more\",\"target\":\"" HOT "\",\"lun\":0");
	CK_TOLD(i[0], 0, 0x2900);
	ck_assert_uint_eq(blocks_of(i[0], 0), 8192);
	ck_assert_uint_eq(write_at(i[0], 0, 8192), 0x052100);
	server_stop(&mine);
}
END_TEST

/* The end of all reservations by the administrator: shown before, gone after, and the holder told.
 */
START_TEST(reservation_cleared)
{
	COVERS("fault-F07");
	struct server mine = { 0 };
	struct ini *i[2];
	uint8_t list[24] = { [15] = 0xaa };
	struct ini_scsi c = { .cdb = { 0x5f, 0, [8] = 24 }, .cdb_length = 10 };
	json_t *r;

	setup(&mine, i);
	c.out = list;
	c.edtl = 24;
	run_good(i[0], &c);
	memset(list, 0, sizeof(list));
	list[7] = 0xaa;
	c.cdb[1] = 1; /* RESERVE, write exclusive */
	c.cdb[2] = 1;
	run_good(i[0], &c);
	ck_assert_uint_eq(write_at(i[0], 0, 0), 0);
	rw10(&c, WRITE10, 0, 0, 1, (uint8_t[512]){ 0 });
	ck_assert(!ini_scsi(i[1], &c));
	ck_assert_uint_eq(c.status, 0x18);
	r = admin(&mine, "reservation.list", "");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "reservations")), 1);
	json_decref(r);
	r = admin(&mine, "reservation.show", "\"name\":\"disk\"");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "registrations")), 1);
	json_decref(r);
	change(&mine, "reservation.clear", "\"name\":\"disk\"");
	ck_assert_uint_eq(write_at(i[1], 0, 0), 0);
	CK_TOLD(i[0], 0, 0x2a03);
	r = admin(&mine, "reservation.show", "\"name\":\"disk\"");
	ck_assert_uint_eq(json_array_size(json_object_get(r, "registrations")), 0);
	json_decref(r);
	server_stop(&mine);
}
END_TEST

void hot_suite(TCase *c)
{
	add(c, grow);
	add(c, come_and_go);
	add(c, reservation_cleared);
}
