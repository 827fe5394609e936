/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/nexus.h"

#include "scsi/alua.h"
#include "scsi/copy.h"
#include "scsi/copy_list.h"
#include "scsi/home.h"
#include "scsi/lu.h"
#include "scsi/nexus_internal.h"
#include "scsi/pr.h"
#include "scsi/scsi.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Under lu->lock: from here on other reactors see it, so it starts with what holds now. */
static void itl_join_lu(struct itl *itl)
{
	struct scsi_lu *lu = itl->lu;
	struct lu_poke *poke = &lu->pokes[reactor_index(itl->nexus->reactor)];
	uint32_t gate = 0;

	pthread_mutex_lock(&lu->lock);
	if (atomic_load(&lu->not_ready) != LU_READY)
		gate |= GATE_NOT_READY;
	if (!list_empty(&lu->ranges))
		gate |= GATE_RANGE;
	if (!alua_is_active(itl->nexus->access_state))
		gate |= GATE_PATH;
	if (!list_empty(&lu->rods))
		gate |= GATE_TOKEN;
	gate |= lu_pr_gate(lu, itl);
	atomic_fetch_or(&itl->gate, gate);
	list_add_tail(&lu->itls, &itl->lu_node);
	if (!poke->reactor)
		poke->reactor = itl->nexus->reactor;
	pthread_mutex_unlock(&lu->lock);
}

static struct itl *itl_create(struct it_nexus *n, const struct scsi_lun_entry *e, uint16_t ua)
{
	struct itl *itl = calloc(1, sizeof(*itl));

	if (!itl)
		return NULL;
	itl->lu = e->lu;
	itl->nexus = n;
	itl->lun = e->lun;
	itl->read_only = e->read_only;
	list_init(&itl->tasks);
	list_init(&itl->blocked);
	list_init(&itl->copies);
	list_init(&itl->lu_node);
	list_init(&itl->walk_node);
	list_init(&itl->settle_node);
	list_init(&itl->leave_node);
	lu_ref(itl->lu);
	itl_join_lu(itl);
	(void)itl_open_queue(itl); /* without one, commands that need it are NOT READY */
	itl_ua(itl, ua);
	return itl;
}

void itl_free(struct itl *itl)
{
	struct scsi_lu *lu = itl->lu;

	assert(!itl->ntasks);
	copy_list_free(itl);
	list_del(&itl->walk_node);
	list_del(&itl->settle_node);
	list_del(&itl->leave_node);
	lu_release6(lu, itl);
	pthread_mutex_lock(&lu->lock);
	list_del(&itl->lu_node);
	pthread_mutex_unlock(&lu->lock);
	if (itl->queue)
		lu_queue_put(lu, itl->nexus->reactor);
	free(itl->echo);
	free(itl);
	lu_unref(lu);
}

struct backing_queue *itl_open_queue(struct itl *itl)
{
	if (!itl->queue && lu_queue_get(itl->lu, itl->nexus->reactor, &itl->queue) < 0)
		itl->queue = NULL;
	return itl->queue;
}

void itl_set_prevent(struct itl *itl, bool prevent)
{
	pthread_mutex_lock(&itl->lu->lock);
	itl->prevent = prevent;
	pthread_mutex_unlock(&itl->lu->lock);
}

/* What a pass over the tasks of an itl stops. */
enum abort_pass {
	ABORT_WAITING, /* those that hold nothing of the store and the transport yet */
	ABORT_RUNNING, /* and those without data or status with the port */
	ABORT_ALL,
};

static bool in_pass(const struct scsi_task *t, enum abort_pass pass)
{
	if (pass == ABORT_WAITING)
		return t->state == TASK_WAIT_BUFFER || t->state == TASK_BLOCKED;
	return pass == ABORT_ALL || t->state != TASK_SENDING;
}

static void abort_pass(struct itl *itl, enum abort_pass pass)
{
	struct list victims, *n;

	list_init(&victims);
	list_splice_tail(&victims, &itl->tasks);
	while ((n = list_pop(&victims))) {
		struct scsi_task *t = list_entry(n, struct scsi_task, node);

		if (in_pass(t, pass))
			t->port->abort(t);
		else
			list_add_tail(&itl->tasks, &t->node);
	}
}

/* Those that wait go first: the buffers of the others would only set them to work. */
void itl_abort_tasks(struct itl *itl, bool all)
{
	abort_pass(itl, ABORT_WAITING);
	abort_pass(itl, all ? ABORT_ALL : ABORT_RUNNING);
}

/*
 * They can come and go on this thread only, and one that goes while the walk is on takes itself off
 * the list.
 */
void lu_each_itl_here(struct scsi_lu *lu, struct reactor *r,
		      void (*each)(struct itl *itl, void *arg), void *arg)
{
	struct list mine, *n, *pos;

	list_init(&mine);
	pthread_mutex_lock(&lu->lock);
	list_for_each (pos, &lu->itls) {
		struct itl *itl = list_entry(pos, struct itl, lu_node);

		if (itl->nexus->reactor == r)
			list_add_tail(&mine, &itl->walk_node);
	}
	pthread_mutex_unlock(&lu->lock);
	while ((n = list_pop(&mine)))
		each(list_entry(n, struct itl, walk_node), arg);
}

