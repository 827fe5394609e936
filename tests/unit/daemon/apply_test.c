/* SPDX-License-Identifier: BSD-2-Clause */
/* The difference between what is and what is wanted, made so or refused whole. */
#include "daemon/apply_internal.h"
#include "tests/unit/daemon/world.h"

#include <semaphore.h>

#define DISK   "lus = ( { name = \"a\"; path = \"@/a.img\"; size = \"1MiB\"; create = true; } );\n"
#define PORTAL "portals = ( { address = \"127.0.0.1\"; port = 3260; } );\n"
#define TARGET                                                                                     \
	"targets = ( { name = \"iqn.2026-01.org.example:a\";"                                      \
	" luns = ( { lun = 0; lu = \"a\"; } ); access = ( { any = true; } ); } );\n"

static const char whole[] = PORTAL DISK TARGET;

static bool exists(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", world_current->dir, name);
	return access(path, F_OK) == 0;
}

static const char *naa_of(struct world *w, const char *name)
{
	return node_find_lu(&w->d.node, name)->config.naa;
}

START_TEST(whole_configuration_is_made)
{
	struct world_apply a = { .request.boot = true };
	struct node_lu *l;
	struct world w;

	world_start(&w);
	ck_assert_msg(world_apply(&w, &a, whole) == APPLY_DONE, "%s", a.request.why);
	l = node_find_lu(&w.d.node, "a");
	ck_assert(l && l->store && !l->why);
	ck_assert_uint_eq(l->store->backing->info.size, 1 << 20);
	ck_assert_uint_eq(listening, 1);
	ck_assert_uint_eq(w.d.node.config->n_targets, 1);
	world_end(&w);
}
END_TEST

START_TEST(same_again_changes_nothing)
{
	struct world_apply a = { .request.boot = true }, b = { .request.lenient = true };
	struct scsi_lu *before;
	struct world w;
	uint64_t generation;

	world_start(&w);
	world_apply(&w, &a, whole);
	before = node_find_lu(&w.d.node, "a")->lu;
	generation = w.d.apply.generation;
	/* Lines moved, nothing else. */
	ck_assert_int_eq(world_apply(&w, &b, "\n\n" PORTAL DISK TARGET), APPLY_DONE);
	ck_assert_uint_eq(b.request.n_changes, 0);
	ck_assert_ptr_eq(node_find_lu(&w.d.node, "a")->lu, before);
	ck_assert_uint_eq(w.d.apply.generation, generation);
	ck_assert_uint_eq(w.d.node.config->portals[0].origin.line, 3);
	world_end(&w);
}
END_TEST

START_TEST(one_more_touches_no_other)
{
	struct world_apply a = { .request.boot = true }, b = { 0 };
	struct scsi_lu *before;
	struct world w;

	world_start(&w);
	world_apply(&w, &a, whole);
	before = node_find_lu(&w.d.node, "a")->lu;
	ck_assert_int_eq(world_apply(&w, &b,
				     PORTAL TARGET
				     "lus = ( { name = \"a\"; path = \"@/a.img\"; size = \"1MiB\";"
				     "create = true; }, { name = \"b\"; type = \"ram\";"
				     "size = \"1MiB\"; } );"),
			 APPLY_DONE);
	ck_assert_uint_eq(b.request.n_changes, 1);
	ck_assert_ptr_eq(node_find_lu(&w.d.node, "a")->lu, before);
	ck_assert_ptr_nonnull(node_find_lu(&w.d.node, "b")->store);
	world_end(&w);
}
END_TEST

/* Settings of a store in use: it is closed first, since it locks its file, then opened anew. */
START_TEST(altered_unit_is_opened_anew)
{
	struct world_apply a = { .request.boot = true }, b = { .request.lenient = true };
	struct world w;
	char naa[33];

	world_start(&w);
	world_apply(&w, &a, whole);
	snprintf(naa, sizeof(naa), "%s", naa_of(&w, "a"));
	ck_assert_int_eq(world_apply(&w, &b,
				     PORTAL TARGET
				     "lus = ( { name = \"a\"; path = \"@/a.img\"; size = \"1MiB\";"
				     "create = true; read_only = true; } );"),
			 APPLY_DONE);
	ck_assert_uint_eq(b.request.n_changes, 1);
	ck_assert_msg(node_find_lu(&w.d.node, "a")->store != NULL, "%s",
		      node_find_lu(&w.d.node, "a")->why);
	ck_assert(node_find_lu(&w.d.node, "a")->store->backing->info.flags & BACKING_READ_ONLY);
	ck_assert_uint_eq(w.d.node.n_stores, 1);
	ck_assert_str_eq(naa_of(&w, "a"), naa);
	world_end(&w);
}
END_TEST

