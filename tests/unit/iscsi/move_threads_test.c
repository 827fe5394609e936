/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logins that go to another reactor while both run in threads of their own; the test itself only
 * sends them messages. For the thread sanitizer above all.
 */
#include "tests/unit/iscsi/move.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

struct call {
	struct reactor_msg msg;
	void (*run)(void *arg);
	void *arg;
	sem_t done;
};

static void run_call(struct reactor_msg *msg)
{
	struct call *c = container_of(msg, struct call, msg);

	c->run(c->arg);
	sem_post(&c->done);
}

static void on(const struct fake_net *n, void (*run)(void *arg), void *arg)
{
	struct call c = { .msg.run = run_call, .run = run, .arg = arg };

	sem_init(&c.done, 0, 0);
	reactor_send(n->reactor, &c.msg);
	while (sem_wait(&c.done))
		;
	sem_destroy(&c.done);
}

static void *serve(void *reactor)
{
	reactor_run(reactor);
	return NULL;
}

static void start_threads(pthread_t threads[static 2])
{
	ck_assert_int_eq(pthread_create(&threads[0], NULL, serve, home.reactor), 0);
	ck_assert_int_eq(pthread_create(&threads[1], NULL, serve, away.reactor), 0);
}

static void stop_threads(const pthread_t threads[static 2])
{
	reactor_stop(home.reactor);
	reactor_stop(away.reactor);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

struct attempt {
	struct fake_net *net; /* that the connection comes to */
	struct fake_initiator i;
	uint16_t tsih, cid;
	unsigned status; /* 0xffff: not answered yet */
	bool closed;
};

static void begin(void *arg)
{
	struct attempt *a = arg;

	a->i = fake_initiator(a->net);
	a->i.tsih = a->tsih;
	a->i.cid = a->cid;
	a->status = 0xffff;
	a->closed = false;
	if (fake_login_send(&a->i, FAKE_OP_FFP, FAKE_NORMAL "MaxConnections=4\n"))
		abort();
}

/* On the reactor of the session, where the connection is bound for. */
static void look(void *arg)
{
	struct attempt *a = arg;
	struct list *pos;

	list_for_each (pos, &home.conns) {
		struct fake_conn *fc = list_entry(pos, struct fake_conn, node);

		if (fc != a->i.fc)
			continue;
		if (!list_empty(&fc->sent)) {
			struct fake_pdu *p = list_entry(list_pop(&fc->sent), struct fake_pdu, node);

			a->status = fake_status(p);
			free(p);
		}
		a->closed = !fc->c;
		return;
	}
}

static void await(struct attempt *a)
{
	for (unsigned n = 0; n < 20000 && a->status == 0xffff && !a->closed; n++) {
		on(&home, look, a);
		if (a->status == 0xffff)
			usleep(500);
	}
}

static void drop(void *arg)
{
	(void)arg;
	iscsi_reactor_drop(home.reactor, first.fc->c->session->id, "test");
}

static void lead(void *arg)
{
	struct attempt *a = arg;

	a->net = &home;
	a->tsih = 0;
	a->cid = 0;
	begin(a);
}

static void note_first(void *arg)
{
	struct attempt *a = arg;

	first = a->i;
	first.tsih = a->i.fc->c->session->tsih;
}

static void count_conns(void *arg)
{
	*(unsigned *)arg = first.fc->c->session->n_conns;
}

/* Reinstatement and further connections from both reactors at once, again and again. */
START_TEST(crowd)
{
	struct attempt a[6] = { 0 };
	pthread_t threads[2];
	unsigned n;

	start_threads(threads);
	for (unsigned round = 0; round < 40; round++) {
		for (unsigned k = 0; k < 6; k++) {
			a[k].net = k % 2 ? &home : &away;
			a[k].tsih = first.tsih;
			a[k].cid = (uint16_t)(1 + k % 3);
			on(a[k].net, begin, &a[k]);
		}
		for (unsigned k = 0; k < 6; k++)
			await(&a[k]);
		/* Of two with one CID the first may be closed before its answer is out. */
		for (unsigned k = 0; k < 3; k++) {
			ck_assert_msg(!a[k].status || !a[k + 3].status, "round %u: %04x %04x",
				      round, a[k].status, a[k + 3].status);
			ck_assert(a[k].status == 0 || a[k].closed);
			ck_assert(a[k + 3].status == 0 || a[k + 3].closed);
		}
		on(&home, count_conns, &n);
		ck_assert_uint_eq(n, 4);
	}
	stop_threads(threads);
	check_left();
}
END_TEST

/* The session ends at any moment of it: 020a, or it was in time and ends with it. */
START_TEST(crossing)
{
	struct attempt a = { 0 }, leading = { 0 };
	pthread_t threads[2];

	start_threads(threads);
	for (unsigned round = 0; round < 60; round++) {
		a = (struct attempt){ .net = &away, .tsih = first.tsih, .cid = 5 };
		on(&away, begin, &a);
		on(&home, drop, NULL);
		for (unsigned k = 0; k < 2000 && !a.closed && a.status != LOGIN_NO_SESSION; k++) {
			on(&home, look, &a);
			usleep(200);
		}
		ck_assert_msg(a.status == 0 || a.status == LOGIN_NO_SESSION || a.status == 0xffff,
			      "%04x", a.status);
		on(&home, lead, &leading);
		await(&leading);
		ck_assert_uint_eq(leading.status, 0);
		on(&home, note_first, &leading);
	}
	stop_threads(threads);
}
END_TEST

SUITE_COVERS("L-018 S-011");

int main(void)
{
	const TTest *const tests[] = { crowd, crossing };

	return run_suite("iscsi/move_threads", tests, sizeof(tests) / sizeof(tests[0]));
}
