/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of tokens: who is in it, who makes room, who may use one. */
#include "scsi/rod.h"

#include "daemon/base/bytes.h"
#include "scsi/lu.h"
#include "scsi/nexus.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS 256u

enum { AT_TYPE = 0, AT_LENGTH = 6, AT_ID = 8, LENGTH_FIELD = ROD_TOKEN_SIZE - 8 };

/*
 * One for the process, for a token is used on other LUs than it came from. Tokens that have become
 * invalid stay until there is need of their room, so that their users hear why.
 */
static struct {
	pthread_mutex_t lock;
	bool ready;
	unsigned n;
	uint64_t next_id;
	struct list buckets[BUCKETS]; /* rod.bucket, by id */
	struct list all;              /* rod.node, the longest unused first */
} rods = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Under the lock. Ids begin anywhere: what an earlier process has handed out is not known here. */
static bool get_ready(void)
{
	uint64_t chance;

	if (rods.ready)
		return true;
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return false;
	rods.next_id = chance;
	list_init(&rods.all);
	for (unsigned i = 0; i < BUCKETS; i++)
		list_init(&rods.buckets[i]);
	rods.ready = true;
	return true;
}

static struct list *bucket_of(uint64_t id)
{
	return &rods.buckets[id % BUCKETS];
}

static void end(struct rod *r, enum rod_state state)
{
	rod_end(r, state);
	rod_unwatch(r);
}

static void look_at_time(struct rod *r, uint64_t now_ms)
{
	if (now_ms >= atomic_load(&r->expires_ms))
		end(r, ROD_EXPIRED);
}

static void drop(struct rod *r)
{
	rod_unwatch(r);
	list_del(&r->bucket);
	list_del(&r->node);
	rods.n--;
	free(r);
}

/* What stands in the way of a new token, and what could give way to it. */
struct census {
	unsigned of_owner, of_lu;
	struct rod *dead, *own, *own_of_lu; /* the longest unused of each kind, without users */
};

static void count(struct census *c, struct rod *r, const struct rod_params *p, uint64_t owner)
{
	bool of_owner = r->owner == owner, of_lu = r->lu == p->itl->lu;

	look_at_time(r, p->now_ms);
	if (rod_state(r) != ROD_VALID) {
		if (!c->dead && !r->users)
			c->dead = r;
		return;
	}
	c->of_owner += of_owner;
	c->of_lu += of_lu;
	if (r->users || !of_owner)
		return;
	if (!c->own)
		c->own = r;
	if (of_lu && !c->own_of_lu)
		c->own_of_lu = r;
}

/* A nexus that makes many tokens costs itself its oldest ones, never another nexus. */
static int make_room(const struct rod_params *p, uint64_t owner)
{
	struct census c = { 0 };
	struct rod *give_way = NULL;
	struct list *pos;

	list_for_each (pos, &rods.all)
		count(&c, list_entry(pos, struct rod, node), p, owner);
	if (c.of_lu >= ROD_LU_MAX)
		give_way = c.own_of_lu;
	else if (c.of_owner >= ROD_NEXUS_MAX || (rods.n >= ROD_MAX && !c.dead))
		give_way = c.own;
	else if (rods.n < ROD_MAX)
		return 0;
	else
		give_way = c.dead;
	if (!give_way)
		return -ENOSPC;
	end(give_way, ROD_REVOKED);
	if (rods.n >= ROD_MAX)
		drop(c.dead ? c.dead : give_way);
	return 0;
}

static struct rod *make(const struct rod_params *p)
{
	struct rod *r = calloc(1, sizeof(*r) + p->n * sizeof(r->ranges[0]));

	if (!r)
		return NULL;
	list_init(&r->bucket);
	list_init(&r->node);
	list_init(&r->lu_node);
	r->lu = p->itl->lu;
	r->users = 1;
	atomic_init(&r->expires_ms, ROD_NEVER);
	r->owner = p->itl->nexus->port_hash;
	r->timeout_s = p->timeout_s;
	r->block_size = r->lu->geo.block_size;
	r->n = p->n;
	for (unsigned i = 0; i < p->n; i++) {
		r->ranges[i] = p->ranges[i];
		r->bytes += p->ranges[i].length;
	}
	return r;
}

int rod_create(const struct rod_params *p, struct rod **ret)
{
	struct rod *r = make(p);
	int rc;

	if (!r)
		return -ENOMEM;
	pthread_mutex_lock(&rods.lock);
	rc = get_ready() ? make_room(p, r->owner) : -EIO;
	if (!rc) {
		r->id = rods.next_id++;
		rc = rod_build(r, p);
	}
	if (!rc) {
		list_add_tail(bucket_of(r->id), &r->bucket);
		list_add_tail(&rods.all, &r->node);
		rods.n++;
		if (p->type == ROD_CHANGE_VULNERABLE)
			rod_watch(r);
	}
	pthread_mutex_unlock(&rods.lock);
	if (rc < 0)
		free(r);
	else
		*ret = r;
	return rc;
}

