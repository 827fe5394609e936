/* SPDX-License-Identifier: BSD-2-Clause */
/* Discovery sessions and SendTargets. */
#include "tests/protocol/protocol.h"

/* The whole answer of a SendTargets, with continuations. */
struct list {
	char text[65536];
	uint32_t length;
	unsigned pdus;
};

static void send_targets(struct ini *i, const char *value, struct list *ret)
{
	uint8_t data[512];
	struct bhs_text h;
	const struct ini_pdu *p;
	uint32_t n;

	memset(ret, 0, sizeof(*ret));
	n = (uint32_t)snprintf((char *)data, sizeof(data), "SendTargets=%s", value) + 1;
	ini_text(i, &h, false);
	for (;;) {
		ck_assert(!ini_send(i, (uint8_t *)&h, data, n));
		p = expect(i, ISCSI_OP_TEXT_RESPONSE);
		ck_assert(p->length <= i->max_recv && p->length <= sizeof(ret->text) - ret->length);
		memcpy(ret->text + ret->length, p->data, p->length);
		ret->length += p->length;
		ret->pdus++;
		if (p->bhs[1] & ISCSI_FINAL)
			return;
		n = 0;
		put_be32(h.ttt, be32_of(p, bhs_text, ttt));
		memcpy(h.lun, bhs_of(p, bhs_text)->lun, 8);
		put_be32(h.sn1, i->cmdsn++);
	}
}

/* The addresses of a target, parted by blanks; NULL: it is not in the list. */
static const char *addresses(const struct list *l, const char *target)
{
	static char text[1024];
	bool mine = false, found = false;
	size_t n = 0;

	for (uint32_t at = 0; at < l->length; at += (uint32_t)strlen(l->text + at) + 1) {
		const char *pair = l->text + at;

		if (!strncmp(pair, "TargetName=", 11)) {
			mine = !strcmp(pair + 11, target);
			found |= mine;
		} else {
			ck_assert_msg(!strncmp(pair, "TargetAddress=", 14), "%s", pair);
			if (mine)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
						      n ? " " : "", pair + 14);
		}
	}
	return found ? (n ? text : "") : NULL;
}

static unsigned count_targets(const struct list *l)
{
	unsigned n = 0;

	for (uint32_t at = 0; at < l->length; at += (uint32_t)strlen(l->text + at) + 1)
		n += !strncmp(l->text + at, "TargetName=", 11);
	return n;
}

static struct ini *discovery_at(uint16_t port, const char *initiator, const char *keys)
{
	struct ini *i = connect_to(port);
	struct ini_login l = { .initiator = initiator, .keys = keys };

	ck_assert_int_eq(try_login(i, &l), 0);
	return i;
}

static void expect_address(const struct list *l, const char *target, uint16_t port, unsigned group)
{
	const char *all = addresses(l, target);
	char want[64];

	ck_assert_msg(all != NULL, "%s is not listed", target);
	snprintf(want, sizeof(want), "127.0.0.1:%u,%u", port, group);
	ck_assert_msg(strstr(all, want) != NULL, "%s: no %s in \"%s\"", target, want, all);
	ck_assert(!strstr(all, "0.0.0.0"));
}

START_TEST(all_targets)
{
	COVERS("N-001 N-019 N-020 N-027 N-029 N-030 N-031");
	static struct list l;
	const char *all;
	char v6[64];

	for (unsigned n = 0; n < 2; n++) {
		struct ini *i = discovery_at(n ? server.port2 : server.port, NULL, NULL);

		send_targets(i, "All", &l);
		expect_address(&l, T_MAIN, server.port, 1);
		expect_address(&l, T_MAIN, server.port2, 2);
		expect_address(&l, T_GROUP2, server.port2, 2);
		all = addresses(&l, T_GROUP2);
		ck_assert_msg(!strstr(all, ",1"), "%s", all);
		ck_assert(addresses(&l, T_CLOSED) == NULL);
		ck_assert(addresses(&l, T_FRIENDS) == NULL);
		ck_assert(l.text[l.length - 1] == 0);
	}
	if (!server.port6)
		return;
	send_targets(discovery_at(server.port6, NULL, NULL), "All", &l);
	snprintf(v6, sizeof(v6), "[::1]:%u,1", server.port6);
	all = addresses(&l, T_MAIN);
	ck_assert_msg(all && strstr(all, v6), "no %s in \"%s\"", v6, all ? all : "");
}
END_TEST

