/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl config: verbs.
 */
#include "tools/ctl/ctl.h"

static enum ctl_status show_check(const json_t *result, const json_t *params)
{
	(void)params;
	printf("%s is good: %lld portals, %lld logical units, %lld targets with those made at run "
	       "time\n",
	       json_string_value(json_object_get(result, "config")),
	       (long long)json_integer_value(json_object_get(result, "portals")),
	       (long long)json_integer_value(json_object_get(result, "luns")),
	       (long long)json_integer_value(json_object_get(result, "targets")));
	return CTL_DONE;
}

static enum ctl_status show_text(const json_t *result, const json_t *params)
{
	(void)params;
	fputs(json_string_value(json_object_get(result, "text")), stdout);
	return CTL_DONE;
}

static enum ctl_status show_diff(const json_t *result, const json_t *params)
{
	const json_t *changes = json_object_get(result, "changes");
	json_t *c;
	size_t i;

	(void)params;
	if (!json_array_size(changes))
		puts("no difference");
	json_array_foreach(changes, i, c)
	    printf("%-8s %s %s\n", json_string_value(json_object_get(c, "change")),
		   json_string_value(json_object_get(c, "kind")),
		   json_string_value(json_object_get(c, "name")));
	return CTL_DONE;
}

const struct ctl_verb ctl_config_verbs[] = {
	{ "config", "check", "config.check", "", "",
	  "Reads hawser.conf and checks it together with what was made at run time", NULL, NULL,
	  show_check },
	{ "config", "show", "config.show", "", "",
	  "Shows what is in force and where each object stems from", NULL, NULL, NULL },
	{ "config", "diff", "config.diff", "", "", "Shows what a reload would change", NULL, NULL,
	  show_diff },
	{ "config", "save", "config.save", "", "",
	  "Prints what is in force as text that could be a hawser.conf", NULL, NULL, show_text },
	{ 0 },
};
