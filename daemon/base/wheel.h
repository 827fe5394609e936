/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hierarchical timing wheel of a reactor, in milliseconds: arming, disarming and firing cost the
 * same for ten timers and for a hundred thousand. Level n has 64 slots of 64^n ms; a timer sits on
 * the level of the highest digit (base 64) in which its time differs from now and moves down when
 * the wheel gets there.
 *
 * Threads: the reactor's. Ownership: links struct reactor_timer, which its caller embeds.
 */
#ifndef HAWSER_BASE_WHEEL_H
#define HAWSER_BASE_WHEEL_H

#include "daemon/base/list.h"

#include <stdint.h>

struct reactor_timer;

#define WHEEL_BITS   6
#define WHEEL_SLOTS  (1u << WHEEL_BITS)
#define WHEEL_LEVELS 7 /* 2^42 ms, 139 years since boot */

#define WHEEL_NEVER UINT64_MAX

struct wheel {
	uint64_t now;                  /* everything due until then has been handed out */
	uint64_t marked[WHEEL_LEVELS]; /* slots that may hold a timer: disarming does not clear */
	struct list due;               /* armed for a moment that has passed already */
	struct list slot[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *w, uint64_t now_ms);

/* Links a timer by its due_ms; it must be off any list. */
void wheel_add(struct wheel *w, struct reactor_timer *t);

/* The moment of the next step, a timer or a move between levels; WHEEL_NEVER without timers. */
uint64_t wheel_next(struct wheel *w);

/* Moves the wheel to now_ms and what is due to the end of ret_due, in order of time. */
void wheel_advance(struct wheel *w, uint64_t now_ms, struct list *ret_due);

#endif
