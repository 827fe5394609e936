/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PERSISTENT RESERVE IN (SPC-4 6.15). A list that is longer than the answer can be is cut there;
 * its length field tells the whole, as with any allocation length.
 *
 * Threads: the session's reactor. Ownership: answers go to rq->answer.
 */
#include "daemon/base/bytes.h"
#include "scsi/pr_internal.h"

#include <string.h>

enum { READ_KEYS, READ_RESERVATION, REPORT_CAPABILITIES, READ_FULL_STATUS };
enum { HEADER = 8, STATUS_DESCRIPTOR = 24 };

/* Generation and additional length. */
static void put_header(const struct pr_table *t, size_t length, uint8_t *out)
{
	put_be32(out, t ? t->generation : 0);
	put_be32(out + 4, (uint32_t)length);
}

static size_t read_keys(const struct pr_table *t, uint8_t *out)
{
	unsigned n = t ? t->n : 0;

	put_header(t, (size_t)8 * n, out);
	for (unsigned i = 0; i < n; i++)
		put_be64(out + HEADER + (size_t)8 * i, t->regs[i].key);
	return HEADER + (size_t)8 * n;
}
_Static_assert(HEADER + 8 * PR_REGISTRATIONS_MAX <= SCSI_SMALL_MAX, "all keys fit an answer");

static size_t read_reservation(const struct pr_table *t, uint8_t *out)
{
	if (!t || t->type == PR_NONE) {
		put_header(t, 0, out);
		return HEADER;
	}
	put_header(t, 16, out);
	memset(out + HEADER, 0, 16);
	if (!pr_all_registrants(t->type))
		put_be64(out + HEADER, t->regs[t->holder].key);
	out[HEADER + 13] = t->type; /* and SCOPE 0h: the LU */
	return HEADER + 16;
}

static size_t report_capabilities(const struct pr_table *t, uint8_t *out)
{
	memset(out, 0, 8);
	put_be16(out, 8);
	out[2] = (uint8_t)(0x1c | pr_can_keep()); /* CRH, SIP_C, ATP_C, PTPL_C */
	/* TMV; ALLOW COMMANDS 001b: TEST UNIT READY passes exclusive access. */
	out[3] = (uint8_t)(0x90 | (t && t->aptpl)); /* PTPL_A */
	put_be16(out + 4, 0xea01);                  /* all types but the obsolete ones */
	return 8;
}

/* The descriptor of one registration; its length. */
static size_t put_status(const struct pr_table *t, unsigned i, uint8_t *out)
{
	const struct pr_registration *r = &t->regs[i];
	bool holder = pr_is_holder(t, (int)i);
	size_t id =
	    pr_put_transport_id(r->nexus.initiator, out + STATUS_DESCRIPTOR, PR_TRANSPORT_ID_MAX);

	memset(out, 0, STATUS_DESCRIPTOR);
	put_be64(out, r->key);
	/* ALL_TG_PT=0: there is a registration for each port. */
	out[12] = holder;
	out[13] = holder ? t->type : 0;
	put_be16(out + 18, r->nexus.relative_port);
	put_be32(out + 20, (uint32_t)id);
	return STATUS_DESCRIPTOR + id;
}

static size_t read_full_status(const struct pr_table *t, uint8_t *out)
{
	uint8_t one[STATUS_DESCRIPTOR + PR_TRANSPORT_ID_MAX];
	size_t whole = 0;

	for (unsigned i = 0; t && i < t->n; i++) {
		size_t n = put_status(t, i, one), at = HEADER + whole;

		if (at < SCSI_SMALL_MAX)
			memcpy(out + at, one, n < SCSI_SMALL_MAX - at ? n : SCSI_SMALL_MAX - at);
		whole += n;
	}
	put_header(t, whole, out);
	return HEADER + whole < SCSI_SMALL_MAX ? HEADER + whole : SCSI_SMALL_MAX;
}

struct scsi_plan pr_plan_in(const struct scsi_request *rq)
{
	const struct pr_table *t = lu_pr_get(rq->lu);
	uint16_t allocation = get_be16(rq->cdb + 7);
	size_t length = 0;

	switch (rq->cdb[1] & 0x1f) {
	case READ_KEYS:
		length = read_keys(t, rq->answer);
		break;
	case READ_RESERVATION:
		length = read_reservation(t, rq->answer);
		break;
	case REPORT_CAPABILITIES:
		length = report_capabilities(t, rq->answer);
		break;
	case READ_FULL_STATUS:
		length = read_full_status(t, rq->answer);
		break;
	default: /* has no row */
		break;
	}
	pr_table_put(t);
	return plan_answer(length, allocation);
}
