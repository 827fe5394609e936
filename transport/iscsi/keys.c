/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/keys.h"

#include "transport/iscsi/text.h"

#include <errno.h>
#include <string.h>

static uint32_t *value_at(struct iscsi_keys *k, const struct key_row *row)
{
	return (uint32_t *)(void *)((char *)k + row->value - 1);
}

static uint32_t value_of(const struct iscsi_keys *k, const struct key_row *row)
{
	return *(const uint32_t *)(const void *)((const char *)k + row->value - 1);
}

uint32_t keys_value(const struct iscsi_keys *k, enum key_id id)
{
	return value_of(k, &key_table[id]);
}

void keys_defaults(struct iscsi_keys *k)
{
	memset(k, 0, sizeof(*k));
	for (unsigned id = 1; id < KEY_COUNT; id++)
		if (key_table[id].value)
			*value_at(k, &key_table[id]) = key_table[id].def;
	k->max_recv_data_segment_length = key_table[KEY_MAX_RECV_DATA_SEGMENT_LENGTH].def;
}

void key_limits_defaults(struct key_limits *l)
{
	*l = (struct key_limits){
		.header_digest_crc32c = true,
		.header_digest_none = true,
		.data_digest_crc32c = true,
		.data_digest_none = true,
		.max_recv_data_segment_length = 256 * 1024,
		.max_connections = 1,
		.initial_r2t = 0,
		.immediate_data = 1,
		.max_burst_length = 1024 * 1024,
		.first_burst_length = 256 * 1024,
		.default_time2wait = 2,
		.default_time2retain = 0,
		.max_outstanding_r2t = 8,
		.error_recovery_level = 0,
		.protocol_level = 2, /* RFC 7144 */
	};
}

enum key_id key_find(const char *name)
{
	for (unsigned id = 1; id < KEY_COUNT; id++)
		if (!strcmp(key_table[id].name, name))
			return (enum key_id)id;
	return KEY_NONE;
}

void keys_begin(struct key_negotiation *n, const struct key_limits *limits)
{
	memset(n, 0, sizeof(*n));
	n->limits = limits;
	n->phase = KEY_SECURITY;
	n->leading = true;
	n->max_recv_data_segment_length = UINT32_MAX;
	n->max_connections = 1;
	keys_defaults(&n->keys);
}

/* Our side of a number or boolean. */
static uint32_t our_side(const struct key_negotiation *n, enum key_id id)
{
	const struct key_row *row = &key_table[id];
	uint32_t ours = row->fixed, transport = UINT32_MAX;

	if (row->limit)
		ours = *(const uint32_t *)(const void *)((const char *)n->limits + row->limit - 1);
	if (id == KEY_MAX_CONNECTIONS)
		transport = n->discovery ? 1 : n->max_connections; /* 13.21 */
	if (id == KEY_ERROR_RECOVERY_LEVEL)
		transport = n->discovery ? 0 : n->error_recovery_level; /* 7.4.1 */
	if (id == KEY_MAX_RECV_DATA_SEGMENT_LENGTH)
		transport = n->max_recv_data_segment_length;
	return ours < transport ? ours : transport;
}

/* Yes is 1, No is 0; anything else -EINVAL. */
static int parse_boolean(const char *value, uint64_t *ret)
{
	if (strcmp(value, "Yes") != 0 && strcmp(value, "No") != 0)
		return -EINVAL;
	*ret = value[0] == 'Y';
	return 0;
}

static bool digest_allowed(const struct key_negotiation *n, enum key_id id, bool crc32c)
{
	const struct key_limits *l = n->limits;

	if (!n->digests)
		return !crc32c;
	if (id == KEY_HEADER_DIGEST)
		return crc32c ? l->header_digest_crc32c : l->header_digest_none;
	return crc32c ? l->data_digest_crc32c : l->data_digest_none;
}

static int choose_digest(struct key_negotiation *n, enum key_id id, const char *list)
{
	char item[TEXT_VALUE_MAX + 1];

	while (text_list_next(&list, item)) {
		bool crc32c = !strcmp(item, "CRC32C");

		if ((!crc32c && strcmp(item, "None") != 0) || !digest_allowed(n, id, crc32c))
			continue;
		*value_at(&n->keys, &key_table[id]) = crc32c;
		return 0;
	}
	return -EINVAL;
}

static int choose(struct key_negotiation *n, const struct key_row *row, const char *list)
{
	char item[TEXT_VALUE_MAX + 1];

	while (text_list_next(&list, item)) {
		for (uint32_t v = 0; row->choices[v]; v++) {
			if (strcmp(item, row->choices[v]) != 0)
				continue;
			*value_at(&n->keys, row) = v;
			return 0;
		}
	}
	return -EINVAL;
}

static uint32_t result_of(enum key_rule rule, uint32_t theirs, uint32_t ours)
{
	switch (rule) {
	case KEY_RULE_MIN:
	case KEY_RULE_AND:
		return theirs < ours ? theirs : ours;
	case KEY_RULE_MAX:
	case KEY_RULE_OR:
		return theirs > ours ? theirs : ours;
	case KEY_RULE_DECLARE:
		return theirs;
	case KEY_RULE_UNSET:
	case KEY_RULE_DIGEST:
	case KEY_RULE_LIST:
	case KEY_RULE_NUMBER:
	case KEY_RULE_TEXT:
	case KEY_RULE_REJECT:
	case KEY_RULE_IRRELEVANT:
		break;
	}
	return ours;
}

