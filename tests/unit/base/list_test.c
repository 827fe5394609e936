/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/list.h"
#include "tests/unit/unit.h"

#include <string.h>

struct item {
	int n;
	struct list node;
};

static struct item items[4];
static struct list head;

static void fill(void)
{
	list_init(&head);
	for (int i = 0; i < 4; i++) {
		items[i].n = i;
		list_add_tail(&head, &items[i].node);
	}
}

/* "0123" */
static const char *order(struct list *l)
{
	static char text[16];
	struct list *pos;
	size_t at = 0;

	list_for_each (pos, l)
		text[at++] = (char)('0' + list_entry(pos, struct item, node)->n);
	text[at] = '\0';
	return text;
}

START_TEST(keeps_order)
{
	fill();
	ck_assert_str_eq(order(&head), "0123");
	list_del(&items[3].node);
	list_add_head(&head, &items[3].node);
	ck_assert_str_eq(order(&head), "3012");
}
END_TEST

START_TEST(unlinks_twice)
{
	fill();
	list_del(&items[1].node);
	list_del(&items[1].node);
	ck_assert(list_empty(&items[1].node));
	ck_assert_str_eq(order(&head), "023");
}
END_TEST

START_TEST(pops_from_the_front)
{
	fill();
	ck_assert_ptr_eq(list_pop(&head), &items[0].node);
	ck_assert_ptr_eq(list_first(&head), &items[1].node);
	ck_assert_str_eq(order(&head), "123");
	while (list_pop(&head))
		;
	ck_assert(list_empty(&head));
	ck_assert_ptr_null(list_first(&head));
}
END_TEST

START_TEST(splices)
{
	struct list other = LIST_INIT(other);
	struct item extra = { .n = 9 };

	fill();
	list_add_tail(&other, &extra.node);
	list_splice_tail(&other, &head);
	ck_assert_str_eq(order(&other), "90123");
	ck_assert(list_empty(&head));
	list_splice_tail(&other, &head); /* nothing moves nothing */
	ck_assert_str_eq(order(&other), "90123");
}
END_TEST

START_TEST(unlinks_while_walking)
{
	struct list *pos, *tmp;

	fill();
	list_for_each_safe (pos, tmp, &head) {
		if (list_entry(pos, struct item, node)->n % 2)
			list_del(pos);
	}
	ck_assert_str_eq(order(&head), "02");
}
END_TEST

UNIT_MAIN("base/list", keeps_order, unlinks_twice, pops_from_the_front, splices,
	  unlinks_while_walking)
