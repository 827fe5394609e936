/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units whose settings change become new objects. Who is registered with one stays registered, and
 * what else commands have made of it (scsi/kept.h) stays: it goes over before any nexus sees the
 * new object, and nothing changes it in between.
 */
#include "daemon/apply_internal.h"
#include "daemon/base/log.h"
#include "scsi/pr.h"

#include <string.h>

static void one_less(struct apply_run *run)
{
	if (!--run->handing_over)
		run->handed_over(run);
}

static void handed_over(void *arg, int result)
{
	(void)result; /* it cannot fail once begun */
	one_less(arg);
}

static void kept_handed_over(void *arg)
{
	one_less(arg);
}

static bool replaces(const struct apply_lu *al)
{
	return al->have && al->made && !al->retry &&
	       !memcmp(al->have->lu->id.naa, al->made->lu->id.naa, sizeof(al->made->lu->id.naa));
}

/* Memory is another one in each object. */
static bool same_store(const struct apply_lu *al)
{
	const char *had = al->have->config.path, *has = al->config.path;

	return had && has && !strcmp(had, has);
}

void apply_hand_over(struct apply_run *run, void (*done)(struct apply_run *run))
{
	struct kept_heir heir;
	struct list *l;

	run->handed_over = done;
	run->handing_over = 1;
	list_for_each (l, &run->lus) {
		struct apply_lu *al = list_entry(l, struct apply_lu, node);

		if (!replaces(al))
			continue;
		run->handing_over++;
		if (lu_pr_hand_over(al->have->lu, al->made->lu, run->daemon->control, handed_over,
				    run)) {
			log_error(LOG_DAEMON,
				  "lu %s: no memory; its persistent reservations are lost",
				  al->config.name);
			run->handing_over--;
		}
		run->handing_over++;
		heir = (struct kept_heir){ .from = al->have->lu,
					   .to = al->made->lu,
					   .other_store = !same_store(al),
					   .reactor = run->daemon->control,
					   .done = kept_handed_over,
					   .arg = run };
		if (lu_kept_hand_over(&heir)) {
			log_error(LOG_DAEMON, "lu %s: no memory; its saved mode pages are lost",
				  al->config.name);
			run->handing_over--;
		}
	}
	one_less(run);
}
