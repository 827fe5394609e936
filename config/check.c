/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a table of settings cannot say: names that must differ, references that must lead
 * somewhere, settings that contradict each other. Every refusal names object, fact and remedy.
 */
#include "config/check_internal.h"
#include "config/schema.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int config_parse_network(const char *text, int *ret_family, unsigned *ret_prefix,
			 uint8_t ret_bytes[static 16])
{
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
	char address[64], *end;
	unsigned long prefix;
	int family;

	/* Brackets, as IPv6 addresses have them in front of a port, mean nothing here. */
	if (bracketed) {
		text++;
		length -= 2;
	}
	if (length >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, length);
	address[length] = '\0';
	family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (bracketed && family != AF_INET6)
		return -EINVAL;
	memset(ret_bytes, 0, 16);
	if (inet_pton(family, address, ret_bytes) != 1)
		return -EINVAL;
	prefix = family == AF_INET ? 32 : 128;
	if (slash) {
		unsigned long max = prefix;

		if (!isdigit((unsigned char)slash[1]))
			return -EINVAL;
		prefix = strtoul(slash + 1, &end, 10);
		if (*end || prefix > max)
			return -EINVAL;
	}
	for (unsigned bit = (unsigned)prefix; bit < 128; bit++)
		ret_bytes[bit / 8] &= (uint8_t) ~(0x80 >> (bit % 8));
	*ret_family = family;
	*ret_prefix = (unsigned)prefix;
	return 0;
}

static int check_daemon(const struct config_daemon *d, struct config_error *err)
{
	if (d->nop_interval_s && d->nop_timeout_s < d->nop_interval_s)
		return refuse(err, NULL,
			      "daemon: nop_timeout_s %u is less than nop_interval_s %u; raise it",
			      d->nop_timeout_s, d->nop_interval_s);
	if (d->socket[0] != '/' || d->state_dir[0] != '/')
		return refuse(err, NULL, "daemon: socket and state_dir must begin with /");
	if (d->user && !d->store_paths)
		return refuse(err, NULL,
			      "daemon: user \"%s\" needs store_paths, the folders where stores may "
			      "be opened for it; add store_paths = \"/dev:/srv\"",
			      d->user);
	return check_isns_servers(d, err);
}

static bool lu_name_good(const char *name)
{
	if (!isalnum((unsigned char)name[0]))
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return true;
}

static int check_lu_identity(const struct config *c, unsigned i, struct config_error *err)
{
	const struct config_lu *l = &c->lus[i];
	char buf[300];

	if (l->naa && (strlen(l->naa) != 32 || l->naa[0] != '6' ||
		       strspn(l->naa, "0123456789abcdefABCDEF") != 32))
		return refuse(err, &l->origin,
			      "lu %s: naa \"%s\" must be 32 hexadecimal digits that begin with 6",
			      l->name, l->naa);
	if (l->serial && !*l->serial)
		return refuse(err, &l->origin,
			      "lu %s: the serial is empty; leave it out to have one chosen",
			      l->name);
	for (const char *p = l->serial ? l->serial : ""; *p; p++)
		if ((unsigned char)*p > 0x7e)
			return refuse(err, &l->origin, "lu %s: the serial must be printable ASCII",
				      l->name);
	for (unsigned j = 0; j < i; j++)
		if (l->naa && c->lus[j].naa && !strcasecmp(l->naa, c->lus[j].naa))
			return refuse(err, &l->origin,
				      "lu %s: lu %s (%s) has the same naa; initiators would take "
				      "them for one disk, give one of them another",
				      l->name, c->lus[j].name, where(&c->lus[j].origin, buf));
	return 0;
}

static int check_lu_geometry(const struct config_lu *l, struct config_error *err)
{
	if (l->block_size != 512 && l->block_size != 4096)
		return refuse(err, &l->origin, "lu %s: block_size %u must be 512 or 4096", l->name,
			      l->block_size);
	if (l->physical_block_size < l->block_size ||
	    (l->physical_block_size & (l->physical_block_size - 1)))
		return refuse(err, &l->origin,
			      "lu %s: physical_block_size %u must be a power of two and not less "
			      "than block_size %u",
			      l->name, l->physical_block_size, l->block_size);
	if (l->size % l->block_size)
		return refuse(err, &l->origin,
			      "lu %s: size %llu is not a multiple of block_size %u", l->name,
			      (unsigned long long)l->size, l->block_size);
	return 0;
}

