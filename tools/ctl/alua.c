/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl alua: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_alua_verbs[] = {
	{ "alua", "list", "alua.list", "[target]", "",
	  "Lists target port groups with their access states", "port_groups",
	  "target:TARGET mode:MODE id:ID state:STATE preferred:PREFERRED set_by:SET-BY "
	  "groups:GROUPS ports:PORTS",
	  NULL },
	{ "alua", "set", "alua.set", "target id:n [state]", "preferred:t",
	  "Puts a target port group into an access state: active-optimized, "
	  "active-non-optimized, standby, unavailable, offline or transitioning",
	  NULL, NULL, NULL },
	{ "alua", "define", "alua.define", "target id:n", "groups:N state preferred:t",
	  "Makes a target port group, or makes it anew. Without --groups it has all portal groups "
	  "that are in no other",
	  NULL, NULL, NULL },
	{ "alua", "remove", "alua.remove", "target id:n", "", "Removes a target port group", NULL,
	  NULL, NULL },
	{ "alua", "mode", "alua.mode", "target mode", "",
	  "Says who sets access states: none (there are no groups), implicit (you), explicit "
	  "(initiators) or both",
	  NULL, NULL, NULL },
	{ 0 },
};
