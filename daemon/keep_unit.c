/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an LU keeps besides its reservations (scsi/kept.h): one file of the state for each.
 */
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"
#include "daemon/keep.h"
#include "scsi/lu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One change of the state for one LU. */
struct keeping {
	struct state_commit commit;
	struct daemon *daemon;
	struct kept_op *op;
};

static void returned(struct reactor_msg *msg)
{
	kept_done(list_entry(msg, struct kept_op, msg));
}

static void answer(struct kept_op *op, int result)
{
	op->result = result;
	op->msg.run = returned;
	reactor_send(op->reactor, &op->msg);
}

static void committed(struct state_commit *c)
{
	struct keeping *g = list_entry(c, struct keeping, commit);
	const struct scsi_lu *lu = g->op->lu;

	if (c->result)
		log_error(LOG_DAEMON,
			  "lu %s: the state folder %s cannot be written: %s; a change that must "
			  "outlive the process was refused",
			  lu->id.name, g->daemon->settings.state_dir, text_errno(-c->result));
	else if (keep_orphan(g->daemon, lu))
		keep_drop(g->daemon, STATE_UNIT, lu);
	answer(g->op, c->result);
	state_change_free(c->change);
	free(g);
}

/* Nothing is kept of an LU that is as it was made. */
static int fill(struct state_change *ch, const struct kept_op *op)
{
	static const struct lu_kept nothing;
	char naa[KEEP_KEY];
	struct state_unit u = { .naa = naa };

	if (!ch)
		return -ENOMEM;
	keep_key(op->lu, naa);
	if (!memcmp(&op->want, &nothing, sizeof(nothing)))
		return state_change_delete(ch, STATE_UNIT, naa);
	for (unsigned i = 0; i < KEPT_MODE; i++)
		u.mode[i] = op->want.mode[i];
	return state_change_put(ch, STATE_UNIT, &u);
}

static void on_control(struct reactor_msg *msg)
{
	struct kept_op *op = list_entry(msg, struct kept_op, msg);
	struct daemon *d = op->priv;
	struct keeping *g = calloc(1, sizeof(*g));
	struct state_change *ch = state_change_new();

	if (!g || fill(ch, op)) {
		state_change_free(ch);
		free(g);
		answer(op, -ENOMEM);
		return;
	}
	g->daemon = d;
	g->op = op;
	g->commit.change = ch;
	g->commit.done = committed;
	state_commit_begin(d->state, d->control, &g->commit);
}

static void keep(struct kept_op *op, void *arg)
{
	struct daemon *d = arg;

	op->priv = d;
	op->msg.run = on_control;
	reactor_send(d->control, &op->msg);
}

void keep_unit_start(struct daemon *d)
{
	scsi_set_keeper(keep, d);
}

void keep_unit_restore(struct daemon *d, struct scsi_lu *lu)
{
	const struct state_unit *u;
	struct lu_kept kept;
	char naa[KEEP_KEY];

	keep_key(lu, naa);
	u = state_find(d->state, STATE_UNIT, naa);
	if (!u)
		return;
	memset(&kept, 0, sizeof(kept));
	for (unsigned i = 0; i < KEPT_MODE; i++)
		kept.mode[i] = (uint8_t)u->mode[i];
	lu_kept_restore(lu, &kept);
}
