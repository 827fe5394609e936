/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SPC-4 6.42, 6.26), READ BUFFER and WRITE BUFFER
 * (6.20, 6.49), READ DEFECT DATA (SBC-3 5.18): what a disk of no moving parts can say of itself.
 *
 * Threads: the session's reactor. Ownership: the echo buffer is its I_T_L nexus'.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/opcodes.h"

#include <stdlib.h>
#include <string.h>

#define ASC_COMMAND_SEQUENCE 0x2c00
#define ASC_DEFECT_LIST_NONE 0x1c00

enum { DIAGNOSTIC_HEADER = 4, SELF_TEST_SHIFT = 5, SELFTEST = 0x04 };

/*
 * The default self-test: that this is answered is all there is to test. The others would run in
 * the background or keep the LU busy, and find no more.
 */
struct scsi_plan spc_plan_send_diagnostic(const struct scsi_request *rq)
{
	uint8_t flags = rq->cdb[1];
	uint16_t length = get_be16(rq->cdb + offsetof(struct cdb_diagnostic, length));

	if (flags >> SELF_TEST_SHIFT)
		return plan_fail(sense_invalid_field_bit(1, 7));
	if (!length)
		return plan_good();
	if (flags & SELFTEST)
		return plan_fail(sense_invalid_field(offsetof(struct cdb_diagnostic, length)));
	if (length < DIAGNOSTIC_HEADER)
		return plan_fail(sense_parameter_list_length());
	return plan_collect(length);
}

/* Supported diagnostic pages is the one page, and has nothing in it when it is sent. */
struct scsi_plan spc_params_send_diagnostic(const struct scsi_request *rq, const uint8_t *list,
					    size_t n)
{
	(void)rq;
	if (list[0])
		return plan_fail(sense_invalid_parameter(0));
	if (get_be16(list + 2) || n != DIAGNOSTIC_HEADER)
		return plan_fail(sense_invalid_parameter(2));
	return plan_good();
}

struct scsi_plan spc_plan_receive_diagnostic(const struct scsi_request *rq)
{
	static const uint8_t supported[] = { 0x00, 0x00, 0x00, 0x01, 0x00 };
	const uint16_t page = offsetof(struct cdb_diagnostic, page);

	if (rq->cdb[1] & 0x01 && rq->cdb[page]) /* PCV */
		return plan_fail(sense_invalid_field(page));
	memcpy(rq->answer, supported, sizeof(supported));
	return plan_answer(sizeof(supported),
			   get_be16(rq->cdb + offsetof(struct cdb_diagnostic, length)));
}

enum buffer_mode {
	BUFFER_DESCRIPTOR = 0x03,
	BUFFER_ECHO = 0x0a,
	BUFFER_ECHO_DESCRIPTOR = 0x0b,
	BUFFER_MODE = 0x1f,
};

static struct scsi_plan read_echo(const struct scsi_request *rq, uint32_t allocation)
{
	if (!rq->itl->echo_length)
		return plan_fail(sense_make(SENSE_ILLEGAL_REQUEST, ASC_COMMAND_SEQUENCE));
	memcpy(rq->answer, rq->itl->echo, rq->itl->echo_length);
	return plan_answer(rq->itl->echo_length, allocation);
}

struct scsi_plan spc_plan_read_buffer(const struct scsi_request *rq)
{
	uint32_t allocation = get_be24(rq->cdb + offsetof(struct cdb_buffer, length));

	memset(rq->answer, 0, 4);
	switch (rq->cdb[1] & BUFFER_MODE) {
	case BUFFER_DESCRIPTOR: /* of every id: there is no such buffer */
		return plan_answer(4, allocation);
	case BUFFER_ECHO_DESCRIPTOR: /* EBOS=0 */
		put_be16(rq->answer + 2, ECHO_MAX);
		return plan_answer(4, allocation);
	case BUFFER_ECHO:
		return read_echo(rq, allocation);
	default:
		return plan_fail(sense_invalid_field_bit(1, 4));
	}
}

/* Microcode comes with the program, not by this way: its modes are refused like all others. */
struct scsi_plan spc_plan_write_buffer(const struct scsi_request *rq)
{
	uint32_t length = get_be24(rq->cdb + offsetof(struct cdb_buffer, length));

	if ((rq->cdb[1] & BUFFER_MODE) != BUFFER_ECHO)
		return plan_fail(sense_invalid_field_bit(1, 4));
	if (length > ECHO_MAX)
		return plan_fail(sense_invalid_field(offsetof(struct cdb_buffer, length)));
	return length ? plan_collect(length) : plan_good();
}

struct scsi_plan spc_params_write_buffer(const struct scsi_request *rq, const uint8_t *list,
					 size_t n)
{
	struct itl *itl = rq->itl;

	if (!itl->echo)
		itl->echo = malloc(ECHO_MAX);
	if (!itl->echo)
		return (struct scsi_plan){ .kind = PLAN_FAIL, .status = SCSI_BUSY };
	memcpy(itl->echo, list, n);
	itl->echo_length = (uint16_t)n;
	return plan_good();
}

/* No block is ever replaced here: both lists are there, and empty in any format. */
struct scsi_plan sbc_plan_read_defect(const struct scsi_request *rq)
{
	bool twelve = rq->cdb[0] == 0xb7;
	uint8_t asked = rq->cdb[twelve ? 1 : 2] & 0x1f; /* REQ_PLIST, REQ_GLIST, format */
	size_t length = twelve ? 8 : 4;
	uint32_t allocation = twelve ? get_be32(rq->cdb + offsetof(struct cdb_rw12, length))
				     : get_be16(rq->cdb + offsetof(struct cdb_rw10, length));

	if ((asked & 0x07) > 0x05)
		return plan_fail(sense_make(SENSE_RECOVERED_ERROR, ASC_DEFECT_LIST_NONE));
	memset(rq->answer, 0, length);
	rq->answer[1] = asked;
	return plan_answer(length, allocation);
}
