/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl acl: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_acl_verbs[] = {
	{ "acl", "add", "access.add", "target", "any:b initiator network account read-only:b",
	  "Admits initiators to a target. All conditions of a rule must hold; --any admits "
	  "everybody",
	  NULL, NULL, NULL },
	{ "acl", "list", "access.list", "[target]", "",
	  "Lists access rules in their order; the first that admits counts", "rules",
	  "target:TARGET rule:RULE any:ANY initiator:INITIATOR network:NETWORK account:ACCOUNT "
	  "read_only:READ-ONLY origin:ORIGIN",
	  NULL },
	{ "acl", "remove", "access.remove", "target rule:n", "",
	  "Removes a rule. Sessions that no other rule admits end", NULL, NULL, NULL },
	{ 0 },
};
