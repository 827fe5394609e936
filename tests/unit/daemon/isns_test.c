/* SPDX-License-Identifier: BSD-2-Clause */
/* The iSNS client: messages, what they tell, rounds with a server that can lie, notices. */
#include "daemon/isns/codec.h"
#include "daemon/isns/isns.h"
#include "daemon/isns/plan.h"
#include "daemon/isns/server.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define T "iqn.2026-01.org.example:"

/* n targets at two portals of group 1. */
static struct iscsi_policy *policy(unsigned n)
{
	static const struct iscsi_address addresses[] = {
		{ ISCSI_ADDRESS_FIXED, AF_INET, 3260, 1, "192.0.2.1" },
		{ ISCSI_ADDRESS_FIXED, AF_INET6, 3261, 1, "[2001:db8::1]" },
		{ ISCSI_ADDRESS_FIXED, AF_UNSPEC, 3260, 1, "storage.example.org" },
	};
	struct iscsi_policy *p = policy_alloc(n);

	p->addresses = calloc(3, sizeof(addresses[0]));
	memcpy(p->addresses, addresses, sizeof(addresses));
	p->n_addresses = 3;
	for (unsigned i = 0; i < n; i++) {
		snprintf(p->targets[i].name, sizeof(p->targets[i].name), T "t%03u", i);
		p->targets[i].online = true;
	}
	return p;
}

/* How many attributes of this tag the message has; its value must be this, if given. */
static unsigned count(const struct isns_bytes *m, uint32_t tag, const char *text)
{
	struct reader r = reader_on(m->bytes + ISNS_HEADER_SIZE, m->length - ISNS_HEADER_SIZE);
	struct isns_attribute a;
	unsigned n = 0;
	int error;

	while (isns_next(&r, &a, &error))
		n += a.tag == tag && (!text || !strcmp((const char *)a.value, text));
	ck_assert_int_eq(error, 0);
	return n;
}

static const struct isns_identity identity = { .entity = "host", .port = 4000, .period_s = 60 };

/* fault-C09: 2 targets at 2 portals are 4 objects, and all goes with one message. */
START_TEST(what_is_told)
{
	COVERS("N-045");
	struct iscsi_policy *p = policy(2);
	struct isns_plan *plan;
	struct isns_header h;

	ck_assert_int_eq(isns_plan_make(p, &identity, &plan), 0);
	ck_assert_uint_eq(plan->n, 3); /* and two registrations for notices */
	ck_assert_uint_eq(plan->n_targets, 2);
	ck_assert_uint_eq(plan->n_portals, 2);
	ck_assert_int_eq(isns_parse_header(plan->messages[0].bytes, &h), 0);
	ck_assert_uint_eq(h.function, ISNS_REGISTER);
	ck_assert_uint_eq(h.length, plan->messages[0].length - ISNS_HEADER_SIZE);
	ck_assert_uint_eq(h.flags, ISNS_CLIENT | ISNS_REPLACE | ISNS_FIRST | ISNS_LAST);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_ENTITY_ID, "host"), 2);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_PORTAL_ADDRESS, NULL), 2);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_NODE_NAME, T "t000"), 2); /* and source */
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_NODE_NAME, T "t001"), 1);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_GROUP_TAG, NULL), 4);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_GROUP_ADDRESS, NULL), 4);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_ESI_PORT, NULL), 0);
	ck_assert_uint_eq(count(&plan->goodbye, ISNS_ENTITY_ID, "host"), 1);
	isns_plan_free(plan);
	/* One that cannot be logged in to is not told of; without any nothing is. */
	p->targets[0].online = false;
	ck_assert_int_eq(isns_plan_make(p, &identity, &plan), 0);
	ck_assert_uint_eq(count(&plan->messages[0], ISNS_NODE_NAME, T "t000"), 0);
	isns_plan_free(plan);
	p->targets[1].removed = true;
	ck_assert_int_eq(isns_plan_make(p, &identity, &plan), 0);
	ck_assert_uint_eq(plan->n, 0);
	isns_plan_free(plan);
	policy_unref(p);
}
END_TEST

