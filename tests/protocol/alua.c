/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asymmetric access over two portals: target port groups as hosts read them, and their states set
 * by the administrator and by hosts.
 */
#include "tests/protocol/protocol.h"

#include <jansson.h>

#define T_BOTH     BASE "alua"  /* groups 10 and 20, set from both sides */
#define T_PLAIN    BASE "plain" /* nothing is said */
#define T_NONE     BASE "none"
#define CHANGED    0x062a06u
#define STANDBY    0x02040bu
#define TUR        "00 00 00 00 00 00"
#define MODE_SENSE "1a 08 08 00 40 00"
#define INQUIRY    "12 00 00 00 60 00"
#define REPORT     "a3 0a 00 00 00 00 00 00 01 00"

static const char *config(const struct server *s)
{
	static char text[4096];

	snprintf(
	    text, sizeof(text),
	    "daemon = { socket = \"%s/admin.sock\"; state_dir = \"%s/state\"; reactors = 2; };\n"
	    "portals = ( { address = \"127.0.0.1\"; port = %u; group = 1; },\n"
	    "  { address = \"127.0.0.1\"; port = %u; group = 2; } );\n"
	    "lus = ( { name = \"disk\"; type = \"ram\"; size = \"4MiB\"; },\n"
	    "  { name = \"other\"; type = \"ram\"; size = \"4MiB\"; } );\n"
	    "targets = ( { name = \"" T_BOTH "\"; alua = \"both\"; access = ( { any = true; } );\n"
	    "  port_groups = ( { id = 10; groups = [ 1 ]; preferred = true; },\n"
	    "    { id = 20; state = \"active-non-optimized\"; } );\n"
	    "  luns = ( { lun = 0; lu = \"disk\"; }, { lun = 1; lu = \"other\"; } ); },\n"
	    "  { name = \"" T_PLAIN "\"; access = ( { any = true; } );\n"
	    "    luns = ( { lun = 0; lu = \"disk\"; } ); },\n"
	    "  { name = \"" T_NONE "\"; alua = \"none\"; access = ( { any = true; } );\n"
	    "    luns = ( { lun = 0; lu = \"disk\"; } ); } );\n",
	    s->dir, s->dir, s->port, s->port2);
	return text;
}

static unsigned result_of(const struct ini_scsi *c)
{
	return c->status == 2 ? ini_sense(c) : c->status;
}

static struct server mine;
static struct ini *paths[8];
static unsigned n_paths;

static void begin(void)
{
	n_paths = 0;
	ck_assert(!server_start(&mine, config));
}

/* Without sessions it does not wait for anybody. */
static void end(void)
{
	while (n_paths)
		ini_close(paths[--n_paths]);
	ck_assert_int_eq(server_stop(&mine), 0);
}

/* By portal group 1 or 2. */
static struct ini *path(unsigned group, const char *target)
{
	struct ini_login l = { .target = target };
	struct ini *i = connect_to(group == 1 ? mine.port : mine.port2);

	i->isid[5] = (uint8_t)group;
	ck_assert_int_eq(try_login(i, &l), 0);
	ck_assert_uint_lt(n_paths, sizeof(paths) / sizeof(paths[0]));
	paths[n_paths++] = i;
	return i;
}

static unsigned plain_at(struct ini *i, uint64_t lun, const char *cdb)
{
	static uint8_t in[512];
	struct ini_scsi c;

	cdb_of(&c, cdb);
	c.lun = lun;
	if (c.cdb[0]) {
		c.in = in;
		c.edtl = sizeof(in);
	}
	ck_assert(!ini_scsi(i, &c));
	return result_of(&c);
}

static unsigned plain(struct ini *i, const char *cdb)
{
	return plain_at(i, 0, cdb);
}

static unsigned rw(struct ini *i, uint8_t opcode)
{
	static uint8_t block[512];
	struct ini_scsi c;

	rw10(&c, opcode, 0, 77, 1, block);
	ck_assert(!ini_scsi(i, &c));
	return result_of(&c);
}

/* Unit attentions of all LUs; also of a port that is not active. */
static void take_news(struct ini *i, unsigned luns)
{
	for (unsigned lun = 0; lun < luns; lun++) {
		unsigned r;

		do {
			r = plain_at(i, lun, TUR);
		} while (r >> 16 == 6);
	}
}

