/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_check between its files.
 *
 * Threads: pure functions. Ownership: none.
 */
#ifndef HAWSER_CONFIG_CHECK_INTERNAL_H
#define HAWSER_CONFIG_CHECK_INTERNAL_H

#include "config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where the object stands. */
static inline void refuse_at(struct config_error *err, const struct config_origin *origin)
{
	if (!origin || !origin->file)
		return;
	snprintf(err->file, sizeof(err->file), "%s", origin->file);
	err->line = origin->line;
}

/* -EINVAL, and *err filled. */
static inline __attribute__((format(printf, 3, 4))) int
refuse(struct config_error *err, const struct config_origin *origin, const char *format, ...)
{
	va_list args;

	memset(err, 0, sizeof(*err));
	refuse_at(err, origin);
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -EINVAL;
}

/* "hawser.conf:12" or "made at run time", for the other party of a conflict. */
static inline const char *where(const struct config_origin *o, char buf[static 300])
{
	if (o->file)
		snprintf(buf, 300, "%s:%u", o->file, o->line);
	else
		snprintf(buf, 300, "made at run time");
	return buf;
}

/* check_account.c: all accounts, and secrets between them. */
int check_accounts(const struct config *c, struct config_error *err);
/* check_address.c: portals, and where logins to a target are sent. */
int check_portal(const struct config *c, unsigned i, struct config_error *err);
int check_isns_servers(const struct config_daemon *d, struct config_error *err);
int check_redirect(const struct config_target *t, struct config_error *err);
/* check_alua.c: target port groups of a target, and between it and those before it. */
int check_port_groups(const struct config *c, unsigned i, struct config_error *err);

#endif
