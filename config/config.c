/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct config as a whole: making, freeing, copying, adding and finding objects.
 */
#include "config/config.h"
#include "config/schema.h"

#include <stdlib.h>
#include <string.h>

struct config *config_new(void)
{
	struct config *c = calloc(1, sizeof(*c));

	if (c && config_object_init(&config_root_scope, c)) {
		free(c);
		return NULL;
	}
	return c;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	config_object_clear(&config_root_scope, c);
	free(c);
}

struct config *config_copy(const struct config *from)
{
	struct config *c = calloc(1, sizeof(*c));

	if (c && config_object_copy(&config_root_scope, c, from)) {
		free(c);
		return NULL;
	}
	return c;
}

struct config_portal *config_add_portal(struct config *c)
{
	return config_list_append(config_setting_find(&config_root_scope, "portals"), c);
}

struct config_account *config_add_account(struct config *c)
{
	return config_list_append(config_setting_find(&config_root_scope, "accounts"), c);
}

struct config_lu *config_add_lu(struct config *c)
{
	return config_list_append(config_setting_find(&config_root_scope, "lus"), c);
}

struct config_target *config_add_target(struct config *c)
{
	return config_list_append(config_setting_find(&config_root_scope, "targets"), c);
}

void config_remove_portal(struct config *c, unsigned i)
{
	config_list_remove(config_setting_find(&config_root_scope, "portals"), c, i);
}

void config_remove_account(struct config *c, unsigned i)
{
	config_list_remove(config_setting_find(&config_root_scope, "accounts"), c, i);
}

void config_remove_lu(struct config *c, unsigned i)
{
	config_list_remove(config_setting_find(&config_root_scope, "lus"), c, i);
}

void config_remove_target(struct config *c, unsigned i)
{
	config_list_remove(config_setting_find(&config_root_scope, "targets"), c, i);
}

struct config_account *config_find_account(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->n_accounts; i++)
		if (!strcmp(c->accounts[i].name, name))
			return &c->accounts[i];
	return NULL;
}

struct config_lu *config_find_lu(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->n_lus; i++)
		if (!strcmp(c->lus[i].name, name))
			return &c->lus[i];
	return NULL;
}

struct config_target *config_find_target(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->n_targets; i++)
		if (!strcmp(c->targets[i].name, name))
			return &c->targets[i];
	return NULL;
}

bool config_in_group(const struct config_target *t, uint16_t group)
{
	for (unsigned i = 0; i < t->n_groups; i++)
		if (t->groups[i] == group)
			return true;
	return !t->n_groups;
}