static int check_lu_store(const struct config *c, unsigned i, struct config_error *err)
{
	const struct config_lu *l = &c->lus[i];
	bool needs_path = !strcmp(l->type, "file") || !strcmp(l->type, "block");
	char buf[300];

	if (needs_path && (!l->path || l->path[0] != '/'))
		return refuse(err, &l->origin,
			      "lu %s: type %s needs a path that begins with /; add path = \"...\"",
			      l->name, l->type);
	if (!needs_path && l->path)
		return refuse(err, &l->origin, "lu %s: type %s has no path; remove it", l->name,
			      l->type);
	if (!needs_path && !l->size)
		return refuse(err, &l->origin, "lu %s: type %s needs a size; add size = \"1GiB\"",
			      l->name, l->type);
	if (l->create && strcmp(l->type, "file") != 0)
		return refuse(err, &l->origin,
			      "lu %s: only type file can be created; remove "
			      "\"create\"",
			      l->name);
	if (l->create && !l->size)
		return refuse(err, &l->origin, "lu %s: a file that is created needs a size",
			      l->name);
	for (unsigned j = 0; j < i; j++)
		if (l->path && c->lus[j].path && !strcmp(l->path, c->lus[j].path))
			return refuse(err, &l->origin,
				      "lu %s: lu %s (%s) is on %s already; two logical units may "
				      "not share one store, map the same lu twice instead",
				      l->name, c->lus[j].name, where(&c->lus[j].origin, buf),
				      l->path);
	return 0;
}

static int check_lu_threshold(const struct config_lu *l, const char *name, const char *text,
			      struct config_error *err)
{
	struct config_threshold t;

	if (!text || !config_parse_threshold(text, &t))
		return 0;
	return refuse(
	    err, &l->origin,
	    "lu %s: %s \"%s\" is no threshold; write bytes, such as \"10GiB\", or a part, "
	    "such as \"80%%\"",
	    l->name, name, text);
}

static int check_lu(const struct config *c, unsigned i, struct config_error *err)
{
	const struct config_lu *l = &c->lus[i];
	char buf[300];
	int r;

	if (!lu_name_good(l->name))
		return refuse(err, &l->origin,
			      "lu \"%s\": a name consists of letters, digits, '.', '_' and '-' and "
			      "begins with a letter or digit",
			      l->name);
	for (unsigned j = 0; j < i; j++)
		if (!strcmp(l->name, c->lus[j].name))
			return refuse(err, &l->origin,
				      "lu %s: there is one of that name already (%s); rename one",
				      l->name, where(&c->lus[j].origin, buf));
	if (l->lost)
		return 0;
	r = check_lu_identity(c, i, err);
	if (!r)
		r = check_lu_geometry(l, err);
	if (!r)
		r = check_lu_store(c, i, err);
	if (!r)
		r = check_lu_threshold(l, "threshold_used", l->threshold_used, err);
	if (!r)
		r = check_lu_threshold(l, "threshold_available", l->threshold_available, err);
	return r;
}

static int check_luns(const struct config *c, const struct config_target *t,
		      const struct config_lun *luns, unsigned n, struct config_error *err)
{
	for (unsigned i = 0; i < n; i++) {
		if (!config_find_lu(c, luns[i].lu))
			return refuse(err, &t->origin,
				      "target %s: lun %llu maps lu \"%s\", which does not exist; "
				      "define it or remove the lun",
				      t->name, (unsigned long long)luns[i].lun, luns[i].lu);
		for (unsigned j = 0; j < i; j++)
			if (luns[i].lun == luns[j].lun)
				return refuse(err, &t->origin,
					      "target %s: lun %llu is mapped twice (%s and %s); "
					      "give one another number",
					      t->name, (unsigned long long)luns[i].lun, luns[j].lu,
					      luns[i].lu);
	}
	return 0;
}

/* owner: "target iqn..." or "daemon". */
static int check_conditions(const struct config *c, const struct config_access *a,
			    const char *owner, unsigned number, struct config_error *err)
{
	bool narrows = a->initiator || a->network || a->account;
	uint8_t bytes[16];
	unsigned prefix;
	int family;

	if (a->any && narrows)
		return refuse(err, NULL, "%s: access rule %u says any = true and who; remove one",
			      owner, number);
	if (!a->any && !narrows)
		return refuse(err, NULL,
			      "%s: access rule %u admits nobody; say initiator, network or "
			      "account, or any = true for everybody",
			      owner, number);
	if (a->network && config_parse_network(a->network, &family, &prefix, bytes))
		return refuse(err, NULL,
			      "%s: access rule %u: network \"%s\" is not an address or "
			      "network; write \"192.0.2.0/24\" or \"2001:db8::/32\"",
			      owner, number, a->network);
	if (a->account && !config_find_account(c, a->account))
		return refuse(err, NULL,
			      "%s: access rule %u wants account \"%s\", which does not "
			      "exist; define it or remove the rule",
			      owner, number, a->account);
	return 0;
}