struct scsi_sense rod_sense(enum rod_state state)
{
	static const uint16_t codes[] = {
		[ROD_VALID] = 0x2300, /* cause not reportable */
		[ROD_REVOKED] = 0x2306,
		[ROD_EXPIRED] = 0x2307,
		[ROD_DELETED] = 0x2309,
	};

	return sense_make(SENSE_ILLEGAL_REQUEST, codes[state]);
}

bool rod_is_zero(const uint8_t token[static ROD_TOKEN_SIZE])
{
	return get_be32(token + AT_TYPE) == ROD_BLOCK_ZERO &&
	       get_be16(token + AT_LENGTH) == LENGTH_FIELD;
}

/* As long for tokens that differ early as for those that differ late. */
static bool same(const uint8_t *a, const uint8_t *b)
{
	unsigned differs = 0;

	for (unsigned i = 0; i < ROD_TOKEN_SIZE; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

static struct rod *by_id(uint64_t id)
{
	struct list *pos;

	if (!rods.ready)
		return NULL;
	list_for_each (pos, bucket_of(id)) {
		struct rod *r = list_entry(pos, struct rod, bucket);

		if (r->id == id)
			return r;
	}
	return NULL;
}

/* Under the lock. What has become of a token is told to who has all of it. */
static struct rod *look_up(const uint8_t *token, uint64_t now_ms, struct scsi_sense *ret)
{
	struct rod *r = by_id(get_be64(token + AT_ID));

	if (!r || !same(r->token, token)) {
		*ret = sense_make(SENSE_ILLEGAL_REQUEST, r ? ASC_TOKEN_CORRUPT : ASC_TOKEN_UNKNOWN);
		return NULL;
	}
	look_at_time(r, now_ms);
	if (rod_state(r) != ROD_VALID) {
		*ret = rod_sense(rod_state(r));
		return NULL;
	}
	r->users++;
	atomic_store(&r->expires_ms, ROD_NEVER);
	return r;
}

struct rod *rod_find(const uint8_t token[static ROD_TOKEN_SIZE], uint64_t now_ms,
		     struct scsi_sense *ret)
{
	uint32_t type = get_be32(token + AT_TYPE);
	struct rod *r;

	if (get_be16(token + AT_LENGTH) != LENGTH_FIELD) {
		*ret = sense_make(SENSE_ILLEGAL_REQUEST, ASC_TOKEN_LENGTH);
		return NULL;
	}
	if (type != ROD_ACCESS_UPON_REFERENCE && type != ROD_CHANGE_VULNERABLE) {
		*ret = sense_make(SENSE_ILLEGAL_REQUEST, ASC_TOKEN_TYPE);
		return NULL;
	}
	pthread_mutex_lock(&rods.lock);
	r = look_up(token, now_ms, ret);
	pthread_mutex_unlock(&rods.lock);
	return r;
}

void rod_put(struct rod *r, uint64_t now_ms)
{
	pthread_mutex_lock(&rods.lock);
	if (!--r->users)
		atomic_store(&r->expires_ms, now_ms + r->timeout_s * 1000ull);
	list_del(&r->node);
	list_add_tail(&rods.all, &r->node);
	pthread_mutex_unlock(&rods.lock);
}

void rod_delete(struct rod *r)
{
	pthread_mutex_lock(&rods.lock);
	end(r, ROD_DELETED);
	pthread_mutex_unlock(&rods.lock);
}

struct itl *rod_source(const struct rod *r, const struct it_nexus *n)
{
	const struct scsi_lu *lu;

	pthread_mutex_lock(&rods.lock);
	lu = r->lu;
	pthread_mutex_unlock(&rods.lock);
	for (unsigned i = 0; lu && i < n->n_itls; i++)
		if (n->itls[i]->lu == lu) /* it is there, for the itl has a reference */
			return n->itls[i];
	return NULL;
}

unsigned rod_report(const struct scsi_lu *lu, uint64_t now_ms, uint8_t *out, unsigned max)
{
	unsigned n = 0;
	struct list *pos;

	pthread_mutex_lock(&rods.lock);
	if (!get_ready())
		max = 0;
	list_for_each (pos, &rods.all) {
		struct rod *r = list_entry(pos, struct rod, node);

		look_at_time(r, now_ms);
		if (r->lu != lu || rod_state(r) != ROD_VALID)
			continue;
		if (n < max)
			memcpy(out + (size_t)n * ROD_MANAGEMENT_SIZE, r->token,
			       ROD_MANAGEMENT_SIZE);
		n++;
	}
	pthread_mutex_unlock(&rods.lock);
	return n;
}

void rod_lu_gone(struct scsi_lu *lu)
{
	struct list *pos;

	pthread_mutex_lock(&rods.lock);
	if (rods.ready)
		list_for_each (pos, &rods.all) {
			struct rod *r = list_entry(pos, struct rod, node);

			if (r->lu != lu)
				continue;
			end(r, ROD_REVOKED);
			r->lu = NULL;
		}
	pthread_mutex_unlock(&rods.lock);
}
