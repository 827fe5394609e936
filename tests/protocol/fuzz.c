/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PDUs that are nearly right, from a seed: before login and in full-feature phase. Nothing may
 * break, and an honest session beside it verifies what it writes and reads all the time.
 * HAWSER_FUZZ_PDUS and HAWSER_FUZZ_SEED make it go on longer, or elsewhere; a failure says which
 * seed it was.
 */
#include "tests/protocol/protocol.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PDUS_USUAL 20000
#define LIMIT_MS   12000 /* of one test, unless a number of PDUs is asked for */

static uint64_t state;
static uint8_t data[262144];

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (uint32_t)((state >> 16) % below) : 0;
}

static unsigned long from_env(const char *name, unsigned long usual)
{
	const char *v = getenv(name);

	return v ? strtoul(v, NULL, 0) : usual;
}

static bool one_in(uint32_t n)
{
	return !rnd(n);
}

/* A few bytes, or a field that has a meaning, become something else. */
static void mutate(uint8_t *p, size_t n)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (uint32_t k = rnd(4); k; k--) {
		size_t at = rnd((uint32_t)n);

		switch (rnd(4)) {
		case 0:
			p[at] ^= (uint8_t)(1 << rnd(8));
			break;
		case 1:
			p[at] = values[rnd(sizeof(values))];
			break;
		case 2:
			p[at] = (uint8_t)rnd(256);
			break;
		default:
			if (at + 4 <= n)
				put_be32(p + (at & ~3u),
					 rnd(2) ? 0xffffffff
						: get_be32(p + (at & ~3u)) + rnd(3) - 1);
			break;
		}
	}
}

static void random_command(struct ini *i, struct bhs_scsi_command *h, uint32_t *ret_length)
{
	static const uint8_t opcodes[] = { 0x00, 0x03, 0x08, 0x0a, 0x12, 0x15, 0x1a, 0x1b,
					   0x1e, 0x25, 0x28, 0x2a, 0x2e, 0x2f, 0x35, 0x41,
					   0x42, 0x4d, 0x55, 0x5a, 0x5e, 0x5f, 0x7f, 0x83,
					   0x85, 0x88, 0x89, 0x8a, 0x8e, 0x8f, 0x91, 0x93,
					   0x9e, 0xa0, 0xa3, 0xa8, 0xaa, 0xae, 0xaf };
	static const uint32_t lengths[] = { 0, 8, 24, 512, 4096, 65536, 0xffffffff };
	uint8_t cdb[16] = { opcodes[rnd(sizeof(opcodes))] };
	uint32_t edtl = lengths[rnd(7)];
	uint8_t flags = rnd(2) ? ISCSI_CMD_READ : ISCSI_CMD_WRITE;

	cdb[8] = (uint8_t)rnd(16);
	cdb[4] = (uint8_t)rnd(256);
	cdb[13] = (uint8_t)rnd(16);
	mutate(cdb + 1, sizeof(cdb) - 1);
	ini_command(i, h, rnd(3), one_in(8) ? 0 : flags, edtl, cdb, 16);
	if (flags == ISCSI_CMD_WRITE)
		*ret_length = rnd(2) ? 0 : rnd(edtl < 8192 ? edtl + 1 : 8192);
	if (one_in(3))
		h->flags &= 0x7f;
	if (one_in(6))
		h->opcode |= ISCSI_IMMEDIATE;
}

/* A request of full-feature phase, as it should be. */
static void request(struct ini *i, uint8_t bhs[static 48], uint32_t *ret_length)
{
	struct bhs_data_out *d = (void *)bhs;

	*ret_length = 0;
	switch (rnd(11)) {
	case 0:
		ini_nop(i, (void *)bhs, rnd(2));
		*ret_length = rnd(600);
		break;
	case 1:
		ini_tmf(i, (void *)bhs, (uint8_t)(1 + rnd(14)), rnd(3));
		put_be32(((struct bhs_tmf_request *)(void *)bhs)->referenced_tag, i->itt - rnd(8));
		break;
	case 2:
		ini_text(i, (void *)bhs, rnd(2));
		*ret_length = ini_pairs(
		    rnd(2) ? "MaxRecvDataSegmentLength=8192\nX-a=b" : "SendTargets=", data, 512);
		break;
	case 3:
	case 4:
		memset(bhs, 0, 48);
		d->opcode = ISCSI_OP_DATA_OUT;
		d->flags = rnd(2) ? ISCSI_FINAL : 0;
		put_be32(d->itt, i->itt - 1 - rnd(6));
		put_be32(d->ttt, rnd(2) ? ISCSI_TAG_RESERVED : rnd(64));
		put_be32(d->datasn, rnd(3));
		put_be32(d->buffer_offset, 512 * rnd(8));
		*ret_length = 512 * rnd(9);
		break;
	case 5:
		if (one_in(20))
			ini_logout(i, (void *)bhs, (uint8_t)rnd(3));
		else
			ini_nop(i, (void *)bhs, true);
		break;
	case 6:
		memset(bhs, 0, 48);
		d->opcode = ISCSI_OP_SNACK;
		d->flags = (uint8_t)(ISCSI_FINAL | rnd(4));
		put_be32(d->itt, rnd(2) ? ISCSI_TAG_RESERVED : i->itt - 1 - rnd(6));
		put_be32(d->ttt, rnd(2) ? ISCSI_TAG_RESERVED : rnd(64));
		put_be32(bhs + 40, rnd(2) ? rnd(4) : i->exp_statsn - rnd(8)); /* BegRun */
		put_be32(bhs + 44, rnd(4));                                   /* RunLength */
		break;
	default:
		random_command(i, (void *)bhs, ret_length);
		break;
	}
}

