/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's counters: each row of daemon.stats moves when what it counts happens. */
#include "daemon/base/stats.h"
#include "tests/protocol/protocol.h"

#include <jansson.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static uint8_t data[8192], block[512];

struct counters {
	json_int_t n[STATS];
};

static const char *const names[STATS] = {
#define NAME(id, name, help) [STAT_##id] = (name),
	STATS_LIST(NAME)
#undef NAME
};

static struct counters counters(const struct server *s)
{
	json_t *answer = admin(s, "daemon.stats", ""), *rows = json_object_get(answer, "counters");
	struct counters c;

	ck_assert_uint_eq(json_object_size(rows), STATS);
	for (unsigned i = 0; i < STATS; i++) {
		json_t *row = json_object_get(rows, names[i]);

		ck_assert_msg(json_is_integer(row), "no row %s", names[i]);
		c.n[i] = json_integer_value(row);
	}
	json_decref(answer);
	return c;
}

static struct ini *strict_session(const char *keys)
{
	struct ini *i = connect_to(strict.port);

	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_MAIN, .keys = keys }), 0);
	return i;
}

#define MOVED(id, by) ck_assert_int_eq(after.n[STAT_##id] - before.n[STAT_##id], by)

/* What is counted is what was done, neither more nor less. */
START_TEST(reads_and_writes)
{
	struct ini *i = strict_session(USUAL("65536", "Yes", "No"));
	struct counters before, after;
	struct ini_scsi c;

	ready(i, _i ? LUN_FAULT : 0);
	before = counters(&strict);
	for (unsigned n = 0; n < 3; n++) {
		rw10(&c, READ10, _i ? LUN_FAULT : 0, 0, 16, data);
		run_good(i, &c);
	}
	rw10(&c, WRITE10, _i ? LUN_FAULT : 0, 0, 8, data);
	run_good(i, &c);
	after = counters(&strict);
	MOVED(READS, 3);
	MOVED(READ_BYTES, 3 * 8192);
	MOVED(WRITES, 1);
	MOVED(WRITTEN_BYTES, 4096);
	MOVED(R2TS, 1);
	MOVED(COMMANDS, 4);
	ck_assert_int_ge(after.n[STAT_BYTES_OUT] - before.n[STAT_BYTES_OUT], 3 * (8192 + 48));
	ck_assert_int_ge(after.n[STAT_BYTES_IN] - before.n[STAT_BYTES_IN], 4096 + 5 * 48);
}
END_TEST

static void refuse_login(void)
{
	struct ini_login l = { .target = T_CLOSED };

	ck_assert_int_ne(try_login(connect_to(strict.port), &l), 0);
}

/* One connection more than its session may have. */
static void join_full_session(const struct ini *i)
{
	struct ini_login l = { .target = T_MAIN, .keys = "HeaderDigest=None" };
	struct ini *more = connect_to(strict.port);

	memcpy(more->isid, i->isid, sizeof(i->isid));
	more->tsih = i->tsih;
	more->cid = 1;
	ck_assert_int_eq(try_login(more, &l), LOGIN_TOO_MANY_CONNECTIONS);
}

/* Claims an account and proves nothing. */
static void fail_authentication(void)
{
	struct ini_login l = { .target = T_CHAP };

	ck_assert_int_eq(try_login(connect_to(strict.port), &l), LOGIN_AUTHENTICATION_FAILURE);
}

static void spoil_digest(void)
{
	struct ini *i = strict_session("HeaderDigest=None\nDataDigest=CRC32C");
	struct bhs_nop h;

	i->corrupt_data_digest = true;
	ini_nop(i, &h, true);
	ck_assert(!ini_send(i, (uint8_t *)&h, "data", 4));
	expect_reject(i, REJECT_DATA_DIGEST);
}

/* A write that the store holds is aborted; what overlaps it gets BUSY. */
static void abort_and_overlap(struct ini *i)
{
	struct bhs_tmf_request t;
	struct ini_scsi c;
	uint32_t itt = start_write(i, LUN_FAULT, FAULT_STALL + 8, 1, true, block, 512);

	ini_tmf(i, &t, ISCSI_TMF_ABORT_TASK, LUN_FAULT);
	put_be32(t.referenced_tag, itt);
	put_be32(t.ref_cmdsn, i->cmdsn - 1);
	ck_assert(!ini_send(i, (uint8_t *)&t, NULL, 0));
	expect(i, ISCSI_OP_TMF_RESPONSE);
	rw10(&c, WRITE10, LUN_FAULT, FAULT_STALL + 8, 1, block);
	ck_assert(!ini_scsi(i, &c));
	ck_assert_uint_eq(c.status, 8);
}

/* Reads that the store holds take all buffers: the next waits, and data that comes unasked finds
 * none. */
static void use_up_buffers(struct ini *i)
{
	struct ini *other = strict_session(NULL);
	struct bhs_scsi_command h;
	struct ini_scsi c;

	ready(other, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, FAULT_STALL + 64, 8192, NULL); /* beside the write */
	for (unsigned n = 0; n < 5; n++) {                         /* 20 MiB of 16 */
		ini_command(i, &h, LUN_FAULT, ISCSI_CMD_READ, 8192 * 512, c.cdb, 10);
		start(i, &h);
	}
	ping(i);
	rw10(&c, WRITE10, LUN_FAULT, 0, 1, block);
	ck_assert(!ini_scsi(other, &c));
	ck_assert_uint_eq(c.status, 0x28);
}

/* More than may be there before the end of login. */
static void crowd(void)
{
	struct ini *i[STRICT_UNKNOWN + 1];

	for (unsigned n = 0; n < STRICT_UNKNOWN + 1; n++)
		i[n] = connect_to(strict.port);
	expect_close(i[STRICT_UNKNOWN]);
	for (unsigned n = 0; n < STRICT_UNKNOWN; n++)
		ini_close(i[n]);
}

/* What each status of a login is counted by is the unit tests' affair. */
static bool is_status(unsigned row)
{
	return row >= STAT_LOGINS_0101 && row <= STAT_LOGINS_0302;
}

START_TEST(all_rows_move)
{
	struct counters before = counters(&strict), after;
	struct ini *i = strict_session(NULL);
	struct ini *solicits = strict_session(USUAL("65536", "Yes", "No"));
	int64_t end = clock_ms() + patience(5000);
	struct ini_scsi c;
	unsigned row;

	ready(i, LUN_FAULT);
	ready(solicits, LUN_FAULT);
	rw10(&c, READ10, LUN_FAULT, 0, 8, data);
	run_good(i, &c);
	rw10(&c, WRITE10, LUN_FAULT, 0, 8, data);
	run_good(solicits, &c);
	ini_close(solicits);
	cdb_of(&c, "ff 00 00 00 00 00");
	c.lun = LUN_FAULT;
	run_sense(i, &c, 0x052000);
	refuse_login();
	join_full_session(i);
	fail_authentication();
	spoil_digest();
	abort_and_overlap(i);
	use_up_buffers(i);
	crowd();
	do { /* a connection that has ended is counted a little later */
		after = counters(&strict);
		for (row = 0; row < STATS && (is_status(row) || after.n[row] > before.n[row]);
		     row++)
			;
	} while (row < STATS && clock_ms() < end);
	ck_assert_msg(row == STATS, "%s has not moved", names[row]);
}
END_TEST

void stats_suite(TCase *c)
{
	add_rows(c, reads_and_writes, 2);
	add(c, all_rows_move);
}
