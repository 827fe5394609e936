/* SPDX-License-Identifier: BSD-2-Clause */
/* UNH-IOL full feature phase, group 17: Text Requests of normal sessions (full text). */
#include "tests/protocol/unh.h"

#define MRDSL "MaxRecvDataSegmentLength"

/* Where a sequence of requests stands. */
struct sequence {
	uint32_t itt, ttt;
	uint8_t lun[8];
};

static struct sequence fresh(struct ini *i)
{
	return (struct sequence){ .itt = i->itt++, .ttt = ISCSI_TAG_RESERVED };
}

static void send_text(struct ini *i, const struct sequence *s, uint8_t flags, const char *text,
		      uint32_t length)
{
	struct bhs_text h;

	ini_text(i, &h, true);
	h.flags = flags;
	put_be32(h.itt, s->itt);
	put_be32(h.ttt, s->ttt);
	memcpy(h.lun, s->lun, 8);
	ck_assert(!ini_send(i, (uint8_t *)&h, text, length));
}

/* The response; what the next request of the sequence has to bear goes to s. */
static const struct ini_pdu *ask(struct ini *i, struct sequence *s, uint8_t flags, const char *text)
{
	const struct ini_pdu *p;

	send_text(i, s, flags, text, *text ? (uint32_t)strlen(text) + 1 : 0);
	p = expect(i, ISCSI_OP_TEXT_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_text, itt), s->itt);
	s->ttt = be32_of(p, bhs_text, ttt);
	memcpy(s->lun, bhs_of(p, bhs_text)->lun, 8);
	return p;
}

static void check_open(const struct ini_pdu *p)
{
	ck_assert_uint_eq(p->bhs[1] & ISCSI_FINAL, 0);
	ck_assert_uint_ne(be32_of(p, bhs_text, ttt), ISCSI_TAG_RESERVED);
}

static void check_final(const struct ini_pdu *p)
{
	ck_assert_uint_eq(p->bhs[1], ISCSI_FINAL);
	ck_assert_uint_eq(be32_of(p, bhs_text, ttt), ISCSI_TAG_RESERVED);
}

static struct ini *without_length(void)
{
	return session_keys(T_MAIN, "InitialR2T=Yes\nInitiatorAlias=me");
}

START_TEST(declared_in_two_steps)
{
	COVERS("U-061 U-063 P-127 T-037 T-038 T-039 T-072 T-074");
	struct ini *i = without_length();
	struct sequence s = fresh(i);

	check_open(ask(i, &s, 0, MRDSL "=1024"));
	check_final(ask(i, &s, ISCSI_FINAL, ""));
	i->max_recv = 1024;
	unh_prep(i);
	ck_assert_uint_eq(unh_largest_data_in(i), 1024);
}
END_TEST

START_TEST(other_itt)
{
	COVERS("U-071 T-046 P-156");
	struct ini *i = session_keys(T_MAIN, "InitialR2T=Yes");
	struct sequence s = fresh(i), other;
	const struct ini_pdu *p;

	ask(i, &s, 0, MRDSL "=1024");
	other = s;
	other.itt = i->itt++;
	send_text(i, &other, ISCSI_FINAL, "InitiatorAlias=me", 18);
	p = expect(i, ISCSI_OP_REJECT);
	ck_assert(p->bhs[2] == REJECT_INVALID_PDU_FIELD || p->bhs[2] == REJECT_PROTOCOL_ERROR);
	ck_assert_uint_eq(get_be32(p->data + 16), other.itt);
	/* The sequence has not ended by it. */
	unh_prep(i);
	ck_assert_uint_eq(unh_largest_data_in(i), 2048);
}
END_TEST

START_TEST(declared_twice)
{
	COVERS("U-072 T-042 T-043 T-044 T-072");
	struct ini *i = session(T_MAIN);
	struct sequence s = fresh(i), again;

	ask(i, &s, 0, MRDSL "=512");
	send_text(i, &s, 0, MRDSL "=512", sizeof(MRDSL "=512"));
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	again = (struct sequence){ .itt = s.itt, .ttt = ISCSI_TAG_RESERVED };
	check_open(ask(i, &again, 0, MRDSL "=512"));
	check_final(ask(i, &again, ISCSI_FINAL, ""));
	i->max_recv = 512;
	unh_prep(i);
	ck_assert_uint_eq(unh_largest_data_in(i), 512);
}
END_TEST

START_TEST(reset_by_the_reserved_tag)
{
	COVERS("U-073 T-043 T-044 T-046");
	struct ini *i = session_keys(T_MAIN, "InitialR2T=Yes");
	struct sequence s = fresh(i), other;

	ask(i, &s, 0, MRDSL "=512");
	other = s;
	other.itt = i->itt++;
	send_text(i, &other, 0, "InitiatorAlias=me", 18);
	expect(i, ISCSI_OP_REJECT);
	s.ttt = ISCSI_TAG_RESERVED;
	memset(s.lun, 0, 8);
	check_open(ask(i, &s, 0, MRDSL "=512"));
	check_final(ask(i, &s, ISCSI_FINAL, ""));
	i->max_recv = 512;
	unh_prep(i);
	ck_assert_uint_eq(unh_largest_data_in(i), 512);
}
END_TEST

