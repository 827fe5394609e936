/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes that arrive over TCP: the real transport on socket pairs, the iSCSI and SCSI layers and two
 * stores behind it, a second initiator that looks on. The input's first byte chooses with which
 * keys the connections of one session log in (0: not at all); then come records, each a control
 * byte and what its kind says:
 *
 *   PDU    48 bytes of header, two of length, AHS and data; completed as a peer with its wits
 *          about it would (lengths, digests), so that the fuzzer gets beyond the first check
 *   RAW    two bytes of length, bytes as they are
 *   STORE  one byte: I/O is held back, or comes to its end
 *   TURN   nothing: time for the target; the connection is closed if asked for
 *
 * What comes back must be whole PDUs of a target with right digests.
 *
 * Threads: one. Ownership: none.
 */
#include "daemon/base/crc32c.h"
#include "daemon/base/cursor.h"
#include "tests/fuzz/witness.h"
#include "tests/initiator/initiator.h"
#include "tests/lib/covers.h"
#include "transport/tcp/listen.h"
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONNECTIONS 2
#define RECORDS_MAX 128
#define ROOM        (1u << 17)

/* The control byte. */
#define KIND    0x03u
#define SECOND  0x04u /* the other connection */
#define NUMBERS 0x08u /* CmdSN and ExpStatSN as they should be */
#define TAGS    0x10u /* what refers to something the target has said */
#define DAMAGE  0x20u /* a digest is wrong; of TURN: closes */
#define DEAF    0x40u /* what comes back is not read yet */
#define PAUSE   0x80u /* the header arrives before the rest */
enum kind { KIND_PDU, KIND_RAW, KIND_STORE, KIND_TURN };

/* One end of a socket pair, and what the other end has said. */
struct end {
	int fd; /* -1: none */
	bool full_feature, header_digest, data_digest;
	bool header_crc, data_crc; /* agreed to in login, in force from full-feature phase on */
	uint32_t exp_statsn;
	uint32_t itt, ttt, datasn, offset; /* of the last R2T */
	uint32_t text_ttt, ping_ttt;
	size_t n;
	uint8_t in[ROOM];
};

static struct {
	struct rig rig;
	struct end ends[CONNECTIONS];
	uint32_t cmdsn, last_itt;
	uint16_t tsih;
} f;

