/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reservations over several sessions, portal groups and restarts: what Windows cluster validation,
 * fence_scsi and ESXi send, in their order.
 */
#include "tests/protocol/reserve.h"

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

/* Validate SCSI-3 Persistent Reservation: two nodes, the second takes over. */
START_TEST(windows_cluster)
{
	COVERS("SU-016 SR-031 SR-030");
	struct ini *a = node(NODE1), *b = node(NODE2);
	uint8_t keys[8];

	ck_assert_uint_eq(pr_out(a, REGISTER_IGNORE, 0, 0, 0, 0), 0); /* not registered */
	ck_assert_uint_eq(pr_out(b, REGISTER_IGNORE, 0, 0, 0, 0), 0);
	ck_held(a, 0, 0);
	ck_assert_uint_eq(pr_out(a, REGISTER_IGNORE, 0, 0, 0xa, 0), 0);
	ck_assert_uint_eq(pr_out(b, REGISTER, 0, 0, 0xb, 0), 0);
	ck_assert_uint_eq(pr_out(a, RESERVE, 5, 0xa, 0, 0), 0);
	ck_held(a, 5, 0xa);
	ck_held(b, 5, 0xa);
	ck_assert_uint_eq(count_keys(b, 0xa), 1);
	ck_assert_uint_eq(count_keys(a, 0xb), 1);
	ck_assert_uint_eq(pr_out(b, RESERVE, 5, 0xb, 0, 0), CONFLICT);
	ck_assert_uint_eq(rw(b, WRITE10), 0); /* registered */
	ck_assert_uint_eq(pr_out(b, REGISTER, 0, 0xb, 0, 0), 0);
	ck_assert_uint_eq(rw(b, WRITE10), CONFLICT);
	ck_assert_uint_eq(rw(b, READ10), 0);
	ck_assert_uint_eq(pr_out(b, REGISTER, 0, 0, 0xb, 0), 0);
	for (int defence = 0; defence < 3; defence++) /* the owner looks and registers again */
		ck_assert_uint_eq(pr_in(a, 0, keys, 8), 8);
	ck_assert_uint_eq(pr_out(b, PREEMPT, 5, 0xb, 0xa, 0), 0);
	ck_held(b, 5, 0xb);
	ck_assert_uint_eq(rw(a, WRITE10), UA(0x2a05));
	ck_assert_uint_eq(rw(a, WRITE10), CONFLICT);
	ck_assert_uint_eq(pr_out(a, RELEASE, 5, 0xa, 0, 0), CONFLICT);
	ck_assert_uint_eq(pr_out(b, RELEASE, 5, 0xb, 0, 0), 0);
	ck_assert_uint_eq(rw(a, WRITE10), 0);
	ck_assert_uint_eq(pr_out(b, CLEAR, 0, 0xb, 0, 0), 0);
	ck_assert_uint_eq(count_keys(a, 0xb), 0);
}
END_TEST

/* fence_scsi: every node registers with its key on every path, one reserves (type 5), and who is
 * fenced loses its key by PREEMPT AND ABORT; a fenced node that comes back may not register itself
 * as long as it does not ignore what it sees. */
