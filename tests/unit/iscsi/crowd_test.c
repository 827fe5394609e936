/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections before login are counted by address: one cannot take the places of others. */
#include "tests/unit/unit.h"
#include "transport/iscsi/crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const struct sockaddr_storage *peer(const char *text)
{
	static struct sockaddr_storage a;
	struct sockaddr_in *v4 = (void *)&a;
	struct sockaddr_in6 *v6 = (void *)&a;

	memset(&a, 0, sizeof(a));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		a.ss_family = AF_INET;
		return &a;
	}
	ck_assert_int_eq(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	a.ss_family = AF_INET6;
	return &a;
}

static void fill(const char *text, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ck_assert(crowd_enter(peer(text), n));
	ck_assert(!crowd_enter(peer(text), n));
}

START_TEST(by_address)
{
	fill("192.0.2.1", 3);
	ck_assert(!crowd_enter(peer("::ffff:192.0.2.1"), 3));
	ck_assert(crowd_enter(peer("192.0.2.2"), 3));
	/* One that was refused has left no trace. */
	crowd_leave(peer("192.0.2.1"));
	ck_assert(crowd_enter(peer("192.0.2.1"), 3));
	ck_assert(!crowd_enter(peer("192.0.2.1"), 3));
	ck_assert(crowd_enter(peer("192.0.2.1"), 4));
}
END_TEST

START_TEST(by_network)
{
	fill("2001:db8:1:2::1", 2);
	ck_assert(!crowd_enter(peer("2001:db8:1:2:3:4:5:6"), 2));
	ck_assert(crowd_enter(peer("2001:db8:1:3::1"), 2));
}
END_TEST

START_TEST(no_limit)
{
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(crowd_enter(peer("192.0.2.1"), 0));
	ck_assert(!crowd_enter(peer("192.0.2.1"), 1000));
}
END_TEST

/* Many others do not take an address' places, but for a few. */
START_TEST(among_many)
{
	unsigned refused = 0;
	char text[32];

	for (unsigned i = 0; i < 1024; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u", i / 16, i % 16);
		for (unsigned n = 0; n < 2; n++)
			refused += !crowd_enter(peer(text), 2);
	}
	/* About 42 of them; with one row of counters it were 250. */
	ck_assert_uint_lt(refused, 128);
}
END_TEST

UNIT_MAIN("iscsi/crowd", by_address, by_network, no_limit, among_many)