START_TEST(removed_unit_closes_its_store)
{
	struct world_apply a = { .request.boot = true }, b = { 0 };
	struct world w;

	world_start(&w);
	world_apply(&w, &a, whole);
	ck_assert_int_eq(world_apply(&w, &b, PORTAL), APPLY_DONE);
	ck_assert_uint_eq(b.request.n_changes, 2);
	ck_assert_uint_eq(w.d.node.n_stores, 0);
	ck_assert(exists("a.img"));
	world_end(&w);
}
END_TEST

START_TEST(refused_request_changes_nothing)
{
	struct world_apply a = { .request.boot = true }, b = { 0 }, c = { 0 }, d = { 0 };
	struct world w;

	world_start(&w);
	world_apply(&w, &a, whole);
	/* A store that cannot be opened, beside one that can. */
	ck_assert_int_eq(world_apply(&w, &b,
				     PORTAL
				     "lus = ( { name = \"b\"; path = \"@/b.img\"; size = 512;"
				     "create = true; }, { name = \"c\";"
				     "path = \"/nonexistent/c\"; } );"),
			 APPLY_FAILED);
	ck_assert_msg(strstr(b.request.why, "/nonexistent/c"), "%s", b.request.why);
	/* A portal that cannot listen, beside one that can. */
	port_taken = 99;
	ck_assert_int_eq(world_apply(&w, &c, "portals = ( { port = 98; }, { port = 99; } );" DISK),
			 APPLY_FAILED);
	ck_assert_msg(strstr(c.request.why, "port 99"), "%s", c.request.why);
	/* A contradiction. */
	ck_assert_int_eq(world_apply(&w, &d, PORTAL TARGET), APPLY_INVALID);
	ck_assert_msg(strstr(d.request.why, "test.conf:2: "), "%s", d.request.why);
	while (w.d.node.n_leaving)
		world_turn(&w);
	ck_assert_uint_eq(listening, 1);
	ck_assert_uint_eq(w.d.node.n_stores, 1);
	ck_assert_ptr_nonnull(node_find_lu(&w.d.node, "a"));
	ck_assert_uint_eq(w.d.node.config->n_targets, 1);
	ck_assert_ptr_null(state_find(w.d.state, STATE_IDENTITY, "b"));
	world_end(&w);
}
END_TEST

START_TEST(unopened_store_leaves_its_unit_out)
{
	static const char text[] =
	    PORTAL "lus = ( { name = \"a\"; path = \"@/a.img\"; },"
		   "{ name = \"b\"; type = \"ram\"; size = \"1MiB\"; } );" TARGET;
	struct world_apply a = { .request.boot = true }, b = { .request.retry = true };
	struct node_lu *l;
	struct world w;
	char path[100];
	FILE *f;

	world_start(&w);
	ck_assert_int_eq(world_apply(&w, &a, text), APPLY_DONE);
	l = node_find_lu(&w.d.node, "a");
	ck_assert(!l->store && strstr(l->why, "a.img"));
	ck_assert_int_eq(atomic_load(&l->lu->not_ready), LU_NO_STORE);
	ck_assert_ptr_nonnull(node_find_lu(&w.d.node, "b")->store);
	snprintf(path, sizeof(path), "%s/a.img", w.dir);
	f = fopen(path, "w");
	ck_assert_int_eq(ftruncate(fileno(f), 1 << 20), 0);
	fclose(f);
	ck_assert_int_eq(world_apply(&w, &b, text), APPLY_DONE);
	ck_assert_ptr_eq(node_find_lu(&w.d.node, "a"), l);
	ck_assert(l->store && !l->why);
	ck_assert_int_eq(atomic_load(&l->lu->not_ready), LU_READY);
	world_end(&w);
}
END_TEST