START_TEST(fence_scsi)
{
	COVERS("SR-036 SR-039");
	struct ini *a = node(NODE1), *a2 = node(NODE1), *b = node(NODE2);
	uint8_t before[8], after[8];

	ck_assert_uint_eq(pr_out(a, REGISTER_IGNORE, 0, 0, 0x1001, 0), 0);
	ck_assert_uint_eq(pr_out(a2, REGISTER_IGNORE, 0, 0, 0x1001, 0), 0);
	ck_assert_uint_eq(pr_out(b, REGISTER_IGNORE, 0, 0, 0x1002, 0), 0);
	ck_assert_uint_eq(pr_out(a, RESERVE, 5, 0x1001, 0, 0), 0);
	ck_assert_uint_eq(pr_out(b, RESERVE, 5, 0x1002, 0, 0), CONFLICT);
	ck_assert_uint_eq(count_keys(b, 0x1001), 2);
	pr_in(b, 0, before, 8);
	ck_assert_uint_eq(pr_out(b, PREEMPT_AND_ABORT, 5, 0x1002, 0x1001, 0), 0);
	pr_in(b, 0, after, 8);
	ck_assert_uint_eq(get_be32(after), get_be32(before) + 1);
	ck_held(b, 5, 0x1002);
	ck_assert_uint_eq(count_keys(b, 0x1001), 0);
	for (int path = 0; path < 2; path++) {
		struct ini *i = path ? a2 : a;

		ck_assert_uint_eq(rw(i, WRITE10), UA(0x2a05));
		ck_assert_uint_eq(rw(i, WRITE10), CONFLICT);
		ck_assert_uint_eq(rw(i, READ10), 0);
		ck_assert_uint_eq(pr_out(i, PREEMPT_AND_ABORT, 5, 0x1001, 0x1002, 0), CONFLICT);
	}
	ck_assert_uint_eq(pr_out(b, PREEMPT_AND_ABORT, 5, 0x1002, 0x1001, 0), CONFLICT);
	ck_assert_uint_eq(rw(b, WRITE10), 0);
	tidy(b);
}
END_TEST

/* VMFS without ATS, and what frees the LUN of a host that is gone. */
START_TEST(esxi_reserve)
{
	COVERS("SR-046");
	struct ini *a = node(NODE1), *b = node(NODE2);

	ck_assert_uint_eq(plain(a, "16 00 00 00 00 00"), 0);
	ck_assert_uint_eq(rw(a, READ10), 0);
	ck_assert_uint_eq(rw(a, WRITE10), 0);
	ck_assert_uint_eq(rw(b, READ10), CONFLICT);
	ck_assert_uint_eq(rw(b, WRITE10), CONFLICT);
	ck_assert_uint_eq(plain(b, "16 00 00 00 00 00"), CONFLICT);
	ck_assert_uint_eq(plain(b, "17 00 00 00 00 00"), 0);
	ck_assert_uint_eq(rw(b, WRITE10), CONFLICT);
	ck_assert_uint_eq(plain(b, "00 00 00 00 00 00"), CONFLICT);
	ck_assert_uint_eq(plain(a, "17 00 00 00 00 00"), 0);
	ck_assert_uint_eq(rw(b, WRITE10), 0);

	ck_assert_uint_eq(plain(a, "16 00 00 00 00 00"), 0);
	tmf(b, ISCSI_TMF_LU_RESET, 0, ISCSI_TMF_RSP_COMPLETE);
	ready(b, 0);
	ck_assert_uint_eq(rw(b, WRITE10), 0);
	ready(a, 0);
	ck_assert_uint_eq(plain(a, "16 00 00 00 00 00"), 0);
	ini_close(a);
	for (int64_t limit = clock_ms() + patience(5000); rw(b, WRITE10) == CONFLICT;)
		ck_assert(clock_ms() < limit);
	ck_assert_uint_eq(rw(b, WRITE10), 0);
}
END_TEST

/* The session ends, the registration stays; the same port is the same port in another session, and
 * in another portal group with ALL_TG_PT only. */
