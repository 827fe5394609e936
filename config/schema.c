/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of settings; see schema.h. hawser.conf(5) describes each row at length.
 */
#include "config/schema.h"

#include <string.h>

/* clang-format off */
#define AT(T, m) .at = offsetof(struct T, m), .width = sizeof(((struct T *)0)->m)
#define LIST(T, m) .type = CONFIG_LIST, .at = offsetof(struct T, m), .count_at = offsetof(struct T, n_##m)

/* Who may discover: the conditions of an access rule, without what it shows. */
#define ACCESS(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_access, n), __VA_ARGS__ }
#define ACCESS_CONDITIONS \
	ACCESS(initiator, TEXT, .max = 223, .help = "initiator name, * and ? allowed"), \
	ACCESS(network, TEXT, .max = 63, .help = "address or network of the initiator"), \
	ACCESS(account, TEXT, .max = 255, .help = "account that the initiator must prove to have"), \
	ACCESS(any, BOOL, .def = "false", .help = "admit everybody")
static const struct config_setting discovery_settings[] = { ACCESS_CONDITIONS, { 0 } };
static const struct config_scope discovery_scope = {
	.name = "discovery_access", .size = sizeof(struct config_access),
	.settings = discovery_settings,
};

#define DAEMON(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_daemon, n), __VA_ARGS__ }
static const struct config_setting daemon_settings[] = {
	DAEMON(reactors, NUMBER, .max = 64, .def = "0", .restart = true,
	       .help = "I/O threads; 0: one for each core that the process may use"),
	DAEMON(pin, BOOL, .def = "false", .restart = true, .help = "bind each I/O thread to a core"),
	DAEMON(buffer_memory, SIZE, .min = 4 << 20, .max = 64ULL << 30, .def = "64MiB", .restart = true,
	       .help = "data buffers of each I/O thread"),
	DAEMON(window, NUMBER, .min = 2, .max = 4096, .def = "128",
	       .help = "commands that a session may have outstanding"),
	DAEMON(max_sessions, NUMBER, .min = 1, .max = 65535, .def = "4096", .help = "sessions at once"),
	DAEMON(max_sessions_per_initiator, NUMBER, .max = 65535, .def = "0",
	       .help = "sessions of one initiator name at once; 0: no limit"),
	DAEMON(max_connections, NUMBER, .min = 1, .max = 65535, .def = "8192",
	       .help = "connections at once"),
	DAEMON(max_unauthenticated, NUMBER, .min = 1, .max = 65535, .def = "256",
	       .help = "connections that have not logged in yet"),
	DAEMON(max_unauthenticated_per_address, NUMBER, .max = 65535, .def = "64",
	       .help = "of them, those of one IPv4 address or IPv6 /64; 0: no limit"),
	DAEMON(login_timeout_s, NUMBER, .min = 1, .max = 600, .def = "15",
	       .help = "seconds that a login may take"),
	DAEMON(nop_interval_s, NUMBER, .max = 3600, .def = "30",
	       .help = "seconds of silence before an initiator is pinged; 0: never"),
	DAEMON(nop_timeout_s, NUMBER, .min = 1, .max = 3600, .def = "60",
	       .help = "seconds without an answer before its connection is closed"),
	DAEMON(shutdown_timeout_s, NUMBER, .min = 1, .max = 28, .def = "20",
	       .help = "seconds that initiators and stores are given when the daemon stops"),
	DAEMON(log_level, WORD, .choices = "error warn info debug", .def = "info",
	       .help = "how much is logged"),
	DAEMON(state_dir, TEXT, .max = 4000, .def = "/var/lib/hawser", .restart = true,
	       .help = "folder of what was changed at run time"),
	DAEMON(socket, TEXT, .max = 107, .def = "/run/hawser/admin.sock", .restart = true,
	       .help = "socket of hawserctl"),
	DAEMON(engine, WORD, .choices = "auto uring aio", .def = "auto",
	       .help = "how stores do I/O unless they say otherwise"),
	DAEMON(node_name, TEXT, .max = 200, .help = "name in the names made up for targets; the host's"),
	DAEMON(user, TEXT, .max = 32, .restart = true,
	       .help = "user to become after the start; stores are then opened by a helper"),
	DAEMON(store_paths, TEXT, .max = 4000, .restart = true,
	       .help = "folders, parted by colons, where the helper may open stores"),
	DAEMON(space_period_s, NUMBER, .min = 1, .max = 3600, .def = "10",
	       .help = "seconds between two looks at the space that thin logical units use"),
	DAEMON(isns_servers, TEXT, .max = 500, .help = "iSNS servers to register with"),
	DAEMON(isns_period_s, NUMBER, .min = 10, .max = 86400, .def = "600",
	       .help = "seconds after which an iSNS server forgets us if we say nothing"),
	DAEMON(isns_esi_s, NUMBER, .max = 3600, .def = "0",
	       .help = "seconds after which it asks whether we are there; 0: it shall not"),
	DAEMON(advertise_all_families, BOOL, .def = "false",
	       .help = "tell initiators also the addresses of the family by which they have not come"),
	DAEMON(send_targets_all_in_normal_sessions, BOOL, .def = "false",
	       .help = "answer SendTargets=All in a normal session, with its own target"),
	{ .name = "discovery_access", LIST(config_daemon, discovery_access), .max = 256,
	  .scope = &discovery_scope, .help = "who may discover; everybody if empty" },
	{ 0 },
};
const struct config_scope config_daemon_scope = {
	.name = "daemon", .size = sizeof(struct config_daemon), .settings = daemon_settings,
};