START_TEST(many_targets_take_several_messages)
{
	struct iscsi_policy *p = policy(1000);
	struct isns_plan *plan;
	unsigned n = 0, parts = 0;

	ck_assert_int_eq(isns_plan_make(p, &identity, &plan), 0);
	for (unsigned i = 0; i < plan->n; i++) {
		ck_assert_uint_le(plan->messages[i].length, 32768);
		if (get_be16(plan->messages[i].bytes + 2) != ISNS_REGISTER)
			continue;
		n += count(&plan->messages[i], ISNS_NODE_TYPE, NULL);
		ck_assert(!(get_be16(plan->messages[i].bytes + 6) & ISNS_REPLACE) == !!parts++);
	}
	ck_assert_uint_eq(n, 1000);
	ck_assert_uint_gt(parts, 1);
	isns_plan_free(plan);
	policy_unref(p);
}
END_TEST

START_TEST(lying_lengths)
{
	static const uint8_t wrong[][ISNS_HEADER_SIZE] = {
		{ 0, 2, 0, 8, 0, 4 },       /* version */
		{ 0, 1, 0, 8, 0, 5 },       /* not a multiple of four */
		{ 0, 1, 0, 8, 0xff, 0xff }, /* longer than can be */
	};
	uint8_t text[] = { 0, 0, 0, 32, 0, 0,  0, 8, 'i', 'q', 'n', 0, 0, 0,
			   0, 0, 0, 0,  0, 35, 0, 0, 0,   4,   0,   0, 0, 0x10 };
	struct isns_attribute a;
	struct isns_header h;
	int error;

	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(isns_parse_header(wrong[i], &h), -EPROTO);
	ck_assert(isns_scn_removes(text, sizeof(text)));
	for (size_t n = 0; n < sizeof(text); n++) {
		struct reader r = reader_on(text, n);

		ck_assert(!isns_scn_removes(text, n));
		while (isns_next(&r, &a, &error))
			ck_assert(a.value + a.length <= text + n);
		ck_assert_int_eq(error, n && n != 16 ? -EPROTO : 0);
	}
	text[7] = 0xff;
	ck_assert(!isns_scn_removes(text, sizeof(text)));
	text[7] = 8;
	text[23] = 2;
	ck_assert(!isns_scn_removes(text, sizeof(text)));
}
END_TEST

/* A server in the test's own thread. */
struct fake {
	int listener, fd;
	uint16_t port;
	uint8_t in[65536 + ISNS_HEADER_SIZE];
	size_t got;
	unsigned n, registers, deregisters, groups;
	uint32_t status; /* of its answers */
	bool garbage;
};

static struct reactor *control;
static struct isns *isns;
static struct fake fake;
static struct config_daemon settings;
static char servers[64], entity[] = "host";

static void fake_listen(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port) };
	socklen_t n = sizeof(a);
	int one = 1;

	fake.fd = -1;
	fake.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(fake.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ck_assert(!bind(fake.listener, (void *)&a, sizeof(a)) && !listen(fake.listener, 8) &&
		  !getsockname(fake.listener, (void *)&a, &n));
	fake.port = ntohs(a.sin_port);
}

static void setup(void)
{
	ck_assert_int_eq(reactor_create(0, "", &control), 0);
	ck_assert_int_eq(isns_start(control, &isns), 0);
	fake_listen(0);
	snprintf(servers, sizeof(servers), "127.0.0.1:%u", fake.port);
	settings = (struct config_daemon){ .isns_servers = servers,
					   .isns_period_s = 60,
					   .node_name = entity };
}

static void teardown(void)
{
	isns_stop(isns);
	if (fake.fd >= 0)
		close(fake.fd);
	close(fake.listener);
	reactor_destroy(control);
}

static void take(const struct isns_header *h)
{
	struct isns_bytes m = { fake.in, ISNS_HEADER_SIZE + h->length };
	uint8_t out[ISNS_HEADER_SIZE + 4] = { 0 };

	fake.n++;
	fake.registers += h->function == ISNS_REGISTER;
	fake.deregisters += h->function == ISNS_DEREGISTER;
	if (h->function == ISNS_REGISTER)
		fake.groups = count(&m, ISNS_GROUP_TAG, NULL);
	put_be16(out, 1);
	put_be16(out + 2, h->function | ISNS_ANSWER);
	put_be16(out + 4, 4);
	put_be16(out + 6, ISNS_SERVER | ISNS_FIRST | ISNS_LAST);
	put_be16(out + 8, (uint16_t)(h->xid + fake.garbage));
	put_be32(out + 12, fake.status);
	ck_assert_int_eq(send(fake.fd, out, sizeof(out), MSG_NOSIGNAL), (ssize_t)sizeof(out));
	fake.got = 0;
}