/* Sends it, sometimes with segments and lengths that are not what its header says. */
static int send_mutated(struct ini *i, uint8_t bhs[static 48], uint32_t length)
{
	uint8_t ahs[64];
	uint16_t ahs_length = one_in(12) ? (uint16_t)(4 * rnd(16)) : 0;

	if (!one_in(3))
		mutate(bhs, ISCSI_BHS_SIZE);
	for (unsigned n = 0; n < sizeof(ahs); n++)
		ahs[n] = (uint8_t)(one_in(3) ? rnd(256) : rnd(3));
	i->corrupt_header_digest = one_in(200);
	i->corrupt_data_digest = one_in(40);
	if (one_in(60)) { /* the header alone, with any length in it */
		put_be24(bhs + 5, one_in(4) ? rnd(1 << 24) : rnd(70000));
		bhs[4] = (uint8_t)(one_in(3) ? rnd(256) : 0);
		return ini_send_bytes(i, bhs, 1 + rnd(48));
	}
	return ini_send_ahs(i, bhs, ahs, ahs_length, data, length);
}

/* Takes what has come; some R2Ts are answered. False: the connection has gone. */
static bool take(struct ini *i)
{
	struct pollfd p = { .fd = i->fd, .events = POLLIN };

	while (poll(&p, 1, 0) == 1) {
		struct ini_pdu pdu;
		int rc = ini_receive(i, &pdu, 1000);

		if (rc != 1)
			return false;
		if (pdu.bhs[0] == ISCSI_OP_R2T && rnd(2) &&
		    get_be32(bhs_of(&pdu, bhs_r2t)->desired_length) <= sizeof(data))
			ini_answer_r2t(i, &pdu, data, one_in(3) ? 4096 : 0);
		ini_pdu_free(&pdu);
	}
	return true;
}