#define PORTAL(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_portal, n), __VA_ARGS__ }
static const struct config_setting portal_settings[] = {
	PORTAL(address, TEXT, .max = 63, .def = "0.0.0.0", .help = "numeric IPv4 or IPv6 address"),
	PORTAL(port, NUMBER, .max = 65535, .def = "3260", .help = "port; 0: chosen by the kernel"),
	PORTAL(group, NUMBER, .max = 65535, .def = "1", .help = "target portal group tag"),
	PORTAL(advertise, TEXT, .max = 1000,
	       .help = "addresses that initiators are told; \"here\": the one they came to; \"none\""),
	PORTAL(transport, WORD, .choices = "tcp", .def = "tcp", .help = "transport"),
	{ 0 },
};
const struct config_scope config_portal_scope = {
	.name = "portal", .size = sizeof(struct config_portal), .has_origin = true,
	.settings = portal_settings,
};

#define ACCOUNT(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_account, n), __VA_ARGS__ }
#define SECRET_TEXT_MAX 512 /* 255 bytes in hexadecimal */
static const struct config_setting account_settings[] = {
	ACCOUNT(name, TEXT, .max = 255, .required = true, .help = "what the initiator calls itself"),
	ACCOUNT(secret, TEXT, .max = SECRET_TEXT_MAX, .secret = true,
		.help = "secret of the initiator, 12 to 255 bytes"),
	ACCOUNT(secret2, TEXT, .max = SECRET_TEXT_MAX, .secret = true,
		.help = "another one that is valid too, while they are being replaced"),
	ACCOUNT(mutual_name, TEXT, .max = 255, .help = "what the target calls itself"),
	ACCOUNT(mutual_secret, TEXT, .max = SECRET_TEXT_MAX, .secret = true,
		.help = "secret of the target"),
	ACCOUNT(require_mutual, BOOL, .def = "false",
		.help = "refuse initiators that do not ask for the target's proof"),
	ACCOUNT(algorithms, WORDS, .choices = "md5 sha1 sha256 sha3-256", .max = 64,
		.help = "algorithms that are allowed; all if empty"),
	ACCOUNT(secret_file, TEXT, .max = 4000, .help = "file with the secret"),
	ACCOUNT(secret2_file, TEXT, .max = 4000, .help = "file with the second secret"),
	ACCOUNT(mutual_secret_file, TEXT, .max = 4000, .help = "file with the secret of the target"),
	{ 0 },
};
const struct config_scope config_account_scope = {
	.name = "account", .size = sizeof(struct config_account), .has_origin = true,
	.settings = account_settings,
};