static void pump(void)
{
	struct isns_header h;
	ssize_t n;

	if (fake.fd < 0) {
		fake.fd = accept(fake.listener, NULL, NULL);
		fake.got = 0;
		return;
	}
	n = recv(fake.fd, fake.in + fake.got, sizeof(fake.in) - fake.got, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		close(fake.fd);
		fake.fd = -1;
		return;
	}
	fake.got += n > 0 ? (size_t)n : 0;
	if (fake.got < ISNS_HEADER_SIZE)
		return;
	ck_assert_int_eq(isns_parse_header(fake.in, &h), 0);
	if (fake.got >= ISNS_HEADER_SIZE + h.length)
		take(&h);
}

static void first(const struct isns_server *s, void *arg)
{
	*(const struct isns_server **)arg = s;
}

static const struct isns_server *server(void)
{
	const struct isns_server *s = NULL;

	isns_each(isns, first, &s);
	ck_assert_ptr_nonnull(s);
	return s;
}

/* Turns until the round is over. */
static void run_round(void)
{
	for (unsigned n = 0; n < 2000 && !isns_is_idle(isns); n++) {
		reactor_turn(control, 1);
		pump();
	}
	ck_assert(isns_is_idle(isns));
}

static void tell(unsigned targets)
{
	struct iscsi_policy *p = policy(targets);

	isns_update(isns, p, &settings);
	policy_unref(p);
	run_round();
}

START_TEST(rounds)
{
	struct isns_view v;

	tell(2);
	ck_assert(server()->registered);
	ck_assert_uint_eq(fake.groups, 4);
	ck_assert_uint_eq(fake.n, 3);
	tell(2); /* nothing new: nothing is said */
	ck_assert_uint_eq(fake.n, 3);
	tell(1); /* one was deleted */
	ck_assert_uint_eq(fake.groups, 2);
	ck_assert_uint_eq(fake.registers, 2);
	tell(0);
	ck_assert_uint_eq(fake.deregisters, 1);
	ck_assert(!server()->registered);
	tell(1);
	isns_say_goodbye(isns);
	run_round();
	ck_assert_uint_eq(fake.deregisters, 2);
	settings.isns_servers = NULL;
	tell(1);
	isns_look(isns, &v);
	ck_assert_uint_eq(v.port, 0); /* nobody tells us anything any more */
}
END_TEST

START_TEST(bad_servers)
{
	close(fake.listener);
	tell(1);
	ck_assert_ptr_nonnull(strstr(server()->why, "reached"));
	/* Back again: the next try finds it. */
	fake_listen(fake.port);
	for (unsigned n = 0; n < 8000 && !server()->registered; n++) {
		reactor_turn(control, 1);
		pump();
	}
	ck_assert(server()->registered);
	fake.status = 5;
	tell(2);
	ck_assert_ptr_nonnull(strstr(server()->why, "status 5"));
	fake.status = 0;
	fake.garbage = true;
	tell(1);
	ck_assert_ptr_nonnull(strstr(server()->why, "is none"));
}
END_TEST

/* Connects from 127.0.0.`last` to where notices are heard. */
static int notice_from(uint32_t last)
{
	struct isns_view v;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(0x7f000000 + last) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (void *)&from, sizeof(from)), 0);
	isns_look(isns, &v);
	a.sin_port = htons(v.port);
	ck_assert_int_eq(connect(fd, (void *)&a, sizeof(a)), 0);
	return fd;
}

static int notice_socket(void)
{
	return notice_from(1);
}

/* The answer's bytes; 0: it was hung up, -1: there is none. */
static ssize_t hear(int fd, const void *bytes, size_t n, uint8_t out[static 256])
{
	ssize_t got = -1;

	ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
	for (unsigned i = 0; i < 200 && got < 0; i++) {
		reactor_turn(control, 1);
		got = recv(fd, out, 256, MSG_DONTWAIT);
	}
	return got;
}

static const uint8_t esi[] = { 0, 1, 0, 13, 0, 8, 0x4c, 0, 0, 7, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0 };

