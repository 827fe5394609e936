/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameter lists of PERSISTENT RESERVE OUT: framing, TransportIDs, ports; and the answers of IN.
 */
#include "tests/unit/scsi/pr_fixture.h"

#define NAME   "iqn.2026-01.org.example:host"
#define LENGTH 0x051a00u /* parameter list length error */
#define PARAM  0x052600u /* invalid field in parameter list */

/* Nothing has been registered that was not before. */
static unsigned registrations(void)
{
	uint8_t b[8];

	pr_in(A, 0, sizeof(b), b);
	return get_be32(b + 4) / 8;
}

/* A TransportID at this place of the list; its length. */
static uint32_t put_id(uint32_t at, uint8_t first, const char *text, uint32_t length)
{
	memset(pr_list + at, 0, length);
	pr_list[at] = first;
	put_be16(pr_list + at + 2, (uint16_t)(length - 4));
	memcpy(pr_list + at + 4, text, strlen(text) < length - 4 ? strlen(text) : length - 4);
	return length;
}

static uint32_t put_name(uint32_t at, const char *text)
{
	uint32_t length = 4 + ((uint32_t)strlen(text) + 4) / 4 * 4;

	return put_id(at, strstr(text, ",i,0x") ? 0x45 : 0x05, text, length < 24 ? 24 : length);
}

/* REGISTER with SPEC_I_PT by A; ids: bytes of TransportIDs that are there. */
static unsigned spec(uint32_t ids)
{
	pr_keys(0, KEY_A, SPEC_I_PT);
	put_be32(pr_list + 24, ids);
	return pr_result(pr_task(A, PR_REGISTER, 0, 28 + ids));
}

static void forget_all(void)
{
	pr_good(A, PR_REGISTER_IGNORE, 0, 0, KEY_A);
	pr_good(A, PR_CLEAR, 0, KEY_A, 0);
	for (int i = 0; i < FX_NEXUS; i++)
		fx_take_ua(&fx_nexus[i]);
}

START_TEST(framing)
{
	COVERS("SR-016 SR-051");
	fx_setup(BACKING_INLINE);
	for (unsigned action = 0; action < 8; action++) {
		for (uint32_t length = 0; length < 24; length++) {
			pr_keys(0, KEY_A, 0);
			ck_result(pr_result(pr_task(A, action, 1, length)), LENGTH);
		}
		if (action == PR_REGISTER_AND_MOVE)
			continue;
		memset(pr_list, 0, 64);
		pr_keys(0, KEY_A, 0);
		ck_result(pr_result(pr_task(A, action, 1, 25)), LENGTH);
		ck_result(pr_result(pr_task(A, action, 1, 64)), LENGTH);
	}
	pr_keys(0, KEY_A, 0);
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 0x10001)), LENGTH);
	ck_assert_uint_eq(registrations(), 0);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	for (unsigned action = 1; action < 7; action++) {
		pr_keys(KEY_A, KEY_B, SPEC_I_PT);
		ck_result(pr_result(pr_task(A, action, 1, 24)), PARAM);
		pr_keys(action == PR_REGISTER_IGNORE ? KEY_A : KEY_B, KEY_B, SPEC_I_PT);
		ck_result(pr_result(pr_task(A, action, 1, 28)),
			  action == PR_REGISTER_IGNORE ? PARAM : CONFLICT);
	}
	fx_teardown();
}
END_TEST

/* Less data than the CDB says. */
START_TEST(cut_short)
{
	COVERS("SR-016");
	fx_setup(BACKING_INLINE);
	for (uint32_t sent = 0; sent < 24; sent++) {
		struct fake_task *f;

		pr_keys(0, KEY_A, 0);
		f = pr_task(A, PR_REGISTER, 0, 24);
		f->t.edtl = sent;
		ck_result(pr_result(f), LENGTH);
	}
	ck_assert_uint_eq(registrations(), 0);
	fx_teardown();
}
END_TEST

