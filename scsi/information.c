/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What hosts write down on an LU for each other: identifying information (SPC-4 6.32, 6.43) and the
 * time (6.37, 6.46). The first is kept over a restart; the time is the clock's again after one.
 *
 * Threads: the session's reactor. Ownership: a change of identifying information frees itself.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/exec.h"
#include "scsi/home.h"
#include "scsi/iov.h"
#include "scsi/kept.h"
#include "scsi/opcodes.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* IDENTIFYING INFORMATION TYPE, in bits 7 to 1 of its byte (SPC-4 table 176). */
enum information_type {
	INFORMATION_PERIPHERAL = 0x00, /* any bytes */
	INFORMATION_TEXT = 0x02,       /* UTF-8 with NUL at its end */
	INFORMATION_SUPPORTED = 0x7f,
};

#define TYPE_AT offsetof(struct cdb_information, type)

static uint8_t type_of(const uint8_t *cdb)
{
	return cdb[TYPE_AT] >> 1;
}

static struct kept_information *find(struct lu_kept *kept, uint8_t type)
{
	if (type == INFORMATION_PERIPHERAL)
		return &kept->peripheral;
	return type == INFORMATION_TEXT ? &kept->text : NULL;
}

static uint16_t most_of(uint8_t type)
{
	return type == INFORMATION_TEXT ? KEPT_INFORMATION : KEPT_PERIPHERAL;
}

/* The types and the longest information of each (SPC-4 6.32.3). */
static size_t put_supported(uint8_t *out)
{
	static const uint8_t types[] = { INFORMATION_PERIPHERAL, INFORMATION_TEXT };
	size_t n = 4;

	memset(out, 0, 4 + 4 * sizeof(types));
	for (size_t i = 0; i < sizeof(types); i++, n += 4) {
		out[n] = (uint8_t)(types[i] << 1);
		put_be16(out + n + 2, most_of(types[i]));
	}
	put_be16(out + 2, (uint16_t)(n - 4));
	return n;
}

struct scsi_plan info_plan_report(const struct scsi_request *rq)
{
	uint32_t allocation = get_be32(rq->cdb + offsetof(struct cdb_information, length));
	const struct kept_information *i = find(&rq->lu->kept, type_of(rq->cdb));
	size_t n;

	if (type_of(rq->cdb) == INFORMATION_SUPPORTED)
		return plan_answer(put_supported(rq->answer), allocation);
	if (!i)
		return plan_fail(sense_invalid_field_bit(TYPE_AT, 7));
	pthread_mutex_lock(&rq->lu->lock);
	n = i->length;
	memcpy(rq->answer + 4, i->bytes, n);
	pthread_mutex_unlock(&rq->lu->lock);
	put_be16(rq->answer, 0);
	put_be16(rq->answer + 2, (uint16_t)n);
	return plan_answer(4 + n, allocation);
}

/* SET IDENTIFYING INFORMATION while it is written down. */
struct setting {
	struct kept_op op;
	struct scsi_task *t;
	struct kept_information value;
	uint8_t type;
	bool changed;
};

static void edit(struct kept_op *op, struct lu_kept *kept)
{
	struct setting *s = container_of(op, struct setting, op);
	struct kept_information *i = find(kept, s->type);

	s->changed = memcmp(i, &s->value, sizeof(*i)) != 0;
	memcpy(i, &s->value, sizeof(*i));
}

static void is_set(struct kept_op *op)
{
	struct setting *s = container_of(op, struct setting, op);
	struct scsi_sense sense = kept_failure(op->result);

	if (!op->result && s->changed)
		lu_ua_all(op->lu, ASC_IDENTIFIER_CHANGED, s->t->nexus);
	scsi_action_done(s->t, op->result ? &sense : NULL);
	free(s);
}

static void set_action(struct scsi_task *t)
{
	struct scsi_sense sense = sense_from_errno(-ENOMEM, true);
	struct setting *s = calloc(1, sizeof(*s));

	if (!s) {
		scsi_action_done(t, &sense);
		return;
	}
	s->t = t;
	s->type = type_of(t->cdb);
	if (t->collected) {
		s->value.length = (uint16_t)t->buf.length;
		iov_copy_out(t->buf.iov, t->buf.n, 0, s->value.bytes, t->buf.length);
	}
	s->op.lu = t->lu;
	s->op.reactor = t->home->reactor;
	s->op.edit = edit;
	s->op.done = is_set;
	lu_keep(&s->op);
}

/* No list takes away what there was (SPC-4 6.43). */
struct scsi_plan info_plan_set(const struct scsi_request *rq)
{
	const uint16_t field = offsetof(struct cdb_information, length);
	uint32_t length = get_be32(rq->cdb + field);

	if (!find(&rq->lu->kept, type_of(rq->cdb)))
		return plan_fail(sense_invalid_field_bit(TYPE_AT, 7));
	if (length > most_of(type_of(rq->cdb)))
		return plan_fail(sense_invalid_field(field));
	if (length)
		return plan_collect(length);
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = set_action };
}

struct scsi_plan info_params_set(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	if (type_of(rq->cdb) == INFORMATION_TEXT && list[n - 1])
		return plan_fail(sense_invalid_parameter((uint16_t)(n - 1)));
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = set_action };
}

#define TIMESTAMP_LIST 12 /* bytes */
#define TIMESTAMP_BITS 48
#define ORIGIN_SET     0x02 /* by SET TIMESTAMP */
#define ORIGIN_OTHER   0x03 /* by other means: the machine's clock */

static int64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct scsi_plan time_plan_report(const struct scsi_request *rq)
{
	uint32_t allocation = get_be32(rq->cdb + offsetof(struct cdb_information, length));
	int64_t now = clock_ms() + atomic_load(&rq->lu->time.offset_ms);
	uint8_t *out = rq->answer;

	memset(out, 0, TIMESTAMP_LIST);
	put_be16(out, TIMESTAMP_LIST - 2);
	out[2] = atomic_load(&rq->lu->time.is_set) ? ORIGIN_SET : ORIGIN_OTHER;
	put_be48(out + 4, (uint64_t)now & ((1ull << TIMESTAMP_BITS) - 1));
	return plan_answer(TIMESTAMP_LIST, allocation);
}

static void time_action(struct scsi_task *t)
{
	uint8_t list[TIMESTAMP_LIST];

	iov_copy_out(t->buf.iov, t->buf.n, 0, list, sizeof(list));
	atomic_store(&t->lu->time.offset_ms, (int64_t)get_be48(list + 4) - clock_ms());
	atomic_store(&t->lu->time.is_set, true);
	lu_ua_all(t->lu, ASC_TIMESTAMP_CHANGED, t->nexus);
	scsi_action_done(t, NULL);
}

struct scsi_plan time_plan_set(const struct scsi_request *rq)
{
	uint32_t length = get_be32(rq->cdb + offsetof(struct cdb_information, length));

	if (!length)
		return plan_good();
	if (length < TIMESTAMP_LIST)
		return plan_fail(sense_parameter_list_length());
	if (length > TIMESTAMP_LIST)
		return plan_fail(sense_invalid_field(offsetof(struct cdb_information, length)));
	return plan_collect(length);
}

struct scsi_plan time_params_set(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	(void)rq;
	for (size_t i = 0; i < n; i++)
		if (list[i] && (i < 4 || i >= 10)) /* reserved */
			return plan_fail(sense_invalid_parameter((uint16_t)i));
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = time_action };
}
