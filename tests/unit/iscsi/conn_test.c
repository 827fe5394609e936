/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: limits, the login's time, what comes in the wrong state, portals and placing. */
#include "transport/iscsi/conn.c"

#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

static struct rig rig;

static void tight(struct iscsi_policy *p)
{
	p->max_connections = 3;
	p->max_unauthenticated = 2;
	p->login_timeout_s = 1;
}

static void crowded(struct iscsi_policy *p)
{
	p->max_unauthenticated = 2;
}

START_TEST(limits)
{
	struct fake_initiator i;

	rig_start(&rig, tight);
	i = rig_login(&rig, NULL);
	ck_assert_ptr_nonnull(fake_connect(&rig.net, NULL));
	ck_assert_ptr_nonnull(fake_connect(&rig.net, NULL));
	ck_assert_ptr_null(fake_connect(&rig.net, NULL)); /* three in all */
	fake_hang_up(i.fc);
	ck_assert_uint_eq(iscsi_reactor_count(rig.net.reactor), 2);
	ck_assert_ptr_null(fake_connect(&rig.net, NULL)); /* two before the end of login */
	rig_stop(&rig);
}
END_TEST

/* Who it is, for the log: the address until the name is known. */
START_TEST(described)
{
	char text[512], wanted[512], peer[64];
	struct fake_conn *stranger;
	struct fake_initiator i;

	rig_start(&rig, NULL);
	stranger = fake_connect(&rig.net, "2001:db8::7");
	portal_format(&stranger->c->peer, peer, sizeof(peer));
	snprintf(wanted, sizeof(wanted), "initiator at %s", peer);
	ck_assert_str_eq(conn_describe(stranger->c, text, sizeof(text)), wanted);
	i = rig_login(&rig, NULL);
	portal_format(&i.fc->c->peer, peer, sizeof(peer));
	snprintf(wanted, sizeof(wanted), FAKE_NAME " from %s", peer);
	ck_assert_str_eq(conn_describe(i.fc->c, text, sizeof(text)), wanted);
	rig_stop(&rig);
}
END_TEST

static void narrow(struct iscsi_policy *p)
{
	p->max_unauthenticated_per_address = 2;
}

/* One address has its share; who has logged in does not count. */
START_TEST(share_of_an_address)
{
	struct fake_conn *mute;
	struct stats *stats;

	rig_start(&rig, narrow);
	stats = reactor_counters(rig.net.reactor);
	rig_login(&rig, NULL);
	mute = fake_connect(&rig.net, NULL);
	ck_assert_ptr_nonnull(fake_connect(&rig.net, NULL));
	ck_assert_ptr_null(fake_connect(&rig.net, NULL));
	ck_assert_uint_eq(stats_get(stats, STAT_CONNECTIONS_REFUSED), 1);
	ck_assert_ptr_nonnull(fake_connect(&rig.net, "192.0.2.99"));
	fake_hang_up(mute);
	ck_assert_ptr_nonnull(fake_connect(&rig.net, NULL));
	ck_assert_ptr_null(fake_connect(&rig.net, NULL));
	rig_stop(&rig);
}
END_TEST

/* A connection that stays silent goes after the login's time; one in full-feature phase stays. */
START_TEST(silent)
{
	struct fake_conn *mute;
	struct fake_initiator i;

	rig_start(&rig, tight);
	i = rig_login(&rig, NULL);
	mute = fake_connect(&rig.net, NULL);
	for (unsigned n = 0; n < 300 && mute->c; n++)
		reactor_turn(rig.net.reactor, 10);
	ck_assert_ptr_null(mute->c);
	ck_assert(!mute->graceful); /* nothing is left to be said */
	ck_assert_ptr_nonnull(i.fc->c);
	ck_assert_uint_eq(iscsi_reactor_of(rig.net.reactor)->n_unauthenticated, 0);
	rig_stop(&rig);
}
END_TEST

/* Anything but a Login Request before full-feature phase ends the connection, others live on. */
START_TEST(too_early)
{
	static const uint8_t opcodes[] = { 0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x1f, 0x23 };
	struct fake_initiator i;

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	for (size_t n = 0; n < sizeof(opcodes); n++) {
		struct fake_conn *fc = fake_connect(&rig.net, NULL);
		uint8_t bytes[48] = { opcodes[n] };

		ck_assert_int_eq(fake_feed(fc, bytes, NULL, 0), -EPROTO);
		ck_assert(fake_closed(fc));
	}
	free(rig_ping(&i, 1, NULL, 0));
	ck_assert_ptr_nonnull(i.fc->c);
	rig_stop(&rig);
}
END_TEST

