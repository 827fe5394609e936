/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logins to a target and to a discovery service that want CHAP: again and again, the flags of a
 * request, two bytes of length, its text. In a text a byte 1 stands for the right CHAP_R to the
 * last challenge. Who has not sent that never gets in.
 *
 * Threads: one. Ownership: none.
 */
#include "daemon/base/cursor.h"
#include "tests/initiator/chap.h"
#include "tests/lib/covers.h"
#include "tests/unit/fake_initiator.h"
#include "transport/iscsi/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET   "0123456789abcdef"
#define TEXT_MAX 8192u

struct peer {
	struct fake_initiator i;
	char identifier[8], challenge[80];
	int algorithm;
	bool told; /* the right response was sent */
};

static void set_secret(struct chap_secret *s, const char *text)
{
	s->length = (uint8_t)strlen(text);
	memcpy(s->bytes, text, s->length);
}

static struct iscsi_policy *policy(void)
{
	struct iscsi_policy *p = fake_policy(1);
	struct chap_account *a = calloc(1, sizeof(*a));

	p->discovery = calloc(1, sizeof(*p->discovery));
	if (!a || !p->discovery)
		abort();
	a->name = strdup("user");
	a->mutual_name = strdup("target");
	a->algorithms = CHAP_ALL;
	set_secret(&a->secret[0], SECRET);
	set_secret(&a->mutual, "secret-of-the-target");
	p->accounts = a;
	p->n_accounts = 1;
	p->n_discovery = 1;
	p->discovery[0].account = strdup("user");
	p->targets[0].rules[0].account = strdup("user");
	return p;
}

/* The text as it goes out. */
static uint32_t expand(struct peer *p, const uint8_t *from, size_t n, uint8_t *to)
{
	uint32_t used = 0;

	for (size_t k = 0; k < n; k++) {
		const char *r = "";

		if (from[k] == 1 && p->challenge[0]) {
			r = ini_chap_response(p->algorithm, p->identifier, p->challenge, SECRET,
					      false);
			p->told = true;
		}
		if (used + strlen(r) + 1 > TEXT_MAX)
			break;
		if (*r)
			memcpy(to + used, r, strlen(r));
		else
			to[used] = from[k];
		used += *r ? (uint32_t)strlen(r) : 1;
	}
	return used;
}

static void take(struct peer *p, const struct fake_pdu *a)
{
	const char *c = a ? fake_value(a, "CHAP_C") : NULL;
	const char *i = a ? fake_value(a, "CHAP_I") : NULL;
	const char *n = a ? fake_value(a, "CHAP_A") : NULL;

	if (!c || !i || !n)
		return;
	snprintf(p->challenge, sizeof(p->challenge), "%s", c);
	snprintf(p->identifier, sizeof(p->identifier), "%s", i);
	p->algorithm = atoi(n);
}

static void check(const struct peer *p)
{
	const struct iscsi_conn *c = p->i.fc->c;

	if (!c || !c->session)
		return;
	if (!p->told || strcmp(c->session->account, "user") != 0)
		abort(); /* in without the secret */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_net net;
	static bool started;
	struct reader r = reader_on(data, size);
	static uint8_t text[TEXT_MAX];
	struct peer p = { .algorithm = 0 };

	if (!started)
		fake_net_start(&net, policy());
	started = true;
	p.i = fake_initiator(&net);
	for (unsigned n = 0; r.left && p.i.fc->c && n < 80; n++) {
		uint8_t flags = reader_u8(&r);
		size_t length = reader_be16(&r);
		const uint8_t *from;
		struct fake_pdu *a;

		length = length > r.left ? r.left : length;
		from = reader_take(&r, length);
		a = fake_login_bytes(&p.i, flags, text, expand(&p, from, from ? length : 0, text));
		take(&p, a);
		free(a);
		check(&p);
	}
	fake_hang_up(p.i.fc);
	fake_forget(p.i.fc);
	return 0;
}

SUITE_COVERS("fault-B01");
