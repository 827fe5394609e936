/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/bench/stream.h"
#include "daemon/base/bytes.h"
#include "daemon/base/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RX_SIZE  (1u << 20)
#define HEADS    2048u
#define IOVS     (3 * HEADS)
#define SEND_MAX 1024u /* the kernel's limit of a gather list */

/* xorshift64*: fast, and the same sequence for every target. */
static uint64_t random64(struct stream *s)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return s->random * 0x2545f4914f6cdd1dull;
}

static int read_capacity(struct stream *s)
{
	uint8_t data[32] = { 0 };
	struct ini_scsi c = { .lun = s->plan.lun, .cdb = { 0x9e, 0x10 }, .in = data, .edtl = 32 };
	uint32_t block = 0;

	c.cdb[13] = 32;
	for (int tries = 0; tries < 8; tries++) { /* unit attentions first */
		int rc;

		c.received = c.n_data_in = 0;
		rc = ini_scsi(&s->ini, &c);
		if (rc)
			return rc;
		if (!c.status)
			block = get_be32(data + 8);
		if (block)
			break;
	}
	if (!block || (block & (block - 1)) || s->plan.bs % block)
		return -EINVAL;
	s->block_shift = (uint8_t)__builtin_ctz(block);
	s->blocks = ((get_be64(data) + 1) << s->block_shift) / s->plan.bs;
	return s->blocks ? 0 : -EINVAL;
}

