/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening: what is accepted comes to its reactor, as a connection that will notice a dead peer.
 */
#include "tests/unit/tcp/support.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

static struct portal *portal;

static void setup(void)
{
	memset(&rig, 0, sizeof(rig));
	ck_assert_int_eq(reactor_create(0, "test", &rig.r), 0);
	ck_assert_int_eq(tcp_reactor_start(rig.r), 0);
	portal_set_reactors(&rig.r, 1);
	ck_assert_int_eq(portal_create(&tcp_datamover, "127.0.0.1", 0, 1, rig.r, &portal), 0);
	ck_assert_int_eq(portal_listen(portal), 0);
	ck_assert_uint_ne(portal->port, 0);
}

/* A socket, -1: nobody listens. */
static int dial(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(portal->port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (!connect(fd, (void *)&a, sizeof(a)))
		return fd;
	close(fd);
	return -1;
}

static int option(int level, int name)
{
	socklen_t n = sizeof(int);
	int value = -1;

	ck_assert_int_eq(getsockopt(tcp_conn_of(rig.conn)->rfd.fd, level, name, &value, &n), 0);
	return value;
}

START_TEST(accepted)
{
	setup();
	rig.fd = dial();
	ck_assert_int_ge(rig.fd, 0);
	for (unsigned n = 0; n < 500 && !rig.conn; n++)
		reactor_turn(rig.r, 10);
	ck_assert_ptr_nonnull(rig.conn);
	ck_assert_int_eq(option(IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert_int_eq(option(SOL_SOCKET, SO_KEEPALIVE), 1);
	ck_assert_int_eq(option(IPPROTO_TCP, TCP_KEEPIDLE), 30);
	ck_assert_int_eq(option(IPPROTO_TCP, TCP_KEEPINTVL), 10);
	ck_assert_int_eq(option(IPPROTO_TCP, TCP_KEEPCNT), 6);
	ck_assert_int_eq(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
	portal_unlisten(portal);
	ck_assert_int_eq(dial(), -1);
	portal_unref(portal);
	rig_stop();
}
END_TEST

UNIT_MAIN("tcp/listen", accepted)