static int check_access(const struct config *c, const struct config_target *t, unsigned i,
			struct config_error *err)
{
	const struct config_access *a = &t->access[i];
	char owner[256];

	snprintf(owner, sizeof(owner), "target %s", t->name);
	if (check_conditions(c, a, owner, i + 1, err)) {
		refuse_at(err, &t->origin);
		return -EINVAL;
	}
	return check_luns(c, t, a->luns, a->n_luns, err);
}

static int check_discovery(const struct config *c, struct config_error *err)
{
	int r = 0;

	for (unsigned i = 0; i < c->daemon.n_discovery_access && !r; i++)
		r = check_conditions(c, &c->daemon.discovery_access[i], "daemon, discovery_access",
				     i + 1, err);
	return r;
}

/* RFC 7143 4.2.7: form and characters; folding of case and the like is the iSCSI layer's. */
static bool iscsi_name_good(const char *n)
{
	size_t length = strlen(n);

	if (!strncmp(n, "iqn.", 4)) {
		/* iqn.yyyy-mm.reversed-domain */
		for (unsigned i = 4; i < 11; i++)
			if (i == 8 ? n[i] != '-' : !isdigit((unsigned char)n[i]))
				return false;
		return n[11] == '.' && n[12] && !strpbrk(n, " \t,;/\\");
	}
	if (!strncmp(n, "eui.", 4))
		return length == 20 && strspn(n + 4, "0123456789abcdefABCDEF") == 16;
	if (!strncmp(n, "naa.", 4))
		return (length == 20 || length == 36) &&
		       strspn(n + 4, "0123456789abcdefABCDEF") == length - 4;
	return false;
}

static int check_target_values(const struct config_target *t, struct config_error *err)
{
	if (!iscsi_name_good(t->name))
		return refuse(err, &t->origin,
			      "target \"%s\": not an iSCSI name; write iqn.YYYY-MM.reversed.domain:"
			      "name, eui. with 16 or naa. with 16 or 32 hexadecimal digits",
			      t->name);
	if (t->first_burst_length && t->max_burst_length &&
	    t->first_burst_length > t->max_burst_length)
		return refuse(err, &t->origin,
			      "target %s: first_burst_length %u is more than max_burst_length %u; "
			      "lower it (RFC 7143 13.14)",
			      t->name, t->first_burst_length, t->max_burst_length);
	return check_redirect(t, err);
}

static int check_target(const struct config *c, unsigned i, struct config_error *err)
{
	const struct config_target *t = &c->targets[i];
	char buf[300];
	int r;

	r = check_target_values(t, err);
	if (r)
		return r;
	for (unsigned j = 0; j < i; j++)
		if (!strcasecmp(t->name, c->targets[j].name))
			return refuse(err, &t->origin,
				      "target %s: there is one of that name already (%s); rename "
				      "one",
				      t->name, where(&c->targets[j].origin, buf));
	r = check_luns(c, t, t->luns, t->n_luns, err);
	for (unsigned j = 0; j < t->n_access && !r; j++)
		r = check_access(c, t, j, err);
	for (unsigned j = 0; j < t->n_groups && !r; j++) {
		bool found = false;

		for (unsigned k = 0; k < c->n_portals; k++)
			found |= c->portals[k].group == t->groups[j];
		if (!found)
			r = refuse(err, &t->origin,
				   "target %s: no portal has group %u; add one or remove the group",
				   t->name, t->groups[j]);
	}
	return r ? r : check_port_groups(c, i, err);
}

int config_check(const struct config *c, struct config_error *err)
{
	int r = check_daemon(&c->daemon, err);

	for (unsigned i = 0; i < c->n_portals && !r; i++)
		r = check_portal(c, i, err);
	if (!r)
		r = check_accounts(c, err);
	if (!r)
		r = check_discovery(c, err);
	for (unsigned i = 0; i < c->n_lus && !r; i++)
		r = check_lu(c, i, err);
	for (unsigned i = 0; i < c->n_targets && !r; i++)
		r = check_target(c, i, err);
	return r;
}
