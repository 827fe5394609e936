/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stores there are; for backing.c only. Everybody else opens by the name of the type.
 */
#ifndef HAWSER_BACKING_STORES_H
#define HAWSER_BACKING_STORES_H

#include "backing/backing.h"

extern const struct backing_ops file_ops, block_ops, ram_ops, null_ops;

/* Queues of stores that keep nothing for a reactor. */
int memory_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret);
void memory_queue_close(struct backing_queue *q);

/* Stores that stand in front of another. On success the new store owns `lower`; on failure the
 * caller still does. */
int log_store_open(struct backing *lower, const struct backing_params *p, struct backing **ret,
		   char **ret_why);
int fault_store_open(struct backing *lower, const struct backing_params *p, struct backing **ret,
		     char **ret_why);

#endif
