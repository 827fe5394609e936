/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/wheel.h"

#include "daemon/base/reactor.h"

#define WHEEL_END ((uint64_t)1 << (WHEEL_BITS * WHEEL_LEVELS))

void wheel_init(struct wheel *w, uint64_t now_ms)
{
	w->now = now_ms;
	list_init(&w->due);
	for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
		w->marked[level] = 0;
		for (unsigned i = 0; i < WHEEL_SLOTS; i++)
			list_init(&w->slot[level][i]);
	}
}

void wheel_add(struct wheel *w, struct reactor_timer *t)
{
	unsigned level, i;

	if (t->due_ms >= WHEEL_END)
		t->due_ms = WHEEL_END - 1;
	if (t->due_ms <= w->now) {
		list_add_tail(&w->due, &t->node);
		return;
	}
	level = (63u - (unsigned)__builtin_clzll(t->due_ms ^ w->now)) / WHEEL_BITS;
	i = (unsigned)(t->due_ms >> (level * WHEEL_BITS)) % WHEEL_SLOTS;
	list_add_tail(&w->slot[level][i], &t->node);
	w->marked[level] |= (uint64_t)1 << i;
}

/*
 * The first slot in time that holds a timer, and when it begins. All slots of a level come before
 * any of the level above, because a timer on the level above differs from now in a higher digit.
 */
static uint64_t first_slot(struct wheel *w, unsigned *ret_level, unsigned *ret_i)
{
	for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
		while (w->marked[level]) {
			unsigned i = (unsigned)__builtin_ctzll(w->marked[level]);
			unsigned shift = level * WHEEL_BITS;

			if (!list_empty(&w->slot[level][i])) {
				*ret_level = level;
				*ret_i = i;
				return (w->now >> (shift + WHEEL_BITS) << (shift + WHEEL_BITS)) |
				       ((uint64_t)i << shift);
			}
			w->marked[level] &= ~((uint64_t)1 << i);
		}
	}
	return WHEEL_NEVER;
}

uint64_t wheel_next(struct wheel *w)
{
	unsigned level, i;

	if (!list_empty(&w->due))
		return w->now;
	return first_slot(w, &level, &i);
}

void wheel_advance(struct wheel *w, uint64_t now_ms, struct list *ret_due)
{
	unsigned level, i;
	uint64_t at;

	list_splice_tail(ret_due, &w->due);
	while ((at = first_slot(w, &level, &i)) <= now_ms) {
		struct list moved, *n;

		list_init(&moved);
		list_splice_tail(&moved, &w->slot[level][i]);
		w->marked[level] &= ~((uint64_t)1 << i);
		w->now = at;
		while ((n = list_pop(&moved)))
			wheel_add(w, list_entry(n, struct reactor_timer, node));
		list_splice_tail(ret_due, &w->due);
	}
	if (now_ms > w->now)
		w->now = now_ms;
}
