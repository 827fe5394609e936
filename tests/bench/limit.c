/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a target can reach at best: a server that answers each 48 bytes by a header and, if the
 * request says READ, as many bytes as it expects. No login, no numbers, no SCSI, no store; what it
 * takes is what sockets take. Written data is not understood. For hawser-bench-probe --raw.
 *
 *   hawser-bench-limit PORT
 */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define DATA_MAX (1u << 20)
#define CONNS    64 /* descriptors */

static uint8_t data[DATA_MAX];

/* One answer; waits where the socket is full, as nobody else is served then. */
static int answer(int fd, const struct bhs_scsi_command *q)
{
	struct bhs_data_in h = { .opcode = ISCSI_OP_DATA_IN,
				 .flags = ISCSI_FINAL | ISCSI_DATA_IN_STATUS };
	uint32_t length = q->flags & ISCSI_CMD_READ ? get_be32(q->edtl) : 0;
	struct iovec iov[2] = { { &h, sizeof(h) }, { data, length } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	if (length > DATA_MAX)
		return -1;
	put_be24(h.data_segment_length, length);
	memcpy(h.itt, q->itt, sizeof(h.itt));
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)(sizeof(h) + length) ? 0 : -1;
}

static int serve(int fd)
{
	static uint8_t rest[CONNS][ISCSI_BHS_SIZE];
	static size_t have[CONNS];
	struct bhs_scsi_command q;
	ssize_t n = recv(fd, rest[fd] + have[fd], ISCSI_BHS_SIZE - have[fd], 0);

	if (n <= 0) {
		have[fd] = 0;
		return -1;
	}
	have[fd] += (size_t)n;
	if (have[fd] < ISCSI_BHS_SIZE)
		return 0;
	have[fd] = 0;
	memcpy(&q, rest[fd], sizeof(q));
	return answer(fd, &q);
}

static int watch(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
}

static void take(int ep, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fd >= CONNS || watch(ep, fd))
		close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int ep = epoll_create1(EPOLL_CLOEXEC), one = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_port = htons(argc == 2 ? (uint16_t)strtoul(argv[1], NULL, 10) : 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!a.sin_port || bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(listener, 16) || watch(ep, listener)) {
		fprintf(stderr, "hawser-bench-limit: PORT is needed, and must be free\n");
		return 2;
	}
	for (;;) {
		struct epoll_event ev;

		if (epoll_wait(ep, &ev, 1, -1) < 1)
			continue;
		if (ev.data.fd == listener)
			take(ep, listener);
		else if (serve(ev.data.fd))
			close(ev.data.fd);
	}
}
