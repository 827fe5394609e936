/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/lu.h"

#include "scsi/nexus.h"
#include "scsi/pr.h"
#include "scsi/provision.h"
#include "scsi/rod.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576u

/* Limits of VPD B0h, in bytes where they are blocks there. */
enum {
	TRANSFER_MAX = 16 * MIB,    /* what an arena hands out at most */
	WRITE_SAME_BLOCKS = 0x8000, /* below FFFFh: iscsi-test-cu WriteSame16.Unmap would write as
				       much in one command, whatever the longest transfer */
	COMPARE_WRITE_BLOCKS = 128, /* locks of file systems are one block */
	UNMAP_DESCRIPTORS = 256,    /* 4 KiB of list, and what clients accept */
};
#define UNMAP_BLOCKS 0x100000u /* iscsi-test-cu Inquiry.BlockLimits takes more for a mistake */

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

/* What a refresh changes, perhaps just now. */
static uint64_t size_of(const struct backing *b)
{
	return __atomic_load_n(&b->info.size, __ATOMIC_RELAXED);
}

/* What does not fit, or NULL. */
static const char *misfit(const struct lu_params *p, const struct backing *b)
{
	if (p->block_size != 512 && p->block_size != 4096)
		return "the block size must be 512 or 4096 bytes";
	if (p->physical_block && (!power_of_two(p->physical_block) ||
				  p->physical_block < p->block_size || p->physical_block > 65536))
		return "the physical block must be a power of two, from the block size to 64 KiB";
	if (!b)
		return NULL;
	if (b->info.logical_block > p->block_size)
		return "the store cannot do I/O in blocks as small as the block size";
	if (size_of(b) < p->block_size)
		return "the store is smaller than one block";
	return NULL;
}

static uint8_t exponent(const struct lu_params *p, const struct backing *b)
{
	uint32_t physical = p->physical_block;
	uint8_t e = 0;

	if (!physical)
		physical = power_of_two(b->info.physical_block) ? b->info.physical_block : 0;
	while (e < 15 && (uint64_t)p->block_size << e < physical)
		e++;
	return e;
}

/* Trimming in units of blocks; left out where a store gives space back in odd units. */
static void set_unmap(struct lu_geometry *g, const struct backing_info *i)
{
	uint32_t unit = i->trim_granularity;

	if (!(i->flags & BACKING_CAN_TRIM) || (unit > g->block_size && unit % g->block_size)) {
		g->thin = false;
		return;
	}
	g->unmap_granularity = unit > g->block_size ? unit / g->block_size : 1;
	g->unmap_alignment = i->trim_alignment / g->block_size;
	g->max_unmap_blocks = UNMAP_BLOCKS;
	g->max_unmap_descriptors = UNMAP_DESCRIPTORS;
	g->zeroes_after_unmap = i->flags & BACKING_TRIM_ZEROES;
}

/* Whole physical blocks, no more than one transfer, and what the CDB can ask for. */
static void set_atomic(struct lu_geometry *g, uint32_t bytes)
{
	uint32_t blocks = bytes / g->block_size;

	if (blocks > g->max_blocks)
		blocks = g->max_blocks;
	if (blocks > UINT16_MAX)
		blocks = UINT16_MAX;
	g->max_atomic = blocks >> g->physical_exponent << g->physical_exponent;
}

static void set_geometry(struct lu_geometry *g, const struct lu_params *p, const struct backing *b)
{
	g->block_size = p->block_size;
	g->max_blocks = TRANSFER_MAX / p->block_size;
	g->max_write_same = WRITE_SAME_BLOCKS;
	g->max_compare_write = COMPARE_WRITE_BLOCKS;
	g->removable = p->removable;
	g->read_only = p->read_only;
	g->rotational = p->has_rotation && p->rotational;
	if (!b)
		return;
	g->blocks = size_of(b) / p->block_size;
	g->physical_exponent = exponent(p, b);
	set_atomic(g, b->info.atomic_max);
	g->write_cache = b->info.flags & BACKING_VOLATILE_CACHE;
	g->read_only = p->read_only || b->info.flags & BACKING_READ_ONLY;
	if (!p->has_rotation)
		g->rotational = b->info.flags & BACKING_ROTATIONAL;
	g->thin = p->thin;
	if (g->thin)
		set_unmap(g, &b->info);
}

