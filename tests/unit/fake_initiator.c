/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/fake_initiator.h"

#include "daemon/base/bytes.h"
#include "scsi/lu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct iscsi_policy *fake_policy(unsigned n_targets)
{
	struct iscsi_policy *p = policy_alloc(n_targets);

	if (!p)
		abort();
	if (n_targets)
		fake_policy_target(p, 0, FAKE_TARGET, 1);
	return p;
}

void fake_policy_target(struct iscsi_policy *p, unsigned i, const char *name, unsigned n_rules)
{
	struct iscsi_target *t = &p->targets[i];

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->online = true;
	free(t->rules);
	t->n_rules = n_rules;
	t->rules = calloc(n_rules ? n_rules : 1, sizeof(*t->rules));
	if (!t->map)
		t->map = lun_map_create(NULL, 0);
	if (!t->rules || !t->map)
		abort();
}

void fake_policy_group(struct iscsi_target *t, uint16_t tpgt)
{
	t->groups = reallocarray(t->groups, t->n_groups + 1, sizeof(*t->groups));
	if (!t->groups)
		abort();
	t->groups[t->n_groups++] = (struct iscsi_target_group){ tpgt, (uint16_t)(t->n_groups + 1) };
}

void fake_policy_address(struct iscsi_policy *p, const struct iscsi_address *a)
{
	p->addresses = reallocarray(p->addresses, p->n_addresses + 1, sizeof(*a));
	if (!p->addresses)
		abort();
	p->addresses[p->n_addresses++] = *a;
}

struct fake_initiator fake_initiator(struct fake_net *n)
{
	struct fake_initiator i = {
		.fc = fake_connect(n, NULL),
		.isid = { 0x00, 0x02, 0x3d, 0x00, 0x00, 0x01 },
		.cmdsn = 1,
	};

	if (!i.fc)
		abort();
	return i;
}

/* The text as on the wire: a newline is the end of a pair. */
static char *pack(const char *text, uint32_t *ret_length)
{
	char *bytes = strdup(text);

	if (!bytes)
		abort();
	*ret_length = (uint32_t)strlen(text);
	for (char *p = bytes; *p; p++)
		if (*p == '\n')
			*p = '\0';
	return bytes;
}

static int send_login(struct fake_initiator *i, uint8_t flags, const void *text, uint32_t length)
{
	struct bhs_login_request h = {
		.opcode = ISCSI_OP_LOGIN_REQUEST | ISCSI_IMMEDIATE,
		.flags = flags,
		.version_max = i->version_max,
		.version_min = i->version_min,
	};
	uint8_t bhs[ISCSI_BHS_SIZE];

	memcpy(h.isid, i->isid, sizeof(h.isid));
	put_be16(h.tsih, i->tsih);
	put_be32(h.itt, i->itt);
	put_be16(h.cid, i->cid);
	put_be32(h.cmdsn, i->cmdsn);
	put_be32(h.exp_statsn, i->exp_statsn);
	memcpy(bhs, &h, sizeof(bhs));
	return fake_feed(i->fc, bhs, text, length);
}

struct fake_pdu *fake_login_bytes(struct fake_initiator *i, uint8_t flags, const void *text,
				  uint32_t length)
{
	send_login(i, flags, text, length);
	return fake_next(i->fc);
}

int fake_login_send(struct fake_initiator *i, uint8_t flags, const char *text)
{
	uint32_t length;
	char *bytes = pack(text, &length);
	int r = send_login(i, flags, bytes, length);

	free(bytes);
	return r;
}

struct fake_pdu *fake_login(struct fake_initiator *i, uint8_t flags, const char *text)
{
	uint32_t length;
	char *bytes = pack(text, &length);
	struct fake_pdu *p = fake_login_bytes(i, flags, bytes, length);

	free(bytes);
	return p;
}

struct fake_initiator fake_logged_in(struct fake_net *n, const char *text)
{
	struct fake_initiator i = fake_initiator(n);
	struct fake_pdu *p = fake_login(&i, FAKE_OP_FFP, text);

	if (fake_status(p) || !(p->bhs[1] & FAKE_T))
		abort();
	i.tsih = get_be16(p->bhs + 14);
	free(p);
	return i;
}

struct fake_pdu *fake_text(struct fake_initiator *i, uint8_t flags, uint32_t ttt, const char *text)
{
	struct bhs_text h = { .opcode = ISCSI_OP_TEXT_REQUEST | ISCSI_IMMEDIATE, .flags = flags };
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct fake_pdu *p;
	uint32_t length;
	char *bytes = pack(text, &length);

	put_be32(h.itt, i->itt);
	put_be32(h.ttt, ttt);
	put_be32(h.sn1, i->cmdsn);
	put_be32(h.sn2, i->exp_statsn);
	memcpy(bhs, &h, sizeof(bhs));
	fake_feed(i->fc, bhs, bytes, length);
	p = fake_next(i->fc);
	free(bytes);
	return p;
}

unsigned fake_opcode(const struct fake_pdu *p)
{
	return p ? p->bhs[0] : 0xff;
}

unsigned fake_status(const struct fake_pdu *p)
{
	if (fake_opcode(p) != ISCSI_OP_LOGIN_RESPONSE)
		return 0xffff;
	return get_be16(p->bhs + 36);
}

uint32_t fake_ttt(const struct fake_pdu *p)
{
	return get_be32(p->bhs + 20);
}

/* Walks the pairs; returns the value of the first with this key and counts all. */
static const char *walk(const struct fake_pdu *p, const char *key, unsigned *ret_n)
{
	const char *at = (const char *)p->data, *end = at + p->length, *found = NULL;

	*ret_n = 0;
	for (; at < end; at += strlen(at) + 1) {
		const char *eq = strchr(at, '=');

		if (key &&
		    (!eq || (size_t)(eq - at) != strlen(key) || memcmp(at, key, strlen(key))))
			continue;
		++*ret_n;
		if (!found)
			found = eq ? eq + 1 : at;
	}
	return found;
}

const char *fake_value(const struct fake_pdu *p, const char *key)
{
	unsigned n;

	return p ? walk(p, key, &n) : NULL;
}

unsigned fake_count(const struct fake_pdu *p, const char *key)
{
	unsigned n = 0;

	if (p)
		walk(p, key, &n);
	return n;
}