static void limit_sending(struct ini *i)
{
	struct timeval tv = { .tv_sec = 2 };

	setsockopt(i->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static void log_in(struct ini *i)
{
	static const char *const keys[] = {
		"HeaderDigest=None\nInitialR2T=No\nImmediateData=Yes",
		"HeaderDigest=CRC32C\nDataDigest=CRC32C\nInitialR2T=No",
		"InitialR2T=Yes\nImmediateData=No\nMaxRecvDataSegmentLength=1024",
		"MaxBurstLength=4096\nFirstBurstLength=2048\nInitialR2T=No\nMaxOutstandingR2T=4",
		"ErrorRecoveryLevel=2\nDataDigest=CRC32C\nMaxBurstLength=4096",
		"iSCSIProtocolLevel=2\nTaskReporting=FastAbort\nMaxConnections=8",
	};
	struct ini_login l = { .target = T_RESET, .keys = keys[rnd(6)] };
	int status;

	ini_close(i);
	ck_assert(!ini_reopen(i));
	limit_sending(i);
	i->tsih = 0;
	i->initial_r2t = i->immediate_data = true;
	status = ini_login(i, &l, NULL);
	ck_assert_msg(!status, "no login any more: %x", (unsigned)status);
}

/* The unit may have been stopped or reserved; INQUIRY is answered all the same. */
static void answers(struct ini *i, uint64_t lun)
{
	uint8_t got[96];
	struct ini_scsi c = {
		.lun = lun, .cdb = { 0x12, [4] = 96 }, .cdb_length = 6, .in = got, .edtl = 96
	};

	run_good(i, &c);
}

struct run {
	unsigned long pdus, seed;
	int64_t end;
};

static struct run begin(unsigned row)
{
	struct run r = { .pdus = from_env("HAWSER_FUZZ_PDUS", PDUS_USUAL),
			 .seed = from_env("HAWSER_FUZZ_SEED", 20260101 + row) };

	r.end = getenv("HAWSER_FUZZ_PDUS") ? INT64_MAX : clock_ms() + LIMIT_MS;
	state = r.seed * 0x9e3779b97f4a7c15ull + 1;
	fill(data, sizeof(data), (uint32_t)r.seed);
	return r;
}

static void others_are_well(const struct run *r, unsigned long n)
{
	const char *why = honest_failure();
	int rc = witness_reads();

	ck_assert_msg(!why, "seed %lu, PDU %lu: the honest session: %s", r->seed, n, why);
	ck_assert_msg(!rc, "seed %lu, PDU %lu: another session's read: %d", r->seed, n, rc);
}

START_TEST(full_feature)
{
	COVERS("E-019 P-013 S-017 S-030 fault-A05 fault-N03");
	struct run r = begin((unsigned)_i);
	struct ini *i = connect_to(server.port);
	uint8_t bhs[48];
	uint32_t length;

	honest_begin(r.seed);
	log_in(i);
	for (unsigned long n = 0; n < r.pdus && clock_ms() < r.end; n++) {
		bool alive;

		if (one_in(3))
			i->cmdsn = i->exp_cmdsn + (one_in(8) ? rnd(4) : 0);
		request(i, bhs, &length);
		alive = !send_mutated(i, bhs, length) && take(i);
		if (!alive || one_in(400))
			log_in(i);
		if (n % 256 == 0)
			others_are_well(&r, n);
	}
	ck_assert_uint_gt(honest_end(), 0);
	others_are_well(&r, r.pdus);
	i->violations = 0; /* what was asked for wrongly may be answered in any way */
	ini_close(i);
	answers(session(T_RESET), 0);
	answers(session(T_RESET), 1);
}
END_TEST

static const char *const login_texts[] = {
	NAMES(T_RESET),
	NAMES(T_MAIN) "\nAuthMethod=None",
	NAMES(T_RESET) "\nHeaderDigest=CRC32C,None\nMaxBurstLength=4096\nInitialR2T=No",
	"InitiatorName=" BASE "fuzz\nSessionType=Discovery",
	NAMES(T_RESET) "\nMaxRecvDataSegmentLength=512\nX-a.b=c\nTaskReporting=RFC3720",
};

/* One connection: a few login requests, and sometimes something else behind them. */
static unsigned long log_in_wrongly(struct ini *i)
{
	static const uint8_t flags[] = {
		OP_TO_FULL,     OP_STEP,          SECURITY_STEP,
		SECURITY_TO_OP, SECURITY_TO_FULL, ISCSI_CONTINUE | OP_STEP
	};
	unsigned long n = 1 + rnd(4);

	ini_close(i);
	ck_assert(!ini_reopen(i));
	limit_sending(i);
	for (unsigned long k = 0; k < n; k++) {
		struct bhs_login_request h;
		uint8_t text[1024];
		uint32_t length;

		ini_login_header(i, &h, 0, 0, false);
		h.flags = flags[rnd(6)];
		length = ini_pairs(login_texts[rnd(5)], text, sizeof(text));
		if (k && one_in(2))
			length = 0;
		if (length && !one_in(3))
			mutate(text, length);
		if (!one_in(3))
			mutate((uint8_t *)&h, sizeof(h));
		if (one_in(30))
			put_be24(h.data_segment_length, rnd(1 << 24));
		if (ini_send(i, (uint8_t *)&h, text, length))
			break;
		if (one_in(2) && !take(i))
			break;
	}
	return n;
}

/* The target may still be busy to see off the strangers that have gone. */
static void log_in_at_last(struct ini *i)
{
	struct ini_login l = { .target = T_RESET };
	int64_t end = clock_ms() + patience(5000);
	int rc;

	do {
		ini_close(i);
		usleep(20000);
		ck_assert(!ini_reopen(i));
		i->tsih = 0;
		rc = ini_login(i, &l, NULL);
	} while (rc && clock_ms() < end);
	ck_assert_msg(!rc, "no login any more: %x", (unsigned)rc);
}

START_TEST(before_login)
{
	COVERS("E-019 L-006 L-089 S-022 fault-A05");
	struct run r = begin(100 + (unsigned)_i);
	struct ini *i = connect_to(server.port);
	unsigned long n = 0, last = 0;

	honest_begin(r.seed);
	while (n < r.pdus && clock_ms() < r.end) {
		n += log_in_wrongly(i);
		if (n - last < 256)
			continue;
		last = n;
		others_are_well(&r, n);
	}
	ck_assert_uint_gt(honest_end(), 0);
	others_are_well(&r, n);
	i->violations = 0;
	log_in_at_last(i);
	ready(i, 0);
}
END_TEST

void fuzz_suite(TCase *c)
{
	tcase_set_timeout(c, getenv("HAWSER_FUZZ_PDUS") ? 36000 : patience(60));
	add(c, full_feature);
	add(c, before_login);
}
