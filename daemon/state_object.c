/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of the state: their keys, their text, change sets.
 */
#include "daemon/state_internal.h"
#include "scsi/alua.h"
#include "scsi/mode.h"
#include "scsi/pr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_IS "version = "
#define END_MARK   "# end\n"

/* clang-format off */
#define AT(T, m) .at = offsetof(struct T, m), .width = sizeof(((struct T *)0)->m)
static const struct config_setting identity_settings[] = {
	{ .name = "name", .type = CONFIG_TEXT, AT(state_identity, name), .max = 63, .required = true },
	{ .name = "naa", .type = CONFIG_TEXT, AT(state_identity, naa), .max = 32 },
	{ .name = "serial", .type = CONFIG_TEXT, AT(state_identity, serial), .max = 32 },
	{ .name = "opened", .type = CONFIG_BOOL, AT(state_identity, opened), .def = "false" },
	{ 0 },
};
static const struct config_scope identity_scope = {
	.name = "identity", .size = sizeof(struct state_identity), .settings = identity_settings,
};
static const struct config_setting port_settings[] = {
	{ .name = "target", .type = CONFIG_TEXT, AT(state_port, target), .max = 223, .required = true },
	{ .name = "group", .type = CONFIG_NUMBER, AT(state_port, group), .max = 65535,
	  .required = true },
	{ .name = "id", .type = CONFIG_NUMBER, AT(state_port, id), .min = 1, .max = 65535,
	  .required = true },
	{ 0 },
};
static const struct config_scope port_scope = {
	.name = "port", .size = sizeof(struct state_port), .settings = port_settings,
};

static const struct config_setting access_settings[] = {
	{ .name = "target", .type = CONFIG_TEXT, AT(state_access, target), .max = 223, .required = true },
	{ .name = "group", .type = CONFIG_NUMBER, AT(state_access, group), .max = 65535,
	  .required = true },
	{ .name = "state", .type = CONFIG_TEXT, AT(state_access, state), .max = 31 },
	{ .name = "preferred", .type = CONFIG_TRISTATE, AT(state_access, preferred) },
	{ .name = "by_initiator", .type = CONFIG_BOOL, AT(state_access, by_initiator), .def = "false" },
	{ 0 },
};
static const struct config_scope access_scope = {
	.name = "access state", .size = sizeof(struct state_access), .settings = access_settings,
};

#define LIST(T, m) .type = CONFIG_LIST, .at = offsetof(struct T, m), .count_at = offsetof(struct T, n_##m)
static const struct config_setting registration_settings[] = {
	{ .name = "initiator", .type = CONFIG_TEXT, AT(state_registration, initiator),
	  .max = SCSI_PORT_NAME - 1, .required = true },
	{ .name = "target", .type = CONFIG_TEXT, AT(state_registration, target),
	  .max = SCSI_PORT_NAME - 1, .required = true },
	{ .name = "key", .type = CONFIG_TEXT, AT(state_registration, key), .max = 18,
	  .required = true },
	{ .name = "port", .type = CONFIG_NUMBER, AT(state_registration, port), .max = 65535 },
	{ .name = "holder", .type = CONFIG_BOOL, AT(state_registration, holder), .def = "false" },
	{ 0 },
};
static const struct config_scope registration_scope = {
	.name = "registration", .size = sizeof(struct state_registration),
	.settings = registration_settings,
};
static const struct config_setting pr_settings[] = {
	{ .name = "naa", .type = CONFIG_TEXT, AT(state_pr, naa), .max = 32, .required = true },
	{ .name = "type", .type = CONFIG_NUMBER, AT(state_pr, type), .max = 15 },
	{ .name = "registrations", LIST(state_pr, registrations), .max = PR_REGISTRATIONS_MAX,
	  .scope = &registration_scope },
	{ 0 },
};
static const struct config_scope pr_scope = {
	.name = "reservations", .size = sizeof(struct state_pr), .settings = pr_settings,
};