START_TEST(transport_ids)
{
	COVERS("SR-024 SR-056");
	static const struct {
		const char *text;
		uint8_t first;
		uint32_t length; /* 0: as it should be */
		bool good;
	} rows[] = {
		{ NAME "1,i,0x00023d000001", 0x45, 0, true },
		{ NAME "9,i,0x00023d000001", 0x45, 0, true }, /* not there now */
		{ NAME "9,i,0x00023D00000F", 0x45, 0, true },
		{ "IQN.2026-01.org.example:HOST1,i,0x00023d000001", 0x45, 0, true },
		{ NAME "1,i,0x00023d000001", 0x45, 200, true }, /* much padding */
		{ "naa.0123456789abcdef,i,0x000000000000", 0x45, 0, true },
		{ NAME "1", 0x05, 0, true },
		{ NAME "9", 0x05, 0, false }, /* no port of it is known */
		{ NAME, 0x05, 0, false },     /* the beginning of a name is not the name */
		{ NAME "1", 0x45, 0, false },
		{ NAME "1,i,0x00023d000001", 0x05, 0, false },
		{ NAME "1,i,0x00023d00001", 0x45, 0, false },
		{ NAME "1,i,0x00023d0000001", 0x45, 0, false },
		{ NAME "1,i,0x00023d00000g", 0x45, 0, false },
		{ NAME "1,i,0x", 0x45, 0, false },
		{ ",i,0x00023d000001", 0x45, 0, false },
		{ NAME "1,t,0x0001", 0x45, 0, false },
		{ "host,i,0x00023d000001", 0x45, 0, false },
		{ NAME " 1,i,0x00023d000001", 0x45, 0, false },
		{ NAME "1,i,0x00023d000001", 0x45, 24, false }, /* no end */
		{ NAME "1,i,0x00023d000001", 0x85, 0, false },  /* formats 10b, 11b */
		{ NAME "1,i,0x00023d000001", 0xc5, 0, false },
		{ NAME "1,i,0x00023d000001", 0x46, 0, false }, /* other protocols */
		{ NAME "1,i,0x00023d000001", 0x40, 0, false },
		{ NAME "1,i,0x00023d000001", 0x55, 0, false }, /* reserved bit */
	};

	fx_setup(BACKING_INLINE);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t n = put_name(28, rows[i].text);

		if (rows[i].length)
			n = put_id(28, rows[i].first, rows[i].text, rows[i].length);
		pr_list[28] = rows[i].first;
		ck_assert_msg(spec(n) == (rows[i].good ? 0 : PARAM), "%s", rows[i].text);
		ck_assert_uint_eq(registrations(), rows[i].good ? 2 : 0);
		forget_all();
	}
	fx_teardown();
}
END_TEST

/* The text does not end, the padding is none, the name is as long as can be, and longer. */
START_TEST(long_names)
{
	COVERS("SR-056 fault-F04");
	char text[400];

	fx_setup(BACKING_INLINE);
	for (unsigned length = 200; length < 260; length++) {
		uint32_t n;

		memset(text, 'x', length);
		memcpy(text, "iqn.", 4);
		snprintf(text + length, sizeof(text) - length, ",i,0x00023d000001");
		n = put_name(28, text);
		ck_assert_msg(spec(n) == (length <= 223 ? 0 : PARAM), "%u bytes", length);
		forget_all();
	}
	for (uint32_t n = 24; n <= 244; n += 4) {
		put_id(28, 0x45, "", n);
		memset(pr_list + 32, 'a', n - 4);
		ck_result(spec(n), PARAM);
		put_id(28, 0x45, NAME "1,i,0x00023d000001", n);
		pr_list[28 + n - 1] = 'x';
		ck_result(spec(n), PARAM);
	}
	ck_assert_uint_eq(registrations(), 0);
	fx_teardown();
}
END_TEST

/* Any fault and nobody is registered, at every length. */
START_TEST(spec_lengths)
{
	COVERS("SR-024 SR-052 fault-F04");
	uint32_t n, second;

	fx_setup(BACKING_INLINE);
	n = put_name(28, NAME "1,i,0x00023d000001");
	second = n + put_name(28 + n, NAME "2,i,0x00023d000002");
	for (uint32_t length = 28; length < 28 + second; length++) {
		pr_keys(0, KEY_A, SPEC_I_PT);
		put_be32(pr_list + 24, second); /* lies */
		ck_result(pr_result(pr_task(A, PR_REGISTER, 0, length)), PARAM);
		put_be32(pr_list + 24, length - 28); /* cuts */
		if (length == 28 || length == 28 + n)
			continue;
		ck_result(pr_result(pr_task(A, PR_REGISTER, 0, length)), PARAM);
	}
	ck_assert_uint_eq(registrations(), 0);
	for (uint32_t length = 24; length < 28; length++) {
		pr_keys(0, KEY_A, SPEC_I_PT);
		ck_result(pr_result(pr_task(A, PR_REGISTER, 0, length)), LENGTH);
	}
	for (unsigned inner = 0; inner < 0x10000; inner += 251) {
		put_be16(pr_list + 30, (uint16_t)inner);
		if (inner != n - 4)
			ck_result(spec(second), PARAM);
	}
	put_be16(pr_list + 30, (uint16_t)(n - 4));
	put_name(28 + n, NAME "2,i,0x00023d00000x"); /* one known, one that is nonsense */
	ck_result(spec(second), PARAM);
	ck_assert_uint_eq(registrations(), 0);
	fx_teardown();
}
END_TEST

