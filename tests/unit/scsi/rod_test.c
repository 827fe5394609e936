/* SPDX-License-Identifier: BSD-2-Clause */
/* ROD tokens: their bytes, who can use them, for how long, and what ends them. */
#include "scsi/rod.h"
#include "tests/unit/scsi/compound_fixture.h"

#include <time.h>

#define NOW now_ms()

/* One moment, near to that of the reactor. */
static uint64_t now_ms(void)
{
	static uint64_t now;
	struct timespec ts;

	if (!now) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		now = (uint64_t)ts.tv_sec * 1000;
	}
	return now;
}

static struct rod *create_by(struct it_nexus *n, uint32_t type, uint64_t lba, uint32_t blocks)
{
	struct rod_range range = { FX_AT(lba), FX_AT(blocks) };
	struct rod_params p = {
		.itl = n->itls[0],
		.type = type,
		.timeout_s = ROD_TIMEOUT_S,
		.now_ms = NOW,
		.n = 1,
		.ranges = &range,
	};
	struct rod *r = NULL;

	ck_assert_int_eq(rod_create(&p, &r), 0);
	rod_put(r, NOW);
	return r;
}

static struct rod *create(uint64_t lba, uint32_t blocks)
{
	return create_by(&fx_nexus[0], ROD_CHANGE_VULNERABLE, lba, blocks);
}

/* 0, or the sense that the token gets at this time. */
static uint16_t found(const uint8_t *token, uint64_t now)
{
	struct scsi_sense sense = { 0 };
	struct rod *r = rod_find(token, now, &sense);

	if (r) {
		rod_put(r, now);
		return 0;
	}
	ck_assert_uint_eq(sense.key, SENSE_ILLEGAL_REQUEST);
	return sense.asc_ascq;
}

static uint32_t gate(const struct it_nexus *n)
{
	return atomic_load(&n->itls[0]->gate);
}

START_TEST(bytes)
{
	struct rod *a, *b;

	fx_setup(FX_FILE);
	memcpy(fx_lu->id.naa, "\x60\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
	       16);
	a = create(8, 16);
	b = create(8, 16);
	ck_assert_uint_eq(get_be32(a->token), ROD_CHANGE_VULNERABLE);
	ck_assert_uint_eq(get_be32(a->token + 4), 0x01f8);
	ck_assert_uint_eq(get_be64(a->token + 8) + 1, get_be64(b->token + 8));
	ck_assert_uint_eq(get_be64(a->token + 16), 0xe400000001030010);
	ck_assert_mem_eq(a->token + 24, fx_lu->id.naa, 16);
	ck_assert_uint_eq(get_be32(a->token + 44), FX_BLOCK); /* PAD=0 before it */
	ck_assert_uint_eq(get_be64(a->token + 48), 0);
	ck_assert_uint_eq(get_be64(a->token + 56), FX_AT(16));
	ck_assert_uint_eq(get_be32(a->token + 96), FX_BLOCK);
	ck_assert_uint_eq(get_be16(a->token + 102), 0xc000); /* LBPME, LBPRZ */
	ck_assert_uint_eq(get_be16(a->token + 128), 0x53a8); /* a name of the device */
	ck_assert_str_eq((const char *)a->token + 132, "iqn.2026-01.org.example:disk");
	ck_assert_mem_ne(a->token + 480, b->token + 480, 32);
	fx_teardown();
}
END_TEST

/* No byte may be another one, and a token says nothing before all of them are right. */
START_TEST(forged)
{
	uint8_t token[ROD_TOKEN_SIZE];
	const struct rod *r;

	COVERS("SX-023 SX-024");
	fx_setup(FX_FILE);
	r = create(0, 1);
	memcpy(token, r->token, sizeof(token));
	for (int dead = 0; dead < 2; dead++) {
		for (unsigned i = 0; i < sizeof(token); i++) {
			uint16_t expected = i < 4   ? 0x2301
					    : i < 6 ? 0x2305
					    : i < 8 ? 0x230a
						    : 0x2304;

			token[i] ^= (uint8_t)(1 << i % 8);
			ck_assert_uint_eq(found(token, NOW), i < 16 ? expected : 0x2305);
			token[i] ^= (uint8_t)(1 << i % 8);
		}
		ck_assert_uint_eq(found(token, NOW), dead ? 0x2306 : 0);
		rod_touch(fx_lu, 0, 1, NOW);
	}
	fx_teardown();
}
END_TEST

