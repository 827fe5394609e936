/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intrusive doubly linked list with a head: linking and unlinking never allocate and never fail.
 * A node that is on no list points to itself, so list_del is safe to call twice.
 *
 * Threads: none of its own; a list belongs to whoever owns its head.
 */
#ifndef HAWSER_BASE_LIST_H
#define HAWSER_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name)                                                                            \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_link(struct list *n, struct list *prev, struct list *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}

static inline void list_add_tail(struct list *head, struct list *n)
{
	list_link(n, head->prev, head);
}

static inline void list_add_head(struct list *head, struct list *n)
{
	list_link(n, head, head->next);
}

/* Unlinks; the node may be unlinked already. */
static inline void list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

static inline struct list *list_first(struct list *head)
{
	return list_empty(head) ? NULL : head->next;
}

static inline struct list *list_pop(struct list *head)
{
	struct list *n = list_first(head);

	if (n)
		list_del(n);
	return n;
}

/* Moves all nodes of from to the end of to; from is empty afterwards. */
static inline void list_splice_tail(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)

#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = (pos)->next)

/* The current node may be unlinked in the body. */
#define list_for_each_safe(pos, tmp, head)                                                         \
	for (pos = (head)->next, tmp = (pos)->next; pos != (head); pos = tmp, tmp = (pos)->next)

#endif