#define UNIT_MODE(slot, text) { .name = (text), .type = CONFIG_NUMBER, AT(state_unit, mode[slot]), .max = 255 }
static const struct config_setting unit_settings[] = {
	{ .name = "naa", .type = CONFIG_TEXT, AT(state_unit, naa), .max = 32, .required = true },
	UNIT_MODE(MODE_SLOT_CACHING_2, "mode_caching_2"),
	UNIT_MODE(MODE_SLOT_CONTROL_2, "mode_control_2"),
	UNIT_MODE(MODE_SLOT_CONTROL_4, "mode_control_4"),
	UNIT_MODE(MODE_SLOT_RECOVERY_7, "mode_recovery_7"),
	{ .name = "media", .type = CONFIG_WORD, AT(state_unit, media),
	  .choices = "formatting sanitizing format_failed sanitize_failed" },
	{ .name = "media_path", .type = CONFIG_TEXT, AT(state_unit, media_path), .max = 4000 },
	{ .name = "unrestricted", .type = CONFIG_BOOL, AT(state_unit, unrestricted), .def = "false" },
	{ .name = "passes", .type = CONFIG_NUMBER, AT(state_unit, passes), .max = 31 },
	{ .name = "invert", .type = CONFIG_BOOL, AT(state_unit, invert), .def = "false" },
	{ .name = "peripheral_information", .type = CONFIG_TEXT,
	  AT(state_unit, peripheral_information), .max = 2ull * KEPT_PERIPHERAL },
	{ .name = "text_information", .type = CONFIG_TEXT, AT(state_unit, text_information),
	  .max = 2ull * KEPT_INFORMATION },
	{ .name = "pattern", .type = CONFIG_TEXT, AT(state_unit, pattern), .max = 2ull * KEPT_PATTERN },
	{ 0 },
};
static const struct config_scope unit_scope = {
	.name = "unit", .size = sizeof(struct state_unit), .settings = unit_settings,
};

const struct state_kind_info state_kinds[STATE_KINDS] = {
	[STATE_ACCOUNT] = { "accounts", &config_account_scope },
	[STATE_LU] = { "lus", &config_lu_scope },
	[STATE_TARGET] = { "targets", &config_target_scope },
	[STATE_PORTAL] = { "portals", &config_portal_scope },
	[STATE_IDENTITY] = { "identities", &identity_scope },
	[STATE_PORT] = { "ports", &port_scope },
	[STATE_PR] = { "pr", &pr_scope },
	[STATE_ACCESS] = { "access", &access_scope },
	[STATE_UNIT] = { "units", &unit_scope },
};
/* clang-format on */

const char *state_portal_key(const struct config_portal *p, char buf[static 128])
{
	snprintf(buf, 128, "%s %s %u", p->transport, p->address, p->port);
	return buf;
}

const char *state_port_key(const char *target, uint16_t group, char buf[static 300])
{
	snprintf(buf, 300, "%s %u", target, group);
	return buf;
}

const char *state_object_key(enum state_kind kind, const void *object, char buf[static 300])
{
	const struct state_port *port = object;
	const struct state_access *access = object;

	switch (kind) {
	case STATE_ACCOUNT:
		return ((const struct config_account *)object)->name;
	case STATE_LU:
		return ((const struct config_lu *)object)->name;
	case STATE_TARGET:
		return ((const struct config_target *)object)->name;
	case STATE_PORTAL:
		return state_portal_key(object, buf);
	case STATE_IDENTITY:
		return ((const struct state_identity *)object)->name;
	case STATE_PORT:
		return state_port_key(port->target, port->group, buf);
	case STATE_ACCESS:
		return state_port_key(access->target, access->group, buf);
	case STATE_PR:
		return ((const struct state_pr *)object)->naa;
	case STATE_UNIT:
		return ((const struct state_unit *)object)->naa;
	case STATE_KINDS:
		break;
	}
	return "";
}

/* By a hash, for keys are longer than names of files; torn files are known by it. */
bool state_id_of_key(enum state_kind kind, const char *key, char id[static 17])
{
	if (kind != STATE_PR && kind != STATE_UNIT)
		return false;
	snprintf(id, 17, "%016llx", (unsigned long long)pr_hash(key, ""));
	return true;
}

static const char *pr_fault(const struct state_pr *pr)
{
	unsigned holders = 0;

	if (pr->type && !pr_type_valid((uint8_t)pr->type))
		return "there is no such type of reservation";
	if (pr->n_registrations > PR_REGISTRATIONS_MAX)
		return "there are too many registrations";
	for (unsigned i = 0; i < pr->n_registrations; i++) {
		const struct state_registration *r = &pr->registrations[i];
		char *end;

		holders += r->holder;
		if (strncmp(r->key, "0x", 2) != 0 || !strtoull(r->key, &end, 16) || *end)
			return "a key is no number in hexadecimal";
	}
	if (holders != (pr->type && !pr_all_registrants((uint8_t)pr->type)))
		return "the reservation must have one holder";
	return pr->type && !pr->n_registrations ? "a reservation without registrations" : NULL;
}

static bool is_hexadecimal(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	return n % 2 == 0 && (!n || strspn(text, "0123456789abcdef") == n);
}

static const char *unit_fault(const struct state_unit *u)
{
	if (!is_hexadecimal(u->pattern))
		return "the pattern is not hexadecimal";
	if (!is_hexadecimal(u->peripheral_information) || !is_hexadecimal(u->text_information))
		return "identifying information is not hexadecimal";
	return u->passes && (!u->pattern || !*u->pattern) ? "there is no pattern to overwrite with"
							  : NULL;
}