START_TEST(zero_token)
{
	uint8_t token[ROD_TOKEN_SIZE] = { 0xff, 0xff, 0, 1, 0, 0, 0x01, 0xf8 };

	COVERS("SX-022");
	ck_assert(rod_is_zero(token));
	token[6] = 0;
	ck_assert(!rod_is_zero(token));
	ck_assert_uint_eq(found(token, NOW), 0x230a);
	token[6] = 1;
	token[3] = 2;
	ck_assert(!rod_is_zero(token));
	ck_assert_uint_eq(found(token, NOW), 0x2301);
}
END_TEST

START_TEST(inactivity)
{
	const uint64_t life = ROD_TIMEOUT_S * 1000;
	struct scsi_sense sense;
	struct rod *r;

	COVERS("SX-025");
	fx_setup(FX_FILE);
	r = create(0, 8);
	ck_assert_uint_eq(found(r->token, NOW + life - 1), 0); /* and begins anew */
	ck_assert_ptr_eq(rod_find(r->token, NOW + 2 * life - 2, &sense), r);
	ck_assert_uint_eq(found(r->token, NOW + 9 * life), 0); /* as long as it is in use */
	rod_put(r, NOW + 9 * life);
	ck_assert_uint_eq(found(r->token, NOW + 10 * life - 1), 0);
	ck_assert_uint_eq(found(r->token, NOW + 11 * life - 1), 0x2307);
	ck_assert_uint_eq(gate(&fx_nexus[0]), 0);

	/* A write elsewhere opens the gate behind those that have expired. */
	r = create(0, 8);
	rod_touch(fx_lu, FX_AT(8), FX_BLOCK, NOW + life - 1);
	ck_assert_uint_eq(gate(&fx_nexus[1]), GATE_TOKEN);
	rod_touch(fx_lu, FX_AT(8), FX_BLOCK, NOW + life);
	ck_assert_uint_eq(gate(&fx_nexus[1]), 0);
	ck_assert_uint_eq(found(r->token, NOW), 0x2307);
	fx_teardown();
}
END_TEST

static struct fake_task *unmap(uint64_t lba, uint32_t blocks)
{
	static uint8_t list[24];
	uint8_t cdb[10] = { 0x42, [8] = sizeof(list) };
	struct fake_task *f = fx_task(&fx_nexus[1], cdb, sizeof(cdb));

	put_be16(list, sizeof(list) - 2);
	put_be16(list + 2, 16);
	put_be64(list + 8, lba);
	put_be32(list + 16, blocks);
	fake_task_out(f, list, sizeof(list));
	return f;
}

/* Blocks 16 to 31 are in the token. */
static const struct {
	const char *name;
	uint8_t opcode, flags; /* opcode 0: UNMAP */
	uint32_t lba, blocks, sent;
	bool revokes;
} changes[] = {
	{ "WRITE before", 0x8a, 0, 8, 8, 8, false },
	{ "WRITE of the first block", 0x8a, 0, 8, 9, 9, true },
	{ "WRITE of the last block", 0x8a, 0, 31, 4, 4, true },
	{ "WRITE behind", 0x8a, 0, 32, 4, 4, false },
	{ "WRITE of all", 0x8a, 0, 0, 64, 64, true },
	{ "READ", 0x88, 0, 16, 16, 0, false },
	{ "WRITE SAME", 0x93, 0, 31, 1, 1, true },
	{ "WRITE SAME behind", 0x93, 0, 32, 100, 1, false },
	{ "WRITE SAME, UNMAP, NDOB", 0x93, 9, 0, 17, 0, true },
	{ "UNMAP", 0, 0, 16, 1, 0, true },
	{ "UNMAP behind", 0, 0, 32, 1, 0, false },
	{ "COMPARE AND WRITE", 0x89, 0, 20, 1, 2, true },
	{ "ORWRITE", 0x8b, 0, 20, 1, 1, true },
	{ "WRITE AND VERIFY", 0x8e, 2, 20, 1, 1, true },
	{ "VERIFY", 0x8f, 0, 20, 1, 0, false },
};

#define CHANGES (int)(sizeof(changes) / sizeof(changes[0]))

static struct fake_task *change(int i)
{
	struct fake_task *f;

