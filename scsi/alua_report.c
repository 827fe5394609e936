/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REPORT TARGET PORT GROUPS (SPC-4 6.37).
 *
 * Threads: pure functions. Ownership: none.
 */
#include "daemon/base/bytes.h"
#include "scsi/alua.h"
#include "scsi/cdb.h"
#include "scsi/opcodes.h"

#include <string.h>

#define FORMAT_EXTENDED 1
#define PREFERRED       0x80
/* T_SUP, O_SUP, U_SUP, S_SUP, AN_SUP, AO_SUP: all but logical block dependent. */
#define SUPPORTED 0xcf
/* A group that is in transition by the administrator's word may stay there; hosts look again, and
 * give up after as many seconds. */
#define TRANSITION_S 60

static size_t put_group(const struct alua_table *t, unsigned index, uint8_t *out)
{
	const struct alua_group *g = &t->groups[index];
	size_t n = sizeof(struct target_port_group);
	unsigned ports = 0;

	for (unsigned i = 0; i < t->n_ports; i++) {
		if (t->ports[i].group != index)
			continue;
		put_be16(out + n, 0);
		put_be16(out + n + offsetof(struct target_port, relative), t->ports[i].relative);
		n += sizeof(struct target_port);
		ports++;
	}
	out[0] = (uint8_t)((g->preferred ? PREFERRED : 0) | g->state);
	out[1] = SUPPORTED;
	put_be16(out + offsetof(struct target_port_group, id), g->id);
	out[4] = 0;
	out[5] = g->status;
	out[6] = 0;
	out[7] = (uint8_t)ports;
	return n;
}

struct scsi_plan alua_plan_report(const struct scsi_request *rq)
{
	const struct alua_table *t = rq->nexus->alua;
	uint8_t format = rq->cdb[1] >> 5; /* PARAMETER DATA FORMAT */
	uint32_t allocation = get_be32(rq->cdb + offsetof(struct cdb_target_port_groups, length));
	uint8_t *out = rq->answer;
	size_t n = 4;

	if (format > FORMAT_EXTENDED)
		return plan_fail(sense_invalid_field_bit(1, 7));
	if (format == FORMAT_EXTENDED) {
		out[4] = FORMAT_EXTENDED << 4;
		out[5] = TRANSITION_S;
		out[6] = out[7] = 0;
		n = 8;
	}
	for (unsigned i = 0; i < t->n_groups; i++)
		n += put_group(t, i, out + n);
	put_be32(out, (uint32_t)(n - 4));
	return plan_answer(n, allocation);
}