#define LU(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_lu, n), __VA_ARGS__ }
static const struct config_setting lu_settings[] = {
	LU(name, TEXT, .max = 63, .required = true, .help = "the name of the logical unit"),
	LU(type, WORD, .choices = "file block ram null", .def = "file", .help = "kind of store"),
	LU(path, TEXT, .max = 4000, .help = "file or device"),
	LU(size, SIZE, .max = UINT64_MAX / 2, .def = "0", .help = "bytes; 0: what the store has"),
	LU(create, BOOL, .def = "false", .help = "make the file when it is not there"),
	LU(preallocate, BOOL, .def = "false", .help = "reserve all its space at once"),
	LU(thin, BOOL, .def = "true", .help = "give space back when the initiator unmaps"),
	LU(read_only, BOOL, .def = "false", .help = "refuse writes"),
	LU(removable, BOOL, .def = "false", .help = "the medium can be ejected"),
	LU(force, BOOL, .def = "false", .help = "block: open it though it is mounted or in use"),
	LU(cache, WORD, .choices = "buffered direct", .def = "buffered",
	   .help = "page cache or O_DIRECT"),
	LU(engine, WORD, .choices = "auto uring aio", .help = "how this store does I/O"),
	LU(block_size, NUMBER, .min = 512, .max = 4096, .def = "512", .help = "logical block in bytes"),
	LU(physical_block_size, NUMBER, .min = 512, .max = 1 << 20, .def = "4096",
	   .help = "physical block in bytes"),
	LU(naa, TEXT, .max = 32, .help = "NAA identifier, 32 hexadecimal digits that begin with 6"),
	LU(serial, TEXT, .max = 32, .help = "unit serial number"),
	LU(rotation, WORD, .choices = "ssd hdd", .help = "what the initiator is told about the medium"),
	LU(threshold_used, TEXT, .max = 32, .live = true,
	   .help = "space in use that initiators are warned at: bytes, or percent of the size"),
	LU(threshold_available, TEXT, .max = 32, .live = true,
	   .help = "space left where the store is that they are warned at: bytes, or percent of that"),
	LU(log_path, TEXT, .max = 4000, .help = "for tests: record writes and flushes in this file"),
	LU(fault, TEXT, .max = 1000, .help = "for tests: faults to be injected"),
	{ 0 },
};
const struct config_scope config_lu_scope = {
	.name = "lu", .size = sizeof(struct config_lu), .has_origin = true, .settings = lu_settings,
};

#define LUN(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_lun, n), __VA_ARGS__ }
static const struct config_setting lun_settings[] = {
	LUN(lun, NUMBER, .max = 16383, .required = true, .help = "logical unit number"),
	LUN(lu, TEXT, .max = 63, .required = true, .help = "name of the logical unit"),
	LUN(read_only, BOOL, .def = "false", .help = "refuse writes on this path"),
	{ 0 },
};
const struct config_scope config_lun_scope = {
	.name = "lun", .size = sizeof(struct config_lun), .settings = lun_settings,
};

static const struct config_setting access_settings[] = {
	ACCESS_CONDITIONS,
	ACCESS(read_only, BOOL, .def = "false", .help = "every logical unit is read-only"),
	{ .name = "luns", LIST(config_access, luns), .max = 1024, .scope = &config_lun_scope,
	  .help = "LUN map for whom this rule admits; the target's own if empty" },
	{ 0 },
};
const struct config_scope config_access_scope = {
	.name = "access", .size = sizeof(struct config_access), .settings = access_settings,
};

#define PORT_GROUP(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_port_group, n), __VA_ARGS__ }
static const struct config_setting port_group_settings[] = {
	PORT_GROUP(id, NUMBER, .max = 65535, .required = true, .help = "number of the target port group"),
	{ .name = "groups", .type = CONFIG_NUMBERS, AT(config_port_group, groups),
	  .count_at = offsetof(struct config_port_group, n_groups), .max = 65535,
	  .help = "portal groups that are in it; the rest if empty" },
	PORT_GROUP(state, WORD, .choices = "active-optimized active-non-optimized standby unavailable "
	           "offline transitioning", .def = "active-optimized", .help = "access state"),
	PORT_GROUP(preferred, BOOL, .def = "false", .help = "initiators should use it"),
	{ 0 },
};
const struct config_scope config_port_group_scope = {
	.name = "port group", .size = sizeof(struct config_port_group), .settings = port_group_settings,
};