static int take_number(struct key_negotiation *n, enum key_id id, const char *value)
{
	const struct key_row *row = &key_table[id];
	bool boolean = row->rule == KEY_RULE_AND || row->rule == KEY_RULE_OR;
	uint64_t theirs;
	int r = boolean ? parse_boolean(value, &theirs) : text_number(value, &theirs);

	if (r)
		return r;
	if (theirs < row->min || theirs > row->max)
		return -ERANGE;
	/* RFC 7145 6.7, 6.8: 1 is too few to mean anything */
	if (row->rule == KEY_RULE_NUMBER && theirs == 1)
		return -ERANGE;
	if (row->value)
		*value_at(&n->keys, row) = result_of(row->rule, (uint32_t)theirs, our_side(n, id));
	if (id == KEY_MAX_RECV_DATA_SEGMENT_LENGTH && n->phase != KEY_FULL_FEATURE)
		n->keys.max_recv_data_segment_length = our_side(n, id);
	return 0;
}

/* 0: agreed, or nothing to agree on; else the answer is Reject and the old value stays. */
static int take_value(struct key_negotiation *n, enum key_id id, const char *value)
{
	const struct key_row *row = &key_table[id];

	switch (row->rule) {
	case KEY_RULE_MIN:
	case KEY_RULE_MAX:
	case KEY_RULE_AND:
	case KEY_RULE_OR:
	case KEY_RULE_DECLARE:
	case KEY_RULE_NUMBER:
	case KEY_RULE_IRRELEVANT:
		return take_number(n, id, value);
	case KEY_RULE_DIGEST:
		return choose_digest(n, id, value);
	case KEY_RULE_LIST:
		return choose(n, row, value);
	case KEY_RULE_REJECT:
		return -EINVAL;
	case KEY_RULE_UNSET:
	case KEY_RULE_TEXT:
		break;
	}
	return 0;
}

/* A declaration leaves no room for an answer of Reject that both sides understand alike. */
static bool declares(const struct key_row *row)
{
	return row->rule == KEY_RULE_DECLARE || row->rule == KEY_RULE_NUMBER;
}

int keys_offer(struct key_negotiation *n, const struct text_pair *p, enum key_id *ret_id)
{
	enum key_id id = key_find(p->key);
	const struct key_row *row = &key_table[id];
	uint64_t bit = 1ull << id;

	if (id == KEY_NONE) {
		*ret_id = KEY_NONE;
		return text_is_reserved(p->value) ? -EPROTO : 0;
	}
	if (row->target_only && !strcmp(p->value, "NotUnderstood")) {
		*ret_id = id; /* its answer to what we have declared (6.2) */
		return 0;
	}
	if (row->target_only || !(row->phases & n->phase))
		return -EPROTO;
	if ((n->seen & bit) && !row->may_repeat)
		return -EPROTO;
	if (text_is_reserved(p->value))
		return -EPROTO;
	if (p->value_length > (row->length ? row->length : TEXT_VALUE_MAX))
		return -EPROTO;
	n->seen |= bit;
	*ret_id = id;
	if ((row->leading_only && !n->leading) || take_value(n, id, p->value)) {
		n->rejected |= bit;
		return declares(row) ? -EPROTO : 0;
	}
	return 0;
}

void keys_settle(struct key_negotiation *n)
{
	struct iscsi_keys *k = &n->keys;

	if (k->first_burst_length > k->max_burst_length)
		k->first_burst_length = k->max_burst_length;
	if (k->error_recovery_level && k->data_sequence_in_order)
		k->max_outstanding_r2t = 1;
}

void keys_answer(const struct key_negotiation *n, const struct text_pair *p, struct text_out *out)
{
	enum key_id id = key_find(p->key);
	const struct key_row *row = &key_table[id];
	uint32_t v;

	if (id == KEY_NONE) {
		text_put(out, p->key, "NotUnderstood");
		return;
	}
	if (n->rejected & (1ull << id)) {
		text_put(out, p->key, "Reject");
		return;
	}
	v = row->value ? value_of(&n->keys, row) : 0;
	switch (row->rule) {
	case KEY_RULE_MIN:
	case KEY_RULE_MAX:
		text_put_number(out, row->name, v);
		break;
	case KEY_RULE_AND:
	case KEY_RULE_OR:
		text_put(out, row->name, v ? "Yes" : "No");
		break;
	case KEY_RULE_DIGEST:
		text_put(out, row->name, v ? "CRC32C" : "None");
		break;
	case KEY_RULE_LIST:
		text_put(out, row->name, row->choices[v]);
		break;
	case KEY_RULE_DECLARE:
		text_put_number(out, row->name, n->keys.max_recv_data_segment_length);
		break;
	case KEY_RULE_IRRELEVANT:
		text_put(out, row->name, "Irrelevant");
		break;
	case KEY_RULE_UNSET:
	case KEY_RULE_NUMBER:
	case KEY_RULE_TEXT:
	case KEY_RULE_REJECT:
		break;
	}
}

bool keys_acceptable(const struct key_negotiation *n)
{
	return digest_allowed(n, KEY_HEADER_DIGEST, n->keys.header_digest) &&
	       digest_allowed(n, KEY_DATA_DIGEST, n->keys.data_digest);
}