int lu_create(const struct lu_params *p, struct backing *b, struct scsi_lu **ret,
	      const char **ret_why)
{
	const char *why = misfit(p, b);
	struct scsi_lu *lu;

	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	lu = aligned_alloc(64, sizeof(*lu));
	if (!lu)
		return -ENOMEM;
	memset(lu, 0, sizeof(*lu));
	pthread_mutex_init(&lu->lock, NULL);
	list_init(&lu->itls);
	list_init(&lu->ranges);
	list_init(&lu->rods);
	list_init(&lu->waiters);
	list_init(&lu->pr.ops);
	list_init(&lu->kept_ops);
	lu->id = p->id;
	lu->backing = b;
	set_geometry(&lu->geo, p, b);
	atomic_init(&lu->space.used, SPACE_UNKNOWN);
	atomic_init(&lu->space.available, SPACE_UNKNOWN);
	atomic_init(&lu->refs, 1);
	atomic_init(&lu->not_ready, b ? LU_READY : LU_NO_STORE);
	*ret = lu;
	return 0;
}

void lu_ref(struct scsi_lu *lu)
{
	atomic_fetch_add_explicit(&lu->refs, 1, memory_order_relaxed);
}

/* Whoever uses a queue holds a reference, so with the last one all queues are closed. */
void lu_unref(struct scsi_lu *lu)
{
	if (atomic_fetch_sub_explicit(&lu->refs, 1, memory_order_acq_rel) != 1)
		return;
	rod_lu_gone(lu);
	if (lu->destroyed)
		lu->destroyed(lu, lu->destroyed_arg);
	pr_table_put(lu->pr.table);
	pthread_mutex_destroy(&lu->lock);
	free(lu);
}

/* What a store brings: each value once, for other reactors may be looking. Granularity before thin:
 * who sees the unit thin can unmap. */
static void take_geometry(struct lu_geometry *to, const struct lu_geometry *from)
{
	to->blocks = from->blocks;
	to->physical_exponent = from->physical_exponent;
	to->max_atomic = from->max_atomic;
	to->unmap_granularity = from->unmap_granularity;
	to->unmap_alignment = from->unmap_alignment;
	to->max_unmap_blocks = from->max_unmap_blocks;
	to->max_unmap_descriptors = from->max_unmap_descriptors;
	to->zeroes_after_unmap = from->zeroes_after_unmap;
	to->thin = from->thin;
	to->write_cache = from->write_cache;
	to->rotational = from->rotational;
	to->read_only = from->read_only;
}

/*
 * The geometry changes while other reactors may look at it, but none of them lets a command that
 * depends on all of it pass: GATE_NOT_READY is set until the end.
 */
int lu_attach(struct scsi_lu *lu, const struct lu_params *p, struct backing *b,
	      const char **ret_why)
{
	const char *why = misfit(p, b);
	struct lu_geometry geo = { 0 };
	uint8_t state; /* of a FORMAT UNIT or SANITIZE that has not ended */

	if (why || lu->backing) {
		*ret_why = why ? why : "the unit has a store";
		return -EINVAL;
	}
	set_geometry(&geo, p, b);
	pthread_mutex_lock(&lu->lock);
	take_geometry(&lu->geo, &geo);
	lu->backing = b;
	state = lu->kept.media.state;
	pthread_mutex_unlock(&lu->lock);
	lu_ua_all(lu, ASC_NOT_READY_TO_READY, NULL);
	lu_ua_all(lu, ASC_CAPACITY_CHANGED, NULL); /* perhaps: nobody could ask before */
	lu_change_state(lu, LU_IN(LU_NO_STORE), state ? (enum lu_not_ready)state : LU_READY);
	return 0;
}

