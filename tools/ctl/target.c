/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl target: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_target_verbs[] = {
	{ "target", "create", "target.create", "[name]",
	  "alias online:t max-sessions:n header-digest data-digest max-recv-data-segment-length "
	  "max-burst-length first-burst-length max-outstanding-r2t:n initial-r2t:t "
	  "immediate-data:t groups:N alua",
	  "Makes a target. Without a name one is made up and printed. Nobody may log in until "
	  "\"acl add\"",
	  NULL, NULL, NULL },
	{ "target", "list", "target.list", "", "", "Lists all targets", "targets",
	  "name:NAME online:ONLINE luns:LUNS rules:RULES origin:ORIGIN", NULL },
	{ "target", "show", "target.show", "name", "",
	  "Shows a target: settings, LUN map, access rules, portals", NULL, NULL, NULL },
	{ "target", "delete", "target.delete", "name", "",
	  "Removes a target. Its sessions end, its logical units stay", NULL, NULL, NULL },
	{ "target", "online", "target.online", "name", "", "Accepts logins", NULL, NULL, NULL },
	{ "target", "offline", "target.offline", "name", "",
	  "Refuses logins and ends the sessions there are", NULL, NULL, NULL },
	{ "target", "retire", "target.retire", "name", "",
	  "Tells logins that the target is gone for good, and ends its sessions", NULL, NULL,
	  NULL },
	{ "target", "redirect", "target.redirect", "name [redirect]",
	  "redirect-permanent:b redirect-groups:N",
	  "Sends logins to another address; without one, no more. Sessions stay", NULL, NULL,
	  NULL },
	{ 0 },
};
