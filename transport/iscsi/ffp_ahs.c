/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Additional header segments of a SCSI Command (RFC 7143 11.2.2): each is walked by its own length
 * within TotalAHSLength; one that cannot be understood refuses the command.
 */
#include "daemon/base/cursor.h"
#include "transport/iscsi/ffp.h"

#define CDB_IN_BHS 16u
#define CDB_MAX    260u
#define CDB_VARIABLE                                                                               \
	0x7f /* its byte 7 says how many bytes follow the first eight (SPC-4 4.3.3)                \
	      */
#define BIDI_AHS_LENGTH 5u

static uint8_t extended_cdb(struct reader *body, uint16_t ahs_length, struct ffp_ahs *ret)
{
	/* A reserved byte, then what does not fit into the BHS: at least one byte. */
	if (ret->cdb || ahs_length < 2 || ahs_length - 1u > CDB_MAX - CDB_IN_BHS)
		return REJECT_INVALID_PDU_FIELD;
	reader_u8(body);
	ret->cdb = reader_take(body, ahs_length - 1u);
	ret->cdb_length = (uint16_t)(CDB_IN_BHS + ahs_length - 1u);
	return body->broken ? REJECT_INVALID_PDU_FIELD : REJECT_NONE;
}

uint8_t ffp_ahs_parse(const uint8_t *ahs, uint16_t length, const uint8_t cdb[static 16],
		      struct ffp_ahs *ret)
{
	struct reader r = reader_on(ahs, length);

	*ret = (struct ffp_ahs){ .cdb_length = CDB_IN_BHS };
	while (r.left) {
		uint16_t n = reader_be16(&r);
		uint8_t type = reader_u8(&r);
		/* AHSLength leaves out itself, the type and the padding (11.2.2.1). */
		size_t padded = (3u + n + 3u) / 4u * 4u - 3u;
		const uint8_t *p = reader_take(&r, padded);
		struct reader body = reader_on(p, n);

		if (r.broken)
			return REJECT_INVALID_PDU_FIELD;
		if (type == ISCSI_AHS_EXTENDED_CDB) {
			if (extended_cdb(&body, n, ret))
				return REJECT_INVALID_PDU_FIELD;
		} else if (type == ISCSI_AHS_BIDI_READ_EDTL) {
			if (ret->bidirectional || n != BIDI_AHS_LENGTH)
				return REJECT_INVALID_PDU_FIELD;
			ret->bidirectional = true;
		} else {
			return REJECT_INVALID_PDU_FIELD;
		}
	}
	if (ret->cdb && cdb[0] == CDB_VARIABLE && cdb[7] + 8u != ret->cdb_length)
		return REJECT_INVALID_PDU_FIELD;
	return REJECT_NONE;
}