START_TEST(identity_is_for_ever)
{
	struct world_apply a = { .request.boot = true }, b = { 0 }, c = { .request.boot = true };
	struct world w;
	char naa[33];

	world_start(&w);
	world_apply(&w, &a, whole);
	snprintf(naa, sizeof(naa), "%s", naa_of(&w, "a"));
	ck_assert_int_eq(naa[0], '6');
	/* Away from hawser.conf and back, and over a restart. */
	world_apply(&w, &b, PORTAL);
	world_restart(&w);
	world_apply(&w, &c, whole);
	ck_assert_str_eq(naa_of(&w, "a"), naa);
	world_end(&w);
}
END_TEST

START_TEST(given_identity_is_taken)
{
	static const char text[] = "lus = ( { name = \"a\"; type = \"ram\"; size = 512;"
				   "naa = \"60000000000000000000000000000042\"; } );";
	struct world_apply a = { .request.boot = true };
	struct node_lu *l;
	struct world w;

	world_start(&w);
	world_apply(&w, &a, text);
	l = node_find_lu(&w.d.node, "a");
	ck_assert_uint_eq(l->lu->id.naa[0], 0x60);
	ck_assert_uint_eq(l->lu->id.naa[15], 0x42);
	ck_assert_uint_gt(strlen(l->lu->id.serial), 8);
	world_end(&w);
}
END_TEST

/* Its file system is not mounted, perhaps: an empty disk must not take the place of a full one. */
START_TEST(vanished_file_is_not_made_anew)
{
	struct world_apply a = { .request.boot = true }, b = { .request.boot = true };
	struct world w;
	char path[100];

	world_start(&w);
	world_apply(&w, &a, whole);
	world_restart(&w);
	snprintf(path, sizeof(path), "%s/a.img", w.dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(world_apply(&w, &b, whole), APPLY_DONE);
	ck_assert_ptr_null(node_find_lu(&w.d.node, "a")->store);
	ck_assert_msg(strstr(node_find_lu(&w.d.node, "a")->why, "truncate"), "%s",
		      node_find_lu(&w.d.node, "a")->why);
	ck_assert(!exists("a.img"));
	world_end(&w);
}
END_TEST

/* All offload threads are held, as by dead file servers: nothing opens. */
struct holder {
	struct offload_job job;
	struct offload_queue *queue;
	bool over;
};
static sem_t hold;

static void hold_work(struct offload_job *job)
{
	(void)job;
	while (sem_wait(&hold))
		;
}

static void hold_done(struct offload_job *job)
{
	list_entry(job, struct holder, job)->over = true;
}

static void hold_threads(struct world *w, struct holder *h, unsigned n)
{
	sem_init(&hold, 0, 0);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(offload_queue_create("holder", 1, &h[i].queue), 0);
		h[i].job = (struct offload_job){ .work = hold_work,
						 .done = hold_done,
						 .reply_to = w->d.control };
		offload_submit(h[i].queue, &h[i].job);
	}
}

static void release_threads(struct world *w, struct holder *h, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sem_post(&hold);
	for (unsigned i = 0; i < n; i++) {
		while (!h[i].over)
			world_turn(w);
		offload_queue_destroy(h[i].queue);
	}
}

START_TEST(silent_store_holds_its_unit_only)
{
	struct world_apply a = { .request.boot = true,
				 .text =
				     "lus = ( { name = \"a\"; type = \"ram\"; size = 512; } );" };
	struct holder h[WORLD_THREADS] = { 0 };
	struct world w;

	world_start(&w);
	w.d.apply.open_wait_ms = 50;
	hold_threads(&w, h, WORLD_THREADS);
	a.request.prepare = world_prepare;
	a.request.done = world_done;
	apply_submit(&w.d, &a.request);
	ck_assert_uint_eq(w.d.apply.run->pending, 1);
	while (w.d.apply.run->pending)
		world_turn(&w);
	/* It goes on without the store, as far as the state can be written. */
	release_threads(&w, h, WORLD_THREADS);
	while (!a.done)
		world_turn(&w);
	ck_assert_int_eq(a.request.result, APPLY_DONE);
	/* And takes it in when it has answered after all. */
	while (!node_find_lu(&w.d.node, "a")->store)
		world_turn(&w);
	ck_assert_int_eq(atomic_load(&node_find_lu(&w.d.node, "a")->lu->not_ready), LU_READY);
	while (w.d.apply.run)
		world_turn(&w);
	ck_assert_uint_eq(w.d.node.n_stores, 1);
	world_end(&w);
}
END_TEST

/* Somebody still uses a unit that has been removed: the answer says so, a new one on its file is
 * refused as long, others are not held up, and afterwards it is there at once. */
