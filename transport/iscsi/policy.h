/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a login may ask: an immutable, counted copy of targets, access rules, portals and limits.
 * The control reactor publishes a new one to each I/O reactor by message; each looks only at its
 * own copy, so no login ever waits for an administrator, a store or another login.
 *
 * Threads: immutable after policy_publish; counted by atomics.
 * Ownership: the builder (daemon/apply.c) fills a zeroed policy from policy_alloc and hands its
 * reference over; strings, arrays and one reference on each LUN map belong to the policy and are
 * freed by policy_unref. policy_alloc fills in the defaults of what is not an array.
 */
#ifndef HAWSER_ISCSI_POLICY_H
#define HAWSER_ISCSI_POLICY_H

#include "scsi/lu.h"
#include "transport/iscsi/chap.h"
#include "transport/iscsi/keys.h"
#include "transport/iscsi/wire.h"

#include <stdatomic.h>
#include <sys/socket.h>

struct alua_table;
struct reactor;

/* Who is admitted; all conditions that are set must hold. */
struct iscsi_rule {
	char initiator[ISCSI_NAME_MAX + 1]; /* pattern with * and ?, empty: any name */
	bool has_network;
	uint8_t family; /* AF_INET or AF_INET6 */
	uint8_t prefix; /* bits */
	uint8_t network[16];
	const char *account; /* of iscsi_policy.accounts, to be proved by CHAP; NULL: none */
	bool read_only;      /* every LU is read-only to whom this rule admits */
	const struct scsi_lun_map *map; /* NULL: the target's own */
};

#define ISCSI_ADDRESS_MAX 264 /* a host name, or an IPv6 address in brackets */

enum iscsi_address_kind {
	ISCSI_ADDRESS_FIXED,    /* what the portal is bound to, or what the administrator says */
	ISCSI_ADDRESS_ANY,      /* a wildcard: any address of the machine of that family */
	ISCSI_ADDRESS_ANY_HERE, /* likewise, but told is only the one that an initiator came to */
};

/* Where a portal group can be reached, as initiators are told. */
struct iscsi_address {
	enum iscsi_address_kind kind;
	uint8_t family; /* AF_INET, AF_INET6; FIXED: AF_UNSPEC is a host name */
	uint16_t port, tpgt;
	char host[ISCSI_ADDRESS_MAX]; /* FIXED; with brackets for IPv6, without port */
};

/* An address of the machine that others can reach: no loopback, nothing link-local. */
struct iscsi_interface {
	uint8_t family;
	char host[56]; /* with brackets for IPv6 */
};

/* A portal group by which a target can be reached. */
struct iscsi_target_group {
	uint16_t tpgt;
	uint16_t relative_port; /* relative target port identifier (SPC-4) */
};

struct iscsi_target {
	char name[ISCSI_NAME_MAX + 1];
	char alias[256];
	bool online;                /* false: 0301 */
	bool removed;               /* for good: 0204 */
	char redirect[272];         /* "192.0.2.7:3260": logins are sent there; empty: not moved */
	bool redirect_permanent;    /* 0102, else 0101 */
	unsigned n_redirect_groups; /* where that is so; none: everywhere */
	uint16_t *redirect_groups;
	struct key_limits keys; /* what may be negotiated */
	unsigned max_sessions;  /* 0: no limit but the global one */
	unsigned n_rules;       /* none: nobody is admitted */
	struct iscsi_rule *rules;
	const struct scsi_lun_map *map;
	unsigned n_groups; /* none: any */
	struct iscsi_target_group *groups;
	struct alua_table *alua; /* target port groups; NULL: none */
};

struct iscsi_policy {
	_Atomic unsigned refs;
	uint64_t generation;
	unsigned n_targets;
	struct iscsi_target *targets; /* sorted by name */
	unsigned n_accounts;
	struct chap_account *accounts;
	unsigned n_discovery;         /* none: everybody may discover, and proves nothing */
	struct iscsi_rule *discovery; /* rules of discovery sessions */
	struct key_limits keys;       /* for discovery sessions */
	unsigned n_addresses;
	struct iscsi_address *addresses; /* of all portals that are advertised */
	unsigned n_interfaces;
	struct iscsi_interface *interfaces;
	bool
	    all_families; /* tell also addresses of the family by which an initiator has not come */
	bool all_in_normal_sessions; /* SendTargets=All there: the session's own target */
	unsigned login_timeout_s;    /* 15 */
	unsigned nop_interval_s, nop_timeout_s; /* 30, 60; interval 0: no pings */
	bool nop_strict; /* drop on a missing answer though other PDUs arrive */
	unsigned max_sessions, max_connections, max_unauthenticated;
	unsigned max_sessions_per_initiator; /* of one kind, normal or discovery; 0: no limit */
	unsigned max_unauthenticated_per_address; /* 0: no limit */
	unsigned window;                          /* commands promised to a session, 128 */
	unsigned logout_timeout_s;                /* after "target requests logout" */
};

struct iscsi_policy *policy_alloc(unsigned n_targets); /* one reference; NULL: no memory */
void policy_ref(const struct iscsi_policy *p);
void policy_unref(const struct iscsi_policy *p); /* NULL allowed */

/* NULL: no such target. Names compare as stored (lower case, RFC 3722). */
const struct iscsi_target *policy_find(const struct iscsi_policy *p, const char *name);
/* The target can be reached by this portal group. */
bool policy_in_group(const struct iscsi_target *t, uint16_t tpgt);
/* Logins that come by this portal group are sent elsewhere. */
bool policy_redirects(const struct iscsi_target *t, uint16_t tpgt);
/* NULL: no such account. */
const struct chap_account *policy_account(const struct iscsi_policy *p, const char *name);

/* Rules of a target, or those of discovery sessions. */
struct iscsi_rules {
	const struct iscsi_rule *list;
	unsigned n;
};
/* Who asks; peer may have an IPv4-mapped IPv6 address. */
struct iscsi_applicant {
	const char *initiator;
	const struct sockaddr_storage *peer;
};
/* The first rule after `after` (NULL: of all) that admits by name and address, whatever account it
 * names; NULL: none does. */
const struct iscsi_rule *policy_candidate(struct iscsi_rules rules,
					  const struct iscsi_applicant *who,
					  const struct iscsi_rule *after);
/* The first rule all of whose conditions hold for one who has proved to have this account; NULL:
 * has proved nothing. */
const struct iscsi_rule *policy_rule(struct iscsi_rules rules, const struct iscsi_applicant *who,
				     const char *account);
/* Whether a target has any rule for this initiator, and may be shown to it. */
const struct iscsi_rule *policy_admit(const struct iscsi_target *t, const char *initiator,
				      const struct sockaddr_storage *peer);
/* Whether any rule of a target is for an initiator of this name, wherever it comes from. */
bool policy_knows(const struct iscsi_target *t, const char *initiator);
static inline struct iscsi_rules policy_target_rules(const struct iscsi_target *t)
{
	return (struct iscsi_rules){ t->rules, t->n_rules };
}
static inline struct iscsi_rules policy_discovery_rules(const struct iscsi_policy *p)
{
	return (struct iscsi_rules){ p->discovery, p->n_discovery };
}
/* The map that this rule shows. */
const struct scsi_lun_map *policy_map(const struct iscsi_target *t, const struct iscsi_rule *rule);

/* "iqn.", "eui.", "naa." syntax and characters; also used by the configuration check by way of
 * the daemon. ret_lower gets the normalised name. 0 or -EINVAL. */
int iscsi_name_check(const char *name, char ret_lower[static ISCSI_NAME_MAX + 1]);

#endif
