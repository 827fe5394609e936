/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/stats.h"

static const struct {
	const char *name, *help;
} rows[STATS] = {
#define STATS_ROW(id, name, help) [STAT_##id] = { name, help },
	STATS_LIST(STATS_ROW)
#undef STATS_ROW
};

const char *stats_name(enum stat_id which)
{
	return rows[which].name;
}

const char *stats_help(enum stat_id which)
{
	return rows[which].help;
}
