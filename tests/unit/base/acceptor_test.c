/* SPDX-License-Identifier: BSD-2-Clause */
/* A listening socket: everybody is taken, and a process that is full does not spin. */
#include "daemon/base/acceptor.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MANY 100 /* more than are taken in one turn */

static struct reactor *reactor;
static struct acceptor acceptor;
static struct sockaddr_in address;
static unsigned n_taken, n_starved, stop_at;

static void take(struct acceptor *a, int fd, const struct sockaddr_storage *peer)
{
	ck_assert_int_eq(peer->ss_family, AF_INET);
	close(fd);
	if (++n_taken == stop_at)
		acceptor_stop(a);
}

static void starved(struct acceptor *a, int error)
{
	ck_assert_ptr_eq(a, &acceptor);
	ck_assert_int_eq(error, EMFILE);
	n_starved++;
}

static void setup(void)
{
	socklen_t n = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	address = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	ck_assert_int_eq(bind(fd, (void *)&address, n), 0);
	ck_assert_int_eq(listen(fd, MANY), 0);
	ck_assert_int_eq(getsockname(fd, (void *)&address, &n), 0);
	ck_assert_int_eq(reactor_create(0, "", &reactor), 0);
	acceptor_init(&acceptor);
	acceptor.taken = take;
	acceptor.starved = starved;
	ck_assert_int_eq(acceptor_start(&acceptor, reactor, fd), 0);
}

static void end(void)
{
	acceptor_stop(&acceptor);
	acceptor_stop(&acceptor); /* may be said twice */
	reactor_destroy(reactor);
}

static void dial(unsigned times)
{
	while (times--) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		ck_assert_int_eq(connect(fd, (void *)&address, sizeof(address)), 0);
		close(fd);
	}
}

START_TEST(all_are_taken)
{
	setup();
	dial(MANY);
	for (unsigned n = 0; n < 20 && n_taken < MANY; n++)
		reactor_turn(reactor, 10);
	ck_assert_uint_eq(n_taken, MANY);
	ck_assert_uint_eq(n_starved, 0);
	end();
}
END_TEST

START_TEST(stopped_while_it_takes)
{
	setup();
	stop_at = 3;
	dial(10);
	for (unsigned n = 0; n < 5; n++)
		reactor_turn(reactor, 1);
	ck_assert_uint_eq(n_taken, 3);
	end();
}
END_TEST

/* It rests, says so once for each rest, and takes who has waited. */
START_TEST(no_descriptors_left)
{
	struct reactor_stats before, after;
	struct rlimit limit, less;
	uint64_t until;

	setup();
	dial(1);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	less = limit;
	less.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &less), 0);
	reactor_get_stats(reactor, &before);
	until = reactor_now_ms(reactor) + 300;
	while (reactor_now_ms(reactor) < until)
		reactor_turn(reactor, 50);
	reactor_get_stats(reactor, &after);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(n_taken, 0);
	ck_assert_uint_ge(n_starved, 1);
	ck_assert_uint_lt(after.turns - before.turns, 30);
	for (unsigned n = 0; n < 200 && !n_taken; n++)
		reactor_turn(reactor, 50);
	ck_assert_uint_eq(n_taken, 1);
	end();
}
END_TEST

UNIT_MAIN("base/acceptor", all_are_taken, stopped_while_it_takes, no_descriptors_left)
