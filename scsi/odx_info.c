/* SPDX-License-Identifier: BSD-2-Clause */
/* What hosts are told of tokens: RECEIVE ROD TOKEN INFORMATION, REPORT ALL ROD TOKENS, page 8Fh. */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/copy_list.h"
#include "scsi/home.h"
#include "scsi/nexus.h"

#include <string.h>

static uint32_t allocation(const struct scsi_request *rq)
{
	return get_be32(rq->cdb + offsetof(struct cdb_copy_in, allocation_length));
}

/* SPC-4 6.28. The token descriptor of block devices is two reserved bytes and the token. */
struct scsi_plan odx_plan_information(const struct scsi_request *rq)
{
	const uint16_t field = offsetof(struct cdb_copy_in, list_id);
	const struct copy_entry *e = copy_list_find(rq->itl, get_be32(rq->cdb + field));
	size_t descriptors, n;
	uint8_t *out = rq->answer;

	if (!e)
		return plan_fail(sense_invalid_field(field));
	descriptors = e->has_token ? 2 + ROD_TOKEN_SIZE : 0;
	n = copy_list_put_status(e, 4 + descriptors, out);
	put_be32(out + n, (uint32_t)descriptors);
	n += 4;
	if (e->has_token) {
		put_be16(out + n, 0);
		memcpy(out + n + 2, e->token, ROD_TOKEN_SIZE);
	}
	return plan_answer(n + descriptors, allocation(rq));
}

/* SPC-4 6.36: the tokens that this LU has created, without what makes them valid. */
struct scsi_plan odx_plan_report(const struct scsi_request *rq)
{
	uint64_t now_ms = reactor_now_ms(rq->nexus->reactor);
	const unsigned max = (SCSI_SMALL_MAX - 8) / ROD_MANAGEMENT_SIZE;
	unsigned n = rod_report(rq->lu, now_ms, rq->answer + 8, max);
	size_t bytes = (size_t)n * ROD_MANAGEMENT_SIZE;

	put_be32(rq->answer, (uint32_t)(bytes + 4));
	put_be32(rq->answer + 4, 0);
	return plan_answer(n < max ? 8 + bytes : 8 + (size_t)max * ROD_MANAGEMENT_SIZE,
			   allocation(rq));
}