static uint32_t report(struct ini *i, uint8_t format, uint8_t *out, uint16_t length)
{
	struct ini_scsi c = { .cdb = { 0xa3, (uint8_t)(format << 5 | 0x0a) }, .cdb_length = 12 };

	put_be32(c.cdb + 6, length);
	c.in = out;
	c.edtl = length;
	run_good(i, &c);
	return c.received;
}

/* The descriptor of a group: state, flags, status code ... */
static const uint8_t *group(struct ini *i, uint16_t id)
{
	static uint8_t b[256];
	uint32_t n = report(i, 0, b, sizeof(b)), at = 4;

	ck_assert_uint_eq(get_be32(b) + 4, n);
	while (at < n && get_be16(b + at + 2) != id)
		at += 8u + 4u * b[at + 7];
	ck_assert_msg(at < n, "group %u is not reported", id);
	return b + at;
}

static void ck_group(struct ini *i, uint16_t id, uint8_t first, uint8_t status)
{
	const uint8_t *g = group(i, id);

	ck_assert_msg(g[0] == first && g[5] == status, "group %u: %02x by %u, wanted %02x by %u",
		      id, g[0], g[5], first, status);
}

static unsigned set(struct ini *i, uint16_t a, uint8_t a_state, uint16_t b, uint8_t b_state)
{
	uint8_t list[12] = { 0, 0, 0, 0, a_state };
	struct ini_scsi c = { .cdb = { 0xa4, 0x0a }, .cdb_length = 12 };

	put_be16(list + 6, a);
	list[8] = b_state;
	put_be16(list + 10, b);
	put_be32(c.cdb + 6, sizeof(list));
	c.out = list;
	c.edtl = sizeof(list);
	ck_assert(!ini_scsi(i, &c));
	return result_of(&c);
}

static void admin_sets(uint16_t id, const char *state)
{
	char params[200];

	snprintf(params, sizeof(params), "\"target\":\"" T_BOTH "\",\"id\":%u,\"state\":\"%s\"", id,
		 state);
	change(&mine, "alua.set", params);
}

static void inquiry(struct ini *i, const char *cdb, uint8_t *out, uint16_t size)
{
	struct ini_scsi c;

	cdb_of(&c, cdb);
	c.in = out;
	c.edtl = size;
	run_good(i, &c);
}

/* The designator of this type with association target port, in page 83h. */
static uint16_t designator(struct ini *i, uint8_t type)
{
	uint8_t b[512];

	inquiry(i, "12 01 83 02 00 00", b, sizeof(b));
	for (unsigned at = 4; at < 4u + get_be16(b + 2); at += 4u + b[at + 3])
		if ((b[at + 1] & 0x3f) == (0x10 | type)) {
			ck_assert_uint_eq(b[at], 0x51);
			ck_assert_uint_eq(b[at + 1] >> 7, 1);
			return get_be16(b + at + 6);
		}
	return 0;
}

START_TEST(as_hosts_read_it)
{
	uint8_t b[256], x[256], standard[96];
	struct ini *i;
	unsigned refused;
	uint32_t n;

	COVERS("SQ-001 SQ-002 SQ-003 SI-005 SI-014");
	begin();
	for (unsigned p = 1; p <= 2; p++) {
		uint16_t id = p == 1 ? 10 : 20;
		const uint8_t *g;

		i = path(p, T_BOTH);
		take_news(i, 1);
		inquiry(i, INQUIRY, standard, sizeof(standard));
		ck_assert_uint_eq(standard[5] & 0x30, 0x30);
		ck_assert_uint_eq(designator(i, 5), id);
		g = group(i, id);
		ck_assert_uint_eq(g[1], 0xcf);
		ck_assert_uint_eq(g[7], 1);
		ck_assert_uint_eq(get_be16(g + 10), designator(i, 4));
		ck_group(i, 10, 0x80, 0);
		ck_group(i, 20, 0x01, 0);
		n = report(i, 0, b, sizeof(b));
		ck_assert_uint_eq(report(i, 1, x, sizeof(x)), n + 4);
		ck_assert_uint_eq(x[4], 0x10);
		ck_assert(x[5] && !memcmp(b + 4, x + 8, n - 4));
	}
	i = path(1, T_PLAIN);
	take_news(i, 1);
	inquiry(i, INQUIRY, standard, sizeof(standard));
	ck_assert_uint_eq(standard[5] & 0x30, 0x10);
	ck_assert_uint_eq(designator(i, 5), 1);
	ck_assert_uint_eq(group(i, 1)[0], 0);
	ck_assert_uint_eq(group(i, 1)[7], 2);
	/* No such command, or no such service action of it. */
	refused = set(i, 1, 2, 1, 2);
	ck_assert_msg(refused == 0x052000 || refused == 0x052400, "%06x", refused);
	i = path(1, T_NONE);
	take_news(i, 1);
	inquiry(i, INQUIRY, standard, sizeof(standard));
	ck_assert_uint_eq(standard[5] & 0x30, 0);
	ck_assert_uint_eq(designator(i, 5), 0);
	ck_assert_uint_eq(plain(i, REPORT), 0x052400);
	end();
}
END_TEST

