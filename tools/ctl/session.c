/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl session: verbs.
 */
#include "tools/ctl/ctl.h"

const struct ctl_verb ctl_session_verbs[] = {
	{ "session", "list", "session.list", "", "", "Lists all sessions", "sessions",
	  "id:ID initiator:INITIATOR target:TARGET peer:PEER local:LOCAL "
	  "outstanding:OUTSTANDING age_s:AGE-S",
	  NULL },
	{ "session", "show", "session.show", "id:n", "",
	  "Shows a session: names, numbers, connections, negotiated values", NULL, NULL, NULL },
	{ "session", "drop", "session.drop", "id:n", "",
	  "Ends a session. Its initiator may log in again", NULL, NULL, NULL },
	{ 0 },
};
