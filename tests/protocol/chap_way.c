/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/protocol/chap_way.h"

#include "tests/initiator/chap.h"

const struct ini_pdu *chap_challenge(struct ini *i, const struct chap_way *w)
{
	const struct ini_pdu *p;
	char text[512];

	snprintf(text, sizeof(text), "InitiatorName=" BASE "test\nTargetName=%s\nAuthMethod=CHAP",
		 w->target ? w->target : T_CHAP);
	p = login_step(i, w->flags, w->first ? w->first : text);
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_str_eq(ini_value(p, "AuthMethod"), "CHAP");
	ck_assert_uint_eq(bhs_of(p, bhs_login_response)->flags, 0);
	snprintf(text, sizeof(text), "CHAP_A=%d", w->algorithm);
	p = login_step(i, w->flags, text);
	ck_assert_int_eq(login_status(p), 0);
	ck_assert_uint_eq(bhs_of(p, bhs_login_response)->flags, 0);
	ck_assert_int_eq(atoi(ini_value(p, "CHAP_A")), w->algorithm);
	return p;
}

const struct ini_pdu *chap_answer(struct ini *i, const struct chap_way *w)
{
	const struct ini_pdu *p = chap_challenge(i, w);
	char text[512];

	snprintf(text, sizeof(text), "CHAP_N=%s\nCHAP_R=%s%s", w->name,
		 ini_chap_response(w->algorithm, ini_value(p, "CHAP_I"), ini_value(p, "CHAP_C"),
				   w->secret, w->base64),
		 !w->mutual  ? ""
		 : w->base64 ? "\nCHAP_I=0x9\nCHAP_C=0bCQgHBg=="
			     : "\nCHAP_I=9\nCHAP_C=0x09080706");
	return login_step(i, w->flags ? w->flags : SECURITY_TO_FULL, text);
}
