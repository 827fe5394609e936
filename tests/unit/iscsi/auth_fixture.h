/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of authentication: a policy with accounts on the fake datamover, and an initiator that
 * logs in by CHAP.
 *
 * Threads: one. Ownership: PDUs belong to the caller (free).
 */
#ifndef HAWSER_TESTS_AUTH_FIXTURE_H
#define HAWSER_TESTS_AUTH_FIXTURE_H

#include "daemon/base/bytes.h"
#include "tests/initiator/chap.h"
#include "tests/unit/fake_initiator.h"
#include "tests/unit/unit.h"
#include "transport/iscsi/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SECRET  "0123456789abcdef"
#define SECRET2 "fedcba9876543210"
#define MUTUAL  "mutual-secret-of-ours"

static struct fake_net net;

static void set_secret(struct chap_secret *s, const char *text)
{
	s->length = (uint8_t)strlen(text);
	memcpy(s->bytes, text, s->length);
}

/* Target FAKE_TARGET wants account "user" or "0xabc"; ...:open admits anybody; discovery is free.
 */
static struct iscsi_policy *policy_with_accounts(void)
{
	static const char *const names[] = { "user", "0xabc", "discoverer" };
	struct iscsi_policy *p = fake_policy(2);

	fake_policy_target(p, 0, FAKE_TARGET, 2);
	p->targets[0].rules[0].account = strdup("user");
	p->targets[0].rules[1].account = strdup("0xabc");
	p->targets[0].keys.max_connections = 4;
	fake_policy_target(p, 1, FAKE_TARGET "-open", 1);
	p->accounts = calloc(3, sizeof(*p->accounts));
	p->n_accounts = 3;
	for (unsigned i = 0; i < 3; i++) {
		struct chap_account *a = &p->accounts[i];

		a->name = strdup(names[i]);
		a->algorithms = CHAP_ALL;
		set_secret(&a->secret[0], SECRET);
	}
	set_secret(&p->accounts[0].secret[1], SECRET2);
	p->accounts[0].mutual_name = strdup("our name");
	set_secret(&p->accounts[0].mutual, MUTUAL);
	return p;
}

static void setup(void)
{
	fake_datamover.max_connections = 4;
	fake_net_start(&net, policy_with_accounts());
}

static void teardown(void)
{
	fake_net_stop(&net);
}

static void check_refused(struct fake_initiator *i, struct fake_pdu *p, unsigned status)
{
	ck_assert_msg(fake_status(p) == status, "%04x, wanted %04x", fake_status(p), status);
	ck_assert_uint_eq(p->bhs[1], 0);
	ck_assert_ptr_null(fake_value(p, "CHAP_R"));
	free(p);
	ck_assert(fake_closed(i->fc));
}

/* One login with CHAP. */
struct way {
	int algorithm;
	const char *name, *secret, *text; /* text: of the first request; NULL: the usual */
	uint8_t flags;                    /* of all requests; 0: T only where it is time */
	bool in_base64, mutual;
};

static struct fake_pdu *ask(struct fake_initiator *i, const struct way *w)
{
	const char *text = w->text ? w->text : FAKE_NORMAL "AuthMethod=CHAP,None\n";
	struct fake_pdu *p = fake_login(i, w->flags, text);
	char offer[32];

	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_str_eq(fake_value(p, "AuthMethod"), "CHAP");
	ck_assert_uint_eq(p->bhs[1], 0); /* T=0, however often it is asked for */
	free(p);
	snprintf(offer, sizeof(offer), "CHAP_A=%d\n", w->algorithm);
	p = fake_login(i, w->flags, offer);
	ck_assert_uint_eq(fake_status(p), 0);
	ck_assert_uint_eq(p->bhs[1], 0);
	ck_assert_int_eq(atoi(fake_value(p, "CHAP_A")), w->algorithm);
	ck_assert_uint_eq(fake_count(p, NULL), 3);
	return p;
}

static struct fake_pdu *chap_login(struct fake_initiator *i, const struct way *w)
{
	struct fake_pdu *p = ask(i, w);
	const char *r = ini_chap_response(w->algorithm, fake_value(p, "CHAP_I"),
					  fake_value(p, "CHAP_C"), w->secret, w->in_base64);
	char text[512];

	snprintf(text, sizeof(text), "CHAP_N=%s\nCHAP_R=%s\n%s%s", w->name, r,
		 w->mutual ? "CHAP_I=7\nCHAP_C=" : "",
		 !w->mutual     ? ""
		 : w->in_base64 ? "0bAQIDBA==\n"
				: "0x01020304\n");
	free(p);
	return fake_login(i, w->flags ? w->flags : FAKE_SEC_OP, text);
}

#endif
