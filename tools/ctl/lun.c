/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl lun: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_lun_verbs[] = {
	{ "lun", "create", "lun.create", "name",
	  "type path size create:t preallocate:t thin:t read-only:t removable:t force:t cache "
	  "engine block-size:n physical-block-size:n naa serial rotation log-path fault "
	  "threshold-used threshold-available target "
	  "lun:n",
	  "Makes a logical unit and, with --target, maps it there", NULL, NULL, NULL },
	{ "lun", "list", "lun.list", "", "", "Lists all logical units and their condition", "luns",
	  "name:NAME type:TYPE size:SIZE:size condition:CONDITION mapped:MAPPED origin:ORIGIN",
	  NULL },
	{ "lun", "show", "lun.show", "name", "",
	  "Shows a logical unit: settings, identity, store, counters", NULL, NULL, NULL },
	{ "lun", "delete", "lun.delete", "name", "unmap:b",
	  "Removes a logical unit. Its file or device is kept", NULL, NULL, NULL },
	{ "lun", "map", "lun.map", "name target", "lun:n read-only:b",
	  "Gives a logical unit a number in a target: the lowest free one, or --lun", NULL, NULL,
	  NULL },
	{ "lun", "unmap", "lun.unmap", "target lun:n", "", "Takes a number out of a target", NULL,
	  NULL, NULL },
	{ "lun", "resize", "lun.resize", "name", "size force:b",
	  "Makes the file of a logical unit that long, or looks at the size of its store again, "
	  "and "
	  "tells the initiators",
	  NULL, NULL, NULL },
	{ "lun", "threshold", "lun.threshold", "name", "used available",
	  "Sets the space, in bytes or percent, at which initiators are warned; none: no more",
	  NULL, NULL, NULL },
	{ "lun", "retry", "lun.retry", "name", "",
	  "Opens the store of a logical unit that is out of service", NULL, NULL, NULL },
	{ "lun", "fault", "lun.fault", "name rules", "",
	  "For tests: what a store made with --fault does wrong from now on", NULL, NULL, NULL },
	{ 0 },
};