START_TEST(only_whom_it_admits)
{
	COVERS("N-020 N-004");
	static struct list l;

	send_targets(discovery_at(server.port, FRIEND, NULL), "All", &l);
	expect_address(&l, T_FRIENDS, server.port, 1);
	send_targets(discovery_at(server.port, BASE "enemy", NULL), "All", &l);
	ck_assert(addresses(&l, T_FRIENDS) == NULL);
}
END_TEST

START_TEST(one_target)
{
	COVERS("N-022 N-023 N-028 T-105");
	static const char *const none[] = { BASE "nowhere", T_CLOSED, T_FRIENDS, "",
					    "foo bar",      "all" };
	static struct list l;
	struct ini *i = discovery();

	send_targets(i, T_SMALL, &l);
	ck_assert_uint_eq(count_targets(&l), 1);
	expect_address(&l, T_SMALL, server.port, 1);
	for (unsigned n = 0; n < sizeof(none) / sizeof(none[0]); n++) {
		send_targets(i, none[n], &l);
		ck_assert_msg(l.length == 0, "SendTargets=%s: %s", none[n], l.text);
	}
}
END_TEST

START_TEST(in_a_normal_session)
{
	COVERS("N-021 N-024 N-025 N-026");
	struct ini *i = session(T_MAIN);
	static struct list l;
	struct bhs_text h;
	const struct ini_pdu *p;

	send_targets(i, "", &l);
	ck_assert_uint_eq(count_targets(&l), 1);
	expect_address(&l, T_MAIN, server.port, 1);
	send_targets(i, T_MAIN, &l);
	ck_assert_uint_eq(count_targets(&l), 1);
	send_targets(i, T_SMALL, &l);
	ck_assert_uint_eq(l.length, 0);
	ini_text(i, &h, true);
	ck_assert(!ini_send(i, (uint8_t *)&h, "SendTargets=All", 16));
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert(p != NULL);
	if (p->bhs[0] != ISCSI_OP_REJECT)
		ck_assert_str_eq(ini_value(p, "SendTargets"), "Reject");
	still_works(i);
}
END_TEST

START_TEST(list_in_parts)
{
	COVERS("N-032 T-072 P-128");
	static struct list whole, parts;

	send_targets(discovery(), "All", &whole);
	send_targets(discovery_at(server.port, NULL, "MaxRecvDataSegmentLength=512"), "All",
		     &parts);
	ck_assert_uint_eq(whole.pdus, 1);
	ck_assert_uint_gt(parts.pdus, 1);
	ck_assert_uint_eq(whole.length, parts.length);
	ck_assert(!memcmp(whole.text, parts.text, whole.length));
}
END_TEST

/* Nothing but SendTargets, and Logout. */
START_TEST(nothing_else)
{
	COVERS("N-017");
	static const uint8_t opcodes[] = { 0x40, 0x41, 0x42, 0x05, 0x50 };
	struct ini *i = discovery();
	struct bhs_scsi_command h;
	uint8_t cdb[6] = { 0 };
	struct bhs_text t;
	static struct list l;

	for (unsigned n = 0; n < sizeof(opcodes); n++) {
		ini_command(i, &h, 0, 0, 0, cdb, sizeof(cdb));
		i->cmdsn--;
		h.opcode = opcodes[n];
		ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
		ck_assert_uint_eq(expect(i, ISCSI_OP_REJECT)->data[0], opcodes[n]);
	}
	ini_text(i, &t, true);
	ck_assert(!ini_send(i, (uint8_t *)&t, "MaxRecvDataSegmentLength=4096", 30));
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	send_targets(i, T_MAIN, &l);
	ck_assert_uint_eq(count_targets(&l), 1);
}
END_TEST