static const char *const keys[] = {
	NULL, /* the input begins with what it likes */
	"InitialR2T=No\nImmediateData=Yes",
	"HeaderDigest=CRC32C\nDataDigest=CRC32C\nInitialR2T=No",
	"InitialR2T=Yes\nImmediateData=No\nMaxRecvDataSegmentLength=512\nMaxOutstandingR2T=8\n"
	"MaxBurstLength=1024\nFirstBurstLength=512",
	"MaxConnections=8\nErrorRecoveryLevel=2\nInitialR2T=No\nMaxOutstandingR2T=4\n"
	"MaxBurstLength=4096\nFirstBurstLength=2048",
	"MaxConnections=8\nErrorRecoveryLevel=1\nDataDigest=CRC32C\nMaxBurstLength=2048",
	"MaxConnections=4\nHeaderDigest=CRC32C\nTaskReporting=FastAbort\niSCSIProtocolLevel=2",
	"SessionType=Discovery",
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static void turn(unsigned times)
{
	fake_turn(&f.rig.net, times);
}

static bool is_crc(const uint8_t *data, uint32_t length, const char *pair)
{
	return memmem(data, length, pair, strlen(pair) + 1) != NULL;
}

static void take_login(struct end *e, const uint8_t *bhs, const uint8_t *data, uint32_t length)
{
	const struct bhs_login_response *h = (const void *)bhs;

	e->header_crc |= is_crc(data, length, "HeaderDigest=CRC32C");
	e->data_crc |= is_crc(data, length, "DataDigest=CRC32C");
	if (h->status_class || (h->flags & 0x83) != 0x83)
		return;
	e->full_feature = true;
	e->header_digest = e->header_crc;
	e->data_digest = e->data_crc;
	f.tsih = get_be16(h->tsih);
	f.cmdsn = get_be32(h->exp_cmdsn);
}

/* A PDU of the target, whole. */
static void take_pdu(struct end *e, const uint8_t *bhs, const uint8_t *data, uint32_t length)
{
	const struct bhs_r2t *r = (const void *)bhs;

	e->exp_statsn = get_be32(r->statsn) + 1;
	switch (bhs[0]) {
	case ISCSI_OP_LOGIN_RESPONSE:
		take_login(e, bhs, data, length);
		break;
	case ISCSI_OP_R2T:
		e->exp_statsn--;
		e->itt = get_be32(r->itt);
		e->ttt = get_be32(r->ttt);
		e->offset = get_be32(r->buffer_offset);
		e->datasn = 0;
		break;
	case ISCSI_OP_TEXT_RESPONSE:
		e->text_ttt = get_be32(r->ttt);
		break;
	case ISCSI_OP_NOP_IN:
		e->ping_ttt = get_be32(r->ttt);
		break;
	case ISCSI_OP_SCSI_RESPONSE:
	case ISCSI_OP_TMF_RESPONSE:
	case ISCSI_OP_DATA_IN:
	case ISCSI_OP_LOGOUT_RESPONSE:
	case ISCSI_OP_ASYNC:
	case ISCSI_OP_REJECT:
		break;
	default:
		abort(); /* nothing that a target says */
	}
}

static void check_digest(const uint8_t *p, size_t n)
{
	if (crc32c_final(crc32c_update(CRC32C_INIT, p, n)) != crc32c_get(p + n))
		abort();
}

/* Bytes of the first PDU in p, 0 if it is not all there. */
static size_t take_one(struct end *e, const uint8_t *p, size_t n)
{
	uint32_t length, padded;
	size_t head, total;

	if (n < ISCSI_BHS_SIZE)
		return 0;
	length = get_be24(p + 5);
	padded = (length + 3) & ~3u;
	head = ISCSI_BHS_SIZE + (e->header_digest ? ISCSI_DIGEST_SIZE : 0u);
	total = head + padded + (e->data_digest && length ? ISCSI_DIGEST_SIZE : 0u);
	if (p[4])
		abort(); /* a target sends no AHS */
	if (total > n)
		return 0;
	if (e->header_digest)
		check_digest(p, ISCSI_BHS_SIZE);
	if (e->data_digest && length)
		check_digest(p + head, padded);
	take_pdu(e, p, p + head, length);
	return total;
}

static void hang_up(struct end *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

/* Reads what has come; the input may have declared that it takes more than there is room for. */
static void listen_to(struct end *e)
{
	while (e->fd >= 0) {
		ssize_t got = recv(e->fd, e->in + e->n, sizeof(e->in) - e->n, MSG_DONTWAIT);
		size_t at = 0, used;

		if (got <= 0) {
			if (got == 0 || errno != EAGAIN)
				hang_up(e);
			return;
		}
		e->n += (size_t)got;
		while ((used = take_one(e, e->in + at, e->n - at)))
			at += used;
		memmove(e->in, e->in + at, e->n - at);
		e->n -= at;
		if (e->n == sizeof(e->in))
			hang_up(e);
		turn(1);
	}
}

/* To the socket; when that is full the target gets its turn, and is listened to at last. */
static void say(struct end *e, const uint8_t *p, size_t n)
{
	for (unsigned tries = 0; n && e->fd >= 0 && tries < 64; tries++) {
		ssize_t sent = send(e->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			p += sent;
			n -= (size_t)sent;
		} else if (errno != EAGAIN) {
			hang_up(e);
		}
		if (n)
			turn(1);
		if (n && tries > 8)
			listen_to(e);
	}
}

static void connect_end(struct end *e)
{
	struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
	int fds[2];

	memset(e, 0, offsetof(struct end, in));
	e->itt = e->ttt = e->text_ttt = e->ping_ttt = ISCSI_TAG_RESERVED;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		abort();
	e->fd = fds[1];
	tcp_conn_begin(portal_place(), &f.rig.net.portal, fds[0], &peer);
}

static size_t put_digest(uint8_t *p, size_t n, bool damaged)
{
	uint32_t crc = crc32c_final(crc32c_update(CRC32C_INIT, p, n));

	crc32c_put(p + n, damaged ? ~crc : crc);
	return n + ISCSI_DIGEST_SIZE;
}

/* ahs and data lie one behind the other. */
static void say_pdu(struct end *e, uint8_t control, uint8_t bhs[static 48], const uint8_t *ahs,
		    size_t length)
{
	static uint8_t out[ISCSI_BHS_SIZE + ISCSI_AHS_MAX + 65536 + 16];
	size_t extra = bhs[4] * 4u <= length ? bhs[4] * 4u : 0, head, n;

	length -= extra;
	bhs[4] = (uint8_t)(extra / 4);
	put_be24(bhs + 5, (uint32_t)length);
	memcpy(out, bhs, ISCSI_BHS_SIZE);
	if (extra)
		memcpy(out + ISCSI_BHS_SIZE, ahs, extra);
	head = n = ISCSI_BHS_SIZE + extra;
	if (e->header_digest)
		head = n = put_digest(out, n, (control & DAMAGE) && !length);
	if (length) {
		size_t padded = (length + 3) & ~(size_t)3;

		memset(out + n + padded - 4, 0, 4);
		memcpy(out + n, ahs + extra, length);
		n += e->data_digest ? put_digest(out + n, padded, control & DAMAGE) : padded;
	}
	if (control & PAUSE) {
		say(e, out, head);
		turn(1);
		say(e, out + head, n - head);
	} else {
		say(e, out, n);
	}
}

static void log_in(unsigned which, const char *k)
{
	struct bhs_login_request h = { .opcode = ISCSI_OP_LOGIN_REQUEST | ISCSI_IMMEDIATE,
				       .flags = FAKE_OP_FFP,
				       .isid = { 0x00, 0x02, 0x3d, 0x00, 0x00, 0x09 } };
	struct end *e = &f.ends[which];
	uint8_t bhs[ISCSI_BHS_SIZE], text[1024];
	char lines[1024];

	snprintf(lines, sizeof(lines), "%s%s\nDefaultTime2Retain=0",
		 strstr(k, "Discovery") ? "InitiatorName=" FAKE_NAME "\n" : FAKE_NORMAL, k);
	put_be16(h.tsih, which ? f.tsih : 0);
	put_be16(h.cid, (uint16_t)which);
	put_be32(h.cmdsn, f.cmdsn);
	memcpy(bhs, &h, sizeof(bhs));
	say_pdu(e, 0, bhs, text, ini_pairs(lines, text, sizeof(text)));
	turn(2);
	listen_to(e);
}

/* Numbers and tags that make sense, so far as they are asked for. */
static void complete(struct end *e, uint8_t control, uint8_t bhs[static 48], size_t length)
{
	struct bhs_data_out *d = (void *)bhs;
	uint8_t opcode = bhs[0] & ISCSI_OPCODE_MASK;

	if (control & NUMBERS) {
		put_be32(d->exp_statsn, e->exp_statsn);
		if (opcode != ISCSI_OP_DATA_OUT && opcode != ISCSI_OP_SNACK)
			put_be32(bhs + 24, f.cmdsn);
		f.cmdsn += opcode != ISCSI_OP_DATA_OUT && opcode != ISCSI_OP_SNACK &&
			   !(bhs[0] & ISCSI_IMMEDIATE);
	}
	if (opcode == ISCSI_OP_SCSI_COMMAND)
		f.last_itt = get_be32(d->itt);
	if (!(control & TAGS))
		return;
	if (opcode == ISCSI_OP_DATA_OUT) {
		put_be32(d->itt, e->itt);
		put_be32(d->ttt, e->ttt);
		put_be32(d->datasn, e->datasn++);
		put_be32(d->buffer_offset, e->offset);
		e->offset += (uint32_t)length;
	} else if (opcode == ISCSI_OP_NOP_OUT) {
		put_be32(d->ttt, e->ping_ttt);
	} else if (opcode == ISCSI_OP_TEXT_REQUEST) {
		put_be32(d->ttt, e->text_ttt);
	} else if (opcode == ISCSI_OP_TMF_REQUEST) {
		put_be32(d->ttt, f.last_itt); /* the referenced task tag */
	} else if (opcode == ISCSI_OP_SNACK) {
		put_be32(d->itt, f.last_itt);
	}
}

static void pdu(struct end *e, uint8_t control, struct reader *r)
{
	const uint8_t *h = reader_take(r, ISCSI_BHS_SIZE), *rest;
	size_t length = reader_be16(r);
	uint8_t bhs[ISCSI_BHS_SIZE];

	length = length < r->left ? length : r->left;
	rest = reader_take(r, length);
	if (!h || !rest)
		return;
	memcpy(bhs, h, sizeof(bhs));
	complete(e, control, bhs, length);
	say_pdu(e, control, bhs, rest, length);
}

static void raw(struct end *e, struct reader *r)
{
	size_t length = reader_be16(r);
	const uint8_t *bytes;

	length = length < r->left ? length : r->left;
	bytes = reader_take(r, length);
	if (bytes)
		say(e, bytes, length);
}

static void store(uint8_t what)
{
	struct fake_store *s = f.rig.store[what & 1];

	s->hold = what & 2;
	if (what & 4)
		fake_store_let(s);
	s->error = what & 8 ? -EIO : 0;
}

static void record(struct reader *r)
{
	uint8_t control = reader_u8(r);
	struct end *e = &f.ends[control & SECOND ? 1 : 0];

	switch ((enum kind)(control & KIND)) {
	case KIND_PDU:
		pdu(e, control, r);
		break;
	case KIND_RAW:
		raw(e, r);
		break;
	case KIND_STORE:
		store(reader_u8(r));
		break;
	case KIND_TURN:
		turn(2);
		if (control & DAMAGE)
			hang_up(e);
		break;
	}
	if (control & DEAF)
		return;
	turn(1);
	listen_to(e);
}

static void start(void)
{
	/* Both transports on one reactor: the tasks have room for either. */
	if (fake_datamover.task_size < tcp_datamover.task_size)
		fake_datamover.task_size = tcp_datamover.task_size;
	rig_start(&f.rig, any_number_of_sessions);
	if (tcp_reactor_start(f.rig.net.reactor))
		abort();
	witness_check(&f.rig);
}

/* Connections but for the witness'. */
static unsigned left(void)
{
	return iscsi_reactor_count(f.rig.net.reactor) - (witness.fc->c ? 1 : 0);
}

static void finish(void)
{
	for (unsigned n = 0; n < CONNECTIONS; n++)
		hang_up(&f.ends[n]);
	for (unsigned n = 0; n < RIG_LUS; n++) {
		store((uint8_t)n); /* nothing is held, nothing fails */
		fake_store_let(f.rig.store[n]);
	}
	for (unsigned n = 0; n < 64 && left(); n++)
		turn(1);
	if (left())
		abort(); /* a connection has not gone */
	witness_check(&f.rig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	struct reader r = reader_on(data, size);
	const char *k = keys[reader_u8(&r) % N_KEYS];

	if (!started)
		start();
	started = true;
	f.cmdsn = 1;
	f.tsih = 0;
	for (unsigned n = 0; n < CONNECTIONS; n++) {
		connect_end(&f.ends[n]);
		if (k)
			log_in(n, k);
	}
	for (unsigned n = 0; n < RECORDS_MAX && r.left && !r.broken; n++)
		record(&r);
	finish();
	return 0;
}

SUITE_COVERS("fault-A05 fault-N03");