/* There is no time limit on a sequence here; what it has said counts when it ends (6.4). */
START_TEST(left_open)
{
	COVERS("U-074 T-043 T-048 T-049");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=1024");
	struct sequence s = fresh(i);

	unh_prep(i);
	ask(i, &s, 0, MRDSL "=512");
	ck_assert_uint_eq(unh_largest_data_in(i), 1024);
}
END_TEST

START_TEST(out_of_range)
{
	COVERS("U-075 P-157 T-049 T-071");
	struct ini *i = session_keys(T_MAIN, "InitialR2T=Yes");
	struct sequence s = fresh(i);
	const struct ini_pdu *p;

	unh_prep(i);
	ck_assert_uint_eq(i->max_recv, 8192);
	send_text(i, &s, ISCSI_FINAL, MRDSL "=511", sizeof(MRDSL "=511"));
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert(p != NULL);
	if (p->bhs[0] == ISCSI_OP_REJECT)
		ck_assert_uint_eq(p->bhs[2], REJECT_PROTOCOL_ERROR);
	else
		ck_assert_str_eq(ini_value(p, MRDSL), "Reject");
	ck_assert_uint_eq(unh_largest_data_in(i), 2048);
	s = fresh(i);
	check_final(ask(i, &s, ISCSI_FINAL, MRDSL "=1024"));
	i->max_recv = 1024;
	ck_assert_uint_eq(unh_largest_data_in(i), 1024);
}
END_TEST

/* As the suite cuts them: an alias of 240 bytes, a key of 250 in all, and something more. */
static uint32_t long_text(char *text, const char *begins)
{
	char value[241];
	int n;

	memset(value, 'a', 240);
	value[240] = '\0';
	n = snprintf(text, 600, "InitiatorAlias=%s", value) + 1;
	value[250 - strlen("X-org.example.first=")] = '\0';
	n += snprintf(text + n, 600 - (size_t)n, "X-org.example.first=%s", value) + 1;
	return (uint32_t)(n + snprintf(text + n, 600 - (size_t)n, "%s", begins));
}

static const struct ini_pdu *in_two(struct ini *i, const char *begins, const char *rest)
{
	struct sequence s = fresh(i);
	const struct ini_pdu *p;
	char text[600];

	send_text(i, &s, ISCSI_CONTINUE, text, long_text(text, begins));
	p = expect(i, ISCSI_OP_TEXT_RESPONSE);
	ck_assert_uint_eq(p->length, 0);
	check_open(p);
	s.ttt = be32_of(p, bhs_text, ttt);
	memcpy(s.lun, bhs_of(p, bhs_text)->lun, 8);
	p = ask(i, &s, ISCSI_FINAL, rest);
	check_final(p);
	ck_assert_str_eq(ini_value(p, "X-org.example.first"), "NotUnderstood");
	ck_assert_ptr_null(ini_value(p, "InitiatorAlias"));
	return p;
}

START_TEST(cut_between_keys)
{
	COVERS("U-076 T-005 T-016 T-020 T-087 N-042");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=512");
	const struct ini_pdu *p = in_two(i, "X-org.example.sec", "ond=value");

	ck_assert_str_eq(ini_value(p, "X-org.example.second"), "NotUnderstood");
}
END_TEST

START_TEST(cut_within_a_key)
{
	COVERS("U-078 T-005 T-016 T-043 T-072");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=1024");

	unh_prep(i);
	ck_assert_uint_eq(unh_largest_data_in(i), 1024);
	in_two(i, "MaxRecvDataSegment", "Length=512");
	i->max_recv = 512;
	ck_assert_uint_eq(unh_largest_data_in(i), 512);
}
END_TEST

START_TEST(continued_and_final)
{
	COVERS("U-077 T-015 T-049");
	struct ini *i = session_keys(T_MAIN, "MaxRecvDataSegmentLength=1024");
	struct sequence s = fresh(i);

	unh_prep(i);
	ck_assert_uint_eq(unh_largest_data_in(i), 1024);
	send_text(i, &s, ISCSI_CONTINUE | ISCSI_FINAL, MRDSL "=512", sizeof(MRDSL "=512"));
	expect_reject(i, REJECT_PROTOCOL_ERROR);
	ck_assert_uint_eq(unh_largest_data_in(i), 1024);
}
END_TEST

/* --- SendTargets: an open sequence, all, none, one -------------------------------------------- */

/* How many records, and how many of them bear this name. */
static unsigned records(const struct ini_pdu *p, const char *name, unsigned *named)
{
	unsigned n = 0;

	*named = 0;
	for (uint32_t at = 0; at < p->length; at += (uint32_t)strlen((char *)p->data + at) + 1) {
		const char *pair = (char *)p->data + at;

		if (!strncmp(pair, "TargetName=", 11)) {
			n++;
			*named += name && !strcmp(pair + 11, name);
			ck_assert_msg(strcmp(pair + 11, "iscsi") != 0, "the default name");
			continue;
		}
		ck_assert_msg(!strncmp(pair, "TargetAddress=", 14) && strrchr(pair, ','), "%s",
			      pair);
	}
	return n;
}

