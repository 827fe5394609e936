/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/stores.h"

#include <errno.h>
#include <stdlib.h>

int memory_queue_open(struct backing *b, struct reactor *r, struct backing_queue **ret)
{
	struct backing_queue *q = calloc(1, sizeof(*q));

	(void)b;
	(void)r;
	if (!q)
		return -ENOMEM;
	*ret = q;
	return 0;
}

void memory_queue_close(struct backing_queue *q)
{
	free(q);
}