static struct itl *find_in(struct itl *const *itls, unsigned n, uint64_t lun)
{
	unsigned low = 0, high = n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (itls[mid]->lun == lun)
			return itls[mid];
		if (itls[mid]->lun < lun)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

struct itl *nexus_find_high(const struct it_nexus *n, uint64_t lun)
{
	return find_in(n->itls, n->n_itls, lun);
}

/* The same LU under the same number stays what it is. */
static bool entry_is(const struct scsi_lun_entry *e, const struct itl *itl)
{
	return itl && itl->lu == e->lu;
}

/* The itls of a map: those of old that stay, and new ones. 0 or -ENOMEM (then none is new). */
static int itls_of_map(struct it_nexus *n, const struct scsi_lun_map *map, uint16_t ua,
		       struct itl ***ret)
{
	struct itl **itls = calloc(map->n ? map->n : 1, sizeof(struct itl *));
	unsigned i;

	if (!itls)
		return -ENOMEM;
	for (i = 0; i < map->n; i++) {
		const struct scsi_lun_entry *e = &map->entries[i];
		struct itl *old = find_in(n->itls, n->n_itls, e->lun);

		itls[i] = entry_is(e, old) ? old : itl_create(n, e, ua);
		if (!itls[i])
			goto fail;
	}
	*ret = itls;
	return 0;
fail:
	while (i--)
		if (find_in(n->itls, n->n_itls, itls[i]->lun) != itls[i])
			itl_free(itls[i]);
	free(itls);
	return -ENOMEM;
}

static void install(struct it_nexus *n, const struct scsi_lun_map *map, struct itl **itls)
{
	lun_map_ref(map);
	lun_map_unref(n->map);
	free(n->itls);
	n->map = map;
	n->itls = itls;
	n->n_itls = map->n;
	for (unsigned i = 0; i < NEXUS_BY_LUN; i++)
		n->by_lun[i] = NULL;
	for (unsigned i = 0; i < n->n_itls; i++)
		if (itls[i]->lun < NEXUS_BY_LUN)
			n->by_lun[itls[i]->lun] = itls[i];
}

int nexus_init(struct it_nexus *n, struct reactor *r, const struct scsi_lun_map *map,
	       uint16_t first_ua)
{
	struct itl **itls;

	n->reactor = r;
	n->home = scsi_home(r);
	n->port_hash = pr_hash(n->initiator_port, n->target_port);
	if (!n->max_tasks)
		n->max_tasks = NEXUS_MAX_TASKS;
	list_init(&n->leaving);
	list_init(&n->copies);
	n->by_lun = calloc(NEXUS_BY_LUN, sizeof(struct itl *));
	if (!n->by_lun)
		return -ENOMEM;
	if (itls_of_map(n, map, first_ua, &itls) < 0) {
		free(n->by_lun);
		n->by_lun = NULL;
		return -ENOMEM;
	}
	install(n, map, itls);
	return 0;
}

void nexus_destroy(struct it_nexus *n)
{
	struct list *node, *next;

	if (!n->by_lun)
		return;
	copy_nexus_gone(n);
	for (unsigned i = 0; i < n->n_itls; i++)
		abort_pass(n->itls[i], ABORT_WAITING);
	for (unsigned i = 0; i < n->n_itls; i++) {
		itl_abort_tasks(n->itls[i], true);
		itl_free(n->itls[i]);
	}
	list_for_each_safe (node, next, &n->leaving) {
		struct itl *itl = list_entry(node, struct itl, leave_node);

		itl_abort_tasks(itl, true);
		itl_free(itl);
	}
	free(n->itls);
	free(n->by_lun);
	lun_map_unref(n->map);
	n->itls = n->by_lun = NULL;
	n->n_itls = 0;
	n->map = NULL;
}

/* Its LUN is gone: what runs ends cleanly (with the reference that the itl holds), then it goes. */
static void itl_leave(struct itl *itl)
{
	atomic_fetch_or(&itl->gate, GATE_LEAVING);
	itl_set_prevent(itl, false);
	lu_release6(itl->lu, itl);
	list_add_tail(&itl->nexus->leaving, &itl->leave_node);
	home_settle(itl->nexus->home, itl);
}

static bool kept(const struct itl *itl, struct itl *const *itls, unsigned n)
{
	return find_in(itls, n, itl->lun) == itl;
}

/* What is different of a LUN that was there before, though a 29h/00h may say that all is: hosts ask
 * for their identity, size and WP again when they are told of just that. */
static void tell_of_entry(const struct scsi_lun_entry *e, struct itl *itl, const struct itl *old)
{
	bool read_only = e->read_only || e->lu->geo.read_only;

	if (!old)
		return;
	if (read_only != (old->read_only || old->lu->geo.read_only))
		itl_ua(itl, ASC_MODE_CHANGED);
	if (memcmp(itl->lu->id.naa, old->lu->id.naa, sizeof(old->lu->id.naa)) != 0)
		itl_ua(itl, ASC_INQUIRY_CHANGED);
	if (atomic_load(&itl->lu->geo.blocks) != atomic_load(&old->lu->geo.blocks))
		itl_ua(itl, ASC_CAPACITY_CHANGED);
	itl->read_only = e->read_only;
}

int nexus_remap(struct it_nexus *n, const struct scsi_lun_map *map)
{
	struct itl **old = n->itls, **itls;
	unsigned n_old = n->n_itls, stay = 0;
	bool changed;

	if (itls_of_map(n, map, ASC_RESET, &itls) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < n_old; i++)
		stay += kept(old[i], itls, map->n);
	changed = stay != n_old || stay != map->n;
	for (unsigned i = 0; i < map->n; i++)
		tell_of_entry(&map->entries[i], itls[i], find_in(old, n_old, itls[i]->lun));
	for (unsigned i = 0; i < n_old; i++) {
		if (!kept(old[i], itls, map->n))
			itl_leave(old[i]);
		else if (changed)
			itl_ua(old[i], ASC_LUNS_CHANGED);
	}
	install(n, map, itls);
	return 0;
}
