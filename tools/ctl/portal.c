/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl portal: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_portal_verbs[] = {
	{ "portal", "create", "portal.create", "address [port:n]",
	  "group:n transport advertise replace:b", "Listens at an address", NULL, NULL, NULL },
	{ "portal", "list", "portal.list", "", "", "Lists all portals", "portals",
	  "address:ADDRESS port:PORT group:GROUP transport:TRANSPORT listening:LISTENING "
	  "advertise:ADVERTISE origin:ORIGIN",
	  NULL },
	{ "portal", "set", "portal.set", "address port:n", "advertise",
	  "Says what initiators are told of it. Without --advertise: the default", NULL, NULL,
	  NULL },
	{ "portal", "delete", "portal.delete", "address port:n", "",
	  "Stops listening. Connections made there stay", NULL, NULL, NULL },
	{ 0 },
};
