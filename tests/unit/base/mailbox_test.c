/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages and broadcasts between real threads; the ThreadSanitizer build is the second judge. */
#include "daemon/base/reactor.c"

#include "tests/unit/unit.h"

#define THREADS  4u
#define MESSAGES 3000ull

struct worker {
	struct reactor *reactor;
	pthread_t thread;
};

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	reactor_run(w->reactor);
	return NULL;
}

static void worker_start(struct worker *w, unsigned index)
{
	ck_assert_int_eq(reactor_create(index, "worker", &w->reactor), 0);
	ck_assert_int_eq(pthread_create(&w->thread, NULL, worker_main, w), 0);
}

static void worker_end(struct worker *w)
{
	reactor_stop(w->reactor);
	ck_assert_int_eq(pthread_join(w->thread, NULL), 0);
	reactor_destroy(w->reactor);
}

static struct reactor *make(void)
{
	struct reactor *r = NULL;

	if (reactor_create(99, "main", &r) < 0)
		abort();
	return r;
}

struct note {
	struct reactor_msg msg;
	unsigned sender, number;
};

static unsigned seen[THREADS + 1]; /* messages of each sender; the receiver's thread only */
static struct reactor *receiver;

static void note_run(struct reactor_msg *msg)
{
	struct note *note = container_of(msg, struct note, msg);

	ck_assert(reactor_is_current(receiver));
	ck_assert_uint_eq(note->number, seen[note->sender]); /* in the order of sending */
	seen[note->sender]++;
	free(note);
}

static void note_send(struct reactor *to, unsigned sender, unsigned number)
{
	struct note *note = malloc(sizeof(*note));

	if (!note)
		abort();
	note->msg.run = note_run;
	note->sender = sender;
	note->number = number;
	reactor_send(to, &note->msg);
}

static void *sender_main(void *arg)
{
	unsigned sender = *(const unsigned *)arg;

	for (unsigned i = 0; i < MESSAGES; i++)
		note_send(receiver, sender, i);
	return NULL;
}

/* The receiver sleeps without limit each time: one lost wake-up and the test never ends. */
START_TEST(none_is_lost_none_is_slept_over)
{
	pthread_t threads[THREADS];
	struct reactor_stats stats;
	unsigned numbers[THREADS], total = 0;

	memset(seen, 0, sizeof(seen));
	receiver = make();
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, sender_main, &numbers[i]), 0);
	}
	while (total < THREADS * MESSAGES) {
		reactor_turn(receiver, -1);
		total = 0;
		for (unsigned i = 0; i < THREADS; i++)
			total += seen[i];
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	reactor_get_stats(receiver, &stats);
	ck_assert_uint_eq(stats.messages, THREADS * MESSAGES);
	reactor_destroy(receiver);
}
END_TEST

/* One at a time, so that each finds the other side asleep or just about to be. */
struct ball {
	struct reactor_msg msg;
	struct reactor *here, *there;
	unsigned *left;
};

static struct ball ball;
static atomic_bool ball_done;

static void ball_run(struct reactor_msg *msg)
{
	struct ball *b = container_of(msg, struct ball, msg);
	struct reactor *here = b->here;

	ck_assert(reactor_is_current(b->there));
	if (!--*b->left) {
		atomic_store(&ball_done, true);
		reactor_stop(here);
		reactor_stop(b->there);
		return;
	}
	b->here = b->there;
	b->there = here;
	reactor_send(here, msg);
}

START_TEST(ping_pong)
{
	struct worker a, b;
	unsigned left = 5000;

	worker_start(&a, 0);
	worker_start(&b, 1);
	ball = (struct ball){ .here = a.reactor, .there = b.reactor, .left = &left };
	ball.msg.run = ball_run;
	reactor_send(b.reactor, &ball.msg);
	ck_assert_int_eq(pthread_join(a.thread, NULL), 0);
	ck_assert_int_eq(pthread_join(b.thread, NULL), 0);
	ck_assert(atomic_load(&ball_done));
	reactor_destroy(a.reactor);
	reactor_destroy(b.reactor);
}
END_TEST

START_TEST(a_message_to_oneself_runs_and_costs_no_wake)
{
	memset(seen, 0, sizeof(seen));
	receiver = make();
	note_send(receiver, THREADS, 0);
	note_send(receiver, THREADS, 1);
	reactor_turn(receiver, -1); /* pending: does not sleep */
	ck_assert_uint_eq(seen[THREADS], 2);
	ck_assert_uint_eq(receiver->events, 0); /* the eventfd was not written */
	reactor_destroy(receiver);
}
END_TEST

