/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl daemon: verbs.
 */
#include "tools/ctl/ctl.h"

static enum ctl_status show_reload(const json_t *result, const json_t *params)
{
	json_int_t n = json_integer_value(json_object_get(result, "changes"));

	(void)params;
	printf("%lld objects changed\n", (long long)n);
	return CTL_DONE;
}

const struct ctl_verb ctl_daemon_verbs[] = {
	{ "daemon", "status", "daemon.status", "", "", "Shows version and condition of the daemon",
	  NULL, NULL, NULL },
	{ "daemon", "stats", "daemon.stats", "", "", "Shows counters", NULL, NULL, NULL },
	{ "daemon", "log-level", "daemon.log_level", "[level]", "subsystem",
	  "Shows or sets how much is logged, until the next start", NULL, NULL, NULL },
	{ "daemon", "reload", "daemon.reload", "", "",
	  "Reads hawser.conf again; refused whole when it is not good", NULL, NULL, show_reload },
	{ "daemon", "stop", "daemon.stop", "", "", "Stops the daemon in order", NULL, NULL, NULL },
	{ 0 },
};