	if (!changes[i].opcode)
		return unmap(changes[i].lba, changes[i].blocks);
	f = cmd(changes[i].opcode, changes[i].flags, changes[i].lba, changes[i].blocks);
	if (changes[i].opcode == 0x88)
		fake_task_in(f, (uint32_t)FX_AT(changes[i].blocks));
	else if (changes[i].sent)
		fake_task_out(f, data, (uint32_t)FX_AT(changes[i].sent));
	if (changes[i].opcode == 0x89)
		put_be32(f->cdb + 10, 1);
	return f;
}

START_TEST(changed)
{
	const struct rod *r, *other;

	COVERS("SX-024");
	for (int s = 0; s < 3; s++) {
		fx_setup(fx_stores[s % 2]);
		fx_store->mapping = s == 2;
		r = create(16, 16);
		other = create_by(&fx_nexus[1], ROD_ACCESS_UPON_REFERENCE, 16, 16);
		memset(data, 0, sizeof(data));
		ck_assert_uint_eq(gate(&fx_nexus[2]), GATE_TOKEN);
		fx_expect(change(_i), 0, 0);
		ck_assert_msg(found(r->token, NOW) == (changes[_i].revokes ? 0x2306 : 0), "%s",
			      changes[_i].name);
		ck_assert_uint_eq(gate(&fx_nexus[2]), changes[_i].revokes ? 0 : GATE_TOKEN);
		ck_assert_uint_eq(found(other->token, NOW), 0);
		fx_teardown();
	}
}
END_TEST

/* The store has it before anybody can believe that nothing has changed. */
START_TEST(revoked_before_it_is_written)
{
	struct fake_task *f;
	const struct rod *r;

	fx_setup(FX_FILE);
	r = create(0, 8);
	fx_store->hold = true;
	f = fx_write(&fx_nexus[0], 7, 1, data);
	scsi_submit(&f->t);
	ck_assert_uint_eq(found(r->token, NOW), 0x2306);
	for (int i = 0; i < 4; i++)
		fx_turn();
	ck_assert(!f->ended);
	fake_store_let(fx_store);
	fx_run(f);
	fake_task_free(f);
	fx_teardown();
}
END_TEST

START_TEST(another_medium)
{
	static const struct {
		enum lu_not_ready state;
		uint16_t expected;
	} rows[] = {
		{ LU_STOPPED, 0 },         { LU_READY, 0 },         { LU_EJECTED, 0x2306 },
		{ LU_FORMATTING, 0x2306 }, { LU_NO_STORE, 0x2306 }, { LU_SANITIZING, 0x2306 },
	};
	const struct rod *first, *last;

	COVERS("SX-024");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fx_setup(FX_FILE);
		first = create(0, 8);
		lu_change_state(fx_lu, ~0u, rows[i].state);
		ck_assert_uint_eq(found(first->token, NOW), rows[i].expected);
		lu_change_state(fx_lu, ~0u, LU_READY);
		fx_teardown();
	}
	fx_setup(FX_FILE);
	first = create(0, 8);
	last = create(MEDIUM - 1, 1);
	lu_resized(fx_lu);
	ck_assert_uint_eq(found(last->token, NOW), 0);
	fx_store->b.info.size -= 1;
	lu_resized(fx_lu);
	ck_assert_uint_eq(found(last->token, NOW), 0x2306);
	ck_assert_uint_eq(found(first->token, NOW), 0);
	fx_store->b.info.size += 1;
	fx_teardown();
	ck_assert_uint_eq(found(first->token, NOW), 0x2306); /* the LU is gone */
}
END_TEST

START_TEST(deleted)
{
	struct rod *r;

	COVERS("SX-023");
	fx_setup(FX_FILE);
	r = create(0, 8);
	rod_delete(r);
	ck_assert_uint_eq(found(r->token, NOW), 0x2309);
	ck_assert_uint_eq(gate(&fx_nexus[0]), 0);
	rod_touch(fx_lu, 0, 1, NOW);
	ck_assert_uint_eq(found(r->token, NOW), 0x2309); /* its first end is its end */
	fx_teardown();
}
END_TEST

