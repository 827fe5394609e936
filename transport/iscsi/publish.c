/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A new policy comes to a reactor: sessions see the new LUN maps, those whose target or access is
 * gone see no LU any more and are asked to leave.
 */
#include "daemon/base/log.h"
#include "scsi/alua.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/policy.h"

#include <errno.h>

static const struct iscsi_rule *admits(const struct iscsi_session *s, const struct iscsi_target *t)
{
	const struct sockaddr_storage *peer = &s->peer; /* of one that waits for its initiator */
	struct iscsi_applicant who = { .initiator = s->initiator };

	if (!list_empty(&s->conns))
		peer = &list_entry(s->conns.next, struct iscsi_conn, session_node)->peer;
	who.peer = peer;
	return policy_rule(policy_target_rules(t), &who, s->account[0] ? s->account : NULL);
}

/* Nothing that only the old policy knows may be reachable from here. Once more with each policy as
 * long as the initiator has not left, who is told once. */
static void withdraw(struct iscsi_session *s)
{
	s->target = NULL;
	s->rule = NULL;
	nexus_set_alua(&s->nexus, NULL);
	if (!s->nexus_live || !s->n_conns || session_remap(s)) {
		session_end(s, "its target or its access has been withdrawn");
		return;
	}
	if (!s->withdrawn)
		log_info(LOG_ISCSI,
			 "%s: access to %s has been withdrawn; the initiator is asked to leave",
			 s->initiator, s->target_name);
	s->withdrawn = true;
	async_request_logout(s, s->policy->logout_timeout_s);
}

static void readjust(struct iscsi_session *s, const struct iscsi_policy *policy)
{
	const struct iscsi_policy *old = s->policy;
	const struct iscsi_target *t = s->discovery ? NULL : policy_find(policy, s->target_name);
	bool open = t && t->online && !t->removed;
	const struct iscsi_rule *rule = open ? admits(s, t) : NULL;

	policy_ref(policy);
	s->policy = policy;
	if (!s->discovery && !rule) {
		withdraw(s);
	} else if (!s->discovery) {
		s->target = t;
		s->rule = rule;
		if (s->nexus_live)
			nexus_set_alua(&s->nexus, t->alua);
		if (session_remap(s))
			withdraw(s);
		else
			s->withdrawn = false;
	}
	policy_unref(old);
}

static void adopt(struct reactor_broadcast *b, struct reactor *r)
{
	struct iscsi_publish *p = container_of(b, struct iscsi_publish, broadcast);
	struct iscsi_reactor *ir = iscsi_reactor_of(r);
	struct list *pos, *next;

	if (ir) {
		const struct iscsi_policy *old = ir->policy;

		policy_ref(p->policy);
		ir->policy = p->policy;
		list_for_each_safe (pos, next, &ir->sessions) {
			struct iscsi_session *s = list_entry(pos, struct iscsi_session, node);

			if (!s->ending)
				readjust(s, p->policy);
		}
		policy_unref(old);
	}
	reactor_broadcast_ack(b);
}

static void adopted(struct reactor_broadcast *b)
{
	struct iscsi_publish *p = container_of(b, struct iscsi_publish, broadcast);

	policy_unref(p->policy);
	p->done(p);
}

int iscsi_publish(struct reactor *const *set, unsigned n, struct reactor *control,
		  struct iscsi_publish *p)
{
	int err;

	p->broadcast.each = adopt;
	p->broadcast.done = adopted;
	p->broadcast.reply_to = control;
	policy_ref(p->policy);
	err = reactor_broadcast(set, n, &p->broadcast);
	if (err)
		policy_unref(p->policy);
	return err;
}
