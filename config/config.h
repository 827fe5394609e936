/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The desired state as plain data: daemon settings, portals, logical units, targets with LUN maps
 * and access rules. Values only; nothing here touches a live object.
 *
 * Threads: a config belongs to whoever made it. Ownership: config_free frees everything; strings
 * are heap copies, never NULL unless the comment says so.
 */
#ifndef HAWSER_CONFIG_CONFIG_H
#define HAWSER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a value stands, for error texts and "what stems from where". */
struct config_origin {
	char *file; /* NULL: made at run time */
	unsigned line;
};

struct config_daemon {
	unsigned reactors;      /* 0: one per core that the process may use */
	bool pin;               /* pin reactors to cores */
	uint64_t buffer_memory; /* arena bytes for each reactor, 64 MiB */
	unsigned window;        /* commands promised to a session, 128 */
	unsigned max_sessions, max_connections, max_unauthenticated;
	unsigned max_sessions_per_initiator;      /* 0: no limit */
	unsigned max_unauthenticated_per_address; /* 64; 0: no limit */
	unsigned login_timeout_s;                 /* 15 */
	unsigned nop_interval_s, nop_timeout_s;
	unsigned shutdown_timeout_s; /* 20 */
	char *log_level;             /* "info" */
	char *state_dir;             /* /var/lib/hawser */
	char *socket;                /* /run/hawser/admin.sock */
	char *engine;                /* "auto", "uring", "aio" */
	char *node_name;             /* used for names made up for new targets; the host name */
	char *user;                  /* NULL: stay who we are; else drop to it after start */
	char *store_paths;           /* NULL, or folders parted by ':' where the helper may open */
	char *isns_servers;          /* NULL: none; numeric addresses parted by blanks or commas */
	unsigned space_period_s;     /* 10 */
	unsigned isns_period_s, isns_esi_s; /* 600, 0 */
	bool advertise_all_families;        /* tell initiators also addresses of the other family */
	bool send_targets_all_in_normal_sessions; /* answered with the session's own target */
	unsigned n_discovery_access;              /* none: everybody may discover */
	struct config_access *discovery_access;   /* initiator, network, account and any only */
};

/* Who an initiator can prove to be. Secrets are text, or bytes as 0x... or 0b... */
struct config_account {
	struct config_origin origin;
	char *name;             /* CHAP_N */
	char *secret, *secret2; /* the initiator's; two while one is being replaced, else NULL */
	char *mutual_name, *mutual_secret; /* the target's; NULL: it proves nothing */
	bool require_mutual;
	char *algorithms; /* words parted by blanks; NULL: all */
	/* In hawser.conf only: the file with the secret, which is read with it. */
	char *secret_file, *secret2_file, *mutual_secret_file;
	/* Not a setting: */
	bool lost; /* its state file was torn: nobody can prove to be it */
};

struct config_portal {
	struct config_origin origin;
	char *address;   /* numeric; "0.0.0.0", "::" */
	uint16_t port;   /* 3260 */
	uint16_t group;  /* target portal group tag, 1 */
	char *transport; /* "tcp" */
	char *advertise; /* what initiators are told: addresses, "here" or "none"; NULL: see
			    hawser.conf(5) */
};

struct config_lu {
	struct config_origin origin;
	char *name;    /* the administrator's: [A-Za-z0-9._-], unique */
	char *type;    /* "file", "block", "ram", "null" */
	char *path;    /* NULL for ram and null */
	uint64_t size; /* bytes; 0: what the store has */
	bool create;   /* file: made when it is not there */
	bool preallocate;
	bool thin; /* default true where the store can give space back */
	bool read_only, removable, force;
	char *cache;                              /* "buffered", "direct" */
	char *engine;                             /* NULL: the daemon's */
	uint32_t block_size, physical_block_size; /* 512 and 4096 */
	char *naa;      /* 32 hex digits; NULL: chosen once and kept in the state */
	char *serial;   /* NULL: likewise */
	char *rotation; /* NULL: ask the store; "ssd", "hdd" */
	char *threshold_used, *threshold_available; /* NULL: none; see config_parse_threshold */
	char *log_path;                             /* NULL; for tests: a log store in front */
	char *fault;                                /* NULL; for tests: a fault store in front */
	/* Not settings: */
	bool lost; /* its state file was torn, it stays out of service */
	bool make; /* make the file this once: it was asked for at run time */
	bool seen; /* its store was open once: an empty file never takes its place */
};

struct config_lun {
	uint64_t lun;
	char *lu; /* name of the LU */
	bool read_only;
};

struct config_access {
	char *initiator; /* pattern; NULL: any */
	char *network;   /* "192.0.2.0/24", "2001:db8::/32", an address; NULL: any */
	char *account;   /* CHAP account; NULL: none */
	bool any;        /* "allow any" must be written out */
	bool read_only;
	unsigned n_luns; /* 0: the target's own map */
	struct config_lun *luns;
};

/* A target port group (SPC-4 5.15): portal groups whose ports are in one access state. */
struct config_port_group {
	uint16_t id;
	unsigned n_groups; /* 0: all that are in no other */
	uint16_t *groups;
	char *state; /* "active-optimized" ... */
	bool preferred;
};

