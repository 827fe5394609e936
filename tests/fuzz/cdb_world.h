/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fuzz_cdb.c plays with: two LUs on fake stores, thin, removable and atomic, that both nexuses
 * see, each nexus by a target port of its own; keepers that write down whatever they are given.
 *
 * Threads: one. Ownership: static; world_start and world_stop around each input.
 */
#ifndef HAWSER_TESTS_CDB_WORLD_H
#define HAWSER_TESTS_CDB_WORLD_H

#include "daemon/base/pool.h"
#include "scsi/alua.h"
#include "scsi/home.h"
#include "scsi/kept.h"
#include "scsi/pr.h"
#include "scsi/scsi.h"
#include "scsi/tmf.h"
#include "tests/unit/fake_port.h"
#include "tests/unit/fake_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEXUSES    2
#define LUS        2
#define TASKS      24
#define FUNCTIONS  8
#define STORE_SIZE (512u << 10)

/* The first byte. */
#define SETUP_LENDS     0x01 /* the first store lends its memory */
#define SETUP_HOLD      0x02
#define SETUP_READ_ONLY 0x04 /* the second nexus may not write */
#define SETUP_TIGHT     0x08 /* few buffers */
#define SETUP_DIGESTS   0x10 /* the first nexus wants data that stands still */
#define SETUP_STANDBY   0x20 /* so is the second nexus' target port */

/* A task and its data, no longer than the initiator said. */
struct entry {
	struct fake_task *f;
	uint8_t *data;
};

static struct {
	struct reactor *reactor;
	struct arena *arena;
	struct fake_store *store[LUS];
	struct scsi_lu *lu[LUS];
	struct scsi_lun_map *map[NEXUSES];
	struct it_nexus nexus[NEXUSES];
	struct entry entries[TASKS];
	struct scsi_tmf tmf[FUNCTIONS];
	bool tmf_busy[FUNCTIONS];
	unsigned lus_gone;
	uint8_t setup;
} f;

static void turn(unsigned times)
{
	while (times--)
		reactor_turn(f.reactor, 0);
}

/* --- Keepers: all is written down, a message later ----------------------------------------------
 */
static void pr_kept(struct reactor_msg *msg)
{
	struct pr_keep *k = container_of(msg, struct pr_keep, msg);

	k->result = 0;
	k->done(k);
}

static void keep_pr(struct pr_keep *k, void *arg)
{
	(void)arg;
	k->msg.run = pr_kept;
	reactor_send(k->reactor, &k->msg);
}

static void lu_kept(struct reactor_msg *msg)
{
	struct kept_op *op = container_of(msg, struct kept_op, msg);

	op->result = 0;
	kept_done(op);
}

static void keep_lu(struct kept_op *op, void *arg)
{
	(void)arg;
	op->msg.run = lu_kept;
	reactor_send(op->reactor, &op->msg);
}

static void alua_changed(struct reactor_msg *msg)
{
	struct alua_change *c = container_of(msg, struct alua_change, msg);

	c->result = 0;
	c->done(c);
}

static void change_alua(struct alua_change *c, void *arg)
{
	(void)arg;
	c->msg.run = alua_changed;
	reactor_send(c->reactor, &c->msg);
}

/* --- Set-up ------------------------------------------------------------------------------------
 */
static void lu_destroyed(struct scsi_lu *lu, void *arg)
{
	(void)lu;
	(void)arg;
	f.lus_gone++;
}

static void make_lu(unsigned i)
{
	const unsigned thin = BACKING_CAN_TRIM | BACKING_TRIM_ZEROES | BACKING_THIN;
	struct lu_params p = { .block_size = i ? 4096 : 512, .thin = true, .removable = true };
	const char *why;

	f.store[i] = fake_store_new(
	    STORE_SIZE, thin | (i ? (unsigned)BACKING_VOLATILE_CACHE : (unsigned)BACKING_INLINE));
	f.store[i]->b.info.atomic_max = 1 << 20;
	f.store[i]->mapping = !i && (f.setup & SETUP_LENDS);
	f.store[i]->hold = f.setup & SETUP_HOLD;
	snprintf(p.id.serial, sizeof(p.id.serial), "fuzz%u", i);
	p.id.naa[0] = 0x60;
	p.id.naa[15] = (uint8_t)i;
	if (lu_create(&p, &f.store[i]->b, &f.lu[i], &why))
		abort();
	f.lu[i]->destroyed = lu_destroyed;
}

