/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects are cut from slabs one after the other; what was given back is handed out again first,
 * last in first out, because it is still in the cache. Memory that was never needed is never
 * touched. In debug builds each object carries a tag in front, so that giving back twice, or to
 * the wrong pool, ends the program at once, and free objects are filled with a pattern that is
 * checked when they are taken again; under AddressSanitizer they cannot be touched at all.
 */
#include "daemon/base/pool.h"

#include "daemon/base/poison.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define POOL_ALIGN   64u
#define POOL_SLAB    ((size_t)64 * 1024)
#define POOL_PATTERN 0xa5

#ifdef NDEBUG
#define POOL_TAG_SIZE ((size_t)0)
#else
#define POOL_TAG_SIZE ((size_t)POOL_ALIGN)
#define POOL_LIVE     0x6c6976656f626a21u
#define POOL_FREE     0x667265656f626a21u

struct pool_tag {
	uint64_t magic;
	struct pool *pool;
};
#endif

struct pool_object {
	struct pool_object *next; /* while it is free */
};

struct pool_slab {
	struct pool_slab *next;
};

struct pool {
	struct pool_object *free;
	uint8_t *fresh, *fresh_end; /* the part of the newest slab that was never handed out */
	size_t size, stride;        /* bytes of an object; with tag and padding */
	unsigned per_slab, total, limit, in_use;
	struct pool_slab *slabs;
	const char *name;
};

#ifdef NDEBUG
static void tag_take(struct pool *p, const uint8_t *object, bool was_used)
{
	(void)p;
	(void)object;
	(void)was_used;
}

static void tag_give(struct pool *p, const uint8_t *object)
{
	(void)p;
	(void)object;
}
#else
static struct pool_tag *tag_of(uint8_t *object)
{
	return (void *)(object - POOL_TAG_SIZE);
}

/* was_used: it lay on the free list, filled with the pattern behind the link. */
static void tag_take(struct pool *p, uint8_t *object, bool was_used)
{
	struct pool_tag *tag = tag_of(object);

	if (was_used) {
		assert(tag->magic == POOL_FREE && tag->pool == p);
		for (size_t i = sizeof(struct pool_object); i < p->size; i++)
			assert(object[i] == POOL_PATTERN); /* else written to after it was freed */
	}
	tag->magic = POOL_LIVE;
	tag->pool = p;
	memset(object, POOL_PATTERN, p->size); /* content is undefined: make it visible */
}

static void tag_give(struct pool *p, uint8_t *object)
{
	struct pool_tag *tag = tag_of(object);

	assert(tag->magic == POOL_LIVE); /* else given back twice, or not from a pool */
	assert(tag->pool == p);
	tag->magic = POOL_FREE;
	memset(object, POOL_PATTERN, p->size);
}
#endif

/* One more slab of n objects, or as many as the limit leaves. */
static int pool_grow(struct pool *p, unsigned n)
{
	struct pool_slab *slab;

	if (n > p->limit - p->total)
		n = p->limit - p->total;
	if (!n)
		return -ENOBUFS;
	slab = aligned_alloc(POOL_ALIGN, POOL_ALIGN + n * p->stride);
	if (!slab)
		return -ENOMEM;
	slab->next = p->slabs;
	p->slabs = slab;
	p->fresh = (uint8_t *)slab + POOL_ALIGN;
	p->fresh_end = p->fresh + n * p->stride;
	p->total += n;
	base_poison(p->fresh, n * p->stride);
	return 0;
}

/* Cuts the next object, never handed out before, or returns NULL. */
static uint8_t *pool_cut(struct pool *p)
{
	uint8_t *object;

	if (p->fresh == p->fresh_end && pool_grow(p, p->per_slab) < 0)
		return NULL;
	object = p->fresh + POOL_TAG_SIZE;
	p->fresh += p->stride;
	base_unpoison(object - POOL_TAG_SIZE, POOL_TAG_SIZE + p->size);
	tag_take(p, object, false);
	return object;
}

int pool_create(const char *name, size_t size, unsigned initial, unsigned limit, struct pool **ret)
{
	struct pool *p;

	if (!size || size > SIZE_MAX / 4 || initial > limit)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->name = name;
	p->size = size < sizeof(struct pool_object) ? sizeof(struct pool_object) : size;
	p->stride = (POOL_TAG_SIZE + p->size + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
	p->limit = limit;
	p->per_slab = p->stride < POOL_SLAB ? (unsigned)(POOL_SLAB / p->stride) : 1;
	if (initial && pool_grow(p, initial) < 0) {
		pool_destroy(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

void pool_destroy(struct pool *p)
{
	struct pool_slab *slab;

	if (!p)
		return;
	assert(!p->in_use);
	while ((slab = p->slabs)) {
		p->slabs = slab->next;
		free(slab);
	}
	free(p);
}

void *pool_get(struct pool *p)
{
	struct pool_object *object = p->free;

	if (object) {
		base_unpoison((uint8_t *)object - POOL_TAG_SIZE, POOL_TAG_SIZE + p->size);
		p->free = object->next;
		tag_take(p, (uint8_t *)object, true);
	} else {
		object = (void *)pool_cut(p);
		if (!object)
			return NULL;
	}
	p->in_use++;
	return object;
}

void pool_put(struct pool *p, void *object)
{
	struct pool_object *o = object;

	tag_give(p, object);
	o->next = p->free;
	p->free = o;
	p->in_use--;
	/* The tag stays readable: giving back twice shall end in its assertion. */
	base_poison(object, p->size);
}

unsigned pool_in_use(const struct pool *p)
{
	return p->in_use;
}