START_TEST(spec_registers)
{
	COVERS("SR-024");
	uint32_t n;

	fx_setup(BACKING_INLINE);
	pr_good(C, PR_REGISTER, 0, 0, KEY_C);
	n = put_name(28, NAME "1,i,0x00023d000001");
	n += put_name(28 + n, NAME "1,i,0x00023d000001"); /* twice */
	n += put_name(28 + n, NAME "0,i,0x00023d000000"); /* itself */
	n += put_name(28 + n, NAME "2,i,0x00023d000002"); /* registered already */
	n += put_name(28 + n, NAME "7,i,0x00023d000007");
	ck_result(spec(n), 0);
	ck_assert_uint_eq(registrations(), 4);
	ck_assert_uint_eq(pr_count(KEY_A), 3);
	ck_assert_uint_eq(pr_count(KEY_C), 1);
	pr_good(B, PR_RESERVE, 1, KEY_A, 0); /* B is */
	pr_keys(KEY_A, KEY_B, SPEC_I_PT);    /* A is already: nobody else with it */
	put_be32(pr_list + 24, n);
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 28 + n)), PARAM);
	pr_keys(KEY_B, KEY_B, SPEC_I_PT); /* the key goes first */
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 28 + n)), CONFLICT);
	fx_teardown();
}
END_TEST

/* A device with three ports. */
static bool three_ports(struct it_nexus *n, unsigned i, uint16_t *ret_relative,
			char ret_name[static SCSI_PORT_NAME])
{
	(void)n;
	if (i > 2)
		return false;
	*ret_relative = (uint16_t)(7 + i);
	snprintf(ret_name, SCSI_PORT_NAME, "iqn.2026-01.org.example:disk,t,0x%04x", i + 1);
	return true;
}

static bool admits_hosts(struct it_nexus *n, const char *initiator)
{
	(void)n;
	return !strncmp(initiator, NAME, strlen(NAME));
}

static const struct nexus_neighbours device = { .target_port = three_ports,
						.admits = admits_hosts };

START_TEST(all_target_ports)
{
	COVERS("SR-023 SR-043 SR-053");
	static uint8_t b[65535];
	uint32_t n, at = 8;

	fx_setup(BACKING_INLINE);
	fx_nexus[0].neighbours = &device;
	pr_keys(0, KEY_A, ALL_TG_PT);
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 24)), 0);
	ck_assert_uint_eq(pr_count(KEY_A), 3);
	n = pr_in(A, 3, sizeof(b), b);
	for (unsigned i = 0; i < 3; i++, at += 24 + get_be32(b + at + 20)) {
		ck_assert_uint_eq(get_be64(b + at), KEY_A);
		ck_assert_uint_eq(b[at + 12], 0);
		ck_assert_uint_eq(get_be16(b + at + 18), 7 + i);
	}
	ck_assert_uint_eq(at, n);
	pr_keys(KEY_A, KEY_B, ALL_TG_PT); /* changes all */
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 24)), 0);
	ck_assert_uint_eq(pr_count(KEY_B), 3);
	pr_good(A, PR_REGISTER, 0, KEY_B, KEY_A); /* this one */
	pr_keys(KEY_A, 0, ALL_TG_PT);             /* the others have another key */
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 24)), 0);
	ck_assert_uint_eq(pr_count(KEY_A), 0);
	ck_assert_uint_eq(pr_count(KEY_B), 2);
	pr_keys(0, 0, ALL_TG_PT);
	ck_result(pr_result(pr_task(A, PR_REGISTER_IGNORE, 0, 24)), 0);
	ck_assert_uint_eq(registrations(), 0);
	/* With TransportIDs: each of them on each port. */
	pr_keys(0, KEY_A, SPEC_I_PT | ALL_TG_PT);
	n = put_name(28, NAME "1,i,0x00023d000001");
	put_be32(pr_list + 24, n);
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 28 + n)), 0);
	ck_assert_uint_eq(registrations(), 6);
	forget_all();
	/* A name that no rule of the target admits. */
	n = put_name(28, "iqn.2026-01.org.example:stranger,i,0x00023d000001");
	ck_result(spec(n), PARAM);
	ck_assert_uint_eq(registrations(), 0);
	/* Other service actions do not look at the bit (SR-053). */
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_keys(KEY_A, 0, ALL_TG_PT | APTPL);
	ck_result(pr_result(pr_task(A, PR_RESERVE, 1, 24)), 0);
	ck_assert_uint_eq(registrations(), 1);
	fx_teardown();
}
END_TEST