START_TEST(sent_before_stop_is_run)
{
	for (int round = 0; round < 200; round++) {
		struct worker w;

		memset(seen, 0, sizeof(seen));
		worker_start(&w, 0);
		receiver = w.reactor;
		note_send(w.reactor, 0, 0);
		worker_end(&w);
		ck_assert_uint_eq(seen[0], 1);
	}
}
END_TEST

/* Broadcasts. */

struct call {
	struct reactor_broadcast b;
	atomic_uint ran;
	bool done;
	struct reactor_broadcast *parked; /* acknowledged later, by somebody else */
};

static void call_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct call *call = container_of(b, struct call, b);

	ck_assert(reactor_is_current(r));
	atomic_fetch_add(&call->ran, 1u << (8 * reactor_index(r)));
	reactor_broadcast_ack(b);
}

static void call_done(struct reactor_broadcast *b)
{
	struct call *call = container_of(b, struct call, b);

	ck_assert(reactor_is_current(b->reply_to));
	call->done = true;
}

START_TEST(broadcast_reaches_each_once)
{
	struct worker w[THREADS];
	struct reactor *set[THREADS], *self = make();

	for (unsigned i = 0; i < THREADS; i++) {
		worker_start(&w[i], i);
		set[i] = w[i].reactor;
	}
	for (int round = 0; round < 300; round++) {
		struct call call = { .b = {
					 .each = call_each, .done = call_done, .reply_to = self } };

		ck_assert_int_eq(reactor_broadcast(set, THREADS, &call.b), 0);
		while (!call.done)
			reactor_turn(self, -1);
		ck_assert_uint_eq(atomic_load(&call.ran), 0x01010101u);
	}
	for (unsigned i = 0; i < THREADS; i++)
		worker_end(&w[i]);
	reactor_destroy(self);
}
END_TEST

START_TEST(broadcast_includes_the_sender)
{
	struct worker w;
	struct reactor *self = NULL, *set[2];
	struct call call = { .b = { .each = call_each, .done = call_done } };

	if (reactor_create(0, "main", &self) < 0)
		abort();
	worker_start(&w, 1);
	set[0] = self;
	set[1] = w.reactor;
	call.b.reply_to = self;
	ck_assert_int_eq(reactor_broadcast(set, 2, &call.b), 0);
	ck_assert(!call.done); /* never from inside the call */
	while (!call.done)
		reactor_turn(self, -1);
	ck_assert_uint_eq(atomic_load(&call.ran), 0x0101u);
	worker_end(&w);
	reactor_destroy(self);
}
END_TEST

START_TEST(broadcast_to_nobody_is_done)
{
	struct reactor *self = make();
	struct call call = { .b = { .each = call_each, .done = call_done, .reply_to = self } };

	ck_assert_int_eq(reactor_broadcast(NULL, 0, &call.b), 0);
	ck_assert(!call.done);
	reactor_turn(self, -1);
	ck_assert(call.done);
	reactor_destroy(self);
}
END_TEST

static void park_each(struct reactor_broadcast *b, struct reactor *r)
{
	struct call *call = container_of(b, struct call, b);

	(void)r;
	call->parked = b;
	atomic_fetch_add(&call->ran, 1);
}

static void *ack_main(void *arg)
{
	reactor_broadcast_ack(arg);
	return NULL;
}

START_TEST(acknowledged_later_on_another_thread)
{
	struct reactor *self = make();
	struct call call = { .b = { .each = park_each, .done = call_done, .reply_to = self } };
	pthread_t thread;

	ck_assert_int_eq(reactor_broadcast(&self, 1, &call.b), 0);
	reactor_turn(self, -1);
	reactor_turn(self, 0);
	ck_assert_uint_eq(atomic_load(&call.ran), 1);
	ck_assert(!call.done);
	ck_assert_int_eq(pthread_create(&thread, NULL, ack_main, call.parked), 0);
	while (!call.done)
		reactor_turn(self, -1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	reactor_destroy(self);
}
END_TEST

UNIT_MAIN("base/mailbox", none_is_lost_none_is_slept_over, ping_pong,
	  a_message_to_oneself_runs_and_costs_no_wake, sent_before_stop_is_run,
	  broadcast_reaches_each_once, broadcast_includes_the_sender, broadcast_to_nobody_is_done,
	  acknowledged_later_on_another_thread)