/* Each state, set while two paths are in use: what is told, what passes, and that the other path
 * serves. */
static const struct {
	const char *name;
	uint8_t value;
	unsigned medium, mode; /* what READ and MODE SENSE get */
	uint8_t peripheral;
} states[] = {
	{ "standby", 2, 0x02040b, 0, 0 },
	{ "unavailable", 3, 0x02040c, 0x02040c, 0x20 },
	{ "offline", 0xe, 0x020412, 0x020412, 0x20 },
	{ "transitioning", 0xf, 0x02040a, 0x02040a, 0 },
	{ "active-optimized", 0, 0, 0, 0 },
	{ "active-non-optimized", 1, 0, 0, 0 },
};

START_TEST(administrator_sets)
{
	struct ini *a, *b;
	uint8_t standard[96];

	COVERS("SQ-005 SQ-006 SQ-007 SU-018 fault-F10");
	begin();
	a = path(1, T_BOTH);
	b = path(2, T_BOTH);
	take_news(a, 2);
	take_news(b, 2);
	for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); s++) {
		unsigned medium = states[s].medium;

		admin_sets(20, states[s].name);
		for (unsigned lun = 0; lun < 2; lun++) {
			ck_assert_uint_eq(plain_at(a, lun, TUR), CHANGED);
			ck_assert_uint_eq(plain_at(b, lun, TUR), CHANGED);
		}
		ck_assert_uint_eq(plain(b, TUR), medium);
		ck_assert_uint_eq(rw(b, READ10), medium);
		ck_assert_uint_eq(rw(b, WRITE10), medium);
		ck_assert_uint_eq(plain(b, MODE_SENSE), states[s].mode);
		ck_assert_uint_eq(plain(b, "a0 00 00 00 00 00 00 00 01 00 00 00"), 0);
		ck_assert_uint_eq(plain(b, "03 00 00 00 60 00"), 0);
		inquiry(b, INQUIRY, standard, sizeof(standard));
		ck_assert_uint_eq(standard[0], states[s].peripheral);
		ck_group(b, 20, states[s].value,
			 s + 1 < sizeof(states) / sizeof(states[0]) ? 2 : 0);
		ck_assert_uint_eq(rw(a, READ10), 0);
		ck_assert_uint_eq(rw(a, WRITE10), 0);
	}
	/* Nothing changes: nothing is told. */
	admin_sets(20, "active-non-optimized");
	ck_assert_uint_eq(plain(a, TUR), 0);
	ck_assert_uint_eq(plain(b, TUR), 0);
	end();
}
END_TEST