START_TEST(sessions_come_and_go)
{
	COVERS("N-046 N-011 S-035 S-036 SR-023 SR-045");
	struct ini *a = node(NODE1), *b = node(NODE2), *again, *group2;
	struct ini_login l = { .initiator = NODE1, .target = T_PR };
	uint8_t status[1024];
	uint32_t n;

	ck_assert_uint_eq(pr_out(a, REGISTER, 0, 0, 0xa1, 0), 0);
	ck_assert_uint_eq(pr_out(a, RESERVE, 6, 0xa1, 0, 0), 0);
	ini_close(a);
	ck_assert_uint_eq(rw(b, READ10), CONFLICT);
	again = connect_to(server.port);
	memcpy(again->isid, a->isid, 6);
	ck_assert_int_eq(try_login(again, &l), 0);
	ready(again, 0);
	ck_assert_uint_eq(rw(again, WRITE10), 0);
	ck_assert_uint_eq(rw(b, READ10), CONFLICT);
	ck_held(b, 6, 0xa1);

	group2 = connect_to(server.port2);
	memcpy(group2->isid, a->isid, 6);
	ck_assert_int_eq(try_login(group2, &l), 0);
	ready(group2, 0);
	ck_assert_uint_eq(rw(group2, WRITE10), CONFLICT);
	ck_assert_uint_eq(pr_out(again, REGISTER_IGNORE, 0, 0, 0xa1, ALL_TG_PT), 0);
	ck_assert_uint_eq(rw(group2, WRITE10), 0);
	ck_assert_uint_eq(count_keys(b, 0xa1), 2);
	n = pr_in(b, 3, status, sizeof(status));
	ck_assert_uint_eq(get_be32(status + 4) + 8, n);
	ck_assert_uint_ne(get_be16(status + 8 + 18),
			  get_be16(status + 8 + 24 + get_be32(status + 8 + 20) + 18));
	/* Another ISID is another port. */
	a = node(NODE1);
	ck_assert_uint_eq(rw(a, READ10), CONFLICT);
	tidy(b);
}
END_TEST

/* A name that no rule admits cannot be registered, and then nobody is. */
START_TEST(spec_i_pt)
{
	COVERS("SR-024 fault-F04");
	struct ini *a = node(NODE1), *b = node(NODE2);
	uint8_t list[256] = { 0 };
	struct ini_scsi c = { .cdb = { 0x5f }, .cdb_length = 10, .out = list };
	char *name[2] = { (char *)list + 32, (char *)list + 32 + 76 };

	for (int row = 0; row < 3; row++) {
		memset(list, 0, sizeof(list));
		put_be64(list + 8, 0xcc);
		list[20] = 0x08;
		put_be32(list + 24, 2 * 76);
		for (int id = 0; id < 2; id++) {
			put_be32(list + 28 + 76 * id, 0x45000048);
			snprintf(name[id], 72, "%s,i,0x%012llx",
				 row == 2 || !id ? NODE2
				 : row           ? "nonsense"
						 : BASE "Node\xff",
				 (unsigned long long)get_be48(b->isid) + (unsigned)id);
		}
		c.edtl = 28 + 2 * 76;
		put_be32(c.cdb + 5, c.edtl);
		ck_assert(!ini_scsi(a, &c));
		ck_assert_uint_eq(result_of(&c), row == 2 ? 0 : 0x052600);
		ck_assert_uint_eq(count_keys(b, 0xcc), row == 2 ? 3 : 0);
	}
	ck_assert_uint_eq(pr_out(b, RESERVE, 3, 0xcc, 0, 0), 0); /* without having registered */
	tidy(a);
}
END_TEST

/* A node that may ask what has become of a command. */
static struct ini *asking_node(const char *name)
{
	struct ini_login l = {
		.initiator = name,
		.target = T_PR,
		.keys = USUAL("65536", "Yes", "No") "\niSCSIProtocolLevel=2",
	};
	struct ini *i = connect_to(server.port);

	ck_assert_int_eq(try_login(i, &l), 0);
	ready(i, 0);
	return i;
}

/* Receives the response to a command that another node may stop, false: it was stopped, and will
 * not be answered. That is known when QUERY TASK does not find it any more: an answer would have
 * come first. */