START_TEST(notices)
{
	static const uint8_t scn[] = { 0, 1, 0, 8,  0, 24, 0x4c, 0, 0,   9,   0,   0,
				       0, 0, 0, 32, 0, 0,  0,    4, 'i', 'q', 'n', 0,
				       0, 0, 0, 35, 0, 0,  0,    4, 0,   0,   0,   0x10 };
	static const uint8_t wrong[] = { 0, 1, 0, 1, 0, 0, 0x4c, 0, 0, 7, 0, 0 };
	static const uint8_t large[] = { 0, 1, 0, 8, 0xff, 0xfc, 0x4c, 0, 0, 7, 0, 0 };
	uint8_t out[256];
	struct isns_view v;
	unsigned before;
	int fd;

	tell(1);
	fd = notice_socket();
	ck_assert_int_eq(hear(fd, esi, 7, out), -1);
	ck_assert_int_eq(hear(fd, esi + 7, sizeof(esi) - 7, out), 24);
	ck_assert_mem_eq(out, "\0\1\x80\x0d\0\x0c", 6);
	ck_assert_mem_eq(out + 8, "\0\7\0\0\0\0\0\0", 8);
	ck_assert_mem_eq(out + 16, esi + 12, 8);
	ck_assert_int_eq(hear(fd, scn, sizeof(scn), out), 28);
	ck_assert_mem_eq(out, "\0\1\x80\x08\0\x10", 6);
	isns_look(isns, &v);
	ck_assert(v.n_esi == 1 && v.n_scn == 1);
	/* Something was removed: a round repairs it if it was ours. */
	before = fake.registers;
	for (unsigned n = 0; n < 4000 && fake.registers == before; n++) {
		reactor_turn(control, 1);
		pump();
	}
	ck_assert_uint_eq(fake.registers, before + 1);
	ck_assert_int_eq(hear(fd, wrong, sizeof(wrong), out), 0);
	close(fd);
	fd = notice_socket();
	ck_assert_int_eq(hear(fd, large, sizeof(large), out), 0);
	close(fd);
}
END_TEST

/* Closed without an answer. */
static void check_unheard(int fd)
{
	uint8_t byte;
	ssize_t got = -1;

	for (unsigned i = 0; i < 2000 && got < 0; i++) {
		reactor_turn(control, 1);
		pump();
		got = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (got < 0 && errno == ECONNRESET)
			got = 0;
	}
	ck_assert_int_eq(got, 0);
	close(fd);
}

/* fault-B16: what a server says is never a format, nor anything else but bytes. */
START_TEST(formats_in_notices)
{
	COVERS("fault-B16");
	uint8_t scn[12 + 8 + 200] = { 0, 1, 0, 8, 0, 208, 0x4c, 0, 0, 9 }, out[256];
	int fd;

	put_be32(scn + 12, ISNS_NODE_NAME);
	put_be32(scn + 16, 200);
	for (unsigned n = 20; n < sizeof(scn); n += 4)
		memcpy(scn + n, n % 8 ? "%n%s" : "%99$", 4);
	tell(1);
	fd = notice_socket();
	ck_assert_int_gt(hear(fd, scn, sizeof(scn), out), 12);
	ck_assert_mem_eq(out, "\0\1\x80\x08", 4);
	ck_assert_int_eq(hear(fd, esi, sizeof(esi), out), 24);
	close(fd);
}
END_TEST

/* Only servers are listened to, and those only as long as they are configured. */
START_TEST(notices_of_others)
{
	struct iscsi_policy *p = policy(1);
	uint8_t out[256];
	struct isns_view v;
	int fd;

	tell(1);
	check_unheard(notice_from(7));
	fd = notice_from(1);
	ck_assert_int_eq(hear(fd, esi, sizeof(esi), out), 24);
	isns_look(isns, &v);
	ck_assert_uint_eq(v.n_esi, 1);
	snprintf(servers, sizeof(servers), "127.0.0.7:%u", fake.port);
	isns_update(isns, p, &settings);
	policy_unref(p);
	check_unheard(fd);
	fd = notice_from(7);
	ck_assert_int_eq(hear(fd, esi, sizeof(esi), out), 24);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("daemon/isns");
	TCase *t = tcase_create("isns");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_is_told);
	tcase_add_test(t, many_targets_take_several_messages);
	tcase_add_test(t, lying_lengths);
	tcase_add_test(t, rounds);
	tcase_add_test(t, bad_servers);
	tcase_add_test(t, notices);
	tcase_add_test(t, formats_in_notices);
	tcase_add_test(t, notices_of_others);
	suite_add_tcase(s, t);
	return unit_end(r);
}