/* A nexus that comes later writes as the others do. */
START_TEST(nexus_that_comes_later)
{
	const struct rod *r;

	fx_setup(FX_FILE);
	nexus_destroy(&fx_nexus[2]);
	r = create(0, 8);
	ck_assert_int_eq(nexus_init(&fx_nexus[2], fx_reactor, fx_map, ASC_POWER_ON), 0);
	fx_take_ua(&fx_nexus[2]);
	ck_assert_uint_eq(gate(&fx_nexus[2]), GATE_TOKEN);
	fx_expect(fx_write(&fx_nexus[2], 0, 1, data), 0, 0);
	ck_assert_uint_eq(found(r->token, NOW), 0x2306);
	fx_teardown();
}
END_TEST

START_TEST(source)
{
	struct scsi_lun_map *empty = lun_map_create(NULL, 0);
	const struct rod *r;

	fx_setup(FX_FILE);
	r = create(0, 8);
	for (int i = 0; i < FX_NEXUS; i++)
		ck_assert_ptr_eq(rod_source(r, &fx_nexus[i]), fx_nexus[i].itls[0]);
	ck_assert_int_eq(nexus_remap(&fx_nexus[1], empty), 0);
	ck_assert_ptr_null(rod_source(r, &fx_nexus[1]));
	ck_assert_ptr_nonnull(rod_source(r, &fx_nexus[2]));
	lun_map_unref(empty);
	fx_teardown();
}
END_TEST

START_TEST(room_of_a_nexus)
{
	const struct rod *first, *second, *others;

	COVERS("SX-025");
	fx_setup(FX_FILE);
	others = create_by(&fx_nexus[1], ROD_CHANGE_VULNERABLE, 0, 1);
	first = create(0, 1);
	second = create(1, 1);
	for (unsigned i = 2; i < ROD_NEXUS_MAX; i++)
		create(i, 1);
	ck_assert_uint_eq(found(first->token, NOW), 0); /* the second is the longest unused */
	create(0, 1);
	ck_assert_uint_eq(found(first->token, NOW), 0);
	ck_assert_uint_eq(found(second->token, NOW), 0x2306);
	ck_assert_uint_eq(found(others->token, NOW), 0);
	ck_assert_uint_eq(rod_report(fx_lu, NOW, data, 3), ROD_NEXUS_MAX + 1);
	fx_teardown();
}
END_TEST

static int try_create(uint64_t owner, struct scsi_lu *lu)
{
	struct it_nexus n = { .port_hash = owner };
	struct itl itl = { .lu = lu, .nexus = &n };
	struct rod_params p = {
		.itl = &itl,
		.type = ROD_ACCESS_UPON_REFERENCE,
		.timeout_s = ROD_TIMEOUT_S,
		.now_ms = NOW,
	};
	struct rod *r;
	int rc = rod_create(&p, &r);

	if (!rc)
		rod_put(r, NOW);
	return rc;
}

START_TEST(room_of_all)
{
	struct scsi_lu *lus[5];

	COVERS("SX-025");
	fx_setup(FX_FILE);
	for (unsigned i = 0; i < 5; i++)
		lus[i] = fx_new_lu(fx_store);
	for (unsigned i = 0; i < ROD_MAX; i++) {
		if (i % ROD_LU_MAX == 0 && i)
			ck_assert_int_eq(try_create(1000, lus[i / ROD_LU_MAX - 1]), -ENOSPC);
		ck_assert_int_eq(try_create(i / 64, lus[i / ROD_LU_MAX]), 0);
	}
	ck_assert_int_eq(try_create(1000, lus[4]), -ENOSPC);
	ck_assert_int_eq(try_create(0, lus[4]), 0); /* who has some gives one of them */
	rod_lu_gone(lus[1]);
	for (unsigned i = 0; i < ROD_NEXUS_MAX; i++) /* those that have ended make room */
		ck_assert_int_eq(try_create(1000, lus[4]), 0);
	for (unsigned i = 0; i < 5; i++)
		lu_unref(lus[i]);
	fx_teardown();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { bytes,
				       forged,
				       zero_token,
				       inactivity,
				       revoked_before_it_is_written,
				       another_medium,
				       deleted,
				       nexus_that_comes_later,
				       source,
				       room_of_a_nexus,
				       room_of_all };
	Suite *suite = suite_create("scsi/rod");
	TCase *c = tcase_create("all");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(c, tests[i]);
	tcase_add_loop_test(c, changed, 0, CHANGES);
	tcase_set_timeout(c, 60);
	suite_add_tcase(suite, c);
	return unit_end(srunner_create(suite));
}