static bool finish_or_gone(struct ini *i, struct ini_scsi *c)
{
	struct bhs_tmf_request query = { .itt = { 0xff, 0xff, 0xff, 0xff } };

	for (;;) {
		struct pollfd waiting = { .fd = i->fd, .events = POLLIN };
		bool gone;
		struct ini_pdu p;
		int rc;

		if (!poll(&waiting, 1, patience(25))) {
			ini_tmf(i, &query, ISCSI_TMF_QUERY_TASK, c->lun);
			put_be32(query.referenced_tag, c->itt);
			put_be32(query.ref_cmdsn, i->cmdsn - 1);
			ck_assert(!ini_send(i, (uint8_t *)&query, NULL, 0));
		}
		rc = ini_receive(i, &p, patience(INI_WAIT_MS));
		ck_assert_int_eq(rc, 1);
		gone = (p.bhs[0] & ISCSI_OPCODE_MASK) == ISCSI_OP_TMF_RESPONSE &&
		       be32_of(&p, bhs_tmf_response, itt) == get_be32(query.itt) &&
		       p.bhs[2] == ISCSI_TMF_RSP_COMPLETE;
		rc = ini_scsi_take(i, c, &p);
		ini_pdu_free(&p);
		ck_assert_int_ge(rc, 0);
		if (rc || gone)
			return rc;
	}
}

/* A storm of takeovers from both sides: each takes effect whole, and PRGENERATION counts them. */
START_TEST(storm)
{
	COVERS("SR-049");
	struct ini *n[2] = { asking_node(NODE1), asking_node(NODE2) };
	uint8_t b[8];
	uint32_t first, changes = 0;

	tidy(n[0]);
	ready(n[1], 0);
	pr_in(n[0], 0, b, 8);
	first = get_be32(b);
	for (unsigned round = 0; round < 250; round++) {
		uint8_t lists[2][24] = { 0 };
		struct ini_scsi c[2] = { 0 };

		for (unsigned i = 0; i < 2; i++) {
			put_be64(lists[i] + 8, 0x100 + i);
			c[i] = (struct ini_scsi){ .cdb = { 0x5f, REGISTER_IGNORE },
						  .cdb_length = 10,
						  .out = lists[i],
						  .edtl = 24 };
			if (round % 2) {
				put_be64(lists[i], 0x100 + i);
				put_be64(lists[i] + 8, 0x101 - i);
				c[i].cdb[1] = round % 4 == 1 ? PREEMPT : PREEMPT_AND_ABORT;
				c[i].cdb[2] = 5;
			}
			put_be32(c[i].cdb + 5, 24);
			ck_assert(!ini_scsi_start(n[i], &c[i]));
		}
		for (unsigned i = 0, silent = 0; i < 2; i++) {
			unsigned r;

			/* PREEMPT AND ABORT may stop the other's, which then says nothing (TAS=0),
			 * and has not been. */
			if (!finish_or_gone(n[i], &c[i])) {
				ck_assert_uint_eq(c[i].cdb[1], PREEMPT_AND_ABORT);
				ck_assert_msg(!silent++, "round %u: neither was done", round);
				ready(n[i], 0);
				continue;
			}
			r = result_of(&c[i]);
			ck_assert_msg(!r || r == CONFLICT || r == UA(0x2a05), "%06x", r);
			changes += !r;
			ready(n[i], 0);
		}
	}
	pr_in(n[0], 0, b, 8);
	ck_assert_uint_eq(get_be32(b), first + changes);
	ck_assert_uint_ge(changes, 250);
	tidy(n[0]);
}
END_TEST

static const char *config_kept(const struct server *s)
{
	static char text[2048];

	snprintf(
	    text, sizeof(text),
	    "daemon = { socket = \"%s/admin.sock\"; state_dir = \"%s/state\"; reactors = 2; };\n"
	    "portals = ( { address = \"127.0.0.1\"; port = %u; group = 1; } );\n"
	    "lus = ( { name = \"disk\"; type = \"ram\"; size = \"4MiB\"; },\n"
	    "  { name = \"other\"; type = \"ram\"; size = \"4MiB\"; } );\n"
	    "targets = ( { name = \"" T_PR "\"; access = ( { any = true; } );\n"
	    "  luns = ( { lun = 0; lu = \"disk\"; }, { lun = 1; lu = \"other\"; } ); } );\n",
	    s->dir, s->dir, s->port);
	return text;
}