int stream_open(struct stream *s, const struct stream_plan *plan)
{
	char keys[512];
	const char *digest = plan->digests ? "CRC32C" : "None";
	struct ini_login login = { .target = plan->target, .keys = keys };
	int rc;

	s->plan = *plan;
	s->random = plan->seed * 0x9e3779b97f4a7c15ull;
	snprintf(keys, sizeof(keys),
		 "HeaderDigest=%s\nDataDigest=%s\nInitialR2T=No\nImmediateData=Yes\n"
		 "MaxBurstLength=1048576\nFirstBurstLength=262144\nMaxOutstandingR2T=8\n"
		 "MaxRecvDataSegmentLength=262144\nDefaultTime2Retain=0",
		 digest, digest);
	s->payload = calloc(1, STREAM_BS_MAX);
	s->rx = malloc(RX_SIZE);
	s->iov = calloc(IOVS, sizeof(*s->iov));
	s->heads = calloc(HEADS, sizeof(*s->heads));
	if (!s->payload || !s->rx || !s->iov || !s->heads)
		return -ENOMEM;
	memset(s->payload, 0xa5, STREAM_BS_MAX);
	rc = ini_open(&s->ini, plan->host, plan->port);
	if (rc)
		return rc;
	rc = ini_login(&s->ini, &login, NULL);
	if (rc)
		return rc < 0 ? rc : -EACCES;
	rc = read_capacity(s);
	if (rc)
		return rc;
	return fcntl(s->ini.fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

void stream_close(struct stream *s)
{
	if (s->payload)
		ini_close(&s->ini);
	free(s->payload);
	free(s->rx);
	free(s->iov);
	free(s->heads);
}

/* Queues a complete header and its payload, with digests if they are in force. */
static void add_pdu(struct stream *s, const void *bhs, uint8_t *payload, uint32_t length)
{
	struct stream_head *h = &s->heads[s->n_heads++];
	size_t n = ISCSI_BHS_SIZE;

	memcpy(h->bhs, bhs, ISCSI_BHS_SIZE);
	put_be24(h->bhs + 5, length);
	if (s->ini.header_digest) {
		crc32c_put(h->header_digest,
			   crc32c_final(crc32c_update(CRC32C_INIT, h->bhs, ISCSI_BHS_SIZE)));
		n += sizeof(h->header_digest);
	}
	s->iov[s->n_iov++] = (struct iovec){ h, n };
	if (!length)
		return;
	s->iov[s->n_iov++] = (struct iovec){ payload, length };
	if (!s->ini.data_digest)
		return;
	crc32c_put(h->data_digest, crc32c_final(crc32c_update(CRC32C_INIT, payload, length)));
	s->iov[s->n_iov++] = (struct iovec){ h->data_digest, sizeof(h->data_digest) };
}

static bool has_room(const struct stream *s)
{
	return s->n_heads < HEADS && s->n_iov + 3 < IOVS;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void add_command(struct stream *s)
{
	bool read = random64(s) % 100 < s->plan.read;
	uint64_t at = s->plan.sequential ? s->next++ % s->blocks : random64(s) % s->blocks;
	uint32_t n = s->plan.bs >> s->block_shift, immediate = 0;
	uint8_t cdb[16] = { read ? 0x88 : 0x8a };
	struct bhs_scsi_command h;

	put_be64(cdb + 2, at * n);
	put_be32(cdb + 10, n);
	ini_command(&s->ini, &h, s->plan.lun, read ? ISCSI_CMD_READ : ISCSI_CMD_WRITE, s->plan.bs,
		    cdb, sizeof(cdb));
	if (!read && s->ini.immediate_data)
		immediate = least(least(s->plan.bs, s->ini.first_burst), s->ini.max_send);
	add_pdu(s, &h, s->payload, immediate);
	s->outstanding++;
}

/* Data-Out for one R2T: whole segments from the one payload buffer. */
static void add_data_out(struct stream *s, const struct bhs_r2t *r)
{
	uint32_t offset = get_be32(r->buffer_offset), left = get_be32(r->desired_length), sn = 0;

	while (left && has_room(s)) {
		uint32_t n = least(left, s->ini.max_send);
		struct bhs_data_out d = { .opcode = ISCSI_OP_DATA_OUT };

		d.flags = n == left ? ISCSI_FINAL : 0;
		memcpy(d.itt, r->itt, 4);
		memcpy(d.ttt, r->ttt, 4);
		put_be32(d.exp_statsn, s->ini.exp_statsn);
		put_be32(d.datasn, sn++);
		put_be32(d.buffer_offset, offset);
		add_pdu(s, &d, s->payload, n);
		offset += n;
		left -= n;
	}
}

static void ended(struct stream *s, uint8_t status)
{
	s->outstanding--;
	s->done++;
	if (status)
		s->failed++;
}

static void take_header(struct stream *s, const uint8_t *bhs)
{
	const struct bhs *h = (const void *)bhs;

	s->ini.max_cmdsn = get_be32(h->max_cmdsn);
	switch (h->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_DATA_IN:
		if (!(h->flags & ISCSI_DATA_IN_STATUS))
			break;
		s->ini.exp_statsn = get_be32(h->cmdsn) + 1;
		ended(s, h->specific[1]);
		break;
	case ISCSI_OP_SCSI_RESPONSE:
		s->ini.exp_statsn = get_be32(h->cmdsn) + 1;
		ended(s, h->specific[1]);
		break;
	case ISCSI_OP_R2T:
		add_data_out(s, (const void *)bhs);
		break;
	default:
		break;
	}
}

/* Headers out of what was read; payload is counted, not looked at. */
static void take_bytes(struct stream *s, size_t n)
{
	uint8_t *p = s->rx, *end = s->rx + s->rx_have + n;
	size_t head = ISCSI_BHS_SIZE + (s->ini.header_digest ? ISCSI_DIGEST_SIZE : 0u);

	while (p < end) {
		size_t have = (size_t)(end - p), skip;

		if (s->rx_skip) {
			skip = s->rx_skip < have ? s->rx_skip : have;
			p += skip;
			s->rx_skip -= skip;
			continue;
		}
		if (have < head)
			break;
		take_header(s, p);
		s->rx_skip = (get_be24(p + 5) + 3u) & ~3u;
		if (s->rx_skip && s->ini.data_digest)
			s->rx_skip += ISCSI_DIGEST_SIZE;
		p += head;
	}
	s->rx_have = (size_t)(end - p);
	memmove(s->rx, p, s->rx_have);
}

/* 1: something came; 0: nothing now. */
static int receive(struct stream *s)
{
	ssize_t n;

	/* A long payload is dropped by the kernel: the client must not be the bottleneck. */
	if (s->rx_skip >= 16384 && !s->rx_have) {
		n = recv(s->ini.fd, NULL, s->rx_skip, MSG_DONTWAIT | MSG_TRUNC);
		if (n > 0)
			s->rx_skip -= (size_t)n;
	} else {
		n = recv(s->ini.fd, s->rx + s->rx_have, RX_SIZE - s->rx_have, MSG_DONTWAIT);
		if (n > 0)
			take_bytes(s, (size_t)n);
	}
	if (!n)
		return -ECONNRESET;
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return 1;
}

static void sent(struct stream *s, size_t n)
{
	while (n) {
		struct iovec *v = &s->iov[s->first_iov];
		size_t take = n < v->iov_len ? n : v->iov_len;

		v->iov_base = (uint8_t *)v->iov_base + take;
		v->iov_len -= take;
		n -= take;
		if (!v->iov_len)
			s->first_iov++;
	}
	if (s->first_iov == s->n_iov)
		s->first_iov = s->n_iov = s->n_heads = 0;
}

/* 1: all is out; 0: the socket is full. */
static int transmit(struct stream *s)
{
	while (s->first_iov < s->n_iov) {
		struct msghdr m = { .msg_iov = s->iov + s->first_iov,
				    .msg_iovlen = s->n_iov - s->first_iov };
		ssize_t n;

		if (m.msg_iovlen > SEND_MAX)
			m.msg_iovlen = SEND_MAX;
		n = sendmsg(s->ini.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		sent(s, (size_t)n);
	}
	return 1;
}

int stream_turn(struct stream *s)
{
	for (;;) {
		int rx = receive(s), tx;

		if (rx < 0)
			return rx;
		while (s->outstanding < s->plan.depth && has_room(s) &&
		       sna_diff(s->ini.max_cmdsn, s->ini.cmdsn) >= 0)
			add_command(s);
		tx = transmit(s);
		if (tx < 0)
			return tx;
		if (!rx)
			return 0;
	}
}
