/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl isns: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_isns_verbs[] = {
	{ "isns", "show", "isns.show", "", "",
	  "Shows what iSNS servers are told, and how they took it", NULL, NULL, NULL },
	{ 0 },
};
