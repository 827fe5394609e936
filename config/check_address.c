/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses that initiators are told: where to go instead.
 */
#include "config/address.h"
#include "config/check_internal.h"

static int check_redirect_address(const struct config_target *t, struct config_error *err)
{
	struct config_address a;

	if (config_parse_address(t->redirect, &a))
		return refuse(err, &t->origin,
			      "target %s: redirect \"%s\" is not an address; write "
			      "\"192.0.2.7:3260\", \"[2001:db8::7]:3260\" or a host name",
			      t->name, t->redirect);
	if (config_address_is_wildcard(&a))
		return refuse(
		    err, &t->origin,
		    "target %s: redirect \"%s\" leads nowhere; name one machine's address", t->name,
		    t->redirect);
	return 0;
}

int check_redirect(const struct config_target *t, struct config_error *err)
{
	if (t->redirect && t->removed)
		return refuse(err, &t->origin,
			      "target %s: it cannot be removed and have a redirect; take one away",
			      t->name);
	if (t->redirect)
		return check_redirect_address(t, err);
	if (t->redirect_permanent || t->n_redirect_groups)
		return refuse(err, &t->origin,
			      "target %s: redirect_permanent and redirect_groups need a redirect; "
			      "add redirect = \"...\" or remove them",
			      t->name);
	return 0;
}
