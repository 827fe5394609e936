/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions, PDUs and the witness. */
#include "tests/protocol/protocol.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define INIS_MAX 600
#define PDUS_MAX 4096

static struct ini *inis[INIS_MAX];
static unsigned n_inis;
static struct ini_pdu pdus[PDUS_MAX];
static unsigned n_pdus;

/* Lives in memory shared with the processes of the tests, which continue its numbers. */
static struct ini *witness;

struct ini *connect_to(uint16_t port)
{
	struct ini *i = calloc(1, sizeof(*i));
	bool v6 = port && port == server.port6;
	int rc;

	ck_assert(i && n_inis < INIS_MAX);
	rc = ini_open(i, v6 ? "::1" : "127.0.0.1", port);
	inis[n_inis++] = i;
	ck_assert_msg(!rc, "connection to port %u: %s", port, strerror(-rc));
	return i;
}

int try_login(struct ini *i, const struct ini_login *l)
{
	int rc = ini_login(i, l, NULL);

	ck_assert_msg(rc >= 0 || rc == -ENOTCONN, "login: %s", strerror(-rc));
	return rc;
}

static struct ini *login(const struct ini_login *l)
{
	struct ini *i = connect_to(server.port);
	int rc = ini_login(i, l, NULL);

	ck_assert_msg(!rc, "login to %s: %04x", l->target ? l->target : "discovery", (unsigned)rc);
	return i;
}

struct ini *discovery(void)
{
	return login(&(struct ini_login){ 0 });
}

struct ini *session(const char *target)
{
	return login(&(struct ini_login){ .target = target });
}

struct ini *session_keys(const char *target, const char *keys)
{
	return login(&(struct ini_login){ .target = target, .keys = keys });
}

struct ini *session_as(const char *initiator, const char *target)
{
	return login(&(struct ini_login){ .initiator = initiator, .target = target });
}

const struct ini_pdu *login_step(struct ini *i, uint8_t flags, const char *text)
{
	struct bhs_login_request h;
	uint8_t data[8192];

	ini_login_header(i, &h, 0, 0, false);
	h.flags = flags;
	ck_assert(!ini_send(i, (uint8_t *)&h, data, ini_pairs(text, data, sizeof(data))));
	return expect(i, ISCSI_OP_LOGIN_RESPONSE);
}

int login_status(const struct ini_pdu *p)
{
	const struct bhs_login_response *r = bhs_of(p, bhs_login_response);

	return r->status_class << 8 | r->status_detail;
}

const struct ini_pdu *await_pdu(struct ini *i, int ms)
{
	struct ini_pdu *p = &pdus[n_pdus];
	int rc;

	ck_assert(n_pdus < PDUS_MAX);
	rc = ini_receive(i, p, ms);
	ck_assert_msg(rc >= 0, "waiting for a PDU: %s", strerror(-rc));
	if (!rc)
		return NULL;
	n_pdus++;
	return p;
}

const struct ini_pdu *expect(struct ini *i, enum iscsi_opcode opcode)
{
	const struct ini_pdu *p = await_pdu(i, patience(INI_WAIT_MS));

	ck_assert_msg(p != NULL, "opcode %02x wanted, nothing came", opcode);
	ck_assert_msg((p->bhs[0] & ISCSI_OPCODE_MASK) == opcode,
		      "opcode %02x wanted, %02x came (byte 2: %02x)", opcode, p->bhs[0], p->bhs[2]);
	return p;
}

void ping(struct ini *i)
{
	struct bhs_nop h;
	const struct ini_pdu *p;

	ini_nop(i, &h, true);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_NOP_IN);
	ck_assert_uint_eq(be32_of(p, bhs_nop, itt), get_be32(h.itt));
}

void expect_nothing(struct ini *i)
{
	ping(i);
}

bool still_works(struct ini *i)
{
	ping(i);
	return true;
}

void expect_reject(struct ini *i, uint8_t reason)
{
	const struct bhs_reject *r = bhs_of(expect(i, ISCSI_OP_REJECT), bhs_reject);

	ck_assert_msg(r->reason == reason, "Reject reason %02x, wanted %02x", r->reason, reason);
}

bool expect_reject_or_close(struct ini *i, uint8_t reason)
{
	struct ini_pdu p;
	int rc = ini_receive(i, &p, patience(INI_WAIT_MS));

	if (rc == -ENOTCONN)
		return true;
	ck_assert_msg(rc == 1, "neither Reject nor close: %d", rc);
	ck_assert_msg(p.bhs[0] == ISCSI_OP_REJECT, "opcode %02x instead of a Reject", p.bhs[0]);
	ck_assert_msg(p.bhs[2] == reason, "Reject reason %02x, wanted %02x", p.bhs[2], reason);
	ini_pdu_free(&p);
	return false;
}

void expect_close(struct ini *i)
{
	ck_assert_msg(ini_closed(i, patience(INI_WAIT_MS)), "the connection is still open");
}

void tmf(struct ini *i, uint8_t function, uint64_t lun, uint8_t response)
{
	struct bhs_tmf_request h;
	const struct ini_pdu *p;

	ini_tmf(i, &h, function, lun);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	p = expect(i, ISCSI_OP_TMF_RESPONSE);
	ck_assert_uint_eq(be32_of(p, bhs_tmf_response, itt), get_be32(h.itt));
	ck_assert_msg(p->bhs[2] == response, "function %u: response %u, wanted %u", function,
		      p->bhs[2], response);
}

int witness_reads(void)
{
	uint8_t block[512], want[512];
	struct ini_scsi c;
	int rc;

	fill(want, sizeof(want), 4711);
	rw10(&c, READ10, 0, 100, 1, block);
	rc = ini_scsi(witness, &c);
	if (rc)
		return rc;
	return c.status || memcmp(block, want, sizeof(want)) ? -EIO : 0;
}

bool witness_start(void)
{
	struct ini_login l = { .initiator = BASE "witness", .target = T_WITNESS };
	uint8_t block[512];
	struct ini_scsi c;
	int rc;

	witness =
	    mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (witness == MAP_FAILED)
		return false;
	rc = ini_open(witness, "127.0.0.1", server.port);
	if (!rc)
		rc = ini_login(witness, &l, NULL);
	fill(block, sizeof(block), 4711);
	rw10(&c, WRITE10, 0, 100, 1, block);
	for (int tries = 0; !rc && tries < 4; tries++) {
		rc = ini_scsi(witness, &c);
		if (!rc && !c.status)
			return true;
	}
	printf("the witness cannot log in and write: %d\n", rc);
	return false;
}

void witness_stop(void)
{
	ini_close(witness);
}

/* After each test: nobody else was disturbed, and all PDUs of this test kept the rules. */
void witness_check(void)
{
	int rc;

	for (unsigned n = 0; n < n_inis; n++)
		ini_close(inis[n]);
	for (unsigned n = 0; n < n_pdus; n++)
		ini_pdu_free(&pdus[n]);
	n_pdus = 0;
	ck_assert_msg(!kill(server.pid, 0) && !kill(strict.pid, 0), "a daemon has gone");
	rc = witness_reads();
	ck_assert_msg(!rc, "another session's read failed: %d", rc);
	ck_assert_msg(!witness->violations, "another session: %s", witness->violation);
	for (unsigned n = 0; n < n_inis; n++) {
		ck_assert_msg(!inis[n]->violations, "connection %u: %s", n, inis[n]->violation);
		free(inis[n]);
	}
	n_inis = 0;
}