static struct ini *node_of(const struct server *s, const char *name, const uint8_t *isid)
{
	struct ini_login l = { .initiator = name, .target = T_PR };
	struct ini *i = connect_to(s->port);

	memcpy(i->isid, isid, 6);
	ck_assert_int_eq(try_login(i, &l), 0);
	return i;
}

/* The file that holds them, written over. */
static void damage(const struct server *s)
{
	char folder[128], path[400];
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s/state/pr", s->dir);
	d = opendir(folder);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		ck_assert(!truncate(path, 40));
	}
	closedir(d);
}

/* Killed after each answer, it comes back with what it answered; with the file torn, the unit stays
 * away, and only that one. */
START_TEST(kept_over_a_kill)
{
	COVERS("SR-025 fault-F07");
	static const uint8_t isid[6] = { 0, 2, 0x3d, 0, 0, 1 };
	struct server mine = { 0 };
	struct ini *a, *b;
	uint8_t head[8];

	ck_assert(!server_start(&mine, config_kept));
	a = node_of(&mine, NODE1, isid);
	ready(a, 0);
	ck_assert_uint_eq(pr_out(a, REGISTER, 0, 0, 0xaa, APTPL), 0);
	ck_assert_uint_eq(pr_out(a, RESERVE, 3, 0xaa, 0, 0), 0);
	pr_in(a, 0, head, 8);
	ck_assert_uint_eq(get_be32(head), 1);
	ck_assert(!server_kill_and_restart(&mine));
	a = node_of(&mine, NODE1, isid);
	b = node_of(&mine, NODE2, isid);
	ready(a, 0);
	ready(b, 0);
	ck_held(b, 3, 0xaa);
	pr_in(a, 0, head, 8);
	ck_assert_uint_eq(get_be32(head), 0);
	ck_assert_uint_eq(rw(b, READ10), CONFLICT);
	ck_assert_uint_eq(rw(a, WRITE10), 0);
	pr_in(b, 2, head, 8);
	ck_assert_uint_eq(head[3] & 1, 1); /* PTPL_A */
	damage(&mine);
	ck_assert(!server_kill_and_restart(&mine));
	a = node_of(&mine, NODE1, isid);
	ck_assert_uint_eq(plain(a, "00 00 00 00 00 00"), UA(0x2900));
	ck_assert_uint_eq(plain(a, "00 00 00 00 00 00"), 0x020403);
	ck_assert_uint_eq(rw(a, READ10), 0x020403);
	ready(a, 1);
	server_stop(&mine);
}
END_TEST

/* The last registration without APTPL: nothing comes back. */
START_TEST(not_kept)
{
	COVERS("SR-025 SA-019");
	static const uint8_t isid[6] = { 0, 2, 0x3d, 0, 0, 1 };
	struct server mine = { 0 };
	struct ini *a, *b;

	ck_assert(!server_start(&mine, config_kept));
	a = node_of(&mine, NODE1, isid);
	b = node_of(&mine, NODE2, isid);
	ready(a, 0);
	ready(b, 0);
	ck_assert_uint_eq(pr_out(a, REGISTER, 0, 0, 0xaa, APTPL), 0);
	ck_assert_uint_eq(pr_out(a, RESERVE, 3, 0xaa, 0, 0), 0);
	ck_assert_uint_eq(pr_out(b, REGISTER, 0, 0, 0xbb, 0), 0);
	ck_assert(!server_kill_and_restart(&mine));
	b = node_of(&mine, NODE2, isid);
	ready(b, 0);
	ck_held(b, 0, 0);
	ck_assert_uint_eq(count_keys(b, 0xbb), 0);
	ck_assert_uint_eq(rw(b, WRITE10), 0);
	server_stop(&mine);
}
END_TEST

void reserve_suite(TCase *c)
{
	add(c, windows_cluster);
	add(c, fence_scsi);
	add(c, esxi_reserve);
	add(c, sessions_come_and_go);
	add(c, spec_i_pt);
	add(c, storm);
	add(c, kept_over_a_kill);
	add(c, not_kept);
}
