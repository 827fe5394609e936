/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes in and out of the test initiator: sockets, digests, padding. */
#include "daemon/base/bytes.h"
#include "daemon/base/crc32c.h"
#include "tests/initiator/internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int ini_reopen(struct ini *i)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *a;
	char port[8];
	int one = 1, err = 0;

	snprintf(port, sizeof(port), "%u", i->port);
	if (getaddrinfo(i->host, port, &hints, &a))
		return -EINVAL;
	i->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (i->fd < 0 || connect(i->fd, a->ai_addr, a->ai_addrlen))
		err = -errno;
	freeaddrinfo(a);
	if (err) {
		ini_close(i);
		return err;
	}
	setsockopt(i->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	i->header_digest = i->data_digest = i->full_feature = false;
	i->statsn_known = i->window_known = false;
	i->exp_statsn = 0;
	memset(i->track, 0, sizeof(i->track));
	i->max_recv = i->max_send = ISCSI_TEXT_DEFAULT;
	return 0;
}

int ini_open(struct ini *i, const char *host, uint16_t port)
{
	static uint32_t next_isid;

	memset(i, 0, sizeof(*i));
	snprintf(i->host, sizeof(i->host), "%s", host);
	i->port = port;
	i->isid[0] = 0x80; /* random format, RFC 7143 11.12.5 */
	put_be32(i->isid + 2, ++next_isid + (uint32_t)getpid() * 4096u);
	i->cmdsn = 1;
	i->itt = 0x100;
	i->max_burst = 262144;
	i->first_burst = 65536;
	i->max_r2t = 1;
	i->initial_r2t = i->immediate_data = true;
	return ini_reopen(i);
}

void ini_close(struct ini *i)
{
	if (i->fd >= 0)
		close(i->fd);
	i->fd = -1;
}

int ini_send_bytes(struct ini *i, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n) {
		ssize_t sent = send(i->fd, p, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		p += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static size_t put_digest(uint8_t *to, const uint8_t *p, size_t n, bool corrupt)
{
	uint32_t crc = crc32c_final(crc32c_update(CRC32C_INIT, p, n));

	crc32c_put(to, corrupt ? ~crc : crc);
	return ISCSI_DIGEST_SIZE;
}

int ini_send_ahs(struct ini *i, uint8_t bhs[static 48], const void *ahs, uint16_t ahs_length,
		 const void *data, uint32_t length)
{
	uint32_t pad = -length & 3;
	uint8_t *buf = calloc(1, (size_t)ISCSI_BHS_SIZE + ahs_length + length + 16), *p = buf;
	int err;

	if (!buf)
		return -ENOMEM;
	bhs[4] = (uint8_t)(ahs_length / 4);
	put_be24(bhs + 5, length);
	memcpy(p, bhs, ISCSI_BHS_SIZE);
	p += ISCSI_BHS_SIZE;
	if (ahs_length)
		memcpy(p, ahs, ahs_length);
	p += ahs_length;
	if (i->header_digest)
		p += put_digest(p, buf, (size_t)(p - buf), i->corrupt_header_digest);
	if (length) {
		memcpy(p, data, length);
		p += length + pad;
		if (i->data_digest)
			p += put_digest(p, p - length - pad, length + pad, i->corrupt_data_digest);
	}
	ini_track(i, bhs);
	err = ini_send_bytes(i, buf, (size_t)(p - buf));
	free(buf);
	return err;
}

int ini_send(struct ini *i, uint8_t bhs[static 48], const void *data, uint32_t length)
{
	return ini_send_ahs(i, bhs, NULL, 0, data, length);
}

/* 1, or 0 at the time limit, or a negative errno. */
static int read_exactly(struct ini *i, void *to, size_t n, int64_t deadline)
{
	uint8_t *p = to;

	while (n) {
		struct pollfd pfd = { .fd = i->fd, .events = POLLIN };
		int64_t left = deadline - now_ms();
		ssize_t got;

		if (poll(&pfd, 1, left > 0 ? (int)left : 0) == 0)
			return 0;
		got = recv(i->fd, p, n, 0);
		if (!got)
			return -ENOTCONN;
		if (got < 0 && errno != EINTR)
			return errno == ECONNRESET ? -ENOTCONN : -errno;
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
	return 1;
}

static int receive_data(struct ini *i, struct ini_pdu *p, int64_t deadline)
{
	unsigned pad = -p->length & 3;
	uint8_t digest[ISCSI_DIGEST_SIZE];
	int rc = 1;

	p->data = calloc(1, (size_t)p->length + 8);
	if (!p->data)
		return -ENOMEM;
	if (p->length)
		rc = read_exactly(i, p->data, p->length + pad, deadline);
	if (rc == 1 && p->length && i->data_digest) {
		rc = read_exactly(i, digest, sizeof(digest), deadline);
		if (rc == 1 && crc32c_get(digest) != crc32c_final(crc32c_update(
							 CRC32C_INIT, p->data, p->length + pad)))
			ini_violation(i, "data digest is wrong");
	}
	if (rc != 1)
		return rc ? rc : -ETIMEDOUT; /* half a PDU */
	ini_validate(i, p, p->data + p->length, pad);
	return 1;
}

int ini_receive(struct ini *i, struct ini_pdu *ret, int timeout_ms)
{
	int64_t deadline = now_ms() + timeout_ms;
	uint8_t digest[ISCSI_DIGEST_SIZE];
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = read_exactly(i, ret->bhs, ISCSI_BHS_SIZE, deadline);
	if (rc != 1)
		return rc;
	deadline += 2000;
	if (i->header_digest) {
		rc = read_exactly(i, digest, sizeof(digest), deadline);
		if (rc != 1)
			return rc ? rc : -ETIMEDOUT;
		if (crc32c_get(digest) !=
		    crc32c_final(crc32c_update(CRC32C_INIT, ret->bhs, ISCSI_BHS_SIZE)))
			ini_violation(i, "header digest is wrong");
	}
	ret->length = get_be24(ret->bhs + 5);
	rc = receive_data(i, ret, deadline);
	if (rc != 1)
		ini_pdu_free(ret);
	return rc;
}

void ini_pdu_free(struct ini_pdu *p)
{
	free(p->data);
	p->data = NULL;
}

bool ini_closed(struct ini *i, int timeout_ms)
{
	int64_t deadline = now_ms() + timeout_ms;

	for (;;) {
		struct ini_pdu p;
		int64_t left = deadline - now_ms();
		int rc = ini_receive(i, &p, left > 0 ? (int)left : 0);

		if (rc == -ENOTCONN || rc == -EPIPE)
			return true;
		if (rc != 1)
			return false;
		ini_pdu_free(&p);
	}
}