/* REGISTER AND MOVE by A, who holds; the last `length` bytes are the TransportID. */
static unsigned move(struct it_nexus *n, uint8_t flags, uint16_t port, uint32_t length)
{
	put_be64(pr_list, KEY_A);
	put_be64(pr_list + 8, KEY_B);
	pr_list[16] = 0;
	pr_list[17] = flags;
	put_be16(pr_list + 18, port);
	put_be32(pr_list + 20, length);
	return pr_result(pr_task(n, PR_REGISTER_AND_MOVE, 0, 24 + length));
}

START_TEST(register_and_move)
{
	COVERS("SR-037");
	uint32_t n;

	fx_setup(BACKING_INLINE);
	fx_nexus[0].neighbours = &device;
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	n = put_name(24, NAME "1,i,0x00023d000001");
	ck_result(move(A, 0, 7, n), CONFLICT); /* holds nothing */
	ck_result(move(B, 0, 7, n), CONFLICT); /* a stranger */
	pr_good(A, PR_RESERVE, 1, KEY_A, 0);
	ck_result(move(A, 0, 10, n), PARAM); /* no such port */
	put_be64(pr_list + 8, 0);
	ck_result(pr_result(pr_task(A, PR_REGISTER_AND_MOVE, 0, 24 + n)), PARAM);
	ck_held(1, KEY_A);
	ck_assert_uint_eq(pr_generation(), 1);
	ck_result(move(A, 0, 7, n), 0); /* B is registered by it */
	ck_held(1, KEY_B);
	ck_assert_uint_eq(pr_count(KEY_A), 1);
	ck_assert_uint_eq(pr_generation(), 2);
	ck_result(pr_writes(A), CONFLICT);
	ck_result(pr_writes(B), 0);
	ck_result(move(A, 0, 7, n), CONFLICT); /* holds it no more */
	ck_no_ua();
	/* Back, with the old holder unregistered; the key of who is registered changes. */
	put_name(24, NAME "0,i,0x00023d000000");
	put_be64(pr_list, KEY_B);
	put_be64(pr_list + 8, KEY_C);
	pr_list[17] = 0x02;
	put_be16(pr_list + 18, 7);
	ck_result(pr_result(pr_task(B, PR_REGISTER_AND_MOVE, 0, 24 + n)), 0);
	ck_held(1, KEY_C);
	ck_assert_uint_eq(registrations(), 1);
	pr_good(A, PR_REGISTER, 0, KEY_C, KEY_A);
	ck_result(move(A, 0, 7, n), PARAM); /* to itself */
	pr_good(A, PR_RELEASE, 1, KEY_A, 0);
	pr_good(A, PR_RESERVE, 7, KEY_A, 0);
	put_name(24, NAME "1,i,0x00023d000001");
	ck_result(move(A, 0, 7, n), CONFLICT); /* all registrants hold it */
	fx_teardown();
}
END_TEST

START_TEST(move_lengths)
{
	COVERS("SR-054 fault-F03");
	uint32_t n;

	fx_setup(BACKING_INLINE);
	pr_good(A, PR_REGISTER, 0, 0, KEY_A);
	pr_good(A, PR_RESERVE, 1, KEY_A, 0);
	n = put_name(24, NAME "1,i,0x00023d000001");
	for (uint32_t length = 24; length < 24 + n; length++) {
		(void)move(B, 0, 7, n); /* fills the list */
		ck_result(pr_result(pr_task(A, PR_REGISTER_AND_MOVE, 0, length)), PARAM);
		put_be32(pr_list + 20, length - 24);
		ck_result(pr_result(pr_task(A, PR_REGISTER_AND_MOVE, 0, length)), PARAM);
	}
	put_be64(pr_list, KEY_B); /* the key goes first */
	ck_result(pr_result(pr_task(A, PR_REGISTER_AND_MOVE, 0, 30)), CONFLICT);
	put_name(24, NAME "1"); /* a device, no port */
	ck_result(move(A, 0, 7, 36), PARAM);
	/* Much longer than what is in it. */
	memset(pr_list, 0, sizeof(pr_list));
	put_name(24, NAME "1,i,0x00023d000001");
	(void)move(B, 0, 7, n);
	ck_result(pr_result(pr_task(A, PR_REGISTER_AND_MOVE, 0, 8192)), PARAM);
	put_id(24, 0x45, NAME "1,i,0x00023d000001", 8192 - 24);
	memset(pr_list + 24 + 4, 'a', 8192 - 28);
	ck_result(move(A, 0, 7, 8192 - 24), PARAM);
	ck_held(1, KEY_A);
	put_id(24, 0x45, NAME "1,i,0x00023d000001", 8192 - 24); /* padding only */
	ck_result(move(A, 0, 7, 8192 - 24), 0);
	ck_held(1, KEY_B);
	fx_teardown();
}
END_TEST