START_TEST(open_in_discovery)
{
	COVERS("U-060 U-062 P-127 P-128 T-037 T-038");
	struct ini *i = connect_to(server.port);
	const struct ini_pdu *p;
	struct sequence s;

	ck_assert_int_eq(try_login(i, &(struct ini_login){ .keys = MRDSL "=512" }), 0);
	s = fresh(i);
	p = ask(i, &s, 0, "SendTargets=All");
	check_open(p);
	ck_assert_uint_le(p->length, 512);
}
END_TEST

static const struct send_targets {
	const char *ids, *value;
	const char *of;    /* a discovery session with this TargetName; NULL: a normal one */
	const char *only;  /* the one target that is told of; NULL: all, or none */
	bool all, refused; /* refused: SendTargets=Reject, or a Reject PDU */
} send_targets[] = {
	{ "U-064 N-019 N-020 N-027 N-029", "All", .of = "", .all = true },
	{ "U-065 N-027 T-105", "", .of = T_SMALL, .only = T_SMALL },
	{ "U-065 N-027 T-105", "", .of = "" },
	{ "U-066 N-021", "All", .refused = true },
	{ "U-067 N-024 N-026 N-027", "", .only = T_MAIN },
	{ "U-068 N-022", T_SMALL, .of = "", .only = T_SMALL },
};

static struct ini *session_for(const struct send_targets *t)
{
	struct ini *i;

	if (!t->of)
		return session(T_MAIN);
	i = connect_to(server.port);
	ck_assert_int_eq(
	    try_login(i, &(struct ini_login){ .keys = *t->of ? "TargetName=" T_SMALL : NULL }), 0);
	return i;
}

START_TEST(targets)
{
	const struct send_targets *t = &send_targets[_i];
	COVERS(t->ids);
	struct ini *i = session_for(t);
	struct sequence s = fresh(i);
	const struct ini_pdu *p;
	unsigned n, named;
	char text[256];

	snprintf(text, sizeof(text), "SendTargets=%s", t->value);
	send_text(i, &s, ISCSI_FINAL, text, (uint32_t)strlen(text) + 1);
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert(p != NULL);
	if (t->refused) {
		const char *v =
		    p->bhs[0] == ISCSI_OP_TEXT_RESPONSE ? ini_value(p, "SendTargets") : "Reject";

		ck_assert_str_eq(v ? v : "none", "Reject");
	} else {
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_TEXT_RESPONSE);
		check_final(p);
		n = records(p, t->only, &named);
		ck_assert_msg(t->all ? n > 5 : n == (t->only != NULL), "%u targets", n);
		ck_assert_uint_eq(named, t->only != NULL);
	}
}
END_TEST

/* --- What a discovery session does not take ----------------------------------------------------
 */
START_TEST(other_keys_in_discovery)
{
	COVERS("U-069 N-017");
	struct ini *i = discovery();
	struct sequence s = fresh(i);
	const struct ini_pdu *p;

	send_text(i, &s, ISCSI_FINAL, MRDSL "=1024", sizeof(MRDSL "=1024"));
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert(p != NULL);
	/* Irrelevant, says the suite; a Reject PDU, RFC 7143 4.3. */
	if (p->bhs[0] == ISCSI_OP_TEXT_RESPONSE)
		ck_assert_str_eq(ini_value(p, MRDSL), "Irrelevant");
	else
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_REJECT);
	s = fresh(i);
	check_final(ask(i, &s, ISCSI_FINAL, "SendTargets=All"));
}
END_TEST

START_TEST(logout_for_recovery_in_discovery)
{
	COVERS("U-070 N-017 N-038 P-133");
	struct ini *i = discovery();
	struct sequence s = fresh(i);
	struct bhs_logout_request h;
	const struct ini_pdu *p;

	ask(i, &s, ISCSI_FINAL, "SendTargets=All");
	ini_logout(i, &h, LOGOUT_RECOVERY);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = await_pdu(i, patience(INI_WAIT_MS));
	ck_assert(p != NULL);
	if (p->bhs[0] == ISCSI_OP_LOGOUT_RESPONSE)
		ck_assert_uint_eq(p->bhs[2], LOGOUT_RSP_NO_RECOVERY);
	else
		ck_assert_uint_eq(p->bhs[0], ISCSI_OP_REJECT);
}
END_TEST

void unh_text_suite(TCase *c)
{
	add(c, open_in_discovery);
	add(c, declared_in_two_steps);
	add_table(c, targets, send_targets);
	add(c, other_keys_in_discovery);
	add(c, logout_for_recovery_in_discovery);
	add(c, other_itt);
	add(c, declared_twice);
	add(c, reset_by_the_reserved_tag);
	add(c, left_open);
	add(c, out_of_range);
	add(c, cut_between_keys);
	add(c, continued_and_final);
	add(c, cut_within_a_key);
}
