/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FORMAT UNIT and SANITIZE as commands: what they ask for, and what is wrong with it. What they
 * begin is in media_run.c.
 *
 * Threads: the session's reactor. Ownership: none.
 */
#include "scsi/media.h"
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/exec.h"
#include "scsi/home.h"
#include "scsi/iov.h"
#include "scsi/opcodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SANITIZE_IMMED  0x80
#define SANITIZE_AUSE   0x20
#define SANITIZE_ACTION 0x1f
#define FORMAT_IMMED    0x02

enum sanitize_action { SANITIZE_OVERWRITE = 0x01, SANITIZE_EXIT_FAILURE = 0x1f };

/* The parameter list of OVERWRITE, SBC-3 5.28.2. */
struct overwrite_list {
	uint8_t flags, reserved, length[2]; /* INVERT, TEST, OVERWRITE COUNT; of the pattern */
};
_Static_assert(sizeof(struct overwrite_list) == 4, "SBC-3 5.28.2");

static void format_action(struct scsi_task *t)
{
	const struct kept_media m = { .state = LU_FORMATTING };

	media_begin(t, &m, t->plan.immed);
}

static void erase_action(struct scsi_task *t)
{
	const struct kept_media m = { .state = LU_SANITIZING,
				      .unrestricted = t->cdb[1] & SANITIZE_AUSE };

	media_begin(t, &m, t->plan.immed);
}

static void overwrite_action(struct scsi_task *t)
{
	struct overwrite_list list;
	struct kept_media m = { .state = LU_SANITIZING, .unrestricted = t->cdb[1] & SANITIZE_AUSE };

	iov_copy_out(t->buf.iov, t->buf.n, 0, &list, sizeof(list));
	m.passes = list.flags & 0x1f;
	m.invert = list.flags & 0x80;
	m.pattern_length = get_be16(list.length);
	iov_copy_out(t->buf.iov, t->buf.n, sizeof(list), m.pattern, m.pattern_length);
	media_begin(t, &m, t->plan.immed);
}

static struct scsi_plan media_plan(void (*action)(struct scsi_task *t), bool immed)
{
	return (struct scsi_plan){ .kind = PLAN_ACTION, .immed = immed, .action = action };
}

struct scsi_plan media_plan_sanitize(const struct scsi_request *rq)
{
	const uint16_t field = offsetof(struct cdb_sanitize, length);
	uint8_t flags = rq->cdb[1], action = flags & SANITIZE_ACTION;
	uint16_t length = get_be16(rq->cdb + field);

	if (action == SANITIZE_OVERWRITE) {
		if (length <= sizeof(struct overwrite_list) ||
		    length > sizeof(struct overwrite_list) + rq->geo->block_size)
			return plan_fail(sense_invalid_field(field));
		return plan_collect(length);
	}
	if (length)
		return plan_fail(sense_invalid_field(field));
	if (action == SANITIZE_EXIT_FAILURE)
		return media_plan(media_exit_failure, false);
	return media_plan(erase_action, flags & SANITIZE_IMMED);
}

/* INVALID FIELD IN CDB also for the list: it is what hosts look for (iscsi-test-cu). */
struct scsi_plan media_params_overwrite(const struct scsi_request *rq, const uint8_t *list,
					size_t n)
{
	const struct overwrite_list *l = (const void *)list;
	uint16_t pattern = get_be16(l->length);

	if (!(l->flags & 0x1f) || l->flags & 0x60 || l->reserved || !pattern ||
	    pattern > n - sizeof(*l))
		return plan_fail(sense_make(SENSE_ILLEGAL_REQUEST, 0x2400));
	return media_plan(overwrite_action, rq->cdb[1] & SANITIZE_IMMED);
}

#define FORMAT_LONGLIST 0x20
#define FORMAT_FMTDATA  0x10
#define FORMAT_FOV      0x80
#define FORMAT_OPTIONS  0x79 /* DPRY, DCRT, STPF, IP, and what only vendors know */

/* Without a list, or with a header only: no defects are given, and zeros are the only pattern. */
struct scsi_plan media_plan_format(const struct scsi_request *rq)
{
	uint8_t flags = rq->cdb[1];

	if (!(flags & FORMAT_FMTDATA)) {
		if (flags) /* LONGLIST, CMPLST and a format of what is not there */
			return plan_fail(
			    sense_invalid_field_bit(1, (uint8_t)(31 - __builtin_clz(flags))));
		return media_plan(format_action, false);
	}
	return plan_collect(flags & FORMAT_LONGLIST ? 8 : 4);
}

struct scsi_plan media_params_format(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	(void)rq;
	if (list[0] & 0x07) /* PROTECTION FIELD USAGE */
		return plan_fail(sense_invalid_parameter_bit(0, 2));
	/* DPRY, DCRT, STPF and IP need FOV (SBC-3 5.4.2.2); IP brings a pattern, which is refused.
	 */
	if (list[1] & 0x08 || (list[1] & FORMAT_OPTIONS && !(list[1] & FORMAT_FOV)))
		return plan_fail(sense_invalid_parameter(1));
	if (n == 8 && list[3]) /* P_I_INFORMATION, PROTECTION INTERVAL EXPONENT */
		return plan_fail(sense_invalid_parameter(3));
	if (n == 8 ? get_be32(list + 4) : get_be16(list + 2)) /* DEFECT LIST LENGTH */
		return plan_fail(sense_invalid_parameter(n == 8 ? 4 : 2));
	return media_plan(format_action, list[1] & FORMAT_IMMED);
}
