/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/alua.h"

#include "daemon/apply.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "daemon/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One SET TARGET PORT GROUPS on its way through daemon/apply.c. */
struct setting {
	struct apply_request apply;
	struct alua_change *change;
	struct daemon *daemon;
	char target[SCSI_PORT_NAME];
	int result; /* what prepare has found */
};

static void returned(struct reactor_msg *msg)
{
	struct alua_change *c = container_of(msg, struct alua_change, msg);

	c->done(c);
}

static void answer(struct alua_change *c, int result)
{
	c->result = result;
	c->msg.run = returned;
	reactor_send(c->reactor, &c->msg);
}

static enum apply_result refuse(struct apply_request *ar, int result)
{
	container_of(ar, struct setting, apply)->result = result;
	return apply_refuse(ar, APPLY_CONFLICT, "the states are not for initiators to set");
}

static enum apply_result put(struct setting *s, const struct config_target *t,
			     const struct alua_group *want)
{
	struct apply_request *ar = &s->apply;
	const struct config_port_group *g = alua_find(t, want->id);
	struct alua_group is;

	if (!g)
		return refuse(ar, -ENOENT);
	is = alua_in_force(s->daemon->state, ar->change, t->name, g);
	/* The administrator has been faster. */
	if (is.state == ALUA_TRANSITIONING)
		return refuse(ar, -EBUSY);
	if (is.state == ALUA_OFFLINE)
		return refuse(ar, -EPERM);
	is.state = want->state;
	is.status = ALUA_BY_INITIATOR;
	if (alua_put(ar->change, t, &is))
		return apply_refuse(ar, APPLY_FAILED, "no memory");
	return APPLY_DONE;
}

/* Much may have happened since the command came. */
static enum apply_result prepare(struct apply_request *ar)
{
	struct setting *s = container_of(ar, struct setting, apply);
	const struct config_target *t = config_find_target(ar->desired, s->target);
	enum apply_result r = APPLY_DONE;

	if (!t || !(alua_tpgs_of(t) & ALUA_EXPLICIT))
		return refuse(ar, -EPERM);
	for (unsigned i = 0; i < s->change->n && r == APPLY_DONE; i++)
		r = put(s, t, &s->change->groups[i]);
	return r;
}

static void done(struct apply_request *ar)
{
	struct setting *s = container_of(ar, struct setting, apply);
	struct alua_change *c = s->change;
	int result = s->result;

	if (ar->result != APPLY_DONE && !result)
		result = -EIO;
	if (result && result != -EBUSY)
		log_peer(LOG_DAEMON, LOG_LEVEL_WARN,
			 "target %s: %s cannot set the states of target port groups: %s", s->target,
			 c->initiator_port, ar->why);
	for (unsigned i = 0; i < c->n && !result; i++)
		log_peer(LOG_DAEMON, LOG_LEVEL_INFO, "target %s: port group %u is %s, set by %s",
			 s->target, c->groups[i].id, alua_state_name(c->groups[i].state),
			 c->initiator_port);
	free(s);
	answer(c, result);
}

static void on_control(struct reactor_msg *msg)
{
	struct alua_change *c = container_of(msg, struct alua_change, msg);
	struct daemon *d = c->priv;
	struct setting *s = calloc(1, sizeof(*s));

	if (!s || d->apply.n_queued >= APPLY_QUEUE_MAX) {
		free(s);
		answer(c, -EBUSY);
		return;
	}
	s->change = c;
	s->daemon = d;
	/* "name,t,0xTAG" */
	snprintf(s->target, sizeof(s->target), "%.*s", (int)strcspn(c->target_port, ","),
		 c->target_port);
	s->apply.prepare = prepare;
	s->apply.done = done;
	s->apply.alua_target = s->target;
	s->apply.alua_nexus = c->nexus;
	s->apply.alua_lun = c->lun;
	apply_submit(d, &s->apply);
}

static void change(struct alua_change *c, void *arg)
{
	struct daemon *d = arg;

	c->priv = d;
	c->msg.run = on_control;
	reactor_send(d->control, &c->msg);
}

void alua_start(struct daemon *d)
{
	scsi_set_alua_keeper(change, d);
}