/* What a host does that fails over: it is not told what it has done; others are. */
START_TEST(host_sets)
{
	struct ini *a, *b, *other;

	COVERS("SQ-004 SQ-007 SU-018 OP-078");
	begin();
	a = path(1, T_BOTH);
	b = path(2, T_BOTH);
	other = path(1, T_PLAIN);
	take_news(a, 2);
	take_news(b, 2);
	take_news(other, 1);
	ck_assert_uint_eq(set(b, 20, 0, 10, 2), 0);
	ck_assert_uint_eq(plain(b, TUR), 0);
	ck_assert_uint_eq(plain_at(b, 1, TUR), CHANGED);
	ck_assert_uint_eq(plain(a, TUR), CHANGED);
	ck_assert_uint_eq(plain(a, TUR), STANDBY);
	ck_assert_uint_eq(plain(other, TUR), 0);
	ck_group(a, 10, 0x82, 1);
	ck_group(b, 20, 0x00, 1);
	/* And back again, by the port that is in standby; once more changes nothing. */
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(set(a, 10, 0, 20, 1), 0);
	ck_assert_uint_eq(plain(a, TUR), 0);
	ck_assert_uint_eq(plain(b, TUR), CHANGED);
	ck_assert_uint_eq(plain(b, TUR), 0);
	ck_assert_uint_eq(plain_at(a, 1, TUR), CHANGED);
	/* What cannot be set. */
	ck_assert_uint_eq(set(a, 10, 0x0f, 20, 1), 0x052600);
	ck_assert_uint_eq(set(a, 10, 2, 30, 1), 0x052600);
	ck_group(a, 10, 0x80, 0);
	admin_sets(20, "offline");
	ck_assert_uint_eq(plain(a, TUR), CHANGED);
	ck_assert_uint_eq(set(a, 10, 2, 20, 1), 0x04670a);
	admin_sets(20, "transitioning");
	ck_assert_uint_eq(plain(a, TUR), CHANGED);
	ck_assert_uint_eq(set(a, 10, 2, 20, 1), 8);
	ck_group(a, 10, 0x80, 0);
	end();
}
END_TEST

/* Set by a host or by the administrator: a state outlives the daemon, until it is set again. */
START_TEST(kept_over_restart)
{
	struct ini *a;

	COVERS("SQ-002");
	begin();
	a = path(1, T_BOTH);
	take_news(a, 1);
	ck_assert_uint_eq(set(a, 20, 3, 10, 1), 0);
	change(&mine, "alua.set", "\"target\":\"" T_BOTH "\",\"id\":10,\"preferred\":false");
	change(&mine, "alua.set", "\"target\":\"" T_PLAIN "\",\"id\":1,\"state\":\"standby\"");
	ck_assert(!server_kill_and_restart(&mine));
	a = path(1, T_BOTH);
	take_news(a, 1);
	ck_group(a, 10, 0x01, 2);
	ck_group(a, 20, 0x03, 1);
	a = path(2, T_PLAIN);
	take_news(a, 1);
	ck_assert_uint_eq(plain(a, TUR), STANDBY);
	/* As the settings say: nothing is kept. */
	change(&mine, "alua.set",
	       "\"target\":\"" T_BOTH "\",\"id\":10,\"preferred\":true,"
	       "\"state\":\"active-optimized\"");
	admin_sets(20, "active-non-optimized");
	ck_assert(!server_kill_and_restart(&mine));
	a = path(1, T_BOTH);
	take_news(a, 1);
	ck_group(a, 10, 0x80, 0);
	ck_group(a, 20, 0x01, 0);
	end();
}
END_TEST

/* Registrations are the unit's, whatever port they came by and whatever state that is in. */
START_TEST(reservations_act_across_ports)
{
	uint8_t list[24] = { 0 };
	struct ini_scsi c = { .cdb = { 0x5f, 0, 0, 0, 0, 0, 0, 0, 24 }, .cdb_length = 10 };
	struct ini *a, *b;

	COVERS("SQ-008 SQ-005");
	begin();
	a = path(1, T_BOTH);
	b = path(2, T_BOTH);
	take_news(a, 1);
	take_news(b, 1);
	admin_sets(20, "standby");
	take_news(a, 1);
	take_news(b, 1);
	/* By the port in standby: REGISTER, then RESERVE, write exclusive. */
	list[15] = 0xbb;
	c.out = list;
	c.edtl = sizeof(list);
	run_good(b, &c);
	list[7] = 0xbb;
	list[15] = 0;
	c.cdb[1] = 1;
	c.cdb[2] = 1;
	run_good(b, &c);
	ck_assert_uint_eq(rw(a, WRITE10), 0x18);
	ck_assert_uint_eq(rw(b, WRITE10), STANDBY);
	/* CLEAR. */
	c.cdb[1] = 3;
	c.cdb[2] = 0;
	run_good(b, &c);
	ck_assert_uint_eq(rw(a, WRITE10), 0);
	end();
}
END_TEST

void alua_suite(TCase *c)
{
	add(c, as_hosts_read_it);
	add(c, administrator_sets);
	add(c, host_sets);
	add(c, kept_over_restart);
	add(c, reservations_act_across_ports);
}