/* After a logout nothing is looked at any more. */
START_TEST(after_logout)
{
	struct bhs_nop h = { .opcode = ISCSI_IMMEDIATE };
	struct fake_initiator i;
	struct fake_pdu *p;
	uint8_t bytes[48];

	rig_start(&rig, NULL);
	i = rig_login(&rig, NULL);
	i.fc->hold = true;
	ck_assert_ptr_null(rig_logout(&i, LOGOUT_CLOSE_SESSION, 0));
	ck_assert_uint_eq(i.fc->c->state, CONN_IN_LOGOUT);
	put_be32(h.itt, 5);
	memcpy(bytes, &h, 48);
	ck_assert_int_eq(rig_feed(&i, bytes, NULL, 0), 0);
	i.fc->hold = false;
	reactor_defer(rig.net.reactor, REACTOR_STAGE_SEND, &i.fc->flush);
	p = fake_next(i.fc);
	ck_assert_uint_eq(rig_opcode(p), ISCSI_OP_LOGOUT_RESPONSE);
	free(p);
	ck_assert(fake_closed(i.fc));
	ck_assert(list_empty(&i.fc->sent));
	rig_stop(&rig);
}
END_TEST

START_TEST(portals)
{
	static const struct {
		const char *address;
		int err;
		const char *text;
	} rows[] = {
		{ "192.0.2.1", 0, "192.0.2.1:3260" },
		{ "0.0.0.0", 0, "0.0.0.0:3260" },
		{ "::", 0, "[::]:3260" },
		{ "[::1]", 0, "[::1]:3260" },
		{ "[192.0.2.1", -EINVAL, NULL },
		{ "host.example", -EINVAL, NULL },
		{ "", -EINVAL, NULL },
		{ "192.0.2.256", -EINVAL, NULL },
	};
	struct reactor *set[3];

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct portal *p = NULL;

		ck_assert_int_eq(portal_create(&fake_datamover, rows[n].address, 3260, 1, NULL, &p),
				 rows[n].err);
		if (!rows[n].err)
			ck_assert_str_eq(p->text, rows[n].text);
		portal_unref(p);
	}
	for (unsigned n = 0; n < 3; n++)
		ck_assert_int_eq(reactor_create(n, "r", &set[n]), 0);
	portal_set_reactors(set, 3);
	for (unsigned n = 0; n < 6; n++)
		ck_assert_ptr_eq(portal_place(), set[n % 3]);
	portal_unplace(set[1]);
	ck_assert_ptr_eq(portal_place(), set[1]);
	for (unsigned n = 0; n < 3; n++)
		reactor_destroy(set[n]);
}
END_TEST

/* Sequence numbers while there is no session, and with one. */
START_TEST(stamps)
{
	struct fake_conn *fc;
	uint8_t bytes[48] = { 0 };

	rig_start(&rig, NULL);
	fc = fake_connect(&rig.net, NULL);
	fc->c->statsn = 7;
	fc->c->login_cmdsn = 40;
	iscsi_stamp(fc->c, bytes, false);
	ck_assert_uint_eq(get_be32(bytes + 24), 7);
	iscsi_stamp(fc->c, bytes, true);
	ck_assert_uint_eq(get_be32(bytes + 24), 7);
	ck_assert_uint_eq(get_be32(bytes + 28), 40);
	ck_assert_uint_eq(get_be32(bytes + 32), 40);
	ck_assert_uint_eq(fc->c->statsn, 8);
	rig_stop(&rig);
}
END_TEST

/* Those that connect and say nothing do not keep out those that mean it. */
START_TEST(half_open_make_room)
{
	struct fake_conn *mute, *fresh;
	struct fake_initiator i;

	rig_start(&rig, crowded);
	mute = fake_connect(&rig.net, NULL);
	fresh = fake_connect(&rig.net, NULL);
	fresh->c->last_rx_ms -= 1000;
	ck_assert_ptr_null(fake_connect(&rig.net, NULL)); /* both may be about to speak */
	mute->c->last_rx_ms -= 3000;
	i = rig_login(&rig, NULL);
	ck_assert(fake_closed(mute));
	ck_assert(fresh->c && i.fc->c);
	ck_assert_uint_eq(iscsi_reactor_of(rig.net.reactor)->n_unauthenticated, 1);
	/* One that goes already makes no room twice. */
	mute = fake_connect(&rig.net, NULL);
	mute->c->last_rx_ms -= 3000;
	ck_assert_ptr_nonnull(fake_connect(&rig.net, NULL));
	ck_assert_ptr_null(fake_connect(&rig.net, NULL));
	ck_assert(fake_closed(mute));
	rig_stop(&rig);
}
END_TEST

SUITE_COVERS("S-017 S-032 fault-A09");

UNIT_MAIN("iscsi/conn", described, limits, share_of_an_address, silent, too_early, after_logout,
	  portals, stamps, half_open_make_room)