#define TARGET(n, t, ...) { .name = #n, .type = CONFIG_##t, AT(config_target, n), __VA_ARGS__ }
static const struct config_setting target_settings[] = {
	TARGET(name, TEXT, .max = 223, .required = true, .help = "iSCSI name"),
	TARGET(alias, TEXT, .max = 255, .help = "text shown by initiators"),
	TARGET(online, BOOL, .def = "true", .help = "accept logins"),
	TARGET(max_sessions, NUMBER, .max = 65535, .def = "0", .help = "sessions at once; 0: no limit"),
	TARGET(header_digest, ENUM, .choices = "default none crc32c", .def = "default",
	       .help = "header digest that is agreed to"),
	TARGET(data_digest, ENUM, .choices = "default none crc32c", .def = "default",
	       .help = "data digest that is agreed to"),
	TARGET(max_recv_data_segment_length, SIZE, .min = 512, .max = 16777215, .def = "0",
	       .help = "MaxRecvDataSegmentLength; 0: the default"),
	TARGET(max_burst_length, SIZE, .min = 512, .max = 16777215, .def = "0",
	       .help = "MaxBurstLength; 0: the default"),
	TARGET(first_burst_length, SIZE, .min = 512, .max = 16777215, .def = "0",
	       .help = "FirstBurstLength; 0: the default"),
	TARGET(max_outstanding_r2t, NUMBER, .min = 1, .max = 64, .def = "0",
	       .help = "MaxOutstandingR2T; 0: the default"),
	TARGET(max_connections, NUMBER, .min = 1, .max = 8, .def = "1",
	       .help = "MaxConnections: connections of one session"),
	TARGET(default_time2wait, NUMBER, .max = 3600, .def = "2",
	       .help = "DefaultTime2Wait, seconds"),
	TARGET(default_time2retain, NUMBER, .max = 3600, .def = "0",
	       .help = "DefaultTime2Retain, seconds"),
	TARGET(error_recovery_level, NUMBER, .max = 1, .def = "0",
	       .help = "highest ErrorRecoveryLevel that is agreed to"),
	TARGET(initial_r2t, TRISTATE, .help = "InitialR2T"),
	TARGET(immediate_data, TRISTATE, .help = "ImmediateData"),
	{ .name = "luns", LIST(config_target, luns), .max = 4096, .scope = &config_lun_scope,
	  .help = "LUN map" },
	{ .name = "access", LIST(config_target, access), .max = 4096, .scope = &config_access_scope,
	  .help = "who may log in; nobody if empty" },
	{ .name = "groups", .type = CONFIG_NUMBERS, AT(config_target, groups),
	  .count_at = offsetof(struct config_target, n_groups), .max = 65535,
	  .help = "portal groups it is reachable by; all if empty" },
	TARGET(alua, WORD, .choices = "none implicit explicit both", .def = "implicit",
	       .help = "who sets access states: the administrator, initiators, both"),
	{ .name = "port_groups", LIST(config_target, port_groups), .max = 256,
	  .scope = &config_port_group_scope, .help = "target port groups and their access states" },
	TARGET(redirect, TEXT, .max = 264, .help = "address where logins are sent instead"),
	TARGET(redirect_permanent, BOOL, .def = "false", .help = "it has moved there for good"),
	{ .name = "redirect_groups", .type = CONFIG_NUMBERS, AT(config_target, redirect_groups),
	  .count_at = offsetof(struct config_target, n_redirect_groups), .max = 65535,
	  .help = "portal groups where logins are sent away; all if empty" },
	TARGET(removed, BOOL, .def = "false", .help = "logins are told that it is gone for good"),
	{ 0 },
};
const struct config_scope config_target_scope = {
	.name = "target", .size = sizeof(struct config_target), .has_origin = true,
	.settings = target_settings,
};

static const struct config_setting root_settings[] = {
	{ .name = "daemon", .type = CONFIG_GROUP, AT(config, daemon), .scope = &config_daemon_scope,
	  .help = "the process" },
	{ .name = "portals", LIST(config, portals), .max = 256, .scope = &config_portal_scope,
	  .help = "where initiators connect" },
	{ .name = "accounts", LIST(config, accounts), .max = 4096, .scope = &config_account_scope,
	  .help = "who initiators can prove to be" },
	{ .name = "lus", LIST(config, lus), .max = 4096, .scope = &config_lu_scope,
	  .help = "logical units" },
	{ .name = "targets", LIST(config, targets), .max = 4096, .scope = &config_target_scope,
	  .help = "targets with LUN maps and access rules" },
	{ 0 },
};
const struct config_scope config_root_scope = {
	.name = "configuration", .size = sizeof(struct config), .settings = root_settings,
};
/* clang-format on */

const struct config_setting *config_setting_find(const struct config_scope *scope, const char *name)
{
	for (const struct config_setting *s = scope->settings; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}