struct config_target {
	struct config_origin origin;
	char *name;  /* iqn., eui., naa. */
	char *alias; /* NULL: none */
	bool online;
	unsigned max_sessions;
	/* Negotiation; 0 or -1 (int), where nothing else is said: the default. */
	int header_digest, data_digest; /* -1 default (either), 0 none only, 1 CRC32C only */
	uint32_t max_recv_data_segment_length, max_burst_length, first_burst_length;
	uint32_t max_outstanding_r2t;
	uint32_t max_connections; /* of one session; not 0 */
	uint32_t default_time2wait, default_time2retain;
	uint32_t error_recovery_level;
	int initial_r2t, immediate_data;
	unsigned n_luns;
	struct config_lun *luns;
	unsigned n_access;
	struct config_access *access;
	unsigned n_groups; /* portal groups it is reachable by; 0: all */
	uint16_t *groups;
	char *alua;             /* who sets access states: "none", "implicit", "explicit", "both" */
	unsigned n_port_groups; /* none: one, 1, of all portal groups */
	struct config_port_group *port_groups;
	char *redirect; /* where logins are sent instead; NULL: nowhere */
	bool redirect_permanent;
	unsigned n_redirect_groups; /* portal groups where that is so; 0: all */
	uint16_t *redirect_groups;
	bool removed; /* logins are told that it is gone for good */
};

struct config {
	struct config_daemon daemon;
	unsigned n_portals, n_accounts, n_lus, n_targets;
	struct config_portal *portals;
	struct config_account *accounts;
	struct config_lu *lus;
	struct config_target *targets;
};

/* One fault found while reading or checking; text names object, fact and remedy. */
struct config_error {
	char file[256];
	unsigned line; /* 0: unknown */
	char text[512];
};

/* Defaults everywhere, no objects. NULL: no memory. */
struct config *config_new(void);
void config_free(struct config *c); /* NULL allowed */
struct config *config_copy(const struct config *c);

/* Reads a file (libconfig syntax) over a new config. Unknown and duplicate keys, wrong types and
 * ranges are errors. 0, or -EINVAL / errno with *err filled. */
int config_parse_file(const char *path, struct config **ret, struct config_error *err);
/* The same from text; `name` stands for the file in errors. */
int config_parse_text(const char *text, const char *name, struct config **ret,
		      struct config_error *err);

/* What a table cannot say: duplicate names, LUN clashes, IQN syntax, references to LUs, two LUs on
 * one path, access rules that contradict. 0 or -EINVAL with *err. */
int config_check(const struct config *c, struct config_error *err);

/* Two portals that cannot listen beside each other: the same port, and the same address or a
 * wildcard of that family on either side. */
bool config_portals_clash(const struct config_portal *a, const struct config_portal *b);

/* Reads the files that accounts name, and judges who else can read the secrets: whatever is open to
 * everybody is refused. config_parse_file does it. 0 or -EINVAL with *err. */
int config_load_secrets(struct config *c, struct config_error *err);
#define CONFIG_SECRET_MIN 12 /* bytes; less is no secret (RFC 7143 9.2.1) */
#define CONFIG_SECRET_MAX 255
/* The bytes of a secret. 0, -EINVAL: begins as hexadecimal or base64 and is not; -ERANGE: length.
 */
int config_secret_bytes(const char *secret, uint8_t bytes[static CONFIG_SECRET_MAX],
			size_t *ret_length);
/* Another account that this one shares its secret with; NULL: none. Not an error, but unwise. */
const struct config_account *config_same_secret(const struct config *c,
						const struct config_account *a);

/* A threshold of space: "80%" of a whole, or a size in bytes. 0 or -EINVAL. */
struct config_threshold {
	uint64_t value;
	bool percent;
};
int config_parse_threshold(const char *text, struct config_threshold *ret);
/* In bytes; 0: none (NULL), or it is no threshold. */
uint64_t config_threshold_bytes(const char *text, uint64_t whole);

/* The config as text that config_parse_text reads back to the same, but for secrets: a comment says
 * where they stand. malloc'ed; NULL: no memory. */
char *config_dump(const struct config *c);
/* One object as text, for its state file. */
char *config_dump_lu(const struct config_lu *lu);
char *config_dump_target(const struct config_target *t);
char *config_dump_portal(const struct config_portal *p);

/* Appends a zeroed object with defaults; NULL: no memory. */
struct config_portal *config_add_portal(struct config *c);
struct config_account *config_add_account(struct config *c);
struct config_lu *config_add_lu(struct config *c);
struct config_target *config_add_target(struct config *c);
void config_remove_portal(struct config *c, unsigned i);
void config_remove_account(struct config *c, unsigned i);
void config_remove_lu(struct config *c, unsigned i);
void config_remove_target(struct config *c, unsigned i);
struct config_account *config_find_account(const struct config *c, const char *name);
struct config_lu *config_find_lu(const struct config *c, const char *name);
struct config_target *config_find_target(const struct config *c, const char *name);
/* The target is reachable by portals of this group. */
bool config_in_group(const struct config_target *t, uint16_t group);

#endif