#define NAMED "TargetName=" T_MAIN
static const struct twin {
	const char *name;
	const char *target[2]; /* NULL: discovery */
	bool other_portal, other_name;
	bool ends;            /* the first session does */
	const char *named[2]; /* TargetName of a discovery session, as a further key */
} twins[] = {
	{ "discovery twice", { NULL, NULL }, false, false, true },
	{ "discovery at two portals", { NULL, NULL }, true, false, false },
	{ "discovery of two initiators", { NULL, NULL }, false, true, false },
	{ "normal, then discovery", { T_MAIN, NULL }, false, false, false },
	{ "discovery, then normal", { NULL, T_MAIN }, false, false, false },
	{ "normal twice", { T_MAIN, T_MAIN }, false, false, true },
	{ "normal at two groups", { T_MAIN, T_MAIN }, true, false, false },
	{ "normal, two targets", { T_MAIN, T_SMALL }, false, false, false },
	{ "named discovery twice", { NULL, NULL }, false, false, true, { NAMED, NAMED } },
	{ "named discovery, two groups", { NULL, NULL }, true, false, false, { NAMED, NAMED } },
	{ "named discovery, two targets",
	  { NULL, NULL },
	  .named = { NAMED, "TargetName=" T_SMALL } },
	{ "named discovery and not", { NULL, NULL }, .named = { NAMED, NULL } },
};

/* A discovery session answers no ping, but what it is there for. */
static void alive(struct ini *i, bool is_discovery)
{
	static struct list l;

	if (is_discovery)
		send_targets(i, T_MAIN, &l);
	else
		still_works(i);
}

/* Sessions with one ISID: which one replaces which. */
START_TEST(same_isid)
{
	COVERS("N-013 N-014 N-034 N-035 N-036 N-037 S-003 S-041 L-015");
	const struct twin *t = &twins[_i];
	struct ini *i[2];

	for (unsigned n = 0; n < 2; n++) {
		struct ini_login l = { .initiator = t->other_name && n ? BASE "two" : NULL,
				       .target = t->target[n],
				       .keys = t->named[n] };

		i[n] = connect_to(t->other_portal && n ? server.port2 : server.port);
		memcpy(i[n]->isid, i[0]->isid, 6);
		ck_assert_msg(!try_login(i[n], &l), "%s: login %u", t->name, n);
	}
	if (t->ends)
		expect_close(i[0]);
	else
		alive(i[0], !t->target[0]);
	alive(i[1], !t->target[1]);
}
END_TEST

/* What the target says in a discovery session, and to whom it belongs. */
START_TEST(no_keys_of_a_vendor)
{
	COVERS("T-088 T-097");
	struct ini *i = connect_to(server.port);
	struct ini_login l = {
		.keys = "X-com.example.a=1\nX#NodeArchitecture=arch\nHeaderDigest=None"
	};
	static struct list list;
	struct ini_pdu p;

	ck_assert_int_eq(ini_login(i, &l, &p), 0);
	for (uint32_t at = 0; at < p.length; at += (uint32_t)strlen((char *)p.data + at) + 1) {
		const char *pair = (char *)p.data + at;

		ck_assert_msg(strncmp(pair, "X", 1) != 0 || strstr(pair, "=NotUnderstood"), "%s",
			      pair);
		ck_assert_msg(!strstr(pair, "NodeArchitecture"), "%s", pair);
	}
	ini_pdu_free(&p);
	send_targets(i, "All", &list); /* nothing there but names and addresses */
}
END_TEST

/* One that names its target is under the rules of normal sessions: with the ISID of one it takes
 * its place, and the reverse (RFC 7143 7.4.2.2). Hosts that use one ISID for all name none. */
START_TEST(named_discovery)
{
	COVERS("N-037");
	struct ini *normal = session_as(BASE "test", T_MAIN), *i = connect_to(server.port);

	memcpy(i->isid, normal->isid, 6);
	ck_assert_int_eq(
	    login_status(login_step(i, OP_TO_FULL, NAMES(T_MAIN) "\nSessionType=Discovery")), 0);
	expect_close(normal);
	normal = connect_to(server.port);
	memcpy(normal->isid, i->isid, 6);
	ck_assert_int_eq(
	    try_login(normal, &(struct ini_login){ .initiator = BASE "test", .target = T_MAIN }),
	    0);
	expect_close(i);
	still_works(normal);
}
END_TEST

void discovery_suite(TCase *c)
{
	add(c, all_targets);
	add(c, only_whom_it_admits);
	add(c, one_target);
	add(c, in_a_normal_session);
	add(c, list_in_parts);
	add(c, nothing_else);
	add_table(c, same_isid, twins);
	add(c, no_keys_of_a_vendor);
	add(c, named_discovery);
}
