/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one complete text of a login says, in three passes, because initiators order their keys as
 * they like (macOS: by hash): declarations, then, with the target and its limits known, offers,
 * then the answers in the order of the request.
 */
#include "transport/iscsi/login_private.h"
#include "transport/portal.h"

#include <string.h>

enum iscsi_login_status login_check_transit(const struct iscsi_login *l, uint8_t flags)
{
	if (!(flags & ISCSI_FINAL))
		return LOGIN_SUCCESS;
	if (ISCSI_LOGIN_NSG(flags) == STAGE_RESERVED || ISCSI_LOGIN_NSG(flags) <= l->stage)
		return LOGIN_INITIATOR_ERROR; /* 11.12.3, 6.3 */
	return LOGIN_SUCCESS;
}

static bool is_declaration(const struct text_pair *p)
{
	return key_table[key_find(p->key)].rule == KEY_RULE_TEXT;
}

/* One pass over the text: declarations or offers. */
static enum iscsi_login_status take_pairs(struct iscsi_login *l, bool declarations)
{
	struct text_cursor cursor = text_cursor_on(&l->in);
	enum iscsi_login_status status = LOGIN_SUCCESS;
	struct text_pair p;
	enum key_id id;
	int error;

	while (!status && text_next(&cursor, &p, &error)) {
		if (is_declaration(&p) != declarations)
			continue;
		if (keys_offer(&l->keys, &p, &id))
			return LOGIN_INITIATOR_ERROR;
		if (declarations)
			status = login_declare(l, id, p.value);
	}
	return !status && error ? LOGIN_INITIATOR_ERROR : status;
}

/* Keys that we declare unasked: the tag in the first response that may have it (13.9), the alias
 * beside it (13.6). */
static void declare_target(struct iscsi_login *l)
{
	if (l->tag_told || !l->target)
		return;
	l->tag_told = true;
	text_put_number(&l->out, key_table[KEY_TARGET_PORTAL_GROUP_TAG].name,
			l->conn->portal->tpgt);
	if (!l->discovery && l->target->alias[0])
		text_put(&l->out, key_table[KEY_TARGET_ALIAS].name, l->target->alias);
}

static enum iscsi_login_status answer_pairs(struct iscsi_login *l)
{
	struct text_cursor cursor = text_cursor_on(&l->in);
	enum iscsi_login_status status;
	struct text_pair p;
	int error;

	declare_target(l);
	while (text_next(&cursor, &p, &error))
		keys_answer(&l->keys, &p, &l->out);
	status = login_authenticate(l);
	if (!status && l->out.error)
		return LOGIN_OUT_OF_RESOURCES;
	return status;
}

enum iscsi_login_status login_text(struct iscsi_login *l)
{
	enum iscsi_login_status status;

	l->methods = NULL;
	l->chap_keys = (struct chap_keys){ 0 };
	l->keys.phase = l->stage == STAGE_SECURITY ? KEY_SECURITY : KEY_OPERATIONAL;
	status = take_pairs(l, true);
	if (!status && !l->names_known) {
		status = login_find_target(l);
		l->names_known = true;
	}
	return status ? status : login_offers(l);
}

enum iscsi_login_status login_offers(struct iscsi_login *l)
{
	enum iscsi_login_status status = take_pairs(l, false);

	if (status)
		return status;
	keys_settle(&l->keys);
	return answer_pairs(l);
}