static void make_nexus(unsigned i)
{
	static struct alua_group groups[NEXUSES] = { { .id = 1 }, { .id = 2 } };
	static struct alua_port ports[NEXUSES] = { { 1, 0 }, { 2, 1 } };
	static const struct alua_table alua = { .tpgs = ALUA_IMPLICIT | ALUA_EXPLICIT,
						.n_groups = NEXUSES,
						.n_ports = NEXUSES,
						.groups = groups,
						.ports = ports };
	struct it_nexus *n = &f.nexus[i];

	memset(n, 0, sizeof(*n));
	n->id = i + 1;
	n->max_tasks = 16;
	n->stable_data = !i && (f.setup & SETUP_DIGESTS);
	snprintf(n->initiator_port, SCSI_PORT_NAME, "iqn.2026-01.org.example:h%u,i,0x00023d00000%u",
		 i, i);
	snprintf(n->target_port, SCSI_PORT_NAME, "iqn.2026-01.org.example:disk,t,0x000%u", i + 1);
	n->relative_port = (uint16_t)(i + 1);
	groups[1].state = f.setup & SETUP_STANDBY ? ALUA_STANDBY : ALUA_ACTIVE_OPTIMIZED;
	nexus_set_alua(n, &alua);
	if (nexus_init(n, f.reactor, f.map[i], ASC_POWER_ON))
		abort();
}

static void take_attentions(struct it_nexus *n)
{
	uint16_t ua;

	for (unsigned i = 0; i < n->n_itls; i++)
		while (itl_ua_take(n->itls[i], &ua))
			;
}

static void world_start(void)
{
	struct scsi_lun_entry e[LUS];

	f.lus_gone = 0;
	if (reactor_create(0, "fuzz", &f.reactor) ||
	    arena_create(f.setup & SETUP_TIGHT ? 1u << 20 : 4u << 20, &f.arena) ||
	    scsi_reactor_start(f.reactor, f.arena))
		abort();
	for (unsigned i = 0; i < LUS; i++)
		make_lu(i);
	for (unsigned i = 0; i < NEXUSES; i++) {
		for (unsigned n = 0; n < LUS; n++)
			e[n] =
			    (struct scsi_lun_entry){ n, f.lu[n], i && (f.setup & SETUP_READ_ONLY) };
		f.map[i] = lun_map_create(e, LUS);
		make_nexus(i);
		take_attentions(&f.nexus[i]);
	}
	scsi_set_pr_keeper(keep_pr, NULL);
	scsi_set_keeper(keep_lu, NULL);
	scsi_set_alua_keeper(change_alua, NULL);
}

/* Everything has been let go, no task is left. */
static void world_stop(void)
{
	size_t bytes;
	void *base;

	for (unsigned i = 0; i < NEXUSES; i++)
		nexus_destroy(&f.nexus[i]);
	turn(4);
	for (unsigned i = 0; i < NEXUSES; i++)
		lun_map_unref(f.map[i]);
	for (unsigned i = 0; i < LUS; i++)
		lu_unref(f.lu[i]);
	/* A FORMAT UNIT or SANITIZE goes on without its nexus. */
	for (unsigned i = 0; i < 10000 && f.lus_gone < LUS; i++)
		turn(1);
	arena_memory(f.arena, &base, &bytes);
	if (f.lus_gone != LUS || arena_free_bytes(f.arena) != bytes)
		abort();
	scsi_reactor_stop(f.reactor);
	arena_destroy(f.arena);
	for (unsigned i = 0; i < LUS; i++)
		fake_store_free(f.store[i]);
	reactor_destroy(f.reactor);
}

#endif