/* More than a table holds, by a list that is allowed to be that long. */
START_TEST(many)
{
	COVERS("SR-038 SR-040");
	char text[64];
	uint32_t ids = 0;
	uint8_t b[65535];

	fx_setup(BACKING_INLINE);
	for (unsigned i = 0; i < 1023; i++) {
		snprintf(text, sizeof(text), "iqn.2026-01.x:%04u,i,0x00023d000001", i);
		ids += put_name(28 + ids, text);
	}
	ck_result(spec(ids), 0);
	ck_assert_uint_eq(registrations(), 1024);
	ck_assert_uint_eq(pr_in(A, 0, sizeof(b), b), 8 + 8 * 1024);
	/* Longer than an answer can be: its length says so. */
	ck_assert_uint_eq(pr_in(A, 3, sizeof(b), b), 65535);
	ck_assert_uint_gt(get_be32(b + 4), 65536);
	ck_result(pr_out(B, PR_REGISTER, 0, 0, KEY_B), 0x055504);
	ck_assert_uint_eq(registrations(), 1024);
	pr_good(A, PR_CLEAR, 0, KEY_A, 0);
	ids += put_name(28 + ids, "iqn.2026-01.x:one-more,i,0x00023d000001");
	ck_result(spec(ids), 0x055504);
	ck_assert_uint_eq(registrations(), 0);
	fx_teardown();
}
END_TEST

/* Each answer at each allocation length: what comes is the beginning of the whole. */
START_TEST(allocation_lengths)
{
	COVERS("SR-040 SR-041 SR-042 SR-043 SR-044 OP-037");
	static const uint8_t capabilities[8] = { 0, 8, 0x1c, 0x90, 0xea, 0x01 };
	uint8_t whole[512], part[512];

	fx_setup(BACKING_INLINE);
	pr_three();
	pr_good(B, PR_RESERVE, 6, KEY_B, 0);
	for (unsigned action = 0; action < 4; action++) {
		uint32_t n = pr_in(A, action, sizeof(whole), whole);

		ck_assert_uint_lt(n, sizeof(whole));
		for (uint32_t length = 0; length <= n + 8; length++) {
			uint32_t came = pr_in(A, action, (uint16_t)length, part);

			ck_assert_uint_eq(came, length < n ? length : n);
			ck_assert(!memcmp(part, whole, came));
		}
		if (action == 2)
			ck_assert(n == 8 && !memcmp(whole, capabilities, 8));
	}
	/* The last answer, by byte: B holds. */
	ck_assert_uint_eq(get_be64(whole + 8), KEY_A);
	ck_assert(!whole[20] && !whole[21]);
	ck_assert_uint_eq(get_be32(whole + 28), 52);
	ck_assert_uint_eq(get_be32(whole + 32), 0x45000030);
	ck_assert_str_eq((char *)whole + 36, A->initiator_port);
	ck_assert_uint_eq(get_be64(whole + 84), KEY_B);
	ck_assert(whole[96] == 1 && whole[97] == 6);
	ck_assert_uint_eq(get_be16(whole + 102), 7);
	for (unsigned action = 4; action < 32; action++) {
		uint8_t in[10] = { 0x5e, (uint8_t)action, [8] = 8 };
		struct fake_task *f = fx_task(A, in, 10);

		fake_task_in(f, 8);
		ck_result(pr_result(f), 0x052400);
	}
	fx_teardown();
}
END_TEST

START_TEST(no_such_service_action)
{
	COVERS("SR-055 SR-026");
	fx_setup(BACKING_INLINE);
	for (unsigned action = 8; action < 32; action++) {
		pr_keys(0, KEY_A, 0);
		ck_result(pr_result(pr_task(A, action, 1, 24)), 0x052400);
	}
	/* Nobody keeps anything here. */
	pr_keys(0, KEY_A, APTPL);
	ck_result(pr_result(pr_task(A, PR_REGISTER, 0, 24)), PARAM);
	ck_assert_uint_eq(registrations(), 0);
	fx_teardown();
}
END_TEST

UNIT_MAIN("scsi/pr_list", framing, cut_short, transport_ids, long_names, spec_lengths,
	  spec_registers, all_target_ports, register_and_move, move_lengths, many,
	  allocation_lengths, no_such_service_action)