const char *state_object_fault(enum state_kind kind, const void *object)
{
	const struct state_access *access = object;

	if (kind == STATE_ACCESS && access->state && alua_state_find(access->state) < 0)
		return "there is no such access state";
	if (kind == STATE_UNIT)
		return unit_fault(object);
	return kind == STATE_PR ? pr_fault(object) : NULL;
}

void state_object_free(struct state_object *o)
{
	if (!o)
		return;
	if (o->object)
		config_object_clear(state_kinds[o->kind].scope, o->object);
	free(o->object);
	free(o);
}

struct state_object *state_object_new(enum state_kind kind, const char *key, const void *object)
{
	const struct config_scope *scope = state_kinds[kind].scope;
	struct state_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	list_init(&o->node);
	o->kind = kind;
	snprintf(o->key, sizeof(o->key), "%s", key);
	if (!object)
		return o;
	o->object = calloc(1, scope->size);
	if (!o->object || config_object_copy(scope, o->object, object)) {
		free(o->object);
		free(o);
		return NULL;
	}
	return o;
}

struct state_object *state_lookup(const struct list *objects, enum state_kind kind, const char *key)
{
	struct list *n;

	list_for_each (n, objects) {
		struct state_object *o = list_entry(n, struct state_object, node);

		if (o->kind == kind && !strcmp(o->key, key))
			return o;
	}
	return NULL;
}

char *state_encode(enum state_kind kind, const void *object)
{
	char *settings = config_dump_object(state_kinds[kind].scope, object);
	char *text = NULL;

	if (settings && asprintf(&text, VERSION_IS "%d;\n%s" END_MARK, STATE_VERSION, settings) < 0)
		text = NULL;
	free(settings);
	return text;
}

int state_decode(enum state_kind kind, const char *text, const char *name, void **ret,
		 struct config_error *err)
{
	const struct config_scope *scope = state_kinds[kind].scope;
	size_t length = strlen(text), mark = strlen(END_MARK);
	unsigned long version;
	char *settings;
	void *object;

	memset(err, 0, sizeof(*err));
	snprintf(err->file, sizeof(err->file), "%s", name);
	if (strncmp(text, VERSION_IS, strlen(VERSION_IS)) != 0 ||
	    !isdigit((unsigned char)text[strlen(VERSION_IS)]) ||
	    (version = strtoul(text + strlen(VERSION_IS), &settings, 10), *settings != ';')) {
		snprintf(err->text, sizeof(err->text), "does not begin with its version");
		return -EBADMSG;
	}
	if (version > STATE_VERSION) {
		snprintf(err->text, sizeof(err->text),
			 "has version %lu, this daemon knows %d; start the newer daemon", version,
			 STATE_VERSION);
		return -ENOTSUP;
	}
	if (length < mark || strcmp(text + length - mark, END_MARK) != 0) {
		snprintf(err->text, sizeof(err->text), "is cut short");
		return -EBADMSG;
	}
	object = calloc(1, scope->size);
	if (!object)
		return -ENOMEM;
	/* The version's line stays empty, so that lines in errors are those of the file. */
	if (config_parse_object(settings + 1, name, scope, object, err)) {
		free(object);
		return -EBADMSG;
	}
	*ret = object;
	return 0;
}

struct state_change *state_change_new(void)
{
	struct state_change *ch = calloc(1, sizeof(*ch));

	if (ch)
		list_init(&ch->objects);
	return ch;
}

void state_change_free(struct state_change *ch)
{
	struct list *n, *next;

	if (!ch)
		return;
	list_for_each_safe (n, next, &ch->objects)
		state_object_free(list_entry(n, struct state_object, node));
	free(ch);
}

bool state_change_is_empty(const struct state_change *ch)
{
	return !ch || list_empty(&ch->objects);
}

static int change_set(struct state_change *ch, enum state_kind kind, const char *key,
		      const void *object)
{
	struct state_object *o = state_object_new(kind, key, object), *old;

	if (!o)
		return -ENOMEM;
	old = state_lookup(&ch->objects, kind, key);
	if (old) {
		list_del(&old->node);
		state_object_free(old);
	}
	list_add_tail(&ch->objects, &o->node);
	return 0;
}

int state_change_put(struct state_change *ch, enum state_kind kind, const void *object)
{
	char buf[STATE_KEY_MAX];

	return change_set(ch, kind, state_object_key(kind, object, buf), object);
}

int state_change_delete(struct state_change *ch, enum state_kind kind, const char *key)
{
	return change_set(ch, kind, key, NULL);
}

const void *state_change_find(const struct state_change *ch, enum state_kind kind, const char *key,
			      bool *ret_known)
{
	struct state_object *o = ch ? state_lookup(&ch->objects, kind, key) : NULL;

	*ret_known = o;
	return o ? o->object : NULL;
}