START_TEST(store_that_does_not_close)
{
	static const char other[] =
	    PORTAL "lus = ( { name = \"c\"; type = \"ram\"; size = 512; } );";
	static const char again[] = PORTAL "lus = ( { name = \"c\"; type = \"ram\"; size = 512; },"
					   "{ name = \"b\"; path = \"@/a.img\"; } );";
	struct world_apply a = { .request.boot = true }, b = { 0 }, c = { 0 }, d = { 0 }, e = { 0 };
	struct scsi_lu *user;
	struct world w;

	world_start(&w);
	world_apply(&w, &a, whole);
	user = node_find_lu(&w.d.node, "a")->lu;
	lu_ref(user);
	w.d.apply.close_wait_ms = 30;
	ck_assert_int_eq(world_apply(&w, &b, PORTAL), APPLY_DONE);
	ck_assert_str_eq(b.request.unclosed, "a");
	w.d.apply.close_wait_ms = 60000; /* would be noticed */
	ck_assert_int_eq(world_apply(&w, &c, other), APPLY_DONE);
	ck_assert_str_eq(c.request.unclosed, "");
	w.d.apply.close_wait_ms = 30;
	ck_assert_int_eq(world_apply(&w, &d, again), APPLY_CONFLICT);
	ck_assert_msg(strstr(d.request.why, "a.img") && strstr(d.request.why, "lu a"), "%s",
		      d.request.why);
	ck_assert_ptr_null(node_find_lu(&w.d.node, "b"));
	/* Let go of while the next request waits for it. */
	w.d.apply.close_wait_ms = 60000;
	e.text = again;
	e.request.prepare = world_prepare;
	e.request.done = world_done;
	apply_submit(&w.d, &e.request);
	ck_assert(!e.done);
	lu_unref(user);
	while (!e.done)
		world_turn(&w);
	ck_assert_msg(e.request.result == APPLY_DONE, "%s", e.request.why);
	ck_assert_ptr_nonnull(node_find_lu(&w.d.node, "b")->store);
	world_end(&w);
}
END_TEST

static uint16_t port_id(struct world *w, const char *target, uint16_t group)
{
	char key[300];
	const struct state_port *p =
	    state_find(w->d.state, STATE_PORT, state_port_key(target, group, key));

	return p ? p->id : 0;
}

START_TEST(port_identifiers_stay)
{
	static const char two[] =
	    "portals = ( { port = 1; group = 1; }, { port = 2; group = 2; } );"
	    "targets = ( { name = \"iqn.2026-01.org.example:b\"; },"
	    "{ name = \"iqn.2026-01.org.example:a\"; groups = [ 2 ]; } );";
	struct world_apply a = { .request.boot = true }, b = { 0 }, c = { 0 };
	uint16_t id;
	struct world w;

	world_start(&w);
	world_apply(&w, &a, two);
	id = port_id(&w, "iqn.2026-01.org.example:a", 2);
	ck_assert_uint_ne(id, 0);
	ck_assert_uint_eq(port_id(&w, "iqn.2026-01.org.example:a", 1), 0);
	ck_assert_uint_ne(port_id(&w, "iqn.2026-01.org.example:b", 1),
			  port_id(&w, "iqn.2026-01.org.example:b", 2));
	world_apply(&w, &b, "");
	world_apply(&w, &c, two);
	ck_assert_uint_eq(port_id(&w, "iqn.2026-01.org.example:a", 2), id);
	world_end(&w);
}
END_TEST

START_TEST(names_are_folded)
{
	struct world_apply a = { .request.boot = true };
	struct world w;

	world_start(&w);
	world_apply(&w, &a, "targets = ( { name = \"iqn.2026-01.ORG.Example:A\"; } );");
	ck_assert_str_eq(w.d.node.config->targets[0].name, "iqn.2026-01.org.example:a");
	world_end(&w);
}
END_TEST

SUITE_COVERS("fault-J04");

UNIT_MAIN("daemon/apply", whole_configuration_is_made, same_again_changes_nothing,
	  one_more_touches_no_other, altered_unit_is_opened_anew, removed_unit_closes_its_store,
	  refused_request_changes_nothing, unopened_store_leaves_its_unit_out, identity_is_for_ever,
	  given_identity_is_taken, vanished_file_is_not_made_anew, port_identifiers_stay,
	  names_are_folded, store_that_does_not_close, silent_store_holds_its_unit_only)
