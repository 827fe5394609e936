/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of several connections: what the tests of them share. */
#include "tests/protocol/mcs.h"

static void acknowledge(struct ini *i)
{
	struct bhs_nop h;

	if (i->fd < 0 || !i->full_feature)
		return;
	ini_nop(i, &h, true);
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	ini_send(i, (uint8_t *)&h, NULL, 0); /* it may be closed by now */
}

struct ini *mcs_on(struct mcs *m, unsigned k)
{
	struct ini *i = m->c[k];

	if (m->last != i)
		acknowledge(m->last);
	i->cmdsn = m->last->cmdsn;
	i->itt = m->last->itt;
	m->last = i;
	return i;
}

void mcs_open(struct mcs *m, unsigned n, const char *keys)
{
	char text[512];

	memset(m, 0, sizeof(*m));
	m->keys = keys ? keys : USUAL("65536", "No", "Yes");
	snprintf(text, sizeof(text),
		 "MaxConnections=8\nDefaultTime2Wait=0\nDefaultTime2Retain=20\n%s", m->keys);
	m->c[0] = m->last = session_keys(T_MCS, text);
	m->n = 1;
	for (unsigned k = 1; k < n; k++)
		ck_assert_int_eq(mcs_join(m, k), 0);
}

int mcs_join(struct mcs *m, unsigned k)
{
	static const char keys[] = "MaxRecvDataSegmentLength=65536\nHeaderDigest=None";
	struct ini *i = connect_to(server.port);
	int status;

	memcpy(i->isid, m->last->isid, sizeof(i->isid));
	i->tsih = m->last->tsih;
	i->cid = (uint16_t)k;
	i->cmdsn = m->last->cmdsn;
	i->itt = m->last->itt;
	i->max_burst = m->last->max_burst;
	i->first_burst = m->last->first_burst;
	i->initial_r2t = m->last->initial_r2t;
	i->immediate_data = m->last->immediate_data;
	i->fast_abort = m->last->fast_abort;
	status = try_login(i, &(struct ini_login){ .target = T_MCS, .keys = keys });
	if (status)
		return status;
	ck_assert_uint_eq(i->tsih, m->last->tsih);
	i->max_send = m->last->max_send;
	m->c[k] = m->last = i;
	m->n = k + 1 > m->n ? k + 1 : m->n;
	return 0;
}

const struct bhs_logout_response *mcs_logout(struct mcs *m, unsigned k, uint8_t reason,
					     uint16_t cid)
{
	struct ini *i = mcs_on(m, k);
	struct bhs_logout_request h;

	ini_logout(i, &h, reason);
	put_be16(h.cid, cid);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	return bhs_of(expect(i, ISCSI_OP_LOGOUT_RESPONSE), bhs_logout_response);
}

const struct bhs_async *mcs_event(struct ini *i, uint8_t event)
{
	const struct bhs_async *a = bhs_of(expect(i, ISCSI_OP_ASYNC), bhs_async);

	ck_assert_msg(a->event == event, "event %u, wanted %u", a->event, event);
	return a;
}

void mcs_kill(struct mcs *m, unsigned k, unsigned witness)
{
	const struct bhs_async *a;

	mcs_on(m, k);
	ini_close(m->c[k]);
	mcs_on(m, witness);
	a = mcs_event(m->c[witness], ASYNC_CONNECTION_DROP);
	ck_assert_uint_eq(get_be16(a->parameter1), k);
}
