/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of all sessions of the process: names to session for reinstatement, TSIHs.
 *
 * A session that is to make room lives on a reactor of its own, perhaps another one, so it is told
 * by message; the login that wants its place waits with a ticket until it has left. Nobody waits
 * while holding the lock. A discovery session that names no target has the address it came to in
 * its stead (RFC 7143 7.4.2.1), so it disturbs no normal session, though ESXi and open-iscsi use
 * one ISID for all of theirs.
 */
#include "daemon/base/log.h"
#include "transport/iscsi/ffp.h"
#include "transport/iscsi/policy.h"
#include "transport/iscsi/session.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u
#define TSIHS   65536u

struct claim_ticket {
	struct reactor_msg msg;      /* to the claim's reactor, once the place is free */
	struct list node;            /* iscsi_session.claims of the one that leaves */
	struct session_claim *claim; /* NULL: its login has died */
	struct iscsi_session *session;
	struct reactor *reactor;
	bool granted; /* the message is on its way */
	int result;
};

/* "End this session", to its reactor; by id, since it may be gone when the message arrives. */
struct end_order {
	struct reactor_msg msg;
	struct reactor *reactor;
	uint64_t id;
	const char *why; /* static text */
};

static struct {
	pthread_mutex_t lock;
	struct list buckets[BUCKETS]; /* iscsi_session.dir_node */
	bool ready;
	unsigned n;
	uint16_t last_tsih;
	uint8_t tsih_used[TSIHS / 8];
} dir = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void dir_lock(void)
{
	pthread_mutex_lock(&dir.lock);
	for (unsigned i = 0; !dir.ready && i < BUCKETS; i++)
		list_init(&dir.buckets[i]);
	dir.ready = true;
}

static void dir_unlock(void)
{
	pthread_mutex_unlock(&dir.lock);
}

static uint32_t hash(uint32_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n--)
		h = (h ^ *p++) * 16777619u; /* FNV-1a */
	return h;
}

static struct list *bucket_of(const char *initiator, const char *target)
{
	uint32_t h = hash(2166136261u, initiator, strlen(initiator));

	return &dir.buckets[hash(h, target, strlen(target)) % BUCKETS];
}

/* Of unnamed discovery sessions: the portal and the address that the initiator came to. */
static bool same_address(const struct iscsi_session *a, const struct iscsi_session *b)
{
	const struct sockaddr_in *v4a = (const void *)&a->local, *v4b = (const void *)&b->local;
	const struct sockaddr_in6 *v6a = (const void *)&a->local, *v6b = (const void *)&b->local;

	if (a->local.ss_family != b->local.ss_family)
		return false;
	if (a->local.ss_family == AF_INET)
		return v4a->sin_port == v4b->sin_port &&
		       v4a->sin_addr.s_addr == v4b->sin_addr.s_addr;
	return a->local.ss_family == AF_INET6 && v6a->sin6_port == v6b->sin6_port &&
	       IN6_ARE_ADDR_EQUAL(&v6a->sin6_addr, &v6b->sin6_addr);
}

static bool same_place(const struct iscsi_session *a, const struct iscsi_session *b)
{
	/* A named discovery session is under the rules of normal ones (RFC 7143 7.4.2.2). */
	if ((a->discovery != b->discovery && !a->target_name[0]) || a->tpgt != b->tpgt ||
	    memcmp(a->isid, b->isid, sizeof(a->isid)) != 0 ||
	    strcmp(a->initiator, b->initiator) != 0 || strcmp(a->target_name, b->target_name) != 0)
		return false;
	return a->target_name[0] || same_address(a, b);
}

static struct iscsi_session *find_rival(const struct iscsi_session *s)
{
	struct list *bucket = bucket_of(s->initiator, s->target_name), *pos;

	list_for_each (pos, bucket) {
		struct iscsi_session *other = list_entry(pos, struct iscsi_session, dir_node);

		if (other != s && same_place(other, s))
			return other;
	}
	return NULL;
}

/* 0 is no TSIH. Long unused numbers first, so that a late login does not meet a stranger. */
static uint16_t take_tsih(void)
{
	for (unsigned i = 0; i < TSIHS; i++) {
		uint16_t t = ++dir.last_tsih;

		if (t && !(dir.tsih_used[t / 8] & (1u << (t % 8)))) {
			dir.tsih_used[t / 8] |= (uint8_t)(1u << (t % 8));
			return t;
		}
	}
	return 0;
}

static int enter(struct iscsi_session *s)
{
	uint16_t tsih = take_tsih();

	if (!tsih)
		return -ENOSPC;
	s->tsih = tsih;
	s->in_directory = true;
	list_add_tail(bucket_of(s->initiator, s->target_name), &s->dir_node);
	dir.n++;
	return 0;
}

static bool same_target(const struct iscsi_session *a, const struct iscsi_session *b)
{
	return a->discovery == b->discovery && !strcmp(a->target_name, b->target_name);
}

static bool same_initiator(const struct iscsi_session *a, const struct iscsi_session *b)
{
	return a->discovery == b->discovery && !strcmp(a->initiator, b->initiator);
}

static unsigned count(const struct iscsi_session *s,
		      bool (*like)(const struct iscsi_session *, const struct iscsi_session *))
{
	unsigned n = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		struct list *pos;

		list_for_each (pos, &dir.buckets[i])
			n += like(s, list_entry(pos, struct iscsi_session, dir_node));
	}
	return n;
}