/* A unit that is only stopped has the medium it had. */
static bool keeps_medium(enum lu_not_ready state)
{
	return state == LU_READY || state == LU_STOPPED;
}

bool lu_change_state(struct scsi_lu *lu, unsigned from, enum lu_not_ready to)
{
	struct list *pos;
	bool may;

	pthread_mutex_lock(&lu->lock);
	may = from & LU_IN(atomic_load(&lu->not_ready));
	if (may)
		atomic_store(&lu->not_ready, to);
	list_for_each (pos, &lu->itls) {
		struct itl *itl = list_entry(pos, struct itl, lu_node);

		if (atomic_load(&lu->not_ready) == LU_READY)
			atomic_fetch_and(&itl->gate, ~(uint32_t)GATE_NOT_READY);
		else
			atomic_fetch_or(&itl->gate, GATE_NOT_READY);
	}
	pthread_mutex_unlock(&lu->lock);
	if (may && !keeps_medium(to))
		rod_touch_all(lu);
	return may;
}

bool lu_prevented(struct scsi_lu *lu)
{
	bool prevented = false;
	struct list *pos;

	pthread_mutex_lock(&lu->lock);
	list_for_each (pos, &lu->itls)
		prevented |= list_entry(pos, struct itl, lu_node)->prevent;
	pthread_mutex_unlock(&lu->lock);
	return prevented;
}

void lu_resized(struct scsi_lu *lu)
{
	uint64_t blocks, size;

	if (!lu->backing)
		return;
	blocks = size_of(lu->backing) / lu->geo.block_size;
	size = blocks * lu->geo.block_size;
	atomic_store(&lu->geo.blocks, blocks);
	rod_touch(lu, size, UINT64_MAX - size, 0);
	lu_ua_all(lu, ASC_CAPACITY_CHANGED, NULL);
}

int lu_queue_get(struct scsi_lu *lu, struct reactor *r, struct backing_queue **ret)
{
	unsigned i = reactor_index(r);
	struct backing *b;
	int rc;

	if (i >= LU_REACTORS_MAX)
		return -ENOSPC;
	if (!lu->queue[i]) {
		pthread_mutex_lock(&lu->lock);
		b = lu->backing;
		pthread_mutex_unlock(&lu->lock);
		if (!b)
			return -ENODEV;
		rc = backing_queue_open(b, r, &lu->queue[i]);
		if (rc < 0) {
			lu->queue[i] = NULL;
			return rc;
		}
	}
	lu->queue_users[i]++;
	*ret = lu->queue[i];
	return 0;
}

void lu_queue_put(struct scsi_lu *lu, struct reactor *r)
{
	unsigned i = reactor_index(r);

	if (--lu->queue_users[i])
		return;
	backing_queue_close(lu->queue[i]);
	lu->queue[i] = NULL;
}

/* The counters of a reactor are one row of words that only it changes. */
void lu_get_counters(const struct scsi_lu *lu, struct lu_counters *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < LU_REACTORS_MAX; i++) {
		const struct lu_counters *c = &lu->counters[i];

		ret->reads += __atomic_load_n(&c->reads, __ATOMIC_RELAXED);
		ret->writes += __atomic_load_n(&c->writes, __ATOMIC_RELAXED);
		ret->read_bytes += __atomic_load_n(&c->read_bytes, __ATOMIC_RELAXED);
		ret->write_bytes += __atomic_load_n(&c->write_bytes, __ATOMIC_RELAXED);
		ret->unmaps += __atomic_load_n(&c->unmaps, __ATOMIC_RELAXED);
		ret->flushes += __atomic_load_n(&c->flushes, __ATOMIC_RELAXED);
		ret->errors += __atomic_load_n(&c->errors, __ATOMIC_RELAXED);
		ret->write_errors += __atomic_load_n(&c->write_errors, __ATOMIC_RELAXED);
	}
}
