/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/kept.h"

#include "scsi/lu.h"
#include "scsi/scsi.h"
#include "scsi/sense.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
	void (*keep)(struct kept_op *op, void *arg);
	void *arg;
} keeper; /* set once, before the first session */

void scsi_set_keeper(void (*keep)(struct kept_op *op, void *arg), void *arg)
{
	keeper.keep = keep;
	keeper.arg = arg;
}

struct scsi_sense kept_failure(int result)
{
	return result == -EBUSY ? sense_make(SENSE_ABORTED_COMMAND, 0x0000)
				: sense_make(SENSE_HARDWARE_ERROR, ASC_INTERNAL_FAILURE);
}

static void finish(struct kept_op *op)
{
	struct scsi_lu *lu = op->lu;

	pthread_mutex_lock(&lu->lock);
	list_del(&op->node);
	if (!list_empty(&lu->kept_ops)) {
		struct kept_op *next = list_entry(lu->kept_ops.next, struct kept_op, node);

		reactor_send(next->reactor, &next->msg);
	}
	pthread_mutex_unlock(&lu->lock);
	op->done(op);
	lu_unref(lu);
}

void kept_done(struct kept_op *op)
{
	if (!op->result) {
		pthread_mutex_lock(&op->lu->lock);
		memcpy(&op->lu->kept, &op->want, sizeof(op->want));
		pthread_mutex_unlock(&op->lu->lock);
	}
	finish(op);
}

/* Only the first of the LU's changes is here, so nothing of lu->kept moves meanwhile. */
static void run(struct kept_op *op)
{
	struct scsi_lu *lu = op->lu;
	bool elsewhere;

	pthread_mutex_lock(&lu->lock);
	memcpy(&op->want, &lu->kept, sizeof(op->want));
	elsewhere = lu->kept_elsewhere;
	pthread_mutex_unlock(&lu->lock);
	op->result = elsewhere ? -EBUSY : 0;
	if (!elsewhere)
		op->edit(op, &op->want);
	if (elsewhere || !memcmp(&op->want, &lu->kept, sizeof(op->want)))
		finish(op);
	else if (keeper.keep)
		keeper.keep(op, keeper.arg);
	else
		kept_done(op);
}

static void turn(struct reactor_msg *msg)
{
	run(list_entry(msg, struct kept_op, msg));
}

void lu_keep(struct kept_op *op)
{
	struct scsi_lu *lu = op->lu;
	bool first;

	op->msg.run = turn;
	list_init(&op->node);
	lu_ref(lu);
	pthread_mutex_lock(&lu->lock);
	first = list_empty(&lu->kept_ops);
	list_add_tail(&lu->kept_ops, &op->node);
	pthread_mutex_unlock(&lu->lock);
	if (first)
		run(op);
}

void lu_kept_restore(struct scsi_lu *lu, const struct lu_kept *kept)
{
	pthread_mutex_lock(&lu->lock);
	memcpy(&lu->kept, kept, sizeof(*kept));
	for (unsigned i = 0; i < KEPT_MODE; i++)
		__atomic_store_n(&lu->mode_current[i], kept->mode[i], __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lu->lock);
	atomic_store(&lu->media_unrestricted, kept->media.unrestricted != 0);
	if (kept->media.state)
		lu_change_state(lu, LU_IN(LU_READY), (enum lu_not_ready)kept->media.state);
}

struct hand_over {
	struct kept_op op;
	struct kept_heir heir;
};

static void hand_over(struct kept_op *op, struct lu_kept *kept)
{
	struct hand_over *h = list_entry(op, struct hand_over, op);
	struct lu_kept copy;

	memcpy(&copy, kept, sizeof(copy));
	if (h->heir.other_store)
		memset(&copy.media, 0, sizeof(copy.media));
	lu_kept_restore(h->heir.to, &copy);
	pthread_mutex_lock(&op->lu->lock);
	op->lu->kept_elsewhere = true;
	pthread_mutex_unlock(&op->lu->lock);
}

static void handed_over(struct kept_op *op)
{
	struct hand_over *h = list_entry(op, struct hand_over, op);

	lu_unref(h->heir.to);
	h->heir.done(h->heir.arg);
	free(h);
}

int lu_kept_hand_over(const struct kept_heir *heir)
{
	struct hand_over *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->heir = *heir;
	h->op.lu = heir->from;
	h->op.reactor = heir->reactor;
	h->op.edit = hand_over;
	h->op.done = handed_over;
	lu_ref(heir->to);
	lu_keep(&h->op);
	return 0;
}