/* NULL: there is room; else the limit that is reached, for the log. */
static const char *full(const struct iscsi_session *s)
{
	unsigned own = s->policy->max_sessions_per_initiator;

	if (s->policy->max_sessions && dir.n >= s->policy->max_sessions)
		return "there are max_sessions sessions of the daemon";
	if (own && count(s, same_initiator) >= own)
		return "it has max_sessions_per_initiator sessions";
	if (s->target && s->target->max_sessions &&
	    count(s, same_target) >= s->target->max_sessions)
		return "the target has its max_sessions sessions";
	return NULL;
}

static void end_ordered(struct reactor_msg *msg)
{
	struct end_order *o = container_of(msg, struct end_order, msg);
	struct iscsi_reactor *ir = iscsi_reactor_of(o->reactor);
	struct list *pos, *next;

	if (ir) {
		list_for_each_safe (pos, next, &ir->sessions) {
			struct iscsi_session *s = list_entry(pos, struct iscsi_session, node);

			if (s->id == o->id)
				session_end(s, o->why);
		}
	}
	free(o);
}

/* -ENOMEM or 0. Under the lock: the session is there as long as it is in the directory. */
static int order_end(const struct iscsi_session *s, const char *why)
{
	struct end_order *o = malloc(sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->msg.run = end_ordered;
	o->reactor = s->ir->reactor;
	o->id = s->id;
	o->why = why;
	reactor_send(o->reactor, &o->msg);
	return 0;
}

static void finish(struct session_claim *claim, int result)
{
	struct iscsi_session *s = claim->session;

	if (s->ending && !result) {
		/* It lost its target while it waited (publish.c), and has got a place after that.
		 */
		directory_leave(s);
		result = -ECANCELED;
	}
	if (!result && !s->discovery)
		result = session_start_nexus(s);
	claim->result = result;
	claim->ready(claim);
}

static void granted(struct reactor_msg *msg)
{
	struct claim_ticket *t = container_of(msg, struct claim_ticket, msg);
	struct session_claim *claim = t->claim;
	int result = t->result;

	free(t);
	if (!claim)
		return;
	claim->ticket = NULL;
	finish(claim, result);
}

/* Under the lock. */
static int wait_for(struct iscsi_session *rival, struct session_claim *claim)
{
	struct claim_ticket *t = calloc(1, sizeof(*t));

	if (!t || order_end(rival, "the initiator has logged in again (session reinstatement)")) {
		free(t);
		return -ENOMEM;
	}
	t->msg.run = granted;
	t->claim = claim;
	t->session = claim->session;
	t->reactor = claim->session->ir->reactor;
	claim->ticket = t;
	claim->session->reinstates = true;
	list_add_tail(&rival->claims, &t->node);
	return 0;
}

int session_claim(struct session_claim *claim)
{
	struct iscsi_session *s = claim->session, *rival;
	int err;

	claim->ticket = NULL;
	claim->limit = NULL;
	dir_lock();
	rival = find_rival(s);
	if (!rival)
		claim->limit = full(s);
	if (rival)
		err = wait_for(rival, claim);
	else
		err = claim->limit ? -ENOSPC : enter(s);
	dir_unlock();
	if (!err && !rival)
		finish(claim, 0);
	return err;
}

void session_claim_cancel(struct session_claim *claim)
{
	struct claim_ticket *t = claim->ticket;
	bool entered = false;

	if (!t)
		return;
	claim->ticket = NULL;
	dir_lock();
	if (t->granted) {
		t->claim = NULL; /* the message on its way frees it */
		entered = !t->result;
		t = NULL;
	} else {
		list_del(&t->node);
	}
	dir_unlock();
	free(t);
	if (entered)
		directory_leave(claim->session);
}

/* The newest login gets the place; those that it overtook have lost. Under the lock. */
static void pass_on(struct list *claims)
{
	struct list *n;

	while ((n = list_pop(claims))) {
		struct claim_ticket *t = list_entry(n, struct claim_ticket, node);

		t->result = list_empty(claims) ? enter(t->session) : -ECANCELED;
		t->granted = true;
		reactor_send(t->reactor, &t->msg);
	}
}

bool directory_leave(struct iscsi_session *s)
{
	bool was;

	dir_lock();
	was = s->in_directory;
	if (was) {
		s->in_directory = false;
		list_del(&s->dir_node);
		dir.tsih_used[s->tsih / 8] &= (uint8_t) ~(1u << (s->tsih % 8));
		dir.n--;
		pass_on(&s->claims);
	}
	dir_unlock();
	return was;
}

int session_find(const struct iscsi_reactor *ir, const struct iscsi_session_key *key, uint16_t tsih,
		 struct iscsi_session **ret, struct reactor **ret_owner)
{
	struct list *bucket, *pos;
	int err = -ENOENT;

	dir_lock();
	bucket = bucket_of(key->initiator, key->target);
	list_for_each (pos, bucket) {
		struct iscsi_session *s = list_entry(pos, struct iscsi_session, dir_node);

		if (s->tsih != tsih || s->discovery || strcmp(s->initiator, key->initiator) != 0 ||
		    strcmp(s->target_name, key->target) != 0 ||
		    memcmp(s->isid, key->isid, sizeof(s->isid)) != 0)
			continue;
		if (s->ir != ir) {
			*ret_owner = s->ir->reactor;
			err = -EXDEV;
		} else if (s->nexus_live) { /* else its first login has not ended */
			*ret = s;
			err = 0;
		}
		break;
	}
	dir_unlock();
	return err;
}

void directory_end_others(const struct iscsi_session *except, const char *why)
{
	dir_lock();
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct list *pos;

		list_for_each (pos, &dir.buckets[i]) {
			struct iscsi_session *s = list_entry(pos, struct iscsi_session, dir_node);

			if (s != except && !strcmp(s->target_name, except->target_name))
				order_end(s, why);
		}
	}
	dir_unlock();
}
