/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl account: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_account_verbs[] = {
	{ "account", "create", "account.create", "name",
	  "secret-file:P generate:g secret2-file:p mutual-name mutual-secret-file:p "
	  "require-mutual:t algorithms",
	  "Makes an account for access rules. Its secret is read from a file, asked for, or made",
	  NULL, NULL, NULL },
	{ "account", "set", "account.set", "name",
	  "secret-file:p secret2-file:p mutual-name mutual-secret-file:p require-mutual:t "
	  "algorithms",
	  "Changes an account. Sessions stay", NULL, NULL, NULL },
	{ "account", "rotate", "account.rotate", "name", "secret-file:P generate:g",
	  "Gives an account a new secret. The one before stays valid until \"account retire\"",
	  NULL, NULL, NULL },
	{ "account", "retire", "account.retire", "name", "",
	  "Ends the validity of the secret before", NULL, NULL, NULL },
	{ "account", "list", "account.list", "", "", "Lists all accounts, without secrets",
	  "accounts",
	  "name:NAME secrets:SECRETS mutual:MUTUAL require_mutual:REQUIRED algorithms:ALGORITHMS "
	  "origin:ORIGIN",
	  NULL },
	{ "account", "show", "account.show", "name", "",
	  "Shows an account without secrets, and the targets whose rules name it", NULL, NULL,
	  NULL },
	{ "account", "delete", "account.delete", "name", "",
	  "Removes an account. Refused while an access rule names it", NULL, NULL, NULL },
	{ 0 },
};
